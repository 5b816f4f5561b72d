"""Bars and lines: weights, the number of clusters, the spectrum."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral.plotting._base import Display, plain, read_fitted
from unispectral.plotting._colors import GREY, INK, from_hex, palette

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = [
    "ClusterCountDisplay",
    "KernelWeightsDisplay",
    "SpectrumDisplay",
    "distances_in_words",
]

#: Up to this many samples more eigenvalues are computed if the estimator did not keep enough.
_COMPUTE = 5_000
#: More kernels than this share a bar.
_MOST_BARS = 30
#: A gap of this share of the largest eigenvalue shown can be seen.
_VISIBLE = 0.1
#: A smaller weight is shown as none.
NO_WEIGHT = 5e-4


def distances_in_words(weights: Mapping[str, float]) -> str:
    """Which ways to measure distances count, as a sentence."""
    order = sorted(weights, key=lambda name: -weights[name])
    used = [name for name in order if weights[name] >= NO_WEIGHT]
    names = ["plain Euclidean" if name == "linear" else name for name in used]
    said = f"Distances: {names[0]}" if names else "Distances: none has any weight"
    if len(names) > 1:
        share = weights[used[0]] / sum(weights.values())
        said = f"Distances: {len(names)} kinds combined, mostly {names[0]} ({share:.0%})"
    rest = len(order) - len(used)
    if not rest:
        return said
    if len(names) > 1:
        return f"{said}; {rest} more not used"
    tried = "1 alternative was" if rest == 1 else f"{rest} alternatives were"
    better = ("it was not", "neither was", "none was")[min(rest, 3) - 1]
    return f"{said}; {tried} tried, {better} better"


@dataclass(eq=False, repr=False)
class KernelWeightsDisplay(Display):
    """The weights of the kernels as bars, coloured by view where there are several.

    An estimator of one kernel may have tried several ways to measure distances for it
    (``geometry_weights_``): then these are shown.

    Parameters
    ----------
    names : sequence of str
        ``view:kernel`` where there are views.
    weights : ndarray of shape (r,)
    title : str

    Examples
    --------
    >>> from unispectral.plotting import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay(["linear", "gaussian_1"], [0.2, 0.6]).plot()
    >>> [float(bar.get_width()) for bar in display.ax_.patches]
    [0.2, 0.6]
    """

    names: Sequence[str]
    weights: Any
    title: str = "Kernel weights"
    needs = ("kernel_names_", "kernel_weights_")
    grid = "x"

    def __post_init__(self) -> None:
        self.names, self.weights = list(self.names), np.asarray(self.weights, dtype=np.float64)
        if self.weights.shape != (len(self.names),):
            problem = f"has shape {self.weights.shape}, but there are {len(self.names)} names"
            raise InputError("weights", problem)

    @classmethod
    def _of(cls, estimator: object, **given: Any) -> Self:
        """The kernels' weights; with one kernel, those of the distances tried for it."""
        distances = getattr(estimator, "geometry_weights_", {})
        if len(getattr(estimator, "kernel_weights_", (0, 0))) == 1 and len(distances) > 1:
            title = textwrap.fill(distances_in_words(distances), 40)
            given = {"title": title} | given
            return cls(list(distances), list(distances.values()), **given)
        return super()._of(estimator, **given)

    def bars(self) -> list[tuple[str, float]]:
        """What is drawn: name and weight, in the order given, the lightest of many summed up."""
        heavy = np.sort(np.argsort(-self.weights, kind="stable")[: _MOST_BARS - 1])
        if len(self.names) <= _MOST_BARS:
            return list(zip(self.names, self.weights.tolist(), strict=True))
        rest = float(self.weights.sum() - self.weights[heavy].sum())
        listed = [(self.names[r], float(self.weights[r])) for r in heavy]
        return [*listed, (f"{len(self.names) - len(heavy)} others together", rest)]

    def _size(self) -> tuple[float, float]:
        return 5.6, 1.3 + 0.24 * max(len(self.bars()), 3)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        names, weights = zip(*self.bars(), strict=True)
        views = list(dict.fromkeys(name.partition(":")[0] for name in names if ":" in name))
        colors = dict(zip(views, palette(max(len(views), 1)), strict=False))
        shown = [colors.get(name.partition(":")[0], palette(1)[0]) for name in names]
        if len(names) < len(self.names):
            shown[-1] = np.array(from_hex(GREY))
        places = np.arange(len(names))
        drawn = ax.barh(places, weights, **({"color": shown, "height": 0.72} | kwargs))
        told = [f"{weight:.3g}" if abs(weight) >= NO_WEIGHT else "0" for weight in weights]
        ax.bar_label(drawn, told, padding=3, fontsize=8, color=INK)
        ax.set_yticks(places, [plain(name) for name in names], fontsize=9)
        ax.margins(x=0.14)
        ax.set_ylim(max(len(names), 3) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("weight")
        return self.title


@dataclass(eq=False, repr=False)
class ClusterCountDisplay(Display):
    """The evidence for each number of clusters, and the number chosen.

    In few dimensions a bar says how much more, in proportion, cutting off one cluster more would
    cost than the last one did; in many, how far the modularity of so many clusters exceeds that of
    samples without any (:class:`unispectral.labelfree._count.ClusterCount`).

    Parameters
    ----------
    scores : array of shape (m,)
        ``scores[i]`` belongs to i + 2 clusters; NaN where a number was not looked at.
    n_clusters : int
        The number chosen; 1 if the samples show no clusters.
    reason : str
        Why, for the axis below.

    Examples
    --------
    >>> from unispectral.plotting import ClusterCountDisplay
    >>> display = ClusterCountDisplay([0.1, 2.0, 0.4], 3).plot()
    >>> display.counts.tolist(), display.runner_up
    ([2, 3, 4], 4)
    """

    scores: Any
    n_clusters: int
    reason: str = ""
    needs = ("cluster_count_",)
    grid = "y"

    def __post_init__(self) -> None:
        self.scores = np.asarray(self.scores, dtype=np.float64)
        self.counts = np.arange(2, len(self.scores) + 2)
        others = self.counts[(self.counts != self.n_clusters) & ~np.isnan(self.scores)]
        self.runner_up = int(others[np.argmax(self.scores[others - 2])]) if len(others) else None

    @classmethod
    def _of(cls, estimator: object, **given: Any) -> Self:
        (found,) = read_fitted(estimator, *cls.needs)
        if found is None:
            problem = "was given the number of clusters, so there is no evidence for it"
            raise InputError("estimator", problem, "fit it with n_clusters='auto'")
        return cls(found.scores, found.n_clusters, **({"reason": found.reason} | given))

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        blue, orange = palette(2)
        chosen = self.counts == self.n_clusters
        settings = {"color": np.where(chosen[:, None], orange, blue), "width": 0.8} | kwargs
        bars = ax.bar(self.counts, self.scores, **settings)
        names = [str(self.n_clusters) if is_it else "" for is_it in chosen]
        ax.bar_label(bars, names, padding=2, fontweight="bold")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.margins(y=0.12)
        # Lines that do not reach under the axes beside these.
        wide = max(20, round(14 * ax.get_window_extent().width / ax.figure.dpi))
        below = ["number of clusters", *textwrap.wrap(self.reason, wide)]
        ax.set(xlabel="\n".join(below), ylabel="evidence")
        if self.n_clusters == 1:
            return "No evidence for more than one cluster"
        second = f" (next best: {self.runner_up})" if self.runner_up else ""
        return f"Evidence for {self.n_clusters} clusters{second}"


@dataclass(eq=False, repr=False)
class SpectrumDisplay(Display):
    """The smallest eigenvalues of the graph's Laplacian, with the gap after the clusters.

    A graph that falls into c parts has c eigenvalues near zero and a gap after them.

    Parameters
    ----------
    eigenvalues : array
        Ascending.
    n_clusters : int or None
        After which the gap is marked; None marks the largest gap, ``largest_gap``.

    Examples
    --------
    >>> from unispectral.plotting import SpectrumDisplay
    >>> SpectrumDisplay([0.0, 0.0, 0.01, 0.6, 0.7], 3).largest_gap
    3
    """

    eigenvalues: Any
    n_clusters: int | None = None
    needs = ("affinity_matrix_",)
    grid = "y"

    def __post_init__(self) -> None:
        self.eigenvalues = np.asarray(self.eigenvalues, dtype=np.float64)
        self.gaps = np.diff(self.eigenvalues)
        self.largest_gap = int(np.argmax(self.gaps[1:])) + 2 if len(self.gaps) > 1 else None

    @property
    def has_gap(self) -> bool:
        """Whether a gap after the chosen number can be seen: a tenth of the height, and no other
        eigenvalue rises by more.
        """
        chosen = self.n_clusters or self.largest_gap
        if not chosen or not 1 < chosen < len(self.eigenvalues):
            return False
        gap = self.gaps[chosen - 1]
        return bool(gap >= self.gaps.max() and gap >= _VISIBLE * self.eigenvalues[-1])

    @classmethod
    def _of(cls, estimator: BaseEstimator, **given: Any) -> Self:
        """What the estimator kept; more is computed from a small graph."""
        from unispectral.spectrum._eigen import smallest_eigenvectors

        (graph,) = read_fitted(estimator, *cls.needs)
        count = getattr(estimator, "n_clusters_", None) or len(np.unique(estimator.labels_))
        wanted = min(max(count + 8, 3 * count // 2), graph.shape[0])
        found = np.asarray(getattr(estimator, "eigenvalues_", ()))
        if len(found) < wanted and (len(found) < 2 or graph.shape[0] <= _COMPUTE):
            found = smallest_eigenvectors(sp.csr_array(graph), wanted).values
        return cls(found[:wanted], **({"n_clusters": count} | given))

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> str:
        values, chosen = self.eigenvalues, self.n_clusters or self.largest_gap
        blue, orange = palette(2)
        title = "Spectrum of the learned graph"
        # What the gaps are is said above the picture, where no curve can run through it.
        if chosen and self.has_gap:
            ax.axvspan(chosen, chosen + 1, color=orange, alpha=0.25, linewidth=0)
            title += f"\ngap after {chosen}: {self.gaps[chosen - 1]:.3g}"
        elif chosen and chosen < len(values):
            title += f"\nno gap after {chosen}"
        if self.largest_gap and self.largest_gap != chosen:
            ax.axvspan(self.largest_gap, self.largest_gap + 1, fc="none", ec=GREY, ls=":")
            size = self.gaps[self.largest_gap - 1]
            title += f"\nthe largest gap (dotted) after {self.largest_gap}: {size:.3g}"
        size = 5 if len(values) <= 40 else 3
        settings = {"color": blue, "marker": "o", "linewidth": 0.8, "markersize": size} | kwargs
        ax.plot(np.arange(1, len(values) + 1), values, **settings)
        ax.set(xlabel="number", ylabel="eigenvalue of the Laplacian")
        ax.set_ylim(min(0.0, values.min(initial=0.0)), None)
        ax.margins(y=0.15)
        ax.xaxis.get_major_locator().set_params(integer=True)
        return title
