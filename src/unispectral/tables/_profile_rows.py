"""What the rows of a table show: repeated ones, nearly empty ones, totals at the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._compat import optional
from unispectral.tables._columns import Plan, Reading, column_values, texts_of

if TYPE_CHECKING:
    import pandas as pd

#: Rows at the end among which totals are sought.
_LAST = 3
#: Rows with so large a part missing are nearly empty.
_EMPTY = 0.5
_LEAST_UNITS = 2
_TOTAL = re.compile(
    r"(?:grand |sub|over)?-?\s*(?:total|totals|sum|summe|gesamt|gesamtsumme|insgesamt|"
    r"average|mean|mittel|mittelwert|durchschnitt|overall|all)\b\W*(?:\w+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RowProfile:
    """What is odd about the rows of a table.

    Attributes
    ----------
    n : int
        Number of rows.
    duplicates : int
        Rows that repeat an earlier one in every column but the names of rows.
    nearly_empty : tuple of int
        Positions of rows in which more than half of the columns in use are missing.
    totals : tuple of int
        Positions of rows that are the sums, or means, of those above, and are called so.
    perhaps_totals : tuple of int
        Positions of rows that are called so, and are not.
    """

    n: int
    duplicates: int = 0
    nearly_empty: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()
    perhaps_totals: tuple[int, ...] = ()


def profile_rows(
    frame: pd.DataFrame, columns: Sequence[Any], readings: Sequence[Reading]
) -> RowProfile:
    """Look at the rows of a table whose columns are known."""
    n = len(frame)
    used = [at for at, column in enumerate(columns) if column.role == "use"]
    others = [at for at, column in enumerate(columns) if column.role != "id"]
    empty: tuple[int, ...] = ()
    if len(used) > 1:
        gaps = np.zeros(n)
        for at in used:
            values = readings[at].values
            gaps += frame.iloc[:, at].isna().to_numpy() if values is None else np.isnan(values)
        empty = tuple(np.flatnonzero(gaps > _EMPTY * len(used)).tolist())
    numbers = [reading.values for reading in readings if reading.values is not None]
    totals, perhaps = find_totals(frame, numbers)
    return RowProfile(n, _duplicates(frame, others), empty, totals, perhaps)


def _duplicates(frame: pd.DataFrame, others: list[int]) -> int:
    """Rows that repeat an earlier one."""
    if not others:
        return 0
    part = frame.iloc[:, others]
    try:
        return int(part.duplicated().sum())
    except TypeError:  # lists and the like in cells
        return int(part.astype(str).duplicated().sum())


def count_empty_end(frame: pd.DataFrame) -> int:
    """How many rows at the end have no value at all, nor a name.

    >>> import pandas as pd
    >>> count_empty_end(pd.DataFrame({"x": [1, None, 2, None, None], "y": ["a", "", "", "", ""]}))
    2
    """
    if not _are_empty(frame.iloc[-1:]).all():
        return 0
    filled = np.flatnonzero(~_are_empty(frame))
    return len(frame) - 1 - int(filled[-1]) if len(filled) else 0


def _are_empty(frame: pd.DataFrame) -> np.ndarray:
    empty = (frame.isna() | frame.eq("")).to_numpy().all(axis=1)
    names = frame.index
    counting = optional("pandas", extra="io").RangeIndex
    if isinstance(names, counting):
        return empty
    return empty & np.asarray(names.isna() | (names == ""))


def find_units(frame: pd.DataFrame, plans: Sequence[Plan]) -> list[str]:
    """Units, or more names, in the first row: text in all columns of numbers, found there only.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"weight": ["(kg)", "70", "81"], "height": ["cm", "170", "181"]})
    >>> number = {"kind": "number", "decimal": "."}
    >>> find_units(frame, [{"name": "weight", **number}, {"name": "height", **number}])
    ['(kg)', 'cm']
    """
    numbers = [plan for plan in plans if plan["kind"] == "number"]
    units = []
    for plan in numbers:
        column = frame[plan["name"]]
        first = texts_of(column.iloc[:1])[0]
        if first is None or not np.isnan(column_values(plan, column.iloc[:1], None)).all():
            return []
        if (column.iloc[1:] == column.iloc[0]).any():
            return []
        units.append(first)
    return units if len(units) >= _LEAST_UNITS else []


def find_totals(
    frame: pd.DataFrame, numbers: Sequence[np.ndarray]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows at the end that are called total; those whose numbers are sums or means, and others.

    Parameters
    ----------
    frame : DataFrame
    numbers : sequence of ndarray
        Its columns of numbers, NaN where missing.
    """
    pandas = optional("pandas", extra="io")
    n = len(frame)
    last = range(max(1, n - _LAST), n)
    called = set()
    for column in (frame.index.to_series(), *(frame.iloc[:, at] for at in range(frame.shape[1]))):
        if pandas.api.types.is_numeric_dtype(column) or column.dtype.kind in "mM":
            continue
        texts = zip(last, texts_of(column.iloc[last.start :]), strict=True)
        found = {row: text for row, text in texts if text is not None and _TOTAL.fullmatch(text)}
        if found:
            above = set(texts_of(column.iloc[: last.start]))
            called |= {row for row, text in found.items() if text not in above}
    if not called:
        return (), ()
    first = min(called)
    sure = []
    for row in sorted(called):
        right = wrong = 0
        for values in numbers:
            above_values = values[:first]
            told = values[row]
            if np.isnan(told) or np.isnan(above_values).all():
                continue
            known = np.array([np.nansum(above_values), np.nanmean(above_values)])
            close = np.abs(known - told) <= 0.005 * np.maximum(np.abs(known), 1.0)
            right += bool(close.any())
            wrong += not close.any()
        if right and right >= wrong:
            sure.append(row)
    return tuple(sure), tuple(sorted(called - set(sure)))
