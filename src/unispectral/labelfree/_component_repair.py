"""Component repair: parts too small, or too many, to be clusters are joined to others."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run, map_blocks
from unispectral.graph._components import components
from unispectral.labelfree._coding import solve_block
from unispectral.labelfree._geometry import Geometry, evenly_spaced, nearest_among
from unispectral.labelfree._neighbourhoods import CODE_ROWS, LocalNeighbourhoods, block_kernels
from unispectral.labelfree._recipe import Recipe

__all__ = ["joined", "repaired"]

#: A component smaller than this share of the mean cluster is too small to be one.
SMALL_SHARE = 0.1
#: Each round joins every small component to others, so that their number at least halves.
_ROUNDS = 12
#: Gaps between components are those between so many samples, and at least one of each; more
#: components than this are left as they are.
_GAP_SAMPLES = 2_000
_MOST_COMPONENTS = 1_000
#: The weight of such a link: an edge, but none that hides how far apart its ends are.
_LINK = 1e-12


def repaired(
    graph: sp.csr_array,
    geometry: Geometry,
    rate: float,
    recipe: Recipe,
    k: int,
    seed: int,
    run: Run,
) -> sp.csr_array:
    """A graph whose small components have edges to their surroundings.

    Near-duplicates have only each other among their nearest, isolated samples have nobody; both
    would each take an eigenvector, and end as clusters of two. The best-connected sample of such
    a component spends half its code on the nearest among the samples of large components and the
    best-connected samples of other small ones. A mass of near-duplicates is thereby joined to
    others as one sample would be.

    Row i of the graph is the code of sample i; it sums to one, or is empty. The geometry, whose
    Gaussian kernel has this rate, must know all samples. ``k`` are the candidates outside the
    component, ``seed`` is that of the search among many samples.
    """
    least = max(2, int(SMALL_SHARE * graph.shape[0] / recipe.n_clusters))
    n_components, member = components(graph)
    for _ in range(_ROUNDS):
        small = np.bincount(member, minlength=n_components) < least
        if n_components == 1 or not small.any():
            break
        rows = _centres(graph, member, small)
        among = np.union1d(rows, np.flatnonzero(~small[member]))
        outside = nearest_among(geometry, rows, among, min(k, len(among) - 1), seed, run)
        values = _codes_over(geometry, rate, rows, outside, recipe, run)
        graph = _spend_half(graph, rows, outside, values)
        n_components, member = components(graph)
    return graph


def joined(graph: sp.csr_array, geometry: Geometry, n_clusters: int) -> sp.csr_array:
    """A graph that falls into no more components than there are clusters.

    The smallest component is joined to the one that is nearest to it, until as many are left as
    there are clusters, by an edge of vanishing weight between the nearest two samples. Without
    that the graph would not say which components belong together; with more weight it would not
    say that they are apart.

    Examples
    --------
    >>> from unispectral.kernels import KernelBank
    >>> from unispectral.labelfree._geometry import KernelDistance, KernelPart
    >>> bank = KernelBank(np.array([[0.0], [1], [5], [6], [20], [21]]), "linear", normalize="none")
    >>> pairs = sp.csr_array(np.kron(np.eye(3), [[0.0, 1], [1, 0]]))
    >>> graph = joined(pairs, KernelDistance([KernelPart(bank, 0, 0)]), 2)
    >>> components(graph)[1].tolist(), graph[[1]].toarray()[0].tolist()
    ([0, 0, 0, 0, 1, 1], [1.0, 0.0, 1e-12, 0.0, 0.0, 0.0])
    """
    count, member = components(graph)
    if not n_clusters < count <= _MOST_COMPONENTS:
        return graph
    some = _of_each(member)
    first = np.searchsorted(member[some], np.arange(count))
    squared = geometry.distances(some, some)
    gaps = np.minimum.reduceat(np.minimum.reduceat(squared, first, axis=0), first, axis=1)
    np.fill_diagonal(gaps, np.inf)
    sizes, part = np.bincount(member).astype(float), member[some]
    n, pairs = len(member), []
    for _ in range(count - n_clusters):
        small = int(np.argmin(sizes))
        other = int(np.argmin(gaps[small]))
        ours, theirs = np.flatnonzero(part == small), np.flatnonzero(part == other)
        between = squared[np.ix_(ours, theirs)]
        one, two = np.unravel_index(int(np.argmin(between)), between.shape)
        pairs.append((some[ours[one]], some[theirs[two]]))
        gaps[other] = gaps[:, other] = np.minimum(gaps[other], gaps[small])
        gaps[small] = gaps[:, small] = gaps[other, other] = np.inf
        sizes[other] += sizes[small]
        sizes[small] = np.inf
        part[ours] = other
    rows, cols = np.transpose(pairs)
    links = sp.csr_array((np.full(len(rows), _LINK), (rows, cols)), shape=(n, n))
    return sp.csr_array(graph + links)


def _of_each(member: np.ndarray) -> np.ndarray:
    """Evenly spaced samples of every component, by component."""
    order = np.argsort(member, kind="stable")
    first = np.flatnonzero(np.diff(member[order], prepend=-1))
    return order[np.union1d(first, evenly_spaced(len(order), _GAP_SAMPLES))]


def _codes_over(
    geometry: Geometry,
    rate: float,
    rows: np.ndarray,
    neighbours: np.ndarray,
    recipe: Recipe,
    run: Run,
) -> np.ndarray:
    """Codes of some samples over given candidates, in the Gaussian kernel of a geometry."""

    def work(part: slice) -> np.ndarray:
        b, k = neighbours[part].shape
        near, among = np.empty((b, k)), np.empty((b, k, k))
        block_kernels(geometry, rate, rows[part], neighbours[part], near, among)
        block = LocalNeighbourhoods(neighbours[part], near, among, rate)
        return solve_block(block, recipe)[0]

    return np.concatenate(map_blocks(work, len(rows), CODE_ROWS, run))


def _centres(codes: sp.csr_array, member: np.ndarray, small: np.ndarray) -> np.ndarray:
    """The sample of each small component that the codes of its component use most."""
    used = np.asarray(codes.sum(axis=0)).ravel()
    nodes = np.flatnonzero(small[member])
    order = nodes[np.lexsort((nodes, -used[nodes], member[nodes]))]
    first = np.concatenate([[True], np.diff(member[order]) != 0])
    return np.sort(order[first])


def _spend_half(
    codes: sp.csr_array, rows: np.ndarray, outside: np.ndarray, values: np.ndarray
) -> sp.csr_array:
    """Halve the codes of some rows and put the other half on the samples outside."""
    n = codes.shape[0]
    values = np.where(outside >= 0, values, 0.0)
    total = values.sum(axis=1)
    values[total <= 0, 0] = 1.0  # nothing outside explains it: the nearest will have to do
    values /= values.sum(axis=1, keepdims=True)
    filled = np.diff(codes.indptr)[rows] > 0
    share = np.where(filled, 0.5, 1.0)
    keep = np.ones(n)
    keep[rows] = 0.5
    used = values > 0
    links = sp.csr_array(
        (
            (values * share[:, None])[used],
            (np.broadcast_to(rows[:, None], outside.shape)[used], outside[used]),
        ),
        shape=(n, n),
    )
    data = codes.data * np.repeat(keep, np.diff(codes.indptr))
    halved = sp.csr_array((data, codes.indices, codes.indptr), shape=codes.shape)
    return sp.csr_array(halved + links)
