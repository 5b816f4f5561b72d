"""Several views: design problems on which the weights were chosen, and the digits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from benchmarks.label_free import shapes
from benchmarks.label_free.data import Absent
from unispectral import UnifiedSpectralClustering
from unispectral.datasets import fetch, load_multiview_digits
from unispectral.datasets._digits import image_views
from unispectral.metrics import clustering_accuracy, scores

__all__ = ["CASES", "DESIGN", "against_rivals", "cluster_digits", "digits"]

CASES = ("all views", "concatenation", "pixels", "zoning", "fourier", "profiles", "gradients")

Views: TypeAlias = dict[str, np.ndarray]


def _images(name: str) -> Callable[[], tuple[Views, np.ndarray]]:
    """The five views of the digits, made of other images."""

    def load() -> tuple[Views, np.ndarray]:
        try:
            found = fetch(name)
        except Exception as error:  # no network, no cache, no permission: all mean "not here"
            raise Absent(f"{name}: {error}") from error
        images = np.asarray(found.images, dtype=float)
        return image_views(images / images.max()), np.unique(found.target, return_inverse=True)[1]

    return load


#: Each gives the views and the classes.
DESIGN: dict[str, Callable[[], tuple[Views, np.ndarray]]] = {
    "YALE": _images("yale"),
    "ORL": _images("orl"),
    "BA": _images("binary_alphadigits"),
    "COIL20": _images("coil20"),
    "clear and weak": lambda: shapes.blurred_views(3, n_clusters=8),
    "alike": lambda: shapes.blurred_views(3, n_clusters=8, separations=(1.4,) * 4),
    "two clusters in one": lambda: shapes.blurred_views(
        4, n_clusters=8, separations=(2.1,) * 4, merged=2
    ),
    "two and noise": lambda: shapes.blurred_views(
        3, n_clusters=8, separations=(1.8, 1.5, 0.0, 0.0, 0.0)
    ),
    "something else": lambda: shapes.blurred_views(
        4, n_clusters=8, separations=(1.8, 1.8, 1.5), other=True
    ),
}


def digits() -> tuple[Views, np.ndarray]:
    """The views and the classes."""
    found = load_multiview_digits()
    return found.views, found.target


def concatenation(views: Views) -> np.ndarray:
    """All columns side by side, each view with the same total variance.

    So none drowns the others by having more columns or larger units.
    """
    return np.hstack([view / np.sqrt(view.var(axis=0).sum()) for view in views.values()])


def cluster_digits(case: str, views: Views, y: np.ndarray, seed: int) -> dict[str, float]:
    """Cluster all views together, one after the other as columns, or one of them alone."""
    table: Any = views.get(case, views)
    if case == "concatenation":
        table = concatenation(views)
    model = _fitted(table, y, seed)
    found = scores(y, model.labels_)
    result = {name: float(found[name]) for name in ("accuracy", "nmi", "ari")}
    if case == "all views":
        result |= {f"weight of {name}": value for name, value in model.view_weights_.items()}
    return result


def against_rivals(views: Views, y: np.ndarray, seed: int) -> dict[str, float]:
    """The accuracy of all views together, of the concatenation, and of the best view alone."""
    alone = [_accuracy(view, y, seed) for view in views.values()]
    return {
        "together": _accuracy(views, y, seed),
        "concatenation": _accuracy(concatenation(views), y, seed),
        "best alone": max(alone),
        "mean alone": float(np.mean(alone)),
    }


def _accuracy(table: Any, y: np.ndarray, seed: int) -> float:
    return clustering_accuracy(y, _fitted(table, y, seed).labels_)


def _fitted(table: Any, y: np.ndarray, seed: int) -> UnifiedSpectralClustering:
    model = UnifiedSpectralClustering(int(y.max()) + 1, random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(table)
