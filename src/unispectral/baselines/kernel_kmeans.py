"""Kernel k-means: of one kernel or several, with squared distances or robust."""

from __future__ import annotations

from numbers import Real
from operator import attrgetter

import numpy as np

from unispectral._compat import Interval
from unispectral._run import Run
from unispectral.baselines._base import KernelMethod, KernelsMethod, Partition
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._parameters import count, non_negative, parameter

__all__ = ["KKM", "MKKM", "RKKM", "RMKKM"]

#: Squared distances are not taken to be smaller than this when they are divided by.
_FLOOR = np.finfo(np.float64).eps


class KKM(KernelMethod):
    """Kernel k-means (Schölkopf, Smola and Müller, Neural Computation 10, 1998, 1299–1319).

    Lloyd's algorithm in the feature space of a kernel: centres are means of the mapped samples,
    each sample goes to its nearest centre. Starts at random samples, keeps the best of ``n_init``.

    Attributes
    ----------
    objective_ : float
        Sum of squared distances to the centres.

    Examples
    --------
    >>> KKM(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [0, 0, 1, 1]
    """

    max_iter: int = count(default=100)

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        found = kernel_kmeans(data, self.n_clusters, run, self.n_init, self.max_iter)
        return found._replace(attributes={})


class RKKM(KernelMethod):
    """Robust (ℓ2,1) kernel k-means (Du et al., IJCAI 2015, 3476–3482).

    Kernel k-means with distances in place of squared distances, so that outliers pull less: each
    centre is the geometric median of its cluster, found by reweighting. A sample that lies on its
    centre is treated by Vardi and Zhang's rule, so that the objective never rises.

    Parameters
    ----------
    tol : float
        A start has converged when no label changes and the objective falls by less than this
        share.

    Attributes
    ----------
    objective_ : float
        Sum of distances to the centres.
    sample_weights_ : ndarray of shape (n_samples,)
        The share of each sample in the centre of its cluster; small for outliers.

    Examples
    --------
    >>> RKKM(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [1, 1, 0, 0]
    """

    max_iter: int = count(default=100)
    tol: float = non_negative(default=1e-5)

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        limits = self.n_init, self.max_iter, self.tol
        return kernel_kmeans(data, self.n_clusters, run, *limits, robust=True)


def kernel_kmeans(
    K: np.ndarray,
    n_clusters: int,
    run: Run,
    n_init: int,
    max_iter: int = 100,
    tol: float = 0.0,
    *,
    robust: bool = False,
) -> Partition:
    """The best of several runs of kernel k-means that start with random samples as centres."""
    K = np.ascontiguousarray(K)
    starts = [run.rng.choice(K.shape[0], n_clusters, replace=False) for _ in range(n_init)]

    def best(block: slice) -> Partition:
        runs = [
            lloyd(K, n_clusters, start, robust=robust, max_iter=max_iter, tol=tol)
            for start in starts[block]
        ]
        return min(runs, key=attrgetter("objective"))

    # Threads cost more than runs on few samples take.
    found = run.map_blocks(best, n_init, n_init if K.shape[0] < 500 else 1)
    return min(found, key=attrgetter("objective"))


def lloyd(
    K: np.ndarray,
    n_clusters: int,
    start: np.ndarray | Partition,
    *,
    robust: bool,
    max_iter: int,
    tol: float,
) -> Partition:
    """Iterate from samples as centres, or from the labels and sample weights of a partition.

    The objective is the sum of squared distances, or of distances where ``robust``.
    """
    from unispectral.baselines import _loops

    K = np.ascontiguousarray(K)
    if isinstance(start, Partition):
        samples = np.empty(0, dtype=np.int64)
        labels, weights = start.labels.copy(), start.attributes["sample_weights"].copy()
    else:
        samples = np.ascontiguousarray(start, dtype=np.int64)
        labels, weights = np.empty(K.shape[0], dtype=np.int64), np.empty(K.shape[0])
    diagonal = np.diagonal(K).astype(np.float64)
    found = _loops.lloyd(K, diagonal, samples, labels, weights, n_clusters, robust, max_iter, tol)
    return Partition(labels, *found)._replace(attributes={"sample_weights": weights})


class MKKM(KernelsMethod):
    """Multiple kernel k-means (Huang, Chuang and Chen, IEEE Trans. Fuzzy Systems 20, 2012), hard.

    k-means in the feature spaces of several kernels at once. Each kernel has a weight w_r, the
    weights sum to one and enter the distances squared, and a kernel in which the clusters are
    tight gets a large one.

    Parameters
    ----------
    tol : float
        A start ends when the objective changes by less than this share.

    Attributes
    ----------
    objective_ : float
        Σ_r w_r² Σ_i (squared distance of sample i to its centre in kernel r).
    objective_path_ : ndarray of shape (n_steps,)

    Examples
    --------
    >>> model = MKKM(2, kernels=["rbf", "laplacian"]).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.labels_.tolist()
    [1, 1, 0, 0]
    """

    max_iter: int = count(default=100)

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        runs = [
            mkkm(data, self.n_clusters, run.rng, max_iter=self.max_iter, tol=self.tol)
            for _ in range(self.n_init)
        ]
        return min(runs, key=attrgetter("objective"))


