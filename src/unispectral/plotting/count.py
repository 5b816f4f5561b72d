"""Why this number of clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unispectral.plotting._base import axes, fitted, tidy
from unispectral.plotting._colors import palette

__all__ = ["ClusterCountDisplay"]


class ClusterCountDisplay:
    """The evidence for each number of clusters, and the number chosen.

    Where the gap between eigenvalues decided, a bar says by how much the next eigenvalue of the
    graph exceeds the last one that this many clusters need, as the logarithm of their ratio: high
    where splitting further would cut through a connected part. Where modularity decided, it says
    by how much that of so many clusters exceeds what samples without clusters would show.

    Parameters
    ----------
    ratios : array of shape (m,)
        ``ratios[i]`` belongs to i + 2 clusters; NaN where a number was not looked at.
    n_clusters : int
        The number chosen.
    label : str
        What the bars are.

    Attributes
    ----------
    counts : ndarray of shape (m,)
        The numbers of clusters considered.
    runner_up : int or None
        The number with the second-best evidence.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from unispectral.plotting import ClusterCountDisplay
    >>> display = ClusterCountDisplay([0.1, 2.0, 0.4], 3).plot()
    >>> display.counts.tolist(), display.runner_up
    ([2, 3, 4], 4)
    """

    def __init__(
        self, ratios: Any, n_clusters: int, label: str = "log ratio of eigenvalues"
    ) -> None:
        self.ratios = np.asarray(ratios, dtype=np.float64)
        self.n_clusters = int(n_clusters)
        self.label = label
        self.counts = np.arange(2, len(self.ratios) + 2)
        others = self.counts[(self.counts != self.n_clusters) & ~np.isnan(self.ratios)]
        self.runner_up = int(others[np.argmax(self.ratios[others - 2])]) if len(others) else None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the evidence of an estimator fitted with ``n_clusters="auto"``.

        Parameters
        ----------
        estimator : fitted, with ``cluster_evidence_``
        ax : matplotlib Axes, optional
        **kwargs
            For ``bar``.
        """
        (evidence,) = fitted(estimator, "cluster_evidence_")
        if evidence is None:
            raise ValueError(
                "estimator was told the number of clusters and has no evidence for it; fit it "
                "with n_clusters='auto', or use from_graph(estimator.affinity_matrix_)."
            )
        if evidence.decided_by == "excess":
            display = cls(evidence.excess, evidence.n_clusters, "modularity beyond chance")
        else:
            display = cls(evidence.ratios, evidence.n_clusters)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_graph(
        cls, graph: Any, *, max_clusters: int = 20, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the gaps in the spectrum of any symmetric graph, dense or sparse."""
        import scipy.sparse as sp

        from unispectral.labelfree._counting import count_clusters

        evidence = count_clusters([sp.csr_array(graph)], max_clusters, np.random.default_rng(0))
        return cls(evidence.ratios, evidence.n_clusters).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``bar``."""
        self.figure_, self.ax_ = axes(ax, (5.6, 3.6))
        ax = self.ax_
        blue, orange = palette(2)
        chosen = self.counts == self.n_clusters
        settings = {"color": np.where(chosen[:, None], orange, blue), "width": 0.8} | kwargs
        ax.bar(self.counts, self.ratios, **settings)
        if chosen.any():
            height = float(self.ratios[chosen][0])
            ax.annotate(
                f"{self.n_clusters}", (self.n_clusters, max(height, 0.0)), xytext=(0, 3),
                textcoords="offset points", ha="center", fontweight="bold",
            )  # fmt: skip
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.margins(y=0.12)
        ax.set(xlabel="number of clusters", ylabel=self.label)
        second = f" (next best: {self.runner_up})" if self.runner_up else ""
        ax.set_title(f"Evidence for {self.n_clusters} clusters{second}", fontsize=11)
        tidy(ax, grid="y")
        return self
