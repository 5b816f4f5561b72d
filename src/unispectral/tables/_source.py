"""Where a table comes from, and what it may ask for: no more than its bytes and memory hold."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from unispectral import _memory
from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError

#: Columns that a sentence names.
SHOWN = 10
#: Rows of a text table or a sheet that are looked at first.
SAMPLE = 50
# Deflate, which zip, gzip, .mat and HDF5 use, cannot shrink data by more than this (RFC 1951: 258
# bytes for two bits, in blocks); what claims to is not what it says. Other codecs are held to it.
_DEFLATE = 1032
_SLACK = 64 * 1024
# Others can: what unpacks to no more than this is harmless.
_UNPACKED = 2**24
_CHUNK = 2**22
# A row takes memory of its own, too, however few values it has.
_ROWS = 65_536


# First bytes of a compressed file, the ending of its name, and what unpacks it.
_CODECS: dict[bytes, tuple[str, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": (".gz", gzip.open),
    b"BZh": (".bz2", bz2.open),
    b"\xfd7zXZ\x00": (".xz", lzma.open),
    b"\x28\xb5\x2f\xfd": (
        ".zst",
        lambda file: optional("pyarrow", extra="parquet").CompressedInputStream(file, "zstd"),
    ),
}


class TableError(InputError):
    """A table that cannot be read, or an argument that does not fit it; the text is one sentence.

    Where the file itself is at fault, ``argument`` is its name.

    Examples
    --------
    >>> raise TableError("The file 'a.csv'", "is empty")
    Traceback (most recent call last):
        ...
    unispectral.tables._source.TableError: The file 'a.csv' is empty.
    """


def block_rows(entries: int, width: int) -> int:
    """Rows of a block with about so many values, where a row has so many."""
    return max(1, min(_ROWS, entries // max(1, width)))


def listing(items: Sequence[str]) -> str:
    """Names in a sentence, the first few of which are told.

    >>> listing(["a", "b"]), listing([])
    ('a, b', 'none')
    """
    told = ", ".join(f"{item:.80}" for item in items[:SHOWN]) or "none"
    return told + (f" and {len(items) - SHOWN:,} more" if len(items) > SHOWN else "")


def unique_names(names: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Make column names present and unique; return them and what was changed.

    >>> unique_names(["a", "a", None])[0]
    ['a', 'a_2', 'column_3']
    """
    given = ["" if name is None else str(name).strip() for name in names]
    taken = set(given)
    seen: set[str] = set()
    tried: dict[str, int] = {}  # the last number of each name: many may have the same
    result, renamed = [], []
    for position, name in enumerate(given, start=1):
        stem = name or "column"
        chosen = name or f"column_{position}"
        while chosen in seen or (chosen != name and chosen in taken):
            tried[stem] = tried.get(stem, 1) + 1
            chosen = f"{stem}_{tried[stem]}"
        if name and chosen != name:
            renamed.append((name, chosen))
        seen.add(chosen)
        result.append(chosen)
    notes = [
        f"Another column is named {name!r:.60}; this one is called {chosen!r:.60}."
        for name, chosen in renamed[:SHOWN]
    ]
    if len(renamed) > SHOWN:
        notes.append(f"{len(renamed) - SHOWN:,} more columns of equal names are numbered.")
    return result, notes


@dataclass(frozen=True)
class Source:
    """A table's bytes, with a name for messages."""

    name: str
    path: Path | None = None
    content: bytes = b""
    suffix: str = ""

    def open(self) -> IO[bytes]:
        """Open for reading from the start, as often as wanted."""
        return io.BytesIO(self.content) if self.path is None else self.path.open("rb")

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(size)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.content) if self.path is None else self.path.stat().st_size

    @property
    def lower(self) -> str:
        """The name inside a sentence."""
        return self.name[0].lower() + self.name[1:]

    def part(self, what: str) -> Source:
        """The same bytes, where messages are about a part of them."""
        return replace(self, name=f"{self.name}, {what},")

    def error(self, problem: str, remedy: str = "", **more: Any) -> TableError:
        """An error about this file."""
        return TableError(self.name, problem, remedy, **more)

    @contextlib.contextmanager
    def reading(self, problem: str = "is cut short or damaged") -> Iterator[None]:
        """Turn into one sentence whatever a damaged file makes a library raise.

        Arrow, HDF5, AnnData, openpyxl and NumPy's headers keep to no kind of error.
        """
        try:
            yield
        except (TableError, ImportError):
            raise
        except MemoryError as error:
            problem = "holds more than there is memory for"
            raise self.error(problem, "use a part of it or a larger machine") from error
        except Exception as error:
            raise self.error(problem) from error

    def check_memory(self, n_bytes: int) -> None:
        """Refuse, before it is tried, an allocation that this machine cannot make."""
        free = _memory.available_memory()
        if free is not None and n_bytes > free:
            there = f"but {free / 2**30:,.1f} GiB of memory are free"
            problem = f"declares {n_bytes / 2**30:,.1f} GiB of values, {there}"
            raise self.error(problem, "use a part of it or a larger machine")

    def check_inflation(self, declared: int, stored: int, slack: int = _SLACK) -> None:
        """Refuse what claims to unpack to more than its stored bytes can hold.

        A few bytes may say that a value is repeated; what comes to no more than the slack is
        believed.
        """
        if declared > _DEFLATE * stored + slack:
            problem = f"declares {declared:,} bytes but stores {stored:,}, which cannot be true"
            raise self.error(problem, "the file is damaged or hostile")


def as_source(source: str | os.PathLike[str] | IO[bytes] | Source) -> Source:
    """Look at what the user named; unpack what is compressed."""
    if isinstance(source, Source):
        return source
    if source == "-":
        return _unpack(Source("Standard input", None, sys.stdin.buffer.read()))
    if hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, bytes):
            raise InputTypeError("source", "is a file of text", "open it in binary mode ('rb')")
        return _unpack(Source(str(getattr(source, "name", "The open file")), None, content))
    if not isinstance(source, (str, os.PathLike)):
        problem = "must be a path, '-' or a file opened in binary mode"
        raise InputTypeError("source", problem, value=source)
    path = Path(source)
    try:
        with path.open("rb") as file:  # a pipe such as /dev/stdin can be read once only
            content = b"" if path.is_file() else file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        named = Source(f"The file {str(path)!r}")
        raise named.error(f"cannot be read: {reason[0].lower()}{reason[1:]}") from error
    kept = path if path.is_file() else None
    return _unpack(Source(f"The file {path.name!r}", kept, content, path.suffix.lower()))


def _unpack(source: Source) -> Source:
    """The content of a compressed file, never more than memory holds or its bytes can mean."""
    head = source.head(6)
    codec = next((codec for magic, codec in _CODECS.items() if head.startswith(magic)), None)
    if codec is None:
        return source
    ending, unpack = codec
    content = bytearray()
    with source.reading(), source.open() as file, unpack(file) as stream:
        while chunk := stream.read(_CHUNK):
            content += chunk
            source.check_inflation(len(content), source.size, _UNPACKED)
            source.check_memory(len(content))
    stem = "" if source.path is None else source.path.name.lower().removesuffix(ending)
    return replace(source, path=None, content=bytes(content), suffix=Path(stem).suffix)
