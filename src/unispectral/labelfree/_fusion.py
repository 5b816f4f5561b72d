"""Several kernels as one geometry: the sum of their distances, weighted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unispectral._validation import well_placed
from unispectral.labelfree._coupling import Localized
from unispectral.labelfree._geometry import (
    Geometry,
    KernelGeometry,
    Neighbourhoods,
    all_pairs_nearest,
    expand,
    localize,
    median_distance,
)

__all__ = ["FusedGeometry", "Fusion"]

#: Up to this many samples all pairs may be looked at where no table stands for the sum.
ALL_PAIRS_SAMPLES = 20_000


class FusedGeometry:
    """The weighted sum of the squared distances of several kernels.

    Parameters
    ----------
    parts : sequence of Geometry
    scales : ndarray
        What each is multiplied by.
    views : sequence of int
        The view that each is of; −1 for kernels that came as matrices.
    """

    name = "fused"

    def __init__(self, parts: Sequence[Geometry], scales: np.ndarray, views: Sequence[int]):
        self.parts = list(parts)
        self.scales = np.asarray(scales, dtype=np.float64)
        self.views = [int(view) for view in views]
        self.n_samples = parts[0].n_samples

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        """Squared distances between two groups of samples."""
        return self._sum(part.distances(rows, cols) for part in self.parts)

    def nearest(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """The k nearest other samples of each, nearest first."""
        from unispectral.graph.candidates import nearest

        table = self._table()
        if table is None:
            return all_pairs_nearest(self, k)
        return nearest(well_placed(table)[0], k, random_state=rng).indices

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances to neighbours (b, k) and among them (b, k, k)."""
        found = [part.around(rows, neighbours) for part in self.parts]
        return self._sum(near for near, _ in found), self._sum(among for _, among in found)

    def cross(self, new: Any) -> np.ndarray:
        """Squared distances from new samples, one table per view, to all of these."""
        several = isinstance(new, list)
        return self._sum(
            part.cross(new[view] if several and view >= 0 else new)
            for part, view in zip(self.parts, self.views, strict=True)
        )

    def _sum(self, values: Any) -> np.ndarray:
        return np.asarray(sum(s * one for s, one in zip(self.scales, values, strict=True)))

    def _table(self) -> np.ndarray | None:
        """A table of which these are the distances, if each part has one."""
        tables = []
        for part in self.parts:
            plain = isinstance(part, KernelGeometry) and (
                part.bank.names[part.r].rpartition(":")[2] == "linear"
                and "trace" not in part.bank.normalize
            )
            table = part.bank.euclidean_table(part.r) if plain else None  # type: ignore[attr-defined]
            if not isinstance(table, np.ndarray):
                return None
            tables.append(table)
        return np.hstack([np.sqrt(s) * one for s, one in zip(self.scales, tables, strict=True)])


class Fusion:
    """Makes the fused geometries of a fit and adds them to the others.

    Parameters
    ----------
    localized : list of Localized
        The geometries of all kernels; the fused ones are appended, as of kernel −1.
    n_neighbors : int
    whiten : pairs of width and strength
    seed : int
        The same shares always make the same geometries.
    """

    def __init__(
        self,
        localized: list[Localized],
        n_neighbors: int,
        whiten: Sequence[tuple[float, float]],
        seed: int,
    ) -> None:
        self.localized = localized
        self.n_neighbors = n_neighbors
        self.whiten = whiten
        self.seed = seed
        self.shares = np.zeros(0)

    def __call__(self, shares: np.ndarray) -> list[Neighbourhoods]:
        """The neighbourhoods of the sum in which each kernel has its share; [] if too costly.

        Each distance is measured in its own median, and by the kernel itself, not whitened.
        """
        own: dict[int, Localized] = {}
        for one in self.localized:
            own.setdefault(one.kernel, one)
        chosen = [own[kernel] for kernel in np.flatnonzero(shares).tolist()]
        if any(one.present is not None for one in chosen):
            return []
        scales = [
            share / median_distance(one.geometry)
            for share, one in zip(shares[shares > 0], chosen, strict=True)
        ]
        base = FusedGeometry(
            [one.geometry for one in chosen], np.array(scales), [one.view for one in chosen]
        )
        if base.n_samples > ALL_PAIRS_SAMPLES and base._table() is None:
            return []
        self.shares = shares
        rng = np.random.default_rng(self.seed)
        added = [
            Localized(geometry, localize(geometry, self.n_neighbors, rng), -1, -1, None)
            for geometry in expand(base, self.whiten, rng)
        ]
        self.localized.extend(added)
        return [one.neighbourhoods for one in added]
