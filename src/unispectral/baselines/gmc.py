"""Graph-based multi-view clustering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_chunked
from sklearn.preprocessing import scale

from unispectral._errors import InputError
from unispectral._run import Run
from unispectral._validation import check_cluster_count, check_views, is_views
from unispectral.baselines._base import POSITIVE, ClusteringMethod, Partition
from unispectral.baselines._kmeans import kmeans
from unispectral.spectrum._eigen import smallest_eigenvectors

__all__ = ["GMC", "nearest_codes", "on_simplex"]

#: Iterations of k-means, where the graph does not fall apart as asked.
_KMEANS_ITER = 300


class GMC(ClusteringMethod):
    """Graph-based multi-view clustering (Wang, Yang and Liu, IEEE TKDE 32, 2020, 1116–1129).

    Each view has a graph of nearest neighbours whose rows lie on the simplex. One unified graph is
    kept close to all of them, the views weighted by how close it already is, and is made to have
    as many connected components as there are clusters; graphs, weights and unified graph are
    updated in turn. The components are the clusters. There is nothing to tune.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    n_neighbors : int, default=15
        Neighbours of a sample in each view's graph.
    normalize : bool, default=False
        Whether each sample's features are standardised within each view, as the published code
        does: for histograms and pixels, not for few columns.
    n_init : int, default=10
        Random starts of k-means on the embedding, which is asked only where the graph does not
        get the wanted number of components.
    max_iter : int, default=20
        Rounds over graphs, weights and unified graph.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the unified graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The smallest eigenvectors of its Laplacian.
    view_weights_ : ndarray of shape (n_views,)
        Their sum is one.
    n_components_ : int
        Of the unified graph.
    objective_ : float
        Σ_v ‖U − S_v‖, the distance of the unified graph from those of the views.
    n_iter_ : int
    converged_ : bool
        Whether there are as many components as clusters.

    Notes
    -----
    Every step minimises its part of the objective exactly. The published code orders the
    neighbours by their distances alone when a view's graph is updated, and leaves the weights out
    of the mean of the views' graphs.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = GMC(2, n_neighbors=2).fit([first, -2.0 * first])
    >>> model.labels_.tolist(), model.view_weights_.tolist()
    ([0, 0, 0, 1, 1, 1], [0.5, 0.5])
    """

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "n_neighbors": POSITIVE,
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 15,
        normalize: bool = False,
        n_init: int = 10,
        max_iter: int = 20,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.n_neighbors = n_neighbors
        self.normalize = normalize

    def _prepare(self, X: Any, run: Run) -> list[Any]:
        if not is_views(X):
            return [super()._prepare(X, run)]
        tables, names = check_views(X)
        for name, table in zip(names, tables, strict=True):
            if not np.isfinite(table.data if sp.issparse(table) else table).all():
                raise InputError(
                    "X", f"lacks samples in view {name!r}", "give every view all rows"
                )
        self.n_features_in_ = sum(table.shape[1] for table in tables)
        check_cluster_count(self.n_clusters, tables[0].shape[0])
        return tables

    def _cluster(self, data: list[Any], run: Run) -> Partition:
        tables = [table.astype(np.float64) for table in data]
        if self.normalize:
            dense = (table.toarray() if sp.issparse(table) else table for table in tables)
            tables = [scale(table, axis=1) for table in dense]
        near = _neighbourhoods(tables, min(self.n_neighbors, max(tables[0].shape[0] - 2, 1)))
        found = _unify(near, self.n_clusters, self.max_iter, run)
        self.affinity_matrix_ = found.affinity
        self.embedding_ = found.embedding
        self.view_weights_ = found.weights / found.weights.sum()
        self.n_components_, labels = connected_components(found.affinity, directed=False)
        converged = self.n_components_ == self.n_clusters
        if not converged:
            rows = found.embedding
            labels = kmeans(rows, self.n_clusters, run.rng, self.n_init, _KMEANS_ITER).labels
        residual = abs(self.n_components_ - self.n_clusters) / self.n_clusters
        return Partition(labels, found.objective, found.n_iter, converged, residual)


class _Near(NamedTuple):
    """Who may be whose neighbour, and how far it is in each view.

    Attributes
    ----------
    candidates : ndarray of shape (n, m)
        The nearest samples in any view, filled up with the sample itself.
    distances : ndarray of shape (n_views, n, m)
        Squared; infinite where filled up.
    n_neighbors : int
    """

    candidates: np.ndarray
    distances: np.ndarray
    n_neighbors: int


class _Unified(NamedTuple):
    """The unified graph and what belongs to it."""

    affinity: sp.csr_array
    embedding: np.ndarray
    weights: np.ndarray
    objective: float
    n_iter: int


def _neighbourhoods(tables: list[Any], k: int) -> _Near:
    """The union over the views of each sample's k + 1 nearest: no graph ever leaves it."""
    n = tables[0].shape[0]
    wanted = min(k + 1, n - 1)
    member = np.zeros((n, n), dtype=bool)
    for table in tables:
        for rows, squared in _squared(table):
            nearest = np.argpartition(squared, wanted - 1, axis=1)[:, :wanted]
            np.put_along_axis(member[rows], nearest, True, axis=1)
    width = int(member.sum(axis=1).max())
    # A stable sort puts the members first, in order.
    candidates = np.argsort(~member, axis=1, kind="stable")[:, :width]
    outside = ~np.take_along_axis(member, candidates, axis=1)
    candidates = np.where(outside, np.arange(n)[:, None], candidates)
    distances = np.empty((len(tables), n, width))
    for view, table in enumerate(tables):
        for rows, squared in _squared(table):
            distances[view, rows] = np.take_along_axis(squared, candidates[rows], axis=1)
    distances[:, outside] = np.inf
    return _Near(candidates, distances, k)


