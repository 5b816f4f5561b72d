"""One fit, every number of clusters: the tree of clusters that a graph gives.

Below the clusters of a fit, the one with the cheapest cut through it is split again and again;
above them, the pair with the largest share of ties between its two is merged. Nothing is
fitted anew, and the clusters of the fit are one level of the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import one_hot
from unispectral._errors import InputError
from unispectral.graph.quality import modularity
from unispectral.labelfree._assignment import find_cheapest_cut
from unispectral.labels import order_of_appearance

__all__ = ["ClusterTree", "grow_tree", "mean_distances"]

#: The finest level has so many clusters more than the fit, or this many times as many.
_MORE, _TIMES = 8, 2
#: Members of each cluster whose distances tell how far clusters are apart.
_DRAWN = 16


@dataclass(frozen=True)
class ClusterTree:
    """The clusters of one graph for every number from 1 to that of the finest level.

    Attributes
    ----------
    leaves : ndarray of shape (n,)
        The cluster of each sample at the finest level.
    linkage : ndarray of shape (m − 1, 4)
        The merges in SciPy's form: the two nodes, the height and the number of leaves. Nodes
        0 … m − 1 are the leaves. The height is log(1 + t), where the two have t times fewer ties
        than chance would give them; where there are none left, distances decide, and a height is
        up to one more than the last. Heights never fall.
    n_clusters : int
        The number that the fit has.
    clarity : ndarray of shape (m,)
        ``clarity[c − 1]`` is the modularity of c clusters in the learned graph: 0 without
        structure, towards 1 for many that are apart. The graph was learned for the fitted number,
        which it favours.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> four = np.kron(np.eye(4), np.ones((6, 6)))
    >>> two = np.kron(np.eye(2), np.ones((12, 12)))
    >>> tree = grow_tree(sp.csr_array(four + 0.1 * two), np.repeat([0, 1, 2, 3], 6))
    >>> tree.n_clusters, tree.cut(2)[::6].tolist()
    (4, [0, 0, 1, 1])
    """

    leaves: np.ndarray
    linkage: np.ndarray
    n_clusters: int
    clarity: np.ndarray

    @property
    def max_clusters(self) -> int:
        """The number of clusters at the finest level."""
        return len(self.linkage) + 1

    @property
    def sizes(self) -> np.ndarray:
        """The number of samples of each node, first of the leaves."""
        found = np.bincount(self.leaves).tolist()
        for one, other in self.linkage[:, :2].astype(int):
            found.append(found[one] + found[other])
        return np.array(found)

    def cut(self, n_clusters: int) -> np.ndarray:
        """The labels of so many clusters, numbered by their first samples.

        Parameters
        ----------
        n_clusters : int
            From 1 to ``max_clusters``.

        Returns
        -------
        ndarray of shape (n,)
        """
        leaves = self.max_clusters
        if isinstance(n_clusters, bool) or int(n_clusters) != n_clusters:
            raise InputError("n_clusters", "must be a whole number", value=n_clusters)
        if not 1 <= n_clusters <= leaves:
            problem = f"is not from 1 to {leaves}, the levels of this tree"
            remedy = "fit the estimator with this number"
            raise InputError("n_clusters", problem, remedy, value=n_clusters)
        node = np.arange(2 * leaves - 1)
        for step, (one, other) in enumerate(self.linkage[: leaves - int(n_clusters), :2]):
            # The leaves below a merged node are those below its two parts.
            node[[int(one), int(other)]] = leaves + step
        for child in range(2 * leaves - 2, -1, -1):
            node[child] = node[node[child]]
        labels = np.unique(node[self.leaves], return_inverse=True)[1]
        return _number_clusters(labels)


def grow_tree(
    W: sp.csr_array,
    labels: np.ndarray,
    distances: Callable[[np.ndarray], np.ndarray | None] | None = None,
    *,
    split: bool = True,
) -> ClusterTree:
    """Split and merge the clusters of a graph.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        Symmetric affinities.
    labels : ndarray of shape (n,)
        Clusters, 0 … c − 1.
    distances : callable or None
        From labels to the distances between clusters, a matrix of shape (c, c) or None: which to
        merge where no ties are left. Without them the smallest are merged first.
    split : bool
        Whether there are levels finer than the labels.

    Returns
    -------
    ClusterTree
    """
    labels = _number_clusters(np.asarray(labels))
    fine = _split_up(W, labels) if split else labels
    members = one_hot(fine, int(fine.max()) + 1)
    ties = (members.T @ (W @ members)).toarray()
    sizes = np.bincount(fine).astype(float)
    far = None
    if distances is not None and not _is_connected(ties):
        far = distances(fine)
    fitted = labels[np.unique(fine, return_index=True)[1]]
    levels = _Levels(ties, sizes, fitted, far)
    clarity = [modularity(W, fine)]
    while levels.count > 1:
        levels.merge()
        clarity.append(levels.modularity())
    linkage = np.array(levels.steps).reshape(-1, 4)
    if len(linkage):
        linkage[:, 2] = np.maximum.accumulate(linkage[:, 2])
    found = int(labels.max()) + 1
    return ClusterTree(fine.astype(np.int32), linkage, found, np.array(clarity[::-1]))


def _number_clusters(labels: np.ndarray) -> np.ndarray:
    """Clusters numbered by their first samples, as those of an estimator."""
    ranks = np.unique(labels, return_inverse=True)[1]
    return np.argsort(order_of_appearance(ranks))[ranks].astype(np.int32)


def _is_connected(ties: np.ndarray) -> bool:
    return sp.csgraph.connected_components(ties > 0, directed=False)[0] == 1


def _split_up(W: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """Clusters of which the one with the cheapest cut was split again and again."""
    count = int(labels.max()) + 1
    wanted = max(count + _MORE, _TIMES * count)
    labels = labels.copy()
    cuts = {
        cluster: find_cheapest_cut(W, np.flatnonzero(labels == cluster))
        for cluster in range(count)
    }
    while count < wanted:
        best = min(cuts, key=lambda cluster: cuts[cluster].cost)
        if not np.isfinite(cuts[best].cost):
            break
        labels[cuts[best].part] = count
        for cluster in (best, count):
            cuts[cluster] = find_cheapest_cut(W, np.flatnonzero(labels == cluster))
        count += 1
    return labels


class _Levels:
    """Clusters while they are merged: ties, sizes, clusters of the fit, and distances."""

    def __init__(
        self, ties: np.ndarray, sizes: np.ndarray, fitted: np.ndarray, far: np.ndarray | None
    ) -> None:
        self.ties = ties / max(float(ties.sum()), 1e-300)
        self.sizes = sizes
        self.fitted = fitted
        self.far = far
        self.nodes = np.arange(len(sizes))
        self.leaves = np.ones(len(sizes))
        self.steps: list[list[float]] = []
        self._next = len(sizes)

    @property
    def count(self) -> int:
        return len(self.nodes)

    def modularity(self) -> float:
        return float(np.trace(self.ties) - np.sum(self.ties.sum(axis=1) ** 2))

    def merge(self) -> None:
        """Merge the pair with the most ties beside the mean (geometric) of all ties of the two.

        Parts of one cluster of the fit come first, so that these are a level of the tree.
        """
        apart = ~np.eye(self.count, dtype=bool)
        allowed = apart & np.equal.outer(self.fitted, self.fitted)
        if not allowed.any():
            allowed = apart
        volumes = np.maximum(self.ties.sum(axis=1), 1e-300)
        near = self.ties / np.sqrt(np.outer(volumes, volumes))
        tied = allowed & (self.ties > 0)
        if tied.any():
            one, other = _largest(np.where(tied, near, -np.inf))
            height = np.log1p(volumes[one] * volumes[other] / self.ties[one, other])
        elif self.far is not None:
            one, other = _largest(np.where(allowed, -self.far, -np.inf))
            height = self._last() + self.far[one, other] / max(float(self.far.max()), 1e-300)
        else:
            together = np.add.outer(self.sizes, self.sizes)
            one, other = _largest(np.where(allowed, -together, -np.inf))
            height = self._last() + 1.0
        self._join(one, other, float(height))

    def _last(self) -> float:
        return max((step[2] for step in self.steps), default=0.0)

    def _join(self, one: int, other: int, height: float) -> None:
        size = self.sizes[one] + self.sizes[other]
        pair = sorted((float(self.nodes[one]), float(self.nodes[other])))
        self.leaves[one] += self.leaves[other]
        self.steps.append([*pair, height, float(self.leaves[one])])
        kept = np.arange(self.count) != other
        if self.far is not None:
            weights = self.sizes[[one, other]] / size
            mean = weights @ self.far[[one, other]]
            self.far[one] = self.far[:, one] = mean
            self.far = self.far[kept][:, kept]
        self.ties[one] += self.ties[other]
        self.ties[:, one] += self.ties[:, other]
        self.ties = self.ties[kept][:, kept]
        self.sizes[one] = size
        self.sizes = self.sizes[kept]
        self.leaves = self.leaves[kept]
        self.fitted = self.fitted[kept]
        self.nodes[one] = self._next
        self.nodes = self.nodes[kept]
        self._next += 1


def _largest(values: np.ndarray) -> tuple[int, int]:
    one, other = np.unravel_index(int(np.argmax(values)), values.shape)
    return min(int(one), int(other)), max(int(one), int(other))


def mean_distances(
    distances: Callable[[np.ndarray, np.ndarray], np.ndarray], labels: np.ndarray
) -> np.ndarray:
    """The mean distance between some members of each two clusters, of shape (c, c).

    ``distances`` takes two lists of samples.
    """
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels))[:-1])
    even = [group[np.linspace(0, len(group) - 1, _DRAWN).astype(int)] for group in groups]
    drawn = np.concatenate(even)
    found = np.sqrt(np.maximum(distances(drawn, drawn), 0.0))
    return found.reshape(len(groups), _DRAWN, len(groups), _DRAWN).mean(axis=(1, 3))
