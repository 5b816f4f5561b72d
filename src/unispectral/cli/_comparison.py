"""Several methods on one table: runs, scores, agreement."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unispectral.cli._fit import fit
from unispectral.cli._input import Input
from unispectral.cli._methods import build_method
from unispectral.cli._progress import say

__all__ = ["Run", "agreement", "as_lines", "run_all"]

_HEADS = {
    "calinski_harabasz": "C-H",
    "davies_bouldin": "D-B",
    "accuracy": "ACC",
    "nmi": "NMI",
    "swapped_purity": "swapped",
    "ari": "ARI",
}
_KEY = "Larger is better (C-H: Calinski and Harabasz, D-B: minus Davies and Bouldin, cut: minus)."
_NOTHING = np.empty(0, dtype=np.int64)


@dataclass
class Run:
    """One method on the table, or why it could not be run."""

    method: str
    labels: np.ndarray = field(default_factory=lambda: _NOTHING)
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    failure: str | None = None

    def plain(self) -> dict[str, Any]:
        """What JSON knows."""
        if self.failure is not None:
            return {"method": self.method, "failure": self.failure}
        return {
            "method": self.method,
            "seconds": round(self.seconds, 3),
            "sizes": np.bincount(self.labels).tolist(),
            "scores": {k: v if np.isfinite(v) else None for k, v in self.scores.items()},
        }


def run_all(
    methods: list[str],
    data: Input,
    n_clusters: int,
    *,
    seed: int,
    jobs: int | None,
    quiet: bool,
) -> list[Run]:
    """Run the methods one after the other."""
    runs = []
    for position, method in enumerate(methods, 1):
        say(f"{method} ({position} of {len(methods)})", quiet=quiet)
        begun = time.perf_counter()
        try:
            estimator = build_method(method, n_clusters, seed=seed, jobs=jobs)
            labels, _ = fit(estimator, data, method, quiet=True)
        except (ValueError, TypeError, MemoryError, ArithmeticError, ImportError) as error:
            runs.append(Run(method, failure=" ".join(str(error).split())))
            continue
        seconds = time.perf_counter() - begun
        runs.append(Run(method, labels, seconds, _scores(data, labels)))
    return runs


def _scores(data: Input, labels: np.ndarray) -> dict[str, float]:
    from unispectral.model_selection import internal_scores

    X, _ = data.stacked()
    found = {name: float(value) for name, value in internal_scores(X, labels).items()}
    if data.truth is not None:
        from unispectral.metrics import scores

        found |= {name: float(value) for name, value in scores(data.truth, labels).items()}
    return found


def agreement(runs: list[Run]) -> np.ndarray:
    """Adjusted Rand index of each pair of methods."""
    from sklearn.metrics import adjusted_rand_score

    matrix = np.eye(len(runs))
    for i, one in enumerate(runs):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = adjusted_rand_score(one.labels, runs[j].labels)
    return matrix


def as_lines(runs: list[Run], matrix: np.ndarray) -> list[str]:
    """Return two tables as lines: scores, and agreement."""
    good = [run for run in runs if run.failure is None]
    keys = list(dict.fromkeys(key for run in good for key in run.scores))
    width = max(len(run.method) for run in runs) + 2
    lines = []
    if good:
        heads = [_HEADS.get(key, key.replace("_", " ")) for key in keys]
        lines.append(f"{'method':<{width}}{'seconds':>8}" + "".join(f"  {h:>7}" for h in heads))
        for run in good:
            cells = "".join(
                f"  {_number(run.scores.get(key)):>{max(7, len(head))}}"
                for key, head in zip(keys, heads, strict=True)
            )
            lines.append(f"{run.method:<{width}}{run.seconds:>8.2f}{cells}")
        lines.append(_KEY)
    if len(good) > 1:
        lines += ["", "Agreement (adjusted Rand index)"]
        cell = max(7, max(len(run.method) for run in good) + 1)
        lines.append(" " * width + "".join(f"{run.method:>{cell}}" for run in good))
        for run, row in zip(good, matrix, strict=True):
            lines.append(f"{run.method:<{width}}" + "".join(f"{v:>{cell}.2f}" for v in row))
    for run in runs:
        if run.failure is not None:
            lines += ["", f"{run.method} was not run: {run.failure}"]
    return lines


def _number(value: float | None) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{round(value, 3) + 0.0:.3f}"
