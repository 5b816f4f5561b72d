"""The columns of a table in their own units, and numbers as people write them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral.tables._encode import plans_by_column
from unispectral.tables._places import PLACE, place_degrees
from unispectral.tables._scaling import undo_transform

#: Columns without names are told apart by their numbers; of more than these that says nothing.
_ANONYMOUS = 12
#: Units that names of columns end in.
_UNITS = frozenset(
    (
        *("mm", "cm", "m", "km", "mg", "g", "kg", "t", "ml", "l", "kw", "kwh", "hz", "mhz", "ghz"),
        *("ms", "s", "sec", "min", "h", "hours", "days", "years", "°c", "°f", "mb", "gb"),
        *("eur", "usd", "gbp", "chf", "€", "$", "£", "%", "pct", "percent"),
    )
)
#: Below this a half between two whole numbers is told.
_HALVES = 100
#: Answers in order lie further apart than this.
_SAME_LEVEL = 0.1
#: Of the distance between the quartiles.
_SKEWED = 0.25
#: What columns of places are called, and between which values they lie.
_PLACES = (
    (("lon", "lng", "long", "longitude"), 180.0),
    (("lat", "latitude"), 90.0),
)


class Columns:
    """The columns of a table in their own units, whatever was done to them before the fit.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        As clustered; NaN where a value is missing.
    names : sequence of str
    preparation : sequence of dict, default=None
        The spread and centre by which the columns of each table were scaled, and of which
        logarithms or ranks were taken.
    named : bool
        Whether the names were given, rather than made up.
    plans : sequence of dict, default=None
        How each column was made of a text, without a preparation.
    """

    def __init__(
        self,
        X: Any,
        names: Sequence[str],
        preparation: Sequence[dict[str, Any]] | None = None,
        *,
        named: bool = True,
        plans: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        self.X = X
        self.names = list(names)
        self.spread = np.ones(X.shape[1])
        self.centre = np.zeros(X.shape[1])
        self.plans: list[dict[str, Any]] = list(plans or ({} for _ in self.names))
        first = 0
        for part in preparation or ():
            last = first + len(part["columns"])
            if part["spread"] is not None:
                self.spread[first:last] = part["spread"]
            if part["centre"] is not None:
                self.centre[first:last] = part["centre"]
            if part.get("encoding") is not None:
                self.plans[first:last] = plans_by_column(part["encoding"])
            first = last
        places = [j for j, plan in enumerate(self.plans) if plan.get("kind") == "place"]
        #: The columns of longitude and latitude, where rows were compared by these.
        self.place = self._tell_in_degrees(places[0]) if places else None
        self.telling = named or len(self.names) <= _ANONYMOUS
        stems = Counter(map(_stem, self.names))
        #: Columns that are told apart by a number only, such as pixels or parts of an embedding.
        self.numbered = np.array([stems[_stem(name)] > _ANONYMOUS for name in self.names])
        self._given: dict[int, dict[str, float]] = {}

    def _tell_in_degrees(self, first: int) -> tuple[int, int]:
        """Put latitude and longitude in the place of the three coordinates that stand for them."""
        last = first + len(PLACE)
        plan = self.plans[first]
        points = self.X[:, first:last] * self.spread[first:last] + self.centre[first:last]
        parts = [self.X[:, :first], place_degrees(points), self.X[:, last:]]
        self.X = np.hstack(parts)
        self.names[first:last] = [plan["name"], plan["longitude"]]
        self.plans[first:last] = [{"kind": "number"}, {"kind": "number"}]
        self.spread = np.concatenate([self.spread[:first], [1.0, 1.0], self.spread[last:]])
        self.centre = np.concatenate([self.centre[:first], [0.0, 0.0], self.centre[last:]])
        return first + 1, first

    def values(self, column: int) -> np.ndarray:
        """One column in its units."""
        if sp.issparse(self.X):
            part = self.X[:, [column]].toarray().ravel()
        else:
            part = self.X[:, column]
        values = part * self.spread[column] + self.centre[column]
        rounding = 1e-12 * (self.spread[column] + abs(self.centre[column]))
        near = np.rint(values)
        values = np.where(np.abs(values - near) < rounding, near, values)
        return undo_transform(self.plans[column], values)

    def in_units(self, column: int, value: float) -> float:
        """A mean of scaled values in the units of its column; of logarithms the geometric one."""
        found = value * self.spread[column] + self.centre[column]
        rounding = 1e-12 * (self.spread[column] + abs(self.centre[column]))
        found = 0.0 if abs(found) < rounding else float(found)
        return float(undo_transform(self.plans[column], np.array(found)))

    def word(self, column: int, value: float) -> str | None:
        """The answer nearest to a value, in a column of answers in order; else None."""
        if not self.plans[column].get("levels") or not math.isfinite(value):
            return None
        levels = self._levels(column)
        return min(levels, key=lambda text: (abs(levels[text] - value), levels[text]))

    def _levels(self, column: int) -> dict[str, float]:
        """The answers that somebody gave: a known scale may have more."""
        if column not in self._given:
            values = np.unique(self.values(column))
            known = values[np.isfinite(values)]
            levels: dict[str, float] = self.plans[column]["levels"]
            given = {
                text: place
                for text, place in levels.items()
                if len(known) and np.abs(known - place).min() < _SAME_LEVEL
            }
            self._given[column] = given or levels
        return self._given[column]


def _stem(name: str) -> str:
    """A name without the number that it ends in."""
    return re.sub(r"\d+$", "", name)


def split_unit(name: str) -> tuple[str, str]:
    """The name of a column without its unit, and the unit, where the name ends in one.

    Examples
    --------
    >>> split_unit("flipper_length_mm"), split_unit("sepal length (cm)"), split_unit("age")
    (('flipper length', 'mm'), ('sepal length', 'cm'), ('age', ''))
    """
    words = in_words(name).split()
    last = words[-1].strip("()[]") if words else ""
    if len(words) < 2 or last.lower() not in _UNITS:
        return " ".join(words) or name, ""
    return " ".join(words[:-1]), last


def in_words(name: str) -> str:
    """A name without underscores, but for one before a number at its end, which is no value.

    Examples
    --------
    >>> in_words("body_mass"), in_words("sales_2")
    ('body mass', 'sales_2')
    """
    return re.sub(r"_(?!\d+$)", " ", name)


def decimals_for(values: np.ndarray) -> int:
    """How many decimals show the differences of a column, and no more.

    Examples
    --------
    >>> decimals_for(np.array([31_000.0, 52_300.0])), decimals_for(np.array([0.12, 0.31, 0.25]))
    (0, 2)
    >>> decimals_for(np.array([1.0, 2.0, 5.0]))
    0
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return 0
    if (known == np.rint(known)).all():
        return 0
    low, high = np.quantile(known, [0.1, 0.9])
    spread = high - low or float(np.ptp(known)) or abs(float(known[0])) or 1.0
    return int(np.clip(1 - math.floor(math.log10(spread)), 0, 6))


