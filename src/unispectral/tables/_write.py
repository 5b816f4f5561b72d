"""Results as files: CSV, TSV, JSON or Parquet, whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral._files import atomic_path

__all__ = ["escape_formula", "table_writer", "write_table"]

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}
#: Text for standard output that is kept in memory; more goes to a temporary file.
_SPOOLED = 2**24
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # also as wide characters


def write_table(
    path: str | os.PathLike[str], columns: Mapping[str, ArrayLike], format: str | None = None
) -> None:
    """Write named columns of equal length.

    In CSV and TSV, text that a spreadsheet would run as a formula gets an apostrophe in front:
    text that begins with ``=``, ``+``, ``-``, ``@``, a tab or the end of a line, after any number
    of apostrophes, and is no number. To undo it, remove one apostrophe from text that begins with
    apostrophes and one of these characters.

    Parameters
    ----------
    path : path-like or ``"-"``
        Where to; ``"-"`` is standard output. A file appears whole or not at all.
    columns : mapping of str to array-like
        The columns. JSON gets a list with one object per row; NaN becomes ``null`` there and an
        empty cell in CSV.
    format : {"csv", "tsv", "json", "parquet"}, default=None
        None goes by the ending of the name, and is CSV on standard output.

    Examples
    --------
    >>> write_table("-", {"row": ["a", "=1+2"], "cluster": [0, 1]})
    row,cluster
    a,0
    '=1+2,1
    """
    with table_writer(path, format) as write:
        write(columns)


@contextlib.contextmanager
def table_writer(
    path: str | os.PathLike[str], format: str | None = None
) -> Iterator[Callable[[Mapping[str, ArrayLike]], None]]:
    """Give a function that writes blocks of rows; they appear when all are written.

    Parameters are those of `write_table`.
    """
    named = "csv" if path == "-" else _FORMATS.get(Path(path).suffix.lower())
    chosen = format or named
    if chosen is None or chosen not in _FORMATS.values():
        problem = f"must be one of csv, tsv, json, parquet to write {str(path)!r}"
        raise InputError("format", problem, value=chosen)
    if path == "-" and chosen == "parquet":
        raise InputError("path", "is standard output, which Parquet cannot use", "name a file")
    if path == "-":
        with tempfile.SpooledTemporaryFile(_SPOOLED, "w+", encoding="utf-8", newline="") as spool:
            with _text_blocks(spool, chosen) as write:
                yield lambda columns: write(_checked(columns))
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout)
        return
    with atomic_path(path) as temporary, contextlib.ExitStack() as stack:
        if chosen == "parquet":
            write = stack.enter_context(_parquet_blocks(temporary))
        else:
            file = stack.enter_context(temporary.open("w", encoding="utf-8", newline=""))
            write = stack.enter_context(_text_blocks(file, chosen))
        yield lambda columns: write(_checked(columns))


def _checked(columns: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    arrays = {str(name): np.asarray(values) for name, values in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays or len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        raise InputError("columns", f"must be lists of one length, not of the shapes {shapes}")
    return arrays


@contextlib.contextmanager
def _parquet_blocks(path: Path) -> Iterator[Callable[[dict[str, np.ndarray]], None]]:
    pyarrow = optional("pyarrow", extra="parquet")
    parquet = optional("pyarrow.parquet", extra="parquet")
    with contextlib.ExitStack() as stack:
        writer: Any = None

        def write(arrays: dict[str, np.ndarray]) -> None:
            nonlocal writer
            table = pyarrow.table({name: pyarrow.array(a.tolist()) for name, a in arrays.items()})
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(path, table.schema))
            writer.write_table(table)

        yield write


@contextlib.contextmanager
def _text_blocks(file: Any, format: str) -> Iterator[Callable[[dict[str, np.ndarray]], None]]:
    begun = False
    # The writer quotes "\r" only if it ends its own lines so.
    sink = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + "\n"))
    writer = csv.writer(sink, delimiter="\t" if format == "tsv" else ",")

    def write(arrays: dict[str, np.ndarray]) -> None:
        nonlocal begun
        rows = list(zip(*map(_plain, arrays.values()), strict=True))
        if format == "json":
            if not rows:
                return
            records = [dict(zip(arrays, row, strict=True)) for row in rows]
            text = json.dumps(records, ensure_ascii=False, indent=1, default=str)
            file.write(("," if begun else "[") + text.removeprefix("[").removesuffix("\n]"))
        else:
            cells = rows if begun else [tuple(arrays), *rows]
            writer.writerows(map(escape_formula, row) for row in cells)
        begun = True

    yield write
    if format == "json":
        file.write("\n]\n" if begun else "[]\n")


def _plain(array: np.ndarray) -> list[Any]:
    """Numbers and text as Python has them, None where a number is missing."""
    return [None if isinstance(v, float) and not np.isfinite(v) else v for v in array.tolist()]


def escape_formula(cell: Any) -> Any:
    """Text that no spreadsheet runs as a formula."""
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
