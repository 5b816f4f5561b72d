"""The paper's objective and the optimality conditions of its codes, apart from any solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


class Penalties(dict):
    """alpha, beta and gamma, as keywords for every solver."""

    def __init__(self, alpha: float, beta: float, gamma: float) -> None:
        super().__init__(alpha=alpha, beta=beta, gamma=gamma)


def objective(
    K: np.ndarray,
    Z: Any,
    P: np.ndarray,
    Q: np.ndarray,
    labels: np.ndarray,
    penalties: Penalties,
) -> float:
    """J(Z, P, Q, F) with the weighted kernel K, straight from its definition, in float64.

    Examples
    --------
    >>> K, P = np.eye(2), np.eye(2)
    >>> objective(K, np.zeros((2, 2)), P, np.eye(2), np.array([0, 1]), Penalties(1.0, 1.0, 1.0))
    2.0
    """
    Z = _dense(Z)
    R = np.eye(len(Z)) - Z
    W = 0.5 * (Z + Z.T)
    cut = np.vdot(P, W.sum(axis=1)[:, None] * P - W @ P)
    F = np.eye(P.shape[1])[labels]
    return float(
        np.vdot(K @ R, R)
        + penalties["alpha"] * Z.sum()
        + penalties["beta"] * cut
        + penalties["gamma"] * np.sum((F - P @ Q) ** 2)
    )


def _dense(Z: Any) -> np.ndarray:
    return Z.toarray() if sp.issparse(Z) else np.asarray(Z)


def codes_residual(K: np.ndarray, Z: Any, P: np.ndarray | None, penalties: Penalties) -> float:
    """Largest failure of the optimality conditions of Z given P, relative to K_ii.

    Half the gradient in column i is KZ_i − K_i + B_i/2: it vanishes where a code is positive and
    is not negative elsewhere.

    Examples
    --------
    >>> K = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> Z = np.array([[0.0, 0.8], [0.8, 0.0]])
    >>> codes_residual(K, Z, None, Penalties(0.2, 0.0, 0.0)) < 1e-12
    True
    """
    Z = _dense(Z)
    gradient = K @ Z - K + 0.5 * penalties["alpha"]
    if P is not None:
        squares = np.einsum("ij,ij->i", P, P)
        distances = squares[:, None] + squares[None, :] - 2.0 * (P @ P.T)
        gradient += 0.25 * penalties["beta"] * np.maximum(distances, 0.0)
    failure = np.where(Z > 0, np.abs(gradient), np.maximum(-gradient, 0.0))
    np.fill_diagonal(failure, 0.0)
    return float((failure / np.diagonal(K)).max())
