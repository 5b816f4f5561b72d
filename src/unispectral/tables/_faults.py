"""What keeps a table from being clustered, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

#: What may be wrong with the values of a column, the worst first.
_FAULTS = {
    "text": "holds text, not numbers,",
    "dates": "holds dates or times, not numbers,",
    "NaN": "contains NaN, a missing value,",
    "infinity": "contains infinity",
}
_PREPARE = "turn the table into numbers with unispectral.tables.TablePreparer"
_REMEDIES = {
    **dict.fromkeys(("text", "dates"), f"{_PREPARE}, or leave these columns out"),
    "NaN": "fill these values with unispectral.tables.TablePreparer, or leave these rows out",
    "infinity": "replace these values, or leave these rows out",
}
#: Columns that a sentence names.
_MOST_COLUMNS = 3


def table_fault(X: object) -> tuple[str, str] | None:
    """Why the values of a table cannot be clustered, and what to do; None where that is not why.

    >>> table_fault([[1.0, "red"], [2.0, "blue"]])[0]
    "holds text, not numbers, in column 1 (counted from 0), for example 'red'"
    """
    found: dict[str, dict[int, Any]] = {}
    for position, values in _columns(X):
        if (fault := _column_fault(values)) is not None:
            found.setdefault(fault[0], {})[position] = fault[1]
    for kind in (kind for kind in _FAULTS if kind in found):
        problem = f"{_FAULTS[kind]} {in_columns(X, found[kind])}"
        if kind in ("text", "dates"):
            problem += f", for example {next(iter(found[kind].values())):.40}"
        return problem, _REMEDIES[kind]
    return None


def in_columns(X: Any, positions: Iterable[int]) -> str:
    """Columns of a table as a user knows them, by name or by number."""
    positions = list(positions)
    names = X.columns if _is_frame(X) else None
    listed = [str(at) if names is None else repr(names[at]) for at in positions]
    if len(listed) > _MOST_COLUMNS:
        listed[_MOST_COLUMNS:] = [f"{len(listed) - _MOST_COLUMNS} more"]
    *others, last = listed
    before = f"s {', '.join(others)} and" if others else ""
    return f"in column{before} {last}{' (counted from 0)' if names is None else ''}"


def _is_frame(X: object) -> bool:
    """Whether X is a frame of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_column"))


def _columns(X: Any) -> Iterator[tuple[int, np.ndarray]]:
    """Columns that may be wrong, by position; none of what is no table."""
    if sp.issparse(X):
        entries = X.tocoo()
        wrong = ~np.isfinite(entries.data)
        for position in np.unique(entries.coords[1][wrong]):
            yield int(position), entries.data[wrong & (entries.coords[1] == position)]
    elif _is_frame(X):
        for position in _suspects(X):
            column = X.iloc[:, position] if hasattr(X, "iloc") else X[X.columns[position]]
            # A column of categories is one of what they are.
            category = getattr(column.dtype, "name", "") == "category"
            yield position, np.asarray(column, dtype=object if category else None)
    else:
        try:
            table = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
        except (ValueError, TypeError):
            return
        if table.ndim == 2:
            yield from enumerate(table.T)


def _suspects(X: Any) -> Iterable[int]:
    """Positions of a frame's columns that may be wrong: one at a time is slow for many."""
    if not hasattr(X, "iloc"):
        return range(len(X.columns))
    kinds = np.array(
        [dtype.kind if isinstance(dtype, np.dtype) else "" for dtype in X.dtypes], "U1"
    )
    floats = np.flatnonzero(kinds == "f")
    wrong = ~np.isin(kinds, ["b", "i", "u"])
    wrong[floats] = ~np.isfinite(X.iloc[:, floats].to_numpy()).all(axis=0)
    return np.flatnonzero(wrong)


def _column_fault(values: np.ndarray) -> tuple[str, Any] | None:
    """What is wrong with a column, and the first value that is."""
    if values.dtype.kind in "SU" and len(values):
        return "text", repr(values[0].item())
    if values.dtype.kind in "Mm" and len(values):
        return "dates", str(values[0]).partition("T00:00:00")[0]
    if values.dtype.kind == "f":
        values = np.unique(values[~np.isfinite(values)])
    elif values.dtype.kind != "O":
        return None
    faults = {kind: repr(value) for value in values[::-1] if (kind := _value_fault(value))}
    return next(((kind, faults[kind]) for kind in _FAULTS if kind in faults), None)


def _value_fault(value: object) -> str | None:
    if isinstance(value, (str, bytes)):
        try:
            float(value)
        except ValueError:
            return "text"
        return None
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "NaN"
    if isinstance(value, (float, np.floating)):
        return None if np.isfinite(value) else "NaN" if np.isnan(value) else "infinity"
    timed = ("isoformat", "strftime", "total_seconds")
    dates = isinstance(value, (np.datetime64, np.timedelta64))
    return "dates" if dates or any(hasattr(value, name) for name in timed) else None
