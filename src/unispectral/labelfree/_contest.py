"""Which geometry: the plain distance or a whitened one, decided on few samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._run import Run
from unispectral.labelfree._coding import code_graph, eigenvectors
from unispectral.labelfree._component_repair import repaired
from unispectral.labelfree._geometry import KernelDistance, Whitening, evenly_spaced, whitened
from unispectral.labelfree._neighbourhoods import localize
from unispectral.labelfree._recipe import Recipe
from unispectral.spectrum import affinity

__all__ = ["choose_geometry", "in_geometry"]

#: Fewer columns than this are whitened after a Gaussian map only: rows of length one would lose
#: the radius.
LEAST_COLUMNS = 9
#: More samples and columns than this cost more to whiten than the rest of the fit; more samples
#: than that, more to map.
_MOST_SIZE, _MOST_MAPPED = 3_000, 4_000
#: Samples of the contest: so many, or this many for each cluster.
_SAMPLES, _PER_CLUSTER, _MOST_SAMPLES = 300, 6, 1_500


def choose_geometry(base: KernelDistance, recipe: Recipe, run: Run) -> Whitening | None:
    """The whitening that shows the clusters best; None for the plain distance.

    A graph that falls into c parts has c small eigenvalues. The first graphs of the plain and of
    the whitened distances, on an evenly spaced sample, are compared by their sum; strengths are
    tried in order, and the first that is no better ends the contest. No seed is involved.
    """
    columns = base.n_columns
    if not recipe.whiten or recipe.n_clusters < 2 or columns is None:
        return None
    if columns < LEAST_COLUMNS:
        rivals = [Whitening(recipe.whiten[0], gaussian=True)]
    else:
        rivals = [Whitening(strength) for strength in recipe.whiten]
    if min(base.n_samples, columns) > _MOST_SIZE or (
        rivals[0].gaussian and base.n_samples > _MOST_MAPPED
    ):
        return None
    if not recipe.compete:
        return rivals[0]
    size = min(max(_SAMPLES, _PER_CLUSTER * recipe.n_clusters), _MOST_SAMPLES)
    few = base.subset(evenly_spaced(base.n_samples, size))
    alone = run.replace(rng=np.random.default_rng(0), executor=None)
    chosen, least = None, _eigenvalue_sum(few, recipe, alone)
    for rival in rivals:
        value = _eigenvalue_sum(whitened(few, rival, alone), recipe, alone)
        if value >= least - 1e-9:
            break
        chosen, least = rival, value
    return chosen


def in_geometry(base: KernelDistance, form: Whitening | None, run: Run) -> Any:
    """A geometry in the form that won, where its columns allow it."""
    few = (base.n_columns or 0) < LEAST_COLUMNS
    if form is None or form.gaussian != few:
        return base
    return whitened(base, form, run)


def _eigenvalue_sum(geometry: Any, recipe: Recipe, run: Run) -> float:
    k = recipe.candidates(geometry.n_samples)
    around = localize(geometry, k, run)
    graph, _ = code_graph(around, recipe, None, run)
    graph = repaired(graph, geometry, around.rate, recipe, k, 0, run)
    return float(eigenvectors(affinity(graph), recipe, run).values.sum())
