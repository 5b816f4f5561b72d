"""The eigenvectors of a weighted sum of kernels, weights learned: AASC and SimpleMKKM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import brentq

from unispectral._compat import Interval, StrOptions
from unispectral._errors import InputError
from unispectral._parameters import count, non_negative, parameter
from unispectral._run import Run
from unispectral.baselines._base import Kernels, KernelsMethod, Partition, Stop, alternate
from unispectral.baselines._spectral import laplacian_eigenvectors, unit_rows

__all__ = ["AASC", "SimpleMKKM"]

EPS = float(np.finfo(np.float64).eps)
#: Of the published search for a root: a gradient that counts as none, and calls at most.
_FLAT = 1e-6
_CALLS = 100
#: Halvings of a step before it counts as none; the share of the promised decrease it must keep.
_HALVINGS = 30
_ARMIJO = 1e-4


class AASC(KernelsMethod):
    """Affinity aggregation spectral clustering (Huang, Chuang and Chen, CVPR 2012, 773–780).

    Spectral clustering of a sum of affinities Σ v_r² W_r. Coefficients v and embedding are found
    in turn: given the second eigenvector, v minimises the cut Σ v_r² β_r subject to Σ v_r = 1 and
    Σ α_r v_r² = 1. Then k-means on the unit rows of the eigenvectors.

    Parameters
    ----------
    root : "best" or float
        Which stationary point of the problem in v to take: its global minimum, which gives
        everything to an affinity close to the identity (of a narrow Gaussian), or the root that a
        search from a number ends at, as in the published code; from 1 it gives all kernels some.
    tol : float
        The rounds end when the squared change of the embedding is below this.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        The coefficients v_r² of the sum.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows.

    Examples
    --------
    >>> model = AASC(2, kernels=["rbf", "laplacian"]).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.labels_.tolist()
    [0, 0, 1, 1]
    """

    root: str | float = parameter(
        StrOptions({"best"}), Interval(Real, None, None, closed="neither"), default="best"
    )
    max_iter: int = count(default=20)

    _definite = False

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        rounds = aggregate(data, self.n_clusters, self.root)
        (vectors, v), stop = alternate(rounds, self.max_iter, self.tol)
        return self._kmeans(unit_rows(vectors), run, stop, kernel_weights=v**2)


def aggregate(
    kernels: Kernels, n_clusters: int, root: str | float
) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], float]]:
    """Find embedding and coefficients in turn; negative similarities count as none.

    Yields the eigenvectors of the aggregated Laplacian, with the coefficients v that belong to
    them, and by how much they changed.
    """

    def affinities() -> Iterator[np.ndarray]:  # one at a time: there may be no room for all
        return (np.maximum(kernels.matrix(r), 0) for r in range(len(kernels)))

    degrees = np.stack([W.sum(axis=1, dtype=np.float64) for W in affinities()])
    v = np.full(len(kernels), 1.0 / len(kernels))
    last = None
    residual = np.inf
    while True:
        total = np.zeros((kernels.n_samples, kernels.n_samples))
        for weight, W in zip(v**2, affinities(), strict=True):
            total += weight * W
        found = laplacian_eigenvectors(total, max(n_clusters, 2))[1]
        vectors = found[:, :n_clusters]
        if last is not None:
            # Between the projections on the two subspaces: blind to signs and rotations.
            residual = 2.0 * (n_clusters - float(((vectors.T @ last) ** 2).sum()))
        yield (vectors, v), residual
        last = vectors
        g = found[:, 1]
        alpha = degrees @ g**2  # gᵀD_r g
        beta = alpha - np.array([g @ (W @ g) for W in affinities()])  # gᵀL_r g
        if isinstance(root, str):
            v = best_coefficients(alpha, beta)
        else:
            v = coefficients_at(alpha, beta, float(root))


def coefficients_at(alpha: np.ndarray, beta: np.ndarray, start: float) -> np.ndarray:
    """The stationary point whose multiplier λ is found from ``start``.

    ``v_r = μ / ((γ_r − λ) α_r)``, γ = β/α, μ such that Σ v_r = 1, and λ a root of
    ``|(Σ 1/((γ−λ)α))² / Σ 1/((γ−λ)²α)| = 1``, which is Σ α_r v_r² = 1.
    """
    gamma = beta / alpha

    def excess(multiplier: float) -> float:
        terms = 1.0 / ((gamma - multiplier) * alpha)
        return float(abs(terms.sum() ** 2 / (alpha @ terms**2)) - 1.0)

    with np.errstate(divide="ignore", invalid="ignore"):
        terms = 1.0 / ((gamma - dogleg_root(excess, start)) * alpha)
        v = terms / terms.sum()
    if not np.isfinite(v).all():
        raise InputError(
            "root",
            "leads to a multiplier without coefficients for these kernels",
            "use root='best' or another start",
            value=start,
        )
    return v


def best_coefficients(alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The v with Σ v_r = 1 and Σ α_r v_r² = 1 for which Σ β_r v_r² is smallest.

    With u = √α v this is a quadratic form on the intersection of a sphere and a plane, that is on
    a smaller sphere, where the global minimum has its multiplier below the smallest eigenvalue.
    If no v satisfies both constraints, the one with the smallest Σ α_r v_r² is taken.
    """
    # An affinity that g does not see at all has neither volume nor cut; keep it finite.
    alpha = np.maximum(alpha, EPS * max(alpha.max(), 1e-100))
    scale = np.sqrt(alpha)
    plane = 1.0 / scale
    centre = plane / (plane @ plane)
    radius = np.sqrt(max(1.0 - 1.0 / (plane @ plane), 0.0))
    if len(alpha) == 1 or radius == 0.0:
        return centre / scale
    basis = scipy.linalg.null_space(plane[None, :])
    gamma = beta / alpha
    values, rotation = np.linalg.eigh(basis.T @ (gamma[:, None] * basis))
    linear = rotation.T @ (basis.T @ (gamma * centre))
    w = _smallest_on_sphere(values, linear, radius)
    return (centre + basis @ (rotation @ w)) / scale


