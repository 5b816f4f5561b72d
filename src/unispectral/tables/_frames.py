"""From a frame of mixed columns to numbers: what is kept, what is left out, and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unispectral._compat import optional

__all__ = ["label_values", "number_column", "plain_columns", "row_numbers", "unique_names"]

_SAMPLE = 50
_LONGEST = 20


def unique_names(names: Iterable[Any]) -> tuple[list[str], list[str]]:
    """Make column names present and unique; return them and what was changed.

    Examples
    --------
    >>> unique_names(["a", "a", None])[0]
    ['a', 'a_2', 'column_3']
    """
    given = ["" if name is None else str(name).strip() for name in names]
    taken = set(given)
    seen: set[str] = set()
    result, notes = [], []
    for position, name in enumerate(given, start=1):
        chosen, number = name or f"column_{position}", 2
        while chosen in seen or (chosen != name and chosen in taken):
            chosen, number = f"{name or 'column'}_{number}", number + 1
        if name and chosen != name:
            notes.append(f"Another column is named {name!r}; this one is called {chosen!r}.")
        seen.add(chosen)
        result.append(chosen)
    return result, notes


def plain_columns(frame: Any) -> dict[int, tuple[np.ndarray, str]]:
    """Return the columns that NumPy holds as numbers, by position, as `number_column` would.

    Taken out in one piece: a column at a time costs minutes in tables of many thousands.

    Examples
    --------
    >>> import pandas as pd
    >>> sorted(plain_columns(pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, None]})))
    [0, 2]
    """
    found: dict[int, tuple[np.ndarray, str]] = {}
    kinds = [dtype if isinstance(dtype, np.dtype) else np.dtype(object) for dtype in frame.dtypes]
    for kept, wanted in ((np.float32, "f2 f4"), (np.float64, "? u1 u2 u4 u8 i1 i2 i4 i8 f8")):
        accepted = {np.dtype(name) for name in wanted.split()}
        where = [i for i, kind in enumerate(kinds) if kind in accepted]
        if where:
            block = frame.iloc[:, where].to_numpy(dtype=kept)
            present = ~np.isnan(block).all(axis=0)
            found.update((i, (block[:, j], "")) for j, i in enumerate(where) if present[j])
    return found


def number_column(series: Any) -> tuple[np.ndarray | None, str]:
    """Return a column as floats with NaN where missing, or None and the reason why not.

    Examples
    --------
    >>> import pandas as pd
    >>> number_column(pd.Series(["red", "blue"]))
    (None, "text, for example 'red'")
    >>> number_column(pd.Series([True, False]))[0]
    array([1., 0.])
    """
    types = optional("pandas", extra="io").api.types
    if series.isna().all():
        return None, "no value present"
    if isinstance(series.dtype, optional("pandas", extra="io").CategoricalDtype):
        return None, f"categories, {series.nunique()} different"
    if types.is_complex_dtype(series):
        return None, "complex numbers"
    if types.is_numeric_dtype(series):  # booleans count
        kept = np.float32 if series.dtype in (np.float32, np.float16) else np.float64
        return series.to_numpy(dtype=kept, na_value=np.nan), ""
    if types.is_datetime64_any_dtype(series):
        return None, "dates"
    if types.is_timedelta64_dtype(series):
        return None, "durations"
    return _from_objects(series)


def _from_objects(series: Any) -> tuple[np.ndarray | None, str]:
    pandas = optional("pandas", extra="io")
    present = series.dropna()
    if any(isinstance(value, (list, dict, tuple, set, np.ndarray)) for value in present):
        return None, "nested values"
    if any(isinstance(value, complex) for value in present):
        return None, "complex numbers"
    numbers = pandas.to_numeric(present, errors="coerce")
    wrong = present[numbers.isna()]
    if wrong.empty:
        numbers = numbers.reindex(series.index)
        return numbers.to_numpy(dtype=np.float64, na_value=np.nan), ""
    if _are_dates(present.head(_SAMPLE)):
        return None, "dates"
    example = _shorten(str(wrong.iloc[0]))
    if len(wrong) <= len(present) / 2:
        return None, f"{len(wrong)} of {len(present)} values are not numbers, as {example!r}"
    return None, f"text, for example {example!r}"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _are_dates(sample: Any) -> bool:
    pandas = optional("pandas", extra="io")
    text = sample.astype(str)
    if not text.str.contains(r"\d").all():  # names of months are words first
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = pandas.to_datetime(text, errors="coerce", format="mixed", utc=True)
        except (ValueError, TypeError, OverflowError):
            return False
    return bool(parsed.notna().all())


def label_values(values: Any, what: str) -> np.ndarray:
    """Return names or classes as integers if they are whole numbers, else as strings.

    Examples
    --------
    >>> label_values([1.0, 2.0], "truth")
    array([1, 2])
    >>> label_values(["x", "y"], "truth").tolist()
    ['x', 'y']
    """
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    array = np.ravel(array)
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all():
        return array.astype(np.int64)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    return np.array([str(value) for value in array])


def row_numbers(values: np.ndarray, columns: Sequence[str]) -> list[str]:
    """Names of columns that only count the rows, which no clustering should use.

    Examples
    --------
    >>> row_numbers(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]]), ["n", "x"])
    ['n']
    """
    if len(values) < 3:  # two rows always count up
        return []
    steps = np.all(np.diff(values, axis=0) == 1.0, axis=0)
    return [name for name, counts in zip(columns, steps, strict=True) if counts]
