"""The learned graph as a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import pick_evenly
from unispectral._errors import InputError
from unispectral.plotting._base import Clusters, Display, plain, read_fitted
from unispectral.plotting._colors import INK, NAMED, RAMP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BinnedGraph", "GraphMatrixDisplay", "bin_graph"]


class BinnedGraph(NamedTuple):
    """A graph in few cells: mean weight of each, and the share of the weight within clusters."""

    image: np.ndarray
    within: float

    @property
    def shades(self) -> np.ndarray:
        """Cells from 0 to 1. Weights span decades: a root, and a ceiling that few cells reach."""
        there = self.image[self.image > 0]
        top = float(np.quantile(there, 0.97)) if there.size else 1.0
        return np.clip(np.sqrt(self.image / max(top, 1e-300)), 0, 1)


def bin_graph(graph: object, codes: np.ndarray, max_bins: int) -> BinnedGraph:
    """The graph with samples in the order of their clusters, in at most so many rows and columns.

    Examples
    --------
    >>> bin_graph(np.kron(np.eye(2), np.ones((2, 2))), np.array([0, 0, 1, 1]), 2).image.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    coo = sp.coo_array(graph)
    n = len(codes)
    if coo.shape != (n, n):
        raise InputError("graph", f"has shape {coo.shape}, but {n} labels need ({n}, {n})")
    bins = min(n, max_bins)
    cell = np.empty(n, dtype=np.int64)
    cell[np.argsort(codes, kind="stable")] = np.arange(n) * bins // n
    weights = np.abs(coo.data).astype(np.float64)
    totals = np.bincount(cell[coo.row] * bins + cell[coo.col], weights, minlength=bins * bins)
    heights = np.bincount(cell, minlength=bins)
    inside = weights[codes[coo.row] == codes[coo.col]].sum()
    within = float(inside / weights.sum()) if weights.sum() > 0 else 0.0
    return BinnedGraph(totals.reshape(bins, bins) / np.outer(heights, heights), within)


@dataclass(eq=False, repr=False)
class GraphMatrixDisplay(Display):
    """The learned graph as a matrix whose rows are ordered by cluster.

    A good clustering shows blocks along the diagonal and little outside them. Where there are
    more samples than pixels, neighbouring rows and columns are averaged.

    Parameters
    ----------
    graph : array or sparse array of shape (n, n)
    labels : array of shape (n,)
    max_bins : int
        Rows and columns of the picture at most.
    names : sequence of str, optional
        Names of the clusters; ``cluster_names_`` by default.

    Attributes
    ----------
    image : ndarray of shape (b, b)
        Mean edge weight in each cell.
    within : float
        The share of the graph's weight that lies within clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import GraphMatrixDisplay
    >>> W = np.kron(np.eye(2), np.ones((2, 2)))
    >>> display = GraphMatrixDisplay(W, [0, 1, 0, 1]).plot()
    >>> display.image.round(1).tolist()[0], display.within
    ([1.0, 0.0, 1.0, 0.0], 0.5)
    """

    graph: Any
    labels: Any
    max_bins: int = 400
    names: Any = None
    needs = ("affinity_matrix_", "labels_")
    figsize = (5.4, 5.0)

    @classmethod
    def _of(cls, estimator: object, **given: Any) -> Self:
        return cls(*read_fitted(estimator, *cls.needs), **cls._with_names(estimator, given))

    def __post_init__(self) -> None:
        self.clusters = Clusters.of(self.labels, self.names)
        self.edges = np.concatenate([[0], np.cumsum(self.clusters.sizes)])
        self.binned = bin_graph(self.graph, self.clusters.codes, self.max_bins)
        self.image, self.within = self.binned

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        n = self.edges[-1]
        settings = {"cmap": RAMP, "vmin": 0.0, "vmax": 1.0, "interpolation": "antialiased"}
        ax.imshow(self.binned.shades, extent=(0, n, n, 0), **(settings | kwargs))
        self._draw_blocks(ax)
        _names_along(ax, (self.edges[1:] + self.edges[:-1]) / 2, self.clusters.names, n)
        ax.set_xticks([])
        return f"Learned graph: {self.within:.1%} of its weight within clusters"

    def _draw_blocks(self, ax: Axes) -> None:
        """A frame around each cluster's block, and its colour along the left side."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        n, blocks = self.edges[-1], list(zip(self.edges[:-1], np.diff(self.edges), strict=True))
        if len(blocks) <= NAMED:  # many small frames would hide what they frame
            frames = [Rectangle((start, start), size, size) for start, size in blocks]
            widths = [0.9 if size > 0.03 * n else 0.4 for _, size in blocks]
            style: dict[str, Any] = {"fc": "none", "ec": INK, "linewidth": widths}
            ax.add_collection(PatchCollection(frames, clip_on=False, **style))
        strip = [Rectangle((-0.025 * n, start), 0.018 * n, size) for start, size in blocks]
        colors = self.clusters.colors
        ax.add_collection(PatchCollection(strip, fc=colors, ec="none", clip_on=False))
        ax.set(xlim=(-0.03 * n, n), ylim=(n, 0))
        ax.spines[:].set_visible(False)


def _names_along(ax: Axes, places: np.ndarray, names: np.ndarray, height: float) -> None:
    """Name clusters along the left side, apart from each other even where clusters are thin."""
    chosen = np.arange(len(names))
    if len(names) > NAMED:
        chosen = pick_evenly(len(names), 7)
    steps = height / 25 * np.arange(len(chosen))
    free = np.maximum.accumulate(places[chosen] - steps)
    ax.set_yticks(np.minimum(free, height - steps[-1]) + steps, [plain(names[k]) for k in chosen])
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel("cluster")