def _smallest_on_sphere(values: np.ndarray, linear: np.ndarray, radius: float) -> np.ndarray:
    """Minimise Σ values w² + 2 linear·w over ‖w‖ = radius; ``values`` ascend."""
    length = float(np.linalg.norm(linear))
    small = 1e-12 * max(float(np.abs(values).max()) * radius, length, 1e-300)
    gaps = values - values[0]
    rest = np.where(gaps > 1e-12 * max(gaps[-1], 1e-300), -linear / np.where(gaps, gaps, 1.0), 0.0)
    if abs(linear[0]) <= small:
        if (missing := radius**2 - rest @ rest) >= 0.0:
            rest[0] += np.sqrt(missing)
            return rest
        linear = linear.copy()
        linear[0] = 0.0

    def shortage(below: float) -> float:
        w = linear / (gaps + below)
        return 1.0 / max(float(np.linalg.norm(w)), 1e-300) - 1.0 / radius

    upper = length / radius
    lower = abs(linear[0]) / radius
    if shortage(upper) <= 0.0:
        below = upper
    elif lower > 0.0 and shortage(lower) >= 0.0:
        below = lower
    else:
        below = brentq(shortage, max(lower, 1e-300), upper, xtol=1e-300, rtol=1e-14)
    w = -linear / (gaps + below)
    return w * (radius / np.linalg.norm(w))


def dogleg_root(function: Callable[[float], float], start: float) -> float:
    """Follow the dogleg method of the published code from ``start``; it need not find a root.

    In one dimension the dogleg step is Newton's, cut to the radius: 1 at first, times 2.5 after a
    step that did what was promised, a quarter of the step after one that did not. The derivative
    is a forward difference. Its rules for stopping are followed too, since the record depends on
    where the method gives up.
    """
    x = start
    value = function(start)
    radius = 1.0
    step = 0.0
    slope = _slope(function, x, value)
    calls = 2
    objective = before = 0.5 * value * value
    accepted = True
    for iteration in range(_CALLS):
        flat = abs(slope * value) < _FLAT
        still = abs(step) / (abs(x) + 1.0) < _FLAT**2
        resting = accepted and abs(step) < 0.9 * radius
        resting &= abs(before - objective) < _FLAT**2 * (1.0 + abs(before))
        late = radius < 2.0 * EPS or calls >= _CALLS
        if flat or late or (iteration > 1 and (still or resting)):
            break
        step = float(np.clip(-value / slope, -radius, radius))
        trial = function(x + step)
        calls += 1
        reached = 0.5 * trial * trial
        promised = slope * value * step + 0.5 * (slope * step) ** 2
        if promised < 0.0:
            ratio = (reached - objective) / promised
        else:
            ratio = 0.0
        accepted = bool(ratio > 0.05 and np.isfinite(reached))
        if accepted:
            before = objective
            objective = reached
            x = x + step
            value = trial
            slope = _slope(function, x, value)
            calls += 1
        if not ratio >= 0.05:
            radius = 0.25 * abs(step)
        elif ratio >= 0.9:
            radius = max(radius, 2.5 * abs(step))
    return x


