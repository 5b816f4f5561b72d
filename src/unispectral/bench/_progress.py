"""Telling how a run goes, in lines."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, defaultdict
from typing import IO, Any

from unispectral.bench._cells import Cell

__all__ = ["Estimate", "Lines", "Reporter", "duration"]

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
        self._seen: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._samples: dict[str, int] = {}

    def add(self, cell: Cell, seconds: float | None, samples: int | None) -> None:
        if samples:
            self._samples[cell.dataset.name] = samples
        if seconds is not None:
            self._seen[cell.method.name, cell.dataset.name].append(seconds)

    def seconds(self, dataset: Any, method: str) -> float | None:
        """The expected seconds of one cell, or None if the method was never seen."""
        here = self._seen.get((method, dataset.name))
        if here is not None:
            return sum(here) / len(here)
        size = self._samples.get(dataset.name, dataset.samples)
        guesses = []
        for (seen, name), times in self._seen.items():
            if seen == method:
                other = self._samples.get(name)
                ratio = size / other if size and other else 1.0
                mean = sum(times) / len(times)
                guesses.append((abs(math.log(ratio)), mean * ratio**_POWER))
        # From the data set of the nearest size: the cost of tiny ones is what does not grow.
        return min(guesses, default=(0.0, None))[1]

    def total(self, counts: Counter, datasets: dict[str, Any]) -> tuple[float, int]:
        """Seconds of all counted cells, and how many of them could not be estimated."""
        known, unknown = 0.0, 0
        for (name, method), count in counts.items():
            seconds = self.seconds(datasets[name], method)
            known += (seconds or 0.0) * count
            unknown += count if seconds is None else 0
        return known, unknown


class Reporter:
    """Counts the cells and says nothing; what is shown is up to :class:`Lines`."""

    #: Which of the measured times the rest is estimated from. Processor time tells how long a free
    #: machine would take, whatever else was running when the cells were measured.
    clock = "seconds"

    def start(
        self, cells: list[Cell], todo: list[Cell], records: dict[str, Any], processes: int
    ) -> None:
        self.estimate = Estimate()
        self.absent: set[str] = set()
        self.processes, self.total, self.ended = processes, len(cells), len(cells) - len(todo)
        self.left = Counter((cell.dataset.name, cell.method.name) for cell in todo)
        self.datasets = {cell.dataset.name: cell.dataset for cell in cells}
        for cell in cells:
            if (record := records.get(cell.key)) is not None:
                self.estimate.add(cell, getattr(record, self.clock), record.n_samples)

    def begin(self, summary: Any) -> None:
        """The run starts."""

    def remaining(self) -> str:
        """The time remaining, in words."""
        seconds, unknown = self.estimate.total(self.left, self.datasets)
        measured = sum(self.left.values()) - unknown
        if not measured and unknown:
            return "time unknown yet"
        seconds *= 1.0 + (unknown / measured if measured else 0.0)
        return f"about {duration(seconds / self.processes)} left"

    def cell(self, cell: Cell, answer: dict[str, Any] | None = None) -> None:
        """A cell has ended, here or, without an answer, in another run."""
        group = cell.dataset.name, cell.method.name
        self.left[group] -= 1
        self.left += Counter()  # drops what has come to zero
        self.ended += 1
        if answer is not None:
            self.estimate.add(cell, answer.get("seconds"), answer.get("n_samples"))
            self.show(cell, answer)

    def failure(self, cell: Cell, answer: dict[str, Any]) -> str | None:
        """What to say of a cell that failed; of a data set that cannot be loaded, only once."""
        dataset, status, reason = cell.dataset, answer["status"], answer.get("reason")
        if status == "done" or dataset.name in self.absent:
            return None
        if status == "data":
            self.absent.add(dataset.name)
            return f"{dataset.title} cannot be loaded, its cells wait: {reason}"
        kernel = f", {cell.kernel}" if cell.kernel else ""
        where = f"{cell.method.name} on {dataset.title}{kernel}, repeat {cell.repeat}"
        return f"{status}: {where}: {reason}"

    def show(self, cell: Cell, answer: dict[str, Any]) -> None:
        """A cell has ended here."""

    def finish(self, summary: Any) -> None:
        """The run has ended, for whatever reason."""


class Lines(Reporter):
    """One line for each method that is finished on a data set, one for each failure.

    On a terminal one more line, which is rewritten in place, tells how far the run has got.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream: IO[str] | None = stream or sys.stdout
        self.terminal = self.stream.isatty()
        self.updated = 0.0

    def say(self, text: str, end: str = "\n") -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(("\r\033[K" if self.terminal else "") + text + end)
            self.stream.flush()
        except BrokenPipeError:
            # Nobody listens any more; the study is worth finishing all the same.
            self.stream = None

    def begin(self, summary: Any) -> None:
        before = f"{summary.found - summary.failed_before} done before"
        if summary.failed_before:
            before += f", {summary.failed_before} failed before and not tried again"
        self.say(f"{self.total} cells: {before}, {self.total - summary.found} to do.")

    def show(self, cell: Cell, answer: dict[str, Any]) -> None:
        if (failure := self.failure(cell, answer)) is not None:
            self.say(failure)
        finished = (cell.dataset.name, cell.method.name) not in self.left
        if finished or (self.terminal and time.monotonic() - self.updated > 0.5):
            self.updated = time.monotonic()
            what = f"{cell.dataset.title}: {cell.method.name}{' finished' if finished else ''}"
            text = f"{self.ended}/{self.total}  {what}; {self.remaining()}."
            self.say(text, end="\n" if finished else "")

    def finish(self, summary: Any) -> None:
        spent = duration(summary.seconds)
        failed = f"{summary.failed} failed in this run"
        self.say(f"{self.ended}/{self.total} cells after {spent}; {failed}.")
