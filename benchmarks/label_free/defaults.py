"""How good are the defaults? One command, resumable: ``python -m benchmarks.label_free.defaults``.

Every figure is written to docs/results/defaults.json as soon as it is there; a second call goes
on where the first stopped, and measures again only what depends on settings that have changed.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._store import Store
from benchmarks.label_free import counting, extras, structure, suite, views
from benchmarks.label_free._fingerprint import behaviour
from benchmarks.label_free.data import DESIGN, SETS, VALIDATION, Absent, StudySet
from benchmarks.label_free.peers import METHODS, Method
from benchmarks.label_free.report import write
from unispectral import UnifiedSpectralClustering
from unispectral.metrics import scores

__all__ = ["main"]

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
PARTS = ("suite", "views", "main", "count", "advice", "split", "noise", "outliers")

#: (good kernels, kernels of noise, features of the noise)
NOISE_CASES = tuple(
    (good, noise, features)
    for good in (3, 1)
    for noise, features in ((0, 10), (3, 10), (10, 10), (3, 2))
)
NOISE_SETS = ("YALE", "ORL", "TR11", "moons", "subspaces 5", "light 30")
SPLIT_SETS = (*NOISE_SETS, "topics 8", "JAFFE", "digits", "wine", "iris", "breast cancer")
COSTLY = {"TDT2", "MNIST 5k"}
#: Seconds of work that one fit may take: on a nearly diagonal kernel, eigenvectors take for ever.
LIMIT = 120
LONG_LIMIT = 600
METRICS = ("accuracy", "nmi", "ari")


class Study:
    """One run: which sets, how many seeds, where the figures go."""

    def __init__(
        self, store: Store, names: Sequence[str], methods: Sequence[str], *, quick: bool
    ) -> None:
        self.store = store
        self.names = names
        self.methods = methods
        self.quick = quick
        self._kept: tuple[str, Any] = ("", None)
        self.settings = UnifiedSpectralClustering().get_params()

    def condition(self, method: Method) -> str:
        """What a figure depends on: nothing of ours for a peer."""
        return self.depends("labels") if method.ours else "peer"

    def depends(self, part: str) -> str:
        """What the figures of a part depend on: parameters, and the answers on small problems."""
        return f"{self.settings}; {behaviour(part)}"

    def seeds(self, wanted: int) -> range:
        return range(1 if self.quick else wanted)

    def data(self, name: str) -> Any:
        """Table and classes; the last set stays in memory."""
        if self._kept[0] != name:
            self._kept = (name, SETS[name].load())
        return self._kept[1]

    def present(self, names: Sequence[str]) -> list[str]:
        """Those of the names that were asked for and are on this machine."""
        found = []
        for name in names:
            if name not in self.names:
                continue
            try:
                self.data(name)
            except Absent as error:
                self._absent(name, error)
                continue
            self.store.forget(f"absent/{name}")
            found.append(name)
        return found

    def _absent(self, name: str, error: Absent) -> None:
        why = str(error)
        self.store.cell(f"absent/{name}", partial(dict, why=why), condition=why)

    def run(self, parts: Sequence[str]) -> None:
        steps: dict[str, Callable[[], None]] = {
            "suite": self.run_suite,
            "views": self.run_views,
            "main": self.run_main,
            "count": self.run_count,
            "advice": self.run_advice,
            "split": self.run_splits,
            "noise": self.run_noise,
            "outliers": self.run_outliers,
        }
        for part, step in steps.items():
            if part in parts:
                step()

    def run_main(self) -> None:
        for name in self.present(sorted(SETS, key=lambda name: name in COSTLY)):
            for method in METHODS:
                if method.name not in self.methods:
                    continue
                for seed in self.seeds(_runs(SETS[name], method)):
                    if "failed" in self._measure(SETS[name], method, seed):
                        break  # another seed would fail as well

    def _measure(self, chosen: StudySet, method: Method, seed: int) -> dict[str, Any]:
        def measure() -> dict[str, Any]:
            X, y = self.data(chosen.name)
            limit = LONG_LIMIT if chosen.name in COSTLY else LIMIT
            begun = time.perf_counter()
            why = {}
            try:
                with _time_limit(limit):
                    labels = method.fit(X, int(y.max()) + 1, seed, y)
            except Exception as error:  # a method that fails is a result, and the others go on
                why = {"failed": f"{type(error).__name__}: {error}"[:200]}
                labels = np.zeros(len(y), dtype=int)
            seconds = round(time.perf_counter() - begun, 2)
            found = scores(y, labels)
            result = {metric: round(float(found[metric]), 6) for metric in METRICS}
            return {**result, "seconds": seconds, **why}

        key = f"main/{chosen.name}/{method.name}/{seed}"
        return self.store.cell(key, measure, condition=self.condition(method))

    def _cell(self, key: str, part: str, work: Callable[..., dict], *given: Any) -> None:
        self.store.cell(key, partial(work, *given), condition=self.depends(part))

    def run_noise(self) -> None:
        for name in self.present(NOISE_SETS):
            for case in NOISE_CASES:
                key = "/".join(map(str, ("noise", name, *case)))
                self._cell(key, "kernels", extras.noise_kernels, *self.data(name), *case)

    def run_count(self) -> None:
        for number in range(len(structure.KINDS)):
            for draw in range(1 if self.quick else 3):
                X = structure.structureless(number, draw)
                self._cell(f"structureless/{number}/{draw}", "count", structure.look, X)
        for name in counting.PROBLEMS:
            for seed in self.seeds(2):
                given = (*counting.problem(name, seed), 30)
                self._cell(f"count/{name}/{seed}", "count", counting.count, *given)
        real = [one.name for one in (*DESIGN, *VALIDATION) if one.paper] + ["digits", "wine"]
        for name in self.present([*real, "iris", "breast cancer"]):
            if name not in COSTLY:
                given = (*self.data(name), 150)
                self._cell(f"count-real/{name}/0", "count", counting.count, *given)

    def run_advice(self) -> None:
        for name in self.present([*SETS]):
            self._cell(f"advice/{name}", "count", structure.advice, *self.data(name))

    def run_outliers(self) -> None:
        for name in self.present([one.name for one in DESIGN]):
            for seed in self.seeds(2):
                key = f"outliers/{name}/{seed}"
                self._cell(key, "outliers", extras.outliers, *self.data(name), seed)

    def run_splits(self) -> None:
        for name in self.present(SPLIT_SETS):
            for seed in self.seeds(3):
                key = f"split/{name}/{seed}"
                self._cell(key, "new points", extras.held_out, *self.data(name), seed)

    def run_suite(self) -> None:
        try:
            names = suite.names()
        except Absent as error:
            self._absent("suite", error)
            return
        self.store.forget("absent/suite")
        suite.warm()
        for name in names[: 1 if self.quick else None]:
            self._cell(f"suite/{name}", "labels", suite.compare, name)
        for name in names[: 1 if self.quick else None]:
            self._cell(f"suite-count/{name}", "count", suite.count, name)

    def run_views(self) -> None:
        for name, problem in views.PROBLEMS.items():
            try:
                problem.load()
            except Absent as error:
                self._absent(f"views of {name}", error)
                continue
            self.store.forget(f"absent/views of {name}")
            self._cell(f"views/{name}", "kernels", views.compare, problem.load)
            peer = partial(views.gmc, problem.load)
            self.store.cell(
                f"views-peer/{name}/GMC", peer, condition="peer, as its authors run it"
            )
            if self.quick:
                break


def _runs(chosen: StudySet, method: Method) -> int:
    """How many seeds: two of ours, which nearly always gives the same clusters."""
    if method.ours:
        return 2
    return chosen.n_seeds if method.random else 1


@contextmanager
def _time_limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after so many seconds of work, where the system has alarms.

    Work of the processor, not time on the clock, so that a busy machine fails nobody.
    """
    if not hasattr(signal, "SIGPROF") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise TimeoutError(f"no answer in {seconds} s")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study, or what is missing of it, and write the report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.label_free.defaults", description=__doc__
    )
    parser.add_argument("--sets", help="names of data sets, separated by commas; all otherwise")
    parser.add_argument("--parts", help=f"of {', '.join(PARTS)}; all otherwise")
    parser.add_argument("--methods", help="of the main table; all otherwise")
    parser.add_argument("--suite", action="store_true", help="the public benchmark suite as well")
    parser.add_argument("--quick", action="store_true", help="one seed, nothing is written")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument(
        "--ours", action="store_true", help="measure ours again, and keep the figures of peers"
    )
    given = parser.parse_args(arguments)
    names = _chosen(given.sets, list(SETS), "--sets")
    parts = _chosen(given.parts, list(PARTS), "--parts")
    if given.parts is None and not given.suite:
        parts.remove("suite")
    elif given.suite and "suite" not in parts:
        parts.append("suite")
    methods = _chosen(given.methods, [method.name for method in METHODS], "--methods")
    path = RESULTS / "defaults.json"
    if given.fresh and path.exists():
        path.unlink()
    store = Store(None if given.quick else path)
    if given.ours:
        ours = [
            key for key, cell in store.cells.items() if not cell["condition"].startswith("peer")
        ]
        for key in ours:
            if _part_of(key) in parts:
                store.forget(key)
    study = Study(store, names, methods, quick=given.quick)
    if not given.report:
        study.run(parts)
    now = None if given.quick else study.depends
    print(write(store, None if given.quick else path.with_suffix(".md"), now))


def _part_of(key: str) -> str:
    """The part of the study that measures a cell."""
    first = key.partition("/")[0]
    return {"structureless": "count", "count-real": "count", "suite-count": "suite"}.get(
        first, first
    )


def _chosen(given: str | None, known: list[str], option: str) -> list[str]:
    if given is None:
        return known
    wanted = [name.strip() for name in given.split(",")]
    for name in wanted:
        if name not in known:
            raise SystemExit(f"{option} {name!r} is not one of {', '.join(known)}.")
    return wanted


if __name__ == "__main__":
    main()
