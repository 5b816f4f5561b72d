"""What a user leans on beside the labels: kernel weights, outlier scores, new points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.label_free.peers import median_squared_distance
from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy

__all__ = ["held_out", "noise_kernels", "outliers"]

Table: TypeAlias = Any  # an array or a CSR matrix


def noise_kernels(
    X: Table, y: np.ndarray, n_good: int, n_noise: int, n_features: int, seed: int = 0
) -> dict[str, float]:
    """Cluster with good kernels and kernels of pure noise; how much weight the noise gets.

    Parameters
    ----------
    X, y : the data and its classes, for the accuracy
    n_noise : int
        Gaussian kernels of points that have nothing to do with the data.
    n_good : int
        Of the Gaussian kernels of 1, 2 and 4 times the median distance, the first so many.
    n_features : int
        Of the noise: in few dimensions it looks clustered.
    seed : int
    """
    squared = euclidean_distances(X, squared=True)
    median = median_squared_distance(X)
    kernels = [np.exp(-squared / (2.0 * t**2 * median)) for t in (1.0, 2.0, 4.0)[:n_good]]
    rng = np.random.default_rng(1000 + seed)
    for _ in range(n_noise):
        noise = rng.normal(size=(len(y), n_features))
        apart = euclidean_distances(noise, squared=True)
        kernels.append(np.exp(-apart / (2.0 * median_squared_distance(noise))))
    model = UnifiedSpectralClustering(
        int(y.max()) + 1, kernels="precomputed", random_state=seed, n_jobs=1
    )
    with _quietly():
        model.fit(kernels)
    return {
        "accuracy": clustering_accuracy(y, model.labels_),
        "noise_weight": float(model.kernel_weights_[n_good:].sum()),
    }


def outliers(X: Table, y: np.ndarray, seed: int) -> dict[str, float]:
    """Add one uniform point for twenty samples; how well scores tell them (area under the ROC)."""
    table = X.toarray() if sp.issparse(X) else np.asarray(X)
    rng = np.random.default_rng(2000 + seed)
    n_added = max(5, len(table) // 20)
    low, high = table.min(axis=0), table.max(axis=0)
    added = rng.uniform(low, high, size=(n_added, table.shape[1]))
    both = np.vstack([table, added])
    strange = np.arange(len(both)) >= len(table)
    with _quietly():
        model = UnifiedSpectralClustering(int(y.max()) + 1, random_state=seed, n_jobs=1).fit(both)
        factor = LocalOutlierFactor().fit(both)
        forest = IsolationForest(random_state=seed).fit(both)
    return {
        "auc": float(roc_auc_score(strange, model.outlier_score_)),
        "lof": float(roc_auc_score(strange, -factor.negative_outlier_factor_)),
        "forest": float(roc_auc_score(strange, -forest.score_samples(both))),
    }


def held_out(X: Table, y: np.ndarray, seed: int) -> dict[str, float]:
    """Cluster one half, predict the other; and the other's accuracy if all are clustered at once.

    The halves have each class in equal parts, so that no cluster is missing from one of them.
    """
    rng = np.random.default_rng(3000 + seed)
    train = np.zeros(len(y), dtype=bool)
    for members in _members(y):
        order = rng.permutation(members)
        train[order[: (len(order) + 1) // 2]] = True
    n_clusters = int(y.max()) + 1
    with _quietly():
        model = UnifiedSpectralClustering(n_clusters, random_state=seed, n_jobs=1).fit(X[train])
        predicted = model.predict(X[~train])
        again = model.predict(X[train])
        together = UnifiedSpectralClustering(n_clusters, random_state=seed, n_jobs=1).fit(X)
    return {
        "clustered_half": clustering_accuracy(y[train], model.labels_),
        "held_out": clustering_accuracy(y[~train], predicted),
        "at_once": clustering_accuracy(y[~train], together.labels_[~train]),
        "same_on_training": float(np.mean(again == model.labels_)),
    }


def _members(y: np.ndarray) -> Sequence[np.ndarray]:
    return [np.flatnonzero(y == label) for label in np.unique(y)]


class _quietly(warnings.catch_warnings):
    """No warnings inside."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
