"""The P-step of the authors' algorithm, to its optimum instead of by their search."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from unispectral.spectrum import diagonal_descent, polar, stiefel_descent

_FEW = 1_000  # samples up to which all eigenvectors of the graph are computed
_TOL = 1e-4  # gradient at which the step ends, relative to the graph
_COARSE_STEPS = 300  # among the smallest eigenvectors, where a step is cheap
_STEPS = 60  # among all of them, unless much is left to gain
_LEFT = 1e-3  # what may be left to gain then, relative to the problem's size
_MORE = 1_000  # steps that nearly equal eigenvalues may take to the optimum


def optimal_embedding(
    Z: np.ndarray, P: np.ndarray, Q: np.ndarray, F: np.ndarray, pull: float
) -> np.ndarray:
    """P-step: minimise Tr(PᵀLP) − 2(γ/β) Tr(PᵀFQᵀ), near the last P where there is a choice.

    In the basis of eigenvectors the problem is diagonal. Nearly all of it takes place among the
    smallest; the others add what the pull of the labels asks for. Where n is large only the
    smallest are computed, twice as many as clusters, and that addition takes a few more steps
    over all samples, none where γ/β is negligible.
    """
    n, c = P.shape
    degrees = Z.sum(axis=0)  # Z is symmetric here
    target = pull * (F @ Q.T)
    size = 2.0 * float(degrees.max()) + float(np.linalg.norm(target))
    tol = 2.0 * _TOL * float(degrees.max())
    if n > max(_FEW, 2 * c):
        values, V = _smallest(Z, degrees, 2 * c)
        P = V @ _descent(values, V.T @ target, polar(V.T @ P), tol, size)
        slope = 2.0 * (degrees[:, None] * P - Z @ P - target)
        inner = P.T @ slope
        if np.linalg.norm(slope - P @ (0.5 * (inner + inner.T))) <= tol:
            return P
        return stiefel_descent(_laplacian(Z, degrees), target, P, tol=_TOL).P
    values, V = np.linalg.eigh(_laplacian(Z, degrees))
    pulled = V.T @ target
    few = c + c // 2
    start = polar(V.T @ P)
    if 2 * few <= n:
        coarse = diagonal_descent(
            values[:few], pulled[:few], polar(start[:few]), max_steps=_COARSE_STEPS, tol=tol
        )
        start = np.vstack([coarse.P, np.zeros((n - few, c))])
    return V @ _descent(values, pulled, start, tol, size)


def _smallest(Z: np.ndarray, degrees: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenpairs of the Laplacian.

    The vectors are found in single precision, whose rounding is far below the tolerance of the
    step, and made orthonormal in double precision.
    """
    L = _laplacian(Z, degrees, np.float32)
    found = linalg.eigh(
        L, subset_by_index=(0, count - 1), driver="evr", overwrite_a=True, check_finite=False
    )[1]
    V = polar(found.astype(np.float64))
    values, turn = np.linalg.eigh(V.T @ (degrees[:, None] * V - Z @ V))
    return values, V @ turn


def _descent(
    values: np.ndarray, target: np.ndarray, start: np.ndarray, tol: float, size: float
) -> np.ndarray:
    """The diagonal problem; a limit on the steps holds unless it would cost much."""
    found = diagonal_descent(values, target, start, max_steps=_STEPS, tol=tol)
    # The last P may be a saddle of the new graph, which no gradient leads away from: nearby among
    # the smallest eigenvectors alone it is lower then.
    c = start.shape[1]
    low = np.zeros_like(start)
    low[:c] = polar(start[:c])
    if float(np.vdot(low, values[:, None] * low) - 2.0 * np.vdot(low, target)) < found.value:
        found = diagonal_descent(values, target, low, max_steps=_STEPS, tol=tol)
    # Or P is a saddle among its own rotations, the best of which is known in closed form.
    rotated = found.P @ polar(found.P.T @ target)
    if 2.0 * float(np.vdot(rotated - found.P, target)) > _LEFT * size:
        found = diagonal_descent(values, target, rotated, max_steps=_STEPS, tol=tol)
    if found.gradient_norm > _TOL * size:
        optimum = diagonal_descent(values, target, found.P, max_steps=_MORE, tol=tol)
        if found.value - optimum.value > _LEFT * size:
            found = optimum
    return found.P


def _laplacian(Z: np.ndarray, degrees: np.ndarray, dtype: type = np.float64) -> np.ndarray:
    L = np.negative(Z, order="F", dtype=dtype, casting="same_kind")
    L.ravel(order="K")[:: len(Z) + 1] += degrees.astype(dtype)
    return L
