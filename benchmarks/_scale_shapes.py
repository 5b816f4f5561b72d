"""Plane shapes from a hundred thousand to ten million points, with peers: a part of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._report import markdown_table, number
from benchmarks._shapes import SHAPES
from benchmarks._store import Store

SIZES = (100_000, 1_000_000, 5_000_000, 10_000_000)
#: The shape on which the plain search is measured, and peers beyond a million points.
MAIN = "circles and gaussians"
PEERS = {
    "k-means": "KMeans",
    "mini-batch k-means": "MiniBatchKMeans",
    "HDBSCAN": "HDBSCAN",
}
#: CPU seconds that a peer may take; a size is not tried where the last one makes that hopeless.
LIMIT = 120.0
#: Bytes of address space that a peer may take.
MEMORY = 12 * 2**30
#: HDBSCAN takes a minute for 100,000 points of any shape: it is measured on one.
HDBSCAN_SHAPE = "moons"

Measure = Callable[..., dict[str, Any]]


def run(store: Store, measure: Measure, largest: int) -> None:
    """Measure every cell that the store does not have yet, small sizes first."""
    for n in (n for n in SIZES if n <= largest):
        data = f"shape {MAIN} {n}"
        store.cell(f"plain search/{n}", partial(measure, task="plain_search", data=data, k=8))
        for name in SHAPES:
            data = f"shape {name} {n}"
            store.cell(f"shape/{name}/{n}/ours", partial(measure, task="ours", data=data))
            for title in PEERS:
                if title == "HDBSCAN":
                    wanted = name == HDBSCAN_SHAPE
                else:
                    wanted = n <= 1_000_000 or name == MAIN
                if wanted:
                    task = partial(measure, task="peer", data=data, estimator=PEERS[title])
                    _peer(store, task, name, n, title)


def _peer(store: Store, measured: Measure, name: str, n: int, title: str) -> None:
    """A peer, unless the size before was so slow that this one would take too long."""
    before = [size for size in SIZES if size < n]
    last = store.cells.get(f"shape/{name}/{before[-1]}/{title}", {}) if before else {}
    if before and ("failure" in last or last.get("cpu", 0.0) * n / before[-1] > LIMIT):
        reason = f"would take more than {LIMIT:.0f} CPU s, by what {before[-1]:,} points take"
        reason = last.get("failure", reason)
        store.cell(f"shape/{name}/{n}/{title}", lambda: {"failure": reason})
    else:
        given = partial(measured, limit=LIMIT, memory=MEMORY)
        store.cell(f"shape/{name}/{n}/{title}", given)


def _cells(cells: dict[str, Any], name: str, title: str = "ours") -> dict[int, dict[str, Any]]:
    """The measured cells of a shape by size."""
    found = {n: cells.get(f"shape/{name}/{n}/{title}", {}) for n in SIZES}
    return {n: cell for n, cell in found.items() if "cpu" in cell}


def aims(cells: dict[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """What was aimed at, and what was reached, at a million points and more."""
    for n in SIZES[1:]:
        found = {name: cell for name in SHAPES if (cell := _cells(cells, name).get(n))}
        if not found:
            continue
        work = f"{n:,} points, {len(found)} plane shapes"
        worst = min(cell["nmi"] for cell in found.values())
        yield work, "NMI at least 0.95", f"{worst:.3f} at least", worst >= 0.95
        peak = max(cell["peak"] for cell in found.values()) / 1024
        yield work, "at most 12 GB", f"{peak:.2f} GB at most", peak <= 12
        plain = cells.get(f"plain search/{n}", {}).get("cpu")
        if plain:
            own = {name: cell["cpu"] / plain for name, cell in found.items()}
            text = f"{min(own.values()):.2f} to {max(own.values()):.2f} of scikit-learn's"
            ratios = [cell["cpu"] / cell["stages"]["search"] for cell in found.values()]
            text += f" ({min(ratios):.1f} to {max(ratios):.1f} of our own)"
            yield work, "at most 2 × the candidate search", text, max(own.values()) <= 2


def section(cells: dict[str, Any]) -> str:
    """The part of the report on plane shapes."""
    rows, plain = [], {n: cells.get(f"plain search/{n}", {}).get("cpu") for n in SIZES}
    for name in SHAPES:
        for n, cell in _cells(cells, name).items():
            search = cell["stages"]["search"]
            rows.append(
                [
                    name,
                    f"{n:,}",
                    number(cell["cpu"]),
                    number(search),
                    number(plain[n]) if plain[n] else "",
                    number(cell["cpu"] / plain[n]) if plain[n] else "",
                    number(cell["peak"]),
                    number(cell["nmi"], 4),
                    *(_brief(cells.get(f"shape/{name}/{n}/{title}", {})) for title in PEERS),
                ]
            )
    header = ["shape", "n", "CPU s", "own search", "plain search", "fit / plain search"]
    header += ["peak MB", "NMI", *PEERS]
    return "\n".join(
        [
            "## Ten million points of plane shapes",
            "",
            markdown_table(header, rows),
            "",
            "Peers: NMI (CPU s). The shapes are those of `benchmarks/_shapes.py`; the Gaussians "
            "overlap by their tails, the others have gaps. The plain search is "
            "scikit-learn's `NearestNeighbors(n_neighbors=8, algorithm='kd_tree')` on the circles "
            "and Gaussians of the same size, with the same number of threads; our own visits the "
            "points in the order of the leaves of its tree and is faster, so that the share of "
            f"all the rest is larger. Peers have {LIMIT:.0f} CPU s and {MEMORY / 2**30:.0f} GB; a "
            "size is not tried where the last one, extended in proportion, would take longer. "
            f"HDBSCAN has `min_cluster_size=n/100` and is measured on the {HDBSCAN_SHAPE} alone.",
        ]
    )


def _brief(cell: dict[str, Any]) -> str:
    if "cpu" in cell:
        return f"{number(cell['nmi'])} ({number(cell['cpu'])})"
    return "too slow" if cell else "–"


def draw(cells: dict[str, Any], path: Path) -> None:
    """CPU seconds and peak memory against size, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from unispectral._files import atomic_path

    figure, (time, memory) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    for name in SHAPES:
        found = _cells(cells, name)
        line = time.loglog(list(found), [cell["cpu"] for cell in found.values()], "o-", label=name)
        peaks = [cell["peak"] / 1024 for cell in found.values()]
        memory.loglog(list(found), peaks, "o-", color=line[0].get_color(), label=name)
    plain = {n: cells[f"plain search/{n}"] for n in SIZES if f"plain search/{n}" in cells}
    plain = {n: cell["cpu"] for n, cell in plain.items() if "cpu" in cell}
    time.loglog(list(plain), list(plain.values()), "k--", label="plain search (scikit-learn)")
    for title, style in zip(PEERS, (":", "-.", (0, (1, 3))), strict=True):
        found = _cells(cells, HDBSCAN_SHAPE if title == "HDBSCAN" else MAIN, title)
        costs = [cell["cpu"] for cell in found.values()]
        time.loglog(list(found), costs, ls=style, marker="s", ms=3, color="#888888", label=title)
    time.set_ylabel("CPU seconds")
    memory.set_ylabel("peak memory, GB")
    memory.axhline(12, color="k", lw=0.8, ls="--")
    for axes in (time, memory):
        axes.set_xlabel("points")
        axes.grid(True, which="major", alpha=0.3)
    time.legend(fontsize=7)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)
