"""The paper's algorithm with the library's embedding step and with the authors'.

``python -m benchmarks.alm_speed`` writes ``alm_speed.md``: processor seconds of SCSK on one
thread, at points of the grid of the study ``paper``. The authors' curvilinear search takes very
long on the larger sets; both steps are timed over the iterations that it does with some patience,
in the algorithm and by themselves. What the rest of the algorithm takes bounds what a faster step
can gain. A second table has SCMK from three starts at once, as the grid of the study is run,
beside one start; ``--starts`` measures that alone and keeps the first table.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._data import load
from benchmarks._lockstep import Kernels, follow
from benchmarks._measure import machine, measured_on
from benchmarks._report import Target, markdown_table, target_table
from unispectral._files import write_text_atomic
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy
from unispectral.paper import _alm as algorithm
from unispectral.paper import alm, search_embedding
from unispectral.paper._embedding import optimal_embedding

__all__ = ["main", "measure"]

#: The seconds that a whole fit may take, the kernel and the parameters.
POINTS: dict[str, tuple[float, str, dict[str, float]]] = {
    "yale": (1.0, "linear", {"alpha": 1e-4, "beta": 1e-4, "gamma": 1e-7, "mu": 10.0}),
    "ar": (30.0, "linear", {"alpha": 1e-4, "beta": 1e-4, "gamma": 1e-7, "mu": 1.0}),
    "coil20": (60.0, "polyplus_4", {"alpha": 0.5, "beta": 1e-4, "gamma": 1e-10, "mu": 10.0}),
}
QUICK = {"digits-60": (1.0, "linear", POINTS["yale"][2])}

#: Points of SCMK at which three starts are run at once.
SHARED: dict[str, dict[str, float]] = {
    "yale": {"alpha": 1e-2, "beta": 1e-4, "gamma": 1e-7, "mu": 1.0},
    "ar": {"alpha": 1e-4, "beta": 1e-4, "gamma": 1e-10, "mu": 0.01},
    "binary_alphadigits": {"alpha": 1e-2, "beta": 1e-4, "gamma": 1e-10, "mu": 10.0},
    "coil20": {"alpha": 1e-2, "beta": 1e-4, "gamma": 1e-10, "mu": 10.0},
}
_STARTS = 3


class Run(NamedTuple):
    """Processor seconds of the algorithm and of its embedding steps, and the last state."""

    seconds: float
    steps: float
    state: Any


class Timing(NamedTuple):
    """A whole fit, and for each start both steps over the same iterations."""

    seconds: float
    iterations: int
    accuracy: float
    compared: list[int]
    exact: list[Run]
    searched: list[Run]
    agreement: list[float]

    @property
    def ratio(self) -> float:
        """How many times faster the algorithm is with the library's step."""
        return _median(self.searched, "seconds") / _median(self.exact, "seconds")

    @property
    def step_ratio(self) -> float:
        """The same of the steps by themselves."""
        return _median(self.searched, "steps") / _median(self.exact, "steps")

    @property
    def bound(self) -> float:
        """What the ratio would be if the library's step took no time."""
        rest = np.median([run.seconds - run.steps for run in self.exact])
        return _median(self.searched, "seconds") / float(rest)


def _median(runs: list[Run], what: str) -> float:
    return float(np.median([getattr(run, what) for run in runs]))


def _alm(
    K: np.ndarray,
    n_clusters: int,
    most: int | None,
    patience: float,
    searched: bool = False,
    **options: Any,
) -> Run:
    """The algorithm, or its first iterations, with the processor seconds of each step."""
    spent: list[float] = []
    step = search_embedding if searched else optimal_embedding

    def timed(*args: Any) -> np.ndarray:
        begun = time.process_time()
        found = step(*args)
        spent.append(time.process_time() - begun)
        return found

    state: Any = None
    # In place of the library's own step: one that is handed in is given double precision.
    with mock.patch.object(algorithm, "optimal_embedding", timed):
        begun = time.process_time()
        states = alm(K, n_clusters, **options, step=timed if searched else "optimal")
        for state in islice(states, most):  # noqa: B007
            if time.process_time() - begun > patience:
                break
    return Run(time.process_time() - begun, sum(spent), state)


