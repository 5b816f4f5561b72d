"""Learn the graph: codes and embedding in turn, each pass with penalties of the last embedding.

The pieces are the paper's: sparse non-negative codes in kernel space, an embedding from their
graph, labels from the embedding, penalties of edges raised by distances in the embedding. What
differs, each for a measured reason, is listed in the manual. Components too small, or too many, to
be clusters are joined to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import pick_evenly
from unispectral._compat import njit
from unispectral._result import Solution
from unispectral._run import Run, map_blocks
from unispectral.graph.quality import components
from unispectral.labelfree._geometry import KernelDistance, nearest_among
from unispectral.labelfree._neighbourhoods import (
    CODE_ROWS,
    MEDIAN,
    Layer,
    LocalNeighbourhoods,
    Neighbourhoods,
    block_kernels,
    build_graph,
    localize,
    solve_block,
)
from unispectral.labelfree._recipe import Recipe
from unispectral.labels import procrustes
from unispectral.spectrum import Eigenpairs, affinity, smallest_eigenvectors

#: Above this many samples an iteration is left out that is known beforehand to change next to
#: nothing, and the graph is a stage of its own in the progress.
_LARGE_SAMPLES = 10_000
#: Up to this many samples eigenvectors cost little and are found ten times more precisely than
#: labels need them.
PRECISE_SAMPLES = 3_000
#: A component smaller than this share of the mean cluster is too small to be one.
SMALL_SHARE = 0.1
#: Each round joins every small component to others, so that their number at least halves.
_ROUNDS = 12
#: Gaps between components are those between so many samples, and at least one of each; more
#: components than this are left as they are.
_GAP_SAMPLES = 2_000
_MOST_COMPONENTS = 1_000
#: The weight of such a link: an edge, but none that hides how far apart its ends are.
_LINK = 1e-12
#: Rows of an embedding that are scaled at a time.
_ROWS = 65_536


class LearnedGraph(NamedTuple):
    """Graph and embedding after the last pass."""

    #: Column i is the code of sample i; the affinity is its symmetric part.
    graph: sp.csr_array
    affinity: sp.csr_array
    #: The affinity of the first pass, which no embedding has touched: labels are judged by it.
    first: sp.csr_array
    embedding: np.ndarray
    eigenvalues: np.ndarray
    #: One value per pass.
    objective: list[float]
    #: How far the codes are from optimal.
    residual: float
    #: Why the passes ended, and whether the eigenvectors reached their tolerance.
    reason: str
    converged: bool
    #: What the codes of each layer left unexplained in the first pass.
    errors: list[np.ndarray]


def as_solution(graph: LearnedGraph, labels: np.ndarray, weights: np.ndarray) -> Solution:
    """Where the passes ended, with labels of the samples and weights of the kernels."""
    return Solution(
        Z=graph.graph,
        W=graph.affinity,
        P=graph.embedding,
        Q=procrustes(graph.embedding, labels),
        labels=labels,
        weights=weights,
        objective=graph.objective,
        n_iter=len(graph.objective),
        converged=graph.converged,
        reason=graph.reason,
        kkt=graph.residual,
        eigenvalues=graph.eigenvalues,
    )


def learn_graph(
    layers: Sequence[Layer],
    k: int,
    recipe: Recipe,
    run: Run,
    counts: np.ndarray | None = None,
) -> LearnedGraph:
    """Learn the graph, coupled with its own embedding.

    The graphs of the layers are added up by their shares. Small components of the sum are joined
    to the rest of it, by k neighbours in the first layer that has all samples. Of more samples
    than the recipe has eigenvectors for, there is one pass, and an embedding without columns.
    In the affinity the code of a sample counts as often as ``counts`` says.
    """
    seed = int(run.rng.integers(2**31 - 1))
    views = [layer.around for layer in layers]
    shares = [layer.share for layer in layers]
    tol = recipe.tolerance(len(views[0].neighbours))
    reason = f"all iterations are done (max_iter={recipe.max_iter})"
    path: list[float] = []
    errors: list[np.ndarray] = []
    first: sp.csr_array | None = None
    W: sp.csr_array | None = None
    embedding = guess = None
    for iteration in range(1, recipe.max_iter + 1):
        graph = sp.csr_array((0, 0))  # the last one is let go before the next is made
        codes, value, residual, left = _blend(layers, recipe, embedding, run)
        errors = errors or left
        if codes.shape[0] > _LARGE_SAMPLES:
            run.progress("graph")
        codes = _hold_together(codes, layers, k, recipe, seed, run)
        graph = codes.T.tocsr()
        before = W
        W = _weigh(codes, graph, counts)
        del codes
        change = np.inf if before is None else _change(W, before)
        first = W if first is None else first
        path.append(value)
        if change < tol:
            # So do its eigenvectors: those of the pass before will do.
            reason = f"the last iteration changed the graph by less than {tol:g} of its norm"
            run.progress("iterations", iteration, recipe.max_iter)
            break
        embedding = None
        if graph.shape[0] > recipe.spectral_samples:
            reason = "the labels of so many samples are communities of the first graph"
            pairs = Eigenpairs(np.empty(0), np.empty((graph.shape[0], 0)), 0.0, 0)
            embedding = pairs.vectors
            break
        pairs = compute_eigenvectors(W, recipe, run, guess)
        guess = pairs.vectors if pairs.block is None else pairs.block
        embedding = embed(pairs.vectors, recipe)
        run.progress("iterations", iteration, recipe.max_iter)
        if recipe.unit_rows and pairs.n_components >= recipe.n_clusters:
            # Within a component all rows are the same: no penalty of an edge would change.
            reason = "the graph falls into as many components as there are clusters"
            break
        if graph.shape[0] > _LARGE_SAMPLES and iteration == 1 < recipe.max_iter:
            most = change_bound(graph, embedding, views, shares, errors, recipe)
            if most < tol * float(np.linalg.norm(W.data)):
                reason = (
                    f"another iteration would change the graph by less than {tol:g} of its norm"
                )
                break
    assert first is not None
    assert W is not None
    assert embedding is not None
    if not pairs.converged:
        reason += ", but the eigenvectors did not reach their tolerance"
    return LearnedGraph(
        graph, W, first, embedding, pairs.values, path, residual, reason, pairs.converged, errors
    )


def _hold_together(
    codes: sp.csr_array, layers: Sequence[Layer], k: int, recipe: Recipe, seed: int, run: Run
) -> sp.csr_array:
    """Codes whose components are no smaller, and no more, than clusters are."""
    complete = [layer for layer in layers if layer.around.present is None]
    if not complete:
        return codes
    if recipe.repair:
        codes = repair_components(codes, complete[0], recipe, k, seed, run)
    if recipe.join:
        codes = join_components(codes, complete[0].geometry, recipe.n_clusters)
    return codes


def _weigh(codes: sp.csr_array, graph: sp.csr_array, counts: np.ndarray | None) -> sp.csr_array:
    """The affinity of codes, of which each counts so often; ``graph`` is their transpose."""
    if counts is None:
        return affinity(codes, graph)
    codes = sp.csr_array(sp.diags_array(counts) @ codes)
    return affinity(codes, codes.T.tocsr())


def couple_with(
    learned: LearnedGraph,
    layers: Sequence[Layer],
    k: int,
    embedding: np.ndarray,
    recipe: Recipe,
    run: Run,
    counts: np.ndarray | None = None,
) -> LearnedGraph:
    """The same graph, coupled with another embedding than its own: one made of labels."""
    codes, _, residual, _ = _blend(layers, recipe, embedding, run)
    codes = _hold_together(codes, layers, k, recipe, 0, run)
    graph = codes.T.tocsr()
    return learned._replace(
        graph=graph,
        affinity=_weigh(codes, graph, counts),
        embedding=embedding,
        residual=residual,
        reason=f"{learned.reason}; then it was coupled with the clusters that won the vote",
    )


def build_first_graph(geometry: KernelDistance, k: int, recipe: Recipe, run: Run) -> sp.csr_array:
    """The affinity of a geometry with k candidates, before anything is known of clusters."""
    layer = Layer(geometry, localize(geometry, k, run))
    graph, _ = build_graph(layer.around, recipe, None, run)
    return affinity(repair_components(graph, layer, recipe, k, 0, run))


def change_bound(
    graph: sp.csr_array,
    embedding: np.ndarray,
    views: Sequence[Neighbourhoods],
    shares: Sequence[float],
    errors: Sequence[np.ndarray],
    recipe: Recipe,
) -> float:
    """The norm of what an embedding changes at most of codes that were made without one.

    Column i of ``graph`` is the code of sample i. Distances in the embedding raise penalties. A
    code minimises a quadratic whose curvature is at least twice the ridge, so that it moves by no
    more than the rise over that; a rise where it is zero does not move it. It is scaled by its
    sum, of which half the explained part of the sample is a lower bound, and two codes that sum to
    one are at most √2 apart. Infinite where nothing is known.
    """
    if recipe.ridge <= 0 or any(view.present is not None for view in views):
        return np.inf
    squares = np.zeros(graph.shape[0])
    _add_fourth_powers(graph.indptr, graph.indices, embedding, squares)
    moved = (0.25 * recipe.beta * MEDIAN / recipe.ridge) * np.sqrt(squares)
    if not recipe.scale_codes:
        return float(np.linalg.norm(moved))
    total = np.zeros(len(moved))
    for view, share, left in zip(views, shares, errors, strict=True):
        least = np.maximum(0.5 * (1.0 - left), 1e-100)
        wide = 1.0 + np.sqrt(view.neighbours.shape[1])
        total += float(share) * np.minimum(wide * moved / least, np.sqrt(2.0))
    return float(np.linalg.norm(total))


@njit(cache=True, nogil=True)
def _add_fourth_powers(indptr, indices, embedding, squares):
    """Add to each column the fourth powers of the lengths of its edges in the embedding."""
    for j in range(len(indptr) - 1):
        for p in range(indptr[j], indptr[j + 1]):
            i = indices[p]
            length = 0.0
            for c in range(embedding.shape[1]):
                length += (embedding[i, c] - embedding[j, c]) ** 2
            squares[i] += length * length


def _blend(
    layers: Sequence[Layer], recipe: Recipe, embedding: np.ndarray | None, run: Run
) -> tuple[sp.csr_array, float, float, list[np.ndarray]]:
    """The weighted sum of the graphs, that of their objectives, the largest residual, errors."""
    graph = None
    value = 0.0
    residual = 0.0
    errors = []
    for layer in layers:
        part, codes = build_graph(layer.around, recipe, embedding, run)
        part *= layer.share
        graph = part if graph is None else sp.csr_array(graph + part)
        value += layer.share * codes.objective
        residual = max(residual, codes.residual)
        errors.append(codes.error)
    assert graph is not None
    if [layer for layer in layers if layer.around.present is not None]:
        # A sample that some views lack is described by the others alone.
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph = sp.csr_array(sp.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ graph)
    return graph, value, residual, errors


def _change(W: sp.csr_array, before: sp.csr_array) -> float:
    gap = (W - before).data
    return float(np.linalg.norm(gap)) / max(float(np.linalg.norm(before.data)), 1e-300)


def compute_eigenvectors(
    W: sp.csr_array, recipe: Recipe, run: Run, start: np.ndarray | None = None
) -> Eigenpairs:
    """As many of the smallest eigenvectors of the recipe's Laplacian as there are clusters."""
    return smallest_eigenvectors(
        W,
        recipe.n_clusters,
        normalized=recipe.laplacian == "normalized",
        tol=2e-4 if W.shape[0] <= PRECISE_SAMPLES else 2e-3,
        rng=run.rng,
        start=start,
        run=run,
    )


