"""How much memory there is, and a sentence in place of being killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

_CGROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
#: Bytes that are not asked for: reading the limits would take longer than what they are for.
_SMALL = 2**20
#: Limit, use, and how the statistics call what the system would give back (versions 2 and 1).
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)

#: Settings of glibc: from which size on an array gets pages of its own, and how much of what was
#: freed is kept. The large values are those that glibc itself ends at where it may choose.
_OWN_PAGES = -3
_TRIM = -1
_LARGE = {_OWN_PAGES: 2**25, _TRIM: 2**26}


def keep_freed() -> None:
    """Let the memory of freed arrays be used again in this process.

    For the workers of a cluster, whose threads and settings make the C library give every freed
    array back at once: the system then fills each new one with zeros, page by page, which takes
    as long as the computation. Nothing happens where the C library is not glibc.
    """
    library = _glibc()
    if library is not None:
        for name, value in _LARGE.items():
            library.mallopt(name, value)


def give_back() -> None:
    """Return to the system what freed arrays have left in this process.

    For processes of our own, such as the workers of a cluster, that read blocks of files: Arrow
    keeps what it needed to read them, and threads that have ended leave behind what they had.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


@lru_cache(maxsize=1)
def _glibc() -> Any:
    try:
        library = ctypes.CDLL(None)
        if library.gnu_get_libc_version and library.mallopt:
            return library
        return None
    except (OSError, TypeError, AttributeError):
        return None


def available_memory() -> int | None:
    """Bytes that can still be allocated, container limits included; None where nobody knows.

    What is left is that of the tightest limit of this process's control group and of those
    around it, and of the process itself (``ulimit -v``).
    """
    groups = [_free_bytes(folder, *files) for files in _FILES for folder in _folders(files[0])]
    known = (_machine(), _own_limit(), *groups)
    return min((value for value in known if value is not None), default=None)


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Raise MemoryError with a sentence if ``needed`` bytes for ``what`` are not there."""
    if needed < _SMALL:
        return
    free = available_memory()
    if free is not None and needed > free:
        need = f"{what} needs about {needed / 1e9:.1f} GB"
        raise MemoryError(f"{need} and {free / 1e9:.1f} GB are available; {remedy}.")


def _own_limit() -> int | None:
    """What is left of the addresses that this process may use; None where there is no limit."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(most - pages * os.sysconf("SC_PAGE_SIZE"), 0)
    except (ImportError, OSError, ValueError, IndexError, AttributeError):
        return None


def _machine() -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _folders(limit: str) -> Iterator[Path]:
    """Folders of control groups from our own up to the root, for one version of them."""
    version_2 = limit == "memory.max"
    if version_2:
        root = _CGROUPS
    else:
        root = _CGROUPS / "memory"
    yield root
    try:
        lines = _OWN.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "" if version_2 else "memory" in controllers.split(","):
            names = [name for name in path.split("/") if name not in ("", "..")]
            for depth in range(1, len(names) + 1):
                yield root.joinpath(*names[:depth])


def _free_bytes(folder: Path, limit: str, used: str, cache: str) -> int | None:
    try:
        most = int((folder / limit).read_text())  # "max" is no number: no limit
        left = most - int((folder / used).read_text())
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError, ValueError):
        lines = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        left += sum(int(value) for name, value in lines if name == cache)
    return max(left, 0)
