"""The label-free model from checked samples to a solution: the wiring of its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from unispectral._base import Fitted
from unispectral._errors import DoubtfulResultWarning, warn
from unispectral._inputs import Samples
from unispectral._result import Solution
from unispectral._run import Run
from unispectral.graph.candidates import EXACT_SAMPLES
from unispectral.labelfree._coding import MEDIAN, codes_of, read_out
from unispectral.labelfree._component_repair import joined, repaired
from unispectral.labelfree._contest import Choice, choose_geometry, other_forms
from unispectral.labelfree._core_samples import by_core_samples
from unispectral.labelfree._counting import (
    STRUCTURELESS,
    ClusterCount,
    count_clusters,
    structure_ratio,
)
from unispectral.labelfree._coupling import Coupled, couple
from unispectral.labelfree._doubts import doubts
from unispectral.labelfree._geometry import KernelDistance, Whitening
from unispectral.labelfree._order import has_order, renumbered
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._refinement import refined
from unispectral.labelfree._view_choice import (
    Chosen,
    Located,
    View,
    located_views,
    ordered,
    own_views,
    reweighted,
    widened,
)
from unispectral.labelfree._views import agreement, own_graphs
from unispectral.labels import procrustes
from unispectral.predict import UNKNOWN_SCORE, GeometryPart, warn_of_unknown

__all__ = ["fit"]

#: Samples that each cluster must have on average, and more, for its clarity to be judged.
_MEMBERS = 10


def fit(samples: Samples, recipe: Recipe, run: Run) -> Fitted:
    """Views that show something, their geometry, the coupled graph, and labels.

    With ``n_clusters=0`` in the recipe their number is sought. Samples are taken in an order of
    their own, and what is found of them is put back into that in which they came.
    """
    reordered = samples.bank is None and has_order(samples.tables)
    numbers, samples, views, chosen = ordered(samples, reordered, recipe, run)
    together, used, kept = chosen.together, chosen.used, chosen.kept
    if chosen.known is not None:
        numbers = numbers[chosen.known]
        warn_of_unknown(samples.n_samples - len(numbers), samples.n_samples)
    count = None
    if not recipe.n_clusters:
        run.progress("number of clusters")
        count = count_clusters(together or used[0].distance, recipe, run)
        recipe = recipe.with_clusters(count.n_clusters)
    choice = None if together is None else choose_geometry(together, recipe, run)
    choice, structure = _judged(together, choice, count, recipe, run)
    form = None if choice is None else choice.form
    found = _clustered(chosen, form, recipe, run)
    agreed = None
    if len(views) > 1:
        agreed = np.zeros(len(views))
        found, agreed[kept] = _clearest(found, recipe, run)
    if count is None:
        _warn_of_doubts(found.coupled, found.labels, numbers, structure, run)
    weights = np.zeros(len(views))
    weights[kept] = found.chosen.weights
    names = samples.public_names([view.name for view in views])
    titles = ["all views"] if len(used) > 1 and together is not None else []
    titles += [names[at] for at in np.flatnonzero(kept)]
    error, parts = _described(found, recipe, run)
    solution = _solution(found)
    if reordered or chosen.known is not None:
        solution, error, parts = _placed(numbers, samples.n_samples, solution, error, parts)
    return Fitted(
        samples=samples,
        solution=solution,
        kernel_weights=weights,
        kernel_names=names,
        geometry_weights={
            title + _done(one.geometry): share
            for title, one, share in zip(titles, found.located, found.shares, strict=False)
        },
        outlier_score=error,
        parts=parts,
        alpha=recipe.alpha * MEDIAN,  # in the units of the Gaussian kernel
        ridge=recipe.ridge,
        n_candidates=found.k,
        by_labels=not np.array_equal(found.labels, found.read),
        kernel_agreement=agreed,
        structure=structure,
        cluster_count=count,
    )


class _Clustering(NamedTuple):
    """Clusters, and the views, geometries and graphs that they were found with."""

    chosen: Chosen
    form: Whitening | None
    #: Candidates of each code.
    k: int
    located: list[Located]
    shares: list[float]
    coupled: Coupled
    #: The labels read out of the embedding, and the same after refinement.
    read: np.ndarray
    labels: np.ndarray


def _clustered(chosen: Chosen, form: Whitening | None, recipe: Recipe, run: Run) -> _Clustering:
    """Neighbourhoods, the coupled graph and labels, by the weights that the views have."""
    together = chosen.together
    k, located = located_views(chosen, form, recipe, run)
    # From here on the same random numbers whatever the seed: it is no choice between optima.
    run = run.replace(rng=np.random.default_rng(0))
    shares = _shares(chosen.weights, together is not None, recipe)
    coupled, read, labels = _clusters(located, shares, k, recipe, run)
    if recipe.core_first and len(chosen.used) == 1 and together is not None:

        def cluster(distance: KernelDistance) -> tuple[Any, np.ndarray]:
            here = run.replace(executor=None)
            wide, one = widened(View("", distance, None), form, recipe, k, here)
            inner, _, found = _clusters([one], [1.0], wide, replace(recipe, max_iter=1), here)
            return inner.first, found

        labels = by_core_samples(together, coupled.first, labels, cluster)
    return _Clustering(chosen, form, k, located, shares, coupled, read, labels)


def _clearest(found: _Clustering, recipe: Recipe, run: Run) -> tuple[_Clustering, np.ndarray]:
    """These clusters, or those of the views by other weights; and how well each view shows them.

    Views that cannot tell two clusters apart say nothing against them: either is judged by the
    view that shows it the most clearly.
    """
    used = found.chosen.used
    own = found.located[-len(used) :]
    if len(own) < len(used):
        own = own_views(found.chosen, found.form, found.k, run)
    graphs = own_graphs([one.around for one in own], recipe, run)
    shown = agreement(graphs, found.labels)
    other = reweighted(found.chosen)
    if other is None or other.together is None:
        return found, shown
    run.progress("other weights of the views")
    form = choose_geometry(other.together, recipe, run).form
    rival = _clustered(other, form, replace(recipe, fused_share=1.0), run)
    rival_shown = agreement(graphs, rival.labels)
    return (rival, rival_shown) if rival_shown.max() > shown.max() else (found, shown)


def _warn_of_doubts(
    coupled: Coupled, labels: np.ndarray, numbers: np.ndarray, structure: float | None, run: Run
) -> None:
    """Warn of what speaks against the clusters that were asked for."""
    found = doubts(coupled.first, labels, coupled.eigenvalues, run, numbers)
    if structure is not None and structure > STRUCTURELESS:
        found.append(
            f"The {len(coupled.eigenvalues)} clusters are no clearer than those of Gaussian "
            f"samples without clusters ({structure:.2f}, from 0 for separate clusters to 1 for "
            "none); try n_clusters='auto', other columns or another kernel before you trust them."
        )
    for doubt in found:
        warn(doubt, DoubtfulResultWarning)


def _solution(found: _Clustering) -> Solution:
    coupled = found.coupled
    return Solution(
        Z=coupled.graph,
        W=coupled.affinity,
        P=coupled.embedding,
        Q=procrustes(coupled.embedding, found.labels),
        labels=found.labels,
        weights=np.asarray(found.shares),
        objective=coupled.objective,
        n_iter=len(coupled.objective),
        converged=coupled.converged,
        reason=coupled.reason,
        kkt=coupled.residual,
        eigenvalues=coupled.eigenvalues,
    )


def _placed(
    numbers: np.ndarray, n: int, solution: Solution, error: np.ndarray, parts: list[GeometryPart]
) -> tuple[Solution, np.ndarray, list[GeometryPart]]:
    """What was found, where sample i is ``numbers[i]`` of n; of the others nothing is known."""
    P = np.zeros((n, solution.P.shape[1]))
    P[numbers] = solution.P
    # As predicted: the cluster that will be the first.
    labels = np.full(n, solution.labels[np.argmin(numbers)])
    labels[numbers] = solution.labels
    errors = np.full(n, UNKNOWN_SCORE)
    errors[numbers] = error
    for part in parts:
        part.samples = numbers if part.samples is None else numbers[part.samples]
    Z, W = (renumbered(matrix, numbers, n) for matrix in (solution.Z, solution.W))
    return replace(solution, Z=Z, W=W, P=P, labels=labels), errors, parts


def _clusters(
    located: list[Located], shares: list[float], k: int, recipe: Recipe, run: Run
) -> tuple[Coupled, np.ndarray, np.ndarray]:
    """The coupled graph, the labels read out of its embedding, and the same after refinement."""
    seed = int(run.rng.integers(2**31 - 1))
    nearby = next((one for one in located if one.around.present is None), None)

    def repair(graph: Any) -> Any:
        assert nearby is not None
        graph = repaired(graph, nearby.geometry, nearby.around.rate, recipe, k, seed, run)
        return joined(graph, nearby.geometry, recipe.n_clusters)

    coupled = couple(
        [one.around for one in located],
        shares,
        recipe,
        run,
        repair if recipe.repair and nearby is not None else None,
    )
    run.progress("labels")
    read = read_out(coupled.first, coupled.embedding, recipe, run.rng)
    if not recipe.refine:
        return coupled, read, read
    return coupled, read, refined(coupled.first, read, recipe.n_clusters, run)


def _judged(
    distance: KernelDistance | None,
    choice: Choice | None,
    count: ClusterCount | None,
    recipe: Recipe,
    run: Run,
) -> tuple[Choice | None, float | None]:
    """The geometry, and how clear its clusters are beside those of a cloud.

    Where it shows none, and another does, that is taken. Few samples per cluster are not judged.
    """
    if count is not None:
        return choice, count.structure
    c = recipe.n_clusters
    if distance is None or choice is None or c < 2 or c * _MEMBERS >= len(choice.sample):
        return choice, None
    found = structure_ratio(distance, c, recipe, run, choice)
    if found > STRUCTURELESS:
        for form in other_forms(distance, recipe, choice):
            other = Choice(form, choice.sample, None)
            again = structure_ratio(distance, c, recipe, run, other)
            if again < min(found, STRUCTURELESS):
                choice, found = other, again
    return choice, min(found, 1.0)


def _shares(weights: np.ndarray, together: bool, recipe: Recipe) -> list[float]:
    """Shares of the graphs: of all views together, if there is one, and of each view's own."""
    share = recipe.fused_share if together else 0.0
    if len(weights) == 1 or share == 1.0:
        return [1.0]
    return ([share] if together else []) + ((1.0 - share) * weights).tolist()


