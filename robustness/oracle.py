"""The library's steps and solvers against the NumPy oracle: ``python -m robustness.oracle``.

Every problem is made from its number. The steps are compared one by one, the authors' algorithm
state by state (each iteration of the oracle starts from the library's state before it, so that
rounding does not add up), and the exact descent by whether any block update of the oracle still
lowers the objective of its result.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from robustness import paper_oracle as oracle
from robustness._results import Part, Plan, Result

__all__ = ["CHECKS", "PARTS", "Problem", "disagreements", "main", "make_problem"]

#: Relative to the scale of what is compared.
_EXACT = 1e-8
#: Gradient of the P-step relative to the scale of its problem, and what may be left to gain.
_STATIONARY, _GAIN = 1e-2, 1e-4
_PARTS = 10


@dataclass(frozen=True)
class Problem:
    """Kernels and numbers of one small problem."""

    seed: int
    kernels: list[np.ndarray]
    n_clusters: int
    alpha: float
    beta: float
    gamma: float
    ridge: float
    mu: float

    @property
    def n(self) -> int:
        return len(self.kernels[0])

    @property
    def penalties(self) -> dict[str, float]:
        return {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}

    def rng(self) -> np.random.Generator:
        """Draws of the comparisons, apart from those that made the problem."""
        return np.random.default_rng([self.seed, 1])

    @cached_property
    def graph(self) -> np.ndarray:
        """The Laplacian's codes: those of the first kernel, without an embedding."""
        return oracle.codes(self.kernels[0], oracle.penalties(None, self.n, self.alpha, 0.0))

    def orthonormal(self, rng: np.random.Generator) -> np.ndarray:
        return np.linalg.qr(rng.normal(size=(self.n, self.n_clusters)))[0]


def make_problem(seed: int) -> Problem:
    """A problem of 5 to 15 samples (every tenth: up to 40) and one to four kernels."""
    rng = np.random.default_rng([seed, 0])
    n = int(rng.integers(5, 16) if seed % 10 else rng.integers(16, 41))
    c = int(rng.integers(2, min(6, n)))
    X = rng.normal(size=(n, int(rng.integers(1, 8))))
    X += float(rng.choice([0.0, 2.0, 6.0])) * rng.normal(size=(c, X.shape[1]))[np.arange(n) % c]
    if rng.random() < 0.15:
        X[-2:] = X[:2]  # exact duplicates
    kinds = rng.choice(len(_KERNELS), size=int(rng.choice([1, 1, 2, 3, 4])))
    beta = 0.0 if rng.random() < 0.1 else float(10.0 ** rng.uniform(-4, 1))
    return Problem(
        seed,
        [_KERNELS[kind](X, rng) for kind in kinds],
        c,
        alpha=float(10.0 ** rng.uniform(-4, 0)),
        beta=beta,
        gamma=0.0 if rng.random() < 0.2 else beta * float(10.0 ** rng.uniform(-4, 0)),
        ridge=0.0 if rng.random() < 0.5 else float(10.0 ** rng.uniform(-2, 1)),
        mu=float(10.0 ** rng.uniform(-2, 2)),
    )


