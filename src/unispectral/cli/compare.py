"""``unispectral compare``: methods side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from unispectral.cli._methods import METHODS, MethodName, build_method
from unispectral.cli._options import (
    ClusterCount,
    debug_option,
    method_options,
    quiet_option,
    split_names,
    table_options,
)
from unispectral.cli._outputs import check_outputs, echo_json, label_columns
from unispectral.cli._progress import say

if TYPE_CHECKING:
    from unispectral.cli._input import Input

__all__ = ["compare"]

_EPILOG = """\b
Examples:
  unispectral compare customers.csv -k 5 --scale standard
  unispectral compare customers.csv -k 5 --methods SCMK,kmeans,ward -o scores.csv
  unispectral compare digits.npz --key data --truth target -k 10 --json
"""
_USUAL = [name for name, method in METHODS.items() if method.compared]
_HEADS = {"calinski_harabasz": "C-H", "davies_bouldin": "D-B", "swapped_purity": "swapped"}
_HEADS |= {"accuracy": "ACC", "nmi": "NMI", "ari": "ARI"}
_KEY = "Larger is better (C-H: Calinski and Harabasz, D-B: minus Davies and Bouldin, cut: minus)."


@dataclass
class _Run:
    """One method on the table, or why it could not be run."""

    method: str
    labels: Any = None
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    failure: str = ""

    def plain(self) -> dict[str, Any]:
        """What JSON takes."""
        if self.failure:
            return {"method": self.method, "failure": self.failure}
        import numpy as np

        return {
            "method": self.method,
            "seconds": round(self.seconds, 3),
            "sizes": np.bincount(self.labels).tolist(),
            "scores": {k: v if math.isfinite(v) else None for k, v in self.scores.items()},
        }


@click.command(epilog=_EPILOG)
@click.argument("table")
@click.option(
    "-k", "n_clusters", type=ClusterCount(auto=False), required=True, help="Number of clusters."
)
@click.option(
    "--methods",
    multiple=True,
    metavar="NAMES",
    help=f"Methods, with commas between. [default: {', '.join(_USUAL)}]",
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
    check_outputs({"output": output, "labels": labels}, [table], as_json=as_json)
    names = [MethodName().convert(name, None, None) for name in split_names(methods)] or _USUAL
    from sklearn.metrics import adjusted_rand_score

    from unispectral.cli._input import gather
    from unispectral.tables import write_table

    data = gather([table], options)
    for note in data.notes:
        say(note, quiet=quiet)
    names = list(dict.fromkeys(names))
    runs = []
    for position, name in enumerate(names, 1):
        say(f"{name} ({position} of {len(names)})", quiet=quiet)
        runs.append(_run(name, n_clusters, data, options))
    good = [run for run in runs if not run.failure]
    agreement = {
        a.method: {b.method: float(adjusted_rand_score(a.labels, b.labels)) for b in good}
        for a in good
    }
    if output:
        columns: dict[str, Any] = {"method": [run.method for run in runs]}
        columns["seconds"] = [round(run.seconds, 3) for run in runs]
        for key in dict.fromkeys(key for run in good for key in run.scores):
            columns[key] = [run.scores.get(key, math.nan) for run in runs]
        write_table(output, columns | {"failure": [run.failure for run in runs]})
    if labels and good:
        first = label_columns(data, good[0].labels)
        del first["cluster"]
        write_table(labels, first | {run.method: run.labels for run in good})
    if as_json:
        echo_json({"methods": [run.plain() for run in runs], "agreement": agreement})
    else:
        click.echo("\n".join(_lines(runs, good, agreement)), err=output == "-")
    if not good:
        raise ValueError("No method could cluster this table; the reasons stand above.")


def _run(method: str, n_clusters: int, data: Input, options: dict[str, Any]) -> _Run:
    from unispectral.cli._app import sentence
    from unispectral.cli._fit import fit
    from unispectral.metrics import scores
    from unispectral.model_selection import internal_scores

    try:
        estimator = build_method(method, n_clusters, seed=options["seed"], jobs=options["jobs"])
        fitted = fit(estimator, data, method)
    except (ValueError, TypeError, MemoryError, ArithmeticError, ImportError) as error:
        return _Run(method, failure=sentence(error))
    found = dict(internal_scores(data.stacked()[0], fitted.labels))
    if data.truth is not None:
        found |= scores(data.truth, fitted.labels)
    plain = {name: float(value) for name, value in found.items()}
    return _Run(method, fitted.labels, fitted.seconds, plain)


def _lines(
    runs: list[_Run], good: list[_Run], agreement: dict[str, dict[str, float]]
) -> list[str]:
    """Two tables: scores, and agreement; then what was not run."""
    width = max(len(run.method) for run in runs) + 2
    lines = []
    if good:
        keys = list(dict.fromkeys(key for run in good for key in run.scores))
        heads = [f"{_HEADS.get(key, key.replace('_', ' ')):>7}" for key in keys]
        lines.append(f"{'method':<{width}}{'seconds':>8}  " + "  ".join(heads))
        for run in good:
            cells = [
                f"{_number(run.scores.get(key)):>{len(head)}}"
                for key, head in zip(keys, heads, strict=True)
            ]
            lines.append(f"{run.method:<{width}}{run.seconds:>8.2f}  " + "  ".join(cells))
        lines.append(_KEY)
    if len(good) > 1:
        lines += ["", "Agreement (adjusted Rand index)"]
        cell = max(7, max(len(run.method) for run in good) + 1)
        lines.append(" " * width + "".join(f"{run.method:>{cell}}" for run in good))
        for name, row in agreement.items():
            lines.append(f"{name:<{width}}" + "".join(f"{v:>{cell}.2f}" for v in row.values()))
    for run in runs:
        if run.failure:
            lines += ["", f"{run.method} was not run: {run.failure}"]
    return lines


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 3) + 0.0:.3f}"
