"""The samples in the plane, and what the typical ones look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA

from unispectral._alignment import align_to_fit
from unispectral._errors import InputError
from unispectral.plotting._base import Clusters, Display, plain, read_fitted, subsample
from unispectral.plotting._colors import GREY, INK, NAMED, RING, key
from unispectral.plotting._layout import cluster_map, free_places, middle_places, spacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator

__all__ = ["EmbeddingDisplay", "RepresentativesDisplay"]

#: Letters of a name that stands among the points; the legend has the whole of it.
_ON_MAP = 14
#: A longer name would be nearer to another cluster, if it stood beside its own.
_BESIDE = 4
#: Letters of a name that find room between strips of pictures.
_BETWEEN_STRIPS = 3
_TITLES = {"map": "Map of the clusters", "pca": "Embedding, two main directions"}


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
        are amounts, all else are classes. A pandas column is named in the legend.
    new : array of bool of shape (n,), optional
        Which samples the model was not fitted on. ``from_estimator`` takes the samples
        themselves, which it places by ``transform`` and ``predict``; their colours come last.
    method : {"auto", "map", "pca"} or transformer
        "auto" is "pca" for up to three clusters and "map" for more. Anything with
        ``fit_transform`` into the plane will do, such as ``umap.UMAP()``.
    max_points : int
        Above this, points are left out evenly.
    doubt : float
        How doubtful all clusters are, from 0 to 1: one less their stability.
    outlier : array of bool of shape (n,), optional
        Samples that fit nowhere; ``outlier_`` by default. They have a ring, and lie around the
        disc of their cluster.
    names : sequence of str, optional
        Names of the clusters; ``cluster_names_`` by default.

    Notes
    -----
    ``"map"`` puts the clusters side by side, similar ones near each other, and each sample between
    the clusters to which it belongs, as its memberships say; a cluster's samples are laid out as a
    disc of their number, the surest in its middle. The less sure its members are, or the more
    doubtful all clusters, the wider is a disc, until discs run into each other. Positions mean
    neighbourhood, not distance.
    ``"pca"`` shows the two main directions of the embedding, true to scale, which for c clusters
    in c dimensions shows about three of them well.

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
    new: Any = None
    method: Any = "auto"
    max_points: int = 20_000
    doubt: float = 0.0
    outlier: Any = None
    names: Any = None
    needs = ("embedding_", "labels_")
    figsize = (6.4, 5.0)

    @classmethod
    def _of(cls, estimator: BaseEstimator, *, new: Any = None, **given: Any) -> Self:
        embedding, labels = read_fitted(estimator, *cls.needs)
        given = cls._with_names(estimator, given)
        if new is None:
            if "color" in given:
                given["color"] = align_to_fit(given["color"], estimator, argument="color")
            known = ("membership", "outlier")
            given = {name: getattr(estimator, f"{name}_", None) for name in known} | given
            return cls(embedding, labels, **given)
        both = np.concatenate([labels, estimator.predict(new)])
        embedding = np.concatenate([embedding, estimator.transform(new)])
        return cls(embedding, both, new=np.arange(len(both)) >= len(labels), **given)

    def __post_init__(self) -> None:
        everyone = Clusters.of(self.labels, self.names)
        n, rows = len(everyone.codes), np.asarray(self.embedding, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != n:
            problem = f"has shape {rows.shape}, but needs one row for each of {n} labels"
            raise InputError("embedding", problem)
        if self.method == "auto":
            self.method = "pca" if len(everyone.names) <= 3 else "map"
        shown = subsample(everyone.codes, self.max_points)
        self.clusters = everyone.at(shown)
        rows = rows[shown] / np.maximum(np.linalg.norm(rows[shown], axis=1, keepdims=True), 1e-300)
        self._strays = None if self.outlier is None else np.asarray(self.outlier)[shown]
        if self.method == "map":
            membership = None if self.membership is None else np.asarray(self.membership)[shown]
            self.points = cluster_map(rows, self.clusters, membership, self.doubt, self._strays)
        elif self.method == "pca" or hasattr(self.method, "fit_transform"):
            method = PCA(min(2, *rows.shape)) if self.method == "pca" else self.method
            points = np.asarray(method.fit_transform(rows))
            self.points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))
        else:
            problem = "must be 'auto', 'map', 'pca' or an object with fit_transform"
            raise InputError("method", problem, value=self.method)
        title = _TITLES.get(str(self.method), f"Embedding by {type(self.method).__name__}")
        left_out = len(shown) < n
        self._title = title + (f" ({len(shown):,} of {n:,} points)" if left_out else "")
        self._fresh = None if self.new is None else np.asarray(self.new)[shown]
        self._meaning: Any = self.clusters
        self._heading = "cluster"
        if self.color is not None:
            self._meaning = _meaning(self.color, n, shown)
            self._heading = str(getattr(self.color, "name", None) or "colour")

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        scale = self._scale(ax)
        settings = {"s": self._diameter(scale) ** 2, "linewidths": 0, "alpha": 0.8} | kwargs
        # Mixed order: no cluster hides the others only because it has the last number.
        order = np.random.default_rng(0).permutation(len(self.points))
        amounts = isinstance(self._meaning, np.ndarray)
        colors = self._meaning if amounts else self._meaning.colors[self._meaning.codes]
        parts: list[tuple[np.ndarray, dict[str, Any]]] = [(order, {})]
        marks: dict[str, dict[str, Any]] | None = None
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
        if self._strays is not None and self._strays.any():
            ring = {"color": "none", "markeredgecolor": RING}
            marks = (marks or {}) | {"fits nowhere": ring}
            size = 2.5 * settings["s"]
            where = self.points[self._strays].T
            ax.scatter(*where, s=size, facecolors="none", edgecolors=RING, linewidths=0.9)
        ax.set_aspect("equal", adjustable="datalim")
        if len(self.clusters.names) <= NAMED:
            self._name_clusters(ax, scale)
        if amounts:
            ax.figure.colorbar(drawn, ax=ax, label=self._heading, pad=0.02)
            key(ax, [], np.empty((0, 3)), title="", marks=marks)
        else:
            names = [plain(name) for name in self._meaning.names]
            key(ax, names, self._meaning.colors, title=self._heading, marks=marks)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#cccccc")
        return self._title

    def _scale(self, ax: Axes) -> float:
        """Typographic points for one unit of the plane, nearly: the layout is not final yet."""
        box = ax.get_window_extent()
        room = 72.0 / ax.figure.dpi * 0.8 * np.array([box.width, box.height])
        return float((room / np.maximum(np.ptp(self.points, axis=0), 1e-12)).min())

    def _diameter(self, scale: float) -> float:
        """Of a point: on a map small enough that neighbours do not overlap."""
        if self.method == "map":
            return float(np.clip(0.9 * spacing(self.points) * scale, 1.0, 6.0))
        return float(np.clip(12_000 / max(len(self.points), 1), 4, 36)) ** 0.5

    def _name_clusters(self, ax: Axes, scale: float) -> None:
        from matplotlib.patheffects import withStroke

        names = [plain(name, _ON_MAP) for name in self.clusters.names]
        box = (7.0 * max(map(len, names)) + 3) / scale, 12.0 / scale
        if max(map(len, names)) > _BESIDE:
            places = middle_places(self.points, self.clusters.codes, box)
        else:
            places = free_places(self.points, self.clusters.codes, box)
        stroke = [withStroke(linewidth=2.5, foreground="white")]
        for code, (name, place) in enumerate(zip(names, places, strict=True)):
            if not np.isfinite(place).all():
                continue  # the legend has it
            members = self.points[self.clusters.codes == code]
            nearest = members[np.argmin(((members - place) ** 2).sum(axis=1))]
            far = np.abs(nearest - place).max() > 0.9 * max(box)
            ax.annotate(
                name, nearest if far else place, xytext=place, ha="center", va="center",
                fontsize=10, fontweight="bold", color="black", path_effects=stroke,
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7} if far else None,
            )  # fmt: skip


def _meaning(color: object, n: int, shown: np.ndarray) -> Clusters | np.ndarray:
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


@dataclass(eq=False, repr=False)
class RepresentativesDisplay(Display):
    """The most typical members of each cluster, as pictures.

    What sets the clusters of a table apart is told by :func:`unispectral.describe`.

    Parameters
    ----------
    labels : array of shape (n,)
    X : array or sparse array of shape (n, d)
        A picture in each row.
    image_shape : tuple
        ``(height, width)`` or ``(height, width, 3)``.
    n_members : int
        Of each cluster.
    image_order : {"C", "F"}
        How the pixels of a picture follow each other: by rows, or by columns as in MATLAB.
    typicality : array of shape (n,), optional
        Large for typical members; by default minus the distance to the mean of the cluster, and
        of an estimator with memberships these, and among equals the weight of the edges.
    names : sequence of str, optional
        Names of the clusters; ``cluster_names_`` by default.

    Attributes
    ----------
    members : list of ndarray
        For each cluster its most typical samples, most typical first.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from unispectral.plotting import RepresentativesDisplay
    >>> X = np.array([[0.0, 0.0], [0.1, 0.2], [0.5, 0.2], [4.0, 0.1]])
    >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
    >>> display = RepresentativesDisplay.from_estimator(model, X, image_shape=(1, 2), n_members=1)
    >>> sorted(group.tolist() for group in display.members)
    [[1], [3]]
    """

    labels: Any
    X: Any
    image_shape: tuple[int, ...]
    n_members: int = 6
    image_order: str = "C"
    typicality: Any = None
    names: Any = None

    @classmethod
    def _of(cls, estimator: BaseEstimator, *data: Any, **given: Any) -> Self:
        (labels,) = read_fitted(estimator, "labels_")
        if hasattr(estimator, "membership_"):
            own = np.asarray(estimator.membership_)[np.arange(len(labels)), labels]
            degrees = np.asarray(estimator.affinity_matrix_.sum(axis=1)).ravel()
            weight = 1e-7 * degrees / max(float(degrees.max()), 1e-300)
            given = {"typicality": own.round(6) + weight} | given
        given = dict(zip(("X", "image_shape"), data, strict=False)) | given
        given["X"] = align_to_fit(given.get("X"), estimator)
        return cls(labels, **cls._with_names(estimator, given))

    def __post_init__(self) -> None:
        X: Any = sp.csr_array(self.X) if sp.issparse(self.X) else np.asarray(self.X)
        self.clusters = Clusters.of(self.labels, self.names)
        pixels = int(np.prod(self.image_shape))
        n, groups = len(self.clusters.codes), self.clusters.members()
        if X.shape[0] != n:
            raise InputError("X", f"has {X.shape[0]} rows, but there are {n} labels")
        if pixels != np.prod(X.shape[1:]):
            problem = f"holds {pixels} numbers, but a row of X has {np.prod(X.shape[1:])}"
            raise InputError("image_shape", problem, value=self.image_shape)
        if self.typicality is None:
            typical = [-_to_mean(X[group]) for group in groups]
        else:
            typical = [np.asarray(self.typicality)[group] for group in groups]
        self.members = [
            group[np.argsort(-values, kind="stable")][: self.n_members]
            for group, values in zip(groups, typical, strict=True)
        ]
        rows = [X[group] for group in self.members]
        self._rows = [part.toarray() if sp.issparse(part) else part for part in rows]

    def _size(self) -> tuple[float, float]:
        height, width = self.mosaic()[0].shape[:2]
        widest = 10.0 if len(self.members) <= NAMED else 14.0
        wide = float(np.clip(7.5 * np.sqrt(width / height), 5.0, widest))
        return wide, wide * height / width + 0.5

    def mosaic(self) -> tuple[np.ndarray, np.ndarray]:
        """All thumbnails as one picture, and the upper left corner of each cluster's strip."""
        height, width, *channels = self.image_shape
        count, longest = len(self.members), max(map(len, self.members))
        # As many strips side by side as make the whole about 1.2 times as wide as high.
        columns = max(1, round(np.sqrt(1.2 * count * height / (longest * width))))
        if max(len(str(name)) for name in self.clusters.names) > _BETWEEN_STRIPS:
            columns = 1
        gap = max(1, round(0.08 * height))
        between = max(4, round(0.9 * max(width, 0.6 * height)))
        step = width + max(1, gap // 2)
        strip = longest * step + between
        lines = -(-count // columns)
        shape = lines * (height + gap) - gap, columns * strip - between - (step - width)
        picture = np.full((*shape, *channels), np.nan)
        corners = np.empty((count, 2), dtype=int)
        for code, rows in enumerate(self._rows):
            column, line = divmod(code, lines)
            y, x = corners[code] = line * (height + gap), column * strip
            for left, row in zip(range(x, x + strip, step), rows, strict=False):
                pixels = row.reshape(self.image_shape, order=self.image_order)
                low, high = np.nanmin(pixels), np.nanmax(pixels)
                stretched = (pixels - low) / (high - low) if high > low else 0.0 * pixels
                picture[y : y + height, left : left + width] = stretched
        return picture, corners

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        from matplotlib.patches import Rectangle

        height, width = self.image_shape[:2]
        picture, corners = self.mosaic()
        if picture.ndim == 3:
            picture = np.nan_to_num(picture, nan=1.0)
        ax.imshow(picture, **({"cmap": "gray", "vmin": 0.0, "vmax": 1.0} | kwargs))
        bar, size = max(1.0, 0.12 * width), 9 if len(corners) <= NAMED else 6
        named = zip(corners - 0.5, self.clusters.colors, self.clusters.names, strict=True)
        for (y, x), color, name in named:
            place = x - 1.6 * bar, y
            ax.add_patch(Rectangle(place, bar, height, color=color, lw=0, clip_on=False))
            aligned = {"ha": "right", "va": "center", "color": INK, "fontsize": size}
            ax.text(x - 2 * bar, y + height / 2, plain(name), **aligned)
        ax.set_axis_off()
        return "Most typical members of each cluster"


def _to_mean(rows: Any) -> np.ndarray:
    rows = rows.toarray() if sp.issparse(rows) else rows.reshape(len(rows), -1)
    return np.linalg.norm(rows - rows.mean(axis=0), axis=1)
