"""What the augmented Lagrangian accepts: kernels in several forms, checked parameters, a start."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from unispectral._compat import as_generator
from unispectral._errors import InputError, InputTypeError
from unispectral.kernels import KernelBank

__all__ = ["as_bank", "check_parameters", "first_embedding"]


def as_bank(kernels: Any) -> KernelBank:
    """A matrix, a stack or a list of matrices as a kernel bank."""
    if isinstance(kernels, KernelBank):
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
    return KernelBank.precomputed(matrices)


def check_parameters(
    n_samples: int,
    n_clusters: Any,
    max_iter: Any,
    growth: Any,
    numbers: Mapping[str, Any],
    step: Any,
    distance: Any,
) -> None:
    """Refuse what the algorithm cannot run with, in one sentence."""
    for name, count in (("n_clusters", n_clusters), ("max_iter", max_iter)):
        if not isinstance(count, Integral):
            raise InputTypeError(name, "is not a whole number", "give one", value=count)
    for name, value in {**numbers, "growth": growth}.items():
        if not isinstance(value, Real):
            raise InputTypeError(name, "is not a number", "give one", value=value)
        if not 0 <= float(value) < np.inf:
            raise InputError(name, "must be finite and not negative", value=value)
    if not 1 <= n_clusters <= n_samples:
        limits = f"must be from 1 to the number of samples, {n_samples}"
        raise InputError("n_clusters", limits, value=n_clusters)
    for name, value in (("max_iter", max_iter), ("growth", growth)):
        if value < 1:
            raise InputError(name, "must be at least 1", value=value)
    if numbers["mu"] == 0:
        raise InputError("mu", "must be above 0", value=numbers["mu"])
    if numbers["gamma"] > 0 and numbers["beta"] == 0:
        raise InputError(
            "beta",
            f"goes with gamma=0 only, not with gamma={numbers['gamma']}",
            "the embedding step divides by beta, so make it positive, or set gamma to 0 too",
            value=numbers["beta"],
        )
    if step is not None and not callable(step):
        raise InputTypeError("step", "is not a function", "give one, or None", value=step)
    if distance not in ("squared", "unsquared"):
        raise InputError("distance", "is unknown", "give squared or unsquared", value=distance)


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
