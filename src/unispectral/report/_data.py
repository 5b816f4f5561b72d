"""Everything that the page of one clustering shows, as plain numbers and text."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._alignment import align_to_fit
from unispectral._errors import InputError
from unispectral._version import __version__
from unispectral.metrics import scores
from unispectral.plotting._base import thin
from unispectral.plotting._colors import hex_colors
from unispectral.plotting.charts import SpectrumDisplay, distances_in_words
from unispectral.report._advice import advice
from unispectral.report._clusters import (
    as_numbers,
    certainty_of,
    cluster_tree,
    contrasts,
    rank_members,
)
from unispectral.report._pictures import as_text, graph_picture, plane, thumbnails

__all__ = ["report_data"]

MAX_POINTS = 20_000
_IN_TABLE, _IN_HEAT = 6, 24
#: Columns by which points can be coloured: all, while they do not make the page large.
_COLOURED = 1_200_000
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_RISING = " Each iteration poses a new problem, so the values need not fall."
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
#: Outlier scores that differ by less tell nothing.
_SAME_SCORE = 1e-3


def report_data(
    estimator: Any,
    X: Any = None,
    *,
    labels: Any = None,
    columns: Sequence[str] | None = None,
    names: Any = None,
    truth: Any = None,
    title: str | None = None,
    seconds: float | None = None,
    command: str | None = None,
    preparation: Sequence[dict[str, Any]] | None = None,
    reading: Sequence[dict[str, Any]] | None = None,
    image_shape: tuple[int, int] | tuple[int, int, str] | None = None,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
    max_points: int = MAX_POINTS,
) -> dict[str, Any]:
    """Collect what the page shows; the parameters are those of :func:`write_report`."""
    estimator = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    given = align_to_fit(labels, estimator, argument="labels")
    leader = estimator if hasattr(estimator, "_sample_index_") else given
    X = align_to_fit(X, leader)
    names = align_to_fit(names, leader, argument="names")
    truth = align_to_fit(truth, leader, argument="truth")
    labels = _labels(estimator, given)
    n, sizes = len(labels), np.bincount(labels)
    if X is not None:
        asked = columns
        given = getattr(estimator, "feature_names_in_", None) if columns is None else columns
        X, columns = as_numbers(X, n, given)
        if asked is not None and len(asked) != len(columns):
            raise InputError("columns", f"has {len(asked)} names, but X {len(columns)} columns")
    for argument, values in {"names": names, "truth": truth}.items():
        if values is not None and len(values) != n:
            problem = f"has {len(values)} entries, but there are labels for {n} samples"
            raise InputError(argument, problem)
    sure = certainty_of(estimator, X, labels)
    affinity = getattr(estimator, "affinity_matrix_", None)
    if affinity is not None and affinity.shape[0] != n:
        affinity = None
    outlier = getattr(estimator, "outlier_score_", None)
    if outlier is not None and np.ptp(outlier) < _SAME_SCORE:
        outlier = None  # a graph in which all degrees are alike tells no outlier
    ranked = rank_members(labels, sure.value, affinity, outlier)
    picked = sorted({i for pair in ranked for part in pair for i in part})
    shown = thin(labels, max_points)
    if len(shown) < n:  # everyone named on the page is on it
        shown = np.union1d(shown, picked).astype(np.int64)
    features = None if X is None else PageFeatures(X, labels, columns, preparation)
    path, now = _path(estimator), datetime.now().astimezone()
    rising = np.diff(path) > 1e-9 * np.abs(path[1:])  # by more than rounding
    data: dict[str, Any] = {
        "title": title or f"{len(sizes)} clusters",
        "method": type(estimator).__name__,
        "made": f"{now.day} {now:%B %Y, %H:%M}",
        "n": n,
        "columns": 0 if X is None else X.shape[1],
        "seconds": seconds,
        "n_iter": getattr(estimator, "n_iter_", None),
        "converged": getattr(estimator, "converged_", None),
        "advice": advice(estimator, labels, sure.value, warnings),
        "notes": [str(note).strip() for note in notes],
        "sizes": sizes,
        "colours": hex_colors(len(sizes)),
        "plane": plane(estimator, X, labels, shown),
        "members": {
            "row": shown,
            "name": _texts(names, shown),
            "cluster": labels[shown],
            "certainty": np.round(sure.value[shown], 3),
            "second": sure.second[shown],
            "outlier": None if outlier is None else np.asarray(outlier)[shown],
            "truth": _texts(truth, shown),
        },
        "clusters": [
            {
                "typical": np.searchsorted(shown, typical).tolist(),
                "doubtful": np.searchsorted(shown, doubtful).tolist(),
                "features": [] if features is None else features.of(k),
                "certainty": sure.value[labels == k].mean() if sizes[k] else None,
            }
            for k, (typical, doubtful) in enumerate(ranked)
        ],
        "graph": None if affinity is None else graph_picture(affinity, labels),
        "tree": cluster_tree(X, labels, affinity),
        "weights": _weights(estimator),
        "distances": _distances(estimator),
        "spectrum": _spectrum(estimator, affinity, len(sizes)),
        "objective": path,
        "objective_words": _RISING if rising.any() else "",
        "redo": _redo(estimator, command, reading or ()),
        "scores": None,
    }
    if truth is not None:
        classes = sorted(set(data["members"]["truth"]))
        data["classes"] = {"names": classes, "colours": hex_colors(len(classes))}
        data["scores"] = scores(np.asarray(truth), labels)
    if image_shape is not None and X is not None and not sp.issparse(X):
        data["images"] = thumbnails(X, labels, image_shape, shown, picked)
        features = None  # single pixels tell nothing
    if features is None:
        return data | {"table": {"names": [], "values": []}, "heat": None, "colouring": []}
    return data | features.whole_page(shown)


class PageFeatures:
    """The columns of the table, in their own units."""

    def __init__(self, X: Any, labels: np.ndarray, columns: Any, preparation: Any) -> None:
        self.X, self.labels, self.found = X, labels, contrasts(X, labels)
        self.names = [_text(name) for name in columns]
        self.spread, self.centre = np.ones(X.shape[1]), np.zeros(X.shape[1])
        first = 0
        for part in preparation or ():
            here = slice(first, first := first + len(part["columns"]))
            for name in ("spread", "centre"):
                if part[name] is not None:
                    getattr(self, name)[here] = part[name]

    def of(self, cluster: int) -> list[list[Any]]:
        """What sets a cluster apart: name, effect, mean inside, mean outside."""
        rows = []
        for j in self.found.top(cluster):
            means = np.array([self.found.inside[cluster, j], self.found.outside[cluster, j]])
            means = means * self.spread[j] + self.centre[j]
            means[np.abs(means) < 1e-12 * (self.spread[j] + abs(self.centre[j]))] = 0.0  # rounding
            rows.append([self.names[j], self.found.effect[cluster, j], *means])
        return rows

    def whole_page(self, shown: np.ndarray) -> dict[str, Any]:
        """What is shown of the columns beside the clusters."""
        best = self.found.telling(_IN_TABLE)
        values = [self.values(j)[shown] for j in best]
        table = {"names": [self.names[j] for j in best], "values": values}
        return {"table": table, "heat": self.heat(), "colouring": self.colouring(shown)}

    def values(self, column: int) -> np.ndarray:
        part = self.X[:, [column]].toarray().ravel() if sp.issparse(self.X) else self.X[:, column]
        return part * self.spread[column] + self.centre[column]

    def heat(self) -> dict[str, Any] | None:
        """Clusters × telling columns: effects, and quantiles of the values of each cluster."""
        best = self.found.telling(_IN_HEAT)
        if not len(best):
            return None
        groups = [np.flatnonzero(self.labels == k) for k in range(self.labels.max() + 1)]
        quantiles = []
        for j in best:
            column = self.values(j)
            parts = [part[~np.isnan(part)] for part in (column[group] for group in groups)]
            quantiles.append([np.quantile(p, _QUANTILES) if len(p) else None for p in parts])
        names = [self.names[j] for j in best]
        return {"names": names, "effect": self.found.effect[:, best], "quantiles": quantiles}

    def colouring(self, shown: np.ndarray) -> list[dict[str, Any]]:
        """Columns as levels 0 … 254 between their least and largest value; 255 is missing."""
        found = []
        for j in self.found.telling(_COLOURED // len(shown)):
            values = self.values(j)[shown]
            low, high = np.nanmin(values), np.nanmax(values)
            level = 254 * (values - low) / (high - low) if high > low else values * 0.0
            level = np.where(np.isnan(level), 255, np.rint(level))
            found.append({"name": self.names[j], "ends": [low, high], "levels": as_text(level)})
        return found


def _labels(estimator: Any, labels: Any) -> np.ndarray:
    labels = getattr(estimator, "labels_", None) if labels is None else labels
    if labels is None:
        raise InputError("estimator", "has no labels_", "fit it first, or give labels")
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) == 0 or labels.dtype.kind not in "iu" or labels.min() < 0:
        problem = "must be whole numbers from 0, one for each sample"
        raise InputError("labels", problem, "where −1 is noise, give labels=model.labels_ + 1")
    return labels.astype(np.int64)


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _texts(values: Any, rows: np.ndarray) -> list[str] | None:
    if values is None:
        return None
    values = list(values)  # a column of a frame would be asked for names of rows
    return [_text(values[i]) for i in rows]


def _weights(estimator: Any) -> list[list[Any]]:
    weights = np.asarray(getattr(estimator, "kernel_weights_", ()), dtype=float)
    names = getattr(estimator, "kernel_names_", ())
    if len(weights) != len(names) or len(weights) < 2:
        return []
    return [[_text(names[r]), weights[r]] for r in np.argsort(-weights, kind="stable")]


def _distances(estimator: Any) -> dict[str, Any] | None:
    """Ways to measure distances that were tried, with the sentence that says what came of it."""
    weights = getattr(estimator, "geometry_weights_", None)
    if not isinstance(weights, dict) or len(weights) < 2 or _weights(estimator):
        return None  # several kernels are shown by their own weights
    order = sorted(weights.items(), key=lambda item: -item[1])
    rows = [[_text(name), value] for name, value in order]
    return {"words": distances_in_words(weights) + ".", "rows": rows}


def _spectrum(estimator: Any, affinity: Any, count: int) -> dict[str, Any] | None:
    if affinity is None:
        return None
    values = np.maximum(SpectrumDisplay._of(estimator).eigenvalues, 0.0)
    if len(values) < 2:
        return None
    gap = float(values[count] - values[count - 1]) if len(values) > count else None
    return {"values": values, "count": count, "gap": gap}


def _path(estimator: Any) -> np.ndarray:
    """The objective after each iteration; two values are no curve."""
    path = np.atleast_1d(np.asarray(getattr(estimator, "objective_", ()), dtype=np.float64))
    if path.ndim != 1 or len(path) < 3:
        return np.empty(0)
    return path[:: max(1, -(-len(path) // 400))]


def _redo(
    estimator: Any, command: str | None, reading: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """How to do the same again: the command, the lines of Python, the versions."""
    known = hasattr(estimator, "get_params")
    given = estimator.get_params(False) if known else {}
    versions = {"unispectral": __version__, "Python": platform.python_version()}
    return {
        "command": command,
        "python": _python(type(estimator), given, reading) if known else None,
        "versions": [*versions.items(), *((name, version(name)) for name in _PACKAGES)],
        "parameters": [[name, repr(value)] for name, value in sorted(given.items())],
    }


def _python(cls: type, given: dict[str, Any], reading: Sequence[dict[str, Any]]) -> str:
    """Lines that read the tables and build the estimator anew."""
    home = cls.__module__
    if home.startswith(("sklearn.", "unispectral.")):  # where they are documented
        deep = home.startswith(("sklearn.", "unispectral.baselines"))
        home = ".".join(home.split(".")[: 2 if deep else 1])
    usual = {name: repr(value) for name, value in cls().get_params(False).items()}  # type: ignore[attr-defined]
    changed = {name: repr(v) for name, v in given.items() if usual.get(name) != repr(v)}
    listed = ", ".join(f"{name}={value}" for name, value in changed.items())
    lines = [f"from {home} import {cls.__name__}"]
    if reading:
        lines += ["from unispectral.tables import read_table", "", *_reading(reading)]
    lines += [f"model = {cls.__name__}({listed})", "labels = model.fit_predict(X)"]
    return "\n".join(lines)


#: Lines that match the rows of several tables by their names.
_MATCHING = """import pandas as pd

# A row that a table lacks is NaN there.
names = {view: pd.Index(map(str, table.index)) for view, table in tables.items()}
everyone = list(dict.fromkeys(name for index in names.values() for name in index))
X = {}
for view, table in tables.items():
    rows = names[view].get_indexer(everyone)
    X[view] = table.values[rows]
    if (rows < 0).any():
        X[view][rows < 0] = float("nan")
"""


def _reading(reading: Sequence[dict[str, Any]]) -> list[str]:
    """Lines that read X; a part may say that rows are ``matched`` by their names."""
    matched = any(part.get("matched") for part in reading)
    calls = {}
    for part in reading:
        options = "".join(f", {name}={value!r}" for name, value in part["options"].items())
        call = f"read_table({part['source']!r}{options})"
        calls[part["view"]] = call if matched else f"{call}.values"
    if len(calls) == 1:
        return [f"X = {call}" for call in calls.values()]
    listed = [f"    {view!r}: {call}," for view, call in calls.items()]
    return [f"{'tables' if matched else 'X'} = {{", *listed, "}", *[_MATCHING][:matched]]
