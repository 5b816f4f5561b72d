"""The null model: how much modularity samples without clusters would show.

Any graph of near neighbours falls into parts of large modularity, the more so the fewer
dimensions the samples have: points drawn at random in the plane look more clustered than faces.
So modularity is compared with that of Gaussian reference samples of the same size and local
dimension, the way the adjusted Rand index is compared with chance. The best of several reference
samples counts, so that a small set is not taken for clustered by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unispectral._run import Run
from unispectral.graph.quality import modularity
from unispectral.kernels import KernelBank
from unispectral.labelfree._coding import eigenvectors, embed, first_graph, read_out
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.labelfree._neighbourhoods import (
    LocalNeighbourhoods,
    Neighbourhoods,
    localize,
)
from unispectral.labelfree._recipe import Recipe

__all__ = ["NullModel", "adjusted_modularity", "local_dimension", "modularities"]

#: Dimensions of the reference samples; between them their modularity is interpolated.
DIMENSIONS = (1, 2, 3, 4, 6, 8, 12, 20, 40, 80)
#: Reference samples drawn per dimension, and the most points of one.
DRAWS = 5
MAX_POINTS = 2_000


def local_dimension(around: Neighbourhoods, run: Run | None = None) -> float:
    """How fast neighbours become more with distance: the dimension that samples have locally.

    The maximum-likelihood estimate of Levina and Bickel, from the farther half of the candidates,
    since near-duplicates are no sign of few dimensions; the median over the samples. With so few
    candidates it is too large by a factor that reference samples of known dimension share.
    """
    spreads = np.concatenate(around.map_rows(_block_spread, run=run))
    middle = float(np.median(spreads)) if spreads.size else 0.0
    return 1.0 / max(middle, 1e-3)


def _block_spread(rows: slice, block: LocalNeighbourhoods) -> np.ndarray:
    """The mean of log(farthest distance / distance) over the farther half of the candidates."""
    near = block.near[block.valid.all(axis=1)].astype(np.float64)
    half = max(near.shape[1] // 2 - 1, 0)
    squared = -np.log(np.clip(near, 1e-300, 1.0 - 1e-12))
    if near.shape[1] < 2:
        return np.zeros(0)
    return 0.5 * np.log(squared[:, -1:] / squared[:, half:-1]).mean(axis=1)


class NullModel:
    """The modularity of reference samples without clusters, by their local dimension.

    Parameters
    ----------
    n_samples, n_neighbors : int
        Of the geometry that is compared with them.
    recipe : Recipe
    seed : int
    run : Run
    counts : sequence of int or None
        The numbers of clusters; None for the recipe's own.
    draws, max_points : int or None
        Reference samples per dimension, and the most points of one; None for the defaults.
    """

    def __init__(
        self,
        n_samples: int,
        n_neighbors: int,
        recipe: Recipe,
        seed: int,
        run: Run,
        *,
        counts: Sequence[int] | None = None,
        draws: int | None = None,
        max_points: int | None = None,
    ) -> None:
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.recipe = replace(recipe, gamma=0.0)
        self.seed = seed
        self.run = run.replace(executor=None)  # too small to be worth sending elsewhere
        self.counts = [recipe.n_clusters] if counts is None else list(counts)
        self.draws = draws or DRAWS
        self.max_points = max_points or MAX_POINTS
        self._samples: dict[int, tuple[float, list[Neighbourhoods]]] = {}
        self._levels: dict[int, np.ndarray] = {}

    def expected(self, dimension: float) -> float:
        """The modularity that the best of some samples of this local dimension reaches."""
        return float(self.curve(dimension)[0])

    def curve(self, dimension: float) -> np.ndarray:
        """The same for each of the numbers of clusters."""
        grid = []
        for number in DIMENSIONS:
            grid.append(number)
            if self._measured(number)[0] > dimension:
                break
        grid = grid[-2:]
        places = np.log([self._measured(number)[0] for number in grid])
        levels = np.array([self._level(number) for number in grid])
        return np.array([np.interp(np.log(dimension), places, column) for column in levels.T])

    def _measured(self, number: int) -> tuple[float, list[Neighbourhoods]]:
        """The local dimension of the reference samples of one dimension, and these."""
        if number not in self._samples:
            drawn = [self._drawn(number, draw) for draw in range(self.draws)]
            measured = float(np.mean([local_dimension(one, self.run) for one in drawn]))
            self._samples[number] = measured, drawn
        return self._samples[number]

    def _drawn(self, number: int, draw: int) -> Neighbourhoods:
        rng = np.random.default_rng([self.seed, number, draw])
        points = rng.normal(size=(min(self.n_samples, self.max_points), number))
        geometry = KernelDistance(
            [KernelPart(KernelBank(points, ["linear"], normalize=None, gram=False), 0, 0)]
        )
        return localize(geometry, self.n_neighbors, self.run.replace(rng=rng))

    def _level(self, number: int) -> np.ndarray:
        if number not in self._levels:
            drawn = self._measured(number)[1]
            reached = np.max([self._modularities(one) for one in drawn], axis=0)
            most = 1.0 - 1.0 / np.asarray(self.counts, dtype=np.float64)
            # Borders between clusters are met by a share of the samples that falls like this.
            share = (len(drawn[0].neighbours) / self.n_samples) ** (1.0 / number)
            self._levels[number] = most - (most - reached) * share
        return self._levels[number]

    def _modularities(self, around: Neighbourhoods) -> np.ndarray:
        run = self.run.replace(rng=np.random.default_rng(self.seed))
        return modularities(around, self.recipe, self.counts, run)


def modularities(
    around: Neighbourhoods, recipe: Recipe, counts: Sequence[int], run: Run
) -> np.ndarray:
    """The modularity of the first graph of a geometry, cut into each of these numbers of parts."""
    W = first_graph(around, recipe, run)
    P = eigenvectors(W, recipe.with_clusters(max(counts)), run).vectors
    found = []
    for count in counts:
        here = recipe.with_clusters(count)
        labels = read_out(W, embed(P[:, :count], here), here, run.rng)
        found.append(modularity(W, labels))
    return np.array(found)


def adjusted_modularity(reached: float, expected: float, n_clusters: int) -> float:
    """Modularity adjusted for chance: 0 if no better than the null model, 1 if separate.

    Examples
    --------
    >>> adjusted_modularity(0.75, 0.5, 4), adjusted_modularity(0.5, 0.5, 4)
    (1.0, 0.0)
    """
    most = 1.0 - 1.0 / n_clusters
    return float(np.clip((reached - expected) / max(most - expected, 1e-3), -1.0, 1.0))
