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

__all__ = ["Answers", "Pool", "Worker"]

#: What was in the queue, and what a worker said of it.
Answers = Iterator[tuple[Any, dict[str, Any]]]
#: Seconds between two looks at the memory of the workers.
_LOOK = 0.05
#: Preparing a job may take this long, however short its time limit is.
_PREPARE_LIMIT = 900.0
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
    answers, jobs = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
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
    """One worker process and the job it has."""

    def __init__(self, events: queue.SimpleQueue, target: str, threads: int) -> None:
        self.job: dict[str, Any] | None = None
        self.entry: Any = None
        self.ready = False
        self.peak = 0
        self._events = events
        self._started = self.begun = 0.0
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
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):  # half a line, of a worker that died
            for message in stream:
                self._events.put((self, json.loads(message)))
        self._events.put((self, None))

    def submit(self, job: dict[str, Any], entry: Any = None) -> None:
        """Hand over a job; a worker that is dead announces itself through its reader."""
        self.job, self.entry, self.peak = job, entry, 0
        self._started, self.begun = time.monotonic(), 0.0
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(_line(job))
            self._process.stdin.flush()

    def overrun(self) -> tuple[str, str] | None:
        """The status and reason, if the job has passed one of its limits."""
        if self.job is None:
            return None
        limits = self.job["limits"]
        seconds = float("inf") if limits["seconds"] is None else limits["seconds"]
        if self.begun and self.seconds > seconds:
            return "timeout", f"The fit was stopped at its time limit of {seconds:g} s."
        if not self.begun and self.seconds > (longest := max(seconds, _PREPARE_LIMIT)):
            return "timeout", f"Loading the data took more than {longest:g} s."
        self.peak = max(self.peak, tree_bytes(self.pid))
        if limits["bytes"] is not None and self.peak > limits["bytes"]:
            return "memory", (
                f"The fit was stopped at {self.peak / 2**30:.2f} GB of memory, its child "
                f"processes included; its limit is {limits['bytes'] / 2**30:.2f} GB."
            )
        return None

    @property
    def seconds(self) -> float:
        """Seconds since the fit began, or since the job was given."""
        return time.monotonic() - (self.begun or self._started)

    def exit_reason(self) -> str:
        """Why the process ended, as far as it left word."""
        self._kill_tree()
        code = self._process.wait()
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 600))
        words = self._errors.read().decode("utf-8", "replace").strip()
        how = f"signal {-code}" if code < 0 else f"code {code}"
        return f"The worker process ended with {how}." + (f" It said: {words}" if words else "")

    def _kill_tree(self) -> None:
        if os.name != "posix":
            self._process.kill()
        elif self._process.returncode is None:  # not waited for, so the number is still its own
            for process in [*process_tree(self.pid)[1:], self.pid]:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End the process and all that it has started now, whatever they are doing."""
        self._kill_tree()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()


class Pool:
    """Several workers, replaced when they die.

    ``target`` is the ``"module:name"`` of what a worker calls once without arguments to get its
    work: a function of a job and of a function ``begin()``, which starts the job's time. It
    returns the answer. Jobs and answers are dicts of JSON values; a job has
    ``"limits": {"seconds": …, "bytes": …}``, each a number or None.
    """

    def __init__(self, size: int, threads: int = 1, target: str = _CELLS) -> None:
        self.threads, self.target = threads, target
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self._guard: subprocess.Popen | None = None
        if os.name == "posix":
            given: dict[str, Any] = {"stdin": subprocess.PIPE, "text": True}
            command = [sys.executable, "-I", "-S", "-c", _GUARD]
            self._guard = subprocess.Popen(command, start_new_session=True, **given)
        self.workers = [self._worker() for _ in range(size)]

    def _worker(self) -> Worker:
        worker = Worker(self.events, self.target, self.threads)
        self._tell_guard(worker.pid)
        return worker

    def _tell_guard(self, number: int) -> None:
        if self._guard is not None and self._guard.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._guard.stdin.write(f"{number}\n")
                self._guard.stdin.flush()

    def run(self, queue: deque[Any], job: Callable[[Any], dict[str, Any]]) -> Answers:
        """Do what is in a queue, from its left; yield each entry with its answer as it comes.

        ``job`` makes the message of an entry. The caller may change the queue meanwhile.
        """
        while queue or any(worker.job is not None for worker in self.workers):
            for worker in self.workers:
                if queue and worker.job is None:
                    entry = queue.popleft()
                    worker.submit(job(entry), entry)
            yield from self._answers()

    def _answers(self) -> Answers:
        """Wait a little; yield the entry and the answer of every job that has ended."""
        for worker, message in self._wait():
            if worker not in self.workers:
                continue  # word from a worker that has been replaced
            if message is None:
                reason = worker.exit_reason()
                if not worker.ready:
                    raise RuntimeError(f"A worker could not start. {reason}")
                yield from self._replace(worker, "crash", reason)
            elif message["event"] == "ready":
                worker.ready = True
            elif message["event"] == "begin":
                worker.begun = time.monotonic()  # the data are ready: the time of the fit starts
            else:
                yield from self._end(worker, message)
        for worker in list(self.workers):
            if (over := worker.overrun()) is not None:
                yield from self._replace(worker, *over)

    def _wait(self) -> Iterator[tuple[Worker, dict[str, Any] | None]]:
        # One by one: what a caller does not wait for stays in the queue.
        with contextlib.suppress(queue.Empty):
            yield self.events.get(timeout=_LOOK)
            while True:
                yield self.events.get_nowait()

    def _end(self, worker: Worker, answer: dict[str, Any]) -> Answers:
        had_job, worker.job = worker.job is not None, None
        answer["peak_bytes"] = max(worker.peak, answer.get("peak_bytes") or 0) or None
        if had_job:
            yield worker.entry, answer

    def _replace(self, worker: Worker, status: str, reason: str) -> Answers:
        """Another worker in its place, and the answer that it could not give."""
        answer = {"status": status, "reason": reason, "seconds": worker.seconds}
        self._stop(worker)
        self.workers[self.workers.index(worker)] = self._worker()
        yield from self._end(worker, answer)

    def _stop(self, worker: Worker) -> None:
        worker.kill()
        self._tell_guard(-worker.pid)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            self._stop(worker)
        if self._guard is not None:
            self._guard.communicate()
