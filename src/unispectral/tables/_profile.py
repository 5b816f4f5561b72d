"""`profile`: look at the columns and rows of a table before clustering them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral.tables._columns import Plan, Reading, read_column, texts_of
from unispectral.tables._kinds import FEW, Judgement, judge, log_offset
from unispectral.tables._names import is_when
from unispectral.tables._profile_rows import RowProfile, profile_rows

if TYPE_CHECKING:
    import pandas as pd

MAX_CATEGORIES = 20
#: Tables with more columns of numbers are of one kind, as pixels: no column is treated by itself.
MANY_NUMBERS = 30
#: So many columns of numbers, and more than there are categories, make clusters by themselves.
_ENOUGH_NUMBERS = 3
_NUMBERS = ("measurement", "count", "ordinal", "year", "latitude", "longitude")
#: Columns up to which each is compared with each other.
_COMPARED = 200
#: Rows from which two columns with the same groups are no accident.
_SAME_GROUPS = 20
_EXAMPLE = 30


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What a column is, and what is proposed to do with it.

    Attributes
    ----------
    name : str
    kind : str
        "measurement", "count", "ordinal", "category", "yes/no", "code", "id", "year", "date",
        "latitude", "longitude", "text", "constant", "copy" (of another column) or "empty".
    role : {"use", "leave out", "supplementary", "id"}
        Supplementary columns are shown beside the clusters, and do not make them.
    reason : str
        Why, said of the column: "numbers the rows, 1 to 300".
    doubt : str
        What speaks against it, if anything does.
    missing : float
        Share of the rows without a value.
    distinct : int
        Number of different values.
    spread, skew : float or None
        Standard deviation, and how much longer the upper tail is than the lower, from −1 to 1;
        of numbers.
    example : str
        The first value.
    log : float or None
        What to add before taking logarithms, where rows differ by factors.
    """

    name: str
    kind: str
    role: str
    reason: str
    doubt: str = ""
    missing: float = 0.0
    distinct: int = 0
    spread: float | None = None
    skew: float | None = None
    example: str = ""
    log: float | None = None
    plan: Plan = field(default_factory=dict, repr=False)

    @property
    def sentence(self) -> str:
        """The proposal as a sentence."""
        verb = {"use": "Used", "id": "Taken as the names of the rows"}.get(self.role, "Left out")
        if self.role == "supplementary":
            verb = "Not clustered by, but shown"
        why = f": {self.name!r} {self.reason}" if self.reason else f": {self.name!r}"
        return f"{verb}{why}{f', but {self.doubt}' if self.doubt else ''}."


@dataclass(frozen=True, eq=False)
class TableProfile:
    """The columns and rows of a table.

    Attributes
    ----------
    columns : tuple of ColumnProfile
    rows : RowProfile
        How many rows there are, and which repeat others, are nearly empty, or are totals.

    Examples
    --------
    >>> import pandas as pd
    >>> found = profile(pd.DataFrame({"id": [7, 8, 9], "height": [1.7, 1.8, 1.6]}))
    >>> [column.role for column in found]
    ['id', 'use']
    """

    columns: tuple[ColumnProfile, ...]
    rows: RowProfile

    def __iter__(self) -> Iterator[ColumnProfile]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnProfile:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def names(self, role: str) -> list[str]:
        """Names of the columns with a role."""
        return [column.name for column in self.columns if column.role == role]

    @property
    def doubtful(self) -> list[ColumnProfile]:
        """Columns in use that perhaps should not be."""
        return [column for column in self.columns if column.role == "use" and column.doubt]

    def to_frame(self) -> Any:
        """One row for each column of the table, as a pandas frame.

        Returns
        -------
        DataFrame
        """
        shown = ["name", "kind", "role", "reason", "doubt", "missing", "distinct", "spread"]
        shown += ["skew", "example"]
        records = [{key: getattr(column, key) for key in shown} for column in self.columns]
        return optional("pandas", extra="io").DataFrame(records, columns=shown)


