"""What all displays share: axes, fitted attributes, and thinning."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unispectral._compat import optional
from unispectral.plotting._colors import GREY, palette

__all__ = ["Clusters", "axes", "fitted", "share", "spread", "thin", "tidy"]


def fitted(estimator: Any, *names: str) -> list[Any]:
    """Fitted attributes, or a sentence about what is missing."""
    check_is_fitted(estimator)
    for name in names:
        if not hasattr(estimator, name):
            raise TypeError(
                f"estimator is a {type(estimator).__name__}, which has no {name} to draw; "
                "give a fitted SCSK or SCMK."
            )
    return [getattr(estimator, name) for name in names]


def axes(ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """The figure and axes to draw on, made if none are given."""
    pyplot = optional("matplotlib.pyplot", extra="plot")
    if ax is None:
        _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
    return ax.figure, ax


def tidy(ax: Any, *, grid: str | None = None) -> None:
    """Less ink: no box, a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color="#dddddd", linewidth=0.6)
        ax.set_axisbelow(True)


class Clusters(NamedTuple):
    """Labels as positions 0 … c − 1, with the names and colours that belong to them."""

    codes: np.ndarray
    names: np.ndarray
    colors: np.ndarray

    @classmethod
    def of(cls, labels: Any) -> Clusters:
        """Negative labels (noise) are grey."""
        names, codes = np.unique(np.asarray(labels), return_inverse=True)
        noise = names < 0 if names.dtype.kind in "if" else np.zeros(len(names), bool)
        colors = np.empty((len(names), 3))
        colors[~noise] = palette(int((~noise).sum()))
        colors[noise] = [int(GREY[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        return cls(codes.ravel(), names, colors)

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))


def thin(codes: np.ndarray, max_points: int, *, least: int = 5) -> np.ndarray:
    """Which points to show: evenly from each cluster, in proportion, at least a few of each.

    Examples
    --------
    >>> thin(np.array([0] * 90 + [1] * 10), 20, least=3).tolist()[-3:]
    [90, 94, 99]
    """
    n = len(codes)
    if n <= max_points:
        return np.arange(n)
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    quota = np.minimum(sizes, np.maximum(np.rint(sizes * (max_points / n)), least)).astype(int)
    groups = np.split(order, np.cumsum(sizes)[:-1])
    chosen = [spread(group, k) for group, k in zip(groups, quota, strict=True) if k]
    return np.sort(np.concatenate(chosen))


def spread(values: np.ndarray, k: int) -> np.ndarray:
    """``k`` of the values, evenly spaced, first and last among them."""
    if k >= len(values):
        return values
    return values[np.rint(np.linspace(0, len(values) - 1, k)).astype(int)]


def share(n_shown: int, n_samples: int, what: str = "points") -> str:
    """What a picture leaves out, in words; nothing if it shows all."""
    return "" if n_shown == n_samples else f"{n_shown:,} of {n_samples:,} {what}"
