"""Several views: the digits as five sets of features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from unispectral import SCMK
from unispectral.datasets import load_multiview_digits
from unispectral.metrics import scores

__all__ = ["CASES", "cluster_digits", "digits"]

CASES = ("all views", "concatenation", "pixels", "zoning", "fourier", "profiles", "gradients")


def digits() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The views and the classes."""
    found = load_multiview_digits()
    return found.views, found.target


def cluster_digits(
    views: dict[str, np.ndarray], y: np.ndarray, case: str, seed: int
) -> dict[str, float]:
    """Cluster all views together, one after the other as columns, or one of them alone.

    In the concatenation each view has the same total variance: none drowns the others by having
    more columns or larger units.
    """
    table: Any = views.get(case, views)
    if case == "concatenation":
        table = np.hstack([view / np.sqrt(view.var(axis=0).sum()) for view in views.values()])
    model = SCMK(int(y.max()) + 1, random_state=seed, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table)
    found = scores(y, model.labels_)
    result = {name: float(found[name]) for name in ("accuracy", "nmi", "ari")}
    if case == "all views":
        result |= {f"weight of {name}": value for name, value in model.view_weights_.items()}
    return result
