"""Neighbourhoods on a cluster: candidates with their small kernels, and codes, on its workers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from unispectral._compat import optional
from unispectral._memory import keep_freed
from unispectral._run import Run
from unispectral._validation import recentre
from unispectral.dask._blocks import RETRIES
from unispectral.dask._waiting import able_workers, wait_for, workers_of
from unispectral.graph._indexes import Index
from unispectral.graph.neighbours import build_index, is_descended, nearest
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._neighbourhoods import (
    CODE_ROWS,
    KERNEL_ROWS,
    LocalNeighbourhoods,
    block_kernels,
    kernel_dtype,
)

if TYPE_CHECKING:
    from distributed import Client

#: Blocks of samples per worker: small enough that losing a worker costs little.
_BLOCKS_PER_WORKER = 4
#: What is shipped once to each worker, and not with each task.
_LARGE = (np.ndarray, Index)

T = TypeVar("T")


class Aligned:
    """Something whose arrays begin, wherever it arrives, at an address that suits their numbers.

    NumPy copies an array that begins elsewhere, as a whole, whenever a few of its rows are asked
    for, and compiled loops are compiled once more for it. In a message this is the first one,
    which follows its head; the others get memory of their own.
    """

    def __init__(self, what: Any) -> None:
        self.what = what

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[..., Aligned], tuple[Any, ...]]:
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
    """Something that is here, of which the workers have copies.

    A worker that takes the place of a lost one gets none: it would first have to load all
    libraries and the table, which takes longer than what was lost takes those that are left.
    """

    def __init__(self, client: Any, what: Any) -> None:
        self.client = client
        self.what = what
        self.holders: list[str] = []
        self.future: Any = None

    def map(self, work: Callable[..., T], tasks: list[tuple[Any, ...]], *more: Any) -> list[T]:
        """``work(what, *more, *task)`` of each task, where the copies are.

        Arrays and indexes among ``more`` are shipped as well. Where all copies were lost, all is
        begun again.
        """
        lost = (CancelledError, OSError, optional("distributed", extra="dask").KilledWorker)
        for _ in range(RETRIES):
            try:
                return self._map(work, tasks, more)
            except lost:
                self.future = None
        return self._map(work, tasks, more)

    def _map(
        self, work: Callable[..., T], tasks: list[tuple[Any, ...]], more: tuple[Any, ...]
    ) -> list[T]:
        if self.future is None:
            self.holders = able_workers(self.client)
            self.future = self._ship(self.what, self.holders)
        there = able_workers(self.client, self.holders)
        given = [self._ship(one, there) if isinstance(one, _LARGE) else one for one in more]
        futures = [
            self.client.submit(work, self.future, *given, *task, workers=there, pure=False)
            for task in tasks
        ]
        wait_for(self.client, futures, there)
        return self.client.gather(futures)

    def _ship(self, what: Any, there: list[str]) -> Any:
        try:
            return self.client.scatter(Aligned(what), workers=there, broadcast=True, hash=False)
        except KeyError:  # what the scheduler says of a worker that it does not know
            raise OSError("a worker was lost before it got its copy") from None


@dataclass(frozen=True)
class RemoteNeighbourhoods:
    """Neighbourhoods whose kernels are computed on the workers whenever they are used.

    Candidates are here, because the graph needs them; what is of size k² per sample is never kept.
    """

    neighbours: np.ndarray
    rate: float
    geometry: _Shipped
    #: The candidates as the geometry numbers its samples.
    within: np.ndarray
    present: np.ndarray | None = None

    def nearest(self, k: int) -> RemoteNeighbourhoods:
        return replace(self, neighbours=self.neighbours[:, :k], within=self.within[:, :k])

    def without_kernels(self) -> RemoteNeighbourhoods:
        """The same: the workers keep no kernels."""
        return self

    def map_rows(
        self,
        work: Callable[..., Any],
        *arguments: Any,
        run: Run | None,
        stage: str = "",
        among: bool = True,
    ) -> list[Any]:
        """Apply ``work`` to each block on a worker; results in the order of the samples."""
        if run is not None and stage:
            run.progress(stage)
        tasks = [(rows,) for rows in _slices(len(self.neighbours), self.geometry.client)]
        given = self.within, self.rate, self.present, among, work, *arguments
        found = self.geometry.map(_apply, tasks, *given)
        return [one for part in found for one in _pickle().loads(part)]


class DaskExecutor:
    """Finds neighbourhoods on the workers of a client, which leads: no worker has to be spared."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def neighbourhoods(
        self, geometry: KernelDistance, k: int, rate: float, run: Run, present: np.ndarray | None
    ) -> RemoteNeighbourhoods:
        """The neighbourhoods of a geometry whose neighbours are those of a table."""
        shipped = _Shipped(self.client, geometry)
        within = _search_candidates(shipped, k, run)
        neighbours = within
        if present is not None:
            own = np.flatnonzero(present)
            neighbours = np.full((len(present), k), -1, dtype=np.int64)
            neighbours[own] = np.where(within >= 0, own[within], -1)
        return RemoteNeighbourhoods(neighbours, rate, shipped, within, present)


