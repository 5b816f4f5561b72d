"""Threads under control: how many, and never more than asked for."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TypeVar

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

__all__ = ["limit_blas", "map_blocks", "one_thread", "thread_count", "threads"]

T = TypeVar("T")

_count: ContextVar[int] = ContextVar("unispectral_threads", default=0)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """The libraries of this process; looking them up takes longer than a small fit."""
    return ThreadpoolController()


def limit_blas(count: int) -> AbstractContextManager:
    """At most ``count`` BLAS threads inside the context."""
    return _controller().limit(limits=count, user_api="blas")


def one_thread() -> AbstractContextManager:
    """A single thread in every numerical library: for small problems and one order of sums."""
    return _controller().limit(limits=1)


def thread_count() -> int:
    """The number of threads that compiled loops may use in this context.

    Outside :func:`threads` it is what the process may use, ``OMP_NUM_THREADS`` included.
    """
    if _count.get():
        return _count.get()
    return min(_cores(), int(os.environ.get("OMP_NUM_THREADS") or 10**6) or 1)


def _cores() -> int:
    """Cores of this process; one in a worker of a pool, whose siblings have the others."""
    return 1 if multiprocessing.current_process().daemon else cpu_count()


def _asked(n_jobs: int) -> int:
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use None or -1 for all cores, 1 for one.")
    return n_jobs if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[int]:
    """Run what follows on ``n_jobs`` threads (scikit-learn's meaning; ``None`` is all cores).

    These are the threads of :func:`map_blocks`. BLAS gets one: between the small products of a
    fit its threads wait for each other by turning in circles, which takes longer than the
    products, and the order of its additions would depend on their number.

    Examples
    --------
    >>> with threads(1) as count:
    ...     count
    1
    """
    count = _asked(n_jobs) if n_jobs is not None else thread_count()
    token = _count.set(count)
    try:
        with limit_blas(1):
            yield count
    finally:
        _count.reset(token)


def map_blocks(work: Callable[[slice], T], total: int, step: int) -> list[T]:
    """Apply ``work`` to consecutive blocks of ``range(total)`` on the threads of this context.

    Each block is worked on by one thread with one BLAS thread, so that results do not depend on
    how many threads there are. An interrupt is noticed between blocks.

    Examples
    --------
    >>> map_blocks(lambda block: block.stop - block.start, 5, 2)
    [2, 2, 1]
    """
    blocks = [slice(start, min(start + step, total)) for start in range(0, total, step)]
    count = min(thread_count(), len(blocks))
    with limit_blas(1):
        if count <= 1:
            return [work(block) for block in blocks]
        with ThreadPoolExecutor(count) as pool:
            futures = [pool.submit(work, block) for block in blocks]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
