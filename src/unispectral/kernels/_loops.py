"""Compiled kernels: of sparse tables, of neighbourhoods, and sums of them, in dense results."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit
from unispectral._run import Run, map_blocks


def sparse_dots(A: sp.csr_array, B: sp.csr_array, run: Run | None = None) -> np.ndarray:
    """The dense product ``A Bᵀ`` of two sparse tables, without a sparse product in between."""
    T = B.T.tocsr()
    out = np.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
    symmetric = A is B

    def work(rows: slice) -> None:
        _accumulate(
            A.indptr, A.indices, A.data, T.indptr, T.indices, T.data, out, rows.start, rows.stop,
            symmetric,
        )  # fmt: skip

    map_blocks(work, A.shape[0], 64, run)
    if symmetric:
        return mirror(out, run)
    return out


def mirror(out: np.ndarray, run: Run | None = None) -> np.ndarray:
    """Copy the lower triangle into the upper one, in place."""
    map_blocks(lambda rows: _mirror(out, rows.start, rows.stop), len(out), 256, run)
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
def gaussian_neighbourhoods(X, rate, rows, neighbours, near, among):
    """exp(rate · d²) of samples with their neighbours and of the neighbours among themselves.

    For dense tables of few columns, where gathering and calling cost more than reckoning. The
    rows of ``near`` (b, k) and ``among`` (b, k, k) are filled.
    """
    b, k = neighbours.shape
    d = X.shape[1]
    points = np.empty((k + 1, d))
    for r in range(b):
        # All at once: the processor waits for the memory of several points at a time.
        for a in range(k + 1):
            if a == k:
                point = rows[r]
            else:
                point = neighbours[r, a]
            for p in range(d):
                points[a, p] = X[point, p]
        for a in range(k):
            for c in range(a + 1):
                if c == a:
                    other = k
                else:
                    other = c
                total = 0.0
                for p in range(d):
                    gap = points[a, p] - points[other, p]
                    total += gap * gap
                value = np.exp(rate * total)
                if c == a:
                    near[r, a] = value
                    among[r, a, a] = 1.0
                else:
                    among[r, a, c] = value
                    among[r, c, a] = value


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


@njit(cache=True, nogil=True)
def weighted_sum(
    dots, norms, start, stop, out,
    unit, wide, rates, powers, shares, offsets, slopes, roots, coefficients,
):  # fmt: skip
    """Rows ``start … stop − 1`` of Σ wᵣKᵣ up to the diagonal, by a rule of ``_sums.py``.

    Sums of squared lengths keep the precision of these.
    """
    distance = np.empty(stop)
    value = np.empty(stop)
    square = np.empty(stop)
    total = np.empty(stop)
    for i in range(start, stop):
        row = dots[i]
        m = i + 1
        total[:m] = 0.0
        if wide.shape[0] + rates.shape[0] > 0:
            own = float(norms[i])
            for j in range(i):
                distance[j] = max(own + float(norms[j]) - 2.0 * float(row[j]), 0.0)
            distance[i] = 0.0
        if wide.shape[0] > 0:
            for j in range(m):
                square[j] = unit * distance[j] - 1.0
                total[j] = wide[0]
            for p in range(1, wide.shape[0]):
                factor = wide[p]
                for j in range(m):
                    total[j] = total[j] * square[j] + factor
        for r in range(rates.shape[0]):
            power = powers[r]
            share = shares[r]
            if power == 0:
                for j in range(m):
                    value[j] = np.exp(rates[r] * distance[j])
            else:
                odd = power % 2 == 1
                for j in range(m):
                    square[j] = value[j]
                    if not odd:
                        value[j] = 1.0
                power //= 2
                while power > 0:
                    for j in range(m):
                        square[j] *= square[j]
                    if power % 2 == 1:
                        for j in range(m):
                            value[j] *= square[j]
                    power //= 2
            for j in range(m):
                total[j] += share * value[j]
        for b in range(offsets.shape[0]):
            offset = offsets[b]
            slope = slopes[b]
            root = roots[b, i]
            column = roots[b]
            for j in range(m):
                square[j] = (offset + slope * float(row[j])) * root * column[j]
                value[j] = coefficients[b, 0]
            for p in range(1, coefficients.shape[1]):
                factor = coefficients[b, p]
                for j in range(m):
                    value[j] = value[j] * square[j] + factor
            for j in range(m):
                total[j] += value[j]
        for j in range(m):
            out[i, j] = total[j]
