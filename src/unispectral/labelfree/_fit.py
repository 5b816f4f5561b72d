"""The label-free model from checked samples to a solution: the wiring of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unispectral._inputs import Samples
from unispectral._result import Solution
from unispectral._run import Run
from unispectral.labelfree._coding import MEDIAN, reconstruction_error
from unispectral.labelfree._component_repair import repaired
from unispectral.labelfree._counting import Evidence, count_in_geometries
from unispectral.labelfree._coupling import couple
from unispectral.labelfree._near_duplicates import near_duplicate_share
from unispectral.labelfree._recipe import WHITEN_SAMPLES, Recipe
from unispectral.labelfree._rivals import FUSED, Rival, find_rivals, fused_rivals
from unispectral.labelfree._weighting import Weighting, weigh
from unispectral.predict import GeometryPart

__all__ = ["LabelFreeFit", "fit"]

#: Above ``WHITEN_SAMPLES`` samples candidates are doubled, at most so often, where so many samples
#: have mostly near-duplicates of themselves among them.
_NEAR_DUPLICATES = 0.5
_DOUBLINGS = 2


class LabelFreeFit(NamedTuple):
    """A solution and what an estimator keeps beside it.

    Attributes
    ----------
    solution : Solution
    recipe : Recipe
        With the number of clusters.
    n_candidates : int
    kernel_weights : ndarray of shape (n_kernels,)
    kernel_names : tuple of str
    geometry_weights : dict
    outlier_score : ndarray of shape (n_samples,)
    parts : list of GeometryPart
        For prediction.
    evidence : Evidence or None
        Why this number of clusters, where it was sought.
    """

    solution: Solution
    recipe: Recipe
    n_candidates: int
    kernel_weights: np.ndarray
    kernel_names: tuple[str, ...]
    geometry_weights: dict[str, float]
    outlier_score: np.ndarray
    parts: list[GeometryPart]
    evidence: Evidence | None


def fit(samples: Samples, recipe: Recipe, run: Run) -> LabelFreeFit:
    """Rival geometries, the number of clusters, weights, and the coupled graph.

    Parameters
    ----------
    samples : Samples
    recipe : Recipe
        With ``n_clusters=0`` their number is sought.
    run : Run
    """
    run.progress("geometries")
    n = samples.n_samples
    one_kernel = samples.kernels is not None and len(samples.kernels) == 1
    whiten = recipe.whitened(n, one_kernel)
    k = recipe.candidates(n)
    rivals, names = find_rivals(samples, whiten, k, run)
    grown = 1
    if recipe.n_neighbors is None and n > WHITEN_SAMPLES:
        for _ in range(_DOUBLINGS):
            shares = [near_duplicate_share(rival.neighbourhoods, run) for rival in rivals]
            if max(shares) <= _NEAR_DUPLICATES:
                break
            grown *= 2
            rivals, _ = find_rivals(samples, whiten, grown * k, run)
    evidence = None
    if not recipe.n_clusters:
        whole = [rival for rival in rivals if rival.present is None] or rivals
        around = [rival.neighbourhoods for rival in whole]
        evidence = count_in_geometries(around, recipe, run, grown=grown)
        recipe = recipe.with_clusters(evidence.n_clusters)
        k = recipe.candidates(n)
        rivals = [rival.nearest(grown * k) for rival in rivals]
    k *= grown
    fuse = None
    if recipe.fuse and len(names) > 1:
        fusing = run.replace(rng=np.random.default_rng(int(run.rng.integers(2**31 - 1))))

        def fuse(shares: np.ndarray) -> list[Rival]:
            return fused_rivals(rivals, shares, whiten, k, fusing)

    seed = int(run.rng.integers(2**31 - 1))
    weighting = weigh(rivals, recipe, run, fuse)

    def repair(graph: Any) -> Any:
        return repaired(graph, weighting.rivals, weighting.weights, recipe, k, seed, run)

    solution = couple(weighting, recipe, run, repair if recipe.repair else None)
    return _described(samples, weighting, names, recipe, solution, k, evidence, run)


def _described(
    samples: Samples,
    weighting: Weighting,
    names: Sequence[str],
    recipe: Recipe,
    solution: Solution,
    k: int,
    evidence: Evidence | None,
    run: Run,
) -> LabelFreeFit:
    """A solution with the weights of kernels, outlier scores, and what prediction needs."""
    rivals, weights = weighting.rivals, weighting.weights
    kernel_weights = np.zeros(len(names))
    for rival, weight in zip(rivals, weights, strict=True):
        if rival.kernel == FUSED:  # of several kernels, each by its share
            kernel_weights += weight * weighting.shares
        else:
            kernel_weights[rival.kernel] += weight
    # Each kernel judges by its own geometry, the first of its kernel, and as much as it weighs.
    judging = np.zeros(len(rivals))
    first = {rival.kernel: at for at, rival in reversed(list(enumerate(rivals)))}
    error = np.zeros(samples.n_samples)
    for kernel in np.flatnonzero(kernel_weights).tolist():
        at = first[kernel]
        judging[at] = kernel_weights[kernel]
        error += judging[at] * reconstruction_error(rivals[at].neighbourhoods, recipe, run)
    parts = [
        GeometryPart(
            geometry=rival.geometry,
            rate=rival.neighbourhoods.rate,
            weight=float(weight),
            outlier_weight=float(judged),
            close=_close(rival),
            samples=None if rival.present is None else np.flatnonzero(rival.present),
        )
        for rival, weight, judged in zip(rivals, weights, judging, strict=True)
        if weight > 0 or judged > 0
    ]
    public = samples.public_names(names)
    titles = [rival.title(public) for rival in rivals]
    return LabelFreeFit(
        solution,
        recipe,
        k,
        kernel_weights,
        public,
        dict(zip(titles, weights.tolist(), strict=True)),
        error,
        parts,
        evidence,
    )


def _close(rival: Rival) -> float:
    """The squared distance at which rounding cannot tell two points apart."""
    base = getattr(rival.geometry, "base", rival.geometry)
    single = any(part.bank.dtype == np.float32 for part in base.parts)
    indexed = base is rival.geometry and base.indexable_table() is not None
    median = -0.5 / rival.neighbourhoods.rate
    return (1e-6 if single or (indexed and base.n_samples > 10_000) else 1e-10) * median


def code_price(recipe: Recipe) -> float:
    """The price of a coefficient in the units of the Gaussian kernel."""
    return recipe.alpha * MEDIAN
