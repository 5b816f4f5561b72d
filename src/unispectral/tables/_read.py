"""`read_table`: from whatever file a person has to numbers that can be clustered."""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral.tables._arrays import Array
from unispectral.tables._formats import Loaded, as_numbers, find_format, load
from unispectral.tables._frames import label_values, number_column, plain_columns, row_numbers
from unispectral.tables._limits import TableError, plural
from unispectral.tables._prepare import Preparation
from unispectral.tables._source import as_source

__all__ = ["Table", "read_table"]

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers read from a file, and what was done to get them.

    Attributes
    ----------
    values : ndarray or CSR array of shape (n_rows, n_columns)
        Filled and scaled as asked for, float32 or float64.
    columns : list of str
        Their names.
    index : ndarray of shape (n_rows,) or None
        Names of the rows.
    truth : ndarray of shape (n_rows,) or None
        Known classes, for scoring only.
    dropped : list of (str, str)
        Columns left out, with the reason.
    notes : list of str
        What else the reader decided, one sentence each.
    preparation : Preparation
        Filling and scaling, to be repeated on new rows.
    name : str
        Where the table comes from.

    Examples
    --------
    >>> import io
    >>> table = read_table(io.BytesIO(b"name,x,y\\na,1,2\\nb,3,4\\n"), id="name")
    >>> table.values.tolist(), table.index.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['a', 'b'])
    """

    values: Array
    columns: list[str]
    index: np.ndarray | None = None
    truth: np.ndarray | None = None
    dropped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    preparation: Preparation = field(default_factory=lambda: Preparation(()))
    name: str = ""

    def describe(self) -> list[str]:
        """Return the size, the columns left out and the notes as plain sentences.

        Examples
        --------
        >>> Table(np.zeros((2, 1)), ["x"], dropped=[("day", "dates")]).describe()
        ['2 rows, 1 column.', "Left out: 'day' (dates)."]
        """
        rows, columns = self.values.shape
        lines = [f"{plural(rows, 'row')}, {plural(columns, 'column')}."]
        if self.dropped:
            shown = ", ".join(f"{name!r} ({why})" for name, why in self.dropped[:_SHOWN])
            more = len(self.dropped) - _SHOWN
            lines.append(f"Left out: {shown}{f' and {more} more' if more > 0 else ''}.")
        return [*lines, *self.notes]


def read_table(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    format: str | None = None,
    id: str | None = None,
    truth: str | None = None,
    columns: Sequence[str] | None = None,
    impute: str | None = None,
    scale: str = "none",
    preparation: Preparation | None = None,
    key: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> Table:
    """Read a table of any common format and keep its numbers.

    Text, dates and columns without a value are left out, and listed with the reason. Nothing of
    the file is trusted: no pickle is opened, and sizes are checked before memory is taken.

    Parameters
    ----------
    source : path, ``"-"`` or binary file
        The file, or standard input.
    format : str, default=None
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"excel"``, ``"npy"``, ``"npz"``, ``"mat"``,
        ``"h5ad"`` or ``"hdf5"``; None goes by name and content.
    id : str, default=None
        Column (or variable) with the rows' names; it is not clustered.
    truth : str, default=None
        Column (or variable) with known classes; it is not clustered.
    columns : sequence of str, default=None
        Columns to keep, by name or pattern (``"pixel_*"``); None keeps all numeric ones.
    impute : {None, "mean", "median", "zero"}, default=None
        What to put in the place of missing values; None refuses them.
    scale : {"none", "standard", "minmax", "maxabs", "robust", "unit"}, default="none"
        How to scale the columns (``"unit"``: the rows).
    preparation : Preparation, default=None
        Columns, filling and scaling of an earlier table, instead of the three above.
    key : str, default=None
        Sheet of a workbook, or variable of an .npz, .mat or HDF5 file.
    separator, header, encoding : default=None
        Of text tables; None finds out.
    missing : sequence of str, default=()
        Further words that stand for a missing value in text tables, as ``"?"``.

    Returns
    -------
    Table
        The numbers and all that was decided on the way.

    Raises
    ------
    TableError
        A ValueError in one sentence: what is wrong with the file, and what helps.
    ImportError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> import io
    >>> csv = b"city,day,t,rain\\nUlm,2024-01-01,1.5,\\nBonn,2024-01-02,3.5,2\\n"
    >>> table = read_table(io.BytesIO(csv), impute="zero")
    >>> table.columns, table.dropped
    (['t', 'rain'], [('city', "text, for example 'Ulm'"), ('day', 'dates')])
    """
    if preparation is not None:
        if columns is not None or impute is not None or scale != "none":
            raise ValueError("preparation stands for columns, impute and scale; give only one.")
        columns = [_literal(name) for name in preparation.columns]
    origin = as_source(source)
    loaded = load(
        origin,
        find_format(origin, format),
        key=key,
        beside=[name for name in (id, truth) if name is not None],
        text={
            "separator": separator,
            "header": header,
            "encoding": encoding,
            "missing": missing,
        },
    )
    picked = _Picker(loaded, origin.name).pick(id, truth, columns)
    _check_finite(picked.values, picked.columns)
    ready = preparation or Preparation.fit(
        picked.values, picked.columns, impute=impute, scale=scale
    )
    return Table(
        values=ready.apply(picked.values),
        columns=picked.columns,
        index=picked.index,
        truth=picked.truth,
        dropped=picked.dropped,
        notes=picked.notes,
        preparation=ready,
        name=origin.name,
    )


def _literal(name: str) -> str:
    """Escape a name that shall not be taken as a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


