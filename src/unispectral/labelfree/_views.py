"""Views: every kernel of every table, those that show something, and their sum as one geometry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import absent_rows
from unispectral._inputs import Samples
from unispectral._run import Run
from unispectral.kernels._bound import bind_table
from unispectral.kernels._features import Features
from unispectral.labelfree._committee import choose_neighbors
from unispectral.labelfree._geometry import (
    KernelDistance,
    KernelPart,
    Whitening,
    median_distance,
)
from unispectral.labelfree._neighbourhoods import (
    Layer,
    Neighbourhoods,
    localize,
    near_duplicate_share,
)
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._selection import apply_form, structure_ratio
from unispectral.labelfree._weights import are_informative, discriminant_weights, view_weights

#: Above this many samples candidates are doubled, at most so often, where so many samples have
#: mostly near-duplicates of themselves among them.
_MANY_SAMPLES = 3_000
_NEAR_DUPLICATES = 0.5
_DOUBLINGS = 2
#: A view whose eigenvalues are at least this share of those of the null model is taken for noise;
#: others are left out that are farther from the clearest than this part of its way to the model.
_NOISE = 0.87
_NEARLY = 0.25
#: Up to this many samples all pairs may be looked at where no table stands for a sum.
_ALL_PAIRS_SAMPLES = 20_000


class View(NamedTuple):
    """One kernel on one table.

    ``present`` are the samples that the table has, None for all, ``distance`` is among these.
    ``around`` are its neighbourhoods in this distance, where there are several views.
    """

    name: str
    distance: KernelDistance
    present: np.ndarray | None = None
    around: Neighbourhoods | None = None

    @property
    def n_samples(self) -> int:
        """All samples, whether the table has them or not."""
        return self.distance.n_samples if self.present is None else len(self.present)


class Views(NamedTuple):
    """Views with their weights, and their sum.

    ``known`` are the samples that one of the views has, None for all: the others are left out, and
    the views are of the known ones alone. ``complete`` are the distances of the views on all these
    samples, ``joint`` is their weighted sum; none where it cannot be had. ``counts`` is how often
    each sample counts, None for once.
    """

    views: list[View]
    weights: np.ndarray
    known: np.ndarray | None
    complete: list[KernelDistance]
    joint: KernelDistance | None
    counts: np.ndarray | None = None


class Layers(NamedTuple):
    """The layers of a graph, each with k candidates of every sample, and how often these count."""

    layers: list[Layer]
    k: int
    counts: np.ndarray | None = None
    #: The first layer with more candidates, where another graph will be made of it.
    wider: Neighbourhoods | None = None

    def without_kernels(self) -> Layers:
        """The same once the graph is made: of many samples kernels take much memory."""
        layers = [layer._replace(around=layer.around.without_kernels()) for layer in self.layers]
        return self._replace(layers=layers, wider=None)


def build_views(
    samples: Samples,
    order: np.ndarray | None,
    recipe: Recipe,
    run: Run,
    kept: np.ndarray | None = None,
) -> list[View]:
    """Every kernel of every table, or those that are kept, with the samples in some order.

    Where there are several, each has its neighbourhoods.
    """
    if order is not None:
        samples = samples.take(order)
    views = _bind_views(samples)
    run.progress("neighbours")
    if len(views) == 1:
        return views
    k = recipe.candidates(samples.n_samples)
    chosen = range(len(views)) if kept is None else np.flatnonzero(kept)
    return [
        views[at]._replace(around=localize(views[at].distance, k, run, views[at].present))
        for at in chosen
    ]


def _bind_views(samples: Samples) -> list[View]:
    """Every kernel of every table, on the samples that the table has."""
    if samples.bank is not None:
        matrices = [samples.bank[r] for r in range(len(samples.bank))]
        return [
            View(kernel.name, KernelDistance([KernelPart(kernel, at)]))
            for at, kernel in enumerate(matrices)
        ]
    found = []
    for view, table in enumerate(samples.tables):
        present = None
        absent = absent_rows(table)
        if absent.any():
            present = ~absent
            table = table[present]
        bound = bind_table(table, samples.kernels or ())
        found += [
            View(kernel.name, KernelDistance([KernelPart(kernel, view)]), present)
            for kernel in bound
        ]
    return found


def select_views(views: Sequence[View], recipe: Recipe, run: Run) -> np.ndarray:
    """Which views show something that another shows, too, or else by themselves."""
    if len(views) == 1 or not recipe.select:
        return np.ones(len(views), dtype=bool)
    kept = are_informative([_take_around(view) for view in views])
    return kept if kept.any() else _select_structured(views, recipe, run)


def _take_around(view: View) -> Neighbourhoods:
    assert view.around is not None, "of several views each has its neighbourhoods"
    return view.around


def _select_structured(views: Sequence[View], recipe: Recipe, run: Run) -> np.ndarray:
    """Which views show clusters by themselves, nearly as clearly as the clearest; else all."""
    count = recipe.n_clusters or None
    found = np.array([structure_ratio(view.distance, count, recipe, run) for view in views])
    best = float(found.min())
    if best >= _NOISE:
        return np.ones(len(views), dtype=bool)
    return found <= best + _NEARLY * (1.0 - best)


def combine_views(views: list[View], recipe: Recipe) -> Views:
    """The views with their weights, and their sum."""
    weights = np.ones(1)
    if len(views) == 1 and views[0].present is None:
        return Views(views, weights, None, [views[0].distance], views[0].distance)
    if len(views) > 1:
        weights = view_weights(
            [view.distance for view in views],
            [view.present for view in views],
            [_take_around(view) for view in views],
        )
    known = _find_known(views)
    if known is not None:  # the others would be clusters of their own
        views = [_restrict(view, known) for view in views]
    complete = _complete_views(views, recipe)
    joint = None
    if complete:
        joint = complete[0] if len(views) == 1 else fuse_views(complete, weights)
    return Views(views, weights, known, complete, joint)


def _find_known(views: Sequence[View]) -> np.ndarray | None:
    """The samples that one of the views has; None for all."""
    present = [view.present for view in views if view.present is not None]
    if len(present) < len(views):
        return None
    known = np.any(present, axis=0)
    return None if known.all() else known


def _restrict(view: View, known: np.ndarray) -> View:
    """The same where all samples are those that are known, which the table's own are."""
    assert view.present is not None
    present = view.present[known]
    return view._replace(present=None if present.all() else present, around=None)


