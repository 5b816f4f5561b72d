"""``unispectral update``: further rows for a saved model."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unispectral.cli import _options
from unispectral.cli._outputs import check_outputs, echo_json, label_columns, say

if TYPE_CHECKING:
    import numpy as np

    from unispectral.cli._input import Input
    from unispectral.estimator import UnifiedSpectralClustering

__all__ = ["update"]

_EPILOG = """\b
Examples:
  unispectral cluster customers.csv --model m.unispectral
  unispectral update m.unispectral march.csv -o labels.csv
  unispectral update m.unispectral april.csv -o labels.csv --report page.html
  unispectral update m.unispectral may.csv --refit yes --model may.unispectral
"""
_REFIT = """Whether all rows are clustered anew: auto does so once there are a fifth more of them
than the last time."""
_REFITS: dict[str, Any] = {"auto": "auto", "yes": True, "no": False}


@click.command(epilog=_EPILOG)
@click.argument("model")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@_options.file_option(
    "-o", "--output", help="Labels of the new rows: .csv, .tsv, .json, .parquet, .xlsx or -."
)
@_options.append_option
@_options.file_option(
    "--model", "written", help="Where the model is written; its own file if not given."
)
@_options.file_option("--report", help="Page of all rows, with what has changed: one HTML file.")
@click.option("--refit", type=click.Choice(list(_REFITS)), default="auto", show_default=True,
              help=_REFIT)  # fmt: skip
@_options.json_option
@_options.table_options(prepare=False)
@_options.output_options
def update(
    model: str,
    tables: tuple[str, ...],
    output: str | None,
    written: str | None,
    report: str | None,
    refit: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Take the rows of a TABLE into a saved MODEL, and say what they change.

    The rows are read as unispectral predict reads them. They get the clusters of the model; rows
    that fit nowhere become a cluster of their own once they are a clear one; and now and then all
    rows are clustered anew, of which clusters keep their numbers as long as most of their rows
    stay together. The model is written last, and whole: if anything fails, it is as it was.
    """
    wanted = {"output": output, "report": report}
    if written is not None:
        wanted["model"] = written
    check_outputs(wanted, [model, *tables], as_json=as_json)
    _options.check_append(options["append"], output)
    from unispectral._errors import plural
    from unispectral.cli._fit import tell
    from unispectral.cli._input import columns_of, gather_new
    from unispectral.cli.predict import find_preparation
    from unispectral.living.report import describe_changes
    from unispectral.persistence import load_model, save_model
    from unispectral.tables._source import as_source

    estimator: Any = load_model(model)
    preparation = find_preparation(estimator)
    if not hasattr(estimator, "update"):
        raise ValueError(
            f"A {type(estimator).__name__} takes no further rows; fit it to all of them."
        )
    sources = [as_source(table) for table in tables]
    with columns_of(None):
        (data,) = gather_new(sources, preparation, options, None)
    for note in data.notes:
        say(note, quiet=quiet)
    begun = time.perf_counter()
    estimator.update(data.samples(), refit=_REFITS[refit])
    seconds = time.perf_counter() - begun
    labels = estimator.labels_[-data.n_samples :]
    if output is not None:
        _write_labels(output, data, estimator, labels)
    if report is not None:
        _write_page(report, estimator, tables)
    save_model(estimator, model if written is None else written)

    import numpy as np

    sizes = np.bincount(estimator.labels_, minlength=estimator.n_clusters_)
    changes = describe_changes(estimator)
    summary = tell(type(estimator).__name__, sizes, seconds)
    summary |= {"n_new": data.n_samples, "ids": estimator.cluster_ids_.tolist()}
    summary["changes"] = changes
    if as_json:
        echo_json(summary)
    elif not (quiet and output == "-"):
        rows = plural(data.n_samples, "row")
        kept = ", ".join(
            path for path in (output, report, written or model) if path not in (None, "-")
        )
        lines = [
            f"Took in {rows}; {len(labels):,} of {sizes.sum():,} are new ({seconds:.1f} s).",
            "",
        ]
        lines += [*changes, "", f"Wrote {kept}."]
        click.echo("\n".join(lines), err=output == "-")


def _write_labels(
    output: str, data: Input, estimator: UnifiedSpectralClustering, labels: np.ndarray
) -> None:
    """The clusters of the new rows, by their lasting numbers."""
    from unispectral.report._summary import given_names
    from unispectral.tables._write import write_table

    rows = slice(-data.n_samples, None)
    named = any(given_names(estimator, estimator.n_clusters_))
    columns = label_columns(
        data,
        labels,
        estimator.membership_[rows],
        estimator.outlier_score_[rows],
        estimator.outlier_[rows],
        estimator.cluster_names_ if named else None,
        path=output,
        ids=estimator.cluster_ids_,
    )
    write_table(output, columns)


def _write_page(report: str, estimator: object, tables: tuple[str, ...]) -> None:
    """The page of all rows of the model, as far as it knows them."""
    from unispectral.living.report import held_columns
    from unispectral.report import write_report

    X, columns = held_columns(estimator)
    title = " + ".join("standard input" if one == "-" else Path(one).name for one in tables)
    command = shlex.join(["unispectral", *sys.argv[1:]])
    write_report(report, estimator, X, columns=columns, title=title, command=command)
