"""Crowds: many fits at once, in threads and processes, and estimators that travel."""

from __future__ import annotations

import copy
import io
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from robustness._results import Part, Plan, Result

__all__ = ["PARTS", "fit"]


def _data(seed: int, n: int = 150) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 5)) + 3 * rng.integers(0, 4, (n, 1))


def _methods() -> dict[str, Any]:
    from unispectral import SCMK, SCSK, UnifiedSpectralClustering
    from unispectral.baselines import AASC, KKM, MKKM, RKKM, RMKKM, SC, SSR, TSEP, ClustRF

    return {
        "USC": UnifiedSpectralClustering(3, n_init=3),
        "USC kernels": UnifiedSpectralClustering(3, kernels=["linear", "gaussian"], n_init=3),
        "SCSK exact": SCSK(3, kernel="gaussian", solver="exact", max_iter=5),
        "SCMK exact": SCMK(3, solver="exact", max_iter=3),
        "SCSK": SCSK(3, kernel="gaussian", max_iter=10),
        **{
            cls.__name__: cls(3, random_state=0)
            for cls in (KKM, RKKM, SC, SSR, ClustRF, TSEP, MKKM, AASC, RMKKM)
        },
    }


def fit(name: str, seed: int) -> np.ndarray:
    """The labels of a method on a data set."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(_methods()[name]).fit(_data(seed)).labels_


def _threads(plan: Plan) -> Result:
    result = Result("concurrency: 8 threads", plan.seed)
    names = list(_methods())[:: plan.pick(4, 1)]
    seeds = range(plan.seed, plan.seed + plan.pick(1, 4))
    alone = {(name, seed): fit(name, seed) for name in names for seed in seeds}
    rounds = plan.pick(2, 6)
    with warnings.catch_warnings():
        # Python's warning filters belong to the process; fits in threads must not fight over them.
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(8) as pool:
            jobs = [(key, pool.submit(fit, *key)) for key in alone for _ in range(rounds)]
            for (name, seed), job in jobs:
                same = bool((job.result() == alone[name, seed]).all())
                result.check(same, f"{name} on data set {seed}", "other labels than alone")
    return result


def _answer(queue: Any, name: str, seed: int) -> None:
    queue.put((name, seed, fit(name, seed)))


def _processes(plan: Plan) -> Result:
    result = Result("concurrency: 4 processes by fork and spawn", plan.seed)
    names = ["USC", "SCMK exact", "KKM", "SSR"]
    alone = {name: fit(name, plan.seed) for name in names}
    for method in ("spawn", "fork") if hasattr(os, "fork") else ("spawn",):
        context = multiprocessing.get_context(method)
        for _ in range(plan.pick(1, 3)):
            queue = context.Queue()
            pool = [
                context.Process(target=_answer, args=(queue, name, plan.seed)) for name in names
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python warns of fork in a process with threads
                for process in pool:
                    process.start()
            for _ in pool:
                try:
                    name, _, labels = queue.get(timeout=300)
                except Exception:
                    result.add("failed", method, "a process did not answer within 300 s")
                    continue
                same = bool((labels == alone[name]).all())
                result.check(same, f"{name} by {method}", "other labels than alone")
            for process in pool:
                process.join(30)
                if process.is_alive():
                    process.kill()
    return result


def _travel(plan: Plan) -> Result:
    import joblib
    from sklearn.base import clone

    result = Result("concurrency: clone, copy, pickle", plan.seed)
    X = _data(plan.seed)
    for name, estimator in _methods().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(estimator).fit(X)
            file = io.BytesIO()
            joblib.dump(fitted, file)
            file.seek(0)
            travelled = {
                "copy": copy.copy(fitted),
                "deepcopy": copy.deepcopy(fitted),
                "pickle": pickle.loads(pickle.dumps(fitted)),
                "joblib": joblib.load(file),
                "clone and fit": clone(fitted).fit(X),
            }
            for how, other in travelled.items():
                same = bool((other.labels_ == fitted.labels_).all())
                if same and hasattr(fitted, "predict"):
                    same = bool((other.predict(X) == fitted.predict(X)).all())
                result.check(same, f"{name} by {how}", "not the same model")
    return result


def _sub_interpreters(plan: Plan) -> Result:
    """NumPy loads into one interpreter of a process, scikit-learn hangs in a second: we say so."""
    result = Result("concurrency: sub-interpreters", plan.seed)
    for name in ("KKM",) if plan.quick else ("USC", "USC kernels", "SCSK", "KKM", "SSR"):
        command = [sys.executable, "-m", "robustness._subinterpreter", name, str(plan.seed)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        good, words = False, f"code {done.returncode}: {done.stderr[-300:]}"
        if done.returncode == 0:
            found = json.loads(done.stdout)
            words = found["said"]
            alone = fit(name, plan.seed).tolist()
            good = "cannot be used in a sub-interpreter" in words and (
                found["labels"] == [alone, alone]
            )
        result.check(good, name, words)
    return result


PARTS: dict[str, Part] = {
    "8 threads": _threads,
    "4 processes": _processes,
    "clone, copy, pickle": _travel,
    "sub-interpreters": _sub_interpreters,
}