class _Picker:
    """Take names, classes and numeric columns out of what a file holds."""

    def __init__(self, loaded: Loaded, name: str) -> None:
        self.loaded, self.name = loaded, name
        frame = loaded.frame
        self.columns = loaded.columns if frame is None else [str(c) for c in frame.columns]
        rows = loaded.matrix.shape[0] if loaded.matrix is not None else len(frame)
        if rows == 0:
            raise TableError(f"{name} has no rows.")
        self.n_rows = rows
        self.position = {c: i for i, c in enumerate(self.columns)}

    def pick(self, id: str | None, truth: str | None, columns: Sequence[str] | None) -> Table:
        taken = {name for name in (id, truth) if name is not None}
        index = self._index() if id is None else self._vector(id, "id")
        classes = None if truth is None else self._vector(truth, "truth")
        wanted = [c for c in self.columns if c not in taken]
        if columns is not None:
            wanted = self._match(columns, wanted)
        values, kept, dropped = self._numbers(wanted, asked=columns is not None)
        notes = list(self.loaded.notes)
        if columns is None and not sp.issparse(values) and self.loaded.frame is not None:
            notes += [
                f"Column {c!r} only counts the rows; if it is a name, say so with id."
                for c in row_numbers(values, kept)
            ]
        return Table(values, kept, index, classes, dropped, notes)

    def _index(self) -> np.ndarray | None:
        if self.loaded.index is not None:
            return label_values(self.loaded.index, "index")
        frame = self.loaded.frame
        if frame is None or isinstance(frame.index, optional("pandas", extra="io").RangeIndex):
            return None
        return label_values(frame.index, "index")

    def _vector(self, name: str, role: str) -> np.ndarray:
        frame = self.loaded.frame
        if name in self.loaded.beside:
            values = self.loaded.beside[name]
        elif name not in self.columns:
            raise TableError(self._absent(name, role))
        elif frame is not None:
            values = frame.iloc[:, self.position[name]]
        else:
            column = as_numbers(self.loaded.matrix)[:, [self.position[name]]]
            values = column.toarray() if sp.issparse(column) else column
        if sp.issparse(values) or np.size(values) != self.n_rows:
            shape = values.shape
            raise TableError(
                f"{role}={name!r} has the shape {shape}, but there are {self.n_rows} rows."
            )
        lost = int(optional("pandas", extra="io").isna(values).sum()) if _may_lack(values) else 0
        if lost and role == "truth":
            raise TableError(f"truth={name!r} has {plural(lost, 'missing value')}; fill them in.")
        return label_values(values, role)

    def _absent(self, name: str, role: str) -> str:
        known = [*self.columns, *self.loaded.beside]
        close = difflib.get_close_matches(name, known, n=3)
        if close:
            return f"{role}={name!r} is not in {self._lower()}; did you mean {_listed(close)}?"
        return f"{role}={name!r} is not in {self._lower()}, which has {_listed(known)}."

    def _lower(self) -> str:
        return self.name[0].lower() + self.name[1:]

    def _match(self, asked: Sequence[str], there: list[str]) -> list[str]:
        if isinstance(asked, str):
            raise TypeError(f"columns must be a list of names, but is the string {asked!r}.")
        found: dict[str, None] = {}
        known = set(there)
        for name in asked:
            matches = [name] if name in known else fnmatch.filter(there, name)
            if not matches:
                raise TableError(self._absent(name, "columns"))
            found.update(dict.fromkeys(matches))
        return list(found)

    def _numbers(
        self, wanted: list[str], *, asked: bool
    ) -> tuple[Array, list[str], list[tuple[str, str]]]:
        if self.loaded.matrix is not None:
            matrix = as_numbers(self.loaded.matrix)
            if wanted != self.columns:
                matrix = matrix[:, [self.position[c] for c in wanted]]
            if not wanted:
                raise TableError(f"{self.name} has no numeric column.")
            return matrix, wanted, []
        kept, arrays, dropped = [], [], []
        plain = plain_columns(self.loaded.frame)
        for name in wanted:
            at = self.position[name]
            values, why = plain.get(at) or number_column(self.loaded.frame.iloc[:, at])
            if values is None and asked and why == "no value present":
                values = np.full(self.n_rows, np.nan)  # filling may have been learned elsewhere
            if values is not None:
                kept.append(name)
                arrays.append(values)
            elif asked:
                raise TableError(f"Column {name!r} cannot be clustered: {why}.")
            else:
                dropped.append((name, why))
        if not kept:
            reasons = "; ".join(f"{n!r}: {why}" for n, why in dropped[:_SHOWN])
            listed = f" ({reasons})" if reasons else ""
            raise TableError(f"{self.name} has no numeric column{listed}.")
        return np.column_stack(arrays), kept, dropped


def _may_lack(values: Any) -> bool:
    return hasattr(values, "dtypes") or np.asarray(values).dtype.kind in "fO"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


def _check_finite(values: Array, columns: list[str]) -> None:
    full = not sp.issparse(values)
    infinite = np.isinf(values if full else values.data)
    if infinite.any():
        first = np.argwhere(infinite)[0][-1] if full else values.indices[np.argmax(infinite)]
        raise TableError(
            f"{plural(int(infinite.sum()), 'infinite value')} found, the first in column "
            f"{columns[int(first)]!r}; replace them or leave the column out."
        )
