"""Rival geometries: every kernel's own distance, its whitened forms, and several as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unispectral._inputs import Samples
from unispectral._memory import give_back
from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.labelfree._geometry import (
    Geometry,
    KernelDistance,
    KernelPart,
    expand,
    median_distance,
)
from unispectral.labelfree._neighbourhoods import Neighbourhoods, localize

__all__ = ["Rival", "find_rivals", "fused_rivals"]

#: Above this many samples memory that is free is given back before a graph is made.
MANY = 10_000
#: Up to this many samples all pairs may be looked at where no table stands for a sum.
ALL_PAIRS_SAMPLES = 20_000
#: The kernel of geometries that several kernels share.
FUSED = -1


@dataclass(frozen=True)
class Rival:
    """One geometry with its neighbourhoods, and the number of the kernel that it is of."""

    geometry: Any
    neighbourhoods: Neighbourhoods
    kernel: int

    @property
    def present(self) -> np.ndarray | None:
        """Which samples it has; None for all."""
        return self.neighbourhoods.present

    def nearest(self, k: int) -> Rival:
        """The same with only the k nearest candidates."""
        return replace(self, neighbourhoods=self.neighbourhoods.nearest(k))

    def title(self, names: Sequence[str]) -> str:
        """The kernel's public name, and what was done to it."""
        base: Geometry = getattr(self.geometry, "base", self.geometry)
        done = self.geometry.name.removeprefix(base.name)
        return ("fused" if self.kernel == FUSED else names[self.kernel]) + done


def find_rivals(
    samples: Samples, whiten: Sequence[tuple[float, float]], k: int, run: Run
) -> tuple[list[Rival], list[str]]:
    """Every geometry of every kernel of every view, with k candidates each; kernels' names."""
    found: list[Rival] = []
    names: list[str] = []
    for view, bank, present in _banks(samples, run):
        for r in range(len(bank)):
            base = KernelDistance([KernelPart(bank, r, view)])
            for geometry in expand(base, whiten, run.rng):
                run.progress("geometries", len(found), note=geometry.name)
                around = localize(geometry, k, run, present)
                found.append(Rival(geometry, around, len(names)))
            names.append(base.name)
        bank.release()
    if samples.n_samples > MANY:
        give_back()
    return found, names


def _banks(samples: Samples, run: Run) -> Iterator[tuple[int, KernelBank, np.ndarray | None]]:
    """One bank per view, on the samples that the view has."""
    if samples.bank is not None:
        yield -1, samples.bank, None
        return
    assert samples.kernels is not None
    # Distances that are those of a table need no matrix of all pairs.
    able = [getattr(kernel, "abilities", None) for kernel in samples.kernels]
    direct = all(one is not None and one.distances is not None for one in able)
    for view, table in enumerate(samples.tables):
        present = None
        if isinstance(table, np.ndarray) and np.isnan(table[:, 0]).any():
            present = ~np.isnan(table[:, 0])
            table = table[present]
        bank = KernelBank(
            table, samples.kernels, normalize=samples.normalize, gram=not direct, run=run
        )
        yield view, bank, present


def fused_rivals(
    rivals: Sequence[Rival],
    shares: np.ndarray,
    whiten: Sequence[tuple[float, float]],
    k: int,
    run: Run,
) -> list[Rival]:
    """The geometries of the sum in which each kernel has its share; none where it costs too much.

    Each distance is measured in its own median, and by the kernel itself, not whitened.
    """
    own: dict[int, Rival] = {}
    for rival in rivals:
        own.setdefault(rival.kernel, rival)
    chosen = [own[kernel] for kernel in np.flatnonzero(shares).tolist()]
    if any(rival.present is not None for rival in chosen):
        return []
    parts = [
        rival.geometry.parts[0]._replace(scale=float(share / median_distance(rival.geometry)))
        for share, rival in zip(shares[shares > 0], chosen, strict=True)
    ]
    base = KernelDistance(parts, "fused")
    if base.n_samples > ALL_PAIRS_SAMPLES and base.search_table() is None:
        return []
    return [
        Rival(geometry, localize(geometry, k, run), FUSED)
        for geometry in expand(base, whiten, run.rng)
    ]
