"""``unispectral predict``: new rows in the clusters of a saved model."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from unispectral.cli._options import debug_option, quiet_option, table_options

__all__ = ["predict"]

_EPILOG = """\b
Examples:
  unispectral cluster customers.csv -k 5 --scale standard --model m.unispectral
  unispectral predict m.unispectral new_customers.csv -o labels.csv
  unispectral predict m.unispectral new_customers.csv --id name -o - | head
"""


@click.command(epilog=_EPILOG)
@click.argument("model")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE...")
@click.option("-o", "--output", metavar="FILE", help="Labels: .csv, .tsv, .json, .parquet or -.")
@click.option("--json", "as_json", is_flag=True, help="Summary as JSON on standard output.")
@table_options(prepare=False)
@quiet_option
@debug_option
def predict(
    model: str,
    tables: tuple[str, ...],
    output: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Put the rows of a TABLE into the clusters of a saved MODEL.

    The model knows its columns, and how they were filled and scaled: columns are found by name,
    others are left out. A model of several views takes one table with all columns, or one table
    for each view in the order of the fit. The labels come with how much each row belongs to its
    cluster, and how unlike the rows of the fit it is.
    """
    from unispectral.cli._outputs import check_outputs, label_columns
    from unispectral.cli._progress import say
    from unispectral.persistence import load_model
    from unispectral.tables import write_table

    if output == "-" and as_json:
        raise click.UsageError("-o - and --json both want standard output; give one a file.")
    check_outputs({"output": output})
    estimator = load_model(model)
    if not hasattr(estimator, "predict"):
        raise ValueError(
            f"The model is of the method {type(estimator).__name__}, which cannot place new rows; "
            "fit SCMK or SCSK."
        )
    data = _read_new(tables, estimator, options)
    for note in data.notes:
        say(note, quiet=quiet)
    begun = time.perf_counter()
    labels = estimator.predict(data.samples())
    summary = _summary(estimator, labels, data.truth, time.perf_counter() - begun)
    if output:
        membership = estimator.predict_membership(data.samples())
        outlier_score = estimator.predict_outlier_score(data.samples())
        write_table(output, label_columns(data, labels, membership, outlier_score))
    if as_json:
        sys.stdout.write(json.dumps(summary, ensure_ascii=False, indent=1) + "\n")
    elif not (quiet and output == "-"):
        stream = sys.stderr if output == "-" else sys.stdout
        stream.write("\n".join(_lines(summary, output)) + "\n")


def _read_new(tables: tuple[str, ...], estimator: Any, options: dict[str, Any]) -> Any:
    from unispectral.cli._input import gather_new

    preparation = getattr(estimator, "preparation_", None)
    if not isinstance(preparation, list) or not all(isinstance(p, dict) for p in preparation):
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError(
                "The model was not saved by `unispectral cluster --model` and does not know the "
                "names of its columns; load it in Python with unispectral.persistence.load_model."
            )
        plain = {"columns": list(names), "scale": "none"}
        preparation = [{"view": "", "centre": None, "spread": None, "fill": None, **plain}]
    reading = ("format", "key", "separator", "header", "encoding", "missing")
    return gather_new(
        tables,
        preparation,
        id=options["id_"],
        truth=options["truth"],
        **{name: options[name] for name in reading},
    )


def _summary(estimator: Any, labels: Any, truth: Any, seconds: float) -> dict[str, Any]:
    import numpy as np

    count = int(getattr(estimator, "n_clusters_", labels.max() + 1))
    sizes = np.bincount(labels, minlength=count)
    summary: dict[str, Any] = {
        "method": type(estimator).__name__,
        "n_samples": len(labels),
        "n_clusters": count,
        "sizes": sizes.tolist(),
        "seconds": round(seconds, 3),
    }
    if truth is not None:
        from unispectral.metrics import scores

        summary["scores"] = {name: float(v) for name, v in scores(truth, labels).items()}
    return summary


def _lines(summary: dict[str, Any], output: str | None) -> list[str]:
    from unispectral.cli._summary import score_line, size_lines

    count = summary["n_samples"]
    rows = "1 row" if count == 1 else f"{count:,} rows"
    lines = [f"{summary['method']} placed {rows} ({summary['seconds']:.1f} s).", ""]
    lines += size_lines(summary["sizes"])
    if "scores" in summary:
        lines += ["", score_line(summary["scores"])]
    if output not in (None, "-"):
        lines += ["", f"Wrote {output}."]
    return lines
