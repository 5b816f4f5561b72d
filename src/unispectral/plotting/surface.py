"""A score over the model's parameters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unispectral._compat import optional
from unispectral.plotting._colors import palette

__all__ = ["ParameterSurfaceDisplay"]


class ParameterSurfaceDisplay:
    """A score over alpha × beta for several gammas: as heat maps, or as surfaces.

    Parameters
    ----------
    x, y, panels : ndarray
        The values of the parameters along each picture, and from picture to picture; ascending.
    scores : ndarray of shape (len(panels), len(y), len(x))
        NaN where nothing was measured.
    names : tuple of str
        The names of the three parameters.
    score : str
        The name of the score.

    Attributes
    ----------
    best : dict
        The parameters of the largest score, and the score.
    ax_ : ndarray of matplotlib Axes
        One for each value of the third parameter.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from unispectral.plotting import ParameterSurfaceDisplay
    >>> records = [
    ...     {"alpha": a, "beta": b, "gamma": 1.0, "accuracy": a * b}
    ...     for a in (0.1, 1.0) for b in (0.1, 1.0, 10.0)
    ... ]
    >>> display = ParameterSurfaceDisplay.from_records(records)
    >>> display.scores.shape, display.best["beta"]
    ((1, 3, 2), 10.0)
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        panels: np.ndarray,
        scores: np.ndarray,
        *,
        names: tuple[str, str, str] = ("alpha", "beta", "gamma"),
        score: str = "accuracy",
    ) -> None:
        self.x, self.y, self.panels = np.asarray(x), np.asarray(y), np.asarray(panels)
        self.scores = np.asarray(scores, dtype=np.float64)
        self.names = names
        self.score = score
        shape = (len(self.panels), len(self.y), len(self.x))
        if self.scores.shape != shape:
            raise ValueError(f"scores has shape {self.scores.shape}; the parameters need {shape}.")
        if np.isnan(self.scores).all():
            raise ValueError("scores holds no number; there is nothing to draw.")
        panel, row, column = np.unravel_index(np.nanargmax(self.scores), shape)
        self.best = {
            names[0]: self.x[column].item(),
            names[1]: self.y[row].item(),
            names[2]: self.panels[panel].item(),
            score: float(self.scores[panel, row, column]),
        }

    @classmethod
    def from_records(
        cls,
        records: Any,
        *,
        x: str = "alpha",
        y: str = "beta",
        panel: str = "gamma",
        score: str = "accuracy",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a table of results.

        Parameters
        ----------
        records : data frame, or list of mappings
            One row for each run; scores of runs with the same three parameters are averaged.
        x, y, panel : str
            Names of the columns with the parameters.
        score : str
            Name of the column with the score.
        ax, **kwargs
            See :meth:`plot`.
        """
        wanted = (x, y, panel, score)
        columns = []
        for name in wanted:
            try:
                column = (
                    records[name] if hasattr(records, "columns") else [r[name] for r in records]
                )
            except KeyError:
                raise ValueError(f"records has no column {name!r}; it needs {wanted}.") from None
            columns.append(np.asarray(column, dtype=np.float64))
        if not len(columns[0]):
            raise ValueError("records is empty; there is nothing to draw.")
        (xs, i), (ys, j), (zs, k) = (
            np.unique(column, return_inverse=True) for column in columns[:3]
        )
        shape = (len(zs), len(ys), len(xs))
        cell = np.ravel_multi_index((k, j, i), shape)
        known = ~np.isnan(columns[3])
        size = int(np.prod(shape))
        count = np.bincount(cell[known], minlength=size)
        total = np.bincount(cell[known], weights=columns[3][known], minlength=size)
        scores = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
        display = cls(xs, ys, zs, scores.reshape(shape), names=(x, y, panel), score=score)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, kind: str = "heatmap", **kwargs: Any) -> Self:
        """Draw one picture for each value of the third parameter, in common colours.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            As many as the third parameter has values; for surfaces, of projection "3d".
        kind : {"heatmap", "surface"}
        **kwargs
            For ``imshow`` or ``plot_surface``.
        """
        if kind not in ("heatmap", "surface"):
            raise ValueError(f"kind={kind!r} is unknown; use 'heatmap' or 'surface'.")
        pyplot = optional("matplotlib.pyplot", extra="plot")
        count = len(self.panels)
        if ax is None:
            columns = min(count, 3)
            lines = -(-count // columns)
            _, grid = pyplot.subplots(
                lines, columns, figsize=(0.8 + 3.6 * columns, 3.5 * lines), squeeze=False,
                layout="constrained",
                subplot_kw={"projection": "3d"} if kind == "surface" else None,
            )  # fmt: skip
            for spare in grid.flat[count:]:
                spare.set_axis_off()
            ax = grid.ravel()[:count]
        self.ax_ = np.atleast_1d(np.asarray(ax, dtype=object))
        if len(self.ax_) != count:
            raise ValueError(f"ax holds {len(self.ax_)} axes; {count} are needed.")
        self.figure_ = self.ax_[0].figure
        limits = {"vmin": float(np.nanmin(self.scores)), "vmax": float(np.nanmax(self.scores))}
        draw = self._heatmap if kind == "heatmap" else self._surface
        for panel, axis in enumerate(self.ax_):
            image = draw(axis, panel, {"cmap": "cividis"} | limits | kwargs)
            axis.set_title(f"{self.names[2]} = {self.panels[panel]:g}", fontsize=10)
        if kind == "heatmap":
            bar = self.figure_.colorbar(image, ax=list(self.ax_), label=self.score, shrink=0.85)
            bar.outline.set_visible(False)
        return self

    def _heatmap(self, axis: Any, panel: int, settings: dict[str, Any]) -> Any:
        image = axis.imshow(
            self.scores[panel], **({"origin": "lower", "aspect": "auto"} | settings)
        )
        self._ticks(axis)
        if self.panels[panel] == self.best[self.names[2]]:
            column = int(np.flatnonzero(self.x == self.best[self.names[0]])[0])
            row = int(np.flatnonzero(self.y == self.best[self.names[1]])[0])
            axis.plot(
                column, row, marker="*", markersize=14, color=palette(6)[5],
                markeredgecolor="white", linestyle="none",
            )  # fmt: skip
            axis.annotate(
                f"{self.best[self.score]:.3g}", (column, row), xytext=(0, -14),
                textcoords="offset points", ha="center", fontsize=8, color="white",
                bbox={"boxstyle": "round,pad=0.2", "facecolor": "#333333", "linewidth": 0},
            )  # fmt: skip
        return image

    def _surface(self, axis: Any, panel: int, settings: dict[str, Any]) -> Any:
        columns, rows = np.meshgrid(np.arange(len(self.x)), np.arange(len(self.y)))
        drawn = axis.plot_surface(
            columns, rows, self.scores[panel],
            **({"edgecolor": "white", "linewidth": 0.3, "rstride": 1, "cstride": 1} | settings),
        )  # fmt: skip
        self._ticks(axis)
        low, high = settings["vmin"], settings["vmax"]
        axis.set_zlim(low, high if high > low else low + 1)
        axis.set_zlabel(self.score)
        axis.tick_params(labelsize=7)
        axis.set_box_aspect(None, zoom=0.82)  # the layout does not know of the third axis' label
        return drawn

    def _ticks(self, axis: Any) -> None:
        """Parameters are tried on grids of all kinds: evenly spaced places, true values."""
        for values, place, name in (
            (self.x, axis.set_xticks, axis.set_xlabel),
            (self.y, axis.set_yticks, axis.set_ylabel),
        ):
            shown = np.unique(np.linspace(0, len(values) - 1, min(len(values), 7)).astype(int))
            place(shown, [f"{values[tick]:g}" for tick in shown])
            name(self.names[0] if values is self.x else self.names[1])