def measure(
    data: str, kernel: str, point: dict[str, float], starts: int, patience: float
) -> Timing:
    """Time whole runs, and the algorithm with either step over as many iterations."""
    X, y, n_clusters = load(data)
    K = np.asarray(KernelBank(X, [kernel]).matrix(0), dtype=np.float64)
    whole = _alm(K, n_clusters, None, np.inf, **point, random_state=0)
    accuracy = clustering_accuracy(y, whole.state.labels)
    found = Timing(whole.seconds, whole.state.iteration, accuracy, [], [], [], [])
    for seed in range(starts):
        options = {**point, "random_state": seed}
        theirs = _alm(K, n_clusters, None, patience, searched=True, **options)
        compared = theirs.state.iteration
        ours = _alm(K, n_clusters, compared, np.inf, **options)
        found.compared.append(compared)
        found.exact.append(ours)
        found.searched.append(theirs)
        found.agreement.append(clustering_accuracy(theirs.state.labels, ours.state.labels))
    return found


class Sharing(NamedTuple):
    """Three starts at once beside the first by itself."""

    alone: float
    together: float
    n_iter: int
    weights_apart: float
    accuracy: list[float]
    accuracy_alone: float

    @property
    def ratio(self) -> float:
        """How many times faster the starts are at once; each by itself takes as long."""
        return _STARTS * self.alone / self.together


def measure_sharing(data: str, point: dict[str, float]) -> Sharing:
    """Time one start by itself, and three at once."""
    X, y, n_clusters = load(data)
    whole = KernelBank(X, "paper")
    bank = KernelBank.from_matrices([whole.matrix(r) for r in range(len(whole))])
    alone = _alm(bank, n_clusters, None, np.inf, **point, random_state=0)
    starts = [
        np.linalg.qr(np.random.RandomState(seed).normal(size=(len(y), n_clusters)))[0]
        for seed in range(_STARTS)
    ]
    kernels = Kernels(bank)
    begun = time.process_time()
    path = follow(kernels, n_clusters, starts, **point)
    together = time.process_time() - begun
    return Sharing(
        alone.seconds,
        together,
        path.n_iter,
        float(np.abs(path.weights - alone.state.w).max()),
        [clustering_accuracy(y, labels) for labels in path.labels],
        clustering_accuracy(y, alone.state.labels),
    )


def render_sharing(found: dict[str, Sharing], conditions: dict[str, str]) -> str:
    """The second table."""
    rows = [
        [
            data.upper(),
            ", ".join(f"{name} = {value:g}" for name, value in point.items()),
            str(sharing.n_iter),
            f"{sharing.alone:.2f}",
            f"{sharing.together:.2f}",
            f"{sharing.ratio:.1f}",
            f"{sharing.weights_apart:.0e}",
            f"{100 * sharing.accuracy_alone:.1f}",
            ", ".join(f"{100 * accuracy:.1f}" for accuracy in sharing.accuracy),
        ]
        for data, sharing in found.items()
        for point in [{**SHARED, "digits-60": SHARED["yale"]}[data]]
    ]
    header = [
        "data",
        "point",
        "iterations",
        "one start, s",
        "three at once, s",
        "ratio to three alone",
        "weights apart by",
        "accuracy of the first alone",
        "of the three at once",
    ]
    about = (
        "SCMK with twelve kernels; processor seconds of one thread. At once, the starts share "
        "their codes, one factorisation in each iteration and one set of eigenvectors, in single "
        "precision where 2K + μI is conditioned well; embedding, rotation and labels are each "
        "start's own. Which optimum a rotation ends in depends on rounding, as it depends on the "
        "start."
    )
    heading = "## Three starts at once"
    footer = measured_on(conditions) + " Made by `python -m benchmarks.alm_speed --starts`."
    return "\n\n".join([heading, about, markdown_table(header, rows), footer]) + "\n"


