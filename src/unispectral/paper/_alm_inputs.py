"""What the augmented Lagrangian accepts: kernels in several forms, checked parameters, a start."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from unispectral._compat import Interval, StrOptions, as_generator, check_constraints
from unispectral._errors import InputError
from unispectral._validation import check_kernel_matrix
from unispectral.kernels import KernelBank

__all__ = ["as_bank", "check_parameters", "first_embedding"]

_COUNT = [Interval(Integral, 1, None, closed="left")]
_PRICE = [Interval(Real, 0, np.inf, closed="left")]
_CONSTRAINTS: dict[str, list] = {
    "n_clusters": _COUNT,
    "max_iter": _COUNT,
    "alpha": _PRICE,
    "beta": _PRICE,
    "gamma": _PRICE,
    "tol": _PRICE,
    "mu": [Interval(Real, 0, np.inf, closed="neither")],
    "growth": [Interval(Real, 1, np.inf, closed="left")],
    "step": [callable, None],
    "distance": [StrOptions({"squared", "unsquared"})],
}


def as_bank(kernels: Any) -> KernelBank:
    """A matrix, a stack or a list of matrices as a kernel bank."""
    if isinstance(kernels, KernelBank):
        return kernels
    if isinstance(kernels, np.ndarray) and kernels.ndim == 2:
        kernels = kernels[None]
    checked: list[np.ndarray] = []
    for index, matrix in enumerate(kernels):
        n = len(checked[0]) if checked else None
        K = check_kernel_matrix(matrix, f"kernels[{index}]", n_samples=n, definite=False)
        checked.append(K.astype(np.float64, copy=False))
    if not checked:
        raise InputError("kernels", "is empty", "give at least one n × n matrix")
    return KernelBank.precomputed(checked)


def check_parameters(n_samples: int, **parameters: Any) -> None:
    """Refuse what the algorithm cannot run with, in one sentence."""
    check_constraints(_CONSTRAINTS, parameters, "alm")
    n_clusters, beta, gamma = (parameters[name] for name in ("n_clusters", "beta", "gamma"))
    if n_clusters > n_samples:
        problem = f"is more than the {n_samples} samples"
        raise InputError("n_clusters", problem, "ask for fewer", value=n_clusters)
    if gamma > 0 and beta == 0:
        problem = f"goes with gamma=0 only, not with gamma={gamma}"
        remedy = "the embedding step divides by beta, so make it positive, or set gamma to 0 too"
        raise InputError("beta", problem, remedy, value=beta)


def first_embedding(init: Any, n: int, c: int, random_state: Any) -> np.ndarray:
    """P0, checked, or orthonormal at random."""
    if init is None:
        return np.linalg.qr(as_generator(random_state).normal(size=(n, c)))[0]
    try:
        P, Q = (np.array(part, dtype=np.float64) for part in init)
    except (TypeError, ValueError) as error:
        problem, remedy = "is not a pair of numeric matrices", "give (P0, Q0), or None to draw one"
        raise InputError("init", problem, remedy) from error
    for name, matrix, shape in (("P0", P, (n, c)), ("Q0", Q, (c, c))):
        if matrix.shape != shape:
            raise InputError("init", f"has {name} of shape {matrix.shape}", f"it must be {shape}")
        if not np.allclose(matrix.T @ matrix, np.eye(c), atol=1e-6):
            problem = f"has {name} whose columns are not orthonormal"
            raise InputError("init", problem, "pass them through QR")
    return P
