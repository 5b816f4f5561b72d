"""The authors' algorithm: an augmented Lagrangian on Z = S, with everything else by turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import linalg

from unispectral._arrays import orthogonal_factor
from unispectral._compat import Interval, StrOptions, as_generator, check_constraints
from unispectral._errors import InputError
from unispectral._validation import check_kernel_matrices
from unispectral.kernels import KernelBank
from unispectral.paper._curvilinear import search_embedding
from unispectral.paper._embedding import optimal_embedding
from unispectral.paper._weights import initial_weights, kernel_weights

if TYPE_CHECKING:
    from unispectral._base import RandomState

_GROWTH = 1.1  # of the penalty, per iteration
_SETTLING = 1  # iterations before the stopping rule is consulted
_BLOCK = 2**16  # numbers that an elementwise step handles at a time, to stay in the cache
_SINGLE = 300.0  # condition up to which a factorisation in single precision gives the same codes

_COUNT = [Interval(Integral, 1, None, closed="left")]
_PRICE = [Interval(Real, 0, np.inf, closed="left")]
_CONSTRAINTS: dict[str, list[Any]] = {
    **dict.fromkeys(("n_clusters", "max_iter"), _COUNT),
    **dict.fromkeys(("alpha", "beta", "gamma", "tol"), _PRICE),
    "mu": [Interval(Real, 0, np.inf, closed="neither")],
    "growth": [Interval(Real, 1, np.inf, closed="left")],
    "step": [StrOptions({"optimal", "search"}), callable],
    "distance": [StrOptions({"squared", "unsquared"})],
}

#: A P-step: Z, P, Q, F and γ/β to the next P.
Step = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]


@dataclass(frozen=True)
class AlmState:
    """All variables after one iteration.

    Attributes
    ----------
    iteration : int
        Counted from 1.
    Z : ndarray of shape (n, n)
        The codes, clipped at zero and symmetrised.
    S : ndarray of shape (n, n)
        Their soft-thresholded copy.
    Y : ndarray of shape (n, n)
        The multipliers of Z = S.
    P : ndarray of shape (n, c)
        The embedding, with orthonormal columns.
    Q : ndarray of shape (c, c)
        The rotation.
    labels : ndarray of shape (n,)
        0 … c − 1, the largest entry of each row of PQ. A cluster may be empty.
    mu : float
        The penalty, after it has grown.
    w : ndarray of shape (r,)
        Kernel weights; exactly 1 for one kernel.
    stop_reason : str
        Empty while the iteration goes on.
    """

    iteration: int
    Z: np.ndarray
    S: np.ndarray
    Y: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    labels: np.ndarray
    mu: float
    w: np.ndarray
    stop_reason: str
    _h: np.ndarray | None = field(repr=False, compare=False)
    _problem: _Problem = field(repr=False, compare=False)

    @cached_property
    def h(self) -> np.ndarray:
        """Reconstruction error Tr(Kᵣ − 2KᵣZ + ZᵀKᵣZ) of every kernel, of shape (r,).

        With one kernel the algorithm does not need it, and it is computed when asked for.
        """
        if self._h is None:
            return _misfits(self._problem.bank, self.Z)
        return self._h

    @cached_property
    def objective(self) -> float:
        """The model's objective J(Z, P, Q, F, w) at this state, which need not fall."""
        Z = self.Z
        P = self.P
        c = self.P.shape[1]
        cut = float(np.vdot(P, Z.sum(axis=0)[:, None] * P - Z @ P))
        apart = float(np.sum((np.eye(c)[self.labels] - P @ self.Q) ** 2))
        problem = self._problem
        penalties = problem.alpha * float(Z.sum()) + problem.beta * cut + problem.gamma * apart
        return float(self.w @ self.h) + penalties


@dataclass(frozen=True)
class _Problem:
    """What stays fixed over the iterations."""

    bank: KernelBank
    n_clusters: int
    alpha: float
    beta: float
    gamma: float
    step: Step | None
    squared: bool
    growth: float = _GROWTH
    symmetrise: bool = True
    doubled: bool = False

    @property
    def pull(self) -> float:
        """γ/β, the penalty of leaving the labels in the P-step."""
        if self.gamma:
            return self.gamma / self.beta
        return 0.0


