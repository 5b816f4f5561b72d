"""One compiled step on a sparse Laplacian: the only costly line of the eigenvector method.

On one thread it is little faster than SciPy's product (``python -m benchmarks.routines``); it is
here because it runs on several, with the same result on any number of them.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit
from unispectral._run import Run, map_blocks

#: Tasks that a large graph is cut into: handing one out takes tens of microseconds. A row is
#: added up by itself, so that the result depends neither on tasks nor on threads.
_TASKS = 32
_ROWS = 2_048
#: Below this many multiplications starting threads costs more than it saves.
_LEAST_SHARED = 4_000_000


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
    n, width = X.shape
    given = W.indptr, W.indices, W.data, diagonal, X, previous, out
    numbers = tuple(map(X.dtype.type, (scale, shift, keep)))
    if W.nnz * width < _LEAST_SHARED:
        _step(*given, *numbers, 0, n)
    else:
        step = max(_ROWS, n // _TASKS)
        map_blocks(lambda rows: _step(*given, *numbers, rows.start, rows.stop), n, step, run)
    return out


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
