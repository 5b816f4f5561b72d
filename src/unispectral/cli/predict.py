"""``unispectral predict``: new rows in the clusters of a saved model."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from unispectral.cli import _options
from unispectral.cli._outputs import check_outputs, echo_json, label_columns, say

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from unispectral.cli._input import Input

__all__ = ["find_preparation", "predict"]

#: Values of a table that are in memory at a time.
_ENTRIES = 2**21

_EPILOG = """\b
Examples:
  unispectral cluster customers.csv -k 5 --model m.unispectral
  unispectral predict m.unispectral new_customers.csv -o labels.csv
  unispectral predict m.unispectral new_customers.csv --id name -o - | head
"""


@click.command(epilog=_EPILOG)
@click.argument("model")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@_options.file_option("-o", "--output", help="Labels: .csv, .tsv, .json, .parquet, .xlsx or -.")
@_options.append_option
@_options.json_option
@_options.table_options(prepare=False)
@_options.output_options
def predict(
    model: str,
    tables: tuple[str, ...],
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Put the rows of a TABLE into the clusters of a saved MODEL.

    The model knows its columns, which of them names the rows, and how they were encoded, filled
    and scaled: columns are found by name, others are left out. A model of several views takes one
    table with all columns, or one table for each view in the order of the fit. The labels come
    with how much each row belongs to its cluster, and how unlike the rows of the fit it is. One
    table of CSV, Parquet or .npy is read and answered block by block, however large it is.
    """
    check_outputs({"output": output}, [model, *tables], as_json=as_json)
    _options.check_append(options["append"], output)
    from unispectral._errors import plural
    from unispectral.cli._fit import size_lines
    from unispectral.cli._input import columns_of, gather_new
    from unispectral.persistence import load_model
    from unispectral.tables._read import MixedColumnError
    from unispectral.tables._source import as_source

    estimator = load_model(model)
    name = type(estimator).__name__
    preparation = find_preparation(estimator)
    sources = [as_source(table) for table in tables]
    with columns_of(None):
        try:
            blocks = gather_new(sources, preparation, options, _ENTRIES)
            summary = _assign(blocks, estimator, output, quiet=quiet)
        except MixedColumnError:  # only the whole column says whether it is text
            blocks = gather_new(sources, preparation, options, None)
            summary = _assign(blocks, estimator, output, quiet=quiet)
    if as_json:
        echo_json(summary)
    elif not (quiet and output == "-"):
        rows = plural(summary["n_samples"], "row")
        lines = [f"{name} assigned {rows} ({summary['seconds']:.1f} s).", *size_lines(summary)]
        if output not in (None, "-"):
            lines += ["", f"Wrote {output}."]
        click.echo("\n".join(lines), err=output == "-")


def _assign(
    blocks: Iterable[Input], estimator: BaseEstimator, output: str | None, *, quiet: bool
) -> dict[str, Any]:
    """Predict and write block by block; the sizes of the clusters in all."""
    import numpy as np

    from unispectral._run import Progress
    from unispectral.cli._fit import tell
    from unispectral.report._summary import given_names
    from unispectral.tables._write import table_writer

    progress = Progress(not quiet and sys.stderr is not None)
    limits = getattr(estimator, "outlier_threshold_", None)
    named = any(given_names(estimator, estimator.n_clusters_))
    if named:
        names = estimator.cluster_names_
    else:
        names = None
    ids = getattr(estimator, "cluster_ids_", None)
    sizes = np.zeros(estimator.n_clusters_, dtype=np.int64)
    known: list[tuple[np.ndarray, np.ndarray]] = []
    notes: list[tuple[int, list[str]]] = []
    seconds = 0.0
    with table_writer(output) if output else contextlib.nullcontext() as write:
        for data in blocks:
            begun = time.perf_counter()
            found = estimator.predict_all(data.samples())
            seconds += time.perf_counter() - begun
            sizes += np.bincount(found.labels, minlength=len(sizes))
            if data.truth is not None:
                known.append((data.truth, found.labels))
            if write is not None:
                scores = found.membership, found.outlier_score
                if limits is None:
                    outlier = None
                else:
                    outlier = found.outlier_score > limits[found.labels]
                results = label_columns(
                    data, found.labels, *scores, outlier, names, path=str(output), ids=ids
                )
                write(results)
            notes.append((data.first, data.notes))
            done = data.first + data.n_read
            if data.first or done < (data.total or 0):
                progress("new rows", done, data.total, "" if data.total else f"{done:,}")
    progress.close()
    for note in notes[0][1] if len(notes) == 1 else _by_block(notes, data, done):
        say(note, quiet=quiet)
    both = map(np.concatenate, zip(*known, strict=True))
    return tell(type(estimator).__name__, sizes, seconds, *both)


def _by_block(notes: list[tuple[int, list[str]]], data: Input, n_rows: int) -> list[str]:
    """What was noticed in each block, under one heading for the whole table."""
    lines = data.headings(n_rows)
    ends = [first - 1 for first, _ in notes[1:]] + [n_rows - 1]
    for (first, block), last in zip(notes, ends, strict=True):
        more = [f"  {line}" for line in block if line.startswith(" ")]
        lines += [f"  Rows {first:,} to {last:,}:", *more] if more else []
    return lines


def find_preparation(model: object) -> list[dict[str, Any]]:
    """How the tables of the fit were made ready."""
    from unispectral.tables._preparation import Preparation

    saved = getattr(model, "preparation_", None)
    if isinstance(saved, list) and all(isinstance(part, dict) for part in saved):
        return saved
    if hasattr(model, "steps"):
        raise ValueError("The model is a pipeline; load it in Python with unispectral.load_model.")
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "The model does not know the names of its columns, because it was fitted to an array; "
            "fit it to a frame, or load it in Python with unispectral.load_model."
        )
    return [{"view": "", **Preparation(tuple(map(str, names))).to_dict()}]
