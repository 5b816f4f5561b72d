"""Labels that are known for a few samples, spread to all.

Each known label is a source on the learned graph; every other sample is a weak source of the
cluster that was found for it without any label, so that labels decide where there are some and
clusters where there are none (Zhou et al., 2004, with the clusters as a prior).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

#: How much of a sample's shares comes from its neighbours, steps, and the change that ends them.
_DAMPING = 0.95
_STEPS = 100
_TOL = 1e-4
#: Strengths of a found cluster beside a known label; infinite takes the clusters as they are.
PRIORS = (0.1, 0.02, np.inf)
#: How little the graph counts for matching clusters with classes beside their common samples.
_BESIDE = 1e-3


def spread(W: sp.csr_array, sources: np.ndarray) -> np.ndarray:
    """The shares of each column of sources that reach the nodes of a graph.

    They solve F = a S F + (1 − a) Y, with S the graph between nodes of degree one.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.1], [0.0, 0.1, 0.0]])
    >>> shares = spread(W, np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))
    >>> shares[1].argmax()
    np.int64(0)
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    S = sp.csr_array(sp.diags_array(root) @ W @ sp.diags_array(root)) * _DAMPING
    start = (1.0 - _DAMPING) * sources
    found = start
    scale = max(float(np.abs(sources).max(initial=0.0)), 1e-300) * (1.0 - _DAMPING)
    for _ in range(_STEPS):
        following = S @ found + start
        change = float(np.abs(following - found).max(initial=0.0))
        found = following
        if change < _TOL * scale:
            break
    return found


def remove_edges(W: sp.csr_array, labels: np.ndarray) -> sp.csr_array:
    """The graph without edges between samples that are known to be of different classes.

    Examples
    --------
    >>> W = sp.csr_array(np.ones((3, 3)) - np.eye(3))
    >>> remove_edges(W, np.array([0, 1, -1])).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    edges = sp.coo_array(W)
    one, other = edges.coords
    apart = (labels[one] >= 0) & (labels[other] >= 0) & (labels[one] != labels[other])
    if not apart.any():
        return W
    kept = ~apart
    found = sp.coo_array((edges.data[kept], (one[kept], other[kept])), shape=W.shape)
    return sp.csr_array(found)


def match_classes(
    W: sp.csr_array, clusters: np.ndarray, labels: np.ndarray, n_classes: int, count: int
) -> np.ndarray:
    """The clusters by the numbers of the classes they match, new ones behind these.

    A class gets the cluster that holds most of its known samples beside the size of the cluster;
    where another class has taken it, that which the graph joins to them most closely. Clusters are
    numbered from 0 to count − 1, of which there may be more than were found.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((2, 2))))
    >>> clusters = np.array([0, 0, 1, 1, 2, 2])
    >>> match_classes(W, clusters, np.array([-1, 1, -1, -1, 0, -1]), 2, 3).tolist()
    [1, 1, 2, 2, 0, 0]
    """
    rows = np.flatnonzero(labels >= 0)
    shared = np.zeros((count, n_classes))
    np.add.at(shared, (clusters[rows], labels[rows]), 1.0)
    sizes = np.maximum(np.bincount(clusters, minlength=count), 1.0)
    shared /= np.sqrt(sizes)[:, None]
    sources = np.zeros((len(labels), n_classes))
    sources[rows, labels[rows]] = 1.0
    reached = np.zeros((count, n_classes))
    np.add.at(reached, clusters, spread(W, sources))
    reached /= np.maximum(reached.sum(axis=0), 1e-300)
    cluster, known = linear_sum_assignment(-(shared + _BESIDE * reached))
    number = np.full(count, -1)
    number[cluster] = known
    free = np.setdiff1d(np.arange(count), known)
    number[number < 0] = free
    return number[clusters]


def complete_labels(
    W: sp.csr_array,
    clusters: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    count: int,
    trust: float,
    prior: float,
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Labels of all samples, and the shares that they are the largest of.

    Classes have the masses that the clusters matched with them have: where few labels are known,
    their numbers say nothing of the sizes.
    """
    n = len(labels)
    matched = match_classes(W, clusters, labels, n_classes, count)
    rows = np.flatnonzero(labels >= 0)
    if np.isinf(prior):
        shares = np.zeros((n, count))
        shares[np.arange(n), matched] = 1.0
    else:
        sources = np.zeros((n, count))
        sources[np.arange(n), matched] = prior
        sources[rows] *= 1.0 - trust
        sources[rows, labels[rows]] += trust
        shares = spread(remove_edges(W, labels) if trust >= 1.0 else W, sources)
        masses = np.bincount(matched, weights, count)
        scale = np.divide(masses, shares.sum(axis=0), out=np.ones(count), where=masses > 0)
        shares = shares * scale
        # A sample that nothing reaches stays in its cluster.
        alone = shares.sum(axis=1) <= 0
        shares[alone, matched[alone]] = 1.0
    total = np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    shares = shares / total
    found = shares.argmax(axis=1)
    if trust >= 1.0:
        found[rows] = labels[rows]
    return found, shares
