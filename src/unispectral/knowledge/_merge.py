"""Small pieces of the graph, put together so that known labels agree: merges and splits.

Propagated labels move borders; they cannot tell that one cluster holds two classes, or that two
clusters are one. So the graph is cut into small pieces, those that hold several classes are cut
again between them, and pieces are merged: first those of one class, then those that are joined the
most for their size, but never two classes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral.graph.communities import k_communities
from unispectral.knowledge._spread import spread

#: How many times as many pieces as clusters there are, and no more pieces than this unless there
#: are more clusters.
_PIECES = 6
_MOST_PIECES = 400
#: An edge inside a cluster that was found without labels counts so many times.
_OWN = 3.0


def cut_pieces(W: sp.csr_array, clusters: np.ndarray, count: int) -> np.ndarray:
    """Small communities of the graph, each inside one cluster."""
    n = len(clusters)
    wanted = min(_PIECES * count, n // 3, max(_MOST_PIECES, count))
    if wanted <= count:
        return np.unique(clusters, return_inverse=True)[1]
    fine = k_communities(W, wanted)
    return np.unique(clusters.astype(np.int64) * n + fine, return_inverse=True)[1]


def prefer_own(W: sp.csr_array, clusters: np.ndarray) -> sp.csr_array:
    """The graph with heavier edges inside the clusters that were found without labels."""
    edges = sp.coo_array(W)
    one, other = edges.coords
    data = edges.data * np.where(clusters[one] == clusters[other], _OWN, 1.0)
    return sp.csr_array(sp.coo_array((data, (one, other)), shape=W.shape))


def split_pieces(W: sp.csr_array, pieces: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Pieces of which none holds two classes: samples go with the label that reaches them most.

    Examples
    --------
    >>> W = sp.csr_array(np.array([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0.0]]))
    >>> split_pieces(W, np.zeros(4, int), np.array([0, -1, -1, 1])).tolist()
    [0, 0, 1, 1]
    """
    pieces = pieces.copy()
    rows = np.flatnonzero(labels >= 0)
    following = int(pieces.max()) + 1
    for piece in np.unique(pieces[rows]).tolist():
        classes = np.unique(labels[rows[pieces[rows] == piece]])
        if len(classes) < 2:
            continue
        members = np.flatnonzero(pieces == piece)
        known = np.flatnonzero(labels[members] >= 0)
        sources = np.zeros((len(members), len(classes)))
        sources[known, np.searchsorted(classes, labels[members[known]])] = 1.0
        nearest = spread(sp.csr_array(W[members][:, members]), sources).argmax(axis=1)
        nearest[known] = np.searchsorted(classes, labels[members[known]])
        for at in range(1, len(classes)):
            pieces[members[nearest == at]] = following
            following += 1
    return np.unique(pieces, return_inverse=True)[1]


def merge_pieces(
    W: sp.csr_array, pieces: np.ndarray, labels: np.ndarray, n_classes: int, count: int
) -> np.ndarray:
    """Clusters made of pieces, of which cluster i is class i and the others follow.

    Merged are the two that are joined the most beside the product of their volumes, as in
    Bonald, Charpentier, Galland and Hollocou (2018), until there are ``count`` clusters.

    Examples
    --------
    Four pairs in a row, of which the outer ones are known to be of two classes:

    >>> W = sp.diags_array([np.tile([9.0, 1.0], 4)[:7]], offsets=[1], shape=(8, 8))
    >>> W = sp.csr_array(W + W.T)
    >>> known = np.array([1, -1, -1, -1, -1, -1, -1, 0])
    >>> merge_pieces(W, np.repeat(range(4), 2), known, 2, 2).tolist()
    [1, 1, 1, 1, 0, 0, 0, 0]
    """
    pieces = split_pieces(W, pieces, labels)
    rows = np.flatnonzero(labels >= 0)
    group = np.full(int(pieces.max()) + 1, -1)
    group[pieces[rows]] = labels[rows]
    without = np.flatnonzero(group < 0)
    group[without] = n_classes + np.arange(len(without))
    # Classes of which no sample is known here have no group.
    groups, own = np.unique(group[pieces], return_inverse=True)
    total = len(groups)
    member = sp.csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), (len(own), total))
    between = (member.T @ (W @ member)).toarray()
    is_class = groups < n_classes
    parent = merge_groups(between, np.outer(is_class, is_class), count)
    roots = np.unique(parent)
    number = np.full(total, -1)
    number[groups < n_classes] = groups[groups < n_classes]
    others = roots[groups[roots] >= n_classes]
    free = np.setdiff1d(np.arange(max(count, n_classes + len(others))), number)
    number[others] = free[: len(others)]
    return number[parent[own]]


def merge_groups(between: np.ndarray, apart: np.ndarray, count: int) -> np.ndarray:
    """The group that each ends in, when the most closely joined are merged until few are left.

    Parameters
    ----------
    between : ndarray of shape (m, m)
        The weights of edges between groups, and twice those inside.
    apart : bool array of shape (m, m)
        Which may not be merged, symmetric.
    count : int

    Examples
    --------
    >>> between = np.array([[4.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.0, 1.0, 4.0]])
    >>> merge_groups(between.copy(), np.zeros((3, 3), bool), 2).tolist()
    [0, 0, 2]
    """
    total = len(between)
    volumes = np.maximum(between.sum(axis=1), 1e-300)
    parent = np.arange(total)
    # A group that is gone is apart from all, and each from itself.
    apart = apart | np.eye(total, dtype=bool)
    gain = np.where(apart, -np.inf, between / np.outer(volumes, volumes))
    for _ in range(total - count):
        at = int(gain.argmax())
        one, other = sorted(divmod(at, total))
        if not np.isfinite(gain[one, other]):
            break
        between[one] += between[other]
        between[:, one] += between[:, other]
        volumes[one] += volumes[other]
        parent[parent == other] = one
        apart[one] |= apart[other]
        apart[:, one] = apart[one]
        apart[other] = apart[:, other] = True
        row = np.where(apart[one], -np.inf, between[one] / (volumes[one] * volumes))
        gain[one] = row
        gain[:, one] = row
        gain[other] = -np.inf
        gain[:, other] = -np.inf
    return parent
