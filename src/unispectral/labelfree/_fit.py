"""The label-free model from checked samples to its result: the steps in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import DoubtfulResultWarning, warn
from unispectral._inputs import Samples
from unispectral._result import Fitted, Solution
from unispectral._run import Run
from unispectral.graph.communities import k_communities
from unispectral.graph.copies import first_equal
from unispectral.graph.neighbours import EXACT_SAMPLES
from unispectral.graph.quality import normalized_cut
from unispectral.labelfree._assignment import (
    CLEAR,
    assign_labels,
    find_core_samples,
    prefer_core_labels,
    refine_labels,
)
from unispectral.labelfree._certainty import calibrate_memberships
from unispectral.labelfree._committee import (
    choose_neighbors,
    cluster_table,
    has_few,
    is_disputed,
    take_vote,
)
from unispectral.labelfree._connected import fit_connected
from unispectral.labelfree._count import ClusterCount, count_clusters, find_natural_clusters
from unispectral.labelfree._diagnostics import diagnose, doubt_agreement
from unispectral.labelfree._geometry import KernelDistance, Whitening
from unispectral.labelfree._given import fit_graph
from unispectral.labelfree._graph import LearnedGraph, as_solution, couple_with, embed, learn_graph
from unispectral.labelfree._neighbourhoods import (
    MEDIAN,
    Layer,
    build_graph,
    compute_codes,
    localize,
)
from unispectral.labelfree._order import has_order, renumber, spatial_order
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._selection import GeometryChoice, choose_geometry, reconsider_geometry
from unispectral.labelfree._views import (
    Layers,
    Views,
    build_layers,
    build_own_layers,
    build_views,
    combine_views,
    locate,
    reweigh_views,
    select_views,
)
from unispectral.labelfree._weights import modularity_per_view
from unispectral.labels import label_shares
from unispectral.predict import UNKNOWN_SCORE, GeometryPart, Predictor, warn_of_unknown
from unispectral.spectrum import affinity

#: Fewer distinct samples than this, or than two for each cluster, are taken with their copies.
_LEAST_DISTINCT = 10
#: Clusters of a lower mean conductance are components of the graph: there is nothing to vote on.
SEPARATE = 1e-9
#: Samples count about equally often where as many of equal counts, by the effective sample size,
#: are at least this share of them.
_LEAST_EVEN = 0.9
#: The mean modularity per view may fall by this share where other weights of views are taken.
_MOST_LOSS = 0.2


class Clustering(NamedTuple):
    """Labels, and the views, layers and graph that they were found with."""

    views: Views
    form: Whitening | None
    layers: Layers
    graph: LearnedGraph
    labels: np.ndarray
    #: Whether they are not those of the embedding: they were improved on the graph, or found
    #: there.
    by_labels: bool
    #: Which samples are not of low density; None where that was not looked at, or says nothing.
    core: np.ndarray | None = None


def fit(samples: Samples, recipe: Recipe, run: Run) -> Fitted:
    """Views that show something, their geometry, the coupled graph, and labels.

    With ``n_clusters=0`` in the recipe their number is sought. Samples are taken in an order of
    their own, and what is found of them is put back into that in which they came.
    """
    for note in samples.notes:
        warn(note)
    if samples.graph is not None:
        return fit_graph(samples, recipe, run)
    if samples.allowed is not None:
        return fit_connected(samples, recipe, run)
    prepared = prepare_views(samples, recipe, run)
    combined = prepared.combined
    count = None
    if not recipe.n_clusters:
        count, recipe = count_views(combined, recipe, run)
    geometry = GeometryChoice()
    if combined.joint is not None:
        geometry = choose_geometry(combined.joint, recipe, run)
        if count is None:
            geometry = reconsider_geometry(geometry, combined.joint, recipe, run)

    found = cluster_views(combined, geometry.form, recipe, run)
    if count is not None and recipe.guessed:
        count = count.replace_guess(int(found.labels.max()) + 1)
        recipe = replace(recipe, n_clusters=count.n_clusters, guessed=False)
    shown = None
    if len(prepared.kept) > 1:
        shown = np.zeros(len(prepared.kept))
        found, shown[prepared.kept] = compare_weightings(found, recipe, run)
    found, agreement = let_candidates_vote(found, geometry, recipe, run)

    # Of a number that was found here nothing but the vote is left to say.
    diagnostics = doubt_agreement(agreement)
    if count is None:
        diagnostics = diagnose(
            found.graph.first,
            found.labels,
            found.graph.eigenvalues,
            run,
            prepared.numbers,
            geometry.structure,
            agreement,
        )
    for sentence in diagnostics:
        warn(sentence, DoubtfulResultWarning)
    structure = geometry.structure if count is None else count.structure
    fitted = describe_clusters(samples, prepared, found, structure, recipe, run)
    return fitted._replace(
        kernel_agreement=shown,
        agreement=agreement,
        structure=structure,
        cluster_count=count,
        diagnostics=tuple(diagnostics),
    )


def count_views(views: Views, recipe: Recipe, run: Run) -> tuple[ClusterCount, Recipe]:
    """Count the clusters of all views together, or of the first; the recipe with their number."""
    run.progress("number of clusters")
    distance = views.joint or views.views[0].distance
    count = count_clusters(distance, recipe, run)
    guessed = count.n_clusters > 1 and distance.n_samples > recipe.spectral_samples
    return count, replace(recipe, n_clusters=count.n_clusters, guessed=guessed)


def describe_clusters(
    samples: Samples,
    prepared: Prepared,
    found: Clustering,
    structure: float | None,
    recipe: Recipe,
    run: Run,
) -> Fitted:
    """Put what was found of the samples into the order in which they came; keep a predictor.

    With the ``structure`` of the samples memberships are calibrated by it.
    """
    _, kept, copies, numbers = prepared
    n = samples.n_samples
    membership = None
    if structure is not None and len(found.labels) <= recipe.spectral_samples:
        membership = calibrate_memberships(found.graph.first, found.labels, structure)
        membership = _place_memberships(membership, numbers, copies, n)
    score, parts = _describe(found, numbers, recipe, run)
    weights = np.zeros(len(kept))
    weights[kept] = found.views.weights
    names = samples.kernel_names
    return Fitted(
        solution=_solve(found, weights, numbers, copies, n),
        predictor=Predictor(
            layout=samples.layout,
            parts=tuple(parts),
            alpha=recipe.alpha * MEDIAN,  # in the units of the Gaussian kernel
            ridge=recipe.ridge,
            n_candidates=found.layers.k,
            by_labels=found.by_labels,
        ),
        kernel_names=names,
        kernel_views=samples.kernel_views,
        geometry_weights=_name_layers(found, [names[at] for at in np.flatnonzero(kept)]),
        outlier_score=_place_scores(score, numbers, copies, n),
        copies=copies,
        membership=membership,
    )


class Prepared(NamedTuple):
    """The views that take part, put together, and how their samples are those that came."""

    combined: Views
    #: Which of the given views take part.
    kept: np.ndarray
    #: The first sample with the same rows, of each; None where all are taken as they are.
    copies: np.ndarray | None
    #: Which sample came as which; None where they are taken as they came.
    numbers: np.ndarray | None


def prepare_views(samples: Samples, recipe: Recipe, run: Run) -> Prepared:
    """Order the samples, build the views, select those that show something, and combine them."""
    copies = find_copies(samples, recipe)
    order = None
    if recipe.order:
        order = order_samples(samples, copies)
    views = build_views(samples, order, recipe, run)
    kept = select_views(views, recipe, run)
    if order is None:
        views = [views[at] for at in np.flatnonzero(kept)]
    elif not kept.all():
        # A view that gets weight 0 takes no part in the order either.
        order = order_samples(samples, copies, kept)
        views = build_views(samples, order, recipe, run, kept)
    combined = combine_views(views, recipe)
    if copies is not None or samples.weights is not None:
        combined = combined._replace(counts=count_copies(samples, copies, order, combined.known))
    return Prepared(combined, kept, copies, _number_samples(samples, order, combined))


def find_copies(samples: Samples, recipe: Recipe) -> np.ndarray | None:
    """The first sample with the same rows, of each; None where all are taken as they are.

    A sample that came several times is fitted once, and counts as often as it came.
    """
    if not (recipe.copies and recipe.order):
        return None
    if samples.bank is not None or not has_order(samples.tables):
        return None
    first = first_equal(samples.tables)
    distinct = int((first == np.arange(len(first))).sum())
    if distinct == len(first) or distinct < max(_LEAST_DISTINCT, 2 * recipe.n_clusters):
        return None
    return first


def order_samples(
    samples: Samples, copies: np.ndarray | None = None, kept: np.ndarray | None = None
) -> np.ndarray | None:
    """The numbers of the samples in an order of their own, by the views that are kept.

    Without those that are copies of others.
    """
    if samples.bank is not None or not has_order(samples.tables):
        return None
    tables = samples.tables
    if kept is not None:
        counting = {samples.kernel_views[at] for at in np.flatnonzero(kept)}
        tables = tuple(tables[view] for view in sorted(counting))
    if copies is None:
        return spatial_order(tables)
    distinct = np.flatnonzero(copies == np.arange(len(copies)))
    return distinct[spatial_order([table[distinct] for table in tables])]


def count_copies(
    samples: Samples,
    copies: np.ndarray | None,
    order: np.ndarray | None,
    known: np.ndarray | None = None,
) -> np.ndarray:
    """How often the samples of this order came, by their weights, as a multiple of the mean."""
    n = samples.n_samples
    counts = np.ones(n) if samples.weights is None else samples.weights
    if copies is not None:
        counts = np.bincount(copies, counts, minlength=n)
    if order is not None:
        counts = counts[order]
    if known is not None:
        counts = counts[known]
    return counts / counts.mean()


def _number_samples(samples: Samples, order: np.ndarray | None, views: Views) -> np.ndarray | None:
    """Which of the samples as they came are those of the views; None where they are the same."""
    if views.known is None:
        return order
    numbers = np.flatnonzero(views.known) if order is None else order[views.known]
    total = samples.n_samples if order is None else len(order)
    warn_of_unknown(total - len(numbers), total)
    return numbers


def cluster_views(views: Views, form: Whitening | None, recipe: Recipe, run: Run) -> Clustering:
    """The graph of the views by their weights, in one form of their distances, and its labels."""
    layers = build_layers(views, form, recipe, run)
    # From here on the same random numbers whatever the seed: it is no choice between optima.
    run = run.replace(rng=np.random.default_rng(0))
    graph = learn_graph(layers.layers, layers.k, recipe, run, layers.counts)
    if len(views.views) == 1 and len(graph.embedding) > recipe.spectral_samples:
        layers = layers.without_kernels()
    graph, assigned, labels = _label_graph(graph, recipe, run)
    if recipe.guessed:
        recipe = replace(recipe, n_clusters=int(labels.max()) + 1, guessed=False)
    core = None
    one_table = len(views.views) == 1 and views.joint is not None
    if recipe.core_first and one_table and normalized_cut(graph.first, labels) >= CLEAR:
        assert views.joint is not None
        core = find_core_samples(views.joint)
    found = Clustering(views, form, layers, graph, labels, True, core)
    if core is not None:
        labels = label_core_first(found, core, recipe, run)
    by_labels = assigned is None or not np.array_equal(labels, assigned)
    return found._replace(labels=labels, by_labels=by_labels)


def label_core_first(found: Clustering, core: np.ndarray, recipe: Recipe, run: Run) -> np.ndarray:
    """These labels, or those of the samples that are not of low density, spread to the others."""
    joint = found.views.joint
    if joint is None or core.all():
        return found.labels
    here = run.replace(executor=None)
    few = joint.subset(np.flatnonzero(core))
    layers = locate(few, found.form, found.layers.k, recipe, here)
    if found.layers.counts is not None:
        layers = layers._replace(counts=found.layers.counts[core])
    inside, _, labels = _cluster_layers(layers, replace(recipe, max_iter=1, n_init=1), here)
    return prefer_core_labels(found.graph.first, found.labels, core, inside.first, labels)


def _cluster_layers(
    layers: Layers, recipe: Recipe, run: Run
) -> tuple[LearnedGraph, np.ndarray | None, np.ndarray]:
    """The learned graph of some layers, the labels of its embedding, and these improved on it."""
    graph = learn_graph(layers.layers, layers.k, recipe, run, layers.counts)
    return _label_graph(graph, recipe, run)


def _label_graph(
    graph: LearnedGraph, recipe: Recipe, run: Run
) -> tuple[LearnedGraph, np.ndarray | None, np.ndarray]:
    """A learned graph, the labels of its embedding, and these improved on it.

    Those of more samples than have eigenvectors are communities; the embedding is made of them.
    """
    run.progress("labels")
    n = len(graph.embedding)
    if n > recipe.spectral_samples:
        k = recipe.n_clusters
        if recipe.guessed:
            labels = find_natural_clusters(graph.first, graph.errors, recipe.most_clusters(n))
            k = int(labels.max()) + 1
        else:
            labels = k_communities(graph.first, k)
        shares = label_shares(graph.first, labels, k)
        return graph._replace(embedding=embed(shares, recipe)), None, labels
    assigned = assign_labels(graph.first, graph.embedding, recipe, run.rng)
    labels = assigned
    if recipe.refine:
        labels = refine_labels(graph.first, assigned, recipe.n_clusters, run)
    return graph, assigned, labels


def let_candidates_vote(
    found: Clustering, chosen: GeometryChoice, recipe: Recipe, run: Run
) -> tuple[Clustering, float | None]:
    """These clusters, or others of the same samples on which more candidates agree; and how much.

    Candidates vote on one table, where eigenvectors are computed and clusters are not separate,
    and where samples count about equally often: a mixture and a tree see each of them once. Where
    these agree with the clusters, no further graphs are made. They see the samples as they are, or
    in the geometry that shows clusters where these do not. The graph of clusters that another
    candidate found is coupled with these.
    """
    joint = found.views.joint
    if joint is None or len(found.views.views) > 1 or not recipe.has_vote(joint.n_samples):
        return found, None
    counts = found.layers.counts
    if counts is not None and _LEAST_EVEN * float(np.mean(counts**2)) > 1.0:
        return found, None
    k = recipe.n_clusters
    if normalized_cut(found.graph.first, found.labels) < SEPARATE:
        return found, None
    run.progress("candidates")
    here = run.replace(executor=None, rng=np.random.default_rng(0))
    table = joint.features()
    if chosen.is_other:
        table = found.layers.layers[0].geometry.features()
    candidates = [found.labels]
    if table is not None:
        candidates.extend(cluster_table(table, k, recipe.members))
    if "graph" in recipe.members and is_disputed(candidates):
        candidates[1:1] = cluster_other_graph(found, joint, recipe, here)
    if len(candidates) < 2:
        return found, None
    vote = take_vote(candidates)
    agreement = float(vote.agreement[vote.chosen])
    if vote.chosen == 0:
        return found, agreement
    labels = np.unique(candidates[vote.chosen], return_inverse=True)[1]
    shares = label_shares(found.graph.first, labels, k)
    layers = found.layers
    embedding = embed(shares, recipe)
    graph = couple_with(
        found.graph, layers.layers, layers.k, embedding, recipe, here, layers.counts
    )
    return found._replace(graph=graph, labels=labels, by_labels=True), agreement


def cluster_other_graph(
    found: Clustering, joint: KernelDistance, recipe: Recipe, run: Run
) -> list[np.ndarray]:
    """Candidates from the graph of another number of neighbours in the same geometry.

    The communities of a wider graph are a candidate, too.
    """
    k = choose_neighbors(joint.n_columns)
    if k == found.layers.k or k >= joint.n_samples:
        return []
    geometry, around, _ = found.layers.layers[0]
    if k < found.layers.k:
        around = around.nearest(k)
    else:
        around = found.layers.wider or localize(geometry, k, run)
    layers = Layers([Layer(geometry, around)], k, found.layers.counts)
    recipe = replace(recipe, n_init=1)
    if not has_few(joint.n_columns):
        graph, _, labels = _cluster_layers(layers, recipe, run)
        if "communities" not in recipe.members:
            return [labels]
        return [labels, k_communities(graph.first, recipe.n_clusters)]
    recipe = replace(recipe, max_iter=1, n_neighbors=k)
    graph, _, labels = _cluster_layers(layers, recipe, run)
    if found.core is None:
        return [labels]
    other = found._replace(layers=layers, graph=graph, labels=labels)
    return [label_core_first(other, found.core, recipe, run)]


def compare_weightings(
    found: Clustering, recipe: Recipe, run: Run
) -> tuple[Clustering, np.ndarray]:
    """These clusters, or those of the views by other weights; and their modularity per view.

    Views that cannot tell two clusters apart say nothing against them: either is judged by the
    view that shows it the most clearly. Clusters that follow one view and ignore the others are
    shown best by that one: the others are refused where the mean over the views falls far.
    """
    views = found.views
    own = found.layers.layers[-len(views.views) :]
    if len(own) < len(views.views):
        own = build_own_layers(views, found.form, found.layers.k, 1.0, run)
    graphs = [affinity(build_graph(layer.around, recipe, None, run)[0]) for layer in own]
    shown = modularity_per_view(graphs, found.labels)
    other = None
    if recipe.reweigh:
        other = reweigh_views(views)
    if other is None or other.joint is None:
        return found, shown
    run.progress("other weights of the views")
    form = choose_geometry(other.joint, recipe, run).form
    candidate = cluster_views(other, form, replace(recipe, fused_share=1.0), run)
    candidate_shown = modularity_per_view(graphs, candidate.labels)
    clearer = candidate_shown.max() > shown.max()
    if clearer and candidate_shown.mean() >= (1.0 - _MOST_LOSS) * shown.mean():
        return candidate, candidate_shown
    return found, shown


def _describe(
    found: Clustering, numbers: np.ndarray | None, recipe: Recipe, run: Run
) -> tuple[np.ndarray, list[GeometryPart]]:
    """Outlier scores, and the geometries in which new samples are described.

    Outliers are scored by plain distances: whitened rows have all the same length.
    """
    layers = list(found.layers.layers)
    errors = list(found.graph.errors)
    joint = found.views.joint
    scoring = range(len(layers)) if joint is None else range(1)
    if joint is not None and found.form is not None:
        scoring = range(len(layers), len(layers) + 1)
        around = localize(joint, found.layers.k, run)
        layers.append(Layer(joint, around, 0.0))
        errors.append(compute_codes(around, recipe, None, run).error)
    parts = [
        _describe_part(layer, 1.0 / len(scoring) if at in scoring else 0.0, numbers)
        for at, layer in enumerate(layers)
    ]
    total = np.zeros(len(errors[0]))
    known = np.zeros(len(total))
    for at in scoring:
        present = layers[at].around.present
        here = np.ones(len(total)) if present is None else present
        total += here * errors[at]
        known += here
    if len(found.layers.layers) < len(found.views.views):  # new samples may lack a view
        for view in found.views.views:
            if view.around is not None:
                layer = Layer(view.distance, view.around, 0.0)
                parts.append(_describe_part(layer, 0.0, numbers))
    return total / np.maximum(known, 1.0), parts


def _describe_part(
    layer: Layer, outlier_weight: float, numbers: np.ndarray | None
) -> GeometryPart:
    """How new samples are described in a layer whose samples have these numbers."""
    base = layer.geometry.base
    precisions = {part.kernel.dtype for part in base.parts}
    # An index has distances of single precision.
    single = np.dtype(np.float32) in precisions or base.n_samples > EXACT_SAMPLES
    samples = numbers
    if layer.around.present is not None:
        own = np.flatnonzero(layer.around.present)
        samples = own if numbers is None else numbers[own]
    rate = layer.around.rate
    return GeometryPart(
        geometry=layer.geometry,
        rate=rate,
        weight=float(layer.share),
        outlier_weight=outlier_weight,
        # The squared distance at which rounding cannot tell two points apart.
        close=(1e-6 if single else 1e-10) * -0.5 / rate,
        samples=samples,
    )


def _place_scores(
    score: np.ndarray, numbers: np.ndarray | None, copies: np.ndarray | None, n_samples: int
) -> np.ndarray:
    """Outlier scores in the order in which the samples came, of copies those of the first."""
    if numbers is not None:
        placed = np.full(n_samples, UNKNOWN_SCORE)
        placed[numbers] = score
        score = placed
    return score if copies is None else score[copies]


def _place_memberships(
    membership: np.ndarray, numbers: np.ndarray | None, copies: np.ndarray | None, n: int
) -> np.ndarray:
    """Memberships of the samples as they came; of those left out nothing is known."""
    if numbers is None:
        return membership
    placed = np.full((n, membership.shape[1]), 1.0 / membership.shape[1])
    placed[numbers] = membership
    if copies is not None:
        return placed[copies]
    return placed


def _name_layers(found: Clustering, names: Sequence[str]) -> dict[str, float]:
    """The share of each layer in the graph, by the names of its views and its geometry."""
    titles = list(names)
    if len(found.views.views) > 1 and found.views.joint is not None:
        titles = ["all views", *names]
    shares = {}
    for title, layer in zip(titles, found.layers.layers, strict=False):
        geometry = layer.geometry
        shares[title + geometry.name.removeprefix(geometry.base.name)] = layer.share
    return shares


def _solve(
    found: Clustering,
    weights: np.ndarray,
    numbers: np.ndarray | None,
    copies: np.ndarray | None,
    n: int,
) -> Solution:
    """What was found, with the samples as they came; of those left out nothing is known.

    Copies have the code of the first of them.
    """
    graph = found.graph
    solution = as_solution(graph, found.labels, weights)
    if numbers is None:
        return solution
    P = np.zeros((n, solution.P.shape[1]), dtype=solution.P.dtype)
    P[numbers] = solution.P
    # As predicted: the cluster that will be the first.
    labels = np.full(n, found.labels[np.argmin(numbers)])
    labels[numbers] = found.labels
    Z = renumber(graph.graph, numbers, n)
    if copies is not None:
        codes = sp.csr_array(Z.T)[copies]
        Z = codes.T.tocsr()
        return solution._replace(Z=Z, W=affinity(codes, Z), P=P[copies], labels=labels[copies])
    W = renumber(graph.affinity, numbers, n)
    return solution._replace(Z=Z, W=W, P=P, labels=labels)
