"""The paper's algorithm from several starts at once.

All starts of a point follow one path of codes. What they would differ by is the term
(β/2) dist(P): after the first iteration their embeddings span one eigenspace, so that their
distances agree but for the pull of the labels, γ/β; in the first the distances are those of the
first start. One factorisation and one set of eigenvectors serve all of them, in single precision
where that gives the same codes; each start has embedding, rotation and labels of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg

from unispectral.kernels import KernelBank
from unispectral.paper import _alm as steps
from unispectral.paper._embedding import _descent
from unispectral.paper._weights import initial_weights, kernel_weights
from unispectral.spectrum import polar

#: Condition of 2K + μI up to which its factor in single precision gives the same codes.
_SINGLE = 3_000.0
#: Residual of the eigenvectors that are used, relative to the largest degree.
_RESIDUAL = 2e-3
_EMPTY = 1e-12  # a degree below which a graph has no edges
_DEGREE = 8  # of the polynomial that improves the last eigenvectors
_ROUNDS = 2  # of it, before they are computed anew


class Path(NamedTuple):
    """Where the codes have led: labels of each start, iterations, weights, and the codes."""

    labels: list[np.ndarray]
    n_iter: int
    weights: np.ndarray
    codes: np.ndarray


class Kernels:
    """Kernels less one, in single precision.

    The kernels that earn weight are nearly one everywhere, and what tells samples apart is the
    rest; without the one no digits of it are lost.
    """

    def __init__(self, bank: KernelBank) -> None:
        n = bank.n_samples
        self.less = np.empty((len(bank), n * n), np.float32)
        for kept, r in zip(self.less, range(len(bank)), strict=True):
            np.subtract(bank.matrix(r), 1.0, out=kept.reshape(n, n), casting="same_kind")
        self.n_samples = n

    def __len__(self) -> int:
        return len(self.less)

    def combine(self, w: np.ndarray) -> np.ndarray:
        """Σ wᵣKᵣ, in column order."""
        used = w > 1e-9 * w.max()
        K = w[used].astype(np.float32) @ self.less[used]
        K += np.float32(w.sum())
        return K.reshape(self.n_samples, self.n_samples).T

    def misfits(self, W: np.ndarray) -> np.ndarray:
        """hᵣ = ⟨Kᵣ, RRᵀ⟩ with R = I − W, that of the constant apart."""
        R = np.negative(W)
        R.ravel(order="K")[:: self.n_samples + 1] += 1.0
        ones = R.sum(axis=0, dtype=np.float64)
        return (self.less @ (R @ R.T).ravel(order="K")).astype(np.float64) + ones @ ones


def follow(
    kernels: Kernels,
    n_clusters: int,
    starts: Sequence[np.ndarray],
    *,
    alpha: float,
    beta: float,
    gamma: float,
    mu: float,
    max_iter: int = 200,
    tol: float = 1e-3,
) -> Path:
    """Run the algorithm to its end from all starts P0, as :func:`unispectral.paper.alm` does."""
    n = kernels.n_samples
    if gamma:
        pull = gamma / beta
    else:
        pull = 0.0
    Z = np.eye(n, dtype=np.float32, order="F")
    Y = np.zeros_like(Z)
    P = list(starts)
    Q = [np.eye(n_clusters) for _ in P]
    F = [np.zeros((n, n_clusters)) for _ in P]
    w = initial_weights(len(kernels))
    K = kernels.combine(w)
    pairs: tuple[np.ndarray, np.ndarray] | None = None
    reason = ""
    iteration = 0
    while not reason:
        iteration += 1
        S = steps._threshold(Z, Y, alpha, mu)
        Z = _codes(K, S, Y, P[0], beta, mu)
        Y = steps._multipliers(Y, S, Z, mu)
        mu *= steps._GROWTH
        Z = _symmetric(Z)
        degrees = Z.sum(axis=0, dtype=np.float64)
        pairs = _smallest(Z, degrees, min(2 * n_clusters, n), pairs)
        for s in range(len(P)):
            P[s] = _embedding(*pairs, P[s], pull * (F[s] @ Q[s].T), float(degrees.max()))
            Q[s] = steps._rotation(P[s], F[s])
            F[s] = steps._indicators(P[s], Q[s])
        if len(kernels) > 1:
            w = kernel_weights(kernels.misfits(Z))
            K = kernels.combine(w)
        reason = steps._stop_reason(Z, S, iteration, max_iter, tol)
    return Path([labels.argmax(axis=1) for labels in F], iteration, w, Z)


def _codes(
    K: np.ndarray, S: np.ndarray, Y: np.ndarray, P: np.ndarray, beta: float, mu: float
) -> np.ndarray:
    """Z-step. Z − I solves the system with μ(S − I) + Y − (β/2) dist(P): K cancels out."""
    n = len(K)
    dtype: type[np.floating] = np.float64
    if 2.0 * float(np.abs(K).sum(axis=0).max()) < _SINGLE * mu:
        dtype = np.float32
    right = np.multiply(S, mu, order="F", dtype=dtype, casting="same_kind")
    right += Y
    right -= (0.5 * beta) * steps._distances(P, slice(0, n), squared=True)
    right.ravel(order="K")[:: n + 1] -= mu
    system = np.multiply(K, 2.0, order="F", dtype=dtype, casting="same_kind")
    system.ravel(order="K")[:: n + 1] += mu
    factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    Z = linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)
    np.fill_diagonal(Z, 0.0)
    return np.maximum(Z, 0.0, out=Z).astype(np.float32, copy=False)


def _symmetric(Z: np.ndarray) -> np.ndarray:
    both = np.add(Z, Z.T, order="F")
    both *= np.float32(0.5)
    return both


def _smallest(
    W: np.ndarray, degrees: np.ndarray, count: int, last: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenpairs of the Laplacian, by a polynomial of the last ones if that does."""
    d = degrees.astype(np.float32)[:, None]
    largest = float(degrees.max())
    rounds = 0
    if last is not None and largest > _EMPTY:
        rounds = _ROUNDS
        V, values = last
    for _ in range(rounds):
        values, V, image = _rayleigh_ritz(W, d, _filter(W, d, V, values, largest))
        half = slice(0, (count + 1) // 2)
        residual = np.linalg.norm(image[:, half] - V[:, half] * values[half].astype(np.float32))
        if residual < _RESIDUAL * largest:
            return V, values
    L = np.negative(W, order="F")
    L.ravel(order="K")[:: len(W) + 1] += degrees.astype(np.float32)
    V = linalg.eigh(
        L, subset_by_index=(0, count - 1), driver="evr", overwrite_a=True, check_finite=False
    )[1]
    values, V, _ = _rayleigh_ritz(W, d, V)
    return V, values


def _filter(
    W: np.ndarray, d: np.ndarray, V: np.ndarray, values: np.ndarray, largest: float
) -> np.ndarray:
    """A Chebyshev polynomial of the Laplacian, small between the last value and 2 max d."""
    low = min(max(float(values[-1]), 1e-3 * largest), 1.9 * largest)
    centre = np.float32(0.5 * (2.0 * largest + low))
    width = np.float32(0.5 * (2.0 * largest - low))
    before = V
    V = (d * V - W @ V - centre * V) / width
    for _ in range(_DEGREE - 1):
        before, V = V, (2.0 / width) * (d * V - W @ V - centre * V) - before
    return V / np.linalg.norm(V, axis=0)


def _rayleigh_ritz(
    W: np.ndarray, d: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues and vectors within the columns of V, and L times the vectors."""
    V = np.linalg.qr(V)[0]
    image = d * V - W @ V
    values, turn = np.linalg.eigh((V.T @ image).astype(np.float64))
    turn = turn.astype(np.float32)
    return values, V @ turn, image @ turn


def _embedding(
    V: np.ndarray, values: np.ndarray, P: np.ndarray, target: np.ndarray, largest: float
) -> np.ndarray:
    """P-step among the smallest eigenvectors, and to first order of the pull outside them.

    It begins at the optimum for a vanishing pull: the c smallest, rotated towards the labels.
    """
    V = V.astype(np.float64)
    if largest < _EMPTY:
        return P
    c = P.shape[1]
    size = 2.0 * largest + float(np.linalg.norm(target))
    inner = V.T @ target
    start = np.zeros_like(inner)
    start[:c] = polar(inner[:c] if target.any() else V[:, :c].T @ P)
    P = V @ _descent(values, inner, start, 2e-4 * largest, size)
    outside = target - V @ inner
    gap = largest - float(values[:c].mean())
    return polar(P + outside / max(gap, 0.1 * largest))