def _complete_views(views: Sequence[View], recipe: Recipe) -> list[KernelDistance]:
    """The distances of the views on all samples; none where they cannot be had."""
    if all(view.present is None for view in views):
        return [view.distance for view in views]
    if not recipe.complete or any(view.around is None for view in views):
        return []
    lists = [_take_around(view).neighbours for view in views]
    found = []
    for at, view in enumerate(views):
        distance = view.distance
        if view.present is not None:
            distance = complete_view(distance, view.present, [*lists[:at], *lists[at + 1 :]])
        found.append(distance)
    return found


def complete_view(
    view: KernelDistance, present: np.ndarray, others: Sequence[np.ndarray]
) -> KernelDistance:
    """The distance of a view on all samples, also on those that it lacks.

    These get the mean of the rows that their neighbours in other views have in this one.

    Parameters
    ----------
    view : the distance on the samples that it has
    present : which of all samples these are
    others : neighbours of all samples in each of the other views; −1 for none

    Examples
    --------
    >>> view = KernelDistance.linear(np.array([[1.0], [3.0]]))
    >>> whole = complete_view(view, np.array([True, False, True]), [np.array([[2], [0], [0]])])
    >>> whole.features().ravel().tolist()
    [1.0, 1.0, 3.0]
    """
    part = view.parts[0]
    rows = part.kernel.features.X
    lacking = np.flatnonzero(~present)
    place = np.where(present, np.cumsum(present) - 1, -1)
    near = np.hstack([other[lacking] for other in others])
    near = np.where(near >= 0, place[near], -1)
    at, column = np.nonzero(near >= 0)
    votes = sp.csr_array(
        (np.ones(len(at)), (at, near[at, column])), shape=(len(lacking), len(rows))
    )
    count = np.asarray(votes.sum(axis=1))[:, None]
    table = np.empty((len(present), rows.shape[1]), dtype=rows.dtype)
    table[present] = rows
    table[lacking] = np.where(
        count > 0, (votes @ rows) / np.maximum(count, 1.0), rows.mean(axis=0)
    )
    return KernelDistance([part._replace(kernel=part.kernel.on(Features(table)))], view.name)


