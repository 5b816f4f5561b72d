"""Where a cell was run: versions, machine, and what of them decides a figure."""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

__all__ = ["cores", "environment", "thread_variables"]

_PACKAGES = ("unispectral", "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def cores() -> int:
    """The cores this process may use: affinity and container limits included."""
    from joblib import cpu_count

    return max(1, cpu_count())


def thread_variables(threads: int) -> dict[str, str]:
    """Environment variables that hold every numerical library to a number of threads."""
    return {name: str(threads) for name in _VARIABLES}


@lru_cache(maxsize=1)
def environment() -> dict[str, Any]:
    """Versions and machine, with nothing that names a person or a path."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "absent"
    return {
        "python": platform.python_version(),
        "versions": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory": _memory(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")),
    }


def _processor() -> str:
    if sys.platform == "linux":
        try:
            with open("/proc/cpuinfo", encoding="utf-8") as stream:
                for line in stream:
                    if line.lower().startswith("model name"):
                        return line.partition(":")[2].strip()
        except OSError:
            pass
    return platform.processor() or platform.machine()


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
