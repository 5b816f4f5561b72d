"""Memory, prediction from a file, and data beyond the memory of a cluster: parts of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks._report import markdown_table, number
from benchmarks._store import Store

MEMORY_DATA = "manifolds 70000"
STATES = {"fresh": False, "after a small fit": True}
PREDICTION = {"train": 70_000, "new": 1_000_000}
#: Two million points of 128 doubles, and two workers that may not hold them together.
PARQUET = {"n": 2_000_000, "limit": 900_000_000, "workers": 2, "landmarks": 20_000}

Measure = Callable[..., dict[str, Any]]


def run(store: Store, measure: Measure, largest: int) -> None:
    """Measure every cell that the store does not have yet."""
    for state, warm in STATES.items():
        for who in ("ours", "scikit-learn"):
            task = partial(measure, task="memory", data=MEMORY_DATA, who=who, warm=warm)
            store.cell(f"memory/{state}/{who}", task)
    if largest >= PREDICTION["new"]:
        store.cell("prediction", partial(measure, task="predict", **PREDICTION))
    if largest >= PARQUET["n"] // 2:
        store.cell("parquet", partial(measure, task="parquet", **PARQUET))


def _memory(cells: dict[str, Any], state: str) -> tuple[float, float] | None:
    pair = [cells.get(f"memory/{state}/{who}", {}).get("peak") for who in ("ours", "scikit-learn")]
    return None if None in pair else (pair[0], pair[1])


def aims(cells: dict[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """What was aimed at, and what was reached."""
    for state in STATES:
        pair = _memory(cells, state)
        if pair:
            text = f"{pair[0] / pair[1]:.2f} × ({pair[0]:.0f} and {pair[1]:.0f} MB)"
            work = f"memory, 70,000 × 64, process {state}"
            yield work, "at most 1.1 × scikit-learn's", text, pair[0] <= 1.1 * pair[1]
    cell = cells.get("prediction", {})
    if "cpu" in cell:
        share = cell["cpu"] / cell["query"]
        work = f"{cell['new']:,} new points against {cell['train']:,}, from a file"
        yield work, "at most 2 × a plain neighbour query", f"{share:.2f} ×", share <= 2
    cell = cells.get("parquet", {})
    if "cpu" in cell:
        text = f"{cell['data']:.0f} of {cell['limits']:.0f} MB, NMI {cell['nmi']:.3f}"
        met = cell["data"] > cell["limits"] and cell["same workers"]
        yield "Dask, 2,000,000 × 128 from Parquet", "more data than memory", text, met


def section(cells: dict[str, Any]) -> str:
    """The part of the report."""
    rows = []
    for state in STATES:
        pair = _memory(cells, state)
        if pair:
            rows.append([state, *map(number, pair), number(pair[0] / pair[1])])
    parts = [
        "## Memory of a process: 70,000 × 64",
        "",
        markdown_table(["process", "peak MB", "scikit-learn's", "ratio"], rows),
        "",
        "The highest resident memory of a process that fits once, and of one that fits 1,000 of "
        "the rows first; scikit-learn's is the nearest-neighbour variant with amg and cluster_qr. "
        "Interpreter, libraries and data are part of it.",
        "",
        "## New points from a file",
        "",
    ]
    cell = cells.get("prediction", {})
    if "cpu" in cell:
        parts += [
            f"{cell['new']:,} points of 64 columns are read from a file in blocks and put "
            f"into the clusters of a model of {cell['train']:,} by `predict` on one thread: "
            f"{number(cell['cpu'])} CPU s, where the plain query of their eight neighbours in the "
            f"same index, in the same process, takes {number(cell['query'])}; NMI "
            f"{number(cell['nmi'])}.",
        ]
    else:
        parts.append("Not measured.")
    cell = cells.get("parquet", {})
    parts += ["", "## More data than a cluster has memory", ""]
    if "cpu" in cell:
        parts += [
            f"{PARQUET['n']:,} points of 128 doubles in 100 Parquet files, {cell['data']:.0f} MB, "
            f"on {PARQUET['workers']} workers limited to {cell['limits']:.0f} MB together, with "
            f"`landmarks={PARQUET['landmarks']}`: {number(cell['cpu'])} CPU s, NMI "
            f"{number(cell['nmi'])}, at most {cell['peak']:.0f} MB in a worker; "
            + ("no worker was lost." if cell["same workers"] else "a worker was lost."),
        ]
    else:
        parts.append("Not measured.")
    return "\n".join(parts)