def profile(
    frame: Any,
    *,
    max_categories: int = MAX_CATEGORIES,
    order: Sequence[Sequence[str]] | Mapping[str, Sequence[str]] = (),
    decimal: str | None = None,
) -> TableProfile:
    """Say of each column of a table what it is, and whether it should be clustered by.

    Nothing is clustered here, and nothing changed. Ids, codes, years and dates say which row it
    is, or when it was, not what it is like; they are found by their name and their values
    together. Where only one of the two speaks, a column is proposed for use and called doubtful.

    Parameters
    ----------
    frame : DataFrame
        Of pandas or polars; with columns of any kind.
    max_categories : int, default=20
        A column with more different texts than this is not one of categories.
    order : list of lists, or dict of lists, default=()
        Answers from the least to the most, for all columns or by the column's name, where they
        are of no scale that is known ("never" to "always", "low" to "high", …).
    decimal : {".", ","}, default=None
        The decimal sign to take for numbers in text that can be read in two ways.

    Returns
    -------
    TableProfile

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "respondent": range(1, 31), "age": [31, 45, 28] * 10, "year": [2007, 2008, 2009] * 10,
    ...     "reads": ["never", "often", "always"] * 10,
    ... })
    >>> for column in profile(table):
    ...     print(column.name, column.kind, column.role, "–", column.reason)
    respondent id id – numbers the rows, 1 to 30
    age count use – is a whole number
    year year supplementary – says when, not what: 3 years
    reads ordinal use – has 3 levels in order
    """
    frame = _as_pandas(frame)
    names = [str(name) for name in frame.columns]
    readings = [
        read_column(frame.iloc[:, at], decimal, _orders(order, name))
        for at, name in enumerate(names)
    ]
    readings = _with_shared_scales(frame, readings, decimal)
    found = []
    numbers = sum(reading.values is not None for reading in readings)
    for at, (name, reading) in enumerate(zip(names, readings, strict=True)):
        judged = judge(name, reading, len(frame), max_categories)
        column = _describe(name, reading, judged, frame.iloc[:, at])
        if column.role == "use" and column.kind in ("measurement", "count"):
            values: Any = reading.values
            if numbers <= MANY_NUMBERS:
                column = replace(column, log=log_offset(values))
        found.append(column)
    found = _only_one_id(_without_copies(found, readings, frame))
    found = _categories_beside(_parts_of_dates(found))
    return TableProfile(tuple(found), profile_rows(frame, found, readings))


def _with_shared_scales(
    frame: pd.DataFrame, readings: list[Reading], decimal: str | None
) -> list[Reading]:
    """Read answers by a scale that other columns show, where they use two of its words only."""
    scales = {
        tuple(reading.plan["levels"].items()): reading.plan["levels"]
        for reading in readings
        if reading.plan["kind"] == "ordinal"
    }
    if not scales:
        return readings
    result = []
    for at, reading in enumerate(readings):
        few = reading.counts is not None and len(reading.counts) == 2
        if reading.plan["kind"] == "category" and few:
            reading = read_column(frame.iloc[:, at], decimal, list(scales.values()))
        result.append(reading)
    return result


def _as_pandas(frame: Any) -> Any:
    if hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
        raise InputTypeError("frame", f"must be a data frame, not {type(frame).__name__}")
    if not len(frame):
        raise InputError("frame", "has no rows")
    return frame


def _orders(order: Any, name: str) -> list[dict[str, float]]:
    """The places of answers that the user put in order, for a column."""
    from unispectral.tables._ordinals import given_order

    if not isinstance(order, Mapping):
        return [given_order(levels) for levels in order]
    return [given_order(order[name])] if name in order else []


def _describe(name: str, reading: Reading, judged: Judgement, column: pd.Series) -> ColumnProfile:
    plan = judged.plan or reading.plan
    spread = skew = None
    example = ""
    if reading.values is not None:
        values = reading.values[np.isfinite(reading.values)]
        missing = 1 - len(values) / len(column)
        distinct = len(np.unique(values))
        if len(values):
            with np.errstate(over="ignore", invalid="ignore"):
                spread = float(np.std(values))
                low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
                skew = float((high + low - 2 * middle) / (high - low)) if high > low else 0.0
    elif reading.counts is not None:
        missing = 1 - reading.counts.total() / len(column)
        distinct = len(reading.counts)
    else:
        missing = float(column.isna().mean())
        distinct = int(column.nunique())
    there = column.notna().to_numpy()
    if reading.values is not None and not np.isnan(reading.values).all():
        there = ~np.isnan(reading.values)  # what cannot be read is no example
    if there.any():
        example = str(column.iloc[int(there.argmax())])
    if len(example) > _EXAMPLE:
        example = example[: _EXAMPLE - 1] + "…"
    return ColumnProfile(
        name, judged.kind, judged.role, judged.reason, judged.doubt, float(missing), distinct,
        spread, skew, example, plan=plan,
    )  # fmt: skip


