"""Neighbourhoods on a cluster: candidates with their small kernels, and codes, on its workers."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from pickle import PickleBuffer
from typing import Any, TypeVar

import numpy as np

from unispectral._compat import optional
from unispectral._memory import keep_freed
from unispectral._run import Run
from unispectral._validation import recentre
from unispectral.dask._blocks import RETRIES
from unispectral.dask._waiting import able_workers, wait_for, workers_of
from unispectral.graph.neighbours import build_index, is_descended, nearest
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._neighbourhoods import (
    CODE_ROWS,
    KERNEL_ROWS,
    LocalNeighbourhoods,
    block_kernels,
    kernel_dtype,
)

#: Blocks of samples per worker: small enough that losing a worker costs little.
_BLOCKS_PER_WORKER = 4

T = TypeVar("T")


class Aligned:
    """Something whose arrays begin, wherever it arrives, at an address that suits their numbers.

    NumPy copies an array that begins elsewhere, as a whole, whenever a few of its rows are asked
    for, and compiled loops are compiled once more for it. In a message this is the first one,
    which follows its head; the others get memory of their own.
    """

    def __init__(self, what: Any) -> None:
        self.what = what

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., Aligned], tuple[Any, ...]]:
        buffers: list[Any] = [PickleBuffer(bytearray(1))]  # so that no array comes first
        pickled = _pickle().dumps(self.what, buffer_callback=buffers.append)
        return _unpack_aligned, (pickled, buffers)


def _unpack_aligned(pickled: bytes, buffers: list[Any]) -> Aligned:
    arrived = (np.frombuffer(one, dtype=np.uint8) for one in buffers[1:])
    suited = [one if _suits(one) else one.copy() for one in arrived]
    return Aligned(_pickle().loads(pickled, buffers=suited))


def _suits(one: np.ndarray) -> bool:
    return one.flags.writeable and one.ctypes.data % 16 == 0


def _pickle() -> Any:
    """Dask's own, which knows more functions than Python's."""
    return optional("distributed.protocol.pickle", extra="dask")


class _Shipped:
    """Something that is here, of which the workers have copies: shipped once, or once more.

    ``among`` is what was shipped before: workers that have not got that need not have this, and
    are given no task. One that takes the place of a lost one would first have to load all
    libraries and the table, which takes longer than what was lost takes those that are left.
    """

    def __init__(self, client: Any, what: Any, among: _Shipped | None = None) -> None:
        self.client = client
        self.what = what
        self.among = among
        self.holders: list[str] = []
        self._future: Any = None

    @property
    def future(self) -> Any:
        if self._future is None:
            if self.among is None:
                among = None
            else:
                among = self.among.holders
            there = able_workers(self.client, among)
            self._future = self.client.scatter(
                Aligned(self.what), workers=there, broadcast=True, hash=False
            )
            self.holders = there
        return self._future

    def forget(self) -> None:
        """Ship it again next time."""
        self._future = None

    def submit(self, work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """A task for the workers that have it."""
        return self.client.submit(work, *arguments, workers=self.holders, **named)

    def gather(self, futures: list[Any]) -> list[Any]:
        """The results of such tasks; an OSError where no worker is left that has it."""
        wait_for(self.client, futures, self.holders)
        return self.client.gather(futures)


class _Blocks:
    """Kernels in blocks on the workers, and what it takes to make them there once more."""

    def __init__(
        self, slices: list[slice], inputs: list[_Shipped], rate: float, present: Any
    ) -> None:
        self.client = inputs[0].client
        self.slices = slices
        self.inputs = inputs
        self.rate = rate
        self.present = present
        self.futures: list[Any] = []

    def map(self, work: Callable[..., Any], width: int, arguments: tuple[Any, ...]) -> list[Any]:
        """The results of ``work`` on every block, where it is."""
        table = self.inputs[0]
        shared = [
            _Shipped(self.client, one, table) if isinstance(one, np.ndarray) else one
            for one in arguments
        ]

        def once() -> list[Any]:
            if not self.futures:
                self._make()
            given = [one.future if isinstance(one, _Shipped) else one for one in shared]
            futures = [
                table.submit(_apply, work, rows, block, width, *given, pure=False)
                for rows, block in zip(self.slices, self.futures, strict=True)
            ]
            return [_pickle().loads(one) for one in table.gather(futures)]

        return _persistent(once, self, *(one for one in shared if isinstance(one, _Shipped)))

    def forget(self) -> None:
        """Make the blocks again next time, of what is shipped again."""
        self.futures.clear()
        for one in self.inputs:
            one.forget()

    def _make(self) -> None:
        geometry, candidates = (one.future for one in self.inputs)
        for rows in self.slices:
            key = f"neighbourhoods-{rows.start}-{uuid.uuid4().hex}"
            given = geometry, rows, candidates, self.rate, self.present
            self.futures.append(self.inputs[0].submit(_block, *given, key=key))


@dataclass(frozen=True)
class RemoteNeighbourhoods:
    """Neighbourhoods whose kernels stay in blocks on the workers.

    Candidates are here, because the graph needs them, and everything of size k² per sample is
    there.
    """

    neighbours: np.ndarray
    rate: float
    blocks: _Blocks
    present: np.ndarray | None = None

    def nearest(self, k: int) -> RemoteNeighbourhoods:
        return replace(self, neighbours=self.neighbours[:, :k])

    def map_rows(
        self, work: Callable[..., Any], *arguments: Any, run: Run | None, stage: str = ""
    ) -> list[Any]:
        """Apply ``work`` to each block where it is; results in the order of the samples."""
        if run is not None and stage:
            run.progress(stage)
        found = self.blocks.map(work, self.neighbours.shape[1], arguments)
        return [one for part in found for one in part]


class DaskExecutor:
    """Finds neighbourhoods on the workers of a client, which leads: no worker has to be spared."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def neighbourhoods(
        self, geometry: KernelDistance, k: int, rate: float, run: Run, present: np.ndarray | None
    ) -> RemoteNeighbourhoods:
        """The neighbourhoods of a geometry whose neighbours are those of a table."""
        shipped = _Shipped(self.client, geometry)
        slices = _slices(geometry.n_samples if present is None else len(present), self.client)
        neighbours = _search_candidates(shipped, k, len(slices), run)
        inputs = [shipped, _Shipped(self.client, neighbours, shipped)]
        blocks = _Blocks(slices, inputs, rate, present)
        if present is not None:
            own = np.flatnonzero(present)
            within = np.full((len(present), k), -1, dtype=np.int64)
            within[own] = np.where(neighbours >= 0, own[neighbours], -1)
            neighbours = within
        return RemoteNeighbourhoods(neighbours, rate, blocks, present)


