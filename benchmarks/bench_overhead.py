"""What the runner of studies costs against a plain loop: ``python -m benchmarks.bench_overhead``.

200 small cells (spectral clustering of 1000 points, about a tenth of a second each) are fitted and
scored once in a plain loop and once as a study with one worker process, each in an interpreter of
its own, so that both pay for their imports. Rounds alternate and the best of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

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
from unispectral.bench import Dataset, Method, Store, Study, run
from unispectral.bench.runner import keep_arrays
n = int(sys.argv[1])
method = Method(
    "spectral", "sklearn.cluster.SpectralClustering", parameters=parameters, repeats=n)
study = Study("overhead", [Dataset("blobs", data=X, target=y)], [method])
with tempfile.TemporaryDirectory() as folder, Store(folder + "/results.sqlite") as store:
    run(study, store, processes=1, threads=1)
    records = store.records()
    kept = keep_arrays(study, store)
print(json.dumps([records[cell.key].scores["accuracy"] for cell in kept.cells()]))
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
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    loops, studies = [], []
    for _ in range(options.rounds):
        seconds, expected = measure(_LOOP, options.cells)
        loops.append(seconds)
        seconds, found = measure(_STUDY, options.cells)
        studies.append(seconds)
        if found != expected:
            raise SystemExit("the study and the loop disagree")
    print(f"{options.cells} cells, the same figures from both; best of {options.rounds} rounds")
    print("              seconds   processor")
    best = []
    for name, measured in (("plain loop", loops), ("study", studies)):
        best.append([min(values) for values in zip(*measured, strict=True)])
        print(f"{name:12s} {best[-1][0]:8.2f}    {best[-1][1]:8.2f}")
    overhead = [100 * (study / loop - 1) for loop, study in zip(*best, strict=True)]
    print(
        f"{'overhead':12s} {overhead[0]:7.2f} %  {overhead[1]:7.2f} %   (limit 5 % of the seconds)"
    )


if __name__ == "__main__":
    main()
