"""How far a fit has got: a bar on a terminal, lines in a pipe, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from unispectral._progress import listening

__all__ = ["progress", "say"]


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line for people, on standard error so that results stay clean."""
    if not quiet:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[None]:
    """Show the stages that a fit reports while the context lasts."""
    if quiet:
        with listening(lambda *_: None):
            yield
        return
    if not sys.stderr.isatty():
        with listening(_Lines(title)):
            yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar, listening(_bar(bar, title)):
        yield


def _bar(bar: Any, title: str) -> Callable[..., None]:
    task = bar.add_task(title, total=None, note="")

    def show(stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        bar.update(task, description=f"{title}: {stage}", completed=done, total=total, note=note)

    return show


class _Lines:
    """One line for each new stage, and one now and then during a long one."""

    EVERY = 10.0

    def __init__(self, title: str) -> None:
        self.title = title
        self.begun = self.shown = time.monotonic()
        self.stage = ""

    def __call__(
        self, stage: str, done: int = 0, total: int | None = None, note: str = ""
    ) -> None:
        now = time.monotonic()
        if stage == self.stage and now - self.shown < self.EVERY:
            return
        self.stage, self.shown = stage, now
        steps = f" {done} of at most {total}" if done and total else ""
        told = f" ({note})" if note else ""
        say(f"[{now - self.begun:6.1f} s] {self.title}: {stage}{steps}{told}")
