"""A score over the model's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.plotting._base import Display
from unispectral.plotting._colors import INK, palette

__all__ = ["ParameterSurfaceDisplay"]


@dataclass(eq=False, repr=False)
class ParameterSurfaceDisplay(Display):
    """A score over alpha × beta for several gammas, as heat maps.

    Parameters
    ----------
    records : data frame, or list of mappings
        One row for each run; scores of runs with the same three parameters are averaged.
    x, y, panel : str
        Names of the columns with the parameters along each picture, and from picture to picture.
    score : str
        Name of the column with the score.

    Attributes
    ----------
    values : list of ndarray
        The values of the three parameters, ascending.
    scores : ndarray of shape (panels, rows, columns)
        NaN where nothing was measured.
    best : dict
        The parameters of the largest score, and the score.

    Examples
    --------
    >>> from unispectral.plotting import ParameterSurfaceDisplay
    >>> records = [
    ...     {"alpha": a, "beta": b, "gamma": 1.0, "accuracy": a * b}
    ...     for a in (0.1, 1.0) for b in (0.1, 1.0, 10.0)
    ... ]
    >>> display = ParameterSurfaceDisplay(records)
    >>> display.scores.shape, display.best["beta"]
    ((1, 3, 2), 10.0)
    """

    records: Any
    x: str = "alpha"
    y: str = "beta"
    panel: str = "gamma"
    score: str = "accuracy"

    def __post_init__(self) -> None:
        names, table = (self.x, self.y, self.panel, self.score), self.records
        try:
            if not hasattr(table, "columns"):
                table = {name: [row[name] for row in table] for name in names}
            rows = [table[name] for name in names]
        except KeyError as error:
            needed = ", ".join(names)
            raise InputError("records", f"has no column {error}", f"it needs {needed}") from None
        *places, scores = np.array(rows, dtype=np.float64)
        if np.isnan(scores).all():
            raise InputError("records", "is empty or holds no score, so nothing can be drawn")
        found = [np.unique(column, return_inverse=True) for column in places]
        self.values = [values for values, _ in found]
        shape = tuple(len(values) for values in self.values[::-1])
        cell, size = np.ravel_multi_index([at for _, at in found[::-1]], shape), np.prod(shape)
        known = ~np.isnan(scores)
        count = np.bincount(cell[known], minlength=size)
        total = np.bincount(cell[known], scores[known], minlength=size)
        with np.errstate(invalid="ignore"):
            self.scores = (total / count).reshape(shape)
        self._best = np.unravel_index(np.nanargmax(self.scores), shape)
        at = zip(names, self.values, self._best[::-1], strict=False)
        self.best = {name: float(values[k]) for name, values, k in at}
        self.best[self.score] = float(self.scores[self._best])

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw one picture for each value of the third parameter, on as many axes.

        Keywords go to ``imshow``.
        """
        panels = self.values[2]
        self.ax_ = self._axes() if ax is None else np.atleast_1d(np.asarray(ax, dtype=object))
        if len(self.ax_) != len(panels):
            raise InputError("ax", f"holds {len(self.ax_)} axes, but needs {len(panels)}")
        self.figure_ = self.ax_[0].figure
        limits = {"vmin": float(np.nanmin(self.scores)), "vmax": float(np.nanmax(self.scores))}
        settings = {"cmap": "cividis", "origin": "lower", "aspect": "auto"} | limits | kwargs
        for axis, scores, value in zip(self.ax_, self.scores, panels, strict=True):
            image = axis.imshow(scores, **settings)
            # Parameters are tried on grids of all kinds: evenly spaced places, true values.
            for name, values, side in zip((self.x, self.y), self.values, "xy", strict=False):
                shown = np.unique(np.linspace(0, len(values) - 1, min(len(values), 7)).astype(int))
                ticks = {f"{side}ticks": shown, f"{side}label": name}
                axis.set(**ticks, **{f"{side}ticklabels": [f"{v:g}" for v in values[shown]]})
            axis.set_title(f"{self.panel} = {value:g}", fontsize=10)
        panel, y, x = self._best
        best = self.ax_[panel]
        best.plot(x, y, "*", ms=14, color=palette(6)[5], markeredgecolor="white")
        best.annotate(
            f"{self.best[self.score]:.3g}", (x, y), xytext=(0, -14), ha="center", fontsize=8,
            textcoords="offset points", color="white", bbox={"fc": INK, "lw": 0, "pad": 2},
        )  # fmt: skip
        bar = self.figure_.colorbar(image, ax=list(self.ax_), label=self.score, shrink=0.85)
        bar.outline.set_visible(False)
        return self

    def _axes(self) -> np.ndarray:
        count = len(self.values[2])
        columns = 2 if count == 4 else min(count, 3)
        lines = -(-count // columns)
        size = {"figsize": (0.8 + 3.6 * columns, 3.5 * lines), "layout": "constrained"}
        pyplot = optional("matplotlib.pyplot", extra="plot")
        _, grid = pyplot.subplots(lines, columns, squeeze=False, **size)
        for spare in grid.flat[count:]:
            spare.set_axis_off()
        return grid.ravel()[:count]