def _gaussian(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return np.exp(-squared / (2 * float(rng.choice([0.1, 1.0, 10.0])) ** 2 * squared.max()))


def _cosine(K: np.ndarray) -> np.ndarray:
    root = np.sqrt(np.maximum(np.diag(K), 1e-12))
    K = K / np.outer(root, root)
    np.fill_diagonal(K, 1.0)
    return K


_KERNELS: tuple[Callable[[np.ndarray, np.random.Generator], np.ndarray], ...] = (
    _gaussian,
    lambda X, rng: _cosine(X @ X.T),
    lambda X, rng: _cosine((1 + X @ X.T) ** 2),
    lambda X, rng: X @ X.T + 1e-3 * np.eye(len(X)),
    lambda X, rng: _cosine((A := rng.normal(size=(len(X), len(X)))) @ A.T),
)


# ---- The library, in the form of the oracle -----------------------------------------------------


def _library_codes(K: np.ndarray, P: Any, problem: Problem, start: Any = None) -> np.ndarray:
    from unispectral.graph import codes

    found = codes(
        K, problem.alpha, beta=problem.beta, embedding=P, ridge=problem.ridge, start=start,
        tol=_EXACT / 10,
    )  # fmt: skip
    return found.matrix.toarray().T


def _library_embedding(L: np.ndarray, target: np.ndarray, P: np.ndarray) -> np.ndarray:
    import scipy.sparse as sp

    from unispectral.spectrum import stiefel_descent

    return stiefel_descent(sp.csr_array(L), target, P).P


def _library_descent(problem: Problem) -> Any:
    from unispectral._run import Run
    from unispectral.kernels import KernelBank
    from unispectral.paper import DenseGraph, Objective, descend

    graph = DenseGraph(KernelBank.from_matrices(problem.kernels), 1e-8)
    numbers = Objective(problem.n_clusters, **problem.penalties, ridge=problem.ridge)
    return descend(graph, numbers, max_iter=200, tol=1e-6, run=Run.of(1, problem.rng()))


# ---- Comparisons: each yields what disagrees ----------------------------------------------------


def _codes(problem: Problem) -> Iterator[str]:
    """The Z-step: optimality conditions and value, cold and warm, with and without P."""
    import scipy.sparse as sp

    rng = problem.rng()
    K = problem.kernels[0]
    P = problem.orthonormal(rng)
    for given in (None, P):
        B = oracle.penalties(given, problem.n, problem.alpha, problem.beta)
        mine = oracle.codes(K, B, problem.ridge)
        best = oracle.codes_value(K, mine, B, problem.ridge)
        near = sp.csr_array(mine.T * rng.uniform(0.5, 1.5, mine.shape))
        for how, start in (("cold", None), ("warm", near)):
            Z = _library_codes(K, given, problem, start)
            violation = oracle.codes_violation(K, Z, B, problem.ridge)
            above = oracle.codes_value(K, Z, B, problem.ridge) - best
            if violation > _EXACT:
                yield f"codes ({how}): optimality conditions fail by {violation:.1e} of K_ii"
            if abs(above) > 10 * _EXACT * np.trace(K):
                yield f"codes ({how}): value differs from the optimum by {above:.1e}"


def _embedding(problem: Problem, *, cold: bool) -> Iterator[str]:
    """The P-step: orthonormal, no worse than its start, stationary, nothing left to gain."""
    rng = problem.rng()
    Z = problem.graph
    L = oracle.laplacian(Z)
    start = problem.orthonormal(rng)
    if not cold:  # what an iteration starts from: eigenvectors of a graph like this one
        moved = oracle.laplacian(Z * rng.uniform(0.7, 1.3, Z.shape))
        start = np.linalg.eigh(moved)[1][:, : problem.n_clusters]
    labels = rng.integers(problem.n_clusters, size=problem.n)
    Q = oracle.rotation(start, labels)
    pull = problem.gamma / problem.beta if problem.beta else 0.0
    target = pull * oracle.one_hot(labels, problem.n_clusters) @ Q.T
    scale = max(float(np.abs(L).sum(axis=1).max()) + float(np.linalg.norm(target)), 1e-12)
    P = _library_embedding(L, target, start)
    value = oracle.embedding_value(L, P, target)
    if np.abs(P.T @ P - np.eye(problem.n_clusters)).max() > _EXACT:
        yield "embedding: the columns are not orthonormal"
    if value > oracle.embedding_value(L, start, target) + _EXACT * scale:
        yield "embedding: worse than its start"
    gradient = float(np.linalg.norm(oracle.embedding_gradient(L, P, target))) / scale
    if gradient > _STATIONARY:
        yield f"embedding: gradient {gradient:.1e} of its scale"
    gain = value - oracle.embedding_value(L, oracle.embedding(L, target, P), target)
    if gain > _GAIN * scale:
        yield f"embedding: {gain / scale:.1e} of its scale left to gain"
    if pull == 0:
        least = float(np.linalg.eigvalsh(L)[: problem.n_clusters].sum())
        if value - least > _GAIN * scale:
            yield f"embedding: {(value - least) / scale:.1e} above the smallest eigenvalues"


def _rotation(problem: Problem) -> Iterator[str]:
    """The Q- and F-steps."""
    from unispectral.labels import assign, procrustes, rotate

    rng = problem.rng()
    P, c = problem.orthonormal(rng), problem.n_clusters
    labels = rng.permutation(np.arange(problem.n) % c)
    Q = procrustes(P, labels)
    if np.abs(Q.T @ Q - np.eye(c)).max() > _EXACT:
        yield "rotation: not orthogonal"
    if oracle.rotation_shortfall(P, Q, labels) > _EXACT:
        yield "rotation: not the best one"
    if not np.array_equal(assign(P, Q), np.argmax(P @ Q, axis=1)):
        yield "labels: not the largest entries"
    found = rotate(P, rng=rng)
    gap = found.value - float((P @ found.Q).max(axis=1).sum())
    if abs(gap) > _EXACT or not np.array_equal(found.labels, np.argmax(P @ found.Q, axis=1)):
        yield "rotation: value or labels do not belong to Q"
    if oracle.rotation_shortfall(P, found.Q, found.labels) > _EXACT:
        yield "rotation: Q is not the best one for its labels"


def _weights(problem: Problem) -> Iterator[str]:
    """The w-step and the reconstruction errors that it needs."""
    import scipy.sparse as sp

    from unispectral.kernels import KernelBank
    from unispectral.paper._weights import kernel_weights, residuals

    rng = problem.rng()
    Z = rng.uniform(0, 0.4, (problem.n, problem.n)) * (rng.random((problem.n, problem.n)) < 0.3)
    np.fill_diagonal(Z, 0.0)
    h = residuals(KernelBank.from_matrices(problem.kernels), sp.csr_array(Z.T))
    mine = np.array([oracle.reconstruction(K, Z) for K in problem.kernels])
    if not np.allclose(h, mine, rtol=_EXACT, atol=_EXACT):
        yield f"errors: {h} instead of {mine}"
    if not np.allclose(kernel_weights(mine), oracle.weights(mine), rtol=_EXACT, atol=0):
        yield "weights: not those of the definition"


def _alm(problem: Problem) -> Iterator[str]:
    """Both algorithms of the paper, state by state, with either P-step.

    Beside the exact P-step, well-conditioned codes are computed in single precision.
    """
    yield from _alm_states(problem, "optimal", 1e-4)
    if problem.seed % 3 == 0:  # the search is slow
        yield from _alm_states(problem, "search", 1e-6)


def _alm_states(problem: Problem, p_step: Any, tolerance: float) -> Iterator[str]:
    from unispectral.paper import alm

    rng = problem.rng()
    n, c, several = problem.n, problem.n_clusters, len(problem.kernels) > 1
    P, Q = problem.orthonormal(rng), np.linalg.qr(rng.normal(size=(c, c)))[0]
    Z, Y, F = np.eye(n), np.zeros((n, n)), np.zeros((n, c))
    w, mu = np.full(len(problem.kernels), 1 / len(problem.kernels)), problem.mu
    states = alm(
        problem.kernels, c, **problem.penalties, mu=mu, init=(P, Q), max_iter=3, step=p_step
    )
    for state in states:
        where = f"alm ({_called(p_step)}), iteration {state.iteration}"
        K = oracle.weighted(problem.kernels, w)
        step = oracle.alm_codes(K, Z, Y, P, mu, alpha=problem.alpha, beta=problem.beta)
        for name in ("S", "Z", "Y"):
            mine, theirs = getattr(step, name), getattr(state, name)
            scale = max(1.0, float(np.abs(mine).max()))
            if not np.allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale):
                yield f"{where}: {name} differs by {np.abs(mine - theirs).max():.1e}"
        if not np.isclose(step.mu, state.mu, rtol=1e-12):
            yield f"{where}: mu {state.mu} instead of {step.mu}"
        if np.abs(state.P.T @ state.P - np.eye(c)).max() > _EXACT:
            yield f"{where}: the columns of P are not orthonormal"
        shortfall = oracle.rotation_shortfall(state.P, state.Q, F.argmax(axis=1))
        if F.any(axis=0).all() and shortfall > _EXACT:  # an empty cluster leaves Q free
            yield f"{where}: Q is not the best rotation"
        if not np.array_equal(state.labels, np.argmax(state.P @ state.Q, axis=1)):
            yield f"{where}: labels are not the largest entries of PQ"
        h = np.array([oracle.reconstruction(K, state.Z) for K in problem.kernels])
        mine = oracle.weights(h) if several else np.ones(1)
        if not np.allclose(state.w, mine, rtol=1e-6):
            yield f"{where}: weights {state.w} instead of {mine}"
        J = oracle.objective(
            problem.kernels, state.w, state.Z, state.P, state.Q, state.labels, **problem.penalties
        )
        if not np.isclose(J, state.objective, rtol=1e-7, atol=1e-9):
            yield f"{where}: objective {state.objective} instead of {J}"
        Z, Y, P, Q, w, mu = state.Z, state.Y, state.P, state.Q, state.w, state.mu
        F = oracle.one_hot(state.labels, c)


