"""The ways in which labels follow known ones, and the choice between them.

Each way is tried with some of the known labels hidden; the one that finds most of them is taken.
Where too few are known for that, the graph decides between the careful ones, by its cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from unispectral.graph.quality import normalized_cut
from unispectral.knowledge._merge import cut_pieces, merge_pieces, prefer_own
from unispectral.knowledge._spread import PRIORS, complete_labels

#: Known labels are hidden in so many parts, one after the other; fewer than these say nothing, nor
#: do fewer for each cluster: most classes would be hidden with their only label.
_FOLDS = 5
_LEAST_KNOWN = 10
_LEAST_FOR_EACH = 1.3


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
        if len(rows) < max(_LEAST_KNOWN, _LEAST_FOR_EACH * self.count):
            return self._carefully(labels)
        rows = np.random.default_rng(0).permutation(rows)
        ways = self._ways()
        hits = np.zeros(len(ways), dtype=np.int64)
        for fold in range(_FOLDS):
            hidden = rows[fold::_FOLDS]
            shown = labels.copy()
            shown[hidden] = -1
            for at, way in enumerate(ways):
                hits[at] += int((way(shown)[hidden] == labels[hidden]).sum())
        return ways[int(np.argmax(hits))](labels)

    def _ways(self) -> list[Callable[[np.ndarray], np.ndarray]]:
        """All ways, the first of which is taken where no other finds more."""
        ways: list[Callable[[np.ndarray], np.ndarray]]
        ways = [self._merge, self._merge_and_spread, self._carefully]
        return ways + [partial(self._spread, prior) for prior in PRIORS]

    def _spread(self, prior: float, labels: np.ndarray) -> np.ndarray:
        return self._spread_from(self.clusters, prior, labels)

    def _spread_from(self, clusters: np.ndarray, prior: float, labels: np.ndarray) -> np.ndarray:
        count = max(self.count, int(clusters.max()) + 1)
        arguments = (self.W, clusters, labels, self.n_classes, count)
        return complete_labels(*arguments, self.trust, prior, self.weights)[0]

    def _carefully(self, labels: np.ndarray) -> np.ndarray:
        """The clusters as they are, or with borders that labels have moved: by the lower cut."""
        kept = self._spread(np.inf, labels)
        moved = self._spread(PRIORS[0], labels)
        return min((kept, moved), key=lambda found: normalized_cut(self.W, found))

    def _merge(self, labels: np.ndarray) -> np.ndarray:
        arguments = (self.preferring, self.pieces, labels, self.n_classes, self.count)
        return merge_pieces(*arguments)

    def _merge_and_spread(self, labels: np.ndarray) -> np.ndarray:
        return self._spread_from(self._merge(labels), PRIORS[0], labels)
