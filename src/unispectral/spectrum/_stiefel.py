"""The P-step: embeddings on the Stiefel manifold, by preconditioned descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unispectral._run import Run

__all__ = ["Embedding", "stiefel_descent"]

#: Samples from which a product with the Laplacian is worth several threads.
_MANY = 4_000


class Embedding(NamedTuple):
    """An orthonormal P, its objective, its Riemannian gradient norm, and the steps taken."""

    P: np.ndarray
    value: float
    gradient_norm: float
    n_steps: int


def _orthonormal(Y: np.ndarray) -> np.ndarray:
    """An orthonormal basis near Y, by Cholesky of its Gram matrix: a cheap retraction."""
    try:
        root = scipy.linalg.cholesky(Y.T @ Y, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return _polar(Y)
    return scipy.linalg.solve_triangular(root, Y.T, lower=True, check_finite=False).T


def _polar(Y: np.ndarray) -> np.ndarray:
    """The nearest matrix with orthonormal columns, from the c × c Gram matrix if that is safe."""
    values, vectors = np.linalg.eigh(Y.T @ Y)
    if values[0] > 1e-10 * values[-1]:
        return Y @ ((vectors / np.sqrt(values)) @ vectors.T)
    U, _, Vt = np.linalg.svd(Y, full_matrices=False)
    return U @ Vt


def stiefel_descent(
    L: sp.csr_array,
    target: np.ndarray,
    P: np.ndarray,
    *,
    max_steps: int = 50,
    tol: float = 1e-5,
    run: Run | None = None,
) -> Embedding:
    """The P-step: minimise Tr(PᵀLP) − 2 Tr(Pᵀ target) over PᵀP = I, from the P given.

    Riemannian gradient steps of Barzilai–Borwein length with a Cholesky retraction. A step that
    would raise the objective is replaced by one of the generalised power iteration, the polar
    factor of (ηI − L)P + target, which never raises it; so the value falls at every step.

    Parameters
    ----------
    L : CSR array of shape (n, n)
        A positive semi-definite Laplacian.
    target : ndarray of shape (n, c)
        (γ/β) F Qᵀ in the paper's letters.
    P : ndarray of shape (n, c)
        Where to start; orthonormal columns.
    max_steps : int
    tol : float
        Stops when the Riemannian gradient is below ``tol`` times its scale.
    run : Run or None

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
    shift = _largest_eigenvalue_bound(L)
    scale = max(shift + float(np.linalg.norm(target)), 1e-300)
    step = 0.5 / scale
    gradient = _riemannian(P, LP, target)
    norm = float(np.linalg.norm(gradient))
    taken = 0
    while taken < max_steps and norm > tol * scale:
        trial = _orthonormal(P - step * gradient)
        L_trial = _times(L, trial, run)
        trial_value = _value(trial, L_trial, target)
        if not trial_value <= value:
            trial = _polar(shift * P - LP + target)
            L_trial = _times(L, trial, run)
            trial_value = _value(trial, L_trial, target)
            if trial_value > value:  # rounding: nothing left to gain
                break
        taken += 1
        moved = trial - P
        trial_gradient = _riemannian(trial, L_trial, target)
        change = trial_gradient - gradient
        along = abs(float(np.vdot(moved, change)))
        if along > 0:
            # Long and short Barzilai–Borwein steps in turn.
            step = (
                float(np.vdot(moved, moved)) / along
                if taken % 2
                else along / max(float(np.vdot(change, change)), 1e-300)
            )
            step = min(max(step, 1e-8 / scale), 1e8 / scale)
        P, LP, value, gradient = trial, L_trial, trial_value, trial_gradient
        norm = float(np.linalg.norm(gradient))
    return Embedding(P, value, norm, taken)


def _times(L: sp.csr_array, X: np.ndarray, run: Run | None) -> np.ndarray:
    """``L X``, on all threads of a run where that pays."""
    if len(X) < _MANY:
        return L @ X
    from unispectral.spectrum._products import laplacian_step

    X = np.ascontiguousarray(X)
    empty = np.empty_like(X)
    return laplacian_step(L, np.zeros(len(X), X.dtype), X, X, empty, scale=-1.0, run=run)


def _value(P: np.ndarray, LP: np.ndarray, target: np.ndarray) -> float:
    return float(np.vdot(P, LP)) - 2.0 * float(np.vdot(P, target))


def _riemannian(P: np.ndarray, LP: np.ndarray, target: np.ndarray) -> np.ndarray:
    euclidean = 2.0 * (LP - target)
    inner = P.T @ euclidean
    return euclidean - P @ (0.5 * (inner + inner.T))


def _largest_eigenvalue_bound(L: sp.csr_array) -> float:
    """Gershgorin's bound, which for a Laplacian is at most twice its largest degree."""
    return float(abs(L).sum(axis=1).max()) if L.shape[0] else 0.0
