"""Columns of any kind as numbers: how each is read is decided once, and repeated on new rows.

A decision is a plain dictionary of text and numbers, so that a model file can hold it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from unispectral._compat import optional
from unispectral.tables._cells import ABSENT
from unispectral.tables._source import plural, unique_names

__all__ = ["APART", "MAX_CATEGORIES", "Plan", "are_plans", "category_spreads", "column_names",
           "decide", "decimal_of", "encode", "left_out", "made", "parse_number",
           "used"]  # fmt: skip

#: name, kind, missing, fill and what the kind needs: decimal, categories or why it is left out.
Plan: TypeAlias = dict[str, Any]

MAX_CATEGORIES = 20
#: How far apart two categories are in a table whose numbers have the deviation 1. In graphs of
#: nearest neighbours a larger distance lets categories cut clusters of numbers into pieces;
#: ``python -m benchmarks.label_free.categories`` compares several on real tables.
APART = 0.5
_ANSWERS = dict.fromkeys(("yes", "y", "true", "t", "on"), 1.0)
_ANSWERS |= dict.fromkeys(("no", "n", "false", "f", "off"), 0.0)
_AS = {"number": "a number", "yes/no": "yes or no", "date": "a date"}
_UNIT = r"[$€£¥₹₽₩%]|USD|EUR|GBP|CHF|JPY|CNY|INR"
_DATE = re.compile(r"\d{4}[-/]\d\d?[-/]\d\d?([T ]\d.*)?|\d\d?[./-]\d\d?[./-](\d{4}|\d\d)")
#: Columns are numbers, or dates, if so large a part of their values is; the rest is missing.
_MOST = 0.9


def _number_pattern(group: str, point: str) -> re.Pattern[str]:
    whole = rf"\d{{1,3}}(?:[{group}'’\s]\d{{3}})+|\d+"
    number = rf"(?=[{point}]?\d)(?:{whole})?(?:[{point}]\d*)?(?:[eE][+-]?\d+)?"
    return re.compile(rf"(\()?([+-])?\s*({_UNIT})?\s*([+-])?({number})\s*({_UNIT})?\)?")


_NUMBERS = {".": _number_pattern(",", "."), ",": _number_pattern(".", ",")}


def parse_number(text: str, decimal: str) -> tuple[float, str]:
    """A number as people write it, and its unit; NaN if it is none.

    >>> [parse_number(text, ".")[0] for text in ("$85.40", "1,234", "12 %", "(3)", "red")]
    [85.4, 1234.0, 12.0, -3.0, nan]
    >>> parse_number("1.234,50 €", ",")
    (1234.5, '€')
    """
    found = _NUMBERS[decimal].fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if not found or bool(found[1]) != text.strip().endswith(")"):
        return np.nan, ""
    digits = re.sub(r"['’\s]", "", found[5]).replace("," if decimal == "." else ".", "")
    sign = -1.0 if found[1] or "-" in (found[2], found[4]) else 1.0
    return sign * float(digits.replace(",", ".")), found[3] or found[6] or ""


def decide(
    frame: Any,
    *,
    impute: str | None,
    max_categories: int = MAX_CATEGORIES,
    dates: str = "",
    decimal: str | None = None,
) -> list[Plan]:
    """How each column of a frame becomes numbers, or why it is left out.

    The decimal sign is the one to take where numbers can be read in two ways.
    """
    plans = []
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        plan = {"name": str(name), **_decide(column, max_categories, dates, decimal)}
        if plan["kind"] != "left out":
            values = _column(plan, column, decimal)
            plan["missing"] = int(np.isnan(values).any(axis=1).sum())
            plan["fill"] = _fill(plan, values, impute)
        plans.append(plan)
    return plans


def _decide(column: Any, max_categories: int, dates: str, decimal: str | None) -> Plan:
    types = optional("pandas", extra="io").api.types
    if not column.notna().any():
        return _out("no value present")
    if types.is_complex_dtype(column):
        return _out("complex numbers")
    if types.is_bool_dtype(column) or types.is_numeric_dtype(column):
        return {"kind": "yes/no" if types.is_bool_dtype(column) else "number", "decimal": "."}
    if column.dtype.kind in "mM":
        return {"kind": "date"} if dates == "days" else _out("dates")
    texts = [text for text in _texts(column) if text is not None]
    if not texts:
        return _out("no value present")
    counts = Counter(texts)
    if all(text.casefold() in _ANSWERS for text in counts):
        return {"kind": "yes/no"}
    if not isinstance(column.dtype, optional("pandas", extra="io").CategoricalDtype):
        if _share(counts, lambda text: bool(_DATE.fullmatch(text))) >= _MOST:
            clear = _share(counts, lambda text: bool(re.match(r"\d{4}-", text))) >= _MOST
            if dates == "days" and not clear:
                return _out("dates that can be read in several ways; write them as 2024-05-31")
            return {"kind": "date"} if dates == "days" else _out("dates")
        if number := _as_number(counts, decimal):
            return number
    if len(counts) > max_categories:
        return _out(f"{len(counts):,} different texts, more than {max_categories}")
    if len(counts) == len(texts) > 2:
        return _out("a different text in every row")
    return {"kind": "category", "categories": sorted(counts)}


def _out(why: str) -> Plan:
    return {"kind": "left out", "why": why}


def _share(counts: Counter[str], test: Callable[[str], Any]) -> float:
    return sum(n for text, n in counts.items() if test(text)) / counts.total()


def _as_number(counts: Counter[str], decimal: str | None) -> Plan | None:
    sign = _decimal(counts, decimal or ".")
    read = {text: parse_number(text, sign) for text in counts}
    if _share(counts, lambda text: not np.isnan(read[text][0])) < _MOST:
        return None
    units = {unit for _, unit in read.values()} - {""}
    if len(units) > 1:
        return _out(f"numbers in several units ({', '.join(sorted(units))})")
    return {"kind": "number", "decimal": sign, "unit": "".join(units)}


def _decimal(counts: Counter[str], usual: str) -> str:
    """The decimal sign with which more values are numbers, or the usual one."""

    def share(sign: str) -> float:
        return _share(counts, lambda text: not np.isnan(parse_number(text, sign)[0]))

    return max(_NUMBERS, key=lambda sign: (share(sign), sign == usual))


def decimal_of(column: Any, usual: str) -> str:
    """The decimal sign of a column of text."""
    counts = Counter(text for text in _texts(column) if text is not None)
    return _decimal(counts, usual) if counts else usual


def _texts(column: Any) -> list[str | None]:
    """Values as text without spaces around them; None where missing."""

    def text(value: Any) -> str | None:
        whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        shown = str(int(value) if whole else value).strip()
        return None if shown.casefold() in ABSENT else shown

    lost = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    return [None if gone else text(value) for value, gone in zip(values, lost, strict=True)]


def _column(plan: Plan, column: Any, decimal: str | None) -> np.ndarray:
    """One column as numbers of shape (n, 1), or (n, categories); NaN where missing.

    Numbers as text may have another decimal sign than those of the fit had.
    """
    pandas = optional("pandas", extra="io")
    kind = plan["kind"]
    if kind in ("number", "yes/no") and pandas.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
    if kind == "date":
        if column.dtype.kind == "m":
            days = column / pandas.Timedelta(days=1)
        else:
            iso = {} if column.dtype.kind == "M" else {"format": "ISO8601"}
            stamps = pandas.to_datetime(column, errors="coerce", utc=True, **iso)
            days = (stamps - pandas.Timestamp(0, tz="UTC")) / pandas.Timedelta(days=1)
        return days.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
    texts = _texts(column)
    if kind == "category":
        values = np.array(texts, dtype=object)[:, None] == np.array(plan["categories"], object)
        return np.where(np.array([text is None for text in texts])[:, None], np.nan, values)
    if kind == "yes/no":
        answers = _ANSWERS | {"1": 1.0, "0": 0.0}
        known = {text: answers.get(str(text).casefold(), np.nan) for text in set(texts)}
    else:
        sign = decimal_of(column, decimal or plan["decimal"])
        known = {text: parse_number(text or "", sign)[0] for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=np.float64)[:, None]


def _fill(plan: Plan, values: np.ndarray, impute: str | None) -> float | str | None:
    present = values[~np.isnan(values).any(axis=1)]
    if impute is None or not len(present):
        return None
    if plan["kind"] == "category":
        return plan["categories"][int(present.sum(axis=0).argmax())]
    if plan["kind"] == "yes/no":
        return float(present.mean() > 0.5)
    if impute == "zero":
        return 0.0
    middle: Any = np.mean if impute == "mean" else np.median
    with np.errstate(over="ignore"):
        found = float(middle(present))
    return found if np.isfinite(found) else float(middle(present / 4.0)) * 4.0


def encode(
    frame: Any, plans: Sequence[Plan], decimal: str | None = None
) -> tuple[np.ndarray, list[str]]:
    """The columns in use as numbers side by side, and what was odd about them."""
    parts, notes, filled = [], [], []
    for plan in used(plans):
        column = frame[plan["name"]]
        values = _column(plan, column, decimal)
        if plan["kind"] == "category" and (unknown := int((values.sum(axis=1) == 0).sum())):
            found = f"Column {plan['name']!r}: {plural(unknown, 'value')} that the fit did not see"
            notes.append(f"{found}; such a row belongs to none of its categories.")
        lost = np.isnan(values).any(axis=1)
        if unread := [text for text in (_texts(column[lost]) if lost.any() else ()) if text]:
            told = (
                f"Column {plan['name']!r}: {plural(len(unread), 'value')} that cannot be read as"
            )
            notes.append(
                f"{told} {_AS[plan['kind']]}, such as {unread[0][:20]!r}; taken as missing."
            )
        if plan["fill"] is not None and lost.any():
            kinds = plan.get("categories")
            values = values.copy()  # it can be a view of the user's own column
            values[lost] = plan["fill"] if kinds is None else np.equal(kinds, plan["fill"])
            by = f"{plan['fill']:g}" if kinds is None else repr(plan["fill"])
            filled.append(f"{int(lost.sum())} in {plan['name']!r} with {by}")
        parts.append(values)
    if filled:
        notes.insert(0, f"Filled in missing values: {', '.join(filled)}.")
    return np.hstack(parts), notes


def are_plans(value: Any) -> bool:
    """Whether what a file holds could have been made by `decide`."""
    if not isinstance(value, list) or not all(isinstance(plan, dict) for plan in value):
        return False
    names = [plan.get("name") for plan in value]
    unique = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return unique and all(map(_is_plan, value))


def _is_plan(plan: Plan) -> bool:
    kind, fill = plan.get("kind"), plan.get("fill")
    kinds: Any = plan.get("categories")
    if kind == "left out":
        return isinstance(plan.get("why"), str)
    if "fill" not in plan or plan.get("decimal", ".") not in (".", ","):
        return False
    if kind == "category":
        texts = isinstance(kinds, list) and all(isinstance(one, str) for one in kinds)
        return texts and len(set(kinds)) == len(kinds) > 0 and (fill is None or fill in kinds)
    number = isinstance(fill, (int, float)) and not isinstance(fill, bool)
    known = kind in ("yes/no", "date") or (kind == "number" and "decimal" in plan)
    return known and kinds is None and (fill is None or number)


def used(plans: Sequence[Plan]) -> list[Plan]:
    return [plan for plan in plans if plan["kind"] != "left out"]


def left_out(plans: Sequence[Plan]) -> list[tuple[str, str]]:
    return [(plan["name"], plan["why"]) for plan in plans if plan["kind"] == "left out"]


def column_names(plans: Sequence[Plan]) -> list[str]:
    """Names of the columns that `encode` makes."""
    names = []
    for plan in used(plans):
        kinds = plan.get("categories")
        names += [plan["name"]] if kinds is None else [f"{plan['name']}={k}" for k in kinds]
    return unique_names(names)[0]


def category_spreads(plans: Sequence[Plan], values: np.ndarray) -> np.ndarray:
    """What puts different categories at the distance `APART`; NaN for columns of numbers.

    A number of two values, such as 0 and 1, is an answer whatever it is written with.
    """
    spreads: list[float] = []
    for plan in used(plans):
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


def made(plans: Sequence[Plan]) -> list[str]:
    """Which columns became numbers that were not, in words."""
    told = []
    for plan in used(plans):
        kinds = plan.get("categories")
        how = plan["kind"] if kinds is None else f"{len(kinds)} categories"
        if how != "number" or "unit" in plan:
            unit = f" in {plan['unit']}" if plan.get("unit") else ""
            told.append(f"{plan['name']!r} ({how}{unit})")
    return [f"Converted to numbers: {', '.join(told)}."] if told else []
