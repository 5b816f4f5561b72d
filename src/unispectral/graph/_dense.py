"""The exact Z-step: every sample's code over all other samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run, map_blocks

#: First working set, and samples per block: enough work for a thread, few enough for an interrupt.
FIRST = 16
BLOCK = 64


class Codes(NamedTuple):
    """Sparse codes and how well they satisfy the optimality conditions.

    Attributes
    ----------
    matrix : CSR array of shape (n, n)
        Row i is the code of sample i, that is column i of the paper's Z.
    residual : float
        The largest failure of the optimality conditions over all samples, relative to K_ii.
    passes : int
        Number of checks over all samples, a machine-independent measure of the work.
    left : ndarray of shape (n,) or None
        What each sample's code leaves of it, K_ii − 2 K_iᵀz + zᵀKz, where the solver knows it.
    """

    matrix: sp.csr_array
    residual: float
    passes: int
    left: np.ndarray | None = None


def codes(
    K: np.ndarray,
    alpha: float | np.ndarray = 0.1,
    *,
    beta: float = 0.0,
    embedding: np.ndarray | None = None,
    ridge: float = 0.0,
    start: sp.csr_array | None = None,
    tol: float = 1e-6,
    run: Run | None = None,
) -> Codes:
    """Solve the Z-step exactly: n independent non-negative lassos in kernel space.

    Each column of Z minimises ``zᵀKz − 2Kᵢᵀz + Σⱼ (α + (β/2)‖pᵢ − pⱼ‖²) zⱼ`` over z ≥ 0, zᵢ = 0,
    plus ``ridge Σⱼ Kⱼⱼ zⱼ²`` where a ridge is asked for.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        A positive semi-definite kernel, float32 or float64.
    alpha : float or ndarray of shape (n,)
        The penalty of every coefficient, the same for all samples or one for each.
    beta : float
        The weight of the spectral term.
    embedding : ndarray of shape (n, c) or None
        The rows pᵢ whose distances raise the penalties.
    ridge : float
        A multiple of diag(K) that is added to K in the quadratic term.
    start : CSR array or None
        Codes to start from; the result is the same, sooner.
    tol : float
        Optimality conditions hold to ``tol`` times K_ii over all samples.
    run : Run, optional
        Its threads are used; all cores without one.

    Returns
    -------
    Codes

    Examples
    --------
    >>> K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> codes(K, alpha=0.2).matrix.toarray().round(2).tolist()
    [[0.0, 0.8, 0.0], [0.8, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    from unispectral.graph import _loops

    n = K.shape[0]
    alpha = np.ascontiguousarray(np.broadcast_to(np.asarray(alpha, dtype=np.float64), (n,)))
    nonnegative = bool(K.min() >= 0)
    if start is None:
        start = sp.csr_array((n, n))
    indptr = start.indptr.astype(np.int64)
    indices = start.indices.astype(np.int32)
    data = start.data.astype(np.float64)

    if embedding is None:
        beta = 0.0
        embedding = np.empty((n, 0))
    P = np.ascontiguousarray(embedding, dtype=K.dtype)

    def work(rows: slice) -> Any:
        return _loops.solve_columns(
            K, rows.start, rows.stop, alpha, float(beta), P, float(ridge), nonnegative,
            indptr, indices, data, float(tol), FIRST,
        )  # fmt: skip

    parts = map_blocks(work, n, BLOCK, run)
    counts = np.concatenate([part[0] for part in parts])
    matrix = sp.csr_array(
        (
            np.concatenate([part[2] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            np.concatenate([[0], np.cumsum(counts)]),
        ),
        shape=(n, n),
    )
    matrix.sort_indices()  # so that equal codes are stored equally
    left = np.concatenate([part[3] for part in parts])
    return Codes(matrix, max(part[4] for part in parts), sum(part[5] for part in parts), left)
