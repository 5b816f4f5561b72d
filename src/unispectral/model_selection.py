"""Choosing without labels: internal scores, and other seeds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
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
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from unispectral._errors import InputError
from unispectral._validation import is_views
from unispectral.graph.candidates import nearest
from unispectral.graph.quality import modularity, normalized_cut

__all__ = ["internal_scores", "seed_agreement"]

#: Pairs of samples that a silhouette looks at, at most.
_SILHOUETTE_SAMPLES = 2_000
_REFERENCE_NEIGHBOURS = 10


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
    labels = column_or_1d(labels)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("labels", "holds NaN or infinity", "score the samples that have a label")
    labels = np.unique(labels, return_inverse=True)[1]
    X = check_array(X, accept_sparse="csr", input_name="X")
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


def seed_agreement(
    estimator: BaseEstimator, X: Any, *, seeds: Sequence[int] = (1, 2)
) -> np.ndarray:
    """How far the labels of a fitted estimator agree with those that other seeds give.

    Each seed also puts the samples into another order, which should not matter either.

    Parameters
    ----------
    estimator : fitted clusterer with a parameter ``random_state``, or a pipeline that ends in one
    X : its training samples
    seeds : sequence of int

    Returns
    -------
    ndarray of shape (n_seeds,)
        The adjusted Rand index with the labels of each seed: 1 where they are the same.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unispectral import UnifiedSpectralClustering
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> seed_agreement(UnifiedSpectralClustering(2).fit(X), X).tolist()
    [1.0, 1.0]
    """
    last, prefix = estimator, ""
    while isinstance(last, Pipeline):
        prefix += f"{last.steps[-1][0]}__"
        last = last.steps[-1][1]
    if "random_state" not in last.get_params(deep=False):
        problem = f"is a {type(last).__name__}, which has no parameter random_state"
        raise InputError("estimator", problem, "what does not depend on a seed agrees with itself")
    check_is_fitted(last, "labels_")
    found = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(last.labels_))
        other = clone(estimator).set_params(**{f"{prefix}random_state": seed})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say was said by the first fit
            labels = other.fit_predict(_reordered(X, order, get_tags(last).input_tags.pairwise))
        found.append(float(adjusted_rand_score(last.labels_[order], labels)))
    return np.array(found)


def _reordered(X: Any, order: np.ndarray, pairwise: bool) -> Any:
    """The samples of a table, or of several views, in another order; of kernels both ways."""
    if isinstance(X, Mapping) and not sp.issparse(X):
        return {name: _reordered(view, order, pairwise) for name, view in X.items()}
    if is_views(X):
        return [_reordered(view, order, pairwise) for view in X]
    X = _safe_indexing(X, order)
    return _safe_indexing(X, order, axis=1) if pairwise else X


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
