"""The methods of the field. Peers are run where they are installed, and never imported otherwise.

Every method gets the samples and the true number of clusters, or, in the second table, nothing but
the samples; all with their defaults.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from benchmarks.label_free.views import one_table
from unispectral import UnifiedSpectralClustering
from unispectral.baselines import GMC
from unispectral.baselines._spectral import unit_rows
from unispectral.baselines.neighbours import on_simplex

__all__ = ["METHODS", "TUNED_VIEW_METHODS", "VIEW_METHODS", "Method", "installed", "versions"]

Table: TypeAlias = Any
Fit: TypeAlias = Callable[[Any, int], np.ndarray]


@dataclass(frozen=True)
class Method:
    """A method of the field.

    Attributes
    ----------
    name : str
    fit : callable(X, n_clusters) -> labels
        Those that find their own number are given one and do not look at it.
    package : str
        What must be installed.
    finds_number : bool
        Whether it finds the number of clusters by itself.
    others : tuple of such callables
        Further settings, of which and ``fit`` the one of the largest index is shown: tuned with
        the true labels.
    """

    name: str
    fit: Fit
    package: str = "scikit-learn"
    finds_number: bool = False
    others: tuple[Fit, ...] = ()


def _ours(X: Any, k: int, neighbours: int | Literal["auto"] = "auto") -> np.ndarray:
    return UnifiedSpectralClustering(k, n_neighbors=neighbours, n_jobs=1).fit(X).labels_


def _ours_auto(X: Any, k: int) -> np.ndarray:
    return UnifiedSpectralClustering("auto", n_jobs=1).fit(X).labels_


def _spectral(X: Table, k: int) -> np.ndarray:
    model = SpectralClustering(k, affinity="nearest_neighbors", random_state=0)
    return model.fit_predict(X)


def _kmeans(X: Table, k: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=0).fit_predict(X)


def _mixture(X: Table, k: int) -> np.ndarray:
    """Full covariances; in many columns, of the first ten principal components."""
    if X.shape[1] > 12:
        X = PCA(10, random_state=0).fit_transform(X)
    return GaussianMixture(k, n_init=3, reg_covar=1e-4, random_state=0).fit_predict(X)


def _hdbscan(X: Table, k: int) -> np.ndarray:
    return HDBSCAN(copy=True).fit_predict(X)


def _lumbermark(X: Table, k: int) -> np.ndarray:
    import lumbermark

    return lumbermark.Lumbermark(n_clusters=k).fit_predict(np.ascontiguousarray(X))


def _genie(X: Table, k: int) -> np.ndarray:
    import genieclust

    return genieclust.Genie(n_clusters=k).fit_predict(np.ascontiguousarray(X))


def _fast_hdbscan(X: Table, k: int) -> np.ndarray:
    import fast_hdbscan

    return fast_hdbscan.HDBSCAN().fit_predict(np.asarray(X, dtype=np.float64))


def _plscan(X: Table, k: int) -> np.ndarray:
    import fast_plscan

    return fast_plscan.PLSCAN(num_threads=1).fit(np.asarray(X, dtype=np.float64)).labels_


def _evoc(X: Table, k: int) -> np.ndarray:
    import evoc

    return evoc.EVoC(random_state=0).fit_predict(np.asarray(X, dtype=np.float32))


def _leiden(X: Table, k: int) -> np.ndarray:
    """Modularity at resolution 1 on the symmetric graph of 15 neighbours, Jaccard weights."""
    import igraph
    import leidenalg

    near = kneighbors_graph(X, min(15, X.shape[0] - 1))
    shared = (near @ near.T).multiply(near + near.T > 0)
    upper = sp.triu(shared, 1).tocoo()
    width = near.sum(axis=1).max()
    weights = upper.data / (2.0 * width - upper.data)
    pairs = np.column_stack([upper.row, upper.col]).tolist()
    graph = igraph.Graph(n=X.shape[0], edges=pairs)
    kind = leidenalg.RBConfigurationVertexPartition
    found = leidenalg.find_partition(graph, kind, weights=weights.tolist(), seed=0)
    return np.array(found.membership)


def _one_table(views: dict[str, Table], k: int) -> np.ndarray:
    return _ours(one_table(views), k)


def _gmc(views: dict[str, Table], k: int, neighbours: int = 15) -> np.ndarray:
    return GMC(k, n_neighbors=neighbours, random_state=0).fit(views).labels_


def mean_graph(views: dict[str, Table], k: int, neighbours: int = 10) -> np.ndarray:
    """Spectral clustering of the mean of the views' graphs of nearest neighbours."""
    graphs = [kneighbors_graph(view, neighbours, include_self=True) for view in views.values()]
    mean = sum(0.5 * (graph + graph.T) for graph in graphs) / len(graphs)
    model = SpectralClustering(k, affinity="precomputed", random_state=0)
    return model.fit_predict(mean.toarray())


def coregularised(views: dict[str, Table], k: int, penalty: float = 0.025) -> np.ndarray:
    """Co-regularised spectral clustering, pairwise (Kumar, Rai and Daumé, NIPS 2011).

    Gaussian kernels at the median distance. Each view's embedding maximises
    Tr(UᵀL_vU) + λ Σ_w Tr(UUᵀU_wU_wᵀ), by turns; k-means on the unit rows of all embeddings side by
    side. λ is in the middle of the range that the paper tries.
    """
    laplacians = [_normalised_kernel(np.asarray(view, dtype=float)) for view in views.values()]
    n = len(laplacians[0])
    wanted = (n - k, n - 1)
    found = [scipy.linalg.eigh(L, subset_by_index=wanted)[1] for L in laplacians]
    for _ in range(10):
        for view, L in enumerate(laplacians):
            others = sum(U @ U.T for w, U in enumerate(found) if w != view)
            found[view] = scipy.linalg.eigh(L + penalty * others, subset_by_index=wanted)[1]
    together = unit_rows(np.hstack([unit_rows(U) for U in found]))
    return _kmeans(together, k)


