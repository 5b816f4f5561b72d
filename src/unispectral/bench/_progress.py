"""Telling how a run goes: one bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections import Counter, defaultdict
from typing import IO, Any

from unispectral.bench._cells import Cell

__all__ = ["Bar", "Estimate", "Lines", "Reporter", "Silent", "duration", "make_reporter"]

#: Fits of these methods grow about with the square of the samples.
_POWER = 2.0


def duration(seconds: float) -> str:
    """Seconds in words that fit into a line.

    Examples
    --------
    >>> duration(59.4), duration(754), duration(7300)
    ('59 s', '12 min 34 s', '2 h 01 min')
    """
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


class Estimate:
    """How long the cells that are left will take, from those that were measured.

    A method that was seen on a data set is taken to need the same again; one that was seen on
    another set, the same scaled with the square of the samples.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._samples: dict[str, int] = {}

    def add(self, cell: Cell, seconds: float | None, samples: int | None) -> None:
        if samples:
            self._samples[cell.dataset.name] = samples
        if seconds is not None:
            entry = self._seen[cell.method.name, cell.dataset.name]
            entry[0] += seconds
            entry[1] += 1

    def seconds(self, dataset: Any, method: str) -> float | None:
        """The expected seconds of one cell, or None if the method was never seen."""
        here = self._seen.get((method, dataset.name))
        if here is not None:
            return here[0] / here[1]
        size = self._samples.get(dataset.name, dataset.samples)
        guesses = []
        for (seen, name), (total, count) in self._seen.items():
            if seen == method:
                other = self._samples.get(name)
                ratio = size / other if size and other else 1.0
                guesses.append((abs(math.log(ratio)), total / count * ratio**_POWER))
        # From the data set of the nearest size: the cost of tiny ones is what does not grow.
        return min(guesses, default=(0.0, None))[1]

    def total(self, counts: Counter, datasets: dict[str, Any]) -> tuple[float, int]:
        """Seconds of all counted cells, and how many of them could not be estimated."""
        known, unknown = 0.0, 0
        for (name, method), count in counts.items():
            seconds = self.seconds(datasets[name], method)
            if seconds is None:
                unknown += count
            else:
                known += seconds * count
        return known, unknown


class Reporter:
    """Keeps count; what is shown is up to the kinds below."""

    #: Which of the measured times the rest is estimated from. Processor time tells how long a free
    #: machine would take, whatever else was running when the cells were measured.
    clock = "seconds"

    def start(self, cells: list[Cell], todo: list[Cell], store: Any, processes: int) -> None:
        self.estimate = Estimate()
        self.absent: set[str] = set()
        self.processes = processes
        self.left = Counter((cell.dataset.name, cell.method.name) for cell in todo)
        self.datasets = {cell.dataset.name: cell.dataset for cell in cells}
        self.total, self.done = len(cells), len(cells) - len(todo)
        records = store.records(cell.key for cell in cells)
        for cell in cells:
            if (record := records.get(cell.key)) is not None:
                self.estimate.add(cell, getattr(record, self.clock), record.n_samples)
        self.begin(len(todo))

    def remaining(self) -> str:
        """The time remaining, in words."""
        seconds, unknown = self.estimate.total(self.left, self.datasets)
        measured = sum(self.left.values()) - unknown
        if not measured and unknown:
            return "time unknown yet"
        seconds *= 1.0 + (unknown / measured if measured else 0.0)
        return f"about {duration(seconds / self.processes)} left"

    def cell(self, cell: Cell, answer: dict[str, Any]) -> None:
        self.estimate.add(cell, answer.get("seconds"), answer.get("n_samples"))
        self._count(cell)
        self.show(cell, answer)

    def failure(self, cell: Cell, answer: dict[str, Any]) -> str | None:
        """What to say of a cell that failed; of a data set that cannot be loaded, only once."""
        if answer["status"] == "done":
            return None
        if answer["status"] != "data":
            return f"{answer['status']}: {describe(cell)}: {answer['reason']}"
        if cell.dataset.name in self.absent:
            return None
        self.absent.add(cell.dataset.name)
        return f"{cell.dataset.title} cannot be loaded, its cells wait: {answer['reason']}"

    def skip(self, cell: Cell) -> None:
        self._count(cell)

    def _count(self, cell: Cell) -> None:
        group = cell.dataset.name, cell.method.name
        self.left[group] -= 1
        if not self.left[group]:
            del self.left[group]
        self.done += 1

    def begin(self, todo: int) -> None:
        """The run starts."""

    def show(self, cell: Cell, answer: dict[str, Any]) -> None:
        """A cell has ended."""

    def finish(self, summary: Any) -> None:
        """The run has ended, for whatever reason."""


class Silent(Reporter):
    """Says nothing."""

    def start(self, cells: list[Cell], todo: list[Cell], store: Any, processes: int) -> None:
        self.left = Counter((cell.dataset.name, cell.method.name) for cell in todo)
        self.done = len(cells) - len(todo)
        self.estimate = Estimate()


def describe(cell: Cell) -> str:
    kernel = f", {cell.kernel}" if cell.kernel else ""
    return f"{cell.method.name} on {cell.dataset.title}{kernel}, repeat {cell.repeat}"


class Lines(Reporter):
    """Plain lines: one for each method that is finished on a data set, one for each failure."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream: IO[str] | None = stream or sys.stdout

    def say(self, text: str) -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except BrokenPipeError:
            # Nobody listens any more; the study is worth finishing all the same.
            self.stream = None

    def begin(self, todo: int) -> None:
        self.began = time.monotonic()
        self.say(f"{self.total} cells, {self.done} of them done before; {todo} to do.")

    def show(self, cell: Cell, answer: dict[str, Any]) -> None:
        if (failure := self.failure(cell, answer)) is not None:
            self.say(failure)
        if (cell.dataset.name, cell.method.name) not in self.left:
            self.say(
                f"{self.done}/{self.total}  {cell.dataset.title}: {cell.method.name} finished; "
                f"{self.remaining()}."
            )

    def finish(self, summary: Any) -> None:
        self.say(
            f"{self.done}/{self.total} cells after {duration(time.monotonic() - self.began)}; "
            f"{summary.failed} failed in this run."
        )


class Bar(Reporter):
    """One progress bar of rich."""

    def __init__(self, console: Any) -> None:
        self.console = console

    def begin(self, todo: int) -> None:
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._escape = escape
        self._told = 0.0
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            transient=False,
        )
        self.task = self.progress.add_task(
            "starting", total=self.total, completed=self.done, left=""
        )
        self.progress.start()

    def show(self, cell: Cell, answer: dict[str, Any]) -> None:
        if (failure := self.failure(cell, answer)) is not None:
            self.progress.console.print(self._escape(failure), style="yellow", highlight=False)
        changes: dict[str, Any] = {"completed": self.done}
        if time.monotonic() - self._told > 0.5 or not self.left:
            self._told = time.monotonic()
            changes["left"] = self.remaining() if self.left else ""
            changes["description"] = self._escape(f"{cell.dataset.title}  {cell.method.name}")
        self.progress.update(self.task, **changes)

    def finish(self, summary: Any) -> None:
        with contextlib.suppress(AttributeError):
            self.progress.stop()


def make_reporter(quiet: bool = False) -> Reporter:
    """The reporter that suits where the output goes."""
    if quiet:
        return Silent()
    if sys.stdout.isatty():
        from unispectral._compat import optional

        return Bar(optional("rich.console", extra="cli").Console())
    return Lines()
