"""What a file holds, and the names, classes and numbers that are chosen from it."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._errors import InputTypeError, plural
from unispectral.tables._arrays import Array
from unispectral.tables._source import SHOWN, Source, TableError

if TYPE_CHECKING:
    import pandas as pd

NO_VALUE = "no value present"
_LONG = 20  # characters of an example
_LONGEST_NUMBER = 1000  # characters; the exact value of the smallest float has 767 digits
_ENCODE = ("encode", "makes numbers of text")


@dataclass
class Loaded:
    """A file's content, or a block of its rows: a frame, or a matrix with vectors beside it."""

    source: Source
    frame: Any = None
    matrix: Array | None = None
    columns: list[str] = field(default_factory=list)
    #: Names of the rows.
    index: Any = None
    beside: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    #: Rows of the whole file, where this is a block of it and the file says so.
    total: int | None = None
    #: Decimal sign of a text table, where its numbers show it.
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.frame is not None:
            self.columns = [str(name) for name in self.frame.columns]
            self.frame = self.frame.set_axis(self.columns, axis=1)
            counting = optional("pandas", extra="io").RangeIndex
            index = self.frame.index
            counts = isinstance(index, counting) and index.name is None
            self.index = None if counts else index
        table: Any = self.matrix if self.frame is None else self.frame
        self.n_rows = table.shape[0]
        if not self.n_rows:
            raise self.source.error("has no rows")

    @property
    def names(self) -> np.ndarray | None:
        return None if self.index is None else label_values(self.index)

    def vector(self, name: str, role: str) -> np.ndarray:
        """A column, or what lies beside the matrix, as names or classes."""
        if name in self.beside:
            values = self.beside[name]
        elif name in getattr(self.index, "names", ()):
            values = self.index.get_level_values(name)
        elif name not in self.columns:
            raise TableError(role, f"is not in {self.source.lower}", self._meant(name), value=name)
        elif self.frame is not None:
            values = self.frame[name]
        else:
            column = self._matrix_of([name])
            values = column.toarray() if sp.issparse(column) else column
        if sp.issparse(values) or np.size(values) != self.n_rows:
            problem = f"has the shape {values.shape}, but there are {self.n_rows} rows"
            raise TableError(role, problem, value=name)
        if role == "truth" and (lost := int(np.sum(optional("pandas", extra="io").isna(values)))):
            problem = f"has {plural(lost, 'missing value')}"
            raise TableError(role, problem, "fill them in", value=name)
        return label_values(values)

    def _meant(self, name: str) -> str:
        known = [*self.columns, *self.beside]
        if close := difflib.get_close_matches(name, known, n=3):
            return f"perhaps {', '.join(map(repr, close))} is meant"
        more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
        return f"it has {', '.join(map(repr, known[:SHOWN]))}{more}"

    def match(
        self, asked: Sequence[str] | None, beside: Mapping[str | None, str], *, learned: bool
    ) -> list[str]:
        """The columns asked for by name or pattern, or all that are not beside, as id or truth."""
        there = dict.fromkeys(name for name in self.columns if name not in beside)
        if asked is None:
            return list(there)
        if isinstance(asked, str):
            raise InputTypeError("columns", "must be a list of names, not a string", value=asked)
        found: dict[str, None] = {}
        for name in asked:
            alike = [] if learned else fnmatch.filter(there, name)
            matches = [name] if name in there else alike
            if not matches and name in beside:
                if learned:
                    problem = "is a column that the model needs"
                    raise TableError(beside[name], problem, "name another", value=name)
                problem = f"is already the {beside[name]}"
                raise TableError("columns", problem, "leave it out of one of them", value=name)
            if not matches and learned:
                problem = f"lacks the column {name!r}, which the model needs"
                raise self.source.error(problem, self._meant(name))
            if not matches:
                problem = f"is not in {self.source.lower}"
                raise TableError("columns", problem, self._meant(name), value=name)
            found |= dict.fromkeys(matches)
        return list(found)

    def as_frame(self) -> Any:
        """The table as a frame, if need be of its numbers."""
        if self.frame is not None:
            return self.frame
        if sp.issparse(self.matrix):
            problem = "would have to look at all zeros of a sparse table"
            raise TableError("scale", problem, "use 'none' or 'unit'")
        return optional("pandas", extra="io").DataFrame(self.matrix, columns=self.columns)

    def check_known(self, name: str, option: str) -> None:
        """Refuse the name of a column that is not there."""
        if name not in self.columns:
            problem = f"is not in {self.source.lower}"
            raise TableError(option, problem, self._meant(name), value=name)

    def _matrix_of(self, names: list[str]) -> Array:
        matrix: Any = self.matrix
        if names == self.columns:
            return matrix
        position = {name: i for i, name in enumerate(self.columns)}
        return matrix[:, [position[name] for name in names]]

    def numbers(
        self, wanted: list[str], *, asked: bool
    ) -> tuple[Array, list[str], list[tuple[str, str]]]:
        """The columns that are numbers as they stand, and why others are left out."""
        if self.frame is None and wanted:
            matrix = self._matrix_of(wanted)
            dtype, full = _float_for(matrix.dtype), not sp.issparse(matrix)
            values = np.ascontiguousarray(matrix, dtype) if full else matrix.astype(dtype)
            return values, wanted, []
        kept, arrays, dropped = [], [], []
        plain = _plain_columns(self.frame, wanted) if wanted else {}
        for name in wanted:
            values, why = plain[name] if name in plain else _number_column(self.frame[name])
            if values is None and asked:
                if why != NO_VALUE:
                    problem = f"cannot be clustered: {why}"
                    raise TableError("columns", problem, value=name, switch=_ENCODE)
                values = np.full(self.n_rows, np.nan)  # filling may have been learned elsewhere
            if values is None:
                dropped.append((name, why))
            else:
                kept.append(name)
                arrays.append(values)
        if not kept:
            raise self.nothing(dropped, switch=_ENCODE if dropped else None)
        return np.column_stack(arrays), kept, dropped

    def nothing(self, dropped: list[tuple[str, str]], **more: Any) -> TableError:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in dropped[:SHOWN])
        problem = f"has no numeric column{f' ({reasons})' if reasons else ''}"
        return self.source.error(problem, **more)


