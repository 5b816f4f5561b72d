"""Assign labels: read them off the embedding, then improve them on the graph.

Of the labels of k-means and of a rotation of the embedding the best on the graph are taken. They
may put two clusters into one and cut a third in two: merging the one pair and splitting the one
cluster that together raise modularity most, then moving single samples, repeats until nothing
rises. Modularity prefers clusters of equal size, mean conductance those that are cut off cheaply
however small they are: the end is accepted only where conductance does not rise noticeably.

In a table of few columns, samples of low density beside their surroundings (noise, the margins of
clusters) form bridges in a graph. Clusters are then sought without them, and they are labelled
last, through the graph of all. Two criteria must agree: the clusters have a lower mean conductance
than the first ones both among the core samples and among all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree
from sklearn import config_context
from sklearn.cluster import KMeans

from unispectral._arrays import one_hot, pick_evenly
from unispectral._run import Run, one_thread
from unispectral.graph.neighbours import TREE_COLUMNS
from unispectral.graph.quality import cut_out, modularity, normalized_cut
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._recipe import Recipe
from unispectral.labels import assign, rotate
from unispectral.spectrum import smallest_eigenvectors

#: Labels are read off at most this many rows of the embedding.
ASSIGNED_SAMPLES = 20_000
#: Merges and splits, rounds of single moves, and members that a cluster must have to be split.
_STEPS = 20
_ROUNDS = 10
_LEAST_MEMBERS = 6
#: A sweep needs the order along a Fiedler vector, no more; edges of less weight than this link
#: components that are apart, and would cost it most of its time.
_TOL = 1e-2
_NOTHING = 1e-9
#: Each side of the cheapest cut has this share of the members of a cluster, and at least so many.
_SIDE = 0.1
_LEAST_SIDE = 5
#: Mean conductance may rise by this share.
_TOLERATED = 0.025
#: Clusters of a lower mean conductance are separate, and stay as they are, unless others have less
#: than this share of it.
_SEPARATE = 1e-3
_MUCH_CHEAPER = 0.5
#: A sample has a low density if the distance to this neighbour ...
_NEIGHBOR = 8
#: ... is so many times the lower quartile of the same of so many samples around it.
_LOW_DENSITY = 1.5
_AROUND = 50
_QUARTILE = 0.25
#: At most this share of the samples is of low density: those of the lowest.
_MOST_LOW = 0.2
#: More samples than this would take long; fewer say little about densities.
_MOST_SAMPLES = 20_000
_LEAST_SAMPLES = 4 * _AROUND
#: Clusters whose mean conductance is lower than this are clear without help.
CLEAR = 2e-3
#: The mean conductance of the new clusters among core samples is at most this share of that of the
#: first; among all samples it is lower, too.
_CLEARER = 0.8
#: Steps by which labels spread to samples of low density.
_SPREAD_STEPS = 50


def assign_labels(
    W: sp.csr_array, embedding: np.ndarray, recipe: Recipe, rng: np.random.Generator
) -> np.ndarray:
    """Labels of the embedding: those of k-means or of a rotation, by :func:`choose_labels`.

    Above ``ASSIGNED_SAMPLES`` samples both are found on that many, and then applied to all. Starts
    of k-means that end with the same clusters count once.
    """
    some = embedding[pick_evenly(len(embedding), ASSIGNED_SAMPLES)]
    models: list[KMeans] = []
    # Checks of what is known take as long as k-means on few samples; threads would cost more than
    # they bring, and change the order of sums.
    with config_context(assume_finite=True, skip_parameter_validation=True), one_thread():
        for seed in rng.integers(2**31 - 1, size=recipe.n_init).tolist():
            one = KMeans(recipe.n_clusters, n_init=1, random_state=seed).fit(some)
            if not [other for other in models if _are_same(one.labels_, other.labels_)]:
                models.append(one)
        if len(some) == len(embedding):
            found = [one.labels_ for one in models]
        else:
            found = [one.predict(embedding) for one in models]
    rotation = rotate(some, n_init=max(1, recipe.n_init // 2), rng=rng).Q
    found.append(assign(embedding, rotation))
    others = [labels for labels in found[1:] if not _are_same(found[0], labels)]
    if not others:
        return found[0]
    return choose_labels(W, found)


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings differ in the names of the clusters only."""
    count = int(max(one.max(), other.max())) + 1
    if count * count > len(one):
        return False  # looking would take longer than what it saves
    together = np.bincount(one.astype(np.intp) * count + other, minlength=count * count)
    shared = together.reshape(count, count) > 0
    return bool((shared.sum(axis=0) <= 1).all() and (shared.sum(axis=1) <= 1).all())


