"""Running a study: a queue of cells, workers with limits, and every outcome stored at once."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import IO, Any

from joblib import cpu_count

from unispectral._errors import plural
from unispectral.bench._cells import Cell, expand
from unispectral.bench._fields import check_choice, check_count
from unispectral.bench._machine import environment
from unispectral.bench._pool import Answers, Pool
from unispectral.bench._worker import CellWorker, check_method
from unispectral.bench.store import Record, Store
from unispectral.bench.study import Study

__all__ = ["Reporter", "Summary", "duration", "run"]


@dataclass
class Summary:
    """What a run did, in cells."""

    total: int
    #: Whose outcome the store had, and that were not tried again; some of them had failed.
    found: int
    failed_before: int = 0
    #: Those of this run by their outcome; ``"done"`` is the good one.
    outcomes: Counter[str] = field(default_factory=Counter)

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
    retry: bool = False,
    backend: str = "processes",
    stream: IO[str] | None = None,
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
    retry : bool
        Do again the cells that failed.
    backend : {"processes", "here"}
        Worker processes, or this very process: no limits then, but a debugger.
    stream : text stream
        Where to tell how the run goes; silent by default.
    command : str
        The command to print in the report.

    Returns
    -------
    Summary
        How many cells there are, were found, were done and failed.
    """
    if processes is not None:
        count = processes
    else:
        count = cpu_count()
    check_count(count, "processes")
    if threads is not None:
        share = threads
    else:
        share = max(1, cpu_count() // count)
    check_count(share, "threads")
    check_choice(backend, ("processes", "here"), "backend")
    for method in study.methods:
        check_method(method)
    with store.lock():
        cells = list({cell.key: cell for cell in expand(study)}.values())
        records = store.records()
        todo = [c for c in cells if _worth_running(c, records.get(c.key), retry)]
        left = {cell.key for cell in cells} - {cell.key for cell in todo}
        failed = sum(records[key].status != "done" for key in left)
        summary = Summary(len(cells), len(left), failed)
        queue = deque(todo)
        place = environment(share)
        here = backend == "here" or not todo
        with nullcontext() if here else Pool(min(count, len(todo)), share) as pool:
            hidden = store.save_study(study, command)
            reporter = Reporter(stream, summary, todo, hidden)
            if pool is None:
                answers = _answers_here(queue)
            else:
                answers = pool.run(queue, Cell.job)
            try:
                for cell, answer in _settle(answers, queue):
                    store.put(cell, {**answer, "environment": place})
                    summary.outcomes[answer["status"]] += 1
                    reporter.end_cell(cell, answer)
            finally:
                reporter.finish()
        return summary


def _worth_running(cell: Cell, record: Record | None, retry: bool) -> bool:
    """Whether a cell has no result yet, or one worth another try."""
    # Where data were missing or the process died, nothing was wrong with the method.
    if record is None or record.status in ("data", "crash"):
        return True
    if record.status in ("done", "error") or retry:
        return retry and record.status != "done"
    if record.status == "timeout":
        name = "seconds"
    else:
        name = "bytes"
    before = record.job["limits"][name]
    limit = cell.job()["limits"][name]
    return before is not None and (limit is None or limit > before)


def _answers_here(queue: deque[Cell]) -> Answers:
    """The answers of this process, without limits."""
    work = CellWorker()
    while queue:
        cell = queue.popleft()
        yield cell, work({**cell.job(), "limits": {"seconds": None, "bytes": None}})


def _settle(answers: Answers, queue: deque[Cell]) -> Answers:
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
            for other in [o for o in queue if o.dataset.name == cell.dataset.name]:
                queue.remove(other)
                yield other, answer


def duration(seconds: float) -> str:
    """Seconds in words that fit into a line."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


class Reporter:
    """Writes a line for each method that is finished on a data set, and one for each failure.

    A terminal gets one more line, which is rewritten in place. Without a stream it is silent.
    """

    def __init__(
        self, stream: IO[str] | None, summary: Summary, todo: list[Cell], hidden: list[str]
    ) -> None:
        self.stream = stream
        self.summary = summary
        self.terminal = stream is not None and stream.isatty()
        self._absent: set[str] = set()
        self._started = time.monotonic()
        self._updated = 0.0
        self._left = Counter((cell.dataset.name, cell.method.name) for cell in todo)
        before = f"{summary.done} done before"
        if summary.failed_before:
            before += f", {summary.failed_before} failed before and not tried again"
        self._say(f"{plural(summary.total, 'cell')}: {before}, {len(todo)} to do.")
        if hidden:
            names = ", ".join(hidden)
            self._say(f"Earlier results of {names} are kept but not shown: the study has changed.")

    def end_cell(self, cell: Cell, answer: dict[str, Any]) -> None:
        """A cell has ended, well or not, and is in the summary."""
        title = cell.dataset.title
        status = answer["status"]
        reason = answer.get("reason")
        if status == "data":  # which is said once for all cells of a data set
            if title not in self._absent:
                self._say(f"{title} cannot be loaded, its cells wait: {reason}")
            self._absent.add(title)
        elif status != "done":
            if cell.kernel:
                kernel = f", {cell.kernel}"
            else:
                kernel = ""
            where = f"{cell.method.name} on {title}{kernel}, repeat {cell.repeat}"
            self._say(f"{status}: {where}: {reason}")
        group = (cell.dataset.name, cell.method.name)
        now = time.monotonic()
        self._left[group] -= 1
        if not self._left[group]:
            self._say_so_far(f"  {title}: {cell.method.name} finished; ", ".")
        elif self.terminal and now - self._updated > 0.5:
            self._updated = now
            self._say_so_far(f"  {title}: {cell.method.name}; ", ".", end="")

    def finish(self) -> None:
        """The run has ended, for whatever reason."""
        self._say_so_far(" cells after ", f"; {self.summary.failed} failed in this run.")

    def _say_so_far(self, what: str, more: str, end: str = "\n") -> None:
        so_far = self.summary.found + self.summary.outcomes.total()
        spent = duration(time.monotonic() - self._started)
        self._say(f"{so_far}/{self.summary.total}{what}{spent}{more}", end)

    def _say(self, text: str, end: str = "\n") -> None:
        if self.stream is None:
            return
        text = text.encode("utf-8", "backslashreplace").decode()  # of a file's name, say
        try:
            self.stream.write(("\r\033[K" if self.terminal else "") + text + end)
            self.stream.flush()
        except BrokenPipeError:
            # Nobody listens any more; the study is worth finishing all the same.
            self.stream = None
