"""The stages of a fit that run on workers: candidates with their small kernels, and codes."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._memory import keep_freed
from unispectral._threads import threads
from unispectral._validation import well_placed
from unispectral.graph.candidates import build_index
from unispectral.labelfree._geometry import (
    SINGLE_SAMPLES,
    Geometry,
    Neighbourhoods,
    block_kernels,
    localize,
)

__all__ = ["Kept", "RemoteNeighbourhoods", "distribute"]

#: Blocks of samples per worker: small enough that losing a worker costs little.
_BLOCKS_PER_WORKER = 4


@dataclass
class RemoteNeighbourhoods:
    """Neighbourhoods whose kernels stay in blocks on the workers.

    Stands in for :class:`Neighbourhoods`; candidates are here, because the
    graph needs them, and everything of size k² per sample is there.
    """

    name: str
    neighbours: np.ndarray
    rate: float
    client: Any
    blocks: list[tuple[slice, Any]]
    width: int
    present: np.ndarray | None = None

    @property
    def valid(self) -> np.ndarray:
        return self.neighbours >= 0

    def _replace(self, **changes: Any) -> RemoteNeighbourhoods:
        return replace(self, **changes)

    def nearest(self, k: int) -> RemoteNeighbourhoods:
        return replace(self, neighbours=self.neighbours[:, :k], width=k)

    def graph(self, codes: np.ndarray) -> sp.csr_array:
        return Neighbourhoods.graph(self, codes)  # type: ignore[arg-type]

    def map_rows(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Apply ``work`` to each block where it is; results in the order of the samples."""
        shared = [
            self.client.scatter(argument, broadcast=True, hash=False)
            if isinstance(argument, np.ndarray)
            else argument
            for argument in arguments
        ]
        futures = [
            self.client.submit(_apply, work, rows, block, self.width, *shared, pure=False)
            for rows, block in self.blocks
        ]
        parts = self.client.gather(futures)
        return [one for part in parts for one in part]


class Kept:
    """Candidates that outlive the worker on which a fit runs, until the fit is done.

    They take longest to find and little room. Every worker has a copy, and the scheduler knows
    them by the name of the fit, so that a fit that is begun again on another worker finds them.

    Parameters
    ----------
    client : distributed.Client
    name : str
        Of the fit; no other may have it.
    """

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name
        self.searches = 0

    def search(
        self, rng: np.random.Generator, find: Callable[[], np.ndarray]
    ) -> tuple[np.ndarray, Any]:
        """The candidates of the next geometry, found now or kept from before, and their future."""
        name = f"{self.name}-{self.searches}"
        self.searches += 1
        kept = self.client.get_dataset(name, default=None)
        if kept is not None and any(self.client.who_has([kept["future"]]).values()):
            rng.bit_generator.state = kept["state"]
            return kept["future"].result(), kept["future"]
        neighbours = find()
        future = self.client.scatter(neighbours, broadcast=True, hash=False)
        found = {"future": future, "state": rng.bit_generator.state}
        self.client.publish_dataset(found, name=name, override=True)
        return neighbours, future

    def forget(self) -> None:
        """Let go of all that was kept."""
        for name in self.client.list_datasets():
            if str(name).startswith(f"{self.name}-"):
                self.client.unpublish_dataset(name)


def distribute(kept: Kept) -> Callable[..., Any]:
    """A replacement for the local search of neighbourhoods, on the workers of a client."""
    client = kept.client

    def find(geometry: Geometry, k: int, rate: float, rng: np.random.Generator) -> Any:
        if _table(geometry) is None:  # kernels that no index knows look at all pairs: done here
            from unispectral.labelfree._geometry import localizer

            token = localizer.set(None)
            try:
                return localize(geometry, k, rng)
            finally:
                localizer.reset(token)
        shipped = client.scatter(geometry, broadcast=True, hash=False)
        slices = _blocks(geometry.n_samples, client)
        neighbours, future = kept.search(
            rng, lambda: _searched(client, geometry, shipped, k, len(slices), rng)
        )
        blocks = []
        for rows in slices:
            key = f"neighbourhoods-{rows.start}-{uuid.uuid4().hex}"
            block = client.submit(_block, shipped, rows, future, rate, key=key)
            blocks.append((rows, block))
        return RemoteNeighbourhoods(geometry.name, neighbours, rate, client, blocks, k)

    return find


def _searched(
    client: Any, geometry: Geometry, shipped: Any, k: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """The candidates of all samples, found by an index that is built here and used everywhere."""
    index: Any = build_index(well_placed(_table(geometry))[0], k, random_state=rng)
    slim = copy.copy(index)
    if index.points is _table(geometry):
        slim.points = None  # the workers have them with the geometry
    searcher = client.scatter(slim, broadcast=True, hash=False)
    # Searched in groups that share cells, which is many times cheaper than any other split.
    groups = index.groups(count)
    found = client.gather(
        [client.submit(_search, searcher, shipped, group, k, pure=False) for group in groups]
    )
    neighbours = np.empty((geometry.n_samples, k), dtype=found[0].dtype)
    for group, some in zip(groups, found, strict=True):
        neighbours[group] = some
    return neighbours


def _table(geometry: Geometry) -> Any:
    if hasattr(geometry, "table"):
        return geometry.table
    bank, r = getattr(geometry, "bank", None), getattr(geometry, "r", 0)
    return None if bank is None else bank.euclidean_table(r)


def _blocks(n: int, client: Any) -> list[slice]:
    workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    step = -(-n // (_BLOCKS_PER_WORKER * workers))
    # Whole multiples of the local block, so that sums are added up in the same order.
    step = -(-step // 512) * 512
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _search(index: Any, geometry: Geometry, rows: np.ndarray, k: int) -> np.ndarray:
    if index.points is None:
        index = copy.copy(index)
        index.points = _table(geometry)
    with threads(1), keep_freed():  # the worker's threads are the scheduler's to use
        return index.search_own(rows, k).indices


def _block(geometry: Geometry, rows: slice, candidates: np.ndarray, rate: float) -> Neighbourhoods:
    numbers = np.arange(rows.start, rows.stop)
    neighbours = candidates[rows]
    k = neighbours.shape[1]
    dtype = np.float32 if geometry.n_samples > SINGLE_SAMPLES else np.float64
    near = np.empty((len(numbers), k), dtype=dtype)
    among = np.empty((len(numbers), k, k), dtype=dtype)
    with threads(1), keep_freed():
        for start in range(0, len(numbers), 256):
            part = slice(start, start + 256)
            near[part], among[part] = block_kernels(
                geometry, rate, numbers[part], neighbours[part]
            )
    return Neighbourhoods(geometry.name, neighbours, near, among, rate)


def _apply(
    work: Callable[..., Any], rows: slice, block: Neighbourhoods, width: int, *arguments: Any
) -> list[Any]:
    if width < block.neighbours.shape[1]:
        block = block.nearest(width)
    found = []
    with threads(1), keep_freed():
        for start in range(0, len(block.neighbours), 512):
            stop = min(start + 512, len(block.neighbours))
            here = slice(rows.start + start, rows.start + stop)
            found.append(work(here, block.rows(slice(start, stop)), *arguments))
    return found