def _called(p_step: Any) -> str:
    return "exact" if p_step is None else "wen-yin"


def _alm_stop(problem: Problem) -> Iterator[str]:
    """The stopping rule, with a tolerance that some problems meet at once."""
    from unispectral.paper import alm

    if problem.seed % 5:  # it needs no more
        return
    tol, limit = float(10.0 ** problem.rng().uniform(-1.5, 0.5)), 3
    start = problem.orthonormal(problem.rng()), np.eye(problem.n_clusters)
    for state in alm(
        problem.kernels, problem.n_clusters, **problem.penalties, mu=problem.mu, init=start,
        max_iter=limit, tol=tol,
    ):  # fmt: skip
        rule = oracle.alm_stops(state.Z, state.S, state.iteration, tol)
        if not state.Z.any():
            return  # nothing is left to compare
        if bool(state.stop_reason) != (rule or state.iteration == limit):
            yield f"alm, iteration {state.iteration}: says {state.stop_reason!r}, the rule {rule}"


def _alm_p_step(problem: Problem) -> Iterator[str]:
    """The ALM's P-step in the second iteration, the first with labels.

    The authors' search is as good as the oracle's; of the exact step nothing is left to gain.
    """
    from unispectral.paper import alm

    pull = problem.gamma / problem.beta if problem.gamma else 0.0
    start = problem.orthonormal(problem.rng()), np.eye(problem.n_clusters)
    for p_step in ("optimal", "search") if problem.seed % 3 == 0 else ("optimal",):
        first, second = alm(
            problem.kernels, problem.n_clusters, **problem.penalties, mu=problem.mu, init=start,
            max_iter=2, tol=1e-300, step=p_step,
        )  # fmt: skip
        F = oracle.one_hot(first.labels, problem.n_clusters)
        L, target = oracle.laplacian(second.Z), pull * F @ first.Q.T
        scale = max(float(np.abs(L).sum(axis=1).max()) + float(np.linalg.norm(target)), 1e-12)
        better = (
            oracle.embedding(L, target, second.P)
            if p_step is None
            else oracle.alm_embedding(second.Z, first.P, first.Q, F, pull)
        )
        above = oracle.embedding_value(L, second.P, target)
        above = (above - oracle.embedding_value(L, better, target)) / scale
        if above > 1e-3:
            step = _called(p_step)
            yield f"alm ({step}): P is worse than the oracle's by {above:.1e} of its scale"


