"""Worker processes that can be stopped one by one.

joblib and concurrent.futures cannot end a single task: a fit that is stuck in compiled code would
hold its process for good, and killing that process breaks the whole pool. So the runner keeps its
own few processes. Each has one reader thread here, which turns answers and death into events of
one queue; limits are looked after by whoever reads that queue.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from unispectral.bench._environment import thread_variables
from unispectral.bench._memory import resident_bytes
from unispectral.bench._worker import read_message, write_message

__all__ = ["Pool", "Worker", "run_alone"]

#: Seconds between two looks at the memory of the workers.
_LOOK = 0.05
#: Loading data may take this long, however short the limit of a fit is.
_PREPARE_LIMIT = 900.0
_START = "import sys; sys.path[:0] = {path!r}; from unispectral.bench._worker import main; main()"


class Worker:
    """One worker process and the job it has."""

    def __init__(self, events: queue.SimpleQueue, threads: int) -> None:
        self.job: dict[str, Any] | None = None
        self.token: Any = None
        self.environment: dict[str, Any] = {}
        self.peak = 0
        self._events = events
        self._started = self._begun = 0.0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by kill
        path = [entry or os.getcwd() for entry in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=path), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **thread_variables(threads)},
            start_new_session=True,  # Ctrl-C is for the runner, which then stops the workers
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := read_message(stream)) is not None:
                self._events.put((self, message))
        self._events.put((self, None))

    def submit(self, job: dict[str, Any], token: Any = None) -> None:
        """Hand over a job; its end arrives as an event."""
        self.job, self.token, self.peak = job, token, 0
        self._started, self._begun = time.monotonic(), 0.0
        self.ask(job)

    def ask(self, message: dict[str, Any]) -> None:
        """Send a message; a dead worker announces itself through its reader."""
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError):
            write_message(stream, message)

    def begin(self) -> None:
        """The data are ready and the fit starts: so does its time."""
        self._begun = time.monotonic()

    def overrun(self) -> tuple[str, str] | None:
        """The status and reason, if the job has passed one of its limits."""
        if self.job is None:
            return None
        limits, now = self.job["limits"], time.monotonic()
        seconds = limits["seconds"]
        if self._begun and now - self._begun > seconds:
            return "timeout", f"The fit was stopped at its time limit of {seconds:g} s."
        if not self._begun and now - self._started > max(seconds, _PREPARE_LIMIT):
            return (
                "timeout",
                f"Loading the data took more than {max(seconds, _PREPARE_LIMIT):g} s.",
            )
        if limits["bytes"] is not None:
            self.peak = max(self.peak, resident_bytes(self._process.pid) or 0)
            if self.peak > limits["bytes"]:
                return "memory", (
                    f"The fit was stopped at {self.peak / 2**30:.2f} GB of resident memory; its "
                    f"limit is {limits['bytes'] / 2**30:.2f} GB."
                )
        return None

    @property
    def seconds(self) -> float:
        """Seconds since the fit began, or since the job was given."""
        return time.monotonic() - (self._begun or self._started)

    def last_words(self) -> str:
        """Why the process died, as far as it left word."""
        code = self._process.wait()
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 600))
        words = self._errors.read().decode("utf-8", "replace").strip()
        how = f"signal {-code}" if code < 0 else f"code {code}"
        return f"The worker process ended with {how}." + (f" It said: {words}" if words else "")

    def kill(self) -> None:
        """End the process now, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()
        self._errors.close()


class Pool:
    """Several workers, replaced when they die."""

    def __init__(self, size: int, threads: int) -> None:
        self.threads = threads
        self.workers: list[Worker] = []
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self.workers = [Worker(self.events, threads) for _ in range(size)]

    def check(self, study: str) -> None:
        """Raise ValueError if an estimator of a study does not exist or lacks a parameter."""
        self.workers[0].ask({"check": study})
        while True:
            for worker, message in self._wait():
                if message is None:
                    raise RuntimeError(f"A worker could not start. {worker.last_words()}")
                if message["event"] == "ready":
                    worker.environment = message["environment"]
                elif message["error"] is not None:
                    raise ValueError(message["error"])
                else:
                    return

    def idle(self) -> Iterator[Worker]:
        return (worker for worker in list(self.workers) if worker.job is None)

    def replace(self, worker: Worker) -> None:
        worker.kill()
        self.workers[self.workers.index(worker)] = Worker(self.events, self.threads)

    def answers(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Wait a little; yield the token and the answer of every job that has ended."""
        for worker, message in self._wait():
            if worker not in self.workers:
                continue  # word from a worker that has been replaced
            if message is None:
                if not worker.environment:
                    raise RuntimeError(f"A worker could not start. {worker.last_words()}")
                answer: dict[str, Any] | None = None
                if worker.job is not None:
                    answer = _failure(worker, "crash", worker.last_words())
                yield from self._end(worker, answer, dead=True)
            elif message["event"] == "ready":
                worker.environment = message["environment"]
            elif message["event"] == "begin":
                worker.begin()
            else:
                yield from self._end(worker, message)
        for worker in list(self.workers):
            if (over := worker.overrun()) is not None:
                yield from self._end(worker, _failure(worker, *over), dead=True)

    def _wait(self) -> list[tuple[Worker, dict[str, Any] | None]]:
        events = []
        with contextlib.suppress(queue.Empty):
            events.append(self.events.get(timeout=_LOOK))
            while True:
                events.append(self.events.get_nowait())
        return events

    def _end(
        self, worker: Worker, answer: dict[str, Any] | None, dead: bool = False
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        token, worker.job = worker.token, None
        if answer is not None:
            answer["environment"] = worker.environment
        if dead:
            self.replace(worker)
        if answer is not None:
            yield token, answer

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        self.workers = []

    def __del__(self) -> None:
        # A pool that a thread of a Dask worker kept ends with that thread.
        with contextlib.suppress(Exception):
            self.close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _failure(worker: Worker, status: str, reason: str) -> dict[str, Any]:
    assert worker.job is not None
    return {
        "event": "end",
        "key": worker.job["key"],
        "status": status,
        "reason": reason,
        "seconds": worker.seconds,
        "peak_bytes": worker.peak or None,
    }


def run_alone(pool: Pool, job: dict[str, Any]) -> dict[str, Any]:
    """Run one job on a pool of one worker and wait for its answer."""
    next(pool.idle()).submit(job)
    while True:
        for _, answer in pool.answers():
            return answer
