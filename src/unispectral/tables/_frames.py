"""From a frame of mixed columns to numbers: what is kept, what is left out, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from unispectral._compat import optional

__all__ = ["float_for", "label_values", "number_column", "row_numbers", "unique_names"]

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


def float_for(dtype: np.dtype) -> np.dtype:
    """The type in which numbers of another type are clustered: float32 if it holds them."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


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
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":  # quick, for thousands of columns
        values = series.to_numpy(dtype=float_for(dtype))
        return (values, "") if not np.isnan(values).all() else (None, "no value present")
    pandas = optional("pandas", extra="io")
    present = series.dropna()
    if present.empty:
        return None, "no value present"
    kinds = pandas.api.types
    if kinds.is_numeric_dtype(series) and not kinds.is_complex_dtype(series):
        return series.to_numpy(dtype=np.float64, na_value=np.nan), ""
    wrong = present
    if kinds.is_object_dtype(dtype) or isinstance(dtype, pandas.StringDtype):
        nested = present.map(
            lambda v: isinstance(v, (list, dict, tuple, set, np.ndarray, complex))
        )
        numbers = pandas.to_numeric(present.mask(nested), errors="coerce")
        wrong = present[numbers.isna()]
        dtype = "text"
    if wrong.empty:
        return numbers.reindex(series.index).to_numpy(dtype=np.float64, na_value=np.nan), ""
    example = str(wrong.iloc[0])
    example = example if len(example) <= _LONGEST else example[: _LONGEST - 1] + "…"
    if len(wrong) <= len(present) / 2:
        return None, f"{len(wrong)} of {len(present)} values are not numbers, such as {example!r}"
    return None, f"{dtype}, for example {example!r}"


def label_values(values: Any) -> np.ndarray:
    """Return names or classes as integers if they are whole numbers, else as strings.

    Examples
    --------
    >>> label_values([1.0, 2.0]), label_values(["x", "y"]).tolist()
    (array([1, 2]), ['x', 'y'])
    """
    array = np.ravel(values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values))
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all():
        return array.astype(np.int64)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    return np.array([str(value) for value in array])


def row_numbers(values: np.ndarray, columns: Sequence[str]) -> list[str]:
    """Names of columns that only count the rows, which no clustering should use."""
    if len(values) < 3:  # two rows always count up
        return []
    steps = np.all(np.diff(values, axis=0) == 1.0, axis=0)
    return [name for name, counts in zip(columns, steps, strict=True) if counts]