def _only_one_id(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Rows have one name; other columns that could be are left out."""
    taken = False
    result = []
    for column in columns:
        if column.role == "id" and taken:
            column = replace(column, role="leave out")
        taken = taken or column.role == "id"
        result.append(column)
    return result


def _parts_of_dates(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Months and days beside a column of years are the date of a row."""
    if not any(column.kind == "year" and column.role == "supplementary" for column in columns):
        return columns
    told = "says when, not what: a part of the date"
    return [
        replace(column, role="supplementary", reason=told, doubt="")
        if column.role == "use" and is_when(column.name)
        else column
        for column in columns
    ]


def _categories_beside(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Keep categories out of the clusters where there are numbers enough to make them.

    In a graph of neighbours two rows of different categories are hardly ever neighbours, so that
    categories cut clusters of numbers into pieces; beside the clusters they say what these are.
    ``python -m benchmarks.tables --categories`` compares both.
    """
    used = [column for column in columns if column.role == "use"]
    numbers = sum(column.kind in _NUMBERS for column in used)
    kinds = [column for column in used if column.kind == "category"]
    if numbers < _ENOUGH_NUMBERS or numbers <= len(kinds):
        return columns
    result = []
    for column in columns:
        if column in kinds:
            told = f"is a category, and {numbers} columns of numbers make the clusters"
            column = replace(column, role="supplementary", reason=told, doubt="")
        result.append(column)
    return result


def _without_copies(
    columns: list[ColumnProfile], readings: Sequence[Reading], frame: object
) -> list[ColumnProfile]:
    """Leave out what another column says already, if in another unit or in other words."""
    result = list(columns)
    inside = [at for at, column in enumerate(columns) if column.role == "use"]
    for later, earlier in _equal_numbers(inside, readings).items():
        result[later] = _copy(columns[later], columns[earlier])
    left = [at for at in inside if result[at].kind != "copy"]
    for later, earlier in _equal_groups(left, columns, frame).items():
        result[later] = _copy(columns[later], columns[earlier])
    return result


def _copy(column: ColumnProfile, other: ColumnProfile) -> ColumnProfile:
    told = f"says the same as {other.name!r}"
    return replace(column, kind="copy", role="leave out", reason=told, doubt="", log=None)


def _equal_numbers(inside: list[int], readings: Sequence[Reading]) -> dict[int, int]:
    """Columns of numbers that are another one, perhaps in another unit: which, and of which."""
    arrays: dict[int, Any] = {
        at: values
        for at in inside
        if (values := readings[at].values) is not None and not np.isinf(values).any()
    }
    found: dict[int, int] = {}
    if not arrays or len(next(iter(arrays.values()))) < 3:
        return found
    if len(arrays) > _COMPARED:
        seen: dict[bytes, int] = {}
        for at, values in arrays.items():
            first = seen.setdefault(np.asarray(values).tobytes(), at)
            if first != at:
                found[at] = first
        return found
    places = list(arrays)
    table = np.column_stack([arrays[at] for at in places])
    lost = np.isnan(table)
    with np.errstate(all="ignore"):
        table = table - np.nanmean(table, axis=0)
        table = table / np.sqrt(np.nanmean(table**2, axis=0))
        alike = np.abs(np.nan_to_num(table).T @ np.nan_to_num(table)) / len(table)
    for b in range(1, len(places)):
        for a in np.flatnonzero(alike[b, :b] > (1 - lost[:, b].mean()) * (1 - 1e-9)):
            if places[a] in found or (lost[:, a] != lost[:, b]).any():
                continue
            sign = np.sign(np.nansum(table[:, a] * table[:, b]))
            if np.nanmax(np.abs(table[:, a] - sign * table[:, b])) < 1e-6:
                found[places[b]] = places[a]
                break
    return found


def _equal_groups(
    inside: list[int], columns: Sequence[ColumnProfile], frame: pd.DataFrame
) -> dict[int, int]:
    """Categories that are another column in other words; one with an order is kept."""
    pandas = optional("pandas", extra="io")
    if len(frame) < _SAME_GROUPS:
        return {}
    groups: dict[bytes, list[int]] = {}
    for at in inside:
        if columns[at].distinct <= FEW and columns[at].distinct > 1:
            texts = pandas.Series(texts_of(frame.iloc[:, at]), dtype=object)
            groups.setdefault(pandas.factorize(texts)[0].tobytes(), []).append(at)
    found: dict[int, int] = {}
    for alike in groups.values():
        ordered = [at for at in alike if columns[at].plan["kind"] != "category"]
        kept = (ordered or alike)[0]
        two = columns[kept].distinct == 2
        for at in alike:
            if at != kept and (two or columns[at].plan["kind"] == "category"):
                found[at] = kept
    return found
