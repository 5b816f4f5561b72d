"""Running a study: a queue of cells, workers with limits, and every outcome stored at once."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from joblib import cpu_count

from unispectral.bench._cells import Cell, expand, fingerprint
from unispectral.bench._estimators import check_method
from unispectral.bench._machine import environment
from unispectral.bench._pool import Pool
from unispectral.bench._progress import Reporter
from unispectral.bench._worker import CellWorker
from unispectral.bench.method import check_choice, check_count
from unispectral.bench.store import Record, Store
from unispectral.bench.study import Study

__all__ = ["Summary", "pending", "run"]

#: Cells with these outcomes are tried again by the next run: nothing was wrong with the method.
_RETRIED = ("data", "crash")


@dataclass
class Summary:
    """What a run did.

    Attributes
    ----------
    total : int
        Cells of the study.
    found : int
        Cells whose outcome the store had and that were not tried again.
    failed_before : int
        Those of them that had failed.
    outcomes : Counter
        Cells of this run by their outcome; ``"done"`` is the good one.
    """

    total: int
    found: int
    failed_before: int = 0
    outcomes: Counter = field(default_factory=Counter)

    @property
    def failed(self) -> int:
        """Cells that failed in this run."""
        return self.outcomes.total() - self.outcomes["done"]

    @property
    def done(self) -> int:
        """Cells that have a result, whenever they were run."""
        return self.found - self.failed_before + self.outcomes["done"]


def run(
    study: Study,
    store: Store,
    *,
    processes: int | None = None,
    threads: int | None = None,
    force: bool = False,
    retry: bool = False,
    backend: str = "processes",
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
    backend : {"processes", "here"}
        Worker processes, or this very process: no limits then, but a debugger.
    reporter : Reporter
        Is told of every cell; silent by default.
    command : str
        The command to print in the report.

    Returns
    -------
    Summary
        How many cells there are, were found, were done and failed.
    """
    count = processes if processes is not None else cpu_count()
    check_count(count, "processes")
    check_count(threads if threads is not None else 1, "threads")
    check_choice(backend, ("processes", "here"), "backend")
    for method in study.methods:
        check_method(method)
    share = threads if threads is not None else max(1, cpu_count() // count)
    with store.locked():
        # With the digests of its files, so that a report needs none of them.
        study = replace(study, datasets=tuple(map(fingerprint, study.datasets)))
        cells = list({cell.key: cell for cell in expand(study)}.values())
        records = store.records(cell.key for cell in cells)
        todo = cells if force else pending(cells, records, retry=retry)
        again = {cell.key for cell in todo}
        failed = [key for key, record in records.items() if record.status != "done"]
        summary = Summary(len(cells), len(cells) - len(todo), len(set(failed) - again))
        reporter, queue, place = reporter or Reporter(), deque(todo), environment(share)
        here = backend == "here" or not todo
        with nullcontext() if here else Pool(min(count, len(todo)), share) as pool:
            store.save_study(study, command)
            reporter.start(len(cells), todo, summary.failed_before)
            answers = _answers_here(queue) if pool is None else pool.run(queue, Cell.job)
            try:
                for cell, answer in _settled(answers, queue):
                    store.put(cell, {**answer, "environment": place})
                    summary.outcomes[answer["status"]] += 1
                    reporter.ended_cell(cell, answer)
            finally:
                reporter.finish(summary.failed)
        return summary


def pending(cells: list[Cell], records: dict[str, Record], *, retry: bool = False) -> list[Cell]:
    """The cells that a run has to do: without a result, or with one worth another try."""
    return [cell for cell in cells if _worth_running(cell, records.get(cell.key), retry)]


def _worth_running(cell: Cell, record: Record | None, retry: bool) -> bool:
    if record is None or record.status in _RETRIED:
        return True
    if record.status == "done":
        return False
    seconds, most = record.job["limits"]["seconds"], record.job["limits"]["bytes"]
    if record.status == "timeout" and seconds is not None and cell.time_limit > seconds:
        return True
    if record.status == "memory" and most is not None:
        return retry or cell.memory_limit is None or cell.memory_limit > most
    return retry


def _answers_here(queue: deque[Cell]) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The answers of this process, without limits."""
    work = CellWorker()
    while queue:
        cell = queue.popleft()
        job = {**cell.job(), "limits": {"seconds": None, "bytes": None}}
        yield cell, work(job)


def _settled(
    answers: Iterator[tuple[Cell, dict[str, Any]]], queue: deque[Cell]
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The answers that count, and those that make others of the queue needless."""
    crashed: set[str] = set()
    for cell, answer in answers:
        if answer["status"] == "crash" and cell.key not in crashed:
            # Something may have killed the process from outside: the cell gets a second chance.
            crashed.add(cell.key)
            queue.appendleft(cell)
            continue
        yield cell, answer
        if answer["status"] == "data":  # no cell of this data set can run
            waiting = list(queue)
            queue.clear()
            for other in waiting:
                if other.dataset.name == cell.dataset.name:
                    yield other, answer
                else:
                    queue.append(other)
