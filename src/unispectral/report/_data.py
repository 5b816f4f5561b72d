"""Everything that the page of one clustering shows, as plain numbers and text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral.report._advice import advice
from unispectral.report._clusters import (
    Contrast,
    certainty_of,
    contrasts,
    rank_members,
)
from unispectral.report._pictures import graph_picture, plane, thumbnails
from unispectral.report._redo import redo

__all__ = ["report_data"]

MAX_POINTS = 20_000
_FEATURES_IN_TABLE = 6
#: Above this many samples, only the eigenvalues that the fit has kept are shown.
_MORE_EIGENVALUES = 5_000


def report_data(
    estimator: Any,
    X: Any = None,
    *,
    labels: Any = None,
    columns: Sequence[str] | None = None,
    names: Any = None,
    truth: Any = None,
    title: str | None = None,
    method: str | None = None,
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
    labels = _labels(estimator, labels)
    n, count = len(labels), int(labels.max()) + 1
    X = _table(X, n)
    if columns is None:
        columns = _feature_names(estimator, X)
    sure = certainty_of(estimator, X, labels)
    affinity = getattr(estimator, "affinity_matrix_", None)
    if affinity is not None and affinity.shape[0] != n:
        affinity = None
    outlier = getattr(estimator, "outlier_score_", None)
    ranked = rank_members(labels, sure.value, affinity, outlier)
    found = [[] for _ in range(count)] if X is None else contrasts(X, labels)
    picked = sorted({i for pair in ranked for part in pair for i in part})
    shown = _shown(labels, picked, max_points)
    position = {int(i): place for place, i in enumerate(shown)}
    sizes = np.bincount(labels, minlength=count)
    method = method or type(estimator).__name__
    points, how = plane(estimator, X, labels, shown)
    data: dict[str, Any] = {
        "title": title or f"{count} clusters",
        "method": method,
        "made": datetime.now().astimezone().strftime("%-d %B %Y, %H:%M"),
        "n": n,
        "columns": 0 if X is None else X.shape[1],
        "seconds": seconds,
        "n_iter": _plain(getattr(estimator, "n_iter_", None)),
        "converged": _plain(getattr(estimator, "converged_", None)),
        "advice": advice(estimator, labels, sure.value, warnings=list(warnings)),
        "notes": [str(note).strip() for note in notes],
        "sizes": sizes,
        "scores": None if truth is None else _scores(truth, labels),
        "plane": {"x": np.round(points[:, 0], 3), "y": np.round(points[:, 1], 3), "how": how},
        "members": _members(shown, labels, sure, outlier, names, truth),
        "clusters": [
            {
                "typical": [position[i] for i in typical],
                "doubtful": [position[i] for i in doubtful],
                "features": [_feature(row, columns, preparation) for row in found[k]],
                "certainty": round(float(sure.value[labels == k].mean()), 4) if sizes[k] else None,
            }
            for k, (typical, doubtful) in enumerate(ranked)
        ],
        "graph": None if affinity is None else graph_picture(affinity, labels),
        "weights": _weights(estimator),
        "geometries": _geometries(estimator),
        "spectrum": _spectrum(estimator, affinity, count),
        "objective": _path(estimator),
        "redo": redo(estimator, command, reading),
    }
    pictures = image_shape is not None and X is not None and not sp.issparse(X)
    data["table"] = _table_features(None if pictures else X, columns, found, shown, preparation)
    if pictures:
        assert image_shape is not None
        data["images"] = thumbnails(X, labels, image_shape, shown, picked)
    return data


def _labels(estimator: Any, labels: Any) -> np.ndarray:
    labels = getattr(estimator, "labels_", None) if labels is None else labels
    if labels is None:
        raise ValueError("The estimator has no labels_; fit it first, or give labels.")
    labels = np.asarray(labels)
    if labels.ndim != 1 or len(labels) == 0 or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError("labels must be whole numbers from 0, one for each sample.")
    return labels.astype(np.int64)


def _table(X: Any, n: int) -> Any:
    if X is None:
        return None
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[0] != n:
        raise ValueError(f"X has the shape {X.shape}, but there are labels for {n} samples.")
    return X


def _feature_names(estimator: Any, X: Any) -> list[str]:
    if X is None:
        return []
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and len(names) == X.shape[1]:
        return [str(name) for name in names]
    return [f"column {j}" for j in range(X.shape[1])]


def _shown(labels: np.ndarray, picked: list[int], max_points: int) -> np.ndarray:
    """Samples on the page: all, or an even part of each cluster and everyone named on it."""
    from unispectral.plotting._base import thin

    chosen = thin(labels, max_points)
    return chosen if len(chosen) == len(labels) else np.union1d(chosen, picked).astype(np.int64)


def _members(
    shown: np.ndarray, labels: np.ndarray, sure: Any, outlier: Any, names: Any, truth: Any
) -> dict[str, Any]:
    return {
        "row": shown,
        "name": None if names is None else [_text(names[i]) for i in shown],
        "cluster": labels[shown],
        "certainty": np.round(sure.value[shown], 3),
        "second": sure.second[shown],
        "outlier": None if outlier is None else _rounded(np.asarray(outlier)[shown]),
        "truth": None if truth is None else [_text(truth[i]) for i in shown],
    }


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _rounded(values: np.ndarray) -> list[float | None]:
    """Four significant digits: what a table can show."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in values.astype(float).tolist()]


