"""The paper's two models once more: slow, dense, NumPy only, and nothing from the library.

    J(Z, P, Q, F, w) = Tr(K − 2KZ + ZᵀKZ) + α ΣZ + β Tr(PᵀLP) + γ ‖F − PQ‖²,   K = Σ wᵣKᵣ

with Z ≥ 0, diag Z = 0, PᵀP = I, QᵀQ = I, F one-hot and Σ √wᵣ = 1. The columns of Z are the codes,
L is the Laplacian of (Z + Zᵀ)/2, and one kernel has the weight 1. A ridge ρ adds ρ Σ Kⱼⱼ zⱼᵢ².

Every block update is written from this definition with other means than the library's: active sets
on dense matrices instead of compiled working sets, n × n Cayley transforms instead of low-rank
ones, explicit sums instead of identities.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

Array = np.ndarray


def laplacian(Z: Array) -> Array:
    """D − (Z + Zᵀ)/2, D the degrees of the symmetric part."""
    W = (Z + Z.T) / 2
    return np.diag(W.sum(axis=1)) - W


def one_hot(labels: Array, n_clusters: int) -> Array:
    F = np.zeros((len(labels), n_clusters))
    for sample, label in enumerate(labels):
        F[sample, label] = 1.0
    return F


def reconstruction(K: Array, Z: Array) -> float:
    """Tr(K − 2KZ + ZᵀKZ)."""
    return float(np.trace(K - 2 * K @ Z + Z.T @ K @ Z))


def weighted(kernels: list[Array], w: Array) -> Array:
    return sum(weight * K for weight, K in zip(w, kernels, strict=True))


def objective(
    kernels: list[Array],
    w: Array,
    Z: Array,
    P: Array,
    Q: Array,
    labels: Array,
    *,
    alpha: float,
    beta: float,
    gamma: float,
    ridge: float = 0.0,
) -> float:
    """J, term by term."""
    K = weighted(kernels, w)
    F = one_hot(labels, P.shape[1])
    value = reconstruction(K, Z) + alpha * Z.sum() + ridge * (np.diag(K)[:, None] * Z**2).sum()
    value += beta * np.trace(P.T @ laplacian(Z) @ P)
    return float(value + gamma * np.linalg.norm(F - P @ Q) ** 2)


# ---- Z ------------------------------------------------------------------------------------------


def penalties(P: Array | None, n: int, alpha: float, beta: float) -> Array:
    """α + (β/2) ‖pᵢ − pⱼ‖², pair by pair."""
    if P is None:
        return np.full((n, n), alpha)
    return alpha + (beta / 2) * ((P[:, None, :] - P[None, :, :]) ** 2).sum(axis=2)


def codes_gradient(K: Array, Z: Array, B: Array, ridge: float = 0.0) -> Array:
    """Gradient of the Z-part of J; zero where z > 0 and ≥ 0 elsewhere at the optimum."""
    return 2 * (K @ Z - K) + B + 2 * ridge * np.diag(K)[:, None] * Z


def codes_violation(K: Array, Z: Array, B: Array, ridge: float = 0.0) -> float:
    """Largest failure of the optimality conditions, relative to Kᵢᵢ; infinite if infeasible."""
    if (Z < 0).any() or np.diag(Z).any():
        return float("inf")
    gradient = codes_gradient(K, Z, B, ridge)
    failure = np.where(Z > 0, np.abs(gradient), np.maximum(-gradient, 0.0))
    np.fill_diagonal(failure, 0.0)
    return float((failure / (2 * np.diag(K)[None, :])).max())


def codes_value(K: Array, Z: Array, B: Array, ridge: float = 0.0) -> float:
    return float(reconstruction(K, Z) + (B * Z).sum() + ridge * (np.diag(K)[:, None] * Z**2).sum())


def codes(K: Array, B: Array, ridge: float = 0.0) -> Array:
    """The Z-step: each column by the active-set method of Lawson and Hanson."""
    n = len(K)
    A = K + ridge * np.diag(np.diag(K))
    Z = np.zeros((n, n))
    for i in range(n):
        others = np.array([j for j in range(n) if j != i])
        b = (K[:, i] - B[:, i] / 2)[others]
        Z[others, i] = _nonnegative(A[np.ix_(others, others)], b)
    return Z


def _nonnegative(A: Array, b: Array) -> Array:
    """Minimise zᵀAz − 2bᵀz over z ≥ 0; A with 1e-11 of its scale added is never singular."""
    scale = np.diag(A).mean()
    A = A + 1e-11 * scale * np.eye(len(b))
    z, free = np.zeros(len(b)), np.zeros(len(b), dtype=bool)
    for _ in range(20 * len(b)):
        gain = np.where(free, -np.inf, b - A @ z)
        if gain.max() <= 1e-12 * scale:
            break
        free[gain.argmax()] = True
        while free.any():
            trial = np.zeros(len(b))
            trial[free] = np.linalg.solve(A[np.ix_(free, free)], b[free])
            down = free & (trial <= 0)
            if not down.any():
                z = trial
                break
            share = (z[down] / (z[down] - trial[down])).min()
            z = np.where(free, z + share * (trial - z), 0.0)
            free &= z > 1e-14
            z = np.where(free, z, 0.0)
    return z


# ---- P ------------------------------------------------------------------------------------------


def embedding_value(L: Array, P: Array, target: Array) -> float:
    """Tr(PᵀLP) − 2 Tr(Pᵀ target), target = (γ/β) F Qᵀ."""
    return float((P * (L @ P - 2 * target)).sum())


def embedding_gradient(L: Array, P: Array, target: Array) -> Array:
    """Gradient on the manifold PᵀP = I: zero at a stationary point."""
    G = 2 * (L @ P - target)
    return G - P @ ((P.T @ G + G.T @ P) / 2)


class Point(NamedTuple):
    X: Array
    value: float
    G: Array
    gradient: Array  # G − X Gᵀ X
    norm: float  # of the gradient


def curvilinear_search(
    function: Callable[[Array], tuple[float, Array]],
    X: Array,
    *,
    xtol: float = 1e-5,
    gtol: float = 1e-5,
    ftol: float = 1e-8,
    max_iter: int = 1000,
) -> Array:
    """Wen and Yin's search on XᵀX = I, with the full n × n Cayley transform.

    Barzilai–Borwein steps in turns, the nonmonotone rule of Zhang and Hager (weight 0.85), at most
    five trial steps, each a fifth of the one before, the first 1e-3.
    """

    def at(X: Array) -> Point:
        value, G = function(X)
        gradient = G - X @ (G.T @ X)
        return Point(X, value, G, gradient, _norm(gradient))

    here, tau = at(X), 1e-3
    reference, weight = here.value, 1.0
    moves: list[tuple[float, float]] = []
    if here.norm < 0.01 * gtol:
        return X
    identity = np.eye(len(X))
    for iteration in range(1, max_iter + 1):
        W = here.G @ here.X.T
        W = W - W.T
        slope = 1e-4 * here.norm**2
        for trial in range(5):
            right = here.X - (tau / 2) * (W @ here.X)
            new = at(np.linalg.solve(identity + (tau / 2) * W, right))
            if new.value <= reference - tau * slope or trial == 4:
                break
            tau *= 0.2
        S, Y = new.X - here.X, new.gradient - here.gradient
        moved = _norm(S) / np.sqrt(len(X))
        fell = abs(here.value - new.value) / (abs(here.value) + 1)
        moves = [*moves[-4:], (moved, fell)]
        here = new
        done = (
            here.norm < gtol
            or (moved < xtol and fell < ftol)
            or all(
                sum(recent) / len(moves) < 10 * tol
                for recent, tol in zip(zip(*moves, strict=True), (xtol, ftol), strict=True)
            )
        )
        if done and iteration > 2:
            break
        if done:
            xtol, gtol, ftol = xtol / 10, gtol / 10, ftol / 10
        sy = abs((S * Y).sum())
        up, down = ((S * S).sum(), sy) if iteration % 2 == 0 else (sy, (Y * Y).sum())
        tau = min(max(up / down, 1e-20), 1e20) if down > 0 else 1e20
        weight, before = 0.85 * weight + 1, 0.85 * weight
        reference = (before * reference + here.value) / weight
    U, _, Vt = np.linalg.svd(here.X, full_matrices=False)
    return U @ Vt


def _norm(A: Array) -> float:
    return float(np.sqrt((A * A).sum()))


def embedding(L: Array, target: Array, P: Array, *, max_iter: int = 1000) -> Array:
    """The P-step, as far as double precision goes, from a start; never worse than the start."""
    scale = max(float(np.abs(L).sum(axis=1).max()) + float(np.linalg.norm(target)), 1e-300)

    L_scaled, target_scaled = L / scale, target / scale

    def function(X: Array) -> tuple[float, Array]:
        half = L_scaled @ X - target_scaled
        return float((X * (half - target_scaled)).sum()), 2 * half

    found = curvilinear_search(function, P, xtol=1e-12, gtol=1e-9, ftol=1e-18, max_iter=max_iter)
    better = embedding_value(L, found, target) <= embedding_value(L, P, target)
    return found if better else P


# ---- Q, F, w ------------------------------------------------------------------------------------


def rotation(P: Array, labels: Array) -> Array:
    """The Q-step: with PᵀF = UΣVᵀ it is UVᵀ."""
    U, _, Vt = np.linalg.svd(P.T @ one_hot(labels, P.shape[1]))
    return U @ Vt


def rotation_shortfall(P: Array, Q: Array, labels: Array) -> float:
    """How far Tr(QᵀPᵀF) is below its maximum, the sum of the singular values of PᵀF."""
    M = P.T @ one_hot(labels, P.shape[1])
    return float(np.linalg.svd(M, compute_uv=False).sum() - np.trace(Q.T @ M))


def weights(h: Array) -> Array:
    """The w-step: (hᵣ Σ 1/hₛ)⁻², which minimises Σ wᵣhᵣ over Σ √wᵣ = 1."""
    return (h * (1 / h).sum()) ** -2.0


# ---- The authors' algorithm ---------------------------------------------------------------------


class AlmStep(NamedTuple):
    """What one iteration makes of the state before it, up to the embedding."""

    S: Array
    Z: Array
    Y: Array
    mu: float


def alm_codes(
    K: Array, Z: Array, Y: Array, P: Array, mu: float, *, alpha: float, beta: float
) -> AlmStep:
    """S, Z, Y and μ of one iteration, in the order of the authors' program."""
    n = len(K)
    S = np.maximum(Z - Y / mu - alpha / mu, 0.0)
    S[np.diag_indices(n)] = 0.0
    E = S + Y / mu
    right = 2 * K + mu * E - penalties(P, n, 0.0, beta)
    Z = np.linalg.inv(2 * K + mu * np.eye(n)) @ right
    Z[np.diag_indices(n)] = 0.0
    Z[Z < 0] = 0.0
    Y = Y + mu * (S - Z)
    return AlmStep(S, (Z + Z.T) / 2, Y, 1.1 * mu)


