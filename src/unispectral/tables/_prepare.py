"""Filling and scaling, learned from one table and repeated on the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from unispectral._errors import InputError
from unispectral.tables._arrays import Array
from unispectral.tables._encode import Plan, category_spreads, column_names
from unispectral.tables._source import TableError, plural

__all__ = ["IMPUTATIONS", "SCALES", "Preparation"]

IMPUTATIONS = ("mean", "median", "zero")
SCALES = ("none", "standard", "minmax", "maxabs", "robust", "unit")

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a table was made ready, so that new rows can be made ready in the same way.

    Attributes
    ----------
    columns : tuple of str
        The columns, in order.
    scale : str
        One of ``"none"``, ``"standard"`` (mean 0, deviation 1 of numbers), ``"minmax"`` (0 to 1),
        ``"maxabs"`` (largest magnitude 1), ``"robust"`` (median 0, quartiles 1 apart) and
        ``"unit"`` (every row to length 1).
    centre, spread : ndarray of shape (n_columns,) or None
        What is subtracted and what is divided by.
    fill : ndarray of shape (n_columns,) or None
        What stands in for missing values.
    encoding : list of dict or None
        How the columns were made of others (``TablePreparer.columns_``), if they were.

    Examples
    --------
    >>> table = np.array([[0.0, 1.0], [2.0, np.nan]])
    >>> ready = Preparation.fit(table, ["a", "b"], impute="mean", scale="minmax")
    >>> ready.apply(table)
    array([[0., 0.],
           [1., 0.]])
    >>> again = Preparation.from_dict(ready.to_dict())
    >>> again.apply(np.array([[1.0, 3.0]]))
    array([[0.5, 2. ]])
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
        if fill is None and (missing := _missing(values, columns)):
            remedy = "choose 'mean', 'median' or 'zero', or leave these columns out"
            raise TableError("impute", f"must be given: {missing}", remedy)
        whole = _filled(values, fill)
        centre, spread = _centre_and_spread(whole, scale)
        if scale == "standard" and spread is not None and encoding is not None:
            fixed = category_spreads(encoding, whole)
            spread = np.where(np.isnan(fixed), spread, fixed)
        if spread is not None and not np.isfinite(spread).all():
            worst = columns[int(np.argmin(np.isfinite(spread)))]
            problem = f"cannot be computed: column {worst!r} spans more than floating point holds"
            raise TableError("scale", problem, "divide the column", value=scale)
        return cls(tuple(columns), scale, centre, spread, fill, encoding)

    def apply(self, values: Array) -> Array:
        """Fill and scale; the values given are not changed."""
        if values.shape[1] != len(self.columns):
            problem = f"has {values.shape[1]} columns, but {len(self.columns)} were prepared"
            raise TableError("source", problem, value="The table")
        if self.fill is None and (missing := _missing(values, self.columns)):
            problem = f"has {missing}, and no imputation was learned"
            raise TableError("source", problem, "fill them in", value="The table")
        whole = _filled(values, self.fill)
        if self.scale == "unit":  # by the largest entry first: squares overflow or vanish
            return normalize(normalize(whole, "max"))
        if self.spread is None:
            return whole
        spread = self.spread.astype(whole.dtype)
        if sp.issparse(whole):
            return sp.csr_array(whole @ sp.diags_array(1.0 / spread))
        if self.centre is None:
            return whole / spread
        centre = self.centre.astype(whole.dtype)
        if np.abs(whole).max(initial=0) > np.finfo(whole.dtype).max / 4:
            return (whole / 2 - centre / 2) / (spread / 2)  # the difference could overflow
        return (whole - centre) / spread

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
            if encoding is not None and tuple(column_names(encoding)) != columns:
                raise ValueError("other columns are made")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise TableError("preparation", "is not that of a prepared table") from error
        return cls(columns, plain["scale"], **arrays, encoding=encoding)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise InputError(name, f"must be one of {', '.join(map(repr, choices))}", value=value)


def _missing(values: Array, columns: Sequence[str]) -> str:
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
    size = _magnitude(values)  # keeps sums of values near the largest float from overflowing
    return np.asarray(middle(values / size, axis=0) * size, dtype=float)


def _magnitude(values: np.ndarray) -> np.ndarray:
    size = np.nanmax(np.abs(values), axis=0)
    return np.where(size > 0, size, 1).astype(values.dtype)


def _centre_and_spread(values: Array, scale: str) -> tuple[np.ndarray | None, np.ndarray | None]:
    if scale in ("none", "unit"):
        return None, None
    if sp.issparse(values):
        if scale != "maxabs":
            problem = "would fill the zeros of a sparse table"
            raise TableError("scale", problem, "use 'unit' or 'maxabs'", value=scale)
        spread = abs(values).max(axis=0).toarray().ravel().astype(float)
        return None, np.where(spread > 0, spread, 1.0)
    if not len(values):
        return None, None
    size = _magnitude(values).astype(float)
    small = values / size
    if scale == "maxabs":
        return None, size
    if scale == "standard":
        centre, spread = small.mean(axis=0, dtype=float), small.std(axis=0, dtype=float)
    elif scale == "minmax":
        centre = small.min(axis=0).astype(float)
        spread = small.max(axis=0) - centre
    else:
        low, centre, high = np.quantile(small.astype(float), [0.25, 0.5, 0.75], axis=0)
        spread = high - low
    # A constant column differs from its mean by rounding only; that must not be blown up.
    spread = np.where(spread > 10 * np.finfo(values.dtype).eps, spread, 0.0)
    with np.errstate(over="ignore"):  # reported by the caller
        return centre * size, np.where(spread > 0, spread * size, 1.0)
