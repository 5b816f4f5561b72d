"""Telling how a run goes, in lines, and how long the rest of it will take."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from typing import IO, Any

from unispectral.bench._cells import Cell

__all__ = ["Reporter", "duration"]


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


class Reporter:
    """Counts cells and estimates the time of the rest; to a stream, it also writes lines.

    One line for each method that is finished on a data set, and one for each failure. A terminal
    gets one more line, which is rewritten in place.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = stream
        self.terminal = stream is not None and stream.isatty()
        self.updated = 0.0
        self.absent: set[str] = set()
        self._seen: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._samples: dict[str, int] = {}

    def start(
        self, cells: list[Cell], todo: list[Cell], records: dict[str, Any], processes: int = 1
    ) -> None:
        """The run starts."""
        self.processes, self.total, self.ended = processes, len(cells), len(cells) - len(todo)
        self.left = Counter((cell.dataset.name, cell.method.name) for cell in todo)
        self.datasets = {cell.dataset.name: cell.dataset for cell in cells}
        for cell in cells:
            if (record := records.get(cell.key)) is not None:
                self.measured(cell, record.seconds, record.n_samples)
        found = {cell.key for cell in cells} - {cell.key for cell in todo}
        failed = sum(records[key].status != "done" for key in found)
        before = f"{len(found) - failed} done before"
        if failed:
            before += f", {failed} failed before and not tried again"
        self.say(f"{self.total} cells: {before}, {len(todo)} to do.")

    def measured(self, cell: Cell, seconds: float | None, samples: int | None) -> None:
        """Learn how long a cell took."""
        if samples:
            self._samples[cell.dataset.name] = samples
        if seconds is not None:
            self._seen[cell.method.name, cell.dataset.name].append(seconds)

    def seconds(self, dataset: str, method: str) -> float | None:
        """The expected seconds of one cell, or None if the method was never seen.

        From the data set of the nearest size, the cost of a fit growing with its square: the cost
        of tiny ones is what does not grow.
        """
        size = self._samples.get(dataset, self.datasets[dataset].samples)
        guesses = []
        for (seen, name), times in self._seen.items():
            if seen == method:
                other = self._samples.get(name)
                ratio = size / other if size and other and name != dataset else 1.0
                distance = -1.0 if name == dataset else abs(math.log(ratio))
                guesses.append((distance, sum(times) / len(times) * ratio**2))
        return min(guesses, default=(0.0, None))[1]

    def remaining(self) -> str:
        """The time remaining, in words; methods never seen are taken for average ones."""
        known = [
            (self.seconds(dataset, method), count)
            for (dataset, method), count in self.left.items()
        ]
        measured = sum(count for seconds, count in known if seconds is not None)
        if self.left and not measured:
            return "time unknown yet"
        seconds = sum((seconds or 0.0) * count for seconds, count in known)
        seconds *= self.left.total() / max(measured, 1)
        return f"about {duration(seconds / self.processes)} left"

    def cell(self, cell: Cell, answer: dict[str, Any]) -> None:
        """A cell has ended."""
        group = cell.dataset.name, cell.method.name
        self.left[group] -= 1
        self.left += Counter()  # drops what has come to zero
        self.ended += 1
        self.measured(cell, answer.get("seconds"), answer.get("n_samples"))
        finished = group not in self.left
        if finished or (self.terminal and time.monotonic() - self.updated > 0.5):
            self.updated = time.monotonic()
            what = f"{cell.dataset.title}: {cell.method.name}{' finished' if finished else ''}"
            text = f"{self.ended}/{self.total}  {what}; {self.remaining()}."
            self.say(text, end="\n" if finished else "")

    def failure(self, cell: Cell, answer: dict[str, Any]) -> None:
        """A cell has failed, or all cells of a data set, which is said once."""
        title, status, reason = cell.dataset.title, answer["status"], answer.get("reason")
        if status == "data":
            if title in self.absent:
                return
            self.absent.add(title)
            self.say(f"{title} cannot be loaded, its cells wait: {reason}")
            return
        kernel = f", {cell.kernel}" if cell.kernel else ""
        where = f"{cell.method.name} on {title}{kernel}, repeat {cell.repeat}"
        self.say(f"{status}: {where}: {reason}")

    def finish(self, seconds: float, failed: int) -> None:
        """The run has ended, for whatever reason."""
        spent = duration(seconds)
        self.say(f"{self.ended}/{self.total} cells after {spent}; {failed} failed in this run.")

    def say(self, text: str, end: str = "\n") -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(("\r\033[K" if self.terminal else "") + text + end)
            self.stream.flush()
        except BrokenPipeError:
            # Nobody listens any more; the study is worth finishing all the same.
            self.stream = None