def embed(P: np.ndarray, recipe: Recipe) -> np.ndarray:
    """Eigenvectors as an embedding in which a typical sample has length one.

    With ``unit_rows`` every sample has; a row of zeros stays one. Otherwise all rows are scaled
    by one number, so that penalties mean the same for any number of samples.
    """
    embedding = np.empty_like(P)
    for start in range(0, len(P), _ROWS):
        some = P[start : start + _ROWS]
        if recipe.unit_rows:
            norms = np.linalg.norm(some, axis=1, keepdims=True)
            embedding[start : start + _ROWS] = some / np.where(norms > 1e-12, norms, 1.0)
        else:
            embedding[start : start + _ROWS] = some * np.sqrt(len(P) / P.shape[1])
    return embedding


def repair_components(
    graph: sp.csr_array, layer: Layer, recipe: Recipe, k: int, seed: int, run: Run
) -> sp.csr_array:
    """A graph whose small components have edges to their surroundings.

    Near-duplicates have only each other among their nearest, isolated samples have nobody; both
    would each take an eigenvector, and end as clusters of two. The best-connected sample of such
    a component spends half its code on the nearest among the samples of large components and the
    best-connected samples of other small ones. A mass of near-duplicates is thereby joined to
    others as one sample would be.

    Row i of the graph is the code of sample i; it sums to one, or is empty. The layer must have
    all samples. ``k`` are the candidates outside the component, ``seed`` is that of the search
    among many samples.
    """
    least = max(2, int(SMALL_SHARE * graph.shape[0] / recipe.n_clusters))
    n_components, member = components(graph)
    for _ in range(_ROUNDS):
        small = np.bincount(member, minlength=n_components) < least
        if n_components == 1 or not small.any():
            break
        rows = _centres(graph, member, small)
        among = np.union1d(rows, np.flatnonzero(~small[member]))
        outside = nearest_among(layer.geometry, rows, among, min(k, len(among) - 1), seed, run)
        values = _code_over(layer, rows, outside, recipe, run)
        graph = _spend_half(graph, rows, outside, values)
        n_components, member = components(graph)
    return graph


