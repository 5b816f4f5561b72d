"""Clusters of limited size: the assignment of least cost among those that keep the limits.

Every sample costs something in every cluster. Without limits each goes where it is cheapest; then
samples are handed on along the cheapest chains of clusters, from one that holds too many to one
that has room, until all limits are kept. That is a minimum-cost flow by successive shortest paths,
over the clusters alone, and its result is optimal (Ahuja, Magnanti and Orlin, 1993).
"""

from __future__ import annotations

import heapq

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral.graph.quality import components, normalized_cut
from unispectral.knowledge._read import Sizes
from unispectral.knowledge._spread import spread

#: Rounds in which costs follow from the clusters, and clusters from the costs.
_ROUNDS = 12
#: What a sample costs in a cluster that nothing of it reaches, in units of the logarithm.
_LEAST_SHARE = 1e-30


def refuse_sizes(sizes: Sizes, n: int, count: int) -> None:
    """Refuse limits that no assignment of n samples to so many clusters keeps."""
    least, most = sizes
    if least is not None and most is not None and least > most:
        problem = f"is more than max_cluster_size={most}"
        raise InputError("min_cluster_size", problem, "give a smaller one", value=least)
    if least is not None and least * count > n:
        problem = f"cannot be met: {count} clusters of at least so many need {least * count}"
        remedy = f"there are {n} samples; ask for at most {n // count}, or for fewer clusters"
        raise InputError("min_cluster_size", f"{problem} samples", remedy, value=least)
    if most is not None and most * count < n:
        problem = f"cannot be met: {count} clusters of at most so many hold {most * count}"
        remedy = f"there are {n} samples; ask for at least {-(-n // count)}, or for more clusters"
        raise InputError("max_cluster_size", f"{problem} samples", remedy, value=most)


def limit_sizes(
    W: sp.csr_array, labels: np.ndarray, sizes: Sizes, count: int, fixed: np.ndarray
) -> np.ndarray:
    """Labels within the limits that cut the graph as little as can be found.

    A sample costs in a cluster what the logarithm of its share of it says: shares that spread from
    the clusters along the graph fall with the steps to them, so that clusters give away samples at
    their borders, layer by layer. Labels within the limits are spread again, while the graph is
    cut less.

    Parameters
    ----------
    W : CSR array of shape (n, n)
    labels : int array of shape (n,)
    sizes : Sizes
    count : int
        The number of clusters.
    fixed : int array of shape (n,)
        Labels that stay as they are, −1 for the others.
    """
    best = labels
    reached = np.inf
    now = labels
    for _ in range(_ROUNDS):
        sources = np.zeros((len(labels), count))
        sources[np.arange(len(labels)), now] = 1.0
        shares = spread(W, sources / np.maximum(np.bincount(now, minlength=count), 1.0))
        costs = -np.log(np.maximum(shares, _LEAST_SHARE))
        now = assign_with_limits(costs, sizes, fixed)
        now = hold_together(W, now, sizes, count, fixed)
        cut = normalized_cut(W, now)
        if cut >= reached - 1e-12:
            break
        best = now
        reached = cut
    return best


def hold_together(
    W: sp.csr_array, labels: np.ndarray, sizes: Sizes, count: int, fixed: np.ndarray
) -> np.ndarray:
    """Parts of clusters that no edge joins to the rest go to a cluster that they touch.

    Only where the limits still hold: the smallest parts first.
    """
    labels = labels.copy()
    least, most = sizes
    rows, columns = sp.coo_array(W).coords
    weights = sp.coo_array(W).data
    inside = labels[rows] == labels[columns]
    own = sp.csr_array((weights[inside], (rows[inside], columns[inside])), shape=W.shape)
    parts, member = components(own)
    if parts <= count:
        return labels
    counts = np.bincount(labels, minlength=count)
    size = np.bincount(member)
    home = np.zeros(parts, dtype=np.int64)
    home[member] = labels
    largest = np.zeros(count, dtype=np.int64)
    np.maximum.at(largest, home, size)
    is_held = np.zeros(parts, dtype=bool)
    is_held[member[fixed >= 0]] = True
    touched = np.zeros((parts, count))
    np.add.at(touched, (member[rows], labels[columns]), weights)
    for part in np.argsort(size, kind="stable").tolist():
        from_, moved = int(home[part]), int(size[part])
        if is_held[part] or moved == largest[from_]:
            continue
        if least is not None and counts[from_] - moved < least:
            continue
        towards = touched[part].copy()
        towards[from_] = 0.0
        if most is not None:
            towards[counts + moved > most] = 0.0
        if towards.max() <= 0:
            continue
        to = int(towards.argmax())
        labels[member == part] = to
        counts[from_] -= moved
        counts[to] += moved
    return labels


