"""A user's own columns, as they are written in the file, with results behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._compat import optional
from unispectral.tables._formats import is_text, load
from unispectral.tables._source import Source, TableError, unique_names

if TYPE_CHECKING:
    import pandas as pd

#: Numbers that are the same when they are written again.
_SAME = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?")


def original_blocks(
    source: Source, *, format: str | None, key: str | None, entries: int | None, **text: Any
) -> Iterator[Any]:
    """The rows of a file as frames; cells of a text table are kept as they are written.

    Blocks have the same rows as those of :func:`unispectral.tables._read.read_blocks`.
    """
    text["as_written"] = is_text(source, format)
    for loaded in load(source, format, key, (None, None), text, entries):
        if loaded.frame is None:
            problem = "has a matrix and no columns to append to"
            raise TableError(source.name, problem, "leave --append out")
        named = loaded.index is not None
        yield loaded.frame.reset_index() if named else loaded.frame


def append_columns(
    frame: pd.DataFrame, rows: np.ndarray | None, found: Mapping[str, Any], *, numbers: bool
) -> dict[str, Any]:
    """All columns of a frame, and results behind them; rows that were left out have none.

    Parameters
    ----------
    frame : DataFrame
    rows : ndarray or None
        Positions of the rows that the results are of; None for all.
    found : mapping of str to array
    numbers : bool
        Whether text that is a number is written as one, as a workbook should have it.

    Returns
    -------
    dict of str to list
    """
    names, _ = unique_names([*frame.columns, *found])
    columns = [_cells(frame.iloc[:, at], numbers) for at in range(frame.shape[1])]
    for values in found.values():
        whole: list[Any] = [None] * len(frame)
        places: Sequence[int] = range(len(frame)) if rows is None else rows.tolist()
        for place, value in zip(places, np.asarray(values).tolist(), strict=True):
            whole[place] = value
        columns.append(whole)
    return dict(zip(names, columns, strict=True))


def _cells(column: pd.Series, numbers: bool) -> list[Any]:
    """Values as Python has them, None where missing."""
    pandas = optional("pandas", extra="io")
    cells = column.astype(object).where(column.notna(), None).tolist()
    if column.dtype.kind == "M":
        cells = [
            cell if cell is None else pandas.Timestamp(cell).to_pydatetime() for cell in cells
        ]
    if not numbers:
        return cells
    return [_as_number(cell) if isinstance(cell, str) else cell for cell in cells]


def _as_number(text: str) -> Any:
    if not _SAME.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)
