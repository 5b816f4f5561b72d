"""Colours that everyone can tell apart, for few clusters and for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["GREY", "INK", "RAMP", "hex_colors", "key", "palette"]

#: Okabe and Ito's colours, told apart with every kind of colour vision; yellow and black last.
OKABE_ITO = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#404040",
)  # fmt: skip
GREY = "#9a9a9a"
INK = "#333333"
#: Matplotlib's name of the ramp for amounts: lightness falls with the amount, on white.
RAMP = "Blues"
#: Up to this many clusters are named one by one; more get a colour bar.
NAMED = 20


def palette(n_colors: int) -> np.ndarray:
    """Colours for clusters, as rows of red, green and blue in [0, 1].

    Up to eight are those of Okabe and Ito. More run once through the hues from dark blue to light
    yellow, lightness rising all the way, so that their order can be read without seeing hues;
    every other one is shifted in lightness, so that neighbours differ.

    Examples
    --------
    >>> palette(2).round(2).tolist()
    [[0.0, 0.45, 0.7], [0.9, 0.62, 0.0]]
    >>> palette(120).shape
    (120, 3)
    """
    if n_colors <= len(OKABE_ITO):
        return np.array([_from_hex(color) for color in OKABE_ITO[:n_colors]]).reshape(-1, 3)
    place = np.linspace(0.0, 1.0, n_colors)
    lightness = 0.36 + 0.48 * place + np.where(np.arange(n_colors) % 2, 0.06, -0.03)
    hue = np.deg2rad(280.0 - 265.0 * place**1.15)
    return _oklch(lightness, np.full(n_colors, 0.125), hue)


def hex_colors(n_colors: int) -> list[str]:
    """The palette as text for pages.

    Examples
    --------
    >>> hex_colors(1)
    ['#0072b2']
    """
    return [
        "#{:02x}{:02x}{:02x}".format(*row) for row in np.rint(palette(n_colors) * 255).astype(int)
    ]


def key(ax: Any, names: Sequence[Any], colors: np.ndarray, *, title: str = "cluster") -> None:
    """Say which colour is which cluster: a legend, or a colour bar where there are many."""
    if len(names) <= NAMED:
        handles = [
            ax.plot([], [], "o", color=color, markersize=6, linestyle="none", label=str(name))[0]
            for name, color in zip(names, colors, strict=True)
        ]
        ax.legend(
            handles=handles, title=title, loc="center left", bbox_to_anchor=(1.0, 0.5),
            frameon=False, ncols=1 + (len(names) > 10), handletextpad=0.2, columnspacing=0.8,
        )  # fmt: skip
        return
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    norm = BoundaryNorm(np.arange(len(names) + 1) - 0.5, len(names))
    ticks = np.unique(np.linspace(0, len(names) - 1, 7).astype(int))
    bar = ax.figure.colorbar(
        ScalarMappable(norm, ListedColormap(colors)), ax=ax, label=title, ticks=ticks, pad=0.02
    )
    bar.ax.set_yticklabels([str(names[tick]) for tick in ticks])
    bar.minorticks_off()
    bar.outline.set_visible(False)


def _from_hex(color: str) -> tuple[float, ...]:
    return tuple(int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))


def _oklch(lightness: np.ndarray, chroma: np.ndarray, hue: np.ndarray) -> np.ndarray:
    """Ottosson's OKLCH, in which equal steps look equal, as sRGB; chroma is cut to the gamut."""
    for _ in range(12):
        rgb = _oklab(lightness, chroma * np.cos(hue), chroma * np.sin(hue))
        outside = (rgb.min(axis=1) < 0) | (rgb.max(axis=1) > 1)
        if not outside.any():
            break
        chroma = np.where(outside, chroma * 0.85, chroma)
    rgb = rgb.clip(0, 1)
    return np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055)


def _oklab(lightness: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    to_cones = np.array(
        [
            [0.3963377774, 0.2158037573],
            [-0.1055613458, -0.0638541728],
            [-0.0894841775, -1.2914855480],
        ]
    )
    cones = (lightness[:, None] + np.column_stack([a, b]) @ to_cones.T) ** 3
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    return cones @ to_rgb.T
