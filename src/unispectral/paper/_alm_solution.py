"""The authors' algorithm run to its end, with the same result as every other solver."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._result import Solution
from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.paper._alm import alm, relative_gap
from unispectral.paper._descent import Objective

__all__ = ["solve_alm"]


def solve_alm(
    bank: KernelBank,
    objective: Objective,
    *,
    max_iter: int = 200,
    tol: float = 1e-3,
    max_time: float | None = None,
    run: Run | None = None,
    **options: Any,
) -> Solution:
    """Run :func:`alm` until it stops and gather its last state.

    Parameters
    ----------
    bank : KernelBank
    objective : Objective
        Its ridge does not enter: its `mu` has that part here.
    max_iter : int
    tol : float
        The authors' rule: stop when ‖Z − S‖ < tol ‖Z‖.
    max_time : float or None
        Seconds after which the state reached is returned.
    run : Run or None
        Its generator draws the start; it is told of every iteration.
    options
        Others of :func:`alm`.

    Returns
    -------
    Solution
    """
    run = run or Run.of()
    begun = time.monotonic()
    path: list[float] = []
    for state in alm(
        bank,
        objective.n_clusters,
        alpha=objective.alpha,
        beta=objective.beta,
        gamma=objective.gamma,
        mu=objective.mu,
        max_iter=max_iter,
        tol=tol,
        random_state=run.rng,
        **options,
    ):
        path.append(state.objective)
        reason = state.stop_reason
        run.progress("iterations", state.iteration, max_iter, f"objective {path[-1]:.6g}")
        if max_time is not None and time.monotonic() - begun > max_time:
            reason = f"the time limit of {max_time:g} s was reached"
            break
    gap = relative_gap(state.Z, state.S)
    return Solution(
        Z=sp.csr_array(state.Z),
        P=state.P,
        Q=state.Q,
        labels=state.labels,
        weights=state.w,
        objective=path,
        n_iter=state.iteration,
        converged=gap < tol,
        reason=reason,
        kkt=gap,
        eigenvalues=np.empty(0),
    )
