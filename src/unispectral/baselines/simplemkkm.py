"""SimpleMKKM: multiple kernel k-means as a minimum of maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from unispectral._run import Run
from unispectral.baselines._base import KernelsMethod, Partition, Stop
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._parameters import count, non_negative, parameter
from unispectral.baselines._spectral import unit_rows

__all__ = ["SimpleMKKM"]

#: Halvings of a step before it counts as none; the share of the promised decrease it must keep.
_HALVINGS, _ARMIJO = 30, 1e-4


class SimpleMKKM(KernelsMethod):
    """Simple multiple kernel k-means (Liu, IEEE TPAMI 45, 2023, 5174–5186).

    The embedding that fits the weighted sum of kernels best, max_H Tr(K_w H Hᵀ) with HᵀH = I and
    K_w = Σ w_r² K_r, is made to fit *least* by the weights, w ≥ 0, Σ w_r = 1. Unlike a minimum
    over both this does not give all the weight to the flattest kernels; it is convex in w and is
    solved by reduced gradients. The unit rows of H are clustered by k-means. There is nothing to
    tune; the defaults are those of the author.

    Parameters
    ----------
    max_iter : int
        Steps of the weights.
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
    tol: float = non_negative(default=1e-4)

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        """Reduced gradients from equal weights, each step the longest that pays."""
        weights = np.full(len(data), 1.0 / len(data))
        value, gradient, H = alignment(data, weights, self.n_clusters)
        path, residual = [value], np.inf
        while len(path) <= self.max_iter and residual > self.tol:
            direction = reduced_direction(weights, gradient)
            slope = float(gradient @ direction)
            falling = direction < 0.0
            step = float((-weights[falling] / direction[falling]).min()) if falling.any() else 0.0
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
                step, residual = 0.5 * step, 0.5 * residual
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