def decimals_of_pair(values: np.ndarray, one: float, other: float) -> int:
    """The decimals of two medians of a column: of small whole numbers one, where one is a half."""
    decimals = decimals_for(values)
    known = values[np.isfinite(values)]
    small = len(known) > 0 and np.abs(known).max() < _HALVES and (known == np.rint(known)).all()
    if small and (one % 1 or other % 1):
        return 1
    return decimals


def is_skewed(values: np.ndarray) -> bool:
    """Whether a few values move the mean of a column away from its median.

    By a quarter of the distance between its quartiles, which in a Gaussian column hardly happens.

    Examples
    --------
    >>> is_skewed(np.array([1.0, 2.0, 3.0, 4.0])), is_skewed(np.array([1.0, 2.0, 3.0, 400.0]))
    (False, True)
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return False
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    return bool(abs(known.mean() - middle) > _SKEWED * (high - low))


def needs_power(value: float) -> bool:
    """Whether a number is so large, or so small, that a power of ten is shorter."""
    return abs(value) >= 1e9 or 0 < abs(value) < 1e-6


def write_number(value: float, decimals: int, power: bool = False) -> str:
    """A number with so many decimals, thousands apart, and a real minus; or with a power of ten.

    Examples
    --------
    >>> write_number(-52300.4, 0), write_number(-0.2, 0), write_number(18.5, 0)
    ('−52,300', '0', '19')
    >>> write_number(-52300.4, 0, power=True)
    '−5.23e+04'
    """
    if not math.isfinite(value):
        return "–"
    if needs_power(value) or (power and value):
        return f"{value:.3g}".replace("-", "−")
    digits = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return f"{digits + 0:,.{decimals}f}".replace("-", "−")


def find_place(columns: Columns) -> tuple[int, int] | None:
    """The columns of longitude and latitude, as given or by names and values; None without both.

    Examples
    --------
    >>> table = np.array([[48.1, 11.6, 3.0], [52.5, 13.4, 4.0]])
    >>> find_place(Columns(table, ["Latitude", "longitude", "size"]))
    (1, 0)
    """
    if columns.place is not None:
        return columns.place
    found = []
    for words, most in _PLACES:
        for j, name in enumerate(columns.names):
            called = name.rpartition(":")[2].strip().lower()
            if called in words and np.nanmax(np.abs(columns.values(j))) <= most:
                found.append(j)
                break
    return (found[0], found[1]) if len(found) == len(_PLACES) else None
