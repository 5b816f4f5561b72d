"""Kernel k-means: of one kernel or several, with squared distances or robust.

A centre is a weighted mean of the members of its cluster, so a label and a weight per sample say
everything: centre j is Σ_l weights_l φ(x_l) over its members l.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from unispectral._compat import Interval
from unispectral._parameters import count, non_negative, parameter
from unispectral._run import Run
from unispectral.baselines._base import (
    KernelMethod,
    Kernels,
    KernelsMethod,
    Partition,
    alternate,
)

__all__ = ["KKM", "MKKM", "RKKM", "RMKKM"]

#: Squared distances are not taken to be smaller than this when they are divided by.
_FLOOR = np.finfo(np.float64).eps
#: Squared distances below this share of the mean self-similarity count as "on the centre".
_ON_CENTRE = 1e-10
#: Rows of a kernel at a time: single precision is added up in double.
_ROWS = 1_000
#: Iterations of robust kernel k-means within a round of RMKKM.
_INNER = 100


class KKM(KernelMethod):
    """Kernel k-means (Schölkopf, Smola and Müller, Neural Computation 10, 1998, 1299–1319).

    Lloyd's algorithm in the feature space of a kernel: centres are means of the mapped samples,
    each sample goes to its nearest centre. Starts at random samples, keeps the best of ``n_init``.

    Attributes
    ----------
    objective_ : float
        Sum of squared distances to the centres.

    Examples
    --------
    >>> KKM(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [0, 0, 1, 1]
    """

    max_iter: int = count(default=100)

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        found = kernel_kmeans(data, self.n_clusters, run, self.n_init, self.max_iter)
        return found._replace(attributes={})


class RKKM(KernelMethod):
    """Robust (ℓ2,1) kernel k-means (Du et al., IJCAI 2015, 3476–3482).

    Kernel k-means with distances in place of squared distances, so that outliers pull less: each
    centre is the geometric median of its cluster, found by reweighting. A sample that lies on its
    centre is treated by Vardi and Zhang's rule, so that the objective never rises.

    Parameters
    ----------
    tol : float
        A start has converged when no label changes and the objective falls by less than this
        share.

    Attributes
    ----------
    objective_ : float
        Sum of distances to the centres.
    sample_weights_ : ndarray of shape (n_samples,)
        The share of each sample in the centre of its cluster; small for outliers.

    Examples
    --------
    >>> RKKM(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [1, 1, 0, 0]
    """

    max_iter: int = count(default=100)
    tol: float = non_negative(default=1e-5)

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        limits = self.n_init, self.max_iter, self.tol
        return kernel_kmeans(data, self.n_clusters, run, *limits, robust=True)


class Centres(NamedTuple):
    """Centres as the samples see them: ``products`` K a_j as rows, ``norms`` a_jᵀ K a_j."""

    products: np.ndarray
    norms: np.ndarray

    def assign(self) -> tuple[np.ndarray, np.ndarray]:
        """The nearest centre of each sample, and the squared distance to it less K_ii."""
        values = self.norms[:, None] - 2.0 * self.products
        labels = values.argmin(axis=0)
        return labels, values[labels, np.arange(len(labels))]

    def own(self, diagonal: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The squared distance of each sample to the centre of its own cluster."""
        products = self.products[labels, np.arange(len(labels))]
        return np.maximum(diagonal + self.norms[labels] - 2.0 * products, 0.0)


def centres_of(K: np.ndarray, labels: np.ndarray, weights: np.ndarray, n_clusters: int) -> Centres:
    """The centres of the clusters: rows of the kernel, added up."""
    n = len(labels)
    products = np.zeros((n_clusters, n))
    for rows in gen_batches(n, _ROWS):
        ends = np.arange(rows.stop - rows.start + 1)
        members = sp.csc_array((weights[rows], labels[rows], ends), (n_clusters, ends[-1]))
        products += members @ K[rows]
    own = weights * products[labels, np.arange(n)]
    return Centres(products, np.bincount(labels, own, n_clusters))


def mean_weights(labels: np.ndarray) -> np.ndarray:
    """Centres that are plain means."""
    return 1.0 / np.bincount(labels)[labels]


def repair(labels: np.ndarray, distances: np.ndarray, n_clusters: int) -> None:
    """Fill empty clusters with the farthest samples of clusters that can spare one."""
    sizes = np.bincount(labels, minlength=n_clusters)
    left = distances.copy()
    for empty in np.flatnonzero(sizes == 0):
        farthest = int(np.argmax(np.where(sizes[labels] > 1, left, -np.inf)))
        sizes[labels[farthest]] -= 1
        sizes[empty] = 1
        labels[farthest] = empty
        left[farthest] = -np.inf


def robust_weights(
    K: np.ndarray, labels: np.ndarray, squared: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Weights 1/d of a Weiszfeld step, with Vardi and Zhang's rule for samples on the centre.

    Where ``m`` samples of a cluster lie on its centre, the step moves from the centre towards the
    weighted mean of the others by the share 1 − m/r, r the length of the sum of the unit vectors
    from the centre to the others, and not at all if r ≤ m. The sum of distances never rises.
    """
    on_centre = squared <= _ON_CENTRE * np.mean(np.diagonal(K), dtype=np.float64)
    weights = np.where(on_centre, 0.0, 1.0 / np.sqrt(np.where(on_centre, 1.0, squared)))
    pull = np.bincount(labels, weights, n_clusters)
    weights /= np.where(pull > 0.0, pull, 1.0)[labels]
    counts = np.bincount(labels[on_centre], minlength=n_clusters)
    stay = np.where(counts > 0, 1.0, 0.0)
    for j in np.flatnonzero((counts > 0) & (pull > 0.0)):
        members = np.flatnonzero(labels == j)
        centre = members[on_centre[members]][0]
        own = weights[members]
        to_mean = K[np.ix_(members, members)] @ own - 2.0 * K[members, centre]
        length = pull[j] * np.sqrt(max(K[centre, centre] + own @ to_mean, 0.0))
        if length > 0.0:
            stay[j] = min(1.0, counts[j] / length)
        else:
            stay[j] = 1.0
    here = stay / np.maximum(counts, 1)
    return np.where(on_centre, here[labels], (1.0 - stay)[labels] * weights)


def kernel_kmeans(
    K: np.ndarray,
    n_clusters: int,
    run: Run,
    n_init: int,
    max_iter: int = _INNER,
    tol: float = 0.0,
    *,
    robust: bool = False,
) -> Partition:
    """The best of several runs of kernel k-means that start with random samples as centres."""
    K = np.ascontiguousarray(K)
    starts = [run.rng.choice(K.shape[0], n_clusters, replace=False) for _ in range(n_init)]

    def best(block: slice) -> Partition:
        runs = (
            lloyd(K, n_clusters, start, robust=robust, max_iter=max_iter, tol=tol)
            for start in starts[block]
        )
        return min(runs, key=attrgetter("objective"))

    # Threads cost more than runs on few samples take.
    found = run.map_blocks(best, n_init, n_init if K.shape[0] < 500 else 1)
    return min(found, key=attrgetter("objective"))


def lloyd(
    K: np.ndarray, n_clusters: int, start: np.ndarray | Partition, *,
    robust: bool, max_iter: int, tol: float,
) -> Partition:  # fmt: skip
    """Iterate from samples as centres, or from the labels and sample weights of a partition.

    The objective is the sum of squared distances, or of distances where ``robust``.
    """
    diagonal = np.diagonal(K).astype(np.float64)
    if isinstance(start, Partition):
        labels = start.labels
        weights = start.attributes["sample_weights"]
        centres = centres_of(K, labels, weights, n_clusters)
    else:
        labels = np.full(len(K), -1)
        centres = Centres(K[start].astype(np.float64), diagonal[start])
    objective = np.inf
    n_iter = 0
    converged = False
    residual = 0.0
    while n_iter < max_iter and not converged:
        n_iter += 1
        last = labels
        before = objective
        labels, nearest = centres.assign()
        repair(labels, nearest + diagonal, n_clusters)
        own = centres.own(diagonal, labels)
        objective = float((np.sqrt(own) if robust else own).sum())
        if robust:
            weights = robust_weights(K, labels, own, n_clusters)
        else:
            weights = mean_weights(labels)
        centres = centres_of(K, labels, weights, n_clusters)
        residual = float(np.mean(labels != last))
        converged = residual == 0.0
        if robust and converged:
            converged = before - objective <= tol * objective
            if objective > 0.0:
                residual = (before - objective) / objective
            else:
                residual = 0.0
    own = centres.own(diagonal, labels)
    objective = float((np.sqrt(own) if robust else own).sum())
    found = Partition(labels, objective, n_iter, converged, residual)
    return found._replace(attributes={"sample_weights": weights})


class MKKM(KernelsMethod):
    """Multiple kernel k-means (Huang, Chuang and Chen, IEEE Trans. Fuzzy Systems 20, 2012), hard.

    k-means in the feature spaces of several kernels at once. Each kernel has a weight w_r, the
    weights sum to one and enter the distances squared, and a kernel in which the clusters are
    tight gets a large one.

    Parameters
    ----------
    tol : float
        A start ends when the objective changes by less than this share.

    Attributes
    ----------
    objective_ : float
        Σ_r w_r² Σ_i (squared distance of sample i to its centre in kernel r).
    objective_path_ : ndarray of shape (n_steps,)

    Examples
    --------
    >>> model = MKKM(2, kernels=["rbf", "laplacian"]).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.labels_.tolist()
    [1, 1, 0, 0]
    """

    max_iter: int = count(default=100)

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        runs = [self._start(data, run.rng) for _ in range(self.n_init)]
        return min(runs, key=attrgetter("objective"))

    def _start(self, kernels: Kernels, rng: np.random.Generator) -> Partition:
        """One start: weights, then labels, until the objective rests."""
        n = kernels.n_samples
        c = self.n_clusters
        labels = rng.integers(c, size=n)
        repair(labels, np.zeros(n), c)
        path: list[float] = []
        converged = False
        while len(path) < self.max_iter and not converged:
            means = mean_weights(labels)
            costs = kernels.within(labels, means).sum(axis=1)
            weights = inverse_weights(costs)
            path.append(float(weights**2 @ costs))
            labels, nearest = centres_of(kernels.combine(weights**2), labels, means, c).assign()
            repair(labels, nearest + weights**2 @ kernels.diagonals, c)
            if len(path) > 1:
                change = abs(path[-2] - path[-1])
            else:
                change = np.inf
            converged = change <= self.tol * path[-1]
        path.append(float(weights**2 @ kernels.within(labels, mean_weights(labels)).sum(axis=1)))
        if path[-1] > 0.0:
            residual = change / path[-1]
        else:
            residual = 0.0
        attributes = {"kernel_weights": weights, "objective_path": np.array(path)}
        return Partition(labels, path[-1], len(path), converged, residual, attributes)


def inverse_weights(costs: np.ndarray) -> np.ndarray:
    """The weights w ≥ 0, Σ w = 1, that minimise Σ w_r² costs_r: proportional to 1/cost.

    A kernel without cost takes everything; several of them share it.
    """
    free = costs <= 0
    if free.any():
        return free / free.sum()
    inverse = costs.min() / costs
    return inverse / inverse.sum()


class RMKKM(KernelsMethod):
    """Robust multiple kernel k-means (Du et al., IJCAI 2015, 3476–3482).

    Robust kernel k-means on a weighted sum of kernels whose weights are learned: they satisfy
    Σ w_r^γ = 1, and a kernel in which samples lie near their centres gets a large one. Labels,
    centres and weights are updated in turn, each from the last, so that the objective never rises.

    Parameters
    ----------
    gamma : float between 0 and 1
        How evenly the kernels are weighted: near 0 all alike, near 1 only the best.
    n_init : int
        Random starts of robust kernel k-means in the first round.
    tol : float
        The iterations end when the objective falls by less than this share.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
    objective_ : float
        Σ_i √(Σ_r w_r ‖φ_r(x_i) − v_r‖²), v the centre of the cluster of sample i.
    objective_path_ : ndarray of shape (n_steps,)

    Examples
    --------
    >>> model = RMKKM(2, kernels=["rbf", "laplacian"]).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> model.labels_.tolist()
    [1, 1, 0, 0]
    """

    gamma: float = parameter(Interval(Real, 0, 1, closed="neither"), default=0.4)
    max_iter: int = count(default=50)

    def _cluster(self, data: Kernels, run: Run) -> Partition:
        (labels, weights, path), stop = alternate(self._rounds(data, run), self.max_iter, self.tol)
        attributes = {"kernel_weights": weights, "objective_path": np.array(path)}
        return Partition(labels, path[-1], *stop, attributes)

    def _rounds(self, kernels: Kernels, run: Run) -> Iterator[tuple[Any, float]]:
        """Labels and centres, then weights, in turn."""
        c = self.n_clusters
        tol = self.tol
        path = [np.inf]
        weights = np.full(len(kernels), (1.0 / len(kernels)) ** (1.0 / self.gamma))  # Σ w^γ = 1
        K = kernels.combine(weights)
        found = kernel_kmeans(K, c, run, self.n_init, tol=tol, robust=True)
        while True:
            within = kernels.within(found.labels, found.attributes["sample_weights"])
            squared = np.maximum(within, _FLOOR)
            weights = power_weights(squared @ (0.5 / np.sqrt(weights @ squared)), self.gamma)
            path.append(float(np.sqrt(weights @ squared).sum()))
            yield (found.labels, weights, path[1:]), (path[-2] - path[-1]) / path[-1]
            K = kernels.combine(weights)
            found = lloyd(K, c, found, robust=True, max_iter=_INNER, tol=tol)


def power_weights(costs: np.ndarray, gamma: float) -> np.ndarray:
    """The weights w ≥ 0, Σ w^γ = 1, that minimise Σ w_r costs_r.

    They are proportional to ``costs^(1/(γ−1))``; a kernel without cost takes everything.
    """
    free = costs <= 0
    if free.any():
        raw = free.astype(np.float64)
    else:
        raw = (costs / costs.min()) ** (1.0 / (gamma - 1.0))
    return raw / (raw**gamma).sum() ** (1.0 / gamma)
