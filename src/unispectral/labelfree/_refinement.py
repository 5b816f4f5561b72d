"""Merge and split: labels out of a local optimum, if two judges agree.

A read-out of the embedding may put two clusters into one and cut a third in two. Merging the one
pair and splitting the one cluster that together raise modularity most, then moving single
samples, repeats until nothing rises. Modularity prefers clusters of equal size, mean conductance
those that are cut off cheaply however small they are: the end is accepted only where conductance
does not rise noticeably.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.graph.quality import modularity, normalized_cut
from unispectral.spectrum import smallest_eigenvectors

__all__ = ["best", "quality", "refined", "sweep"]

#: Merges and splits, rounds of single moves, and members that a cluster must have to be split.
_STEPS = 20
_ROUNDS = 10
_LEAST_MEMBERS = 6
#: A sweep needs the order along a Fiedler vector, no more; edges of less weight than this link
#: components that are apart, and would cost it most of its time.
_TOL = 1e-2
_NOTHING = 1e-9
#: Mean conductance may rise by this share.
_TOLERATED = 0.025
#: Clusters of a lower mean conductance are separate, and stay as they are, unless others have less
#: than this share of it.
_SEPARATE = 1e-3
_MUCH_CHEAPER = 0.5


def quality(W: sp.csr_array, labels: np.ndarray) -> float:
    """Modularity less mean conductance: the judge between labels on one graph."""
    return modularity(W, labels) - normalized_cut(W, labels)


def best(W: sp.csr_array, found: Sequence[np.ndarray]) -> np.ndarray:
    """The labels that are best by :func:`quality`, unless others are separate far more clearly.

    In a graph of millions of samples all cuts are cheap, and modularity alone would decide: it
    would rather cut a large cluster in two than leave it beside a small one. Where the clusters
    are separate, those of much lower mean conductance are taken.

    Examples
    --------
    Three chains, a long one and two short ones, and a cut through the long one:

    >>> chains = [sp.diags_array(np.ones(n - 1), offsets=1) for n in (6000, 50, 20)]
    >>> W = sp.csr_array(sp.block_diag(chains))
    >>> W = W + W.T
    >>> right = np.repeat([0, 1, 2], [6000, 50, 20])
    >>> cut = np.repeat([0, 1, 2], [3000, 3000, 70])
    >>> quality(W, right) < quality(W, cut), best(W, [cut, right]) is right
    (True, True)
    """
    cuts = np.array([normalized_cut(W, labels) for labels in found])
    chosen = int(np.argmax([modularity(W, labels) for labels in found] - cuts))
    if cuts[chosen] < _SEPARATE and cuts.min() < _MUCH_CHEAPER * cuts[chosen]:
        chosen = int(np.argmin(cuts))
    return found[chosen]


def refined(
    W: sp.csr_array, labels: np.ndarray, n_clusters: int, run: Run | None = None
) -> np.ndarray:
    """Labels after merges and splits, or as they were.

    ``W`` is the affinity before it was coupled with an embedding.

    Examples
    --------
    Three cliques, of which two were put together and one was cut:

    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((6, 6))))
    >>> labels = refined(W, np.array([0] * 12 + [1] * 3 + [2] * 3), 3)
    >>> np.array_equal(labels, np.repeat(labels[::6], 6)), len(set(labels.tolist()))
    (True, 3)
    """
    conductance = normalized_cut(W, labels)
    if n_clusters < 3 or conductance < _SEPARATE:
        return labels
    degrees = np.asarray(W.sum(axis=1)).ravel()
    now, reached = labels, modularity(W, labels)
    splits: dict[int, _Split | None] = {}
    for _ in range(_STEPS):
        trial = _exchanged(W, now, n_clusters, degrees, splits, run)
        if trial is None:
            break
        trial = _moved(W, trial, n_clusters, degrees)
        value = modularity(W, trial)
        if value <= reached + 1e-9:
            break
        other = trial != now
        for cluster in {*now[other].tolist(), *trial[other].tolist()}:
            splits.pop(cluster, None)
        now, reached = trial, value
    return now if normalized_cut(W, now) < (1.0 + _TOLERATED) * conductance else labels


class _Split(NamedTuple):
    """What splitting a cluster adds to modularity, and one of its two parts."""

    gain: float
    part: np.ndarray


def _best_split(
    W: sp.csr_array, members: np.ndarray, degrees: np.ndarray, run: Run | None
) -> _Split | None:
    """The sweep cut along a cluster's Fiedler vector that raises modularity most."""
    if len(members) < _LEAST_MEMBERS:
        return None
    order, cut = sweep(sp.csr_array(W[members][:, members]), run)
    total = float(degrees.sum())
    volume = np.cumsum(degrees[members][order])[:-1] / total
    rest = float(degrees[members].sum()) / total - volume
    gain = 2.0 * (volume * rest - cut / total)
    best = int(np.argmax(gain))
    return _Split(float(gain[best]), members[order[: best + 1]])


