"""One compiled step on a sparse Laplacian: the only costly line of the eigenvector method.

On one thread it is little faster than SciPy's product (``python -m benchmarks.routines``); it is
here because it runs on several, with the same result on any number of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit
from unispectral._run import Run, map_blocks

#: Tasks that a large graph is cut into: handing one out takes tens of microseconds. A row is
#: added up by itself, so that the result depends neither on tasks nor on threads.
_TASKS = 32
_ROWS = 2_048
#: Below this many multiplications starting threads costs more than it saves.
_MANY = 4_000_000


def laplacian_step(
    W: sp.csr_array,
    diagonal: np.ndarray,
    X: np.ndarray,
    previous: np.ndarray,
    out: np.ndarray,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    keep: float = 0.0,
    run: Run | None = None,
) -> np.ndarray:
    """``out = scale (diag − W) X + shift X + keep · previous``, one pass over the graph.

    ``out`` may be ``previous``. Every array has the dtype of ``X``.
    """
    if X.shape[1] == 4:
        loop = _step_of_four
    else:
        loop = _step
    _in_tasks(loop, W, (diagonal, X, previous, out), (scale, shift, keep), run)
    return out


def smoothing_step(
    W: sp.csr_array,
    diagonal: np.ndarray,
    step: np.ndarray,
    rest: np.ndarray,
    X: np.ndarray,
    momentum: float,
    factor: float,
    run: Run | None = None,
) -> np.ndarray:
    """``rest −= (diag − W) step``; the next step, ``momentum · step + factor · rest``, joins X.

    One pass over the graph where three products of arrays would take as long again.
    """
    out = np.empty_like(step)
    if X.shape[1] == 4:
        loop = _smooth_of_four
    else:
        loop = _smooth
    _in_tasks(loop, W, (diagonal, step, rest, X, out), (momentum, factor), run)
    return out


def _in_tasks(
    loop: Callable[..., None],
    W: sp.csr_array,
    arrays: tuple[np.ndarray, ...],
    numbers: tuple[float, ...],
    run: Run | None,
) -> None:
    n, width = arrays[1].shape
    cast = arrays[1].dtype.type
    given = W.indptr, W.indices, W.data, *arrays, *map(cast, numbers)
    if W.nnz * width < _MANY:
        loop(*given, 0, n)
    else:
        step = max(_ROWS, n // _TASKS)
        map_blocks(lambda rows: loop(*given, rows.start, rows.stop), n, step, run)


@njit(cache=True, nogil=True)
def _step(indptr, indices, data, diagonal, X, previous, out, scale, shift, keep, start, stop):
    # Unsigned numbers: a signed index may count from the end, which costs a branch each time.
    width = X.shape[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        row = out[i]
        mine = X[i]
        last = previous[i]
        own = scale * diagonal[i] + shift
        for c in range(width):
            row[c] = own * mine[c] + keep * last[c]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            value = -scale * data[p]
            other = X[np.uint64(indices[p])]
            for c in range(width):
                row[c] += value * other[c]


@njit(cache=True, nogil=True)
def _smooth(indptr, indices, data, diagonal, step, rest, X, out, momentum, factor, start, stop):
    width = X.shape[1]
    for i in range(np.uint64(start), np.uint64(stop)):
        left = rest[i]
        mine = step[i]
        new = out[i]
        total = X[i]
        own = diagonal[i]
        for c in range(width):
            left[c] -= own * mine[c]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            value = data[p]
            other = step[np.uint64(indices[p])]
            for c in range(width):
                left[c] += value * other[c]
        for c in range(width):
            new[c] = momentum * mine[c] + factor * left[c]
            total[c] += new[c]


# The same sums in the same order for rows of four: these stay in registers, which makes it half
# as fast again.
@njit(cache=True, nogil=True)
def _step_of_four(
    indptr, indices, data, diagonal, X, previous, out, scale, shift, keep, start, stop
):
    for i in range(np.uint64(start), np.uint64(stop)):
        row = out[i]
        mine = X[i]
        last = previous[i]
        own = scale * diagonal[i] + shift
        a = own * mine[0] + keep * last[0]
        b = own * mine[1] + keep * last[1]
        c = own * mine[2] + keep * last[2]
        d = own * mine[3] + keep * last[3]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            value = -scale * data[p]
            other = X[np.uint64(indices[p])]
            a = a + value * other[0]
            b = b + value * other[1]
            c = c + value * other[2]
            d = d + value * other[3]
        row[0], row[1], row[2], row[3] = a, b, c, d


@njit(cache=True, nogil=True)
def _smooth_of_four(
    indptr, indices, data, diagonal, step, rest, X, out, momentum, factor, start, stop
):
    for i in range(np.uint64(start), np.uint64(stop)):
        left = rest[i]
        mine = step[i]
        new = out[i]
        total = X[i]
        own = diagonal[i]
        a = left[0] - own * mine[0]
        b = left[1] - own * mine[1]
        c = left[2] - own * mine[2]
        d = left[3] - own * mine[3]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            value = data[p]
            other = step[np.uint64(indices[p])]
            a = a + value * other[0]
            b = b + value * other[1]
            c = c + value * other[2]
            d = d + value * other[3]
        left[0], left[1], left[2], left[3] = a, b, c, d
        for q in range(4):
            new[q] = momentum * mine[q] + factor * left[q]
            total[q] += new[q]
