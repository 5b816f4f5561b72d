"""The label-free model: local codes in several geometries, weighted by how well they cluster.

The pieces are the paper's: sparse non-negative codes in kernel space, an embedding from their
graph, labels from the embedding, prices of edges raised by distances in the embedding, weights
over kernels. What differs, each for a measured reason, is listed in ``docs/adaptive``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral import _checkpoint as checkpoint
from unispectral._memory import give_back
from unispectral._result import Solution
from unispectral.kernels import KernelBank
from unispectral.labelfree._coding import Codes, Recipe, codes_of, eigenvectors, embed, read_out
from unispectral.labelfree._geometry import (
    Geometry,
    KernelGeometry,
    Neighbourhoods,
    expand,
    localize,
)
from unispectral.labelfree._weighting import weigh
from unispectral.labels import procrustes, rotate
from unispectral.spectrum import affinity, laplacian, stiefel_descent

__all__ = ["Localized", "Recipe", "adapt", "localize_all"]

#: Above this many samples memory that is free is given back before a graph is made.
MANY = 10_000


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
        if self.kernel < 0:
            return self.geometry.name
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
    if samples.n_samples > MANY:
        give_back()
    return found, names


def _banks(samples, settings):
    """One bank per view, on the samples that the view has."""
    if samples.bank is not None:
        yield -1, samples.bank, None
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
    fuse: Callable[[np.ndarray], list[Neighbourhoods]] | None = None,
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
        Joins what fell off the graph to the rest of it.
    fuse : callable(shares) or None
        Gives the neighbourhoods of several kernels taken together; see
        :mod:`unispectral.labelfree._fusion`. They are weighed like those of one kernel more.

    Returns
    -------
    Solution
        Its weights are those of the geometries, the fused ones last.
    """
    rng = rng or np.random.default_rng(0)
    begun = time.monotonic()
    kept = checkpoint.current()
    state = _State.resumed(kept, rng)
    geometries = list(geometries)
    if state is None:
        codes = [codes_of(geometry, recipe, None) for geometry in geometries]
        state = _State(*weigh(geometries, codes, recipe, families, n_init, rng, fuse))
    else:
        if state.shares is not None and fuse is not None:
            geometries += fuse(state.shares)
        codes = [(np.empty(0), 0.0, 0.0)] * len(geometries)
    active = np.flatnonzero(state.weights > 0).tolist()
    converged, reason = True, f"the {max_iter} passes asked for were made"
    for iteration in range(len(state.path) + 1, max_iter + 1):
        if state.embedding is not None:
            for position in active:
                codes[position] = codes_of(geometries[position], recipe, state.embedding)
        graph = sp.csr_array((0, 0))  # the last one is let go before the next is made
        graph = _blend(geometries, codes, state.weights)
        if mend is not None:
            graph = mend(graph, state.weights)
        change = state.take(affinity(graph))
        if graph.shape[0] > MANY:
            give_back()
        eigenvalues = _embed(state, recipe, rng)
        state.path.append(
            float(sum(state.weights[position] * codes[position][1] for position in active))
        )
        if on_iteration is not None:
            on_iteration(iteration, state.path[-1])
        if change < tol:
            reason = f"the last pass changed the graph by less than {tol:g} of itself"
            break
        if max_time is not None and time.monotonic() - begun > max_time:
            converged, reason = False, f"the time limit of {max_time:g} s was reached"
            break
        if kept is not None and iteration < max_iter:
            kept.save("pass", vars(state), rng)
    assert state.embedding is not None
    assert state.W is not None
    labels = read_out(state.W, state.embedding, recipe, n_init=n_init, rng=rng)
    return Solution(
        Z=graph.T.tocsr(),
        P=state.embedding,
        Q=procrustes(state.embedding, labels),
        labels=labels,
        weights=state.weights,
        objective=state.path,
        n_iter=len(state.path),
        converged=converged,
        reason=reason,
        kkt=max(codes[position][2] for position in active),
        eigenvalues=eigenvalues,
        evidence=state.shown,
    )


@dataclass
class _State:
    """What one pass hands to the next; also what a checkpoint keeps."""

    weights: np.ndarray
    shown: np.ndarray | None
    shares: np.ndarray | None = None
    path: list[float] = field(default_factory=list)
    guess: np.ndarray | None = None
    embedding: np.ndarray | None = None
    W: sp.csr_array | None = None
    labels: np.ndarray | None = None

    def take(self, W: sp.csr_array) -> float:
        """Take a new graph over; returns its change. The old ones are let go: they are large."""
        change = np.inf if self.W is None else _change(W, self.W)
        self.W, self.embedding = W, None
        return change

    @classmethod
    def resumed(cls, kept: checkpoint.Checkpoint | None, rng: np.random.Generator) -> Any:
        """The state after the last pass that was kept, or None."""
        found = None if kept is None else kept.load("pass", rng)
        if found is None:
            return None
        return cls(**({"shown": None, "shares": None} | found | {"path": found["path"].tolist()}))


def _embed(state: _State, recipe: Recipe, rng: np.random.Generator) -> np.ndarray:
    """Give a state the embedding of its graph; returns the eigenvalues."""
    assert state.W is not None
    guess, state.guess = state.guess, None
    pairs = eigenvectors(state.W, recipe, rng, guess)
    del guess
    state.guess = pairs.vectors if pairs.block is None else pairs.block
    P = pairs.vectors
    if recipe.gamma > 0:
        P, state.labels = _pulled(P, state.W, recipe, state.labels, rng)
    state.embedding = embed(P, recipe)
    return pairs.values


def _blend(
    geometries: Sequence[Neighbourhoods],
    codes: Sequence[Codes],
    weights: np.ndarray,
) -> sp.csr_array:
    parts = [
        float(weight) * geometry.graph(values)
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
    E = embed(P, recipe)
    labels = rotate(E, rng=rng).labels if labels is None else labels
    one_hot = np.zeros_like(P)
    one_hot[np.arange(len(P)), labels] = 1.0
    one_hot /= np.sqrt(np.maximum(one_hot.sum(axis=0), 1.0))
    U, _, Vt = np.linalg.svd(P.T @ one_hot)
    L = laplacian(W, normalized=recipe.laplacian == "normalized")
    P = stiefel_descent(L, recipe.gamma * one_hot @ (U @ Vt).T, P).P
    return P, rotate(embed(P, recipe), rng=rng).labels


def _change(W: sp.csr_array, before: sp.csr_array) -> float:
    gap = (W - before).data
    return float(np.linalg.norm(gap)) / max(float(np.linalg.norm(before.data)), 1e-300)
