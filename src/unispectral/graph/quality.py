"""What a graph says of its parts: components, single ones cut out, how well a clustering fits."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unispectral._compat import njit

__all__ = ["components", "conductances", "cut_out", "modularity", "normalized_cut"]

#: Nodes from which on it pays to compile a loop for this.
_MANY_NODES = 20_000


def modularity(W: sp.csr_array, labels: np.ndarray) -> float:
    """How much more of the graph's weight lies inside clusters than chance would put there.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> modularity(W, np.array([0, 0, 1, 1]))
    0.5
    """
    inside, volumes = _inside_and_volumes(W, labels)
    total = float(volumes.sum())
    if total <= 0:
        return 0.0
    return float(inside.sum() / total - np.sum((volumes / total) ** 2))


def normalized_cut(W: sp.csr_array, labels: np.ndarray) -> float:
    """The mean share of a cluster's weight that leaves it.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> normalized_cut(W, np.array([0, 0, 1, 1]))
    0.0
    """
    shares = conductances(W, labels)
    used = np.isfinite(shares)
    return float(np.mean(shares[used])) if used.any() else 1.0


def conductances(W: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """The share of each cluster's weight that leaves it; NaN for one without edges.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 3.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> conductances(W, np.array([0, 0, 1])).round(3).tolist()
    [0.143, 1.0]
    """
    inside, volumes = _inside_and_volumes(W, labels)
    with np.errstate(invalid="ignore"):
        return 1.0 - inside / np.where(volumes > 0, volumes, np.nan)


def _inside_and_volumes(W: sp.csr_array, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight inside each cluster, and of all edges that touch it."""
    from unispectral.graph._loops import add_up

    found = np.zeros((2, int(labels.max()) + 1))
    labels = labels.astype(np.intp, copy=False)  # compiled once, whatever their type
    add_up(W.indptr, W.indices, W.data, labels, found[0], found[1])
    return found[0], found[1]


def cut_out(W: sp.csr_array, members: np.ndarray) -> sp.csr_array:
    """The edges between some nodes, whose ascending numbers are given.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    >>> cut_out(W, np.array([0, 2])).toarray().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    place = np.full(W.shape[0], -1, dtype=W.indices.dtype)
    place[members] = np.arange(len(members))
    most = int((W.indptr[members + 1] - W.indptr[members]).sum())
    indptr = np.zeros(len(members) + 1, dtype=W.indptr.dtype)
    indices = np.empty(most, dtype=W.indices.dtype)
    data = np.empty(most, dtype=W.dtype)
    _take_edges(W.indptr, W.indices, W.data, members, place, indptr, indices, data)
    shape = (len(members), len(members))
    return sp.csr_array((data[: indptr[-1]], indices[: indptr[-1]], indptr), shape=shape)


@njit(cache=True, nogil=True)
def _take_edges(indptr, indices, data, members, place, to_indptr, to_indices, to_data):
    """Copy the edges between members, which have a place among them, one member after another."""
    reached = 0
    for at in range(len(members)):
        for p in range(indptr[members[at]], indptr[members[at] + 1]):
            other = place[indices[p]]
            if other >= 0:
                to_indices[reached] = other
                to_data[reached] = data[p]
                reached += 1
        to_indptr[at + 1] = reached


def components(graph: sp.csr_array) -> tuple[int, np.ndarray]:
    """The number of components and that of each node, in the order of their first nodes.

    Edges may be stored in one direction only.

    Those of few nodes are found by SciPy, which has nothing to compile, but makes the transposed
    graph first: at ten million samples that takes longer than all the rest of it.

    Examples
    --------
    >>> count, member = components(sp.csr_array([[0, 0, 1], [0, 0, 0], [0, 0, 0]]))
    >>> count, member.tolist()
    (2, [0, 1, 0])
    """
    if graph.shape[0] < _MANY_NODES:
        return connected_components(graph, directed=False)
    member = np.empty(graph.shape[0], dtype=np.int32)
    return int(_join(graph.indptr, graph.indices, member)), member


@njit(cache=True, nogil=True)
def _join(indptr, indices, member):
    """Union-find whose roots are the first nodes of their components; paths are halved."""
    n = len(member)
    for i in range(n):
        member[i] = i
    for i in range(n):
        root = i
        while member[root] != root:
            member[root] = member[member[root]]
            root = member[root]
        for p in range(indptr[i], indptr[i + 1]):
            other = indices[p]
            while member[other] != other:
                member[other] = member[member[other]]
                other = member[other]
            if other < root:
                member[root] = other
                root = other
            elif root < other:
                member[other] = root
    # A node points to an earlier one: its component is known when it is reached.
    count = 0
    for i in range(n):
        if member[i] == i:
            member[i] = count
            count += 1
        else:
            member[i] = member[member[i]]
    return count
