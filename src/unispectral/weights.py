"""The w-step: what each kernel leaves unexplained, and the weight it earns."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral.kernels import KernelBank

__all__ = ["initial_weights", "kernel_weights", "residuals"]

#: Entries of one batch of neighbourhoods: small beside n × n numbers, and small for any n.
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
    inverse = h.min() / np.where(h > 0, h, 1.0) if h.min() > 0 else (h == 0).astype(float)
    return (inverse / inverse.sum()) ** 2


def residuals(bank: KernelBank, codes: sp.csr_array) -> np.ndarray:
    """hᵣ = Tr(Kᵣ − 2KᵣZ + ZᵀKᵣZ) for every kernel, from the supports of the codes alone.

    Parameters
    ----------
    bank : KernelBank
    codes : CSR array of shape (n, n)
        Row i is the code of sample i.

    Examples
    --------
    >>> bank = KernelBank.precomputed(np.eye(2))
    >>> residuals(bank, sp.csr_array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [3.0]
    """
    h = np.array([bank.diagonal(r).sum(dtype=np.float64) for r in range(len(bank))])
    counts = np.diff(codes.indptr)
    # Samples with codes of like length share a batch, so that little is padding.
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    start = 0
    while start < len(order):
        stop = _batch_end(counts[order], start)
        rows = order[start:stop]
        neighbours, values = padded(codes, rows)
        for r, near, among in bank.neighbourhoods(rows, neighbours):
            explained = np.matmul(among, values[:, :, None])[:, :, 0]
            h[r] += np.vdot(values, explained) - 2.0 * np.vdot(values, near)
        start = stop
    # A view that lacks samples is judged by those it has.
    coverage = np.array([bank.coverage(r) for r in range(len(bank))])
    return np.maximum(h, 0.0) / np.maximum(coverage, 1e-300)


def padded(codes: sp.csr_array, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of some samples as rectangles: neighbours (b, k) and values, zero where padded."""
    begin, end = codes.indptr[rows], codes.indptr[rows + 1]
    width = int((end - begin).max()) if len(rows) else 0
    place = begin[:, None] + np.arange(width)[None, :]
    inside = place < end[:, None]
    place = np.where(inside, place, 0)
    neighbours = np.where(inside, codes.indices[place], rows[:, None])
    values = np.where(inside, codes.data[place], 0.0)
    return neighbours, values


def _batch_end(counts: np.ndarray, start: int) -> int:
    """How far a batch reaches before its padded neighbourhoods hold too many entries."""
    widths = counts[start:].astype(np.int64)
    entries = np.arange(1, len(widths) + 1) * widths**2
    most = min(_BATCH_ENTRIES, max(2**13, len(counts) ** 2 // 128))
    return start + max(1, int(np.searchsorted(entries, most, side="right")))
