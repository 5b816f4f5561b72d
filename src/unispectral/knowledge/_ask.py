"""Which pairs of samples to ask about next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from unispectral._errors import InputError
from unispectral.knowledge._correct import cut_loosest
from unispectral.labels import smooth_shares

if TYPE_CHECKING:
    from unispectral._base import LearnedGraphClustering

#: Samples that are looked at, the most uncertain ones.
_MOST_SAMPLES = 5_000
#: The most samples whose clusters are cut in two to ask about the parts.
_CUT_SAMPLES = 20_000
#: The share of the questions that is about whole clusters.
_SHARE_OF_CLUSTERS = 0.8


def uncertain_pairs(
    model: LearnedGraphClustering, n: int = 10, *, asked: object = None
) -> np.ndarray:
    """Pairs of samples of which it would help most to know whether they belong together.

    Most of them ask about whole clusters: whether two that are joined closely are one, and whether
    one that falls apart easily is two. They are asked about the samples that stand for a cluster,
    or a part of one: the best connected ones. The others are samples between two clusters, by the
    neighbours of their neighbours, each with the sample that stands for the other cluster. The
    answers are given to the next fit as ``must_link`` and ``cannot_link``.

    Parameters
    ----------
    model : UnifiedSpectralClustering, SCSK or SCMK
        Fitted.
    n : int, default=10
        How many pairs.
    asked : array-like of shape (m, 2), default=None
        Pairs that were asked about before, by the numbers of their rows: none of them is asked
        about again, and clusters that were asked about wait for others.

    Returns
    -------
    ndarray of shape (n, 2)
        Numbers of rows, the most uncertain pair first; fewer where there are no more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unispectral import UnifiedSpectralClustering, uncertain_pairs
    >>> model = UnifiedSpectralClustering(3).fit(load_iris().data)
    >>> first = uncertain_pairs(model, n=3)
    >>> first.shape, uncertain_pairs(model, n=3, asked=first).shape
    ((3, 2), (3, 2))
    """
    check_is_fitted(model)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError("n", "must be a whole number of at least 1", value=n)
    labels = np.asarray(model.labels_)
    count = int(model.n_clusters_)
    before = _read_asked(asked, len(labels))
    if count < 2:
        return np.empty((0, 2), dtype=np.int64)
    W = sp.csr_array(model.affinity_matrix_)
    taken = set(map(tuple, before.tolist()))
    found: list[tuple[int, int]] = []
    whole = [pair for pair in _ask_of_clusters(W, labels, count, before) if pair not in taken]
    found += whole[: round(_SHARE_OF_CLUSTERS * n)]
    borders = _ask_of_borders(W, labels, count, n, taken | set(found), before)
    found += borders[: n - len(found)]
    found += whole[round(_SHARE_OF_CLUSTERS * n) :][: n - len(found)]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _read_asked(asked: object, n: int) -> np.ndarray:
    """Pairs of rows, the smaller number first."""
    pairs = np.asarray([] if asked is None else asked)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        problem = f"must hold pairs of numbers of rows, not an array of shape {pairs.shape}"
        raise InputError("asked", problem, "give what uncertain_pairs returned before")
    if pairs.min() < 0 or pairs.max() >= n:
        raise InputError("asked", f"names a row that is not among 0 to {n - 1}")
    return np.sort(pairs.astype(np.int64), axis=1)


def _ask_of_clusters(
    W: sp.csr_array, labels: np.ndarray, count: int, before: np.ndarray
) -> list[tuple[int, int]]:
    """Pairs that say whether two clusters are one, or one is two: both kinds take turns.

    Clusters that were asked about wait.
    """
    times = np.zeros((count, count), dtype=np.int64)
    one, other = labels[before].T
    np.add.at(times, (one, other), 1)
    times += times.T
    degrees = np.asarray(W.sum(axis=1)).ravel()
    if degrees.sum() <= 0:
        return []
    ranked: list[_Question] = []
    for questions in (
        _ask_for_merges(W, labels, times),
        _ask_for_splits(W, labels, degrees, times),
    ):
        ordered = sorted(questions)
        ranked += [question._replace(worth=float(place)) for place, question in enumerate(ordered)]
    return [question.pair for question in sorted(ranked)]


class _Question(NamedTuple):
    """How often its clusters were asked about, and what a change costs beside what it moves."""

    times: int
    worth: float
    pair: tuple[int, int]


def _ask_for_merges(W: sp.csr_array, labels: np.ndarray, times: np.ndarray) -> list[_Question]:
    """One question for each two clusters that are joined; by the modularity that a merge loses."""
    count = len(times)
    F = sp.csr_array(
        (np.ones(len(labels)), labels, np.arange(len(labels) + 1)), (len(labels), count)
    )
    between = (F.T @ (W @ F)).toarray()
    between /= between.sum()
    volumes = between.sum(axis=1)
    sizes = np.bincount(labels, minlength=count)
    speakers = find_speakers(W, labels, count)
    found = []
    for one, other in np.argwhere(np.triu(between, 1) > 0).tolist():
        loss = 2.0 * (volumes[one] * volumes[other] - between[one, other])
        pair = _sort(speakers[one], speakers[other])
        found.append(_Question(int(times[one, other]), loss / min(sizes[one], sizes[other]), pair))
    return found


def _ask_for_splits(
    W: sp.csr_array, labels: np.ndarray, degrees: np.ndarray, times: np.ndarray
) -> list[_Question]:
    """One question for each cluster that can be cut; by the modularity that its cut loses."""
    if len(labels) > _CUT_SAMPLES:
        return []
    total = degrees.sum()
    found = []
    for cluster in range(len(times)):
        members = np.flatnonzero(labels == cluster)
        cost, part = cut_loosest(W, degrees, members)
        if not np.isfinite(cost):
            continue
        half = np.isin(members, part)
        inside = sp.csr_array(W[members][:, members])
        crossing = float(half @ (inside @ ~half)) / total
        left = degrees[members[half]].sum() / total
        right = degrees[members[~half]].sum() / total
        loss = 2.0 * (crossing - left * right)
        moved = min(int(half.sum()), int((~half).sum()))
        pair = _sort(*members[find_speakers(inside, half.astype(np.int64), 2)])
        found.append(_Question(int(times[cluster, cluster]), loss / moved, pair))
    return found


def _sort(one: np.integer, other: np.integer) -> tuple[int, int]:
    return min(int(one), int(other)), max(int(one), int(other))


def _ask_of_borders(
    W: sp.csr_array,
    labels: np.ndarray,
    count: int,
    n: int,
    taken: set[tuple[int, int]],
    before: np.ndarray,
) -> list[tuple[int, int]]:
    """Samples between two clusters, each with the one that stands for the other cluster.

    No sample is asked about twice, and clusters take turns.
    """
    shares = smooth_shares(W, labels, count)
    ordered = np.sort(shares, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    best, second = np.argsort(-shares, axis=1, kind="stable")[:, :2].T
    # The cluster in question is the other of the two that a sample lies between.
    other = np.where(best == labels, second, best)
    speakers = find_speakers(W, labels, count)
    found: list[tuple[int, int]] = []
    asked: dict[tuple[int, int], int] = {}
    known = set(before.ravel().tolist())
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
        pair = _sort(sample, speakers[other[sample]])
        if sample == speakers[other[sample]] or pair in taken or sample in known:
            continue
        found.append((sample, int(speakers[other[sample]])))
        boundary = _boundary(sample, labels, other)
        asked[boundary] = asked.get(boundary, 0) + 1
    return found


def _boundary(sample: int, labels: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    one, two = sorted((int(labels[sample]), int(other[sample])))
    return one, two


def find_speakers(W: sp.csr_array, labels: np.ndarray, count: int) -> np.ndarray:
    """The sample of each cluster that has most weight to its other samples.

    Examples
    --------
    >>> W = sp.csr_array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0]])
    >>> find_speakers(W, np.array([0, 0, 0, 1]), 2).tolist()
    [1, 3]
    """
    edges = sp.coo_array(W)
    one, other = edges.coords
    inside = labels[one] == labels[other]
    weight = np.bincount(one[inside], edges.data[inside], len(labels))
    found = np.zeros(count, dtype=np.int64)
    for cluster in range(count):
        members = np.flatnonzero(labels == cluster)
        found[cluster] = members[np.argmax(weight[members])] if len(members) else 0
    return found
