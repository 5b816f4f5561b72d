"""From what a file holds to numbers: as they stand, as a look at them proposes, or as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unispectral._errors import InputError, plural
from unispectral.tables._arrays import Array
from unispectral.tables._columns import Plan, column_values
from unispectral.tables._encode import (
    Choices,
    are_plain,
    column_names,
    decide,
    encode,
    list_left_out,
    list_used,
)
from unispectral.tables._encode import sources as plan_sources
from unispectral.tables._loaded import NO_VALUE, Loaded, label_values
from unispectral.tables._names import is_class
from unispectral.tables._preparation import IMPUTATIONS, Preparation, odd_values
from unispectral.tables._profile import TableProfile
from unispectral.tables._profile_rows import count_empty_end, find_totals, find_units
from unispectral.tables._source import SHOWN, TableError
from unispectral.tables._table import Table

if TYPE_CHECKING:
    import pandas as pd

#: Scale what the estimator cannot scale by itself.
AS_NEEDED = "as needed"
_USE_THEM = "use=[…] (--use) takes columns whatever they look like"
#: So many different whole numbers are no accident if they have no gap, or in any case.
_FEW, _MANY = 10, 20


def remembered_id(preparations: Sequence[Preparation]) -> str | None:
    """The column that named the rows of the fit."""
    plans = [plan for ready in preparations for plan in ready.encoding or ()]
    return next((plan["name"] for plan in plans if plan.get("role") == "id"), None)


def sources_of(ready: Preparation) -> list[str]:
    """The columns of a file that those of a preparation are made of."""
    return list(ready.columns if ready.encoding is None else plan_sources(ready.encoding))


def repeat_preparation(
    loaded: Loaded,
    id: str | None,
    truth: str | None,
    ready: Preparation,
    *,
    first: bool = True,
    last: bool = True,
) -> Table:
    """New rows, made ready as those of the fit were.

    Rows that are none are left out as in the fit: units in the `first` block of a file, empty
    lines in the `last` one, and totals where this is both.
    """
    there = {*loaded.columns, *loaded.beside, *getattr(loaded.index, "names", ())}
    if id not in there and id == remembered_id([ready]):
        id = None  # new rows may have no names
    table = _begin(loaded, id, truth)
    wanted = loaded.match(sources_of(ready), {id: "id", truth: "truth"}, learned=True)
    if ready.encoding is not None:
        frame = loaded.as_frame()
        rows, notes = _real_rows(frame, ready.encoding, loaded.decimal, first=first, last=last)
        if notes:
            frame = frame.iloc[rows]
            table = _keep(table, rows)
            table.notes.extend(notes)
        values, odd = encode(frame[wanted], ready.encoding, loaded.decimal)
        kept = column_names(ready.encoding)
        table.notes.extend(odd)
    else:
        values, kept, _ = loaded.numbers(wanted, asked=True)
    _check_finite(loaded, values, kept)
    table = replace(table, values=values, columns=kept, preparation=ready)
    if ready.drop:
        table = _without_gaps(table)
    elif ready.fill is None and (lacking := odd_values(table.values, kept)):
        problem = f"has {lacking}, and no imputation was learned"
        raise TableError("The table", problem, "fill them in")
    return replace(table, values=ready.apply(table.values))


def take_numbers(
    loaded: Loaded,
    id: str | None,
    truth: str | None,
    columns: Sequence[str] | None,
    impute: str | None,
    scale: str,
) -> Table:
    """The columns that are numbers as they stand."""
    table = _begin(loaded, id, truth)
    wanted = loaded.match(columns, {id: "id", truth: "truth"}, learned=False)
    values, kept, dropped = loaded.numbers(wanted, asked=columns is not None)
    if columns is None and loaded.frame is not None:
        table.notes.extend([*_row_names(values, kept), *_known_classes(kept)])
    _check_finite(loaded, values, kept)
    table = replace(table, values=values, columns=kept, dropped=dropped)
    if impute == "drop":
        table = _without_gaps(table)
    filling = impute if impute not in ("drop", "refuse") else None
    ready = Preparation.fit(table.values, kept, filling, scale)
    if filling is not None and (lacking := odd_values(table.values, kept)):
        how = "0" if filling == "zero" else f"the {filling} of its column"
        table.notes.append(f"Filled {lacking} with {how}.")
    if impute == "refuse":
        _refuse_gaps(table.values, kept)
    if ready.fill is None and (lacking := odd_values(table.values, kept)):
        remedy = "choose 'mean', 'median' or 'zero', or leave these columns out"
        text = ", ".join([repr(name) for name, why in dropped if why != NO_VALUE][:SHOWN])
        switch = ("encode", f"fills them and makes numbers of text, too: {text}") if text else None
        raise TableError("impute", f"must be given: {lacking}", remedy, switch=switch)
    ready = replace(ready, drop=impute == "drop")
    return replace(table, values=ready.apply(table.values), preparation=ready)


def take_columns(
    loaded: Loaded, truth: str | None, columns: Sequence[str] | None, choices: Choices
) -> Table:
    """The columns that a look at the table proposes to use, and the user's wishes, as numbers."""
    if loaded.frame is None and choices.scale not in ("log", "rank"):
        scale = "none" if choices.scale == AS_NEEDED else choices.scale
        return take_numbers(loaded, choices.id, truth, columns, choices.impute, scale)
    table = _begin(loaded, choices.id, truth)
    plans, seen, part, rows, notes = look_at_columns(loaded, truth, columns, choices)
    if notes:
        table = _keep(table, rows)
        table.notes.extend(notes)
    if not list_used(plans):
        reasons = "; ".join(f"{plan['name']!r} {plan['why']}" for plan in plans[:SHOWN])
        raise loaded.source.error(f"has no column to cluster by ({reasons})", _USE_THEM)
    values, odd = encode(part, plans, loaded.decimal)
    kept = column_names(plans)
    _check_finite(loaded, values, kept)
    table.notes.extend(odd)
    more: dict[str, Any] = {"dropped": list_left_out(plans), "profile": seen}
    table = replace(table, values=values, columns=kept, **more)
    if table.index is None and (name := remembered_id([Preparation((), encoding=plans)])):
        table = replace(table, index=label_values(part[name]))
    if choices.impute == "drop":
        table = _without_gaps(table)
    else:
        _refuse_gaps(values, kept)
    return _scale(table, plans, choices)


