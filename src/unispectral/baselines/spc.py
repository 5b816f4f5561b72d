"""Clustering with similarity preserving."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral.baselines._base import NON_NEGATIVE
from unispectral.baselines._consensus import (
    POSITIVE_NUMBER,
    ConsensusMethod,
    Learned,
    graph_change,
    ridge_graph,
    squared_distances,
    weighted_sum,
)
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._spectral import laplacian_eigenvectors

__all__ = ["SPC", "representation_costs", "root_weights"]


class SPC(ConsensusMethod):
    """Clustering with similarity preserving (Kang et al., Neurocomputing 365, 2019, 211–218).

    A graph represents each sample by the others in a weighted sum of kernels and is at the same
    time kept close to that kernel, so that what is similar stays similar. It follows its own
    embedding, which k-means clusters. The weights of the kernels are learned, with Σ √w_r = 1.

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
    alpha : float, default=10
        How much the similarities are preserved.
    beta : float, default=1e-4
        How much the graph follows its embedding.
    gamma : float, default=1e-3
        The ridge of the graph.
    n_init : int, default=100
        Random starts of k-means, as many as in the authors' program.
    max_iter : int, default=200
        Rounds of embedding, graph and weights.
    tol : float, default=1e-5
        The rounds end when the graph changes by less than this share.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        The graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The smallest eigenvectors of its unnormalised Laplacian.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Scaled to a sum of one.
    kernel_names_ : list of str
    objective_ : float
        Of k-means.
    n_iter_ : int
        Rounds.
    converged_ : bool

    Notes
    -----
    The defaults are the numbers in the authors' program, whose graph is the solution without
    constraints, clipped at zero and made symmetric. For ``alpha`` above one the costs of the
    kernels are negative; the rule for the weights, used as the paper states it, then is no longer
    a minimum and prefers kernels that are represented less well.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> labels = SPC(2, kernels=["rbf", "laplacian"], random_state=0).fit_predict(X)
    >>> bool(len(set(labels[:3])) == 1 and len(set(labels[3:])) == 1)
    True
    """

    _parameter_constraints = {
        **ConsensusMethod._parameter_constraints,
        "alpha": POSITIVE_NUMBER,
        "beta": NON_NEGATIVE,
        "gamma": POSITIVE_NUMBER,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        alpha: float = 10.0,
        beta: float = 1e-4,
        gamma: float = 1e-3,
        n_init: int = 100,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernels = kernels
        self.normalize = normalize
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.tol = tol

    def _learn(self, kernels: Kernels) -> Learned:
        weights = np.full(len(kernels), 1.0 / len(kernels))
        Z = np.eye(kernels.n_samples)
        residual, n_iter = np.inf, 0
        while n_iter < self.max_iter and residual > self.tol:
            n_iter += 1
            _, F = laplacian_eigenvectors(Z, self.n_clusters)
            K = weighted_sum(kernels, weights)
            target = self.alpha * K - 0.5 * self.beta * squared_distances(F)
            graph = ridge_graph(K, target, 2.0 * self.gamma)
            residual = graph_change(graph, Z)
            Z = graph
            weights = root_weights(representation_costs(kernels, Z, self.alpha))
        _, F = laplacian_eigenvectors(Z, self.n_clusters)
        return Learned(Z, F, weights, n_iter, residual, residual <= self.tol)


def representation_costs(kernels: Kernels, Z: np.ndarray, alpha: float) -> np.ndarray:
    """½ Tr(K_r − 2αK_rZ + ZᵀK_rZ) of each kernel, for a symmetric Z."""
    M = Z @ Z - 2.0 * alpha * Z
    M[np.diag_indices(len(M))] += 1.0
    return np.array([0.5 * float((kernels.matrix(r) * M).sum()) for r in range(len(kernels))])


def root_weights(costs: np.ndarray) -> np.ndarray:
    """(costs_r Σ_s 1/costs_s)⁻²: for positive costs the minimum of Σ w_r costs_r with Σ √w_r = 1.

    Examples
    --------
    >>> import numpy as np
    >>> root_weights(np.array([1.0, 3.0])).round(9).tolist()
    [0.5625, 0.0625]
    """
    tiny = 1e-12 * max(float(np.abs(costs).max()), 1e-300)
    shares = 1.0 / np.where(np.abs(costs) < tiny, tiny, costs)
    return np.square(shares / shares.sum())
