"""How many clusters the graph speaks for."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from unispectral.plotting._base import axes, fitted, tidy
from unispectral.plotting._colors import GREY, palette

__all__ = ["SpectrumDisplay"]

#: Up to this many samples more eigenvalues are computed if the estimator did not keep enough.
_COMPUTE = 5_000


class SpectrumDisplay:
    """The smallest eigenvalues of the graph's Laplacian, with the gap after the clusters.

    A graph that falls into c parts has c eigenvalues near zero and a gap after them.

    Parameters
    ----------
    eigenvalues : array
        Ascending.
    n_clusters : int or None
        After which the gap is marked; None marks the largest gap.

    Attributes
    ----------
    gaps : ndarray
        ``gaps[k - 1]`` is the gap after k clusters.
    largest_gap : int or None
        The number of clusters, two or more, after which the gap is largest.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from unispectral.plotting import SpectrumDisplay
    >>> SpectrumDisplay([0.0, 0.0, 0.01, 0.6, 0.7], 3).largest_gap
    3
    """

    def __init__(self, eigenvalues: Any, n_clusters: int | None = None) -> None:
        self.eigenvalues = np.asarray(eigenvalues, dtype=np.float64)
        self.gaps = np.diff(self.eigenvalues)
        self.largest_gap = int(np.argmax(self.gaps[1:])) + 2 if len(self.gaps) > 1 else None
        self.n_clusters = n_clusters

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, n_eigenvalues: int | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the spectrum of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``eigenvalues_`` or ``affinity_matrix_``
        n_eigenvalues : int, optional
            How many; by default some more than there are clusters. They are computed from the
            graph if the estimator kept fewer and the graph is small.
        ax : matplotlib Axes, optional
        **kwargs
            For ``plot``.
        """
        (graph,) = fitted(estimator, "affinity_matrix_")
        count = getattr(estimator, "n_clusters_", None) or len(np.unique(estimator.labels_))
        wanted = min(n_eigenvalues or max(count + 8, 3 * count // 2), graph.shape[0])
        kept = np.asarray(getattr(estimator, "eigenvalues_", ()))
        if len(kept) >= wanted or (len(kept) > 1 and graph.shape[0] > _COMPUTE):
            return cls(kept[:wanted], count).plot(ax, **kwargs)
        return cls.from_graph(graph, wanted, n_clusters=count, ax=ax, **kwargs)

    @classmethod
    def from_graph(
        cls,
        graph: Any,
        n_eigenvalues: int = 20,
        *,
        n_clusters: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the spectrum of the normalised Laplacian of a symmetric graph."""
        from unispectral.spectrum._eigen import smallest_eigenvectors

        W = sp.csr_array(graph)
        found = smallest_eigenvectors(W, min(n_eigenvalues, W.shape[0]))
        return cls(found.values, n_clusters).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``plot``."""
        self.figure_, self.ax_ = axes(ax, (5.6, 3.8))
        ax, values = self.ax_, self.eigenvalues
        blue, orange = palette(2)
        chosen = self.n_clusters or self.largest_gap
        place = np.arange(1, len(values) + 1)
        if chosen and chosen < len(values):
            late = int(chosen < len(values) / 3)  # little room on the left: write on the right
            ax.axvspan(chosen, chosen + 1, color=orange, alpha=0.25, linewidth=0)
            ax.annotate(
                f"gap after {chosen}: {self.gaps[chosen - 1]:.3g}",
                (chosen + late, values[chosen]), xytext=(10 * late - 6 * (1 - late), 4),
                textcoords="offset points", ha="left" if late else "right", fontsize=9,
            )  # fmt: skip
        settings = {"color": blue, "marker": "o", "linewidth": 0.8} | kwargs
        settings.setdefault("markersize", 5 if len(values) <= 40 else 3)
        ax.plot(place, values, **settings)
        ax.set(xlabel="number", ylabel="eigenvalue of the Laplacian")
        ax.set_ylim(min(0.0, values.min(initial=0.0)), None)
        ax.margins(y=0.15)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title("Spectrum of the learned graph", fontsize=11)
        if self.largest_gap and self.largest_gap != chosen:
            ax.axvline(self.largest_gap + 0.5, color=GREY, linestyle=":", linewidth=1.2)
            ax.text(
                self.largest_gap + 0.5, 0.98, f" largest gap: {self.largest_gap}", fontsize=8,
                transform=ax.get_xaxis_transform(), va="top", color="#666666",
            )  # fmt: skip
        tidy(ax, grid="y")
        return self
