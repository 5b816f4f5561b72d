"""Robust multiple kernel k-means."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from unispectral._compat import Interval
from unispectral._run import Run
from unispectral.baselines._base import KernelsMethod, Partition
from unispectral.baselines._kernels import Kernels
from unispectral.baselines.kkm import kernel_kmeans, lloyd

__all__ = ["RMKKM", "power_weights", "rmkkm"]

#: Squared distances are not taken to be smaller than this when they are divided by.
_FLOOR = np.finfo(np.float64).eps


class RMKKM(KernelsMethod):
    """Robust multiple kernel k-means (Du et al., IJCAI 2015, 3476–3482).

    Robust kernel k-means on a weighted sum of kernels whose weights are learned: they satisfy
    Σ w_r^γ = 1, and a kernel in which samples lie near their centres gets a large one. Labels,
    centres and weights are updated in turn, each from the last, so that the objective never rises.

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
    gamma : float between 0 and 1, default=0.4
        How evenly the kernels are weighted: near 0 all alike, near 1 only the best.
    n_init : int, default=10
        Random starts of robust kernel k-means in the first round.
    max_iter : int, default=50
        Rounds of labels and weights.
    tol : float, default=1e-5
        The rounds end when the objective falls by less than this share.
    random_state : int, RandomState, Generator or None, default=0
        The starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    kernel_weights_ : ndarray of shape (n_kernels,)
    kernel_names_ : list of str
    objective_ : float
        Σ_i √(Σ_r w_r ‖φ_r(x_i) − v_r‖²), v the centre of the cluster of sample i.
    objective_path_ : ndarray of shape (n_steps,)
    n_iter_ : int
        Rounds.
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = RMKKM(2, kernels=["rbf", "laplacian"], random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    _parameter_constraints = {
        **KernelsMethod._parameter_constraints,
        "gamma": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        gamma: float = 0.4,
        n_init: int = 10,
        max_iter: int = 50,
        tol: float = 1e-5,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernels = kernels
        self.normalize = normalize
        self.tol = tol
        self.gamma = gamma

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        return rmkkm(
            data,
            self.n_clusters,
            run,
            gamma=self.gamma,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )


def power_weights(costs: np.ndarray, gamma: float) -> np.ndarray:
    """The weights w ≥ 0, Σ w^γ = 1, that minimise Σ w_r costs_r.

    They are proportional to ``costs^(1/(γ−1))``; a kernel without cost takes everything.

    Examples
    --------
    >>> import numpy as np
    >>> power_weights(np.array([1.0, 1.0]), 0.5).tolist()
    [0.25, 0.25]
    """
    free = costs <= 0
    if free.any():
        raw = free.astype(np.float64)
    else:
        raw = (costs / costs.min()) ** (1.0 / (gamma - 1.0))
    return raw / (raw**gamma).sum() ** (1.0 / gamma)


def rmkkm(
    kernels: Kernels,
    n_clusters: int,
    run: Run,
    *,
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
        assert found.sample_weights is not None
        squared = np.maximum(kernels.within(found.labels, found.sample_weights), _FLOOR)
        halves = 0.5 / np.sqrt(weights @ squared)
        weights = power_weights(squared @ halves, gamma)
        path.append(float(np.sqrt(weights @ squared).sum()))
        if len(path) > 1:
            residual = (path[-2] - path[-1]) / path[-1]
            converged = residual <= tol
        if converged or len(path) >= max_iter:
            break
        K = kernels.combine(weights)
        found = lloyd(K, n_clusters, found, robust=True, max_iter=100, tol=tol)
    last = path[-1]
    return Partition(found.labels, last, len(path), converged, residual, weights, np.array(path))
