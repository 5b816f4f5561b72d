"""Clusters that known labels and pairs merge and split, where more speaks for it than against it.

What is known and contradicts the clusters may be an exception, a sample on the wrong side of a
border. Or it says that two clusters are one, or that one cluster is two. Each exception has a
price, in units of the graph's modularity; what costs less is believed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unispectral.graph.quality import modularity
from unispectral.knowledge._merge import merge_groups, merge_pieces, split_pieces
from unispectral.knowledge._read import Links
from unispectral.knowledge._spread import match_classes
from unispectral.labelfree._assignment import sweep
from unispectral.labels import smooth_shares

#: What a label that is an exception costs in modularity, times the number of samples; and a pair,
#: for each unit of the log-odds of its samples: how many times more edges lead to their own
#: cluster than to any other.
_PRICE = 6.0
_PRICE_OF_ODDS = 3.0
_LEAST_ODDS = 0.05
#: Times that all groups are looked at again, beside those that are believed.
_ROUNDS = 4
#: So many statements are believed one by one; of more, those about one cluster together.
_MANY_GROUPS = 40
#: Clusters of fewer samples are not split, nor any so that a part has a smaller share.
_LEAST_MEMBERS = 6
_LEAST_SHARE = 0.05


def correct_by_labels(
    W: sp.csr_array, clusters: np.ndarray, labels: np.ndarray, n_classes: int, count: int
) -> np.ndarray:
    """Clusters of which number i is class i, with as few changes as known labels are worth.

    Labels of one class that contradict one cluster are believed together, or not at all: in the
    order of what each such group gains alone, while there is a gain.

    Parameters
    ----------
    W : CSR array of shape (n, n)
    clusters : int array of shape (n,)
        Found without labels, numbered from 0.
    labels : int array of shape (n,)
        Numbers of classes, −1 where they are not known.
    n_classes, count : int
        Classes, and clusters that are wanted, no fewer.

    Examples
    --------
    Three groups, of which two were put together and one was cut:

    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((8, 8))) + 0.01)
    >>> cut = np.repeat([0, 1, 2], [16, 4, 4])
    >>> known = np.full(24, -1)
    >>> known[[0, 1, 8, 9, 16, 17, 20, 21]] = [0, 0, 1, 1, 2, 2, 2, 2]
    >>> correct_by_labels(W, cut, known, 3, 3)[::4].tolist()
    [0, 0, 1, 1, 2, 2]
    """
    found = _ByLabels(W, clusters, labels, n_classes, count).correct()
    rows = np.flatnonzero(labels >= 0)
    found[rows] = labels[rows]
    return found


def correct_by_links(
    W: sp.csr_array, clusters: np.ndarray, links: Links, count: int
) -> np.ndarray:
    """Clusters that pairs merge and split, as far as they are worth it.

    Pairs that contradict the same clusters in the same way are believed together, or not at all.
    Single samples that are exceptions stay where they are.

    Examples
    --------
    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((8, 8))) + 0.01)
    >>> cut = np.repeat([0, 1, 2], [16, 4, 4])
    >>> together = np.arange(24)
    >>> together[20] = 16
    >>> links = Links(np.unique(together, return_inverse=True)[1], np.array([[0, 8]]))
    >>> found = correct_by_links(W, cut, links, 3)
    >>> len(set(found[:8])), len(set(found[8:16])), len(set(found[16:])), len(set(found))
    (1, 1, 1, 3)
    """
    return _ByLinks(W, clusters, links, count).correct()


class _Corrections(ABC):
    """Groups of statements that contradict the clusters, and what it costs to believe some."""

    groups: list[np.ndarray]
    #: What a group must gain to be believed.
    least_gain = 1e-9

    def __init__(self, W: sp.csr_array, clusters: np.ndarray, count: int) -> None:
        self.W = W
        self.clusters = clusters
        self.count = count
        self.degrees = np.asarray(W.sum(axis=1)).ravel()
        self.parts: dict[bytes, tuple[float, np.ndarray]] = {}

    def correct(self) -> np.ndarray:
        """The clusters by those statements that are believed."""
        believed: list[int] = []
        price, found = self._try(believed)
        alone = [self._try([group])[0] for group in range(len(self.groups))]
        order = np.argsort(alone, kind="stable").tolist()
        for _ in range(_ROUNDS):
            before = price
            for group in order:
                other = [one for one in believed if one != group]
                if len(other) == len(believed):
                    other.append(group)
                trial = self._try(other)
                if trial[0] < price - self.least_gain:
                    price, found = trial
                    believed = other
            if price == before:
                break
        return found

    @abstractmethod
    def _build(self, believed: list[int]) -> np.ndarray:
        """The clusters if these groups are believed and no others; perhaps too few of them."""

    def _try(self, believed: list[int]) -> tuple[float, np.ndarray]:
        """The price of believing these groups and no others, and the clusters by them."""
        found = self._fill(self._build(believed))
        numbered = np.unique(found, return_inverse=True)[1]
        if numbered.max() >= self.count:
            return np.inf, found  # nothing more may be merged
        price = self._price(believed, found) - len(found) * modularity(self.W, numbered)
        return price, found

    @abstractmethod
    def _price(self, believed: list[int], found: np.ndarray) -> float:
        """What the exceptions cost that are left."""

    def _fill(self, labels: np.ndarray) -> np.ndarray:
        """Split the cluster that hangs together the least until there are as many as wanted."""
        labels = labels.copy()
        sizes = np.bincount(labels, minlength=self.count)
        for empty in np.flatnonzero(sizes == 0).tolist():
            splits = [
                self._split(np.flatnonzero(labels == cluster))
                for cluster in np.unique(labels).tolist()
            ]
            cost, part = min(splits, key=lambda split: split[0])
            if not np.isfinite(cost):
                break
            labels[part] = empty
        return labels

    def _split(self, members: np.ndarray) -> tuple[float, np.ndarray]:
        """What the sum of conductances rises by with the best cut of a cluster; one part of it."""
        key = members.tobytes()
        if key not in self.parts:
            self.parts[key] = cut_loosest(self.W, self.degrees, members)
        return self.parts[key]


class _ByLabels(_Corrections):
    """Known labels of which each says that its sample is of another cluster."""

    def __init__(
        self,
        W: sp.csr_array,
        clusters: np.ndarray,
        labels: np.ndarray,
        n_classes: int,
        count: int,
    ) -> None:
        super().__init__(W, clusters, count)
        self.labels = labels
        self.n_classes = n_classes
        rows = np.flatnonzero(labels >= 0)
        matched = match_classes(W, clusters, labels, n_classes, count)
        against = rows[matched[rows] != labels[rows]]
        self.groups = _group(np.stack([labels[against], clusters[against]], axis=1), against)

    def _price(self, believed: list[int], found: np.ndarray) -> float:
        exceptions = [len(group) for at, group in enumerate(self.groups) if at not in believed]
        return _PRICE * sum(exceptions)

    def _build(self, believed: list[int]) -> np.ndarray:
        shown = self.labels.copy()
        for at, group in enumerate(self.groups):
            if at not in believed:
                shown[group] = -1
        return merge_pieces(self.W, self.clusters, shown, self.n_classes, self.count)


class _ByLinks(_Corrections):
    """Pairs that are in two clusters and belong together, or in one and do not."""

    least_gain = 4.0

    def __init__(self, W: sp.csr_array, clusters: np.ndarray, links: Links, count: int) -> None:
        super().__init__(W, clusters, count)
        order = np.argsort(links.unit, kind="stable")
        same = links.unit[order[:-1]] == links.unit[order[1:]]
        together = np.stack([order[:-1][same], order[1:][same]], axis=1)
        self.links = links
        self.together = together
        ends = np.sort(clusters[together], axis=1)
        parted = ends[:, 0] != ends[:, 1]
        sides = clusters[links.apart]
        joined = sides[:, 0] == sides[:, 1]
        merges = _group(ends[parted], together[parted])
        splits = _group(sides[joined], links.apart[joined])
        single = [pair[None] for pair in links.apart[joined]]
        if len(merges) + len(single) <= _MANY_GROUPS:
            splits = single
        self.groups = merges + splits
        self.n_merges = len(merges)
        prices = price_exceptions(W, clusters)
        # Either sample of a pair may be the exception.
        self.prices_together = prices[together].min(axis=1)
        self.prices_apart = prices[links.apart].min(axis=1)

    def _price(self, believed: list[int], found: np.ndarray) -> float:
        one, other = found[self.together].T
        left, right = found[self.links.apart].T
        parted = self.prices_together[one != other].sum()
        return float(parted + self.prices_apart[left == right].sum())

    def _build(self, believed: list[int]) -> np.ndarray:
        merges = [self.groups[at] for at in believed if at < self.n_merges]
        splits = [self.groups[at] for at in believed if at >= self.n_merges]
        pieces = self.clusters
        for pairs in splits:
            for one, other in pairs.tolist():
                pieces = self._part(pieces, one, other)
        total = int(pieces.max()) + 1
        pairs = np.concatenate([np.empty((0, 2), dtype=np.int64), *merges])
        one, other = pieces[pairs].T
        edges = sp.coo_array((np.ones(len(one)), (one, other)), shape=(total, total))
        total, member = connected_components(edges, directed=False)
        own = member[pieces]
        apart = np.zeros((total, total), dtype=bool)
        # Other pairs may be exceptions: they have a price, but forbid no merge.
        for pairs in splits:
            left, right = own[pairs].T
            apart[left, right] = apart[right, left] = True
        F = sp.csr_array((np.ones(len(own)), own, np.arange(len(own) + 1)), (len(own), total))
        parent = merge_groups((F.T @ (self.W @ F)).toarray(), apart, self.count)
        return np.unique(parent[own], return_inverse=True)[1]

    def _part(self, pieces: np.ndarray, one: int, other: int) -> np.ndarray:
        """The pieces, of which that with these two samples is cut between them."""
        if pieces[one] != pieces[other]:
            return pieces  # an earlier cut has parted them
        unit = self.links.unit
        labels = np.full(len(pieces), -1)
        labels[unit == unit[one]] = 0
        labels[unit == unit[other]] = 1
        labels[pieces != pieces[one]] = -1
        return split_pieces(self.W, pieces, labels)


def _group(keys: np.ndarray, members: np.ndarray) -> list[np.ndarray]:
    """The members of equal keys."""
    number = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    return [members[number == at] for at in range(int(number.max(initial=-1)) + 1)]


def price_exceptions(W: sp.csr_array, clusters: np.ndarray) -> np.ndarray:
    """What it costs that a sample is an exception: much where its neighbours agree with it.

    Examples
    --------
    >>> W = np.kron(np.eye(2), np.ones((3, 3)))
    >>> W[0, 3] = W[3, 0] = 1
    >>> prices = price_exceptions(sp.csr_array(W), np.repeat([0, 1], 3))
    >>> bool(prices[0] < prices[1])
    True
    """
    shares = smooth_shares(W, clusters, int(clusters.max()) + 1)
    everyone = np.arange(len(clusters))
    own = shares[everyone, clusters].copy()
    shares[everyone, clusters] = 0.0
    odds = np.maximum(own, _LEAST_ODDS) / np.maximum(shares.max(axis=1), _LEAST_ODDS)
    return _PRICE_OF_ODDS * np.log(np.maximum(odds, 1.0))


def cut_loosest(
    W: sp.csr_array, degrees: np.ndarray, members: np.ndarray, share: float = _LEAST_SHARE
) -> tuple[float, np.ndarray]:
    """The sweep cut of a cluster after which its parts have the lowest conductances.

    Examples
    --------
    >>> W = sp.csr_array((np.kron(np.eye(2), np.ones((4, 4))) + 0.01) * (1 - np.eye(8)))
    >>> cost, part = cut_loosest(W, W.sum(axis=1), np.arange(8))
    >>> sorted(part.tolist()) in ([0, 1, 2, 3], [4, 5, 6, 7])
    True
    """
    n = len(members)
    if n < _LEAST_MEMBERS:
        return np.inf, members
    inside = sp.csr_array(W[members][:, members])
    order, cut = sweep(inside)
    volumes = degrees[members]
    outside = volumes - np.asarray(inside.sum(axis=1)).ravel()
    left = np.cumsum(volumes[order])[:-1]
    left_out = np.cumsum(outside[order])[:-1]
    right = volumes.sum() - left
    right_out = outside.sum() - left_out
    rise = (left_out + cut) / np.maximum(left, 1e-300)
    rise += (right_out + cut) / np.maximum(right, 1e-300)
    rise -= outside.sum() / max(float(volumes.sum()), 1e-300)
    least = max(1, int(share * n))
    rise[: least - 1] = np.inf
    rise[n - least :] = np.inf
    best = int(np.argmin(rise))
    return float(rise[best]), members[order[: best + 1]]
