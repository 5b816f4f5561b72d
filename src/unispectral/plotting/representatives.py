"""What the clusters look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from unispectral._errors import InputError
from unispectral.plotting._base import Clusters, Display, fitted, names_along, plain
from unispectral.plotting._colors import INK, NAMED

__all__ = ["RepresentativesDisplay"]


@dataclass(eq=False, repr=False)
class RepresentativesDisplay(Display):
    """The most typical members of each cluster: as pictures, or as a profile of features.

    Parameters
    ----------
    labels : array of shape (n,)
    X : array, frame or sparse array of shape (n, d)
        What the clusters were found in, or anything with one row per sample.
    n_members : int
        Of each cluster.
    image_shape : tuple, optional
        ``(height, width)`` or ``(height, width, 3)`` if samples are pictures.
    image_order : {"C", "F"}
        How the pixels of a picture follow each other: by rows, or by columns as in MATLAB.
    max_features : int
        A profile shows the features in which clusters differ most.
    membership, degrees : arrays of shape (n, c) and (n,), optional
        Typical are those with the highest membership (label k belongs to column k), and among
        equals those with the heaviest edges; without memberships those nearest to the mean.

    Attributes
    ----------
    members, values : list of ndarray
        For each cluster its most typical samples, most typical first, and their rows of ``X``.
    profile : ndarray of shape (c, f) or None
        Mean of the typical members in each feature shown, in standard deviations from the mean
        of all samples.
    feature_names : list of str
        Of the features shown.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from unispectral.plotting import RepresentativesDisplay
    >>> X = np.array([[0.0, 0.0], [0.0, 0.2], [4.0, 0.1], [4.0, 0.1]])
    >>> model = KMeans(2, n_init=1, random_state=0).fit(X)
    >>> display = RepresentativesDisplay.from_estimator(model, X, n_members=1)
    >>> sorted(display.profile[:, 0].round(2).tolist())
    [-1.0, 1.0]
    """

    labels: Any
    X: Any
    n_members: int = 6
    image_shape: tuple[int, ...] | None = None
    image_order: str = "C"
    max_features: int = 30
    membership: Any = None
    degrees: Any = None

    @classmethod
    def _of(cls, estimator: Any, *data: Any, **given: Any) -> Self:
        graph = getattr(estimator, "affinity_matrix_", None)
        known: dict[str, Any] = {"membership": getattr(estimator, "membership_", None)}
        known["degrees"] = None if graph is None else np.asarray(graph.sum(axis=1)).ravel()
        return cls(*fitted(estimator, "labels_"), *data, **(known | given))

    def __post_init__(self) -> None:
        names, X = getattr(self.X, "columns", None), self.X
        table: Any = sp.csr_array(X) if sp.issparse(X) else np.asarray(X).reshape(len(X), -1)
        self.clusters = Clusters.of(self.labels)
        n, pixels = len(self.clusters.codes), int(np.prod(self.image_shape or 0))
        if table.shape[0] != n:
            raise InputError("X", f"has {table.shape[0]} rows, but there are {n} labels")
        if self.image_shape is not None and pixels != table.shape[1]:
            problem = f"holds {pixels} numbers, but a row of X has {table.shape[1]}"
            raise InputError("image_shape", problem, value=self.image_shape)
        self.members = self._typical_members(table)
        self.values = [_dense(table[group]) for group in self.members]
        self.profile: np.ndarray | None = None
        self.feature_names: list[str] = []
        if self.image_shape is None:
            self._find_profile(table, names)

    def _typical_members(self, table: Any) -> list[np.ndarray]:
        """By membership, then by the weight of their edges; or by the distance to the mean."""
        groups, most = self.clusters.members(), self.n_members
        if self.membership is None:
            return [g[np.argsort(_to_mean(table[g]), kind="stable")][:most] for g in groups]
        own = np.asarray(self.membership)[np.arange(len(self.labels)), np.asarray(self.labels)]
        own, weight = own.round(6), np.zeros(len(own))
        if self.degrees is not None:
            weight = np.asarray(self.degrees)
        return [g[np.lexsort((-weight[g], -own[g]))][:most] for g in groups]

    def _find_profile(self, table: Any, names: Any) -> None:
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler(with_mean=not sp.issparse(table)).fit(table)
        means = np.stack([rows.mean(axis=0) for rows in self.values])
        scaled = (means - scaler.mean_) / scaler.scale_
        telling = np.sort(np.argsort(-scaled.var(axis=0), kind="stable")[: self.max_features])
        self.profile = scaled[:, telling]
        self.feature_names = [f"x{f}" if names is None else str(names[f]) for f in telling]

    def _size(self) -> tuple[float, float]:
        if self.profile is not None:
            high, wide = (1.8, 2.5) + 0.3 * np.array(self.profile.shape)
            return float(np.clip(wide, 4, 11)), float(np.clip(high, 3, 8))
        height, width = self.mosaic()[0].shape[:2]
        widest = 10.0 if len(self.values) <= NAMED else 14.0
        wide = float(np.clip(7.5 * np.sqrt(width / height), 5.0, widest))
        return wide, wide * height / width + 0.5

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        draw = self._draw_profile if self.image_shape is None else self._draw_images
        return draw(ax, kwargs)

    # Pictures
    def mosaic(self, columns: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """All thumbnails as one picture, and the upper left corner of each cluster's strip.

        By default as many strips stand side by side as make the whole about 1.2 times as wide as
        high.
        """
        assert self.image_shape is not None
        height, width, *channels = self.image_shape
        count, longest = len(self.values), max(len(rows) for rows in self.values)
        if columns is None:
            columns = max(1, round(np.sqrt(1.2 * count * height / (longest * width))))
        gap = max(1, round(0.08 * height))
        between = max(4, round(0.9 * max(width, 0.6 * height)))
        step = width + max(1, gap // 2)
        strip = longest * step + between
        lines = -(-count // columns)
        shape = lines * (height + gap) - gap, columns * strip - between - (step - width)
        picture = np.full((*shape, *channels), np.nan)
        corners = np.empty((count, 2), dtype=int)
        for code, rows in enumerate(self.values):
            column, line = divmod(code, lines)
            y, x = corners[code] = line * (height + gap), column * strip
            for position, row in enumerate(rows):
                left = x + position * step
                pixels = row.reshape(self.image_shape, order=self.image_order)  # type: ignore[call-overload]
                low, high = np.nanmin(pixels), np.nanmax(pixels)
                stretched = (pixels - low) / (high - low) if high > low else 0.0 * pixels
                picture[y : y + height, left : left + width] = stretched
        return picture, corners

    def _draw_images(self, ax: Any, kwargs: dict[str, Any]) -> str:
        from matplotlib.patches import Rectangle

        assert self.image_shape is not None
        height, width = self.image_shape[:2]
        picture, corners = self.mosaic()
        if picture.ndim == 3:
            picture = np.nan_to_num(picture, nan=1.0)
        ax.imshow(picture, **({"cmap": "gray", "vmin": 0.0, "vmax": 1.0} | kwargs))
        bar, size = max(1.0, 0.12 * width), 9 if len(corners) <= NAMED else 6
        for (y, x), color, name in zip(
            corners - 0.5, self.clusters.colors, self.clusters.names, strict=True
        ):
            ax.add_patch(
                Rectangle((x - 1.6 * bar, y), bar, height, color=color, lw=0, clip_on=False)
            )
            ax.text(x - 2 * bar, y + height / 2, plain(name), ha="right", va="center",
                    color=INK, fontsize=size)  # fmt: skip
        ax.set_axis_off()
        return "Most typical members of each cluster"

    # Features
    def _draw_profile(self, ax: Any, kwargs: dict[str, Any]) -> str:
        assert self.profile is not None
        count, features = self.profile.shape
        limit = max(float(np.quantile(np.abs(self.profile), 0.98)), 1e-9)
        settings = {"cmap": "PuOr_r", "vmin": -limit, "vmax": limit, "aspect": "auto"} | kwargs
        image = ax.imshow(self.profile, **settings)
        names_along(ax, np.arange(count), self.clusters.names, count)
        names = [plain(name, 24) for name in self.feature_names]
        ax.set_xticks(np.arange(features), names, rotation=90, fontsize=8)
        ax.tick_params(length=0)
        bar = ax.figure.colorbar(image, ax=ax, pad=0.02)
        bar.outline.set_visible(False)
        ax.spines[:].set_visible(False)
        return "Typical members of each cluster\nin standard deviations from the mean of all"


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)


def _to_mean(rows: Any) -> np.ndarray:
    mean = np.asarray(rows.mean(axis=0)).reshape(1, -1)
    return euclidean_distances(rows, mean).ravel()
