"""What a file may ask of us: memory that exists, and no more than its own bytes can hold."""

from __future__ import annotations

from unispectral import _memory

__all__ = ["TableError", "check_inflation", "check_memory", "plural"]

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


def check_memory(n_bytes: int, what: str) -> None:
    """Refuse, before it is tried, an allocation that this machine cannot make.

    Examples
    --------
    >>> check_memory(8, "The file 'a.npy'")
    """
    available = _memory.available_memory()
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