def _squared(table: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows and their squared distances to all samples; to itself infinite."""
    start = 0
    for block in pairwise_distances_chunked(table, metric="euclidean"):
        rows = slice(start, start + len(block))
        block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = np.inf
        yield rows, np.square(block)
        start = rows.stop


def nearest_codes(costs: np.ndarray, k: int) -> np.ndarray:
    """Rows on the simplex with k positive entries that minimise Σ_j costs_j s_j + α ‖s‖².

    α is as large as leaves k entries positive: s_j is the difference of the cost to that of the
    next candidate, as a share. Infinite costs are no candidates.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_codes(np.array([[1.0, 2.0, 3.0, 9.0, np.inf]]), 2).round(3).tolist()
    [[0.667, 0.333, 0.0, 0.0, 0.0]]
    """
    candidates = np.isfinite(costs).sum(axis=1)
    k = min(k, costs.shape[1])
    order = np.argsort(costs, axis=1, kind="stable")[:, : k + 1]
    ranked = np.take_along_axis(costs, order, axis=1)
    last = np.minimum(k, candidates - 1)[:, None]
    limit = np.take_along_axis(ranked, last, axis=1)
    gaps = np.where(np.isfinite(ranked), limit - ranked, 0.0)[:, :k]
    total = gaps.sum(axis=1, keepdims=True)
    scale_ = np.abs(np.where(np.isfinite(ranked), ranked, 0.0)).max(axis=1, keepdims=True)
    # Candidates that all cost the same share equally.
    equal = np.isfinite(ranked[:, :k]) / np.maximum(np.minimum(k, candidates), 1)[:, None]
    level = total <= 1e-12 * scale_
    shares = np.where(level, equal, gaps / np.where(level, 1.0, total))
    codes = np.zeros_like(costs)
    np.put_along_axis(codes, order[:, :k], shares, axis=1)
    return codes


def on_simplex(points: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex to each row; entries of −inf become zero.

    Examples
    --------
    >>> import numpy as np
    >>> on_simplex(np.array([[0.7, 0.5, -1.0, -np.inf]])).round(3).tolist()
    [[0.6, 0.4, 0.0, 0.0]]
    """
    ranked = -np.sort(-points, axis=1)
    finite = np.isfinite(ranked)
    sums = np.cumsum(np.where(finite, ranked, 0.0), axis=1) - 1.0
    counts = np.arange(1, points.shape[1] + 1)
    kept = (finite & (np.where(finite, ranked, 0.0) * counts > sums)).sum(axis=1)
    shift = np.take_along_axis(sums, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.maximum(points - shift, 0.0)


def _unify(near: _Near, n_clusters: int, max_iter: int, run: Run) -> _Unified:
    """Graphs of the views, weights and unified graph in turn, until it falls apart as asked.

    The price of the embedding, λ, is doubled while there are too few components, halved while
    there are too many.
    """
    n_views = len(near.distances)
    inside = np.isfinite(near.distances[0])
    graphs = np.stack([nearest_codes(costs, near.n_neighbors) for costs in near.distances])
    weights = np.full(n_views, 1.0 / n_views)
    unified = graphs.mean(axis=0)
    W = _symmetric(unified, near.candidates)
    embedding = smallest_eigenvectors(W, n_clusters, normalized=False, tol=1e-6, run=run).vectors
    price, n_iter, components = 1.0, 0, 0
    while n_iter < max_iter and components != n_clusters:
        n_iter += 1
        for view, distances in enumerate(near.distances):
            costs = np.where(inside, distances - 2.0 * weights[view] * unified, np.inf)
            graphs[view] = nearest_codes(costs, near.n_neighbors)
        weights = 0.5 / np.maximum(_apart(unified, graphs), 1e-12)
        moved = _embedded_distances(embedding, near.candidates)
        target = np.tensordot(weights, graphs, axes=1) - 0.5 * price * moved
        unified = on_simplex(np.where(inside, target / weights.sum(), -np.inf))
        W = _symmetric(unified, near.candidates)
        components = connected_components(W, directed=False)[0]
        if components <= n_clusters:
            price *= 2.0
            found = smallest_eigenvectors(W, n_clusters, normalized=False, tol=1e-6, run=run)
            embedding = found.vectors
        else:
            price /= 2.0
    return _Unified(W, embedding, weights, float(_apart(unified, graphs).sum()), n_iter)


def _apart(unified: np.ndarray, graphs: np.ndarray) -> np.ndarray:
    """The distance of the unified graph from each view's."""
    return np.sqrt(np.square(graphs - unified).sum(axis=(1, 2)))


def _embedded_distances(embedding: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Squared distances in the embedding, of each sample to its candidates."""
    squares = np.square(embedding).sum(axis=1)
    products = np.einsum("ijk,ik->ij", embedding[candidates], embedding)
    return np.maximum(squares[:, None] + squares[candidates] - 2.0 * products, 0.0)


def _symmetric(unified: np.ndarray, candidates: np.ndarray) -> sp.csr_array:
    """The symmetric part of a graph that is given by rows."""
    n, width = candidates.shape
    rows = np.repeat(np.arange(n), width)
    edges = (unified > 0.0).ravel() & (rows != candidates.ravel())
    places = rows[edges], candidates.ravel()[edges]
    U = sp.coo_array((unified.ravel()[edges], places), shape=(n, n))
    return sp.csr_array((U + U.T) / 2.0)
