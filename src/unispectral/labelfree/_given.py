"""The label-free model on a graph that the user brings.

The edges of the graph are the candidates of each node's code, and the rows of the graph take the
place of samples: weights are learned where a node is expressed by those of its neighbours that
have the same neighbours. Labels of the learned graph, of the given one, and its communities are
candidates; the given graph decides between them, by modularity and conductance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import DoubtfulResultWarning, Sentence, warn
from unispectral._inputs import Samples
from unispectral._result import Fitted
from unispectral._run import Run
from unispectral.graph.communities import (
    Merged,
    best_communities,
    k_communities,
    merge_gradually,
    settle_nodes,
)
from unispectral.graph.quality import components
from unispectral.labelfree._assignment import assign_labels, choose_labels, refine_labels
from unispectral.labelfree._count import ClusterCount
from unispectral.labelfree._diagnostics import diagnose
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._graph import (
    SMALL_SHARE,
    LearnedGraph,
    as_solution,
    compute_eigenvectors,
    embed,
    learn_graph,
)
from unispectral.labelfree._neighbourhoods import MEDIAN, Layer, localize
from unispectral.labelfree._order import renumber
from unispectral.labelfree._recipe import Recipe
from unispectral.labels import label_shares
from unispectral.predict import UNKNOWN_SCORE, GeometryPart, Predictor

#: Edges of each node that its code may use, the heaviest ones.
_MOST_EDGES = 30
#: Random graphs of the same degrees, beside which communities are counted, fewer for many nodes,
#: where they hardly differ; and by how many standard deviations the modularity must exceed the
#: mean of theirs.
_DRAWS = 6
_FEW_DRAWS = 2
_MANY_NODES = 10_000
_DEVIATIONS = 2.5


class Clustered(NamedTuple):
    """Labels of the nodes that are joined to a cluster, and the graph that was learned of them."""

    layer: Layer
    graph: LearnedGraph
    labels: np.ndarray


def fit_graph(samples: Samples, recipe: Recipe, run: Run) -> Fitted:
    """Learn the weights of a given graph's edges, and the clusters of its nodes."""
    edges = samples.graph
    assert edges is not None, "the samples are the nodes of a graph"
    numbers = _find_joined(edges, recipe)
    inner = edges
    if numbers is not None:
        inner = sp.csr_array(edges[numbers][:, numbers])
    count = None
    if not recipe.n_clusters:
        run.progress("number of clusters")
        count = count_communities(inner, recipe.most_clusters(inner.shape[0]))
        recipe = recipe.with_clusters(count.n_clusters)
    _warn_of_parts(inner, recipe)
    found = _cluster(samples, inner, numbers, recipe, run)
    diagnostics: list[str] = []
    if count is None:
        diagnostics = diagnose(inner, found.labels, found.graph.eigenvalues, run, numbers)
    for sentence in diagnostics:
        warn(sentence, DoubtfulResultWarning)
    weights = np.full(len(samples.layout.view_names), 1.0 / len(samples.layout.view_names))
    fitted = describe_clusters(samples, found, numbers, count, recipe, weights)
    return fitted._replace(diagnostics=tuple(diagnostics))


def _find_joined(edges: sp.csr_array, recipe: Recipe) -> np.ndarray | None:
    """The nodes of components large enough to hold a cluster; None for all."""
    count, member = components(edges)
    if count == 1:
        return None
    n = len(member)
    sizes = np.bincount(member)
    least = max(2, int(SMALL_SHARE * n / max(recipe.n_clusters, 1)))
    least = min(least, int(sizes.max()))
    joined = sizes[member] >= least
    if joined.all():
        return None
    outside = n - int(joined.sum())
    nodes = "One node is" if outside == 1 else f"{outside} nodes are"
    warn(
        f"{nodes} in parts of the graph too small to be clusters, which no edge joins to the "
        "rest; nothing says where they belong, and they are counted to the first cluster with "
        f"outlier scores of {UNKNOWN_SCORE:g}.",
        DoubtfulResultWarning,
    )
    return np.flatnonzero(joined)


