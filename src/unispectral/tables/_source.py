"""Where a table comes from: a path, standard input or bytes at hand."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from unispectral.tables._limits import TableError

__all__ = ["Source", "as_source"]


@dataclass(frozen=True)
class Source:
    """A table's bytes under a name for messages.

    Examples
    --------
    >>> Source("standard input", None, b"a,b").head(3)
    b'a,b'
    """

    name: str
    path: Path | None
    content: bytes | None = None

    def open(self) -> IO[bytes]:
        """Open for reading from the start, as often as wanted."""
        return io.BytesIO(self.content or b"") if self.path is None else self.path.open("rb")

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(size)

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.content or b"") if self.path is None else self.path.stat().st_size

    @property
    def suffix(self) -> str:
        """Ending of the file's name in lower case, with its dot."""
        return "" if self.path is None else self.path.suffix.lower()


def as_source(source: str | os.PathLike[str] | IO[bytes] | Source) -> Source:
    """Look at what the user named; a missing or unreadable file is told in a sentence.

    Examples
    --------
    >>> as_source("missing.csv")
    Traceback (most recent call last):
        ...
    unispectral.tables._limits.TableError: There is no file 'missing.csv'.
    """
    if isinstance(source, Source):
        return source
    if source == "-":
        return Source("Standard input", None, sys.stdin.buffer.read())
    if hasattr(source, "read"):
        content = source.read()
        if not isinstance(content, bytes):
            raise TypeError("source must be a path, '-' or a file opened in binary mode ('rb').")
        return Source(str(getattr(source, "name", "The open file")), None, content)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            f"source must be a path, '-' or a file opened in binary mode, not {type(source)!r}."
        )
    path = Path(source)
    try:
        if path.is_dir():
            raise TableError(f"{str(path)!r} is a folder; name a file in it.")
        if not path.exists():
            raise TableError(f"There is no file {str(path)!r}.")
        if not path.is_file():  # a pipe such as /dev/stdin can be read once only
            return Source(f"{str(path)!r}", None, path.read_bytes())
        with path.open("rb"):
            pass
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"Cannot read {str(path)!r}: {_reason(error)}.") from error
    return Source(f"The file {path.name!r}", path)


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return text[0].lower() + text[1:]
