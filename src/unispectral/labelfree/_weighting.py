"""Weights of kernels in the label-free model: by the clusters that each shows beyond chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.graph.quality import modularity
from unispectral.labelfree._coding import LocalCodes, codes_of, eigenvectors, embed, read_out
from unispectral.labelfree._neighbourhoods import Neighbourhoods, sparse_codes
from unispectral.labelfree._null_model import NullModel, adjusted_modularity, local_dimension
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._rivals import Rival
from unispectral.spectrum import affinity

__all__ = ["Weighting", "weigh"]

#: The share of a geometry's modularity that its clusters must reach in another kernel's graph.
SUPPORT = 0.25

Fuse = Callable[[np.ndarray], list[Rival]]


class Weighting(NamedTuple):
    """What the competition of the geometries gave.

    Attributes
    ----------
    rivals : list of Rival
        Those that competed, the fused ones last.
    codes : list of LocalCodes
        Of each, without an embedding in the prices.
    weights : ndarray
        Of each; they sum to one.
    evidence : ndarray or None
        The adjusted modularity of each kernel; None where there was nothing to compare.
    shares : ndarray or None
        The share of each kernel in the fused geometries; None where there are none.
    """

    rivals: list[Rival]
    codes: list[LocalCodes]
    weights: np.ndarray
    evidence: np.ndarray | None = None
    shares: np.ndarray | None = None


@dataclass
class _Clustering:
    """The clusters of one geometry alone."""

    graph: sp.csr_array
    labels: np.ndarray
    modularity: float


def weigh(
    rivals: Sequence[Rival], recipe: Recipe, run: Run, fuse: Fuse | None = None
) -> Weighting:
    """Weights of all geometries.

    The geometries of one kernel are rivals, views of the same thing: the one of largest
    modularity stands for it. Kernels weigh a power of their adjusted modularity. One with too
    little, or whose clusters show in no other of the kernels that are left, gets nothing; where
    no kernel shows the clusters of another, they cannot all be right, and the clearest is
    believed.

    Parameters
    ----------
    rivals : sequence of Rival
    recipe : Recipe
    run : Run
    fuse : callable(shares) or None
        Gives the geometries of several kernels taken together, which are weighed like those of
        one kernel more.
    """
    rivals = list(rivals)
    codes = [codes_of(rival.neighbourhoods, recipe, None, run) for rival in rivals]
    if len(rivals) == 1:
        return Weighting(rivals, codes, np.ones(1))
    recipe = replace(recipe, n_init=max(1, recipe.n_init // 2))
    alone = [
        _cluster_alone(rival.neighbourhoods, one, recipe, run)
        for rival, one in zip(rivals, codes, strict=True)
    ]
    kernels = np.array([rival.kernel for rival in rivals])
    winners = [
        max(np.flatnonzero(kernels == kernel).tolist(), key=lambda at: alone[at].modularity)
        for kernel in np.unique(kernels)
    ]
    if len(winners) == 1:
        return Weighting(rivals, codes, np.eye(len(rivals))[winners[0]])
    judge = _Judge(recipe, run)
    found = np.array([judge(rivals[at].neighbourhoods, alone[at].modularity) for at in winners])
    kept = found >= min(recipe.min_evidence, float(found.max()))
    places = np.flatnonzero(kept)
    supported = _supported([alone[winners[place]] for place in places])
    kept[places] = supported if supported.any() else places == np.argmax(found)
    earned = np.where(kept, np.maximum(found, 0.0) ** recipe.sharpness, 0.0)
    if not earned.any():
        earned = kept.astype(np.float64)
    shares = earned / earned.sum()
    fused = fuse(shares) if fuse is not None and np.count_nonzero(shares) > 1 else []
    if fused:
        more = [codes_of(rival.neighbourhoods, recipe, None, run) for rival in fused]
        together = [
            _cluster_alone(rival.neighbourhoods, one, recipe, run).modularity
            for rival, one in zip(fused, more, strict=True)
        ]
        best = int(np.argmax(together))
        winners.append(len(rivals) + best)
        rivals, codes = rivals + fused, codes + more
        beyond = judge(fused[best].neighbourhoods, together[best])
        earned = np.append(earned, max(beyond, 0.0) ** recipe.sharpness)
    weights = np.zeros(len(rivals))
    weights[winners] = earned / earned.sum()
    return Weighting(rivals, codes, weights, found, shares if fused else None)


def _cluster_alone(
    around: Neighbourhoods, codes: LocalCodes, recipe: Recipe, run: Run
) -> _Clustering:
    W = affinity(sparse_codes(around.neighbours, codes.values))
    here = slice(None) if around.present is None else np.flatnonzero(around.present)
    own = W if around.present is None else W[here][:, here]
    E = embed(eigenvectors(own, recipe, run).vectors, recipe)
    # Samples that the view lacks have no edges there, and their label does not count.
    labels = np.zeros(W.shape[0], dtype=np.intp)
    labels[here] = read_out(own, E, recipe, run.rng)
    return _Clustering(W, labels, modularity(W, labels))


class _Judge:
    """Adjusts modularity for chance, with the same null model for all geometries of one size."""

    def __init__(self, recipe: Recipe, run: Run) -> None:
        self.recipe = recipe
        self.run = run
        self.seed = int(run.rng.integers(2**31 - 1))
        self.models: dict[int, NullModel] = {}

    def __call__(self, around: Neighbourhoods, reached: float) -> float:
        if self.recipe.n_clusters == 1:
            return 1.0
        n, k = around.neighbours.shape
        n = n if around.present is None else int(around.present.sum())
        if n not in self.models:
            self.models[n] = NullModel(n, k, self.recipe, self.seed, self.run)
        expected = self.models[n].expected(local_dimension(around, self.run))
        return adjusted_modularity(reached, expected, self.recipe.n_clusters)


def _supported(alone: Sequence[_Clustering]) -> np.ndarray:
    """Which kernels have clusters that show in the graph of another."""
    found = np.zeros(len(alone), dtype=bool)
    for place, one in enumerate(alone):
        others = [other.graph for other in alone if other is not one]
        best = max((modularity(graph, one.labels) for graph in others), default=0.0)
        found[place] = best >= SUPPORT * one.modularity
    return found
