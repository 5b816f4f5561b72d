"""How well a clustering fits a graph."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

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
    from unispectral.graph._loops import add_up

    found = np.zeros((2, int(labels.max()) + 1))
    labels = labels.astype(np.intp, copy=False)  # compiled once, whatever their type
    add_up(W.indptr, W.indices, W.data, labels, found[0], found[1])
    return found[0], found[1]
