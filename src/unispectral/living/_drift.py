"""Drift: clusters whose new samples lie elsewhere than their samples of before."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral.kernels._features import Features

#: New samples that are needed to speak of drift.
_LEAST = 10
#: A shift counts if it is so many times what chance makes of as many samples, and at least this
#: share of the cluster's spread.
_BEYOND_CHANCE, _LEAST_SHIFT = 4.0, 0.5


def measure_drift(
    features: Features, labels: np.ndarray, old: np.ndarray, n_clusters: int
) -> np.ndarray:
    """How far the new samples of each cluster lie from its old ones, in units of its spread.

    The distance of the means over the root mean square distance of old samples from theirs; 0
    where it is no more than chance, or a small part of the spread.

    Parameters
    ----------
    features : Features
        Of n samples.
    labels : int array of shape (n,)
    old : bool array of shape (n,)
        The samples with which the others are compared.
    n_clusters : int

    Examples
    --------
    >>> table = np.concatenate([np.linspace(-1, 1, 50), np.linspace(4, 6, 50)])[:, None]
    >>> old = np.arange(100) < 50
    >>> drift = measure_drift(Features(table), np.zeros(100, dtype=int), old, 1)
    >>> drift.round(1).tolist()
    [8.5]
    """
    mean, square, count = _moments(features, labels, old, n_clusters)
    later, _, more = _moments(features, labels, ~old, n_clusters)
    spread = np.sqrt(np.maximum(square - np.einsum("cd,cd->c", mean, mean), 0.0))
    gap = np.linalg.norm(later - mean, axis=1)
    shift = gap / np.where(spread > 0, spread, np.inf)
    chance = np.sqrt(1.0 / np.maximum(count, 1) + 1.0 / np.maximum(more, 1))
    enough = (count >= _LEAST) & (more >= _LEAST)
    counts = enough & (shift > _BEYOND_CHANCE * chance) & (shift > _LEAST_SHIFT)
    return np.where(counts, shift, 0.0)


def _moments(
    features: Features, labels: np.ndarray, chosen: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mean of some samples of each cluster, their mean squared length, and their number."""
    rows = np.flatnonzero(chosen)
    shape = (n_clusters, features.n_samples)
    group = sp.csr_array((np.ones(len(rows)), (labels[rows], rows)), shape=shape)
    count = np.bincount(labels[rows], minlength=n_clusters).astype(np.float64)
    # A product with the whole table takes no copy of it.
    sums = group @ features.X
    sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
    size = np.maximum(count, 1.0)
    return sums / size[:, None], (group @ features.squared_norms) / size, count
