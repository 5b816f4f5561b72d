"""The learned graph as a matrix."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from unispectral.plotting._base import Clusters, axes, fitted
from unispectral.plotting._colors import INK, NAMED, RAMP

__all__ = ["GraphMatrixDisplay"]


class GraphMatrixDisplay:
    """The learned graph as a matrix whose rows are ordered by cluster.

    A good clustering shows blocks along the diagonal and little outside them. Where there are
    more samples than pixels, neighbouring rows and columns are averaged.

    Parameters
    ----------
    image : ndarray of shape (b, b)
        Mean edge weight in each cell.
    edges : ndarray of shape (c + 1,)
        Where clusters begin and end, in samples.
    clusters : Clusters
    within : float
        The share of the graph's weight that lies within clusters.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import GraphMatrixDisplay
    >>> W = np.kron(np.eye(2), np.ones((2, 2)))
    >>> display = GraphMatrixDisplay.from_graph(W, [0, 1, 0, 1])
    >>> display.image.round(1).tolist()[0], display.within
    ([1.0, 0.0, 1.0, 0.0], 0.5)
    """

    def __init__(
        self, image: np.ndarray, edges: np.ndarray, clusters: Clusters, within: float
    ) -> None:
        self.image = image
        self.edges = edges
        self.clusters = clusters
        self.within = within

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_bins: int = 400, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the graph of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``affinity_matrix_`` and ``labels_``
        max_bins : int
            Rows and columns of the picture at most.
        ax : matplotlib Axes, optional
        **kwargs
            For ``imshow``.
        """
        graph, labels = fitted(estimator, "affinity_matrix_", "labels_")
        return cls.from_graph(graph, labels, max_bins=max_bins, ax=ax, **kwargs)

    @classmethod
    def from_graph(
        cls, graph: Any, labels: Any, *, max_bins: int = 400, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw any graph, dense or sparse, of shape (n, n)."""
        clusters = Clusters.of(labels)
        coo = sp.coo_array(graph)
        n = len(clusters.codes)
        if coo.shape != (n, n):
            raise ValueError(
                f"graph has shape {coo.shape}; {n} labels need a graph of ({n}, {n})."
            )
        bins = min(n, max_bins)
        rank = np.empty(n, dtype=np.int64)
        rank[np.argsort(clusters.codes, kind="stable")] = np.arange(n)
        cell = rank * bins // n
        weights = np.abs(coo.data).astype(np.float64)
        totals = np.bincount(
            cell[coo.row] * bins + cell[coo.col], weights=weights, minlength=bins * bins
        ).reshape(bins, bins)
        heights = np.bincount(cell, minlength=bins)
        image = totals / np.outer(heights, heights)
        inside = clusters.codes[coo.row] == clusters.codes[coo.col]
        total = weights.sum()
        within = float(weights[inside].sum() / total) if total > 0 else 0.0
        edges = np.concatenate([[0], np.cumsum(clusters.sizes)])
        return cls(image, edges, clusters, within).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``imshow``."""
        self.figure_, self.ax_ = axes(ax, (5.4, 5.0))
        ax, n, count = self.ax_, self.edges[-1], len(self.clusters.names)
        # Graph weights span decades: the colour saturates at a high quantile of what is there.
        positive = self.image[self.image > 0]
        top = float(np.quantile(positive, 0.97)) if positive.size else 1.0
        from matplotlib.colors import PowerNorm

        settings = {
            "cmap": RAMP,
            "norm": PowerNorm(0.5, vmin=0.0, vmax=top, clip=True),
            "interpolation": "antialiased",
        } | kwargs
        ax.imshow(self.image, extent=(0, n, n, 0), **settings)
        self._draw_blocks(ax)
        middles = (self.edges[1:] + self.edges[:-1]) / 2
        if count <= NAMED:
            ax.set_yticks(middles, [str(name) for name in self.clusters.names])
            ax.tick_params(length=0)
        else:
            shown = np.unique(np.linspace(0, count - 1, 7).astype(int))
            ax.set_yticks(middles[shown], [str(self.clusters.names[k]) for k in shown])
        ax.set_xticks([])
        ax.set_ylabel("cluster")
        ax.set_title(
            f"Learned graph: {self.within:.1%} of its weight within clusters", fontsize=11
        )
        return self

    def _draw_blocks(self, ax: Any) -> None:
        """A frame around each cluster's block, and its colour along the left side."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        sizes = np.diff(self.edges)
        if len(sizes) <= NAMED:  # many small frames would hide what they frame
            frames = [
                Rectangle((start, start), size, size)
                for start, size in zip(self.edges[:-1], sizes, strict=True)
            ]
            ax.add_collection(
                PatchCollection(frames, facecolor="none", edgecolor=INK, linewidth=0.9)
            )
        n = self.edges[-1]
        strip = [
            Rectangle((-0.025 * n, start), 0.018 * n, size)
            for start, size in zip(self.edges[:-1], sizes, strict=True)
        ]
        ax.add_collection(
            PatchCollection(strip, facecolor=self.clusters.colors, edgecolor="none", clip_on=False)
        )
        ax.set_xlim(-0.03 * n, n)
        ax.set_ylim(n, 0)
        ax.spines[:].set_visible(False)
