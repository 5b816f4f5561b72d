"""The paper's models from checked samples to a solution."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import locate, median_of_positive, pick_evenly
from unispectral._errors import DoubtfulResultWarning, Sentence, warn
from unispectral._inputs import Samples
from unispectral._memory import require_memory
from unispectral._result import Fitted, Solution
from unispectral._run import Run
from unispectral.kernels import Abilities, KernelBank
from unispectral.paper._alm import alm, relative_gap
from unispectral.paper._descent import DenseGraph, Objective, descend
from unispectral.paper._local import descend_locally
from unispectral.predict import KernelSumPart, Predictor, low_degree_score
from unispectral.spectrum import affinity

#: Candidates of each code with ``solver="local"``, to begin with.
CANDIDATES = 30
#: Training points that the code of a new point may use.
_PREDICTION_CANDIDATES = 64
#: Matrices of all pairs that a solver holds.
_MATRICES = {"exact": 2.5, "alm": 9.0}
#: Above this many samples the authors' algorithm takes minutes.
_SLOW_ALM = 2_500
#: Samples whose pairs give the median distance.
_SAMPLE = 300
#: Where the mean of a table is this many times its spread, the cosines of its rows are all one to
#: working precision.
_FAR = 2e6


def fit(
    samples: Samples,
    objective: Objective,
    solver: str,
    run: Run,
    *,
    max_iter: int,
    tol: float,
    n_init: int,
    max_time: float | None,
    step: Literal["optimal", "search"] = "optimal",
) -> Fitted:
    """Minimise the paper's objective by one of three solvers, within their limits."""
    _warn_of_lost_digits(samples)
    bank = _bank(samples, solver, run)
    limits: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "max_time": max_time, "run": run}
    if solver == "alm":
        if bank.n_samples > _SLOW_ALM:
            warn(
                Sentence(
                    f"{{solver}} factorises a matrix of all pairs of {bank.n_samples} samples in "
                    "every iteration, which takes minutes; 'exact' or 'local' is faster.",
                    solver="alm",
                )
            )
        # On one BLAS thread, as all of a fit: the rounding of a factorisation depends on their
        # number, and the iterations would carry it into the labels.
        solution = solve_alm(bank, objective, step=step, **limits)
    elif solver == "local":
        solution = descend_locally(bank, objective, CANDIDATES, n_init=n_init, **limits)
    else:
        solution = descend(DenseGraph(bank, run=run), objective, n_init=n_init, **limits)
    bank.release()
    if not solution.Z.nnz:
        text = (
            "The graph has no edges, because {alpha} is more than any kernel value pays for, and "
            "the labels say nothing; lower it, or normalize the kernels."
        )
        warn(Sentence(text, alpha=float(objective.alpha)), DoubtfulResultWarning)
    names = samples.kernel_names
    degrees = np.asarray((solution.Z + solution.Z.T).sum(axis=1)).ravel()
    typical = median_of_positive(degrees, 1.0)
    part = KernelSumPart(bank, solution.weights, _close(bank, solution.weights))
    return Fitted(
        solution=solution,
        predictor=Predictor(
            layout=samples.layout,
            parts=(part,),
            alpha=objective.alpha,
            ridge=objective.ridge,
            n_candidates=_PREDICTION_CANDIDATES,
            typical_degree=typical,
        ),
        kernel_names=names,
        kernel_views=samples.kernel_views,
        geometry_weights=dict(zip(names, solution.weights.tolist(), strict=True)),
        outlier_score=low_degree_score(degrees, typical),
    )


def solve_alm(
    bank: KernelBank,
    objective: Objective,
    run: Run,
    *,
    max_iter: int = 200,
    tol: float = 1e-3,
    max_time: float | None = None,
    step: Literal["optimal", "search"] = "optimal",
) -> Solution:
    """The authors' algorithm run to its end, and its last state as every other solver's.

    The ridge of the objective does not enter: its ``mu`` has that part here.
    """
    begun = time.monotonic()
    penalties = {name: getattr(objective, name) for name in ("alpha", "beta", "gamma", "mu")}
    limits: dict[str, Any] = {
        "max_iter": max_iter,
        "tol": tol,
        "random_state": run.rng,
        "step": step,
    }
    path: list[float] = []
    for state in alm(bank, objective.n_clusters, **penalties, **limits):
        path.append(state.objective)
        reason = state.stop_reason
        run.progress("iterations", state.iteration, max_iter, f"objective {path[-1]:.6g}")
        if max_time is not None and time.monotonic() - begun > max_time:
            reason = f"the time limit of {max_time:g} s was reached"
            break
    gap = relative_gap(state.Z, state.S)
    Z = sp.csr_array(state.Z)
    return Solution(
        Z=Z,
        W=affinity(Z),
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


def _bank(samples: Samples, solver: str, run: Run) -> KernelBank:
    """The kernels on the samples, once there is room for what the solver will hold of them."""
    if samples.bank is not None:
        return samples.bank
    n = samples.n_samples
    tables = list(samples.tables)
    if solver == "local":
        return KernelBank(tables, samples.kernels, normalize=samples.normalize, gram=False)
    size = np.result_type(*(table.dtype for table in tables)).itemsize
    require_memory(
        _MATRICES[solver] * n * n * size,
        f"solver={solver!r} on {n} samples",
        "use solver='local', UnifiedSpectralClustering, or float32 input",
    )
    run.progress("kernels")
    return KernelBank(tables, samples.kernels, normalize=samples.normalize, run=run)


def _warn_of_lost_digits(samples: Samples) -> None:
    """Say so where dot products of a table far from the origin have no digits left."""
    lost = [
        repr(kernel.name)
        for kernel in samples.kernels or ()
        if getattr(kernel, "abilities", Abilities()).search == "cosine"
    ]
    if not lost:
        return
    for name, table in zip(samples.layout.view_names, samples.tables, strict=True):
        if sp.issparse(table):
            continue
        mean, spread = locate(table)
        far = float(np.abs(mean).max())
        spread = max(spread, 1e-300 * max(far, 1.0))  # equal samples have none
        if far > _FAR * spread:
            shown = ", ".join(lost[:3]) + (" …" if len(lost) > 3 else "")
            if name == "X":
                where = "{X}"
            else:
                where = f"The view {name!r} of {{X}}"
            warn(
                Sentence(
                    f"{where} lies {far / spread:.1g} times its spread from the origin, where the "
                    f"kernels {shown} have no digits left to tell samples apart; subtract the "
                    "mean of each column.",
                    "X",
                )
            )


def _close(bank: KernelBank, weights: np.ndarray) -> float:
    """The squared distance at which rounding cannot tell two points apart."""
    chosen = pick_evenly(bank.n_samples, _SAMPLE)
    own = bank.combine_diagonal(weights)[chosen].astype(np.float64)
    block = own[:, None] + own[None, :] - 2.0 * bank.combine_block(weights, chosen, chosen)
    upper = block[np.triu_indices(len(chosen), 1)]
    if upper.size:
        median = float(np.median(upper))
    else:
        median = 1.0
    return (1e-10 if bank.dtype == np.float64 else 1e-6) * max(median, 1e-300)
