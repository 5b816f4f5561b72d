"""The learned graph as a network."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from unispectral.plotting._base import Clusters, axes, fitted, share
from unispectral.plotting._colors import INK, key
from unispectral.plotting._layout import coarsen, spring_layout, sunflower

__all__ = ["GraphNetworkDisplay"]


class GraphNetworkDisplay:
    """The learned graph drawn as a network, coloured by cluster.

    A large graph is contracted first: each node then stands for several samples of one cluster,
    the more the larger it is drawn. Edges between clusters are dark; the weakest edges are left
    out where there are many.

    Parameters
    ----------
    positions : ndarray of shape (m, 2)
    sizes : ndarray of shape (m,)
        Samples for which each node stands.
    clusters : Clusters
        Of the nodes.
    edges : ndarray of shape (e, 2)
        Pairs of nodes.
    weights : ndarray of shape (e,)

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import GraphNetworkDisplay
    >>> W = np.kron(np.eye(2), np.ones((3, 3)))
    >>> display = GraphNetworkDisplay.from_graph(W, [0, 0, 0, 1, 1, 1])
    >>> len(display.edges), display.sizes.tolist()
    (6, [1, 1, 1, 1, 1, 1])
    """

    def __init__(
        self,
        positions: np.ndarray,
        sizes: np.ndarray,
        clusters: Clusters,
        edges: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        self.positions = positions
        self.sizes = sizes
        self.clusters = clusters
        self.edges = edges
        self.weights = weights

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_nodes: int = 1000,
        max_edges: int = 6000,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the graph of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``affinity_matrix_`` and ``labels_``
        max_nodes, max_edges : int
            Above these, the graph is contracted to about so many nodes, and its weakest edges
            are left out.
        ax : matplotlib Axes, optional
        **kwargs
            For ``scatter``.
        """
        graph, labels = fitted(estimator, "affinity_matrix_", "labels_")
        return cls.from_graph(
            graph, labels, max_nodes=max_nodes, max_edges=max_edges, ax=ax, **kwargs
        )

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        labels: Any,
        *,
        max_nodes: int = 1000,
        max_edges: int = 6000,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw any symmetric non-negative graph, dense or sparse, of shape (n, n)."""
        everyone = Clusters.of(labels)
        W = sp.csr_array(graph)
        n = len(everyone.codes)
        if W.shape != (n, n):
            raise ValueError(f"graph has shape {W.shape}; {n} labels need a graph of ({n}, {n}).")
        kept, group, small = coarsen(W, everyone.codes, max_nodes)
        clusters = Clusters(everyone.codes[kept], everyone.names, everyone.colors)
        positions = spring_layout(_softened(small), _start(small, clusters))
        upper = sp.triu(small, 1).tocoo()
        strongest = np.sort(np.argsort(-upper.data, kind="stable")[:max_edges])
        edges = np.column_stack([upper.row, upper.col])[strongest]
        sizes = np.bincount(group, minlength=len(kept))
        return cls(positions, sizes, clusters, edges, upper.data[strongest]).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``scatter``."""
        from unispectral._compat import optional

        LineCollection = optional("matplotlib.collections", extra="plot").LineCollection
        self.figure_, self.ax_ = axes(ax, (6.4, 5.4))
        ax, codes = self.ax_, self.clusters.codes
        ends = codes[self.edges] if len(self.edges) else np.empty((0, 2), int)
        across = ends[:, 0] != ends[:, 1]
        strength = np.sqrt(self.weights / self.weights.max(initial=1e-300))
        rgba = np.column_stack([self.clusters.colors[ends[:, 0]], 0.15 + 0.5 * strength])
        rgba[across] = (0.2, 0.2, 0.2, 0.0)
        rgba[across, 3] = 0.25 + 0.5 * strength[across]
        ax.add_collection(
            LineCollection(
                list(self.positions[self.edges]), colors=rgba, linewidths=0.3 + 1.2 * strength,
                zorder=1,
            )
        )  # fmt: skip
        relative = self.sizes / max(self.sizes.mean(), 1e-12)
        area = np.clip(9000 / max(len(self.sizes), 1), 8, 60) * np.clip(relative, 0.3, 6)
        settings = {"s": area, "edgecolors": "white", "linewidths": 0.4, "zorder": 2} | kwargs
        ax.scatter(*self.positions.T, c=self.clusters.colors[codes], **settings)
        ax.set_aspect("equal")
        ax.set_axis_off()
        key(ax, list(self.clusters.names), self.clusters.colors)
        counted = share(len(self.sizes), int(self.sizes.sum()), "samples drawn as nodes")
        ax.set_title(
            "Learned graph" + (f" ({counted})" if counted else ""), color=INK, fontsize=11
        )
        return self


def _softened(W: sp.csr_array) -> sp.csr_array:
    """Square roots: a few heavy edges shall not fold everything else."""
    soft = W.copy()
    soft.data = np.sqrt(np.maximum(soft.data, 0.0))
    return soft


def _start(W: sp.csr_array, clusters: Clusters) -> np.ndarray:
    """Clusters side by side, those that share edges near each other, members around the middle."""
    count = len(clusters.names)
    member = sp.csr_array(
        (np.ones(len(clusters.codes)), (clusters.codes, np.arange(len(clusters.codes)))),
        shape=(count, len(clusters.codes)),
    )
    between = sp.csr_array(member @ W @ member.T)
    between.setdiag(0)
    centres = spring_layout(_softened(between), sunflower(count), pull=0.3)
    start = centres[clusters.codes].copy()
    for code in range(count):
        members = np.flatnonzero(clusters.codes == code)
        start[members] += sunflower(len(members)) * 0.6 * np.sqrt(len(members) / len(start))
    return start
