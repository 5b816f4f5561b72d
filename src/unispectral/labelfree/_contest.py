"""Which geometry: the plain distance or a whitened one, decided on few samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.labelfree._coding import code_graph, eigenvectors
from unispectral.labelfree._component_repair import repaired
from unispectral.labelfree._geometry import KernelDistance, Whitening, evenly_spaced, whitened
from unispectral.labelfree._neighbourhoods import localize
from unispectral.labelfree._recipe import Recipe
from unispectral.spectrum import affinity

__all__ = [
    "SEPARATE",
    "Choice",
    "choose_geometry",
    "eigenvalue_sum",
    "first_affinity",
    "in_geometry",
    "other_forms",
    "unseeded",
]

#: Fewer columns than this are whitened after a Gaussian map, since rows of length one would lose
#: the radius, or with rows of any length.
LEAST_COLUMNS = 9
#: More samples and columns than this cost more to whiten than the rest of the fit; more samples
#: than that, more to map.
_MOST_SIZE, _MOST_MAPPED = 3_000, 4_000
#: Samples of the contest: so many, or this many for each cluster.
_SAMPLES, _PER_CLUSTER, _MOST_SAMPLES = 300, 6, 1_500


#: With a smaller sum of eigenvalues the clusters are separate, and no geometry can show more.
SEPARATE = 1e-6


class Choice(NamedTuple):
    """The geometry that was chosen."""

    #: How distances are whitened; None for the plain ones.
    form: Whitening | None
    #: The numbers of the samples that were looked at.
    sample: np.ndarray
    #: That of the geometry on these; None if there was no contest.
    eigenvalue_sum: float | None


def choose_geometry(base: KernelDistance, recipe: Recipe, run: Run) -> Choice:
    """The whitening that shows the clusters best, or the plain distance.

    A graph that falls into c parts has c small eigenvalues. The first graphs of the plain and of
    the whitened distances, on an evenly spaced sample, are compared by their sum; strengths are
    tried in order, and the first that is no better ends the contest. No seed is involved.
    """
    columns = base.n_columns
    size = min(max(_SAMPLES, _PER_CLUSTER * recipe.n_clusters), _MOST_SAMPLES)
    sample = evenly_spaced(base.n_samples, size)
    if not recipe.whiten or recipe.n_clusters < 2 or columns is None:
        return Choice(None, sample, None)
    if columns < LEAST_COLUMNS:
        rivals = [Whitening(recipe.whiten[0], gaussian=True)]
    else:
        rivals = [Whitening(strength) for strength in recipe.whiten]
    if min(base.n_samples, columns) > _MOST_SIZE or (
        rivals[0].gaussian and base.n_samples > _MOST_MAPPED
    ):
        return Choice(None, sample, None)
    if not recipe.compete:
        return Choice(rivals[0], sample, None)
    few = base.subset(sample)
    alone = unseeded(run)
    chosen, least = None, eigenvalue_sum(few, recipe, alone)
    for rival in rivals:
        if least < SEPARATE:
            break
        value = eigenvalue_sum(whitened(few, rival, alone), recipe, alone)
        if value >= least - 1e-9:
            break
        chosen, least = rival, value
    return Choice(chosen, sample, least)


def other_forms(base: KernelDistance, recipe: Recipe, choice: Choice) -> list[Whitening]:
    """Whitened distances to look at where those that won the contest show no clusters.

    One direction in which all samples differ, such as their size, hides clusters in the plain
    distances, and wins by the small eigenvalues of the line that it stretches the samples to.
    """
    columns = base.n_columns
    if not recipe.compete or columns is None or min(base.n_samples, columns) > _MOST_SIZE:
        return []
    if columns < LEAST_COLUMNS:
        return [Whitening(strength, unit=False) for strength in recipe.whiten[-1:] if columns > 2]
    return [form for form in map(Whitening, recipe.whiten) if form != choice.form]


def in_geometry(base: KernelDistance, form: Whitening | None, run: Run) -> Any:
    """A geometry in the form that won, where its columns allow it."""
    few = (base.n_columns or 0) < LEAST_COLUMNS
    if form is None or few != (form.gaussian or not form.unit):
        return base
    return whitened(base, form, run)


def unseeded(run: Run) -> Run:
    """The same run, here, and with random numbers that no seed changes."""
    return run.replace(rng=np.random.default_rng(0), executor=None)


def first_affinity(geometry: Any, k: int, recipe: Recipe, run: Run) -> sp.csr_array:
    """The repaired graph of a geometry with k candidates, before anything is known of clusters."""
    around = localize(geometry, k, run)
    graph, _ = code_graph(around, recipe, None, run)
    return affinity(repaired(graph, geometry, around.rate, recipe, k, 0, run))


def eigenvalue_sum(geometry: Any, recipe: Recipe, run: Run) -> float:
    """The sum of as many eigenvalues of the first graph as there are clusters."""
    W = first_affinity(geometry, recipe.candidates(geometry.n_samples), recipe, run)
    return float(eigenvectors(W, recipe, run).values.sum())