def render(found: dict[str, Timing], conditions: dict[str, str]) -> str:
    """The table and the targets, as Markdown."""
    rows, targets = [], []
    for data, timing in found.items():
        limit, kernel, point = {**POINTS, **QUICK}[data]
        rows.append(
            [
                data.upper(),
                f"{kernel}, {point['alpha']:g}, {point['gamma']:g}, {point['mu']:g}",
                f"{timing.seconds:.2f}",
                str(timing.iterations),
                f"{100 * timing.accuracy:.1f}",
                ", ".join(map(str, timing.compared)),
                f"{_median(timing.exact, 'seconds'):.2f} ({_median(timing.exact, 'steps'):.2f})",
                f"{_median(timing.searched, 'seconds'):.2f} "
                f"({_median(timing.searched, 'steps'):.2f})",
                f"{timing.ratio:.1f} ({timing.step_ratio:.1f})",
                f"{timing.bound:.1f}",
                ", ".join(f"{100 * share:.0f}" for share in timing.agreement),
            ]
        )
        name, reached = data.upper(), f"{timing.seconds:.2f} s"
        met = timing.seconds <= limit
        targets.append(Target(f"{name}, whole fit", f"≤ {limit:g} s", reached, met))
        reached = f"{timing.ratio:.1f} ×"
        targets.append(Target(f"{name}, either step", "≥ 20 ×", reached, timing.ratio >= 20))
    header = [
        "data",
        "kernel, alpha, gamma, mu",
        "whole fit, s",
        "iterations",
        "accuracy",
        "iterations compared",
        "with the library's step, s",
        "with the authors' step, s",
        "ratio",
        "ratio if the step were free",
        "labels in common, % per start",
    ]
    about = (
        "SCSK by the paper's algorithm, at points of the grid of the study `paper`, beta = 1e-4; "
        "processor seconds of one thread, medians over starts. The two steps solve the same "
        "problem for the embedding, the authors' by a search along curves that stops early. Both "
        "are timed over the iterations compared, one number per start: all of a run, or as many "
        "as the search does before patience is over; the steps by themselves in parentheses. The "
        "rest, a factorisation and a solution for all columns per iteration, is common to both "
        "and bounds the ratio."
    )
    footer = measured_on(conditions) + " Made by `python -m benchmarks.alm_speed`."
    parts = ["# The paper's algorithm, timed", about, markdown_table(header, rows)]
    return "\n\n".join([*parts, target_table(targets), footer]) + "\n"


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alm_speed", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    parser.add_argument("--patience", type=float, default=45.0, help="seconds of the search")
    parser.add_argument("--quick", action="store_true", help="sixty digits instead")
    parser.add_argument("--starts", action="store_true", help="only the second table")
    args = parser.parse_args(argv)
    points = QUICK if args.quick else POINTS
    shared = {"digits-60": SHARED["yale"]} if args.quick else SHARED
    path = args.out / "alm_speed.md"
    with threadpool_limits(1):
        measure("digits-60", *QUICK["digits-60"][1:], 1, 1.0)  # pays for compilation
        if args.starts:
            first = path.read_text(encoding="utf-8").partition("\n## ")[0].rstrip() + "\n"
        else:
            found = {
                data: measure(data, kernel, point, 3 if limit <= 1 else 1, args.patience)
                for data, (limit, kernel, point) in points.items()
            }
            first = render(found, machine())
        sharing = {data: measure_sharing(data, point) for data, point in shared.items()}
    args.out.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, f"{first}\n{render_sharing(sharing, machine())}")
    print(path)


if __name__ == "__main__":
    main()
