"""Weights of kernels in the label-free model: by the evidence of clusters that each shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unispectral.geometry import Neighbourhoods
from unispectral.graph.quality import modularity
from unispectral.solvers._coding import Codes, Recipe, eigenvectors, embed, read_out
from unispectral.solvers._evidence import Chance, evidence, local_dimension
from unispectral.spectrum import affinity

__all__ = ["weigh"]

#: The share of a geometry's modularity that its clusters must reach in another kernel's graph.
SUPPORT = 0.25


@dataclass
class _Shown:
    """What a geometry shows when it is clustered alone."""

    graph: sp.csr_array
    labels: np.ndarray
    modularity: float


def weigh(
    geometries: Sequence[Neighbourhoods],
    codes: Sequence[Codes],
    recipe: Recipe,
    families: Sequence[int] | None,
    n_init: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray | None]:
    """The weight of every geometry, and the evidence of every kernel if there are several.

    The geometries of one kernel are rivals, views of the same thing: the one of largest
    modularity stands for it. Kernels weigh a power of their evidence. One with too little, or
    whose clusters show in no other of the kernels that are left, gets nothing; where no kernel
    shows the clusters of another, they cannot all be right, and the clearest is believed.
    """
    if len(geometries) == 1:
        return np.ones(1), None
    n_init = max(1, n_init // 2)
    shown = [
        _show(geometry, values, recipe, n_init, rng)
        for geometry, (values, _, _) in zip(geometries, codes, strict=True)
    ]
    kernels = np.zeros(len(shown), dtype=int) if families is None else np.asarray(families)
    champions = []
    for kernel in np.unique(kernels):
        own = np.flatnonzero(kernels == kernel)
        champions.append(int(own[np.argmax([shown[position].modularity for position in own])]))
    weights = np.zeros(len(shown))
    if len(champions) == 1:
        weights[champions[0]] = 1.0
        return weights, None
    found = _evidence(geometries, shown, champions, recipe, n_init, rng)
    kept = found >= min(recipe.min_evidence, float(found.max()))
    places = np.flatnonzero(kept)
    supported = _supported([shown[champions[place]] for place in places])
    kept[places] = supported if supported.any() else places == np.argmax(found)
    earned = np.where(kept, np.maximum(found, 0.0) ** recipe.sharpness, 0.0)
    if not earned.any():
        earned = kept.astype(np.float64)
    weights[champions] = earned / earned.sum()
    return weights, found


def _show(
    geometry: Neighbourhoods,
    values: np.ndarray,
    recipe: Recipe,
    n_init: int,
    rng: np.random.Generator,
) -> _Shown:
    W = affinity(geometry.graph(values))
    here = slice(None) if geometry.present is None else np.flatnonzero(geometry.present)
    own = W if geometry.present is None else W[here][:, here]
    E = embed(eigenvectors(own, recipe, rng).vectors, recipe)
    # Samples that the view lacks have no edges there, and their label does not count.
    labels = np.zeros(W.shape[0], dtype=np.intp)
    labels[here] = read_out(own, E, recipe, n_init=n_init, rng=rng)
    return _Shown(W, labels, modularity(W, labels))


def _evidence(
    geometries: Sequence[Neighbourhoods],
    shown: Sequence[_Shown],
    champions: Sequence[int],
    recipe: Recipe,
    n_init: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Modularity adjusted for chance, of the geometry that stands for each kernel."""
    seed = int(rng.integers(2**31 - 1))
    if recipe.n_clusters == 1:
        return np.ones(len(champions))
    chances: dict[int, Chance] = {}
    found = []
    for position in champions:
        geometry = geometries[position]
        n, k = geometry.neighbours.shape
        n = n if geometry.present is None else int(geometry.present.sum())
        if n not in chances:
            chances[n] = Chance(n, k, recipe, n_init, seed)
        expected = chances[n].expected(local_dimension(geometry))
        found.append(evidence(shown[position].modularity, expected, recipe.n_clusters))
    return np.array(found)


def _supported(shown: Sequence[_Shown]) -> np.ndarray:
    """Which kernels have clusters that show in the graph of another."""
    found = np.zeros(len(shown), dtype=bool)
    for place, one in enumerate(shown):
        others = [other.graph for other in shown if other is not one]
        best = max((modularity(graph, one.labels) for graph in others), default=0.0)
        found[place] = best >= SUPPORT * one.modularity
    return found
