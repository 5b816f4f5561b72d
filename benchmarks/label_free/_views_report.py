"""Several views in tables: all views beside one table, single views and GMC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks._report import Target, markdown_table
from benchmarks._store import Store
from benchmarks.label_free.views import PROBLEMS

COLUMNS = ("together", "one table", "chosen view", "GMC", "best view")
#: Points that a problem may be below one table.
SLACK = 1.0


def targets(store: Store) -> list[Target]:
    """Against one table, against the chosen view, the cost, and what noise takes."""
    cells = _cells(store)
    clean = [name for name in cells if not PROBLEMS[name].base]
    if not clean:
        return []
    found = []
    for title, names in (
        ("", clean),
        (" by which nothing was chosen", [n for n in clean if not PROBLEMS[n].seen]),
    ):
        if names:
            found += _quality(cells, names, title)
    seconds = {
        key: sum(cells[name][key] for name in cells) for key in ("seconds", "seconds of one table")
    }
    ratio = seconds["seconds"] / max(seconds["seconds of one table"], 1e-9)
    what = "Several views: CPU time beside one table"
    found.append(Target(what, "at most 3 times", f"{ratio:.1f} times", ratio <= 3.0))
    losses = _noise_losses(cells)
    if losses:
        worst = max(losses, key=lambda name: losses[name])
        mean = float(np.mean(list(losses.values())))
        reached = f"{mean:.1f} on average, worst {losses[worst]:.1f} ({worst})"
        what = "Several views: cost of 3 or 10 views of noise"
        found.append(Target(what, "at most 2 points", reached, losses[worst] <= 2.0))
    return found


def _quality(cells: dict[str, dict[str, Any]], names: Sequence[str], title: str) -> list[Target]:
    ours = _mean(cells, names, "together")
    below = [n for n in names if cells[n]["together"] < cells[n]["one table"] - SLACK / 100]
    gaps = {n: 100 * (cells[n]["together"] - cells[n]["one table"]) for n in below}
    listed = ", ".join(
        f"{name} {gap:.1f}" for name, gap in sorted(gaps.items(), key=lambda p: p[1])
    )
    what = f"{len(names)} multi-view problems{title}"
    reached = f"{len(names) - len(below)} of {len(names)}" + (
        f" (below: {listed})" if below else ""
    )
    found = [Target(f"{what}: at least one table − 1", "all", reached, not below)]
    for peer, least in (("one table", 3.0), ("chosen view", 0.0), ("GMC", 0.0)):
        known = [name for name in names if peer in cells[name]]
        if not known:
            continue
        ours, theirs = _mean(cells, known, "together"), _mean(cells, known, peer)
        wanted = f"{peer} + {least:.0f}" if least else f"above {_words(peer)}"
        met = ours >= theirs + least if least else ours > theirs
        found.append(Target(f"{what}: mean accuracy", wanted, f"{ours:.1f}, {theirs:.1f}", met))
    return found


def section(store: Store) -> str:
    """Three tables: problems that choices were made by, the others, and those with noise."""
    cells = _cells(store)
    if not cells:
        return ""
    text = (
        "## Several views\n\nAccuracy with the defaults: *together* all "
        "views; *one table* their columns side by side, each view with the same total variance; "
        "*chosen view* the single view whose own clusters have the largest modularity, which "
        "needs no labels; *GMC* graph-based multi-view clustering (Wang, Yang and Liu 2020), 15 "
        "neighbours (* where its graph did not get the number of components, and k-means gave the "
        "labels); *best view* the best of the single views **by the true classes**. *cost* is "
        "the CPU time of *together* as a multiple of that of *one table*. The best without labels "
        "is in bold.\n\n"
    )
    groups = {
        "Problems by which the model was designed": [
            name for name in cells if PROBLEMS[name].seen and not PROBLEMS[name].base
        ],
        "Problems by which nothing was chosen": [
            name for name in cells if not PROBLEMS[name].seen and not PROBLEMS[name].base
        ],
    }
    for title, names in groups.items():
        if names:
            text += f"### {title}\n\n{_table(cells, names)}\n\n"
    return text + _noise(cells) + _wins(cells)


def _table(cells: dict[str, dict[str, Any]], names: Sequence[str]) -> str:
    rows = [_row(cells[name], name) for name in names]
    means: list[Any] = ["*mean*", ""]
    for column in COLUMNS:
        complete = all(column in cells[name] for name in names)
        means.append(f"{_mean(cells, names, column):.1f}" if complete else "")
    seconds = (
        sum(cells[name][key] for name in names) for key in ("seconds", "seconds of one table")
    )
    rows.append([*means, f"{next(seconds) / max(next(seconds), 1e-9):.1f}"])
    return markdown_table(["problem", "views", *map(_words, COLUMNS), "cost"], rows)


def _row(cell: dict[str, Any], name: str) -> list[Any]:
    fair = [cell[column] for column in COLUMNS[:-1] if column in cell]
    shown = []
    for column in COLUMNS:
        if column not in cell:
            shown.append("")
            continue
        text = f"{100 * cell[column]:.1f}"
        if column == "GMC" and not cell["converged"]:
            text += "\\*"
        best = column != "best view" and round(cell[column], 3) >= round(max(fair), 3)
        shown.append(f"**{text}**" if best else text)
    ratio = cell["seconds"] / max(cell["seconds of one table"], 1e-9)
    return [name, PROBLEMS[name].kind, *shown, f"{ratio:.1f}"]


def _noise(cells: dict[str, dict[str, Any]]) -> str:
    names = [name for name in cells if PROBLEMS[name].base in cells]
    rows = []
    for name in names:
        base = cells[PROBLEMS[name].base]
        changes = [
            f"{100 * cells[name][column]:.1f} ({100 * (cells[name][column] - base[column]):+.1f})"
            for column in ("together", "one table", "GMC")
            if column in cells[name] and column in base
        ]
        noise = sum(view.startswith("noise") for view in cells[name]["left out"])
        rows.append([name, *changes, noise, len(cells[name]["left out"]) - noise])
    if not rows:
        return ""
    head = ["problem", "together", "one table", "GMC", "noise left out", "others left out"]
    return (
        "### Views of noise\n\nThree or ten views of ten Gaussian columns are added; accuracy, "
        f"and in brackets its change.\n\n{markdown_table(head, rows)}\n\n"
    )


def _wins(cells: dict[str, dict[str, Any]]) -> str:
    rows = []
    for peer in ("one table", "chosen view", "GMC"):
        gaps = [
            100 * (cell["together"] - cell[peer])
            for name, cell in cells.items()
            if peer in cell and not PROBLEMS[name].base
        ]
        won, lost = sum(gap > 1 for gap in gaps), sum(gap < -1 for gap in gaps)
        rows.append([_words(peer), won, len(gaps) - won - lost, lost])
    head = ["peer", "won", "level", "lost"]
    table = markdown_table(head, rows)
    return f"Problems without noise won and lost by more than a point:\n\n{table}\n"


def _noise_losses(cells: dict[str, dict[str, Any]]) -> dict[str, float]:
    return {
        name: 100 * (cells[PROBLEMS[name].base]["together"] - cell["together"])
        for name, cell in cells.items()
        if PROBLEMS[name].base in cells
    }


def _cells(store: Store) -> dict[str, dict[str, Any]]:
    """The results by problem, in the order of the problems, with GMC's."""
    ours, peers = store.results("views"), store.results("views-peer")
    found = {}
    for name in PROBLEMS:
        if (name,) in ours:
            found[name] = dict(ours[(name,)])
            if (name, "GMC") in peers:
                peer = peers[name, "GMC"]
                found[name] |= {"GMC": peer["accuracy"], "converged": peer["converged"]}
    return found


def _mean(cells: dict[str, dict[str, Any]], names: Sequence[str], column: str) -> float:
    return 100.0 * float(np.mean([cells[name][column] for name in names]))


def _words(column: str) -> str:
    return "best view (labels)" if column == "best view" else column