def join_components(
    graph: sp.csr_array, geometry: KernelDistance, n_clusters: int
) -> sp.csr_array:
    """A graph that falls into no more components than there are clusters.

    The smallest component is joined to the one that is nearest to it, until as many are left as
    there are clusters, by an edge of vanishing weight between the nearest two samples. Without
    that the graph would not say which components belong together; with more weight it would not
    say that they are apart.

    Examples
    --------
    >>> from unispectral.labelfree._geometry import KernelDistance
    >>> distance = KernelDistance.linear(np.array([[0.0], [1], [5], [6], [20], [21]]))
    >>> pairs = sp.csr_array(np.kron(np.eye(3), [[0.0, 1], [1, 0]]))
    >>> graph = join_components(pairs, distance, 2)
    >>> components(graph)[1].tolist(), graph[[1]].toarray()[0].tolist()
    ([0, 0, 0, 0, 1, 1], [1.0, 0.0, 1e-12, 0.0, 0.0, 0.0])
    """
    count, member = components(graph)
    if not n_clusters < count <= _MOST_COMPONENTS:
        return graph
    some = _pick_from_each(member)
    first = np.searchsorted(member[some], np.arange(count))
    squared = geometry.distances(some, some)
    gaps = np.minimum.reduceat(np.minimum.reduceat(squared, first, axis=0), first, axis=1)
    np.fill_diagonal(gaps, np.inf)
    sizes = np.bincount(member).astype(float)
    part = member[some]
    n = len(member)
    pairs = []
    for _ in range(count - n_clusters):
        small = int(np.argmin(sizes))
        other = int(np.argmin(gaps[small]))
        ours = np.flatnonzero(part == small)
        theirs = np.flatnonzero(part == other)
        between = squared[np.ix_(ours, theirs)]
        one, two = np.unravel_index(int(np.argmin(between)), between.shape)
        pairs.append((some[ours[one]], some[theirs[two]]))
        gaps[other] = gaps[:, other] = np.minimum(gaps[other], gaps[small])
        gaps[small] = gaps[:, small] = gaps[other, other] = np.inf
        sizes[other] += sizes[small]
        sizes[small] = np.inf
        part[ours] = other
    rows, cols = np.transpose(pairs)
    links = sp.csr_array((np.full(len(rows), _LINK), (rows, cols)), shape=(n, n))
    return sp.csr_array(graph + links)


