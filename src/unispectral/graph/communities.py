"""Communities of a graph: a search for labels that needs no eigenvectors.

Nodes move one at a time to the community that gains most modularity; communities then become the
nodes of a smaller graph, and move themselves (Blondel, Guillaume, Lambiotte and Lefebvre 2008); on
the way back to the single nodes these may move again at every level (Rotta and Noack 2011). The
communities that a graph has by itself are merged or split by the cut until there are as many as
are wanted: another resolution would cut the large ones before it finds the small ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit
from unispectral.graph.quality import cut_out, modularity, normalized_cut

__all__ = [
    "Merged",
    "best_communities",
    "find_communities",
    "k_communities",
    "merge_communities",
    "merge_gradually",
    "settle_nodes",
    "split_communities",
]

#: Resolutions at which communities are sought before they are merged or split: that of modularity,
#: which cuts clusters that are long, and lower ones.
_RESOLUTIONS = (0.4, 0.6, 1.0)
#: Higher ones, at which communities are parted before they are sought again at that of
#: modularity, in turn, and how often.
_FINE = (4.0, 8.0, 2.0)
_SEARCHES = 4
#: Of ends whose cut is dearer than the cheapest by no more than this share, modularity decides.
_AS_CHEAP = 0.025
#: Other merges are taken where their cut is cheaper than this share of the first's.
_MUCH_CHEAPER = 0.5
#: A part that is split off has at least so many nodes, or a quarter of the mean community.
_LEAST_PART = 10
#: How often the resolution is estimated anew while nodes settle.
_ESTIMATES = 5
#: Gains of modularity, as shares of the whole weight, that are mere rounding.
_ROUNDING = 1e-12


#: The part of each community that is easiest to cut off, and what that costs.
_Parts: TypeAlias = dict[bytes, tuple[float, np.ndarray] | None]


def k_communities(W: sp.csr_array, k: int) -> np.ndarray:
    """The communities of a graph, merged or split until there are k.

    Where the graph cannot be split any further there are fewer.

    Examples
    --------
    Four cliques in two pairs:

    >>> W = np.kron(np.eye(4), np.ones((5, 5)))
    >>> W[4, 5] = W[5, 4] = W[14, 15] = W[15, 14] = 1
    >>> k_communities(sp.csr_array(W), 2).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """
    natural: list[np.ndarray] = []
    for resolution in _RESOLUTIONS:
        labels = find_communities(W, resolution)
        if not [other for other in natural if np.array_equal(labels, other)]:
            natural.append(labels)
    parts: _Parts = {}
    found = _cheapest(W, [_reach(W, labels, k, parts) for labels in natural])
    if all(int(labels.max()) < k for labels in natural):
        return found
    # Merging by chance alone would rather join two small clusters than the halves of a large one.
    other = _cheapest(W, [_reach(W, labels, k, parts, by_share=True) for labels in natural])
    if normalized_cut(W, other) < _MUCH_CHEAPER * normalized_cut(W, found):
        return other
    return found


def _reach(
    W: sp.csr_array, labels: np.ndarray, k: int, parts: _Parts, *, by_share: bool = False
) -> np.ndarray:
    """Communities, merged or split until there are k."""
    count = int(labels.max()) + 1
    if count > k:
        return merge_communities(W, labels, k, by_share=by_share)
    if count < k:
        return split_communities(W, labels, k, parts)
    return labels


def _cheapest(W: sp.csr_array, found: Sequence[np.ndarray]) -> np.ndarray:
    """Of the labels whose cuts are the cheapest, or nearly so, those of the largest modularity."""
    cuts = np.array([normalized_cut(W, labels) for labels in found])
    cheap = cuts <= (1.0 + _AS_CHEAP) * cuts.min()
    kept = [labels for labels, is_cheap in zip(found, cheap, strict=True) if is_cheap]
    return max(kept, key=lambda labels: modularity(W, labels))


def best_communities(W: sp.csr_array) -> np.ndarray:
    """Communities of large modularity: of the graph, then again from those inside each of them.

    From single nodes communities that are hardly denser than the rest of a large graph are joined
    before their borders show. Inside those that were found the borders do show; the search begins
    again with the parts, until it gains nothing at any of the resolutions.

    Examples
    --------
    >>> best_communities(sp.csr_array(np.kron(np.eye(3), np.ones((2, 2))))).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    best = find_communities(W)
    reached = modularity(W, best)
    since = 0
    for resolution in _FINE * _SEARCHES:
        inside = find_communities(_cut_between(W, best), resolution)
        found = find_communities(W, start=inside)
        value = modularity(W, found)
        since += 1
        if value > reached + _ROUNDING:
            best = found
            reached = value
            since = 0
        if since == len(_FINE):
            break
    return best


