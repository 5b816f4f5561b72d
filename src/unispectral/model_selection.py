"""Choosing without labels: internal scores, and stability."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
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
from sklearn.utils.validation import check_array, column_or_1d

from unispectral._alignment import align_to_fit, is_views
from unispectral._arrays import absent_rows
from unispectral._compat import count_samples, take_samples
from unispectral._errors import InputError
from unispectral.graph.given import take_matrices
from unispectral.graph.neighbours import nearest
from unispectral.graph.quality import modularity, normalized_cut

__all__ = ["internal_scores", "stability", "stability_by_count"]

#: Pairs of samples that a silhouette looks at, at most.
_SILHOUETTE_SAMPLES = 2_000
_REFERENCE_NEIGHBOURS = 10
#: The share of the samples that each fit of the stability goes without.
_LEFT_OUT = 0.1
#: Samples by which the data of a fit are known again.
_RECOGNISED = 20


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
    n = X.shape[0]
    count = int(labels.max()) + 1
    if len(labels) != n:
        raise InputError("labels", f"has {len(labels)} entries, but X has {n} samples")
    if not 2 <= count < n:
        problem = f"has {count} clusters for {n} samples"
        raise InputError("labels", problem, "scores need at least 2, and fewer than samples")
    W = _neighbour_graph(X)
    rows = _draw_samples(labels, random_state)
    scores = {
        "silhouette": float(silhouette_score(X[rows], labels[rows])),
        "modularity": modularity(W, labels),
        "cut": -normalized_cut(W, labels),
    }
    if sp.issparse(X) and X.shape[1] <= 1_000:
        dense = X.toarray()
    else:
        dense = X
    if not sp.issparse(dense):
        scores["calinski_harabasz"] = float(calinski_harabasz_score(dense, labels))
        scores["davies_bouldin"] = -float(davies_bouldin_score(dense, labels))
    return scores


def stability(
    estimator: BaseEstimator, X: object, *, n_fits: int = 5, random_state: int | None = 0
) -> np.ndarray:
    """How far clusters stay the same if a tenth of the samples is left out.

    Each fit leaves out others, takes the rest in another order, and has another seed. Where the
    clusters of such fits differ, they are an accident of the samples at hand. A seed alone says
    less: most fits of samples without clusters give the same labels whatever it is.

    Parameters
    ----------
    estimator : clusterer with ``labels_`` after a fit, or a pipeline that ends in one
        Where it is not fitted, a copy is fitted first.
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
    if not _is_fitted(estimator):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say is said of the estimator itself
            estimator = clone(estimator).fit(X)
    labels = _last_step(estimator).labels_
    found = [
        adjusted_rand_score(labels[rows], other.labels_)
        for rows, other in _refits(estimator, X, n_fits, random_state)
    ]
    return np.array(found, dtype=np.float64)


def stability_by_count(
    estimator: object, X: object, *, n_fits: int = 3, random_state: int | None = 0
) -> dict[int, float]:
    """The stability of every number of clusters that the trees of some fits have.

    The fits are those of :func:`stability`; other numbers of clusters are cuts of their trees
    (``cut``), which cost no more fits. Of the number that the estimator has, the labels of the
    fits themselves are compared.

    Parameters
    ----------
    estimator : fitted UnifiedSpectralClustering, or a pipeline that ends in one
    X : its training samples
    n_fits : int
    random_state : int or None

    Returns
    -------
    dict
        The mean adjusted Rand index for each number of clusters, from 2 or that of the estimator.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from unispectral import UnifiedSpectralClustering
    >>> X, _ = make_blobs(120, centers=[[0, 0], [9, 9], [0, 9]], random_state=0)
    >>> found = stability_by_count(UnifiedSpectralClustering(5).fit(X), X)
    >>> max(found, key=found.get), found[3]
    (3, 1.0)
    """
    last = _last_step(estimator)
    own = int(last.n_clusters_)
    found: dict[int, list[float]] = {}
    fits = _refits(estimator, X, n_fits, random_state)
    for done, (rows, other) in enumerate(fits):
        most = min(last.tree_.max_clusters, other.tree_.max_clusters)
        for count in range(2, most + 1):
            pair = last.cut(count)[rows], other.cut(count)
            found.setdefault(count, []).append(adjusted_rand_score(*pair))
        same = adjusted_rand_score(last.labels_[rows], other.labels_)
        found[own] = [*found.get(own, [])[:done], same]
    return {count: float(np.mean(found[count])) for count in sorted(found)}


def _last_step(estimator: object) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def _is_fitted(estimator: object) -> bool:
    return hasattr(_last_step(estimator), "labels_")


