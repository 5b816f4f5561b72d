"""A consensus of several kernels and a graph of it: SMKL, SPC and LGMKSC."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg

from unispectral._parameters import count, non_negative, positive
from unispectral._run import Run
from unispectral.baselines._base import Kernels, KernelsMethod, Partition, alternate
from unispectral.baselines._spectral import (
    laplacian_eigenvectors,
    leading_eigenvectors,
    unit_rows,
)

__all__ = ["LGMKSC", "SMKL", "SPC"]

#: The authors' β was found on so many samples; the distances of kernels grow with their number.
_SAMPLES = 165
#: Of LGMKSC: growth of the penalty, its limit, and the share of each column that is kept.
_GROWTH = 1.1
_LIMIT = 1e5
_KEPT = 0.7

#: Graph and weights after a round, and by what share of itself the graph changed.
Round = tuple[tuple[np.ndarray, np.ndarray], float]


class _ConsensusMethod(KernelsMethod):
    """A method that learns a graph from several kernels and clusters its embedding by k-means.

    Parameters
    ----------
    alpha : float
        How much the graph follows its embedding.
    beta : float or None
        How near the consensus stays to the kernels. None is the authors' number up to the 165
        samples of YALE and grows with n_samples above, as the distances of matrices do.
    gamma : float
        The ridge of the graph.
    tol : float
        The iterations end when the graph changes by less than this share.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        The graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The smallest eigenvectors of its unnormalised Laplacian.
    """

    n_init: int = count(default=100)
    max_iter: int = count(default=100)

    #: Rounds before the change of the graph is looked at.
    _least = 1

    def _rounds(self, kernels: Kernels) -> Iterator[Round]:
        raise NotImplementedError

    def _embed(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The affinity that is clustered, and its embedding."""
        return Z, laplacian_eigenvectors(Z, self.n_clusters)[1]

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        rounds = self._rounds(data)
        (Z, weights), stop = alternate(rounds, self.max_iter, self.tol, self._least)
        W, F = self._embed(Z)
        shares = weights / weights.sum()
        return self._kmeans(F, run, stop, affinity_matrix=W, kernel_weights=shares)


class SMKL(_ConsensusMethod):
    """Self-weighted multiple kernel learning (Kang, Lu, Yi and Xu, IJCAI 2018, 2312–2318).

    A consensus kernel is learned of which every given kernel is a perturbation; one that is close
    to it gets a large weight, without a parameter for the weights. A graph represents each sample
    by the others in the consensus kernel and follows its own embedding, which k-means clusters.

    Notes
    -----
    Checked against the authors' program: α = 1e-5, β = 15 and γ = 1, which they give for YALE, at
    most 100 rounds, a change of the graph below 1e-5, 100 starts of k-means. Three things differ:
    the program takes distances in the embedding unsquared, which at this α is not felt; it sets
    the negative entries of the consensus kernel to zero, where here the nearest positive
    semi-definite matrix is taken; and it does at least six rounds.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> SMKL(2, kernels=["rbf", "laplacian"], tol=1e-3).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    alpha: float = non_negative(default=1e-5)
    beta: float | None = positive(default=None)
    gamma: float = positive(default=1.0)

    def _rounds(self, kernels: Kernels) -> Iterator[Round]:
        """Embedding, graph, weights and consensus kernel in turn."""
        if self.beta is None:
            beta = _raise_penalty(15.0, kernels.n_samples)
        else:
            beta = self.beta
        K = weighted_sum(kernels, equal_weights(kernels))
        Z = np.eye(kernels.n_samples)
        while True:
            F = laplacian_eigenvectors(Z, self.n_clusters)[1]
            weights = self_weights(kernels, K)
            target = K - 0.25 * self.alpha * squared_distances(F)
            last = Z
            Z = ridge_graph(K, target, self.gamma)
            yield (Z, weights), graph_change(Z, last)
            weighted = weighted_sum(kernels, weights)
            K = nearest_kernel(consensus_kernel(Z, weighted, weights.sum(), beta))


class SPC(_ConsensusMethod):
    """Clustering with similarity preserving (Kang et al., Neurocomputing 365, 2019, 211–218).

    A graph represents each sample by the others in a weighted sum of kernels and is at the same
    time kept close to that kernel, so that what is similar stays similar. It follows its own
    embedding, which k-means clusters. The weights of the kernels are learned, with Σ √w_r = 1.

    Notes
    -----
    Checked against the authors' program: α = 10, β = 1e-4 and γ = 1e-3, which are its example, at
    most 200 rounds, a change of the graph below 1e-5, 100 starts of k-means. The program forgets
    the graph in the middle term of the costs, Tr(K_r − 2αK_r + ZᵀK_rZ), lets the weights act one
    round later, and does at least six rounds; here the costs are those of the objective.

    Parameters
    ----------
    alpha : float
        How much the similarities are preserved.
    beta : float
        How much the graph follows its embedding.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> SPC(2, kernels=["rbf", "laplacian"]).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    alpha: float = positive(default=10.0)
    beta: float = non_negative(default=1e-4)
    gamma: float = positive(default=1e-3)
    max_iter: int = count(default=200)

    def _rounds(self, kernels: Kernels) -> Iterator[Round]:
        """Embedding, graph and weights in turn."""
        weights = equal_weights(kernels)
        Z = np.eye(kernels.n_samples)
        while True:
            F = laplacian_eigenvectors(Z, self.n_clusters)[1]
            K = weighted_sum(kernels, weights)
            target = self.alpha * K - 0.5 * self.beta * squared_distances(F)
            last = Z
            Z = ridge_graph(K, target, 2.0 * self.gamma)
            weights = root_weights(representation_costs(kernels, Z, self.alpha))
            yield (Z, weights), graph_change(Z, last)


