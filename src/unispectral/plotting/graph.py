"""The learned graph as a matrix and as a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral.labels import label_shares
from unispectral.plotting._base import Clusters, Display, plain, share
from unispectral.plotting._colors import INK, NAMED, RAMP, key
from unispectral.plotting._layout import cluster_map, coarsen, spring_layout

__all__ = ["BinnedGraph", "GraphMatrixDisplay", "GraphNetworkDisplay", "bin_graph"]


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


def bin_graph(graph: Any, codes: np.ndarray, max_bins: int) -> BinnedGraph:
    """The graph with samples in the order of their clusters, in at most so many rows and columns.

    Examples
    --------
    >>> bin_graph(np.kron(np.eye(2), np.ones((2, 2))), np.array([0, 0, 1, 1]), 2).image.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    coo = sp.coo_array(graph)
    n = len(codes)
    _check_shape(coo, n)
    bins = min(n, max_bins)
    cell = np.empty(n, dtype=np.int64)
    cell[np.argsort(codes, kind="stable")] = np.arange(n) * bins // n
    weights = np.abs(coo.data).astype(np.float64)
    totals = np.bincount(cell[coo.row] * bins + cell[coo.col], weights, minlength=bins * bins)
    heights = np.bincount(cell, minlength=bins)
    inside = weights[codes[coo.row] == codes[coo.col]].sum()
    within = float(inside / weights.sum()) if weights.sum() > 0 else 0.0
    return BinnedGraph(totals.reshape(bins, bins) / np.outer(heights, heights), within)


def _check_shape(graph: Any, n: int) -> None:
    if graph.shape != (n, n):
        raise InputError("graph", f"has shape {graph.shape}, but {n} labels need ({n}, {n})")


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
    needs = ("affinity_matrix_", "labels_")
    figsize = (5.4, 5.0)

    def __post_init__(self) -> None:
        self.clusters = Clusters.of(self.labels)
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

    def _draw_blocks(self, ax: Any) -> None:
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


@dataclass(eq=False, repr=False)
class GraphNetworkDisplay(Display):
    """The learned graph drawn as a network, coloured by cluster.

    A large graph is contracted first: each node then stands for several samples of one cluster,
    the more the larger it is drawn. Edges between clusters are dark; the weakest edges are left
    out where there are many.

    Parameters
    ----------
    graph : array or sparse array of shape (n, n)
        Symmetric and non-negative.
    labels : array of shape (n,)
    max_nodes, max_edges : int
        Above these, the graph is contracted to about so many nodes, and its weakest edges are
        left out.

    Attributes
    ----------
    positions, sizes : ndarray of shape (m, 2) and (m,)
        Of the nodes, and for how many samples each stands.
    edges, weights : ndarray of shape (e, 2) and (e,)
        Pairs of nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import GraphNetworkDisplay
    >>> W = np.kron(np.eye(2), np.ones((3, 3)))
    >>> display = GraphNetworkDisplay(W, [0, 0, 0, 1, 1, 1]).plot()
    >>> len(display.edges), display.sizes.tolist()
    (6, [1, 1, 1, 1, 1, 1])
    """

    graph: Any
    labels: Any
    max_nodes: int = 1000
    max_edges: int = 6000
    needs = ("affinity_matrix_", "labels_")
    figsize = (6.4, 5.4)

    def __post_init__(self) -> None:
        everyone, W = Clusters.of(self.labels), sp.csr_array(self.graph)
        _check_shape(W, len(everyone.codes))
        kept, group, small = coarsen(W, everyone.codes, self.max_nodes)
        self.clusters = everyone.at(kept)
        shares = label_shares(small, self.clusters.codes, len(everyone.names))
        start = cluster_map(shares, self.clusters, shares)
        # Of the square roots: a few heavy edges shall not fold everything else.
        self.positions = spring_layout(abs(small).sqrt(), start)
        upper = sp.triu(small, 1).tocoo()
        strongest = np.sort(np.argsort(-upper.data, kind="stable")[: self.max_edges])
        self.edges = np.column_stack([upper.row, upper.col])[strongest]
        self.weights = upper.data[strongest]
        self.sizes = np.bincount(group, minlength=len(kept))

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        from matplotlib.collections import LineCollection

        codes = self.clusters.codes
        ends = codes[self.edges] if len(self.edges) else np.empty((0, 2), int)
        across = ends[:, 0] != ends[:, 1]
        strength = np.sqrt(self.weights / self.weights.max(initial=1e-300))
        rgba = np.column_stack([self.clusters.colors[ends[:, 0]], 0.15 + 0.5 * strength])
        rgba[across, :3] = 0.2
        rgba[across, 3] += 0.1
        lines, widths = list(self.positions[self.edges]), 0.3 + 1.2 * strength
        ax.add_collection(LineCollection(lines, colors=rgba, linewidths=widths, zorder=1))
        relative = self.sizes / max(self.sizes.mean(), 1e-12)
        area = np.clip(9000 / max(len(self.sizes), 1), 8, 60) * np.clip(relative, 0.3, 6)
        settings = {"s": area, "edgecolors": "white", "linewidths": 0.4, "zorder": 2} | kwargs
        ax.scatter(*self.positions.T, c=self.clusters.colors[codes], **settings)
        ax.set_aspect("equal")
        ax.set_axis_off()
        key(ax, list(self.clusters.names), self.clusters.colors)
        shown, n = len(self.sizes), int(self.sizes.sum())
        return "Learned graph" + share(shown, n, "samples drawn as nodes")


def _names_along(ax: Any, places: np.ndarray, names: np.ndarray, height: float) -> None:
    """Name clusters along the left side, apart from each other even where clusters are thin."""
    chosen = np.arange(len(names))
    if len(names) > NAMED:
        chosen = np.unique(np.linspace(0, len(names) - 1, 7).astype(int))
    steps = height / 25 * np.arange(len(chosen))
    free = np.maximum.accumulate(places[chosen] - steps)
    ax.set_yticks(np.minimum(free, height - steps[-1]) + steps, [plain(names[k]) for k in chosen])
    ax.tick_params(axis="y", length=0)
    ax.set_ylabel("cluster")