def assign_with_limits(
    costs: np.ndarray, sizes: Sizes, fixed: np.ndarray | None = None
) -> np.ndarray:
    """The assignment of least total cost whose clusters keep their limits.

    Parameters
    ----------
    costs : ndarray of shape (n, k)
    sizes : Sizes
        Of which some assignment must be capable.
    fixed : int array of shape (n,), default=None
        Labels that stay as they are, −1 for the others.

    Returns
    -------
    labels : int array of shape (n,)

    Examples
    --------
    >>> costs = np.array([[0.0, 5.0], [0.0, 1.0], [0.0, 3.0], [4.0, 0.0]])
    >>> assign_with_limits(costs, Sizes(2, None)).tolist()
    [0, 1, 0, 1]
    """
    n, count = costs.shape
    fixed = np.full(n, -1) if fixed is None else fixed
    labels = np.where(fixed >= 0, fixed, costs.argmin(axis=1))
    least = sizes.least or 0
    most = n if sizes.most is None else sizes.most
    chains = _Chains(costs, labels, fixed < 0)
    while True:
        held = np.bincount(chains.labels, minlength=count)
        if held.max() > most:
            sources, targets = held > most, held < most
        elif held.min() < least:
            sources, targets = held > least, held < least
        else:
            return chains.labels
        if not chains.hand_on(sources, targets):
            wanted = "max_cluster_size" if held.max() > most else "min_cluster_size"
            problem = "cannot be met beside the labels and links that are known"
            raise InputError(wanted, problem, "allow for more, or take out some of them")


class _Chains:
    """Labels, and for each pair of clusters the samples whose move costs least."""

    def __init__(self, costs: np.ndarray, labels: np.ndarray, movable: np.ndarray) -> None:
        self.costs = costs
        self.labels = labels.copy()
        self.movable = movable
        count = costs.shape[1]
        self.heaps: list[list[list[tuple[float, int]]]] = []
        for one in range(count):
            members = np.flatnonzero((labels == one) & movable)
            gaps = costs[members] - costs[members, one][:, None]
            row = []
            for other in range(count):
                heap = list(zip(gaps[:, other].tolist(), members.tolist(), strict=True))
                heapq.heapify(heap)
                row.append(heap if other != one else [])
            self.heaps.append(row)

    def _cheapest(self, one: int, other: int) -> float:
        """The least cost of a move; entries of samples that have left are dropped."""
        heap = self.heaps[one][other]
        while heap and self.labels[heap[0][1]] != one:
            heapq.heappop(heap)
        return heap[0][0] if heap else np.inf

    def hand_on(self, sources: np.ndarray, targets: np.ndarray) -> bool:
        """Move one sample along each step of the cheapest chain; False if there is none."""
        count = len(sources)
        gaps = np.array(
            [[self._cheapest(one, other) for other in range(count)] for one in range(count)]
        )
        distance = np.where(sources, 0.0, np.inf)
        before = np.full(count, -1)
        for _ in range(count):
            through = distance[:, None] + gaps
            nearest = through.argmin(axis=0)
            reached = through[nearest, np.arange(count)]
            closer = reached < distance - 1e-12
            if not closer.any():
                break
            distance = np.where(closer, reached, distance)
            before = np.where(closer, nearest, before)
        ends = np.flatnonzero(targets & np.isfinite(distance))
        if not len(ends):
            return False
        at = int(ends[np.argmin(distance[ends])])
        steps: list[tuple[int, int]] = []
        while before[at] >= 0 and len(steps) <= count:
            steps.append((int(before[at]), at))
            at = int(before[at])
        moves = [(self.heaps[one][other][0][1], one, other) for one, other in steps]
        for sample, one, other in moves:
            heapq.heappop(self.heaps[one][other])
            self._move(sample, other)
        return True

    def _move(self, sample: int, to: int) -> None:
        self.labels[sample] = to
        gaps = self.costs[sample] - self.costs[sample, to]
        for other in range(self.costs.shape[1]):
            if other != to:
                heapq.heappush(self.heaps[to][other], (float(gaps[other]), sample))
