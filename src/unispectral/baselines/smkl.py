"""Self-weighted multiple kernel learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral.baselines._base import NON_NEGATIVE
from unispectral.baselines._consensus import (
    POSITIVE_NUMBER,
    ConsensusMethod,
    Learned,
    graph_change,
    nearest_kernel,
    ridge_graph,
    self_weights,
    squared_distances,
    weighted_sum,
)
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._spectral import laplacian_eigenvectors

__all__ = ["SMKL", "consensus_kernel", "smkl"]

#: The authors' β and the samples it was found on; the distances of kernels grow with their number.
_BETA, _SAMPLES = 15.0, 165


class SMKL(ConsensusMethod):
    """Self-weighted multiple kernel learning (Kang, Lu, Yi and Xu, IJCAI 2018, 2312–2318).

    A consensus kernel is learned of which every given kernel is a perturbation; one that is close
    to it gets a large weight, without a parameter for the weights. A graph represents each sample
    by the others in the consensus kernel and follows its own embedding, which k-means clusters.

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
    alpha : float, default=1e-5
        How much the graph follows its embedding.
    beta : float or None, default=None
        How near the consensus stays to the kernels. None is the authors' 15 up to the 165 samples
        of YALE and grows with n_samples above, as the distances of matrices do.
    gamma : float, default=1
        The ridge of the graph.
    n_init : int, default=100
        Random starts of k-means, as many as in the authors' program.
    max_iter : int, default=100
        Rounds of graph, consensus kernel and weights.
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
        Their sum is one.
    kernel_names_ : list of str
    objective_ : float
        Of k-means.
    n_iter_ : int
        Rounds.
    converged_ : bool

    Notes
    -----
    As in the authors' program, the graph is the solution without constraints, clipped at zero and
    made symmetric. The consensus is the best matrix that is a kernel, where the program clips its
    entries at zero and may leave it indefinite; and the distances in the embedding are squared, as
    in the paper, where the program takes them as they are. The authors' parameters for YALE are
    ``alpha=1e-5, beta=15, gamma=1``, with the paper's twelve kernels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> labels = SMKL(2, kernels=["rbf", "laplacian"], tol=1e-3).fit_predict(X)
    >>> bool(len(set(labels[:3])) == 1 and len(set(labels[3:])) == 1)
    True
    """

    _parameter_constraints = {
        **ConsensusMethod._parameter_constraints,
        "alpha": NON_NEGATIVE,
        "beta": [*POSITIVE_NUMBER, None],
        "gamma": POSITIVE_NUMBER,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        alpha: float = 1e-5,
        beta: float | None = None,
        gamma: float = 1.0,
        n_init: int = 100,
        max_iter: int = 100,
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
        larger = max(1.0, kernels.n_samples / _SAMPLES)
        beta = _BETA * larger if self.beta is None else self.beta
        return smkl(
            kernels,
            self.n_clusters,
            alpha=self.alpha,
            beta=beta,
            gamma=self.gamma,
            max_iter=self.max_iter,
            tol=self.tol,
        )


def smkl(
    kernels: Kernels,
    n_clusters: int,
    *,
    alpha: float,
    beta: float,
    gamma: float,
    max_iter: int,
    tol: float,
) -> Learned:
    """Embedding, graph, weights and consensus kernel in turn."""
    K = weighted_sum(kernels, np.full(len(kernels), 1.0 / len(kernels)))
    Z = np.eye(kernels.n_samples)
    residual, n_iter = np.inf, 0
    while n_iter < max_iter and residual > tol:
        n_iter += 1
        _, F = laplacian_eigenvectors(Z, n_clusters)
        weights = self_weights(kernels, K)
        graph = ridge_graph(K, K - 0.25 * alpha * squared_distances(F), gamma)
        residual = graph_change(graph, Z)
        Z = graph
        weighted = weighted_sum(kernels, weights)
        K = nearest_kernel(consensus_kernel(Z, weighted, weights.sum(), beta))
    _, F = laplacian_eigenvectors(Z, n_clusters)
    return Learned(Z, F, weights, n_iter, residual, residual <= tol)


def consensus_kernel(Z: np.ndarray, weighted: np.ndarray, total: float, beta: float) -> np.ndarray:
    """The K that minimises Tr(K − 2KZ + ZᵀKZ) + β Σ w_r ‖K − K_r‖².

    Parameters
    ----------
    Z : ndarray of shape (n, n)
        The graph, symmetric.
    weighted : ndarray of shape (n, n)
        Σ w_r K_r.
    total : float
        Σ w_r.
    beta : float

    Examples
    --------
    >>> import numpy as np
    >>> consensus_kernel(np.eye(2), np.full((2, 2), 0.5), 1.0, 3.0).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    pull = 2.0 * Z - Z @ Z.T
    pull[np.diag_indices(len(pull))] -= 1.0
    return (pull / (2.0 * beta) + weighted) / total