def _pick_from_each(member: np.ndarray) -> np.ndarray:
    """Evenly spaced samples of every component, by component."""
    order = np.argsort(member, kind="stable")
    first = np.flatnonzero(np.diff(member[order], prepend=-1))
    return order[np.union1d(first, pick_evenly(len(order), _GAP_SAMPLES))]


def _code_over(
    layer: Layer, rows: np.ndarray, neighbours: np.ndarray, recipe: Recipe, run: Run
) -> np.ndarray:
    """Codes of some samples over given candidates, in the Gaussian kernel of a layer."""
    rate = layer.around.rate

    def work(part: slice) -> np.ndarray:
        b, k = neighbours[part].shape
        near = np.empty((b, k))
        among = np.empty((b, k, k))
        block_kernels(layer.geometry, rate, rows[part], neighbours[part], near, among)
        block = LocalNeighbourhoods(neighbours[part], near, among, rate)
        return solve_block(block, recipe)[0]

    return np.concatenate(map_blocks(work, len(rows), CODE_ROWS, run))


def _centres(codes: sp.csr_array, member: np.ndarray, small: np.ndarray) -> np.ndarray:
    """The sample of each small component that the codes of its component use most."""
    used = np.asarray(codes.sum(axis=0)).ravel()
    nodes = np.flatnonzero(small[member])
    order = nodes[np.lexsort((nodes, -used[nodes], member[nodes]))]
    first = np.concatenate([[True], np.diff(member[order]) != 0])
    return np.sort(order[first])


def _spend_half(
    codes: sp.csr_array, rows: np.ndarray, outside: np.ndarray, values: np.ndarray
) -> sp.csr_array:
    """Halve the codes of some rows and put the other half on the samples outside."""
    n = codes.shape[0]
    values = np.where(outside >= 0, values, 0.0)
    total = values.sum(axis=1)
    values[total <= 0, 0] = 1.0  # nothing outside explains it: the nearest will have to do
    values /= values.sum(axis=1, keepdims=True)
    filled = np.diff(codes.indptr)[rows] > 0
    share = np.where(filled, 0.5, 1.0)
    keep = np.ones(n)
    keep[rows] = 0.5
    used = values > 0
    links = sp.csr_array(
        (
            (values * share[:, None])[used],
            (np.broadcast_to(rows[:, None], outside.shape)[used], outside[used]),
        ),
        shape=(n, n),
    )
    data = codes.data * np.repeat(keep, np.diff(codes.indptr))
    halved = sp.csr_array((data, codes.indices, codes.indptr), shape=codes.shape)
    return sp.csr_array(halved + links)