def alm(
    kernels: object,
    n_clusters: int,
    *,
    alpha: float,
    beta: float,
    gamma: float,
    mu: float = 0.1,
    init: tuple[np.ndarray, np.ndarray] | None = None,
    max_iter: int = 200,
    tol: float = 1e-3,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
    step: Literal["optimal", "search"] | Step = "optimal",
    distance: str = "squared",
    growth: float = _GROWTH,
    symmetrise: bool = True,
    doubled: bool = False,
) -> Iterator[AlmState]:
    """Run the paper's Algorithms 1 and 2 as their authors run them, state by state.

    One kernel gives SCSK (Algorithm 1), several give SCMK (Algorithm 2). The objective may rise,
    and the result depends on the start. Where the paper's text and the authors' code disagree, the
    code is followed; "The authors' algorithm" in the manual's mathematics says where.

    Parameters
    ----------
    kernels : array of shape (n, n) or (r, n, n), sequence of (n, n) arrays, or KernelBank
        Symmetric and positive semidefinite.
    n_clusters : int
        The number c of clusters.
    alpha, beta, gamma : float
        Penalties of the codes, of the cut, and of the distance to the labels. `gamma` > 0 needs
        `beta` > 0, because the embedding step divides by it.
    mu : float
        First penalty on Z − S. It grows by a tenth per iteration, so that the codes freeze before
        they reach the optimum of the objective: a larger `mu` stops earlier and acts as a ridge
        on the codes. The paper does not state it, and its results depend on it.
    init : (P0, Q0), optional
        Orthonormal start of shapes (n, c) and (c, c); at random if absent. `Q0` is part of the
        authors' interface and has no effect: the labels are absent until Q has been computed.
    max_iter : int
        Limit on the number of iterations.
    tol : float
        Stop when ‖Z − S‖ < tol ‖Z‖, from the second iteration on.
    random_state : int, RandomState, Generator or None
        Draws the start if `init` is absent.
    step : {"optimal", "search"} or callable
        How the embedding is found: to its optimum, from the smallest eigenvectors of the graph and
        the last embedding; by the authors' curvilinear search, :func:`search_embedding`, which is
        slower and gives up early, and which their recorded iterations need; or by a function of
        Z, P, Q, F and γ/β that returns the next P.
    distance : {"squared", "unsquared"}
        The distances between rows of P in the Z-step: squared as in the objective, or unsquared
        as in the authors' public code until January 2018, when the paper appeared.
    growth : float
        What the penalty is multiplied by in every iteration, at least 1; 1.1 in the authors' code.
        At 1, which is what the paper's text says, it stays `mu`.
    symmetrise : bool
        Whether the next iteration starts from (Z + Zᵀ)/2, as in the authors' code, or from Z. The
        embedding and the weights are always those of the symmetric graph.
    doubled : bool
        Whether the codes are twice the solution of their step, as in the authors' public code
        until January 2018, which solves with half the matrix. They about double in every iteration
        and never settle, and the weights of SCMK go to other kernels; give a `max_iter`.

    Returns
    -------
    iterator of AlmState
        One state per iteration. The last one says why it is the last. Arithmetic is float64.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.vstack([np.eye(3)[[0] * 5], np.eye(3)[[1] * 5]]) + 0.1
    >>> *_, last = alm(X @ X.T, 2, alpha=0.1, beta=0.1, gamma=0.01, random_state=0)
    >>> len(set(last.labels[:5])), len(set(last.labels[5:]))
    (1, 1)
    >>> last.stop_reason
    'the codes and their thresholded copy agree to 0.001'
    """
    numbers = {
        "n_clusters": n_clusters, "alpha": alpha, "beta": beta, "gamma": gamma, "mu": mu,
        "max_iter": max_iter, "tol": tol, "step": step, "distance": distance, "growth": growth,
    }  # fmt: skip
    check_constraints(_CONSTRAINTS, numbers, "alm")
    if gamma > 0 and beta == 0:
        problem = f"goes with gamma=0 only, not with gamma={gamma}"
        remedy = "the embedding step divides by beta, so make it positive, or set gamma to 0 too"
        raise InputError("beta", problem, remedy, value=beta)
    bank = _as_bank(kernels)
    if n_clusters > bank.n_samples:
        problem = f"is more than the {bank.n_samples} samples"
        raise InputError("n_clusters", problem, "ask for fewer", value=n_clusters)
    P = _first_embedding(init, bank.n_samples, n_clusters, random_state)
    penalties = float(alpha), float(beta), float(gamma)
    named: dict[Any, Step | None] = {"optimal": None, "search": search_embedding}
    if isinstance(step, str):
        chosen = named[step]
    else:
        chosen = step
    squared = distance == "squared"
    fixed = _Problem(bank, n_clusters, *penalties, chosen, squared, growth, symmetrise, doubled)
    return _iterate(fixed, P, float(mu), max_iter, tol)


