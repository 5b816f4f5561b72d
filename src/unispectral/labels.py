"""The Q- and F-steps: rotate the embedding towards one-hot rows and read the labels off."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import one_hot, orthogonal_factor

__all__ = [
    "Rotation",
    "agree_with",
    "assign",
    "fill_empty",
    "label_shares",
    "memberships",
    "order_of_appearance",
    "procrustes",
    "rotate",
    "smooth_shares",
]


#: By this share the largest membership is larger than one that would be the same.
_MORE = 1e-6
#: Rows that are summed up together, in double precision.
_ROWS = 65_536
#: Steps that every start of a rotation is given.
_TRIAL = 8


class Rotation(NamedTuple):
    """A rotation, the labels it gives, and Σᵢ maxⱼ (PQ)ᵢⱼ, which it makes large."""

    Q: np.ndarray
    labels: np.ndarray
    value: float


def procrustes(P: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The Q-step: the orthogonal Q that minimises ‖F − PQ‖².

    With PᵀF = U S Vᵀ it is Q = U Vᵀ. (The paper's text takes the decomposition of FᵀP, which
    would give the transpose; its authors' program takes this one.)

    Examples
    --------
    >>> procrustes(np.eye(2), np.array([1, 0])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    M = np.zeros((P.shape[1], P.shape[1]))
    for start in range(0, len(P), _ROWS):
        rows = slice(start, start + _ROWS)
        some = P[rows].astype(np.float64, copy=False)
        M += one_hot(labels[rows], P.shape[1]).T @ some
    return orthogonal_factor(M.T)


def assign(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """The F-step: each sample goes to the largest entry of its row of PQ."""
    return np.argmax(P @ Q, axis=1)


def _alternate(P: np.ndarray, Q: np.ndarray, max_iter: int) -> Rotation:
    """Alternate F- and Q-steps until the labels stay; Σᵢ maxⱼ (PQ)ᵢⱼ never falls."""
    labels = assign(P, Q)
    for _ in range(max_iter):
        Q = procrustes(P, labels)
        moved = assign(P, Q)
        if np.array_equal(moved, labels):
            break
        labels = moved
    scores = P @ Q
    return Rotation(Q, labels, float(scores[np.arange(len(P)), labels].sum()))


def _spread_rows(P: np.ndarray, first: int) -> np.ndarray:
    """Yu and Shi's start: rows of P as orthogonal to each other as can be, beginning at one."""
    c = P.shape[1]
    norms = np.linalg.norm(P, axis=1)
    unit = P / np.where(norms > 0, norms, 1)[:, None]
    R = np.zeros((c, c))
    R[:, 0] = unit[first]
    closeness = np.where(norms > 0, 0.0, np.inf)
    for k in range(1, c):
        closeness = closeness + np.abs(unit @ R[:, k - 1])
        R[:, k] = unit[np.argmin(closeness)]
    return orthogonal_factor(R)


def rotate(
    P: np.ndarray,
    *,
    start: np.ndarray | None = None,
    n_init: int = 10,
    max_iter: int = 100,
    rng: np.random.Generator | None = None,
) -> Rotation:
    """Minimise ‖F − PQ‖² over rotations Q and one-hot F (Yu and Shi, 2003).

    ``start`` is a rotation to improve; without one, ``n_init`` spread-out starts are tried, whose
    first rows ``rng`` draws.

    Examples
    --------
    >>> P = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> found = rotate(P, rng=np.random.default_rng(0))
    >>> bool(found.labels[0] == found.labels[1] != found.labels[2])
    True
    """
    if start is not None:
        return _alternate(P, start, max_iter)
    rng = rng or np.random.default_rng(0)
    norms = np.linalg.norm(P, axis=1)
    usable = np.flatnonzero(norms > 0)
    if not len(usable):
        usable = np.arange(len(P))
    firsts = rng.choice(usable, size=min(n_init, len(usable)), replace=False)
    # Every start goes a few steps; only the best of them goes all the way.
    best: Rotation | None = None
    for first in firsts:
        found = _alternate(P, _spread_rows(P, first), _TRIAL)
        if best is None or found.value > best.value:
            best = found
    assert best is not None, "there is at least one start"
    return _alternate(P, best.Q, max_iter)


def fill_empty(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Give every cluster at least one sample.

    An empty cluster takes the sample that loses least by moving there, from a cluster that can
    spare one.

    Examples
    --------
    >>> fill_empty(np.array([[1.0, 0.2], [1.0, 0.9]]), np.array([0, 0])).tolist()
    [0, 1]
    """
    n, c = scores.shape
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=c)
    for cluster in np.flatnonzero(sizes == 0):
        loss = scores[np.arange(n), labels] - scores[:, cluster]
        loss[sizes[labels] < 2] = np.inf
        sample = int(np.argmin(loss))
        sizes[labels[sample]] -= 1
        labels[sample] = cluster
        sizes[cluster] = 1
    return labels


def order_of_appearance(labels: np.ndarray) -> np.ndarray:
    """The clusters in the order in which samples show them: a name that no rotation changes.

    Examples
    --------
    >>> order_of_appearance(np.array([2, 2, 0, 1])).tolist()
    [2, 0, 1]
    """
    clusters, first = np.unique(labels, return_index=True)
    return clusters[np.argsort(first)]


def memberships(scores: np.ndarray) -> np.ndarray:
    """Membership strengths from PQ: each row's positive parts, scaled to sum to one.

    Examples
    --------
    >>> memberships(np.array([[3.0, 1.0], [-1.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    positive = np.maximum(scores, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1), 1.0 / scores.shape[1])


def agree_with(membership: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Memberships of which those in the clusters of the labels are the largest.

    Examples
    --------
    >>> found = agree_with(np.array([[0.7, 0.3], [0.6, 0.4]]), np.array([0, 1]))
    >>> found.round(3).tolist(), found.argmax(axis=1).tolist()
    ([[0.7, 0.3], [0.5, 0.5]], [0, 1])
    """
    rows = np.flatnonzero(membership.argmax(axis=1) != labels)
    if not len(rows):
        return membership
    membership = membership.copy()
    some = membership[rows]
    some[np.arange(len(rows)), labels[rows]] = (1.0 + _MORE) * some.max(axis=1)
    membership[rows] = some / some.sum(axis=1, keepdims=True)
    return membership


def label_shares(W: sp.csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Membership strengths from a graph: the share of each cluster in a sample's edges.

    They have the precision of the graph: of many samples they take more memory than this.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 3.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> label_shares(W, np.array([0, 0, 1]), 2).tolist()
    [[0.75, 0.25], [1.0, 0.0], [1.0, 0.0]]
    """
    shares = (W @ one_hot(labels, n_clusters, W.dtype)).toarray()
    total = shares.sum(axis=1, keepdims=True)
    shares /= np.where(total > 0, total, 1)
    shares[total[:, 0] <= 0] = 1.0 / n_clusters
    return shares


def smooth_shares(W: sp.csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The shares of clusters in a sample's edges, and in those of its neighbours, half each.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 3.0, 1.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> smooth_shares(W, np.array([0, 0, 1]), 2).tolist()
    [[0.875, 0.125], [0.875, 0.125], [0.875, 0.125]]
    """
    shares = label_shares(W, labels, n_clusters)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    mean = (W @ shares) / np.where(degrees > 0, degrees, 1.0)[:, None]
    return np.where(degrees[:, None] > 0, 0.5 * (shares + mean), shares)
