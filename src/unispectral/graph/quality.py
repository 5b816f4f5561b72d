"""How well a clustering fits a graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit

__all__ = ["modularity", "normalized_cut"]


def modularity(W: sp.csr_array, labels: np.ndarray) -> float:
    """How much more of the graph's weight lies inside clusters than chance would put there.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> modularity(W, np.array([0, 0, 1, 1]))
    0.5
    """
    inside, volumes = _inside_and_volumes(W, labels)
    total = float(volumes.sum())
    if total <= 0:
        return 0.0
    return float(inside.sum() / total - np.sum((volumes / total) ** 2))


def normalized_cut(W: sp.csr_array, labels: np.ndarray) -> float:
    """The mean share of a cluster's weight that leaves it.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    >>> normalized_cut(W, np.array([0, 0, 1, 1]))
    0.0
    """
    inside, volumes = _inside_and_volumes(W, labels)
    used = volumes > 0
    if not used.any():
        return 1.0
    return float(np.mean(1.0 - inside[used] / volumes[used]))


def _inside_and_volumes(W: sp.csr_array, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight inside each cluster, and of all edges that touch it."""
    found = np.zeros((2, int(labels.max()) + 1))
    _add_up(W.indptr, W.indices, W.data, labels, found[0], found[1])
    return found[0], found[1]


@njit(cache=True, nogil=True)
def _add_up(indptr, indices, data, labels, inside, volumes):
    for i in range(len(indptr) - 1):
        own, within, degree = labels[i], 0.0, 0.0
        for p in range(indptr[i], indptr[i + 1]):
            degree += data[p]
            if labels[indices[p]] == own:
                within += data[p]
        inside[own] += within
        volumes[own] += degree
