"""Memory: a fit that cannot fit says so before it takes anything, and names a setting that can."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from torture._tally import Plan, Tally

__all__ = ["run"]

#: Samples for which no machine has n × n numbers.
_TOO_MANY = 400_000


def run(plan: Plan) -> list[Tally]:
    """Too many samples, too little memory, and the peak of the exact fit."""
    tallies = [_too_many(plan), _too_little(plan)]
    if not plan.quick:
        tallies.append(_peak(plan))
    return tallies


def _dense_methods() -> dict[str, Any]:
    from unispectral import SCMK, SCSK
    from unispectral.baselines import AASC, KKM, MKKM, RKKM, RMKKM, SC, SSR, TSEP, ClustRF

    return {
        "SCSK polynomial": SCSK(3, kernel="polynomial"),
        "SCMK polynomial": SCMK(3, kernels=["linear", "polynomial"]),
        "SCSK.paper": SCSK.paper(3, kernel="gaussian"),
        "SCMK.paper": SCMK.paper(3),
        "SCSK.paper alm": SCSK.paper(3, kernel="gaussian", solver="alm"),
        **{cls.__name__: cls(3) for cls in (KKM, RKKM, SC, SSR, TSEP, MKKM, AASC, RMKKM)},
        "ClustRF": ClustRF(3, n_estimators=2),
    }


def _try(tally: Tally, case: str, fit: Callable[[], Any]) -> None:
    begun = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit()
    except MemoryError as error:
        text = str(error)
        told = (
            "needs about" in text and "available" in text and ("use " in text or "give " in text)
        )
        tally.check(told, case, f"no sentence: {text}")
    except Exception as error:
        tally.add("lost", case, repr(error))
    else:
        tally.add("lost", case, "it fitted")
    tally.facts["slowest refusal"] = max(
        float(tally.facts.get("slowest refusal", 0.0)),  # type: ignore[arg-type]
        round(time.monotonic() - begun, 2),
    )


def _too_many(plan: Plan) -> Tally:
    tally = Tally(f"memory: {_TOO_MANY:,} samples, dense methods", plan.seed)
    X = np.random.default_rng(plan.seed).standard_normal((_TOO_MANY, 2)).astype(np.float32)
    for name, estimator in _dense_methods().items():
        if name == "ClustRF":
            continue  # its trees are grown first, which takes minutes: see the other row
        _try(tally, name, lambda estimator=estimator: estimator.fit(X))
        if not plan.quick and name in ("SCSK.paper", "KKM", "SCSK polynomial"):
            S = sp.csr_array(X)
            _try(tally, f"{name}, sparse", lambda estimator=estimator, S=S: estimator.fit(S))
    return tally


@contextmanager
def _only(n_bytes: int) -> Iterator[None]:
    from unispectral import _memory

    real = _memory.available_memory
    _memory.available_memory = lambda: n_bytes
    try:
        yield
    finally:
        _memory.available_memory = real


def _too_little(plan: Plan) -> Tally:
    tally = Tally("memory: a machine with 1 MB left", plan.seed)
    X = np.random.default_rng(plan.seed).standard_normal((1200, 2))
    with _only(2**20):
        for name, estimator in _dense_methods().items():
            _try(tally, name, lambda estimator=estimator: estimator.fit(X))
        from unispectral import SCSK

        _try(tally, "SCSK, its neighbourhoods", lambda: SCSK(3).fit(np.tile(X, (3, 1))))
    return tally


def _peak(plan: Plan) -> Tally:
    """Matrices of n × n float64 beyond its input that the exact fit takes at most."""
    from benchmarks.memory import LIMIT, measure

    tally = Tally("memory: peak of the exact fit", plan.seed)
    for n in (1000, 2000, 4000):
        matrices = measure(n)
        tally.facts[f"n × n matrices at the peak, n = {n}"] = round(matrices, 2)
        tally.check(matrices <= LIMIT, f"n = {n}", f"{matrices:.2f} matrices")
    return tally
