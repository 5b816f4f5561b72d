"""The page of a table before it is clustered: what each column is, with its shape."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._files import write_text_atomic
from unispectral.report._page import asset, build_page
from unispectral.tables import ColumnProfile, TableProfile
from unispectral.tables._columns import Plan, column_values, texts_of
from unispectral.tables._table import columns_in_words

if TYPE_CHECKING:
    import pandas as pd

#: Bars of the small picture of a column.
_BARS = 18


def write_profile(
    path: str | os.PathLike[str],
    frame: object,
    plans: Sequence[Plan],
    profile: TableProfile,
    *,
    title: str,
    notes: Sequence[str] = (),
) -> None:
    """Write a page about the columns of a table, to be opened in any browser."""
    treated = {plan["name"]: plan for plan in plans}
    data = {
        "title": title,
        "rows": vars(profile.rows),
        "columns": [_column(column, frame, treated[column.name]) for column in profile],
        "words": columns_in_words(plans, profile),
        "notes": list(notes),
    }
    page = build_page(title, data, asset("profile.css"), asset("profile.js"))
    write_text_atomic(path, page)


def _column(column: ColumnProfile, frame: pd.DataFrame, plan: Plan) -> dict[str, Any]:
    shown = ("name", "kind", "role", "reason", "doubt", "missing", "distinct", "spread", "example")
    bars, ends = _shape(column, frame[column.name])
    treated = "logarithm" if "log" in plan else "rank" if "ranks" in plan else ""
    return {key: getattr(column, key) for key in shown} | {
        "bars": bars,
        "ends": ends,
        "treated": treated,
    }


def _shape(column: ColumnProfile, values: object) -> tuple[list[int], list[str]]:
    """Heights of bars, and what stands at both ends: a histogram, or the most frequent texts."""
    if column.plan.get("kind") in ("number", "ordinal", "date"):
        numbers = column_values(column.plan, values, None).ravel()
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers) and np.ptp(numbers) > 0:
            bins = min(_BARS, max(2, len(np.unique(numbers))))
            heights = np.histogram(numbers, bins=bins)[0].tolist()
            return heights, _ends(column, values, numbers)
        return [], []
    counts = Counter(text for text in texts_of(values) if text is not None)
    most = counts.most_common(_BARS)
    return [n for _, n in most], [text[:24] for text, _ in most[:1]]


def _ends(column: ColumnProfile, values: Any, numbers: np.ndarray) -> list[str]:
    if column.plan["kind"] == "number":
        return [f"{numbers.min():g}", f"{numbers.max():g}"]
    read = column_values(column.plan, values, None).ravel()
    low, high = int(np.nanargmin(read)), int(np.nanargmax(read))
    return [str(values.iloc[at])[:24] for at in (low, high)]
