"""SCMK by the authors' program as it was public when the paper appeared.

``python -m benchmarks.paper_program`` writes ``paper_program.json``, which it resumes, and
``paper_program.md``: on the sets where SCMK stays behind the paper, the accuracy with twice the
solution as codes and distances unsquared (``alm(doubled=True, distance="unsquared")``), as in that
program until January 2018. ``--since`` adds the same points of the program as it is since, whose
whole grid is in paper_models.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import load
from benchmarks._measure import machine, measured_on
from benchmarks._report import markdown_table
from benchmarks._store import Store
from unispectral._files import write_text_atomic
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy
from unispectral.paper import alm

__all__ = ["main", "render", "run"]

SETS = ("ar", "binary_alphadigits", "coil20")
MUS = (100.0, 10.0, 0.01)
ALPHAS = (1e-4, 1e-2, 0.1, 0.5)
PENALTIES = {"beta": 1e-4, "gamma": 1e-10}
PROGRAMS: dict[str, dict[str, Any]] = {
    "until January 2018": {"doubled": True, "distance": "unsquared"},
    "since": {},
}
_WIDE = slice(4, 7)  # of the bank: the three widest Gaussians
_STILL = 5  # iterations without another label after which a run is ended
_MOST = 40  # iterations: the codes that grow have no end


@lru_cache(maxsize=1)
def _bank(data: str) -> tuple[KernelBank, np.ndarray, int]:
    X, y, n_clusters = load(data)
    whole = KernelBank(X, "paper")
    kept = [np.asarray(whole.matrix(r), dtype=np.float64) for r in range(len(whole))]
    return KernelBank.from_matrices(kept), y, n_clusters


def run(data: str, program: str, mu: float, alpha: float, most: int = _MOST) -> dict[str, Any]:
    """One start: accuracy at the end and at best on the way, iterations, the weights' shares."""
    bank, y, n_clusters = _bank(data)
    path: list[float] = []
    last = None
    still = 0
    states = alm(
        bank, n_clusters, alpha=alpha, mu=mu, random_state=0, max_iter=most,
        **PENALTIES, **PROGRAMS[program],
    )  # fmt: skip
    for state in states:
        still = still + 1 if last is not None and np.array_equal(last, state.labels) else 0
        last = state.labels
        path.append(100.0 * clustering_accuracy(y, last))
        if still == _STILL:
            break
    return {
        "accuracy": round(path[-1], 2),
        "highest": round(max(path), 2),
        "iterations": len(path),
        "weights": (state.w / state.w.sum()).round(4).tolist(),
    }


def _points(sets: Iterable[str], since: bool) -> Iterable[tuple[str, str, float, float]]:
    programs = list(PROGRAMS) if since else ["until January 2018"]
    return product(programs, sets, MUS, ALPHAS)


def render(cells: dict[str, Any], sets: Iterable[str]) -> str:
    """The table: the best point of each program."""
    rows = []
    for data, program in product(sets, PROGRAMS):
        found = {
            tuple(key.split()[-2:]): cell
            for key, cell in cells.items()
            if key.startswith(f"{data} {program} ")
        }
        if not found:
            continue
        (mu, alpha), best = max(found.items(), key=lambda item: item[1]["accuracy"])
        rows.append([
            data.upper(), program, f"{mu}, {alpha}", f"{best['accuracy']:.1f}",
            f"{best['highest']:.1f}", f"{max(c['highest'] for c in found.values()):.1f}",
            f"{sum(best['weights'][_WIDE]):.2f}", str(len(found)),
        ])  # fmt: skip
    head = [
        "data", "program", "best mu, alpha", "accuracy", "highest on the way",
        "highest of all points", "weight of the three widest Gaussians", "points",
    ]  # fmt: skip
    penalties = ", ".join(f"{name} = {value:g}" for name, value in PENALTIES.items())
    about = (
        f"SCMK with the bank of the data, one start; {penalties}. Until January 2018 the public "
        "program of the authors took twice the solution of the codes' step, and distances of the "
        f"embedding unsquared. A run ends when no label has changed for {_STILL} iterations, or "
        f"after {_MOST}."
    )
    return "\n\n".join(
        ["# The program when the paper appeared", about, markdown_table(head, rows)]
    )


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper_program", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--datasets", nargs="+", default=list(SETS))
    parser.add_argument("--since", action="store_true", help="the program as it is since, too")
    parser.add_argument("--report", action="store_true", help="only write the table")
    options = parser.parse_args(arguments)
    store = Store(options.out / "paper_program.json")
    todo = () if options.report else _points(options.datasets, options.since)
    with threadpool_limits(1):
        for program, data, mu, alpha in todo:
            key = f"{data} {program} {mu:g} {alpha:g}"
            store.cell(key, partial(run, data, program, mu, alpha))
    text = render(store.cells, options.datasets)
    footer = measured_on(machine()) + " Made by `python -m benchmarks.paper_program`."
    write_text_atomic(options.out / "paper_program.md", f"{text}\n\n{footer}\n")


if __name__ == "__main__":
    main()