def sweep(inside: sp.csr_array, run: Run | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in the order of the Fiedler vector, and the weight cut after each but the last.

    Examples
    --------
    Two cliques that one edge joins:

    >>> W = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    >>> W[2, 3] = W[3, 2] = 1
    >>> order, cut = sweep(sp.csr_array(W))
    >>> sorted(order[:3].tolist()) in ([0, 1, 2], [3, 4, 5]), float(cut[2])
    (True, 1.0)
    """
    n = inside.shape[0]
    if inside.data.min(initial=1.0) < _NOTHING:
        inside = inside.copy()
        inside.data[inside.data < _NOTHING] = 0.0
        inside.eliminate_zeros()
    fiedler = smallest_eigenvectors(inside, 2, tol=_TOL, rng=0, run=run).vectors[:, 1]
    degrees = np.asarray(inside.sum(axis=1)).ravel()
    order = np.argsort(fiedler / np.sqrt(np.maximum(degrees, 1e-12)), kind="stable")
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    rows = np.repeat(np.arange(n), np.diff(inside.indptr))
    sign = np.where(place[inside.indices] > place[rows], 1.0, -1.0)
    return order, np.cumsum(np.bincount(rows, inside.data * sign, n)[order])[:-1]


def _exchanged(
    W: sp.csr_array,
    labels: np.ndarray,
    n_clusters: int,
    degrees: np.ndarray,
    splits: dict[int, _Split | None],
    run: Run | None,
) -> np.ndarray | None:
    """One pair merged and one other cluster split, by the largest joint gain; None without one.

    Clusters that are split are noted in ``splits``. No split gains more than half the square of
    the cluster's volume, so that most need not be looked at.
    """
    F = _one_hot(labels, n_clusters)
    between = (F.T @ (W @ F)).toarray()
    between /= between.sum()
    volumes = between.sum(axis=1)
    merge = 2.0 * (between - np.outer(volumes, volumes))
    np.fill_diagonal(merge, -np.inf)
    best, chosen = 1e-9, None
    for cluster in range(n_clusters):
        others = merge.copy()
        others[cluster] = others[:, cluster] = -np.inf
        one, other = np.unravel_index(int(np.argmax(others)), others.shape)
        gain = others[one, other]
        if gain + 0.5 * volumes[cluster] ** 2 <= best:
            continue
        if cluster not in splits:
            splits[cluster] = _best_split(W, np.flatnonzero(labels == cluster), degrees, run)
        split = splits[cluster]
        if split is not None and gain + split.gain > best:
            best, chosen = gain + split.gain, (one, other, split.part)
    if chosen is None:
        return None
    one, other, part = chosen
    trial = labels.copy()
    trial[labels == other] = one
    trial[part] = other
    return trial


def _moved(
    W: sp.csr_array, labels: np.ndarray, n_clusters: int, degrees: np.ndarray
) -> np.ndarray:
    """Single samples go where modularity gains most, all at once, while it rises."""
    reached, everyone, total = modularity(W, labels), np.arange(len(labels)), degrees.sum()
    for _ in range(_ROUNDS):
        volumes = np.bincount(labels, degrees, n_clusters)
        gain = (W @ _one_hot(labels, n_clusters)).toarray()
        gain -= np.outer(degrees, volumes / total)
        gain[everyone, labels] += degrees**2 / total
        target = gain.argmax(axis=1)
        rise = gain[everyone, target] - gain[everyone, labels]
        going = rise > 1e-12
        if not going.any():
            break
        # All that gain, or, where these get into each other's way, the half that gains most.
        for chosen in (going, going & (rise >= np.median(rise[going]))):
            trial = np.where(chosen, target, labels)
            value = modularity(W, trial)
            if value > reached + 1e-12 and len(np.unique(trial)) == n_clusters:
                break
        else:
            break
        labels, reached = trial, value
    return labels


def _one_hot(labels: np.ndarray, n_clusters: int) -> sp.csr_array:
    n = len(labels)
    return sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_clusters))
