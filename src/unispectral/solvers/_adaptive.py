"""The label-free model: local codes in several geometries, weighted by how well they cluster.

The pieces are the paper's: sparse non-negative codes in kernel space, an embedding from their
graph, labels from the embedding, prices of edges raised by distances in the embedding, weights
over kernels. What differs, each for a measured reason, is listed in ``docs/adaptive``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from unispectral._threads import one_thread
from unispectral.eigen import smallest_eigenvectors
from unispectral.geometry import Geometry, KernelGeometry, Neighbourhoods, expand, localize
from unispectral.graph.quality import modularity
from unispectral.kernels import KernelBank
from unispectral.labels import assign, procrustes, rotate
from unispectral.solvers._result import Solution
from unispectral.spectrum import affinity, laplacian, stiefel_descent

__all__ = [
    "Localized",
    "Recipe",
    "adapt",
    "first_graph",
    "localize_all",
    "reconstruction_error",
]

#: The median of a Gaussian kernel of median width over pairs: the unit of prices.
MEDIAN = float(np.exp(-0.5))
#: The share of a geometry's modularity that its clusters must reach in another kernel's graph.
SUPPORT = 0.25
#: Labels are read out of at most this many rows of the embedding.
READ_OUT_SAMPLES = 20_000


@dataclass(frozen=True)
class Recipe:
    """The numbers of the label-free model, all free of the data's scale.

    Attributes
    ----------
    n_clusters : int
    alpha : float
        Price of a coefficient, in units of the kernel's median.
    beta : float
        How much of ½‖eᵢ − eⱼ‖² is added to the price of edge ij, in the same unit.
    gamma : float
        Pull of the labels on the embedding; 0 leaves the eigenvectors.
    ridge : float
        Multiple of the kernel's diagonal in the quadratic term.
    temperature : float
        Kernels whose modularity is this much lower weigh e times less.
    """

    n_clusters: int
    alpha: float = 1e-3
    beta: float = 1.0
    gamma: float = 0.0
    ridge: float = 1.0
    temperature: float = 0.05


@dataclass
class Localized:
    """A geometry with its neighbourhoods: of which kernel and view, on which of the samples."""

    geometry: Geometry
    neighbourhoods: Neighbourhoods
    kernel: int
    view: int
    present: np.ndarray | None

    def title(self, names: Sequence[str]) -> str:
        """The kernel's public name, and what was done to it."""
        return names[self.kernel] + self.geometry.name.removeprefix(self.neighbourhoods.name)


def localize_all(samples, settings, k, rng, progress) -> tuple[list[Localized], list[str]]:
    """Every geometry of every kernel of every view, boiled down to k candidates each.

    Returns them and the names of the kernels.
    """
    found: list[Localized] = []
    names: list[str] = []
    for view, bank, present in _banks(samples, settings):
        for r in range(len(bank)):
            base = KernelGeometry(bank, r)
            for geometry in expand(base, settings.whiten, rng):
                progress("geometries", len(found), note=geometry.name)
                around = localize(geometry, k, rng)
                if present is not None:
                    around = around.within(present)
                found.append(
                    Localized(geometry, around._replace(name=base.name), len(names), view, present)
                )
            names.append(base.name)
        bank.release()
    return found, names


def _banks(samples, settings):
    """One bank per view, on the samples that the view has."""
    if samples.bank is not None:
        yield 0, samples.bank, None
        return
    for view, table in enumerate(samples.tables):
        present = None
        if isinstance(table, np.ndarray) and np.isnan(table[:, 0]).any():
            present = ~np.isnan(table[:, 0])
            table = table[present]
        # The Euclidean geometry needs no matrix of all pairs; other kernels look at all of them.
        direct = all(kernel.name.startswith(("linear", "gaussian")) for kernel in samples.kernels)
        bank = KernelBank(table, samples.kernels, normalize=settings.normalize, gram=not direct)
        yield view, bank, present