def _as_bank(kernels: Any) -> KernelBank:
    """A matrix, a stack or a list of matrices as a kernel bank, in double precision."""
    if isinstance(kernels, KernelBank):
        return kernels
    if isinstance(kernels, np.ndarray) and kernels.ndim == 2:
        kernels = kernels[None]
    checked = check_kernel_matrices(kernels, "kernels", definite=False)
    if not checked:
        raise InputError("kernels", "is empty", "give at least one n × n matrix")
    return KernelBank.from_matrices([K.astype(np.float64, copy=False) for K in checked])


def _first_embedding(init: Any, n: int, c: int, random_state: RandomState) -> np.ndarray:
    """P0, checked, or orthonormal at random."""
    if init is None:
        return np.linalg.qr(as_generator(random_state).normal(size=(n, c)))[0]
    try:
        P, Q = (np.array(part, dtype=np.float64) for part in init)
    except (TypeError, ValueError) as error:
        problem = "is not a pair of numeric matrices"
        remedy = "give (P0, Q0), or None to draw one"
        raise InputError("init", problem, remedy) from error
    for name, matrix, shape in (("P0", P, (n, c)), ("Q0", Q, (c, c))):
        if matrix.shape != shape:
            raise InputError("init", f"has {name} of shape {matrix.shape}", f"it must be {shape}")
        if not np.allclose(matrix.T @ matrix, np.eye(c), atol=1e-6):
            problem = f"has {name} whose columns are not orthonormal"
            raise InputError("init", problem, "pass them through QR")
    return P


def _iterate(
    problem: _Problem, P: np.ndarray, mu: float, max_iter: int, tol: float
) -> Iterator[AlmState]:
    bank = problem.bank
    n = len(P)
    Z = np.eye(n, order="F")
    Y = np.zeros((n, n), order="F")
    F = np.zeros((n, problem.n_clusters))
    Q = np.eye(problem.n_clusters)
    w = initial_weights(len(bank))
    h = None
    K = _combine(bank, w)
    embedding = problem.step or optimal_embedding

    iteration = 0
    reason = ""
    while not reason:
        iteration += 1
        S = _threshold(Z, Y, problem.alpha, mu)
        Z = _codes(K, S, Y, P, problem, mu)
        Y = _multipliers(Y, S, Z, mu)
        mu *= problem.growth
        W = _symmetric(Z)
        if problem.symmetrise:
            Z = W
        else:
            Z = np.asarray(Z, dtype=np.float64)
        P = embedding(W, P, Q, F, problem.pull)
        Q = _rotation(P, F)
        F = _indicators(P, Q)
        if len(bank) > 1:
            h = _misfits(bank, W)
            w = kernel_weights(h)
            K = _combine(bank, w)
        reason = _stop_reason(Z, S, iteration, max_iter, tol)
        labels = F.argmax(axis=1)
        yield AlmState(iteration, W, S, Y, P, Q, labels, mu, w, reason, h, problem)


def _combine(bank: KernelBank, w: np.ndarray) -> np.ndarray:
    """K in column order, as all the square matrices here: its transpose is the same matrix."""
    return np.asarray(bank.combine(w), dtype=np.float64).T


