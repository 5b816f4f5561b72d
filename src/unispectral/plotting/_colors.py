"""Colours that everyone can tell apart, for few clusters and for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._arrays import pick_evenly

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Eight of Okabe and Ito, then twelve that are as far as can be from all others in CIELAB, for
#: usual vision and for each of the three dichromacies (the tests measure it).
CATEGORICAL = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#404040",
    "#9583fa", "#6a0a73", "#18ede8", "#104113", "#c7d996", "#9dde61", "#d6aca8", "#3c3daa",
    "#aa4845", "#6f4473", "#874d11", "#a1914d",
)  # fmt: skip
#: From dark to light, for more.
MANY = ("#2b1a66", "#334f9e", "#1f7a94", "#3a9c6e", "#93b541", "#e2c93a")
GREY = "#9a9a9a"
INK = "#333333"
#: Around samples that fit nowhere.
RING = "#9d2b1f"
#: Matplotlib's name of the ramp for amounts: lightness falls with the amount, on white.
RAMP = "Blues"
#: Up to this many clusters are named one by one; more get a colour bar.
NAMED = len(CATEGORICAL)


def palette(n_colors: int) -> np.ndarray:
    """Colours for clusters, as rows of red, green and blue in [0, 1].

    Up to twenty are categories, any two of which can be told apart with every kind of colour
    vision. More run once from dark blue to light yellow, lightness rising all the way, so that
    their order can be read without seeing hues; every other one is paler than its neighbours.
    """
    if n_colors <= NAMED:
        return np.array([from_hex(color) for color in CATEGORICAL[:n_colors]]).reshape(-1, 3)
    place, known = np.linspace(0.0, 1.0, n_colors), np.array([from_hex(c) for c in MANY])
    at = np.linspace(0.0, 1.0, len(MANY))
    colors = np.column_stack([np.interp(place, at, channel) for channel in known.T])
    return np.where(np.arange(n_colors)[:, None] % 2, 0.8 * colors + 0.2, colors)


def cluster_colors(noise: np.ndarray) -> np.ndarray:
    """The palette for those that are clusters, grey for those that are noise."""
    colors = np.tile(from_hex(GREY), (len(noise), 1))
    colors[~noise] = palette(int((~noise).sum()))
    return colors


def hex_colors(n_colors: int) -> list[str]:
    """The palette as text for pages."""
    rows = np.rint(palette(n_colors) * 255).astype(int)
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in rows]


def from_hex(color: str) -> tuple[float, ...]:
    return tuple(int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))


def key(
    ax: Any,
    names: Sequence[Any],
    colors: np.ndarray,
    *,
    title: str = "cluster",
    marks: dict[str, dict[str, Any]] | None = None,
) -> None:
    """Say which colour is what: a legend, or a colour bar where there are many.

    ``marks`` are further lines of the legend: what they are, and how they are drawn.
    """
    marks = dict(marks or {})
    if len(names) <= NAMED:
        marks = {str(n): {"color": c} for n, c in zip(names, colors, strict=True)} | marks
    else:
        _color_bar(ax, names, colors, title)
    if marks:
        dot = {"marker": "o", "ls": "none", "ms": 6}
        handles = [ax.plot([], [], label=n, **(dot | style))[0] for n, style in marks.items()]
        ax.legend(
            handles=handles, title=title if len(names) <= NAMED else None, loc="center left",
            bbox_to_anchor=(1.0, 0.5), frameon=False, ncols=1 + (len(marks) > 10),
            handletextpad=0.2, columnspacing=0.8,
        )  # fmt: skip


def _color_bar(ax: Axes, names: Sequence[Any], colors: np.ndarray, title: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    norm = BoundaryNorm(np.arange(len(names) + 1) - 0.5, len(names))
    ticks = pick_evenly(len(names), 7)
    mapped = ScalarMappable(norm, ListedColormap(colors))
    bar = ax.figure.colorbar(mapped, ax=ax, label=title, ticks=ticks, pad=0.02)
    bar.ax.set_yticklabels([str(names[tick]) for tick in ticks])
    bar.minorticks_off()
    bar.outline.set_visible(False)
