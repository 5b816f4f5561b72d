"""Mending of graphs in a geometry: how small components find their surroundings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._threads import map_blocks
from unispectral.graph._repair import attach_small
from unispectral.graph.candidates import build_index
from unispectral.labelfree._geometry import Geometry, TableGeometry

__all__ = ["mender", "nearest_among"]

#: A component smaller than this share of the mean cluster is too small to be one.
SMALL_SHARE = 0.1


def mender(
    geometries: Sequence[Geometry],
    rates: Sequence[float],
    owners: Sequence[np.ndarray | None],
    n_clusters: int,
    k: int,
    *,
    alpha: float,
    ridge: float,
    rng: np.random.Generator,
) -> Callable[[sp.csr_array, np.ndarray], sp.csr_array]:
    """A function that joins small components of a graph to the rest.

    The geometry of largest weight says what is near; only one that knows all samples can.

    Parameters
    ----------
    geometries, rates, owners : sequences
        Each geometry, the rate of its Gaussian kernel, and which samples it has (None: all).
    n_clusters, k : int
    alpha, ridge : float
        Of the codes, as everywhere.
    rng : Generator
        Its state is taken now, so that mending draws nothing from the fit.
    """
    seed = int(rng.integers(2**31 - 1))
    whole = [position for position, owner in enumerate(owners) if owner is None]

    def mend(graph: sp.csr_array, weights: np.ndarray) -> sp.csr_array:
        if not whole:
            return graph
        chosen = max(whole, key=lambda position: weights[position])
        geometry, rate = geometries[chosen], rates[chosen]

        def search(rows: np.ndarray, among: np.ndarray, width: int) -> np.ndarray:
            return nearest_among(geometry, rows, among, width, seed)

        def solve(rows: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
            return gaussian_codes(geometry, rate, rows, neighbours, alpha, ridge)

        least = max(2, int(SMALL_SHARE * graph.shape[0] / n_clusters))
        return attach_small(graph, least, k, search, solve).codes

    return mend


def nearest_among(
    geometry: Geometry, rows: np.ndarray, among: np.ndarray, k: int, seed: int = 0
) -> np.ndarray:
    """The ``k`` nearest of some samples among some others, itself excluded."""
    table: Any = getattr(geometry, "table", None)
    if table is None and not isinstance(geometry, TableGeometry):
        bank: Any = getattr(geometry, "bank", None)
        table = None if bank is None else bank.euclidean_table(geometry.r)  # type: ignore[attr-defined]
    place = np.searchsorted(among, rows)
    if table is not None:
        index = build_index(table[among], k, random_state=seed)
        found = index.search(table[rows], k, exclude=place).indices
        return np.where(found >= 0, among[found], -1)
    out = np.empty((len(rows), k), dtype=np.int64)

    def work(part: slice) -> None:
        block = geometry.distances(rows[part], among)
        block[np.arange(len(block)), place[part]] = np.inf
        out[part] = among[np.argsort(block, axis=1, kind="stable")[:, :k]]

    map_blocks(work, len(rows), max(1, 2**20 // max(len(among), 1)))
    return out


def gaussian_codes(
    geometry: Geometry,
    rate: float,
    rows: np.ndarray,
    neighbours: np.ndarray,
    alpha: float,
    ridge: float,
) -> np.ndarray:
    """Codes of some samples over given candidates, in the Gaussian kernel of a geometry."""
    from unispectral.graph import _loops

    z = np.zeros(neighbours.shape)

    def work(part: slice) -> None:
        to, between = geometry.around(rows[part], np.maximum(neighbours[part], 0))
        near = np.exp(to * rate)
        _loops.solve_blocks(
            np.exp(between * rate), near, np.ones(len(near)), np.full(near.shape, float(alpha)),
            neighbours[part] >= 0, float(ridge), z[part], 1e-6,
        )  # fmt: skip

    map_blocks(work, len(rows), 512)
    return z
