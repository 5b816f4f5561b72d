"""Everything that the page of one clustering shows, as plain numbers and text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._alignment import align_to_fit
from unispectral._errors import InputError
from unispectral.metrics import scores
from unispectral.plotting._base import subsample
from unispectral.plotting._colors import hex_colors
from unispectral.plotting.charts import (
    ClusterCountDisplay,
    SpectrumDisplay,
    distances_in_words,
)
from unispectral.report._beside import columns_beside
from unispectral.report._clusters import Certainty, certainty_of, cluster_tree, rank_members
from unispectral.report._features import PageFeatures
from unispectral.report._pictures import graph_picture, plane, shorten, thumbnails
from unispectral.report._redo import tell_how_to_redo
from unispectral.report._summary import (
    Summary,
    read_columns,
    read_labels,
    summarise,
)
from unispectral.report._sureness import share_clear

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MAX_POINTS = 20_000
_RISING = " Each iteration poses a new problem, so the values need not fall."
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
    along = {"names": names, "truth": truth, "texts": texts, "supplementary": supplementary}
    given = _align(estimator, X, labels, along)
    table = read_columns(given.X, given.labels, columns, preparation, estimator)
    if summary is None:
        pictures = image_shape is not None  # of which single pixels tell nothing
        summary = summarise(
            pipeline, None if pictures else table, labels=given.labels, names=given.names,
            texts=given.texts, samples=given.X, warnings=warnings, refit=refit,
        )  # fmt: skip
    values = None if table is None else table.X
    fit = _read_fit(estimator, values, given.labels)
    chosen = _choose_members(fit, max_points)
    features = None if table is None else PageFeatures(table, given.labels)
    data = _describe_run(estimator, fit, title, seconds, notes)
    data |= {"columns": 0 if values is None else values.shape[1], "summary": summary.to_dict()}
    data |= _describe_members(fit, chosen, given)
    data |= _describe_clusters(fit, chosen, features)
    data |= _draw_pictures(estimator, fit, chosen, values, summary)
    data |= _describe_solver(estimator)
    data["by_words"] = given.texts is not None
    data["redo"] = tell_how_to_redo(pipeline, command, reading or ())
    data["beside"] = []
    if given.supplementary is not None:
        data["beside"] = columns_beside(given.supplementary, given.labels, chosen.shown)
    if given.truth is not None:
        data |= _compare_with_truth(data["members"]["truth"], given)
    if image_shape is not None and values is not None and not sp.issparse(values):
        data["images"] = thumbnails(values, given.labels, image_shape, chosen.shown, chosen.picked)
        features = None  # single pixels tell nothing
    if given.texts is not None:
        features = None  # the columns of an embedding have no meaning
    if features is None:
        empty: dict[str, list[Any]] = {"names": [], "values": []}
        return data | {"table": empty, "heat": None, "colouring": [], "axes": None}
    return data | features.whole_page(chosen.shown)


class _Given(NamedTuple):
    """What came with the model, in the order of its samples."""

    X: Any
    labels: np.ndarray
    names: Any
    truth: Any
    texts: Any
    supplementary: Any


def _align(estimator: object, X: object, labels: object, along: dict[str, Any]) -> _Given:
    """Put everything into the order of the fit, and check that there is one entry a sample."""
    labels = align_to_fit(labels, estimator, argument="labels")
    leader = estimator if hasattr(estimator, "_sample_index_") else labels
    X = align_to_fit(X, leader)
    aligned = {
        argument: align_to_fit(values, leader, argument=argument)
        for argument, values in along.items()
    }
    labels = read_labels(estimator, labels)
    for argument, values in aligned.items():
        if values is not None and len(values) != len(labels):
            problem = f"has {len(values)} entries, but there are labels for {len(labels)} samples"
            raise InputError(argument, problem)
    return _Given(X, labels, **aligned)


class _Fit(NamedTuple):
    """What the model says of each sample; None where it says nothing."""

    labels: np.ndarray
    sizes: np.ndarray
    sure: Certainty
    affinity: Any
    score: np.ndarray | None
    outlier: np.ndarray | None


def _read_fit(estimator: object, X: object, labels: np.ndarray) -> _Fit:
    affinity = getattr(estimator, "affinity_matrix_", None)
    if affinity is not None and affinity.shape[0] != len(labels):
        affinity = None
    score = getattr(estimator, "outlier_score_", None)
    if score is not None and np.ptp(score) < _SAME_SCORE:
        score = None  # a graph in which all degrees are alike tells no outlier
    return _Fit(
        labels=labels,
        sizes=np.bincount(labels),
        sure=certainty_of(estimator, X, labels),
        affinity=affinity,
        score=score,
        outlier=getattr(estimator, "outlier_", None),
    )


class _Chosen(NamedTuple):
    """The samples on the page: all shown, those named, and these by cluster."""

    shown: np.ndarray
    picked: list[int]
    ranked: list[tuple[list[int], list[int]]]


def _choose_members(fit: _Fit, max_points: int) -> _Chosen:
    ranked = rank_members(fit.labels, fit.sure.value, fit.affinity, fit.score)
    picked = sorted({i for pair in ranked for part in pair for i in part})
    shown = subsample(fit.labels, max_points)
    if len(shown) < len(fit.labels):  # everyone named on the page is on it
        shown = np.union1d(shown, picked).astype(np.int64)
    return _Chosen(shown, picked, ranked)


def _describe_run(
    estimator: object, fit: _Fit, title: str | None, seconds: float | None, notes: Sequence[str]
) -> dict[str, Any]:
    now = datetime.now().astimezone()
    return {
        "title": title or f"{len(fit.sizes)} clusters",
        "method": type(estimator).__name__,
        "made": f"{now.day} {now:%B %Y, %H:%M}",
        "n": len(fit.labels),
        "seconds": seconds,
        "n_iter": getattr(estimator, "n_iter_", None),
        "converged": getattr(estimator, "converged_", None),
        "notes": [str(note).strip() for note in notes],
        "changes": _tell_changes(estimator),
        "sizes": fit.sizes,
        "colours": hex_colors(len(fit.sizes)),
        "scores": None,
    }


def _describe_members(fit: _Fit, chosen: _Chosen, given: _Given) -> dict[str, Any]:
    shown = chosen.shown
    outlier = None if fit.outlier is None else fit.outlier[shown].astype(int)
    return {
        "members": {
            "row": shown,
            "name": _texts(given.texts if given.names is None else given.names, shown),
            "cluster": fit.labels[shown],
            "certainty": np.round(fit.sure.value[shown], 3),
            "second": fit.sure.second[shown],
            "outlier": None if fit.score is None else np.asarray(fit.score)[shown],
            "nowhere": outlier,
            "truth": _texts(given.truth, shown),
        },
        "clear": share_clear(fit.sure.value),
        "nowhere": 0 if fit.outlier is None else int(fit.outlier.sum()),
    }


def _describe_clusters(
    fit: _Fit, chosen: _Chosen, features: PageFeatures | None
) -> dict[str, Any]:
    described = []
    for cluster, (typical, doubtful) in enumerate(chosen.ranked):
        own = fit.labels == cluster
        described.append(
            {
                "typical": np.searchsorted(chosen.shown, typical).tolist(),
                "doubtful": np.searchsorted(chosen.shown, doubtful).tolist(),
                "features": [] if features is None else features.of(cluster),
                "certainty": fit.sure.value[own].mean() if own.any() else None,
            }
        )
    return {"clusters": described}


def _draw_pictures(
    estimator: object, fit: _Fit, chosen: _Chosen, X: object, summary: Summary
) -> dict[str, Any]:
    doubt = 0.0 if summary.stability is None else 1.0 - summary.stability
    graph = None if fit.affinity is None else graph_picture(fit.affinity, fit.labels)
    return {
        "plane": plane(estimator, X, fit.labels, chosen.shown, doubt, fit.outlier),
        "graph": graph,
        "tree": cluster_tree(X, fit.labels, fit.affinity),
        "levels": _levels(estimator, fit.labels, chosen.shown),
        "spectrum": _spectrum(estimator, fit.affinity, len(fit.sizes)),
        "evidence": _evidence(estimator),
    }


def _describe_solver(estimator: object) -> dict[str, Any]:
    path = _path(estimator)
    rising = np.diff(path) > 1e-9 * np.abs(path[1:])  # by more than rounding
    return {
        "weights": _weights(estimator),
        "distances": _distances(estimator),
        "objective": path,
        "objective_words": _RISING if rising.any() else "",
    }


def _compare_with_truth(shown: list[str], given: _Given) -> dict[str, Any]:
    classes = sorted(set(shown))
    return {
        "classes": {"names": classes, "colours": hex_colors(len(classes))},
        "scores": scores(np.asarray(given.truth), given.labels),
    }


def _tell_changes(estimator: object) -> list[str]:
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
    return [shorten(values[i]) for i in rows]


def _weights(estimator: object) -> list[list[Any]]:
    weights = np.asarray(getattr(estimator, "kernel_weights_", ()), dtype=float)
    names = getattr(estimator, "kernel_names_", ())
    if len(weights) != len(names) or len(weights) < 2:
        return []
    return [[shorten(names[r]), weights[r]] for r in np.argsort(-weights, kind="stable")]


def _distances(estimator: object) -> dict[str, Any] | None:
    """Ways to measure distances that were tried, with the sentence that says what came of it."""
    weights = getattr(estimator, "geometry_weights_", None)
    if not isinstance(weights, dict) or len(weights) < 2 or _weights(estimator):
        return None  # several kernels are shown by their own weights
    order = sorted(weights.items(), key=lambda item: -item[1])
    rows = [[shorten(name), value] for name, value in order]
    return {"words": distances_in_words(weights) + ".", "rows": rows}


def _spectrum(estimator: object, affinity: object, count: int) -> dict[str, Any] | None:
    if affinity is None:
        return None
    values = np.maximum(SpectrumDisplay._of(estimator).eigenvalues, 0.0)
    if len(values) < 2:
        return None
    marked = SpectrumDisplay(values, count).has_gap
    gap = float(values[count] - values[count - 1]) if marked else None
    return {"values": values, "count": count, "gap": gap}


def _evidence(estimator: object) -> dict[str, Any] | None:
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


def _levels(
    estimator: BaseEstimator, labels: np.ndarray, shown: np.ndarray
) -> dict[str, Any] | None:
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


def _path(estimator: object) -> np.ndarray:
    """The objective after each iteration; two values are no curve."""
    path = np.atleast_1d(np.asarray(getattr(estimator, "objective_", ()), dtype=np.float64))
    if path.ndim != 1 or len(path) < 3:
        return np.empty(0)
    return path[:: max(1, -(-len(path) // 400))]
