"""Is there anything to find? Twenty samples without clusters, and the advice on sets with them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy
from unispectral.model_selection import stability

__all__ = ["ALARM", "ASKED", "KINDS", "advice", "look", "structureless"]

#: (kind, columns, samples)
KINDS = (
    ("Gaussian", 1, 300), ("Gaussian", 2, 200), ("Gaussian", 2, 1000), ("Gaussian", 3, 500),
    ("Gaussian", 5, 300), ("Gaussian", 10, 300), ("Gaussian", 50, 200), ("Gaussian", 100, 400),
    ("uniform", 1, 300), ("uniform", 2, 300), ("uniform", 2, 1000), ("uniform", 3, 500),
    ("uniform", 10, 400), ("Gaussian 10 : 1", 2, 400), ("Gaussian 30 : 1", 3, 300),
    ("uniform 20 : 1", 2, 400), ("Gaussian of random covariance", 5, 300), ("ball", 2, 500),
    ("ball", 3, 400), ("constant", 3, 100),
)  # fmt: skip
#: ``structure_`` above which a fit warns that its clusters are no more than chance.
ALARM = 0.6
#: Numbers of clusters that are asked of samples that have none.
ASKED = (2, 3, 5, 10)


def structureless(number: int, draw: int) -> np.ndarray:
    """One of the twenty kinds; draw 0 was looked at while the rule was made, others were not."""
    kind, columns, n = KINDS[number]
    rng = np.random.default_rng([1000 + number, draw] if draw else 1000 + number)
    if kind == "constant":
        return np.ones((n, columns))
    if kind.startswith("uniform"):
        X = rng.uniform(size=(n, columns))
    else:
        X = rng.normal(size=(n, columns))
    if kind.endswith(": 1"):
        X[:, 0] *= float(kind.split()[1])
    elif kind.endswith("random covariance"):
        X = X @ rng.normal(size=(columns, columns))
    elif kind == "ball":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        X *= rng.uniform(size=(n, 1)) ** (1.0 / columns)
    return X


def look(X: np.ndarray) -> dict[str, Any]:
    """What ``n_clusters="auto"`` says, and ``structure_`` of given numbers of clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counted = UnifiedSpectralClustering("auto", n_jobs=1).fit(X)
        given = [UnifiedSpectralClustering(c, n_jobs=1).fit(X) for c in ASKED]
    return {
        "ours": int(counted.n_clusters_),
        "structure": [model.structure_ for model in given],
        "stability": [_agreement(model, X) for model in given],
    }


def advice(X: Any, y: np.ndarray) -> dict[str, float | None]:
    """The adjusted Rand index of the defaults with the true number of clusters, and the advice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = UnifiedSpectralClustering(int(y.max()) + 1, n_jobs=1).fit(X)
    return {
        "accuracy": clustering_accuracy(y, model.labels_),
        "ari": adjusted_rand_score(y, model.labels_),
        "structure": model.structure_,
        "stability": _agreement(model, X),
    }


def _agreement(model: UnifiedSpectralClustering, X: Any) -> float:
    """The mean agreement with three fits without a tenth of the samples."""
    return float(stability(model, X, n_fits=3).mean())
