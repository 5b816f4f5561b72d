"""The public benchmark suite of M. Gagolewski (clustering-data-v1), in its own convention.

A method runs with the number of clusters of each reference labelling and is scored against all
labellings with that number; the best counts. Points labelled 0 are noise and are left out of the
score. Features are used as they are.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.label_free.data import Absent
from unispectral import UnifiedSpectralClustering

__all__ = [
    "HALVES",
    "SHOWN",
    "compare",
    "count",
    "folder",
    "load",
    "names",
    "nca",
    "published",
    "warm",
]

#: What may be looked at while a model is designed, and what is kept for validation.
HALVES = {"design": ("fcps", "graves", "other"), "validation": ("sipu", "uci", "wut")}
#: Published methods that stand beside ours, by the name of the results file.
SHOWN = {
    "Genie_G0.3": "Genie .3",
    "GIc": "GIc",
    "ITM": "ITM",
    "sklearn_gm": "Gaussian mixture",
    "sklearn_spectral_Arbf_G5": "spectral, rbf 5",
    "sklearn_kmeans": "k-means",
    "fastcluster_ward": "Ward",
    "sklearn_birch_T0.01_BF50": "Birch",
}
_HERE = Path(__file__).resolve().parents[2]


def folder() -> Path:
    """Where the suite is: UNISPECTRAL_SUITE, or ``shared/suite`` beside the repository."""
    path = Path(os.environ.get("UNISPECTRAL_SUITE") or _HERE.parent / "shared" / "suite")
    if not path.is_dir():
        raise Absent(f"{path.name}: no folder of the suite; set UNISPECTRAL_SUITE")
    return path


def names() -> list[str]:
    """All sets, as ``part/name``."""
    parts = [part for half in HALVES.values() for part in half]
    files = (path for part in parts for path in sorted((folder() / part).glob("*.data.gz")))
    return [f"{path.parent.name}/{path.name.removesuffix('.data.gz')}" for path in files]


def load(name: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """The points of a set and its reference labellings: 1, 2, …, and 0 for noise."""
    root = folder()
    references = sorted(root.glob(f"{name}.labels*.gz"))
    X = np.loadtxt(root / f"{name}.data.gz", ndmin=2)
    return X, [np.loadtxt(path, dtype=int) for path in references]


def published() -> dict[str, dict[str, list[float]]]:
    """Adjusted Rand index and NCA of published labellings, by method and set."""
    root = Path(os.environ.get("UNISPECTRAL_REFERENCE") or _HERE.parent / "shared" / "reference")
    path = root / "suite_published.json"
    return json.loads(path.read_text(encoding="utf-8"))["methods"] if path.exists() else {}


def nca(truth: np.ndarray, labels: np.ndarray) -> float:
    """Normalised clustering accuracy: the mean recall of the best match, 0 for one cluster.

    Examples
    --------
    >>> truth = np.array([0, 0, 1, 1])
    >>> nca(truth, 1 - truth), nca(truth, np.zeros(4, dtype=int))
    (1.0, 0.0)
    """
    classes, clusters = (np.unique(one, return_inverse=True)[1] for one in (truth, labels))
    k = int(classes.max()) + 1
    counts = np.zeros((k, max(k, int(clusters.max()) + 1)))
    np.add.at(counts, (classes, clusters), 1.0)
    counts /= counts.sum(axis=1, keepdims=True)
    matched = float(counts[linear_sum_assignment(-counts)].sum()) / k
    return (matched - 1.0 / k) / (1.0 - 1.0 / k)


def score(references: Sequence[np.ndarray], found: Mapping[int, np.ndarray]) -> dict[str, float]:
    """The best adjusted Rand index and NCA over the references; ``found`` is labels by k."""
    pairs = [(y[y > 0], found[int(y.max())][y > 0]) for y in references]
    return {
        "ari": round(max(float(adjusted_rand_score(*pair)) for pair in pairs), 4),
        "nca": round(max(nca(*pair) for pair in pairs), 4),
    }


def warm() -> None:
    """Compile what will be timed."""
    rng = np.random.default_rng(0)
    for columns in (2, 12, 20):
        X = rng.normal(size=(300, columns)) + 6.0 * rng.integers(4, size=(300, 1))
        _timed(_ours, X, [np.arange(300) % 5 + 1])
        _timed(_neighbours, X, [np.arange(300) % 5 + 1])


def compare(name: str) -> dict[str, float]:
    """Ours and scikit-learn's nearest neighbours: scores, and CPU seconds on one thread."""
    X, references = load(name)
    ours = _timed(_ours, X, references)
    peer = _timed(_neighbours, X, references)
    return {**ours, **{f"peer {key}": value for key, value in peer.items()}}


def count(name: str) -> dict[str, Any]:
    """What ``n_clusters="auto"`` finds, how right that is, and the numbers of the references."""
    X, references = load(name)
    begun = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        labels = UnifiedSpectralClustering("auto", n_jobs=1).fit_predict(X)
    seconds = time.process_time() - begun
    found = len(np.unique(labels))
    ari = max(float(adjusted_rand_score(y[y > 0], labels[y > 0])) for y in references)
    return {
        "ours": found,
        "references": sorted({int(y.max()) for y in references}),
        "ari": round(ari, 4),
        "seconds": round(seconds, 3),
    }


def _timed(
    cluster: Callable[[np.ndarray, int], np.ndarray], X: np.ndarray, references: list[np.ndarray]
) -> dict[str, float]:
    found, seconds = {}, 0.0
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for k in sorted({int(y.max()) for y in references}):
            begun = time.process_time()
            found[k] = cluster(X, k)
            seconds += time.process_time() - begun
    return {**score(references, found), "seconds": round(seconds, 3)}


def _ours(X: np.ndarray, k: int) -> np.ndarray:
    return UnifiedSpectralClustering(k, n_jobs=1).fit_predict(X)


def _neighbours(X: np.ndarray, k: int) -> np.ndarray:
    return SpectralClustering(k, affinity="nearest_neighbors", random_state=0).fit_predict(X)
