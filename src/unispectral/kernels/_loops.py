"""Compiled dot products of sparse tables, written straight into dense results."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit

from unispectral._threads import map_blocks

__all__ = ["mirror", "sparse_dots", "sparse_neighbourhoods", "sparse_pairs"]


def sparse_dots(A: sp.csr_array, B: sp.csr_array) -> np.ndarray:
    """The dense product ``A Bᵀ`` of two sparse tables, without a sparse product in between."""
    transposed = B.T.tocsr()
    out = np.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
    symmetric = A is B

    def work(rows: slice) -> None:
        _accumulate(
            A.indptr,
            A.indices,
            A.data,
            transposed.indptr,
            transposed.indices,
            transposed.data,
            out,
            rows.start,
            rows.stop,
            symmetric,
        )

    map_blocks(work, A.shape[0], 64)
    return mirror(out) if symmetric else out


def mirror(out: np.ndarray) -> np.ndarray:
    """Copy the lower triangle into the upper one, in place."""
    map_blocks(lambda rows: _mirror(out, rows.start, rows.stop), len(out), 256)
    return out


@njit(cache=True, nogil=True)
def _accumulate(indptr, indices, data, t_indptr, t_indices, t_data, out, start, stop, symmetric):
    for i in range(start, stop):
        row = out[i]
        for a in range(indptr[i], indptr[i + 1]):
            value = data[a]
            term = indices[a]
            for b in range(t_indptr[term], t_indptr[term + 1]):
                j = t_indices[b]
                if symmetric and j > i:  # rows of a transposed CSR are sorted
                    break
                row[j] += value * t_data[b]


@njit(cache=True, nogil=True)
def _mirror(out, start, stop):
    tile = 64
    n = out.shape[0]
    for i0 in range(start, stop, tile):
        for j0 in range(i0, n, tile):
            for i in range(i0, min(i0 + tile, stop)):
                for j in range(max(j0, i + 1), min(j0 + tile, n)):
                    out[i, j] = out[j, i]


@njit(cache=True, nogil=True)
def sparse_neighbourhoods(indptr, indices, data, n_features, rows, neighbours):
    """Dot products of samples with their neighbours and of the neighbours among themselves."""
    b, k = neighbours.shape
    dots = np.zeros((b, k), dtype=data.dtype)
    inner = np.zeros((b, k, k), dtype=data.dtype)
    spread = np.zeros(n_features, dtype=data.dtype)
    for r in range(b):
        for a in range(k + 1):
            point = rows[r] if a == k else neighbours[r, a]
            for p in range(indptr[point], indptr[point + 1]):
                spread[indices[p]] = data[p]
            last = k if a == k else a + 1
            for c in range(last):
                other = neighbours[r, c]
                total = data.dtype.type(0)
                for p in range(indptr[other], indptr[other + 1]):
                    total += data[p] * spread[indices[p]]
                if a == k:
                    dots[r, c] = total
                else:
                    inner[r, a, c] = total
                    inner[r, c, a] = total
            for p in range(indptr[point], indptr[point + 1]):
                spread[indices[p]] = 0
    return dots, inner


@njit(cache=True, nogil=True)
def sparse_pairs(indptr, indices, data, n_features, left, right):
    """Dot products of pairs of samples; a sample on the left is spread out once for its pairs."""
    dots = np.zeros(len(left), dtype=data.dtype)
    spread = np.zeros(n_features, dtype=data.dtype)
    held = -1
    for a in range(len(left)):
        if left[a] != held:
            if held >= 0:
                for p in range(indptr[held], indptr[held + 1]):
                    spread[indices[p]] = 0
            held = left[a]
            for p in range(indptr[held], indptr[held + 1]):
                spread[indices[p]] = data[p]
        total = data.dtype.type(0)
        for p in range(indptr[right[a]], indptr[right[a] + 1]):
            total += data[p] * spread[indices[p]]
        dots[a] = total
    return dots
