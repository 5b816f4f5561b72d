"""Multiple kernel k-means."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np

from unispectral._compat import Interval, fit_context
from unispectral.baselines._base import Kernels, KernelsMethod, Partition
from unispectral.baselines._draws import Draws, as_draws

__all__ = ["MKKM", "WeightedPartition", "inverse_weights", "mkkm"]


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
        See :func:`unispectral.kernels.as_kernels`; ``"paper"`` is the paper's twelve. With
        ``"precomputed"``, ``fit`` takes a list or stack of matrices or a
        :class:`~unispectral.kernels.KernelBank`, which is used as it is.
    normalize : {"cosine", "center", "trace", "none"} or tuple of them, default="cosine"
        Applied to the kernels.
    n_init : int, default=10
        Random starts.
    max_iter : int, default=100
        Iterations of one start.
    tol : float, default=1e-5
        A start ends when the objective changes by less than this share (by less than this, if
        ``recorded``).
    random_state : int, RandomState, Generator or None, default=None
        The starts.
    recorded : bool, default=False
        Repeat the published record: its random numbers (``random_state=None`` begins its stream,
        a ``RandomState`` continues one), K_ii taken to be one, no repair of empty clusters, and
        an objective that belongs to the labels before the last assignment.

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

    _parameter_constraints = {
        **KernelsMethod._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: Any = None,
        recorded: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.recorded = recorded

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features), or the kernels
        y : ignored

        Returns
        -------
        self
        """
        kernels = self._kernels(X)
        draws = as_draws(self.random_state, self.recorded)
        runs = [
            mkkm(
                kernels,
                self.n_clusters,
                draws,
                max_iter=self.max_iter,
                tol=self.tol,
                recorded=self.recorded,
            )
            for _ in range(self.n_init)
        ]
        best = min(runs, key=lambda run: run.partition.objective)
        self._keep(best.partition)
        self.kernel_weights_ = best.weights
        self.objective_path_ = best.objectives
        return self


class WeightedPartition(NamedTuple):
    """A partition, the kernel weights that belong to it and the path of the objective."""

    partition: Partition
    weights: np.ndarray
    objectives: np.ndarray


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
    draws: Draws,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
    recorded: bool = False,
) -> WeightedPartition:
    """One start of multiple kernel k-means: weights, then labels, until the objective rests.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.baselines._draws import FreshDraws
    >>> from unispectral.kernels import KernelBank
    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> kernels = Kernels(KernelBank.precomputed([K, np.eye(4)]))
    >>> mkkm(kernels, 2, FreshDraws(0)).weights.sum()
    np.float64(1.0)
    """
    from unispectral.baselines import _loops

    n = kernels.n_samples
    labels = np.ascontiguousarray(draws.labels(n, n_clusters), dtype=np.int64)
    if not recorded:
        _loops.repair(labels, np.zeros(n), n_clusters)
    means, nearest = np.empty(n), np.empty(n)
    products, norms = np.empty((n_clusters, n)), np.empty(n_clusters)
    objectives: list[float] = []
    converged = False
    while len(objectives) < max_iter and not converged:
        _loops.mean_weights(labels, n_clusters, means)
        costs = kernels.within(labels, means).sum(axis=1)
        weights = inverse_weights(costs)
        objectives.append(float(weights**2 @ costs))
        K = kernels.combine(weights**2)
        _loops.centre_products(K, labels, means, products, norms)
        _loops.assign(products, norms, labels, nearest)
        if recorded:
            threshold = tol
        else:
            diagonal = weights**2 @ kernels.diagonals
            _loops.repair(labels, nearest + diagonal, n_clusters)
            threshold = tol * objectives[-1]
        change = abs(objectives[-2] - objectives[-1]) if len(objectives) > 1 else np.inf
        converged = change <= threshold
    if not recorded:
        _loops.mean_weights(labels, n_clusters, means)
        objectives.append(float(weights**2 @ kernels.within(labels, means).sum(axis=1)))
    residual = change / objectives[-1] if objectives[-1] > 0.0 else 0.0
    partition = Partition(labels, objectives[-1], len(objectives), converged, residual)
    return WeightedPartition(partition, weights, np.array(objectives))
