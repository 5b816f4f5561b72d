"""Where to put the nodes of a graph on paper, and how to make a large graph small."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from unispectral.plotting._base import thin

__all__ = ["coarsen", "spring_layout", "sunflower"]


def sunflower(n: int) -> np.ndarray:
    """Points spread evenly over the unit disc, from the middle outwards.

    Examples
    --------
    >>> sunflower(3).shape
    (3, 2)
    """
    angle = np.arange(n) * np.pi * (3.0 - np.sqrt(5.0))
    radius = np.sqrt((np.arange(n) + 0.5) / max(n, 1))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def spring_layout(
    W: sp.csr_array,
    start: np.ndarray,
    *,
    n_iter: int = 150,
    pull: float = 1.0,
    gravity: float = 1.0,
) -> np.ndarray:
    """Positions at which springs (edges) and repulsion (all pairs) are in balance.

    Fruchterman and Reingold's forces in matrix form: one n × n product a step.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        Symmetric, non-negative.
    start : ndarray of shape (n, 2)
    n_iter : int
    pull : float
        How much stronger than the repulsion the springs are.
    gravity : float
        How strongly all nodes are drawn to the middle, which keeps the parts together.

    Returns
    -------
    ndarray of shape (n, 2)
        Centred, within the unit square around the origin.
    """
    n = len(start)
    if n < 3:
        return sunflower(n)
    strength = W / max(float(W.sum(axis=1).mean()), 1e-300)
    degrees = np.asarray(strength.sum(axis=1)).ravel()
    ideal = 1.0 / n  # the square of the distance at which two nodes feel at ease
    position = start.astype(np.float64)
    for step in range(n_iter):
        squares = np.einsum("ij,ij->i", position, position)
        distances = squares[:, None] + squares[None, :] - 2.0 * (position @ position.T)
        repulsion = ideal / np.maximum(distances, 1e-3 * ideal)
        np.fill_diagonal(repulsion, 0.0)
        force = position * repulsion.sum(axis=1)[:, None] - repulsion @ position
        force -= pull * np.sqrt(n) * (degrees[:, None] * position - strength @ position)
        force -= gravity * position
        length = np.linalg.norm(force, axis=1)
        limit = 0.15 * (1.0 - step / n_iter) ** 2 + 1e-4
        position += force * (np.minimum(length, limit) / np.maximum(length, 1e-12))[:, None]
    position -= position.mean(axis=0)
    return position / max(float(np.abs(position).max()), 1e-12)


def coarsen(
    W: sp.csr_array, codes: np.ndarray, max_nodes: int
) -> tuple[np.ndarray, np.ndarray, sp.csr_array]:
    """Contract a graph: each node kept stands for the samples nearest to it along the graph.

    Groups never cross clusters, so that every node has one colour. The weight between two nodes
    is the sum over all edges between their groups.

    Parameters
    ----------
    W : CSR array of shape (n, n)
    codes : ndarray of shape (n,)
        Clusters as 0 … c − 1.
    max_nodes : int

    Returns
    -------
    kept : ndarray of shape (m,)
        The samples that became nodes.
    group : ndarray of shape (n,)
        The node, 0 … m − 1, to which each sample belongs.
    small : CSR array of shape (m, m)
        Without a diagonal.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3))))
    >>> kept, group, small = coarsen(W, np.repeat([0, 1], 3), 2)
    >>> group.tolist(), small.nnz
    ([0, 0, 0, 1, 1, 1], 0)
    """
    n = W.shape[0]
    kept = thin(codes, max_nodes, least=1)
    group = np.full(n, -1)
    group[kept] = np.arange(len(kept))
    edges = W.tocoo()
    if len(kept) < n:
        inside = (codes[edges.row] == codes[edges.col]) & (edges.data > 0)
        heaviest = edges.data.max(initial=1e-300)
        lengths = sp.csr_array(
            (heaviest / edges.data[inside], (edges.row[inside], edges.col[inside])), shape=W.shape
        )
        _, _, sources = dijkstra(lengths, indices=kept, min_only=True, return_predecessors=True)
        reached = sources >= 0
        group[reached] = group[sources[reached]]
        _share_out(group, codes, kept)
    off = group[edges.row] != group[edges.col]
    small = sp.coo_array(
        (edges.data[off], (group[edges.row[off]], group[edges.col[off]])),
        shape=(len(kept), len(kept)),
    ).tocsr()
    return kept, group, sp.csr_array((small + small.T) * 0.5)


def _share_out(group: np.ndarray, codes: np.ndarray, kept: np.ndarray) -> None:
    """Samples with no way to a node are shared out among the nodes of their cluster."""
    lost = np.flatnonzero(group < 0)
    if not len(lost):
        return
    order = np.argsort(codes[kept], kind="stable")
    counts = np.bincount(codes[kept], minlength=codes.max() + 1)
    first = np.cumsum(counts) - counts
    turn = np.arange(len(lost)) % counts[codes[lost]]
    group[lost] = order[first[codes[lost]] + turn]
