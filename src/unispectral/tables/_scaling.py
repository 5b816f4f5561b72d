"""Columns bent before they are scaled: logarithms and ranks, and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral.tables._columns import Plan
from unispectral.tables._places import place_values

#: What a user may ask for. "auto" standardises, and takes logarithms of what is clearly skewed.
SCALES = ("auto", "none", "standard", "robust", "log", "rank", "unit")
#: Ranks are kept at so many points; between them they are interpolated.
_POINTS = 257


def learn_transform(
    plan: Plan, values: np.ndarray, scale: str, proposed: float | None
) -> dict[str, Any]:
    """What to keep of a column so that new values are bent as its own are.

    Parameters
    ----------
    plan : dict
    values : ndarray of shape (n, 1) or (n, categories)
    scale : str
    proposed : float or None
        What to add before logarithms, where they are proposed.

    Returns
    -------
    dict
        Empty, or with ``"log"`` and ``"least"``, or with ``"ranks"``.
    """
    present = values[~np.isnan(values).any(axis=1)].ravel()
    if plan["kind"] != "number" or len(np.unique(present[:1000])) < 3:
        return {}
    if scale == "rank":
        order = np.linspace(0.0, 1.0, min(_POINTS, len(present)))
        return {"ranks": np.quantile(present, order).tolist()}
    offset = proposed if scale == "auto" else None
    if scale == "log" and present.min() >= 0:
        offset = 0.0 if present.min() > 0 else float(np.quantile(present[present > 0], 0.1))
    if offset is None:
        return {}
    return {"log": float(offset), "least": float(present.min() + offset)}


def transform_like_fit(plan: Plan, values: np.ndarray) -> np.ndarray:
    """Values bent as those of the fit were; what has no logarithm counts as the least value."""
    if plan["kind"] == "place":
        return place_values(values)
    if "log" in plan:
        return np.log(np.maximum(values + plan["log"], plan["least"]))
    if "ranks" in plan:
        ranks = np.asarray(plan["ranks"])
        low = np.searchsorted(ranks, values, side="left")
        high = np.searchsorted(ranks, values, side="right")
        between = np.interp(values, ranks, np.arange(len(ranks)))
        tied = high - low > 1
        found = np.where(tied, (low + high - 1) / 2.0, between) / max(len(ranks) - 1, 1)
        return np.where(np.isnan(values), np.nan, found)
    return values


def undo_transform(plan: Plan, values: np.ndarray) -> np.ndarray:
    """Values in the units of the table, of those that `transform_like_fit` made."""
    if "log" in plan:
        return np.exp(values) - plan["log"]
    if "ranks" in plan:
        ranks = np.asarray(plan["ranks"])
        return np.interp(values * max(len(ranks) - 1, 1), np.arange(len(ranks)), ranks)
    return values
