"""Cases in worker processes that may crash or hang; the case is then known, the rest goes on.

A worker does one case after another. Before the first it calls ``prepare()`` of the cases' module,
if there is one: what is imported, compiled or loaded there is no case's time.
"""

from __future__ import annotations

import importlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from robustness._results import Result
from unispectral.bench._pool import Pool

#: Processor seconds that no case may take.
_PROMPT = 10.0


class Answer(NamedTuple):
    """A case, what came of it, in words, and its processor seconds."""

    case: Any
    outcome: str
    words: str
    seconds: float


class CaseWorker:
    """What a worker process does with a job: one case of one function."""

    def __call__(self, job: dict[str, Any], begin: Callable[[], None]) -> dict[str, Any]:
        module = _prepared(job["module"])
        case = job["case"]
        if job["type"]:
            case = getattr(module, job["type"])(*case)
        begin()
        begun = time.process_time()
        outcome, words = getattr(module, job["function"])(case)
        # A lone surrogate in a message is no JSON text.
        words = words.encode("utf-8", "replace").decode()
        return {"outcome": outcome, "words": words, "seconds": time.process_time() - begun}


@lru_cache(maxsize=1)
def _prepared(name: str) -> Any:
    module = importlib.import_module(name)
    getattr(module, "prepare", lambda: None)()
    return module


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


def add_cases(
    result: Result,
    work: Callable[[Any], tuple[str, str]],
    cases: Iterable[Any],
    **options: Any,
) -> Result:
    """Run cases and count what came of them; one that takes too long is a failure."""
    slowest: tuple[float, str] = (0.0, "")
    for answer in run_cases(work, cases, **options):
        if answer.outcome == "impossible":
            continue
        outcome, words = answer.outcome, answer.words
        if answer.seconds > _PROMPT and outcome != "failed":
            outcome, words = "failed", f"{outcome} after {answer.seconds:.1f} s of processor time"
        result.add(outcome, str(answer.case), words)
        slowest = max(slowest, (answer.seconds, str(answer.case)))
    result.facts["slowest case"] = f"{slowest[0]:.2f} s of processor time: {slowest[1]}"
    return result
