"""Choosing without labels: internal scores, and stability."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import (
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    silhouette_score,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from unispectral._alignment import align_to_fit, is_views
from unispectral._compat import count_samples, take_samples
from unispectral._errors import InputError
from unispectral.graph.neighbours import nearest
from unispectral.graph.quality import modularity, normalized_cut

__all__ = ["internal_scores", "stability"]

#: Pairs of samples that a silhouette looks at, at most.
_SILHOUETTE_SAMPLES = 2_000
_REFERENCE_NEIGHBOURS = 10
#: The share of the samples that each fit of the stability goes without.
_LEFT_OUT = 0.1


def internal_scores(X: Any, labels: Any, *, random_state: int | None = 0) -> dict[str, float]:
    """Label-free scores of a clustering; for all of them larger is better.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    labels : array of shape (n_samples,)
    random_state : int or None
        Draws the samples of the silhouette where there are more than 2,000.

    Returns
    -------
    dict
        ``silhouette`` in −1 … 1; ``modularity`` and ``cut`` (minus the mean normalised cut) on
        the graph of the 10 nearest neighbours; ``calinski_harabasz`` and ``davies_bouldin`` (minus
        the usual one), which a sparse matrix of more than 1,000 columns lacks.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    >>> internal_scores(X, y)["silhouette"] > 0.7
    True
    """
    given = labels
    labels = column_or_1d(labels)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("labels", "holds NaN or infinity", "score the samples that have a label")
    labels = np.unique(labels, return_inverse=True)[1]
    X = check_array(align_to_fit(X, given), accept_sparse="csr", input_name="X")
    n, count = X.shape[0], int(labels.max()) + 1
    if len(labels) != n:
        raise InputError("labels", f"has {len(labels)} entries, but X has {n} samples")
    if not 2 <= count < n:
        problem = f"has {count} clusters for {n} samples"
        raise InputError("labels", problem, "scores need at least 2, and fewer than samples")
    W = _neighbour_graph(X)
    rows = _drawn(labels, random_state)
    scores = {
        "silhouette": float(silhouette_score(X[rows], labels[rows])),
        "modularity": modularity(W, labels),
        "cut": -normalized_cut(W, labels),
    }
    dense = X.toarray() if sp.issparse(X) and X.shape[1] <= 1_000 else X
    if not sp.issparse(dense):
        scores["calinski_harabasz"] = float(calinski_harabasz_score(dense, labels))
        scores["davies_bouldin"] = -float(davies_bouldin_score(dense, labels))
    return scores


def stability(
    estimator: BaseEstimator, X: Any, *, n_fits: int = 5, random_state: int | None = 0
) -> np.ndarray:
    """How far clusters stay the same if a tenth of the samples is left out.

    Each fit leaves out others, takes the rest in another order, and has another seed. Where the
    clusters of such fits differ, they are an accident of the samples at hand. A seed alone says
    less: most fits of samples without clusters give the same labels whatever it is.

    Parameters
    ----------
    estimator : fitted clusterer with ``labels_``, or a pipeline that ends in one
    X : its training samples
    n_fits : int
    random_state : int or None
        Draws the samples that are left out, and the seeds.

    Returns
    -------
    ndarray of shape (n_fits,)
        The adjusted Rand index between the labels of each fit and those of the estimator, on the
        samples that both have: 1 where they are the same.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unispectral import UnifiedSpectralClustering
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> stability(UnifiedSpectralClustering(2).fit(X), X, n_fits=2).tolist()
    [1.0, 1.0]
    >>> noise = np.random.default_rng(0).normal(size=(200, 2))
    >>> bool(stability(UnifiedSpectralClustering(5).fit(noise), noise).mean() < 0.7)
    True
    """
    last, prefix = estimator, ""
    while isinstance(last, Pipeline):
        prefix += f"{last.steps[-1][0]}__"
        last = last.steps[-1][1]
    check_is_fitted(last, "labels_")
    n, rng, found = len(last.labels_), np.random.default_rng(random_state), []
    for table in X.values() if isinstance(X, Mapping) else X if is_views(X) else [X]:
        if count_samples(table) != n:
            problem = f"has {count_samples(table)} samples where the fit had {n}"
            raise InputError("X", problem, "give the samples of the fit")
    pairwise = get_tags(last).input_tags.pairwise
    X = align_to_fit(X, last, pairwise=pairwise)
    for _ in range(n_fits):
        rows = rng.permutation(n)[: n - max(1, round(_LEFT_OUT * n))]
        other = clone(estimator)
        if "random_state" in last.get_params(deep=False):
            other.set_params(**{f"{prefix}random_state": int(rng.integers(2**31 - 1))})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say was said by the first fit
            labels = other.fit_predict(_taken(X, rows, pairwise))
        found.append(float(adjusted_rand_score(last.labels_[rows], labels)))
    return np.array(found)


def _taken(X: Any, rows: np.ndarray, pairwise: bool) -> Any:
    """Some samples of a table, or of several views, in this order; of kernels both ways."""
    if is_views(X):
        if isinstance(X, Mapping):
            return {name: _taken(table, rows, pairwise) for name, table in X.items()}
        return [_taken(table, rows, pairwise) for table in X]
    X = take_samples(X, rows)
    return take_samples(X, rows, axis=1) if pairwise else X


def _drawn(labels: np.ndarray, random_state: int | None) -> np.ndarray:
    """The samples of the silhouette: all, or some drawn at random with one of each cluster."""
    n = len(labels)
    if n <= _SILHOUETTE_SAMPLES:
        return np.arange(n)
    some = np.random.default_rng(random_state).choice(n, _SILHOUETTE_SAMPLES, replace=False)
    rows = np.union1d(some, np.unique(labels, return_index=True)[1])
    return rows if len(rows) > labels.max() + 1 else np.arange(n)


def _neighbour_graph(X: Any) -> sp.csr_array:
    n = X.shape[0]
    indices = nearest(X, min(_REFERENCE_NEIGHBOURS, n - 1)).indices
    valid = indices >= 0
    rows = np.repeat(np.arange(n), valid.sum(axis=1))
    W = sp.csr_array((np.ones(len(rows)), (rows, indices[valid])), shape=(n, n))
    return sp.csr_array((W + W.T) * 0.5)