def _cut_between(W: sp.csr_array, labels: np.ndarray) -> sp.csr_array:
    """The graph without the edges between communities."""
    edges = sp.coo_array(W)
    one, other = edges.coords
    inside = labels[one] == labels[other]
    kept = sp.coo_array((edges.data[inside], (one[inside], other[inside])), shape=W.shape)
    return sp.csr_array(kept)


class Merged(NamedTuple):
    """What 1, 2, … communities reach that are merged one after the other, the last to begin with.

    ``likelihood`` is what the communities tell of where a unit of weight lies, in nats.
    """

    modularity: np.ndarray
    likelihood: np.ndarray


def merge_gradually(W: sp.csr_array, labels: np.ndarray) -> Merged:
    """What a graph's communities reach while they are merged, one pair after the other.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((2, 2))))
    >>> merge_gradually(W, np.repeat([0, 1, 2], 2)).modularity.round(3).tolist()
    [0.0, 0.444, 0.667]
    """
    between = _aggregate(W, labels)
    merged = np.arange(between.shape[0])
    found = Merged(np.zeros(len(merged)), np.zeros(len(merged)))
    for count in range(len(merged), 1, -1):
        merged = merge_communities(between, merged, count)
        found.modularity[count - 1] = modularity(between, merged)
        share, chance = _share_inside(between, merged)
        if share > chance:
            outside = (1.0 - share) * np.log((1.0 - share) / (1.0 - chance)) if share < 1 else 0.0
            found.likelihood[count - 1] = share * np.log(share / chance) + outside
    return found


def _share_inside(W: sp.csr_array, labels: np.ndarray) -> tuple[float, float]:
    """The share of the weight that lies inside communities, and what chance would put there."""
    volumes = np.bincount(labels, np.asarray(W.sum(axis=1)).ravel())
    chance = float(np.sum((volumes / max(float(volumes.sum()), 1e-300)) ** 2))
    return modularity(W, labels) + chance, chance


