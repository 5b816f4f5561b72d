"""What all displays share: axes, fitted attributes, names of clusters, and thinning."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral.plotting._colors import cluster_colors

#: Points of each cluster that are shown at the least.
_LEAST_SHOWN = 5


class Display:
    """Data plus ``plot(ax)``.

    A display is a dataclass: it is made of data, finds out what there is to show, and imports
    matplotlib when it is drawn. A subclass names the fitted attributes that it needs and says how
    large new axes are; its ``_draw`` returns the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn last.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    figsize: ClassVar[tuple[float, float]] = (5.6, 3.6)
    #: Along which axis a faint grid helps to read values: "x", "y" or none.
    grid: ClassVar[str] = ""

    @classmethod
    def from_estimator(
        cls, estimator: object, *data: Any, ax: object = None, **options: Any
    ) -> Self:
        """Draw a fitted estimator.

        Parameters
        ----------
        estimator : fitted clusterer
        *data
            The samples, where the display shows them.
        ax : matplotlib Axes, optional
            Where to; new axes by default.
        **options
            Parameters of the display beside those that the estimator gives; all others are for
            the matplotlib function that draws the data.
        """
        own = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        given = {name: options.pop(name) for name in own & options.keys()}
        return cls._of(estimator, *data, **given).plot(ax, **options)

    @classmethod
    def _of(cls, estimator: object, **given: Any) -> Self:
        return cls(*read_fitted(estimator, *cls.needs), **given)

    @staticmethod
    def _with_names(estimator: object, given: dict[str, Any]) -> dict[str, Any]:
        """The options, with the names that ``rename`` gave to the clusters."""
        return {"names": getattr(estimator, "cluster_names_", None)} | given

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to the function that draws the data."""
        pyplot = optional("matplotlib.pyplot", extra="plot")
        if ax is None:
            _, ax = pyplot.subplots(figsize=self._size(), layout="constrained")
        self.figure_, self.ax_ = ax.figure, ax
        ax.set_title(self._draw(ax, kwargs), fontsize=11)
        if self.grid:
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(axis=self.grid, color="#dddddd", linewidth=0.6)
            ax.set_axisbelow(True)
        return self

    def _size(self) -> tuple[float, float]:
        return self.figsize

    def _draw(self, ax: object, kwargs: dict[str, Any]) -> str:
        raise NotImplementedError


def read_fitted(estimator: object, *names: str) -> list[Any]:
    """Fitted attributes, or a sentence about what is missing."""
    check_is_fitted(estimator)
    for name in names:
        if not hasattr(estimator, name):
            problem = f"is of the class {type(estimator).__name__}, which has no {name} to draw"
            raise InputTypeError("estimator", problem)
    return [getattr(estimator, name) for name in names]


class Clusters(NamedTuple):
    """Labels as positions 0 … c − 1, with the names and colours that belong to them."""

    codes: np.ndarray
    names: np.ndarray
    colors: np.ndarray

    @classmethod
    def of(cls, labels: Any, names: Any = None) -> Clusters:
        """Negative labels (noise) are grey; ``names[k]`` is what cluster k is called."""
        found, codes = np.unique(np.asarray(labels), return_inverse=True)
        noise = found < 0 if found.dtype.kind in "if" else np.zeros(len(found), bool)
        called = found
        if names is not None and found.dtype.kind in "iu":
            if found[-1] >= len(names):
                problem = f"has {len(names)} entries, but there is a cluster {found[-1]}"
                raise InputError("names", problem)
            called = np.array([str(names[k]) if k >= 0 else str(k) for k in found], dtype=object)
        return cls(codes.ravel(), called, cluster_colors(noise))

    def at(self, chosen: np.ndarray) -> Clusters:
        """The clusters of some samples, under the same names and colours."""
        return self._replace(codes=self.codes[chosen])

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))

    def members(self) -> list[np.ndarray]:
        """The samples of each cluster."""
        return np.split(np.argsort(self.codes, kind="stable"), np.cumsum(self.sizes)[:-1])


def plain(name: object, most: int = 28) -> str:
    """A name as text of limited length; a dollar sign would be read as mathematics."""
    name = str(name)
    return (name if len(name) <= most else name[: most - 1] + "…").replace("$", r"\$")


def subsample(codes: np.ndarray, max_points: int) -> np.ndarray:
    """Which points to show: evenly from each cluster, in proportion, at least a few of each."""
    n = len(codes)
    if n <= max_points:
        return np.arange(n)
    sizes = np.bincount(codes)
    quota = np.minimum(sizes, np.maximum(np.rint(sizes * (max_points / n)), _LEAST_SHOWN)).astype(
        int
    )
    groups = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    even = [
        np.rint(np.linspace(0, max(len(g) - 1, 0), k)) for g, k in zip(groups, quota, strict=True)
    ]
    return np.sort(np.concatenate([g[at.astype(int)] for g, at in zip(groups, even, strict=True)]))
