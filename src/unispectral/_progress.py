"""A progress line for long fits: nothing unless asked for, one line on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import TextIO

__all__ = ["Progress", "listening", "showing", "ticker"]

_listener: ContextVar[Callable[[str, int, int | None, str], None] | None] = ContextVar(
    "unispectral_progress", default=None
)


_shown: ContextVar[Progress | None] = ContextVar("unispectral_shown", default=None)


@contextmanager
def listening(callback: Callable[[str, int, int | None, str], None]) -> Iterator[None]:
    """Send what fits report inside the context to ``callback`` instead of a stream.

    Examples
    --------
    >>> with listening(lambda stage, done, total, note: print(stage, done, total)):
    ...     Progress(0)("graph", 1, 2)
    graph 1 2
    """
    token = _listener.set(callback)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def showing(progress: Progress) -> Iterator[None]:
    """Let what is called inside report to ``progress`` by :func:`ticker`."""
    token = _shown.set(progress)
    try:
        yield
    finally:
        _shown.reset(token)


def ticker(stage: str, total: int) -> Callable[[int], None]:
    """A function that any thread may call to say how many more steps of a stage are done.

    Examples
    --------
    >>> with listening(lambda stage, done, total, note: print(stage, done, total)):
    ...     with showing(Progress(0)):
    ...         tick = ticker("candidates", 5)
    ...     tick(2)
    ...     tick(3)
    candidates 2 5
    candidates 5 5
    """
    progress, listener, lock, done = _shown.get(), _listener.get(), Lock(), 0
    if progress is None:
        return lambda steps: None

    def tick(steps: int) -> None:
        nonlocal done
        with lock:
            done += steps
            # Threads of a pool do not know the listener of the thread that made them.
            (listener or progress.show)(stage, done, total, "")

    return tick


class Progress:
    """Report stages of a fit to a stream.

    On a terminal the line is rewritten in place; elsewhere each stage is one line, so that logs
    stay readable.

    Parameters
    ----------
    verbose : int or bool
        0 is silent, 1 reports.
    stream : text stream or None
        Standard error if None.

    Examples
    --------
    >>> Progress(0)("graph", 1, 2)  # silent
    """

    def __init__(self, verbose: int | bool, stream: TextIO | None = None) -> None:
        self.active = bool(verbose)
        self.stream = stream or sys.stderr
        self.begun = time.monotonic()
        self._stage = ""
        self._stage_begun = self.begun
        self._shown = 0.0

    def __call__(
        self, stage: str, done: int = 0, total: int | None = None, note: str = ""
    ) -> None:
        """Say that ``done`` of ``total`` steps of a stage are behind us."""
        listener = _listener.get()
        if listener is not None:
            listener(stage, done, total, note)
            return
        self.show(stage, done, total, note)

    def show(self, stage: str, done: int, total: int | None, note: str) -> None:
        """The same, to the stream whoever listens."""
        if not self.active:
            return
        now = time.monotonic()
        new = stage != self._stage
        if new:
            self._stage, self._stage_begun = stage, now
        terminal = getattr(self.stream, "isatty", lambda: False)()
        if not new and not (terminal and now - self._shown > 0.1) and done != total:
            return
        self._shown = now
        text = f"[{now - self.begun:7.1f} s] {stage}"
        if total:
            text += f" {done}/{total}"
            spent = now - self._stage_begun
            if 0 < done < total and spent > 1:
                text += f", about {spent / done * (total - done):.0f} s left"
        if note:
            text += f" ({note})"
        self.stream.write(f"\r\x1b[2K{text}" if terminal else f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """End the line on a terminal."""
        if (
            _listener.get() is None
            and self.active
            and getattr(self.stream, "isatty", lambda: False)()
        ):
            self.stream.write("\n")
