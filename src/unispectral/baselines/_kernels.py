"""The kernels of a bank as the multi-kernel methods need them: summed, or within clusters."""

from __future__ import annotations

import numpy as np

from unispectral._run import Run
from unispectral.kernels import KernelBank

__all__ = ["Kernels"]

#: Kernels are kept as matrices up to this many bytes; above it they are evaluated on demand.
STACK_BYTES = 2**29


class Kernels:
    """Kernels, kept as one stack if they are small.

    Large ones are evaluated in blocks from the bank, so that twelve kernels never exist at once.
    """

    def __init__(self, bank: KernelBank, run: Run | None = None) -> None:
        self.bank, self.run, self.n_samples = bank, run, bank.n_samples
        keep = len(bank) * bank.n_samples**2 * bank.dtype.itemsize <= STACK_BYTES
        self._stack = np.stack([bank.matrix(r, run) for r in range(len(bank))]) if keep else None
        self.diagonals = np.stack([bank.diagonal(r) for r in range(len(bank))]).astype(np.float64)

    def __len__(self) -> int:
        return len(self.bank)

    def matrix(self, r: int) -> np.ndarray:
        """Kernel ``r``."""
        return self.bank.matrix(r, self.run) if self._stack is None else self._stack[r]

    def combine(self, weights: np.ndarray) -> np.ndarray:
        """Σ w_r K_r."""
        if self._stack is None:
            return self.bank.combine(weights, self.run)
        flat = self._stack.reshape(len(self), -1)
        total = np.asarray(weights, dtype=flat.dtype) @ flat
        return total.reshape(self.n_samples, self.n_samples)

    def within(self, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Squared distances (r, n) of each sample to the centre of its cluster, in each kernel.

        Only kernel entries within clusters are looked at.
        """
        distances = np.empty((len(self), self.n_samples))
        for members in (np.flatnonzero(labels == j) for j in np.unique(labels)):
            own = weights[members]
            for r in range(len(self)):
                if self._stack is None:
                    block = self.bank.block(r, members, members)
                else:
                    block = self._stack[r][np.ix_(members, members)]
                products = block @ own
                squared = self.diagonals[r, members] - 2.0 * products + own @ products
                distances[r, members] = squared
        return np.maximum(distances, 0.0, out=distances)
