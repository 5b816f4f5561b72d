"""Compiled selection of the nearest: the part of a neighbour search that is not a product."""

from __future__ import annotations

import numpy as np

from unispectral._compat import njit


@njit(cache=True, nogil=True)
def select_smallest(products, norms, ids, skip, k, keys, found):
    """Per row the ``k`` columns of smallest ``norms − 2 products``, in no promised order of ties.

    ``ids`` are the numbers of the columns' points, ``skip`` that of the point to leave out of each
    row, or −1. ``keys`` and ``found``, (m, k), take the result; −1 where there are fewer points.
    """
    m, M = products.shape
    for i in range(m):
        key_row = keys[i]
        id_row = found[i]
        size = 0
        limit = np.inf
        own = skip[i]
        row = products[i]
        for j in range(M):
            key = norms[j] - 2 * row[j]
            if key >= limit and size == k:
                continue
            if ids[j] == own:
                continue
            place = size if size < k else k - 1
            if size < k:
                size += 1
            while place > 0 and key_row[place - 1] > key:
                key_row[place] = key_row[place - 1]
                id_row[place] = id_row[place - 1]
                place -= 1
            key_row[place] = key
            id_row[place] = ids[j]
            if size == k:
                limit = key_row[k - 1]
        for a in range(size, k):
            key_row[a] = np.inf
            id_row[a] = -1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def exact_dense(queries, points, found, distances):
    """Squared distances to the points found, by differences: no cancellation."""
    m, k = found.shape
    d = points.shape[1]
    for i in range(m):
        for a in range(k):
            j = found[i, a]
            if j < 0:
                distances[i, a] = np.inf
                continue
            total = 0.0
            for f in range(d):
                step = np.float64(queries[i, f]) - np.float64(points[j, f])
                total += step * step
            distances[i, a] = total


@njit(cache=True, nogil=True)
def exact_sparse(qptr, qind, qval, start, ptr, ind, val, n_features, found, distances):
    """The same for sparse rows ``start …`` of the queries, spread out one at a time."""
    m, k = found.shape
    spread = np.zeros(n_features)
    for i in range(m):
        q = start + i
        norm = 0.0
        for p in range(qptr[q], qptr[q + 1]):
            spread[qind[p]] = qval[p]
            norm += np.float64(qval[p]) ** 2
        for a in range(k):
            j = found[i, a]
            if j < 0:
                distances[i, a] = np.inf
                continue
            total = norm
            for p in range(ptr[j], ptr[j + 1]):
                other = spread[ind[p]]
                step = other - np.float64(val[p])
                total += step * step - other * other
            distances[i, a] = max(total, 0.0)
        for p in range(qptr[q], qptr[q + 1]):
            spread[qind[p]] = 0.0


@njit(cache=True, nogil=True)
def sort_rows(distances, found):
    """Sort each row by distance, ties by number; in place, missing points (−1) last."""
    m, k = found.shape
    for i in range(m):
        for a in range(1, k):
            key = distances[i, a]
            number = found[i, a]
            place = a
            while place > 0 and (
                distances[i, place - 1] > key
                or (distances[i, place - 1] == key and found[i, place - 1] > number)
            ):
                distances[i, place] = distances[i, place - 1]
                found[i, place] = found[i, place - 1]
                place -= 1
            distances[i, place] = key
            found[i, place] = number
