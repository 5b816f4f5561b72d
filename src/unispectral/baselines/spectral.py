"""Spectral clustering of a kernel, two sparse graphs, local scales: SC, SSR, TSEP, SelfTuning."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from unispectral._arrays import orthogonal_factor
from unispectral._parameters import count, non_negative, parameter
from unispectral._run import Run
from unispectral.baselines._base import (
    ClusteringMethod,
    KernelMethod,
    Partition,
    RestartedMethod,
    Stop,
)
from unispectral.baselines._spectral import (
    laplacian_eigenvectors,
    leading_eigenvectors,
    unit_rows,
)
from unispectral.graph import codes
from unispectral.kernels._features import Features
from unispectral.spectrum import affinity
from unispectral.spectrum._eigen import smallest_eigenvectors

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

__all__ = ["SC", "SSR", "TSEP", "SelfTuning"]

#: Samples per block: enough work for a thread, few enough for an interrupt.
_BLOCK = 32
#: Numbers of clusters whose quality is this close to the best count as equally good.
_EQUAL = 1e-3
#: The relative gap to the optimum at which a code of SSR is exact enough.
_GAP = 1e-8
#: A step that lowers the cost by a smaller share is the last.
_TOL = 1e-6


class SC(KernelMethod):
    """Spectral clustering (Ng, Jordan and Weiss, NIPS 2001), as the paper's comparison ran it.

    The kernel itself is the affinity. The rows of the smallest eigenvectors of its unnormalised
    Laplacian are scaled to unit length and clustered by k-means.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the eigenvectors.
    eigenvalues_ : ndarray of shape (n_clusters,)

    Examples
    --------
    >>> SC(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [0, 0, 1, 1]
    """

    _definite = False

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        values, vectors = laplacian_eigenvectors(data, self.n_clusters)
        return self._kmeans(unit_rows(vectors), run, eigenvalues=values)


class _SparseGraphMethod(RestartedMethod):
    """A method that clusters the smallest eigenvectors of a sparse graph.

    Attributes
    ----------
    graph_ : CSR array of shape (n_samples, n_samples)
        Row i is the code of sample i.
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the smallest eigenvectors of the unnormalised Laplacian.
    """

    n_jobs: int | None = parameter(Integral, default=None)

    def _cut(self, graph: sp.csr_array, run: Run, **attributes: Any) -> Partition:
        W = affinity(graph)
        found = smallest_eigenvectors(W, self.n_clusters, normalized=False, tol=1e-8, run=run)
        attributes |= {"graph": graph, "affinity_matrix": W}
        return self._kmeans(unit_rows(found.vectors), run, **attributes)


class SSR(_SparseGraphMethod):
    """Simplex sparse representation (Huang, Nie and Huang, IJCAI 2015, 3569–3575).

    Each sample is approximated by a convex combination of the others, ``min ‖x_i − Xᵀa‖²`` with
    a ≥ 0, Σ a = 1 and a_i = 0. There is no parameter to tune and the solution is sparse. The
    coefficients, made symmetric, are the graph of a spectral clustering.

    Attributes
    ----------
    kkt_gap_ : float
        The largest violation of the conditions of optimality: for y = Σ a_j (x_j − x_i), by how
        much some y·(x_j − x_i) is below ‖y‖², as a share of the mean squared distance to the
        other samples.

    Examples
    --------
    >>> SSR(2).fit_predict([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def _cluster(self, data: object, run: Run) -> Partition:
        graph, gap = simplex_codes(data, run)
        return self._cut(graph, run, kkt_gap=gap)


class TSEP(KernelMethod, _SparseGraphMethod):
    """Three separate steps (Kang, Peng, Cheng and Xu, AAAI 2018): graph, eigenvectors, k-means.

    The paper's own model without its coupling: the graph is learned as non-negative sparse codes
    in kernel space, then its smallest eigenvectors are found, then k-means gives the labels, and
    nothing is fed back.

    Parameters
    ----------
    alpha : float
        The penalty of a coefficient: the larger, the sparser the graph.

    Examples
    --------
    >>> TSEP(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [0, 0, 1, 1]
    """

    alpha: float = non_negative(default=0.1)
    n_init: int = count(default=20)

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        return self._cut(codes(data, float(self.alpha), run=run).matrix, run)


def simplex_codes(X: Table, run: Run) -> tuple[sp.csr_array, float]:
    """The convex combination of the other samples that is nearest to each sample.

    Returns the codes, row i that of sample i, and their largest relative gap. The matrix of dot
    products is formed once; nothing larger than n × n is.
    """
    from unispectral.baselines import _simplex

    if not sp.issparse(X):
        # Only differences matter: about the mean, dot products lose fewer digits.
        X = np.asarray(X, dtype=np.float64)
        X = X - X.mean(axis=0)
    G = np.ascontiguousarray(Features(X.astype(np.float64)).keep_gram(run))

    def work(rows: slice) -> list[tuple[np.ndarray, np.ndarray, float]]:
        return [_simplex.simplex_code(G, i, _GAP) for i in range(rows.start, rows.stop)]

    found = [code for part in run.map_blocks(work, G.shape[0], _BLOCK) for code in part]
    support, values, gaps = zip(*found, strict=True)
    indptr = np.cumsum([0, *map(len, support)])
    matrix = sp.csr_array((np.concatenate(values), np.concatenate(support), indptr), shape=G.shape)
    matrix.sort_indices()
    return matrix, float(max(gaps))


class SelfTuning(ClusteringMethod):
    """Self-tuning spectral clustering (Zelnik-Manor and Perona, NIPS 2004, 1601–1608).

    The width of the Gaussian is local: the affinity of two samples is
    ``exp(−d_ij² / (σ_i σ_j))``, σ the distance to the seventh neighbour. The leading eigenvectors
    of the normalised affinity are rotated until each row has one large entry, which is the label;
    how well that can be done tells the number of clusters.

    Notes
    -----
    Checked against the authors' demonstration program: the seventh neighbour (half of 15), a
    diagonal of zero, the quality of a number of clusters and the choice of the largest within
    0.001 of the best. It centres and scales the table first, which does not change the affinity.
    It descends over the angles of plane rotations, here over the rotations as matrices.

    Parameters
    ----------
    n_clusters : int or None
        The number of clusters; None chooses it, from 2 to ``max_clusters``.
    n_neighbors : int
        The neighbour whose distance is the local scale; 7 throughout the paper.
    max_clusters : int
        The most clusters that are tried if their number is not given.

    Attributes
    ----------
    n_clusters_ : int
    affinity_matrix_ : ndarray of shape (n_samples, n_samples)
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The rotated eigenvectors, one column for each cluster.
    counts_ : ndarray of shape (n_tried,)
        The numbers of clusters that were tried.
    qualities_ : ndarray of shape (n_tried,)
        1 − (cost / n_samples − 1) / n_clusters of each. The largest number within 0.001 of the
        best is taken.
    objective_ : float
        The cost Σ_ij z_ij² / max_j z_ij², at least n_samples.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = SelfTuning(None, max_clusters=6).fit(X)
    >>> model.n_clusters_
    3
    """

    n_clusters: int | None = count(None, default=8, kw_only=False)
    n_neighbors: int = count(default=7)
    max_clusters: int = count(default=10)
    max_iter: int = count(default=200)

    def _cluster(self, data: Any, run: Run) -> Partition:
        n = data.shape[0]
        W = local_scaling(data, self.n_neighbors)
        most = min(self.max_clusters, n)
        if self.n_clusters is None:
            counts = list(range(min(2, most), most + 1))
        else:
            counts = [self.n_clusters]
        vectors = leading_eigenvectors(W, max(counts))
        tried = [align(vectors[:, :c], self.max_iter) for c in counts]
        costs = np.array([cost for _, cost, _ in tried]) / n
        qualities = 1.0 - (costs - 1.0) / np.array(counts)
        best = int(np.flatnonzero(qualities >= qualities.max() - _EQUAL)[-1])
        rows, cost, stop = tried[best]
        labels = np.argmax(np.square(rows), axis=1)
        attributes = {
            "n_clusters": counts[best],
            "affinity_matrix": W,
            "embedding": rows,
            "counts": np.array(counts),
            "qualities": qualities,
        }
        return Partition(labels, cost, *stop, attributes)


def local_scaling(X: Table, n_neighbors: int) -> np.ndarray:
    """exp(−d_ij² / (σ_i σ_j)) with a diagonal of zero, σ_i the distance to the k-th neighbour."""
    distances = pairwise_distances(X.astype(np.float64))
    k = min(n_neighbors, len(distances) - 1)
    scales = np.partition(distances, k, axis=1)[:, k]  # the sample itself is the first
    # Copies of a sample have no scale of their own: the smallest one there is.
    positive = distances[distances > 0.0]
    scales = np.maximum(scales, positive.min() if positive.size else 1.0)
    W = np.exp(-((distances / scales) * (distances / scales[:, None])))
    W = 0.5 * (W + W.T)
    np.fill_diagonal(W, 0.0)
    return W


def rotation_cost(Z: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ_ij z_ij² / max_j z_ij² and its gradient in Z; a row of zeros costs one."""
    rows = np.arange(len(Z))
    top = np.argmax(np.abs(Z), axis=1)
    peaks = Z[rows, top]
    safe = np.where(peaks == 0.0, 1.0, peaks)
    ratios = Z / safe[:, None]
    gradient = 2.0 * ratios / safe[:, None]
    excess = np.square(ratios).sum(axis=1) - np.where(peaks == 0.0, 0.0, 1.0)
    gradient[rows, top] = -2.0 * excess / safe
    return float(excess.sum() + len(Z)), gradient


def align(vectors: np.ndarray, max_iter: int) -> tuple[np.ndarray, float, Stop]:
    """Rotate eigenvectors so that :func:`rotation_cost` is small: descent over the rotations.

    Returns the rotated eigenvectors, their cost, and where the steps ended.
    """
    c = vectors.shape[1]
    _, _, pivots = scipy.linalg.qr(vectors.T, mode="economic", pivoting=True)
    Z = vectors @ orthogonal_factor(vectors[pivots[:c]].T)
    cost, gradient = rotation_cost(Z)
    step = 1.0 / max(float(np.linalg.norm(gradient)), 1e-300)
    n_iter = 0
    residual = np.inf
    while n_iter < max_iter and residual > _TOL:
        n_iter += 1
        slope = Z.T @ gradient
        slope = slope - slope.T
        residual = 0.0
        for _ in range(30):
            turned = Z @ scipy.linalg.expm(-step * slope)
            found = rotation_cost(turned)
            if found[0] < cost - 0.25e-4 * step * float(np.square(slope).sum()):
                residual = (cost - found[0]) / cost
                Z, (cost, gradient) = turned, found
                step *= 2.0
                break
            step *= 0.5
    return Z, cost, Stop(n_iter, residual <= _TOL, residual)
