"""Measuring and limiting the memory of a process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

__all__ = ["limit_growth", "peak_bytes", "reset_peak", "resident_bytes"]

_LINUX = sys.platform == "linux"


def _status(field: str, process: str = "self") -> int | None:
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as stream:
            for line in stream:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def resident_bytes(process: int) -> int | None:
    """Resident memory of a process, or None where it cannot be told."""
    if _LINUX:
        try:
            with open(f"/proc/{process}/statm", encoding="ascii") as stream:
                return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return None
    try:
        import psutil

        return int(psutil.Process(process).memory_info().rss)
    except Exception:  # psutil absent, or the process is gone
        return None


def reset_peak() -> None:
    """Start the measurement of the peak anew, where the system can."""
    if _LINUX:
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")


def peak_bytes() -> int:
    """Peak resident memory of this process since :func:`reset_peak`."""
    if _LINUX and (peak := _status("VmHWM")) is not None:
        return peak
    try:
        import resource
    except ImportError:
        return resident_bytes(os.getpid()) or 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextlib.contextmanager
def limit_growth(limit: float | None) -> Iterator[None]:
    """Make allocations beyond a limit of memory fail inside the block, where the system can.

    The parent looks at the resident memory twenty times a second and kills what is above the
    limit; this refuses the single huge allocation that would bring the machine down in between.
    """
    if limit is None or not _LINUX:
        yield
        return
    import resource

    data, resident = _status("VmData") or 0, _status("RssAnon") or 0
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = int(limit) + max(0, data - resident)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
