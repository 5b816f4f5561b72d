"""Large data: cost against size, peers in the same run, and a Dask cluster that loses a worker.

``python -m benchmarks.scale`` (``make bench-scale``) writes ``scale.json``, ``scale.md`` and
``scale.png``. Each cell is measured in a process of its own. CPU seconds of all threads are
compared, because they depend least on who else uses the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _scale_more, _scale_shapes
from benchmarks._measure import machine, ratio, spread
from benchmarks._report import Target, markdown_table, number, target_table
from benchmarks._store import Store
from unispectral._files import write_text_atomic

__all__ = ["bytes_per_sample", "main", "render", "slope"]

SIZES = (10_000, 20_000, 70_000, 200_000, 1_000_000)
LARGEST = 10_000_000
PEER_SIZES = (10_000, 70_000)
PEER = {"task": "sklearn", "eigen_solver": "amg", "assign_labels": "cluster_qr"}
DASK_SIZE = 200_000
#: A cluster and the local solver take turns this often.
ROUNDS = 3


class _Part(Store):
    """A store in which only cells whose names begin in a certain way are measured."""

    only = ""

    def cell(self, key: str, measure: Callable[[], Any], *, condition: str | None = None) -> Any:
        if key in self.cells or key.startswith(self.only):
            return super().cell(key, measure, condition=condition)
        return {}


def measure(**task: Any) -> dict[str, Any]:
    """One cell, in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._scale_tasks", json.dumps(task)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    if done.returncode:
        killed = "ended by the system: too much CPU time or memory"
        return {"failure": done.stderr.strip().splitlines()[-1][-300:] if done.stderr else killed}
    return json.loads(done.stdout.splitlines()[-1])


def run(store: Store, largest: int) -> None:
    """Measure every cell that the store does not have yet."""
    for n in (n for n in SIZES if n <= largest):
        data = f"manifolds {n}"
        # Above 3,000 samples whitened geometries are off by default; here at all sizes.
        store.cell(f"ours {n}", partial(measure, task="ours", data=data, whiten=None))
        if n in PEER_SIZES:
            store.cell(f"peer {n}", partial(measure, data=data, **PEER))
    store.cell("ours tdt2", partial(measure, task="ours", data="tdt2"))
    store.cell("peer tdt2", partial(measure, data="tdt2", **PEER))
    store.cell("ours digits", partial(measure, task="ours", data="digits 39"))
    store.cell("peer digits", partial(measure, data="digits 39", **PEER))
    size = min(DASK_SIZE, largest)
    data = f"manifolds {size}"
    store.cell(f"dask {size}", partial(in_turns, data=data, kill=False))
    store.cell(f"dask {size} worker killed", partial(in_turns, data=data, kill=True))
    _scale_more.run(store, measure, largest)
    _scale_shapes.run(store, measure, largest)


def in_turns(data: str, kill: bool) -> dict[str, Any]:
    """The local solver and a cluster, one after the other: the speed of a machine changes."""
    local = partial(measure, task="ours", data=data, whiten=None)
    cluster = partial(measure, task="dask", data=data, kill=kill)
    return {"rounds": [{"local": local(), "cluster": cluster()} for _ in range(ROUNDS)]}


