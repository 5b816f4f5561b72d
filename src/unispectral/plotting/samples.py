"""The samples in the plane, and how surely they belong to their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from unispectral._compat import optional
from unispectral._errors import InputError
from unispectral.plotting._base import Clusters, Display, fitted, names_along, share, spread, thin
from unispectral.plotting._colors import GREY, INK, NAMED, key
from unispectral.plotting._layout import cluster_map, free_places, principal, spacing

__all__ = ["EmbeddingDisplay", "MembershipDisplay"]

METHODS = ("auto", "map", "pca", "tsne", "umap")
TITLES = {
    "map": "Map of the clusters",
    "pca": "Embedding, two main directions",
    "tsne": "Embedding by t-SNE",
    "umap": "Embedding by UMAP",
}


@dataclass(eq=False, repr=False)
class EmbeddingDisplay(Display):
    """The samples in the plane, coloured by cluster, by known classes or by a column.

    Parameters
    ----------
    embedding : array of shape (n, d)
        Rows are scaled to length one first.
    labels : array of shape (n,)
    membership : array of shape (n, c), optional
        For the map; taken from the embedding by default.
    color : array of shape (n,), optional
        Colour by known classes, or by a column: fractions and more than twenty different numbers
        are amounts, all else are classes.
    color_name : str, optional
        Heading of the legend; a pandas column brings its own.
    new : array of bool of shape (n,), optional
        Which samples the model was not fitted on. ``from_estimator`` takes the samples
        themselves, which it places by ``transform`` and ``predict``; their colours come last.
    method : {"auto", "map", "pca", "tsne", "umap"}
        "auto" is "pca" for up to three clusters and "map" for more. "umap" needs the extra
        ``umap``; "tsne" is scikit-learn's and takes minutes for thousands of points.
    max_points : int
        Above this, points are left out evenly.
    random_state : int
        For "tsne" and "umap".

    Attributes
    ----------
    points : ndarray of shape (m, 2)
    clusters : Clusters
        Of the points shown.

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
    >>> display = EmbeddingDisplay(embedding, np.repeat([0, 1, 2], 4)).plot()
    >>> display.method, display.points.shape
    ('pca', (12, 2))
    """

    embedding: Any
    labels: Any
    membership: Any = None
    color: Any = None
    color_name: str | None = None
    new: Any = None
    method: str = "auto"
    max_points: int = 20_000
    random_state: int = 0
    needs = ("embedding_", "labels_")
    figsize = (6.4, 5.0)

    @classmethod
    def _of(cls, estimator: Any, *, new: Any = None, **given: Any) -> Self:
        embedding, labels = fitted(estimator, *cls.needs)
        if new is None:
            given = {"membership": getattr(estimator, "membership_", None)} | given
            return cls(embedding, labels, **given)
        both = np.concatenate([labels, estimator.predict(new)])
        embedding = np.concatenate([embedding, estimator.transform(new)])
        return cls(embedding, both, new=np.arange(len(both)) >= len(labels), **given)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError("method", f"must be one of {', '.join(METHODS)}", value=self.method)
        everyone = Clusters.of(self.labels)
        n, rows = len(everyone.codes), np.asarray(self.embedding, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != n:
            problem = f"has shape {rows.shape}, but needs one row for each of {n} labels"
            raise InputError("embedding", problem)
        if self.method == "auto":
            self.method = "pca" if len(everyone.names) <= 3 else "map"
        shown = thin(everyone.codes, self.max_points)
        self.clusters = everyone.at(shown)
        rows = rows[shown] / np.maximum(np.linalg.norm(rows[shown], axis=1, keepdims=True), 1e-300)
        if self.method == "pca":
            self.points = principal(rows)
        elif self.method == "map":
            membership = None if self.membership is None else np.asarray(self.membership)[shown]
            self.points = cluster_map(rows, self.clusters, membership)
        else:
            self.points = _neighbourhood(rows, self.method, self.random_state)
        self._title = TITLES[self.method] + share(len(shown), n)
        self._fresh = None if self.new is None else np.asarray(self.new)[shown]
        self._meaning: Any = self.clusters
        self._heading = "cluster"
        if self.color is not None:
            self._meaning = _meaning(self.color, n, shown)
            self._heading = str(self.color_name or getattr(self.color, "name", None) or "colour")

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        scale = self._scale(ax)
        settings = {"s": self._diameter(scale) ** 2, "linewidths": 0, "alpha": 0.8} | kwargs
        # Mixed order: no cluster hides the others only because it has the last number.
        order = np.random.default_rng(0).permutation(len(self.points))
        amounts = isinstance(self._meaning, np.ndarray)
        colors = self._meaning if amounts else self._meaning.colors[self._meaning.codes]
        parts: list[tuple[np.ndarray, dict[str, Any]]] = [(order, {})]
        marks = None
        if self._fresh is not None:
            fresh = self._fresh[order]
            edge = {"linewidths": 0.4, "edgecolors": INK, "alpha": 1.0}
            parts = [(order[~fresh], {"alpha": 0.2}), (order[fresh], edge)]
            marks = {"fitted (pale)": {"color": GREY, "alpha": 0.35}}
            marks["new (outlined)"] = {"color": "white", "markeredgecolor": INK}
        if amounts:
            settings |= {"vmin": np.nanmin(colors), "vmax": np.nanmax(colors)}
        for part, style in parts:
            drawn = ax.scatter(*self.points[part].T, c=colors[part], **(settings | style))
        ax.set_aspect("equal", adjustable="datalim")
        if len(self.clusters.names) <= NAMED:
            self._name_clusters(ax, scale)
        if amounts:
            ax.figure.colorbar(drawn, ax=ax, label=self._heading, pad=0.02)
            key(ax, [], np.empty((0, 3)), title="", marks=marks)
        else:
            key(ax, self._meaning.names, self._meaning.colors, title=self._heading, marks=marks)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#cccccc")
        return self._title

    def _scale(self, ax: Any) -> float:
        """Typographic points for one unit of the plane, nearly: the layout is not final yet."""
        box = ax.get_window_extent()
        room = 72.0 / ax.figure.dpi * 0.8 * np.array([box.width, box.height])
        return float((room / np.maximum(np.ptp(self.points, axis=0), 1e-12)).min())

    def _diameter(self, scale: float) -> float:
        """Of a point: on a map small enough that neighbours do not overlap."""
        if self.method == "map":
            return float(np.clip(0.9 * spacing(self.points) * scale, 1.0, 6.0))
        return float(np.clip(12_000 / max(len(self.points), 1), 4, 36)) ** 0.5

    def _name_clusters(self, ax: Any, scale: float) -> None:
        from matplotlib.patheffects import withStroke

        names = [str(name) for name in self.clusters.names]
        box = (7.0 * max(map(len, names)) + 3) / scale, 12.0 / scale
        places = free_places(self.points, self.clusters.codes, box)
        stroke = [withStroke(linewidth=2.5, foreground="white")]
        for code, (name, place) in enumerate(zip(names, places, strict=True)):
            members = self.points[self.clusters.codes == code]
            nearest = members[np.argmin(((members - place) ** 2).sum(axis=1))]
            far = np.abs(nearest - place).max() > 0.9 * max(box)
            ax.annotate(
                name, nearest if far else place, xytext=place, ha="center", va="center",
                fontsize=10, fontweight="bold", color="black", path_effects=stroke,
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7} if far else None,
            )  # fmt: skip


def _meaning(color: Any, n: int, shown: np.ndarray) -> Clusters | np.ndarray:
    """Classes, or amounts where there are many numbers."""
    given = np.asarray(color)
    if given.shape != (n,):
        problem = f"has shape {given.shape}, but needs one value for each of {n} samples"
        raise InputError("color", problem)
    if given.dtype.kind in "iuf":
        known = given[np.isfinite(given)]
        if len(np.unique(known)) > NAMED or not np.array_equal(known, np.round(known)):
            return given[shown].astype(np.float64)
    return Clusters.of(given if given.dtype.kind in "iu" else given.astype(str)).at(shown)


def _neighbourhood(rows: np.ndarray, method: str, random_state: int) -> np.ndarray:
    if method == "umap":
        umap = optional("umap", extra="umap")
        return np.asarray(umap.UMAP(random_state=random_state).fit_transform(rows))
    from sklearn.manifold import TSNE

    perplexity = min(30.0, max(1.0, (len(rows) - 1) / 3))
    return TSNE(perplexity=perplexity, init="pca", random_state=random_state).fit_transform(rows)


@dataclass(eq=False, repr=False)
class MembershipDisplay(Display):
    """Each cluster's samples by the strength with which they belong to it, strongest on top.

    A full block is a cluster of which all members are sure; a blade that tapers off has doubtful
    ones. Heights are in proportion to sizes, but no cluster is thinner than a line of text.

    Parameters
    ----------
    membership : array of shape (n, c)
        Label k belongs to column k.
    labels : array of shape (n,)
    max_points : int
        Quantiles drawn of each cluster at most.

    Attributes
    ----------
    strengths : list of ndarray
        For each cluster, its members' membership, descending.
    doubtful : int
        Samples whose membership is below one half.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.plotting import MembershipDisplay
    >>> membership = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    >>> display = MembershipDisplay(membership, [0, 0, 1]).plot()
    >>> [part.tolist() for part in display.strengths]
    [[0.9, 0.6], [0.7]]
    """

    membership: Any
    labels: Any
    max_points: int = 200
    needs = ("membership_", "labels_")
    figsize = (5.6, 4.6)
    grid = "x"

    def __post_init__(self) -> None:
        self.clusters = Clusters.of(self.labels)
        own = np.asarray(self.membership)[np.arange(len(self.labels)), np.asarray(self.labels)]
        self.strengths = [
            spread(np.sort(own[group])[::-1], self.max_points) for group in self.clusters.members()
        ]
        self.doubtful = int((own < 0.5).sum())

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        sizes = self.clusters.sizes
        heights = np.maximum(sizes / sizes.sum(), 0.6 / max(len(sizes), 20))
        gap = 0.15 * heights.mean()
        tops = np.cumsum(heights + gap) - heights - gap
        for strength, top, height, color in zip(
            self.strengths, tops, heights, self.clusters.colors, strict=True
        ):
            settings = {"color": color, "linewidth": 0, "step": "post"} | kwargs
            edges = np.linspace(top, top + height, len(strength) + 1)
            ax.fill_betweenx(edges, 0, np.append(strength, strength[-1]), **settings)
        ax.axvline(0.5, color=INK, linewidth=0.8, linestyle="--")
        end = tops[-1] + heights[-1]
        names = [f"{n} ({size:,})" for n, size in zip(self.clusters.names, sizes, strict=True)]
        names_along(ax, tops + heights / 2, names, end)
        ax.set(xlim=(0, 1.02), ylim=(end, 0), xlabel="membership", ylabel="cluster (its size)")
        return f"Membership: {self.doubtful:,} of {sizes.sum():,} below one half"
