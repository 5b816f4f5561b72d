"""Dates as people write them: which come first, days or months, and how many days since 1970."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone

import numpy as np

_EPOCH = datetime(1970, 1, 1)
_TIME = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)
_MONTHS = ("jan", "feb", "mar|mär|mrz", "apr", "may|mai", "jun", "jul", "aug", "sep", "oct|okt",
           "nov", "dec|dez")  # fmt: skip
_MONTH_OF = {word: at for at, words in enumerate(_MONTHS, 1) for word in words.split("|")}
_MONTH = r"(?P<month>[A-Za-zä]{3,9})\.?"
_FORMS = {
    "iso": re.compile(r"(?P<year>\d{4})[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)" + _TIME),
    "parts": re.compile(r"(?P<a>\d\d?)[./-](?P<b>\d\d?)[./-](?P<year>\d{4}|\d\d)" + _TIME),
    "dmy words": re.compile(rf"(?P<day>\d\d?)\.?[ -]{_MONTH}[ ,-]+(?P<year>\d{{4}})" + _TIME),
    "mdy words": re.compile(rf"{_MONTH}[ -](?P<day>\d\d?),?[ -]+(?P<year>\d{{4}})" + _TIME),
    "ym": re.compile(r"(?P<year>(?:19|20)\d\d)[-/](?P<month>0[1-9]|1[0-2])"),
    "clock": re.compile(
        r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?P<half>)(?P<zone>)"
    ),
    "ymd": re.compile(r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)" + _TIME),
}


def date_order(texts: Iterable[str]) -> str:
    """How dates are written: "iso", "dmy", "mdy", "words", "ymd", "ym", "clock", "unclear".

    Empty where they are no dates.

    >>> date_order(["2024-05-31", "2024-06-01 10:30"]), date_order(["31/05/2024 10:00:00"])
    ('iso', 'dmy')
    >>> date_order(["1/2/2024"]), date_order(["1.5"])
    ('unclear', '')
    """
    first = second = 0
    forms = set()
    for text in texts:
        form, match = _match(text)
        if match is None:
            return ""
        forms.add(form)
        if form == "parts":
            first = max(first, int(match["a"]))
            second = max(second, int(match["b"]))
        elif form.endswith("words") and match["month"][:3].casefold() not in _MONTH_OF:
            return ""
    if not forms:
        return ""
    if forms <= {"dmy words", "mdy words"}:
        return "words"
    if len(forms) > 1:
        return "unclear"
    (form,) = forms
    if form != "parts":
        return form
    if first > 12 and second > 12:
        return ""
    return "dmy" if first > 12 else "mdy" if second > 12 else "unclear"


def days_of(text: str, order: str) -> float:
    """Days since 1970, in UTC where a zone is written; NaN for what is no date.

    >>> days_of("02/01/1970 12:00:00", "dmy"), days_of("Jan 3, 1970", "words")
    (1.5, 2.0)
    """
    form, match = _match(text)
    if match is None:
        return np.nan
    try:
        if form == "ym":
            return (datetime(int(match["year"]), int(match["month"]), 1) - _EPOCH) / timedelta(1)
        if form == "clock":
            return _clock(match) / timedelta(days=1)
        if form == "parts":
            if order not in ("dmy", "mdy"):
                return np.nan
            day, month = (match["a"], match["b"]) if order == "dmy" else (match["b"], match["a"])
        else:
            day, month = match["day"], match["month"]
        number = _MONTH_OF[month[:3].casefold()] if form.endswith("words") else int(month)
        year = int(match["year"])
        year += 0 if year > 99 else 2000 if year < 70 else 1900
        moment = datetime(year, number, int(day)) + _clock(match)
    except (KeyError, ValueError):
        return np.nan
    return (moment - _EPOCH) / timedelta(days=1)


def _match(text: str) -> tuple[str, re.Match[str] | None]:
    for form, pattern in _FORMS.items():
        if match := pattern.fullmatch(text.strip()):
            return form, match
    return "", None


def _clock(match: re.Match[str]) -> timedelta:
    """The time of day, moved to UTC where a zone is written."""
    if match["hour"] is None:
        return timedelta()
    hour = int(match["hour"])
    if half := match["half"]:
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    minute, second = int(match["minute"]), int(match["second"] or 0)
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError("no time of day")
    clock = timedelta(hours=hour, minutes=minute, seconds=second)
    if (zone := match["zone"]) and zone != "Z":
        away = timezone(
            (1 if zone[0] == "+" else -1) * timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        )
        clock -= away.utcoffset(None)
    return clock
