"""Speed, memory and quality against peers, in one process on the same inputs.

``python -m benchmarks.speed`` (``make bench``) writes ``speed.json`` cell by cell, so that an
interrupted run goes on where it was, and makes ``speed.md`` and ``speed.png`` from that file. The
ratios against the authors' algorithm are read from ``solver.json``.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._measure import machine, measured_on, ratio, spread
from benchmarks._report import markdown_table, number, target_table
from benchmarks._sections import first_use, graph_task, memory, quality_and_time
from benchmarks._store import Store
from benchmarks._targets import slopes, targets
from benchmarks._tasks import METHODS, PEERS
from unispectral._files import write_text_atomic
from unispectral._run import thread_count

__all__ = ["main", "render"]

SIZES = (250, 500, 1000, 2000, 4000, 8000, 16000)
GROWING = (
    "unispectral, as it comes",
    "SCSK, linear kernel",
    "SCSK, linear kernel, alm",
    *PEERS,
)
LARGE = ("SCSK, linear kernel", "SCMK, twelve kernels", "spectral, neighbours, arpack", "k-means")
DEFAULT = ("unispectral, as it comes", "spectral, neighbours, arpack", "k-means")
REFERENCE = "SCSK, linear kernel"


def measure(store: Store, *, quick: bool, repeats: int, patience: float) -> None:
    """Fill the store, cheapest sections first."""
    timing: dict[str, Any] = {"repeats": repeats, "patience": patience}
    fast = [name for name in METHODS if not name.endswith("alm")]
    store.cell("first use", partial(first_use, 1 if quick else repeats, compile_anew=not quick))
    if quick:
        store.cell("peers digits-60", partial(quality_and_time, "digits-60", LARGE, **timing))
        store.cell("memory digits-60", partial(memory, "digits-60", ["k-means"]))
        store.cell("graph digits-60", partial(graph_task, "digits-60", **timing))
        _growth(store, SIZES[:2], GROWING[:1], **timing)
        return
    store.cell("peers digits-300", partial(quality_and_time, "digits-300", METHODS, **timing))
    for data in ("digits-200", "digits-1797"):
        store.cell(f"peers {data}", partial(quality_and_time, data, DEFAULT, **timing))
    for data in ("yale", "orl", "ar", "coil20"):
        store.cell(
            f"peers {data}",
            # The authors' algorithm takes minutes here: solver.md compares it.
            partial(
                quality_and_time,
                data,
                METHODS if data == "yale" else fast,
                floor="eigen",
                **timing,
            ),
        )
        store.cell(f"graph {data}", partial(graph_task, data, **timing))
    store.cell("memory coil20", partial(memory, "coil20", fast))
    store.cell(
        "peers tdt2",
        partial(quality_and_time, "tdt2", LARGE, dtype="float32", floor="gram", **timing),
    )
    store.cell("memory tdt2", partial(memory, "tdt2", LARGE, dtype="float32"))
    _growth(store, SIZES, GROWING, **timing)


def _growth(
    store: Store, sizes: tuple[int, ...], methods: tuple[str, ...], repeats: int, patience: float
) -> None:
    """One cell per size; a method that was slow at one size is left out of the larger ones."""
    remaining = list(methods)
    for n in sizes:
        cell = store.cell(
            f"growth {n:05d}",
            partial(
                quality_and_time,
                f"subspaces-{n}",
                remaining,
                repeats=repeats,
                patience=patience,
                dtype="float32",
            ),
        )
        seconds = {name: row.get("seconds") for name, row in cell["methods"].items()}
        # Doubling n costs at least four times as much for all that work on pairs.
        remaining = [name for name in remaining if seconds[name] and min(seconds[name]) < patience]


def render(store: Store, solver_cells: dict[str, Any]) -> str:
    """The report as Markdown, from the stored cells."""
    parts = ["# Speed, memory and quality\n", _protocol(store), "## Targets\n"]
    parts.append(target_table(targets(store.cells, solver_cells)))
    for key, cell in sorted(store.cells.items()):
        if key.startswith("peers "):
            parts.append(_peers_table(key.removeprefix("peers "), cell, store.cells))
    parts += [_graph_table(store.cells), _growth_table(store.cells)]
    made = "Made by `make bench`; the cells are in `speed.json`."
    parts.append(f"{measured_on(store.conditions)} {made}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _protocol(store: Store) -> str:
    conditions = store.conditions
    return (
        f"All methods run in one process on the same arrays, in turns, {conditions['repeats']} "
        "rounds after one that pays for compilation; a method that takes more than "
        f"{conditions['patience']:g} s runs once. Numerical threads: {conditions['threads']}. "
        "Times are processor seconds, medians [quartiles]; ratios are taken "
        f"round by round against “{REFERENCE}”. ACC is the best one-to-one match with the true "
        "classes and NMI is normalised by the larger entropy, both in per cent, of one run with "
        "random_state 0; the number of clusters is given to every method that takes one, the true "
        "labels to none. SCSK and SCMK are the paper's models with α = β = γ = 0.1 and the exact "
        "solver unless said otherwise. Memory is the highest resident set of a process that does "
        "nothing else, and what the fit added to interpreter, libraries and data. KKT is the "
        "largest failure of the optimality conditions of the codes, relative to K_ii."
    )


def _peers_table(data: str, cell: dict[str, Any], cells: dict[str, Any]) -> str:
    used = cells.get(f"memory {data}", {})
    own = cell["methods"].get(REFERENCE, {}).get("seconds")
    rows = []
    for name, found in cell["methods"].items():
        if "failure" in found:
            rows.append([name, f"failed: {found['failure']}", *[""] * 6])
            continue
        peak = used.get(name, {})
        rows.append(
            [
                name,
                number(spread(found["seconds"])),
                number(ratio(found["seconds"], own)) if own else "",
                number(100 * found["accuracy"]) if "accuracy" in found else "",
                number(100 * found["nmi"]) if "nmi" in found else "",
                number(found.get("objective"), 6),
                f"{found['kkt']:.0e}" if "kkt" in found else "",
                f"{peak['peak']:.0f} ({peak['task']:.0f})" if "peak" in peak else "",
            ]
        )
    header = ["method", "seconds", "× ours", "ACC", "NMI", "objective", "KKT", "MB, all (fit)"]
    title = f"## {data.upper()}: {cell['n']} × {cell['features']}, {cell['clusters']} clusters"
    return f"{title}, {cell['dtype']}\n\n" + markdown_table(header, rows)


def _graph_table(cells: dict[str, Any]) -> str:
    rows = []
    for key in sorted(name for name in cells if name.startswith("graph ")):
        methods = cells[key]["methods"]
        for name, found in methods.items():
            rows.append(
                [
                    key.removeprefix("graph ").upper(),
                    name,
                    number(spread(found["seconds"])),
                    number(ratio(found["seconds"], methods["ours"]["seconds"])),
                    number(found["nonzeros"]),
                    f"{found['kkt']:.0e}" if "kkt" in found else "",
                ]
            )
    if not rows:
        return ""
    return (
        "## The graph alone\n\nCodes of all samples over the others, from the samples: scaling, "
        "Gram matrix, codes. “Same problem” is the non-negative lasso at α = 0.1 for both.\n\n"
        + markdown_table(["data", "method", "seconds", "× ours", "non-zeros", "KKT"], rows)
    )


def _growth_table(cells: dict[str, Any]) -> str:
    sizes = sorted(key for key in cells if key.startswith("growth "))
    if not sizes:
        return ""
    fitted = slopes(cells)
    methods = list(dict.fromkeys(name for key in sizes for name in cells[key]["methods"]))
    rows = []
    for name in methods:
        row: list[str] = [name]
        for key in sizes:
            seconds = cells[key]["methods"].get(name, {}).get("seconds")
            row.append(number(spread(seconds)["median"]) if seconds else "–")
        row.append(f"{fitted[name][0]:.2f}" if name in fitted else "")
        rows.append(row)
    header = ["method", *(f"n = {cells[key]['n']}" for key in sizes), "slope"]
    return (
        "## Growth\n\n![seconds against the number of samples](speed.png)\n\nMedian "
        "processor seconds on unit vectors near ten five-dimensional subspaces of 64 dimensions, "
        "float32. The slope is that of log seconds over log n from n = 1,000. –: left out because "
        "it was too slow at the size before.\n\n" + markdown_table(header, rows)
    )


def draw(cells: dict[str, Any], path: Path) -> None:
    """Seconds against n on logarithmic axes, with the fitted slopes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from unispectral._files import atomic_path

    sizes = [cells[key] for key in sorted(cells) if key.startswith("growth ")]
    if not sizes:
        return
    fitted = slopes(cells)
    figure, axes = plt.subplots(figsize=(8.5, 5.5), layout="constrained")
    for name in dict.fromkeys(name for cell in sizes for name in cell["methods"]):
        points = [
            (cell["n"], *spread(cell["methods"][name]["seconds"]).values())
            for cell in sizes
            if cell["methods"].get(name, {}).get("seconds")
        ]
        if not points:
            continue
        n, median, low, high = zip(*points, strict=True)
        label = f"{name} (slope {fitted[name][0]:.2f})" if name in fitted else name
        look: dict[str, Any] = {"color": "black", "lw": 2.5} if name == GROWING[0] else {"lw": 1.2}
        (line,) = axes.loglog(n, median, marker="o", label=label, **look)
        axes.fill_between(n, low, high, color=line.get_color(), alpha=0.2)
    axes.set(xlabel="number of samples", ylabel="seconds")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see it work")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--patience", type=float, default=15.0, help="seconds, then no repeats")
    parser.add_argument("--report", action="store_true", help="no measurement, only the report")
    options = parser.parse_args(arguments)
    repeats = 2 if options.quick else options.repeats
    conditions = {
        **machine(),
        "quick": options.quick,
        "repeats": repeats,
        "patience": options.patience,
        "threads": thread_count(),
    }
    store = Store(options.out / "speed.json", conditions, fresh=options.fresh)
    if not options.report:
        measure(store, quick=options.quick, repeats=repeats, patience=options.patience)
    compared = Store.read(options.out / "solver.json")
    draw(store.cells, options.out / "speed.png")
    text = render(store, compared)
    write_text_atomic(options.out / "speed.md", text)
    print(text)


if __name__ == "__main__":
    main()
