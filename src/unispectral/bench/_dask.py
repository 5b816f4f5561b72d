"""Cells over a Dask cluster: the same killable workers, one beside each thread of the cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from unispectral._compat import optional
from unispectral.bench._pool import Pool, run_alone

__all__ = ["DaskPool", "execute"]

_local = threading.local()


def execute(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job on this node, within its limits; the worker process is kept for the next one."""
    if not hasattr(_local, "pool"):
        _local.pool = Pool(1)
    return run_alone(_local.pool, job)


class DaskPool:
    """As many jobs at a time as a Dask cluster has threads.

    Files named by a study must be readable under the same path on every node. Results travel back
    to the runner, which alone writes the store.
    """

    def __init__(self, address: str | None) -> None:
        distributed = optional("distributed", extra="dask")
        self.client = distributed.Client(address)
        self.running: dict[Any, Any] = {}
        self.arrivals = distributed.as_completed()
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        self.threads = max(1, sum(worker["nthreads"] for worker in workers.values()))

    def idle(self) -> list[DaskPool]:
        return [self] * (self.threads - len(self.running))

    def submit(self, job: dict[str, Any], token: Any = None) -> None:
        future = self.client.submit(execute, job, pure=False, retries=3)
        self.running[future] = token
        self.arrivals.add(future)

    def answers(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        if not self.running:
            return
        for future in [next(self.arrivals), *self.arrivals.next_batch(block=False)]:
            token, error = self.running.pop(future), future.exception()
            if error is None:
                yield token, future.result()
            else:
                reason = f"The cluster lost the cell: {type(error).__name__}: {error}"
                yield token, {"status": "crash", "reason": reason}

    def close(self) -> None:
        self.client.close()
