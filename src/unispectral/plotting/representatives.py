"""What the clusters look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from unispectral.plotting._base import Clusters, axes, fitted
from unispectral.plotting._colors import INK, NAMED

__all__ = ["RepresentativesDisplay", "typical_members"]


def typical_members(
    labels: Any, n_members: int, *, membership: Any = None, degrees: Any = None, X: Any = None
) -> list[np.ndarray]:
    """The most typical members of each cluster, most typical first.

    By membership, and among equals by the weight of their edges; without memberships, by the
    distance to the mean of the cluster.

    Parameters
    ----------
    labels : array of shape (n,)
    n_members : int
    membership : array of shape (n, c), optional
        Label k belongs to column k.
    degrees : array of shape (n,), optional
    X : array or sparse array of shape (n, d), optional
        Needed without ``membership``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [9.0], [9.2]])
    >>> [group.tolist() for group in typical_members([0, 0, 0, 1, 1], 1, X=X)]
    [[1], [3]]
    """
    clusters = Clusters.of(labels)
    groups = np.split(np.argsort(clusters.codes, kind="stable"), np.cumsum(clusters.sizes)[:-1])
    if membership is None:
        if X is None:
            raise ValueError("typical members need either membership or X.")
        return [
            group[np.argsort(_to_mean(X[group]), kind="stable")][:n_members] for group in groups
        ]
    own = np.asarray(membership)[np.arange(len(clusters.codes)), np.asarray(labels)].round(6)
    weight = np.zeros(len(own)) if degrees is None else np.asarray(degrees)
    return [group[np.lexsort((-weight[group], -own[group]))][:n_members] for group in groups]


class RepresentativesDisplay:
    """The most typical members of each cluster: as pictures, or as a profile of features.

    Parameters
    ----------
    members : list of ndarray
        For each cluster the numbers of its most typical samples, most typical first.
    values : list of ndarray
        Their rows of ``X``.
    clusters : Clusters
    image_shape : tuple, optional
        ``(height, width)`` or ``(height, width, 3)`` if samples are pictures.
    image_order : {"C", "F"}
        How the pixels of a picture follow each other: by rows, or by columns as in MATLAB.
    profile : ndarray of shape (c, f), optional
        Mean of the typical members in each feature shown, in standard deviations from the mean
        of all samples.
    feature_names : sequence of str
        Of the features shown.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

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

    def __init__(
        self,
        members: list[np.ndarray],
        values: list[np.ndarray],
        clusters: Clusters,
        *,
        image_shape: tuple[int, ...] | None = None,
        image_order: str = "C",
        profile: np.ndarray | None = None,
        feature_names: Sequence[str] = (),
    ) -> None:
        self.members = members
        self.values = values
        self.clusters = clusters
        self.image_shape = image_shape
        self.image_order = image_order
        self.profile = profile
        self.feature_names = list(feature_names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        n_members: int = 6,
        image_shape: tuple[int, ...] | None = None,
        image_order: str = "C",
        max_features: int = 30,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the typical members of the clusters of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``labels_``
        X : array, frame or sparse array of shape (n, d)
            What it was fitted on, or anything with one row per sample.
        n_members : int
            Of each cluster.
        image_shape, image_order
            See the class.
        max_features : int
            A profile shows the features in which clusters differ most.
        ax : matplotlib Axes, optional
        **kwargs
            For ``imshow``.
        """
        (labels,) = fitted(estimator, "labels_")
        names = [str(name) for name in getattr(X, "columns", ())]
        table = X if sp.issparse(X) else np.asarray(X)
        table = sp.csr_array(table) if sp.issparse(table) else table.reshape(len(table), -1)
        if table.shape[0] != len(labels):
            raise ValueError(
                f"X has {table.shape[0]} rows; the estimator was fitted on {len(labels)} samples."
            )
        if image_shape is not None and int(np.prod(image_shape)) != table.shape[1]:
            raise ValueError(
                f"image_shape={image_shape} holds {int(np.prod(image_shape))} numbers; "
                f"a row of X has {table.shape[1]}."
            )
        members = typical_members(
            labels,
            n_members,
            membership=getattr(estimator, "membership_", None),
            degrees=_degrees(estimator),
            X=table,
        )
        values = [_dense(table[group]) for group in members]
        display = cls(
            members, values, Clusters.of(labels), image_shape=image_shape, image_order=image_order
        )
        if image_shape is None:
            display._find_profile(table, names, max_features)
        return display.plot(ax, **kwargs)

    def _find_profile(self, table: Any, names: list[str], max_features: int) -> None:
        mean, deviation = _moments(table)
        means = np.stack([rows.mean(axis=0) for rows in self.values])
        scaled = np.divide(means - mean, deviation, out=np.zeros_like(means), where=deviation > 0)
        telling = np.argsort(-scaled.var(axis=0), kind="stable")[:max_features]
        telling = np.sort(telling)
        self.profile = scaled[:, telling]
        names = names or [f"x{feature}" for feature in range(table.shape[1])]
        self.feature_names = [names[feature] for feature in telling]

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``imshow``."""
        if self.image_shape is not None:
            return self._plot_images(ax, kwargs)
        return self._plot_profile(ax, kwargs)

    # Pictures
    def mosaic(self, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """All thumbnails as one picture, and the upper left corner of each cluster's strip."""
        assert self.image_shape is not None
        height, width, *channels = self.image_shape
        longest = max(len(rows) for rows in self.values)
        gap = max(1, round(0.08 * height))
        between = max(4, round(0.9 * max(width, 0.6 * height)))
        step = width + max(1, gap // 2)
        strip = longest * step + between
        lines = -(-len(self.values) // columns)
        shape = (
            lines * (height + gap) - gap,
            columns * strip - between - (step - width),
            *channels,
        )
        picture = np.full(shape, np.nan)
        corners = np.empty((len(self.values), 2), dtype=int)
        for code, rows in enumerate(self.values):
            column, line = divmod(code, lines)
            y, x = line * (height + gap), column * strip
            corners[code] = y, x
            for position, row in enumerate(rows):
                left = x + position * step
                picture[y : y + height, left : left + width] = _stretched(
                    row.reshape(self.image_shape, order=self.image_order)  # type: ignore[call-overload]
                )
        return picture, corners

    def _plot_images(self, ax: Any, kwargs: dict[str, Any]) -> Self:
        assert self.image_shape is not None
        height, width = self.image_shape[:2]
        count, longest = len(self.values), max(len(rows) for rows in self.values)
        # As many strips side by side as make the whole about as wide as 1.2 times its height.
        columns = max(1, round(np.sqrt(1.2 * count * height / (longest * width))))
        picture, corners = self.mosaic(columns)
        shape = picture.shape[1] / picture.shape[0]
        widest = 10.0 if count <= NAMED else 14.0
        wide = float(np.clip(7.5 * np.sqrt(shape), 5.0, widest))
        self.figure_, self.ax_ = axes(ax, (wide, wide / shape + 0.5))
        ax = self.ax_
        if picture.ndim == 3:
            picture = np.nan_to_num(picture, nan=1.0)
        ax.imshow(picture, **({"cmap": "gray", "vmin": 0.0, "vmax": 1.0} | kwargs))
        from matplotlib.patches import Rectangle

        bar = max(1.0, 0.12 * width)
        for (y, x), color, name in zip(
            corners, self.clusters.colors, self.clusters.names, strict=True
        ):
            ax.add_patch(
                Rectangle(
                    (x - 0.5 - 1.6 * bar, y - 0.5),
                    bar,
                    height,
                    color=color,
                    linewidth=0,
                    clip_on=False,
                )
            )
            ax.text(
                x - 0.5 - 2 * bar, y - 0.5 + height / 2, str(name), ha="right", va="center",
                color=INK, fontsize=9 if count <= NAMED else 6,
            )  # fmt: skip
        ax.set_axis_off()
        ax.set_title("Most typical members of each cluster", fontsize=11)
        return self

    # Features
    def _plot_profile(self, ax: Any, kwargs: dict[str, Any]) -> Self:
        assert self.profile is not None
        count, features = self.profile.shape
        self.figure_, self.ax_ = axes(
            ax,
            (float(np.clip(2.5 + 0.3 * features, 4, 11)), float(np.clip(1.8 + 0.3 * count, 3, 8))),
        )
        ax = self.ax_
        limit = max(float(np.quantile(np.abs(self.profile), 0.98)), 1e-9)
        image = ax.imshow(
            self.profile,
            **({"cmap": "PuOr_r", "vmin": -limit, "vmax": limit, "aspect": "auto"} | kwargs),
        )
        shown = np.arange(count) if count <= NAMED else np.linspace(0, count - 1, 7).astype(int)
        ax.set_yticks(shown, [str(self.clusters.names[code]) for code in shown])
        names = [name.replace("$", r"\$") for name in self.feature_names]
        names = [name if len(name) <= 24 else name[:23] + "…" for name in names]
        ax.set_xticks(np.arange(features), names, rotation=90, fontsize=8)
        ax.tick_params(length=0)
        ax.set_ylabel("cluster")
        bar = self.figure_.colorbar(
            image, ax=ax, label="standard deviations from the mean", pad=0.02
        )
        bar.outline.set_visible(False)
        ax.spines[:].set_visible(False)
        ax.set_title("Typical members of each cluster, feature by feature", fontsize=11)
        return self


def _degrees(estimator: Any) -> np.ndarray | None:
    graph = getattr(estimator, "affinity_matrix_", None)
    return None if graph is None else np.asarray(graph.sum(axis=1)).ravel()


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)


def _to_mean(rows: Any) -> np.ndarray:
    """Squared distances to the mean, up to a constant."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    squares = (
        np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        if sp.issparse(rows)
        else np.einsum("ij,ij->i", rows, rows)
    )
    return squares - 2.0 * np.asarray(rows @ mean).ravel() + mean @ mean


def _moments(table: Any) -> tuple[np.ndarray, np.ndarray]:
    if not sp.issparse(table):
        return np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    mean = np.asarray(table.mean(axis=0)).ravel()
    squares = np.asarray(table.multiply(table).mean(axis=0)).ravel()
    return mean, np.sqrt(np.maximum(squares - mean**2, 0.0))


def _stretched(picture: np.ndarray) -> np.ndarray:
    low, high = np.nanmin(picture), np.nanmax(picture)
    return (picture - low) / (high - low) if high > low else np.zeros_like(picture, dtype=float)
