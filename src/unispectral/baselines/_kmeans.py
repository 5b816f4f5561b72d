"""k-means of an embedding: scikit-learn's, or the one of the published record."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from unispectral.baselines._base import Partition
from unispectral.baselines._draws import Draws

__all__ = ["kmeans"]


def kmeans(
    embedding: np.ndarray,
    n_clusters: int,
    draws: Draws,
    *,
    n_init: int,
    max_iter: int,
    recorded: bool = False,
) -> Partition:
    """Cluster the rows of an embedding.

    Parameters
    ----------
    recorded : bool
        The k-means of the record: random rows as first centres, the farthest rows fill empty
        clusters, and the start with the smallest sum of *unsquared* distances is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.baselines._draws import FreshDraws
    >>> rows = np.array([[0.0], [0.0], [1.0]])
    >>> kmeans(rows, 2, FreshDraws(0), n_init=1, max_iter=10).objective
    0.0
    """
    if recorded:
        return _recorded_kmeans(embedding, n_clusters, draws, n_init, max_iter)
    model = KMeans(n_clusters, n_init=n_init, max_iter=max_iter, random_state=draws.seed())
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the labels then simply use fewer of them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(embedding)
    labels = model.labels_.astype(np.int64)
    residual = _shift(embedding, labels, model.cluster_centers_)
    return Partition(labels, model.inertia_, model.n_iter_, model.n_iter_ < max_iter, residual)


def _shift(embedding: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> float:
    """How far the centres would still move, relative to the spread of the rows."""
    total = 0.0
    for j in np.unique(labels):
        total += float(((embedding[labels == j].mean(axis=0) - centres[j]) ** 2).sum())
    spread = float(embedding.var(axis=0).sum())
    return total / spread if spread > 0.0 else 0.0


def _recorded_kmeans(
    embedding: np.ndarray, n_clusters: int, draws: Draws, n_init: int, max_iter: int
) -> Partition:
    from unispectral.baselines import _loops

    X = np.ascontiguousarray(embedding, dtype=np.float64)
    best = None
    for _ in range(n_init):
        centres = X[draws.distinct(X.shape[0], n_clusters)]
        labels = np.full(X.shape[0], -1, dtype=np.int64)
        found = Partition(labels, *_loops.recorded_kmeans(X, centres, labels, max_iter))
        if best is None or found.objective < best.objective:
            best = found
    assert best is not None
    return best