def adapt(
    geometries: Sequence[Neighbourhoods],
    recipe: Recipe,
    *,
    families: Sequence[int] | None = None,
    max_iter: int = 4,
    tol: float = 1e-4,
    n_init: int = 10,
    max_time: float | None = None,
    rng: np.random.Generator | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
    mend: Callable[[sp.csr_array, np.ndarray], sp.csr_array] | None = None,
) -> Solution:
    """Learn a graph in every geometry, weigh the graphs, and couple them with the embedding.

    Parameters
    ----------
    geometries : sequence of Neighbourhoods
    recipe : Recipe
    families : sequence of int or None
        The kernel of each geometry. Where there are several, a geometry is used only if its
        clusters also show in the graph of another kernel: noise is alone with its clusters.
    max_iter : int
        Passes: the first without, the others with the embedding in the prices.
    tol : float
        Stops early when a pass changes the graph by less than this share.
    n_init : int
        Starts of the read-out of the labels.
    max_time : float or None
        Seconds after which the state reached is returned.
    rng : Generator
    on_iteration : callable(iteration, objective) or None
    mend : callable(graph, weights) or None
        Joins what fell off the graph to the rest of it; see :mod:`unispectral.graph.mending`.

    Returns
    -------
    Solution
        Its weights are those of the geometries.
    """
    rng = rng or np.random.default_rng(0)
    begun = time.monotonic()
    codes = [_codes(geometry, recipe, None) for geometry in geometries]
    weights = _weights(geometries, codes, recipe, families, n_init, rng)
    active = [position for position, weight in enumerate(weights) if weight > 0]
    path: list[float] = []
    P, guess, embedding, W, labels = None, None, None, None, None
    converged, reason = True, f"the {max_iter} passes asked for were made"
    iteration = 0
    for iteration in range(1, max_iter + 1):
        if embedding is not None:
            for position in active:
                codes[position] = _codes(geometries[position], recipe, embedding)
        graph = _blend(geometries, codes, weights)
        if mend is not None:
            graph = mend(graph, weights)
        W, before = affinity(graph), W
        pairs = smallest_eigenvectors(W, recipe.n_clusters, rng=rng, start=guess)
        P = pairs.vectors
        guess = P if pairs.block is None else pairs.block
        if recipe.gamma > 0:
            P, labels = _pulled(P, W, recipe, labels, rng)
        embedding = unit_rows(P)
        path.append(float(sum(weights[position] * codes[position][1] for position in active)))
        if on_iteration is not None:
            on_iteration(iteration, path[-1])
        if before is not None and _change(W, before) < tol:
            reason = f"the last pass changed the graph by less than {tol:g} of itself"
            break
        if max_time is not None and time.monotonic() - begun > max_time:
            converged, reason = False, f"the time limit of {max_time:g} s was reached"
            break
    assert embedding is not None
    assert W is not None
    labels = read_out(W, embedding, recipe.n_clusters, n_init=n_init, rng=rng)
    return Solution(
        Z=graph.T.tocsr(),
        P=embedding,
        Q=procrustes(embedding, labels),
        labels=labels,
        weights=weights,
        objective=path,
        n_iter=iteration,
        converged=converged,
        reason=reason,
        kkt=max(codes[position][2] for position in active),
        eigenvalues=pairs.values,
    )


def reconstruction_error(geometry: Neighbourhoods, recipe: Recipe) -> np.ndarray:
    """What the code of each sample leaves unexplained, 1 − 2kᵀz + zᵀKz: large for outliers."""
    return np.concatenate(geometry.map_rows(_block_error, recipe))


def _block_error(rows: slice, block: Neighbourhoods, recipe: Recipe) -> np.ndarray:
    z, _, _ = _block_solve(block, recipe, None)
    fit = np.einsum("bk,bkl,bl->b", z, block.among, z)
    return 1.0 + fit - 2.0 * np.einsum("bk,bk->b", z, block.near)


def first_graph(geometry: Neighbourhoods, recipe: Recipe) -> sp.csr_array:
    """The affinity of a geometry before anything is known of clusters."""
    return affinity(geometry.graph(_codes(geometry, recipe, None)[0]))


