"""Cases in worker processes that may crash or hang; the case is then known, the rest goes on."""

from __future__ import annotations

import importlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from unispectral.bench._pool import Pool

__all__ = ["Answer", "run_cases"]


class Answer(NamedTuple):
    """A case, what came of it, in words, and its seconds."""

    case: Any
    outcome: str
    words: str
    seconds: float


class CaseWorker:
    """What a worker process does with a job: one case of one function."""

    def __call__(self, job: dict[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
        module = importlib.import_module(job["module"])
        case = job["case"]
        if job["type"]:
            case = getattr(module, job["type"])(*case)
        begin()
        begun = time.perf_counter()
        outcome, words = getattr(module, job["function"])(case)
        # A lone surrogate in a message is no JSON text.
        words = words.encode("utf-8", "replace").decode()
        return {"outcome": outcome, "words": words, "seconds": time.perf_counter() - begun}


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
        Texts, or named tuples of JSON values that live in the module of `work`.
    workers : int
    limit : float
        Seconds that a case may take.
    """

    def job(case: Any) -> dict[str, Any]:
        return {
            "module": work.__module__,
            "function": work.__name__,
            "type": "" if isinstance(case, str) else type(case).__name__,
            "case": case,
            "limits": {"seconds": limit, "bytes": None},
        }

    with Pool(workers, target="robustness._pool:CaseWorker") as pool:
        for case, answer in pool.run(deque(cases), job):
            outcome = answer.get("outcome", "failed")
            words = answer.get("words", answer.get("reason", ""))
            yield Answer(case, outcome, words, answer["seconds"])
