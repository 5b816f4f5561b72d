"""Graphs of neighbours whose rows lie on the simplex, made to fall into clusters: CAN and GMC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_chunked

from unispectral._alignment import is_views
from unispectral._arrays import smallest_in_rows
from unispectral._errors import InputError
from unispectral._memory import require_memory
from unispectral._parameters import count, parameter
from unispectral._run import Run
from unispectral._validation import check_cluster_count, check_views
from unispectral.baselines._base import Partition, RestartedMethod, Stop
from unispectral.spectrum._eigen import smallest_eigenvectors

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

__all__ = ["CAN", "GMC"]

#: Columns from which on the samples of a view are standardised: of two, only an order is left.
_FEWEST = 3

#: Given the rows of a graph and λ times the squared distances in the embedding, the next rows.
Update = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Near(NamedTuple):
    """Who may be whose neighbour, and how far it is in each view.

    The candidates (n, m) of a sample are the nearest in any view, filled up with the sample
    itself; the squared distances (n_views, n, m) are infinite where filled up.
    """

    candidates: np.ndarray
    distances: np.ndarray
    n_neighbors: int


class _ComponentMethod(RestartedMethod):
    """A method whose clusters are the connected components of a graph of neighbours.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of a sample in the first graph.
    n_init : int
        Random starts of k-means on the embedding, which is asked only where the graph does not
        get the wanted number of components.

    Attributes
    ----------
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The smallest eigenvectors of its Laplacian.
    n_components_ : int
        Of the graph.
    converged_ : bool
        Whether there are as many components as clusters.
    """

    n_neighbors: int = count(default=15)

    def _near(self, tables: list[Any]) -> Near:
        k = min(self.n_neighbors, max(tables[0].shape[0] - 2, 1))
        return neighbourhoods([table.astype(np.float64) for table in tables], k)

    def _part(
        self, near: Near, rows: np.ndarray, update: Update, penalty: float, run: Run
    ) -> tuple[np.ndarray, Partition]:
        """Update a graph, and the embedding that pulls at it, until there are as many components.

        The penalty of the embedding, λ, is doubled while there are too few components, halved
        while there are too many. Returns the rows of the graph, and its components or, if their
        number is wrong, the clusters of k-means, without the method's own objective.
        """
        W = symmetric(rows, near.candidates)
        embedding = self._embedding(W, run)
        n_iter = 0
        n_components = 0
        while n_iter < self.max_iter and n_components != self.n_clusters:
            n_iter += 1
            rows = update(rows, penalty * embedded_distances(embedding, near.candidates))
            W = symmetric(rows, near.candidates)
            n_components, labels = connected_components(W, directed=False)
            if n_components <= self.n_clusters:
                penalty *= 2.0
                embedding = self._embedding(W, run)
            else:
                penalty /= 2.0
        residual = abs(n_components - self.n_clusters) / self.n_clusters
        stop = Stop(n_iter, residual == 0.0, residual)
        more = {"affinity_matrix": W, "n_components": n_components}
        if stop.converged:
            attributes = {"embedding": embedding, **more}
            return rows, Partition(labels, np.nan, *stop, attributes)
        return rows, self._kmeans(embedding, run, stop, **more)

    def _embedding(self, W: sp.csr_array, run: Run) -> np.ndarray:
        found = smallest_eigenvectors(W, self.n_clusters, normalized=False, tol=1e-6, run=run)
        return found.vectors


class CAN(_ComponentMethod):
    """Clustering with adaptive neighbours (Nie, Wang and Huang, KDD 2014, 977–986).

    The neighbours of a sample are weighted by a distribution that is large where distances are
    small. The graph is learned together with an embedding that pulls at it until it has as many
    connected components as there are clusters; the components are the clusters. There is nothing
    to tune but the number of neighbours, which sets the weight of the ridge.

    Notes
    -----
    Checked against the program of F. Nie: 15 neighbours, the ridge their mean over the samples,
    from which the penalty of the embedding starts, at most 30 rounds, only neighbours updated.
    Here the next neighbour, which ends a row, may get an edge too; and where the graph does not
    get the wanted number of components, k-means on the embedding gives the labels, while the
    program returns the components there are.

    Attributes
    ----------
    objective_ : float
        Σ_ij ‖x_i − x_j‖² s_ij + γ s_ij², without the penalty of the embedding.

    Examples
    --------
    >>> CAN(2, n_neighbors=2).fit_predict([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    max_iter: int = count(default=30)

    def _cluster(self, data: object, run: Run) -> Partition:
        near = self._near([data])
        distances = near.distances[0]
        k = near.n_neighbors
        ridge = mean_ridge(distances, k)

        def update(rows: np.ndarray, pull: np.ndarray) -> np.ndarray:
            return on_simplex(-(distances + pull) / (2.0 * ridge))

        rows, found = self._part(near, nearest_codes(distances, k), update, ridge, run)
        used = np.where(rows > 0.0, distances, 0.0)
        objective = float((used * rows).sum() + ridge * np.square(rows).sum())
        return found._replace(objective=objective)


class GMC(_ComponentMethod):
    """Graph-based multi-view clustering (Wang, Yang and Liu, IEEE TKDE 32, 2020, 1116–1129).

    Each view has a graph of nearest neighbours whose rows lie on the simplex. One unified graph is
    kept close to all of them, the views weighted by how close it already is, and is made to have
    as many connected components as there are clusters; graphs, weights and unified graph are
    updated in turn. The components are the clusters. ``fit`` takes one table or several.

    Parameters
    ----------
    standardize : bool
        Whether each *sample* of a view is moved and scaled to mean 0 and variance 1 over its
        columns, so that angles count and lengths do not. A view of one or two columns is left
        as it is, because nothing but the order of its columns would remain.

    Notes
    -----
    Checked against the authors' published program: 15 neighbours, λ = 1 at first, doubled or
    halved, at most 20 rounds; samples standardised by default, and not in its examples of two
    columns; the graph of a view over its own nearest neighbours, negative entries set to zero;
    the graphs averaged with equal weights, while the learned weights scale the pull of the
    embedding. One thing differs: where the graph does not get the wanted number of components,
    the program returns the components there are; here k-means on the embedding gives as many
    clusters as were asked for.

    Attributes
    ----------
    view_weights_ : ndarray of shape (n_views,)
        Their sum is one.
    objective_ : float
        Σ_v ‖U − S_v‖, the distance of the unified graph from those of the views.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = GMC(2, n_neighbors=2).fit([first, -2.0 * first])
    >>> model.labels_.tolist(), model.view_weights_.tolist()
    ([0, 0, 0, 1, 1, 1], [0.5, 0.5])
    """

    standardize: bool = parameter("boolean", default=True)
    max_iter: int = count(default=20)

    def _prepare(self, X: object, run: Run) -> list[Any]:
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
        tables = data
        if self.standardize:
            tables = [standardize_samples(table) for table in data]
        near = self._near(tables)
        k = near.n_neighbors
        unpulled = np.zeros_like(near.distances[0])
        graphs = np.stack([pull_graph(costs, unpulled, k) for costs in near.distances])
        weights = np.full(len(graphs), 1.0 / len(graphs))
        first = graphs.sum(axis=0)
        # A sample at the same distance from its neighbours in every view is near all of them.
        silent = ~first.any(axis=1)
        first[silent] = np.isfinite(near.distances[0, silent])
        first /= first.sum(axis=1, keepdims=True)

        def update(unified: np.ndarray, pull: np.ndarray) -> np.ndarray:
            for view, distances in enumerate(near.distances):
                graphs[view] = pull_graph(distances, weights[view] * unified, k)
            weights[:] = 0.5 / np.maximum(_apart(unified, graphs), 1e-12)
            target = graphs.mean(axis=0) - 0.5 * pull * np.mean(1.0 / weights) / len(graphs)
            inside = np.any(graphs > 0.0, axis=0)
            inside |= ~np.any(inside, axis=1, keepdims=True) & (unified > 0.0)
            return on_simplex(np.where(inside, target, -np.inf))

        unified, found = self._part(near, first, update, 1.0, run)
        return found._replace(
            objective=float(_apart(unified, graphs).sum()),
            attributes={**found.attributes, "view_weights": weights / weights.sum()},
        )


def _apart(unified: np.ndarray, graphs: np.ndarray) -> np.ndarray:
    """The distance of the unified graph from each view's."""
    return np.sqrt(np.square(graphs - unified).sum(axis=(1, 2)))


def standardize_samples(table: Table) -> Any:
    """Each row with mean 0 and variance 1 over its columns; a constant row becomes zero."""
    n, width = table.shape
    if width < _FEWEST:
        return table
    require_memory(
        8.0 * n * width, f"standardising {n} × {width} samples", "use GMC(standardize=False)"
    )
    if sp.issparse(table):
        rows = table.toarray()
    else:
        rows = np.asarray(table)
    rows = rows - rows.mean(axis=1, keepdims=True, dtype=np.float64)
    deviation = rows.std(axis=1, ddof=1, keepdims=True)
    # What rounding leaves of a constant row is not a pattern.
    size = np.abs(table).max(axis=1)
    if sp.issparse(size):
        size = size.toarray()
    else:
        size = np.asarray(size)
    constant = deviation <= 1e-12 * size.reshape(-1, 1)
    return np.where(constant, 0.0, rows / np.where(constant, 1.0, deviation))


def neighbourhoods(tables: list[Any], k: int) -> Near:
    """The union over the views of each sample's k + 1 nearest: no graph ever leaves it."""
    n = tables[0].shape[0]
    wanted = min(k + 1, n - 1)
    member = np.zeros((n, n), dtype=bool)
    for table in tables:
        for rows, squared in _iterate_distances(table):
            nearest = smallest_in_rows(squared, wanted)
            np.put_along_axis(member[rows], nearest, True, axis=1)
    width = int(member.sum(axis=1).max())
    # A stable sort puts the members first, in order.
    candidates = np.argsort(~member, axis=1, kind="stable")[:, :width]
    outside = ~np.take_along_axis(member, candidates, axis=1)
    candidates = np.where(outside, np.arange(n)[:, None], candidates)
    distances = np.empty((len(tables), n, width))
    for view, table in enumerate(tables):
        for rows, squared in _iterate_distances(table):
            distances[view, rows] = np.take_along_axis(squared, candidates[rows], axis=1)
    distances[:, outside] = np.inf
    return Near(candidates, distances, k)


def _iterate_distances(table: object) -> Iterator[tuple[slice, np.ndarray]]:
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


def pull_graph(distances: np.ndarray, pull: np.ndarray, k: int) -> np.ndarray:
    """The graph of a view, pulled towards the unified one: over its k + 1 nearest neighbours.

    As in the authors' program: the shares are those of :func:`nearest_codes` at the costs
    ``distances − 2 pull``, but the neighbours are taken, and ordered, by the distances alone; what
    comes out negative is set to zero without sharing the rest anew; and a sample that is equally
    far from all of them, such as one without any word, has no edge.
    """
    order = np.argsort(distances, axis=1, kind="stable")[:, : k + 1]
    ranked = np.take_along_axis(distances, order, axis=1)
    reachable = np.isfinite(ranked)
    costs = np.where(reachable, ranked, 0.0) - 2.0 * np.take_along_axis(pull, order, axis=1)
    last = reachable.sum(axis=1, keepdims=True) - 1
    gaps = np.where(reachable, np.take_along_axis(costs, last, axis=1) - costs, 0.0)
    total = gaps.sum(axis=1, keepdims=True)
    level = total <= 1e-12 * np.abs(costs).max(axis=1, keepdims=True)
    shares = np.where(level, 0.0, gaps / np.where(level, 1.0, total))
    codes = np.zeros_like(distances)
    np.put_along_axis(codes, order, np.maximum(shares, 0.0), axis=1)
    return codes


def on_simplex(points: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex to each row; entries of −inf become zero."""
    ranked = -np.sort(-points, axis=1)
    finite = np.isfinite(ranked)
    sums = np.cumsum(np.where(finite, ranked, 0.0), axis=1) - 1.0
    counts = np.arange(1, points.shape[1] + 1)
    kept = (finite & (np.where(finite, ranked, 0.0) * counts > sums)).sum(axis=1)
    shift = np.take_along_axis(sums, kept[:, None] - 1, axis=1) / kept[:, None]
    return np.maximum(points - shift, 0.0)


def embedded_distances(embedding: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Squared distances in the embedding, of each sample to its candidates."""
    squares = np.square(embedding).sum(axis=1)
    products = np.einsum("ijk,ik->ij", embedding[candidates], embedding)
    return np.maximum(squares[:, None] + squares[candidates] - 2.0 * products, 0.0)


def symmetric(unified: np.ndarray, candidates: np.ndarray) -> sp.csr_array:
    """The symmetric part of a graph that is given by rows."""
    n, width = candidates.shape
    rows = np.repeat(np.arange(n), width)
    edges = (unified > 0.0).ravel() & (rows != candidates.ravel())
    places = rows[edges], candidates.ravel()[edges]
    U = sp.coo_array((unified.ravel()[edges], places), shape=(n, n))
    return sp.csr_array((U + U.T) / 2.0)


def mean_ridge(distances: np.ndarray, k: int) -> float:
    """The γ that leaves k neighbours to a sample, as a mean over the samples.

    For one sample it is ½ (k d_(k+1) − Σ_j≤k d_(j)), d its sorted squared distances.
    """
    ranked = np.sort(distances, axis=1)[:, : k + 1]
    ranked = np.where(np.isfinite(ranked), ranked, ranked[:, :1])
    limit = ranked[:, -1]
    gaps = 0.5 * (k * limit - ranked[:, :k].sum(axis=1))
    scale = max(float(limit.mean()), np.finfo(np.float64).tiny)
    return max(float(gaps.mean()), 1e-12 * scale)