def _descent(problem: Problem, *, weighted_ridge: bool) -> Iterator[str]:
    """The exact solver: a path that never rises, to a state that no block update improves."""
    if (len(problem.kernels) > 1 and problem.ridge > 0) != weighted_ridge:
        return
    numbers = {**problem.penalties, "ridge": problem.ridge}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _library_descent(problem)
    path = np.array(found.objective)
    if (np.diff(path) > 1e-9 * np.abs(path[1:])).any():
        yield f"descent: the objective rises by {np.diff(path).max():.1e}"
    Z = np.asarray(found.Z.toarray())
    state = (found.weights, Z, found.P, found.Q, found.labels)
    value = oracle.objective(problem.kernels, *state, **numbers)
    if value > path[-1] + 1e-7 * abs(path[-1]):
        yield f"descent: the result's objective is {value}, the path ends at {path[-1]}"
    if not found.converged:
        return
    last = value
    for block, better in oracle.descent_sweep(problem.kernels, *state, **numbers):
        now = oracle.objective(problem.kernels, *better, **numbers)
        if last - now > 1e-4 * abs(value):
            yield f"descent: the {block}-step lowers the objective by {(last - now) / value:.1e}"
        last = now


Check = Callable[[Problem], Iterator[str]]
CHECKS: dict[str, Check] = {
    "codes": _codes,
    "embedding, warm start": partial(_embedding, cold=False),
    "embedding, cold start": partial(_embedding, cold=True),
    "rotation": _rotation,
    "weights": _weights,
    "alm": _alm,
    "alm, P-step": _alm_p_step,
    "alm, stopping rule": _alm_stop,
    "descent": partial(_descent, weighted_ridge=False),
    "descent, ridge and several kernels": partial(_descent, weighted_ridge=True),
}


