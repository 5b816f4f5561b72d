"""Low-rank graphs of a consensus kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from unispectral.baselines._consensus import (
    POSITIVE_NUMBER,
    ConsensusMethod,
    Learned,
    graph_change,
    non_negative,
    self_weights,
    weighted_sum,
)
from unispectral.baselines._kernels import Kernels
from unispectral.baselines._spectral import leading_eigenvectors, unit_rows

__all__ = ["LGMKSC", "shrink_columns", "shrink_singular_values", "strongest_part"]

#: The authors' β and the samples it was found on; the distances of kernels grow with their number.
_BETA, _SAMPLES = 20.0, 165
#: By which the penalty grows, its limit, and the share of each column of the graph that is kept.
_GROWTH, _LIMIT, _KEPT = 1.1, 1e5, 0.7
#: Rounds before the change of the graph is looked at: the first leaves it as it is.
_FIRST = 5


class LGMKSC(ConsensusMethod):
    """Low-rank graph of a consensus kernel (LGMKSC, published program of Li and Ren, 2020).

    A consensus kernel K is learned from several, each weighted by how near it is, together with a
    graph Z of low rank that represents its columns up to an error in few of them:
    ``min ‖Z‖_* + α ‖E‖_2,1 + β Σ w_r ‖K − K_r‖²`` with K = KZ + E. The strongest part of the graph
    is clustered by normalised spectral clustering.

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
    alpha : float, default=1
        The price of an error.
    beta : float or None, default=None
        How near the consensus stays to the kernels. None is the authors' 20 up to the 165 samples
        of YALE and grows with n_samples above, as the distances of matrices do.
    mu : float, default=0.5
        The first penalty of the augmented Lagrangian; it grows by a tenth in every round.
    n_init : int, default=20
        Random starts of k-means.
    max_iter : int, default=100
        Rounds.
    tol : float, default=1e-2
        The rounds end when the graph changes by less than this share.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        The strongest part of the graph, columns scaled to a largest entry of one, made symmetric.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the leading eigenvectors of the normalised affinity.
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
    The authors' parameters for YALE are ``alpha=1, beta=20, mu=0.5`` with the paper's twelve
    kernels, and always 30 rounds: ``max_iter=30, tol=0`` here. Where the rounds end matters: the
    growing penalty fixes the graph sooner or later, and on YALE the accuracy falls after the
    thirtieth.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [0.1, 1.0], [0.2, 1.0], [1.0, 0.0], [1.0, 0.1], [1.0, 0.2]])
    >>> labels = LGMKSC(2, kernels=["linear", "gaussian"], random_state=0).fit_predict(X)
    >>> bool(len(set(labels[:3])) == 1 and len(set(labels[3:])) == 1)
    True
    """

    _parameter_constraints = {
        **ConsensusMethod._parameter_constraints,
        "alpha": POSITIVE_NUMBER,
        "beta": [*POSITIVE_NUMBER, None],
        "mu": POSITIVE_NUMBER,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "paper",
        normalize: Any = "cosine",
        alpha: float = 1.0,
        beta: float | None = None,
        mu: float = 0.5,
        n_init: int = 20,
        max_iter: int = 100,
        tol: float = 1e-2,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernels = kernels
        self.normalize = normalize
        self.alpha = alpha
        self.beta = beta
        self.mu = mu
        self.tol = tol

    def _learn(self, kernels: Kernels) -> Learned:
        """An alternating direction method; Y1 and Y2 are the multipliers of K = KZ + E, Z = J."""
        n, mu = kernels.n_samples, float(self.mu)
        beta = _BETA * max(1.0, n / _SAMPLES) if self.beta is None else self.beta
        K = weighted_sum(kernels, np.full(len(kernels), 1.0 / len(kernels)))
        identity = np.eye(n)
        Z = J = identity
        E, Y1, Y2 = np.zeros((3, n, n))
        residual, n_iter = np.inf, 0
        while n_iter < self.max_iter and (n_iter < _FIRST or residual > self.tol):
            n_iter += 1
            target = K.T @ (K - E + Y1 / mu) + J - Y2 / mu
            graph = scipy.linalg.solve(identity + K.T @ K, target, assume_a="pos")
            residual = graph_change(graph, Z)
            Z = graph
            J = np.maximum(shrink_singular_values(Z + Y2 / mu, 1.0 / mu), 0.0)
            E = shrink_columns(K - K @ Z + Y1 / mu, self.alpha / mu)
            weights = self_weights(kernels, K)
            # K (2β Σw I + μ (I − Z)(I − Z)ᵀ) = 2β Σ w_r K_r + (μE − Y1)(I − Z)ᵀ
            rest = identity - Z
            system = mu * rest @ rest.T + 2.0 * beta * weights.sum() * identity
            target = 2.0 * beta * weighted_sum(kernels, weights) + (mu * E - Y1) @ rest.T
            K = non_negative(scipy.linalg.solve(system, target.T, assume_a="pos").T)
            Y1 = Y1 + mu * (K - K @ Z - E)
            Y2 = Y2 + mu * (Z - J)
            mu = min(_GROWTH * mu, _LIMIT)
        W = strongest_part(non_negative(np.abs(Z)), _KEPT)
        F = unit_rows(leading_eigenvectors(W, self.n_clusters))
        converged = n_iter >= _FIRST and residual <= self.tol
        return Learned(W, F, weights, n_iter, residual, converged)


def shrink_singular_values(M: np.ndarray, threshold: float) -> np.ndarray:
    """The minimum of threshold·‖J‖_* + ½‖J − M‖²: singular values lowered, not below zero.

    Examples
    --------
    >>> import numpy as np
    >>> abs(shrink_singular_values(np.diag([3.0, 1.0]), 2.0)).round(9).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    # The large ones are all that is wanted, and those MᵀM knows well enough.
    squares, V = scipy.linalg.eigh(M.T @ M, check_finite=False)
    kept = squares > threshold**2
    V = V[:, kept]
    return ((M @ V) * (1.0 - threshold / np.sqrt(squares[kept]))) @ V.T


def shrink_columns(G: np.ndarray, threshold: float) -> np.ndarray:
    """The minimum of threshold·‖E‖_2,1 + ½‖E − G‖²: columns shortened, not below zero.

    Examples
    --------
    >>> import numpy as np
    >>> shrink_columns(np.array([[3.0, 0.3], [4.0, 0.4]]), 2.5).tolist()
    [[1.5, 0.0], [2.0, 0.0]]
    """
    lengths = np.linalg.norm(G, axis=0)
    return G * np.maximum(1.0 - threshold / np.maximum(lengths, threshold), 0.0)


def strongest_part(graph: np.ndarray, share: float) -> np.ndarray:
    """The largest entries of each column that make up a share of its sum, scaled and symmetric.

    The diagonal is left out; what is kept of a column is divided by its largest entry.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.array([[9.0, 4.0, 1.0], [4.0, 9.0, 1.0], [1.0, 1.0, 9.0]])
    >>> strongest_part(Z, 0.7).tolist()
    [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    graph = graph - np.diag(np.diag(graph))
    order = np.argsort(-graph, axis=0, kind="stable")
    ranked = np.take_along_axis(graph, order, axis=0)
    before = np.cumsum(ranked, axis=0) - ranked
    kept = np.where(before < share * ranked.sum(axis=0), ranked, 0.0)
    kept /= np.maximum(ranked[:1], np.finfo(np.float64).tiny)
    part = np.zeros_like(graph)
    np.put_along_axis(part, order, kept, axis=0)
    return part + part.T
