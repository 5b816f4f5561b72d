"""How far the clusters of a graph exceed those that a cloud without clusters would show.

Any graph of near neighbours falls into parts of large modularity, the more so the fewer
dimensions the samples have: points drawn at random in the plane look more clustered than faces.
So modularity is compared with that of a cloud of as many points of the same local dimension, the
way the adjusted Rand index is compared with chance. The best of several clouds counts, so that a
small set is not taken for clustered by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unispectral import _checkpoint as checkpoint
from unispectral.graph.quality import modularity
from unispectral.labelfree._coding import Recipe, eigenvectors, embed, first_graph, read_out
from unispectral.labelfree._geometry import Neighbourhoods, TableGeometry, localize, localizer

__all__ = ["Chance", "evidence", "local_dimension", "modularities"]

#: Dimensions of the clouds; between them their modularity is interpolated.
DIMENSIONS = (1, 2, 3, 4, 6, 8, 12, 20, 40, 80)
#: Clouds drawn per dimension, and the most points of one.
DRAWS = 5
CLOUD_SAMPLES = 2_000


def local_dimension(geometry: Neighbourhoods) -> float:
    """How fast neighbours become more with distance: the dimension that samples have locally.

    The maximum-likelihood estimate of Levina and Bickel, from the farther half of the candidates,
    since near-duplicates are no sign of few dimensions; the median over the samples. With so few
    candidates it is too large by a factor that clouds of known dimension share.
    """
    spreads = np.concatenate(geometry.map_rows(_block_spread))
    middle = float(np.median(spreads)) if spreads.size else 0.0
    return 1.0 / max(middle, 1e-3)


def _block_spread(rows: slice, block: Neighbourhoods) -> np.ndarray:
    """The mean of log(farthest distance / distance) over the farther half of the candidates."""
    near = block.near[block.valid.all(axis=1)].astype(np.float64)
    half = max(near.shape[1] // 2 - 1, 0)
    squared = -np.log(np.clip(near, 1e-300, 1.0 - 1e-12))
    if near.shape[1] < 2:
        return np.zeros(0)
    return 0.5 * np.log(squared[:, -1:] / squared[:, half:-1]).mean(axis=1)


class Chance:
    """The modularity of clouds without clusters, by their local dimension.

    Parameters
    ----------
    n_samples, n_neighbors : int
        Of the geometry that is compared with them.
    recipe : Recipe
    n_init : int
    seed : int
    counts : sequence of int or None
        The numbers of clusters; None for the recipe's own.
    draws, most : int or None
        Clouds per dimension, and the most points of one; None for the defaults.
    """

    def __init__(
        self,
        n_samples: int,
        n_neighbors: int,
        recipe: Recipe,
        n_init: int,
        seed: int,
        *,
        counts: Sequence[int] | None = None,
        draws: int | None = None,
        most: int | None = None,
    ) -> None:
        self.n_samples = n_samples
        self.n_neighbors = n_neighbors
        self.recipe = replace(recipe, gamma=0.0)
        self.n_init = n_init
        self.seed = seed
        self.counts = [recipe.n_clusters] if counts is None else list(counts)
        self.draws = draws or DRAWS
        self.most = most or CLOUD_SAMPLES
        self._clouds: dict[int, tuple[float, list[Neighbourhoods]]] = {}
        self._levels: dict[int, np.ndarray] = {}

    def expected(self, dimension: float) -> float:
        """The modularity that the best of some clouds of this local dimension reaches."""
        return float(self.curve(dimension)[0])

    def curve(self, dimension: float) -> np.ndarray:
        """The same for each of the numbers of clusters."""
        rungs = []
        for rung in DIMENSIONS:
            rungs.append(rung)
            if self._measured(rung)[0] > dimension:
                break
        rungs = rungs[-2:]
        places = np.log([self._measured(rung)[0] for rung in rungs])
        levels = np.array([self._level(rung) for rung in rungs])
        return np.array([np.interp(np.log(dimension), places, column) for column in levels.T])

    def _measured(self, rung: int) -> tuple[float, list[Neighbourhoods]]:
        if rung not in self._clouds:
            clouds = [self._cloud(rung, draw) for draw in range(self.draws)]
            self._clouds[rung] = float(np.mean([local_dimension(one) for one in clouds])), clouds
        return self._clouds[rung]

    def _cloud(self, rung: int, draw: int) -> Neighbourhoods:
        rng = np.random.default_rng([self.seed, rung, draw])
        points = rng.normal(size=(min(self.n_samples, self.most), rung))
        token = localizer.set(None)  # a distributed fit has larger things to hand out
        try:
            with checkpoint.paused():
                return localize(TableGeometry("cloud", points, None), self.n_neighbors, rng)
        finally:
            localizer.reset(token)

    def _level(self, rung: int) -> np.ndarray:
        if rung not in self._levels:
            clouds = self._measured(rung)[1]
            reached = np.max([self._modularities(one) for one in clouds], axis=0)
            most = 1.0 - 1.0 / np.asarray(self.counts, dtype=np.float64)
            # Borders between clusters are met by a share of the samples that falls like this.
            share = (len(clouds[0].neighbours) / self.n_samples) ** (1.0 / rung)
            self._levels[rung] = most - (most - reached) * share
        return self._levels[rung]

    def _modularities(self, cloud: Neighbourhoods) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        return modularities(cloud, self.recipe, self.counts, self.n_init, rng)


def modularities(
    geometry: Neighbourhoods,
    recipe: Recipe,
    counts: Sequence[int],
    n_init: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """The modularity of the first graph of a geometry, cut into each of these numbers of parts."""
    W = first_graph(geometry, recipe)
    P = eigenvectors(W, replace(recipe, n_clusters=max(counts)), rng).vectors
    found = []
    for count in counts:
        here = replace(recipe, n_clusters=count)
        E = embed(P[:, :count], here)
        found.append(modularity(W, read_out(W, E, here, n_init=n_init, rng=rng)))
    return np.array(found)


def evidence(reached: float, expected: float, n_clusters: int) -> float:
    """Modularity adjusted for chance: 0 if no better than a cloud, 1 for separate clusters.

    Examples
    --------
    >>> evidence(0.75, 0.5, 4), evidence(0.5, 0.5, 4)
    (1.0, 0.0)
    """
    most = 1.0 - 1.0 / n_clusters
    return float(np.clip((reached - expected) / max(most - expected, 1e-3), -1.0, 1.0))
