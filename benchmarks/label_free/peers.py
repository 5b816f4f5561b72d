"""The methods of the study: what users have today, and the label-free model with its defaults.

Every method gets the same table and the true number of clusters. None sees the classes, except
HDBSCAN, which finds its own number of clusters and is therefore given its best reading.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.metrics.pairwise import euclidean_distances

from unispectral import UnifiedSpectralClustering
from unispectral.baselines import TSEP
from unispectral.metrics import clustering_accuracy

__all__ = ["METHODS", "Method", "median_squared_distance"]

Table: TypeAlias = Any  # an array or a CSR matrix


@dataclass(frozen=True)
class Method:
    """A method of the table.

    Attributes
    ----------
    name : str
    fit : callable(X, n_clusters, seed, y) -> labels
        ``y`` reaches only methods with ``tuned``.
    random : bool
        Whether the seed matters.
    tuned : bool
        Whether its figure is an upper bound that the true classes chose.
    ours : bool
    """

    name: str
    fit: Callable[[Table, int, int, np.ndarray], np.ndarray]
    random: bool = True
    tuned: bool = False
    ours: bool = False


def median_squared_distance(X: Table) -> float:
    """Over the pairs of at most a thousand evenly spaced samples."""
    chosen = np.unique(np.linspace(0, X.shape[0] - 1, min(X.shape[0], 1000)).astype(int))
    squared = euclidean_distances(X[chosen], squared=True)
    positive = squared[np.triu_indices(len(chosen), 1)]
    return float(np.median(positive[positive > 0]))


def _kmeans(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X)


def _rbf(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    return SpectralClustering(n_clusters, random_state=seed).fit_predict(X)


def _rbf_median(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    gamma = 0.5 / median_squared_distance(X)
    return SpectralClustering(n_clusters, gamma=gamma, random_state=seed).fit_predict(X)


def _knn(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    model = SpectralClustering(
        n_clusters, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
    )
    return model.fit_predict(X)


def _readings(X: Table) -> Iterator[np.ndarray]:
    """HDBSCAN over a grid; noise as a cluster of its own, and given to the nearest cluster."""
    distances = euclidean_distances(X)
    for smallest in (5, 10, 15, 25, 50):
        if smallest > X.shape[0] // 2:
            continue
        for choice in ("eom", "leaf"):
            model = HDBSCAN(
                min_cluster_size=smallest,
                metric="precomputed",
                cluster_selection_method=choice,
                copy=True,
            )
            labels = model.fit_predict(distances)
            yield labels
            noise = labels < 0
            if noise.any() and not noise.all():
                nearest = distances[np.ix_(noise, ~noise)].argmin(axis=1)
                labels = labels.copy()
                labels[noise] = labels[~noise][nearest]
                yield labels


def _hdbscan(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    return max(_readings(X), key=lambda labels: clustering_accuracy(y, labels))


def _hdbscan_by_count(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    return min(_readings(X), key=lambda labels: abs(len(np.unique(labels)) - n_clusters))


def _tsep(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    return TSEP(n_clusters, random_state=seed, n_jobs=1).fit_predict(X)


def _unispectral(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
    return UnifiedSpectralClustering(n_clusters, random_state=seed, n_jobs=1).fit_predict(X)


def _quiet(
    fit: Callable[[Table, int, int, np.ndarray], np.ndarray],
) -> Callable[[Table, int, int, np.ndarray], np.ndarray]:
    """Peers warn of disconnected graphs and empty clusters; the figures say it as well."""

    def quietly(X: Table, n_clusters: int, seed: int, y: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(X, n_clusters, seed, y)

    return quietly


METHODS = (
    Method("k-means", _quiet(_kmeans)),
    Method("SC rbf", _quiet(_rbf)),
    Method("SC rbf median", _quiet(_rbf_median)),
    Method("SC knn", _quiet(_knn)),
    Method("HDBSCAN by count", _quiet(_hdbscan_by_count), random=False),
    Method("HDBSCAN best", _quiet(_hdbscan), random=False, tuned=True),
    Method("TSEP", _quiet(_tsep)),
    Method("unispectral", _quiet(_unispectral), ours=True),
)
