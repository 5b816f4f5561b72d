"""Results as files: CSV, TSV, JSON or Parquet, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unispectral._compat import optional
from unispectral._files import atomic_path, write_text_atomic

__all__ = ["write_table"]

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}


def write_table(
    path: str | os.PathLike[str],
    columns: Mapping[str, ArrayLike],
    format: str | None = None,
) -> None:
    """Write named columns of equal length.

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
    >>> write_table("-", {"row": ["a", "b"], "cluster": [0, 1]})
    row,cluster
    a,0
    b,1
    """
    chosen = format or ("csv" if path == "-" else _FORMATS.get(Path(path).suffix.lower()))
    if chosen not in set(_FORMATS.values()):
        raise ValueError(
            f"format must be one of csv, tsv, json, parquet, but is {chosen!r} for {str(path)!r}."
        )
    arrays = _checked(columns)
    if chosen == "parquet":
        _write_parquet(path, arrays)
        return
    text = _as_json(arrays) if chosen == "json" else _as_csv(arrays, "\t,"[chosen == "csv"])
    if path == "-":
        sys.stdout.write(text)
    else:
        write_text_atomic(path, text)


def _checked(columns: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    if not columns:
        raise ValueError("columns is empty; a table needs at least one column.")
    arrays = {str(name): np.asarray(values) for name, values in columns.items()}
    lengths = {name: array.shape for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) != 1:
        raise ValueError(f"columns must be lists of one length, but their shapes are {lengths}.")
    return arrays


def _plain(array: np.ndarray) -> list[Any]:
    values = array.tolist()
    if array.dtype.kind in "fO":
        return [None if isinstance(v, float) and not np.isfinite(v) else v for v in values]
    return values


def _rows(arrays: dict[str, np.ndarray]) -> zip[tuple[Any, ...]]:
    return zip(*(_plain(array) for array in arrays.values()), strict=True)


def _as_csv(arrays: dict[str, np.ndarray], separator: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(_rows(arrays))
    return text.getvalue()


def _as_json(arrays: dict[str, np.ndarray]) -> str:
    records = [dict(zip(arrays, row, strict=True)) for row in _rows(arrays)]
    return json.dumps(records, ensure_ascii=False, indent=1, default=str) + "\n"


def _write_parquet(path: str | os.PathLike[str], arrays: dict[str, np.ndarray]) -> None:
    if path == "-":
        raise ValueError("Parquet cannot be written to standard output; name a file.")
    pyarrow = optional("pyarrow", extra="io")
    parquet = optional("pyarrow.parquet", extra="io")
    table = pyarrow.table({name: pyarrow.array(array.tolist()) for name, array in arrays.items()})
    with atomic_path(path) as temporary:
        parquet.write_table(table, temporary)
