"""How large the clusters are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unispectral.plotting._base import Clusters, axes, fitted, tidy
from unispectral.plotting._colors import INK, NAMED, palette

__all__ = ["ClusterSizesDisplay"]


class ClusterSizesDisplay:
    """The number of samples of each cluster.

    Up to twenty clusters stand in the order of their numbers; more are ordered by size.

    Parameters
    ----------
    clusters : Clusters

    Attributes
    ----------
    sizes : ndarray of shape (c,)
        In the order of the labels.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from unispectral.plotting import ClusterSizesDisplay
    >>> ClusterSizesDisplay.from_labels([0, 0, 1]).sizes.tolist()
    [2, 1]
    """

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        self.sizes = clusters.sizes

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the cluster sizes of a fitted estimator; keywords go to ``bar``."""
        (labels,) = fitted(estimator, "labels_")
        return cls.from_labels(labels, ax=ax, **kwargs)

    @classmethod
    def from_labels(cls, labels: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the sizes of any clusters; keywords go to ``bar``."""
        return cls(Clusters.of(labels)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``bar``."""
        self.figure_, self.ax_ = axes(ax, (5.6, 3.4))
        ax, count = self.ax_, len(self.sizes)
        few = count <= NAMED
        order = np.arange(count) if few else np.argsort(-self.sizes, kind="stable")
        # Ordered by size, the colours of many clusters would be noise.
        color = self.clusters.colors if few else palette(1)[0]
        settings = {"color": color, "width": 0.8 if few else 1.0} | kwargs
        bars = ax.bar(np.arange(count), self.sizes[order], **settings)
        if few:
            ax.bar_label(bars, fmt="{:,.0f}", fontsize=8, color=INK, padding=2)
            ax.set_xticks(np.arange(count), [str(name) for name in self.clusters.names])
            ax.tick_params(axis="x", length=0)
            ax.set_xlabel("cluster")
        else:
            ax.set_xlabel("clusters, largest first")
            ax.set_xlim(-0.5, count - 0.5)
            middle = float(np.median(self.sizes))
            ax.axhline(middle, color=INK, linewidth=0.8, linestyle="--")
            ax.annotate(
                f"median {middle:,.0f}", (count - 0.5, middle), xytext=(-2, 3),
                textcoords="offset points", ha="right", fontsize=8, color=INK,
            )  # fmt: skip
        ax.set_ylabel("samples")
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_title(
            f"{count} clusters, from {self.sizes.min():,} to {self.sizes.max():,} samples",
            fontsize=11,
        )
        tidy(ax, grid="y")
        return self
