"""The paper's objective over candidates: descent, and the price of the limit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unispectral._errors import warn
from unispectral._result import Solution
from unispectral._run import Run
from unispectral.graph.candidates import candidates
from unispectral.kernels import KernelBank
from unispectral.paper._descent import Objective, descend
from unispectral.paper._local_graph import LocalGraph
from unispectral.paper._weights import initial_weights

__all__ = ["descend_locally"]

#: Where more than this share of the objective would be saved without the limit, it is widened.
GAP = 0.02
#: How often the number of candidates is doubled.
GROWTHS = 2


def descend_locally(
    bank: KernelBank,
    objective: Objective,
    n_neighbors: int,
    *,
    run: Run | None = None,
    gap: float = GAP,
    growths: int = GROWTHS,
    **settings: Any,
) -> Solution:
    """Block-coordinate descent with codes over each sample's nearest candidates.

    Before the descent a random sample of first codes is solved over all samples. Where the limit
    to candidates costs more than ``gap`` of the objective, their number is doubled, ``growths``
    times at most. The gap that is left is ``work["gap"]`` of the result.

    Parameters
    ----------
    bank : KernelBank
    objective : Objective
    n_neighbors : int
        Candidates to begin with.
    run : Run or None
    settings
        Of :func:`descend`.

    Examples
    --------
    >>> bank = KernelBank(np.random.default_rng(0).normal(size=(40, 3)), "gaussian")
    >>> objective = Objective(2, 0.1, 0.1, 0.1)
    >>> found = descend_locally(bank, objective, 10)
    >>> len(found.labels)
    40
    """
    run = run or Run.of()
    n = bank.n_samples
    k = min(n_neighbors, n - 1)
    seed = int(run.rng.integers(2**31 - 1))
    weights = initial_weights(len(bank))
    growth = 0
    while True:
        found_candidates = candidates(bank, k, random_state=seed, run=run)
        graph = LocalGraph(bank, found_candidates, run=run)
        graph.set_weights(weights)
        first = graph.solve(objective, None, None)
        found = graph.check(first.matrix, objective, np.random.default_rng(seed))
        if found.gap <= gap or k == n - 1 or growth == growths:
            break
        k, growth = min(2 * k, n - 1), growth + 1
    if found.gap > gap:
        warn(
            f"Without the limit of {k} candidates per sample the objective would be about "
            f"{100 * found.gap:.0f} % lower (measured on {found.n_columns} samples); raise "
            "alpha, or use solver='exact'.",
            ConvergenceWarning,
        )
    solution = descend(graph, objective, run=run, **settings)
    work: dict[str, Any] = {**solution.work, "gap": found.gap, "n_neighbors": k}
    return dataclasses.replace(solution, work=work)
