"""The paper's objective over each sample's own few candidates, and what that limit costs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from unispectral._errors import Sentence, warn
from unispectral._result import Solution
from unispectral._run import Run, map_blocks
from unispectral.graph import Codes
from unispectral.kernels import KernelBank
from unispectral.paper._candidates import candidates
from unispectral.paper._descent import DenseGraph, Objective, descend
from unispectral.paper._weights import initial_weights

#: Where more than this share of the objective would be saved without the limit, it is widened.
GAP = 0.02
#: How often the number of candidates is doubled.
GROWTHS = 2
#: Entries of the Gram blocks that one thread holds at a time.
_BLOCK_ENTRIES = 2**19
_MAX_ROWS = 4_096
#: Entries of the kernel rows that the check of the limit evaluates in all.
_CHECK_ENTRIES = 2e7
_CHECK_ROUNDS = 8
#: Violations below this share of K_ii are left alone: the check estimates, it does not solve.
_CHECK_TOL = 1e-3


def descend_locally(
    bank: KernelBank,
    objective: Objective,
    n_neighbors: int,
    *,
    run: Run,
    gap: float = GAP,
    growths: int = GROWTHS,
    **settings: Any,
) -> Solution:
    """Block-coordinate descent with codes over each sample's nearest candidates.

    Before the descent a random sample of first codes is solved over all samples. Where the limit
    to candidates costs more than ``gap`` of the objective, their number is doubled, ``growths``
    times at most. The gap that is left is ``work["gap"]`` of the result. ``n_neighbors`` are the
    candidates to begin with, ``settings`` those of :func:`descend`.
    """
    n = bank.n_samples
    k = min(n_neighbors, n - 1)
    seed = int(run.rng.integers(2**31 - 1))
    weights = initial_weights(len(bank))
    n_columns = min(int(np.clip(_CHECK_ENTRIES / (20 * n), 8, 200)), n)
    columns = np.sort(np.random.default_rng(seed).choice(n, n_columns, replace=False))
    while True:
        graph = LocalGraph(bank, candidates(bank, k, random_state=seed, run=run), run=run)
        graph.set_weights(weights)
        left = graph.gap(graph.solve(objective, None, None).matrix, objective, columns)
        if left <= gap or k == n - 1 or growths == 0:
            break
        k = min(2 * k, n - 1)
        growths -= 1
    if left > gap:
        warn(
            Sentence(
                f"Without the limit of {k} candidates per sample the objective would be about "
                f"{100 * left:.0f} % lower (measured on {n_columns} samples); raise {{alpha}}, or "
                "use {solver}.",
                "alpha",
                solver="exact",
            ),
            ConvergenceWarning,
        )
    solution = descend(graph, objective, run=run, **settings)
    work: dict[str, Any] = {**solution.work, "gap": left, "n_neighbors": k}
    return solution._replace(work=work)


class LocalGraph(DenseGraph):
    """A Z-step over candidates, chunk by chunk, never holding anything of size n × n.

    ``neighbours`` has each sample's candidates in its row, −1 at the end where there are fewer.
    With all other samples as candidates this is the exact Z-step.
    """

    def __init__(self, bank: KernelBank, neighbours: np.ndarray, **settings: Any) -> None:
        super().__init__(bank, **settings)
        self.neighbours = neighbours

    def set_weights(self, weights: np.ndarray) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.own = self.bank.combine_diagonal(self.weights).astype(np.float64)

    def solve(
        self, objective: Objective, embedding: np.ndarray | None, start: sp.csr_array | None
    ) -> Codes:
        """Codes of all samples; small problems are solved from scratch, whatever the start."""
        n, k = self.neighbours.shape
        step = int(np.clip(_BLOCK_ENTRIES // max(k * k, 1), 1, _MAX_ROWS))
        solve = partial(self._solve_rows, objective, embedding)
        parts = map_blocks(solve, n, step, self.run)
        matrix = sp.vstack([codes for codes, _ in parts], format="csr")
        return Codes(matrix, max(residual for _, residual in parts), len(parts))

    def _solve_rows(
        self, objective: Objective, embedding: np.ndarray | None, rows: slice
    ) -> tuple[sp.csr_array, float]:
        """Codes of consecutive samples, and their residual."""
        from unispectral.graph import _loops

        numbers = np.arange(rows.start, rows.stop)
        neighbours = self.neighbours[rows]
        # Padding is replaced by the sample itself, which is never used.
        valid = (neighbours >= 0) & (neighbours != numbers[:, None])
        neighbours = np.where(valid, neighbours, numbers[:, None])
        near, among = self.bank.combine_neighbourhoods(self.weights, numbers, neighbours)
        z = np.zeros(neighbours.shape)
        residual = _loops.solve_blocks(
            among.astype(np.float64, copy=False),
            near.astype(np.float64, copy=False),
            self.own[numbers],
            _penalties(objective, embedding, numbers, neighbours),
            valid,
            float(objective.ridge),
            z,
            float(self.tol),
        )
        used = z > 0
        indptr = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        shape = (len(numbers), self.bank.n_samples)
        found = sp.csr_array((z[used], neighbours[used], indptr), shape=shape)
        found.sort_indices()  # so that equal codes are stored equally, whatever found candidates
        return found, residual

    def gap(self, codes: sp.csr_array, objective: Objective, columns: np.ndarray) -> float:
        """How much lower the objective of some columns would be over *all* samples, relative.

        Their candidates grow by the worst violators of the optimality conditions until none is
        left, which is the unrestricted optimum.
        """
        limited = free = 0.0
        for i in columns:
            begin = codes.indptr[i]
            end = codes.indptr[i + 1]
            support = codes.indices[begin:end].astype(np.intp)
            z = codes.data[begin:end]
            row = self.bank.combine_block(self.weights, np.array([i]), slice(None))[0]
            linear = (row - 0.5 * objective.alpha).astype(np.float64)
            values = list(self._widen(int(i), support, z, linear, objective.ridge))
            limited += self.own[i] + values[0]
            free += self.own[i] + values[-1]
        return (limited - free) / max(limited, 1e-300)

    def _widen(
        self, i: int, support: np.ndarray, z: np.ndarray, linear: np.ndarray, ridge: float
    ) -> Iterator[float]:
        """The objective of column i as it is, and after each round with more samples in its code.

        ``support`` are the samples that the code ``z`` may use, ``linear`` is the linear term of
        all of them. Samples enter whose gradient is steepest; without any the rounds end.
        """
        from unispectral.graph import _loops

        allowed = self.tol * max(self.own[i], 1e-300)
        for turn in range(_CHECK_ROUNDS):
            rows = self.bank.combine_block(self.weights, support, slice(None)).astype(np.float64)
            H = rows[:, support].copy()
            H[np.diag_indices_from(H)] *= 1 + ridge
            if turn:
                _loops.solve_small(np.ascontiguousarray(H), linear[support], z, allowed)
            yield float(z @ H @ z - 2 * linear[support] @ z)
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


def _penalties(
    objective: Objective, embedding: np.ndarray | None, numbers: np.ndarray, neighbours: np.ndarray
) -> np.ndarray:
    """B_ij = α + (β/2) ‖p_i − p_j‖² for each sample's candidates only."""
    penalties = np.full(neighbours.shape, float(objective.alpha))
    if embedding is not None and objective.beta:
        apart = embedding[neighbours] - embedding[numbers][:, None, :]
        penalties += 0.5 * objective.beta * np.einsum("bkc,bkc->bk", apart, apart)
    return penalties
