"""The paper's two models beside the paper, from the record of the study ``paper``.

``python -m benchmarks.paper`` writes docs/results/paper_models.md with this: for SCSK and SCMK the
accuracy of the paper's algorithm and of the exact solver, how much of the grid was run, and which
kernels the weights of SCMK choose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._report import markdown_table
from unispectral.bench import Results
from unispectral.bench.results import Figure
from unispectral.bench.study import StudyDataset, StudyMethod
from unispectral.kernels import as_kernels

__all__ = ["render"]

#: A figure at most this far below the paper's counts as reached.
SLACK = 2.0
_KINDS = (
    ("", "algorithm, mean of starts"),
    (" (best start)", "best start"),
    (" (exact)", "exact"),
    (" (exact + ridge)", "exact + ridge"),
)


def render(results: Results, command: str) -> str:
    """The page."""
    columns = {column.name: (method, column) for method, column in results.columns("paper")}
    lines = [
        "# The paper's two models",
        "",
        "Accuracy in per cent, tuned with the true labels as in the paper. *Points* says how many "
        "points of the declared grid were run by the algorithm, over all kernel banks and, for "
        "SCSK, kernels.",
        "",
    ]
    for model in ("SCSK", "SCMK"):
        figures = {
            dataset.title: [
                results.figure(dataset, *columns[model + kind], "accuracy") for kind, _ in _KINDS
            ]
            for dataset in results.study.datasets
        }
        points = {
            dataset.title: _points(results, columns[model][0], dataset)
            for dataset in results.study.datasets
        }
        lines += [f"## {model}", "", _table(model, figures, points), "", _reached(figures), ""]
    lines += ["## Which kernels SCMK takes", "", *_weights(results, columns), ""]
    lines.append(f"Made by `{command}`.")
    return "\n".join(lines) + "\n"


def _points(results: Results, method: StudyMethod, dataset: StudyDataset) -> str:
    """How many points were run, of how many."""
    run = sum(bool(setting.done) for setting in results.settings(dataset.name, method.name))
    banks = method.banks or {"paper": ""}
    kernels = 1
    if method.input == "kernel":
        kernels = sum(len(as_kernels(bank)) for bank in banks) // len(banks)
    return f"{run} of {method.grid_size * len(banks) * kernels}"


def _table(model: str, figures: dict[str, list[Figure]], points: dict[str, str]) -> str:
    rows = []
    for title, row in figures.items():
        values = [figure.value for figure in row]
        rows.append([title, _number(row[0].paper), *map(_number, values), points[title]])
    full = [row for row in figures.values() if all(f.value is not None for f in row)]
    means = [float(np.mean([row[j].value for row in full])) for j in range(len(_KINDS))]
    papers = float(np.mean([row[0].paper for row in full]))
    rows.append(["*mean of full rows*", _number(papers), *map(_number, means), ""])
    return markdown_table(["data", "the paper", *(title for _, title in _KINDS), "points"], rows)


def _reached(figures: dict[str, list[Figure]]) -> str:
    """On how many of the paper's sets that all solvers finished the paper is reached."""
    full = {t: row for t, row in figures.items() if all(f.value is not None for f in row)}
    said = []
    for j, name in ((0, "the mean of the starts"), (1, "the best start")):
        short = {
            title: row[j].difference
            for title, row in figures.items()
            if title in full and row[j].difference is not None and row[j].difference < -SLACK
        }
        listed = ", ".join(f"{title} {gap:+.1f}" for title, gap in short.items())
        below = f" (below: {listed})" if listed else ""
        said.append(f"{name} on {len(full) - len(short)} of {len(full)}{below}")
    return f"Within {SLACK:g} points of the paper or above: {'; '.join(said)}."


def _weights(results: Results, columns: dict[str, Any]) -> list[str]:
    """The weights of SCMK at its best point beside the kernel that is best alone."""
    rows = []
    for dataset in results.study.datasets:
        alone = results.figure(dataset, *columns["SCSK"], "accuracy")
        together = results.figure(dataset, *columns["SCMK"], "accuracy")
        if alone.setting is None or together.setting is None:
            continue
        known = [r.facts["weights"] for r in together.setting.done if "weights" in r.facts]
        if not known:
            continue
        names = [kernel.name for kernel in as_kernels(together.setting.bank or "paper")]
        shares: dict[str, float] = {}
        for weights in known:
            for name, weight in zip(names, weights, strict=True):
                kind = name.removesuffix("_text")
                shares[kind] = shares.get(kind, 0.0) + weight / sum(weights) / len(known)
        first = max(shares, key=lambda name: shares[name])
        best = (alone.setting.kernel or "").removesuffix("_text")
        rows.append([
            dataset.title, first, f"{shares[first]:.2f}",
            f"{sum(shares[name] for name in _WIDE):.2f}",
            best, _number(alone.value), f"{shares.get(best, 0.0):.2f}", _number(together.value),
        ])  # fmt: skip
    text = (
        "Shares of the weights at the point that the table of SCMK shows, beside the kernel that "
        "is best for SCSK. A kernel of which the graph leaves little gets a large weight, and of "
        "the widest Gaussians, which are nearly constant, every graph leaves next to nothing."
    )
    head = [
        "data", "largest weight", "its share", "share of the three widest Gaussians",
        "SCSK's best kernel", "SCSK", "that kernel's share in SCMK", "SCMK",
    ]  # fmt: skip
    return [text, "", markdown_table(head, rows)]


_WIDE = ("gaussian_10", "gaussian_50", "gaussian_100")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