def _refits(
    estimator: object, X: Any, n_fits: int, random_state: int | None
) -> Iterator[tuple[np.ndarray, Any]]:
    """Fits without a tenth of the samples: the samples of each, and the clusterer."""
    last = _last_step(estimator)
    n = len(last.labels_)
    rng = np.random.default_rng(random_state)
    X = take_matrices(X)
    for table in X.values() if isinstance(X, Mapping) else X if is_views(X) else [X]:
        if count_samples(table) != n:
            problem = f"has {count_samples(table)} samples where the fit had {n}"
            raise InputError("X", problem, "give the samples of the fit")
    pairwise = get_tags(last).input_tags.pairwise
    X = align_to_fit(X, last, pairwise=pairwise)
    for _ in range(n_fits):
        rows = rng.permutation(n)[: n - max(1, round(_LEFT_OUT * n))]
        other = clone(estimator)
        inner = _last_step(other)
        if "random_state" in inner.get_params(deep=False):
            inner.set_params(random_state=int(rng.integers(2**31 - 1)))
        if "verbose" in inner.get_params(deep=False):
            inner.set_params(verbose=0)
        inner.set_params(**_shrink_sizes(inner, len(rows) / n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to say was said by the first fit
            other.fit(_take_some(X, rows, pairwise))
        yield rows, inner


def _shrink_sizes(estimator: BaseEstimator, share: float) -> dict[str, int]:
    """The limits of sizes that a share of the samples can meet as all of them do."""
    given = estimator.get_params(deep=False)
    limits = {}
    if given.get("min_cluster_size") is not None:
        limits["min_cluster_size"] = max(1, int(share * given["min_cluster_size"]))
    if given.get("max_cluster_size") is not None:
        limits["max_cluster_size"] = math.ceil(share * given["max_cluster_size"])
    return limits


def _is_of_fit(estimator: object, X: object) -> bool:
    """Whether the first samples of X are those that an estimator of this library was fitted to.

    It knows them again: their outlier scores are those of the fit.
    """
    last = _last_step(estimator)
    if not hasattr(last, "outlier_score_") or get_tags(last).input_tags.pairwise:
        return False
    rows = np.arange(min(_RECOGNISED, len(last.labels_)))
    try:
        some = _take_some(align_to_fit(X, last), rows, False)
        if isinstance(estimator, Pipeline):
            some = estimator[:-1].transform(some)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = last.predict_all(some).outlier_score
    except (ValueError, TypeError):
        return False
    return np.array_equal(score, last.outlier_score_[rows])


def _take_some(X: Any, rows: np.ndarray, pairwise: bool) -> Any:
    """Some samples of a table, or of several views, in this order; of kernels both ways."""
    if is_views(X):
        if isinstance(X, Mapping):
            return {name: _take_some(table, rows, pairwise) for name, table in X.items()}
        return [_take_some(table, rows, pairwise) for table in X]
    X = take_samples(X, rows)
    if pairwise:
        return take_samples(X, rows, axis=1)
    return X


def _draw_samples(labels: np.ndarray, random_state: int | None) -> np.ndarray:
    """The samples of the silhouette: all, or some drawn at random with one of each cluster."""
    n = len(labels)
    if n <= _SILHOUETTE_SAMPLES:
        return np.arange(n)
    some = np.random.default_rng(random_state).choice(n, _SILHOUETTE_SAMPLES, replace=False)
    rows = np.union1d(some, np.unique(labels, return_index=True)[1])
    if len(rows) > labels.max() + 1:
        return rows
    return np.arange(n)


def neighbour_modularity(X: Any, labels: np.ndarray) -> float:
    """The modularity of clusters on the graph of the 10 nearest neighbours; 0 for one cluster.

    Rows of NaN, of samples that a view lacks, are left out.
    """
    if not sp.issparse(X):
        known = ~absent_rows(X)
        X = X[known]
        labels = labels[known]
    labels = np.unique(labels, return_inverse=True)[1]
    if not len(labels) or labels.max() < 1:
        return 0.0
    return modularity(_neighbour_graph(X), labels)


def _neighbour_graph(X: Any) -> sp.csr_array:
    n = X.shape[0]
    indices = nearest(X, min(_REFERENCE_NEIGHBOURS, n - 1)).indices
    valid = indices >= 0
    rows = np.repeat(np.arange(n), valid.sum(axis=1))
    W = sp.csr_array((np.ones(len(rows)), (rows, indices[valid])), shape=(n, n))
    return sp.csr_array((W + W.T) * 0.5)
