"""What a fit is run with: threads, random numbers, progress, and where its large stages run."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from unispectral._compat import FitTasks, as_generator
from unispectral._errors import InputError

if TYPE_CHECKING:
    from unispectral.labelfree._geometry import KernelDistance

T = TypeVar("T")

#: The shell of a Jupyter kernel; those of Colab and others are made of it.
_SHELL = "ZMQInteractiveShell"


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """The libraries of this process; looking them up takes longer than a small fit."""
    return ThreadpoolController()


def limit_blas(count: int) -> AbstractContextManager[Any]:
    """At most ``count`` BLAS threads inside the context."""
    return _controller().limit(limits=count, user_api="blas")


@contextmanager
def whole_or_as_before(estimator: object) -> Iterator[None]:
    """Undo what a fit has set where it does not come to its end, be it by Ctrl-C."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def one_thread() -> AbstractContextManager[Any]:
    """A single thread in every numerical library: for small problems and one order of sums."""
    return _controller().limit(limits=1)


def thread_count(n_jobs: int | None = None) -> int:
    """The number of threads that ``n_jobs`` means.

    None is that of joblib's ``parallel_config`` where there is one, and otherwise what
    scikit-learn's own threads may use: all cores, or ``OMP_NUM_THREADS`` where that is set. −1 is
    all cores, −2 all but one.
    """
    # In a worker of a pool the other workers have the other cores.
    if multiprocessing.current_process().daemon:
        cores = 1
    else:
        cores = cpu_count()
    if n_jobs is None:
        backend, n_jobs = get_active_backend()
    if n_jobs is None:
        # One number for each level of nested threads, of which the first counts here.
        first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
        if first.isdecimal():
            limit = int(first)
        else:
            limit = 0
        return min(cores, limit or (1 if backend.nesting_level > 0 else cores))
    if n_jobs == 0:
        remedy = "use None or -1 for all cores, 1 for one"
        raise InputError("n_jobs", "has no meaning", remedy, value=0)
    if n_jobs > 0:
        return n_jobs
    return max(1, cores + 1 + n_jobs)


