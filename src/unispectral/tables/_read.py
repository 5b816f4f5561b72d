"""`read_table`: from whatever file a person has to numbers that can be clustered."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.tables._columns import decimal_of
from unispectral.tables._encode import Choices, UnreadableColumnError, list_used
from unispectral.tables._formats import load
from unispectral.tables._loaded import Loaded, label_values
from unispectral.tables._preparation import Preparation
from unispectral.tables._source import Source, as_source
from unispectral.tables._table import Table
from unispectral.tables._take import (
    AS_NEEDED,
    remembered_id,
    repeat_preparation,
    sources_of,
    take_columns,
    take_numbers,
)


def read_table(
    source: str | os.PathLike[str] | IO[bytes] | Source,
    *,
    format: str | None = None,
    id: str | None = None,
    truth: str | None = None,
    columns: Sequence[str] | None = None,
    encode: bool = False,
    use: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    supplementary: Sequence[str] = (),
    order: Sequence[Sequence[str]] | Mapping[str, Sequence[str]] = (),
    geo: Sequence[str] = (),
    impute: str | None = None,
    scale: str | None = None,
    preparation: Preparation | None = None,
    key: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    header_row: int | None = None,
    skip_footer: int | None = None,
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
        Look at each column and make numbers of it where that makes sense, as
        :class:`TablePreparer` does; missing values are then filled in.
    use, leave_out, supplementary : sequence of str, default=()
        With ``encode``, columns to use whatever they look like, to leave out, and to keep beside
        the clusters without using them.
    order : list of lists, or dict of lists, default=()
        With ``encode``, answers from the least to the most, for all columns or by name.
    geo : (str, str), default=()
        With ``encode``, the columns with latitude and longitude.
    impute : {None, "mean", "median", "zero", "drop", "refuse"}, default=None
        What to put in the place of missing values, or to drop rows that have some; None refuses
        them, or is the median with ``encode``.
    scale : {"auto", "none", "standard", "robust", "log", "rank", "unit"}, default=None
        How to scale the columns (``"unit"``: the rows), as :class:`TablePreparer` does. None is
        ``"none"``, and with ``encode`` ``"auto"`` unless all columns are plain numbers, which
        the estimator can scale by itself.
    preparation : object, default=None
        The ``preparation`` of an earlier table, instead of all these.
    key : str, default=None
        Sheet of a workbook, variable of an .npz, .mat or HDF5 file, or key of ``obsm`` or
        ``layers`` of an AnnData file.
    separator, encoding : str, default=None
        Of text tables; None finds out.
    header : bool, default=None
        Whether the first line of a text table or a sheet holds names; None finds out.
    header_row : int, default=None
        The line of a text table or a sheet, counted from 1, that holds the names; what is above is
        skipped. In a sheet it is found, also below a title.
    skip_footer : int, default=None
        Lines at the end of a text table or a sheet that are no rows.
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
    given: dict[str, Any] = {"use": use, "leave_out": leave_out}
    given |= {"supplementary": supplementary, "order": order, "geo": geo}
    asked = [name for name, value in given.items() if len(value)]
    if preparation is not None and (columns is not None or encode or impute or scale or asked):
        problem = "replaces columns, encode, impute, scale and what goes with them"
        raise InputError("preparation", problem, "give only one")
    if asked and not encode:
        raise InputError(asked[0], "is for encode=True", "give both")
    if scale in ("auto", "log", "rank") and not encode:
        raise InputError("scale", "is for encode=True", "give both", value=scale)
    text: dict[str, Any] = {"separator": separator, "header": header, "encoding": encoding}
    text |= {"missing": missing, "header_row": header_row, "skip_footer": skip_footer or None}
    id = id or remembered_id([preparation] if preparation else [])
    loaded = next(load(as_source(source), format, key, (id, truth), text))
    if preparation is not None:
        return repeat_preparation(loaded, id, truth, preparation)
    if not encode:
        return take_numbers(loaded, id, truth, columns, impute, scale or "none")
    named: Any = {name: tuple(value) for name, value in given.items() if name != "order"}
    filling: Any = {"impute": impute or "median", "scale": scale or AS_NEEDED}
    choices = Choices(id=id, order=order, **named, **filling)
    return take_columns(loaded, truth, columns, choices)


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
    id = id or remembered_id(preparations)
    blocks = load(as_source(source), format, key, (id, truth), text, entries)
    for number, (loaded, last) in enumerate(_with_last(blocks)):
        if number:  # what is said of the file is said once
            loaded.notes = []
        if loaded.frame is not None:
            _check_kinds(loaded, kinds, preparations, (id, truth))
        try:
            ends: dict[str, bool] = {"first": not number, "last": last}
            tables = [
                repeat_preparation(loaded, id, truth, ready, **ends) for ready in preparations
            ]
        except UnreadableColumnError as error:
            if entries is None:
                raise
            raise MixedColumnError(error.column) from error  # the whole column decides
        yield tables, loaded.total


def _with_last(blocks: Iterator[Loaded]) -> Iterator[tuple[Loaded, bool]]:
    """Blocks, and whether each is the last one."""
    before = next(blocks, None)
    for block in blocks:
        yield before, False  # type: ignore[misc]
        before = block
    if before is not None:
        yield before, True


def _check_kinds(
    loaded: Loaded,
    kinds: dict[str, Any],
    preparations: Sequence[Preparation],
    beside: Sequence[str | None],
) -> None:
    """Text among numbers makes text of a whole column; blocks without it would be numbers."""
    infer = optional("pandas", extra="io").api.types.infer_dtype
    frame, found = loaded.frame, {}
    plans = [plan for ready in preparations for plan in list_used(ready.encoding or ())]
    usual = {
        plan["name"]: loaded.decimal or plan["decimal"] for plan in plans if "decimal" in plan
    }
    for name in {name for ready in preparations for name in sources_of(ready)} & set(
        frame.columns
    ):
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