def find_communities(
    W: sp.csr_array, resolution: float = 1.0, start: np.ndarray | None = None
) -> np.ndarray:
    """The communities that a graph has by itself: a local maximum of its modularity.

    Nodes are visited in their order, and no random number is drawn, so that the same graph has
    the same communities everywhere.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        Symmetric and non-negative.
    resolution : float
        More communities with a larger one; 1 is that of modularity.
    start : int array of shape (n,), optional
        Communities to begin with, numbered from 0 without a gap; single nodes by default.

    Returns
    -------
    labels : ndarray of shape (n,)
        Numbered in the order of their first nodes.

    Examples
    --------
    >>> find_communities(sp.csr_array(np.kron(np.eye(3), np.ones((2, 2))))).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    levels: list[_Level] = []
    graph = W
    while True:
        n = graph.shape[0]
        if start is not None and not levels:
            labels = start
            moved = True
        else:
            labels = np.arange(n)
            moved = _move_nodes(graph, labels, resolution) > 0
        labels = _number(labels)
        levels.append(_Level(graph, labels))
        count = int(labels.max(initial=-1)) + 1
        if not moved or count == n:
            break
        graph = _aggregate(graph, labels)
    labels = levels.pop().labels
    for level in reversed(levels):
        labels = labels[level.labels]
        _move_nodes(level.graph, labels, resolution)
        labels = _number(labels)
    return labels


def merge_communities(
    W: sp.csr_array, labels: np.ndarray, k: int, *, by_share: bool = False
) -> np.ndarray:
    """Merge pairs until k communities are left, the pair of the largest ratio first.

    The ratio is cut(a, b) / (vol a · vol b): how many times more edges two communities share than
    chance would give them (Bonald, Charpentier, Galland and Hollocou 2018). With ``by_share`` it
    is cut(a, b) / min(vol a, vol b), the share of its edges by which the smaller hangs on the
    larger. Pairs without an edge come last, the smallest first.
    """
    between = _aggregate(W, labels).toarray()
    volumes = between.sum(axis=1)
    count = len(volumes)
    parent = np.arange(count)
    scale = np.minimum if by_share else np.multiply
    ratio = between / np.maximum(scale.outer(volumes, volumes), 1e-300)
    np.fill_diagonal(ratio, -1.0)
    for _ in range(count - k):
        one, other = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[one, other] <= 0:
            alive = np.flatnonzero(parent == np.arange(count))
            one, other = alive[np.argsort(volumes[alive], kind="stable")[:2]]
        one, other = min(one, other), max(one, other)
        between[one] += between[other]
        between[:, one] += between[:, other]
        volumes[one] += volumes[other]
        parent[parent == other] = one
        ratio[other] = -1.0
        ratio[:, other] = -1.0
        alive = ratio[one] >= 0
        fresh = between[one] / np.maximum(scale(volumes[one], volumes), 1e-300)
        ratio[one, alive] = fresh[alive]
        ratio[alive, one] = fresh[alive]
    return _number(parent[labels])


def split_communities(
    W: sp.csr_array, labels: np.ndarray, k: int, parts: _Parts | None = None
) -> np.ndarray:
    """Split off the part of least conductance inside a community, until there are k.

    The parts are the communities of the graph inside a community; those that are known already
    are in ``parts``, by the members of the community.
    """
    parts = {} if parts is None else parts
    labels = labels.copy()
    count = int(labels.max()) + 1
    least = max(2, min(_LEAST_PART, len(labels) // (4 * k)))
    waiting: list[tuple[float, int, np.ndarray, np.ndarray]] = []

    def look_inside(members: np.ndarray) -> None:
        name = members.tobytes()
        if name not in parts:
            parts[name] = _loosest_part(W, members, least)
        found = parts[name]
        if found is not None:
            cost, part = found
            heapq.heappush(waiting, (cost, int(members[0]), members[part], members[~part]))

    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count + 1))
    for community in range(count):
        look_inside(order[starts[community] : starts[community + 1]])
    while waiting and count < k:
        _, _, part, rest = heapq.heappop(waiting)
        labels[part] = count
        count += 1
        look_inside(part)
        look_inside(rest)
    return _number(labels)


def settle_nodes(W: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """The labels after single nodes have moved to where they belong more likely.

    Merges, splits and eigenvectors leave nodes on the wrong side of a border. They move as in the
    search for communities, at the resolution at which modularity is the likelihood of a graph
    whose edges have one chance inside communities and another between them (Newman 2016); it is
    estimated from the labels, again after each round. Labels of which a community would be lost
    stay as they are.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((4, 4))) + 0.1)
    >>> settle_nodes(W, np.array([0, 0, 0, 1, 1, 1, 1, 1])).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    labels = _number(labels).astype(np.int64)
    count = int(labels.max(initial=-1)) + 1
    for _ in range(_ESTIMATES):
        resolution = _likely_resolution(W, labels)
        if resolution is None:
            break
        moved = labels.copy()
        if not _move_nodes(W, moved, resolution) or len(np.unique(moved)) < count:
            break
        labels = _number(moved)
    return labels


def _likely_resolution(W: sp.csr_array, labels: np.ndarray) -> float | None:
    """Where modularity is a likelihood; None without edges between communities, or without any.

    How many times more weight lies inside and between communities than chance would put there
    are i and o; the resolution is (i − o) / (log i − log o).
    """
    share, chance = _share_inside(W, labels)
    if not chance < share < 1.0 or chance <= 0.0:
        return None
    inside = share / chance
    between = (1.0 - share) / (1.0 - chance)
    return float((inside - between) / (np.log(inside) - np.log(between)))


def _loosest_part(
    W: sp.csr_array, members: np.ndarray, least: int
) -> tuple[float, np.ndarray] | None:
    """The conductance of the part that is easiest to cut off, and which members it has."""
    if len(members) < 2 * least:
        return None
    inside = cut_out(W, members)
    parts = find_communities(inside)
    if parts.max() == 0:
        return None
    between = _aggregate(inside, parts)
    volumes = np.asarray(between.sum(axis=1)).ravel()
    cut = volumes - between.diagonal()
    side = np.minimum(volumes, volumes.sum() - volumes)
    cost = cut / np.maximum(side, 1e-300)
    sizes = np.bincount(parts)
    cost[(sizes < least) | (len(members) - sizes < least)] = np.inf
    best = int(np.argmin(cost))
    if not np.isfinite(cost[best]):
        return None
    return float(cost[best]), parts == best


