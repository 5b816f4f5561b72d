"""What a file may ask of us: memory that exists, and no more than its own bytes can hold."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["TableError", "available_memory", "check_inflation", "check_memory", "plural"]

# Deflate, which zip, .mat and HDF5 use, cannot shrink data by more than this (RFC 1951: 258 bytes
# for two bits, in blocks); what claims to is not what it says.
_DEFLATE = 1032
_SLACK = 64 * 1024


class TableError(ValueError):
    """A table that cannot be read; its text is one sentence for the person who brought it.

    Examples
    --------
    >>> raise TableError("The file 'a.csv' is empty.")
    Traceback (most recent call last):
        ...
    unispectral.tables._limits.TableError: The file 'a.csv' is empty.
    """


def plural(number: int, word: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def available_memory() -> int | None:
    """Bytes that can still be allocated, control groups included; None where it is not known.

    Examples
    --------
    >>> memory = available_memory()
    >>> memory is None or memory > 0
    True
    """
    found = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = next(line for line in lines if line.startswith("MemAvailable:")).split()[1]
        found.append(int(kilobytes) * 1024)
    for limit, usage in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number: no limit
            found.append(int(Path(limit).read_text()) - int(Path(usage).read_text()))
    if not found:
        with contextlib.suppress(AttributeError, OSError, ValueError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(1, min(found)) if found else None


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse, before it is tried, an allocation that this machine cannot make.

    Examples
    --------
    >>> check_memory(8, "The file 'a.npy'")
    """
    available = available_memory()
    if available is not None and n_bytes > available:
        raise TableError(
            f"{what} declares {n_bytes / 2**30:,.1f} GiB of values, but {available / 2**30:,.1f} "
            "GiB of memory are free; use a part of it or a larger machine."
        )


def check_inflation(declared: int, stored: int, what: str) -> None:
    """Refuse what claims to unpack to more than its stored bytes can hold.

    Examples
    --------
    >>> check_inflation(10**6, 10**4, "The file 'a.npz'")
    """
    if declared > _DEFLATE * stored + _SLACK:
        raise TableError(
            f"{what} declares {declared:,} bytes but stores {stored:,}, which cannot be true; "
            "the file is damaged or hostile."
        )
