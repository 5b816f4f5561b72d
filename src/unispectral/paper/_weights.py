"""The w-step: what each kernel leaves unexplained, and the weight it earns."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run, map_blocks
from unispectral.kernels import KernelBank

#: Pairs of samples of one batch, those that meet several times counted as often.
_BATCH_ENTRIES = 2**19


def initial_weights(n_kernels: int) -> np.ndarray:
    """The paper's start, the mean of the kernels.

    It does not satisfy Σ √w = 1; the first w-step does. The equal weights that satisfy it, 1/r²,
    make the kernel so small beside α that the first graph is nearly empty, and the descent ends
    in a worse minimum.

    Examples
    --------
    >>> initial_weights(2).tolist()
    [0.5, 0.5]
    """
    return np.full(n_kernels, 1.0 / n_kernels)


def kernel_weights(h: np.ndarray) -> np.ndarray:
    """The w-step (the paper's equation 19): minimise Σ wᵣhᵣ subject to Σ √wᵣ = 1.

    Examples
    --------
    >>> kernel_weights(np.array([1.0, 1.0])).tolist()
    [0.25, 0.25]
    """
    h = np.maximum(h, 1e-15 * max(float(h.max()), np.finfo(np.float64).tiny))
    inverse = h.min() / h
    return (inverse / inverse.sum()) ** 2


def residuals(bank: KernelBank, codes: sp.csr_array, run: Run | None = None) -> np.ndarray:
    """hᵣ = Tr(Kᵣ − 2KᵣZ + ZᵀKᵣZ) for every kernel, from the supports of the codes alone.

    As Kᵣ is symmetric, hᵣ = Tr Kᵣ + ⟨Kᵣ, ZZᵀ − Z − Zᵀ⟩: a kernel is evaluated once for each pair
    of samples that meets in some code, however many codes it meets in.

    Parameters
    ----------
    bank : KernelBank
    codes : CSR array of shape (n, n)
        Row i is the code of sample i.
    run : Run or None

    Examples
    --------
    >>> bank = KernelBank.from_matrices(np.eye(2))
    >>> residuals(bank, sp.csr_array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [3.0]
    """
    h = np.array([bank.diagonal(r).sum(dtype=np.float64) for r in range(len(bank))])
    uses = codes.T.tocsr()
    meetings = uses.astype(bool).astype(np.int64) @ np.diff(codes.indptr)
    parts = _batches(meetings + np.diff(uses.indptr) + np.diff(codes.indptr))

    def work(which: slice) -> np.ndarray:
        rows = parts[which.start]
        left, right, factors = _pairs(codes, uses, rows)
        return np.array([np.vdot(factors, values) for values in bank.pairs(left, right)])

    for part in map_blocks(work, len(parts), 1, run):
        h += part
    return np.maximum(h, 0.0)


def _pairs(
    codes: sp.csr_array, uses: sp.csr_array, rows: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some rows of ZZᵀ − Z − Zᵀ on and above the diagonal, off-diagonal entries doubled."""
    block = sp.csr_array(uses[rows] @ codes - codes[rows] - uses[rows])
    left = np.repeat(np.arange(rows.start, rows.stop), np.diff(block.indptr))
    upper = block.indices >= left
    left = left[upper]
    right = block.indices[upper].astype(np.int64)
    return left, right, np.where(left == right, 1.0, 2.0) * block.data[upper]


def _batches(costs: np.ndarray) -> list[slice]:
    """Consecutive rows in groups of bounded cost: the same groups for any number of threads."""
    number = np.cumsum(costs, dtype=np.int64) // _BATCH_ENTRIES
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    return [slice(a, b) for a, b in itertools.pairwise([*starts, len(costs)])]
