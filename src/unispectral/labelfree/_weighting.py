"""Weights of kernels in the label-free model: by the evidence of clusters that each shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from unispectral.graph.quality import modularity
from unispectral.labelfree._coding import Codes, Recipe, codes_of, eigenvectors, embed, read_out
from unispectral.labelfree._geometry import Neighbourhoods
from unispectral.labelfree._null_model import Chance, evidence, local_dimension
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
    geometries: list[Neighbourhoods],
    codes: list[Codes],
    recipe: Recipe,
    families: Sequence[int] | None,
    n_init: int,
    rng: np.random.Generator,
    fuse: Callable[[np.ndarray], list[Neighbourhoods]] | None = None,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The weight of every geometry, the evidence of every kernel, and their shares in a fusion.

    The geometries of one kernel are rivals, views of the same thing: the one of largest
    modularity stands for it. Kernels weigh a power of their evidence. One with too little, or
    whose clusters show in no other of the kernels that are left, gets nothing; where no kernel
    shows the clusters of another, they cannot all be right, and the clearest is believed.

    Where several kernels are left and can be fused, the fused geometries are appended to
    ``geometries`` and ``codes``, and weighed like those of one kernel more.
    """
    if len(geometries) == 1:
        return np.ones(1), None, None
    n_init = max(1, n_init // 2)
    shown = [
        _show(geometry, values, recipe, n_init, rng)
        for geometry, (values, _, _) in zip(geometries, codes, strict=True)
    ]
    kernels = np.zeros(len(shown), dtype=int) if families is None else np.asarray(families)
    champions = [
        max(np.flatnonzero(kernels == kernel).tolist(), key=lambda at: shown[at].modularity)
        for kernel in np.unique(kernels)
    ]
    if len(champions) == 1:
        return np.eye(len(shown))[champions[0]], None, None
    judge = _Judge(recipe, n_init, int(rng.integers(2**31 - 1)))
    found = np.array([judge.evidence(geometries[at], shown[at].modularity) for at in champions])
    kept = found >= min(recipe.min_evidence, float(found.max()))
    places = np.flatnonzero(kept)
    supported = _supported([shown[champions[place]] for place in places])
    kept[places] = supported if supported.any() else places == np.argmax(found)
    earned = np.where(kept, np.maximum(found, 0.0) ** recipe.sharpness, 0.0)
    if not earned.any():
        earned = kept.astype(np.float64)
    shares = earned / earned.sum()
    fused = fuse(shares) if fuse is not None and np.count_nonzero(shares) > 1 else []
    if fused:
        start = len(geometries)
        geometries += fused
        codes += [codes_of(geometry, recipe, None) for geometry in fused]
        shown += [
            _show(geometry, values, recipe, n_init, rng)
            for geometry, (values, _, _) in zip(fused, codes[start:], strict=True)
        ]
        champions.append(max(range(start, len(shown)), key=lambda at: shown[at].modularity))
        together = judge.evidence(geometries[champions[-1]], shown[champions[-1]].modularity)
        earned = np.append(earned, max(together, 0.0) ** recipe.sharpness)
    weights = np.zeros(len(shown))
    weights[champions] = earned / earned.sum()
    return weights, found, shares if fused else None


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


class _Judge:
    """Adjusts modularity for chance, with the same clouds for all geometries of one size."""

    def __init__(self, recipe: Recipe, n_init: int, seed: int) -> None:
        self.recipe = recipe
        self.n_init = n_init
        self.seed = seed
        self.chances: dict[int, Chance] = {}

    def evidence(self, geometry: Neighbourhoods, reached: float) -> float:
        if self.recipe.n_clusters == 1:
            return 1.0
        n, k = geometry.neighbours.shape
        n = n if geometry.present is None else int(geometry.present.sum())
        if n not in self.chances:
            self.chances[n] = Chance(n, k, self.recipe, self.n_init, self.seed)
        expected = self.chances[n].expected(local_dimension(geometry))
        return evidence(reached, expected, self.recipe.n_clusters)


def _supported(shown: Sequence[_Shown]) -> np.ndarray:
    """Which kernels have clusters that show in the graph of another."""
    found = np.zeros(len(shown), dtype=bool)
    for place, one in enumerate(shown):
        others = [other.graph for other in shown if other is not one]
        best = max((modularity(graph, one.labels) for graph in others), default=0.0)
        found[place] = best >= SUPPORT * one.modularity
    return found
