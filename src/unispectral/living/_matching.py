"""Ids that last: which of the clusters of a fit are those of the fit before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from unispectral.living._record import Change


class Match(NamedTuple):
    """The new clusters in their new order, their lasting numbers, and what happened.

    ``order`` are the clusters of the new labels in the order that they shall have: first those
    of before, as they stood, then the others.
    """

    order: np.ndarray
    ids: np.ndarray
    next_id: int
    changes: list[Change]


def match_clusters(
    before: np.ndarray,
    ids: np.ndarray,
    after: np.ndarray,
    fresh: np.ndarray,
    next_id: int,
) -> Match:
    """Carry the numbers of clusters over to those that have most of their samples.

    Pairs are chosen so that as many samples as possible stay in their cluster. Two clusters are
    the same if most of the samples of the smaller are in both. A cluster of before without a
    partner merged into the one that has most of its samples; a new one without a partner was born,
    if most of its samples are fresh, and else split from the one that most of them come from.

    Parameters
    ----------
    before, after : int arrays of shape (n,)
        The clusters of the same samples, before and now.
    ids : int array
        The lasting number of each cluster of before.
    fresh : bool array of shape (n,)
        Samples that have come since the clustering before.
    next_id : int
        The first number that no cluster has had.

    Examples
    --------
    >>> before = np.array([0, 0, 1, 1, 1, 1])
    >>> after = np.array([1, 1, 0, 0, 2, 2])
    >>> found = match_clusters(before, np.array([4, 7]), after, np.zeros(6, bool), 8)
    >>> found.order.tolist(), found.ids.tolist()
    ([1, 0, 2], [4, 7, 8])
    >>> [(change.what, change.cluster, change.other) for change in found.changes]
    [('split', 8, 7)]
    """
    shared = np.zeros((len(ids), int(after.max()) + 1), dtype=np.int64)
    np.add.at(shared, (before, after), 1)
    partner = _pair_clusters(shared)
    kept = np.flatnonzero(partner >= 0)
    fallow = np.setdiff1d(np.arange(shared.shape[1]), partner[kept])
    order = np.concatenate([partner[kept], fallow])
    new_ids = next_id + np.arange(len(fallow))
    known = np.concatenate([ids[kept], new_ids])
    id_of = np.empty(shared.shape[1], dtype=np.int64)
    id_of[order] = known
    changes = []
    for cluster in np.flatnonzero(partner < 0):
        where = int(shared[cluster].argmax())
        rows = int(shared[cluster, where])
        if 2 * rows > shared[cluster].sum():
            changes.append(Change("merged", int(ids[cluster]), rows, int(id_of[where])))
        else:
            changes.append(Change("ended", int(ids[cluster]), int(shared[cluster].sum())))
    for cluster, number in zip(fallow, new_ids, strict=True):
        members = after == cluster
        rows = int(members.sum())
        if 2 * int((members & fresh).sum()) > rows:
            changes.append(Change("born", int(number), rows))
        else:
            source = int(shared[:, cluster].argmax())
            changes.append(Change("split", int(number), rows, int(ids[source])))
    return Match(order, known, next_id + len(fallow), changes)


def _pair_clusters(shared: np.ndarray) -> np.ndarray:
    """The new cluster that each cluster of before has become; −1 for none."""
    partner = np.full(len(shared), -1, dtype=np.int64)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    smaller = np.minimum(shared.sum(axis=1)[rows], shared.sum(axis=0)[columns])
    same = 2 * shared[rows, columns] > smaller
    partner[rows[same]] = columns[same]
    return partner
