"""Graphs of neighbours whose rows lie on the simplex, made to fall into clusters: CAN and GMC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances_chunked

from unispectral._run import Run
from unispectral.baselines._base import Partition
from unispectral.baselines._kmeans import kmeans
from unispectral.spectrum._eigen import smallest_eigenvectors

__all__ = [
    "Near",
    "Parted",
    "components_or_kmeans",
    "embedded_distances",
    "nearest_codes",
    "neighbourhoods",
    "on_simplex",
    "part",
    "symmetric",
]

#: Iterations of k-means, where the graph does not fall apart as asked.
_KMEANS_ITER = 300


class Near(NamedTuple):
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


class Parted(NamedTuple):
    """A graph that was made to fall apart.

    Attributes
    ----------
    affinity : CSR array of shape (n, n)
        Its symmetric part.
    rows : ndarray of shape (n, m)
        The graph, by candidates.
    embedding : ndarray of shape (n, n_clusters)
        The smallest eigenvectors of the Laplacian.
    n_iter : int
    """

    affinity: sp.csr_array
    rows: np.ndarray
    embedding: np.ndarray
    n_iter: int


def neighbourhoods(tables: list[Any], k: int) -> Near:
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
    return Near(candidates, distances, k)


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


def part(
    near: Near,
    rows: np.ndarray,
    update: Callable[[np.ndarray, np.ndarray], np.ndarray],
    n_clusters: int,
    max_iter: int,
    price: float,
    run: Run,
) -> Parted:
    """Update a graph, and the embedding that pulls at it, until there are as many components.

    The price of the embedding, λ, is doubled while there are too few components, halved while
    there are too many.

    Parameters
    ----------
    near : Near
    rows : ndarray of shape (n, m)
        The first graph.
    update : callable
        Given the rows and λ times the squared distances in the embedding, the next rows.
    n_clusters, max_iter : int
    price : float
        The first λ.
    run : Run
    """
    W = symmetric(rows, near.candidates)
    embedding = _embedding(W, n_clusters, run)
    n_iter, count = 0, 0
    while n_iter < max_iter and count != n_clusters:
        n_iter += 1
        rows = update(rows, price * embedded_distances(embedding, near.candidates))
        W = symmetric(rows, near.candidates)
        count = connected_components(W, directed=False)[0]
        if count <= n_clusters:
            price *= 2.0
            embedding = _embedding(W, n_clusters, run)
        else:
            price /= 2.0
    return Parted(W, rows, embedding, n_iter)


def _embedding(W: sp.csr_array, n_clusters: int, run: Run) -> np.ndarray:
    return smallest_eigenvectors(W, n_clusters, normalized=False, tol=1e-6, run=run).vectors


def components_or_kmeans(
    found: Parted, n_clusters: int, n_init: int, run: Run
) -> tuple[int, Partition]:
    """The components of a graph are the clusters; k-means is asked where there are not as many.

    Returns the number of components, and the partition, which counts as converged if the numbers
    agree and does not know its objective yet.
    """
    count, labels = connected_components(found.affinity, directed=False)
    if count != n_clusters:
        labels = kmeans(found.embedding, n_clusters, run.rng, n_init, _KMEANS_ITER).labels
    residual = abs(count - n_clusters) / n_clusters
    return count, Partition(labels, None, found.n_iter, count == n_clusters, residual)
