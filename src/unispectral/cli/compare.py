"""``unispectral compare``: methods side by side."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from pathlib import Path
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
#: Scores have as many decimals; those of a column in which one is large have none.
_DECIMALS, _LARGE = 3, 100
_FAILURES = (ValueError, TypeError, MemoryError, ArithmeticError, ImportError)


@click.command(epilog=_EPILOG)
@click.argument("table")
@click.option("-k", "n_clusters", type=_options.NumberOfClusters(auto=False), required=True,
              help="Number of clusters.")  # fmt: skip
@_options.many_option("--methods", metavar="NAMES", help=_METHODS)
@_options.file_option("-o", "--output", help="Scores: .csv, .tsv, .json or .parquet.")
@_options.file_option("--report", help="Page to look at: one HTML file, works offline.")
@click.option("--seeds", type=click.IntRange(1, 50), default=3, show_default=True,
              help="Runs of each method that depends on its seed.")  # fmt: skip
@click.option("--agreement", is_flag=True, help="Show how far any two methods agree.")
@_options.json_option
@_options.table_options()
@_options.method_options
@_options.output_options
def compare(table: str, n_clusters: int, as_json: bool, quiet: bool, **options: Any) -> None:
    """Run several methods on a TABLE and show them side by side, best first.

    The order is that of the accuracy if known classes are given (--truth, used for scores only),
    or else of the mean rank in the label-free scores, which tell how compact and separate the
    clusters are. All methods get the same columns, standardised where one or two would decide
    alone. Scores are means over seeds, with their standard deviations. Times are without
    compilation. A method that fails says why, and the others go on.
    """
    output = options["output"]
    report = options["report"]
    check_outputs({"output": output, "report": report}, [table], as_json=as_json)
    asked = [METHOD_NAME.convert(n, None, None) for n in _options.split_names(options["methods"])]
    names = list(dict.fromkeys(asked or _USUAL))
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from unispectral.cli._app import sentence
    from unispectral.cli._input import gather
    from unispectral.tables._write import write_table

    data = gather([table], options)
    for note in data.notes:
        say(note, quiet=quiet)
    data, prepared = _prepare(data)
    runs: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for position, name in enumerate(names, 1):
        say(f"{name} ({position} of {len(names)})", quiet=quiet)
        try:
            run, found[name] = _run_seeds(name, n_clusters, data, options)
        except _FAILURES as error:
            run = {"method": name, "failure": sentence(error)}
        runs.append(run)
    runs = _best_first(runs)
    alike = {
        one: {other: float(adjusted_rand_score(a, b)) for other, b in found.items()}
        for one, a in found.items()
    }
    if output:
        rows = [
            {k: run.get(k) for k in ("method", "seconds", "seeds")}
            | run.get("scores", {})
            | {f"{name}_sd": value for name, value in run.get("spread", {}).items()}
            for run in runs
        ]
        frame = pd.DataFrame(rows).assign(failure=[run.get("failure", "") for run in runs])
        write_table(output, dict(frame.items()))
    verdict = _verdict(runs, alike)
    told = {"methods": runs, "verdict": verdict, "agreement": alike, "columns": prepared}
    if report:
        _write_page(report, told | {"table": Path(table).name, "n_clusters": n_clusters})
    if as_json:
        echo_json(told)
    else:
        lines = [*_lines(runs), prepared, *([verdict] if found else [])]
        if options["agreement"] and len(found) > 1:
            lines += ["", "Agreement (adjusted Rand index: 1 the same, 0 by chance)"]
            lines += [pd.DataFrame(alike).to_string(float_format="{:.2f}".format)]
        click.echo("\n".join(lines), err=output == "-")
    if not found:
        raise ValueError("No method could cluster this table; the reasons are above.")


def _prepare(data: Input) -> tuple[Input, str]:
    """The columns that all methods get, prepared as the label-free model does, and how."""
    import numpy as np
    import scipy.sparse as sp

    from unispectral.labelfree._scaling import scaling_of

    ((view, table),) = data.tables.items()
    values = table.values
    shift, reason = scaling_of(values, "auto")
    if sp.issparse(values) or shift is None or not shift.is_standardised:
        return data, "All methods get the same columns."
    values = np.asarray(values, dtype=np.float64)
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    told = f"All methods get the same columns, {reason}."
    return replace(data, tables={view: replace(table, values=scaled)}), told


def _run_seeds(
    name: str, n_clusters: int, data: Input, options: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    """One method with several seeds, or once if these change nothing; labels of the first."""
    import numpy as np
    from sklearn.metrics import adjusted_rand_score

    from unispectral.cli._fit import fit, tell
    from unispectral.model_selection import internal_scores

    settings: dict[str, Any] = {"jobs": options["jobs"]}
    if METHODS[name].auto:
        settings["parameters"] = {"scaling": "none"}  # the columns are ready
    X = data.stack()[0]
    scores: list[dict[str, float]] = []
    labels: Any = None
    seconds = []
    for seed in range(options["seed"], options["seed"] + options["seeds"]):
        if labels is None:
            with contextlib.suppress(*_FAILURES):
                fit(build_method(name, n_clusters, seed=seed, **settings), _few(data), name)
        fitted = fit(build_method(name, n_clusters, seed=seed, **settings), data, name)
        if len(scores) == 1 and adjusted_rand_score(labels, fitted.labels) == 1.0:
            break  # the seed changes nothing
        if labels is None:
            labels = fitted.labels
        seconds.append(fitted.seconds)
        sizes = np.bincount(fitted.labels)
        run = tell(name, sizes, fitted.seconds, data.truth, fitted.labels)
        scores.append(internal_scores(X, fitted.labels) | run.get("scores", {}))
    told = tell(name, np.bincount(labels), float(np.mean(seconds)))
    told |= {"seeds": len(scores), "scores": {}, "spread": {}}
    for key in scores[0]:
        values = np.array([one[key] for one in scores], dtype=float)
        mean = float(values.mean())
        if math.isfinite(mean):
            told["scores"][key] = mean
            told["spread"][key] = float(values.std())
        else:
            told["scores"][key] = None
            told["spread"][key] = None
    return told, labels


def _write_page(path: str, told: dict[str, Any]) -> None:
    """The comparison as a page."""
    from unispectral._files import write_text_atomic
    from unispectral.report._page import asset, build_page

    title = f"Methods on {told['table']}"
    heads = {key: _HEADS.get(key, key.replace("_", " ")) for run in told["methods"]
             for key in run.get("scores", {})}  # fmt: skip
    write_text_atomic(
        path, build_page(title, told | {"heads": heads}, asset("compare.css"), asset("compare.js"))
    )


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
    if "accuracy" in frame:
        frame = frame[["accuracy"]]
    order = frame.rank(ascending=False, na_option="bottom").sum(axis=1).argsort(kind="stable")
    return [good[i] for i in order] + [run for run in runs if "scores" not in run]


def _verdict(runs: list[dict[str, Any]], alike: dict[str, dict[str, float]]) -> str:
    """What the comparison comes to, in one sentence."""
    good = [run for run in runs if "scores" in run]
    if len(good) < 2:
        if good:
            return "There is nothing to compare: one method was run."
        return ""
    if min(value for row in alike.values() for value in row.values()) > 0.9999:
        number = "Both" if len(good) == 2 else f"All {len(good)}"
        return f"{number} methods found the same clusters."
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
    before = f"{second['method']} ({_with_spread(second, 'accuracy')})"
    won = f"{first['method']} comes closest to the known classes"
    won += f" (accuracy {_with_spread(first, 'accuracy')})"
    spread = first["spread"]["accuracy"] + second["spread"]["accuracy"]
    if best - second["scores"]["accuracy"] < spread:
        return f"{won}, before {before}, but by less than other seeds change."
    return f"{won}, before {before}."


def _with_spread(run: dict[str, Any], key: str, decimals: int = _DECIMALS) -> str:
    """A mean, with its standard deviation where seeds differ."""
    value = run["scores"][key]
    spread = run["spread"][key]
    if value is None:
        return "–"
    return _number(value, decimals) + (
        f" ± {_number(spread, decimals)}" if run["seeds"] > 1 else ""
    )


def _decimals_of(runs: list[dict[str, Any]], key: str) -> int:
    """The decimals of a score: none where a method has a large one."""
    known = [abs(value) for run in runs if (value := run["scores"][key]) is not None]
    return 0 if known and max(known) >= _LARGE else _DECIMALS


def _lines(runs: list[dict[str, Any]]) -> list[str]:
    """The table of scores, and what was not run."""
    import pandas as pd

    good = [run for run in runs if "scores" in run]
    lines: list[str] = []
    if good:
        decimals = {key: _decimals_of(good, key) for key in good[0]["scores"]}
        rows = {
            run["method"]: {"seconds": _number(run["seconds"])}
            | {key: _with_spread(run, key, decimals[key]) for key in run["scores"]}
            for run in good
        }
        frame = pd.DataFrame.from_dict(rows, orient="index")
        frame.columns = [_HEADS.get(key, key.replace("_", " ")) for key in frame]
        lines += [frame.to_string(na_rep="–"), _KEY]
    lines += [f"{run['method']} was not run: {run['failure']}" for run in runs if "failure" in run]
    return [*lines, ""]


def _number(value: float, decimals: int = _DECIMALS) -> str:
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
