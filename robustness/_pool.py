"""Worker processes that may crash or hang on a case; the case is then known, and the rest goes on.

A worker is handed cases in batches and answers each. Whoever falls silent for too long is killed,
whoever dies is replaced: the first case without an answer is the one that did it.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Answer", "run_cases"]

_BATCH = 100
#: On a crowded machine a case takes longer; one that computes nothing is given up later.
_PATIENCE = 15


class Answer(NamedTuple):
    """A case, what came of it, in words, and its seconds."""

    case: Any
    outcome: str
    words: str
    seconds: float


class _Worker:
    def __init__(self, context: Any, work: Callable[[Any], tuple[str, str]]) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()
        self.todo: deque = deque()
        self.heard = time.monotonic()
        self.used = 0.0
        self.ready = False

    def listen(self) -> None:
        """Note when, and at which processor time, it was last heard of."""
        self.heard, self.used = time.monotonic(), self._processor_seconds()

    def hangs(self, limit: float) -> bool:
        """Whether it has computed for so long without an answer, or done nothing for longer."""
        silent = time.monotonic() - self.heard
        if silent <= limit:
            return False
        return self._processor_seconds() - self.used > limit / 2 or silent > _PATIENCE * limit

    def _processor_seconds(self) -> float:
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):  # no such file system: silence alone counts
            return time.monotonic()

    def give(self, cases: list[Any]) -> None:
        self.todo = deque(cases)
        self.listen()
        self.pipe.send(cases)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Any, work: Callable[[Any], tuple[str, str]]) -> None:
    pipe.send("ready")
    try:
        while True:
            for case in pipe.recv():
                begun = time.perf_counter()
                outcome, words = work(case)
                pipe.send((outcome, words, time.perf_counter() - begun))
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        return


def run_cases(
    work: Callable[[Any], tuple[str, str]],
    cases: Iterable[Any],
    *,
    workers: int = 1,
    limit: float = 60.0,
) -> Iterator[Answer]:
    """Yield the answer of every case; a crash or a hang is the answer ``"failed"``.

    Parameters
    ----------
    work : callable
        Importable; takes a case, returns an outcome and its words.
    cases : iterable
        Cases that can be sent to another process.
    workers : int
    limit : float
        Seconds without an answer that count as a hang, if they were spent computing.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    supply = iter(cases)
    again: deque = deque()

    def batch() -> list[Any]:
        found: list[Any] = []
        while len(found) < _BATCH:
            case = again.popleft() if again else next(supply, None)
            if case is None:
                break
            found.append(case)
        return found

    pool = [_Worker(context, work) for _ in range(workers)]
    try:
        while pool:
            for worker in list(pool):
                if worker.ready and not worker.todo:
                    given = batch()
                    if given:
                        worker.give(given)
                    else:
                        worker.stop()
                        pool.remove(worker)
            for pipe in multiprocessing.connection.wait([w.pipe for w in pool], timeout=0.5):
                worker = next(one for one in pool if one.pipe is pipe)
                try:
                    message = worker.pipe.recv()
                except (EOFError, ConnectionResetError):
                    worker.process.join(5)
                    code = worker.process.exitcode
                    yield from _failed(worker, f"the process died with code {code}", again)
                    pool[pool.index(worker)] = _replaced(worker, context, work)
                    continue
                worker.listen()
                if message == "ready":
                    worker.ready = True
                else:
                    yield Answer(worker.todo.popleft(), *message)
            for worker in list(pool):
                if worker.todo and worker.hangs(limit):
                    yield from _failed(worker, f"no answer within {limit:g} s", again)
                    pool[pool.index(worker)] = _replaced(worker, context, work)
    finally:
        for worker in pool:
            worker.stop()


def _failed(worker: _Worker, words: str, again: deque) -> Iterator[Answer]:
    if not worker.ready:
        raise RuntimeError(f"a worker of the robustness did not start: {words}")
    if worker.todo:
        case = worker.todo.popleft()
        again.extend(worker.todo)
        yield Answer(case, "failed", words, time.monotonic() - worker.heard)


def _replaced(worker: _Worker, context: Any, work: Callable[[Any], tuple[str, str]]) -> _Worker:
    worker.stop()
    return _Worker(context, work)
