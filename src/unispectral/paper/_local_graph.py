"""The candidate-limited Z-step: every sample's code over its own few candidates."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run, map_blocks
from unispectral.graph._dense import Codes
from unispectral.kernels import KernelBank
from unispectral.paper._weights import residuals

__all__ = ["LimitCheck", "LocalGraph", "Prices"]

#: Entries of the Gram blocks that one thread holds at a time.
_BLOCK_ENTRIES = 2**19
_MAX_ROWS = 4_096
#: Entries of the kernel rows that the check of the limit evaluates in all.
_CHECK_ENTRIES = 2e7
_CHECK_ROUNDS = 8
#: Violations below this share of K_ii are left alone: the check estimates, it does not solve.
_CHECK_TOL = 1e-3


class Prices(Protocol):
    """The numbers of the objective that the Z-step needs."""

    @property
    def alpha(self) -> float | np.ndarray: ...

    @property
    def beta(self) -> float: ...

    @property
    def ridge(self) -> float: ...


class LimitCheck(NamedTuple):
    """What the limit to candidates costs, on a random sample of columns.

    Attributes
    ----------
    gap : float
        How much lower the codes' part of the objective would be without the limit, relative.
    binding : float
        The share of sampled columns whose code changes by more than one percent of its value.
    n_columns : int
        How many columns were sampled.
    """

    gap: float
    binding: float
    n_columns: int


class LocalGraph:
    """A Z-step over candidates, chunk by chunk, never holding anything of size n × n.

    Parameters
    ----------
    bank : KernelBank
        Made with ``gram=False`` where n × n does not fit.
    neighbours : int array of shape (n, k)
        Each sample's candidates, −1 at the end where there are fewer. With all other samples as
        candidates this is the exact Z-step.
    tol : float
        Optimality over the candidates, relative to K_ii.
    run : Run or None

    Examples
    --------
    >>> K = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.0], [0.1, 0.0, 1.0]])
    >>> graph = LocalGraph(KernelBank.precomputed(K), np.array([[1], [0], [0]]))
    >>> graph.set_weights(np.ones(1))
    >>> from unispectral.paper import Objective
    >>> graph.solve(Objective(2, 0.2, 0.0, 0.0), None, None).matrix.toarray().round(2).tolist()
    [[0.0, 0.8, 0.0], [0.8, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        bank: KernelBank,
        neighbours: np.ndarray,
        tol: float = 1e-6,
        run: Run | None = None,
    ) -> None:
        self.bank = bank
        self.run = run
        self.neighbours = neighbours
        self.tol = tol
        self.weights = np.zeros(0)
        self.own = np.zeros(0)

    def set_weights(self, weights: np.ndarray) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.own = self.bank.combine_diagonal(self.weights).astype(np.float64)

    def solve(
        self,
        objective: Prices,
        embedding: np.ndarray | None,
        start: sp.csr_array | None,
    ) -> Codes:
        """Codes of all samples; small problems are solved from scratch, whatever the start."""
        n, k = self.neighbours.shape
        step = int(np.clip(_BLOCK_ENTRIES // max(k * k, 1), 1, _MAX_ROWS))
        parts = map_blocks(
            lambda rows: self.solve_rows(objective, embedding, rows), n, step, self.run
        )
        return join(parts, n)

    def solve_rows(
        self, objective: Prices, embedding: np.ndarray | None, rows: slice
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Codes of consecutive samples: counts, indices and data of a CSR, and the residual."""
        numbers = np.arange(rows.start, rows.stop)
        neighbours, valid = _filled(self.neighbours[rows], numbers)
        z, residual = self._codes(objective, embedding, numbers, neighbours, valid)
        # Sorted by sample, so that equal codes are stored equally whatever found the candidates.
        order = np.argsort(neighbours, axis=1, kind="stable")
        z = np.take_along_axis(z, order, axis=1)
        neighbours = np.take_along_axis(neighbours, order, axis=1)
        used = z > 0
        return used.sum(axis=1), neighbours[used].astype(np.int32), z[used], residual

    def _codes(
        self,
        objective: Prices,
        embedding: np.ndarray | None,
        numbers: np.ndarray,
        neighbours: np.ndarray,
        valid: np.ndarray,
    ) -> tuple[np.ndarray, float]:
        from unispectral.graph import _loops

        near, among = self.bank.combine_neighbourhoods(self.weights, numbers, neighbours)
        z = np.zeros(neighbours.shape)
        residual = _loops.solve_blocks(
            among.astype(np.float64, copy=False),
            near.astype(np.float64, copy=False),
            self.own[numbers],
            candidate_prices(objective, embedding, numbers, neighbours),
            valid,
            float(objective.ridge),
            z,
            float(self.tol),
        )
        return z, residual

    def residuals(self, found: Codes) -> np.ndarray:
        return residuals(self.bank, found.matrix, self.run)

    def check(
        self,
        codes: sp.csr_array,
        objective: Prices,
        rng: np.random.Generator,
        n_columns: int | None = None,
    ) -> LimitCheck:
        """Solve a random sample of columns over *all* samples, and compare.

        The candidates of a sampled column grow by the worst violators of the optimality
        conditions until none is left, which is the unrestricted optimum.
        """
        n = self.bank.n_samples
        alpha = np.broadcast_to(np.asarray(objective.alpha, dtype=np.float64), n)
        if n_columns is None:
            n_columns = int(np.clip(_CHECK_ENTRIES / (20 * n), 8, 200))
        columns = np.sort(rng.choice(n, min(n_columns, n), replace=False))
        limited = np.zeros(len(columns))
        free = np.zeros(len(columns))
        for position, i in enumerate(columns):
            begin, end = codes.indptr[i], codes.indptr[i + 1]
            support, z = codes.indices[begin:end].astype(np.intp), codes.data[begin:end]
            row = self.bank.combine_block(self.weights, np.array([i]), slice(None))[0]
            linear = row - 0.5 * float(alpha[i])
            limited[position], free[position] = self._free_column(
                int(i), support, z, linear.astype(np.float64), objective.ridge
            )
        base = self.own[columns]
        saved = limited - free
        worth = np.maximum(base + limited, 1e-300)
        return LimitCheck(
            float(saved.sum() / max(float((base + limited).sum()), 1e-300)),
            float((saved > 0.01 * worth).mean()),
            len(columns),
        )

    def _free_column(
        self, i: int, support: np.ndarray, z: np.ndarray, linear: np.ndarray, ridge: float
    ) -> tuple[float, float]:
        """The column's objective as it is, and over all samples."""
        from unispectral.graph import _loops

        limited = None
        value = 0.0
        allowed = self.tol * max(self.own[i], 1e-300)
        for _ in range(_CHECK_ROUNDS):
            rows = self.bank.combine_block(self.weights, support, slice(None)).astype(np.float64)
            H = rows[:, support].copy()
            H[np.diag_indices_from(H)] *= 1 + ridge
            if limited is not None:
                _loops.solve_small(np.ascontiguousarray(H), linear[support], z, allowed)
            value = float(z @ H @ z - 2 * linear[support] @ z)
            limited = value if limited is None else limited
            keys = linear - z @ rows
            keys[support] = 0
            keys[i] = 0
            entering = np.argsort(-keys, kind="stable")[: max(16, len(support))]
            entering = entering[keys[entering] > max(_CHECK_TOL * self.own[i], allowed)]
            if len(entering) == 0:
                break
            kept = z > 0
            support = np.concatenate([support[kept], entering])
            z = np.concatenate([z[kept], np.zeros(len(entering))])
        return (value if limited is None else limited), value


def join(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, float]], n: int) -> Codes:
    """Codes of consecutive groups of samples as one matrix."""
    counts = np.concatenate([part[0] for part in parts])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    small = np.int32 if indptr[-1] < 2**31 else np.int64
    matrix = sp.csr_array(
        (
            np.concatenate([part[2] for part in parts]),
            np.concatenate([part[1] for part in parts]).astype(small, copy=False),
            indptr.astype(small, copy=False),
        ),
        shape=(n, n),
    )
    return Codes(matrix, max(part[3] for part in parts), len(parts))


def candidate_prices(
    objective: Prices, embedding: np.ndarray | None, numbers: np.ndarray, neighbours: np.ndarray
) -> np.ndarray:
    """B_ij = α_i + (β/2) ‖p_i − p_j‖² for each sample's candidates only."""
    alpha = np.asarray(objective.alpha, dtype=np.float64)
    own = alpha[numbers][:, None] if alpha.ndim else alpha
    prices = np.broadcast_to(own, neighbours.shape)
    if embedding is None or objective.beta == 0:
        return np.ascontiguousarray(prices)
    apart = embedding[neighbours] - embedding[numbers][:, None, :]
    return prices + 0.5 * objective.beta * np.einsum("bkc,bkc->bk", apart, apart)


def _filled(neighbours: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Padding replaced by the sample itself, which is never used, and where it was."""
    valid = (neighbours >= 0) & (neighbours != numbers[:, None])
    return np.where(valid, neighbours, numbers[:, None]), valid
