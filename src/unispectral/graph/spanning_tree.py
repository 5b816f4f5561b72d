"""Clusterings by a spanning tree: what is near in steps belongs together, whatever its shape.

Distances are those of mutual reachability: of two samples the largest of their distance and of
the distances to their own neighbours, so that samples in between, where few others are, do not
bridge clusters (Campello, Moulavi and Sander 2013).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from unispectral._compat import njit

__all__ = ["SpanningTree", "chop_limbs", "merge_evenly", "span"]


class SpanningTree(NamedTuple):
    """The edges of a tree from the shortest to the longest."""

    ends: np.ndarray
    lengths: np.ndarray


def span(X: np.ndarray, n_neighbors: int) -> SpanningTree:
    """The minimum spanning tree of the mutual reachability distances of a table.

    With 0 neighbours they are plain distances. All pairs are looked at, none is kept.

    Examples
    --------
    >>> span(np.array([[0.0], [3.0], [1.0]]), 0).ends.tolist()
    [[0, 2], [2, 1]]
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    n = len(X)
    reach = np.zeros(n)
    if n_neighbors > 0:
        reach = KDTree(X).query(X, min(n_neighbors + 1, n))[0][:, -1]
    ends = np.empty((n - 1, 2), dtype=np.int64)
    lengths = np.empty((n - 1, 2))
    _grow(X, reach**2, ends, lengths)
    order = np.lexsort((lengths[:, 1], lengths[:, 0]))
    return SpanningTree(ends[order], np.sqrt(lengths[order, 0]))


@njit(cache=True, nogil=True)
def _grow(X, reach, ends, lengths):
    """Prim's algorithm on squared lengths; of equal ones the nearer pair comes first."""
    n, columns = X.shape
    nearest = np.zeros(n, dtype=np.int64)
    length = np.full(n, np.inf)
    plain = np.full(n, np.inf)
    outside = np.arange(1, n)
    last, left = 0, n - 1
    while left > 0:
        best = 0
        for s in range(left):
            j = outside[s]
            apart = 0.0
            for c in range(columns):
                apart += (X[last, c] - X[j, c]) ** 2
            long = max(apart, reach[last], reach[j])
            if long < length[j] or (long == length[j] and apart < plain[j]):
                length[j], plain[j], nearest[j] = long, apart, last
            b = outside[best]
            if length[j] < length[b] or (length[j] == length[b] and plain[j] < plain[b]):
                best = s
        last = outside[best]
        at = n - 1 - left
        ends[at, 0], ends[at, 1] = nearest[last], last
        lengths[at, 0], lengths[at, 1] = length[last], plain[last]
        left -= 1
        outside[best] = outside[left]


def merge_evenly(tree: SpanningTree, k: int, most_uneven: float = 0.3) -> np.ndarray:
    """Single linkage to k clusters, in which the smallest merges first where sizes are uneven.

    While the Gini index of the sizes is above the threshold, the shortest edge that touches a
    cluster of the smallest size is taken instead of the shortest of all (Gagolewski, Bartoszuk
    and Cena 2016).
    """
    n = len(tree.ends) + 1
    return _merge(tree.ends, n, k, most_uneven)