class _Level(NamedTuple):
    """A graph, and the nodes of the next one that its nodes belong to."""

    graph: sp.csr_array
    labels: np.ndarray


def _aggregate(W: sp.csr_array, labels: np.ndarray) -> sp.csr_array:
    """The graph whose nodes are communities: edges inside one become a loop."""
    count = int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count + 1))
    indptr = np.zeros(count + 1, dtype=np.int64)
    # Once to count the edges, once to write them: the product of sparse matrices would hold as
    # many as there are before.
    nothing = np.empty(0, dtype=np.int64)
    place = np.full(count, -1)
    graph = W.indptr, W.indices, W.data
    _add_edges(*graph, labels, order, starts, place, indptr, nothing, np.empty(0))
    indices = np.empty(indptr[-1], dtype=np.int64)
    data = np.empty(len(indices))
    place[:] = -1
    _add_edges(*graph, labels, order, starts, place, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(count, count))


@njit(cache=True, nogil=True)
def _add_edges(
    indptr, indices, data, labels, order, starts, place, to_indptr, to_indices, to_data
):
    """Add up the edges between communities; without room for them they are only counted."""
    count = len(starts) - 1
    reached = 0
    for community in range(count):
        begun = reached
        for s in range(starts[community], starts[community + 1]):
            i = order[s]
            for p in range(indptr[i], indptr[i + 1]):
                other = labels[indices[p]]
                if place[other] < begun:
                    place[other] = reached
                    reached += 1
                    if len(to_indices):
                        to_indices[place[other]] = other
                        to_data[place[other]] = 0.0
                if len(to_indices):
                    to_data[place[other]] += data[p]
        to_indptr[community + 1] = reached


def _number(labels: np.ndarray) -> np.ndarray:
    """Communities numbered in the order of their first nodes."""
    n = len(labels)
    first = np.full(labels.max(initial=-1) + 1, n)
    first[labels[::-1]] = np.arange(n)[::-1]  # of several values the last one stays
    rank = np.empty_like(first)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return rank[labels]


def _move_nodes(W: sp.csr_array, labels: np.ndarray, resolution: float) -> int:
    """Move nodes until none gains by it; ``labels`` change in place. The number of moves."""
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    total = float(degrees.sum())
    if total <= 0:
        return 0
    volumes = np.bincount(labels, degrees, len(labels))
    scale = resolution / total
    moves = 0
    n = len(labels)
    weight = np.zeros(n)
    seen = np.empty(n, dtype=np.int64)
    while True:
        queue = np.arange(n)
        waiting = np.ones(n, dtype=np.bool_)
        # A move also changes what those gain that are no neighbours: all are asked again.
        nodes = degrees, labels, volumes, queue, waiting, weight, seen
        more = _move(W.indptr, W.indices, W.data, *nodes, scale, _ROUNDING)
        moves += int(more)
        if not more:
            return moves


@njit(cache=True, nogil=True)
def _move(
    indptr,
    indices,
    data,
    degrees,
    labels,
    volumes,
    queue,
    waiting,
    weight,
    seen,
    scale,
    rounding,
):
    """Visit the nodes in a queue; one that moves calls its neighbours in other communities."""
    n = len(labels)
    head = 0
    left = n
    moves = 0
    while left > 0:
        i = queue[head]
        head = (head + 1) % n
        left -= 1
        waiting[i] = False
        own = labels[i]
        count = 0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i or data[p] <= 0:
                continue
            c = labels[j]
            if weight[c] == 0:
                seen[count] = c
                count += 1
            weight[c] += data[p]
        penalty = scale * degrees[i]
        best = own
        most = weight[own] - penalty * (volumes[own] - degrees[i]) + rounding * degrees[i]
        for s in range(count):
            c = seen[s]
            gain = weight[c] - penalty * volumes[c]
            if c != own and gain > most:
                best = c
                most = gain
        for s in range(count):
            weight[seen[s]] = 0.0
        if best == own:
            continue
        moves += 1
        labels[i] = best
        volumes[own] -= degrees[i]
        volumes[best] += degrees[i]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if not waiting[j] and labels[j] != best:
                waiting[j] = True
                queue[(head + left) % n] = j
                left += 1
    return moves
