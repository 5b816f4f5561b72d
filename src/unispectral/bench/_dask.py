"""Cells over a Dask cluster: the same killable workers, one beside each thread of the cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from unispectral._compat import optional
from unispectral.bench._worker import checked

__all__ = ["DaskPool", "execute"]

_local = threading.local()


def execute(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job on this node, within its limits; the worker process is kept for the next one."""
    from unispectral.bench._pool import Pool, run_alone

    if not hasattr(_local, "pool"):
        _local.pool = Pool(1, threads=1)
    return run_alone(_local.pool, job)


class _Slot:
    """One thread of the cluster, as far as the queue is concerned."""

    def __init__(self, pool: DaskPool) -> None:
        self.pool = pool
        self.future: Any = None

    def submit(self, job: dict[str, Any], token: Any = None) -> None:
        self.future = self.pool.client.submit(execute, job, pure=False, retries=3)
        self.pool.running[self.future.key] = (self, token, self.future)
        self.pool.arrivals.add(self.future)


class DaskPool:
    """Slots on the threads of a Dask cluster.

    Files named by a study must be readable under the same path on every node. Results travel back
    to the runner, which alone writes the store.
    """

    def __init__(self, address: str | None) -> None:
        distributed = optional("distributed", extra="dask")
        self.client = distributed.Client(address)
        self.running: dict[str, tuple[_Slot, Any, Any]] = {}
        self.arrivals = distributed.as_completed()
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        threads = sum(worker["nthreads"] for worker in workers.values())
        self.slots = [_Slot(self) for _ in range(max(1, threads))]

    def check(self, study: str) -> None:
        """Raise ValueError if an estimator of a study does not exist or lacks a parameter."""
        answer = self.client.submit(checked, {"check": study}, pure=False).result()
        if answer["error"] is not None:
            raise ValueError(answer["error"])

    def idle(self) -> Iterator[_Slot]:
        return (slot for slot in self.slots if slot.future is None)

    def answers(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        if not self.running:
            return
        for future in [next(self.arrivals), *self.arrivals.next_batch(block=False)]:
            slot, token, _ = self.running.pop(future.key)
            slot.future = None
            error = future.exception()
            if error is None:
                yield token, future.result()
            else:
                reason = f"The cluster lost the cell: {type(error).__name__}: {error}"
                yield token, {"status": "crash", "reason": reason}

    def close(self) -> None:
        self.client.close()
