"""Timing that can be compared: the same process, the same inputs, taken in turns."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

Task = Callable[[], Any]


@dataclass(frozen=True)
class Sample:
    """Processor seconds of every repeat and what the last one returned, or why there are none."""

    seconds: tuple[float, ...]
    outcome: Any = None
    failure: str = ""

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))


def interleaved(
    tasks: Mapping[str, Task], repeats: int, *, patience: float = float("inf")
) -> dict[str, Sample]:
    """Time tasks in turns, so that a busy moment of the machine falls on all of them.

    A first round, which pays for compilation and caches, is thrown away. A task that takes
    longer than `patience` seconds in it is not repeated: that one run is its sample. One that
    fails in it is reported with the reason.

    Examples
    --------
    >>> samples = interleaved({"sum": lambda: sum(range(10)), "no": lambda: 1 / 0}, repeats=3)
    >>> len(samples["sum"].seconds), samples["sum"].outcome
    (3, 45)
    >>> samples["no"].failure
    'ZeroDivisionError: division by zero'
    """
    samples, repeated = {}, {}
    for name, task in tasks.items():
        try:
            elapsed, outcome = timed(task)
        except Exception as error:
            samples[name] = Sample((), failure=f"{type(error).__name__}: {error}")
            continue
        samples[name] = Sample((elapsed,), outcome)
        if elapsed <= patience:
            repeated[name] = task
    rounds = [{name: timed(task) for name, task in repeated.items()} for _ in range(repeats)]
    for name in repeated if rounds else ():
        seconds = tuple(turn[name][0] for turn in rounds)
        samples[name] = Sample(seconds, rounds[-1][name][1])
    return samples


def timed(task: Task) -> tuple[float, Any]:
    """Processor seconds of one run, which other jobs hardly lengthen, and what it returned."""
    gc.collect()
    start = time.process_time()
    outcome = task()
    return time.process_time() - start, outcome


def spread(values: Any) -> dict[str, float]:
    """Median and quartiles.

    Examples
    --------
    >>> spread([1.0, 2.0, 3.0])
    {'median': 2.0, 'low': 1.5, 'high': 2.5}
    """
    low, median, high = np.percentile(values, [25, 50, 75])
    return {"median": float(median), "low": float(low), "high": float(high)}


def ratio(above: Any, below: Any) -> dict[str, float]:
    """Spread of the quotients, round by round; of medians where the rounds differ in number.

    Examples
    --------
    >>> ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    {'median': 2.0, 'low': 2.0, 'high': 2.0}
    """
    if np.size(above) == np.size(below):
        return spread(np.divide(above, below))
    return spread(np.divide(above, np.median(below)))


def machine() -> dict[str, str]:
    """What the figures depend on."""
    packages = {}
    for name in ("unispectral", "numpy", "scipy", "scikit-learn", "numba", "pyamg"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "absent"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "processor": _processor(),
        "cores": str(cores),
        "system": platform.system(),
        "python": platform.python_version(),
        **packages,
    }


def measured_on(conditions: dict[str, str]) -> str:
    """The sentence under a table that says where it was measured."""
    return (
        f"Measured on {conditions['processor']}, {conditions['cores']} cores, Python "
        f"{conditions['python']}, NumPy {conditions['numpy']}, scikit-learn "
        f"{conditions['scikit-learn']}."
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