#: Of the slow comparisons ``python -m robustness`` makes one for every so many problems, each of
#: them on other problems.
_EVERY = {
    "embedding, warm start": 4,
    "embedding, cold start": 4,
    "alm": 2,
    "alm, P-step": 4,
    "descent": 8,
    "descent, ridge and several kernels": 8,
}


def disagreements(
    seeds: Sequence[int],
    checks: Sequence[str] = tuple(CHECKS),
    every: Mapping[str, int] | None = None,
) -> Iterator[tuple[int, str, list[str]]]:
    """Problem, comparison and its disagreements (none, if all is well)."""
    for seed in seeds:
        problem = make_problem(seed)
        for place, name in enumerate(checks):
            if (seed + place) % (every or {}).get(name, 1) == 0:
                yield seed, name, list(CHECKS[name](problem))


def _part(number: int) -> Part:
    def part(plan: Plan) -> Result:
        result = Result("oracle: steps and solvers", plan.seed)
        count = plan.pick(5, 10_000 // _PARTS)
        first = plan.seed + number * count
        for seed, name, wrong in disagreements(range(first, first + count), every=_EVERY):
            result.check(not wrong, f"problem {seed}, {name}", "; ".join(wrong))
        return result

    return part


PARTS: dict[str, Part] = {f"problems {number}": _part(number) for number in range(_PARTS)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare many problems and print what disagrees."""
    parser = argparse.ArgumentParser(prog="python -m robustness.oracle", description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--checks", nargs="*", choices=list(CHECKS), default=list(CHECKS))
    options = parser.parse_args(arguments)
    failed: Counter = Counter()
    begun = time.monotonic()
    seeds = range(options.first, options.first + options.problems)
    for seed, name, wrong in disagreements(seeds, options.checks):
        failed[name] += bool(wrong)
        for text in wrong[:2] if failed[name] <= 10 else ():
            print(f"problem {seed}: {text}", flush=True)
    for name in options.checks:
        print(f"{name}: {options.problems - failed[name]:,} of {options.problems:,} agree")
    print(f"{time.monotonic() - begun:.0f} s")
    return int(failed.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