def _normalised_kernel(X: np.ndarray) -> np.ndarray:
    squares = np.square(X).sum(axis=1)
    squared = np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0)
    median = np.median(squared[np.triu_indices(len(X), 1)])
    K = np.exp(-squared / (2.0 * max(float(median), 1e-300)))
    root = 1.0 / np.sqrt(K.sum(axis=1))
    return root[:, None] * K * root


def unify_anchors(views: dict[str, Table], k: int) -> np.ndarray:
    """Multi-view subspaces with unified anchors (SMVSC: Sun and others, ACM Multimedia 2021).

    Nothing to tune: min Σ_v a_v² ‖X_v − Z Aᵀ W_vᵀ‖² + ‖Z‖² with as many anchors as clusters, W_v
    and A with orthonormal columns, rows of Z on the simplex, Σ a_v = 1, by turns; k-means on the
    unit rows of the left singular vectors of Z. As in the authors' program, columns are
    standardised, the first samples are the first anchors, and the step for Z leaves out the
    weights a_v.
    """
    tables = [np.asarray(view, dtype=float) for view in views.values()]
    tables = [(X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1) for X in tables]
    Z, A = np.eye(len(tables[0]), k), np.zeros((k, k))
    weights = np.full(len(tables), 1.0 / len(tables))
    before = np.inf
    for number in range(1, 51):
        bases = [_polar_factor(X.T @ (Z @ A.T)) for X in tables]
        coded = [X @ W for X, W in zip(tables, bases, strict=True)]
        A = _polar_factor(sum(a**2 * C.T @ Z for a, C in zip(weights, coded, strict=True)))
        Z = on_simplex(sum(C @ A for C in coded) / (np.square(weights).sum() + 1.0))
        fitted = Z @ A.T
        size = float(np.square(fitted).sum())
        products = [float(np.vdot(C, fitted)) for C in coded]
        lengths = [float(np.square(X).sum()) for X in tables]
        misfits = np.array(lengths) - 2.0 * np.array(products) + size
        weights = (1.0 / misfits) / (1.0 / misfits).sum()
        value = float(np.square(weights) @ misfits + np.square(Z).sum())
        if number > 9 and abs(before - value) < 1e-3 * before:
            break
        before = value
    return _kmeans(unit_rows(np.linalg.svd(Z, full_matrices=False)[0]), k)


def _polar_factor(M: np.ndarray) -> np.ndarray:
    """The nearest matrix with orthonormal columns."""
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


METHODS = (
    Method("unispectral", _ours, "unispectral"),
    Method("Lumbermark", _lumbermark, "lumbermark"),
    Method("Genie", _genie, "genieclust"),
    Method("spectral, nearest neighbours", _spectral),
    Method("Gaussian mixture", _mixture),
    Method("k-means", _kmeans),
    Method("unispectral, auto", _ours_auto, "unispectral", finds_number=True),
    Method("PLSCAN", _plscan, "fast-plscan", finds_number=True),
    Method("fast HDBSCAN", _fast_hdbscan, "fast-hdbscan", finds_number=True),
    Method("HDBSCAN", _hdbscan, finds_number=True),
    Method("EVōC", _evoc, "evoc", finds_number=True),
    Method("Jaccard and Leiden", _leiden, "leidenalg", finds_number=True),
)
VIEW_METHODS = (
    Method("unispectral", _ours, "unispectral"),
    Method("unispectral, one table", _one_table, "unispectral"),
    Method("spectral, mean graph", mean_graph),
    Method("GMC", _gmc, "unispectral"),
    Method("co-regularised spectral", coregularised, "unispectral"),
    Method("unified anchors (SMVSC)", unify_anchors),
)
#: Three settings each, of which the labels choose.
TUNED_VIEW_METHODS = (
    Method(
        "unispectral, tuned",
        _ours,
        "unispectral",
        others=(partial(_ours, neighbours=8), partial(_ours, neighbours=20)),
    ),
    Method(
        "spectral, mean graph, tuned",
        mean_graph,
        others=(partial(mean_graph, neighbours=5), partial(mean_graph, neighbours=20)),
    ),
    Method(
        "GMC, tuned",
        _gmc,
        "unispectral",
        others=(partial(_gmc, neighbours=5), partial(_gmc, neighbours=30)),
    ),
    Method(
        "co-regularised spectral, tuned",
        coregularised,
        "unispectral",
        others=(partial(coregularised, penalty=0.01), partial(coregularised, penalty=0.05)),
    ),
)


def installed(method: Method) -> bool:
    """Whether a method can be run here."""
    try:
        importlib.metadata.version(method.package)
    except importlib.metadata.PackageNotFoundError:
        return method.package == "unispectral"
    return True


def versions() -> dict[str, str]:
    """The version of every package that takes part, and of those that are not here."""
    found = {}
    for method in (*METHODS, *VIEW_METHODS):
        try:
            found[method.package] = importlib.metadata.version(method.package)
        except importlib.metadata.PackageNotFoundError:
            found[method.package] = "not installed"
    return dict(sorted(found.items()))
