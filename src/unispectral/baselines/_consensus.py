"""A consensus of several kernels and a graph of it: what SMKL, SPC and LGMKSC share."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.linalg

from unispectral._compat import Interval
from unispectral._run import Run
from unispectral.baselines._base import KernelsMethod, Partition
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._kmeans import kmeans

__all__ = [
    "POSITIVE_NUMBER",
    "ConsensusMethod",
    "Learned",
    "graph_change",
    "nearest_kernel",
    "non_negative",
    "ridge_graph",
    "self_weights",
    "squared_distances",
    "weighted_sum",
]

#: Constraint of a price.
POSITIVE_NUMBER = [Interval(Real, 0, None, closed="neither")]
#: Iterations of k-means on the embedding.
_KMEANS_ITER = 300


class Learned(NamedTuple):
    """A graph that was learned with the kernel it lives in.

    Attributes
    ----------
    graph : ndarray of shape (n, n)
        Symmetric and non-negative.
    embedding : ndarray of shape (n, n_clusters)
    weights : ndarray of shape (n_kernels,)
    n_iter : int
    residual : float
        By what share of itself the graph still changed.
    converged : bool
    """

    graph: np.ndarray
    embedding: np.ndarray
    weights: np.ndarray
    n_iter: int
    residual: float
    converged: bool


class ConsensusMethod(KernelsMethod):
    """A method that learns a graph from several kernels and clusters its embedding by k-means."""

    def _learn(self, kernels: Kernels) -> Learned:
        raise NotImplementedError

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        found = self._learn(data)
        self.affinity_matrix_ = found.graph
        self.embedding_ = found.embedding
        partition = kmeans(
            found.embedding, self.n_clusters, run.rng, self.n_init, max_iter=_KMEANS_ITER
        )
        return partition._replace(
            n_iter=found.n_iter,
            converged=found.converged,
            residual=found.residual,
            kernel_weights=found.weights / found.weights.sum(),
        )


def self_weights(kernels: Kernels, K: np.ndarray) -> np.ndarray:
    """1 / (2 ‖K − K_r‖) for each kernel: one that is near the consensus counts for more.

    With these weights, Σ w_r ‖K − K_r‖² has the gradient of Σ ‖K − K_r‖.
    """
    apart = np.array([np.linalg.norm(kernels.matrix(r) - K) for r in range(len(kernels))])
    return 0.5 / np.maximum(apart, 1e-12 * max(float(np.linalg.norm(K)), 1e-300))


def ridge_graph(K: np.ndarray, target: np.ndarray, ridge: float) -> np.ndarray:
    """The Z of (K + ridge·I) Z = target, its negative entries set to zero, made symmetric.

    The published programs of SMKL and SPC take this in the place of the constrained minimum.

    Examples
    --------
    >>> import numpy as np
    >>> ridge_graph(np.eye(2), np.array([[2.0, -1.0], [4.0, 2.0]]), 1.0).round(9).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    system = K + ridge * np.eye(len(K))
    try:
        Z = scipy.linalg.solve(system, target, assume_a="pos", check_finite=False)
    except np.linalg.LinAlgError:  # rounding has made a very flat kernel indefinite
        Z = scipy.linalg.solve(system, target, assume_a="sym", check_finite=False)
    return non_negative(Z)


def non_negative(A: np.ndarray) -> np.ndarray:
    """Negative entries set to zero, then the symmetric part."""
    A = np.maximum(A, 0.0)
    return 0.5 * (A + A.T)


def nearest_kernel(A: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix to a symmetric one.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_kernel(np.diag([2.0, -1.0])).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """
    A = 0.5 * (A + A.T)
    try:
        scipy.linalg.cholesky(A, check_finite=False)
        return A
    except np.linalg.LinAlgError:
        values, V = scipy.linalg.eigh(A, check_finite=False)
    return (V * np.maximum(values, 0.0)) @ V.T


def squared_distances(F: np.ndarray) -> np.ndarray:
    """Squared distances among the rows of an embedding.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 25.0], [25.0, 0.0]]
    """
    squares = np.square(F).sum(axis=1)
    return np.maximum(squares[:, None] + squares - 2.0 * (F @ F.T), 0.0)


def graph_change(new: np.ndarray, old: np.ndarray) -> float:
    """By what share of itself a graph changed."""
    return float(np.linalg.norm(new - old) / max(float(np.linalg.norm(old)), 1e-300))


def weighted_sum(kernels: Kernels, weights: np.ndarray) -> np.ndarray:
    """Σ w_r K_r in double precision."""
    return np.asarray(kernels.combine(weights), dtype=np.float64)
