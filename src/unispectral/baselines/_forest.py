"""Compiled similarities of root-to-leaf paths.

Along a path every node but the root adds its weight. Two samples share the path down to the lowest
node above both leaves. With samples in the order of the leaves, the sum down to that node is the
smallest of the sums between neighbours in this order, so one sweep to each side gives a whole row
of similarities without ever comparing paths.
"""

from __future__ import annotations

import numpy as np

from unispectral._compat import njit


@njit(cache=True, nogil=True)
def describe_tree(left, right, weights, leaves, order, sums, lengths, shared):
    """Fill in, by place in the order of the leaves, what is to be known of the samples' paths.

    ``sums`` and ``lengths`` are the weight and the number of nodes of a path, ``shared`` is the
    weight of what it has in common with the path before. A node's number is above those of its
    parent and of all nodes to the left of it, as scikit-learn grows trees depth first.
    """
    n_nodes = left.shape[0]
    total = np.zeros(n_nodes)
    depth = np.zeros(n_nodes, dtype=np.int64)
    parent = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes):
        if left[node] >= 0:
            for child in (left[node], right[node]):
                parent[child] = node
                depth[child] = depth[node] + 1
                total[child] = total[node] + weights[child]
    last = 0
    for place in range(len(order)):
        node = leaf = leaves[order[place]]
        sums[place] = total[leaf]
        lengths[place] = depth[leaf]
        while node > last:  # up to the first node that is above the last leaf, too
            node = parent[node]
        shared[place] = total[node]
        last = leaf


@njit(cache=True, nogil=True)
def add_similarities(order, position, sums, lengths, shared, start, stop, out):
    """Average the similarities of rows ``start`` to ``stop`` over all trees into ``out``."""
    n_trees, n = order.shape
    for i in range(start, stop):
        row = out[i - start]
        row[:] = 0
        for tree in range(n_trees):
            place = position[tree, i]
            own = sums[tree, place]
            length = lengths[tree, place]
            if own == 0.0:  # the tree is its root: all samples are together
                for j in range(n):
                    row[j] += 1.0
                continue
            row[i] += 1.0
            for step in (1, -1):
                common = own
                other = place + step
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
