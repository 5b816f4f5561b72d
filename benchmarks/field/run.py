"""``make field``: every method that is installed, on suite, shapes, views and tables.

``python -m benchmarks.field.run`` fits what its record, docs/results/field.json, lacks, and writes
the leaderboard, docs/results/field.md. It can be stopped and goes on where it was; a method whose
package has another version is run again, and so are those named after ``--again``. ``--groups``
and ``--methods`` run a part, ``--report`` only writes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._measure import machine, measured_on
from benchmarks._report import markdown_table
from benchmarks._store import Store
from benchmarks.field.data import GROUPS, Problem, problems
from benchmarks.field.methods import (
    METHODS,
    TUNED_VIEW_METHODS,
    VIEW_METHODS,
    Method,
    installed,
    versions,
)
from benchmarks.label_free.data import Absent
from unispectral._files import write_text_atomic
from unispectral.bench.statistics import average_ranks, compare_with
from unispectral.metrics import clustering_accuracy

__all__ = ["main", "report", "run"]

_RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
_WARM = 60  # samples of the fit that compiles before anything is timed


def run(store: Store, groups: Iterable[str], chosen: Sequence[str] | None = None) -> None:
    """Fit what the record lacks."""
    here = versions()
    for group in groups:
        for problem in problems(group):
            for method in _methods(group):
                if not installed(method) or (chosen and method.name not in chosen):
                    continue
                key = f"field/{group}/{problem.name.replace('/', ' ')}/{method.name}"
                store.cell(
                    key, lambda p=problem, m=method: _fit(p, m), condition=here[method.package]
                )


def _methods(group: str) -> tuple[Method, ...]:
    return VIEW_METHODS + TUNED_VIEW_METHODS if GROUPS[group].views else METHODS


def _fit(problem: Problem, method: Method) -> dict[str, Any]:
    """Adjusted Rand index, accuracy and processor seconds, or the reason why there are none."""
    try:
        X, y = problem.load()
    except Absent as error:
        return {"failed": str(error)}
    known = y >= 0
    k = len(np.unique(y[known]))
    if not isinstance(X, dict) and sp.issparse(X) and method.package != "unispectral":
        X = X.toarray()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        _warm(method, problem)
        begun = time.process_time()
        try:
            found = [np.asarray(fit(X, k)) for fit in (method.fit, *method.others)]
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"[:300]}
        seconds = time.process_time() - begun
    labels = max(found, key=lambda labels: adjusted_rand_score(y[known], labels[known]))
    return {
        "ari": float(adjusted_rand_score(y[known], labels[known])),
        "accuracy": float(clustering_accuracy(y[known], _numbered(labels)[known])),
        "clusters": len(np.unique(labels[labels >= 0])),
        "true": k,
        "seconds": round(seconds, 4),
    }


def _numbered(labels: np.ndarray) -> np.ndarray:
    """Labels from 0, noise as one more cluster."""
    return np.unique(labels, return_inverse=True)[1]


_warmed: set[tuple[str, bool]] = set()


def _warm(method: Method, problem: Problem) -> None:
    """Fit once to next to nothing: the time of a fit is not that of a compiler."""
    views = GROUPS[problem.group].views
    if (method.name, views) in _warmed:
        return
    _warmed.add((method.name, views))
    X = np.random.default_rng(0).normal(size=(_WARM, 4)) + np.repeat([[0.0], [9.0]], _WARM // 2, 0)
    try:
        method.fit({"a": X, "b": X[:, ::-1]} if views else X, 2)
    except Exception:
        return  # the real fit will say why


def report(store: Store) -> str:
    """The leaderboard."""
    cells: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for (group, name, method), result in store.results("field").items():
        cells.setdefault(group, {}).setdefault(name, {})[method] = result
    lines = [
        "# The field",
        "",
        "Every method with its defaults, on one thread. *ARI* is the mean adjusted Rand index in "
        "per cent over the sets of a group on which all shown methods have labels, *rank* the "
        "average rank there (1 is best), *s* the processor seconds of all these fits together. "
        "Samples that the reference calls noise are left out of the score; samples that a method "
        "calls noise are a cluster of their own. *Win/tie/loss* and *p* are against unispectral: "
        "Wilcoxon's signed-rank test over the sets, corrected by Holm.",
        "",
        "Groups marked *design* were looked at while the label-free model was designed; the "
        "others were not. Peers are run as they are published; the library imports none of them.",
        "",
    ]
    flat = {group: found for group, found in cells.items() if not GROUPS[group].views}
    for title, number in (
        ("Number of clusters given", False),
        ("Number of clusters unknown", True),
    ):
        names = [m.name for m in METHODS if m.finds_number == number]
        lines += [f"## {title}", "", *_boards(flat, names), ""]
    views = {group: found for group, found in cells.items() if GROUPS[group].views}
    if views:
        lines += ["## Several views, number of clusters given", ""]
        lines += [*_boards(views, [m.name for m in VIEW_METHODS]), ""]
        lines += [*_each(views["views"]), ""]
        lines += [
            "## Several views, tuned with the true labels",
            "",
            "Of three settings the one with the largest index on each set: what a method could "
            "reach, not what it gives. Neighbours (8, 20 and what the model takes; 5, 10, 20; 5, "
            "15, 30), and the penalty of co-regularisation (.01, .025, .05).",
            "",
        ]
        lines += [*_boards(views, [m.name for m in TUNED_VIEW_METHODS]), ""]
    lines += ["## Versions", ""]
    lines += [f"- {package} {version}" for package, version in versions().items()]
    lines += _failures(cells)
    lines += ["", measured_on(machine()) + " Made by `make field`."]
    return "\n".join(lines) + "\n"


def _failures(cells: dict[str, Any]) -> list[str]:
    """How often a method failed, with the first reason."""
    reasons: dict[str, list[str]] = {}
    for found in cells.values():
        for name, row in found.items():
            for method, result in row.items():
                if "failed" in result:
                    reasons.setdefault(method, []).append(f"{name}: {result['failed']}")
    if not reasons:
        return []
    lines = ["", "## What failed", ""]
    for method, said in reasons.items():
        lines.append(f"- {method} on {len(said)} sets, first on {said[0]}")
    return lines


def _boards(cells: dict[str, Any], names: list[str]) -> list[str]:
    """One table for each group: the methods by their average rank."""
    lines: list[str] = []
    for group, found in cells.items():
        # A method without labels on more than a third of the sets would leave too few to compare.
        known = {n: sum("ari" in row.get(n, {}) for row in found.values()) for n in names}
        here = [n for n in names if 3 * known[n] >= 2 * len(found)]
        full = [row for row in found.values() if all("ari" in row.get(n, {}) for n in here)]
        if len(here) < 2 or len(full) < 2:
            continue
        values = 100.0 * np.array([[row[n]["ari"] for n in here] for row in full])
        accuracy = 100.0 * np.array([[row[n]["accuracy"] for n in here] for row in full])
        seconds = np.array([[row[n]["seconds"] for n in here] for row in full]).sum(axis=0)
        right = np.array([[row[n]["clusters"] == row[n]["true"] for n in here] for row in full])
        ranks = average_ranks(values.round(2))
        ours = next((j for j, n in enumerate(here) if n.startswith("unispectral")), 0)
        tests = compare_with(values.round(2), ours)
        rows = []
        for j in np.argsort(ranks, kind="stable"):
            test = tests[j]
            against = f"{test.wins}/{test.ties}/{test.losses}" if test else "–"
            p = _probability(test.p_holm) if test else "–"
            rows.append([
                here[j], f"{values[:, j].mean():.1f}", f"{accuracy[:, j].mean():.1f}",
                f"{ranks[j]:.2f}", f"{seconds[j]:.1f}", f"{right[:, j].sum()} of {len(full)}",
                against, p,
            ])  # fmt: skip
        header = ["method", "ARI", "accuracy", "rank", "s", "k right", "win/tie/loss", "p"]
        kind = "design" if GROUPS[group].design else "not looked at in design"
        lines += [f"**{GROUPS[group].title}**, {len(full)} of {len(found)} sets, {kind}", ""]
        lines += [markdown_table(header, rows), ""]
    return lines


def _probability(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0")


def _forget(store: Store, groups: Iterable[str], names: Sequence[str]) -> None:
    """Drop the fits of some methods, so that they are run again."""
    for group, problem, method in store.results("field"):
        if group in groups and method in names:
            store.forget(f"field/{group}/{problem}/{method}")


def _each(found: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Accuracy on each set of several views."""
    names = [method.name for method in VIEW_METHODS]
    rows = []
    for name, row in sorted(found.items()):
        values = [row.get(n, {}).get("accuracy") for n in names]
        top = max((v for v in values if v is not None), default=None)
        cells = ["–" if v is None else f"{100 * v:.1f}" for v in values]
        cells = [f"**{c}**" if v == top else c for c, v in zip(cells, values, strict=True)]
        rows.append([name, *cells])
    return ["Accuracy on each:", "", markdown_table(["set", *names], rows)]


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field.run", description=__doc__)
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD")
    parser.add_argument("--report", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args(arguments)
    store = Store(options.out / "field.json")
    _forget(store, options.groups, options.again)
    if not options.report:
        run(store, options.groups, options.methods)
    write_text_atomic(options.out / "field.md", report(store))


if __name__ == "__main__":
    main()
