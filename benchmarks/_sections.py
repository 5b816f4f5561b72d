"""The measurements of ``make bench``, one function per kind of cell, each of plain numbers."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.preprocessing import normalize

from benchmarks._data import Input, load
from benchmarks._elastic_net import elastic_net_codes
from benchmarks._measure import Sample, interleaved
from benchmarks._memory import peak_memory
from benchmarks._model import Penalties, codes_residual
from benchmarks._tasks import OURS, floors, gram, runner
from unispectral.metrics import scores


def quality_and_time(
    data: str,
    methods: Iterable[str],
    *,
    repeats: int,
    patience: float,
    dtype: str | None = None,
    floor: str = "",
) -> dict[str, Any]:
    """Fit every method on one data set, in turns: seconds, ACC, NMI; ours also objective and KKT.

    `floor` adds the Gram matrix (``"gram"``), or that and an eigen-decomposition (``"eigen"``).
    """
    loaded = load(data, dtype=dtype)
    tasks = {name: runner(name, loaded) for name in methods}
    if floor == "eigen":
        tasks |= floors(loaded)
    elif floor == "gram":
        tasks["Gram matrix"] = gram(loaded)
    _compile(tasks, loaded)
    samples = interleaved(tasks, repeats, patience=patience)
    return {
        "n": loaded.X.shape[0],
        "features": loaded.X.shape[1],
        "clusters": loaded.n_clusters,
        "dtype": str(loaded.X.dtype),
        "methods": {name: _described(sample, loaded) for name, sample in samples.items()},
    }


def _compile(methods: Iterable[str], data: Input) -> None:
    """Fit ours on a few samples of the same kind, so that no measured run pays for compilation."""
    small = load("digits-60", dtype=str(data.X.dtype))
    if sp.issparse(data.X):
        small = small._replace(X=sp.csr_array(small.X))
    for name in methods:
        if name in OURS and not name.endswith("alm"):
            runner(name, small)()


def _described(sample: Sample, data: Input) -> dict[str, Any]:
    if sample.failure:
        return {"failure": sample.failure}
    found: dict[str, Any] = {"seconds": list(sample.seconds)}
    model = sample.outcome
    if hasattr(model, "labels_"):
        quality = scores(data.y, model.labels_)
        found |= {name: quality[name] for name in ("accuracy", "nmi")}
    if hasattr(model, "kkt_residual_"):
        found |= {
            "objective": float(model.objective_[-1]),
            "kkt": float(model.kkt_residual_),
            "iterations": int(model.n_iter_),
            "stop": model.stop_reason_,
        }
    return found


def memory(data: str, methods: Iterable[str], dtype: str | None = None) -> dict[str, Any]:
    """Peak resident memory of one fit of each method, in a process of its own."""
    found: dict[str, Any] = {}
    for method in methods:
        try:
            found[method] = peak_memory(method=method, data=data, dtype=dtype)
        except RuntimeError as error:
            found[method] = {"failure": str(error)}
    return found


def graph_task(data: str, *, repeats: int, patience: float) -> dict[str, Any]:
    """Codes of all samples over the others: our Z-step against the elastic-net active set.

    Twice: each with its own settings, and both on the same problem, the non-negative lasso at
    α = 0.1. Scaling, Gram matrix and codes are inside the clock for both.
    """
    from unispectral.graph import codes

    loaded = load(data)
    X, alpha = np.asarray(loaded.X, dtype=np.float64), 0.1

    def ours() -> Any:
        unit = normalize(X)
        return codes(unit @ unit.T, alpha).matrix

    def same_problem() -> Any:
        return elastic_net_codes(X, balance=1.0, gamma=2.0 / alpha, positive=True)

    tasks = {
        "ours": ours,
        "elastic net, same problem": same_problem,
        "elastic net, its own settings": lambda: elastic_net_codes(X),
    }
    samples = interleaved(tasks, repeats, patience=patience)
    unit = normalize(X)
    K = unit @ unit.T
    found: dict[str, Any] = {"n": len(X), "methods": {}}
    for name, sample in samples.items():
        row: dict[str, Any] = {"seconds": list(sample.seconds)}
        row["nonzeros"] = sample.outcome.nnz / len(X)
        if "own settings" not in name:
            row["kkt"] = codes_residual(K, sample.outcome.T, None, Penalties(alpha, 0.0, 0.0))
        found["methods"][name] = row
    return found


_IMPORT = """
import json, sys, time
STATEMENTS = [
    ("unispectral", "import unispectral"),
    ("scikit-learn", "import sklearn.base"),
    ("estimators", "from unispectral import SCSK"),
]
seconds = {}
for name, statement in STATEMENTS:
    begun = time.process_time()
    exec(statement)
    seconds[name] = time.process_time() - begun
print(json.dumps({"seconds": seconds, "numba": "numba" in sys.modules}))
"""

_FIRST_FIT = """
import json, time, warnings
from sklearn.datasets import load_digits
from unispectral import UnifiedSpectralClustering
X = load_digits().data[:300]
warnings.simplefilter("ignore")
seconds = []
for _ in range(2):
    begun = time.process_time()
    UnifiedSpectralClustering(10).fit(X)
    seconds.append(time.process_time() - begun)
print(json.dumps({"first": seconds[0], "second": seconds[1]}))
"""


def first_use(repeats: int, *, compile_anew: bool = True) -> dict[str, Any]:
    """Fresh processes: the import, then the first fit with nothing compiled and from the cache."""
    imports = [_script(_IMPORT, {}) for _ in range(repeats)]
    found: dict[str, Any] = {
        "import": {
            name: [row["seconds"][name] for row in imports] for name in imports[0]["seconds"]
        },
        "numba_loaded": any(row["numba"] for row in imports),
    }
    if compile_anew:
        found["nothing_compiled"], found["from_cache"] = [], []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                environment = {"NUMBA_CACHE_DIR": cache}
                found["nothing_compiled"].append(_script(_FIRST_FIT, environment))
                found["from_cache"].append(_script(_FIRST_FIT, environment))
    found["command"] = _commands(repeats)
    return found


def _commands(repeats: int) -> dict[str, list[float]]:
    """Processor seconds of the whole process: 150 rows of a CSV, and a file that is missing."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "iris.csv"
        load_iris(as_frame=True).data.to_csv(table, index=False)
        cluster = ["cluster", str(table), "-k", "3", "-o", str(table.with_name("labels.csv"))]
        _command_seconds(cluster)  # which leaves compiled code behind
        missing = ["cluster", str(table.with_name("absent.csv")), "-k", "3"]
        return {
            "cluster": [_command_seconds(cluster) for _ in range(repeats)],
            "missing file": [_command_seconds(missing, expected=1) for _ in range(repeats)],
        }


def _command_seconds(arguments: list[str], expected: int = 0) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "unispectral", *arguments], capture_output=True, text=True
    )
    if done.returncode != expected:
        raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _script(code: str, environment: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout.splitlines()[-1])
