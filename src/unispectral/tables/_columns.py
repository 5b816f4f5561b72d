"""How one column is read: as numbers, answers, levels, categories, dates; and its values so.

What was found out is a plain dictionary of text and numbers, a `Plan`, so that a model file can
hold it and new rows are read in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unispectral._compat import optional
from unispectral.tables._cells import ABSENT
from unispectral.tables._dates import date_order, days_of
from unispectral.tables._ordinals import NO_ANSWER, find_order

if TYPE_CHECKING:
    import pandas as pd

#: name, kind, missing, fill and what the kind needs: decimal, levels, categories, order, or why
#: it is left out.
Plan: TypeAlias = dict[str, Any]

#: How a form marks what was chosen; what was not is left blank.
MARKS = ("x", "✓", "✔", "☑", "☒")
_ANSWERS = dict.fromkeys(("yes", "y", "true", "t", "on", "ja", "j", "wahr"), 1.0)
_ANSWERS |= dict.fromkeys(("no", "n", "false", "f", "off", "nein", "falsch"), 0.0)
_UNIT = r"[$€£¥₹₽₩%]|USD|EUR|GBP|CHF|JPY|CNY|INR"
#: Any word behind a number may be its unit: kg, °C, km/h, m².
_WORD = r"[^\W\d_][^\W\d_/.²³°]{0,11}|°[CF]?|[^\W\d_]{1,4}/[^\W\d_]{1,4}|[^\W\d_]{1,3}[²³]"
#: Columns are numbers, or dates, if so large a part of their values is; the rest is missing.
MOST = 0.9


@dataclass(frozen=True, eq=False)
class Reading:
    """A column as it is read.

    `plan` has the kind ("number", "yes/no", "ordinal", "category", "date", or "left out" with the
    reason), `values` the numbers with NaN where missing, if they are numbers, and `counts` how
    often each text occurs, if they are text.
    """

    plan: Plan
    values: np.ndarray | None = None
    counts: Counter[str] | None = None


def _number_pattern(group: str, point: str) -> re.Pattern[str]:
    whole = rf"\d{{1,3}}(?:[{group}'’\s]\d{{3}})+|\d{{1,2}}(?:[{group}]\d\d)+[{group}]\d{{3}}|\d+"
    number = rf"(?=[{point}]?\d)(?:{whole})?(?:[{point}]\d*)?(?:[eE][+-]?\d+)?"
    sign = rf"((?<=[{point}]\d\d)-)?"  # as some programs of bookkeeping write losses
    before = rf"(\()?([+-])?\s*({_UNIT})?\s*([+-])?"
    return re.compile(rf"{before}({number}){sign}\s*({_UNIT}|{_WORD})?\)?")


_SIGN = re.compile(_UNIT)
#: Fewer numbers than this before a word are kinds of a thing, as doors of a car.
_SEVERAL = 3
_NUMBERS = {".": _number_pattern(",", "."), ",": _number_pattern(".", ",")}


def parse_number(text: str, decimal: str) -> tuple[float, str]:
    """A number as people write it, and its unit; NaN if it is none.

    Any word behind a number counts as its unit; whether it is one, the column shows.

    >>> [parse_number(text, ".")[0] for text in ("$85.40", "1,234", "12 %", "(3)", "red")]
    [85.4, 1234.0, 12.0, -3.0, nan]
    >>> parse_number("1.234,50 €", ",")
    (1234.5, '€')
    >>> parse_number("71.5 kg", ".")
    (71.5, 'kg')
    """
    found = _NUMBERS[decimal].fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if not found or bool(found[1]) != text.strip().endswith(")"):
        return np.nan, ""
    digits = re.sub(r"['’\s]", "", found[5]).replace("," if decimal == "." else ".", "")
    sign = -1.0 if found[1] or "-" in (found[2], found[4], found[6]) else 1.0
    return sign * float(digits.replace(",", ".")), found[3] or found[7] or ""


def read_column(
    column: pd.Series, decimal: str | None, orders: Sequence[Mapping[str, float]] = ()
) -> Reading:
    """Find out how a column is to be read.

    The decimal sign is the one to take where numbers can be read in two ways; `orders` are the
    places of answers that the user put in order.
    """
    types = optional("pandas", extra="io").api.types
    if not column.notna().any():
        return _unread("has no value")
    if types.is_complex_dtype(column):
        return _unread("holds complex numbers")
    if types.is_bool_dtype(column) or types.is_numeric_dtype(column):
        kind = "yes/no" if types.is_bool_dtype(column) else "number"
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return Reading({"kind": kind, "decimal": "."}, values)
    if column.dtype.kind == "m":
        return Reading({"kind": "number", "decimal": ".", "unit": "days"}, _days(column))
    if column.dtype.kind == "M":
        return Reading({"kind": "date", "order": "iso"})
    counts = Counter(text for text in texts_of(column) if text is not None)
    if not counts:
        return _unread("has no value")
    return _read_texts(column, counts, decimal, orders)


def _read_texts(
    column: pd.Series,
    counts: Counter[str],
    decimal: str | None,
    orders: Sequence[Mapping[str, float]],
) -> Reading:
    """Find out what texts are."""
    categorical = isinstance(column.dtype, optional("pandas", extra="io").CategoricalDtype)
    if _are_answers({text.casefold() for text in counts}):
        plan = {"kind": "yes/no"}
        return Reading(plan, column_values(plan, column, decimal).ravel(), counts)
    if categorical and column.dtype.ordered:
        ordered = [str(level).strip().casefold() for level in column.dtype.categories]
        places = {level: float(at) for at, level in enumerate(ordered)}
        return Reading({"kind": "ordinal", "levels": places}, counts=counts)
    if levels := find_order(counts, orders):
        said = {
            text.casefold(): levels[text.casefold()]
            for text in counts
            if text.casefold() in levels
        }
        return Reading({"kind": "ordinal", "levels": said | levels}, counts=counts)
    if not categorical:
        if order := _order_of_dates(counts):
            return Reading({"kind": "date", "order": order}, counts=counts)
        if number := _as_number(counts, decimal):
            if number["kind"] == "left out":
                return Reading(number, counts=counts)
            return Reading(number, column_values(number, column, decimal).ravel(), counts)
    return Reading({"kind": "category", "categories": sorted(counts)}, counts=counts)


def _are_answers(texts: set[str]) -> bool:
    """Whether texts are yes and no, or the marks of a form."""
    if texts <= _ANSWERS.keys():
        return len(texts) == 1 or len({_ANSWERS[text] for text in texts}) > 1
    return texts <= set(MARKS)


def _unread(why: str) -> Reading:
    return Reading({"kind": "left out", "why": why})


def _share(counts: Counter[str], test: Callable[[str], Any]) -> float:
    return sum(n for text, n in counts.items() if test(text)) / counts.total()


def _order_of_dates(counts: Counter[str]) -> str:
    """How most of the texts are written as dates; empty if they are none."""
    dated = [text for text in counts if date_order([text])]
    if sum(counts[text] for text in dated) < MOST * counts.total():
        return ""
    order = date_order(dated)
    return "" if order == "ymd" else order  # eight digits may be any number


def _as_number(counts: Counter[str], decimal: str | None) -> Plan | None:
    sign = _decimal(counts, decimal or ".")
    read = {text: parse_number(text, sign) for text in counts}
    if _share(counts, lambda text: not np.isnan(read[text][0])) < MOST:
        return None
    units = {unit for _, unit in read.values()} - {""}
    words = {unit for unit in units if not _SIGN.fullmatch(unit)}
    if words:
        return _with_word(read, words, sign) if words == units else None
    if len(units) > 1:
        why = f"has numbers in several units ({', '.join(sorted(units))})"
        return {"kind": "left out", "why": why}
    return {"kind": "number", "decimal": sign, "unit": "".join(units)}


def _with_word(read: Mapping[str, tuple[float, str]], words: set[str], sign: str) -> Plan | None:
    """Numbers with a word behind each; None where it is no unit, but names kinds of things."""
    numbers = [(number, unit) for number, unit in read.values() if not np.isnan(number)]
    one = _one_word(words)
    if not one or not all(unit for _, unit in numbers) or len({n for n, _ in numbers}) < _SEVERAL:
        return None
    return {"kind": "number", "decimal": sign, "unit": one}


def _one_word(words: set[str]) -> str:
    """The word that all are, but for small letters and a plural (year, years; Tag, Tage)."""
    shortest, *others = sorted((word.casefold() for word in words), key=len)
    ends = {other.removeprefix(shortest) for other in others}
    same = ends <= {"", "s", "e", "n", "en", "es"}
    return max(words, key=len) if same else ""


def _decimal(counts: Counter[str], usual: str) -> str:
    """The decimal sign with which more values are numbers, or the usual one."""

    def share(sign: str) -> float:
        return _share(counts, lambda text: not np.isnan(parse_number(text, sign)[0]))

    return max(_NUMBERS, key=lambda sign: (share(sign), sign == usual))


def decimal_of(column: object, usual: str) -> str:
    """The decimal sign of a column of text."""
    counts = Counter(text for text in texts_of(column) if text is not None)
    return _decimal(counts, usual) if counts else usual


def texts_of(column: pd.Series) -> list[str | None]:
    """Values as text without spaces around them; None where missing."""

    def text(value: Any) -> str | None:
        whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
        shown = str(int(value) if whole else value).strip()
        return None if shown.casefold() in ABSENT else shown

    lost = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    return [None if gone else text(value) for value, gone in zip(values, lost, strict=True)]


def column_values(plan: Plan, column: pd.Series, decimal: str | None) -> np.ndarray:
    """One column as numbers of shape (n, 1), or (n, categories); NaN where missing.

    Numbers as text may have another decimal sign than those of the fit had.
    """
    types = optional("pandas", extra="io").api.types
    kind = plan["kind"]
    if kind in ("number", "yes/no") and types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)[:, None]
    if kind in ("date", "number") and column.dtype.kind in "mM":
        return _days(column)[:, None]
    texts = texts_of(column)
    if kind == "category":
        values = np.array(texts, dtype=object)[:, None] == np.array(plan["categories"], object)
        return np.where(np.array([text is None for text in texts])[:, None], np.nan, values)
    different = set(texts)
    if kind == "date":
        known = {text: days_of(text or "", plan.get("order", "iso")) for text in different}
    elif kind == "ordinal":
        levels = plan["levels"]
        known = {text: levels.get(str(text).casefold(), np.nan) for text in different}
    elif kind == "yes/no":
        answers = _ANSWERS | dict.fromkeys(MARKS, 1.0) | {"1": 1.0, "0": 0.0}
        known = {text: answers.get(str(text).casefold(), np.nan) for text in different}
    else:
        sign = decimal_of(column, decimal or plan["decimal"])
        known = {text: _number_in(text or "", sign, plan.get("unit", "")) for text in different}
    return np.array([known[text] for text in texts], dtype=np.float64)[:, None]


def _number_in(text: str, sign: str, unit: str) -> float:
    """A number; NaN where a word behind it is not the unit of the column."""
    number, found = parse_number(text, sign)
    if not found or _SIGN.fullmatch(found):
        return number
    return number if unit and _one_word({found, unit}) else np.nan


def gives_no_answer(text: str) -> bool:
    """Whether an answer says that there is none."""
    return text.casefold() in NO_ANSWER


def _days(column: pd.Series) -> np.ndarray:
    """Days since 1970 of points in time, and days of spans."""
    pandas = optional("pandas", extra="io")
    if column.dtype.kind == "m":
        days = column / pandas.Timedelta(days=1)
    else:
        stamps = pandas.to_datetime(column, utc=True)
        days = (stamps - pandas.Timestamp(0, tz="UTC")) / pandas.Timedelta(days=1)
    return days.to_numpy(dtype=np.float64, na_value=np.nan)
