"""Views that show something, in an order of the samples, and their neighbourhoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from unispectral._inputs import Samples
from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.labelfree._contest import in_geometry
from unispectral.labelfree._counting import structure_ratio
from unispectral.labelfree._geometry import KernelDistance, KernelPart, Whitening
from unispectral.labelfree._neighbourhoods import Neighbourhoods, localize, near_duplicate_share
from unispectral.labelfree._order import spatial_order
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._views import (
    completed,
    discriminant_weights,
    fused,
    informative,
    view_weights,
)

__all__ = [
    "Chosen",
    "Located",
    "View",
    "located_views",
    "ordered",
    "own_views",
    "reweighted",
    "widened",
]

#: Above this many samples candidates are doubled, at most so often, where so many samples have
#: mostly near-duplicates of themselves among them.
_MANY_SAMPLES = 3_000
_NEAR_DUPLICATES = 0.5
_DOUBLINGS = 2
#: A view whose eigenvalues are at least this share of those of a cloud is taken for noise; others
#: are left out that are farther from the clearest than this part of its way to a cloud.
_NOISE, _NEARLY = 0.87, 0.25


@dataclass
class View:
    """One kernel on one table: its distance, and the samples that the table has."""

    name: str
    distance: KernelDistance
    present: np.ndarray | None

    @property
    def n_samples(self) -> int:
        """All samples, whether the table has them or not."""
        return self.distance.n_samples if self.present is None else len(self.present)

    def localized(self, k: int, run: Run, form: Whitening | None = None) -> Located:
        geometry = in_geometry(self.distance, form, run)
        return Located(geometry, localize(geometry, k, run, self.present))

    def among(self, known: np.ndarray) -> View:
        """The same where all samples are those that are known, which the table's own are."""
        assert self.present is not None
        present = self.present[known]
        return replace(self, present=None if present.all() else present)


class Located(NamedTuple):
    """A geometry with its neighbourhoods."""

    geometry: Any
    around: Neighbourhoods


def ordered(
    samples: Samples, reordered: bool, recipe: Recipe, run: Run
) -> tuple[np.ndarray, Samples, list[View], Chosen]:
    """The numbers of the samples in their order, the samples, their views, and those that count.

    A view that shows nothing leaves no trace: the order is then found again without it.
    """
    numbers = np.arange(samples.n_samples)
    given = samples
    if reordered:
        numbers = spatial_order(given.tables)
        samples = given.taken(numbers)
    views = _views(samples, run)
    run.progress("neighbours")
    k = recipe.candidates(samples.n_samples)
    plain = [view.localized(k, run) for view in views] if len(views) > 1 else []
    kept = _showing(views, plain, recipe, run)
    if reordered and not kept.all():
        counting = {given.kernel_views[at] for at in np.flatnonzero(kept)}
        numbers = spatial_order([given.tables[view] for view in sorted(counting)])
        samples = given.taken(numbers)
        views = _views(samples, run)
        plain = [views[at].localized(k, run) for at in np.flatnonzero(kept)]
    else:
        plain = [plain[at] for at in np.flatnonzero(kept)] if plain else []
    used = [views[at] for at in np.flatnonzero(kept)]
    return numbers, samples, views, _chosen(kept, used, plain)


class Chosen(NamedTuple):
    """The views that show something, their weights and plain neighbourhoods, and their sum.

    ``plain`` is empty if there was one view to begin with. ``known`` are the samples that one of
    these views has, None for all: the others are left out, and their views are of the known ones
    alone. ``whole`` are the distances of the views on all these samples, and ``together`` is their
    sum; None where it cannot be had.
    """

    kept: np.ndarray
    used: list[View]
    weights: np.ndarray
    plain: list[Located]
    whole: list[KernelDistance]
    together: KernelDistance | None
    known: np.ndarray | None


def _showing(views: list[View], plain: Sequence[Located], recipe: Recipe, run: Run) -> np.ndarray:
    """Which views show something that another shows, too, or else by themselves."""
    if len(views) == 1:
        return np.ones(1, dtype=bool)
    kept = informative([one.around for one in plain])
    return kept if kept.any() else _structured(views, recipe, run)


def _chosen(kept: np.ndarray, used: list[View], plain: list[Located]) -> Chosen:
    weights = np.ones(1)
    if len(used) > 1:
        weights = view_weights(
            [view.distance for view in used],
            [view.present for view in used],
            [one.around for one in plain],
        )
    known = _known(used)
    if known is not None:  # the others would be clusters of their own
        used, plain = [view.among(known) for view in used], []
    whole = _whole(used, plain)
    together = None
    if whole:
        together = fused(whole, weights) if len(used) > 1 else whole[0]
    return Chosen(kept, used, weights, plain, whole, together, known)


