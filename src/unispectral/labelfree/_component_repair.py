"""Component repair: parts of a graph too small to be clusters are joined to their surroundings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run, map_blocks
from unispectral._validation import recentred
from unispectral.graph._repair import attach_small
from unispectral.graph.candidates import build_index
from unispectral.labelfree._coding import MEDIAN
from unispectral.labelfree._neighbourhoods import CODE_ROWS, block_kernels
from unispectral.labelfree._recipe import Recipe

__all__ = ["nearest_among", "repaired"]

#: A component smaller than this share of the mean cluster is too small to be one.
SMALL_SHARE = 0.1


def repaired(
    graph: sp.csr_array,
    geometry: Any,
    rate: float,
    recipe: Recipe,
    k: int,
    seed: int,
    run: Run,
) -> sp.csr_array:
    """A graph whose small components are joined to the rest.

    Parameters
    ----------
    graph : CSR array of shape (n, n)
        Row i is the code of sample i.
    geometry : Geometry
        Says what is near; must know all samples.
    rate : float
        Of its Gaussian kernel.
    recipe : Recipe
    k : int
        Candidates outside the component.
    seed : int
        Of the search among many samples.
    run : Run
    """

    def search(rows: np.ndarray, among: np.ndarray, width: int) -> np.ndarray:
        return nearest_among(geometry, rows, among, width, seed, run)

    def solve(rows: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
        return _codes_over(geometry, rate, rows, neighbours, recipe, run)

    least = max(2, int(SMALL_SHARE * graph.shape[0] / recipe.n_clusters))
    return attach_small(graph, least, k, search, solve)


def nearest_among(
    geometry: Any,
    rows: np.ndarray,
    among: np.ndarray,
    k: int,
    seed: int = 0,
    run: Run | None = None,
) -> np.ndarray:
    """The ``k`` nearest of some samples among some others, itself excluded."""
    place = np.searchsorted(among, rows)
    table = geometry.search_table()
    if table is not None:
        table, _ = recentred(table)
        index = build_index(table[among], k, random_state=seed, run=run)
        found = index.search(table[rows], k, exclude=place, run=run).indices
        return np.where(found >= 0, among[found], -1)
    out = np.empty((len(rows), k), dtype=np.int64)

    def work(part: slice) -> None:
        block = geometry.distances(rows[part], among)
        block[np.arange(len(block)), place[part]] = np.inf
        out[part] = among[np.argsort(block, axis=1, kind="stable")[:, :k]]

    map_blocks(work, len(rows), max(1, 2**20 // max(len(among), 1)), run)
    return out


def _codes_over(
    geometry: Any,
    rate: float,
    rows: np.ndarray,
    neighbours: np.ndarray,
    recipe: Recipe,
    run: Run,
) -> np.ndarray:
    """Codes of some samples over given candidates, in the Gaussian kernel of a geometry."""
    from unispectral.graph import _loops

    z = np.zeros(neighbours.shape)
    price = float(recipe.alpha * MEDIAN)

    def work(part: slice) -> None:
        near, among = block_kernels(geometry, rate, rows[part], neighbours[part])
        _loops.solve_blocks(
            among, near, np.ones(len(near)), np.full(near.shape, price),
            neighbours[part] >= 0, float(recipe.ridge), z[part], 1e-6,
        )  # fmt: skip

    map_blocks(work, len(rows), CODE_ROWS, run)
    return z