class LGMKSC(_ConsensusMethod):
    """Low-rank graph of a consensus kernel (LGMKSC, published program of Li and Ren, 2020).

    A consensus kernel K is learned from several, each weighted by how near it is, together with a
    graph Z of low rank that represents its columns up to an error in few of them:
    ``min ‖Z‖_* + α ‖E‖_2,1 + β Σ w_r ‖K − K_r‖²`` with K = KZ + E. The strongest part of the graph
    is clustered by normalised spectral clustering.

    Notes
    -----
    Checked against the published program: α = 1, β = 20 and μ = 0.5 growing by 1.1 up to 1e5,
    which it gives for YALE, 70 per cent of each column kept, 20 starts of k-means. Its rounds end
    at a change of 1e-7 or after 30 in its first version and 3,000 in its last; here they end at
    1e-2, since most later rounds change little but take most of the time.

    Parameters
    ----------
    alpha : float
        The penalty of an error.
    mu : float
        The first penalty of the augmented Lagrangian; it grows by a tenth in every round.

    Attributes
    ----------
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
        The strongest part of the graph, columns scaled to a largest entry of one, made symmetric.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the leading eigenvectors of the normalised affinity.

    Examples
    --------
    >>> X = [[0.0, 1.0], [0.1, 1.0], [0.2, 1.0], [1.0, 0.0], [1.0, 0.1], [1.0, 0.2]]
    >>> LGMKSC(2, kernels=["linear", "gaussian"]).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    alpha: float = positive(default=1.0)
    beta: float | None = positive(default=None)
    mu: float = positive(default=0.5)
    n_init: int = count(default=20)
    tol: float = non_negative(default=1e-2)

    _least = 5  # the first round leaves the graph as it is

    def _rounds(self, kernels: Kernels) -> Iterator[Round]:
        """An alternating direction method; Y1 and Y2 are the multipliers of K = KZ + E, Z = J."""
        n = kernels.n_samples
        mu = float(self.mu)
        if self.beta is None:
            beta = _raise_penalty(20.0, n)
        else:
            beta = self.beta
        K = weighted_sum(kernels, equal_weights(kernels))
        identity = np.eye(n)
        Z = J = identity
        E, Y1, Y2 = np.zeros((3, n, n))
        while True:
            target = K.T @ (K - E + Y1 / mu) + J - Y2 / mu
            last = Z
            Z = scipy.linalg.solve(identity + K.T @ K, target, assume_a="pos")
            weights = self_weights(kernels, K)
            yield (Z, weights), graph_change(Z, last)
            J = np.maximum(shrink_singular_values(Z + Y2 / mu, 1.0 / mu), 0.0)
            E = shrink_columns(K - K @ Z + Y1 / mu, self.alpha / mu)
            # K (2β Σw I + μ (I − Z)(I − Z)ᵀ) = 2β Σ w_r K_r + (μE − Y1)(I − Z)ᵀ
            rest = identity - Z
            system = mu * rest @ rest.T + 2.0 * beta * weights.sum() * identity
            target = 2.0 * beta * weighted_sum(kernels, weights) + (mu * E - Y1) @ rest.T
            K = non_negative_part(scipy.linalg.solve(system, target.T, assume_a="pos").T)
            Y1 = Y1 + mu * (K - K @ Z - E)
            Y2 = Y2 + mu * (Z - J)
            mu = min(_GROWTH * mu, _LIMIT)

    def _embed(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        W = strongest_part(non_negative_part(np.abs(Z)), _KEPT)
        return W, unit_rows(leading_eigenvectors(W, self.n_clusters))


def _raise_penalty(beta: float, n: int) -> float:
    return beta * max(1.0, n / _SAMPLES)


def equal_weights(kernels: Kernels) -> np.ndarray:
    """Weights of sum one."""
    return np.full(len(kernels), 1.0 / len(kernels))


def weighted_sum(kernels: Kernels, weights: np.ndarray) -> np.ndarray:
    """Σ w_r K_r in double precision."""
    return np.asarray(kernels.combine(weights), dtype=np.float64)


def graph_change(new: np.ndarray, old: np.ndarray) -> float:
    """By what share of itself a graph changed."""
    return float(np.linalg.norm(new - old) / max(float(np.linalg.norm(old)), 1e-300))


def squared_distances(F: np.ndarray) -> np.ndarray:
    """Squared distances among the rows of an embedding."""
    squares = np.square(F).sum(axis=1)
    return np.maximum(squares[:, None] + squares - 2.0 * (F @ F.T), 0.0)


def self_weights(kernels: Kernels, K: np.ndarray) -> np.ndarray:
    """1 / (2 ‖K − K_r‖) for each kernel: one that is near the consensus counts for more.

    With these weights, Σ w_r ‖K − K_r‖² has the gradient of Σ ‖K − K_r‖.
    """
    apart = np.array([np.linalg.norm(kernels.matrix(r) - K) for r in range(len(kernels))])
    return 0.5 / np.maximum(apart, 1e-12 * max(float(np.linalg.norm(K)), 1e-300))


def ridge_graph(K: np.ndarray, target: np.ndarray, ridge: float) -> np.ndarray:
    """The Z of (K + ridge·I) Z = target, its negative entries set to zero, made symmetric.

    The published programs of SMKL and SPC take this in the place of the constrained minimum.
    """
    system = K + ridge * np.eye(len(K))
    try:
        Z = scipy.linalg.solve(system, target, assume_a="pos", check_finite=False)
    except np.linalg.LinAlgError:  # rounding has made a very flat kernel indefinite
        Z = scipy.linalg.solve(system, target, assume_a="sym", check_finite=False)
    return non_negative_part(Z)


def non_negative_part(A: np.ndarray) -> np.ndarray:
    """Negative entries set to zero, then the symmetric part."""
    A = np.maximum(A, 0.0)
    return 0.5 * (A + A.T)


def consensus_kernel(Z: np.ndarray, weighted: np.ndarray, total: float, beta: float) -> np.ndarray:
    """The K that minimises Tr(K − 2KZ + ZᵀKZ) + β Σ w_r ‖K − K_r‖², for a symmetric Z.

    ``weighted`` is Σ w_r K_r, ``total`` Σ w_r.
    """
    pull = 2.0 * Z - Z @ Z.T
    pull[np.diag_indices(len(pull))] -= 1.0
    return (pull / (2.0 * beta) + weighted) / total


def nearest_kernel(A: np.ndarray) -> np.ndarray:
    """The nearest positive semi-definite matrix to a symmetric one."""
    A = 0.5 * (A + A.T)
    try:
        scipy.linalg.cholesky(A, check_finite=False)
        return A
    except np.linalg.LinAlgError:
        values, V = scipy.linalg.eigh(A, check_finite=False)
    return (V * np.maximum(values, 0.0)) @ V.T


def representation_costs(kernels: Kernels, Z: np.ndarray, alpha: float) -> np.ndarray:
    """½ Tr(K_r − 2αK_rZ + ZᵀK_rZ) of each kernel, for a symmetric Z."""
    M = Z @ Z - 2.0 * alpha * Z
    M[np.diag_indices(len(M))] += 1.0
    return np.array([0.5 * float((kernels.matrix(r) * M).sum()) for r in range(len(kernels))])


def root_weights(costs: np.ndarray) -> np.ndarray:
    """(costs_r Σ_s 1/costs_s)⁻²: for positive costs the least Σ w_r costs_r with Σ √w_r = 1."""
    tiny = 1e-12 * max(float(np.abs(costs).max()), 1e-300)
    shares = 1.0 / np.where(np.abs(costs) < tiny, tiny, costs)
    return np.square(shares / shares.sum())


def shrink_singular_values(M: np.ndarray, threshold: float) -> np.ndarray:
    """The minimum of threshold·‖J‖_* + ½‖J − M‖²: singular values lowered, not below zero."""
    # The large ones are all that is wanted, and those MᵀM knows well enough.
    squares, V = scipy.linalg.eigh(M.T @ M, check_finite=False)
    kept = squares > threshold**2
    V = V[:, kept]
    return ((M @ V) * (1.0 - threshold / np.sqrt(squares[kept]))) @ V.T


def shrink_columns(G: np.ndarray, threshold: float) -> np.ndarray:
    """The minimum of threshold·‖E‖_2,1 + ½‖E − G‖²: columns shortened, not below zero."""
    lengths = np.linalg.norm(G, axis=0)
    return G * np.maximum(1.0 - threshold / np.maximum(lengths, threshold), 0.0)


def strongest_part(graph: np.ndarray, share: float) -> np.ndarray:
    """The largest entries of each column that make up a share of its sum, scaled and symmetric.

    The diagonal is left out; what is kept of a column is divided by its largest entry.
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
