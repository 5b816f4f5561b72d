"""Spectral steps: eigenvectors of dense affinities, unit rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

#: Above this many samples a Lanczos method needs less time than the reduction of LAPACK.
DENSE_SAMPLES = 4_000
#: Restarts of that method before LAPACK is asked after all.
RESTARTS = 15


def laplacian_eigenvectors(W: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of ``diag(W1) − W`` and their eigenvectors.

    Negative entries and the diagonal of ``W`` are kept as they are.
    """
    degrees = W.sum(axis=1, dtype=np.float64)
    if _is_large(W, n_vectors):
        # The largest eigenvalues of bound·I − L. Of a wide Gaussian all but one are nearly equal,
        # and a Lanczos method would go on for hours.
        bound = float((degrees + np.abs(W).sum(axis=1, dtype=np.float64)).max())
        with contextlib.suppress(ArpackNoConvergence):
            values, vectors = _lanczos(
                lambda v: (bound - degrees) * v + W @ v.astype(W.dtype, copy=False),
                len(W), n_vectors, tol=1e-10, maxiter=RESTARTS,
            )  # fmt: skip
            return bound - values, vectors
    L = -np.asarray(W, dtype=np.float64)
    L[np.diag_indices(len(L))] += degrees
    return scipy.linalg.eigh(
        L, subset_by_index=(0, n_vectors - 1), driver="evr", overwrite_a=True, check_finite=False
    )


def leading_eigenvectors(W: np.ndarray, n_vectors: int) -> np.ndarray:
    """The eigenvectors of the largest eigenvalues of ``D^-½ W D^-½``, largest first."""
    n = len(W)
    degrees = W.sum(axis=1, dtype=np.float64)
    roots = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    if _is_large(W, n_vectors):
        return _lanczos(
            lambda v: roots * (W @ (roots * v).astype(W.dtype, copy=False)), n, n_vectors, tol=1e-6
        )[1]
    scaled = W * roots[:, None] * roots[None, :]
    _, vectors = scipy.linalg.eigh(
        scaled, subset_by_index=(n - n_vectors, n - 1), overwrite_a=True, check_finite=False
    )
    return vectors[:, ::-1]


def _is_large(W: np.ndarray, n_vectors: int) -> bool:
    return len(W) > DENSE_SAMPLES and n_vectors <= len(W) // 20


def _lanczos(
    product: Callable[[np.ndarray], np.ndarray], n: int, n_vectors: int, **limits: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues, descending, and the eigenvectors from products alone."""
    operator = LinearOperator((n, n), matvec=lambda v: product(v.ravel()), dtype=np.float64)
    values, vectors = eigsh(operator, k=n_vectors, which="LA", v0=np.ones(n), **limits)
    order = np.argsort(-values)
    return values[order], vectors[:, order]


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows divided by their length; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
