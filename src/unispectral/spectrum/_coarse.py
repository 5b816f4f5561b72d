"""A graph made smaller: neighbours joined into aggregates, so that far apart comes close."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit

#: An edge is strong if it has this share of the strongest of either end.
_STRONG = 0.25
#: A node has a low degree if it is below this share of the mean of its neighbours.
_LOW_DEGREE = 0.6


def aggregate_nodes(W: sp.csr_array, null: np.ndarray) -> tuple[sp.csr_array, sp.csr_array]:
    """The prolongation T, with orthonormal columns that sum to ``null``, and TᵀWT.

    ``W`` is symmetric and non-negative, ``null`` positive where a node has edges; the columns of T
    are the parts of ``null``, scaled to length one.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3))))
    >>> T, small = aggregate_nodes(W, np.full(6, 6**-0.5))
    >>> T.shape, small.toarray().round(6).tolist()
    ((6, 2), [[3.0, 0.0], [0.0, 3.0]])
    """
    n = W.shape[0]
    member = np.full(n, -1, dtype=np.int32)
    count = _aggregate(W.indptr, W.indices, W.data, null, member)
    norms = np.sqrt(np.bincount(member, np.square(null), count))
    values = (null / np.where(norms > 0, norms, 1.0)[member]).astype(W.dtype)
    T = sp.csr_array((values, member, np.arange(n + 1, dtype=np.int32)), shape=(n, count))
    return T, sp.csr_array(T.T @ (W @ T))


@njit(cache=True, nogil=True)
def _aggregate(indptr, indices, data, null, member):
    """Number the aggregates: nodes with their strong neighbours, then the rest to the strongest.

    A weak edge, or a sample between two clusters, may be all that joins them: an aggregate that
    lies in both would hide the cut. Edges count that are strong for both ends, and nodes of less
    degree than their surroundings begin an aggregate only where nobody else does.
    """
    n = len(member)
    count = 0
    strongest = np.zeros(n, dtype=data.dtype)
    usual = np.zeros(n)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i:
                strongest[i] = max(strongest[i], data[p])
                usual[i] += null[j] ** 2
        usual[i] /= max(1, indptr[i + 1] - indptr[i])
    for sweep in range(2):
        for i in range(n):
            if member[i] >= 0 or (sweep == 0 and null[i] ** 2 < _LOW_DEGREE * usual[i]):
                continue
            free = True
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                limit = _STRONG * max(strongest[i], strongest[j])
                if member[j] >= 0 and data[p] >= limit:
                    free = False
                    break
            if free:
                member[i] = count
                for p in range(indptr[i], indptr[i + 1]):
                    j = indices[p]
                    if member[j] < 0 and data[p] >= _STRONG * max(strongest[i], strongest[j]):
                        member[j] = count
                count += 1
    for i in range(n):
        if member[i] >= 0:
            continue
        best = -1  # a strong neighbour kept it from beginning its own
        strength = -1.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if member[j] >= 0 and data[p] > strength:
                best = member[j]
                strength = data[p]
        # Marked, so that nobody joins through a node that has only just joined.
        member[i] = -2 - best
    for i in range(n):
        if member[i] < -1:
            member[i] = -2 - member[i]
    return count
