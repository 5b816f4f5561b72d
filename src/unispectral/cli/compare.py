"""``unispectral compare``: methods side by side."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from unispectral.cli import _options
from unispectral.cli._methods import METHOD_NAME, METHODS, build_method
from unispectral.cli._outputs import check_outputs, echo_json, say

if TYPE_CHECKING:
    from unispectral.cli._input import Input

__all__ = ["compare"]

_EPILOG = """\b
Examples:
  unispectral compare customers.csv -k 5 --scale standard --agreement
  unispectral compare customers.csv -k 5 --methods unified,kmeans,ward -o scores.csv
  unispectral compare digits.npz --key data --truth target -k 10 --json
"""
_USUAL = [name for name, method in METHODS.items() if method.compared]
_METHODS = f"Methods, separated by commas. [default: {', '.join(_USUAL)}]"
_HEADS = {"calinski_harabasz": "C-H", "davies_bouldin": "D-B", "swapped_purity": "swapped"}
_HEADS |= {"accuracy": "ACC", "nmi": "NMI", "ari": "ARI"}
_KEY = "Larger is better (C-H: Calinski and Harabasz, D-B: minus Davies and Bouldin, cut: minus)."
#: Rows on which a method is run once before its time is taken, so that it is compiled.
_WARM = 120
_FAILURES = (ValueError, TypeError, MemoryError, ArithmeticError, ImportError)


@click.command(epilog=_EPILOG)
@click.argument("table")
@click.option("-k", "n_clusters", type=_options.NumberOfClusters(auto=False), required=True,
              help="Number of clusters.")  # fmt: skip
@_options.many_option("--methods", metavar="NAMES", help=_METHODS)
@_options.file_option("-o", "--output", help="Scores: .csv, .tsv, .json or .parquet.")
@click.option("--agreement", is_flag=True, help="Show how far any two methods agree.")
@_options.json_option
@_options.table_options()
@_options.method_options
@_options.output_options
def compare(table: str, n_clusters: int, as_json: bool, quiet: bool, **options: Any) -> None:
    """Run several methods on a TABLE and show them side by side, best first.

    The order is that of the accuracy if known classes are given (--truth, used for scores only),
    or else of the mean rank in the label-free scores, which tell how compact and separate the
    clusters are. Times are without compilation. A method that fails says why, and the others go
    on.
    """
    output = options["output"]
    check_outputs({"output": output}, [table], as_json=as_json)
    asked = [METHOD_NAME.convert(n, None, None) for n in _options.split_names(options["methods"])]
    names = list(dict.fromkeys(asked or _USUAL))
    import numpy as np
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from unispectral.cli._app import sentence
    from unispectral.cli._fit import fit, tell
    from unispectral.cli._input import gather
    from unispectral.model_selection import internal_scores
    from unispectral.tables._write import write_table

    data = gather([table], options)
    for note in data.notes:
        say(note, quiet=quiet)
    runs: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for position, name in enumerate(names, 1):
        say(f"{name} ({position} of {len(names)})", quiet=quiet)
        settings = {"seed": options["seed"], "jobs": options["jobs"]}
        try:
            with contextlib.suppress(*_FAILURES):
                fit(build_method(name, n_clusters, **settings), _few(data), name)
            fitted = fit(build_method(name, n_clusters, **settings), data, name)
        except _FAILURES as error:
            runs.append({"method": name, "failure": sentence(error)})
            continue
        found[name] = fitted.labels
        sizes = np.bincount(fitted.labels)
        run = tell(name, sizes, fitted.seconds, data.truth, fitted.labels)
        scores = internal_scores(data.stacked()[0], fitted.labels) | run.get("scores", {})
        finite = {k: float(v) if math.isfinite(v) else None for k, v in scores.items()}
        runs.append(run | {"scores": finite})
    runs = _best_first(runs)
    alike = {
        one: {other: float(adjusted_rand_score(a, b)) for other, b in found.items()}
        for one, a in found.items()
    }
    if output:
        rows = [
            {k: run.get(k) for k in ("method", "seconds")} | run.get("scores", {}) for run in runs
        ]
        frame = pd.DataFrame(rows).assign(failure=[run.get("failure", "") for run in runs])
        write_table(output, dict(frame.items()))
    if as_json:
        echo_json({"methods": runs, "verdict": _verdict(runs, alike), "agreement": alike})
    else:
        lines = [*_lines(runs), *([_verdict(runs, alike)] if found else [])]
        if options["agreement"] and len(found) > 1:
            lines += ["", "Agreement (adjusted Rand index: 1 the same, 0 by chance)"]
            lines += [pd.DataFrame(alike).to_string(float_format="{:.2f}".format)]
        click.echo("\n".join(lines), err=output == "-")
    if not found:
        raise ValueError("No method could cluster this table; the reasons are above.")


def _few(data: Input) -> Input:
    """Some of the rows, evenly spaced."""
    step = -(-data.n_samples // _WARM)
    parts = {view: replace(t, values=t.values[::step]) for view, t in data.tables.items()}
    return replace(data, tables=parts)


def _best_first(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By accuracy if classes are known, else by the mean rank in the scores; failures last."""
    import pandas as pd

    good = [run for run in runs if "scores" in run]
    frame = pd.DataFrame([run["scores"] for run in good], dtype=float)
    frame = frame[["accuracy"]] if "accuracy" in frame else frame
    order = frame.rank(ascending=False, na_option="bottom").sum(axis=1).argsort(kind="stable")
    return [good[i] for i in order] + [run for run in runs if "scores" not in run]


def _verdict(runs: list[dict[str, Any]], alike: dict[str, dict[str, float]]) -> str:
    """What the comparison comes to, in one sentence."""
    good = [run for run in runs if "scores" in run]
    if len(good) < 2:
        return "There is nothing to compare: one method was run." if good else ""
    if min(value for row in alike.values() for value in row.values()) > 0.9999:
        return f"All {len(good)} methods found the same clusters."
    first, second = good[:2]
    if "accuracy" not in first["scores"]:
        order = f"{first['method']} comes first, before {second['method']}"
        known = "they favour compact, round clusters, which need not be the right ones"
        return f"By the mean rank in these scores {order}; {known}."
    best = first["scores"]["accuracy"]
    equal = [run["method"] for run in good if run["scores"]["accuracy"] == best]
    if len(equal) > 1:
        named = f"{', '.join(equal[:-1])} and {equal[-1]}"
        return f"{named} come closest to the known classes, with an accuracy of {best:.3f} each."
    before = f"{second['method']} ({second['scores']['accuracy']:.3f})"
    won = f"{first['method']} comes closest to the known classes (accuracy {best:.3f})"
    return f"{won}, before {before}."


def _lines(runs: list[dict[str, Any]]) -> list[str]:
    """The table of scores, and what was not run."""
    import pandas as pd

    good = [run for run in runs if "scores" in run]
    lines: list[str] = []
    if good:
        rows = {run["method"]: {"seconds": run["seconds"], **run["scores"]} for run in good}
        frame = pd.DataFrame.from_dict(rows, orient="index", dtype=float)
        frame.columns = [_HEADS.get(key, key.replace("_", " ")) for key in frame]
        lines += [frame.to_string(float_format=_number, na_rep="–"), _KEY]
    lines += [f"{run['method']} was not run: {run['failure']}" for run in runs if "failure" in run]
    return [*lines, ""]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{round(value, 3) + 0.0:.3f}"
