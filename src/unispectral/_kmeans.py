"""k-means of a small table from many starts, which share all that does not depend on the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

__all__ = ["SMALL", "kmeans"]

#: Up to this many samples all their distances are held, for the starts to choose from.
SMALL = 2_048
_MAX_ITER = 300
_TOL = 1e-4


def kmeans(X: np.ndarray, n_clusters: int, seeds: Iterable[int]) -> Iterator[np.ndarray]:
    """For each seed the labels that scikit-learn's k-means finds from one start with that seed.

    On a small table scikit-learn spends most of its time on checks and on the distances of each
    start anew. Where a cluster runs empty, the run is left to scikit-learn.

    Parameters
    ----------
    X : ndarray of shape (n, d), n at most ``SMALL``
    n_clusters : int
    seeds : ints

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> [labels] = kmeans(X, 2, [0])
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    tol = _TOL * float(np.mean(np.var(X, axis=0)))
    centred = X - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    squared = centred @ centred.T
    squared *= -2.0
    squared += norms[:, None] + norms
    np.maximum(squared, 0.0, out=squared)
    np.fill_diagonal(squared, 0.0)
    for seed in seeds:
        start = centred[_plusplus(squared, n_clusters, np.random.RandomState(seed))]
        labels = _lloyd(centred, start, tol)
        if labels is None:
            labels = KMeans(n_clusters, init=start, n_init=1).fit(centred).labels_
        yield labels


def _plusplus(
    squared: np.ndarray, n_clusters: int, random_state: np.random.RandomState
) -> np.ndarray:
    """k-means++ with several trials at each step, drawing what scikit-learn draws."""
    n = len(squared)
    trials = 2 + int(np.log(n_clusters))
    chosen = np.empty(n_clusters, dtype=np.intp)
    chosen[0] = random_state.choice(n, p=np.full(n, 1.0 / n))
    closest = squared[chosen[0]]
    total = closest.sum()
    for c in range(1, n_clusters):
        drawn = random_state.uniform(size=trials) * total
        candidates = np.minimum(closest.cumsum().searchsorted(drawn), n - 1)
        reached = np.minimum(squared[candidates], closest)
        totals = reached.sum(axis=1)
        best = int(totals.argmin())
        chosen[c], closest, total = candidates[best], reached[best], totals[best]
    return chosen


def _lloyd(X: np.ndarray, centres: np.ndarray, tol: float) -> np.ndarray | None:
    """Lloyd's iterations; None where a cluster runs empty."""
    n, k = len(X), len(centres)
    before = None
    for _ in range(_MAX_ITER):
        labels = _nearest(X, centres)
        sizes = np.bincount(labels, minlength=k)
        if sizes.min() == 0:
            return None
        if before is not None and np.array_equal(labels, before):
            return labels
        members = sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, k))
        moved = (members.T @ X) / sizes[:, None]
        shift = float(((moved - centres) ** 2).sum())
        centres, before = moved, labels
        if shift <= tol:
            break
    return _nearest(X, centres)


def _nearest(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    keys = X @ (-2.0 * centres.T)
    keys += np.einsum("ij,ij->i", centres, centres)
    return keys.argmin(axis=1)
