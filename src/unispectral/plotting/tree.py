"""The tree of clusters: how they merge and split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unispectral._errors import InputError
from unispectral.plotting._base import Clusters, Display, plain, read_fitted
from unispectral.plotting._colors import GREY

__all__ = ["TreeDisplay"]


@dataclass(eq=False, repr=False)
class TreeDisplay(Display):
    """Every number of clusters as one dendrogram, coloured at one of them.

    Parameters
    ----------
    tree : ClusterTree
        ``tree_`` of a fitted estimator.
    n_clusters : int, optional
        Of which level branches are coloured; by default that of the fit.
    names : sequence of str, optional
        Names of the clusters of the fit; ``cluster_names_`` by default.

    Attributes
    ----------
    sizes : ndarray
        Samples in each leaf, in the order in which they are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral import UnifiedSpectralClustering
    >>> from unispectral.plotting import TreeDisplay
    >>> X = np.concatenate([np.arange(20.0), 50 + np.arange(20.0)])[:, None]
    >>> display = TreeDisplay.from_estimator(UnifiedSpectralClustering(2).fit(X))
    >>> int(display.sizes.sum())
    40
    """

    tree: Any
    n_clusters: int | None = None
    names: Any = None
    needs = ("tree_",)
    grid = "x"

    @classmethod
    def _of(cls, estimator: object, **given: Any) -> Self:
        (tree,) = read_fitted(estimator, *cls.needs)
        return cls(tree, **cls._with_names(estimator, given))

    def __post_init__(self) -> None:
        if len(self.tree.linkage) < 1:
            raise InputError("tree", "has one cluster only, so there is nothing to draw")
        self.count = self.n_clusters or self.tree.n_clusters
        self.labels = self.tree.cut(self.count)
        self._order = _order_leaves(self.tree.linkage)
        self.sizes = self.tree.sizes[self._order]

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.2 + 0.22 * len(self.sizes)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        leaves = self.tree.max_clusters
        colors = Clusters.of(self.labels).colors
        first = np.unique(self.tree.leaves, return_index=True)[1]
        # Which cluster of the level each node lies in; the nodes above lie in none.
        cluster = [*self.labels[first].tolist(), *[-1] * len(self.tree.linkage)]
        height = np.zeros(len(cluster))
        place = np.zeros(len(cluster))
        place[self._order] = np.arange(leaves)
        for step, (one, other, at, _) in enumerate(self.tree.linkage):
            pair = [int(one), int(other)]
            node = leaves + step
            height[node] = at
            place[node] = place[pair].mean()
            if step < leaves - self.count:
                cluster[node] = cluster[pair[0]]
            color = GREY if cluster[node] < 0 else colors[cluster[node]]
            settings = {"color": color, "linewidth": 1.4} | kwargs
            for child in pair:
                ax.plot([at, at, height[child]], [place[node], *[place[child]] * 2], **settings)
        ax.set_yticks(np.arange(leaves), self._leaf_names(cluster), fontsize=9)
        ax.set_ylim(leaves - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.invert_xaxis()
        ax.yaxis.tick_right()
        ax.set_xlabel("how far apart (log of missing ties)")
        return f"Tree of the clusters, cut at {self.count}"

    def _leaf_names(self, cluster: list[int]) -> list[str]:
        """The size of each leaf, and beside the first of a cluster its name."""
        told = []
        named: set[int] = set()
        for leaf in self._order:
            own = cluster[leaf]
            size = f"{self.tree.sizes[leaf]:,}"
            fresh = own not in named
            named.add(own)
            at_fit = self.count == self.tree.n_clusters
            name = str(self.names[own]) if self.names is not None and at_fit else str(own)
            told.append(f"{size}  {plain(name)}" if fresh else size)
        return told


def _order_leaves(linkage: np.ndarray) -> np.ndarray:
    """Leaves in an order in which no two branches cross."""
    leaves = len(linkage) + 1
    below = [[leaf] for leaf in range(leaves)]
    for one, other in linkage[:, :2].astype(int):
        below.append(below[one] + below[other])
    return np.array(below[-1])
