"""Running a study: a queue of cells, workers with limits, and every outcome stored at once."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from unispectral._files import atomic_path
from unispectral.bench._cells import Cell, expand, fingerprint
from unispectral.bench._environment import cores
from unispectral.bench._progress import Reporter, Silent
from unispectral.bench._toml import study_to_json
from unispectral.bench.store import RETRIED, Record, Store
from unispectral.bench.study import Dataset, Study

__all__ = ["Summary", "pending", "run"]


class Slot(Protocol):
    """A place where one cell at a time can run."""

    def submit(self, job: dict[str, Any], token: Any = None) -> None: ...


class Backend(Protocol):
    """Where cells run: our own processes, or those of a Dask cluster."""

    def check(self, study: str) -> None: ...

    def idle(self) -> Iterator[Any]: ...

    def answers(self) -> Iterator[tuple[Any, dict[str, Any]]]: ...

    def close(self) -> None: ...


@dataclass
class Summary:
    """What a run did."""

    total: int
    found: int
    outcomes: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    elsewhere: int = 0

    @property
    def failed(self) -> int:
        return sum(n for status, n in self.outcomes.items() if status != "done")


def run(
    study: Study,
    store: Store,
    *,
    processes: int | None = None,
    threads: int | None = None,
    force: bool = False,
    retry: bool = False,
    backend: str = "processes",
    address: str | None = None,
    reporter: Reporter | None = None,
    command: str = "",
) -> Summary:
    """Run what a store lacks of a study.

    Parameters
    ----------
    study : Study
        What to run.
    store : Store
        Where results are kept, and looked up first.
    processes : int
        Worker processes; the number of cores by default.
    threads : int
        Numerical threads of each process; its share of the cores by default.
    force : bool
        Do all cells again.
    retry : bool
        Do again the cells that failed.
    backend : {"processes", "dask", "here"}
        Our own processes, a Dask cluster, or this very process: no limits then, but a debugger.
    address : str
        The address of the cluster's scheduler.
    reporter : Reporter
        Is told of every cell; silent by default.
    command : str
        The command to print in the report.

    Returns
    -------
    Summary
        How many cells there are, were found, were done and failed.
    """
    count = processes if processes is not None else cores()
    if count < 1:
        raise ValueError(f"processes={processes!r} must be at least 1.")
    if threads is not None and threads < 1:
        raise ValueError(f"threads={threads!r} must be at least 1.")
    if backend not in ("processes", "dask", "here"):
        raise ValueError(f"backend={backend!r} is unknown; use 'processes', 'dask' or 'here'.")
    study = keep_arrays(study, store)
    cells = list({cell.key: cell for cell in expand(study)}.values())
    todo = cells if force else pending(cells, store, retry=retry)
    share = threads if threads is not None else max(1, cores() // count)
    pool = _backend(backend if todo else "here", address, min(count, len(todo)), share)
    try:
        pool.check(study_to_json(study))
        store.save_study(study, command)
        reporter = reporter or Silent()
        summary = Summary(total=len(cells), found=len(cells) - len(todo))
        return _Run(store, pool, reporter, summary, force).go(cells, todo, count)
    finally:
        pool.close()


def _backend(backend: str, address: str | None, workers: int, threads: int) -> Backend:
    if backend == "here":
        return _Here()
    if backend == "dask":
        from unispectral.bench._dask import DaskPool

        return DaskPool(address)
    from unispectral.bench._pool import Pool

    return Pool(workers, threads)


class _Here:
    """One slot, which is this process itself."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Any, dict[str, Any]]] = []
        self.server: Any = None

    def check(self, study: str) -> None:
        from unispectral.bench._worker import checked

        if (error := checked({"check": study})["error"]) is not None:
            raise ValueError(error)

    def submit(self, job: dict[str, Any], token: Any = None) -> None:
        self.waiting.append((token, job))

    def idle(self) -> Iterator[_Here]:
        return iter([] if self.waiting else [self])

    def answers(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        from unispectral.bench._environment import environment
        from unispectral.bench._worker import Server

        self.server = self.server or Server()
        waiting, self.waiting = self.waiting, []
        for token, job in waiting:
            job["limits"] = {"seconds": None, "bytes": None}
            yield token, {**self.server.serve(job), "environment": environment()}

    def close(self) -> None:
        self.server = None


def keep_arrays(study: Study, store: Store) -> Study:
    """Write in-memory data sets beside the store, where workers and later runs find them."""
    datasets = tuple(_keep(dataset, store) for dataset in study.datasets)
    return replace(study, datasets=datasets)


def _keep(dataset: Dataset, store: Store) -> Dataset:
    if dataset.data is None:
        return fingerprint(dataset)
    known = fingerprint(dataset)
    folder = store.path.resolve().parent / f"{store.path.stem}-data"
    path = folder / f"{known.digest}.npz"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        data, target = dataset.data, np.asarray(dataset.target)
        target = np.unique(target, return_inverse=True)[1].astype(np.int32)
        if hasattr(data, "tocsr"):
            data = data.tocsr()
            arrays = {"values": data.data, "indices": data.indices, "indptr": data.indptr}
            arrays["shape"] = np.asarray(data.shape)
        else:
            arrays = {"data": np.asarray(data)}
        with atomic_path(path) as temporary:
            np.savez_compressed(temporary, target=target, **arrays)
    return replace(known, file=str(path), data=None, target=None)


def pending(cells: list[Cell], store: Store, *, retry: bool = False) -> list[Cell]:
    """The cells that a run has to do: without a result, or with one worth another try."""
    records = store.records(cell.key for cell in cells)
    return [cell for cell in cells if _worth_running(cell, records.get(cell.key), retry)]


def _worth_running(cell: Cell, record: Record | None, retry: bool) -> bool:
    if record is None or record.status in RETRIED:
        return True
    if record.status == "done":
        return False
    limits = record.job["limits"]
    if record.status == "timeout" and cell.time_limit > limits["seconds"]:
        return True
    if record.status == "memory" and limits["bytes"] is not None:
        more = cell.memory_limit is None or cell.memory_limit > limits["bytes"]
        return more or retry
    return retry


class _Queue:
    """Cells in order, in groups that share a kernel.

    Within the first data set that has cells left, a slot keeps to its group, then takes a group
    that nobody has, then helps with the longest one: so a large kernel is computed by one process
    and not by all of them, and yet no process rests.
    """

    def __init__(self, cells: list[Cell]) -> None:
        self.groups = [
            deque(group)
            for _, group in groupby(cells, key=lambda cell: (cell.dataset.name, cell.kernel))
        ]
        self.owner: dict[int, Any] = {}

    def take(self, slot: Any) -> Cell | None:
        if not self.groups:
            return None
        first = self.groups[0][0].dataset.name
        near = [group for group in self.groups if group[0].dataset.name == first]
        own = next((g for g in near if self.owner.get(id(g)) is slot), None)
        free = next((g for g in near if id(g) not in self.owner), None)
        group = own or free or max(near, key=len)
        self.owner.setdefault(id(group), slot)
        cell = group.popleft()
        if not group:
            self.groups = [g for g in self.groups if g]
        return cell

    def drop(self, dataset: str) -> list[Cell]:
        """Take out all cells of a data set."""
        dropped = [cell for g in self.groups for cell in g if cell.dataset.name == dataset]
        self.groups = [g for g in self.groups if g and g[0].dataset.name != dataset]
        return dropped

    def __len__(self) -> int:
        return sum(len(group) for group in self.groups)


class _Run:
    """One run: hands out cells, stores answers, reports."""

    def __init__(
        self, store: Store, pool: Backend, reporter: Reporter, summary: Summary, force: bool
    ) -> None:
        self.store, self.pool, self.reporter = store, pool, reporter
        self.summary, self.force = summary, force
        self.deferred: list[Cell] = []
        self.running: dict[str, Cell] = {}
        self.crashed: set[str] = set()

    def go(self, cells: list[Cell], todo: list[Cell], processes: int) -> Summary:
        started = time.monotonic()
        self.queue = _Queue(todo)
        self.reporter.start(cells, todo, self.store, processes)
        try:
            while self.queue.groups or self.running or self.deferred:
                self._hand_out()
                for cell, answer in self.pool.answers():
                    self._take_in(cell, answer)
        finally:
            self.summary.seconds = time.monotonic() - started
            self.reporter.finish(self.summary)
        return self.summary

    def _hand_out(self) -> None:
        if not self.queue.groups and self.deferred and not self.running:
            self._look_after_deferred()
        for slot in self.pool.idle():
            while (cell := self.queue.take(slot)) is not None:
                if self._mine(cell):
                    self.running[cell.key] = cell
                    slot.submit(cell.job(), cell)
                    break

    def _mine(self, cell: Cell) -> bool:
        """Whether this run is to do a cell: no other run has done it or is doing it."""
        if not self.store.claim(cell.key):
            self.deferred.append(cell)
            return False
        if not self.force and self.store.status(cell.key) == "done" and not self.distrusted(cell):
            self.store.release(cell.key)
            self.summary.elsewhere += 1
            self.reporter.skip(cell)
            return False
        return True

    def distrusted(self, cell: Cell) -> bool:
        """Whether a stored outcome is not what was written, and has to be made again."""
        return cell.key not in self.store.records([cell.key])

    def _look_after_deferred(self) -> None:
        """Cells that another run had: it has finished them, or died and left them to us."""
        time.sleep(0.2)
        waiting, self.deferred = self.deferred, []
        self.queue = _Queue([cell for cell in waiting if self._is_free(cell)])

    def _is_free(self, cell: Cell) -> bool:
        if self.store.claim(cell.key):
            return True
        self.deferred.append(cell)
        return False

    def _take_in(self, cell: Cell, answer: dict[str, Any]) -> None:
        del self.running[cell.key]
        if answer["status"] == "crash" and cell.key not in self.crashed:
            # Something may have killed the process from outside: the cell gets a second chance.
            self.crashed.add(cell.key)
            self.queue.groups.insert(0, deque([cell]))
            return
        self._keep(cell, answer)
        if answer["status"] == "data":
            for other in self.queue.drop(cell.dataset.name):
                self._keep(other, answer)

    def _keep(self, cell: Cell, answer: dict[str, Any]) -> None:
        self.store.put(cell, answer)
        self.store.release(cell.key)
        self.summary.outcomes[answer["status"]] += 1
        self.reporter.cell(cell, answer)