def quality(W: sp.csr_array, labels: np.ndarray) -> float:
    """Modularity less mean conductance: the criterion for labels on one graph."""
    return modularity(W, labels) - normalized_cut(W, labels)


def choose_labels(W: sp.csr_array, found: Sequence[np.ndarray]) -> np.ndarray:
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
    >>> quality(W, right) < quality(W, cut), choose_labels(W, [cut, right]) is right
    (True, True)
    """
    cuts = np.array([normalized_cut(W, labels) for labels in found])
    chosen = int(np.argmax([modularity(W, labels) for labels in found] - cuts))
    if cuts[chosen] < _SEPARATE and cuts.min() < _MUCH_CHEAPER * cuts[chosen]:
        chosen = int(np.argmin(cuts))
    return found[chosen]


def refine_labels(
    W: sp.csr_array, labels: np.ndarray, n_clusters: int, run: Run | None = None
) -> np.ndarray:
    """Labels after merges and splits, or as they were.

    ``W`` is the affinity before it was coupled with an embedding.

    Examples
    --------
    Three cliques, of which two were put together and one was cut:

    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((6, 6))))
    >>> labels = refine_labels(W, np.array([0] * 12 + [1] * 3 + [2] * 3), 3)
    >>> np.array_equal(labels, np.repeat(labels[::6], 6)), len(set(labels.tolist()))
    (True, 3)
    """
    conductance = normalized_cut(W, labels)
    if n_clusters < 3 or conductance < _SEPARATE:
        return labels
    degrees = np.asarray(W.sum(axis=1)).ravel()
    now = labels
    reached = modularity(W, labels)
    splits: dict[int, _Split | None] = {}
    for _ in range(_STEPS):
        trial = _exchange(W, now, n_clusters, degrees, splits, run)
        if trial is None:
            break
        trial = _move(W, trial, n_clusters, degrees)
        value = modularity(W, trial)
        if value <= reached + 1e-9:
            break
        other = trial != now
        for cluster in {*now[other].tolist(), *trial[other].tolist()}:
            splits.pop(cluster, None)
        now = trial
        reached = value
    if normalized_cut(W, now) < (1.0 + _TOLERATED) * conductance:
        return now
    return labels


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
    order, cut = sweep(cut_out(W, members), run)
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


class Cut(NamedTuple):
    """The cheapest cut through a cluster, and the samples on one side of it."""

    cost: float
    part: np.ndarray


def find_cheapest_cut(W: sp.csr_array, members: np.ndarray, run: Run | None = None) -> Cut:
    """Find the least conductance of a sweep through a cluster; infinite for few members."""
    side = max(_LEAST_SIDE, int(_SIDE * len(members)))
    if len(members) < 2 * side:
        return Cut(np.inf, members[:0])
    inside = cut_out(W, members)
    order, cut = sweep(inside, run)
    volume = np.cumsum(np.asarray(inside.sum(axis=1)).ravel()[order])
    smaller = np.minimum(volume[:-1], volume[-1] - volume[:-1])
    cost = cut / np.maximum(smaller, 1e-300)
    best = side - 1 + int(np.argmin(cost[side - 1 : len(order) - side]))
    return Cut(float(cost[best]), members[order[: best + 1]])


def _exchange(
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
    F = one_hot(labels, n_clusters)
    between = (F.T @ (W @ F)).toarray()
    between /= between.sum()
    volumes = between.sum(axis=1)
    merge = 2.0 * (between - np.outer(volumes, volumes))
    np.fill_diagonal(merge, -np.inf)
    best = 1e-9
    chosen = None
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
            best = gain + split.gain
            chosen = one, other, split.part
    if chosen is None:
        return None
    one, other, part = chosen
    trial = labels.copy()
    trial[labels == other] = one
    trial[part] = other
    return trial


def _move(W: sp.csr_array, labels: np.ndarray, n_clusters: int, degrees: np.ndarray) -> np.ndarray:
    """Single samples go where modularity gains most, all at once, while it rises."""
    reached = modularity(W, labels)
    everyone = np.arange(len(labels))
    total = degrees.sum()
    for _ in range(_ROUNDS):
        volumes = np.bincount(labels, degrees, n_clusters)
        gain = (W @ one_hot(labels, n_clusters)).toarray()
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
        labels = trial
        reached = value
    return labels


def find_core_samples(distance: KernelDistance) -> np.ndarray | None:
    """Which samples are not of low density; None where densities say nothing.

    Examples
    --------
    Noise between two dense groups:

    >>> rng = np.random.default_rng(0)
    >>> table = np.vstack([rng.normal(0, 0.1, (200, 2)), rng.normal(3, 0.1, (200, 2)),
    ...                    rng.uniform(-1, 4, (40, 2))])
    >>> core = find_core_samples(KernelDistance.linear(table))
    >>> bool(core[:400].mean() > 0.8), bool(core[400:].mean() < 0.2)
    (True, True)
    """
    columns = distance.n_columns
    n = distance.n_samples
    if columns is None or columns > TREE_COLUMNS or not _LEAST_SAMPLES <= n <= _MOST_SAMPLES:
        return None
    table = distance.features()
    if table is None:
        return None
    table = table - table.mean(axis=0)
    # The first is the sample itself, or a copy of it; ties change nothing that counts here.
    distances, around = KDTree(table).query(table, _AROUND + 1)
    reach = distances[:, _NEIGHBOR]
    usual = np.quantile(reach[around[:, 1:]], _QUARTILE, axis=1)
    ratio = reach / np.maximum(usual, 1e-300)
    return ratio <= max(_LOW_DENSITY, float(np.quantile(ratio, 1.0 - _MOST_LOW)))


def prefer_core_labels(
    W: sp.csr_array, labels: np.ndarray, core: np.ndarray, inside: sp.csr_array, found: np.ndarray
) -> np.ndarray:
    """The labels found among core samples, spread to all, where both criteria prefer them.

    ``W`` is the affinity of all samples before it was coupled with an embedding, ``inside`` the
    same of the core samples alone, which have the labels ``found``.
    """
    if len(np.unique(found)) < len(np.unique(labels)):
        return labels
    if normalized_cut(inside, found) > _CLEARER * normalized_cut(inside, labels[core]):
        return labels
    trial = _spread(W, core, found)
    if trial is None or normalized_cut(W, trial) >= normalized_cut(W, labels):
        return labels
    return trial


def _spread(W: sp.csr_array, core: np.ndarray, found: np.ndarray) -> np.ndarray | None:
    """The labels of core samples, spread to all along the graph; None if some are not reached."""
    n = len(core)
    others = np.flatnonzero(~core)
    shares = np.zeros((n, int(found.max()) + 1))
    shares[np.flatnonzero(core), found] = 1.0
    edges = sp.csr_array(W[others])
    edges = sp.csr_array(sp.diags_array(1.0 / np.maximum(edges.sum(axis=1), 1e-300)) @ edges)
    for _ in range(_SPREAD_STEPS):
        moved = edges @ shares
        change = float(np.abs(moved - shares[others]).max())
        shares[others] = moved
        if change < 1e-3:
            break
    if not shares.any(axis=1).all():
        return None
    return shares.argmax(axis=1)
