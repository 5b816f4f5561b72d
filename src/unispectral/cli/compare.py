"""``unispectral compare``: methods side by side."""

from __future__ import annotations

import math
from typing import Any

import click

from unispectral.cli._methods import METHOD_NAME, METHODS, build_method
from unispectral.cli._options import (
    NumberOfClusters,
    debug_option,
    method_options,
    quiet_option,
    split_names,
    table_options,
)
from unispectral.cli._outputs import check_outputs, echo_json, row_names, say

__all__ = ["compare"]

_EPILOG = """\b
Examples:
  unispectral compare customers.csv -k 5 --scale standard
  unispectral compare customers.csv -k 5 --methods unified,kmeans,ward -o scores.csv
  unispectral compare digits.npz --key data --truth target -k 10 --json
"""
_USUAL = [name for name, method in METHODS.items() if method.compared]
_HEADS = {"calinski_harabasz": "C-H", "davies_bouldin": "D-B", "swapped_purity": "swapped"}
_HEADS |= {"accuracy": "ACC", "nmi": "NMI", "ari": "ARI"}
_KEY = "Larger is better (C-H: Calinski and Harabasz, D-B: minus Davies and Bouldin, cut: minus)."


@click.command(epilog=_EPILOG)
@click.argument("table")
@click.option(
    "-k",
    "n_clusters",
    type=NumberOfClusters(auto=False),
    required=True,
    help="Number of clusters.",
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
    asked = [METHOD_NAME.convert(name, None, None) for name in split_names(methods)] or _USUAL
    from sklearn.metrics import adjusted_rand_score

    from unispectral.cli._app import sentence
    from unispectral.cli._fit import fit
    from unispectral.cli._input import gather
    from unispectral.cli._summary import count_clusters
    from unispectral.model_selection import internal_scores
    from unispectral.tables import write_table

    data = gather([table], options)
    for note in data.notes:
        say(note, quiet=quiet)
    names = list(dict.fromkeys(asked))
    runs: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for position, name in enumerate(names, 1):
        say(f"{name} ({position} of {len(names)})", quiet=quiet)
        try:
            estimator = build_method(name, n_clusters, seed=options["seed"], jobs=options["jobs"])
            fitted = fit(estimator, data, name)
        except (ValueError, TypeError, MemoryError, ArithmeticError, ImportError) as error:
            runs.append({"method": name, "failure": sentence(error)})
            continue
        found[name] = fitted.labels
        run = count_clusters(name, fitted.labels, data.truth, fitted.seconds)
        scores = internal_scores(data.stacked()[0], fitted.labels) | run.get("scores", {})
        runs.append(run | {"scores": {k: _finite(value) for k, value in scores.items()}})
    agreement = {
        one: {other: float(adjusted_rand_score(a, b)) for other, b in found.items()}
        for one, a in found.items()
    }
    if output:
        keys = dict.fromkeys(key for run in runs for key in run.get("scores", {}))
        columns: dict[str, Any] = {"method": names, "seconds": [r.get("seconds") for r in runs]}
        columns |= {key: [run.get("scores", {}).get(key) for run in runs] for key in keys}
        write_table(output, columns | {"failure": [run.get("failure", "") for run in runs]})
    if labels and found:
        write_table(labels, row_names(data) | found)
    if as_json:
        echo_json({"methods": runs, "agreement": agreement})
    else:
        click.echo("\n".join(_lines(runs, agreement)), err=output == "-")
    if not found:
        raise ValueError("No method could cluster this table; the reasons stand above.")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _lines(runs: list[dict[str, Any]], agreement: dict[str, dict[str, float]]) -> list[str]:
    """Two tables: scores, and agreement; then what was not run."""
    import pandas as pd

    good = [run for run in runs if "scores" in run]
    lines: list[str] = []
    if good:
        rows = {run["method"]: {"seconds": run["seconds"], **run["scores"]} for run in good}
        frame = pd.DataFrame.from_dict(rows, orient="index", dtype=float)
        frame.columns = [_HEADS.get(key, key.replace("_", " ")) for key in frame]
        lines += [frame.to_string(float_format=_number, na_rep="–"), _KEY]
    if len(good) > 1:
        table = pd.DataFrame(agreement).to_string(float_format="{:.2f}".format)
        lines += ["", "Agreement (adjusted Rand index)", table]
    for run in runs:
        if "failure" in run:
            lines += ["", f"{run['method']} was not run: {run['failure']}"]
    return lines


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 3) + 0.0:.3f}"
