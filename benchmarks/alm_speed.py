"""The paper's algorithm with the library's embedding step and with the authors'.

``python -m benchmarks.alm_speed`` writes ``alm_speed.md``: processor seconds of SCSK with its
defaults, on one thread. The authors' curvilinear search takes minutes on the larger sets, where
both steps are timed over the first iterations only.
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
from unispectral import SCSK
from unispectral._files import write_text_atomic
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy
from unispectral.paper import alm

__all__ = ["main", "measure"]

#: The seconds that a whole fit may take, and the iterations over which the steps are compared.
SETS = {"yale": (1.0, None), "ar": (30.0, 3), "coil20": (60.0, 3)}


class Timing(NamedTuple):
    """One data set: a whole fit, and both embedding steps over the same iterations."""

    seconds: float
    iterations: int
    accuracy: float
    compared: int | None
    exact: list[float]
    searched: list[float]
    agreement: list[float]


def _alm(K: np.ndarray, n_clusters: int, seed: int, step: str, most: int | None) -> Any:
    """Processor seconds and the last state of the algorithm, or of its first iterations."""
    prices = {name: SCSK().get_params()[name] for name in ("alpha", "beta", "gamma", "mu")}
    begun = time.process_time()
    states = alm(K, n_clusters, **prices, step=step, random_state=seed)
    *_, last = islice(states, most)
    return time.process_time() - begun, last


def measure(data: str, compared: int | None, starts: int) -> Timing:
    """Time a fit with the defaults, and the algorithm with either step."""
    X, y, n_clusters = load(data)
    K = np.asarray(KernelBank(X, ["linear"]).matrix(0), dtype=np.float64)
    seconds, whole = _alm(K, n_clusters, 0, "exact", None)
    exact, searched, agreement = [], [], []
    for seed in range(starts):
        mine, ours = _alm(K, n_clusters, seed, "exact", compared)
        theirs, other = _alm(K, n_clusters, seed, "wen-yin", compared)
        exact.append(mine)
        searched.append(theirs)
        agreement.append(clustering_accuracy(other.labels, ours.labels))
    accuracy = clustering_accuracy(y, whole.labels)
    return Timing(seconds, whole.iteration, accuracy, compared, exact, searched, agreement)


def render(found: dict[str, Timing], conditions: dict[str, str]) -> str:
    """The table and the targets, as Markdown."""
    rows, targets = [], []
    for data, timing in found.items():
        ratio = float(np.median(timing.searched) / np.median(timing.exact))
        over = f"first {timing.compared}" if timing.compared else "all"
        rows.append(
            [
                data.upper(),
                f"{timing.seconds:.2f}",
                str(timing.iterations),
                f"{100 * timing.accuracy:.1f}",
                over,
                f"{np.median(timing.exact):.2f}",
                f"{np.median(timing.searched):.2f}",
                f"{ratio:.1f}",
                ", ".join(f"{100 * share:.0f}" for share in timing.agreement),
            ]
        )
        if data in SETS:
            limit = SETS[data][0]
            reached = f"{timing.seconds:.2f} s"
            met = timing.seconds <= limit
            targets.append(Target(f"{data.upper()}, whole fit", f"≤ {limit:g} s", reached, met))
        reached = f"{ratio:.1f} ×"
        targets.append(
            Target(f"{data.upper()}, against the authors' step", "≥ 20 ×", reached, ratio >= 20)
        )
    header = [
        "data",
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
        "SCSK by the paper's algorithm, linear kernel and the defaults; processor seconds of one "
        "thread, medians over starts. The two steps solve the same problem for the embedding, the "
        "authors' by a search along curves that stops early."
    )
    footer = measured_on(conditions) + " Made by `python -m benchmarks.alm_speed`."
    parts = ["# The paper's algorithm, timed", about, markdown_table(header, rows)]
    return "\n\n".join([*parts, target_table(targets), footer]) + "\n"


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alm_speed", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--quick", action="store_true", help="sixty digits instead")
    args = parser.parse_args(argv)
    sets = {"digits-60": (1.0, None)} if args.quick else SETS
    with threadpool_limits(1):
        if not args.quick:
            measure("digits-60", None, 1)  # pays for compilation
        found = {
            data: measure(data, compared, 1 if compared else 3)
            for data, (_, compared) in sets.items()
        }
    args.out.mkdir(parents=True, exist_ok=True)
    write_text_atomic(args.out / "alm_speed.md", render(found, machine()))
    print(args.out / "alm_speed.md")


if __name__ == "__main__":
    main()
