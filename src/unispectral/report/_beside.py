"""Supplementary columns: they describe clusters and colour the map, and made neither."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral.plotting._colors import hex_colors
from unispectral.report._columns import decimals_for, write_number
from unispectral.report._pictures import as_text
from unispectral.tables._columns import column_values, read_column, texts_of
from unispectral.tables._kinds import judge

if TYPE_CHECKING:
    import pandas as pd

#: Columns that are shown, texts that have a colour of their own, and those that a cluster names.
_MOST, _COLOURED, _NAMED = 30, 12, 3
#: Of many texts with smaller shares than this, none is named.
_RARE = 0.1
_OTHERS = "others"
_DAYS_OF_YEAR = 365.2425


def columns_beside(
    frame: pd.DataFrame, labels: np.ndarray, shown: np.ndarray
) -> list[dict[str, Any]]:
    """For each column its name, what it is in each cluster in words, and how it colours points.

    Parameters
    ----------
    frame : DataFrame
        The columns, one row for each sample.
    labels : ndarray of shape (n,)
    shown : ndarray of int
        The samples on the page.
    """
    found = []
    for at in range(min(frame.shape[1], _MOST)):
        column = frame.iloc[:, at]
        reading = read_column(column, None)
        kind = reading.plan["kind"]
        dated = kind == "date" and reading.plan["order"] != "unclear"
        many = reading.values is not None and len(np.unique(reading.values)) > _COLOURED
        name = str(frame.columns[at])
        named = judge(name, reading, len(frame), _COLOURED).kind in ("code", "id")
        if dated or (kind == "number" and many and not named):
            values = column_values(reading.plan, column, None).ravel()
            told = _numbers(values, labels, shown, dated=dated)
        else:
            told = _kinds(texts_of(column), labels, shown)
        found.append({"name": name[:200], **told})
    return found


def _numbers(
    values: np.ndarray, labels: np.ndarray, shown: np.ndarray, *, dated: bool
) -> dict[str, Any]:
    """Numbers, or days as years with their parts, between their least and their largest."""
    if not np.isfinite(values).any():
        return {"words": ["–"] * (labels.max() + 1)}
    decimals = decimals_for(values)

    def write(value: float) -> str:
        if dated:
            return (date(1970, 1, 1) + timedelta(days=float(value))).isoformat()
        return write_number(float(value), decimals)

    words = []
    for cluster in range(labels.max() + 1):
        own = values[(labels == cluster) & np.isfinite(values)]
        if not len(own):
            words.append("–")
            continue
        low, middle, high = np.quantile(own, [0.25, 0.5, 0.75])
        words.append(f"{write(middle)} (half from {write(low)} to {write(high)})")
    scaled = 1970 + values / _DAYS_OF_YEAR if dated else values
    low, high = np.nanmin(scaled), np.nanmax(scaled)
    level = 254 * (scaled[shown] - low) / (high - low) if high > low else scaled[shown] * 0.0
    level = np.where(np.isnan(level), 255, np.rint(level))
    return {"words": words, "ends": [low, high], "levels": as_text(level)}


def _kinds(texts: list[str | None], labels: np.ndarray, shown: np.ndarray) -> dict[str, Any]:
    """Texts, the most frequent with a colour each."""
    known = [text[:60] if text is not None else "missing" for text in texts]
    frequent = [text for text, _ in Counter(known).most_common(_COLOURED)]
    words = []
    for cluster in range(labels.max() + 1):
        counts = Counter(known[i] for i in np.flatnonzero(labels == cluster))
        total = max(counts.total(), 1)
        if len(counts) > _COLOURED and counts.most_common(1)[0][1] < _RARE * total:
            words.append(f"{len(counts):,} different")
            continue
        parts = [f"{text} {100 * n / total:.0f} %" for text, n in counts.most_common(_NAMED)]
        words.append(", ".join(parts) or "–")
    names = [*frequent, *([_OTHERS] if len(set(known)) > len(frequent) else [])]
    values = [known[i] if known[i] in frequent else _OTHERS for i in shown]
    colours = hex_colors(len(names))
    return {"words": words, "names": names, "colours": colours, "values": values}
