"""Self-tuning spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.metrics import pairwise_distances

from unispectral._run import Run
from unispectral.baselines._base import ClusteringMethod, Partition, Stop
from unispectral.baselines._parameters import count
from unispectral.baselines._spectral import leading_eigenvectors

__all__ = ["SelfTuning"]

#: Numbers of clusters whose quality is this close to the best count as equally good.
_EQUAL = 1e-3
#: A step that lowers the cost by a smaller share is the last.
_TOL = 1e-6


class SelfTuning(ClusteringMethod):
    """Self-tuning spectral clustering (Zelnik-Manor and Perona, NIPS 2004, 1601–1608).

    The width of the Gaussian is local: the affinity of two samples is
    ``exp(−d_ij² / (σ_i σ_j))``, σ the distance to the seventh neighbour. The leading eigenvectors
    of the normalised affinity are rotated until each row has one large entry, which is the label;
    how well that can be done tells the number of clusters.

    Parameters
    ----------
    n_clusters : int or None
        The number of clusters; None chooses it, from 2 to ``max_clusters``.
    n_neighbors : int
        The neighbour whose distance is the local scale; 7 throughout the paper.
    max_clusters : int
        The most clusters that are tried if their number is not given.
    max_iter : int
        Steps of a rotation.

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
        counts = range(min(2, most), most + 1) if self.n_clusters is None else [self.n_clusters]
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


def local_scaling(X: Any, n_neighbors: int) -> np.ndarray:
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
    Q, _ = scipy.linalg.polar(vectors[pivots[:c]].T)
    Z = vectors @ Q
    cost, gradient = rotation_cost(Z)
    step, n_iter, residual = 1.0 / max(float(np.linalg.norm(gradient)), 1e-300), 0, np.inf
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
