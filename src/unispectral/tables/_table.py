"""`Table`: numbers read from a file, and what was done to get them, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unispectral._errors import plural
from unispectral.tables._arrays import Array
from unispectral.tables._columns import Plan
from unispectral.tables._encode import list_used
from unispectral.tables._preparation import Preparation
from unispectral.tables._profile import TableProfile
from unispectral.tables._profile_rows import RowProfile
from unispectral.tables._source import SHOWN


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
    profile : TableProfile or None
        What was found out about the columns, with ``encode``.
    frame : DataFrame or None
        The rows of ``values`` with all columns as they were read, if the file has columns of
        different kinds; ``supplementary`` is the part of it that was left out and can be shown.
    rows : ndarray of shape (n_rows,) or None
        Positions in the file, where rows were left out of the ``n_read`` that it has.

    Examples
    --------
    >>> import io
    >>> from unispectral.tables import read_table
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
    profile: TableProfile | None = None
    frame: Any = None
    rows: np.ndarray | None = None
    n_read: int | None = None

    @property
    def supplementary(self) -> Any:
        """Columns that are shown beside the clusters and do not make them, as a frame or None."""
        plans = self.preparation.encoding
        if plans is None or self.frame is None:
            return None
        names = [plan["name"] for plan in plans if plan.get("role") == "supplementary"]
        return self.frame[[name for name in names if name in self.frame]]

    def describe(self) -> list[str]:
        """Return the size, what is used and what not, and the notes, as plain sentences."""
        rows, columns = self.values.shape
        lines = [f"{plural(rows, 'row')}, {plural(columns, 'column')}."]
        plans = self.preparation.encoding
        if self.profile is None or plans is None:
            reasons = [f"{name!r} ({why})" for name, why in self.dropped]
            return [*lines, *_list_parts("Left out", reasons), *self.notes]
        return [*lines, *columns_in_words(plans, self.profile), *self.notes]


def _list_parts(head: str, parts: Sequence[str]) -> list[str]:
    """A sentence that lists things, the first of many."""
    if not parts:
        return []
    more = len(parts) - SHOWN
    return [f"{head}: {', '.join(parts[:SHOWN])}{f' and {more:,} more' if more > 0 else ''}."]


def columns_in_words(plans: Sequence[Plan], profile: TableProfile) -> list[str]:
    """Which columns are used, and how; which not, and why; which are doubtful."""
    left = [plan for plan in plans if plan["kind"] == "left out"]

    def reasons(role: str) -> list[str]:
        alike: dict[str, list[str]] = {}
        for plan in left:
            if plan.get("role") == role:
                alike.setdefault(plan["why"], []).append(repr(plan["name"]))
        return [f"{_names(names)} ({why})" for why, names in alike.items()]

    return [
        *_used_in_words(list_used(plans)),
        *_list_parts("Left out", reasons("leave out")),
        *_list_parts("Left out, but shown beside the clusters", reasons("supplementary")),
        *_list_parts("Names of the rows", reasons("id")),
        *_list_parts(
            "Used, but doubtful",
            [f"{column.name!r} ({column.doubt})" for column in profile.doubtful],
        ),
        *_rows_in_words(profile.rows),
    ]


def _names(names: Sequence[str]) -> str:
    """The first of many names."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _used_in_words(plans: Sequence[Plan]) -> list[str]:
    """The columns in use, those that are treated alike together."""
    groups: dict[str, list[str]] = {"": []}
    for plan in plans:
        how, shown = _treatment(plan)
        groups.setdefault(how, []).append(shown)
    parts = []
    for how, names in groups.items():
        if names:
            parts.append(f"{how} {_names(names)}".strip())
    return [f"Used: {'; '.join(parts)}."] if parts else []


def _treatment(plan: Plan) -> tuple[str, str]:
    """What is made of a column in use, and how it is named there."""
    name = repr(plan["name"])
    if plan["kind"] == "place":
        return "as a place on the Earth", f"{name} and {plan['longitude']!r}"
    unit = f" ({plan['unit']})" if plan.get("unit") else ""
    if "log" in plan:
        return "as logarithms", name + unit
    if "ranks" in plan:
        return "as ranks", name + unit
    if (kinds := plan.get("categories")) is not None:
        return "as categories", f"{name} ({len(kinds)})"
    heads = {"yes/no": "as yes or no", "ordinal": "as levels in order", "date": "as days"}
    return heads.get(plan["kind"], ""), name + unit


def _rows_in_words(rows: RowProfile) -> list[str]:
    """What is odd about the rows."""
    lines = []
    if rows.duplicates:
        verb = "repeats" if rows.duplicates == 1 else "repeat"
        lines.append(f"{plural(rows.duplicates, 'row')} {verb} an earlier one in every column.")
    if rows.nearly_empty:
        verb = "is" if len(rows.nearly_empty) == 1 else "are"
        first = rows.nearly_empty[0]
        lines.append(
            f"{plural(len(rows.nearly_empty), 'row')} {verb} mostly empty, the first at {first}."
        )
    if rows.perhaps_totals:
        lines.append(f"Row {rows.perhaps_totals[0]} may be a total of those above.")
    return lines
