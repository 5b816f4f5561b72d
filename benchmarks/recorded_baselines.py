"""The comparison methods as the published record ran them, random number by random number.

The record (Du et al., IJCAI 2015) has quirks that the estimators of :mod:`unispectral.baselines`
do not share; here they are followed, so that the recorded figures come out again. Every recorded
experiment starts MATLAB's default generator anew and draws all its repeats from that one stream.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unispectral._errors import InputError, InputTypeError
from unispectral.baselines._base import Kernels, Partition
from unispectral.baselines.aggregation import coefficients_at
from unispectral.baselines.kernel_kmeans import (
    Centres,
    centres_of,
    inverse_weights,
    mean_weights,
    power_weights,
)
from unispectral.kernels import KernelBank

__all__ = ["METHODS", "SINGLE", "RecordedStream"]

#: The methods that have a record: of one kernel, and of several.
SINGLE, SEVERAL = ("KKM", "RKKM", "SC"), ("MKKM", "AASC", "RMKKM")
METHODS = (*SINGLE, *SEVERAL)
#: The seed with which MATLAB starts its Mersenne twister.
SEED = 5489
#: Random starts of k-means on eigenvectors, and of robust kernel k-means in a round of RMKKM.
STARTS = 10
#: Rounds of labels and weights of RMKKM.
ROUNDS = 50


class RecordedStream:
    """The random numbers of the recorded runs, in the order in which MATLAB consumed them.

    Parameters
    ----------
    random_state : None, int or RandomState
        ``None`` starts the stream where every recorded experiment starts; a ``RandomState`` is
        continued, as the recorded repeats continue one stream.

    Examples
    --------
    >>> RecordedStream().distinct(100, 3).tolist()
    [90, 81, 12]
    """

    def __init__(self, random_state: Any = None) -> None:
        if isinstance(random_state, np.random.Generator):
            raise InputError(
                "random_state",
                "cannot replay the recorded stream",
                "give None, a whole number or a numpy RandomState",
                value=random_state,
            )
        if not isinstance(random_state, np.random.RandomState):
            random_state = np.random.RandomState(SEED if random_state is None else random_state)
        self.state: np.random.RandomState = random_state

    def uniform(self, rows: int, columns: int) -> np.ndarray:
        """A matrix of uniforms, filled column by column."""
        return self.state.random_sample(rows * columns).reshape(columns, rows).T

    def distinct(self, n: int, k: int) -> np.ndarray:
        """``k`` different numbers below ``n``."""
        if 4 * k > n:
            return np.argsort(self.state.random_sample(n), kind="stable")[:k]
        taken = np.zeros(n, dtype=bool)
        while (missing := k - int(taken.sum())) > 0:
            taken[np.floor(n * self.state.random_sample(missing)).astype(np.intp)] = True
        order = np.argsort(self.state.random_sample(k), kind="stable")
        return np.flatnonzero(taken)[order]

    def labels(self, n: int, k: int) -> np.ndarray:
        """``n`` labels below ``k``."""
        return self.uniform(n, k).argmax(axis=1)


def kernels_for(method: str, kernels: Any) -> Any:
    """What a method takes: a matrix, or the kernels of a bank."""
    if method not in METHODS:
        raise InputError("method", "has no record", f"use {', '.join(METHODS)}", value=method)
    if method not in SINGLE:
        bank = kernels if isinstance(kernels, KernelBank) else KernelBank.from_matrices(kernels)
        return Kernels(bank)
    if isinstance(kernels, KernelBank):
        raise InputTypeError("kernels", f"is a bank, but {method} takes one", "use bank.matrix(r)")
    return np.ascontiguousarray(kernels)


def kernel_kmeans(
    K: np.ndarray,
    n_clusters: int,
    stream: RecordedStream,
    *,
    robust: bool,
    n_init: int = 1,
    max_iter: int = 100,
) -> Partition:
    """KKM, or RKKM where ``robust``: the start of the smallest sum of *unsquared* distances."""
    starts = [stream.distinct(K.shape[0], n_clusters) for _ in range(n_init)]
    return min((_lloyd(K, s, robust, max_iter) for s in starts), key=attrgetter("objective"))


def _lloyd(K: np.ndarray, start: np.ndarray, robust: bool, max_iter: int) -> Partition:
    n_clusters, diagonal = len(start), np.diagonal(K).astype(np.float64)
    centres = Centres(K[start].astype(np.float64), diagonal[start])
    labels, n_iter, last = np.full(len(K), -1), 0, np.empty(0, dtype=np.int64)
    while n_iter < max_iter and not np.array_equal(labels, last):
        n_iter, last = n_iter + 1, labels
        labels, nearest = centres.assign()
        nearest += diagonal
        repaired = _repair(labels, nearest, n_clusters)
        objective = _objective(centres, diagonal, labels)
        if robust:  # after a repair the record adds K_ii a second time
            squared = nearest + diagonal if repaired else nearest
            weights = _robust_weights(labels, squared, n_clusters)
        else:
            weights = mean_weights(labels)
        centres = centres_of(K, labels, weights, n_clusters)
    if n_iter == max_iter:
        objective = _objective(centres, diagonal, labels)
    return Partition(labels, objective, n_iter, True, attributes={"sample_weights": weights})


def _objective(centres: Centres, diagonal: np.ndarray, labels: np.ndarray) -> float:
    """The sum of the distances to the centres."""
    return float(np.sqrt(centres.own(diagonal, labels)).sum())


def _repair(labels: np.ndarray, distances: np.ndarray, n_clusters: int) -> bool:
    """Fill empty clusters with the farthest samples, even if that empties theirs."""
    missing = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if len(missing):
        labels[np.argsort(-distances, kind="stable")[: len(missing)]] = missing
    return len(missing) > 0


def _robust_weights(labels: np.ndarray, squared: np.ndarray, n_clusters: int) -> np.ndarray:
    """Weights 1/(2d); a sample on its centre gets the mean weight of the others."""
    far = squared >= 1e-10
    weights = np.ones(len(labels))
    weights[far] = 0.5 / np.sqrt(squared[far])
    if far.any():
        weights[~far] = weights[far].mean()
    weights /= weights.max()
    return weights / np.bincount(labels, weights, n_clusters)[labels]


def kmeans(
    rows: np.ndarray,
    n_clusters: int,
    stream: RecordedStream,
    *,
    n_init: int = STARTS,
    max_iter: int = 1000,
) -> Partition:
    """k-means from random rows, the start of the smallest sum of *unsquared* distances."""
    X = np.ascontiguousarray(rows, dtype=np.float64)
    runs = []
    for _ in range(n_init):
        centres = X[stream.distinct(X.shape[0], n_clusters)]
        runs.append(_euclidean_lloyd(X, centres, max_iter))
    return min(runs, key=attrgetter("objective"))


def _euclidean_lloyd(X: np.ndarray, centres: np.ndarray, max_iter: int) -> Partition:
    n, n_clusters = X.shape[0], len(centres)
    squares = np.einsum("ij,ij->i", X, X)
    labels, n_iter, last = np.full(n, -1), 0, np.empty(0, dtype=np.int64)
    while n_iter < max_iter and not np.array_equal(labels, last):
        n_iter, last = n_iter + 1, labels
        seen = Centres(centres @ X.T, np.einsum("ij,ij->i", centres, centres))
        labels, nearest = seen.assign()
        _repair(labels, nearest + squares, n_clusters)
        objective = _objective(seen, squares, labels)
        members = sp.csr_array((np.ones(n), (labels, np.arange(n))), shape=(n_clusters, n))
        centres = members @ X / np.maximum(members.sum(axis=1), 1.0)[:, None]
    if n_iter == max_iter:
        seen = Centres(centres @ X.T, np.einsum("ij,ij->i", centres, centres))
        objective = _objective(seen, squares, labels)
    return Partition(labels, objective, n_iter, True)


def mkkm(kernels: Kernels, n_clusters: int, stream: RecordedStream) -> Partition:
    """MKKM: no repair, and an objective that belongs to the labels before the last assignment."""
    labels = np.ascontiguousarray(stream.labels(kernels.n_samples, n_clusters), dtype=np.int64)
    n_iter, last, objective = 0, 0.0, np.inf
    while n_iter < 100 and abs(last - objective) > 1e-5:
        n_iter += 1
        means = mean_weights(labels)
        costs = kernels.within(labels, means).sum(axis=1)
        weights = inverse_weights(costs)
        last, objective = objective, float(weights**2 @ costs)
        K = kernels.combine(weights**2)
        labels, _ = centres_of(K, labels, means, n_clusters).assign()
    return Partition(labels, objective, n_iter, True, attributes={"kernel_weights": weights})


def rmkkm(kernels: Kernels, n_clusters: int, stream: RecordedStream, gamma: float) -> Partition:
    """RMKKM: always fifty rounds, each from new random starts, from weights of sum one."""
    weights = np.full(len(kernels), 1.0 / len(kernels))
    stream.distinct(kernels.n_samples, n_clusters)  # drawn there, and not used
    for _ in range(ROUNDS):
        K = kernels.combine(weights)
        found = kernel_kmeans(K, n_clusters, stream, robust=True, n_init=STARTS, max_iter=30)
        squared = kernels.within(found.labels, found.attributes["sample_weights"])
        squared = np.maximum(squared, np.finfo(np.float64).eps)
        weights = power_weights(squared @ (0.5 / np.sqrt(weights @ squared)), gamma)
    objective = float(np.sqrt(weights @ squared).sum())
    return Partition(found.labels, objective, ROUNDS, True, attributes={"kernel_weights": weights})


def eigenvectors(W: np.ndarray, n_vectors: int) -> np.ndarray:
    """The smallest eigenvectors of the Laplacian, cut from all of them as the record did.

    LAPACK takes another way to some of them, and k-means near a tie may see the last digits.
    """
    L = -np.asarray(W, dtype=np.float64)
    L[np.diag_indices(len(L))] += W.sum(axis=1, dtype=np.float64)
    vectors = scipy.linalg.eigh(L, driver="evr", overwrite_a=True, check_finite=False)[1]
    return vectors[:, :n_vectors]


def aasc_vectors(kernels: Kernels, n_clusters: int, root: float) -> np.ndarray:
    """AASC's embedding: at most twenty rounds, negative similarities kept."""
    degrees = np.stack([kernels.matrix(r).sum(axis=1, dtype=float) for r in range(len(kernels))])
    v = np.full(len(kernels), 1.0 / len(kernels))
    last: Any = np.inf
    for _ in range(20):
        found = eigenvectors(kernels.combine(v**2), max(n_clusters, 2))
        vectors = found[:, :n_clusters]
        if ((np.abs(vectors) - np.abs(last)) ** 2).sum() < 1e-5:
            break
        last, g = vectors, found[:, 1]
        alpha = degrees @ g**2
        inner = np.array([g @ (kernels.matrix(r) @ g) for r in range(len(kernels))])
        v = coefficients_at(alpha, alpha - inner, root)
    return vectors