def alm_embedding(Z: Array, P: Array, Q: Array, F: Array, pull: float) -> Array:
    """Wen and Yin's search as the authors call it: the norm of the value is not squared."""
    L = laplacian(Z)

    def function(X: Array) -> tuple[float, Array]:
        value = np.trace(X.T @ L @ X) + pull * np.linalg.norm(F - X @ Q)
        return float(value), 2 * (L @ X) - 2 * pull * (F @ Q.T)

    return curvilinear_search(function, P)


def alm_stops(Z: Array, S: Array, iteration: int, tol: float) -> bool:
    """The rule of the authors' program, whose counter has to be above 1."""
    return iteration > 1 and bool(np.linalg.norm(Z - S) < tol * np.linalg.norm(Z))


def descent_sweep(
    kernels: list[Array],
    w: Array,
    Z: Array,
    P: Array,
    Q: Array,
    labels: Array,
    *,
    alpha: float,
    beta: float,
    gamma: float,
    ridge: float = 0.0,
) -> Iterator[tuple[str, tuple[Array, Array, Array, Array, Array]]]:
    """One round of exact block updates; after each the block's name and (w, Z, P, Q, labels)."""
    c = P.shape[1]
    if beta > 0:
        target = (gamma / beta) * one_hot(labels, c) @ Q.T
        P = embedding(laplacian(Z), target, P)
    elif gamma > 0:
        U, _, Vt = np.linalg.svd(one_hot(labels, c) @ Q.T, full_matrices=False)
        P = U @ Vt
    yield "P", (w, Z, P, Q, labels)
    Q = rotation(P, labels)
    yield "Q", (w, Z, P, Q, labels)
    labels = np.argmax(P @ Q, axis=1)
    yield "F", (w, Z, P, Q, labels)
    if len(kernels) > 1:
        # The ridge is of the weighted kernel, so that each kernel has its part in it.
        h = [reconstruction(K, Z) + ridge * (np.diag(K)[:, None] * Z**2).sum() for K in kernels]
        w = weights(np.array(h))
        yield "w", (w, Z, P, Q, labels)
    Z = codes(weighted(kernels, w), penalties(P, len(Z), alpha, beta), ridge)
    yield "Z", (w, Z, P, Q, labels)
