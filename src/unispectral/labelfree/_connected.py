"""The label-free model where only some samples may be joined: contiguous clusters.

Regions on a map, pixels, or moments in time have neighbours of their own. The graph is learned on
these pairs alone, with the weights that the samples' columns ask for; each cluster hangs together
by them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from unispectral._errors import DoubtfulResultWarning, InputError, warn
from unispectral._inputs import Samples
from unispectral._result import Fitted
from unispectral._run import Run
from unispectral.graph.communities import k_communities
from unispectral.graph.quality import components
from unispectral.labelfree._assignment import choose_labels
from unispectral.labelfree._count import ClusterCount, count_clusters
from unispectral.labelfree._diagnostics import diagnose
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._given import (
    Clustered,
    assign_and_refine,
    describe_clusters,
    select_edges,
)
from unispectral.labelfree._graph import embed, learn_graph
from unispectral.labelfree._neighbourhoods import Layer, localize
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._views import build_views, combine_views, select_views
from unispectral.labels import label_shares

#: Pairs whose distances are computed at a time.
_EDGES = 65_536


def fit_connected(samples: Samples, recipe: Recipe, run: Run) -> Fitted:
    """Learn a graph on the pairs that are allowed, and clusters that hang together by them."""
    allowed = samples.allowed
    assert allowed is not None, "some pairs are allowed"
    views = build_views(samples, None, recipe, run)
    kept = select_views(views, recipe, run)
    combined = combine_views([views[at] for at in np.flatnonzero(kept)], recipe)
    if combined.joint is None or combined.known is not None:
        problem = "asks for distances between all samples, which these views do not have"
        raise InputError("connectivity", problem, "leave it out, or give one table")
    parts, _ = components(allowed)
    count = None
    if not recipe.n_clusters:
        run.progress("number of clusters")
        count = _count(combined.joint, parts, recipe, run)
        recipe = recipe.with_clusters(count.n_clusters)
    elif parts > recipe.n_clusters:
        warn(
            f"connectivity falls into {parts} parts, more than the {recipe.n_clusters} clusters: "
            "the smallest share the cluster of the part that is nearest to them. Ask for "
            f"n_clusters={parts}, or connect them.",
            DoubtfulResultWarning,
        )
    counts = None if samples.weights is None else samples.weights / samples.weights.mean()
    found = _cluster(combined.joint, allowed, counts, recipe, run)
    diagnostics: list[str] = []
    if count is None:
        first = found.graph.first
        diagnostics = diagnose(first, found.labels, found.graph.eigenvalues, run, None)
    for sentence in diagnostics:
        warn(sentence, DoubtfulResultWarning)
    weights = np.zeros(len(kept))
    weights[kept] = combined.weights
    fitted = describe_clusters(samples, found, None, count, recipe, weights)
    return fitted._replace(diagnostics=tuple(diagnostics))


def _count(joint: KernelDistance, parts: int, recipe: Recipe, run: Run) -> ClusterCount:
    """The number of clusters of the samples, but one for each part at least."""
    count = count_clusters(joint, recipe, run)
    if count.n_clusters >= parts:
        return count
    reason = f"connectivity falls into {parts} parts"
    return count._replace(n_clusters=parts, reason=reason)


def measure_edges(geometry: KernelDistance, edges: sp.csr_array) -> np.ndarray:
    """The squared distances along the edges of a graph, in their order.

    Examples
    --------
    >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> distance = KernelDistance.linear(np.array([[0.0], [1.0], [3.0]]))
    >>> measure_edges(distance, path).tolist()
    [1.0, 1.0, 4.0, 4.0]
    """
    rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    found = np.empty(len(rows))
    for start in range(0, len(rows), _EDGES):
        some = slice(start, start + _EDGES)
        ends = edges.indices[some, None].astype(np.int64)
        found[some] = geometry.around(rows[some], ends)[0][:, 0]
    return found


def _cluster(
    geometry: KernelDistance,
    allowed: sp.csr_array,
    counts: np.ndarray | None,
    recipe: Recipe,
    run: Run,
) -> Clustered:
    """The graph on the allowed pairs that are nearest, and labels whose clusters hang together."""
    from unispectral.knowledge import Sizes
    from unispectral.knowledge._sizes import hold_together

    k = recipe.n_clusters
    nearest = select_edges(
        allowed, measure_edges(geometry, allowed), recipe.candidates(len(allowed.indptr) - 1)
    )
    around = localize(geometry, nearest.shape[1], run, neighbours=nearest)
    run = run.replace(rng=np.random.default_rng(0))
    layer = Layer(geometry, around)
    graph = learn_graph([layer], nearest.shape[1], replace(recipe, repair=False), run, counts)
    run.progress("labels")
    communities = k_communities(graph.first, k)
    if allowed.shape[0] > recipe.spectral_samples:
        shares = label_shares(graph.first, communities, k)
        return Clustered(layer, graph._replace(embedding=embed(shares, recipe)), communities)
    candidates = [assign_and_refine(graph.first, graph.embedding, recipe, run)]
    if len(np.unique(communities)) == k:
        candidates.append(communities)
    labels = choose_labels(graph.first, candidates)
    # A pair without a learned weight still touches.
    touching = sp.csr_array(graph.first + 1e-6 * allowed)
    free = np.full(len(labels), -1)
    labels = hold_together(touching, labels, Sizes(None, None), k, free)
    return Clustered(layer, graph, labels)
