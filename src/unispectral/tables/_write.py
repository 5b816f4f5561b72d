"""Results as files: CSV, TSV, JSON, Parquet or Excel by the ending, whole or not at all.

In CSV and TSV, text that a spreadsheet would run as a formula gets an apostrophe in front: text
that begins with ``=``, ``+``, ``-``, ``@``, a tab or the end of a line, after any number of
apostrophes, and is no number. A program may take another separator than the file's own, so text
begins anew after a comma, a semicolon, a tab, a bar or the end of a line; as it may trim cells,
spaces there are none of the text. To undo it, remove one
apostrophe wherever text begins with apostrophes and one of these characters.
"""

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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unispectral._compat import optional
from unispectral._files import atomic_path
from unispectral.tables._source import TableError

Columns: TypeAlias = Mapping[str, ArrayLike]
#: Characters of a cell and rows of a sheet, at most.
_CELL, _SHEET = 32_767, 1_048_576
#: Text for standard output that is kept in memory; more goes to a temporary file.
_SPOOLED = 2**24
# Where a cell begins to be a formula, also with wide characters.
_FORMULA = re.compile(r"^ *(?='*[=+\-@\t\r\n＝＋－＠])|[,;\t|\r\n] *(?='*[=+\-@＝＋－＠])")


def write_table(path: str | os.PathLike[str], columns: Columns) -> None:
    """Write named columns of equal length.

    >>> write_table("-", {"row": ["a", "=1+2"], "cluster": [0, 1]})
    row,cluster
    a,0
    '=1+2,1
    """
    with table_writer(path) as write:
        write(columns)


@contextlib.contextmanager
def table_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Columns], None]]:
    """Give a function that writes blocks of rows; they appear when all are written.

    ``"-"`` is standard output, as CSV. JSON gets a list with one object per row; what is not
    finite becomes ``null`` there and an empty cell in CSV.
    """
    if path == "-":
        with tempfile.SpooledTemporaryFile(_SPOOLED, "w+", encoding="utf-8", newline="") as spool:
            with _text_blocks(spool, ".csv") as write:
                yield write
            spool.seek(0)
            shutil.copyfileobj(spool, sys.stdout)
        return
    ending = Path(path).suffix.lower()
    with atomic_path(path) as temporary, contextlib.ExitStack() as stack:
        if ending in (".parquet", ".pq"):
            yield stack.enter_context(_parquet_blocks(temporary))
        elif ending == ".xlsx":
            yield stack.enter_context(_excel_blocks(temporary))
        else:
            file = stack.enter_context(temporary.open("w", encoding="utf-8", newline=""))
            yield stack.enter_context(_text_blocks(file, ending))


@contextlib.contextmanager
def _parquet_blocks(path: Path) -> Iterator[Callable[[Columns], None]]:
    pyarrow = optional("pyarrow", extra="parquet")
    parquet = optional("pyarrow.parquet", extra="parquet")
    with contextlib.ExitStack() as stack:
        writer: Any = None

        def write(columns: Columns) -> None:
            nonlocal writer
            table = pyarrow.table({name: _as_list(values) for name, values in columns.items()})
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(path, table.schema))
            writer.write_table(table)

        yield write


@contextlib.contextmanager
def _excel_blocks(path: Path) -> Iterator[Callable[[Columns], None]]:
    """A workbook of one sheet; text is text there, whatever it begins with."""
    openpyxl = optional("openpyxl", extra="io")
    cell = optional("openpyxl.cell", extra="io")
    illegal = optional("openpyxl.cell.cell", extra="io").ILLEGAL_CHARACTERS_RE
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("clusters")
    written = 0

    def as_cell(value: object) -> Any:
        if not isinstance(value, str):
            aware = getattr(value, "tzinfo", None) is not None
            return str(value) if aware or isinstance(value, (list, dict)) else value
        made = cell.WriteOnlyCell(sheet, illegal.sub("", value)[:_CELL])
        made.data_type = "s"  # never a formula
        return made

    def write(columns: Columns) -> None:
        nonlocal written
        rows = list(zip(*map(_plain, columns.values()), strict=True))
        written += len(rows)
        if written >= _SHEET:
            problem = f"holds {_SHEET - 1:,} rows, and there are more"
            raise TableError("An Excel sheet", problem, "write .csv or .parquet")
        if written == len(rows):
            sheet.append(list(map(as_cell, columns)))
        for row in rows:
            sheet.append(list(map(as_cell, row)))

    yield write
    book.save(path)


@contextlib.contextmanager
def _text_blocks(file: Any, ending: str) -> Iterator[Callable[[Columns], None]]:
    begun = False
    # The writer quotes "\r" only if it ends its own lines so.
    sink = SimpleNamespace(write=lambda line: file.write(line.removesuffix("\r\n") + "\n"))
    writer = csv.writer(sink, delimiter="\t" if ending == ".tsv" else ",")

    def write(columns: Columns) -> None:
        nonlocal begun
        rows = list(zip(*map(_plain, columns.values()), strict=True))
        if ending == ".json":
            records = [dict(zip(columns, row, strict=True)) for row in rows]
            text = json.dumps(records, ensure_ascii=False, indent=1, default=str)
            file.write(("," if begun else "[") + text.removeprefix("[").removesuffix("\n]"))
        else:
            cells = rows if begun else [tuple(columns), *rows]
            writer.writerows(map(escape_formula, row) for row in cells)
        begun = True

    yield write
    if ending == ".json":
        file.write("\n]\n")


def _plain(values: ArrayLike) -> list[Any]:
    """Numbers and text as Python has them, None where a number is missing."""
    found = _as_list(values)
    return [None if isinstance(v, float) and not np.isfinite(v) else v for v in found]


def _as_list(values: Any) -> list[Any]:
    """A column as Python has it; an array made of text would be as wide as its longest entry."""
    if hasattr(values, "tolist"):
        return values.tolist()
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def escape_formula(cell: object) -> Any:
    """Text that no spreadsheet runs as a formula."""
    if not isinstance(cell, str):
        return cell
    return _FORMULA.sub(_escape_start, cell)


def _escape_start(found: re.Match[str]) -> str:
    """An apostrophe where text begins, unless all that follows is a number."""
    try:
        float(found.string[found.end() :])
    except ValueError:
        return f"{found[0]}'"
    return found[0]
