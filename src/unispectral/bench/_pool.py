"""Worker processes that can be stopped one by one, with everything they have started.

joblib and concurrent.futures cannot end a single task: a fit that is stuck in compiled code would
hold its process for good, and killing that process breaks the whole pool. So there are own
processes. Each has one reader thread here, which turns answers and death into events of one
queue; whoever reads that queue enforces the limits.

Messages are lines of JSON over the two standard pipes, so nothing is ever unpickled, and the
program that starts a pool needs no ``if __name__ == "__main__"``.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from unispectral.bench._machine import process_tree, thread_variables, tree_bytes
from unispectral.bench._words import size

#: What was in the queue, and what a worker said of it.
Answers = Iterator[tuple[Any, dict[str, Any]]]
#: Seconds between two looks at the memory of the workers.
_LOOK = 0.05
#: Preparing a job may take this long, however short its time limit is.
_PREPARE_LIMIT = 900.0
_SLOW_DATA = "Loading the data took more than"
_CELLS = "unispectral.bench._worker:CellWorker"
_START = "import sys; sys.path[:0] = {path!r}; from unispectral.bench._pool import main; main()"
#: Ends the workers and their children when the pipe to the process of the pool closes.
_GUARD = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    number = int(line)
    groups.add(number) if number > 0 else groups.discard(-number)
for number in groups:
    try:
        os.killpg(number, signal.SIGKILL)
    except OSError:
        pass
"""


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def main() -> None:
    """Answer jobs until the pipe closes: what a worker process runs."""
    faulthandler.enable()
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            # PR_SET_CHILD_SUBREAPER: processes without a parent become ours and stay in sight.
            ctypes.CDLL(None).prctl(36, 1)
    answers = os.fdopen(os.dup(1), "wb")
    jobs = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)  # what an estimator prints must not end up among the answers
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)

    def say(message: dict[str, Any]) -> None:
        answers.write(_line(message))
        answers.flush()

    module, _, name = sys.argv[1].partition(":")
    work = getattr(importlib.import_module(module), name)()
    say({"event": "ready"})
    for job in jobs:
        say({**work(json.loads(job), lambda: say({"event": "begin"})), "event": "end"})


class Worker:
    """One worker process, what it works on, and the limits of that; None while it is idle."""

    def __init__(self, events: queue.SimpleQueue[Any], target: str, threads: int) -> None:
        self.entry: Any = None
        self.limits: dict[str, float | None] | None = None
        self.ready = self.begun = False
        self.peak = 0
        self.since = 0.0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by kill
        path = [entry or os.getcwd() for entry in sys.path]
        self._process = subprocess.Popen(
            # The last argument shows in a list of processes whose worker this is.
            [sys.executable, "-c", _START.format(path=path), target, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **thread_variables(threads)},
            start_new_session=True,  # Ctrl-C is for the runner; and a group that can be killed
        )
        self.pid = self._process.pid
        threading.Thread(target=self._listen, args=(events,), daemon=True).start()

    def _listen(self, events: queue.SimpleQueue[Any]) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # half a line, of a worker that died
            for message in self._process.stdout:
                events.put((self, json.loads(message)))
        events.put((self, None))

    def submit(self, job: dict[str, Any], entry: object) -> None:
        """Hand over a job; a worker that is dead announces itself through its reader."""
        self.entry = entry
        self.limits = job["limits"]
        self.peak = 0
        self.since = time.monotonic()
        self.begun = False
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(_line(job))
            self._process.stdin.flush()

    def begin(self) -> None:
        """The data are ready: the time of the fit starts."""
        self.since = time.monotonic()
        self.begun = True

    @property
    def seconds(self) -> float:
        """Seconds since the fit began, or since the job was given."""
        return time.monotonic() - self.since

    def overrun(self) -> tuple[str, str] | None:
        """The status and reason, if the job has passed one of its limits."""
        if self.limits is None:
            return None
        seconds = self.limits["seconds"] or float("inf")
        most = self.limits["bytes"]
        if not self.begun:
            seconds = max(seconds, _PREPARE_LIMIT)
        if self.seconds > seconds:
            if self.begun:
                what = "The fit was stopped at its time limit of"
            else:
                what = _SLOW_DATA
            return "timeout", f"{what} {seconds:g} s."
        self.peak = max(self.peak, tree_bytes(self.pid))
        if most is not None and self.peak > most:
            return "memory", (
                f"The fit was stopped at {size(self.peak)} of memory, its child "
                f"processes included; its limit is {size(most)}."
            )
        return None

    def kill(self) -> str:
        """End the process and all that it has started; say how it ended, and its last words."""
        if os.name != "posix":
            self._process.kill()
        else:  # it has not been waited for, so the number is still its own
            for process in [*process_tree(self.pid)[1:], self.pid]:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - 600))
        words = self._errors.read().decode("utf-8", "replace").strip()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError, ValueError):
                stream.close()  # type: ignore[union-attr]
        if code < 0:
            how = f"signal {-code}"
        else:
            how = f"code {code}"
        return f"The worker process ended with {how}." + (f" It said: {words}" if words else "")


