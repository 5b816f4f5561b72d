"""Block-coordinate descent on the paper's objective, each block solved to its optimum."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import orthogonal_factor
from unispectral._result import Solution
from unispectral._run import Run
from unispectral.graph import Codes, codes
from unispectral.kernels import KernelBank
from unispectral.labels import Rotation, rotate
from unispectral.paper._weights import initial_weights, kernel_weights, residuals
from unispectral.spectrum import affinity, laplacian, smallest_eigenvectors, stiefel_descent

#: A rise of the objective by more than this share of it is no longer its own rounding.
_ROUNDING = 1e-7


@dataclass(frozen=True)
class Objective:
    """The numbers of the model: J = Tr(K − 2KZ + ZᵀKZ) + αΣZ + βTr(PᵀLP) + γ‖F − PQ‖².

    ``ridge`` adds ρ Σⱼ Kⱼⱼ zⱼ² to each code's problem, which is what a frozen penalty of the
    authors' algorithm amounts to; ``mu`` is where that penalty starts.
    """

    n_clusters: int
    alpha: float
    beta: float
    gamma: float
    ridge: float = 0.0
    mu: float = 0.1


class DenseGraph:
    """The exact Z-step over all samples, on the weighted sum of the kernels.

    It knows the kernels, turns penalties into codes and codes into residuals; ``tol`` is how far a
    code may be from optimal, relative to K_ii.
    """

    def __init__(self, bank: KernelBank, tol: float = 1e-6, run: Run | None = None) -> None:
        self.bank = bank
        self.tol = tol
        self.run = run
        self.K: Any = None

    def set_weights(self, weights: np.ndarray) -> None:
        self.K = None  # one n × n matrix at a time
        self.K = self.bank.combine(weights, self.run)

    def solve(
        self, objective: Objective, embedding: np.ndarray | None, start: sp.csr_array | None
    ) -> Codes:
        return codes(
            self.K,
            objective.alpha,
            beta=objective.beta,
            embedding=embedding,
            ridge=objective.ridge,
            start=start,
            tol=self.tol,
            run=self.run,
        )

    def residuals(self, found: Codes) -> np.ndarray:
        if len(self.bank) == 1 and found.left is not None:
            return np.array([found.left.sum()])
        return residuals(self.bank, found.matrix, self.run)


def descend(
    graph: DenseGraph,
    objective: Objective,
    *,
    max_iter: int = 50,
    tol: float = 1e-5,
    n_init: int = 10,
    max_time: float | None = None,
    run: Run | None = None,
) -> Solution:
    """Minimise the objective over graph, embedding, rotation, labels and kernel weights in turn.

    The first graph is made without the spectral term, the first embedding is its eigenvectors and
    the first rotation the best of ``n_init`` starts; from there every block update lowers the
    objective or leaves it. Where rounding makes it rise all the same, the descent ends at the
    state before, and the result says so.

    Parameters
    ----------
    graph : DenseGraph
        The Z-step to use.
    objective : Objective
    max_iter : int
    tol : float
        Stops when an iteration lowers the objective by less than ``tol`` of its value.
    n_init : int
        Starts of the first rotation.
    max_time : float or None
        Seconds after which the best state so far is returned.
    run : Run or None
        Its generator draws the starts of the first rotation; it is told of every iteration.

    Returns
    -------
    Solution
    """
    run = run or Run.of()
    begun = time.monotonic()
    bank = graph.bank
    state = _first(graph, objective, n_init, run)
    state.embed(objective, run)
    path = state.path
    converged = False
    reason = f"the limit of {max_iter} iterations was reached"
    for iteration in range(1, max_iter + 1):
        before = replace(state)
        if len(bank) > 1:
            state.weights = kernel_weights(state.h)
            graph.set_weights(state.weights)
        # The first weights move the kernel far: a cold start is faster then, and only then.
        if len(bank) == 1 or path:
            start = state.matrix
        else:
            start = None
        state.accept(graph, graph.solve(objective, state.P, start), objective)
        value = _value(objective, state)
        if path and value > path[-1] + _ROUNDING * abs(value):
            state = before
            reason = (
                f"the objective rose from {path[-1]:.6g} to {value:.6g}, which only rounding can "
                "cause: the kernels have too few digits left"
            )
            break
        path.append(value)
        run.progress("descent", iteration, max_iter, f"objective {path[-1]:.6g}")
        state.embed(objective, run)
        if len(path) > 1:
            fell = path[-2] - path[-1]
        else:
            fell = np.inf
        little = tol * abs(path[-1])
        # Labels that have just changed may be what the next embedding falls by.
        if fell <= little and path[-1] - _value(objective, state) <= little:
            converged = True
            reason = f"the objective fell by less than {tol:g} of its value"
            break
        if max_time is not None and time.monotonic() - begun > max_time:
            reason = f"the time limit of {max_time:g} s was reached"
            break
    return Solution(
        Z=state.matrix.T.tocsr(),
        W=state.W,
        P=state.P,
        Q=state.rotation.Q,
        labels=state.rotation.labels,
        weights=state.weights,
        objective=path,
        n_iter=len(path),
        converged=converged,
        reason=reason,
        kkt=state.residual,
        eigenvalues=state.eigenvalues,
        work={"passes": state.passes},
    )


@dataclass
class _State:
    """What one iteration hands to the next."""

    weights: np.ndarray
    P: np.ndarray
    rotation: Rotation
    eigenvalues: np.ndarray
    matrix: sp.csr_array
    W: sp.csr_array
    h: np.ndarray
    residual: float
    passes: int
    path: list[float] = field(default_factory=list)

    def embed(self, objective: Objective, run: Run) -> None:
        """The P-step, then Q- and F-steps until the labels stay."""
        self.P = _update_embedding(self.P, laplacian(self.W), self.rotation, objective, run)
        self.rotation = rotate(self.P, start=self.rotation.Q)

    def accept(self, graph: DenseGraph, found: Codes, objective: Objective) -> None:
        """Take new codes over, and what follows from them."""
        self.matrix = found.matrix
        self.W = affinity(found.matrix)
        self.h = _errors(graph, found, objective)
        self.residual = found.residual
        self.passes += found.passes


def _first(graph: DenseGraph, objective: Objective, n_init: int, run: Run) -> _State:
    """Codes without a spectral term, their eigenvectors, and the best of several rotations."""
    weights = initial_weights(len(graph.bank))
    graph.set_weights(weights)
    found = graph.solve(objective, None, None)
    W = affinity(found.matrix)
    pairs = smallest_eigenvectors(W, objective.n_clusters, normalized=False, rng=run.rng, run=run)
    rotation = rotate(pairs.vectors, n_init=n_init, rng=run.rng)
    h = _errors(graph, found, objective)
    return _State(
        weights, pairs.vectors, rotation, pairs.values, found.matrix, W, h,
        found.residual, found.passes,
    )  # fmt: skip


def _errors(graph: DenseGraph, found: Codes, objective: Objective) -> np.ndarray:
    """What the weight of each kernel is multiplied by: h, and its share of the ridge."""
    h = graph.residuals(found)
    if objective.ridge:
        squares = np.asarray(found.matrix.multiply(found.matrix).sum(axis=0)).ravel()
        own = [squares @ graph.bank.diagonal(r) for r in range(len(graph.bank))]
        h = h + objective.ridge * np.array(own)
    return h


def _update_embedding(
    P: np.ndarray, L: sp.csr_array, rotation: Rotation, objective: Objective, run: Run
) -> np.ndarray:
    """The P-step; without a spectral term the optimum is the Procrustes solution alone."""
    pull = rotation.Q.T[rotation.labels]  # F Qᵀ
    if objective.beta > 0:
        return stiefel_descent(L, (objective.gamma / objective.beta) * pull, P, run=run).P
    if objective.gamma == 0:
        return P
    return orthogonal_factor(pull)


def _value(objective: Objective, state: _State) -> float:
    """J at the current state; ‖F − PQ‖² = n + c − 2 Σᵢ (PQ)ᵢ,label(i)."""
    n, c = state.P.shape
    value = float(state.weights @ state.h) + objective.alpha * float(state.matrix.sum())
    value += objective.beta * float(np.vdot(state.P, laplacian(state.W) @ state.P))
    value += objective.gamma * (n + c - 2.0 * state.rotation.value)
    return value
