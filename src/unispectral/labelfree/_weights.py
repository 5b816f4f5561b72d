"""What views show of each other: shared neighbours, weights, and modularity per view."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import pick_evenly
from unispectral.graph.quality import modularity
from unispectral.labelfree._geometry import (
    KernelDistance,
    median_distance,
    sampled_distances,
)
from unispectral.labelfree._neighbourhoods import Neighbourhoods

#: A view is used if it shares neighbours with another by so many standard deviations of chance.
#: Views of pure noise stay below 5; the weakest informative ones were above 10.
LEAST_SHARED = 6.0
#: Samples whose neighbours in one view are looked up in the others.
_LOOKED_UP = 300
#: Neighbours that are copies of each other make no view closer than this share of its median.
_CLOSEST = 0.01


def shared_neighbours(views: Sequence[Neighbourhoods]) -> np.ndarray:
    """How far each two views share neighbours beyond chance, in standard deviations of chance.

    Two unrelated lists of neighbours share as many pairs as chance lets them; noise shares no
    more with any other view.

    Returns
    -------
    ndarray of shape (n_views, n_views)
        Zero on the diagonal.
    """
    n = len(views[0].neighbours)
    everyone = np.ones(n, dtype=bool)
    lists = []
    for view in views:
        rows, columns = np.nonzero(view.neighbours >= 0)
        ones = np.ones(len(rows), dtype=np.float32)
        lists.append(sp.csr_array((ones, (rows, view.neighbours[rows, columns])), shape=(n, n)))
    here = [everyone if view.present is None else view.present for view in views]
    found = np.zeros((len(views), len(views)))
    for i in range(len(views)):
        for j in range(i):
            both = (here[i] & here[j]).astype(np.float32)
            size = float(both.sum())
            mask = sp.diags_array(both)
            left = lists[i]
            right = lists[j]
            if not both.all():
                left = mask @ left @ mask
                right = mask @ right @ mask
            chance = left.sum() * right.sum() / max(size * (size - 1.0), 1.0)
            shared = float(left.multiply(right).sum())
            found[i, j] = found[j, i] = (shared - chance) / np.sqrt(max(chance, 1e-12))
    return found


def are_informative(views: Sequence[Neighbourhoods]) -> np.ndarray:
    """Which views show something that another shows, too."""
    return shared_neighbours(views).max(axis=1) > LEAST_SHARED


def view_weights(
    views: Sequence[KernelDistance],
    present: Sequence[np.ndarray | None],
    around: Sequence[Neighbourhoods],
) -> np.ndarray:
    """Weights that sum to one, large for views in which the others' neighbours are close.

    The squared distances of a view between samples that are neighbours in another one, in the unit
    of its median, are small where its clusters are clear and are those of the others. Its own
    neighbours are not asked: they are close in any view of few columns.

    Parameters
    ----------
    views : the distance of each, on the samples that it has
    present : which of all samples these are, None for all
    around : their neighbourhoods

    Examples
    --------
    Two views of the same two groups, which the first tells apart more clearly:

    >>> from unispectral._run import Run
    >>> from unispectral.labelfree._neighbourhoods import localize
    >>> group, within = np.repeat([0.0, 1.0], 8), np.tile(np.arange(8) % 4, 2)
    >>> tables = [np.c_[gap * group, within, within**2] for gap in (100, 10)]
    >>> views = [KernelDistance.linear(table) for table in tables]
    >>> around = [localize(view, 2, Run.of()) for view in views]
    >>> view_weights(views, [None, None], around).round(2)
    array([0.83, 0.17])
    """
    far = np.ones(len(views))
    for at, (view, near) in enumerate(zip(views, _apart(views, present, around), strict=True)):
        if near is not None:
            far[at] = max(near / median_distance(view), _CLOSEST)
    return (1.0 / far) / np.sum(1.0 / far)


def discriminant_weights(
    views: Sequence[KernelDistance], around: Sequence[Neighbourhoods]
) -> np.ndarray:
    """Weights that sum to one, by which neighbours are best told from other pairs of samples.

    They are those of Fisher's linear discriminant on the squared distances of pairs, each view for
    itself: how much farther apart any two samples are than neighbours in the other views, over the
    variance of the distances. Distances of few columns vary much, and count little for that.

    Parameters
    ----------
    views : the distance of each, on all samples
    around : their neighbourhoods

    Examples
    --------
    Two views that show the same two groups, by ten columns and by one:

    >>> from unispectral._run import Run
    >>> from unispectral.labelfree._neighbourhoods import localize
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0.0, 2.0], 50)[:, None]
    >>> tables = [group + rng.normal(size=(100, columns)) for columns in (10, 1)]
    >>> views = [KernelDistance.linear(table) for table in tables]
    >>> around = [localize(view, 4, Run.of()) for view in views]
    >>> discriminant_weights(views, around).round(2)
    array([0.79, 0.21])
    """
    found = np.zeros(len(views))
    apart = _apart(views, [None] * len(views), around)
    for at, (view, near) in enumerate(zip(views, apart, strict=True)):
        distances = sampled_distances(view) / median_distance(view)
        gap = 0.0 if near is None else float(distances.mean()) - near / median_distance(view)
        found[at] = max(gap, 0.0) / max(float(distances.var()), 1e-12)
    total = found.sum()
    if total <= 0:
        return np.full(len(views), 1.0 / len(views))
    return found / total


def _apart(
    views: Sequence[KernelDistance],
    present: Sequence[np.ndarray | None],
    around: Sequence[Neighbourhoods],
) -> list[float | None]:
    """How far apart each view puts samples that are neighbours in the others, on average."""
    rows = pick_evenly(len(around[0].neighbours), _LOOKED_UP)
    found: list[float | None] = []
    for at, view in enumerate(views):
        others = [other.neighbours[rows] for u, other in enumerate(around) if u != at]
        means = [_mean_distance(view, present[at], rows, other) for other in others]
        known = [mean for mean in means if mean is not None]
        found.append(float(np.mean(known)) if known else None)
    return found


def _mean_distance(
    view: KernelDistance, present: np.ndarray | None, rows: np.ndarray, neighbours: np.ndarray
) -> float | None:
    """The mean squared distance between samples and some others, of those that the view has."""
    if present is not None:
        place = np.where(present, np.cumsum(present) - 1, -1)
        neighbours = np.where(neighbours >= 0, place[neighbours], -1)[present[rows]]
        rows = place[rows[present[rows]]]
    here = neighbours >= 0
    if not here.any():
        return None
    return float(view.around(rows, np.maximum(neighbours, 0))[0][here].mean())


def modularity_per_view(graphs: Sequence[sp.csr_array], labels: np.ndarray) -> np.ndarray:
    """The modularity of the clusters on each view's own graph: how well they show in it."""
    return np.array([modularity(graph, labels) for graph in graphs])