@njit(cache=True, nogil=True)
def _find(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def _merge(ends, n, k, most_uneven):
    """Merge along the edges; the Gini index follows from how many clusters have each size."""
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    of_size = np.zeros(n + 1, dtype=np.int64)
    of_size[1] = n
    used = np.zeros(n - 1, dtype=np.bool_)
    first, smallest, gini = 0, 1, 0.0
    skipped, skipped_at = 0, 1  # edges before this touch no cluster of that size
    for count in range(n, max(k, 1), -1):
        if gini <= most_uneven:
            while used[first]:
                first += 1
            e = first
        else:
            if skipped_at != smallest:
                skipped, skipped_at = first, smallest
            e = skipped
            while True:
                if not used[e]:
                    a, b = _find(parent, ends[e, 0]), _find(parent, ends[e, 1])
                    if size[a] == smallest or size[b] == smallest:
                        break
                e += 1
            skipped = e
        used[e] = True
        a, b = _find(parent, ends[e, 0]), _find(parent, ends[e, 1])
        parent[max(a, b)] = min(a, b)
        of_size[size[a]] -= 1
        of_size[size[b]] -= 1
        size[min(a, b)] = size[a] + size[b]
        of_size[size[min(a, b)]] += 1
        while of_size[smallest] == 0:
            smallest += 1
        gini = _gini(of_size, smallest, count - 1, n)
    labels = np.empty(n, dtype=np.int64)
    for i in range(n):
        labels[i] = _find(parent, i)
    return labels


@njit(cache=True, nogil=True)
def _gini(of_size, smallest, count, n):
    """The Gini index of the sizes of clusters: 0 if all are alike, 1 if one has everything."""
    if count < 2:
        return 0.0
    before, total, seen = 0, 0.0, 0
    size = smallest
    while seen < n:
        many = of_size[size]
        if many > 0:
            # Each of these is larger than those before: by how much, summed over pairs.
            total += many * (size * before - seen)
            before += many
            seen += many * size
        size += 1
    return total / ((count - 1.0) * n)


def chop_limbs(tree: SpanningTree, k: int, least_share: float = 0.25) -> np.ndarray:
    """Cut the longest edges that leave both sides large enough, until there are k clusters.

    A side has at least this share of the mean size of a cluster; where there are not k such
    edges, half of that, and so on.
    """
    n = len(tree.ends) + 1
    order, parent, above = _root(tree.ends, n)
    least = max(1.0, least_share * n / k)
    while True:
        labels, count = _chop(tree.ends, order, parent, above, k, least)
        if count >= k or least <= 1:
            return labels
        least = max(1.0, 0.5 * least)


@njit(cache=True, nogil=True)
def _root(ends, n):
    """Nodes from the root down, the parent of each, and the edge that leads there."""
    start = np.zeros(n + 1, dtype=np.int64)
    for e in range(n - 1):
        start[ends[e, 0] + 1] += 1
        start[ends[e, 1] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    place = start[:-1].copy()
    edge = np.empty(2 * (n - 1), dtype=np.int64)
    for e in range(n - 1):
        for side in range(2):
            i = ends[e, side]
            edge[place[i]] = e
            place[i] += 1
    order = np.zeros(n, dtype=np.int64)
    parent = np.full(n, -1)
    above = np.full(n, -1)
    reached = 1
    for at in range(n):
        i = order[at]
        for p in range(start[i], start[i + 1]):
            e = edge[p]
            if e == above[i]:
                continue
            j = ends[e, 0] + ends[e, 1] - i
            parent[j], above[j] = i, e
            order[reached] = j
            reached += 1
    return order, parent, above


@njit(cache=True, nogil=True)
def _chop(ends, order, parent, above, k, least):
    """Cut edges from the longest to the shortest where both sides are large enough."""
    n = len(order)
    size = np.ones(n, dtype=np.int64)  # of the part of a cluster that hangs below a node
    for at in range(n - 1, 0, -1):
        size[parent[order[at]]] += size[order[at]]
    cut = np.zeros(n, dtype=np.bool_)
    count = 1
    for e in range(n - 2, -1, -1):
        if count == k:
            break
        low = ends[e, 0] if above[ends[e, 0]] == e else ends[e, 1]
        top = parent[low]
        while parent[top] >= 0 and not cut[top]:
            top = parent[top]
        if size[low] < least or size[top] - size[low] < least:
            continue
        cut[low] = True
        count += 1
        i = parent[low]
        while True:
            size[i] -= size[low]
            if i == top:
                break
            i = parent[i]
    labels = np.empty(n, dtype=np.int64)
    found = 0
    for at in range(n):
        i = order[at]
        if parent[i] < 0 or cut[i]:
            labels[i] = found
            found += 1
        else:
            labels[i] = labels[parent[i]]
    return labels, count