def _warn_of_parts(edges: sp.csr_array, recipe: Recipe) -> None:
    parts, _ = components(edges)
    if parts > recipe.n_clusters:
        warn(
            Sentence(
                f"The graph falls into {parts} parts without an edge between them, more than the "
                f"{recipe.n_clusters} clusters; nothing says which parts belong together. Ask for "
                "{n_clusters}, or give edges between them.",
                n_clusters=parts,
            ),
            DoubtfulResultWarning,
        )


def count_communities(edges: sp.csr_array, most: int) -> ClusterCount:
    """The number of communities that a graph has by itself, or one.

    Any graph has some: there must be more modularity than in random graphs of the same degrees.
    Communities are then merged one after the other, and counted where they tell more of the edges
    than as many in these, by the largest difference.

    Examples
    --------
    >>> count_communities(sp.csr_array(np.kron(np.eye(3), np.ones((9, 9)))), 20).n_clusters
    3
    """
    labels = best_communities(edges)
    reached = merge_gradually(edges, labels)
    draws = _DRAWS if edges.shape[0] <= _MANY_NODES else _FEW_DRAWS
    null = [_merge_at_random(edges, seed) for seed in range(draws)]
    highest = np.array([one.modularity.max() for one in null])
    expected = float(highest.mean())
    limit = expected + _DEVIATIONS * float(highest.std(ddof=1))
    largest = float(reached.modularity.max())
    structure = float(np.clip(expected / max(largest, 1e-300), 0.0, 1.0))
    if largest <= limit:
        reason = "the graph has no more modularity than random graphs of the same degrees"
        return ClusterCount(1, np.zeros(0), 1.0, reason)
    told = reached.likelihood
    # A random graph that has fewer communities could be cut into more, but gains nothing by it.
    beside = [
        np.append(one.likelihood, np.full(len(told), one.likelihood.max()))[: len(told)]
        for one in null
    ]
    scores = (told - np.mean(beside, axis=0))[1:]
    count = 2 + int(np.argmax(scores))
    reason = f"the graph has {count} communities, which tell more than those of random graphs"
    if count > most:
        reason += f", merged to max_clusters={most}"
    return ClusterCount(min(count, most), scores, structure, reason)


def _merge_at_random(edges: sp.csr_array, seed: int) -> Merged:
    """What the communities of a random graph of the same degrees and weights reach."""
    upper = sp.coo_array(sp.triu(edges, 1))
    ends = np.concatenate(upper.coords)
    np.random.default_rng(seed).shuffle(ends)
    one, other = np.split(ends, 2)
    apart = one != other
    n = edges.shape[0]
    half = sp.coo_array((upper.data[apart], (one[apart], other[apart])), shape=(n, n))
    random = sp.csr_array(half + half.T)
    return merge_gradually(random, best_communities(random))


def select_edges(edges: sp.csr_array, keys: np.ndarray, most: int) -> np.ndarray:
    """The ends of each node's edges of the smallest keys, −1 where there are fewer.

    Examples
    --------
    >>> edges = sp.csr_array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> select_edges(edges, np.array([2.0, 1.0, 0.0, 0.0]), 2).tolist()
    [[2, 1], [0, -1], [0, -1]]
    """
    n = edges.shape[0]
    degrees = np.diff(edges.indptr)
    rows = np.repeat(np.arange(n), degrees)
    order = np.lexsort((edges.indices, keys, rows))
    place = np.arange(len(rows)) - np.repeat(edges.indptr[:-1], degrees)
    kept = place < most
    found = np.full((n, min(most, int(degrees.max(initial=1)))), -1, dtype=np.int64)
    found[rows[kept], place[kept]] = edges.indices[order][kept]
    return found


