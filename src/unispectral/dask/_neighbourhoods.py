"""Neighbourhoods on a cluster: candidates with their small kernels, and codes, on its workers."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unispectral._memory import keep_freed
from unispectral._run import Run
from unispectral._validation import recentred
from unispectral.graph.candidates import build_index
from unispectral.labelfree._geometry import Geometry
from unispectral.labelfree._neighbourhoods import (
    CODE_ROWS,
    KERNEL_ROWS,
    LocalNeighbourhoods,
    block_kernels,
    kernel_dtype,
)

__all__ = ["DaskExecutor", "RemoteNeighbourhoods"]

#: Blocks of samples per worker: small enough that losing a worker costs little.
_BLOCKS_PER_WORKER = 4


@dataclass(frozen=True)
class RemoteNeighbourhoods:
    """Neighbourhoods whose kernels stay in blocks on the workers.

    Candidates are here, because the graph needs them, and everything of size k² per sample is
    there.
    """

    neighbours: np.ndarray
    rate: float
    client: Any
    blocks: list[tuple[slice, Any]]
    present: np.ndarray | None = None

    def nearest(self, k: int) -> RemoteNeighbourhoods:
        return replace(self, neighbours=self.neighbours[:, :k])

    def map_rows(self, work: Callable[..., Any], *arguments: Any, run: Run | None) -> list[Any]:
        """Apply ``work`` to each block where it is; results in the order of the samples."""
        shared = [
            self.client.scatter(argument, broadcast=True, hash=False)
            if isinstance(argument, np.ndarray)
            else argument
            for argument in arguments
        ]
        width = self.neighbours.shape[1]
        futures = [
            self.client.submit(_apply, work, rows, block, width, *shared, pure=False)
            for rows, block in self.blocks
        ]
        return [one for part in self.client.gather(futures) for one in part]


class DaskExecutor:
    """Finds neighbourhoods on the workers of a client.

    Candidates take longest to find and little room. Every worker has a copy, and the scheduler
    knows them by the name of the fit, so that a fit that is begun again on another worker, after
    the first was lost, finds them.
    """

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name
        self.searches = 0

    def neighbourhoods(
        self, geometry: Geometry, k: int, rate: float, run: Run, present: np.ndarray | None
    ) -> RemoteNeighbourhoods:
        """The neighbourhoods of a geometry whose neighbours are those of a table."""
        client = self.client
        shipped = client.scatter(geometry, broadcast=True, hash=False)
        slices = _slices(geometry.n_samples if present is None else len(present), client)
        neighbours, candidates = self._kept(
            run.rng, lambda: _searched(client, geometry, shipped, k, len(slices), run)
        )
        blocks = []
        for rows in slices:
            key = f"neighbourhoods-{rows.start}-{uuid.uuid4().hex}"
            block = client.submit(_block, shipped, rows, candidates, rate, present, key=key)
            blocks.append((rows, block))
        if present is not None:
            own = np.flatnonzero(present)
            within = np.full((len(present), k), -1, dtype=np.int64)
            within[own] = np.where(neighbours >= 0, own[neighbours], -1)
            neighbours = within
        return RemoteNeighbourhoods(neighbours, rate, client, blocks, present)

    def _kept(
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


def _searched(
    client: Any, geometry: Geometry, shipped: Any, k: int, count: int, run: Run
) -> np.ndarray:
    """The candidates of all samples, found by an index that is built here and used everywhere."""
    table = geometry.search_table()
    index: Any = build_index(recentred(table)[0], k, random_state=run.rng, run=run)
    slim = copy.copy(index)
    if index.points is table:
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


def _slices(n: int, client: Any) -> list[slice]:
    workers = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))
    step = -(-n // (_BLOCKS_PER_WORKER * workers))
    # Whole multiples of the local block, so that sums are added up in the same order.
    step = -(-step // CODE_ROWS) * CODE_ROWS
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


# What follows runs on workers, whose threads are the scheduler's to use: one for each task.
def _search(index: Any, geometry: Geometry, rows: np.ndarray, k: int) -> np.ndarray:
    keep_freed()
    if index.points is None:
        index = copy.copy(index)
        index.points = geometry.search_table()
    with Run.of(1).limited() as run:
        return index.search_own(rows, k, run).indices


def _block(
    geometry: Geometry,
    rows: slice,
    candidates: np.ndarray,
    rate: float,
    present: np.ndarray | None,
) -> LocalNeighbourhoods:
    """The neighbourhoods of consecutive samples, of which some may be absent."""
    keep_freed()
    numbers = np.arange(rows.start, rows.stop)
    if present is not None:
        before = int(np.count_nonzero(present[: rows.start]))
        numbers = before + np.arange(np.count_nonzero(present[rows]))
    neighbours = candidates[numbers]
    k = neighbours.shape[1]
    dtype = kernel_dtype(geometry.n_samples)
    near = np.empty((len(numbers), k), dtype=dtype)
    among = np.empty((len(numbers), k, k), dtype=dtype)
    with Run.of(1).limited():
        for start in range(0, len(numbers), KERNEL_ROWS):
            part = slice(start, start + KERNEL_ROWS)
            near[part], among[part] = block_kernels(
                geometry, rate, numbers[part], neighbours[part]
            )
    found = LocalNeighbourhoods(neighbours, near, among, rate)
    if present is None:
        return found
    return found.within(present[rows], np.flatnonzero(present))


def _apply(
    work: Callable[..., Any],
    rows: slice,
    block: LocalNeighbourhoods,
    width: int,
    *arguments: Any,
) -> list[Any]:
    keep_freed()
    if width < block.neighbours.shape[1]:
        block = block.nearest(width)
    found = []
    with Run.of(1).limited():
        for start in range(0, len(block.neighbours), CODE_ROWS):
            stop = min(start + CODE_ROWS, len(block.neighbours))
            here = slice(rows.start + start, rows.start + stop)
            found.append(work(here, block.rows(slice(start, stop)), *arguments))
    return found
