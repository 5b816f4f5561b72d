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
from unispectral.plotting.charts import (
    ClusterCountDisplay,
    SpectrumDisplay,
    distances_in_words,
)
from unispectral.report._beside import columns_beside
from unispectral.report._clusters import certainty_of, cluster_tree, contrasts, rank_members
from unispectral.report._columns import Columns, decimals_for, find_place
from unispectral.report._pictures import as_text, graph_picture, plane, thumbnails
from unispectral.report._summary import (
    Summary,
    read_columns,
    read_labels,
    share_clear,
    summarise,
)

__all__ = ["report_data"]

MAX_POINTS = 20_000
_IN_TABLE, _IN_HEAT = 6, 24
#: Columns by which points can be coloured: all, while they do not make the page large.
_COLOURED = 1_200_000
#: Columns that the map can be drawn along, and those where there are many points.
_AXES, _FEW_AXES, _MANY_POINTS = 12, 4, 5_000
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
    texts: Sequence[str] | None = None,
    supplementary: Any = None,
    summary: Summary | None = None,
    warnings: Sequence[str] | None = None,
    refit: bool = True,
    max_points: int = MAX_POINTS,
) -> dict[str, Any]:
    """Collect what the page shows; the parameters are those of :func:`write_report`."""
    pipeline = estimator
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    given = align_to_fit(labels, estimator, argument="labels")
    leader = estimator if hasattr(estimator, "_sample_index_") else given
    X = align_to_fit(X, leader)
    names = align_to_fit(names, leader, argument="names")
    truth = align_to_fit(truth, leader, argument="truth")
    texts = align_to_fit(texts, leader, argument="texts")
    supplementary = align_to_fit(supplementary, leader, argument="supplementary")
    labels = read_labels(estimator, given)
    n, sizes = len(labels), np.bincount(labels)
    along = {"names": names, "truth": truth, "texts": texts, "supplementary": supplementary}
    for argument, values in along.items():
        if values is not None and len(values) != n:
            problem = f"has {len(values)} entries, but there are labels for {n} samples"
            raise InputError(argument, problem)
    table = read_columns(X, labels, columns, preparation, estimator)
    if summary is None:
        pictures = image_shape is not None  # of which single pixels tell nothing
        summary = summarise(
            pipeline, None if pictures else table, labels=labels, names=names, texts=texts,
            samples=X, warnings=warnings, refit=refit,
        )  # fmt: skip
    X = None if table is None else table.X
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
    features = None if table is None else PageFeatures(table, labels)
    flagged = getattr(estimator, "outlier_", None)
    doubt = 0.0 if summary.stability is None else 1.0 - summary.stability
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
        "summary": summary.to_dict(),
        "evidence": _evidence(estimator),
        "notes": [str(note).strip() for note in notes],
        "changes": _tell_changes(estimator),
        "sizes": sizes,
        "colours": hex_colors(len(sizes)),
        "plane": plane(estimator, X, labels, shown, doubt),
        "members": {
            "row": shown,
            "name": _texts(names, shown),
            "cluster": labels[shown],
            "certainty": np.round(sure.value[shown], 3),
            "second": sure.second[shown],
            "outlier": None if outlier is None else np.asarray(outlier)[shown],
            "nowhere": None if flagged is None else flagged[shown].astype(int),
            "truth": _texts(truth, shown),
        },
        "clear": share_clear(sure.value),
        "nowhere": 0 if flagged is None else int(flagged.sum()),
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
        "levels": _levels(estimator, labels, shown),
        "weights": _weights(estimator),
        "distances": _distances(estimator),
        "spectrum": _spectrum(estimator, affinity, len(sizes)),
        "objective": path,
        "objective_words": _RISING if rising.any() else "",
        "redo": _redo(estimator, command, reading or ()),
        "scores": None,
        "beside": [] if supplementary is None else columns_beside(supplementary, labels, shown),
    }
    if truth is not None:
        classes = sorted(set(data["members"]["truth"]))
        data["classes"] = {"names": classes, "colours": hex_colors(len(classes))}
        data["scores"] = scores(np.asarray(truth), labels)
    if image_shape is not None and X is not None and not sp.issparse(X):
        data["images"] = thumbnails(X, labels, image_shape, shown, picked)
        features = None  # single pixels tell nothing
    if features is None:
        return data | {
            "table": {"names": [], "values": []},
            "heat": None,
            "colouring": [],
            "axes": None,
        }
    return data | features.whole_page(shown)


