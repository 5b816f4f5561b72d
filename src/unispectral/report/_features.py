"""What the page shows of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral.report._clusters import contrasts
from unispectral.report._columns import (
    Columns,
    decimals_for,
    decimals_of_pair,
    find_place,
    is_skewed,
)
from unispectral.report._pictures import as_text, shorten

#: Features of a cluster that the table names, and those of the heat map.
_IN_TABLE, _IN_HEAT = 6, 24
#: Columns by which points can be coloured: all, while they do not make the page large.
_COLOURED = 1_200_000
#: Columns that the map can be drawn along, and those where there are many points.
_AXES, _FEW_AXES, _MANY_POINTS = 12, 4, 5_000
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class PageFeatures:
    """What the page shows of the columns."""

    def __init__(self, columns: Columns, labels: np.ndarray) -> None:
        self.columns, self.labels = columns, labels
        self.found = contrasts(columns.X, labels)
        self.names = [shorten(name) for name in columns.names]

    def of(self, cluster: int) -> list[list[Any]]:
        """What sets a cluster apart: name, effect, and medians or shares inside and outside.

        Then come the decimals of the two, −1 for shares, the answers that they stand for in a
        column of answers, and in a skewed column the means, which a few large values move.
        """
        rows = []
        member = self.labels == cluster
        for j in self.found.top(cluster):
            values = self.values(j)
            known = values[~np.isnan(values)]
            parts = [part[~np.isnan(part)] for part in (values[member], values[~member])]
            means = [float(part.mean()) if len(part) else np.nan for part in parts]
            row = [self.names[j], self.found.effect[cluster, j]]
            if np.isin(known, (0.0, 1.0)).all():
                rows.append([*row, *means, -1, None, None])
                continue
            pair = [float(np.median(part)) if len(part) else np.nan for part in parts]
            words = [self.columns.word(j, value) for value in pair]
            told = words if None not in words else None
            skewed = means if is_skewed(known) else None
            rows.append([*row, *pair, decimals_of_pair(known, *pair), told, skewed])
        return rows

    def whole_page(self, shown: np.ndarray) -> dict[str, Any]:
        """What is shown of the columns beside the clusters."""
        best = self._best(_IN_TABLE)
        values = [self.values(j)[shown] for j in best]
        decimals = [decimals_for(part) for part in values]
        table = {"names": [self.names[j] for j in best], "values": values, "decimals": decimals}
        return {
            "table": table,
            "heat": self.heat(),
            "colouring": self.colouring(shown),
            "axes": self.axes(shown),
        }

    def _best(self, shown: int) -> np.ndarray:
        """The columns that tell clusters apart; of one cluster the first ones."""
        if len(self.found.effect) > 1:
            return self.found.telling(shown)
        return np.arange(min(shown, len(self.names)))

    def axes(self, shown: np.ndarray) -> dict[str, Any]:
        """Columns that the map can be drawn along: their names, ends and values from −1 to 1.

        ``place`` are the columns of longitude and latitude, where there are such.
        """
        place = find_place(self.columns)
        best = self._best(_AXES if len(shown) <= _MANY_POINTS else _FEW_AXES).tolist()
        listed = list(dict.fromkeys([*(place or ()), *best]))
        columns = []
        for j in listed:
            values = self.values(j)[shown]
            low, high = np.nanmin(values), np.nanmax(values)
            level = 2 * (values - low) / (high - low) - 1 if high > low else values * 0.0
            columns.append({"name": self.names[j], "ends": [low, high], "at": np.round(level, 3)})
        return {"columns": columns, "place": None if place is None else [0, 1]}

    def values(self, column: int) -> np.ndarray:
        return self.columns.values(column)

    def heat(self) -> dict[str, Any] | None:
        """Clusters × telling columns: effects, and quantiles of the values of each cluster."""
        best = self.found.telling(_IN_HEAT)
        if not len(best):
            return None
        groups = [np.flatnonzero(self.labels == k) for k in range(self.labels.max() + 1)]
        quantiles = []
        for j in best:
            column = self.values(j)
            parts = [part[~np.isnan(part)] for part in (column[group] for group in groups)]
            quantiles.append([np.quantile(p, _QUANTILES) if len(p) else None for p in parts])
        names = [self.names[j] for j in best]
        return {"names": names, "effect": self.found.effect[:, best], "quantiles": quantiles}

    def colouring(self, shown: np.ndarray) -> list[dict[str, Any]]:
        """Columns as levels 0 … 254 between their least and largest value; 255 is missing."""
        found = []
        for j in self._best(_COLOURED // len(shown)):
            values = self.values(j)[shown]
            low, high = np.nanmin(values), np.nanmax(values)
            level = 254 * (values - low) / (high - low) if high > low else values * 0.0
            level = np.where(np.isnan(level), 255, np.rint(level))
            found.append({"name": self.names[j], "ends": [low, high], "levels": as_text(level)})
        return found
