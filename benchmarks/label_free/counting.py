"""The number of clusters: synthetic problems with an obvious answer, and the real sets."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from benchmarks.label_free import shapes
from unispectral import UnifiedSpectralClustering
from unispectral.spectrum._eigen import smallest_eigenvectors

__all__ = ["PROBLEMS", "count", "eigengap", "problem"]

Table: TypeAlias = Any  # an array or a CSR matrix


def _moons_and_blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = shapes.moons(seed, n=300, noise=0.05)
    B, z = shapes.separated_blobs(seed, [50] * 4, spread=0.15, gap=1.5)
    return np.vstack([X, B + np.array([5.0, 0.0])]), np.concatenate([y, z + 2])


PROBLEMS = {
    "2 blobs": lambda seed: shapes.separated_blobs(seed, [150, 150]),
    "5 blobs": lambda seed: shapes.separated_blobs(seed, [60] * 5),
    "10 blobs": lambda seed: shapes.separated_blobs(seed, [50] * 10, n_features=3),
    "20 blobs": lambda seed: shapes.separated_blobs(seed, [40] * 20, n_features=5),
    "12 blobs in 50 dimensions": lambda seed: shapes.separated_blobs(
        seed, [30] * 12, n_features=50, gap=9.0
    ),
    "3 unequal blobs": lambda seed: shapes.separated_blobs(seed, [400, 60, 20]),
    "8 unequal blobs": lambda seed: shapes.separated_blobs(
        seed, [200, 150, 100, 60, 40, 30, 25, 20], n_features=4
    ),
    "moons": lambda seed: shapes.moons(seed, noise=0.05),
    "circles": lambda seed: shapes.circles(seed, noise=0.04, factor=0.4),
    "3 spirals": lambda seed: shapes.spirals(seed, arms=3, n=900, noise=0.01),
    "6 subspaces": lambda seed: shapes.subspaces(seed, n_clusters=6, dimension=2, noise=0.02),
    "moons and 4 blobs": _moons_and_blobs,
}


def problem(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One of the synthetic problems; seeds from 100 on were not used while designing."""
    return PROBLEMS[name](100 + seed)


def count(X: Table, y: np.ndarray, max_clusters: int, seed: int = 0) -> dict[str, int]:
    """What ``n_clusters="auto"`` says, beside the largest gap of a neighbour graph's spectrum."""
    model = UnifiedSpectralClustering(
        "auto", max_clusters=max_clusters, random_state=seed, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X).n_clusters_
    return {"true": len(np.unique(y)), "ours": int(found), "eigengap": eigengap(X, max_clusters)}


def eigengap(X: Table, max_clusters: int, n_neighbors: int = 10) -> int:
    """The number of clusters after which the spectrum of the 10-neighbour graph jumps most."""
    near = sp.csr_array(kneighbors_graph(X, min(n_neighbors, X.shape[0] - 1)))
    W = sp.csr_array(near.maximum(near.T))
    wanted = min(max_clusters + 1, X.shape[0])
    values = smallest_eigenvectors(W, wanted, rng=np.random.default_rng(0)).values
    return int(np.argmax(np.diff(values)[1:])) + 2
