"""What a column is, and whether it should be clustered by: one column at a time.

Wrongly leaving a column out is worse than asking. A column is left out where name and values agree
that it describes nothing; where only one of them says so it is used, and called doubtful.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unispectral._errors import plural
from unispectral.tables import _names
from unispectral.tables._columns import Plan, Reading, gives_no_answer
from unispectral.tables._dates import date_order

KINDS = ("measurement", "count", "ordinal", "category", "yes/no", "code", "id", "year", "date",
         "latitude", "longitude", "text", "constant", "copy", "empty")  # fmt: skip
#: Whole numbers with at most so many different values may be levels, or kinds of things.
FEW = 11
#: Whole numbers that are counted begin with at most this, or are few and at most that.
_NEAR_ZERO, _MOST_COUNTED = 5, 100
#: Columns with so large a part missing would be mostly what they are filled with.
MOSTLY = 2 / 3
_DOUBTFUL = 1 / 3
#: Seconds since 1970, of times from 1980 to 2050.
_SECONDS = (3.155e8, 2.525e9)
#: Years of a calendar.
_YEARS = (1500, 2100)
#: A year that is a property of a row counts as a number from so many different ones.
_MANY_YEARS = 6
#: Rows from which a form of the values is no accident.
_ENOUGH = 10
#: Names of rows may occur again if so large a part of them is different.
_NEARLY = 0.9
#: Words of a text that no category has.
_LONG = 4.0
#: The upper tail of a skewed column, in medians, and what is left of its skewness in logarithms.
_TAIL, _SKEWED, _EVENED = 4.0, 0.5, 0.5
_LEAST_LOGGED = 20


@dataclass(frozen=True)
class Judgement:
    """What a column is, what to do with it, and why; `doubt` is set where it may be otherwise.

    The reason and the doubt are said of the column: "'year' says when …".
    """

    kind: str
    role: str = "use"
    reason: str = ""
    doubt: str = ""
    #: The reading, where it is another than that of the values alone.
    plan: Plan | None = None


def judge(name: str, reading: Reading, n_rows: int, most_kinds: int) -> Judgement:
    """Judge a column by its name and its values."""
    if reading.plan["kind"] == "left out":
        empty = reading.plan["why"] == "has no value"
        kind = "empty" if empty else "measurement"
        return Judgement(kind, "leave out", reading.plan["why"])
    if reading.counts is None and reading.values is None:
        return Judgement("date", "supplementary", "holds dates")
    present = _present(reading)
    if _is_marked(reading, present, n_rows):
        plan = {"kind": "yes/no", "decimal": "."}
        return Judgement("yes/no", reason="is marked, or blank for no", plan=plan)
    if _distinct(reading) == 1:
        return _constant(reading, present, n_rows)
    if reading.counts is not None and reading.plan["kind"] in ("category", "ordinal", "date"):
        found = _judge_text(name, reading, present, most_kinds)
    else:
        found = _judge_numbers(name, reading, most_kinds)
        if found.kind in ("measurement", "count") and not found.doubt:
            found = replace(found, doubt=_doubt_of_nines(reading.values))
    lost = n_rows - present
    if found.role != "use" or lost < _DOUBTFUL * n_rows or n_rows < _ENOUGH:
        return found
    gaps = f"is missing in {lost:,} of {n_rows:,} rows"
    if lost >= MOSTLY * n_rows:
        return Judgement(found.kind, "supplementary", gaps, plan=found.plan)
    return Judgement(found.kind, "use", found.reason, found.doubt or gaps, found.plan)


def _present(reading: Reading) -> int:
    if reading.values is not None:
        return int((~np.isnan(reading.values)).sum())
    counts: Any = reading.counts
    if reading.plan["kind"] != "ordinal":
        return counts.total()
    return sum(n for text, n in counts.items() if not gives_no_answer(text))


def _distinct(reading: Reading) -> int:
    if reading.values is not None:
        return len(np.unique(reading.values[~np.isnan(reading.values)]))
    counts: Any = reading.counts
    return len(counts)


def _is_marked(reading: Reading, present: int, n_rows: int) -> bool:
    """Whether rows are marked, as in a form, by a cross or a one, and others are blank."""
    if present == n_rows or reading.values is None:
        return False
    known = reading.values[~np.isnan(reading.values)]
    return len(known) > 0 and bool((known == 1.0).all())


def _constant(reading: Reading, present: int, n_rows: int) -> Judgement:
    if n_rows == 1:
        return Judgement("measurement" if reading.counts is None else "category")
    if reading.values is not None:
        shown = f"{reading.values[~np.isnan(reading.values)][0]:g}"
    else:
        shown = repr(next(iter(reading.counts or ()))[:20])
    everywhere = "in every row" if present == n_rows else "wherever it has one"
    return Judgement("constant", "leave out", f"has the same value, {shown}, {everywhere}")


# Text


def _judge_text(name: str, reading: Reading, present: int, most_kinds: int) -> Judgement:
    kind = reading.plan["kind"]
    counts: Any = reading.counts
    if kind == "date":
        clock = reading.plan["order"] == "clock"
        told = "holds times of day" if clock else "holds dates"
        return Judgement("date", "supplementary", told)
    if kind == "ordinal":
        return Judgement("ordinal", reason=f"has {plural(len(counts), 'level')} in order")
    words = sum(len(text.split()) * n for text, n in counts.items()) / counts.total()
    if len(counts) == present > 2:
        if words >= _LONG or _names.is_remark(name):
            return Judgement("text", "leave out", "is free text, another in every row")
        return Judgement("id", "id", "has a different text in every row")
    if _names.is_remark(name) and (words >= 1.5 or len(counts) > most_kinds):
        return Judgement("text", "leave out", "is free text")
    if words >= _LONG and len(counts) > max(most_kinds, present / 2):
        return Judgement("text", "leave out", "is free text")
    if _names.names_rows(name) == "surely" and len(counts) > 2:
        told = f"names things that rows have in common ({len(counts):,} names)"
        return Judgement("code", "supplementary", told)
    if len(counts) > most_kinds:
        kind = "code" if _names.is_code(name) else "category"
        many = f"has {len(counts):,} different texts, more than {most_kinds}"
        return Judgement(kind, "supplementary", many)
    return _category(name, counts)


def _category(name: str, counts: Counter[str]) -> Judgement:
    doubt = ""
    if _names.is_class(name):
        doubt = "may hold known classes"
    elif _names.is_when(name):
        doubt = "is a part of a date and may say when, not what"
    return Judgement("category", reason=f"has {len(counts)} categories", doubt=doubt)


# Numbers


def _judge_numbers(name: str, reading: Reading, most_kinds: int) -> Judgement:
    values: Any = reading.values
    values = values[~np.isnan(values)]
    if _is_padded(reading.counts):
        told = "holds codes: numbers that begin with 0"
        return Judgement("code", "supplementary", told)
    kinds = np.unique(values)
    if len(kinds) == 2 or reading.plan["kind"] == "yes/no":
        year = _judge_year(name, values, kinds, most_kinds)
        doubt = "may hold known classes" if _names.is_class(name) else ""
        return year or Judgement("yes/no", reason="has two values", doubt=doubt)
    if (place := _place(name, values)) is not None:
        return place
    if (moment := _moment(name, values)) is not None:
        return moment
    whole = bool(np.isfinite(values).all() and (values == np.round(values)).all())
    if not whole or reading.plan.get("unit"):
        return Judgement("measurement", reason="is a number")
    for rule in (_judge_date, _judge_id, _judge_year, _judge_code):
        found = rule(name, values, kinds, most_kinds)
        if found is not None:
            return found
    doubt = ""
    if _names.is_class(name) and len(kinds) <= most_kinds:
        doubt = "may hold known classes"
    elif _names.is_when(name):
        doubt = "is a part of a date and may say when, not what"
    if kinds[0] == 1 and 3 <= kinds[-1] <= FEW and len(kinds) == kinds[-1]:
        told = f"has the levels 1 to {kinds[-1]:g}"
        return Judgement("ordinal", reason=told, doubt=doubt)
    counted = 0 <= kinds[0] <= _NEAR_ZERO or (
        len(kinds) <= FEW and kinds[0] > 0 and kinds[-1] <= _MOST_COUNTED
    )
    kind = "count" if counted else "measurement"
    return Judgement(kind, reason="is a whole number", doubt=doubt)


def _doubt_of_nines(values: Any) -> str:
    """What is said of a number such as −999 that occurs again, far from all others."""
    values = values[np.isfinite(values)]
    for end in (values.min(), values.max()) if len(values) else ():
        if end != round(end) or set(f"{abs(end):.0f}") != {"9"} or 0 < end < 99:
            continue
        others = values[values != end]
        again = len(values) - len(others)
        if again < 2 or len(others) < _ENOUGH:
            continue
        if np.abs(others - end).min() > np.ptp(others) > 0:
            told = f"holds {end:.0f} {again:,} times, far from all other values"
            return f"{told}; --na {end:.0f} takes it as missing"
    return ""


def _is_padded(counts: Counter[str] | None) -> bool:
    """Whether texts are digits of one length, some with a zero in front."""
    if not counts or not all(text.isdigit() for text in counts):
        return False
    lengths = {len(text) for text in counts}
    return len(lengths) == 1 and min(lengths) > 2 and any(text[0] == "0" for text in counts)


def _place(name: str, values: np.ndarray) -> Judgement | None:
    least, most = float(values.min()), float(values.max())
    doubt = "is half of a place on the Earth, not a length; --geo takes both as places"
    if _names.is_latitude(name) and least >= -90 and most <= 90:
        return Judgement("latitude", reason="is a latitude", doubt=doubt)
    if _names.is_longitude(name) and least >= -180 and most <= 360:
        return Judgement("longitude", reason="is a longitude", doubt=doubt)
    return None


def _moment(name: str, values: np.ndarray) -> Judgement | None:
    """Seconds, or thousandths of them, since 1970, under the name of a point in time."""
    if not _names.is_time(name):
        return None
    least, most = float(values.min()), float(values.max())
    for unit in (1.0, 1e3):
        if _SECONDS[0] * unit <= least and most <= _SECONDS[1] * unit:
            return Judgement("date", "supplementary", "holds times, as seconds since 1970")
    return None


def _judge_date(name: str, values: np.ndarray, kinds: np.ndarray, most: int) -> Judgement | None:
    """Whole numbers such as 20240531, each of them a day of the calendar."""
    if kinds[0] < 19000101 or kinds[-1] > 20991231 or len(kinds) < 3:
        return None
    written = [f"{value:.0f}" for value in kinds]
    months = kinds // 100 % 100
    days = kinds % 100
    valid = (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    if not valid.all() or date_order(written) != "ymd":
        return None
    plan = {"kind": "date", "order": "ymd"}
    return Judgement("date", "supplementary", "holds dates as eight digits", plan=plan)


def _judge_id(name: str, values: np.ndarray, kinds: np.ndarray, most: int) -> Judgement | None:
    """Names of rows: another whole number in every row, and a name that says so."""
    named = _names.names_rows(name)
    different = len(kinds) == len(values)
    counting = different and kinds[-1] - kinds[0] == len(values) - 1
    in_order = counting and bool((np.diff(values) == 1).all())
    ends = f"{kinds[0]:.0f} to {kinds[-1]:.0f}"
    if different and named and len(values) > 2:
        told = f"numbers the rows, {ends}" if counting else "names the rows by numbers"
        return Judgement("id", "id", told)
    if named == "surely" and len(kinds) >= _NEARLY * len(values) and len(values) >= _ENOUGH:
        again = len(values) - len(kinds)
        return Judgement("id", "id", f"names the rows by numbers; {again:,} occur again")
    if named == "surely":
        told = f"names things that rows have in common ({len(kinds):,} names)"
        return Judgement("code", "supplementary", told)
    if named and len(kinds) > FEW:
        told = f"may name things that rows have in common ({len(kinds):,} names)"
        return Judgement("count", reason="is a whole number", doubt=told)
    if len(values) < _ENOUGH:
        return None
    if counting and (in_order or kinds[0] in (0, 1)):
        how = "numbers the rows in order" if in_order else "has each number once"
        doubt = f"{how}, {ends}, and may only name them"
        return Judgement("count", reason="is a whole number", doubt=doubt)
    return None


def _judge_year(name: str, values: np.ndarray, kinds: np.ndarray, most: int) -> Judgement | None:
    """Years: the time of a row is not what it is like, its age may be."""
    named = _names.is_year(name)
    calendar = _YEARS[0] <= kinds[0] and kinds[-1] <= _YEARS[1]
    short = named == "what" and kinds[0] >= 0 and kinds[-1] <= 99 and len(kinds) > 2
    if named == "when" and calendar:
        told = f"says when, not what: {plural(len(kinds), 'year')}"
        return Judgement("year", "supplementary", told)
    if named == "what" and (calendar or short):
        if len(kinds) < _MANY_YEARS:
            told = f"is one of {len(kinds)} years, by which rows would be sorted"
            return Judgement("year", "supplementary", told)
        doubt = f"holds years, {kinds[0]:.0f} to {kinds[-1]:.0f}, and may say when, not what"
        return Judgement("year", reason="is a year", doubt=doubt)
    if not named and kinds[0] >= 1900 and kinds[-1] <= 2050 and len(kinds) > 2:
        doubt = f"may hold years, {kinds[0]:.0f} to {kinds[-1]:.0f}"
        return Judgement("count", reason="is a whole number", doubt=doubt)
    return None


def _judge_code(name: str, values: np.ndarray, kinds: np.ndarray, most: int) -> Judgement | None:
    """Numbers that name kinds of things: many are left out, few are categories."""
    if not _names.is_code(name):
        return None
    if len(kinds) > most or len(values) < 5 * len(kinds):
        told = f"holds codes, not amounts ({len(kinds):,} different)"
        return Judgement("code", "supplementary", told)
    plan = {"kind": "category", "categories": sorted(f"{value:.0f}" for value in kinds)}
    doubt = f"holds codes, taken as {len(kinds)} categories"
    return Judgement("code", reason="holds codes", doubt=doubt, plan=plan)


def log_offset(values: np.ndarray) -> float | None:
    """What is added to a skewed column before its logarithm is taken; None where it is not skewed.

    Quantiles decide, not moments: a few wild values are no skewed column. Where the upper tail is
    many times the median, and logarithms take most of the skewness away, rows differ by factors.
    """
    values = values[np.isfinite(values)]
    if len(values) < _LEAST_LOGGED or values.min() < 0:
        return None
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    if middle <= 0 or high < _TAIL * middle or len(np.unique(values)) <= FEW:
        return None
    offset = 0.0 if values.min() > 0 else float(np.quantile(values[values > 0], 0.1))
    plain = _skewness(low, middle, high)
    logged = _skewness(*np.log(np.array([low, middle, high]) + offset))
    if plain < _SKEWED or abs(logged) > _EVENED * plain:
        return None
    return offset


def _skewness(low: float, middle: float, high: float) -> float:
    """Between −1 and 1: how much farther the high quantile is from the middle than the low one."""
    return float((high + low - 2 * middle) / (high - low))