def _blocks(n: int) -> Iterator[slice]:
    """Columns that an elementwise step handles at a time."""
    size = max(_BLOCK // n, 1)
    return (slice(first, min(first + size, n)) for first in range(0, n, size))


def _threshold(Z: np.ndarray, Y: np.ndarray, alpha: float, mu: float) -> np.ndarray:
    """S-step: the non-negative soft threshold of Z − Y/μ at α/μ, with zero diagonal."""
    S = np.empty_like(Z)
    for block in _blocks(len(S)):
        part = np.add(Y[:, block], alpha, out=S[:, block])
        part /= -mu
        part += Z[:, block]
        np.maximum(part, 0.0, out=part)
    np.fill_diagonal(S, 0.0)
    return S


def _codes(
    K: np.ndarray, S: np.ndarray, Y: np.ndarray, P: np.ndarray, problem: _Problem, mu: float
) -> np.ndarray:
    """Z-step: (2K + μI) Z = 2K + μS + Y − (β/2) dist(P), one factorisation for all columns."""
    n = len(K)
    dtype: type[np.floating] = np.float64
    if problem.step is None and not problem.doubled and _is_well_conditioned(K, mu):
        dtype = np.float32
    system = np.multiply(K, 2.0, order="F", dtype=dtype, casting="same_kind")
    right = np.empty((n, n), dtype, order="F")
    for block in _blocks(n):
        part = _distances(P, block, squared=problem.squared)
        part *= -0.5 * problem.beta
        part += mu * S[:, block]
        part += Y[:, block]
        part += system[:, block]
        right[:, block] = part
    system.ravel(order="K")[:: n + 1] += mu
    try:
        factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise InputError(
            "kernels",
            f"must be positive semidefinite: one, given or made from X, has an eigenvalue below "
            f"−mu/2 = {-mu / 2:.3g}",
            "centre X, or raise mu",
        ) from error
    Z = linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
    np.fill_diagonal(Z, 0.0)
    if problem.doubled:
        Z *= 2.0
    return np.maximum(Z, 0.0, out=Z)


def _is_well_conditioned(K: np.ndarray, mu: float) -> bool:
    """Whether 2K + μI is so well conditioned that single precision will do."""
    largest = max(float(np.abs(K[:, block]).sum(axis=0).max()) for block in _blocks(len(K)))
    return 2.0 * largest < _SINGLE * mu


def _distances(P: np.ndarray, block: slice, *, squared: bool) -> np.ndarray:
    """Some columns of dist(P), the distances between the rows of P."""
    squares = np.einsum("ij,ij->i", P, P)
    part = np.empty((len(P), len(squares[block])), order="F")
    np.matmul(P, P[block].T, out=part)
    part *= -2.0
    part += squares[:, None]
    part += squares[block]
    np.maximum(part, 0.0, out=part)
    if squared:
        return part
    return np.sqrt(part, out=part)


def _multipliers(Y: np.ndarray, S: np.ndarray, Z: np.ndarray, mu: float) -> np.ndarray:
    """Y-step: Y + μ(S − Z)."""
    raised = np.empty_like(Y)
    for block in _blocks(len(Y)):
        part = np.subtract(S[:, block], Z[:, block], out=raised[:, block])
        part *= mu
        part += Y[:, block]
    return raised


def _symmetric(Z: np.ndarray) -> np.ndarray:
    """(Z + Zᵀ)/2, in double precision."""
    both = np.add(Z, Z.T, order="F", dtype=np.float64)
    both *= 0.5
    return both


def _rotation(P: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Q-step: UVᵀ from PᵀF = UΣVᵀ; the identity before there are labels.

    The column of an empty cluster belongs to a zero singular value, and its sign, which decides
    whether that cluster revives, would be left to rounding. It is taken such that less than half
    of the samples lean towards the cluster; the recorded runs of the authors agree with that.
    """
    empty = F.sum(axis=0) == 0
    if empty.all():
        return np.eye(F.shape[1])
    Q = orthogonal_factor(P.T @ F)
    leaning = np.mean(P @ Q > 0, axis=0)
    return Q * np.where(empty & (leaning > 0.5), -1.0, 1.0)


def _indicators(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """F-step: one-hot rows at the largest entries of PQ."""
    return np.eye(len(Q))[np.argmax(P @ Q, axis=1)]


def _misfits(bank: KernelBank, Z: np.ndarray) -> np.ndarray:
    """h: Tr(RᵀKR) = ⟨K, RRᵀ⟩ with R = I − Z, so that one product serves every kernel."""
    R = np.eye(len(Z)) - Z
    G = R @ R.T
    return np.array([np.vdot(bank.matrix(r), G) for r in range(len(bank))])


def _stop_reason(Z: np.ndarray, S: np.ndarray, iteration: int, max_iter: int, tol: float) -> str:
    if iteration > _SETTLING and relative_gap(Z, S) < tol:
        return f"the codes and their thresholded copy agree to {tol:g}"
    if iteration == max_iter:
        return f"the limit of {max_iter} iterations was reached"
    return ""


def relative_gap(Z: np.ndarray, S: np.ndarray) -> float:
    """‖Z − S‖ / ‖Z‖; zero codes are met by nothing else."""
    apart = sum(float(np.sum((Z[:, b] - S[:, b]) ** 2)) for b in _blocks(len(Z)))
    return float(np.sqrt(apart)) / max(float(np.linalg.norm(Z)), 1e-300)