class PageFeatures:
    """What the page shows of the columns."""

    def __init__(self, columns: Columns, labels: np.ndarray) -> None:
        self.columns, self.labels = columns, labels
        self.found = contrasts(columns.X, labels)
        self.names = [_text(name) for name in columns.names]

    def of(self, cluster: int) -> list[list[Any]]:
        """What sets a cluster apart: name, effect, medians inside and outside, decimals.

        A column of 0 and 1 has shares in place of medians, and −1 decimals.
        """
        rows = []
        member = self.labels == cluster
        for j in self.found.top(cluster):
            values = self.values(j)
            known = values[~np.isnan(values)]
            shares = bool(np.isin(known, (0.0, 1.0)).all())
            middle = np.nanmean if shares else np.nanmedian
            parts = [part[~np.isnan(part)] for part in (values[member], values[~member])]
            pair = [float(middle(part)) if len(part) else np.nan for part in parts]
            decimals = -1 if shares else decimals_for(known)
            rows.append([self.names[j], self.found.effect[cluster, j], *pair, decimals])
        return rows

    def whole_page(self, shown: np.ndarray) -> dict[str, Any]:
        """What is shown of the columns beside the clusters."""
        best = self.found.telling(_IN_TABLE)
        values = [self.values(j)[shown] for j in best]
        decimals = [decimals_for(part) for part in values]
        table = {"names": [self.names[j] for j in best], "values": values, "decimals": decimals}
        return {
            "table": table,
            "heat": self.heat(),
            "colouring": self.colouring(shown),
            "axes": self.axes(shown),
        }

    def axes(self, shown: np.ndarray) -> dict[str, Any]:
        """Columns that the map can be drawn along: their names, ends and values from −1 to 1.

        ``place`` are the columns of longitude and latitude, where there are such.
        """
        place = find_place(self.columns)
        best = self.found.telling(_AXES if len(shown) <= _MANY_POINTS else _FEW_AXES).tolist()
        listed = list(dict.fromkeys([*(place or ()), *best]))
        columns = []
        for j in listed:
            values = self.values(j)[shown]
            low, high = np.nanmin(values), np.nanmax(values)
            level = 2 * (values - low) / (high - low) - 1 if high > low else values * 0.0
            columns.append({"name": self.names[j], "ends": [low, high], "at": np.round(level, 3)})
        return {"columns": columns, "place": None if place is None else [0, 1]}

    def values(self, column: int) -> np.ndarray:
        return self.columns.values(column)

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


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _tell_changes(estimator: Any) -> list[str]:
    """What the last update of a model changed."""
    record = getattr(estimator, "_record_", None)
    if record is None or not record.n_updates:
        return []
    from unispectral.living.report import describe_changes

    return describe_changes(estimator)


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
    marked = SpectrumDisplay(values, count).has_gap
    gap = float(values[count] - values[count - 1]) if marked else None
    return {"values": values, "count": count, "gap": gap}


def _evidence(estimator: Any) -> dict[str, Any] | None:
    """What speaks for each number of clusters, where the number was left to the data."""
    found = getattr(estimator, "cluster_count_", None)
    if found is None or not len(found.scores):
        return None
    drawn = ClusterCountDisplay(found.scores, found.n_clusters)
    return {
        "counts": drawn.counts,
        "scores": drawn.scores,
        "chosen": found.n_clusters,
        "second": drawn.runner_up,
    }


def _levels(estimator: Any, labels: np.ndarray, shown: np.ndarray) -> dict[str, Any] | None:
    """The tree of the clusters: the leaf of each sample, and the merges."""
    able = hasattr(type(estimator), "tree_") and len(labels) <= MAX_POINTS
    if not able or not np.array_equal(labels, estimator.labels_):
        return None
    tree = estimator.tree_
    return {
        "leaf": tree.leaves[shown],
        "sizes": np.bincount(tree.leaves),
        "merges": tree.linkage[:, :3],
        "clarity": tree.clarity,
        "colours": hex_colors(tree.max_clusters),
    }


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
