"""Select the geometry: the plain distance or a whitened one, and how clear its clusters are.

A graph of near neighbours has small eigenvalues whatever the data, the more so the fewer
dimensions they have. Whether there are clusters is therefore seen beside a Gaussian null model:
samples of the same number and covariance without clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import find_near, pick_evenly
from unispectral._run import Run
from unispectral.labelfree._geometry import (
    KernelDistance,
    Whitening,
    whiten,
)
from unispectral.labelfree._graph import build_first_graph, compute_eigenvectors
from unispectral.labelfree._null import draw_with_one_mode
from unispectral.labelfree._recipe import NEIGHBORS, Recipe
from unispectral.spectrum import Eigenpairs

#: Fewer columns than this are whitened after a Gaussian map, since rows of length one would lose
#: the radius, or with rows of any length.
LEAST_COLUMNS = 9
#: More samples and columns than this cost more to whiten than the rest of the fit; more samples
#: than that, more to map.
_MOST_SIZE = 3_000
_MOST_MAPPED = 4_000
#: Samples of the selection: so many, or this many for each cluster.
_SAMPLES = 300
_PER_CLUSTER = 6
_MOST_SAMPLES = 1_500
#: With a smaller sum of eigenvalues the clusters are separate, and no geometry can show more.
SEPARATE = 1e-6
#: A spectrum that is no smaller than this share of that of the null model shows no clusters.
STRUCTURELESS = 0.6
#: Samples that each cluster must have on average, and more, for its clarity to be judged.
_MEMBERS = 10
#: Samples by which it is found out whether there are clusters, null samples drawn, and the numbers
#: of clusters that are tried; for a given number one draw is enough unless the ratio lies in
#: between.
TESTED = 400
_TEST_DRAWS = 4
_TRIED = (2, 3, 4, 6, 10)
#: Eigenvectors that live on fewer samples than this show strays, not clusters.
_LEAST_SPREAD = 6
_ADVICE_DRAWS = 3
_UNDECIDED = (0.5, 0.75)
#: The same where the number is not given, as shares of the limit.
_NEAR = (0.5, 1.25)
#: Neighbours by which density and dimension are judged.
_LOCAL_NEIGHBORS = 12


class GeometryChoice(NamedTuple):
    """The geometry that was chosen."""

    #: How distances are whitened; None for the plain ones.
    form: Whitening | None = None
    #: The numbers of the samples that were looked at.
    sample: np.ndarray | None = None
    #: That of the geometry on these; None if there were no candidates.
    eigenvalue_sum: float | None = None
    #: How clear its clusters are beside those of the null model, from 0 to 1; None where unknown.
    structure: float | None = None
    #: Whether the geometry that was selected first shows no clusters, and this one does.
    is_other: bool = False


def choose_geometry(base: KernelDistance, recipe: Recipe, run: Run) -> GeometryChoice:
    """The whitening that shows the clusters best, or the plain distance.

    A graph that falls into c parts has c small eigenvalues. The first graphs of the plain and of
    the whitened distances, on an evenly spaced sample, are compared by their sum; strengths are
    tried in order, and the first that is no better ends the selection. No seed is involved.
    """
    size = min(max(_SAMPLES, _PER_CLUSTER * recipe.n_clusters), _MOST_SAMPLES)
    sample = pick_evenly(base.n_samples, size)
    plain = GeometryChoice(None, sample)
    candidates = _candidate_forms(base, recipe)
    if not candidates:
        return plain
    if not recipe.compete:
        return plain._replace(form=candidates[0])
    few = base.subset(sample)
    alone = fix_seed(run)
    chosen = None
    least = _eigenvalue_sum(few, recipe, alone)
    for form in candidates:
        if least < SEPARATE:
            break
        value = _eigenvalue_sum(whiten(few, form, alone), recipe, alone)
        if value >= least - 1e-9:
            break
        chosen = form
        least = value
    return plain._replace(form=chosen, eigenvalue_sum=least)


def _candidate_forms(base: KernelDistance, recipe: Recipe) -> list[Whitening]:
    """The whitened distances that compete with the plain one."""
    columns = base.n_columns
    if not recipe.whiten or recipe.n_clusters < 2 or columns is None:
        return []
    if min(base.n_samples, columns) > _MOST_SIZE:
        return []
    if columns >= LEAST_COLUMNS:
        return [Whitening(strength) for strength in recipe.whiten]
    if base.n_samples > _MOST_MAPPED:
        return []
    return [Whitening(recipe.whiten[0], gaussian=True)]


def reconsider_geometry(
    choice: GeometryChoice, base: KernelDistance, recipe: Recipe, run: Run
) -> GeometryChoice:
    """The choice with its structure, or another geometry where it shows none and that one does.

    Few samples per cluster are not judged.
    """
    count = recipe.n_clusters
    assert choice.sample is not None
    if count < 2 or count * _MEMBERS >= len(choice.sample):
        return choice
    structure = structure_ratio(base, count, recipe, run, choice)
    if structure > STRUCTURELESS:
        for form in _other_forms(base, recipe, choice):
            other = GeometryChoice(form, choice.sample)
            again = structure_ratio(base, count, recipe, run, other)
            if again < min(structure, STRUCTURELESS):
                choice = other._replace(is_other=True)
                structure = again
    return choice._replace(structure=min(structure, 1.0))


def _other_forms(base: KernelDistance, recipe: Recipe, choice: GeometryChoice) -> list[Whitening]:
    """Whitened distances to look at where those that were selected show no clusters.

    One direction in which all samples differ, such as their size, hides clusters in the plain
    distances, and is selected by the small eigenvalues of the line that it stretches the samples
    to.
    """
    columns = base.n_columns
    if not recipe.compete or not recipe.reconsider:
        return []
    if columns is None or min(base.n_samples, columns) > _MOST_SIZE:
        return []
    if columns < LEAST_COLUMNS:
        return [Whitening(strength, unit=False) for strength in recipe.whiten[-1:] if columns > 2]
    return [form for form in map(Whitening, recipe.whiten) if form != choice.form]


def apply_form(base: KernelDistance, form: Whitening | None, run: Run) -> KernelDistance:
    """A geometry in the form that was selected, where its columns allow it."""
    if form is None:
        return base
    few = (base.n_columns or 0) < LEAST_COLUMNS
    if few != (form.gaussian or not form.unit):
        return base
    return whiten(base, form, run)


def fix_seed(run: Run) -> Run:
    """The same run, here, and with random numbers that no seed changes."""
    return run.replace(rng=np.random.default_rng(0), executor=None)


def _eigenvalue_sum(geometry: KernelDistance, recipe: Recipe, run: Run) -> float:
    """The sum of as many eigenvalues of the first graph as there are clusters."""
    W = build_first_graph(geometry, recipe.candidates(geometry.n_samples), recipe, run)
    return float(compute_eigenvectors(W, recipe, run).values.sum())


def structure_ratio(
    distance: KernelDistance,
    n_clusters: int | None,
    recipe: Recipe,
    run: Run,
    choice: GeometryChoice | None = None,
) -> float:
    """How far the sum of the first c eigenvalues is from that of samples without clusters.

    It is 0 for separate clusters and about 1 for none. Without a number c the smallest ratio of a
    few numbers is taken. ``choice`` is the geometry of both, and what is known of it already; the
    plain distance by default.
    """
    if choice is None or choice.sample is None:
        choice = GeometryChoice(None, pick_evenly(distance.n_samples, TESTED))
    few = distance.subset(np.asarray(choice.sample))
    if n_clusters is None:
        return least_ratio(few, choice.form, recipe, run)
    recipe = recipe.with_clusters(min(max(2, n_clusters), few.n_samples - 1))
    alone = fix_seed(run)
    own = choice.eigenvalue_sum
    if own is None:
        own = _eigenvalue_sum(whiten(few, choice.form), recipe, alone)
    if own < SEPARATE:
        return 0.0
    ratio = 1.0  # that of samples that are all equal
    sums = []
    for null in draw_null_samples(few, _ADVICE_DRAWS, run):
        sums.append(_eigenvalue_sum(whiten(null, choice.form), recipe, alone))
        ratio = own / max(float(np.mean(sums)), 1e-12)
        if not _UNDECIDED[0] < ratio < _UNDECIDED[1]:
            break
    return ratio


def least_ratio(
    few: KernelDistance,
    form: Whitening | None,
    recipe: Recipe,
    run: Run,
    *,
    limit: float = STRUCTURELESS,
    skewed: bool = False,
) -> float:
    """The smallest ratio of sums of first eigenvalues, for a few numbers of clusters.

    No more null samples are drawn once it is far from the limit. ``skewed`` takes the null model
    whose columns have their own shapes, where there is one.
    """
    tried = [c for c in _TRIED if c <= few.n_samples // 4] or [2]
    k = recipe.n_neighbors or NEIGHBORS
    if skewed:
        nulls = draw_with_one_mode(few, _TEST_DRAWS)
    else:
        nulls = draw_null_samples(few, _TEST_DRAWS, run)
    at = np.array(tried) - 1
    own = None
    total = np.zeros(len(tried))
    ratio = 0.0 if skewed else 1.0  # without null samples
    for draws, null in enumerate(nulls, 1):
        if own is None:
            own = _first_sums(few, form, at, k, recipe, run)
        total += _first_sums(null, form, at, k, recipe, run)
        ratio = float(np.min(own / np.maximum(total / draws, 1e-12)))
        if not _NEAR[0] < ratio / limit < _NEAR[1]:
            break
    return ratio


def _first_sums(
    distance: KernelDistance,
    form: Whitening | None,
    at: np.ndarray,
    k: int,
    recipe: Recipe,
    run: Run,
) -> np.ndarray:
    """The sums of the eigenvalues up to some, strays left out."""
    return np.cumsum(find_spectrum(distance, form, int(at[-1]) + 1, k, recipe, run))[at]


def find_spectrum(
    distance: KernelDistance, form: Whitening | None, count: int, k: int, recipe: Recipe, run: Run
) -> np.ndarray:
    """The smallest eigenvalues of the first graph, but those of strays."""
    W = build_whitened_graph(distance, form, k, recipe.with_clusters(max(2, min(10, count))), run)
    return _leave_out_strays(compute_eigenvectors(W, recipe.with_clusters(count), fix_seed(run)))


def _leave_out_strays(pairs: Eigenpairs) -> np.ndarray:
    """The eigenvalues whose eigenvectors live on more than a few samples, and the last again.

    A few samples far from all others have a small eigenvalue of their own, whatever the rest does.
    On how many samples a vector lives is the inverse of the sum of its fourth powers.
    """
    shares = np.square(pairs.vectors)
    shares /= np.maximum(shares.sum(axis=0), 1e-300)
    spread = 1.0 / np.maximum(np.square(shares).sum(axis=0), 1e-300)
    kept = pairs.values[spread >= min(_LEAST_SPREAD, len(shares) // 4)]
    if not len(kept):
        return pairs.values
    return np.concatenate([kept, np.full(len(pairs.values) - len(kept), kept[-1])])


def build_whitened_graph(
    distance: KernelDistance, form: Whitening | None, k: int, recipe: Recipe, run: Run
) -> sp.csr_array:
    """The first graph of a distance in some form, with k candidates."""
    recipe = recipe.with_clusters(recipe.n_clusters or 10)
    k = min(k, distance.n_samples - 1)
    return build_first_graph(whiten(distance, form), k, recipe, fix_seed(run))


def draw_null_samples(distance: KernelDistance, draws: int, run: Run) -> Iterator[KernelDistance]:
    """Gaussian samples of the same number and covariance; none where all samples are equal."""
    deviations = _deviations(distance, run)
    for draw in range(draws if len(deviations) else 0):
        drawn = np.random.default_rng(draw).normal(size=(distance.n_samples, len(deviations)))
        yield KernelDistance.linear(drawn * deviations)


def _deviations(distance: KernelDistance, run: Run) -> np.ndarray:
    """The standard deviations of the samples along their principal directions.

    Samples that are far from all others have no part in them. Of a kernel that is not of a table
    they say nothing, since a kernel bends its samples into many directions: then as many equal
    ones as the samples have dimensions locally.
    """
    n = distance.n_samples
    columns = distance.n_columns
    if columns is None:
        return np.ones(round(estimate_dimension(find_nearest_squared(distance)[1])))
    features = distance.features() if columns <= n else None
    if features is None:
        products = distance.all_products(run).astype(np.float64)
        products -= products.mean(axis=0)
        products -= products.mean(axis=1)[:, None]
        lengths = np.diagonal(products)
    else:
        centred = features - features.mean(axis=0, dtype=np.float64)
        products = centred.T @ centred
        lengths = np.einsum("ij,ij->i", centred, centred)
    near = find_near(lengths)
    if len(near) < n:
        return _deviations(distance.subset(near), run)
    values = np.linalg.eigvalsh(products)
    values = values[values > 1e-10 * max(float(values[-1]), 1e-300)]
    if not len(values) or values[-1] <= 1e-300:
        return np.zeros(0)
    return np.sqrt(values / max(n - 1, 1))


def find_nearest_squared(distance: KernelDistance) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other samples of each sample, and their squared distances, ascending."""
    squared = distance.distances(slice(None), slice(None))
    np.fill_diagonal(squared, -1.0)  # a copy of a sample may be as near as itself
    k = min(_LOCAL_NEIGHBORS, distance.n_samples - 1)
    near = np.argsort(squared, axis=1, kind="stable")[:, 1 : k + 1]
    return near, np.maximum(np.take_along_axis(squared, near, axis=1), 0.0)


def estimate_dimension(squared: np.ndarray) -> float:
    """The dimension in which neighbours lie (Levina and Bickel 2004), at most 50; 0 for none.

    Squared distances ascend in each row.
    """
    apart = squared[squared[:, 0] > 1e-12 * max(float(squared.max(initial=0.0)), 1e-300)]
    if squared.shape[1] < 2 or not len(apart):
        return 0.0
    spread = 0.5 * np.log(apart[:, -1:] / apart[:, :-1]).mean()
    return float(np.clip(1.0 / max(float(spread), 1e-3), 1.0, 50.0))
