"""Telling how a run goes, in lines."""

from __future__ import annotations

import time
from collections import Counter
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
    """Writes a line for each method that is finished on a data set, and one for each failure.

    A terminal gets one more line, which is rewritten in place. Without a stream it is silent.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self.stream = stream
        self.terminal = stream is not None and stream.isatty()
        self.total = self.ended = 0
        self._left: Counter[tuple[str, str]] = Counter()
        self._absent: set[str] = set()
        self._started = self._updated = 0.0

    def start(self, total: int, todo: list[Cell], failed: int) -> None:
        """The run starts."""
        self._started = time.monotonic()
        self.total, self.ended = total, total - len(todo)
        self._left = Counter((cell.dataset.name, cell.method.name) for cell in todo)
        before = f"{self.ended - failed} done before"
        if failed:
            before += f", {failed} failed before and not tried again"
        self.say(f"{total} cells: {before}, {len(todo)} to do.")

    def ended_cell(self, cell: Cell, answer: dict[str, Any]) -> None:
        """A cell has ended, well or not."""
        if answer["status"] != "done":
            self._failure(cell, answer["status"], answer.get("reason"))
        group, now = (cell.dataset.name, cell.method.name), time.monotonic()
        self._left[group] -= 1
        self.ended += 1
        finished = not self._left[group]
        if finished or (self.terminal and now - self._updated > 0.5):
            self._updated = now
            what = f"{cell.dataset.title}: {cell.method.name}{' finished' if finished else ''}"
            spent = duration(now - self._started)
            self.say(f"{self.ended}/{self.total}  {what}; {spent}.", end="\n" if finished else "")

    def _failure(self, cell: Cell, status: str, reason: Any) -> None:
        title = cell.dataset.title
        if status == "data":  # which is said once for all cells of a data set
            if title not in self._absent:
                self._absent.add(title)
                self.say(f"{title} cannot be loaded, its cells wait: {reason}")
            return
        kernel = f", {cell.kernel}" if cell.kernel else ""
        where = f"{cell.method.name} on {title}{kernel}, repeat {cell.repeat}"
        self.say(f"{status}: {where}: {reason}")

    def finish(self, failed: int) -> None:
        """The run has ended, for whatever reason."""
        spent = duration(time.monotonic() - self._started)
        self.say(f"{self.ended}/{self.total} cells after {spent}; {failed} failed in this run.")

    def say(self, text: str, end: str = "\n") -> None:
        if self.stream is None:
            return
        text = text.encode("utf-8", "backslashreplace").decode()  # of a file's name, say
        try:
            self.stream.write(("\r\033[K" if self.terminal else "") + text + end)
            self.stream.flush()
        except BrokenPipeError:
            # Nobody listens any more; the study is worth finishing all the same.
            self.stream = None