class Pool:
    """Several workers, replaced when they die.

    ``target`` is the ``"module:name"`` of what a worker calls once without arguments to get its
    work: a function of a job and of a function ``begin()``, which starts the job's time. It
    returns the answer. Jobs and answers are dicts of JSON values; a job has
    ``"limits": {"seconds": …, "bytes": …}``, each a number or None.
    """

    def __init__(self, size: int, threads: int = 1, target: str = _CELLS) -> None:
        self.threads = threads
        self.target = target
        self.events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.workers: list[Worker] = []
        self._guard: subprocess.Popen[Any] | None = None
        if os.name == "posix":
            given: dict[str, Any] = {"stdin": subprocess.PIPE, "text": True}
            command = [sys.executable, "-I", "-S", "-c", _GUARD]
            self._guard = subprocess.Popen(command, start_new_session=True, **given)
        for _ in range(size):
            self._start()

    def _start(self) -> None:
        self.workers.append(Worker(self.events, self.target, self.threads))
        self._tell_guard(self.workers[-1].pid)

    def _stop(self, worker: Worker) -> str:
        self.workers.remove(worker)
        said = worker.kill()
        self._tell_guard(-worker.pid)
        return said

    def _tell_guard(self, number: int) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._guard.stdin.write(f"{number}\n")
                self._guard.stdin.flush()

    def run(self, queue: deque[Any], job: Callable[[Any], dict[str, Any]]) -> Answers:
        """Do what is in a queue, from its left; yield each entry with its answer as it comes.

        ``job`` makes the message of an entry. The caller may change the queue meanwhile.
        """
        while queue or any(worker.limits is not None for worker in self.workers):
            for worker in self.workers:
                if queue and worker.limits is None:
                    entry = queue.popleft()
                    worker.submit(job(entry), entry)
            yield from self._answers()

    def _answers(self) -> Answers:
        """Wait a little for word from a worker, then look at the limits of all."""
        worker = None
        message = None
        with contextlib.suppress(queue.Empty):
            worker, message = self.events.get(timeout=_LOOK)
        if worker not in self.workers:
            pass  # nobody, or one that has been replaced
        elif message is None:
            yield from self._replace(worker, "crash")
        elif message["event"] == "end":
            yield from self._end(worker, message)
        elif message["event"] == "begin":
            worker.begin()
        else:
            worker.ready = True
        for worker in list(self.workers):
            if (over := worker.overrun()) is not None:
                yield from self._replace(worker, *over)

    def _end(self, worker: Worker, answer: dict[str, Any]) -> Answers:
        busy = worker.limits is not None
        worker.limits = None
        answer["peak_bytes"] = max(worker.peak, answer.get("peak_bytes") or 0) or None
        if busy:
            yield worker.entry, answer

    def _replace(self, worker: Worker, status: str, reason: str = "") -> Answers:
        """Another worker in its place, and the answer that it could not give."""
        seconds = worker.seconds
        said = self._stop(worker)
        if status == "crash" and not worker.ready:
            raise RuntimeError(f"A worker could not start. {said}")
        self._start()
        yield from self._end(
            worker, {"status": status, "reason": reason or said, "seconds": seconds}
        )

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        while self.workers:
            self._stop(self.workers[-1])
        if self._guard is not None:
            self._guard.communicate()