class Look(NamedTuple):
    """What a look at the columns of a file proposes, with the user's wishes."""

    plans: list[Plan]
    profile: TableProfile
    #: The columns looked at, without rows at the end that are none.
    part: Any
    #: Positions of the rows looked at.
    rows: np.ndarray
    #: What is said of the others.
    notes: list[str]


def look_at_columns(
    loaded: Loaded, truth: str | None, columns: Sequence[str] | None, choices: Choices
) -> Look:
    """Decide about each column of a file; units above it, totals and empty lines are no rows."""
    part, choices = _chosen_part(loaded, truth, columns, choices)
    rows, notes = _filled_rows(loaded.as_frame())
    part = part.iloc[rows] if notes else part
    plans, seen = _decide(part, choices, loaded.decimal)
    if units := find_units(part, plans):
        rows = rows[1:]
        part = part.iloc[1:]
        notes.append(_said_of_units(units))
        plans, seen = _decide(part, choices, loaded.decimal)
    if totals := seen.rows.totals:
        rows = np.delete(rows, totals)
        part = part.iloc[rows]
        notes.append(_said_of_totals(len(totals)))
        plans, seen = _decide(part, choices, loaded.decimal)
    return Look(plans, seen, part, rows, notes)


def _filled_rows(frame: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Positions of the rows without empty ones at the end, and what is said of these."""
    lost = count_empty_end(frame)
    told = [f"Left out {plural(lost, 'row')} at the end: nothing is in them."] if lost else []
    return np.arange(len(frame) - lost), told


def _real_rows(
    frame: pd.DataFrame,
    plans: Sequence[Plan],
    decimal: str | None,
    *,
    first: bool,
    last: bool,
) -> tuple[np.ndarray, list[str]]:
    """Positions of new rows without those that are none, and what is said of these."""
    rows = np.arange(len(frame))
    notes: list[str] = []
    if last:
        rows, notes = _filled_rows(frame)
    if first and len(rows) > 1 and (units := find_units(frame, plans)):
        rows = rows[1:]
        notes.append(_said_of_units(units))
    if not (first and last):
        return rows, notes
    frame = frame.iloc[rows]
    numbers = [plan for plan in list_used(plans) if plan["kind"] == "number"]
    values = [column_values(plan, frame[plan["name"]], decimal).ravel() for plan in numbers]
    totals, _ = find_totals(frame, values)
    if totals:
        rows = np.delete(rows, totals)
        notes.append(_said_of_totals(len(totals)))
    return rows, notes


def _said_of_units(units: Sequence[str]) -> str:
    return f"Left out the row below the names: it holds no numbers ({', '.join(units[:SHOWN])})."


def _said_of_totals(lost: int) -> str:
    return f"Left out {plural(lost, 'row')} at the end: the total."


def _scale(table: Table, plans: list[Plan], choices: Choices) -> Table:
    scale = choices.scale
    if scale == AS_NEEDED:
        scale = "none" if are_plain(plans) else "auto"
    ready = Preparation.fit(table.values, table.columns, None, scale, plans)
    ready = replace(ready, drop=choices.impute == "drop")
    return replace(table, values=ready.apply(table.values), preparation=ready)


def _decide(
    part: object, choices: Choices, decimal: str | None
) -> tuple[list[Plan], TableProfile]:
    if choices.impute not in (*IMPUTATIONS, "drop", "refuse"):
        listed = ", ".join(map(repr, (*IMPUTATIONS, "drop", "refuse")))
        raise InputError("impute", f"must be one of {listed}", value=choices.impute)
    filling = choices.impute if choices.impute in IMPUTATIONS else None
    scale = "auto" if choices.scale == AS_NEEDED else choices.scale
    return decide(part, replace(choices, impute=filling, scale=scale), decimal)


def _chosen_part(
    loaded: Loaded, truth: str | None, columns: Sequence[str] | None, choices: Choices
) -> tuple[Any, Choices]:
    """The columns to look at; those that are named one by one are to be used."""
    frame = loaded.as_frame()
    known = {choices.id: "id", truth: "truth"}
    wanted = loaded.match(columns, known, learned=False)
    if columns is not None:
        aside = {*choices.leave_out, *choices.supplementary}
        named = [name for name in wanted if name in columns and name not in aside]
        choices = replace(choices, use=tuple(dict.fromkeys([*choices.use, *named])))
        wanted = list(dict.fromkeys([*wanted, *choices.supplementary]))
    if choices.id is not None and choices.id in frame.columns:
        wanted = [choices.id, *wanted]
    else:
        choices = replace(choices, id=None)  # the names of the rows lie beside the table
    for option in ("use", "leave_out", "supplementary", "geo"):
        for name in getattr(choices, option):
            loaded.check_known(name, option)
            if name == truth:
                problem = "is already the truth"
                raise TableError(option, problem, "leave it out of one of them", value=name)
    missing = [name for name in (*choices.use, *choices.geo) if name not in wanted]
    return frame[[*wanted, *dict.fromkeys(missing)]], choices


def _begin(loaded: Loaded, id: str | None, truth: str | None) -> Table:
    """A table without numbers yet."""
    index = loaded.names if id is None else loaded.vector(id, "id")
    classes = None if truth is None else loaded.vector(truth, "truth")
    name, notes = loaded.source.name, list(loaded.notes)
    more: dict[str, Any] = {"frame": loaded.frame, "n_read": loaded.n_rows}
    return Table(np.empty((0, 0)), [], index, classes, [], notes, name=name, **more)


def _keep(table: Table, rows: np.ndarray) -> Table:
    """The table without some of its rows."""
    index = None if table.index is None else table.index[rows]
    truth = None if table.truth is None else table.truth[rows]
    frame = None if table.frame is None else table.frame.iloc[rows]
    values = table.values[rows] if table.values.size else table.values
    positions = rows if table.rows is None else table.rows[rows]
    return replace(table, values=values, index=index, truth=truth, frame=frame, rows=positions)


def _without_gaps(table: Table) -> Table:
    """The table without rows that lack a value."""
    whole = np.flatnonzero(~np.isnan(table.values).any(axis=1))
    lost = len(table.values) - len(whole)
    if not lost:
        return table
    if not len(whole):
        raise TableError("impute", "leaves no row: each has a gap", "fill them", value="drop")
    table.notes.append(f"Left out {plural(lost, 'row')} with missing values.")
    return _keep(table, whole)


def _refuse_gaps(values: Array, columns: Sequence[str]) -> None:
    if lacking := odd_values(values, columns):
        remedy = "fill them, or leave these rows or columns out"
        raise TableError("impute", f"finds {lacking}", remedy, value="refuse")


def _check_finite(loaded: Loaded, values: Array, columns: Sequence[str]) -> None:
    if endless := odd_values(values, columns, "infinite"):
        raise loaded.source.error(f"has {endless}", "replace them or leave the column out")


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
    remedy = "if it holds known classes, give it as the truth (--truth)."
    return [f"Column {n!r} is clustered by, too; {remedy}" for n in columns if is_class(n)]