def fuse_views(views: Sequence[KernelDistance], weights: np.ndarray) -> KernelDistance | None:
    """The weighted sum of the distances of views of all samples, each in its own median.

    None if it would cost too much.
    """
    parts = [
        view.parts[0]._replace(scale=float(weight) / median_distance(view))
        for view, weight in zip(views, weights, strict=True)
    ]
    joint = KernelDistance(parts, "all views")
    if joint.n_samples > _ALL_PAIRS_SAMPLES and joint.search_table() is None:
        return None
    return joint


def reweigh_views(views: Views) -> Views | None:
    """The same views together by other weights; None where they cannot be put together.

    Also for several kernels of one table, whose neighbours are nearly the same.
    """
    tables = {view.distance.parts[0].view for view in views.views}
    if len(tables) == 1 or views.joint is None or views.views[0].around is None:
        return None
    weights = discriminant_weights(views.complete, [_take_around(view) for view in views.views])
    return views._replace(weights=weights, joint=fuse_views(views.complete, weights))


def build_layers(views: Views, form: Whitening | None, recipe: Recipe, run: Run) -> Layers:
    """Neighbourhoods of all views together, if they can be, and of each, with their shares.

    Each is left out where all views together have the whole share of the graph.
    """
    if views.joint is None:
        k = recipe.candidates(views.views[0].n_samples)
        return Layers(build_own_layers(views, form, k, 1.0, run), k, views.counts)
    k = recipe.candidates(views.joint.n_samples)
    most = 0
    if recipe.has_vote(views.joint.n_samples) and len(views.views) == 1:
        most = choose_neighbors(views.joint.n_columns)
    joint = locate(views.joint, form, k, recipe, run, most)._replace(counts=views.counts)
    if len(views.views) == 1 or recipe.fused_share == 1.0:
        return joint
    first = joint.layers[0]._replace(share=recipe.fused_share)
    own = build_own_layers(views, form, joint.k, 1.0 - recipe.fused_share, run)
    return joint._replace(layers=[first, *own])


def build_own_layers(
    views: Views, form: Whitening | None, k: int, share: float, run: Run
) -> list[Layer]:
    """Neighbourhoods of each view with k candidates, whose graphs have this share together."""
    found = []
    shares = (share * views.weights).tolist()
    located = [view for view in views.views if _has_candidates(view, k)]
    for view, part in zip(views.views, shares, strict=True):
        if form is None and len(located) == len(views.views):
            found.append(Layer(view.distance, _take_around(view).nearest(k), part))
        else:
            geometry = apply_form(view.distance, form, run)
            found.append(Layer(geometry, localize(geometry, k, run, view.present), part))
    return found


def _has_candidates(view: View, k: int) -> bool:
    return view.around is not None and view.around.neighbours.shape[1] >= k


def locate(
    distance: KernelDistance,
    form: Whitening | None,
    k: int,
    recipe: Recipe,
    run: Run,
    most: int = 0,
) -> Layers:
    """Neighbourhoods with k candidates, or two or four times k where near-duplicates abound.

    Those with ``most`` candidates are found at once, where they will be needed.
    """
    geometry = apply_form(distance, form, run)
    most = 0 if run.executor is not None else min(most, distance.n_samples - 1)
    around = localize(geometry, max(k, most), run)
    wider = None
    if most > k:
        wider = around
        around = wider.nearest(k)
    if recipe.n_neighbors is None and distance.n_samples > _MANY_SAMPLES:
        for _ in range(_DOUBLINGS):
            if near_duplicate_share(around, run) <= _NEAR_DUPLICATES:
                break
            k *= 2
            around = localize(geometry, k, run)
    return Layers([Layer(geometry, around)], k, wider=wider)
