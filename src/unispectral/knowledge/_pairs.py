"""Labels that obey pairs, and whether the graph with the pairs in it is better clustered anew.

Pairs merge and split clusters where they outweigh the graph. Then samples with a pair go where
the pairs allow it, and all others stay: answers about single samples say little of the rest. Many
pairs may say that the clusters are other ones altogether; whether they do is tried with some of
the pairs hidden, as for known labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans

from unispectral._run import Run, one_thread
from unispectral.knowledge._correct import correct_by_links
from unispectral.knowledge._links import add_links, assign_units
from unispectral.knowledge._read import Links
from unispectral.labels import smooth_shares
from unispectral.spectrum import affinity, smallest_eigenvectors

#: Pairs are hidden in so many parts, one after the other; fewer pairs than these say nothing.
_FOLDS = 5
_LEAST_PAIRS = 100
#: By how large a share of the pairs fewer hidden ones must be broken by new clusters.
_MARGIN = 0.04
#: The least share of a sample's neighbours that a cluster is given.
_LEAST_SHARE = 1e-9
#: The most samples whose graph is embedded again with the links in it.
_EMBEDDED_SAMPLES = 20_000


class _Pairs(NamedTuple):
    """Pairs that belong together, a chain for each group, and pairs that do not."""

    together: np.ndarray
    apart: np.ndarray

    def count_broken(self, labels: np.ndarray) -> int:
        one, other = labels[self.together].T
        left, right = labels[self.apart].T
        return int((one != other).sum() + (left == right).sum())


def obey_links(
    Z: sp.csr_array, clusters: np.ndarray, count: int, links: Links, fixed: np.ndarray, run: Run
) -> tuple[np.ndarray, np.ndarray]:
    """Labels that obey the links, and the pairs that share a cluster against them.

    Parameters
    ----------
    Z : CSR array of shape (n, n)
        Codes before the links are added.
    clusters : int array of shape (n,)
        Found without links.
    count : int
    links : Links
    fixed : int array of shape (n,)
        Labels that are known, −1 for the others. The clusters stay where there are any.
    run : Run
    """
    W = affinity(Z)
    if (fixed < 0).all() and len(clusters) <= _EMBEDDED_SAMPLES:
        if _shall_renew(Z, clusters, count, links, run):
            clusters = _cluster_again(affinity(add_links(Z, links)), count, run)
        else:
            clusters = correct_by_links(W, clusters, links, count)
    return move_linked(W, clusters, count, links, fixed)


def find_linked(links: Links) -> np.ndarray:
    """Which samples have a link."""
    linked = np.bincount(links.unit)[links.unit] > 1
    linked[links.apart.ravel()] = True
    return linked


def move_linked(
    W: sp.csr_array, clusters: np.ndarray, count: int, links: Links, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The clusters, of which samples leave that a link puts elsewhere; pairs that are unmet.

    What speaks for a cluster is the logarithm of the share of a sample's neighbours in it, its own
    vote as much as theirs. So one sample in the midst of its cluster draws several from the border
    to it, and not they it to them.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        The graph without the links.

    Examples
    --------
    >>> W = sp.csr_array(np.ones((4, 4)) - np.eye(4))
    >>> links = Links(np.array([0, 1, 2, 2]), np.empty((0, 2), int))
    >>> move_linked(W, np.array([0, 0, 0, 1]), 2, links, np.full(4, -1))[0].tolist()
    [0, 0, 0, 0]
    """
    shares = smooth_shares(W, clusters, count)
    shares[np.arange(len(clusters)), clusters] += 1.0
    scores = np.log(np.maximum(shares, _LEAST_SHARE))
    free = ~find_linked(links) & (fixed < 0)
    return assign_units(scores, links, np.where(free, clusters, fixed))


def _shall_renew(
    Z: sp.csr_array, clusters: np.ndarray, count: int, links: Links, run: Run
) -> bool:
    """Whether clusters of the graph with its links break far fewer of those it was not told."""
    pairs = _list_pairs(links)
    together = len(pairs.together)
    total = together + len(pairs.apart)
    if total < _LEAST_PAIRS:
        return False
    part = np.random.default_rng(0).permutation(total) % _FOLDS
    free = np.full(len(clusters), -1)
    broken = np.zeros(2, dtype=np.int64)
    W = affinity(Z)
    for fold in range(_FOLDS):
        hidden = part == fold
        shown = _join_pairs(
            len(clusters), pairs.together[~hidden[:together]], pairs.apart[~hidden[together:]]
        )
        asked = _Pairs(pairs.together[hidden[:together]], pairs.apart[hidden[together:]])
        again = _cluster_again(affinity(add_links(Z, shown)), count, run)
        corrected = correct_by_links(W, clusters, shown, count)
        for at, start in enumerate((corrected, again)):
            labels = move_linked(W, start, count, shown, free)[0]
            broken[at] += asked.count_broken(labels)
    return bool(broken[1] < broken[0] - _MARGIN * total)


def _list_pairs(links: Links) -> _Pairs:
    order = np.argsort(links.unit, kind="stable")
    same = links.unit[order[:-1]] == links.unit[order[1:]]
    together = np.stack([order[:-1][same], order[1:][same]], axis=1)
    return _Pairs(together, links.apart.reshape(-1, 2))


def _join_pairs(n: int, together: np.ndarray, apart: np.ndarray) -> Links:
    joined = sp.coo_array((np.ones(len(together)), (together[:, 0], together[:, 1])), shape=(n, n))
    return Links(connected_components(joined, directed=False)[1], apart)


def _cluster_again(W: sp.csr_array, count: int, run: Run) -> np.ndarray:
    """The clusters of the graph with its links, by its eigenvectors."""
    vectors = smallest_eigenvectors(W, count, rng=0, run=run).vectors
    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    with one_thread():
        return KMeans(count, n_init=4, random_state=0).fit_predict(rows)
