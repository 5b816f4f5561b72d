"""Compiled similarities of root-to-leaf paths.

Along a path every node but the root adds its weight. Two samples share the path down to the lowest
node above both leaves. With samples in the order of the leaves, the sum down to that node is the
smallest of the sums between neighbours in this order, so one sweep to each side gives a whole row
of similarities without ever comparing paths.
"""

from __future__ import annotations

import numpy as np

from unispectral._compat import njit

__all__ = ["add_similarities", "describe_tree"]


@njit(cache=True, nogil=True)
def describe_tree(left, right, weights, leaves, order, position, sums, lengths, shared):
    """Put the samples of one tree in the order of its leaves, and describe their paths.

    Parameters
    ----------
    left, right : children of each node, negative for none
    weights : the weight of each node; that of the root does not count
    leaves : the leaf of each sample
    order, position : filled: the samples by leaf, and where each sample is
    sums, lengths : filled, by place in the order: weight and number of nodes of the path
    shared : filled, by place: the weight of the path shared with the sample before
    """
    n_nodes, n = left.shape[0], leaves.shape[0]
    total, depth = np.zeros(n_nodes), np.zeros(n_nodes, dtype=np.int64)
    parent, rank = np.zeros(n_nodes, dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)
    stack = np.empty(n_nodes, dtype=np.int64)
    stack[0], size, seen = 0, 1, 0
    while size > 0:
        size -= 1
        node = stack[size]
        rank[node] = seen
        seen += 1
        if left[node] >= 0:
            for child in (right[node], left[node]):
                parent[child] = node
                depth[child] = depth[node] + 1
                total[child] = total[node] + weights[child]
                stack[size] = child
                size += 1
    places = np.zeros(n_nodes + 1, dtype=np.int64)
    for i in range(n):
        places[rank[leaves[i]] + 1] += 1
    for node in range(n_nodes):
        places[node + 1] += places[node]
    for i in range(n):
        place = places[rank[leaves[i]]]
        places[rank[leaves[i]]] += 1
        order[place], position[i] = i, place
        sums[place], lengths[place] = total[leaves[i]], depth[leaves[i]]
    shared[0] = 0.0
    for place in range(1, n):
        a, b = leaves[order[place - 1]], leaves[order[place]]
        while a != b:
            if depth[a] >= depth[b]:
                a = parent[a]
            else:
                b = parent[b]
        shared[place] = total[a]


@njit(cache=True, nogil=True)
def add_similarities(order, position, sums, lengths, shared, start, stop, out):
    """Average the similarities of rows ``start`` to ``stop`` over all trees into ``out``."""
    n_trees, n = order.shape
    for i in range(start, stop):
        row = out[i - start]
        row[:] = 0
        for tree in range(n_trees):
            place = position[tree, i]
            own, length = sums[tree, place], lengths[tree, place]
            if own == 0.0:  # the tree is its root: all samples are together
                for j in range(n):
                    row[j] += 1.0
                continue
            row[i] += 1.0
            for step in (1, -1):
                common, other = own, place + step
                while 0 <= other < n:
                    common = min(common, shared[tree, max(other, other - step)])
                    if common == 0.0:
                        break
                    row[order[tree, other]] += common * _inverse(
                        own, length, sums[tree, other], lengths[tree, other]
                    )
                    other += step
        for j in range(n):
            row[j] = min(row[j] / n_trees, 1.0)


@njit(cache=True, nogil=True, inline="always")
def _inverse(own, length, sum_, other):
    """One over the weight of the longer path; of equally long paths the mean of both ways."""
    if other > length:
        return 1.0 / sum_
    if other < length:
        return 1.0 / own
    return 0.5 * (1.0 / own + 1.0 / sum_)