def slope(sizes: list[int], costs: list[float]) -> float:
    """The exponent of growth: slope of log cost over log size.

    Examples
    --------
    >>> round(slope([10, 100, 1000], [1.0, 20.0, 400.0]), 3)
    1.301
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def render(cells: dict[str, Any]) -> str:
    """The report as Markdown."""
    sections = (
        _targets,
        _scale_shapes.section,
        _growth,
        _peers,
        _scale_more.section,
        _cluster,
        _extrapolation,
    )
    parts = ["# Large data", ""]
    if "note" in cells:  # what a reader must know of cells that were not measured together
        parts += [cells["note"]["text"], ""]
    parts += [f"{section(cells)}\n" for section in sections]
    failures = [f"- {key}: {cell['failure']}" for key, cell in cells.items() if "failure" in cell]
    if failures:
        parts += ["## Not measured", "", *failures, ""]
    return "\n".join(parts)


def _sizes(cells: dict[str, Any]) -> list[int]:
    found = (key.removeprefix("ours ") for key in cells if key.startswith("ours "))
    return sorted(int(n) for n in found if n.isdigit() and "cpu" in cells[f"ours {n}"])


def _outside(cell: dict[str, Any]) -> float:
    return cell["cpu"] - cell["stages"]["search"]


def _targets(cells: dict[str, Any]) -> str:
    """What was aimed at, what was reached."""
    return f"## Targets\n\n{target_table([Target(*aim) for aim in _aims(cells)])}"


def _aims(cells: dict[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    ours, peer = cells.get("ours 70000", {}), cells.get("peer 70000", {})
    if "cpu" in ours and "cpu" in peer:
        faster, work = peer["cpu"] / ours["cpu"], "70,000 × 64 manifolds"
        yield work, "faster than amg + cluster_qr", f"{faster:.1f} times", faster > 1
        memory = f"{ours['peak']:.0f} and {peer['peak']:.0f} MB"
        yield work, "memory at most its", memory, ours["peak"] <= peer["peak"]
    ours = cells.get("ours 1000000", {})
    if "cpu" in ours:
        share, work = ours["cpu"] / ours["stages"]["search"], "1,000,000 × 64 manifolds"
        yield work, "at most 2 × the candidate search", f"{share:.2f} of it", share <= 2
        yield work, "at most 3 GB", f"{ours['peak'] / 1024:.2f} GB", ours["peak"] <= 3 * 1024
    sizes = _sizes(cells)
    if len(sizes) > 2:
        outside = slope(sizes, [_outside(cells[f"ours {n}"]) for n in sizes])
        work = f"growth {sizes[0]:,} → {sizes[-1]:,}"
        yield work, "exponent at most 1.15 outside the search", f"{outside:.2f}", outside <= 1.15
    ours = cells.get("ours tdt2", {})
    if "cpu" in ours:
        text = f"{ours['accuracy']:.3f}, {ours['peak'] / 1024:.2f} GB"
        met = ours["accuracy"] >= 0.85 and ours["peak"] <= 2 * 1024
        yield _NAMES["tdt2"], "ACC at least 0.85, at most 2 GB", text, met
    ours, peer = cells.get("ours digits", {}), cells.get("peer digits", {})
    if "nmi" in ours and "nmi" in peer:
        text, met = f"{ours['nmi']:.3f} and {peer['nmi']:.3f}", ours["nmi"] >= peer["nmi"]
        yield _NAMES["digits"], "NMI at or above the peer's", text, met
    for name, local, cluster, same in _clusters(cells):
        found = ratio(cluster["cpu"], local["cpu"])
        text = f"{number(found)}, {'identical' if same else 'other'} labels"
        if least := _least(cells, name):
            text += f" (at least {number(least)})"
        aim = "at most 1.3 × the CPU time, identical labels"
        yield f"Dask {name}", aim, text, same and found["median"] <= 1.3
    yield from _scale_more.aims(cells)
    yield from _scale_shapes.aims(cells)


def _clusters(
    cells: dict[str, Any],
) -> Iterator[tuple[str, dict[str, list[float]], dict[str, list[float]], bool]]:
    """The figures of the local solver and of a cluster by round, and whether the labels agree."""
    for key in (key for key in cells if key.startswith("dask ")):
        rounds = cells[key].get("rounds", [])
        pairs = [(one["local"], one["cluster"]) for one in rounds]
        if not pairs or any("failure" in one for pair in pairs for one in pair):
            continue
        columns = [
            {name: [one[name] for one in side] for name in ("cpu", *extra)}
            for side, extra in zip(zip(*pairs, strict=True), ((), ("lost", "start")), strict=True)
        ]
        same = len({one["labels"] for pair in pairs for one in pair}) == 1
        yield key.removeprefix("dask "), columns[0], columns[1], same


def _least(cells: dict[str, Any], name: str) -> float | None:
    """What a lost worker costs if nothing is done again: a fit, and the start of another."""
    found = {one: (local, cluster) for one, local, cluster, _ in _clusters(cells)}
    whole = name.removesuffix(" worker killed")
    if whole == name or whole not in found:
        return None
    start = spread(found[name][1]["start"])["median"]
    local, cluster = (spread(side["cpu"])["median"] for side in found[whole])
    return (cluster + start) / local


def _growth(cells: dict[str, Any]) -> str:
    rows = []
    sizes = _sizes(cells)
    for n in sizes:
        cell = cells[f"ours {n}"]
        stages = cell["stages"]
        rows.append(
            [
                f"{n:,}",
                number(cell["cpu"]),
                *(number(stages.get(stage, 0.0)) for stage in STAGES),
                number(cell["cpu"] / stages["search"]),
                number(cell["peak"]),
                number(cell["accuracy"]),
            ]
        )
    header = ["n", "CPU s", *STAGES, "fit / search", "peak MB", "ACC"]
    text = ["## Growth: n × 64, ten curved sheets", "", markdown_table(header, rows)]
    if len(sizes) > 2:
        outside = slope(sizes, [_outside(cells[f"ours {n}"]) for n in sizes])
        whole = slope(sizes, [cells[f"ours {n}"]["cpu"] for n in sizes])
        text += [
            "",
            f"Growth exponent from {sizes[0]:,} to {sizes[-1]:,}: {outside:.2f} outside the "
            f"neighbour search, {whole:.2f} in all. CPU seconds of all threads; the peak holds "
            "interpreter, libraries and data. Without whitened geometries, which the default has "
            "up to 3,000 samples.",
        ]
    return "\n".join(text)


STAGES = ("search", "kernels", "codes", "eigenvectors", "labels")
_NAMES = {"tdt2": "TDT2 (9,394 × 36,771 sparse)", "digits": "digits × 39 (70,083 × 64)"}


def _peers(cells: dict[str, Any]) -> str:
    rows = []
    for key in [*map(str, PEER_SIZES), *_NAMES]:
        ours, peer = cells.get(f"ours {key}", {}), cells.get(f"peer {key}", {})
        if "cpu" not in ours:
            continue
        name = _NAMES.get(key) or f"manifolds {int(key):,} × 64"
        rows.append(
            [
                name,
                number(ours["cpu"]),
                number(peer.get("cpu")),
                number(peer["cpu"] / ours["cpu"]) if "cpu" in peer else "",
                number(ours["peak"]),
                number(peer.get("peak")),
                number(ours["accuracy"]),
                number(peer.get("accuracy")),
                number(ours["nmi"]),
                number(peer.get("nmi")),
                ours["smallest"],
            ]
        )
    header = ["data", "CPU s", "peer", "faster", "peak MB", "peer", "ACC", "peer", "NMI", "peer"]
    return "\n".join(
        [
            "## Against scikit-learn's nearest-neighbour variant (amg + cluster_qr)",
            "",
            markdown_table([*header, "smallest cluster"], rows),
            "",
            "The ten neighbours of each of 39 copies are other copies: the peer's graph falls "
            "into 1,797 components, and whichever ten null vectors its solver returns say nothing "
            "of the digits. The peak of ours holds the compiler of its inner loops, about 110 MB.",
        ]
    )


def _cluster(cells: dict[str, Any]) -> str:
    rows = [
        [
            name,
            number(spread(local["cpu"])),
            number(spread(cluster["cpu"])),
            number(ratio(cluster["cpu"], local["cpu"])),
            number(spread(cluster["lost"])["median"]),
            number(spread(cluster["start"])["median"]),
            number(least) if (least := _least(cells, name)) else "",
            "yes" if same else "no",
        ]
        for name, local, cluster, same in _clusters(cells)
    ]
    header = ["n", "local CPU s", "cluster CPU s", "ratio", "lost", "start", "at least"]
    header.append("identical labels")
    return "\n".join(
        [
            "## A Dask cluster of two workers",
            "",
            markdown_table(header, rows),
            "",
            "Median [quartiles] of the rounds in which the local solver and the cluster took "
            "turns. User and system seconds of workers, scheduler and client; the workers "
            "read the data from a file. The killed worker is the one that made the first kernels, "
            "as soon as the scheduler has noted them, without anybody asking for it again and "
            "again; none leads. What it had used until then (lost) is counted, and so is "
            "the start of the one in its place, which the cluster starts whether it is needed or "
            "not; its blocks are made again by the worker that is left. At least: the "
            "ratio of a fit without a loss and that start alone, with nothing done again.",
        ]
    )


def _extrapolation(cells: dict[str, Any]) -> str:
    """Power laws of every stage, checked on the largest size before they are trusted beyond it."""
    sizes = _sizes(cells)
    if len(sizes) < 3:
        return "## Beyond these sizes\n\nToo few sizes were measured to say anything."
    rows = []
    for stage in (*STAGES, "peak"):
        measured = [cells[f"ours {n}"] for n in sizes]
        values = [
            one["peak"] if stage == "peak" else one["stages"].get(stage, 0.0) for one in measured
        ]
        if min(values) <= 0:
            continue
        check = _predicted(sizes[:-1], values[:-1], sizes[-1], linear=stage == "peak")
        far = [_predicted(sizes, values, n, linear=stage == "peak") for n in BEYOND]
        unit = 1024 if stage == "peak" else 3600
        rows.append(
            [
                "peak memory, GB" if stage == "peak" else f"{stage}, CPU hours",
                "" if stage == "peak" else number(_exponent(sizes, values), 3),
                number(check / values[-1], 2),
                *(number(value / unit, 2) for value in far),
            ]
        )
    header = ["stage", "exponent", f"predicted / measured at {sizes[-1]:,}"]
    header += [f"at {n:.0e}".replace("e+0", "e") for n in BEYOND]
    return "\n".join(
        [
            "## Beyond these sizes",
            "",
            markdown_table(header, rows),
            "",
            "From the largest size with the exponent over all sizes or over the last step, "
            "whichever is larger, and at least one (memory: a straight line): the search grows as "
            "n^1.5 in the end, which small sizes do not show. The third column predicts the "
            "largest size from the smaller ones in the same way.",
            "",
            _bytes(cells, sizes),
        ]
    )


def bytes_per_sample(d: int, k: int, c: int) -> int:
    """What the documentation says that one sample takes: table, kernels, graph, vectors.

    Examples
    --------
    >>> bytes_per_sample(64, 8, 10)
    1632
    """
    return 4 * d + 4 * k * k + 60 * k + 64 * c


def _bytes(cells: dict[str, Any], sizes: list[int]) -> str:
    """The formula against the slope of the measured peaks."""
    large = [n for n in sizes if n > 50_000]  # below, kernels are in double precision
    if len(large) < 3:
        return "Too few sizes above 50,000 were measured to check the formula of memory."
    line = np.polyfit(large, [cells[f"ours {n}"]["peak"] * 2**20 for n in large], 1)
    return (
        f"Bytes a sample at the peak: {line[0]:.0f} by the slope from {large[0]:,} to "
        f"{large[-1]:,} over {len(large)} sizes, {bytes_per_sample(64, 8, 10)} by the formula "
        "4 d + 4 k² + 60 k + 64 c of the documentation."
    )


BEYOND = (10**7, 10**8, 10**9)


def _predicted(sizes: list[int], values: list[float], n: int, *, linear: bool) -> float:
    if linear:
        return float(np.polyval(np.polyfit(sizes, values, 1), n))
    return values[-1] * (n / sizes[-1]) ** _exponent(sizes, values)


def _exponent(sizes: list[int], values: list[float]) -> float:
    """The growth to reckon with beyond the largest size: rather too much than too little."""
    return max(1.0, slope(sizes, values), slope(sizes[-2:], values[-2:]))


def draw(cells: dict[str, Any], path: Path) -> None:
    """Cost against size, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from unispectral._files import atomic_path

    sizes = _sizes(cells)
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    total = [cells[f"ours {n}"]["cpu"] for n in sizes]
    axes.loglog(sizes, total, "o-", color="#222222", lw=2, label="whole fit")
    for stage in STAGES:
        costs = [max(cells[f"ours {n}"]["stages"].get(stage, 0.0), 1e-3) for n in sizes]
        axes.loglog(sizes, costs, ".--", lw=1, label=stage)
    peers = [n for n in PEER_SIZES if "cpu" in cells.get(f"peer {n}", {})]
    costs = [cells[f"peer {n}"]["cpu"] for n in peers]
    axes.loglog(peers, costs, "s-", color="#c0392b", label="scikit-learn, amg + cluster_qr")
    axes.set_xlabel("samples")
    axes.set_ylabel("CPU seconds")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=LARGEST, help="largest number of samples")
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--only", default="", help="measure cells whose names begin so, as dask")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    options = parser.parse_args(arguments)
    path = options.out / "scale.json"
    if not options.report:
        store = _Part(path, machine(), fresh=options.fresh)
        store.only = options.only
        run(store, options.largest)
    cells = Store.read(path)
    text = render(cells)
    write_text_atomic(options.out / "scale.md", text)
    draw(cells, options.out / "scale.png")
    _scale_shapes.draw(cells, options.out / "scale_shapes.png")
    print(text)


if __name__ == "__main__":
    main()
