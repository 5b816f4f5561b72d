"""Robust multiple kernel k-means."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np

from unispectral._compat import Interval, fit_context
from unispectral.baselines._base import Kernels, KernelsMethod, Partition
from unispectral.baselines._draws import Draws, as_draws
from unispectral.baselines.mkkm import WeightedPartition
from unispectral.baselines.rkkm import rkkm

__all__ = ["RMKKM", "power_weights", "rmkkm"]

#: Squared distances are not taken to be smaller than this when they are divided by.
_FLOOR = np.finfo(np.float64).eps
#: The starts of robust kernel k-means in the record, and the rounds that it always did.
_RECORDED_ITERATIONS, _RECORDED_ROUNDS = 30, 50


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
        See :func:`unispectral.kernels.as_kernels`; ``"paper"`` is the paper's twelve. With
        ``"precomputed"``, ``fit`` takes a list or stack of matrices or a
        :class:`~unispectral.kernels.KernelBank`, which is used as it is.
    normalize : {"cosine", "center", "trace", "none"} or tuple of them, default="cosine"
        Applied to the kernels.
    gamma : float between 0 and 1, default=0.4
        How evenly the kernels are weighted: near 0 all alike, near 1 only the best.
    n_init : int, default=10
        Random starts of robust kernel k-means in the first round (in every round if
        ``recorded``).
    max_iter : int, default=50
        Rounds of labels and weights.
    tol : float, default=1e-5
        The rounds end when the objective falls by less than this share. Not used by the record,
        which does ``max_iter`` rounds.
    random_state : int, RandomState, Generator or None, default=None
        The starts.
    recorded : bool, default=False
        Repeat the published record: its random numbers (``random_state=None`` begins its stream,
        a ``RandomState`` continues one), every round from new random starts of at most 30
        iterations, no end before ``max_iter`` rounds, and the quirks of :class:`RKKM`'s record.

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
        "tol": [Interval(Real, 0, None, closed="left")],
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
        random_state: Any = None,
        recorded: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.normalize = normalize
        self.gamma = gamma
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
        found = rmkkm(
            self._kernels(X),
            self.n_clusters,
            as_draws(self.random_state, self.recorded),
            gamma=self.gamma,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            recorded=self.recorded,
        )
        self._keep(found.partition)
        self.kernel_weights_ = found.weights
        self.objective_path_ = found.objectives
        return self


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
    draws: Draws,
    *,
    gamma: float = 0.4,
    n_init: int = 10,
    max_iter: int = _RECORDED_ROUNDS,
    tol: float = 1e-5,
    recorded: bool = False,
) -> WeightedPartition:
    """Robust multiple kernel k-means: labels and centres, then weights, in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.baselines._draws import FreshDraws
    >>> from unispectral.kernels import KernelBank
    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> kernels = Kernels(KernelBank.precomputed([K, K]))
    >>> (rmkkm(kernels, 2, FreshDraws(0), gamma=0.5).weights**0.5).sum()
    np.float64(1.0)
    """
    # The equal weights that satisfy Σ w^γ = 1; the record starts at 1/r, which differs in scale.
    weights = np.full(len(kernels), (1.0 / len(kernels)) ** (1.0 if recorded else 1.0 / gamma))
    if recorded:
        draws.distinct(kernels.n_samples, n_clusters)  # drawn there, and not used
    options: dict[str, Any] = {"n_init": n_init, "tol": tol, "recorded": recorded}
    if recorded:
        options["max_iter"] = _RECORDED_ITERATIONS
    objectives: list[float] = []
    converged, residual = False, np.inf
    partition, shares = rkkm(kernels.combine(weights), n_clusters, draws, **options)
    while True:
        squared = kernels.within(partition.labels, shares)
        squared = np.maximum(squared, _FLOOR)
        halves = 0.5 / np.sqrt(weights @ squared)
        weights = power_weights(squared @ halves, gamma)
        objectives.append(float(np.sqrt(weights @ squared).sum()))
        if len(objectives) > 1 and not recorded:
            residual = (objectives[-2] - objectives[-1]) / objectives[-1]
            converged = residual <= tol
        if converged or len(objectives) >= max_iter:
            break
        K = kernels.combine(weights)
        if recorded:
            partition, shares = rkkm(K, n_clusters, draws, **options)
        else:
            partition, shares = _continue(K, partition.labels, shares, n_clusters, tol)
    result = Partition(partition.labels, objectives[-1], len(objectives), converged, residual)
    return WeightedPartition(result, weights, np.array(objectives))


def _continue(
    K: np.ndarray, labels: np.ndarray, shares: np.ndarray, n_clusters: int, tol: float
) -> tuple[Partition, np.ndarray]:
    """Robust kernel k-means from given labels and centres."""
    from unispectral.baselines import _loops

    K = np.ascontiguousarray(K)
    labels, shares = labels.copy(), shares.copy()
    found = _loops.lloyd(
        K,
        np.diagonal(K).astype(np.float64),
        np.empty(0, dtype=np.int64),
        labels,
        shares,
        n_clusters,
        True,
        False,
        100,
        tol,
    )
    return Partition(labels, *found), shares