def unit_rows(P: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; a row of zeros stays one."""
    norms = np.linalg.norm(P, axis=1, keepdims=True)
    return P / np.where(norms > 1e-12, norms, 1.0)


def read_out(
    W: sp.csr_array,
    embedding: np.ndarray,
    n_clusters: int,
    *,
    n_init: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Labels of the embedding: k-means and rotations, the one of largest modularity kept.

    Above ``READ_OUT_SAMPLES`` samples both are found on that many, and then applied to all.
    """
    seeds = rng.integers(2**31 - 1, size=n_init)
    some = embedding
    if len(embedding) > READ_OUT_SAMPLES:
        some = embedding[np.sort(rng.choice(len(embedding), READ_OUT_SAMPLES, replace=False))]
    with one_thread():  # threads would cost more than they bring, and change the order of sums
        found = [
            KMeans(n_clusters, n_init=1, random_state=int(seed)).fit(some).predict(embedding)
            for seed in seeds
        ]
    turn = rotate(some, n_init=max(1, n_init // 2), rng=rng).Q
    found.append(assign(embedding, turn))
    return max(found, key=lambda labels: modularity(W, labels))


def _codes(
    geometry: Neighbourhoods, recipe: Recipe, embedding: np.ndarray | None
) -> tuple[np.ndarray, float, float]:
    """Codes scaled to sum one (n, k), the objective before scaling, and the KKT residual."""
    parts = geometry.map_rows(_block_codes, recipe, embedding)
    return (
        np.concatenate([part[0] for part in parts]),
        sum(part[1] for part in parts),
        max(part[2] for part in parts),
    )


def _block_codes(
    rows: slice, block: Neighbourhoods, recipe: Recipe, embedding: np.ndarray | None
) -> tuple[np.ndarray, float, float]:
    """The codes of consecutive samples, given their neighbourhoods only."""
    gap = None
    if embedding is not None:
        gap = embedding[np.maximum(block.neighbours, 0)] - embedding[rows][:, None, :]
    z, prices, residual = _block_solve(block, recipe, gap)
    near, among = block.near, block.among
    value = len(z) - 2.0 * np.vdot(z, near) + np.vdot(z, prices)
    value += np.einsum("bk,bkl,bl->", z, among, z, optimize=True) + recipe.ridge * np.vdot(z, z)
    total = z.sum(axis=1, keepdims=True)
    z /= np.where(total > 0, total, 1.0)
    # A sample that nothing explains leans on all its candidates alike.
    lonely = total[:, 0] <= 0
    allowed = block.valid[lonely]
    z[lonely] = allowed / np.maximum(allowed.sum(axis=1, keepdims=True), 1)
    return z, float(value), residual


def _block_solve(
    block: Neighbourhoods, recipe: Recipe, gap: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, float]:
    from unispectral.graph import _loops

    z = np.zeros(block.near.shape)
    prices = np.full(z.shape, recipe.alpha * MEDIAN)
    if gap is not None:
        prices += (0.5 * recipe.beta * MEDIAN) * np.einsum("bkc,bkc->bk", gap, gap)
    residual = _loops.solve_blocks(
        block.among, block.near, np.ones(len(z)), prices, block.valid, float(recipe.ridge), z, 1e-6
    )
    return z, prices, residual


def _weights(
    geometries: Sequence[Neighbourhoods],
    codes: Sequence[tuple[np.ndarray, float, float]],
    recipe: Recipe,
    families: Sequence[int] | None,
    n_init: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Weights e^{q/τ} of the kernels, q the best modularity that a geometry of each gives."""
    if len(geometries) == 1:
        return np.ones(1)
    graphs, partitions = [], []
    for geometry, (values, _, _) in zip(geometries, codes, strict=True):
        W = affinity(geometry.graph(values))
        here = slice(None) if geometry.present is None else np.flatnonzero(geometry.present)
        own = W if geometry.present is None else W[here][:, here]
        E = unit_rows(smallest_eigenvectors(own, recipe.n_clusters, rng=rng).vectors)
        # Samples that the view lacks have no edges there, and their label does not count.
        labels = np.zeros(W.shape[0], dtype=np.intp)
        labels[here] = read_out(own, E, recipe.n_clusters, n_init=max(1, n_init // 2), rng=rng)
        graphs.append(W)
        partitions.append(labels)
    scores = np.array(
        [modularity(W, labels) for W, labels in zip(graphs, partitions, strict=True)]
    )
    kernels = np.zeros(len(scores), dtype=int) if families is None else np.asarray(families)
    if len(np.unique(kernels)) > 1:
        scores = np.where(_supported(graphs, partitions, scores, kernels), scores, -np.inf)
    # The geometries of one kernel are rival views of the same thing: its best stands for it.
    weights = np.zeros(len(scores))
    for kernel in np.unique(kernels):
        own = np.flatnonzero(kernels == kernel)
        best = own[np.argmax(scores[own])]
        if np.isfinite(scores[best]):
            weights[best] = np.exp((scores[best] - scores.max()) / recipe.temperature)
    weights[weights < 1e-3 * weights.sum()] = 0.0
    return weights / weights.sum()


def _supported(
    graphs: Sequence[sp.csr_array],
    partitions: Sequence[np.ndarray],
    scores: np.ndarray,
    families: np.ndarray,
) -> np.ndarray:
    """Which geometries have clusters that show in the graph of another kernel."""
    support = np.zeros(len(graphs))
    for r, labels in enumerate(partitions):
        others = [s for s in range(len(graphs)) if families[s] != families[r]]
        support[r] = max(modularity(graphs[s], labels) for s in others)
    supported = support >= SUPPORT * scores
    return supported if supported.any() else np.ones(len(graphs), dtype=bool)


def _blend(
    geometries: Sequence[Neighbourhoods],
    codes: Sequence[tuple[np.ndarray, float, float]],
    weights: np.ndarray,
) -> sp.csr_array:
    parts = [
        weight * geometry.graph(values)
        for geometry, (values, _, _), weight in zip(geometries, codes, weights, strict=True)
        if weight > 0
    ]
    graph = sp.csr_array(sum(parts[1:], start=parts[0]))
    if any(geometry.present is not None for geometry in geometries):
        # A sample that some views lack is described by the others alone.
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph = sp.csr_array(sp.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ graph)
    return graph


def _pulled(
    P: np.ndarray,
    W: sp.csr_array,
    recipe: Recipe,
    labels: np.ndarray | None,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The P-step with the labels' pull: target γ F̂ Qᵀ with F̂ of unit columns."""
    E = unit_rows(P)
    labels = rotate(E, rng=rng).labels if labels is None else labels
    one_hot = np.zeros_like(P)
    one_hot[np.arange(len(P)), labels] = 1.0
    one_hot /= np.sqrt(np.maximum(one_hot.sum(axis=0), 1.0))
    U, _, Vt = np.linalg.svd(P.T @ one_hot)
    P = stiefel_descent(laplacian(W, normalized=True), recipe.gamma * one_hot @ (U @ Vt).T, P).P
    return P, rotate(unit_rows(P), rng=rng).labels


def _change(W: sp.csr_array, before: sp.csr_array) -> float:
    gap = (W - before).data
    return float(np.linalg.norm(gap)) / max(float(np.linalg.norm(before.data)), 1e-300)
