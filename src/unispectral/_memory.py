"""How much memory there is, and a sentence in place of being killed."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory", "require_memory"]

_CGROUP_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_memory() -> int | None:
    """Bytes that can still be allocated, container limits included; None where nobody knows.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or free > 0
    True
    """
    found = [value for value in (_machine(), *map(_cgroup, _CGROUP_LIMITS)) if value is not None]
    return min(found) if found else None


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Raise MemoryError with a sentence if ``needed`` bytes are not there.

    Parameters
    ----------
    needed : float
        Bytes about to be allocated.
    what : str
        What they are for.
    remedy : str
        The setting that fits.

    Examples
    --------
    >>> require_memory(10, "ten bytes", "use fewer")
    """
    free = available_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} needs about {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are available; "
            f"{remedy}."
        )


def _machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _cgroup(files: tuple[str, str]) -> int | None:
    try:
        limit, used = (Path(name).read_text().strip() for name in files)
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None
