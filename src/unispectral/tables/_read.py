"""`read_table`: from whatever file a person has to numbers that can be clustered."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.tables._arrays import Array
from unispectral.tables._encode import column_names, decide, decimal_of, left_out, made, used
from unispectral.tables._encode import encode as encode_columns
from unispectral.tables._formats import load
from unispectral.tables._loaded import NO_VALUE, Loaded, label_values
from unispectral.tables._prepare import Preparation, odd_values
from unispectral.tables._source import SHOWN, Source, TableError, as_source, plural

__all__ = ["MixedColumnError", "Table", "read_blocks", "read_table"]

_CLASSES = ("class", "label", "labels", "target")
#: So many different whole numbers are no accident if they have no gap, or in any case.
_FEW, _MANY = 10, 20


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
            shown = ", ".join(f"{name!r} ({why})" for name, why in self.dropped[:SHOWN])
            more = len(self.dropped) - SHOWN
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
        Sheet of a workbook, variable of an .npz, .mat or HDF5 file, or key of ``obsm`` or
        ``layers`` of an AnnData file.
    separator, encoding : str, default=None
        Of text tables; None finds out.
    header : bool, default=None
        Whether the first line of a text table or a sheet holds names; None finds out.
    missing : sequence of str, default=()
        Further words that stand for a missing value in text tables, sheets and Parquet files, as
        ``"?"``.

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
    text = {"separator": separator, "header": header, "encoding": encoding, "missing": missing}
    loaded = next(load(as_source(source), format, key, (id, truth), text))
    choices: dict[str, Any] = {"columns": columns, "encode": encode, "impute": impute}
    return _prepared(loaded, id, truth, preparation, scale=scale, **choices)


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
    kinds: dict[str, Any] = {}
    blocks = load(as_source(source), format, key, (id, truth), text, entries)
    for number, loaded in enumerate(blocks):
        if number:  # what is said of the file is said once
            loaded.notes = []
        if loaded.frame is not None:
            _check_kinds(loaded, kinds, preparations, (id, truth))
        yield [_prepared(loaded, id, truth, ready) for ready in preparations], loaded.total


def _check_kinds(
    loaded: Loaded,
    kinds: dict[str, Any],
    preparations: Sequence[Preparation],
    beside: Sequence[str | None],
) -> None:
    """Text among numbers makes text of a whole column; blocks without it would be numbers."""
    infer = optional("pandas", extra="io").api.types.infer_dtype
    frame, found = loaded.frame, {}
    plans = [plan for ready in preparations for plan in used(ready.encoding or ())]
    usual = {
        plan["name"]: loaded.decimal or plan["decimal"] for plan in plans if "decimal" in plan
    }
    for name in {name for ready in preparations for name in _sources(ready)} & set(frame.columns):
        if frame[name].notna().any():  # an empty block is read in one way whatever is around it
            kind = infer(frame[name])
            found[name] = "number" if kind in ("integer", "floating") else kind
            if kind == "string" and name in usual:
                found[name] = decimal_of(frame[name], usual[name])
    names = {str(name): frame[name] for name in beside if name in frame}
    if loaded.index is not None:
        names[""] = loaded.index
    for name, values in names.items():
        found[name] = infer(values), label_values(values).dtype.kind
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
    id: str | None,
    truth: str | None,
    preparation: Preparation | None,
    columns: Sequence[str] | None = None,
    encode: bool = False,
    impute: str | None = None,
    scale: str = "none",
) -> Table:
    """What a file holds, or a block of it, as `read_table` returns it."""
    learned, plans = preparation is not None, None
    if preparation is not None:
        plans, columns = preparation.encoding, _sources(preparation)
    index = loaded.names if id is None else loaded.vector(id, "id")
    classes = None if truth is None else loaded.vector(truth, "truth")
    wanted = loaded.match(columns, {id: "id", truth: "truth"}, learned=learned)
    notes, dropped = list(loaded.notes), []
    if loaded.frame is not None and (encode or plans is not None):
        impute, frame = impute or "median", loaded.frame[wanted]
        if plans is None:
            plans = decide(frame, impute=impute, decimal=loaded.decimal)
        if not used(plans):
            raise loaded.nothing(left_out(plans))
        values, odd = encode_columns(frame, plans, loaded.decimal)
        kept = column_names(plans)
        if not learned:
            dropped, odd = left_out(plans), [*made(plans), *odd]
        notes += odd
    else:
        values, kept, dropped = loaded.numbers(wanted, asked=columns is not None)
    if columns is None and loaded.frame is not None:
        origins = kept if plans is None else [plan["name"] for plan in used(plans)]
        notes += [*_row_names(values, kept), *_known_classes(origins)]
    if endless := odd_values(values, kept, "infinite"):
        raise loaded.source.error(f"has {endless}", "replace them or leave the column out")
    choices: dict[str, Any] = {"impute": impute, "scale": scale, "encoding": plans}
    ready = preparation or Preparation.fit(values, kept, **choices)
    if ready.fill is None and (lacking := odd_values(values, kept)):
        if learned:
            problem = f"has {lacking}, and no imputation was learned"
            raise TableError("The table", problem, "fill them in")
        remedy = "choose 'mean', 'median' or 'zero', or leave these columns out"
        text = ", ".join([repr(name) for name, why in dropped if why != NO_VALUE][:SHOWN])
        switch = ("encode", f"fills them and makes numbers of text, too: {text}") if text else None
        raise TableError("impute", f"must be given: {lacking}", remedy, switch=switch)
    return Table(
        ready.apply(values), kept, index, classes, dropped, notes, ready, loaded.source.name
    )


def _row_names(values: np.ndarray, columns: Sequence[str]) -> list[str]:
    """Sentences on columns that count or name the rows, which no clustering should use."""
    remedy = "if it is their name, give it as the id (--id)."
    counting, naming = [], []
    for name, column in zip(columns, values.T, strict=True):
        n_rows, different = len(column), len(column) > 2 and _are_different(column)
        if different and (np.ptp(column) == n_rows - 1 >= _FEW or (np.diff(column) == 1.0).all()):
            counting.append(f"Column {name!r} only numbers the rows; {remedy}")
        elif (different and n_rows >= _MANY) or name.casefold() == "id":
            naming.append(f"Column {name!r} may only name the rows; {remedy}")
    return counting + (naming if len(naming) <= SHOWN else [])  # so many are measurements


def _are_different(column: np.ndarray) -> bool:
    """Whether a column has another whole number in every row."""
    for part in (column[:_MANY], column):  # most differ in the first rows already
        if (part != np.round(part)).any() or len(np.unique(part)) < len(part):
            return False
    return True


def _known_classes(columns: Sequence[str]) -> list[str]:
    found = [name for name in columns if name.casefold() in _CLASSES]
    remedy = "if it holds known classes, give it as the truth (--truth)."
    return [f"Column {name!r} is clustered by, too; {remedy}" for name in found]
