"""The authors' P-step: curvilinear search over orthonormal columns (Wen and Yin, 2013).

It is slower than the library's step and gives up early; the recorded iterations of the authors'
program need it: ``alm(..., step="search")``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]

# As in the published program: tolerances on the change of X per √n and on the relative change of
# the value, the weight of past values (0 is monotone), how much a rejected step is shortened, and
# how often.
_XTOL = 1e-5
_FTOL = 1e-8
_FIRST_STEP = 1e-3
_NONMONOTONE = 0.85
_SHRINK = 0.2
_TRIES = 5
_ARMIJO = 1e-4  # share of the predicted decrease that a step must deliver
_STEP_RANGE = (1e-20, 1e20)
_WINDOW = 5  # steps over which the averaged stopping rule looks back
_ORTHOGONALITY = 1e-13  # beyond this the result is orthonormalised once more


class StiefelResult(NamedTuple):
    """Where a search over orthonormal matrices ended, after how many steps and evaluations, why.

    ``converged`` says whether a tolerance was met, rather than the limit on steps.
    """

    point: np.ndarray
    value: float
    n_iter: int
    n_evaluations: int
    converged: bool
    reason: str


class _Curve:
    """The Cayley curve through X along its gradient G: Y(τ) = X − τ U (I + τ/2 VᵀU)⁻¹ VᵀX.

    U = [G, X] and V = [X, −G], so that UVᵀ = GXᵀ − XGᵀ is skew and every Y(τ) is orthonormal.
    The system has 2k rows whatever n is, and a skew UVᵀ keeps it invertible.
    """

    def __init__(self, X: np.ndarray, G: np.ndarray) -> None:
        V = np.hstack([X, -G])
        self.X = X
        self.U = np.hstack([G, X])
        self.VU = V.T @ self.U
        self.VX = V.T @ X
        self.descent = G - X @ (G.T @ X)
        self.gradient_norm = float(np.linalg.norm(self.descent))

    def __call__(self, step: float) -> np.ndarray:
        system = (0.5 * step) * self.VU
        system.flat[:: len(system) + 1] += 1.0
        return self.X - self.U @ (step * np.linalg.solve(system, self.VX))


def minimise_on_stiefel(
    value_and_gradient: ValueAndGradient,
    start: np.ndarray,
    *,
    gtol: float = 1e-5,
    max_iter: int = 1000,
) -> StiefelResult:
    """Minimise a smooth function of X subject to XᵀX = I.

    Each step moves along a Cayley curve, with alternating Barzilai–Borwein step lengths and the
    nonmonotone line search of Zhang and Hager. The last trial step is accepted whatever its
    value, as in the published program; the value may therefore rise.

    Small gradient, or small changes of X and of the value together, end the search; so do changes
    that average below ten times the tolerances over five steps. A rule met within the first two
    steps divides all three tolerances by ten instead.

    Parameters
    ----------
    value_and_gradient : callable
        Maps X of shape (n, k) to the value and the Euclidean gradient.
    start : ndarray of shape (n, k)
        Orthonormal columns.
    gtol : float
        Tolerance on the Frobenius norm of G − X Gᵀ X, which vanishes at a stationary point.
    max_iter : int
        Limit on the number of steps.

    References
    ----------
    Z. Wen and W. Yin, A feasible method for optimization with orthogonality constraints,
    Mathematical Programming 142, 2013.

    Examples
    --------
    The smallest eigenvalues of a matrix, as a minimum of Tr(XᵀAX):

    >>> import numpy as np
    >>> A = np.diag([4.0, 1.0, 3.0, 2.0])
    >>> start = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 2)))[0]
    >>> result = minimise_on_stiefel(lambda X: (np.vdot(X, A @ X), 2 * A @ X), start)
    >>> round(result.value, 6), result.converged
    (3.0, True)
    """
    X = np.array(start, dtype=np.float64)
    value, G = value_and_gradient(X)
    curve = _Curve(X, G)
    step = _FIRST_STEP
    n_evaluations = 1
    weight = 1.0
    level = value
    changes: list[tuple[float, float]] = []
    tolerances = np.array([_XTOL, gtol, _FTOL])
    # A stationary start would make every later quotient 0/0.
    if curve.gradient_norm < 0.01 * gtol:
        reason = "the gradient vanished"
    else:
        reason = ""

    for iteration in range(1, 1 if reason else max_iter + 1):
        required = _ARMIJO * curve.gradient_norm**2
        X = curve(step)
        new_value, G = value_and_gradient(X)
        tries = 1
        while not new_value <= level - step * required and tries < _TRIES:
            step *= _SHRINK
            X = curve(step)
            new_value, G = value_and_gradient(X)
            tries += 1
        n_evaluations += tries
        before = curve
        curve = _Curve(X, G)
        moved = X - before.X
        bent = curve.descent - before.descent
        changes.append(
            (
                float(np.linalg.norm(moved)) / np.sqrt(len(X)),
                abs(value - new_value) / (abs(value) + 1.0),
            )
        )
        value = new_value
        reason = _stopping_rule(curve.gradient_norm, changes, tolerances)
        if reason and iteration > 2:
            break
        if reason:
            tolerances = 0.1 * tolerances
            reason = ""
        step = _barzilai_borwein(moved, bent, long=iteration % 2 == 0)
        previous = _NONMONOTONE * weight
        weight = _NONMONOTONE * weight + 1.0
        level = (previous * level + value) / weight

    if np.linalg.norm(X.T @ X - np.eye(X.shape[1])) > _ORTHOGONALITY:
        X = _orthonormalise(X)
        value, _ = value_and_gradient(X)
        n_evaluations += 1
    return StiefelResult(
        point=X,
        value=float(value),
        n_iter=len(changes),
        n_evaluations=n_evaluations,
        converged=bool(reason),
        reason=reason or f"the limit of {max_iter} steps was reached",
    )


def search_embedding(
    Z: np.ndarray, P: np.ndarray, Q: np.ndarray, F: np.ndarray, pull: float
) -> np.ndarray:
    """P-step of the authors: curvilinear search, pulled towards the labels, from the last P.

    Parameters
    ----------
    Z : ndarray of shape (n, n)
        The symmetric graph.
    P : ndarray of shape (n, c)
        The last embedding, where the search begins.
    Q : ndarray of shape (c, c)
        The rotation.
    F : ndarray of shape (n, c)
        The labels, one-hot, or zeros before there are any.
    pull : float
        γ/β.

    Returns
    -------
    ndarray of shape (n, c)
        The next embedding. As in the published program, the value that the line search looks at
        has the unsquared distance to the labels, the gradient that of the squared one.

    Examples
    --------
    Without a pull, the embedding shows the two halves of a graph:

    >>> import numpy as np
    >>> Z = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    >>> P = search_embedding(Z, start, np.eye(2), np.zeros((6, 2)), 0.0)
    >>> bool(np.allclose(P[:3], P[0], atol=1e-3) and np.allclose(P[3:], P[3], atol=1e-3))
    True
    """
    degrees = Z.sum(axis=0)[:, None]
    target = F @ Q.T

    def value_and_gradient(X: np.ndarray) -> tuple[float, np.ndarray]:
        LX = degrees * X - Z @ X
        value = float(np.vdot(X, LX)) + pull * float(np.linalg.norm(F - X @ Q))
        return value, 2.0 * LX - (2.0 * pull) * target

    return minimise_on_stiefel(value_and_gradient, P).point


def _stopping_rule(
    gradient_norm: float, changes: list[tuple[float, float]], tolerances: np.ndarray
) -> str:
    xtol, gtol, ftol = tolerances
    moved, fell = changes[-1]
    if gradient_norm < gtol:
        return "the gradient vanished"
    if moved < xtol and fell < ftol:
        return "neither the point nor the value changed any more"
    mean_moved, mean_fell = np.mean(changes[-_WINDOW:], axis=0)
    if mean_moved < 10 * xtol and mean_fell < 10 * ftol:
        return f"the last {_WINDOW} steps changed little on average"
    return ""


def _barzilai_borwein(moved: np.ndarray, bent: np.ndarray, *, long: bool) -> float:
    """Length of the next trial step; a step that moved nothing asks for the longest one."""
    curvature = abs(float(np.vdot(moved, bent)))
    if long:
        above = float(np.vdot(moved, moved))
        below = curvature
    else:
        above = curvature
        below = float(np.vdot(bent, bent))
    shortest, longest = _STEP_RANGE
    if below > 0:
        return min(max(above / below, shortest), longest)
    return longest


def _orthonormalise(X: np.ndarray) -> np.ndarray:
    """Gram–Schmidt of the columns, in order, by a QR factorisation with positive diagonal."""
    Q, R = np.linalg.qr(X)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)
