"""What our models do on a few small problems: figures are measured again when that changes.

Settings do not tell everything: a rule may change whose constants stay. So each part of the study
also depends on what the models answer on small problems. Rounding keeps what a different order of
sums changes out of it.
"""

from __future__ import annotations

import hashlib
import warnings
from functools import cache
from typing import Any

import numpy as np

from benchmarks.label_free import shapes
from benchmarks.label_free.views import PROBLEMS
from unispectral import UnifiedSpectralClustering


@cache
def behaviour(part: str) -> str:
    """A short text that is the same as long as the models behave the same.

    Parameters
    ----------
    part : {"labels", "kernels", "count", "outliers", "new points"}
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _ANSWERS[part]()
    text = ";".join(np.array2string(np.round(np.asarray(one, dtype=float), 2)) for one in found)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _small() -> list[tuple[np.ndarray, int]]:
    return [
        (shapes.moons(5, n=120)[0], 2),
        (shapes.illumination(5, n_people=12, each=5, n_pixels=80)[0], 12),
        (shapes.mixture(5, n=90)[0], 3),
        (shapes.animals(5, each=30)[0], 3),
        (_in_noise(), 3),
        (_split_and_merged(), 12),
    ]


def _in_noise() -> np.ndarray:
    """Three clusters of unequal density and low-density samples between them."""
    rng = np.random.default_rng(5)
    groups = [rng.normal(at, 0.3, (n, 2)) for at, n in ((0, 200), (2, 60), (4, 40))]
    return np.vstack([*groups, rng.uniform(-2, 6, (60, 2))])


def _split_and_merged() -> np.ndarray:
    """Unequal topics, whose clusters are merged and split after the label assignment."""
    options = {"evenness": 1.0, "repeated": 0.15, "background": 0.6}
    return shapes.topics(11, n_clusters=12, n=250, **options)[0]


def _fitted(n_clusters: Any, X: Any) -> UnifiedSpectralClustering:
    return UnifiedSpectralClustering(n_clusters, n_jobs=1).fit(X)


def _labels() -> list[Any]:
    return [_fitted(c, X).labels_ for X, c in _small()]


def _kernels() -> list[Any]:
    views, _ = shapes.blurred_views(5, n=120, separations=(3.0, 2.0, 0.0))
    model = _fitted(4, views)
    alone = _fitted(
        4, [next(iter(views.values())), np.random.default_rng(5).normal(size=(120, 2))]
    )
    # Whose second weighting wins.
    other = _fitted(6, PROBLEMS["each shows a pair, again"].load()[0])
    models = (model, alone, other)
    return [one for found in models for one in (found.labels_, found.kernel_weights_)]


def _count() -> list[Any]:
    noise = np.random.default_rng(5).normal(size=(120, 3))
    found = [
        UnifiedSpectralClustering("auto", n_jobs=1).fit(X).cluster_count_
        for X in (*(X for X, _ in _small()), noise)
    ]
    return [value for one in found for value in (one.scores, one.n_clusters, one.structure)]


def _outliers() -> list[Any]:
    return [_fitted(c, X).outlier_score_ for X, c in _small()]


def _new_points() -> list[Any]:
    return [_fitted(c, X[::2]).predict(X[1::2]) for X, c in _small()]


_ANSWERS = {
    "labels": _labels,
    "kernels": _kernels,
    "count": _count,
    "outliers": _outliers,
    "new points": _new_points,
}
