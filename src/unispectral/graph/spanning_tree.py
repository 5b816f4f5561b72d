"""Clusterings by a spanning tree: what is near in steps belongs together, whatever its shape.

Distances are those of mutual reachability: of two samples the largest of their distance and of
the distances to their own neighbours, so that samples in between, where few others are, do not
bridge clusters (Campello, Moulavi and Sander 2013).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order
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
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    reach = np.zeros(n)
    if n_neighbors > 0:
        reach = KDTree(X).query(X, min(n_neighbors + 1, n))[0][:, -1]
    ends = np.empty((n - 1, 2), dtype=np.int64)
    lengths = np.empty((n - 1, 2))
    order = np.roll(np.arange(n), -1)  # the first sample leaves first
    columns = np.ascontiguousarray(X[order].T)
    nearest = np.zeros(n, dtype=np.int64)
    far = np.full((3, n), np.inf)
    _grow(columns, reach[order] ** 2, order, nearest, far, ends, lengths)
    order = np.lexsort((lengths[:, 1], lengths[:, 0]))
    return SpanningTree(ends[order], np.sqrt(lengths[order, 0]))


# The loops below are given the arrays that they need: an array that is made inside of one takes
# longer to compile than all the rest.
@njit(cache=True, nogil=True)
def _grow(columns, reach, sample, nearest, far, ends, lengths):
    """Prim's algorithm on squared lengths; of equal ones the nearer pair comes first.

    Fills ``ends`` with the two samples of each edge, in the order in which edges are found, and
    ``lengths`` with its length and its plain length, which leaves the reaches out.
    What is known of the samples that are not in the tree stands in the first places: the number
    of each, its reach, its nearest sample in the tree, and the length and plain length there.
    """
    length = far[0]
    plain = far[1]
    apart = far[2]
    n = len(sample)
    best = n - 1
    for at in range(n - 1):
        left = n - 1 - at
        last = sample[best]
        own = reach[best]
        for s in range(left + 1):
            apart[s] = 0.0
        for c in range(len(columns)):
            column = columns[c]
            x = column[best]
            for s in range(left + 1):
                apart[s] += (column[s] - x) ** 2
            column[best] = column[left]
        # The last of the others moves to the place of the one that has left.
        sample[best], reach[best], nearest[best] = sample[left], reach[left], nearest[left]
        length[best], plain[best], apart[best] = length[left], plain[left], apart[left]
        for s in range(left):
            long = max(apart[s], max(reach[s], own))
            if long < length[s] or (long == length[s] and apart[s] < plain[s]):
                length[s], plain[s], nearest[s] = long, apart[s], last
        best = 0
        for s in range(left):
            if length[s] > length[best]:
                continue
            if length[s] < length[best] or plain[s] < plain[best]:
                best = s
        ends[at, 0], ends[at, 1] = nearest[best], sample[best]
        lengths[at, 0], lengths[at, 1] = length[best], plain[best]


def merge_evenly(tree: SpanningTree, k: int, most_uneven: float = 0.3) -> np.ndarray:
    """Single linkage to k clusters, in which the smallest merges first where sizes are uneven.

    While the Gini index of the sizes is above the threshold, the shortest edge that touches a
    cluster of the smallest size is taken instead of the shortest of all (Gagolewski, Bartoszuk
    and Cena 2016).
    """
    n = len(tree.ends) + 1
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)
    of_size = np.zeros(n + 1, dtype=np.int64)
    of_size[1] = n
    used = np.zeros(n - 1, dtype=np.bool_)
    _merge(tree.ends, parent, size, of_size, used, k, most_uneven)
    return parent


@njit(cache=True, nogil=True)
def find_root(parent, i):
    """The last node on the way from a node along its parents, which is shortened."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True)
def _merge(ends, parent, size, of_size, used, k, most_uneven):
    """Merge along the edges; the Gini index follows from how many clusters have each size.

    In the end ``parent`` is the first sample of each cluster.
    """
    n = len(parent)
    first = 0
    smallest = 1
    gini = 0.0
    skipped, skipped_at = 0, 1  # edges before this touch no cluster of that size
    for count in range(n, max(k, 1), -1):
        if gini <= most_uneven:
            while used[first]:
                first += 1
            e = first
        else:
            if skipped_at != smallest:
                skipped = first
                skipped_at = smallest
            e = skipped
            while True:
                if not used[e]:
                    a = find_root(parent, ends[e, 0])
                    b = find_root(parent, ends[e, 1])
                    if size[a] == smallest or size[b] == smallest:
                        break
                e += 1
            skipped = e
        used[e] = True
        a = find_root(parent, ends[e, 0])
        b = find_root(parent, ends[e, 1])
        parent[max(a, b)] = min(a, b)
        of_size[size[a]] -= 1
        of_size[size[b]] -= 1
        size[min(a, b)] = size[a] + size[b]
        of_size[size[min(a, b)]] += 1
        while of_size[smallest] == 0:
            smallest += 1
        gini = _gini(of_size, smallest, count - 1, n)
    for i in range(n):
        parent[i] = find_root(parent, i)


@njit(cache=True, nogil=True)
def _gini(of_size, smallest, count, n):
    """The Gini index of the sizes of clusters: 0 if all are alike, 1 if one has everything."""
    if count < 2:
        return 0.0
    before = 0
    total = 0.0
    seen = 0
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
    edges = sp.csr_array((np.ones(n - 1), (tree.ends[:, 0], tree.ends[:, 1])), shape=(n, n))
    order, parent = breadth_first_order(edges, 0, directed=False)
    one, other = tree.ends.T
    below = np.where(parent[other] == one, other, one)
    least = max(1.0, least_share * n / k)
    while True:
        size = np.ones(n, dtype=np.int64)
        is_cut = np.zeros(n, dtype=np.bool_)
        labels = np.zeros(n, dtype=np.int64)
        count = _chop(below, order, parent, size, is_cut, labels, k, least)
        if count >= k or least <= 1:
            return labels
        least = max(1.0, 0.5 * least)


@njit(cache=True, nogil=True)
def _chop(below, order, parent, size, is_cut, labels, k, least):
    """Cut edges from the longest to the shortest where both sides are large enough.

    ``below`` is the end of each edge that is farther from the root, the first of ``order``.
    """
    n = len(order)
    for at in range(n - 1, 0, -1):  # sizes of what hangs below a node in its cluster
        size[parent[order[at]]] += size[order[at]]
    count = 1
    for e in range(n - 2, -1, -1):
        if count == k:
            break
        low = below[e]
        top = parent[low]
        while parent[top] >= 0 and not is_cut[top]:
            top = parent[top]
        if size[low] < least or size[top] - size[low] < least:
            continue
        is_cut[low] = True
        count += 1
        i = parent[low]
        while True:
            size[i] -= size[low]
            if i == top:
                break
            i = parent[i]
    found = 0
    for at in range(1, n):
        i = order[at]
        if is_cut[i]:
            found += 1
            labels[i] = found
        else:
            labels[i] = labels[parent[i]]
    return count
