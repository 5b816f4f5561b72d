"""The samples as points of the plane."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral.plotting._base import Clusters, axes, fitted, share, thin
from unispectral.plotting._colors import NAMED, key
from unispectral.plotting._layout import spring_layout, sunflower

__all__ = ["EmbeddingDisplay"]

METHODS = ("auto", "map", "pca", "tsne", "umap")


class EmbeddingDisplay:
    """The samples in the plane, coloured by cluster.

    Parameters
    ----------
    points : ndarray of shape (m, 2)
    clusters : Clusters
        Of the points shown.
    method : str
        How the plane was found.
    n_samples : int
        Of which ``m`` are shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Notes
    -----
    ``"map"``, the default for more than three clusters, puts the clusters side by side, similar
    ones near each other, and each sample between the clusters to which it belongs, as its
    memberships say; a cluster's samples are laid out as a disc of their number, the surest in
    its middle. Positions mean neighbourhood, not distance, as with t-SNE and UMAP.
    ``"pca"`` shows the two main directions of the embedding with rows of length one, true to
    scale, which for c clusters in c dimensions shows about three of them well.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import EmbeddingDisplay
    >>> embedding = np.repeat(np.eye(3), 4, axis=0)
    >>> display = EmbeddingDisplay.from_embedding(embedding, np.repeat([0, 1, 2], 4))
    >>> display.method, display.points.shape
    ('pca', (12, 2))
    """

    def __init__(
        self, points: np.ndarray, clusters: Clusters, method: str, n_samples: int
    ) -> None:
        self.points = points
        self.clusters = clusters
        self.method = method
        self.n_samples = n_samples

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        method: str = "auto",
        max_points: int = 5000,
        random_state: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the embedding of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``embedding_`` and ``labels_``
        method : {"auto", "map", "pca", "tsne", "umap"}
            "auto" is "pca" for up to three clusters and "map" for more. "umap" needs the extra
            ``umap``; "tsne" is scikit-learn's and takes minutes for thousands of points.
        max_points : int
            Above this, points are left out evenly.
        random_state : int
            For "tsne" and "umap".
        ax : matplotlib Axes, optional
        **kwargs
            For ``scatter``.
        """
        embedding, labels = fitted(estimator, "embedding_", "labels_")
        return cls.from_embedding(
            embedding,
            labels,
            membership=getattr(estimator, "membership_", None),
            method=method,
            max_points=max_points,
            random_state=random_state,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_embedding(
        cls,
        embedding: Any,
        labels: Any,
        *,
        membership: Any = None,
        method: str = "auto",
        max_points: int = 5000,
        random_state: int = 0,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw any embedding of shape (n, d); rows are scaled to length one first."""
        if method not in METHODS:
            raise ValueError(f"method={method!r} is unknown; use one of {', '.join(METHODS)}.")
        everyone = Clusters.of(labels)
        rows = np.asarray(embedding, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != len(everyone.codes):
            raise ValueError(
                f"embedding has shape {rows.shape}; it needs one row for each of "
                f"{len(everyone.codes)} labels."
            )
        if method == "auto":
            method = "pca" if len(everyone.names) <= 3 else "map"
        shown = thin(everyone.codes, max_points)
        clusters = Clusters(everyone.codes[shown], everyone.names, everyone.colors)
        rows = rows[shown]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        if method == "pca":
            points = _principal(rows)
        elif method == "map":
            points = _map(rows, clusters, None if membership is None else membership[shown])
        else:
            points = _neighbourhood(rows, method, random_state)
        return cls(points, clusters, method, len(everyone.codes)).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``scatter``."""
        self.figure_, self.ax_ = axes(ax, (6.4, 5.0))
        ax, clusters = self.ax_, self.clusters
        size = float(np.clip(12_000 / max(len(self.points), 1), 4, 36))
        settings = {"s": size, "linewidths": 0, "alpha": 0.8} | kwargs
        # Mixed order: no cluster hides the others only because it has the last number.
        order = np.random.default_rng(0).permutation(len(self.points))
        ax.scatter(*self.points[order].T, c=clusters.colors[clusters.codes[order]], **settings)
        if len(clusters.names) <= NAMED:
            self._name_clusters(ax)
        key(ax, list(clusters.names), clusters.colors)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#cccccc")
        ax.set_aspect("equal", adjustable="datalim")
        counted = share(len(self.points), self.n_samples)
        title = {"map": "Map of the clusters", "pca": "Embedding, two main directions"}
        ax.set_title(
            title.get(self.method, f"Embedding by {self.method.upper().replace('TSNE', 't-SNE')}")
            + (f" ({counted})" if counted else ""),
            fontsize=11,
        )
        return self

    def _name_clusters(self, ax: Any) -> None:
        from matplotlib.patheffects import withStroke

        for code, name in enumerate(self.clusters.names):
            members = self.points[self.clusters.codes == code]
            ax.annotate(
                str(name), np.median(members, axis=0), ha="center", va="center", fontsize=10,
                fontweight="bold", color="black",
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )  # fmt: skip


def _principal(rows: np.ndarray) -> np.ndarray:
    """The two main directions, each turned so that its largest entry is positive."""
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    axes_ = vectors[:, ::-1][:, :2]
    axes_ = axes_ * np.where(
        axes_[np.abs(axes_).argmax(axis=0), np.arange(axes_.shape[1])] < 0, -1, 1
    )
    points = centred @ axes_
    return points if points.shape[1] == 2 else np.column_stack([points, np.zeros(len(points))])


def _map(rows: np.ndarray, clusters: Clusters, membership: np.ndarray | None) -> np.ndarray:
    """Clusters side by side, samples between them as their memberships say."""
    count, codes = len(clusters.names), clusters.codes
    if membership is None or membership.shape[1] != count:
        means = np.stack([rows[codes == code].mean(axis=0) for code in range(count)])
        membership = np.maximum(rows @ means.T, 0.0) ** 4
        membership = membership / np.maximum(membership.sum(axis=1, keepdims=True), 1e-300)
    overlap = np.stack([membership[codes == code].mean(axis=0) for code in range(count)])
    np.fill_diagonal(overlap, 0.0)
    centres = spring_layout(
        sp.csr_array((overlap + overlap.T) / 2),
        sunflower(count),
        n_iter=300,
        pull=0.05,
        gravity=2.0,
    )
    points = membership @ centres
    sizes = clusters.sizes
    gaps = _nearest_distances(centres)
    radius = np.minimum(0.38 * np.median(gaps) * np.sqrt(sizes / sizes.max()), 0.45 * gaps)
    for code in range(count):
        members = np.flatnonzero(codes == code)
        strength = membership[members].max(axis=1)
        strongest_first = members[np.argsort(-strength, kind="stable")]
        points[strongest_first] += sunflower(len(members)) * radius[code]
    return points


def _nearest_distances(centres: np.ndarray) -> np.ndarray:
    gaps = np.linalg.norm(centres[:, None] - centres[None, :], axis=2)
    np.fill_diagonal(gaps, np.inf)
    return gaps.min(axis=1) if len(centres) > 1 else np.ones(1)


def _neighbourhood(rows: np.ndarray, method: str, random_state: int) -> np.ndarray:
    if method == "umap":
        umap = optional("umap", extra="umap")
        return np.asarray(umap.UMAP(random_state=random_state).fit_transform(rows))
    from sklearn.manifold import TSNE

    perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
    return TSNE(perplexity=perplexity, init="pca", random_state=random_state).fit_transform(rows)
