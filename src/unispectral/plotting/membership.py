"""How sure the samples are of their clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unispectral.plotting._base import Clusters, axes, fitted, spread, tidy
from unispectral.plotting._colors import INK, NAMED

__all__ = ["MembershipDisplay"]


class MembershipDisplay:
    """Each cluster's samples by the strength with which they belong to it, strongest on top.

    A full block is a cluster of which all members are sure; a blade that tapers off has doubtful
    ones. At most ``max_points`` quantiles are drawn of each cluster.

    Parameters
    ----------
    strengths : list of ndarray
        For each cluster, its members' membership, descending.
    clusters : Clusters
    doubtful : int
        Samples whose membership is below one half.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import MembershipDisplay
    >>> membership = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    >>> display = MembershipDisplay.from_membership(membership, [0, 0, 1])
    >>> [part.tolist() for part in display.strengths]
    [[0.9, 0.6], [0.7]]
    """

    def __init__(self, strengths: list[np.ndarray], clusters: Clusters, doubtful: int = 0) -> None:
        self.strengths = strengths
        self.clusters = clusters
        self.doubtful = doubtful

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_points: int = 200, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the memberships of a fitted estimator with ``membership_`` and ``labels_``."""
        membership, labels = fitted(estimator, "membership_", "labels_")
        return cls.from_membership(membership, labels, max_points=max_points, ax=ax, **kwargs)

    @classmethod
    def from_membership(
        cls, membership: Any, labels: Any, *, max_points: int = 200, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw memberships of shape (n, c); label k belongs to column k."""
        clusters = Clusters.of(labels)
        own = np.asarray(membership)[np.arange(len(clusters.codes)), np.asarray(labels)]
        order = np.lexsort((-own, clusters.codes))
        groups = np.split(own[order], np.cumsum(clusters.sizes)[:-1])
        strengths = [spread(group, max_points) for group in groups]
        return cls(strengths, clusters, int((own < 0.5).sum())).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``fill_betweenx``."""
        self.figure_, self.ax_ = axes(ax, (5.6, 4.6))
        ax, sizes = self.ax_, self.clusters.sizes
        gap = 0.15 * sizes.sum() / len(sizes)
        top, middles = 0.0, []
        for strength, size, color in zip(self.strengths, sizes, self.clusters.colors, strict=True):
            height = np.linspace(top, top + size, len(strength) + 1)
            steps = np.append(strength, strength[-1])
            ax.fill_betweenx(
                height, 0, steps, **({"color": color, "linewidth": 0, "step": "post"} | kwargs)
            )
            middles.append(top + size / 2)
            top += size + gap
        ax.axvline(0.5, color=INK, linewidth=0.8, linestyle="--")
        count = len(sizes)
        shown = np.arange(count) if count <= NAMED else np.linspace(0, count - 1, 7).astype(int)
        ax.set_yticks(np.array(middles)[shown], [str(self.clusters.names[code]) for code in shown])
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, 1.02), ylim=(top - gap, 0), xlabel="membership", ylabel="cluster")
        ax.set_title(
            f"Membership: {self.doubtful:,} of {sizes.sum():,} below one half", fontsize=11
        )
        tidy(ax, grid="x")
        return self
