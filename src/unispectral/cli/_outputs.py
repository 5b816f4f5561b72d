"""Files that a command leaves: looked at before the work, written whole after it."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unispectral.cli._methods import METHODS

if TYPE_CHECKING:
    import numpy as np

    from unispectral.cli._fit import CommandFit
    from unispectral.cli._input import Input
    from unispectral.report import Summary

_ENDINGS = {
    "output": (".csv", ".tsv", ".json", ".parquet", ".pq", ".xlsx"),
    "report": (".html", ".htm"),
    "graph": (".graphml", ".npz", ".csv", ".tsv"),
}


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line for people, on standard error so that results stay clean."""
    if not quiet:
        click.echo(text, err=True)


def echo_json(content: object) -> None:
    """Print for machines; what JSON has no word for is a number of NumPy, or shown as text."""

    def plain(value: Any) -> Any:
        if getattr(value, "ndim", None) == 0:
            return value.item()
        return repr(value)

    click.echo(json.dumps(content, ensure_ascii=False, indent=1, default=plain))


def check_outputs(
    wanted: dict[str, str | None],
    inputs: Iterable[str],
    *,
    as_json: bool = False,
    method: str | None = None,
) -> None:
    """Refuse before anything slow what could not be read, or should not be written after it."""
    printed = {"-o -": wanted.get("output") == "-", "--json": as_json}
    if all(printed.values()):
        raise click.UsageError("-o - and --json both want standard output; give one a file.")
    if any(printed.values()) and sys.stdout is None:
        if as_json:
            option = "--json"
            remedy = "open it"
        else:
            option = "-o -"
            remedy = "name a file"
        raise click.UsageError(f"{option}: standard output is closed; {remedy}.")
    taken: dict[str, str] = {}
    for name, path in wanted.items():
        if name == "output":
            option = "-o"
        else:
            option = f"--{name}"
        if path is None or (path == "-" and option == "-o"):
            continue
        if path == "-":
            raise click.UsageError(f"{option} needs a file; only -o can be '-'.")
        endings = _ENDINGS.get(name)
        if endings and Path(path).suffix.lower() not in endings:
            raise click.UsageError(f"{option} {path}: must end in {', '.join(endings)}.")
        folder = Path(path).parent
        if not folder.is_dir():
            reason = f"there is no folder {str(folder)!r}; make it first."
            raise FileNotFoundError(f"Cannot write {path!r}: {reason}")
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"Cannot write {path!r}: the folder may not be written to.")
        if os.path.isdir(path):
            raise IsADirectoryError(f"Cannot write {path!r}: it is a folder; name a file in it.")
        place = os.path.realpath(path)
        if place in taken:
            raise click.UsageError(f"{taken[place]} and {option} both name {path!r}.")
        taken[place] = option
        if any(_same_file(path, source) for source in inputs):
            reason = "this file is read, and would be overwritten; name another."
            raise click.UsageError(f"{option} {path}: {reason}")
    if method is not None and wanted.get("graph") and not METHODS[method].graph:
        able = ", ".join(n for n, m in METHODS.items() if m.graph and m.compared)
        told = f"--graph: the method {method} learns no graph; use one of {able}."
        raise click.UsageError(told)
    if method is not None and wanted.get("model") and not METHODS[method].ours:
        able = ", ".join(n for n, m in METHODS.items() if m.ours)
        told = f"--model: models of the method {method} cannot be saved; use one of {able}."
        raise click.UsageError(told)
    for source in inputs if "output" in wanted else ():  # a store of results says it itself
        if source == "-" and sys.stdin is None:
            raise click.UsageError("-: standard input is closed; open it, or name a file.")
        if source != "-" and not os.path.exists(source):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)


def _same_file(path: str, other: str) -> bool:
    """Whether two names lead to one file, by whatever links."""
    try:
        return os.path.isfile(path) and os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def write_outputs(
    wanted: dict[str, str | None],
    fitted: CommandFit,
    told: Summary,
    *,
    command: str,
    title: str,
) -> dict[str, str]:
    """Write what was asked for; return the files by kind."""
    estimator = fitted.estimator
    data = fitted.data
    if path := wanted["model"]:
        from unispectral.persistence import save_model

        estimator.preparation_ = data.preparation
        save_model(estimator, path)
    if path := wanted["graph"]:
        from unispectral.graph.files import write_graph

        write_graph(path, estimator.affinity_matrix_, labels=fitted.labels, names=data.names)
    if path := wanted["report"]:
        from unispectral.report import write_report

        X, columns = (None, None) if data.is_graph else data.stack()
        write_report(
            path, estimator, X, labels=fitted.labels, columns=columns, names=data.names,
            truth=data.truth, title=title, command=command, seconds=round(fitted.seconds, 3),
            preparation=data.preparation, reading=data.reading, image_shape=data.image_shape,
            notes=data.notes, supplementary=data.supplementary, texts=fitted.texts, summary=told,
        )  # fmt: skip
    if path := wanted["output"]:
        from unispectral.tables._write import write_table

        known = ("membership_", "outlier_score_", "outlier_")
        found = [getattr(estimator, name, None) for name in known]
        write_table(path, label_columns(data, fitted.labels, *found, path=path))
    kinds = {"labels" if kind == "output" else kind: path for kind, path in wanted.items()}
    return {kind: path for kind, path in kinds.items() if path not in (None, "-")}


def label_columns(
    data: Input,
    labels: np.ndarray,
    membership: Any = None,
    outlier_score: Any = None,
    outlier: Any = None,
    names: Any = None,
    *,
    path: str = "-",
    ids: Any = None,
) -> dict[str, Any]:
    """Columns of the label file: which row, which cluster, how surely, how unlike the others.

    Where the table's own columns go in front, rows that were left out have no cluster. ``ids`` are
    the lasting numbers of the clusters of a model that was updated.
    """
    found: dict[str, Any] = {"cluster": labels if ids is None else ids[labels]}
    if membership is not None:
        found["membership"] = membership[range(len(labels)), labels].round(6)
    if outlier_score is not None:
        found["outlier_score"] = outlier_score.round(6)
    if outlier is not None:
        found["outlier"] = outlier.astype(int)
    if names is not None:
        found["name"] = names[labels]
    if data.original is not None:
        from unispectral.tables._append import append_columns

        numbers = Path(path).suffix.lower() in (".xlsx", ".json")
        return append_columns(data.original, data.rows, found, numbers=numbers)
    if data.names is not None:
        return {"id": data.names} | found
    positions = list(range(data.n_samples))
    if data.rows is not None:
        positions = data.rows.tolist()
    return {"row": [data.first + at for at in positions]} | found