def _search_candidates(geometry: _Shipped, k: int, run: Run) -> np.ndarray:
    """The candidates of all samples, found by an index that is built here and used everywhere."""
    table = geometry.what.search_table()
    placed = recentre(table)[0]
    if is_descended(placed):
        # Found in rounds, each from what the one before has found for all samples.
        return nearest(placed, k, random_state=run.rng, run=run).indices
    index: Any = build_index(placed, k, random_state=run.rng, run=run)
    # Searched in groups that share cells, which is many times cheaper than any other split.
    groups = index.groups(len(_slices(index.n_samples, geometry.client)))
    slim = copy.copy(index)
    if index.points is table:
        slim.points = None  # the workers have them with the geometry
    neighbours = np.empty((table.shape[0], k), dtype=np.int32)
    found = geometry.map(_search, [(group, k) for group in groups], slim)
    for group, some in zip(groups, found, strict=True):
        neighbours[group] = some
    return neighbours


def _slices(n: int, client: Client) -> list[slice]:
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


def _apply(
    shipped: Aligned,
    candidates: Aligned,
    rate: float,
    present: np.ndarray | None,
    among: bool,
    work: Callable[..., Any],
    *arguments: Any,
) -> bytes:
    """What ``work`` finds of consecutive samples, the last argument, of which some may be absent.

    In one piece: Dask takes long over a message of many arrays.
    """
    keep_freed()
    *given, rows = (one.what if isinstance(one, Aligned) else one for one in arguments)
    present = present.what if isinstance(present, Aligned) else present
    first = rows.start
    numbers = np.arange(rows.start, rows.stop)
    if present is not None:
        first = int(np.count_nonzero(present[: rows.start]))
        numbers = first + np.arange(np.count_nonzero(present[rows]))
    with Run.of(1).limit_threads():
        block = _evaluate(shipped.what, rate, numbers, candidates.what[numbers], among)
        if present is not None:
            block = block.within(present[rows], np.flatnonzero(present))
        found = []
        for start in range(0, len(block.neighbours), CODE_ROWS):
            stop = min(start + CODE_ROWS, len(block.neighbours))
            here = slice(rows.start + start, rows.start + stop)
            found.append(work(here, block.rows(slice(start, stop)), *given))
    return _pickle().dumps(found)


def _evaluate(
    geometry: KernelDistance, rate: float, rows: np.ndarray, neighbours: np.ndarray, among: bool
) -> LocalNeighbourhoods:
    """The neighbourhoods of some samples, perhaps without the kernels among candidates."""
    k = neighbours.shape[1]
    columns = neighbours
    if not among:
        # Each pair is a sample with one candidate.
        rows = np.repeat(rows, k)
        columns = neighbours.reshape(-1, 1)
    m, width = columns.shape
    dtype = kernel_dtype(geometry.n_samples)
    near = np.empty((m, width), dtype=dtype)
    between = np.empty((m, width, width), dtype=dtype)
    for start in range(0, m, KERNEL_ROWS):
        part = slice(start, start + KERNEL_ROWS)
        block_kernels(geometry, rate, rows[part], columns[part], near[part], between[part])
    near = near.reshape(neighbours.shape)
    return LocalNeighbourhoods(neighbours, near, between.reshape(*neighbours.shape, width), rate)
