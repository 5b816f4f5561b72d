"""What is measured: our estimators, their peers, and the floors below which no fit can go."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering

from benchmarks._data import Input, load
from benchmarks._elastic_net import ElasticNetSubspaceClustering

SEED = 0


#: The paper's three penalties, which its exact solver is compared with.
PENALTIES = {"alpha": 0.1, "beta": 0.1, "gamma": 0.1}


def _ours(name: str, **settings: Any) -> Callable[[int], Any]:
    def build(n_clusters: int) -> Any:
        import unispectral

        return getattr(unispectral, name)(n_clusters, random_state=SEED, **settings)

    return build


def _spectral(**settings: Any) -> Callable[[int], Any]:
    return lambda n_clusters: SpectralClustering(n_clusters, random_state=SEED, **settings)


_NEIGHBOURS = {"affinity": "nearest_neighbors", "n_neighbors": 10}

OURS: dict[str, Callable[[int], Any]] = {
    "SCSK, linear kernel": _ours("SCSK", kernel="linear", solver="exact", **PENALTIES),
    "unispectral, as it comes": _ours("UnifiedSpectralClustering"),
    "SCMK, twelve kernels": _ours("SCMK", solver="exact", **PENALTIES),
    "SCSK, linear kernel, alm": _ours(
        "SCSK", kernel="linear", max_iter=200, max_time=300, mu=0.1, **PENALTIES
    ),
}

PEERS: dict[str, Callable[[int], Any]] = {
    "spectral, rbf": _spectral(),
    "spectral, neighbours, arpack": _spectral(**_NEIGHBOURS, eigen_solver="arpack"),
    "spectral, neighbours, lobpcg": _spectral(**_NEIGHBOURS, eigen_solver="lobpcg"),
    "spectral, neighbours, amg": _spectral(**_NEIGHBOURS, eigen_solver="amg"),
    "spectral, neighbours, amg, cluster_qr": _spectral(
        **_NEIGHBOURS, eigen_solver="amg", assign_labels="cluster_qr"
    ),
    "k-means": lambda n_clusters: KMeans(n_clusters, n_init=10, random_state=SEED),
    "HDBSCAN": lambda n_clusters: HDBSCAN(copy=True),
    "elastic-net subspaces": lambda n_clusters: ElasticNetSubspaceClustering(
        n_clusters, random_state=SEED
    ),
}

METHODS = OURS | PEERS


def runner(method: str, data: Input) -> Callable[[], Any]:
    """A fit of one method on loaded data, silent about what the report says anyway."""

    def run() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return METHODS[method](data.n_clusters).fit(data.X)

    return run


def floors(data: Input) -> dict[str, Callable[[], Any]]:
    """The Gram matrix, and LAPACK's smallest eigenvectors of a dense Laplacian of that size."""
    X = data.X
    graph = np.maximum(np.asarray((X @ X.T).todense() if hasattr(X, "todense") else X @ X.T), 0)
    laplacian = np.diag(graph.sum(axis=1)) - graph

    def eigenvectors() -> np.ndarray:
        return linalg.eigh(laplacian, subset_by_index=(0, data.n_clusters - 1))[1]

    return {"Gram matrix": gram(data), "LAPACK eigenvectors": eigenvectors}


def gram(data: Input) -> Callable[[], Any]:
    """The matrix of dot products, sparse where the samples are."""
    return lambda: data.X @ data.X.T


def prepare(*, method: str, data: str, dtype: str | None = None) -> Callable[[], Any]:
    """A fit whose data are loaded and whose code is compiled, for the measurement of memory."""
    small = load("digits-60", dtype=dtype)
    if method != "elastic-net subspaces":
        runner(method, small)()
    return runner(method, load(data, dtype=dtype))