def _whole(views: Sequence[View], plain: Sequence[Located]) -> list[KernelDistance]:
    """The distances of the views on all samples; none where they cannot be had."""
    if all(view.present is None for view in views):
        return [view.distance for view in views]
    lists = [one.around.neighbours for one in plain]
    return [
        view.distance
        if view.present is None
        else completed(view.distance, view.present, [*lists[:at], *lists[at + 1 :]])
        for at, view in enumerate(views if lists else [])
    ]


def _known(views: Sequence[View]) -> np.ndarray | None:
    """The samples that one of the views has; None for all."""
    present = [view.present for view in views if view.present is not None]
    known = np.any(present, axis=0)
    return None if len(present) < len(views) or known.all() else known


def located_views(
    chosen: Chosen, form: Whitening | None, recipe: Recipe, run: Run
) -> tuple[int, list[Located]]:
    """Neighbourhoods of all views together, if they can be, and of each; and their candidates.

    Each is left out where all views together have the whole share of the graph.
    """
    k = recipe.candidates(chosen.used[0].n_samples)
    located: list[Located] = []
    if chosen.together is not None:
        k, one = widened(View("", chosen.together, None), form, recipe, k, run)
        located.append(one)
    if len(chosen.used) > 1 and (chosen.together is None or recipe.fused_share < 1.0):
        located += own_views(chosen, form, k, run)
    return k, located


def own_views(chosen: Chosen, form: Whitening | None, k: int, run: Run) -> list[Located]:
    """Neighbourhoods of each view, with k candidates."""
    plain = [one for one in chosen.plain if one.around.neighbours.shape[1] >= k]
    if form is None and len(plain) == len(chosen.used):
        return [one._replace(around=one.around.nearest(k)) for one in plain]
    return [view.localized(k, run, form) for view in chosen.used]


def reweighted(chosen: Chosen) -> Chosen | None:
    """The same views together by other weights; None where they cannot be put together.

    Also for several kernels of one table, whose neighbours are nearly the same.
    """
    tables = {view.distance.parts[0].view for view in chosen.used}
    one_table = len(chosen.used) == 1 or (len(tables) == 1 and -1 not in tables)
    if one_table or chosen.together is None or not chosen.plain:
        return None
    weights = discriminant_weights(chosen.whole, [one.around for one in chosen.plain])
    return chosen._replace(weights=weights, together=fused(chosen.whole, weights))


def widened(
    view: View, form: Whitening | None, recipe: Recipe, k: int, run: Run
) -> tuple[int, Located]:
    """Neighbourhoods with twice the candidates, or four times, where near-duplicates abound."""
    located = view.localized(k, run, form)
    if recipe.n_neighbors is None and len(located.around.neighbours) > _MANY_SAMPLES:
        for _ in range(_DOUBLINGS):
            if near_duplicate_share(located.around, run) <= _NEAR_DUPLICATES:
                break
            k *= 2
            located = view.localized(k, run, form)
    return k, located


def _views(samples: Samples, run: Run) -> list[View]:
    """Every kernel of every table, on the samples that the table has."""
    if samples.bank is not None:
        bank = samples.bank
        return [
            View(name, KernelDistance([KernelPart(bank, r, -1)]), None)
            for r, name in enumerate(bank.names)
        ]
    found = []
    for view, table in enumerate(samples.tables):
        present = None
        if isinstance(table, np.ndarray) and np.isnan(table[:, 0]).any():
            present = ~np.isnan(table[:, 0])
            table = table[present]
        bank = KernelBank(table, samples.kernels, normalize=samples.normalize, gram=False, run=run)
        found += [
            View(name, KernelDistance([KernelPart(bank, r, view)]), present)
            for r, name in enumerate(bank.names)
        ]
    return found


def _structured(views: Sequence[View], recipe: Recipe, run: Run) -> np.ndarray:
    """Which views show clusters by themselves, nearly as clearly as the clearest; else all."""
    count = recipe.n_clusters or None
    found = np.array([structure_ratio(view.distance, count, recipe, run) for view in views])
    best = float(found.min())
    kept = found <= best + _NEARLY * (1.0 - best)
    return kept if best < _NOISE else np.ones(len(views), dtype=bool)
