"""Which kernels count, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from unispectral.plotting._base import axes, fitted, tidy
from unispectral.plotting._colors import GREY, INK, palette

__all__ = ["KernelWeightsDisplay"]


class KernelWeightsDisplay:
    """The weights of the kernels as bars, coloured by view where there are several.

    Parameters
    ----------
    names : sequence of str
        ``view:kernel`` where there are views.
    weights : ndarray of shape (r,)
    max_bars : int
        Above this, the lightest ones share one bar.
    what : str
        What has the weights, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from unispectral.plotting import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay(["linear", "gaussian_1"], [0.2, 0.6]).plot()
    >>> [float(bar.get_width()) for bar in display.ax_.patches]
    [0.2, 0.6]
    """

    def __init__(
        self, names: Sequence[str], weights: Any, *, max_bars: int = 30, what: str = "Kernel"
    ) -> None:
        self.names = list(names)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.max_bars = max_bars
        self.what = what
        if self.weights.shape != (len(self.names),):
            raise ValueError(
                f"weights has shape {self.weights.shape}; there are {len(self.names)} names."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        of: str = "auto",
        max_bars: int = 30,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the kernel weights of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``kernel_weights_`` and ``kernel_names_``
        of : {"auto", "kernels", "geometries"}
            Whose weights. "auto": the kernels', or, where there is one kernel, those of the
            geometries it was split into.
        max_bars : int
        ax : matplotlib Axes, optional
        **kwargs
            For ``barh``.
        """
        if of not in ("auto", "kernels", "geometries"):
            raise ValueError(f"of={of!r} is unknown; use 'auto', 'kernels' or 'geometries'.")
        if of == "auto":
            single = len(getattr(estimator, "kernel_weights_", (0, 0))) == 1
            split = len(getattr(estimator, "geometry_weights_", ())) > 1
            of = "geometries" if single and split else "kernels"
        if of == "geometries":
            (found,) = fitted(estimator, "geometry_weights_")
            names, weights = list(found), list(found.values())
            return cls(names, weights, max_bars=max_bars, what="Geometry").plot(ax, **kwargs)
        names, weights = fitted(estimator, "kernel_names_", "kernel_weights_")
        return cls(names, weights, max_bars=max_bars).plot(ax, **kwargs)

    def bars(self) -> list[tuple[str, float]]:
        """What is drawn: name and weight, in the order given, the lightest ones summed up."""
        if len(self.names) <= self.max_bars:
            return list(zip(self.names, self.weights.tolist(), strict=True))
        heavy = np.sort(np.argsort(-self.weights, kind="stable")[: self.max_bars - 1])
        rest = float(self.weights.sum() - self.weights[heavy].sum())
        listed = [(self.names[r], float(self.weights[r])) for r in heavy]
        return [*listed, (f"{len(self.names) - len(heavy)} others together", rest)]

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``barh``."""
        bars = self.bars()
        self.figure_, self.ax_ = axes(ax, (5.6, 1.3 + 0.24 * max(len(bars), 3)))
        ax = self.ax_
        views = list(dict.fromkeys(name.partition(":")[0] for name, _ in bars if ":" in name))
        colors = palette(max(len(views), 1))
        shown = [
            colors[views.index(view)] if (view := name.partition(":")[0]) in views else colors[0]
            for name, _ in bars
        ]
        if len(bars) < len(self.names):
            shown[-1] = np.array([int(GREY[start : start + 2], 16) / 255 for start in (1, 3, 5)])
        drawn = ax.barh(
            np.arange(len(bars)), [weight for _, weight in bars],
            **({"color": shown, "height": min(0.72, 0.25 * len(bars))} | kwargs),
        )  # fmt: skip
        ax.bar_label(drawn, fmt="%.3g", padding=3, fontsize=8, color=INK)
        ax.set_yticks(np.arange(len(bars)), [_shorten(name) for name, _ in bars], fontsize=9)
        ax.margins(x=0.14, y=0.02)
        if len(bars) < 3:
            ax.set_ylim(-0.8, len(bars) - 0.2)
        ax.invert_yaxis()
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("weight")
        ax.set_title(f"{self.what} weights", fontsize=11)
        tidy(ax, grid="x")
        return self


def _shorten(name: str, most: int = 28) -> str:
    # A dollar sign would be read as mathematics.
    name = name.replace("$", r"\$")
    return name if len(name) <= most else name[: most - 1] + "…"