def _slope(function: Callable[[float], float], x: float, value: float) -> float:
    width = np.sqrt(EPS) * max(abs(x), 1.0) * (1.0 if x >= 0.0 else -1.0)
    return (function(x + width) - value) / width


class SimpleMKKM(KernelsMethod):
    """Simple multiple kernel k-means (Liu, IEEE TPAMI 45, 2023, 5174–5186).

    The embedding that fits the weighted sum of kernels best, max_H Tr(K_w H Hᵀ) with HᵀH = I and
    K_w = Σ w_r² K_r, is made to fit *least* by the weights, w ≥ 0, Σ w_r = 1. Unlike a minimum
    over both this does not give all the weight to the flattest kernels; it is convex in w and is
    solved by reduced gradients. The unit rows of H are clustered by k-means. There is nothing to
    tune.

    Notes
    -----
    Checked against the author's program: kernels centred, then scaled to a diagonal of one,
    equal weights at first, the steps end when no weight changes by 1e-5, unit rows. The program
    finds the length of a step by golden section where here it is halved until it pays, and its
    figures are means of 20 runs of k-means with ten starts each, where here one has 50.

    Parameters
    ----------
    tol : float
        The steps end when no weight changes by more.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of H.
    objective_ : float
        Tr(K_w H Hᵀ), the sum of the largest eigenvalues.
    objective_path_ : ndarray of shape (n_steps + 1,)

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> SimpleMKKM(2, kernels=["rbf", "laplacian"]).fit_predict(X).tolist()
    [1, 1, 1, 0, 0, 0]
    """

    normalize: Any = parameter(default=("center", "cosine"))
    n_init: int = count(default=50)
    max_iter: int = count(default=200)
    tol: float = non_negative(default=1e-5)

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        """Reduced gradients from equal weights, each step the longest that pays."""
        weights = np.full(len(data), 1.0 / len(data))
        value, gradient, H = alignment(data, weights, self.n_clusters)
        path = [value]
        residual = np.inf
        while len(path) <= self.max_iter and residual > self.tol:
            direction = reduced_direction(weights, gradient)
            slope = float(gradient @ direction)
            falling = direction < 0.0
            if falling.any():
                step = float((-weights[falling] / direction[falling]).min())
            else:
                step = 0.0
            residual = step * float(np.abs(direction).max())
            for _ in range(_HALVINGS):
                if residual <= 1e-3 * self.tol:
                    break
                trial = np.maximum(weights + step * direction, 0.0)
                trial[trial < 1e-12] = 0.0
                trial /= trial.sum()
                found = alignment(data, trial, self.n_clusters)
                if found[0] <= value + _ARMIJO * step * slope:
                    weights, (value, gradient, H) = trial, found
                    break
                step = 0.5 * step
                residual = 0.5 * residual
            path.append(value)
        stop = Stop(len(path) - 1, residual <= self.tol, residual)
        more = {"kernel_weights": weights, "objective_path": np.array(path)}
        return self._kmeans(unit_rows(H), run, stop, **more)._replace(objective=value)


def alignment(
    kernels: Kernels, weights: np.ndarray, n_clusters: int
) -> tuple[float, np.ndarray, np.ndarray]:
    """max_H Tr(K_w H Hᵀ) with K_w = Σ w_r² K_r, its gradient in w, and the H that attains it."""
    n = kernels.n_samples
    K = np.asarray(kernels.combine(np.square(weights)), dtype=np.float64)
    values, H = scipy.linalg.eigh(
        K, subset_by_index=(n - n_clusters, n - 1), overwrite_a=True, check_finite=False
    )
    parts = [float(np.sum(H * (kernels.matrix(r) @ H))) for r in range(len(kernels))]
    return float(values.sum()), 2.0 * weights * np.array(parts), H


def reduced_direction(weights: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """A direction of descent on the simplex: the largest weight takes up the changes."""
    base = int(np.argmax(weights))
    reduced = gradient - gradient[base]
    direction = np.where((weights > 0.0) | (reduced < 0.0), -reduced, 0.0)
    direction[base] = 0.0
    direction[base] = -direction.sum()
    return direction
