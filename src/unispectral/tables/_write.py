"""Results as files: CSV, TSV, JSON or Parquet, whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral._files import atomic_path, write_text_atomic

__all__ = ["escape_formula", "write_table"]

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}
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
    chosen = format or ("csv" if path == "-" else _FORMATS.get(Path(path).suffix.lower()))
    if chosen not in _FORMATS.values():
        problem = f"must be one of csv, tsv, json, parquet to write {str(path)!r}"
        raise InputError("format", problem, value=chosen)
    arrays = {str(name): np.asarray(values) for name, values in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays or len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        raise InputError("columns", f"must be lists of one length, not of the shapes {shapes}")
    if chosen == "parquet":
        if path == "-":
            raise InputError("path", "is standard output, which Parquet cannot use", "name a file")
        pyarrow = optional("pyarrow", extra="parquet")
        parquet = optional("pyarrow.parquet", extra="parquet")
        table = pyarrow.table({name: pyarrow.array(a.tolist()) for name, a in arrays.items()})
        with atomic_path(path) as temporary:
            parquet.write_table(table, temporary)
        return
    rows = list(zip(*map(_plain, arrays.values()), strict=True))
    if chosen == "json":
        records = [dict(zip(arrays, row, strict=True)) for row in rows]
        text = json.dumps(records, ensure_ascii=False, indent=1, default=str) + "\n"
    else:
        cells = [map(escape_formula, row) for row in (arrays, *rows)]
        # The writer quotes "\r" only if it ends its own lines so.
        lines: list[str] = []
        sink = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n")))
        csv.writer(sink, delimiter="," if chosen == "csv" else "\t").writerows(cells)
        text = "\n".join([*lines, ""])
    if path == "-":
        sys.stdout.write(text)
    else:
        write_text_atomic(path, text)


def _plain(array: np.ndarray) -> list[Any]:
    """Numbers and text as Python has them, None where a number is missing."""
    return [None if isinstance(v, float) and not np.isfinite(v) else v for v in array.tolist()]


def escape_formula(cell: Any) -> Any:
    """Text that no spreadsheet runs as a formula.

    Examples
    --------
    >>> escape_formula("=cmd|' /C calc'!A0"), escape_formula("-1.5"), escape_formula("Ulm")
    ("'=cmd|' /C calc'!A0", '-1.5', 'Ulm')
    """
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
