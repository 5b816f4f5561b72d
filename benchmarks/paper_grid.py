"""The grid of SCMK by the paper's algorithm, for the study ``paper``.

``python -m benchmarks.paper_grid --datasets ar coil20`` runs what the record of the study,
docs/results/paper.jsonl.xz, lacks of the declared grid on some data sets, all starts of a point at
once. It may be stopped at any time and goes on where it was. ``paper.toml`` says which points its
tables show, and with ``--shown`` only these are run; ``python -m benchmarks.paper --report``
writes the tables.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import Input, load
from benchmarks._lockstep import Kernels, follow
from benchmarks.paper import pack, unpack
from unispectral.bench import Store, Study
from unispectral.bench._cells import Cell, canonical
from unispectral.bench._machine import environment
from unispectral.kernels import KernelBank
from unispectral.metrics import scores

__all__ = ["main", "points", "run_point"]

_RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"


def points(study: Study, dataset: str) -> Iterator[list[Cell]]:
    """The cells of the declared grid, those of all starts of a point together."""
    method = next(method for method in study.methods if method.name == "SCMK")
    reduction = method.on(dataset)[1] or {}
    parameters = dict(method.parameters)
    if "gamma" in reduction.get("grid", {}):  # the same on the whole grid
        parameters["gamma"] = reduction["grid"]["gamma"][0]
    whole = replace(method, reduced=(), parameters=parameters)
    one = next(data for data in study.datasets if data.name == dataset)
    cells = replace(study, datasets=(one,), methods=(whole,), surfaces=()).cells()
    yield from (list(group) for _, group in groupby(cells, key=lambda cell: cell.setting))


def run_point(data: Input, kernels: Kernels, cells: list[Cell]) -> list[dict[str, object]]:
    """What the store keeps of the cells of one point."""
    named = cells[0].parameters
    penalties = {name: named[name] for name in ("alpha", "beta", "gamma", "mu")}
    shape = (len(data.y), data.n_clusters)
    starts = [
        np.linalg.qr(np.random.RandomState(cell.seed).normal(size=shape))[0] for cell in cells
    ]
    begun = time.perf_counter()
    path = follow(kernels, data.n_clusters, starts, **penalties)
    seconds = (time.perf_counter() - begun) / len(cells)
    return [
        {
            "status": "done",
            "scores": scores(data.y, labels),
            "seconds": seconds,
            "n_samples": len(labels),
            "facts": {
                "weights": path.weights.tolist(),
                "labels": hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()[:16],
                "starts_at_once": len(cells),
            },
            "warnings": [],
        }
        for labels in path.labels
    ]


def _order(cells: list[Cell]) -> tuple[float, float, bool]:
    """Small beta first, which the tables need most, and large mu, which is quick."""
    named = cells[0].parameters
    return named["beta"], -named["mu"], cells[0].bank_name != "paper"


def run(study: Study, dataset: str, store: Store, seconds: float, *, shown: bool = False) -> int:
    """Run missing points, all or those of the tables, for some seconds; how many are left."""
    data = load(dataset)
    known = store.records()
    todo = [
        cells
        for cells in sorted(points(study, dataset), key=_order)
        if not all(cell.key in known and known[cell.key].status == "done" for cell in cells)
    ]
    if shown:
        in_tables = {cell.key for cell in study.select([dataset], ["SCMK"]).cells()}
        todo = [cells for cells in todo if in_tables.intersection(cell.key for cell in cells)]
    place = environment(1)
    held: tuple[str, Kernels] | None = None
    begun = time.monotonic()
    while todo and time.monotonic() - begun < seconds:
        cells = todo.pop(0)
        bank = cells[0].bank
        if held is None or held[0] != canonical(bank):
            held = None
            made = KernelBank(data.X, bank["kernels"], normalize=bank["normalize"])
            held = (canonical(bank), Kernels(made))
        answers = run_point(data, held[1], cells)
        for cell, answer in zip(cells, answers, strict=True):
            store.put(cell, {**answer, "environment": place})
        named = cells[0].parameters
        found = [f"{100 * answer['scores']['accuracy']:.1f}" for answer in answers]
        shown = ", ".join(f"{name}={named[name]:g}" for name in ("mu", "alpha", "beta"))
        print(
            f"{dataset}, {cells[0].bank_name}, {shown}: {' '.join(found)}, {len(todo)} left",
            flush=True,
        )
    return len(todo)


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper_grid", description=__doc__)
    parser.add_argument("--datasets", nargs="+", required=True)
    parser.add_argument("--seconds", type=float, default=np.inf, help="for each data set")
    parser.add_argument("--shown", action="store_true", help="only what the tables show")
    parser.add_argument("--folder", type=Path, default=_RESULTS)
    options = parser.parse_args(arguments)
    record = options.folder / "paper.jsonl"
    unpack(options.folder / "paper.jsonl.xz", record)
    study = Study.load("paper")
    with threadpool_limits(1), Store(record) as store, store.lock():
        for dataset in options.datasets:
            left = run(study, dataset, store, options.seconds, shown=options.shown)
            print(f"{dataset}: {left} points left")
    pack(record, options.folder / "paper.jsonl.xz")


if __name__ == "__main__":
    main()
