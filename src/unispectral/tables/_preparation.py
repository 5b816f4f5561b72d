"""`Preparation`: how a table was filled and scaled, so that the next one is treated alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.preprocessing import StandardScaler, normalize

from unispectral._errors import InputError, plural
from unispectral.tables import _encode
from unispectral.tables._arrays import Array
from unispectral.tables._columns import Plan
from unispectral.tables._plans import are_plans
from unispectral.tables._scaling import SCALES, undo_transform
from unispectral.tables._source import TableError

IMPUTATIONS = ("mean", "median", "zero")
#: What is left of a scale once logarithms and ranks are taken.
_LINEAR = ("none", "standard", "robust", "unit")
_SHOWN = 5
#: Values of a table that are copied at a time.
_ENTRIES = 2**23
_LEARNED = ("centre", "spread", "fill")


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a table was made ready, so that new rows can be made ready in the same way.

    `centre` is subtracted, `spread` divided by, `fill` stands in for missing values, and
    `encoding` says how the columns were made of others (``TablePreparer.columns_``). With `drop`
    rows with missing values are left out.
    """

    columns: tuple[str, ...]
    scale: str = "none"
    centre: np.ndarray | None = None
    spread: np.ndarray | None = None
    fill: np.ndarray | None = None
    encoding: Sequence[Plan] | None = None
    drop: bool = False

    @classmethod
    def fit(
        cls, values: Array, names: list[str], impute: str | None, scale: str, encoding: Any = None
    ) -> Preparation:
        """Learn the filling and the scaling from a table.

        With ``"standard"`` two rows of different categories, or answers, are half a
        deviation apart: dividing their zeros and ones by deviations, too, would let the rarest
        category decide.
        """
        _check_choice("impute", impute, (None, *IMPUTATIONS))
        _check_choice("scale", scale, SCALES)
        scale = linear_part(scale)
        fill = None if impute is None else _fill_values(values, impute, names)
        whole = _fill(values, fill)
        if scale not in ("standard", "robust") or not whole.shape[0]:
            return cls(tuple(names), scale, None, None, fill, encoding)
        if sp.issparse(whole):
            problem = "would fill the zeros of a sparse table"
            raise TableError("scale", problem, "use 'unit'", value=scale)
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence instead
            scaler = StandardScaler().fit(whole)
        broken = ~np.isfinite(scaler.var_) & ~np.isnan(whole).all(axis=0)
        if broken.any():
            worst = names[int(np.argmax(broken))]
            problem = f"cannot be computed: column {worst!r} spans more than floating point holds"
            raise TableError("scale", problem, "divide the column", value=scale)
        centre, spread = scaler.mean_, scaler.scale_
        if scale == "robust":
            centre, spread = _robust(whole, spread)
        if encoding is not None:
            fixed = _encode.category_spreads(encoding, whole)
            spread = np.where(np.isnan(fixed), spread, fixed)
        return cls(tuple(names), scale, centre, spread, fill, encoding)

    def apply(self, values: Array) -> Array:
        """Fill and scale; the values given are not changed, and what has no filling stays NaN."""
        whole = _fill(values, self.fill)
        if self.scale == "unit":  # by the largest entry first: squares overflow or vanish
            if lacking := odd_values(whole, self.columns):
                problem = f"cannot be computed: there are {lacking}"
                raise TableError("scale", problem, "fill them in", value="unit")
            return normalize(normalize(whole, "max"))
        if self.centre is None or self.spread is None:
            return whole
        return (whole - self.centre.astype(whole.dtype)) / self.spread.astype(whole.dtype)

    def restore(self, values: Array) -> Array:
        """Values in the units of the table, of those that `apply` made; means are in between.

        Of logarithms the mean becomes the geometric one, of ranks the value of the mean rank.
        """
        if sp.issparse(values):
            return values
        restored = values.astype(np.float64)
        if self.centre is not None and self.spread is not None:
            restored = restored * self.spread + self.centre
        first = 0
        for plan in _encode.list_used(self.encoding or ()):
            width = len(_encode.column_names([plan]))
            here = slice(first, first + width)
            restored[..., here] = undo_transform(plan, restored[..., here])
            first += width
        return restored

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and strings, as JSON takes them."""
        arrays = {name: getattr(self, name) for name in _LEARNED}
        made: dict[str, Any] = {"drop": True} if self.drop else {}
        if self.encoding is not None:
            made["encoding"] = list(self.encoding)
        plain = {name: None if a is None else a.tolist() for name, a in arrays.items()}
        return {"columns": list(self.columns), "scale": self.scale, **plain, **made}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Preparation:
        """Rebuild from `to_dict`; anything else is refused."""
        try:
            columns = tuple(str(column) for column in plain["columns"])
            _check_choice("scale", plain["scale"], _LINEAR)
            given = {name: plain[name] for name in _LEARNED}
            arrays = {k: None if v is None else np.asarray(v, float) for k, v in given.items()}
            if any(a is not None and a.shape != (len(columns),) for a in arrays.values()):
                raise ValueError("lengths differ")
            made = plain.get("encoding")
            if made is not None and not (
                are_plans(made) and (*_encode.column_names(made),) == columns
            ):
                raise ValueError("other columns are made")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise TableError("preparation", "is not that of a prepared table") from error
        drop = plain.get("drop") is True
        return cls(columns, plain["scale"], **arrays, encoding=made, drop=drop)


def linear_part(scale: str) -> str:
    """What is left of a scale once logarithms and ranks are taken."""
    return scale if scale in _LINEAR else "standard"


def _robust(values: np.ndarray, deviations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Medians, and quartiles as the deviations that a Gaussian column with them would have."""
    low, middle, high = np.nanquantile(values, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / (2 * ndtri(0.75))
    return middle, np.where(spread > 0, spread, deviations)


def _check_choice(name: str, value: object, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise InputError(name, f"must be one of {', '.join(map(repr, choices))}", value=value)


def odd_values(values: Array, columns: Sequence[str], kind: str = "missing") -> str:
    """How many values are missing, or infinite, and in which columns; nothing if none is."""
    if kind == "missing" and not _has_gaps(values):
        return ""
    odd = {"missing": np.isnan, "infinite": np.isinf}[kind]
    if sp.issparse(values):
        counts = np.bincount(values.indices[odd(values.data)])
    else:
        counts = odd(values).sum(axis=0)
    where = np.flatnonzero(counts)
    named = ", ".join(f"{columns[i]!r} ({counts[i]})" for i in where[:_SHOWN])
    more = f" and {len(where) - _SHOWN} more" if len(where) > _SHOWN else ""
    return f"{plural(int(counts.sum()), f'{kind} value')} in {named}{more}" if named else ""


def _fill(values: Array, fill: np.ndarray | None) -> Array:
    if fill is None or not _has_gaps(values):
        return values
    whole = values.copy()
    if sp.issparse(whole):
        lost = np.isnan(whole.data)
        whole.data[lost] = fill[whole.indices[lost]]
        whole.eliminate_zeros()
    else:
        np.copyto(whole, fill, where=np.isnan(whole), casting="same_kind")
    return whole


def _has_gaps(values: Array) -> bool:
    """Whether a value is missing; without a mask, which a large table has no room for."""
    entries = values.data if sp.issparse(values) else values
    return bool(entries.size and np.isnan(np.minimum.reduce(entries, axis=None)))


def _fill_values(values: Array, impute: str, columns: Sequence[str]) -> np.ndarray:
    if impute == "zero" or (sp.issparse(values) and not np.isnan(values.data).any()):
        return np.zeros(values.shape[1])
    if sp.issparse(values):
        problem = "would have to look at all zeros of a sparse table"
        raise TableError("impute", problem, "use 'zero'", value=impute)
    empty = np.isnan(np.fmax.reduce(values, axis=0))
    if empty.any():
        name = columns[int(np.argmax(empty))]
        problem = f"cannot be computed: column {name!r} has no value to impute from"
        raise TableError("impute", problem, "leave it out", value=impute)
    middle = np.nanmean if impute == "mean" else np.nanmedian
    if values.size <= _ENTRIES:
        return np.asarray(middle(values, axis=0), dtype=float)
    # A large table is copied for it a few columns at a time.
    step = max(1, _ENTRIES // len(values))
    starts = range(0, values.shape[1], step)
    parts = [middle(values[:, start : start + step], axis=0) for start in starts]
    return np.concatenate(parts).astype(float)
