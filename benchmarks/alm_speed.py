"""The paper's algorithm with the library's embedding step and with the authors'.

``python -m benchmarks.alm_speed`` writes ``alm_speed.md``: processor seconds of SCSK on one
thread, at points of the grid of the study ``paper``. The authors' curvilinear search takes very
long on the larger sets; both steps are timed over the iterations that it does with some patience.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import load
from benchmarks._measure import machine, measured_on
from benchmarks._report import Target, markdown_table, target_table
from unispectral._files import write_text_atomic
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy
from unispectral.paper import alm

__all__ = ["main", "measure"]

#: The seconds that a whole fit may take, the kernel and the parameters.
POINTS: dict[str, tuple[float, str, dict[str, float]]] = {
    "yale": (1.0, "linear", {"alpha": 1e-4, "beta": 1e-4, "gamma": 1e-7, "mu": 10.0}),
    "ar": (30.0, "linear", {"alpha": 1e-4, "beta": 1e-4, "gamma": 1e-7, "mu": 1.0}),
    "coil20": (60.0, "polyplus_4", {"alpha": 0.5, "beta": 1e-4, "gamma": 1e-10, "mu": 10.0}),
}
QUICK = {"digits-60": (1.0, "linear", POINTS["yale"][2])}


class Timing(NamedTuple):
    """A whole fit, and for each start both steps over the same iterations."""

    seconds: float
    iterations: int
    accuracy: float
    compared: list[int]
    exact: list[float]
    searched: list[float]
    agreement: list[float]


def _alm(K: np.ndarray, n_clusters: int, most: int | None, patience: float, **options: Any) -> Any:
    """Processor seconds and the last state of the algorithm, or of its first iterations."""
    begun = time.process_time()
    state: Any = None
    for state in islice(alm(K, n_clusters, **options), most):  # noqa: B007
        if time.process_time() - begun > patience:
            break
    return time.process_time() - begun, state


def measure(
    data: str, kernel: str, point: dict[str, float], starts: int, patience: float
) -> Timing:
    """Time whole runs, and the algorithm with either step over as many iterations."""
    X, y, n_clusters = load(data)
    K = np.asarray(KernelBank(X, [kernel]).matrix(0), dtype=np.float64)
    seconds, whole = _alm(K, n_clusters, None, np.inf, **point, random_state=0)
    found = Timing(seconds, whole.iteration, clustering_accuracy(y, whole.labels), [], [], [], [])
    for seed in range(starts):
        options = {**point, "random_state": seed}
        theirs, other = _alm(K, n_clusters, None, patience, **options, step="wen-yin")
        mine, ours = _alm(K, n_clusters, other.iteration, np.inf, **options)
        found.compared.append(other.iteration)
        found.exact.append(mine)
        found.searched.append(theirs)
        found.agreement.append(clustering_accuracy(other.labels, ours.labels))
    return found


def render(found: dict[str, Timing], conditions: dict[str, str]) -> str:
    """The table and the targets, as Markdown."""
    rows, targets = [], []
    for data, timing in found.items():
        limit, kernel, point = {**POINTS, **QUICK}[data]
        ratio = float(np.median(timing.searched) / np.median(timing.exact))
        rows.append(
            [
                data.upper(),
                f"{kernel}, {point['alpha']:g}, {point['gamma']:g}, {point['mu']:g}",
                f"{timing.seconds:.2f}",
                str(timing.iterations),
                f"{100 * timing.accuracy:.1f}",
                ", ".join(map(str, timing.compared)),
                f"{np.median(timing.exact):.2f}",
                f"{np.median(timing.searched):.2f}",
                f"{ratio:.1f}",
                ", ".join(f"{100 * share:.0f}" for share in timing.agreement),
            ]
        )
        name, reached = data.upper(), f"{timing.seconds:.2f} s"
        met = timing.seconds <= limit
        targets.append(Target(f"{name}, whole fit", f"≤ {limit:g} s", reached, met))
        reached = f"{ratio:.1f} ×"
        targets.append(Target(f"{name}, either step", "≥ 20 ×", reached, ratio >= 20))
    header = [
        "data",
        "kernel, alpha, gamma, mu",
        "whole fit, s",
        "iterations",
        "accuracy",
        "iterations compared",
        "library's step, s",
        "authors' step, s",
        "ratio",
        "labels in common, % per start",
    ]
    about = (
        "SCSK by the paper's algorithm, at points of the grid of the study `paper`, beta = 1e-4; "
        "processor seconds of one thread, medians over starts. The two steps solve the same "
        "problem for the embedding, the authors' by a search along curves that stops early. Both "
        "are timed over the iterations compared, one number per start: all of a run, or as many "
        "as the search does before patience is over."
    )
    footer = measured_on(conditions) + " Made by `python -m benchmarks.alm_speed`."
    parts = ["# The paper's algorithm, timed", about, markdown_table(header, rows)]
    return "\n\n".join([*parts, target_table(targets), footer]) + "\n"


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alm_speed", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--patience", type=float, default=120.0, help="seconds of the search")
    parser.add_argument("--quick", action="store_true", help="sixty digits instead")
    args = parser.parse_args(argv)
    points = QUICK if args.quick else POINTS
    with threadpool_limits(1):
        measure("digits-60", *QUICK["digits-60"][1:], 1, 1.0)  # pays for compilation
        found = {
            data: measure(data, kernel, point, 3 if limit <= 1 else 1, args.patience)
            for data, (limit, kernel, point) in points.items()
        }
    args.out.mkdir(parents=True, exist_ok=True)
    write_text_atomic(args.out / "alm_speed.md", render(found, machine()))
    print(args.out / "alm_speed.md")


if __name__ == "__main__":
    main()
