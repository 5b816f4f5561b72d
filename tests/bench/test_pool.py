"""The pool with other work than cells: jobs are answered, lost or too slow, one by one."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from unispectral.bench._pool import Pool

HERE = Path(__file__).parent
FREE = {"seconds": None, "bytes": None}


def work() -> Callable[..., dict[str, Any]]:
    """What a worker asks for once; it counts the jobs it has had."""
    count = 0

    def answer(job: dict[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
        nonlocal count
        count += 1
        begin()
        if job["what"] == "hang":
            time.sleep(60)
        if job["what"] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"status": "done", "square": job["number"] ** 2, "count": count}

    return answer


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    monkeypatch.syspath_prepend(str(HERE))
    with Pool(2, target="test_pool:work") as pool:
        yield pool


def job(number: int, what: str = "square", limits: dict[str, Any] = FREE) -> dict[str, Any]:
    return {"number": number, "what": what, "limits": limits}


def run_alone(pool: Pool, job: dict[str, Any]) -> dict[str, Any]:
    return next(answer for _, answer in pool.run(deque([job]), lambda job: job))


def test_every_job_has_an_answer_whatever_becomes_of_its_worker(pool: Pool) -> None:
    jobs: list[tuple[int, dict[str, Any]]] = [(number, job(number)) for number in range(20)]
    jobs.insert(7, (100, job(0, "hang", {"seconds": 0.5, "bytes": None})))
    jobs.insert(12, (101, job(0, "die")))
    found = {entry[0]: answer for entry, answer in pool.run(deque(jobs), itemgetter(1))}
    assert [found[number].get("square") for number in range(20)] == [n**2 for n in range(20)]
    assert found[100]["reason"] == "The fit was stopped at its time limit of 0.5 s."
    assert found[101]["status"] == "crash"
    assert "signal 9" in found[101]["reason"]
    assert len(found) == 22


def test_a_worker_keeps_what_it_has_between_jobs(pool: Pool) -> None:
    answers = [run_alone(pool, job(3)) for _ in range(4)]
    assert [answer["count"] for answer in answers] == [1, 2, 3, 4]


def test_a_worker_that_cannot_start_is_an_error() -> None:
    with Pool(1, target="no_such_module:work") as pool, pytest.raises(RuntimeError, match="start"):
        run_alone(pool, job(1))