def _search_candidates(geometry: _Shipped, k: int, count: int, run: Run) -> np.ndarray:
    """The candidates of all samples, found by an index that is built here and used everywhere."""
    client = geometry.client
    table = geometry.what.search_table()
    placed = recentre(table)[0]
    if is_descended(placed):
        # Found in rounds, each from what the one before has found for all samples.
        return nearest(placed, k, random_state=run.rng, run=run).indices
    index: Any = build_index(placed, k, random_state=run.rng, run=run)
    # Searched in groups that share cells, which is many times cheaper than any other split.
    groups = index.groups(count)
    slim = copy.copy(index)
    if index.points is table:
        slim.points = None  # the workers have them with the geometry
    searcher = _Shipped(client, slim, geometry)

    def once() -> list[Any]:
        given = geometry.future, searcher.future
        return geometry.gather(
            [geometry.submit(_search, *given, group, k, pure=False) for group in groups]
        )

    neighbours = np.empty((table.shape[0], k), dtype=np.int32)
    for group, some in zip(groups, _persistent(once, searcher, geometry), strict=True):
        neighbours[group] = some
    return neighbours


def _persistent(work: Callable[[], T], *shipped: _Shipped | _Blocks) -> T:
    """What ``work`` gives, begun again where all copies of what was shipped for it were lost."""
    lost = (CancelledError, OSError, optional("distributed", extra="dask").KilledWorker)
    for _ in range(RETRIES):
        try:
            return work()
        except lost:
            for one in shipped:
                one.forget()
    return work()


def _slices(n: int, client: Any) -> list[slice]:
    step = -(-n // (_BLOCKS_PER_WORKER * max(1, len(workers_of(client)))))
    # Whole multiples of the local block, so that sums are added up in the same order.
    step = -(-step // CODE_ROWS) * CODE_ROWS
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


# What follows runs on workers, whose threads are the scheduler's to use: one for each task.
def _search(shipped: Aligned, searcher: Aligned, rows: np.ndarray, k: int) -> np.ndarray:
    keep_freed()
    index = searcher.what
    if index.points is None:
        index = copy.copy(index)
        index.points = shipped.what.search_table()
    with Run.of(1).limit_threads() as run:
        return index.search_own(rows, k, run).indices


def _block(
    shipped: Aligned,
    rows: slice,
    candidates: Aligned,
    rate: float,
    present: np.ndarray | None,
) -> LocalNeighbourhoods:
    """The neighbourhoods of consecutive samples, of which some may be absent."""
    keep_freed()
    geometry: KernelDistance = shipped.what
    numbers = np.arange(rows.start, rows.stop)
    if present is not None:
        before = int(np.count_nonzero(present[: rows.start]))
        numbers = before + np.arange(np.count_nonzero(present[rows]))
    neighbours = candidates.what[numbers]
    k = neighbours.shape[1]
    dtype = kernel_dtype(geometry.n_samples)
    near = np.empty((len(numbers), k), dtype=dtype)
    among = np.empty((len(numbers), k, k), dtype=dtype)
    with Run.of(1).limit_threads():
        for start in range(0, len(numbers), KERNEL_ROWS):
            part = slice(start, start + KERNEL_ROWS)
            here = numbers[part], neighbours[part], near[part], among[part]
            block_kernels(geometry, rate, *here)
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
) -> bytes:
    """The results of ``work``, in one piece: Dask takes long over a message of many arrays."""
    keep_freed()
    if width < block.neighbours.shape[1]:
        block = block.nearest(width)
    given = [one.what if isinstance(one, Aligned) else one for one in arguments]
    found = []
    with Run.of(1).limit_threads():
        for start in range(0, len(block.neighbours), CODE_ROWS):
            stop = min(start + CODE_ROWS, len(block.neighbours))
            here = slice(rows.start + start, rows.start + stop)
            found.append(work(here, block.rows(slice(start, stop)), *given))
    return _pickle().dumps(found)
