"""The ways in which labels follow known ones, and the choice between them.

Each way is tried with some of the known labels hidden; the one that finds most of them is taken.
Where too few are known for that, clusters change as far as the labels outweigh the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from unispectral.graph.quality import normalized_cut
from unispectral.knowledge._correct import correct_by_labels
from unispectral.knowledge._merge import cut_pieces, merge_pieces, prefer_own
from unispectral.knowledge._spread import PRIORS, complete_labels

#: Known labels are hidden in so many parts, one after the other; fewer than these say nothing.
_FOLDS = 5
_LEAST_KNOWN = 10
#: With fewer known labels for each cluster, ways that change little are taken if others find no
#: more.
_MANY_FOR_EACH = 2.5
#: The most samples whose clusters are corrected.
_CORRECTED_SAMPLES = 20_000


class Follower:
    """Labels of all samples by those that are known of some.

    Parameters
    ----------
    W : CSR array
        The learned graph.
    clusters : int array of shape (n,)
        Found without labels.
    n_classes, count : int
        Classes that are known, and clusters that are wanted, no fewer.
    trust : float
    weights : ndarray of shape (n,) or None
    """

    def __init__(
        self,
        W: sp.csr_array,
        clusters: np.ndarray,
        n_classes: int,
        count: int,
        trust: float,
        weights: np.ndarray | None = None,
    ) -> None:
        self.W = W
        self.clusters = clusters
        self.n_classes = n_classes
        self.count = count
        self.trust = trust
        self.weights = weights

    @cached_property
    def pieces(self) -> np.ndarray:
        return cut_pieces(self.W, self.clusters, self.count)

    @cached_property
    def preferring(self) -> sp.csr_array:
        """The graph in which pieces are merged."""
        return prefer_own(self.W, self.clusters)

    def complete(self, labels: np.ndarray) -> np.ndarray:
        """Labels of all samples in the way by which hidden known labels are found most often.

        Of equal ones the first is taken.
        """
        rows = np.flatnonzero(labels >= 0)
        if self.trust < 1.0:
            return self._spread(PRIORS[0], labels)
        if len(rows) < _LEAST_KNOWN:
            return self._carefully(labels)
        rows = np.random.default_rng(0).permutation(rows)
        ways = self._ways(len(rows))
        hits = np.zeros(len(ways), dtype=np.int64)
        for fold in range(_FOLDS):
            hidden = rows[fold::_FOLDS]
            shown = labels.copy()
            shown[hidden] = -1
            for at, way in enumerate(ways):
                hits[at] += count_hits(way(shown)[hidden], labels[hidden], shown)
        return ways[int(np.argmax(hits))](labels)

    def _ways(self, n_known: int) -> list[Callable[[np.ndarray], np.ndarray]]:
        """All ways, the first of which is taken where no other finds more."""
        careful: list[Callable[[np.ndarray], np.ndarray]]
        careful = [self._carefully, self._correct_and_spread]
        bold: list[Callable[[np.ndarray], np.ndarray]]
        bold = [self._merge, self._merge_and_spread]
        if n_known < _MANY_FOR_EACH * self.count:
            return careful + bold
        return bold + careful + [partial(self._spread, prior) for prior in PRIORS]

    def _spread(self, prior: float, labels: np.ndarray) -> np.ndarray:
        return self._spread_from(self.clusters, prior, labels)

    def _spread_from(self, clusters: np.ndarray, prior: float, labels: np.ndarray) -> np.ndarray:
        count = max(self.count, int(clusters.max()) + 1)
        arguments = (self.W, clusters, labels, self.n_classes, count)
        return complete_labels(*arguments, self.trust, prior, self.weights)[0]

    def _correct(self, labels: np.ndarray) -> np.ndarray:
        """The clusters, merged and split where known labels outweigh the graph."""
        if len(labels) > _CORRECTED_SAMPLES:
            return self._spread(np.inf, labels)
        return correct_by_labels(self.W, self.clusters, labels, self.n_classes, self.count)

    def _carefully(self, labels: np.ndarray) -> np.ndarray:
        """The corrected clusters as they are, or with moved borders: by the lower cut."""
        ways = (self._correct(labels), self._correct_and_spread(labels))
        return min(ways, key=lambda found: normalized_cut(self.W, found))

    def _correct_and_spread(self, labels: np.ndarray) -> np.ndarray:
        return self._spread_from(self._correct(labels), PRIORS[0], labels)

    def _merge(self, labels: np.ndarray) -> np.ndarray:
        arguments = (self.preferring, self.pieces, labels, self.n_classes, self.count)
        return merge_pieces(*arguments)

    def _merge_and_spread(self, labels: np.ndarray) -> np.ndarray:
        return self._spread_from(self._merge(labels), PRIORS[0], labels)


def count_hits(found: np.ndarray, hidden: np.ndarray, shown: np.ndarray) -> int:
    """How many hidden labels were found.

    One whose class is not shown at all is found by a cluster of none of the classes that are.

    Examples
    --------
    >>> shown = np.array([0, 1, -1, -1, -1])
    >>> count_hits(np.array([0, 1, 4]), np.array([0, 0, 2]), shown)
    2
    """
    classes = np.unique(shown[shown >= 0])
    wanted = np.isin(hidden, classes)
    new = ~np.isin(found, classes)
    return int(np.where(wanted, found == hidden, new).sum())
