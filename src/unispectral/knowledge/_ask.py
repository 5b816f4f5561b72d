"""Which pairs of samples to ask about next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from unispectral._errors import InputError
from unispectral.labels import smooth_shares

if TYPE_CHECKING:
    from unispectral._base import LearnedGraphClustering

#: Samples that are looked at, the most uncertain ones.
_MOST_SAMPLES = 5_000


def uncertain_pairs(model: LearnedGraphClustering, n: int = 10) -> np.ndarray:
    """Pairs of samples of which it would help most to know whether they belong together.

    The samples are those between two clusters, by the neighbours of their neighbours. Each is
    paired with the member of the nearer cluster that stands for it: the best connected one. Pairs
    that a group would answer twice are avoided, as far as there are others: no sample is asked
    about twice, and clusters take turns. The answers are given to the next fit as ``must_link``
    and ``cannot_link``.

    Parameters
    ----------
    model : UnifiedSpectralClustering, SCSK or SCMK
        Fitted.
    n : int, default=10
        How many pairs.

    Returns
    -------
    ndarray of shape (n, 2)
        Numbers of rows, the most uncertain pair first; fewer where there are no more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unispectral import UnifiedSpectralClustering, uncertain_pairs
    >>> model = UnifiedSpectralClustering(3).fit(load_iris().data)
    >>> uncertain_pairs(model, n=3).shape
    (3, 2)
    """
    check_is_fitted(model)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError("n", "must be a whole number of at least 1", value=n)
    labels = np.asarray(model.labels_)
    count = int(model.n_clusters_)
    if count < 2:
        return np.empty((0, 2), dtype=np.int64)
    shares = smooth_shares(sp.csr_array(model.affinity_matrix_), labels, count)
    ordered = np.sort(shares, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    best, second = np.argsort(-shares, axis=1, kind="stable")[:, :2].T
    # The cluster in question is the other of the two that a sample lies between.
    other = np.where(best == labels, second, best)
    speakers = _representatives(model.affinity_matrix_, labels, count)
    found: list[tuple[int, int]] = []
    asked: dict[tuple[int, int], int] = {}
    order = np.argsort(margin, kind="stable")[:_MOST_SAMPLES].tolist()
    for _ in range(len(order)):
        if len(found) >= n or not order:
            break
        # The least asked of the uncertain boundaries comes next.
        nearest = order[: max(4 * n, 1)]
        at = min(
            range(len(nearest)),
            key=lambda place: (asked.get(_boundary(nearest[place], labels, other), 0), place),
        )
        sample = order.pop(at)
        speaker = int(speakers[other[sample]])
        if sample == speaker:
            continue
        found.append((sample, speaker))
        boundary = _boundary(sample, labels, other)
        asked[boundary] = asked.get(boundary, 0) + 1
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _boundary(sample: int, labels: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    one, two = sorted((int(labels[sample]), int(other[sample])))
    return one, two


def _representatives(W: sp.csr_array, labels: np.ndarray, count: int) -> np.ndarray:
    """The sample of each cluster that has most weight to its other samples."""
    W = sp.coo_array(W)
    one, other = W.coords
    inside = labels[one] == labels[other]
    weight = np.bincount(one[inside], W.data[inside], len(labels))
    found = np.zeros(count, dtype=np.int64)
    for cluster in range(count):
        members = np.flatnonzero(labels == cluster)
        found[cluster] = members[np.argmax(weight[members])] if len(members) else 0
    return found
