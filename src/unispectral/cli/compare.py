"""``unispectral compare``: methods side by side."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from unispectral.cli._methods import METHODS, MethodName
from unispectral.cli._options import (
    ClusterCount,
    debug_option,
    method_options,
    quiet_option,
    split_names,
    table_options,
)

__all__ = ["compare"]

_EPILOG = """\b
Examples:
  unispectral compare customers.csv -k 5 --scale standard
  unispectral compare customers.csv -k 5 --methods SCMK,kmeans,ward -o scores.csv
  unispectral compare digits.npz --key data --truth target -k 10 --json
"""
_DEFAULT = [name for name in METHODS if not name.endswith("-paper")]


class _Count(ClusterCount):
    """A number: methods that are compared must give the same number of clusters."""

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if value == "auto":
            self.fail("'auto' is for one method; give a number.", param, ctx)
        return super().convert(value, param, ctx)


@click.command(epilog=_EPILOG)
@click.argument("table")
@click.option("-k", "n_clusters", type=_Count(), required=True, help="Number of clusters.")
@click.option(
    "--methods",
    multiple=True,
    metavar="NAMES",
    help=f"Methods, with commas between. [default: {', '.join(_DEFAULT)}]",
)
@click.option("-o", "--output", metavar="FILE", help="Scores: .csv, .tsv, .json or .parquet.")
@click.option("--labels", metavar="FILE", help="Labels of all methods: .csv, .json, .parquet.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON on standard output.")
@table_options()
@method_options
@quiet_option
@debug_option
def compare(
    table: str,
    n_clusters: int,
    methods: tuple[str, ...],
    output: str | None,
    labels: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run several methods on a TABLE and show them side by side.

    Label-free scores tell how compact and separate the clusters are, the agreement how alike two
    methods group the rows (adjusted Rand index: 1 the same, 0 by chance). Known classes (--truth)
    are used for scores only. A method that fails says why, and the others go on.
    """
    from unispectral.cli._comparison import agreement, as_lines, run_all
    from unispectral.cli._input import gather
    from unispectral.cli._outputs import check_outputs
    from unispectral.cli._progress import say
    from unispectral.tables import write_table

    check_outputs({"output": output, "labels": labels})
    names = [MethodName().convert(name, None, None) for name in split_names(methods)] or _DEFAULT
    reading = ("format", "key", "separator", "header", "encoding", "missing")
    data = gather(
        [table],
        {},
        id=options["id_"],
        truth=options["truth"],
        columns=split_names(options["columns"]) or None,
        impute=options["impute"],
        scale=options["scale"],
        **{name: options[name] for name in reading},
    )
    for note in data.notes:
        say(note, quiet=quiet)
    runs = run_all(
        list(dict.fromkeys(names)),
        data,
        n_clusters,
        seed=options["seed"],
        jobs=options["jobs"],
        quiet=quiet,
    )
    good = [run for run in runs if run.failure is None]
    matrix = agreement(good)
    if output:
        keys = list(dict.fromkeys(key for run in good for key in run.scores))
        columns: dict[str, Any] = {"method": [run.method for run in runs]}
        columns["seconds"] = [round(run.seconds, 3) for run in runs]
        columns |= {key: [run.scores.get(key, float("nan")) for run in runs] for key in keys}
        columns["failure"] = [run.failure or "" for run in runs]
        write_table(output, columns)
    if labels:
        first = "row" if data.names is None else "id"
        who = range(data.n_samples) if data.names is None else data.names
        write_table(labels, {first: list(who), **{run.method: run.labels for run in good}})
    if as_json:
        told = {
            "methods": [run.plain() for run in runs],
            "agreement": {
                a.method: {b.method: float(matrix[i, j]) for j, b in enumerate(good)}
                for i, a in enumerate(good)
            },
        }
        sys.stdout.write(json.dumps(told, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write("\n".join(as_lines(runs, matrix)) + "\n")
    if not good:
        raise ValueError("No method could cluster this table; the reasons stand above.")