def _float_for(dtype: np.dtype) -> np.dtype:
    """The type in which numbers of another type are clustered: float32 if it holds them."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _plain_columns(
    frame: pd.DataFrame, wanted: list[str]
) -> dict[str, tuple[np.ndarray | None, str]]:
    """What `_number_column` says of columns of plain numbers, all at once: there may be many."""
    there = frame if list(frame.columns) == wanted else frame[wanted]
    kinds: list[Any] = [
        dtype if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None
        for dtype in there.dtypes
    ]
    positions = [at for at, kind in enumerate(kinds) if kind is not None]
    if not positions:
        return {}
    dtype = np.result_type(*{_float_for(kinds[at]) for at in positions})
    values = there.iloc[:, positions].to_numpy(dtype=dtype)
    empty = np.isnan(values).all(axis=0)
    return {
        wanted[at]: (None, NO_VALUE) if empty[k] else (values[:, k], "")
        for k, at in enumerate(positions)
    }


def _number_column(series: pd.Series) -> tuple[np.ndarray | None, str]:
    """Return a column as floats with NaN where missing, or None and the reason why not."""
    dtype = series.dtype
    pandas = optional("pandas", extra="io")
    present = series.dropna()
    if present.empty:
        return None, NO_VALUE
    kinds = pandas.api.types
    if kinds.is_numeric_dtype(series) and not kinds.is_complex_dtype(series):
        return series.to_numpy(dtype=np.float64, na_value=np.nan), ""
    wrong = present
    if kinds.is_object_dtype(dtype) or isinstance(dtype, pandas.StringDtype):
        numbers = pandas.to_numeric(present.mask(present.map(_is_no_number)), errors="coerce")
        wrong = present[numbers.isna()]
        dtype = "text"
    if wrong.empty:
        return numbers.reindex(series.index).to_numpy(dtype=np.float64, na_value=np.nan), ""
    example = str(wrong.iloc[0])
    example = example if len(example) <= _LONG else example[: _LONG - 1] + "…"
    if len(wrong) <= len(present) / 2:
        return None, f"{len(wrong)} of {len(present)} values are not numbers, such as {example!r}"
    return None, f"{dtype}, for example {example!r}"


def _is_no_number(value: object) -> bool:
    """What pandas stumbles over, and text so long that looking at every row of it takes long."""
    if isinstance(value, str):
        return len(value) > _LONGEST_NUMBER
    return isinstance(value, (list, dict, tuple, set, np.ndarray, complex))


def label_values(values: object) -> np.ndarray:
    """Return names or classes as integers if they are whole numbers, else as strings.

    Strings stay objects: in an array of text every entry is as wide as the longest.
    """
    array = np.ravel(values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values))
    kind = array.dtype.kind
    if kind in "iub":
        return array if kind == "u" else array.astype(np.int64)
    if kind == "S":
        return _as_objects([value.decode("utf-8", "replace") for value in array.tolist()])
    if kind == "f":  # a gap makes floats of whole numbers
        whole = (np.abs(array) < 2**53) & (array == np.round(array))
        if whole.all():
            return array.astype(np.int64)
        array = np.array([int(v) if w else v for v, w in zip(array, whole, strict=True)], object)
    if kind != "U":
        array = np.where(optional("pandas", extra="io").isna(array), "", array)
    return _as_objects([str(value) for value in array])


def _as_objects(values: list[str]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
