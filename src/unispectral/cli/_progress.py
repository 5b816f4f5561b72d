"""How far a fit has got: a bar on a terminal, lines in a pipe, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

__all__ = ["progress", "say"]


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line for people, on standard error so that results stay clean."""
    if not quiet:
        click.echo(text, err=True)


@contextmanager
def progress(title: str, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Give a function of stage, steps done, their total and a note, which shows them."""
    if quiet:
        yield lambda *_: None
    elif sys.stderr is None or not sys.stderr.isatty():
        yield _lines(title)
    else:
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
        task = bar.add_task(title, total=None, note="")

        def show(stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
            told = f"{title}: {stage}"
            bar.update(task, description=told, completed=done, total=total, note=note)

        with bar:
            yield show


def _lines(title: str, every: float = 10.0) -> Callable[..., None]:
    """One line for each new stage, and one now and then during a long one."""
    begun = shown = time.monotonic()
    current = ""

    def show(stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        nonlocal current, shown
        now = time.monotonic()
        if stage == current and now - shown < every:
            return
        current, shown = stage, now
        steps = f" {done} of at most {total}" if done and total else ""
        say(f"[{now - begun:6.1f} s] {title}: {stage}{steps}{f' ({note})' if note else ''}")

    return show
