"""Files that a command leaves: looked at before the fit, written whole after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import numpy as np

from unispectral.cli._fit import Told
from unispectral.cli._methods import METHODS

__all__ = ["check_outputs", "label_columns", "write_outputs"]

# Methods that move points between centres; the others are asked after the fit.
_GRAPHLESS = ("KKM", "RKKM", "MKKM", "RMKKM", "kmeans", "ward")
_LABELS = (".csv", ".tsv", ".json", ".parquet", ".pq")


def check_outputs(wanted: dict[str, str | None], method: str | None = None) -> None:
    """Refuse before the work what could not be written after it."""
    named = {option: path for option, path in wanted.items() if path not in (None, "-")}
    for option, path in wanted.items():
        if path == "-" and option != "output":
            raise click.UsageError(f"--{option} needs a file; only -o can be '-'.")
    real: dict[str, str] = {}
    for option, path in named.items():
        assert path is not None
        _check_ending(option, path)
        folder = Path(path).expanduser().parent
        if not folder.is_dir():
            raise FileNotFoundError(
                f"Cannot write {path!r}: there is no folder {str(folder)!r}; make it first."
            )
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"Cannot write {path!r}: the folder may not be written to.")
        place = os.path.realpath(path)
        if place in real:
            raise click.UsageError(f"--{real[place]} and --{option} both name {path!r}.")
        real[place] = option
    if method is not None and wanted.get("graph") and method in _GRAPHLESS:
        raise click.UsageError(f"--graph: the method {method} learns no graph; use SCMK or SCSK.")
    if method is not None and wanted.get("model") and not METHODS[method].ours:
        raise click.UsageError(f"--model: a model of the method {method} cannot be saved.")


def _check_ending(option: str, path: str) -> None:
    from unispectral.graph_files import GRAPH_FORMATS

    endings = {"output": _LABELS, "graph": tuple(GRAPH_FORMATS), "report": (".html", ".htm")}
    if option in endings and Path(path).suffix.lower() not in endings[option]:
        shown = "-o" if option == "output" else f"--{option}"
        raise click.UsageError(f"{shown} {path}: must end in {', '.join(endings[option])}.")


def write_outputs(wanted: dict[str, str | None], told: Told, *, quiet: bool) -> dict[str, str]:
    """Write what was asked for; return the files by kind."""
    written = {}
    if wanted["model"]:
        from unispectral.persistence import save_model

        told.estimator.preparation_ = told.data.preparation
        save_model(told.estimator, wanted["model"])
        written["model"] = wanted["model"]
    if wanted["graph"]:
        written["graph"] = _write_graph(wanted["graph"], told)
    if wanted["report"]:
        written["report"] = _write_report(wanted["report"], told, quiet=quiet)
    if wanted["output"]:
        from unispectral.tables import write_table

        found = [getattr(told.estimator, name, None) for name in ("membership_", "outlier_score_")]
        write_table(wanted["output"], label_columns(told.data, told.labels, *found))
        if wanted["output"] != "-":
            written["labels"] = wanted["output"]
    return written


def label_columns(
    data: Any, labels: np.ndarray, membership: Any = None, outlier_score: Any = None
) -> dict[str, Any]:
    """Columns of the label file: who, which cluster, how surely, how odd."""
    names = data.names
    columns: dict[str, Any] = {
        "row" if names is None else "id": np.arange(len(labels)) if names is None else names,
        "cluster": labels,
    }
    if membership is not None and len(membership) == len(labels):
        columns["membership"] = np.round(membership[np.arange(len(labels)), labels], 6)
    if outlier_score is not None and len(outlier_score) == len(labels):
        columns["outlier_score"] = np.round(np.asarray(outlier_score, dtype=float), 6)
    return columns


def _write_graph(path: str, told: Told) -> str:
    from unispectral.graph_files import write_graph

    graph = getattr(told.estimator, "affinity_matrix_", None)
    if graph is None:
        raise click.UsageError(
            f"--graph: the method {told.summary['method']} learns no graph; use SCMK or SCSK."
        )
    write_graph(path, graph, labels=told.labels, names=told.data.names)
    return path


def _write_report(path: str, told: Told, *, quiet: bool) -> str:
    from unispectral.cli._progress import progress
    from unispectral.report import write_report

    X, columns = told.data.stacked()
    with progress("report", quiet=quiet):
        write_report(
            path,
            told.estimator,
            X,
            labels=told.labels,
            columns=columns,
            names=told.data.names,
            truth=told.data.truth,
            title=told.title,
            method=told.summary["method"],
            seconds=told.summary["seconds"],
            command=told.command,
            preparation=told.data.preparation,
            reading=told.data.reading,
            image_shape=told.data.image_shape,
            notes=told.data.notes,
            warnings=told.summary["warnings"],
        )
    return path
