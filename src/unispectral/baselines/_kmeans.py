"""k-means of an embedding."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from unispectral.baselines._base import Partition

__all__ = ["kmeans", "seed_from"]


def kmeans(
    embedding: np.ndarray, n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> Partition:
    """Cluster the rows of an embedding."""
    model = KMeans(n_clusters, n_init=n_init, max_iter=max_iter, random_state=seed_from(rng))
    with warnings.catch_warnings():
        # Fewer distinct rows than clusters: the labels then simply use fewer of them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(embedding)
    labels = model.labels_.astype(np.int64)
    residual = _shift(embedding, labels, model.cluster_centers_)
    return Partition(labels, model.inertia_, model.n_iter_, model.n_iter_ < max_iter, residual)


def seed_from(rng: np.random.Generator) -> int:
    """A seed for a method of scikit-learn, which takes no Generator."""
    return int(rng.integers(2**31 - 1))


def _shift(embedding: np.ndarray, labels: np.ndarray, centres: np.ndarray) -> float:
    """How far the centres would still move, relative to the spread of the rows."""
    total = 0.0
    for j in np.unique(labels):
        total += float(((embedding[labels == j].mean(axis=0) - centres[j]) ** 2).sum())
    spread = float(embedding.var(axis=0).sum())
    return total / spread if spread > 0.0 else 0.0
