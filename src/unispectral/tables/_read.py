"""`read_table`: from whatever file a person has to numbers that can be clustered."""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral.tables._arrays import Array
from unispectral.tables._encode import column_names, decide, left_out, made, used
from unispectral.tables._encode import encode as encode_columns
from unispectral.tables._formats import Loaded, find_format, load
from unispectral.tables._prepare import Preparation, infinite_values, missing_values
from unispectral.tables._source import Source, TableError, as_source, plural

__all__ = ["MixedColumnError", "Table", "read_blocks", "read_table"]

_SHOWN = 10
_LONG = 20  # example
_NO_VALUE = "no value present"
_ENCODE = ("encode", "makes numbers of text")


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
    preparation : object
        Filling and scaling, to be repeated on new rows with ``read_table(…, preparation=…)``.
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
        """Return the size, the columns left out and the notes as plain sentences."""
        rows, columns = self.values.shape
        lines = [f"{plural(rows, 'row')}, {plural(columns, 'column')}."]
        if self.dropped:
            shown = ", ".join(f"{name!r} ({why})" for name, why in self.dropped[:_SHOWN])
            more = len(self.dropped) - _SHOWN
            lines.append(f"Left out: {shown}{f' and {more} more' if more > 0 else ''}.")
        return [*lines, *self.notes]


