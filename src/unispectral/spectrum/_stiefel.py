"""The P-step: embeddings on the Stiefel manifold, by locally optimal block descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unispectral._arrays import orthogonal_factor
from unispectral._run import Run

#: Samples from which a product with the Laplacian is worth several threads.
_LEAST_SPARSE = 4_000
#: The reduced problem of a step is solved to this share of the gradient, in this many steps.
_REDUCED = 0.1
_REDUCED_STEPS = 20
#: Curvatures are not taken for less than this share of the spread of the eigenvalues.
_FLAT = 1e-2
#: A spread of the eigenvalues below this share of the problem's size is none.
_EQUAL = 1e-8
#: Squared length that a direction must keep beside the others to count as one of its own.
_DEPENDENT = 1e-8
#: Share of its length that a direction must keep outside of P to be more than rounding.
_OUTSIDE = 1e-10
#: Changes of the value below this share of it are rounding, and not held against a step.
_ROUNDING = 1e-14
#: A way down from a stationary point has to fall this many times faster than the gradient counts.
_SADDLE = 10.0
#: Steps of the search for one.
_LOOKS = 40


class Embedding(NamedTuple):
    """An orthonormal P, its objective, its Riemannian gradient norm, and the steps taken."""

    P: np.ndarray
    value: float
    gradient_norm: float
    n_steps: int


def stiefel_descent(
    L: sp.csr_array | np.ndarray,
    target: np.ndarray,
    P: np.ndarray,
    *,
    max_steps: int = 100,
    tol: float = 1e-5,
    run: Run | None = None,
) -> Embedding:
    """The P-step: minimise Tr(PᵀLP) − 2 Tr(Pᵀ target) over PᵀP = I, from the P given.

    Each step takes the best orthonormal matrix within the span of P, its gradient and its last
    change, as LOBPCG does for eigenvectors; that small problem is handed to
    :func:`diagonal_descent`. The value falls at every step, and a step costs one product of L
    with 2c columns.

    Parameters
    ----------
    L : CSR array or ndarray of shape (n, n)
        A positive semi-definite Laplacian.
    target : ndarray of shape (n, c)
        (γ/β) F Qᵀ in the paper's letters.
    P : ndarray of shape (n, c)
        Where to start; orthonormal columns.
    max_steps : int
    tol : float
        Stops when the Riemannian gradient is below ``tol`` times its scale.
    run : Run or None

    References
    ----------
    A. Knyazev, Toward the optimal preconditioned eigensolver: locally optimal block
    preconditioned conjugate gradient method, SIAM Journal on Scientific Computing 23, 2001.

    Examples
    --------
    >>> from unispectral.spectrum import laplacian
    >>> L = laplacian(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> found = stiefel_descent(L, np.zeros((2, 1)), np.array([[1.0], [0.0]]))
    >>> round(found.value, 6)
    0.0
    """
    LP = _times(L, P, run)
    value = _value(P, LP, target)
    # Twice the largest degree bounds the eigenvalues of a Laplacian.
    scale = 2.0 * float(L.diagonal().max()) + float(np.linalg.norm(target))
    least = tol * max(scale, 1e-300)
    gradient = _riemannian(P, LP, target)
    change = None
    c = P.shape[1]
    norm = float(np.linalg.norm(gradient))
    taken = 0
    rng = np.random.default_rng(0)
    while taken < max_steps:
        if norm > least:
            B = _beside(P, gradient if change is None else np.hstack([gradient, change]))
            LB = _times(L, B, run)
            y = _best_within(P, LP, B, LB, target, _REDUCED * norm)
            change = B @ y[c:]
            trial = P @ y[:c] + change
            L_trial = LP @ y[:c] + LB @ y[c:]
        else:
            past = _past_saddle(L, P, LP, target, _SADDLE * least, rng, run)
            if past is None:
                break
            trial = past
            L_trial = _times(L, past, run)
            change = None
        trial_value = _value(trial, L_trial, target)
        if not trial_value < value:  # rounding: nothing left to gain
            break
        taken += 1
        P = trial
        LP = L_trial
        value = trial_value
        gradient = _riemannian(P, LP, target)
        norm = float(np.linalg.norm(gradient))
    return Embedding(P, value, norm, taken)


def _past_saddle(
    L: sp.csr_array | np.ndarray,
    P: np.ndarray,
    LP: np.ndarray,
    target: np.ndarray,
    least: float,
    rng: np.random.Generator,
    run: Run | None,
) -> np.ndarray | None:
    """A lower point than a stationary P; None if P is a minimum as far as that can be seen.

    At a minimum no vᵀLv of a unit vector v beside P is below the largest eigenvalue of the
    multipliers Pᵀ(LP − target). The gradient does not show such a v where neither L nor the
    target ties it to P, as within another component of the graph. The search for it starts from
    another draw every time: of an eigenspace, P may hold all that an earlier draw had there.
    """
    inner = P.T @ (LP - target)
    multipliers, U = np.linalg.eigh(0.5 * (inner + inner.T))
    if multipliers[-1] <= least or P.shape[1] == len(P):  # no eigenvalue of L is negative
        return None
    drawn = rng.standard_normal((len(P), 1))
    found = _low_beside(L, P, drawn, float(multipliers[-1]) - least, least, run)
    if found is None:
        return None
    v, bend = found
    u = U[:, -1:]
    p = P @ u
    Lp = LP @ u
    pull = target @ u
    angles = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 65)
    cos = np.cos(angles)
    sin = np.sin(angles)
    heights = cos**2 * np.vdot(p, Lp) + 2.0 * cos * sin * np.vdot(v, Lp) + sin**2 * bend
    heights -= 2.0 * (cos * np.vdot(p, pull) + sin * np.vdot(v, pull))
    best = int(heights.argmin())
    return P + ((cos[best] - 1.0) * p + sin[best] * v) @ u.T


def _low_beside(
    L: sp.csr_array | np.ndarray,
    P: np.ndarray,
    drawn: np.ndarray,
    below: float,
    tol: float,
    run: Run | None,
) -> tuple[np.ndarray, float] | None:
    """A unit vector v beside P with vᵀLv below a bound, and vᵀLv, by conjugate gradients."""
    v = _beside(P, drawn)
    Lv = _times(L, v, run)
    change = np.empty((len(P), 0))
    for _ in range(_LOOKS):
        bend = float(np.vdot(v, Lv))
        if bend < below:
            return v, bend
        rest = Lv - bend * v
        rest -= P @ (P.T @ rest)
        if float(np.linalg.norm(rest)) <= tol:
            break
        B = _beside(np.hstack([P, v]), np.hstack([rest, change]))
        LB = _times(L, B, run)
        basis = np.hstack([v, B])
        images = np.hstack([Lv, LB])
        y = np.linalg.eigh(basis.T @ images)[1][:, :1]
        v = basis @ y
        Lv = images @ y
        change = B @ y[1:]
    return None


def _best_within(
    P: np.ndarray, LP: np.ndarray, B: np.ndarray, LB: np.ndarray, target: np.ndarray, tol: float
) -> np.ndarray:
    """Coordinates in [P, B] of a better point of its span, from P."""
    c = P.shape[1]
    m = P.shape[1] + B.shape[1]
    reduced = np.empty((m, m))
    reduced[:c, :c] = P.T @ LP
    reduced[:c, c:] = P.T @ LB
    reduced[c:, c:] = B.T @ LB
    values, U = scipy.linalg.eigh(reduced, lower=False, check_finite=False)
    along = U.T @ np.vstack([P.T @ target, B.T @ target])
    found = diagonal_descent(values, along, U[:c].T, tol=tol, max_steps=_REDUCED_STEPS)
    return U @ found.P


def _beside(P: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what the directions add to the span of P; it may be empty."""
    B = directions - P @ (P.T @ directions)
    lengths = np.linalg.norm(B, axis=0)
    outside = lengths > _OUTSIDE * np.linalg.norm(directions, axis=0)
    B = B[:, outside] / lengths[outside]
    values, vectors = np.linalg.eigh(B.T @ B)
    if len(values):
        own = values > _DEPENDENT * max(values[-1], 1.0)
    else:
        own = values > 0
    B = B @ (vectors[:, own] / np.sqrt(values[own]))
    B -= P @ (P.T @ B)  # once more: the first pass leaves the rounding of long directions
    return _orthonormal(B)


def diagonal_descent(
    values: np.ndarray, target: np.ndarray, P: np.ndarray, *, max_steps: int, tol: float
) -> Embedding:
    """The P-step with a diagonal matrix: Newton's method in a trust region.

    The columns are turned such that the Hessian without its constraint is diagonal too. It
    preconditions the conjugate gradients, which need a handful of steps therefore.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The diagonal, ascending.
    target, P : ndarray of shape (m, c)
        As for :func:`stiefel_descent`.
    max_steps : int
        Conjugate gradient steps in all.
    tol : float
        Stops when the Riemannian gradient is below this.

    Examples
    --------
    >>> start = np.full((4, 1), 0.5)
    >>> found = diagonal_descent(np.arange(4.0), np.zeros((4, 1)), start, max_steps=50, tol=1e-9)
    >>> found.P.round(6).ravel().tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    diagonal = values[:, None]
    c = P.shape[1]
    size = float(np.abs(values).max()) + float(np.linalg.norm(target))
    spread = max(float(values[-1] - values[0]), _EQUAL * size, 1e-300)
    value = _value(P, diagonal * P, target)
    turned = np.eye(c)
    radius = 0.25 * np.sqrt(c)
    taken = 0
    while True:
        euclidean = 2.0 * (diagonal * P - target)
        inner = P.T @ euclidean
        multipliers, V = np.linalg.eigh(0.5 * (inner + inner.T))
        P = P @ V
        target = target @ V
        turned = turned @ V
        gradient = euclidean @ V - P * multipliers
        norm = float(np.linalg.norm(gradient))
        if norm <= tol or taken >= max_steps:
            break
        found = _newton_step(
            P,
            gradient,
            2.0 * diagonal - multipliers,
            flat=2.0 * _FLAT * spread,
            radius=radius,
            tol=max(norm * min(0.1, np.sqrt(norm / spread)), 0.5 * tol),
            max_steps=max_steps - taken,
        )
        taken += max(found.n_steps, 1)
        trial = _orthonormal(P + found.step)
        trial_value = _value(trial, diagonal * trial, target)
        rounding = _ROUNDING * max(abs(value), spread)
        kept = (value - trial_value + rounding) / (rounding - found.promised)
        if kept < 0.25:
            radius *= 0.25
        elif kept > 0.75 and found.at_edge:
            radius = min(2.0 * radius, np.sqrt(c))
        if kept > 0.0:
            P = trial
            value = trial_value
    return Embedding(P @ turned.T, value, norm, taken)


class _Newton(NamedTuple):
    """A step in the tangent space, the change it promises, and how it was found."""

    step: np.ndarray
    promised: float
    at_edge: bool
    n_steps: int


def _newton_step(
    P: np.ndarray,
    gradient: np.ndarray,
    curvature: np.ndarray,
    *,
    flat: float,
    radius: float,
    tol: float,
    max_steps: int,
) -> _Newton:
    """Steihaug's conjugate gradients on the quadratic model, within a ball."""
    scaling = 1.0 / np.maximum(np.abs(curvature), flat)
    step = np.zeros_like(P)
    bent = np.zeros_like(P)
    rest = gradient
    scaled = _tangent(P, scaling * rest)
    size = float(np.vdot(scaled, rest))
    length = 0.0
    direction = -scaled
    at_edge = False
    taken = 0
    while taken < max_steps and size > 0 and not at_edge:
        taken += 1
        turned = _tangent(P, curvature * direction)
        along = float(np.vdot(step, direction))
        square = float(np.vdot(direction, direction))
        bend = float(np.vdot(direction, turned))
        if bend > 0:
            by = size / bend
            longer = length + by * (2.0 * along + by * square)
        else:
            by = np.inf
            longer = np.inf
        at_edge = not longer < radius**2
        if at_edge:  # also where the model falls without end
            by = (np.sqrt(along**2 + square * (radius**2 - length)) - along) / max(square, 1e-300)
        step = step + by * direction
        bent = bent + by * turned
        rest = rest + by * turned
        length = longer
        if float(np.linalg.norm(rest)) <= tol:
            break
        scaled = _tangent(P, scaling * rest)
        before = size
        size = float(np.vdot(scaled, rest))
        direction = (size / before) * direction - scaled
    promised = float(np.vdot(gradient, step)) + 0.5 * float(np.vdot(step, bent))
    return _Newton(step, promised, at_edge, taken)


def _tangent(P: np.ndarray, X: np.ndarray) -> np.ndarray:
    inner = P.T @ X
    return X - P @ (0.5 * (inner + inner.T))


def _riemannian(P: np.ndarray, LP: np.ndarray, target: np.ndarray) -> np.ndarray:
    return _tangent(P, 2.0 * (LP - target))


def _value(P: np.ndarray, LP: np.ndarray, target: np.ndarray) -> float:
    return float(np.vdot(P, LP)) - 2.0 * float(np.vdot(P, target))


def _orthonormal(Y: np.ndarray) -> np.ndarray:
    """An orthonormal basis near Y, by Cholesky of its Gram matrix: a cheap retraction."""
    try:
        root = scipy.linalg.cholesky(Y.T @ Y, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return polar(Y)
    return scipy.linalg.solve_triangular(root, Y.T, lower=True, check_finite=False).T


def polar(Y: np.ndarray) -> np.ndarray:
    """The nearest matrix with orthonormal columns, from the c × c Gram matrix if that is safe."""
    values, vectors = np.linalg.eigh(Y.T @ Y)
    if values[0] > 1e-6 * values[-1]:  # the columns are orthonormal to rounding over this
        return Y @ ((vectors / np.sqrt(values)) @ vectors.T)
    return orthogonal_factor(Y)


def _times(L: sp.csr_array | np.ndarray, X: np.ndarray, run: Run | None) -> np.ndarray:
    """``L X``, on all threads of a run where that pays."""
    if len(X) < _LEAST_SPARSE or not sp.issparse(L):
        return L @ X
    from unispectral.spectrum._products import laplacian_step

    X = np.ascontiguousarray(X)
    empty = np.empty_like(X)
    return laplacian_step(L, np.zeros(len(X), X.dtype), X, X, empty, scale=-1.0, run=run)