def is_notebook() -> bool:
    """Whether what is displayed here is shown in a notebook."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell: Any = ipython.get_ipython()
    return any(kind.__name__ == _SHELL for kind in type(shell).__mro__)


class NotebookBar:
    """A bar below the cell that runs, drawn anew in its place.

    It is displayed when there is first something to show.
    """

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, done: int = 0, total: int | None = None) -> None:
        """How far a stage has got; a bar that runs to and fro where nobody knows."""
        if total:
            state = f'value="{done}" max="{total}"'
        else:
            state = ""
        bar = f'<progress {state} style="width:12em;vertical-align:middle"></progress>'
        self._draw(f"<div>{bar} {escape(text)}</div>")

    def close(self, text: str) -> None:
        """Leave a line in place of the bar, if there was one."""
        if self._handle is not None:
            self._draw(f'<div style="opacity:.7">{escape(text)}</div>')
            self._handle = None

    def _draw(self, markup: str) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(markup), display_id=True)
        else:
            self._handle.update(HTML(markup))


#: Stages of so many samples, other than the search, are over before anybody wonders.
_SHORT = 50_000


class Progress:
    """Report stages of a fit: to a stream, to a function, or to nobody.

    With ``verbose`` 0 it is silent, with 1 it reports on the stream, by default standard error; a
    function is called with the name of the stage, the steps done, their number or None, and a
    note. On a terminal the line is rewritten in place, in a notebook there is a bar; elsewhere
    each stage is one line, so that logs stay readable. ``tasks`` tell scikit-learn's callbacks.

    Examples
    --------
    >>> Progress(lambda *report: print(report))("graph", 1, 2)
    ('graph', 1, 2, '')
    """

    def __init__(
        self, verbose: Any = 0, stream: TextIO | None = None, tasks: FitTasks | None = None
    ) -> None:
        if callable(verbose):
            self.listener = verbose
        else:
            self.listener = None
        self.active = self.listener is None and bool(verbose)
        self.bar: NotebookBar | None = None
        if self.active and stream is None and is_notebook():
            self.bar = NotebookBar()
        self.stream = stream or sys.stderr
        self.tasks = tasks
        self.begun = time.monotonic()
        self._stage = ""
        self._stage_begun = self.begun
        self._shown = 0.0
        self._lock = Lock()

    def __call__(
        self, stage: str, done: int = 0, total: int | None = None, note: str = ""
    ) -> None:
        """Say that ``done`` of ``total`` steps of a stage are behind us."""
        if self.tasks is not None:
            self.tasks(stage, done, total)
        if self.listener is not None:
            self.listener(stage, done, total, note)
        elif self.active:
            self._write(stage, done, total, note)

    def ticker(self, stage: str, total: int) -> Callable[[int], None]:
        """A function that any thread may call to say how many more steps of a stage are done."""
        done = 0

        def tick(steps: int) -> None:
            nonlocal done
            with self._lock:
                done += steps
                self(stage, done, total)

        return tick

    def _write(self, stage: str, done: int, total: int | None, note: str) -> None:
        now = time.monotonic()
        new = stage != self._stage
        if new:
            self._stage = stage
            self._stage_begun = now
        terminal = getattr(self.stream, "isatty", lambda: False)()
        redrawn = terminal or self.bar is not None
        if not new and not (redrawn and now - self._shown > 0.1) and done != total:
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
        if self.bar is not None:
            self.bar.show(text, done, total)
            return
        self.stream.write(f"\r\x1b[2K{text}" if terminal else f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """End the line on a terminal or the bar, and the tasks of callbacks."""
        if self.tasks is not None:
            self.tasks.close()
        if self.bar is not None:
            self.bar.close(f"done in {time.monotonic() - self.begun:.1f} s")
        elif self.active and getattr(self.stream, "isatty", lambda: False)():
            self.stream.write("\n")


class Executor(Protocol):
    """Finds the neighbours of all samples elsewhere, such as on the workers of a cluster."""

    def neighbourhoods(
        self, geometry: KernelDistance, k: int, rate: float, run: Run, present: np.ndarray | None
    ) -> Any:
        """What ``labelfree._neighbourhoods.localize`` returns for these arguments."""


@dataclass(frozen=True)
class Run:
    """Threads, random numbers, progress and the place of execution of one fit or prediction.

    An estimator makes it and passes it down; a stage may change a field for the stages below it.
    ``executor`` finds neighbourhoods on other machines; ``is_limited`` says that BLAS is kept to
    one thread already, for as long as this run lasts.

    Examples
    --------
    >>> run = Run.of(n_jobs=1, random_state=0)
    >>> run.map_blocks(lambda block: block.stop - block.start, 5, 2)
    [2, 2, 1]
    """

    n_threads: int
    rng: np.random.Generator
    progress: Progress = field(default_factory=Progress)
    executor: Executor | None = None
    is_limited: bool = False

    @classmethod
    def of(
        cls,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: object = 0,
        executor: Executor | None = None,
        tasks: FitTasks | None = None,
    ) -> Run:
        """A run from the parameters of an estimator."""
        progress = Progress(verbose, tasks=tasks)
        return cls(thread_count(n_jobs), as_generator(random_state), progress, executor)

    def replace(self, **changes: Any) -> Run:
        """The same with some fields changed."""
        return replace(self, **changes)

    @contextmanager
    def limit_threads(self) -> Iterator[Run]:
        """Keep BLAS to one thread inside the context.

        The threads of a run are those of :meth:`map_blocks`: between the small products of a fit
        BLAS threads wait for each other by spinning, which takes longer than the products, and
        the order of additions would depend on their number.
        """
        with limit_blas(1):
            yield self.replace(is_limited=True)

    def ticker(self, stage: str, n_samples: int) -> Callable[[int], None]:
        """Tells the progress of a stage, in samples; of a short one nothing."""
        if n_samples <= _SHORT:
            return lambda steps: None
        return self.progress.ticker(stage, n_samples)

    def map_blocks(self, work: Callable[[slice], T], total: int, step: int) -> list[T]:
        """Apply ``work`` to consecutive blocks of ``range(total)`` on the threads of this run."""
        return map_blocks(work, total, step, self)


def one_blas_thread(run: Run | None) -> AbstractContextManager[Any]:
    """One BLAS thread inside the context: nothing to do where the run is limited to it."""
    if run is not None and run.is_limited:
        return nullcontext()
    return limit_blas(1)


def map_blocks(
    work: Callable[[slice], T], total: int, step: int, run: Run | None = None
) -> list[T]:
    """Apply ``work`` to consecutive blocks of ``range(total)``, by default on all cores.

    Each block is worked on by one thread with one BLAS thread, so that results do not depend on
    how many threads there are. An interrupt is noticed between blocks.
    """
    blocks = [slice(start, min(start + step, total)) for start in range(0, total, step)]
    count = min(thread_count() if run is None else run.n_threads, len(blocks))
    with one_blas_thread(run):
        if count <= 1:
            return [work(block) for block in blocks]
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(work, blocks))