def read_table(
    source: str | os.PathLike[str] | IO[bytes] | Source,
    *,
    format: str | None = None,
    id: str | None = None,
    truth: str | None = None,
    columns: Sequence[str] | None = None,
    encode: bool = False,
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

    Text, dates and columns without a value are left out, and listed with the reason; with
    ``encode`` text is made numbers of where that is possible. Nothing of the file is trusted: no
    pickle is opened, and sizes are checked before memory is taken.

    Parameters
    ----------
    source : path, ``"-"`` or binary file
        The file, or standard input; may be compressed with gzip, bzip2, xz or zstd.
    format : str, default=None
        ``"csv"``, ``"tsv"``, ``"parquet"``, ``"excel"``, ``"npy"``, ``"npz"``, ``"mat"``,
        ``"h5ad"`` or ``"hdf5"``; None goes by name and content.
    id : str, default=None
        Column (or variable) with the rows' names; it is not clustered.
    truth : str, default=None
        Column (or variable) with known classes; it is not clustered.
    columns : sequence of str, default=None
        Columns to keep, by name or pattern (``"pixel_*"``); None keeps all numeric ones.
    encode : bool, default=False
        Make numbers of text, as :class:`TablePreparer` does; missing values are then filled in.
    impute : {None, "mean", "median", "zero"}, default=None
        What to put in the place of missing values; None refuses them, or is the median with
        ``encode``.
    scale : {"none", "standard", "unit"}, default="none"
        How to scale the columns (``"unit"``: the rows).
    preparation : object, default=None
        The ``preparation`` of an earlier table, instead of the four above.
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
    >>> csv = b"city,t,rain\\nUlm,1.5,\\nBonn,3.5,2\\n"
    >>> table = read_table(io.BytesIO(csv), impute="zero")
    >>> table.columns, table.dropped
    (['t', 'rain'], [('city', "text, for example 'Ulm'")])
    """
    if preparation is not None and (columns is not None or encode or impute or scale != "none"):
        problem = "replaces columns, encode, impute and scale"
        raise InputError("preparation", problem, "give only one")
    origin = as_source(source)
    text = {"separator": separator, "header": header, "encoding": encoding, "missing": missing}
    beside = [name for name in (id, truth) if name is not None]
    loaded = next(load(origin, find_format(origin, format), key, beside, text))
    choices: dict[str, Any] = {"columns": columns, "encode": encode, "impute": impute}
    choices |= {"scale": scale, "preparation": preparation}
    return _prepared(loaded, origin, id=id, truth=truth, **choices)


class MixedColumnError(Exception):
    """A column whose blocks, each on its own, would not be read as the column is as a whole."""


def read_blocks(
    source: str | os.PathLike[str] | IO[bytes] | Source,
    preparations: Sequence[Preparation],
    *,
    entries: int | None,
    id: str | None = None,
    truth: str | None = None,
    format: str | None = None,
    key: str | None = None,
    **text: Any,
) -> Iterator[tuple[list[Table], int | None]]:
    """New rows in blocks of about so many values, made ready in one way or in several.

    None reads all rows at once. With each block comes the number of rows of the file, where the
    file says so.
    """
    origin = as_source(source)
    beside = [name for name in (id, truth) if name is not None]
    kinds: dict[str, Any] = {}
    blocks = load(origin, find_format(origin, format), key, beside, text, entries)
    for number, loaded in enumerate(blocks):
        if number:  # what is said of the file is said once
            loaded = replace(loaded, notes=[])
        if loaded.frame is not None:
            _check_kinds(loaded.frame, kinds, preparations, beside)
        given: dict[str, Any] = {"id": id, "truth": truth}
        yield (
            [_prepared(loaded, origin, **given, preparation=p) for p in preparations],
            loaded.total,
        )


def _check_kinds(
    frame: Any, kinds: dict[str, Any], preparations: Sequence[Preparation], beside: list[str]
) -> None:
    """Text among numbers makes text of a whole column; blocks without it would be numbers."""
    pandas = optional("pandas", extra="io")
    infer = pandas.api.types.infer_dtype
    found: dict[str, Any] = {}
    for name in {name for ready in preparations for name in _sources(ready)} & set(frame.columns):
        if frame[name].notna().any():  # an empty block is read in one way whatever is around it
            kind = infer(frame[name])
            found[name] = "number" if kind in ("integer", "floating") else kind
    names = {name: frame[name] for name in beside if name in frame}
    if not isinstance(frame.index, pandas.RangeIndex):
        names[""] = frame.index
    for name, values in names.items():
        found[name] = infer(values), _label_values(values).dtype.kind
    for name, kind in found.items():
        if kinds.setdefault(name, kind) != kind:
            raise MixedColumnError(name)


def _sources(ready: Preparation) -> Sequence[str]:
    """The columns of a file that those of a preparation are made of."""
    if ready.encoding is None:
        return ready.columns
    return [plan["name"] for plan in used(ready.encoding)]


def _prepared(
    loaded: Loaded,
    origin: Source,
    *,
    id: str | None,
    truth: str | None,
    columns: Sequence[str] | None = None,
    encode: bool = False,
    impute: str | None = None,
    scale: str = "none",
    preparation: Preparation | None = None,
) -> Table:
    """What a file holds, or a block of it, as `read_table` returns it."""
    learned, plans = preparation is not None, None
    if preparation is not None:
        plans, columns = preparation.encoding, _sources(preparation)
    held = _Held(loaded, origin, learned)
    index = held.index() if id is None else held.vector(id, "id")
    classes = None if truth is None else held.vector(truth, "truth")
    wanted = held.match(columns, (id, truth))
    notes, dropped = list(loaded.notes), []
    if held.frame is not None and (encode or plans is not None):
        impute, frame = impute or "median", held.frame[wanted]
        plans = decide(frame, impute=impute) if plans is None else plans
        if not used(plans):
            raise held.nothing(left_out(plans))
        values, odd = encode_columns(frame, plans)
        kept = column_names(plans)
        if not learned:
            dropped, odd = left_out(plans), [*made(plans), *odd]
        notes += odd
    else:
        values, kept, dropped = held.numbers(wanted, asked=columns is not None)
    if columns is None and held.frame is not None:
        notes += [
            f"Column {name!r} only numbers the rows; if it is their name, give it as the id."
            for name in _row_numbers(values, kept)
        ]
    if endless := infinite_values(values, kept):
        raise origin.error(f"has {endless}", "replace them or leave the column out")
    choices: dict[str, Any] = {"impute": impute, "scale": scale, "encoding": plans}
    ready = preparation or Preparation.fit(values, kept, **choices)
    if ready.fill is None and (lacking := missing_values(values, kept)):
        if learned:
            problem = f"has {lacking}, and no imputation was learned"
            raise TableError("The table", problem, "fill them in")
        remedy = "choose 'mean', 'median' or 'zero', or leave these columns out"
        text = ", ".join([repr(name) for name, why in dropped if why != _NO_VALUE][:_SHOWN])
        switch = ("encode", f"fills them and makes numbers of text, too: {text}") if text else None
        raise TableError("impute", f"must be given: {lacking}", remedy, switch=switch)
    values = ready.apply(values)
    return Table(values, kept, index, classes, dropped, notes, ready, origin.name)


class _Held:
    """What a file holds, from which names, classes and numeric columns are taken."""

    def __init__(self, loaded: Loaded, origin: Source, learned: bool) -> None:
        self.loaded, self.origin, self.learned = loaded, origin, learned
        self.columns, self.frame = loaded.columns, loaded.frame
        self.matrix: Any = loaded.matrix
        held: Any = self.matrix if self.frame is None else self.frame
        self.n_rows = held.shape[0]
        if not self.n_rows:
            raise origin.error("has no rows")
        if self.frame is None:
            kept = _float_for(held.dtype)
            full = not sp.issparse(held)
            self.matrix = np.ascontiguousarray(held, kept) if full else held.astype(kept)
        else:
            self.columns = [str(name) for name in held.columns]
            self.frame = held.set_axis(self.columns, axis=1)
        self.position = {name: i for i, name in enumerate(self.columns)}

    def index(self) -> np.ndarray | None:
        index = self.loaded.index if self.frame is None else self.frame.index
        counting = optional("pandas", extra="io").RangeIndex
        if index is None or (isinstance(index, counting) and index.name is None):
            return None
        return _label_values(index)

    def vector(self, name: str, role: str) -> np.ndarray:
        if name in self.loaded.beside:
            values = self.loaded.beside[name]
        elif name not in self.position:
            raise self._absent(name, role)
        elif self.frame is not None:
            values = self.frame[name]
        else:
            column = self.matrix[:, [self.position[name]]]
            values = column.toarray() if sp.issparse(column) else column
        if sp.issparse(values) or np.size(values) != self.n_rows:
            problem = f"has the shape {values.shape}, but there are {self.n_rows} rows"
            raise TableError(role, problem, value=name)
        if role == "truth" and (lost := int(np.sum(optional("pandas", extra="io").isna(values)))):
            problem = f"has {plural(lost, 'missing value')}"
            raise TableError(role, problem, "fill them in", value=name)
        return _label_values(values)

    def _absent(self, name: str, role: str) -> TableError:
        known = [*self.columns, *self.loaded.beside]
        close = difflib.get_close_matches(name, known, n=3)
        remedy = f"perhaps {', '.join(map(repr, close))} is meant"
        if not close:
            more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
            remedy = f"it has {', '.join(map(repr, known[:_SHOWN]))}{more}"
        if role == "columns" and self.learned:
            return self.origin.error(f"lacks the column {name!r}, which the model needs", remedy)
        return TableError(role, f"is not in {self.origin.lower}", remedy, value=name)

    def match(self, asked: Sequence[str] | None, beside: Iterable[str | None]) -> list[str]:
        """The columns asked for by name or pattern, or all that are not beside."""
        there = dict.fromkeys(name for name in self.columns if name not in beside)
        if asked is None:
            return list(there)
        if isinstance(asked, str):
            raise InputTypeError("columns", "must be a list of names, not a string", value=asked)
        found: dict[str, None] = {}
        for name in asked:
            alike = [] if self.learned else fnmatch.filter(there, name)
            matches = [name] if name in there else alike
            if not matches:
                raise self._absent(name, "columns")
            found |= dict.fromkeys(matches)
        return list(found)

    def numbers(
        self, wanted: list[str], *, asked: bool
    ) -> tuple[Array, list[str], list[tuple[str, str]]]:
        """The columns that are numbers as they stand, and why others are left out."""
        if self.matrix is not None:
            if not wanted:
                raise self.origin.error("has no numeric column")
            if wanted == self.columns:
                return self.matrix, wanted, []
            return self.matrix[:, [self.position[name] for name in wanted]], wanted, []
        kept, arrays, dropped = [], [], []
        for name in wanted:
            values, why = _number_column(self.frame[name])
            if values is None and asked:
                if why != _NO_VALUE:
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
        reasons = "; ".join(f"{name!r}: {why}" for name, why in dropped[:_SHOWN])
        problem = f"has no numeric column{f' ({reasons})' if reasons else ''}"
        return self.origin.error(problem, **more)


def _float_for(dtype: np.dtype) -> np.dtype:
    """The type in which numbers of another type are clustered: float32 if it holds them."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _number_column(series: Any) -> tuple[np.ndarray | None, str]:
    """Return a column as floats with NaN where missing, or None and the reason why not."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":  # quick, for thousands of columns
        values = series.to_numpy(dtype=_float_for(dtype))
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
    example = example if len(example) <= _LONG else example[: _LONG - 1] + "…"
    if len(wrong) <= len(present) / 2:
        return None, f"{len(wrong)} of {len(present)} values are not numbers, such as {example!r}"
    return None, f"{dtype}, for example {example!r}"


def _label_values(values: Any) -> np.ndarray:
    """Return names or classes as integers if they are whole numbers, else as strings."""
    array = np.ravel(values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values))
    whole = array.dtype.kind == "f" and bool(np.isfinite(array).all())
    if array.dtype.kind in "iub" or (whole and (array == np.round(array)).all()):
        return array.astype(np.int64)
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    return np.array([str(value) for value in array])


def _row_numbers(values: np.ndarray, columns: Sequence[str]) -> list[str]:
    """Names of columns that only count the rows, which no clustering should use."""
    if len(values) < 3:  # two rows always count up
        return []
    steps = np.all(np.diff(values, axis=0) == 1.0, axis=0)
    return [name for name, counts in zip(columns, steps, strict=True) if counts]