def _described(
    found: _Clustering, recipe: Recipe, run: Run
) -> tuple[np.ndarray, list[GeometryPart]]:
    """Outlier scores, and the geometries in which new samples are described.

    Outliers are judged by plain distances: whitened rows have all the same length.
    """
    located, errors = found.located, found.coupled.errors
    parts = [_part(one, share) for one, share in zip(located, found.shares, strict=True)]
    judges, judging = list(located), parts
    if found.chosen.together is not None:
        judges, judging = [located[0]], parts[:1]
        if found.form is not None:
            plain = View("", found.chosen.together, None).localized(found.k, run)
            judges, judging = [plain], [_part(plain, 0.0)]
            parts = parts + judging
            errors = [codes_of(plain.around, recipe, None, run).error]
    n = len(located[0].around.neighbours)
    error, known = np.zeros(n), np.zeros(n)
    for one, part, left in zip(judges, judging, errors, strict=False):
        part.outlier_weight = 1.0 / len(judges)
        here = np.ones(n) if one.around.present is None else one.around.present
        error += here * left
        known += here
    if len(located) < len(found.chosen.used):  # new samples may lack a view
        parts = parts + [_part(one, 0.0) for one in found.chosen.plain]
    return error / np.maximum(known, 1.0), parts


def _part(located: Located, weight: float) -> GeometryPart:
    around, geometry = located.around, located.geometry
    base = getattr(geometry, "base", geometry)
    single = any(part.bank.dtype == np.float32 for part in base.parts)
    indexed = base.n_samples > EXACT_SAMPLES  # whose distances are those of single precision
    return GeometryPart(
        geometry=geometry,
        rate=around.rate,
        weight=float(weight),
        outlier_weight=0.0,
        # The squared distance at which rounding cannot tell two points apart.
        close=(1e-6 if single or indexed else 1e-10) * -0.5 / around.rate,
        samples=None if around.present is None else np.flatnonzero(around.present),
    )


def _done(geometry: Any) -> str:
    """What was done to the distances of a geometry, for its name."""
    return geometry.name.removeprefix(getattr(geometry, "base", geometry).name)
