"""The machine on which cells run: its versions, its cores, and the memory that processes use."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from unispectral._errors import plural

_PACKAGES = ("unispectral", "numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")


def thread_variables(threads: int) -> dict[str, str]:
    """Environment variables that hold every numerical library to a number of threads."""
    names = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")]
    return dict.fromkeys([*names, "VECLIB_MAXIMUM_THREADS", "LOKY_MAX_CPU_COUNT"], str(threads))


def environment(threads: int) -> dict[str, str]:
    """Software and machine in words, with nothing that names a person or a path."""
    installed = []
    for package in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            installed.append(f"{package} {version(package)}")
    machine = platform.machine()
    processor = _field("/proc/cpuinfo", "model name") or platform.processor() or machine
    cores = plural(os.cpu_count() or 1, "core")
    memory = ""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory = f"{size / 2**30:.0f} GB, "
    return {
        "software": f"Python {platform.python_version()}, {', '.join(installed)}",
        "machine": f"{processor}, {cores}, {memory}{platform.system()} "
        f"{machine}, {plural(threads, 'thread')} per fit",
    }


def _field(path: str, name: str) -> str:
    """The first value of a name in a file of ``name: value`` lines, empty where there is none."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""


def _bytes(path: str, name: str) -> int:
    return 1024 * int(_field(path, name).split()[0])


def process_tree(process: int) -> list[int]:
    """A process and everything it has started, as far as Linux tells; elsewhere itself."""
    found = [process]
    for parent in found:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{thread}/children").read_text()
                found += [int(child) for child in children.split()]
    return found


def tree_bytes(process: int) -> int:
    """Memory of a process and its descendants, 0 where it cannot be known.

    Pages that several processes share count once.
    """
    processes = process_tree(process)
    if len(processes) == 1:
        file = "status"
        name = "VmRSS"
    else:
        file = "smaps_rollup"
        name = "Pss"
    total = 0
    for one in processes:
        with contextlib.suppress(ValueError, IndexError):  # it has just ended
            total += _bytes(f"/proc/{one}/{file}", name)
    return total


def reset_peak() -> None:
    """Start the measurement of the peak anew, where the system can."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")


def peak_bytes() -> int:
    """Peak resident memory of this process since :func:`reset_peak`, 0 where it is not known."""
    with contextlib.suppress(ValueError, IndexError):
        return _bytes("/proc/self/status", "VmHWM")
    return 0


@contextlib.contextmanager
def limit_growth(limit: float | None) -> Iterator[None]:
    """Make allocations beyond a limit of memory fail inside the block, where the system can.

    The parent looks at the memory twenty times a second and kills what is above the limit; this
    refuses the single huge allocation that would bring the machine down in between.
    """
    if limit is None or sys.platform != "linux":
        yield
        return
    import resource

    data, resident = (_bytes("/proc/self/status", name) for name in ("VmData", "RssAnon"))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = int(limit) + max(0, data - resident)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
