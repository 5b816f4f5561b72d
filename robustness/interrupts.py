"""Ctrl-C and time limits: a fit stops within a second, and says how far it came."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from typing import Any

from robustness._results import Part, Plan, Result

__all__ = ["PARTS"]

#: Seconds from the signal to the end of the fit.
_PROMPT = 1.0

_FITS = {
    "USC, 30,000 samples": "UnifiedSpectralClustering(8), n=30_000",
    "USC, 8,000 samples": "UnifiedSpectralClustering(8), n=8_000",
    "USC, three kernels": "UnifiedSpectralClustering(8, kernels=['linear', 'gaussian', "
    "'laplacian']), n=6_000",
    "SCSK, exact": "SCSK(8, kernel='gaussian', solver='exact', alpha=1e-3), n=6_000",
    "SCMK, exact": "SCMK(8, solver='exact'), n=3_000",
    "SCSK, alm": "SCSK(8, kernel='gaussian'), n=2_500",
    "SCSK, local": "SCSK(8, kernel='gaussian', solver='local'), n=20_000",
    "SC": "SC(8), n=6_000",
    "SSR": "SSR(8), n=6_000",
    "RKKM": "RKKM(8, n_init=50), n=4_000",
    "MKKM": "MKKM(8, n_init=50), n=3_000",
    "KKM": "KKM(40, n_init=200), n=6_000",
    "RMKKM": "RMKKM(8, n_init=50), n=3_000",
    "AASC": "AASC(8), n=3_000",
    "ClustRF": "ClustRF(8, n_estimators=2000), n=4_000",
    "TSEP": "TSEP(8), n=4_000",
}

_PROGRAM = """
import signal, sys, time, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits deaf ears
import numpy as np
from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral.baselines import AASC, KKM, MKKM, RKKM, RMKKM, SC, SSR, TSEP, ClustRF
warnings.simplefilter("ignore")
def make(estimator, n):
    return estimator, n
estimator, n = make({fit})
rng = np.random.default_rng(0)
X = rng.standard_normal((n, 20)) + 3 * rng.integers(0, 8, (n, 1))
type(estimator)(3).fit(X[:60])  # compile first: that is not part of a fit
print("ready", flush=True)
try:
    estimator.fit(X)
except KeyboardInterrupt:
    print("interrupted", hasattr(estimator, "labels_"), flush=True)
else:
    print("finished", flush=True)
"""


def _interrupted(name: str, plan: Plan) -> Result:
    """Interrupt a fit at random moments."""
    import numpy as np

    result = Result("interrupts: Ctrl-C in a fit", plan.seed)
    rng = np.random.default_rng([plan.seed, *name.encode()])
    slowest = (0.0, "")
    if not plan.quick or name in list(_FITS)[::5]:
        for _ in range(plan.pick(1, 3)):
            wait = float(rng.uniform(0.1, 3.0))
            state, seconds, fitted = _interrupt(_FITS[name], wait)
            case = f"{name}, after {wait:.2f} s"
            if state == "finished":
                result.add("finished before the signal", case)
                continue
            slowest = max(slowest, (seconds, case))
            good = state == "interrupted" and not fitted and seconds <= _PROMPT + _grace()
            words = f"{state} {seconds:.2f} s after the signal, fitted: {fitted}"
            result.check(good, case, words)
    result.facts["longest time from the signal to the end"] = f"{slowest[0]:.2f} s: {slowest[1]}"
    result.facts["allowance for a busy machine"] = f"{_grace():.1f} s"
    return result


def _grace() -> float:
    """More runnable processes than cores delay everything, us included."""
    load = os.getloadavg()[0] / max(os.cpu_count() or 1, 1)
    return max(0.0, 0.5 * (load - 1.0))


def _interrupt(fit: str, wait: float) -> tuple[str, float, bool]:
    """How the fit ended, seconds after the signal, and whether it counts as fitted."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM.format(fit=fit)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != "ready":
            return "did not start", 0.0, False
        time.sleep(wait)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        words = process.stdout.readline().split()
        seconds = time.monotonic() - sent
        if not words:
            return "died", seconds, False
        return words[0], seconds, words[-1] == "True"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _limited(plan: Plan) -> Result:
    """``max_time``: a result, a warning that names the limit, and not much later than asked."""
    result = Result("interrupts: max_time", plan.seed)
    worst = (0.0, "")
    for name, make in _timed().items():
        for limit in (0.01, 0.5):
            over, good, words = _run_into(make, limit, plan)
            case = f"{name}, max_time={limit}"
            if good is None:
                result.add("finished before the limit", case)
                continue
            worst = max(worst, (over, case))
            result.check(good, case, words)
    result.facts["longest time beyond the limit"] = f"{worst[0]:.2f} s: {worst[1]}"
    return result


def _timed() -> dict[str, Any]:
    from unispectral import SCMK, SCSK

    numbers = {"alpha": 1e-3, "tol": 0.0, "max_iter": 10_000}
    found: dict[str, Any] = {
        f"SCSK, {solver}": lambda limit, solver=solver: SCSK(
            8, kernel="gaussian", max_time=limit, solver=solver, **numbers
        )
        for solver in ("alm", "exact", "local")
    }
    for solver in ("alm", "exact"):
        found[f"SCMK, {solver}"] = lambda limit, solver=solver: SCMK(
            8, max_time=limit, solver=solver, **numbers
        )
    return found


def _run_into(make: Any, limit: float, plan: Plan) -> tuple[float, bool | None, str]:
    import warnings

    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    rng = np.random.default_rng(plan.seed)
    n = plan.pick(300, 1000)
    X = rng.standard_normal((n, 5)) + 3 * rng.integers(0, 8, (n, 1))
    estimator = make(limit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begun = time.monotonic()
        estimator.fit(X)
        over = time.monotonic() - begun - limit
    if estimator.converged_ and over < _PROMPT + _grace():  # labels are read out after the limit
        return over, None, ""
    told = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    said = any("time limit" in text and "residual" in text for text in told)
    whole = len(estimator.labels_) == n and len(np.unique(estimator.labels_)) == 8
    good = said and whole and not estimator.converged_ and "time limit" in estimator.stop_reason_
    return over, good, f"said: {told}; {estimator.stop_reason_}; {over:.2f} s over"


PARTS: dict[str, Part] = {
    **{f"Ctrl-C in {name}": partial(_interrupted, name) for name in _FITS},
    "max_time": _limited,
}
