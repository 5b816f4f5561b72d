"""What the runner of studies costs against a plain loop: ``python -m benchmarks.overhead``.

200 small cells (spectral clustering of 1000 points, about a tenth of a second each) are fitted and
scored once in a plain loop and once as a study with one worker process, each in an interpreter of
its own, so that both pay for their imports. Rounds alternate, and so does who goes first; the best
of each counts, because a machine that others use is at times half as fast. Writes ``overhead.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks._measure import machine, measured_on
from benchmarks._report import markdown_table
from unispectral._files import write_text_atomic

CELLS = 200
_DATA = """
import numpy as np
rng = np.random.default_rng(0)
y = np.repeat(np.arange(10), 100)
X = rng.normal(size=(10, 20))[y] * 2 + rng.normal(size=(1000, 20))
parameters = {"affinity": "nearest_neighbors", "n_neighbors": 10}
"""
_LOOP = (
    _DATA
    + """
from sklearn.cluster import SpectralClustering
from threadpoolctl import threadpool_limits
from unispectral.metrics import scores
n = int(sys.argv[1])
with threadpool_limits(1):
    found = []
    for seed in range(n):
        model = SpectralClustering(10, random_state=seed, **parameters).fit(X)
        found.append(scores(y, model.labels_)["accuracy"])
print(json.dumps(found))
"""
)
_STUDY = (
    _DATA
    + """
from unispectral.bench import StudyDataset, StudyMethod, Store, Study, run
n = int(sys.argv[1])
method = StudyMethod(
    "spectral", "sklearn.cluster.SpectralClustering", parameters=parameters, repeats=n)
with tempfile.TemporaryDirectory() as folder, Store(folder + "/results.jsonl") as store:
    np.savez(folder + "/blobs.npz", X=X, y=y)
    blobs = StudyDataset("blobs", file=folder + "/blobs.npz", truth="y")
    study = Study("overhead", [blobs], [method])
    run(study, store, processes=1, threads=1)
    records = store.records()
    print(json.dumps([records[cell.key].scores["accuracy"] for cell in study.cells()]))
"""
)


def measure(script: str, count: int) -> tuple[tuple[float, float], list[float]]:
    """Seconds and processor seconds of a whole process, and the accuracies it prints."""
    code = "import json, sys, tempfile\n" + script
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    started, used = time.perf_counter(), _children()
    done = subprocess.run(
        [sys.executable, "-c", code, str(count)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return (time.perf_counter() - started, _children() - used), json.loads(done.stdout)


def _children() -> float:
    """Processor seconds of all processes that were started from here and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", type=int, default=CELLS)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    options = parser.parse_args()
    scripts = {"plain loop": _LOOP, "study": _STUDY}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in scripts}
    for turn in range(options.rounds):
        figures = []
        for name in list(scripts)[:: 1 if turn % 2 == 0 else -1]:
            seconds, found = measure(scripts[name], options.cells)
            taken[name].append(seconds)
            figures.append(found)
        if figures[0] != figures[1]:
            raise SystemExit("the study and the loop disagree")
        print(f"round {turn + 1}: " + ", ".join(f"{n} {t[-1][0]:.2f} s" for n, t in taken.items()))
    best = {
        name: [min(values) for values in zip(*rounds, strict=True)]
        for name, rounds in taken.items()
    }
    rows = [[name, *(f"{value:.2f}" for value in values)] for name, values in best.items()]
    over = [100 * (study / loop - 1) for loop, study in zip(*best.values(), strict=True)]
    rows.append(["overhead", *(f"{value:+.1f} %" for value in over)])
    table = markdown_table(["", "seconds", "processor seconds"], rows)
    write_text_atomic(options.out / "overhead.md", page(table, options.cells, options.rounds))
    print(table)


def page(table: str, cells: int, rounds: int) -> str:
    """The result file."""
    return (
        "# What scheduling costs\n\n"
        f"{cells} small cells as a study with one worker process, and the same fits and scores in "
        f"a plain loop, each in its own interpreter; best of {rounds} rounds that took turns. "
        "Target: less than 5 % more.\n\n"
        f"{table}\n\n{measured_on(machine())} Made by `python -m benchmarks.overhead`.\n"
    )


if __name__ == "__main__":
    main()