def _units(preparation: Sequence[dict[str, Any]] | None, column: int) -> tuple[float, float]:
    """Spread and centre that bring a column back to its own unit."""
    for part in preparation or ():
        if column < len(part["columns"]):
            spread = 1.0 if part["spread"] is None else float(part["spread"][column])
            centre = 0.0 if part["centre"] is None else float(part["centre"][column])
            return spread, centre
        column -= len(part["columns"])
    return 1.0, 0.0


def _feature(
    row: Contrast, columns: Sequence[str], preparation: Sequence[dict[str, Any]] | None
) -> list[Any]:
    spread, centre = _units(preparation, row.column)
    inside, outside = row.inside * spread + centre, row.outside * spread + centre
    return [
        _text(columns[row.column]),
        round(row.effect, 2),
        *_rounded(np.array([inside, outside])),
    ]


def _table_features(
    X: Any,
    columns: Sequence[str],
    found: list[list[Contrast]],
    shown: np.ndarray,
    preparation: Sequence[dict[str, Any]] | None,
) -> dict[str, Any]:
    """The features that tell most clusters apart, for the table of members."""
    if X is None:
        return {"names": [], "values": []}
    weight: dict[int, float] = {}
    for rows in found:
        for row in rows:
            weight[row.column] = weight.get(row.column, 0.0) + abs(row.effect)
    best = sorted(weight, key=lambda j: -weight[j])[:_FEATURES_IN_TABLE]
    values = []
    for j in best:
        spread, centre = _units(preparation, j)
        part = X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]
        values.append(_rounded(part[shown] * spread + centre))
    return {"names": [_text(columns[j]) for j in best], "values": values}


def _scores(truth: Any, labels: np.ndarray) -> dict[str, float]:
    from unispectral.metrics import scores

    return {name: round(float(v), 4) for name, v in scores(np.asarray(truth), labels).items()}


def _weights(estimator: Any) -> list[list[Any]]:
    weights = getattr(estimator, "kernel_weights_", None)
    names = getattr(estimator, "kernel_names_", None)
    if weights is None or names is None or len(weights) != len(names) or len(weights) < 2:
        return []
    order = np.argsort(-np.asarray(weights), kind="stable")
    return [[_text(names[r]), float(f"{float(weights[r]):.5g}")] for r in order]


def _geometries(estimator: Any) -> list[list[Any]]:
    weights = getattr(estimator, "geometry_weights_", None)
    if not isinstance(weights, dict) or len(weights) < 2:
        return []
    order = sorted(weights.items(), key=lambda item: -item[1])
    return [[_text(name), float(f"{float(value):.5g}")] for name, value in order]


def _spectrum(estimator: Any, affinity: Any, count: int) -> dict[str, Any] | None:
    """Eigenvalues of the graph, some beyond the number of clusters if they are soon found."""
    values = np.asarray(getattr(estimator, "eigenvalues_", ()), dtype=float)
    wanted = max(count + 8, 3 * count // 2)
    if affinity is not None and len(values) < wanted and affinity.shape[0] <= _MORE_EIGENVALUES:
        from unispectral.spectrum._eigen import smallest_eigenvectors

        graph = sp.csr_array(affinity)
        values = np.asarray(smallest_eigenvectors(graph, min(wanted, graph.shape[0])).values)
    if len(values) < 2:
        return None
    values = np.maximum(values, 0.0)
    gap = None
    if len(values) > count:
        gap = float(values[count] - values[count - 1])
    return {"values": [float(f"{v:.6g}") for v in values], "count": count, "gap": gap}


def _path(estimator: Any) -> list[float]:
    path = np.atleast_1d(getattr(estimator, "objective_", ()))
    if path.ndim != 1 or len(path) < 2:
        return []
    every = max(1, -(-len(path) // 400))
    return [float(f"{v:.8g}") for v in path[::every].tolist()]


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
