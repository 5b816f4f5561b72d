"""What the augmented Lagrangian accepts: kernels in several forms, checked parameters, a start."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from unispectral._compat import as_generator
from unispectral._errors import InputError, InputTypeError

__all__ = ["Bank", "as_bank", "check_choices", "check_parameters", "first_embedding"]

_CHOICES = {"step": ("exact", "wen-yin"), "distance": ("squared", "unsquared")}


class Bank(Protocol):
    """What is needed of a kernel bank."""

    def __len__(self) -> int: ...
    def matrix(self, index: int) -> np.ndarray: ...
    def combine(self, weights: np.ndarray) -> np.ndarray: ...


class _Stack:
    """Matrices in memory, behind the interface of a kernel bank."""

    def __init__(self, matrices: Sequence[np.ndarray] | np.ndarray) -> None:
        self._matrices = matrices

    def __len__(self) -> int:
        return len(self._matrices)

    def matrix(self, index: int) -> np.ndarray:
        return self._matrices[index]

    def combine(self, weights: np.ndarray) -> np.ndarray:
        total = weights[0] * self._matrices[0]
        for weight, matrix in zip(weights[1:], self._matrices[1:], strict=True):
            total += weight * matrix
        return total


def as_bank(kernels: Any) -> Bank:
    """Give a matrix, a stack or a list of matrices the interface of a kernel bank."""
    if hasattr(kernels, "combine") and hasattr(kernels, "matrix"):
        return kernels
    if isinstance(kernels, np.ndarray) and kernels.ndim == 2:
        kernels = kernels[None]
    matrices = [np.asarray(matrix, dtype=np.float64) for matrix in kernels]
    if not matrices:
        raise InputError("kernels", "is empty", "give at least one n × n matrix")
    n = matrices[0].shape[0] if matrices[0].ndim else 0
    for index, matrix in enumerate(matrices):
        if matrix.shape != (n, n):
            raise InputError(
                f"kernels[{index}]",
                f"has shape {matrix.shape}",
                f"every kernel must be square and of the size of the first, {(n, n)}",
            )
        if not np.isfinite(matrix).all():
            raise InputError(
                f"kernels[{index}]", "contains NaN or infinity", "remove or impute them"
            )
    return _Stack(matrices)


def check_parameters(
    n_clusters: Any,
    n_samples: int,
    alpha: Any,
    beta: Any,
    gamma: Any,
    mu: Any,
    max_iter: Any,
    tol: Any,
) -> None:
    """Refuse what the algorithm cannot run with, in one sentence."""
    for name, count in (("n_clusters", n_clusters), ("max_iter", max_iter)):
        if not isinstance(count, Integral):
            raise InputTypeError(name, "is not a whole number", "give one", value=count)
    for name, value in (
        ("alpha", alpha),
        ("beta", beta),
        ("gamma", gamma),
        ("mu", mu),
        ("tol", tol),
    ):
        if not isinstance(value, Real):
            raise InputTypeError(name, "is not a number", "give one", value=value)
        if not 0 <= float(value) < np.inf:
            raise InputError(name, "must be finite and not negative", value=value)
    if not 1 <= n_clusters <= n_samples:
        raise InputError(
            "n_clusters",
            f"must be from 1 to the number of samples, {n_samples}",
            value=n_clusters,
        )
    if max_iter < 1:
        raise InputError("max_iter", "must be at least 1", value=max_iter)
    if mu == 0:
        raise InputError("mu", "must be above 0", value=mu)
    if gamma > 0 and beta == 0:
        raise InputError(
            "beta",
            f"goes with gamma=0 only, not with gamma={gamma}",
            "the embedding step divides by beta, so make it positive, or set gamma to 0 too",
            value=beta,
        )


def check_choices(**chosen: Any) -> None:
    """Refuse the name of a step or a distance that there is not."""
    for name, value in chosen.items():
        if value not in _CHOICES[name]:
            known = ", ".join(_CHOICES[name])
            raise InputError(name, "is unknown", f"give one of {known}", value=value)


def first_embedding(init: Any, n: int, c: int, random_state: Any) -> np.ndarray:
    """P0, checked, or orthonormal at random."""
    if init is None:
        return np.linalg.qr(as_generator(random_state).normal(size=(n, c)))[0]
    try:
        P, Q = (np.array(part, dtype=np.float64) for part in init)
    except (TypeError, ValueError) as error:
        raise InputError(
            "init",
            "is not a pair of numeric matrices",
            "give (P0, Q0), or None for a random start",
        ) from error
    for name, matrix, shape in (("P0", P, (n, c)), ("Q0", Q, (c, c))):
        if matrix.shape != shape:
            raise InputError("init", f"has {name} of shape {matrix.shape}", f"it must be {shape}")
        if not np.allclose(matrix.T @ matrix, np.eye(c), atol=1e-6):
            raise InputError(
                "init",
                f"has {name} whose columns are not orthonormal",
                "pass them through QR",
            )
    return P
