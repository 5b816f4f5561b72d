"""Multiple kernel k-means."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from unispectral._run import Run
from unispectral.baselines._base import KernelsMethod, Partition
from unispectral.baselines._kernels import Kernels

__all__ = ["MKKM", "inverse_weights", "mkkm"]


class MKKM(KernelsMethod):
    """Multiple kernel k-means (Huang, Chuang and Chen, IEEE Trans. Fuzzy Systems 20, 2012), hard.

    k-means in the feature spaces of several kernels at once. Each kernel has a weight w_r, the
    weights sum to one and enter the distances squared, and a kernel in which the clusters are
    tight gets a large one.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : "paper", list of kernels, or "precomputed", default="paper"
        See :func:`unispectral.kernels.as_kernels`; ``"paper"`` is the paper's twelve. If
        precomputed, ``fit`` takes a list or stack of matrices or a
        :class:`~unispectral.kernels.KernelBank`, which is used as it is.
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple of them, default="cosine"
        Applied to the kernels.
    n_init : int, default=10
        Random starts.
    max_iter : int, default=100
        Iterations of one start.
    tol : float, default=1e-5
        A start ends when the objective changes by less than this share.
    random_state : int, RandomState, Generator or None, default=0
        The starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    kernel_weights_ : ndarray of shape (n_kernels,)
    kernel_names_ : list of str
    objective_ : float
        Σ_r w_r² Σ_i (squared distance of sample i to its centre in kernel r).
    objective_path_ : ndarray of shape (n_steps,)
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = MKKM(2, kernels=["rbf", "laplacian"], random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernels = kernels
        self.normalize = normalize
        self.tol = tol

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        runs = [
            mkkm(data, self.n_clusters, run.rng, max_iter=self.max_iter, tol=self.tol)
            for _ in range(self.n_init)
        ]
        return min(runs, key=attrgetter("objective"))


def inverse_weights(costs: np.ndarray) -> np.ndarray:
    """The weights w ≥ 0, Σ w = 1, that minimise Σ w_r² costs_r: proportional to 1/cost.

    A kernel without cost takes everything; several of them share it.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_weights(np.array([1.0, 3.0])).tolist()
    [0.75, 0.25]
    """
    free = costs <= 0
    if free.any():
        return free / free.sum()
    inverse = costs.min() / costs
    return inverse / inverse.sum()


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
    return Partition(labels, path[-1], len(path), converged, residual, weights, np.array(path))