def _cluster(
    samples: Samples,
    edges: sp.csr_array,
    numbers: np.ndarray | None,
    recipe: Recipe,
    run: Run,
) -> Clustered:
    """The learned graph of nodes that are joined to a cluster, and their labels."""
    rows = samples.tables[0]
    if numbers is not None:
        rows = rows[numbers]
    geometry = KernelDistance.linear(rows)
    most = recipe.n_neighbors or _MOST_EDGES
    around = localize(geometry, most, run, neighbours=select_edges(edges, -edges.data, most))
    run = run.replace(rng=np.random.default_rng(0))
    layer = Layer(geometry, around)
    # Nothing but the edges says what is near: components stay as they are.
    graph = learn_graph([layer], most, replace(recipe, repair=False, join=False), run)
    run.progress("labels")
    k = recipe.n_clusters
    communities = settle_nodes(edges, k_communities(edges, k))
    if edges.shape[0] > recipe.spectral_samples:
        shares = label_shares(graph.first, communities, k)
        return Clustered(layer, graph._replace(embedding=embed(shares, recipe)), communities)
    pairs = compute_eigenvectors(edges, recipe, run)
    candidates = [
        assign_and_refine(graph.first, graph.embedding, recipe, run),
        assign_and_refine(edges, embed(pairs.vectors, recipe), recipe, run),
    ]
    if len(np.unique(communities)) == k:
        candidates.append(communities)
    settled = [settle_nodes(edges, labels) for labels in candidates]
    return Clustered(layer, graph, choose_labels(edges, settled))


def assign_and_refine(
    W: sp.csr_array, embedding: np.ndarray, recipe: Recipe, run: Run
) -> np.ndarray:
    """Labels of an embedding, improved on its graph."""
    labels = assign_labels(W, embedding, recipe, run.rng)
    return refine_labels(W, labels, recipe.n_clusters, run)


def describe_clusters(
    samples: Samples,
    found: Clustered,
    numbers: np.ndarray | None,
    count: ClusterCount | None,
    recipe: Recipe,
    weights: np.ndarray,
) -> Fitted:
    """What was found of all nodes, as they came; of those left out nothing is known."""
    graph = found.graph
    n = samples.n_samples
    names = samples.kernel_names if samples.graph is None else samples.layout.view_names
    embedding = graph.embedding
    labels = found.labels
    score = graph.errors[0]
    codes = graph.graph
    W = graph.affinity
    if numbers is not None:
        embedding = np.zeros((n, graph.embedding.shape[1]))
        embedding[numbers] = graph.embedding
        # As predicted: the cluster that will be the first.
        labels = np.full(n, found.labels[0])
        labels[numbers] = found.labels
        score = np.full(n, UNKNOWN_SCORE)
        score[numbers] = graph.errors[0]
        codes = renumber(graph.graph, numbers, n)
        W = renumber(graph.affinity, numbers, n)
    solution = as_solution(graph, found.labels, weights)
    solution = solution._replace(Z=codes, W=W, P=embedding, labels=labels)
    rate = found.layer.around.rate
    part = GeometryPart(
        geometry=found.layer.geometry,
        rate=rate,
        weight=1.0,
        outlier_weight=1.0,
        close=1e-10 * -0.5 / rate,
        samples=numbers,
    )
    return Fitted(
        solution=solution,
        predictor=Predictor(
            layout=samples.layout,
            parts=(part,),
            alpha=recipe.alpha * MEDIAN,  # in the units of the Gaussian kernel
            ridge=recipe.ridge,
            n_candidates=found.layer.around.neighbours.shape[1],
            by_labels=True,
        ),
        kernel_names=names,
        kernel_views=samples.kernel_views,
        geometry_weights=dict(zip(names, weights.tolist(), strict=True)),
        outlier_score=score,
        structure=None if count is None else count.structure,
        cluster_count=count,
    )
