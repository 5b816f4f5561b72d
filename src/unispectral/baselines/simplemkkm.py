"""SimpleMKKM: multiple kernel k-means as a minimum of maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from unispectral._run import Run
from unispectral.baselines._base import KernelsMethod, Partition
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._kmeans import kmeans
from unispectral.baselines._spectral import unit_rows

__all__ = ["SimpleMKKM", "alignment", "largest_step", "reduced_direction", "simple_mkkm"]

#: Iterations of k-means on the embedding; halvings of a step before it counts as none.
_KMEANS_ITER, _HALVINGS = 300, 30
#: The share of the promised decrease that a step must keep.
_ARMIJO = 1e-4


class SimpleMKKM(KernelsMethod):
    """Simple multiple kernel k-means (Liu, IEEE TPAMI 45, 2023, 5174–5186).

    The embedding that fits the weighted sum of kernels best, max_H Tr(K_w H Hᵀ) with HᵀH = I and
    K_w = Σ w_r² K_r, is made to fit *least* by the weights, w ≥ 0, Σ w_r = 1. Unlike a minimum
    over both this does not give all the weight to the flattest kernels; it is convex in w and is
    solved by reduced gradients. The unit rows of H are clustered by k-means. There is nothing to
    tune.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : "paper", list of kernels, or "precomputed", default="paper"
        See :func:`unispectral.kernels.as_kernels`; ``"paper"`` is the paper's twelve. If
        precomputed, ``fit`` takes a list or stack of matrices or a
        :class:`~unispectral.kernels.KernelBank`, which is used as it is.
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple of them, \
default=("center", "cosine")
        Applied to the kernels; the default is that of the authors.
    n_init : int, default=50
        Random starts of k-means, as many as the authors report.
    max_iter : int, default=200
        Steps of the weights.
    tol : float, default=1e-4
        The steps end when no weight changes by more.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of H.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Their sum is one; they enter squared.
    kernel_names_ : list of str
    objective_ : float
        Tr(K_w H Hᵀ), the sum of the largest eigenvalues.
    objective_path_ : ndarray of shape (n_steps + 1,)
    n_iter_ : int
        Steps of the weights.
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> labels = SimpleMKKM(2, kernels=["rbf", "laplacian"], random_state=0).fit_predict(X)
    >>> bool(len(set(labels[:3])) == 1 and len(set(labels[3:])) == 1)
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = ("center", "cosine"),
        n_init: int = 50,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernels = kernels
        self.normalize = normalize
        self.tol = tol

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        H, found = simple_mkkm(data, self.n_clusters, max_iter=self.max_iter, tol=self.tol)
        self.embedding_ = unit_rows(H)
        labels = kmeans(
            self.embedding_, self.n_clusters, run.rng, self.n_init, _KMEANS_ITER
        ).labels
        return found._replace(labels=labels)


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
    """A direction of descent that stays on the simplex: the largest weight takes up the changes.

    Examples
    --------
    >>> import numpy as np
    >>> reduced_direction(np.array([0.6, 0.4, 0.0]), np.array([3.0, 1.0, 5.0])).tolist()
    [-2.0, 2.0, 0.0]
    """
    base = int(np.argmax(weights))
    reduced = gradient - gradient[base]
    direction = np.where((weights > 0.0) | (reduced < 0.0), -reduced, 0.0)
    direction[base] = 0.0
    direction[base] = -direction.sum()
    return direction


def largest_step(weights: np.ndarray, direction: np.ndarray) -> float:
    """How far one can go before a weight is negative.

    Examples
    --------
    >>> import numpy as np
    >>> largest_step(np.array([0.6, 0.4]), np.array([-2.0, 2.0]))
    0.3
    """
    falling = direction < 0.0
    return float((-weights[falling] / direction[falling]).min()) if falling.any() else 0.0


def simple_mkkm(
    kernels: Kernels, n_clusters: int, *, max_iter: int, tol: float
) -> tuple[np.ndarray, Partition]:
    """H, and the weights that minimise :func:`alignment`, by reduced gradients from equal ones."""
    weights = np.full(len(kernels), 1.0 / len(kernels))
    value, gradient, H = alignment(kernels, weights, n_clusters)
    path, n_iter, residual = [value], 0, np.inf
    while n_iter < max_iter and residual > tol:
        n_iter += 1
        direction = reduced_direction(weights, gradient)
        slope = float(gradient @ direction)
        step = largest_step(weights, direction)
        residual = step * float(np.abs(direction).max())
        for _ in range(_HALVINGS):
            if residual <= 1e-3 * tol:
                break
            trial = np.maximum(weights + step * direction, 0.0)
            trial[trial < 1e-12] = 0.0
            trial /= trial.sum()
            found = alignment(kernels, trial, n_clusters)
            if found[0] <= value + _ARMIJO * step * slope:
                weights, (value, gradient, H) = trial, found
                break
            step, residual = 0.5 * step, 0.5 * residual
        path.append(value)
    labels = np.zeros(kernels.n_samples, dtype=np.int64)
    converged = residual <= tol
    partition = Partition(labels, value, n_iter, converged, residual, weights, np.array(path))
    return H, partition
