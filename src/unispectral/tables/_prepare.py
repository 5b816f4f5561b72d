"""Filling and scaling, learned from one table and repeated on the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler, normalize

from unispectral._errors import InputError
from unispectral.tables._arrays import Array
from unispectral.tables._encode import Plan, are_plans, category_spreads, column_names
from unispectral.tables._source import TableError, plural

__all__ = ["IMPUTATIONS", "SCALES", "Preparation", "infinite_values", "missing_values"]

IMPUTATIONS = ("mean", "median", "zero")
SCALES = ("none", "standard", "unit")

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a table was made ready, so that new rows can be made ready in the same way.

    Attributes
    ----------
    columns : tuple of str
        The columns, in order.
    scale : str
        One of ``"none"``, ``"standard"`` (mean 0, deviation 1 of numbers) and ``"unit"`` (every
        row to length 1).
    centre, spread : ndarray of shape (n_columns,) or None
        What is subtracted and what is divided by.
    fill : ndarray of shape (n_columns,) or None
        What stands in for missing values.
    encoding : list of dict or None
        How the columns were made of others (``TablePreparer.columns_``), if they were.

    Examples
    --------
    >>> table = np.array([[0.0, 1.0], [2.0, np.nan]])
    >>> ready = Preparation.fit(table, ["a", "b"], impute="mean", scale="standard")
    >>> ready.apply(table)
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> again = Preparation.from_dict(ready.to_dict())
    >>> again.apply(np.array([[1.0, 3.0]]))
    array([[0., 2.]])
    """

    columns: tuple[str, ...]
    scale: str = "none"
    centre: np.ndarray | None = None
    spread: np.ndarray | None = None
    fill: np.ndarray | None = None
    encoding: Sequence[Plan] | None = None

    @classmethod
    def fit(
        cls,
        values: Array,
        columns: Sequence[str],
        *,
        impute: str | None,
        scale: str,
        encoding: Sequence[Plan] | None = None,
    ) -> Preparation:
        """Learn the filling and the scaling from a table.

        With ``"standard"`` two rows of different categories, or answers, are half a
        deviation apart: dividing their zeros and ones by deviations, too, would let the rarest
        category decide.
        """
        _check_choice("impute", impute, (None, *IMPUTATIONS))
        _check_choice("scale", scale, SCALES)
        fill = None if impute is None else _fill_values(values, impute, columns)
        whole = _filled(values, fill)
        if scale != "standard" or not whole.shape[0]:
            return cls(tuple(columns), scale, None, None, fill, encoding)
        if sp.issparse(whole):
            problem = "would fill the zeros of a sparse table"
            raise TableError("scale", problem, "use 'unit'", value=scale)
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence instead
            scaler = StandardScaler().fit(whole)
        if not np.isfinite(scaler.var_).all():
            worst = columns[int(np.argmin(np.isfinite(scaler.var_)))]
            problem = f"cannot be computed: column {worst!r} spans more than floating point holds"
            raise TableError("scale", problem, "divide the column", value=scale)
        spread = scaler.scale_
        if encoding is not None:
            fixed = category_spreads(encoding, whole)
            spread = np.where(np.isnan(fixed), spread, fixed)
        return cls(tuple(columns), scale, scaler.mean_, spread, fill, encoding)

    def apply(self, values: Array) -> Array:
        """Fill and scale; the values given are not changed, and what has no filling stays NaN."""
        if values.shape[1] != len(self.columns):
            problem = f"has {values.shape[1]} columns, but {len(self.columns)} were prepared"
            raise TableError("The table", problem)
        whole = _filled(values, self.fill)
        if self.scale == "unit":  # by the largest entry first: squares overflow or vanish
            return normalize(normalize(whole, "max"))
        if self.centre is None or self.spread is None:
            return whole
        return (whole - self.centre.astype(whole.dtype)) / self.spread.astype(whole.dtype)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and strings, as JSON takes them."""
        arrays = {"centre": self.centre, "spread": self.spread, "fill": self.fill}
        return {
            "columns": list(self.columns),
            "scale": self.scale,
            **{name: None if a is None else a.tolist() for name, a in arrays.items()},
            **({} if self.encoding is None else {"encoding": list(self.encoding)}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Preparation:
        """Rebuild from `to_dict`; anything else is refused."""
        try:
            columns = tuple(str(column) for column in plain["columns"])
            _check_choice("scale", plain["scale"], SCALES)
            arrays = {
                name: None if plain[name] is None else np.asarray(plain[name], dtype=float)
                for name in ("centre", "spread", "fill")
            }
            if any(a is not None and a.shape != (len(columns),) for a in arrays.values()):
                raise ValueError("lengths differ")
            encoding = plain.get("encoding")
            if encoding is not None and (
                not are_plans(encoding) or tuple(column_names(encoding)) != columns
            ):
                raise ValueError("other columns are made")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise TableError("preparation", "is not that of a prepared table") from error
        return cls(columns, plain["scale"], **arrays, encoding=encoding)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise InputError(name, f"must be one of {', '.join(map(repr, choices))}", value=value)


def infinite_values(values: Array, columns: Sequence[str]) -> str:
    """How many values are infinite, and where the first is, or nothing."""
    full = not sp.issparse(values)
    endless = np.isinf(values if full else values.data)
    if not endless.any():
        return ""
    first = np.argwhere(endless)[0][-1] if full else values.indices[np.argmax(endless)]
    count = plural(int(endless.sum()), "infinite value")
    return f"{count}, the first in column {columns[int(first)]!r}"


def missing_values(values: Array, columns: Sequence[str]) -> str:
    """How many values are missing, and where, or nothing."""
    sparse = sp.issparse(values)
    lost = np.isnan(values.data if sparse else values)
    counts = np.bincount(values.indices[lost]) if sparse else lost.sum(axis=0)
    where = np.flatnonzero(counts)
    if not len(where):
        return ""
    named = ", ".join(f"{columns[i]!r} ({counts[i]})" for i in where[:_SHOWN])
    more = f" and {len(where) - _SHOWN} more" if len(where) > _SHOWN else ""
    return f"{plural(int(counts.sum()), 'missing value')} in {named}{more}"


def _filled(values: Array, fill: np.ndarray | None) -> Array:
    if fill is None:
        return values
    whole = values.copy()
    if sp.issparse(whole):
        lost = np.isnan(whole.data)
        whole.data[lost] = fill[whole.indices[lost]]
        whole.eliminate_zeros()
    else:
        np.copyto(whole, fill, where=np.isnan(whole), casting="same_kind")
    return whole


def _fill_values(values: Array, impute: str, columns: Sequence[str]) -> np.ndarray:
    if impute == "zero" or (sp.issparse(values) and not np.isnan(values.data).any()):
        return np.zeros(values.shape[1])
    if sp.issparse(values):
        problem = "would have to look at all zeros of a sparse table"
        raise TableError("impute", problem, "use 'zero'", value=impute)
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        name = columns[int(np.argmax(empty))]
        problem = f"cannot be computed: column {name!r} has no value to impute from"
        raise TableError("impute", problem, "leave it out", value=impute)
    middle = np.nanmean if impute == "mean" else np.nanmedian
    return np.asarray(middle(values, axis=0), dtype=float)