def mkkm(
    kernels: Kernels,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
) -> Partition:
    """One start of multiple kernel k-means: weights, then labels, until the objective rests."""
    from unispectral.baselines import _loops

    n = kernels.n_samples
    labels = rng.integers(n_clusters, size=n)
    _loops.repair(labels, np.zeros(n), n_clusters)
    means, nearest = np.empty(n), np.empty(n)
    products, norms = np.empty((n_clusters, n)), np.empty(n_clusters)
    path: list[float] = []
    converged = False
    while len(path) < max_iter and not converged:
        _loops.mean_weights(labels, n_clusters, means)
        costs = kernels.within(labels, means).sum(axis=1)
        weights = inverse_weights(costs)
        path.append(float(weights**2 @ costs))
        K = kernels.combine(weights**2)
        _loops.centre_products(K, labels, means, products, norms)
        _loops.assign(products, norms, labels, nearest)
        _loops.repair(labels, nearest + weights**2 @ kernels.diagonals, n_clusters)
        change = abs(path[-2] - path[-1]) if len(path) > 1 else np.inf
        converged = change <= tol * path[-1]
    _loops.mean_weights(labels, n_clusters, means)
    path.append(float(weights**2 @ kernels.within(labels, means).sum(axis=1)))
    residual = change / path[-1] if path[-1] > 0.0 else 0.0
    return _weighted(labels, path, converged, residual, weights)


def inverse_weights(costs: np.ndarray) -> np.ndarray:
    """The weights w ≥ 0, Σ w = 1, that minimise Σ w_r² costs_r: proportional to 1/cost.

    A kernel without cost takes everything; several of them share it.
    """
    free = costs <= 0
    if free.any():
        return free / free.sum()
    inverse = costs.min() / costs
    return inverse / inverse.sum()


class RMKKM(KernelsMethod):
    """Robust multiple kernel k-means (Du et al., IJCAI 2015, 3476–3482).

    Robust kernel k-means on a weighted sum of kernels whose weights are learned: they satisfy
    Σ w_r^γ = 1, and a kernel in which samples lie near their centres gets a large one. Labels,
    centres and weights are updated in turn, each from the last, so that the objective never rises.

    Parameters
    ----------
    gamma : float between 0 and 1
        How evenly the kernels are weighted: near 0 all alike, near 1 only the best.
    n_init : int
        Random starts of robust kernel k-means in the first round.
    max_iter : int
        Rounds of labels and weights.
    tol : float
        The rounds end when the objective falls by less than this share.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
    objective_ : float
        Σ_i √(Σ_r w_r ‖φ_r(x_i) − v_r‖²), v the centre of the cluster of sample i.
    objective_path_ : ndarray of shape (n_steps,)

    Examples
    --------
    >>> model = RMKKM(2, kernels=["rbf", "laplacian"]).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.labels_.tolist()
    [1, 1, 0, 0]
    """

    gamma: float = parameter(Interval(Real, 0, 1, closed="neither"), default=0.4)
    max_iter: int = count(default=50)

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        limits = self.n_init, self.max_iter, self.tol
        return rmkkm(data, self.n_clusters, run, self.gamma, *limits)


def rmkkm(
    kernels: Kernels,
    n_clusters: int,
    run: Run,
    gamma: float = 0.4,
    n_init: int = 10,
    max_iter: int = 50,
    tol: float = 1e-5,
) -> Partition:
    """Robust multiple kernel k-means: labels and centres, then weights, in turn."""
    weights = np.full(len(kernels), (1.0 / len(kernels)) ** (1.0 / gamma))  # Σ w^γ = 1
    path: list[float] = []
    converged, residual = False, np.inf
    K = kernels.combine(weights)
    found = kernel_kmeans(K, n_clusters, run, n_init, tol=tol, robust=True)
    while True:
        within = kernels.within(found.labels, found.attributes["sample_weights"])
        squared = np.maximum(within, _FLOOR)
        halves = 0.5 / np.sqrt(weights @ squared)
        weights = power_weights(squared @ halves, gamma)
        path.append(float(np.sqrt(weights @ squared).sum()))
        if len(path) > 1:
            residual = (path[-2] - path[-1]) / path[-1]
            converged = residual <= tol
        if converged or len(path) >= max_iter:
            return _weighted(found.labels, path, converged, residual, weights)
        K = kernels.combine(weights)
        found = lloyd(K, n_clusters, found, robust=True, max_iter=100, tol=tol)


def power_weights(costs: np.ndarray, gamma: float) -> np.ndarray:
    """The weights w ≥ 0, Σ w^γ = 1, that minimise Σ w_r costs_r.

    They are proportional to ``costs^(1/(γ−1))``; a kernel without cost takes everything.
    """
    free = costs <= 0
    if free.any():
        raw = free.astype(np.float64)
    else:
        raw = (costs / costs.min()) ** (1.0 / (gamma - 1.0))
    return raw / (raw**gamma).sum() ** (1.0 / gamma)


def _weighted(
    labels: np.ndarray, path: list[float], converged: bool, residual: float, weights: np.ndarray
) -> Partition:
    """The partition at the end of a path of objectives, with the weights of the kernels."""
    attributes = {"kernel_weights": weights, "objective_path": np.array(path)}
    return Partition(labels, path[-1], len(path), converged, residual, attributes)
