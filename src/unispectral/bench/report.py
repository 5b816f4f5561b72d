"""The report of a study: one page that needs nothing but itself."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from unispectral._errors import plural
from unispectral._files import write_text_atomic
from unispectral.bench._paper_tables import SWAPPED, PaperTable, paper_tables
from unispectral.bench.results import (
    Figure,
    Results,
    ResultTable,
    Setting,
    comparable,
    mean_seconds,
)
from unispectral.bench.runner import duration
from unispectral.bench.statistics import (
    average_ranks,
    compare_with,
    friedman_test,
    group_ranks,
    nemenyi_difference,
)
from unispectral.bench.study import METRICS, PROTOCOLS, Column, StudyDataset, StudyMethod, Surface
from unispectral.report._page import asset, build_page

__all__ = ["rank_columns", "write_report"]

_RULES = {
    "mean": "mean of the repeats",
    "best": "best of the repeats",
    "objective": "repeat with the best objective",
}


def write_report(results: Results, path: str | Path, *, command: str = "") -> Path:
    """Write the report of a study as one HTML file.

    Parameters
    ----------
    results : Results
        The figures.
    path : path-like
        The file to write.
    command : str
        The command that made the results, for the last section.

    Returns
    -------
    Path
        The file.
    """
    data = _page_data(results, command)
    page = build_page(results.study.title, data, asset("study.css"), asset("study.js"))
    write_text_atomic(path, page)
    return Path(path)


def _page_data(results: Results, command: str) -> dict[str, Any]:
    """Everything that the script of the page draws."""
    study = results.study
    protocols = results.protocols()
    methods = {method.name: method for method in study.methods}
    tables = {p: {m: results.table(p, m) for m in study.metrics} for p in protocols}
    samples = {
        cell.dataset.name: results.records[cell.key].n_samples
        for cell in results.cells
        if cell.key in results.records and results.records[cell.key].n_samples
    }
    return {
        "title": study.title,
        "about": study.about.strip(),
        "numbers": _numbers(results),
        "metrics": [{"id": metric, "title": METRICS[metric]} for metric in study.metrics],
        "protocols": [{"id": protocol, "text": PROTOCOLS[protocol]} for protocol in protocols],
        "datasets": [{"title": d.title, "samples": samples.get(d.name)} for d in study.datasets],
        "columns": {p: [_column(m, c) for m, c in results.columns(p)] for p in protocols},
        "figures": {
            p: {m: [list(map(_figure, row)) for row in t.rows.values()] for m, t in ts.items()}
            for p, ts in tables.items()
        },
        "settings": {
            f"{number}|{method.name}": [
                _setting(setting, study.metrics)
                for setting in results.settings(dataset.name, method.name)
            ]
            for number, dataset in enumerate(study.datasets)
            for method in study.methods
        },
        "ranks": {p: {m: rank_columns(t) for m, t in ts.items()} for p, ts in tables.items()},
        "surfaces": [
            found
            for surface in study.surfaces
            for dataset in study.datasets
            if (found := _surface(results, surface, methods[surface.method], dataset))
        ],
        "reductions": results.reductions(),
        "failures": _failures(results),
        "notes": results.paper_notes(),
        "paper": [_paper_table(table) for table in paper_tables(results)],
        "swapped": SWAPPED,
        "made": _describe_run(results, command),
    }


def _numbers(results: Results) -> list[tuple[str, str]]:
    """The heading: figures that add up, and that the tables below show again."""
    study = results.study
    total = len({cell.key for cell in results.cells})
    records = results.records.values()
    done = sum(record.status == "done" for record in records)
    spent = duration(sum(record.seconds or 0.0 for record in records))
    return [
        (str(len(study.datasets)), "data set" if len(study.datasets) == 1 else "data sets"),
        (str(len(study.methods)), "method" if len(study.methods) == 1 else "methods"),
        (_thousands(done), f"of {_thousands(total)} fits done"),
        (_thousands(len(records) - done), "failed"),
        (_thousands(total - len(records)), "not yet run"),
        (spent, "of fitting"),
    ]


def _thousands(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def _column(method: StudyMethod, column: Column) -> dict[str, Any]:
    if method.repeats > 1:
        parts = [_RULES[column.repeats]]
    else:
        parts = []
    if method.grid:
        parts.append(f"best of {method.grid_size} grid points")
    if method.input == "kernel":
        parts.append("best kernel" if column.kernels == "best" else "mean over the kernels")
    estimator = method.estimator
    return {
        "name": column.name,
        "title": method.title,
        "method": method.name,
        "rule": ", ".join(parts) or "one fit",
        "estimator": estimator,
        "ours": estimator.startswith("unispectral.") and "baselines" not in estimator,
    }


def _paper_table(table: PaperTable) -> dict[str, Any]:
    rows = [
        {"title": title, "cells": [cell._asdict() for cell in cells]}
        for title, cells in table.rows.items()
    ]
    return {"title": table.title, "columns": list(table.columns), "rows": rows}


def _figure(figure: Figure) -> dict[str, Any]:
    return {**vars(figure), "setting": figure.setting and figure.setting.number}


def _setting(setting: Setting, metrics: tuple[str, ...]) -> dict[str, Any]:
    done = setting.done
    values = {m: [round(100 * record.scores[m], 2) for record in done] for m in metrics}
    return {
        "kernel": setting.kernel,
        "bank": setting.bank,
        "parameters": setting.parameters,
        "values": values if done else None,
        "seconds": mean_seconds(done),
        "done": len(done),
        "failed": len(setting.failed),
    }


def rank_columns(table: ResultTable) -> dict[str, Any] | None:
    """The average ranks of the columns of a table (1 is best), from the best to the worst.

    Taken over the ``datasets`` on which all of these ``columns`` have a figure; ``left_out`` are
    those without one on more than a third of them. Ranks that differ by less than ``critical`` do
    not differ at the level of five per cent (Nemenyi); ``groups`` has the first and last position
    of each longest run of such columns. ``friedman`` is the p-value that all are alike, and
    ``beside_best`` has for each column its wins, ties and losses against the best one, with the
    Wilcoxon test. None if fewer than two columns or data sets can be compared.
    """
    compared = comparable(table)
    if compared is None:
        return None
    complete, present = compared
    n, k = complete.shape
    average = average_ranks(complete)
    order = np.argsort(average, kind="stable")
    ranks = average[order]
    critical = nemenyi_difference(k, n)
    groups = group_ranks(ranks, critical)
    friedman = friedman_test(complete)
    columns = np.array(table.columns)
    return {
        "columns": columns[present][order].tolist(),
        "ranks": ranks.tolist(),
        "datasets": n,
        "critical": critical,
        "groups": groups,
        "left_out": columns[~present].tolist(),
        "friedman": friedman.f_p_value,
        "beside_best": [
            None if found is None else found._asdict()
            for found in compare_with(complete[:, order], 0)
        ],
    }


def _surface(
    results: Results, surface: Surface, method: StudyMethod, dataset: StudyDataset
) -> dict[str, Any] | None:
    grid = {name: list(values) for name, values in method.on(dataset.name)[0].grid.items()}
    done = [s for s in results.settings(dataset.name, method.name) if s.done]
    if surface.x not in grid or surface.y not in grid or not done:
        return None
    names = [surface.panel if surface.panel in grid else None, surface.y, surface.x]
    axes = [grid[name] if name else [None] for name in names]
    values = {m: np.full([len(axis) for axis in axes], np.nan) for m in results.study.metrics}
    for setting in done:
        at = tuple(
            axis.index(setting.parameters[name]) if name else 0
            for name, axis in zip(names, axes, strict=True)
        )
        for metric, cube in values.items():
            # Several kernels meet in one place of the picture: the best one is shown.
            cube[at] = np.fmax(cube[at], 100 * setting.value(metric, "mean"))
    panel, y, x = ({"name": n, "values": v} for n, v in zip(names, axes, strict=True))
    title = {"title": surface.title or method.title, "dataset": dataset.title}
    return {**title, "x": x, "y": y, "panel": panel if names[0] else None, "values": values}


def _failures(results: Results) -> list[dict[str, Any]]:
    """Failures that differ only by their seed are one line."""
    seeds: dict[str, set[int]] = {}
    for cell, record in results.failures():
        line = {
            "dataset": cell.dataset.title,
            "method": cell.method.name,
            "kernel": cell.kernel,
            "parameters": cell.parameters,
            "status": record.status,
            "reason": (record.reason or record.status)[:600],
        }
        seeds.setdefault(json.dumps(line), set()).add(cell.repeat)
    lines = list(seeds.items())[:500]
    return [{**json.loads(line), "seeds": ", ".join(map(str, sorted(of)))} for line, of in lines]


def _describe_run(results: Results, command: str) -> dict[str, Any]:
    records = list(results.records.values())
    facts = [("Page written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))]
    ended = sorted(record.ended[:16].replace("T", " ") for record in records)
    if ended:
        facts.append(("Fits from, to", f"{ended[0]}, {ended[-1]} UTC"))
    used = Counter(tuple(record.environment.items()) for record in records)
    for environment, count in used.most_common(4):
        facts += [(f"{plural(count, 'fit')}, {what}", words) for what, words in environment]
    return {"command": command or "unispectral bench", "facts": facts}
