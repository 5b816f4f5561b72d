"""Columns of any kind as numbers: how each is treated is decided once, and repeated on new rows.

A decision is a plain dictionary of text and numbers, so that a model file can hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._errors import InputError, plural
from unispectral.tables._columns import MOST, Plan, column_values, gives_no_answer, texts_of
from unispectral.tables._ordinals import given_order
from unispectral.tables._places import PLACE, place_spread
from unispectral.tables._profile import MANY_NUMBERS, MAX_CATEGORIES, ColumnProfile, TableProfile
from unispectral.tables._profile import profile as look_at
from unispectral.tables._scaling import learn_transform, transform_like_fit
from unispectral.tables._source import TableError, unique_names

if TYPE_CHECKING:
    import pandas as pd

#: How far apart two categories are in a table whose numbers have the deviation 1. In graphs of
#: nearest neighbours a larger distance lets categories cut clusters of numbers into pieces;
#: ``python -m benchmarks.label_free.categories`` compares several on real tables.
APART = 0.5
_AS = {"number": "a number", "yes/no": "yes or no", "date": "a date", "ordinal": "a level",
       "place": "a place"}  # fmt: skip
#: So many values that cannot be read, in more than a tenth of the rows, are no slips.
_SEVERAL = 3
_UNCLEAR = "holds dates that can be read in several ways; write them as 2024-05-31"


@dataclass(frozen=True)
class Choices:
    """What the user decides about columns; everything else is found out.

    `use` names columns that are used whatever they look like, `order` puts answers in order, and
    `geo` names a latitude and a longitude.
    """

    use: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    supplementary: tuple[str, ...] = ()
    id: str | None = None
    order: Any = ()
    geo: tuple[str, ...] = ()
    impute: str | None = "median"
    scale: str = "auto"
    max_categories: int = MAX_CATEGORIES
    dates: str = "leave out"

    def roles(self) -> dict[str, str]:
        """The roles that are given, by column."""
        given = {"use": self.use, "leave out": self.leave_out, "supplementary": self.supplementary}
        given["id"] = () if self.id is None else (self.id,)
        given["use"] += tuple(name for name in self.geo if name not in given["use"])
        found: dict[str, str] = {}
        for role, names in given.items():
            for name in names:
                if found.setdefault(name, role) != role:
                    option = role.replace(" ", "_")
                    problem = f"is already {_OPTION[found[name]]}"
                    raise InputError(option, problem, "name it once", value=name)
        return found


_OPTION = {
    "use": "used",
    "leave out": "left out",
    "supplementary": "supplementary",
    "id": "the id",
}


def decide(
    frame: pd.DataFrame, choices: Choices, decimal: str | None = None
) -> tuple[list[Plan], TableProfile]:
    """How each column of a frame becomes numbers, or why it is left out.

    The decimal sign is the one to take where numbers can be read in two ways.
    """
    given = choices.roles()
    _check_known(frame, given)
    options: dict[str, Any] = {"max_categories": choices.max_categories, "order": choices.order}
    seen = look_at(frame, decimal=decimal, **options)
    _check_order(seen, choices.order)
    if choices.dates == "days":
        given = {c.name: "use" for c in seen if c.kind == "date"} | given
    seen = replace(seen, columns=tuple(_with_role(c, given, choices.id) for c in seen))
    plans = []
    for column in seen:
        plan = _plan(column, given)
        if plan["kind"] != "left out":
            values = column_values(plan, frame[column.name], decimal)
            plan["missing"] = int(np.isnan(values).any(axis=1).sum())
            plan["fill"] = _fill(plan, values, choices.impute)
            plan |= learn_transform(plan, values, choices.scale, column.log)
        plans.append(plan)
    if choices.geo:
        plans = _with_place(plans, frame, choices.geo)
    return plans, seen


def _check_known(frame: pd.DataFrame, given: Mapping[str, str]) -> None:
    known = {str(name) for name in frame.columns}
    for name, role in given.items():
        if name not in known:
            raise InputError(role.replace(" ", "_"), "is not a column of the table", value=name)


def _check_order(seen: TableProfile, order: Any) -> None:
    """Refuse an order of answers that is none of its column, or of no column."""
    known: dict[str, dict[str, float]] = {
        column.name: column.plan.get("levels", {}) for column in seen
    }
    named = order.items() if isinstance(order, Mapping) else ((None, levels) for levels in order)
    for name, levels in named:
        if name is not None and name not in known:
            raise InputError("order", "is not a column of the table", value=name)
        wanted = given_order(levels)
        columns = known if name is None else [name]
        if not any(wanted.items() <= known[one].items() for one in columns):
            told = "is not the order of all its answers" if name else "is the order of no column"
            shown = name or ", ".join(map(str, levels))
            raise InputError("order", told, "name every answer, from the least", value=shown)


def _with_role(column: ColumnProfile, given: Mapping[str, str], id: str | None) -> ColumnProfile:
    """The column with the role that the user gives it."""
    role = given.get(column.name)
    if role is None and column.role == "id" and id is not None:
        return replace(column, role="leave out")
    if role is None:
        return column
    if role == column.role:
        return replace(column, doubt="")
    return replace(column, role=role, reason="as asked for", doubt="")


def _plan(column: ColumnProfile, given: Mapping[str, str]) -> Plan:
    """What becomes of a column with its role."""
    plan = {"name": column.name, "what": column.kind}
    read = column.plan
    asked = given.get(column.name) == "use"
    if column.role != "use":
        return plan | {"kind": "left out", "why": column.reason, "role": column.role}
    if read["kind"] == "left out":
        return plan | {"kind": "left out", "why": read["why"], "role": "leave out"}
    if read["kind"] == "date" and read["order"] == "unclear":
        return plan | {"kind": "left out", "why": _UNCLEAR, "role": "supplementary"}
    if asked and read["kind"] == "category" and column.kind in ("id", "text"):
        raise InputError("use", "has a different text in every row", value=column.name)
    return plan | dict(read)


def _with_place(plans: list[Plan], frame: pd.DataFrame, geo: Sequence[str]) -> list[Plan]:
    """Latitude and longitude as one place on the Earth."""
    if len(geo) != 2:
        problem = "must name two columns, the latitude and the longitude"
        raise InputError("geo", problem, value=", ".join(geo))
    latitude, longitude = geo
    by_name = {plan["name"]: plan for plan in plans}
    for name, most in ((latitude, 90.0), (longitude, 360.0)):
        if by_name[name]["kind"] != "number":
            raise InputError("geo", "must be a column of numbers, in degrees", value=name)
        values = column_values(by_name[name], frame[name], None)
        if np.nanmax(np.abs(values)) > most:
            problem = f"must hold degrees between −{most:g} and {most:g}"
            raise InputError("geo", problem, value=name)
    fill = [by_name[name]["fill"] for name in geo]
    both = {"kind": "place", "longitude": longitude, "fill": None if None in fill else fill}
    told = {"kind": "left out", "why": f"is used with {latitude!r}", "role": "use"}
    new = []
    for plan in plans:
        kept = {key: plan[key] for key in ("name", "what", "missing") if key in plan}
        if plan["name"] == latitude:
            plan = kept | both
        elif plan["name"] == longitude:
            plan = {"name": longitude, "what": plan["what"], **told}
        new.append(plan)
    return new


def _fill(plan: Plan, values: np.ndarray, impute: str | None) -> float | str | None:
    present = values[~np.isnan(values).any(axis=1)]
    if impute is None or not len(present):
        return None
    if plan["kind"] == "category":
        return plan["categories"][int(present.sum(axis=0).argmax())]
    if plan["kind"] == "yes/no":  # where there is no "no", blanks are
        return float(present.mean() > 0.5 and present.min() < 1.0)
    if impute == "zero" and plan["kind"] != "ordinal":
        return 0.0
    if plan["kind"] == "ordinal":  # a level that exists
        return float(np.sort(present.ravel())[len(present) // 2])
    middle: Any = np.mean if impute == "mean" else np.median
    with np.errstate(over="ignore"):
        found = float(middle(present))
    return found if np.isfinite(found) else float(middle(present / 4.0)) * 4.0


def encode(
    frame: pd.DataFrame, plans: Sequence[Plan], decimal: str | None = None
) -> tuple[np.ndarray, list[str]]:
    """The columns in use as numbers side by side, and what was odd about them."""
    parts, notes, filled = [], [], []
    for plan in list_used(plans):
        if plan["kind"] == "place":
            values = _degrees(plan, frame, decimal)
        else:
            values = column_values(plan, frame[plan["name"]], decimal)
        lost = np.isnan(values).any(axis=1)
        notes += _odd(plan, frame, values, lost)
        if plan["fill"] is not None and lost.any():
            values = values.copy()  # it can be a view of the user's own column
            kinds = plan.get("categories")
            values[lost] = plan["fill"] if kinds is None else np.equal(kinds, plan["fill"])
            filled.append(f"{int(lost.sum())} in {plan['name']!r} with {_shown_fill(plan)}")
        parts.append(transform_like_fit(plan, values))
    if filled:
        notes.insert(0, f"Filled in missing values: {', '.join(filled)}.")
    return np.hstack(parts), notes


def _degrees(plan: Plan, frame: pd.DataFrame, decimal: str | None) -> np.ndarray:
    number = {"kind": "number", "decimal": decimal or "."}
    names = (plan["name"], plan["longitude"])
    return np.hstack([column_values(number, frame[name], decimal) for name in names])


def _odd(plan: Plan, frame: pd.DataFrame, values: np.ndarray, lost: np.ndarray) -> list[str]:
    """Values that the fit did not see, or that cannot be read."""
    notes = []
    name = plan["name"]
    if plan["kind"] == "category" and (unknown := int((values.sum(axis=1) == 0).sum())):
        found = f"Column {name!r}: {plural(unknown, 'value')} that the fit did not see"
        notes.append(f"{found}; such a row belongs to none of its categories.")
    texts = texts_of(frame[name][lost]) if lost.any() else []
    if unread := [text for text in texts if text and not gives_no_answer(text)]:
        present = len(values) - len(texts) + len(unread)
        if len(unread) >= _SEVERAL and present - len(unread) < MOST * present:
            raise UnreadableColumnError(name, len(unread), present, plan["kind"], unread[0])
        told = f"Column {name!r}: {plural(len(unread), 'value')} that cannot be read as"
        notes.append(f"{told} {_AS[plan['kind']]}, such as {unread[0][:20]!r}; taken as missing.")
    return notes


def _shown_fill(plan: Plan) -> str:
    """What gaps are filled with, as people read it."""
    fill = plan["fill"]
    if plan["kind"] == "ordinal":
        words = [word for word, at in plan["levels"].items() if at == fill]
        return repr(words[0]) if words else f"{fill:g}"
    if plan["kind"] == "place":
        return ", ".join(f"{part:g}" for part in fill)
    return repr(fill) if isinstance(fill, str) else f"{fill:g}"


class UnreadableColumnError(TableError):
    """A column of new rows that is something else than it was in the fit."""

    def __init__(self, name: str, unread: int, present: int, kind: str, example: str) -> None:
        self.column = name
        problem = f"has {unread:,} of {present:,} values that cannot be read as {_AS[kind]}"
        problem += f", such as {example[:20]!r}"
        super().__init__(
            f"The column {name!r}", problem, "write them as the others, or name them as missing"
        )


def list_used(plans: Sequence[Plan]) -> list[Plan]:
    return [plan for plan in plans if plan["kind"] != "left out"]


def sources(plans: Sequence[Plan]) -> Iterator[str]:
    """Columns of a table that the numbers are made of."""
    for plan in list_used(plans):
        yield plan["name"]
        if plan["kind"] == "place":
            yield plan["longitude"]


def list_left_out(plans: Sequence[Plan]) -> list[tuple[str, str]]:
    return [
        (plan["name"], plan["why"])
        for plan in plans
        if plan["kind"] == "left out" and plan.get("role") not in ("use", "id")
    ]


def column_names(plans: Sequence[Plan]) -> list[str]:
    """Names of the columns that `encode` makes."""
    names = []
    for plan in list_used(plans):
        if plan["kind"] == "place":
            names += [f"{plan['name']}, {plan['longitude']}: {axis}" for axis in PLACE]
        elif (kinds := plan.get("categories")) is not None:
            names += [f"{plan['name']}={kind}" for kind in kinds]
        else:
            names.append(plan["name"])
    return unique_names(names)[0]


def plans_by_column(plans: Sequence[Plan]) -> list[Plan]:
    """For each column that `encode` makes, the plan that it comes from."""
    return [plan for plan in list_used(plans) for _ in column_names([plan])]


def are_plain(plans: Sequence[Plan]) -> bool:
    """Whether all columns in use are numbers as they stand, so that the model can scale them.

    Two values of one column are kinds, not amounts, but for columns of one kind, as pixels.
    """
    inside = list_used(plans)
    numbers = all(
        plan["kind"] in ("number", "ordinal") and not {"log", "ranks"} & plan.keys()
        for plan in inside
    )
    kinds = any(plan.get("what") == "yes/no" for plan in inside)
    return numbers and (len(inside) > MANY_NUMBERS or not kinds)


def category_spreads(plans: Sequence[Plan], values: np.ndarray) -> np.ndarray:
    """What puts different categories at the distance `APART`; NaN for columns of numbers.

    A number of two values, such as 0 and 1, is an answer whatever it is written with. The three
    coordinates of a place keep their distances, and count as two columns.
    """
    spreads: list[float] = []
    for plan in list_used(plans):
        if plan["kind"] == "place":
            spreads += [place_spread(values[:, len(spreads) : len(spreads) + len(PLACE)])] * len(
                PLACE
            )
            continue
        width = len(plan.get("categories", [1]))
        column = values[:, len(spreads)]
        if plan["kind"] == "category":  # two rows differ in two of its columns
            spread = np.sqrt(2.0)
        elif plan["kind"] == "yes/no":
            spread = 1.0
        else:
            low, high = column.min(), column.max()
            spread = high - low if low < high and np.isin(column, (low, high)).all() else np.nan
        spreads += [spread / APART] * width
    return np.array(spreads)
