"""What the runner of studies costs against a plain loop: ``python -m benchmarks.bench_overhead``.

200 small cells (spectral clustering of 500 digits, about a tenth of a second each) are fitted and
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
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
X, y = X[:500], y[:500]
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
n = int(sys.argv[1])
method = Method(
    "spectral", "sklearn.cluster.SpectralClustering", parameters=parameters, repeats=n)
study = Study("overhead", [Dataset("digits500", data=X, target=y)], [method])
with tempfile.TemporaryDirectory() as folder, Store(folder + "/results.sqlite") as store:
    run(study, store, processes=1)
    records = store.records()
print(json.dumps([records[cell.key].scores["accuracy"] for cell in cells(study, store)]))
"""
)
_CELLS = """
def cells(study, store):
    from unispectral.bench.runner import keep_arrays
    return keep_arrays(study, store).cells()
"""


def measure(script: str, count: int) -> tuple[float, list[float]]:
    """Seconds of a whole process, and the accuracies it prints."""
    code = "import json, sys, tempfile\n" + _CELLS + script
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, str(count)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - started, json.loads(done.stdout)


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
    loop, study = min(loops), min(studies)
    print(f"{options.cells} cells, the same figures from both")
    print(f"plain loop  {loop:8.2f} s   {1e3 * loop / options.cells:6.1f} ms a cell")
    print(f"study       {study:8.2f} s   {1e3 * study / options.cells:6.1f} ms a cell")
    print(f"overhead    {100 * (study / loop - 1):8.2f} %   (limit 5 %)")


if __name__ == "__main__":
    main()
