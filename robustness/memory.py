"""Memory: a fit that cannot fit says so before it takes anything, and names a setting that can."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from robustness._results import Part, Plan, Result

__all__ = ["PARTS"]

#: Samples for which no machine has n × n numbers.
_TOO_MANY = 400_000


def _dense_methods() -> dict[str, Any]:
    from unispectral import SCMK, SCSK, UnifiedSpectralClustering
    from unispectral.baselines import AASC, KKM, MKKM, RKKM, RMKKM, SC, SSR, TSEP, ClustRF

    return {
        "USC polynomial": UnifiedSpectralClustering(3, kernels="polynomial"),
        "USC kernels": UnifiedSpectralClustering(3, kernels=["linear", "polynomial"]),
        "SCSK exact": SCSK(3, kernel="gaussian", solver="exact"),
        "SCMK exact": SCMK(3, solver="exact"),
        "SCSK": SCSK(3, kernel="gaussian"),
        **{cls.__name__: cls(3) for cls in (KKM, RKKM, SC, SSR, TSEP, MKKM, AASC, RMKKM)},
        "ClustRF": ClustRF(3, n_estimators=2),
    }


def _try(result: Result, case: str, fit: Callable[[], Any]) -> None:
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
        result.check(told, case, f"no sentence: {text}")
    except Exception as error:
        result.add("failed", case, repr(error))
    else:
        result.add("failed", case, "it fitted")
    result.facts["slowest refusal"] = max(
        float(result.facts.get("slowest refusal", 0.0)),  # type: ignore[arg-type]
        round(time.monotonic() - begun, 2),
    )


def _too_many(plan: Plan) -> Result:
    result = Result(f"memory: {_TOO_MANY:,} samples, dense methods", plan.seed)
    X = np.random.default_rng(plan.seed).standard_normal((_TOO_MANY, 2)).astype(np.float32)
    for name, estimator in _dense_methods().items():
        if name == "ClustRF":
            continue  # trees are grown for minutes first
        if name.startswith("USC"):  # compares all pairs in blocks, and says so before
            _announced(result, name, estimator, X)
            continue
        _try(result, name, lambda estimator=estimator: estimator.fit(X))
        if not plan.quick and name in ("SCSK", "KKM", "SC"):
            S = sp.csr_array(X)
            _try(result, f"{name}, sparse", lambda estimator=estimator, S=S: estimator.fit(S))
    return result


def _announced(result: Result, case: str, estimator: Any, X: np.ndarray) -> None:
    """Whether a fit that takes hours says so, with the number of samples and a remedy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            estimator.fit(X)
        except UserWarning as warning:
            told = f"{_TOO_MANY:,} samples" in str(warning) and "; use " in str(warning)
            result.check(told, case, str(warning))
        else:
            result.add("failed", case, "it fitted without a word")


@contextmanager
def _only(n_bytes: int) -> Iterator[None]:
    from unispectral import _memory

    real = _memory.available_memory
    _memory.available_memory = lambda: n_bytes
    try:
        yield
    finally:
        _memory.available_memory = real


def _too_little(plan: Plan) -> Result:
    result = Result("memory: a machine with 1 MB left", plan.seed)
    X = np.random.default_rng(plan.seed).standard_normal((1200, 2))
    with _only(2**20):
        for name, estimator in _dense_methods().items():
            _try(result, name, lambda estimator=estimator: estimator.fit(X))
        from unispectral import UnifiedSpectralClustering

        model = UnifiedSpectralClustering(3)
        apart = np.vstack([X, X + 0.1, X - 0.1])  # copies would be fitted once
        _try(result, "USC, its neighbourhoods", lambda: model.fit(apart))
    return result


def _control_groups(plan: Plan) -> Result:
    """The limits of containers and of groups inside groups, as files that tell them."""
    from unispectral import _memory

    result = Result("memory: limits of control groups", plan.seed)
    rng = np.random.default_rng([plan.seed, 5])
    real = _memory._CGROUPS, _memory._OWN, _memory._machine
    _memory._machine = lambda: None  # the groups alone
    try:
        for _ in range(plan.pick(5, 60)):
            version, depth = int(rng.integers(1, 3)), int(rng.integers(1, 4))
            with tempfile.TemporaryDirectory() as folder:
                least = _groups(Path(folder), version, depth, rng)
                _memory._CGROUPS = Path(folder) / "cgroup"
                _memory._OWN = Path(folder) / "own"
                found = _memory.available_memory()
                case = f"version {version}, {depth} groups deep"
                result.check(found == least, case, f"found {found}, not {least}")
    finally:
        _memory._CGROUPS, _memory._OWN, _memory._machine = real
    return result


def _groups(folder: Path, version: int, depth: int, rng: np.random.Generator) -> int | None:
    """Groups inside groups, each with or without a limit; returns what is left of the least."""
    names = ("memory.max", "memory.current", "inactive_file")
    if version == 1:
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    path = "/" + "/".join(f"group{level}" for level in range(depth))
    (folder / "own").write_text(f"0::{path}\n" if version == 2 else f"3:cpu,memory:{path}\n")
    place = folder / "cgroup" / ("memory" if version == 1 else "")
    least: int | None = None
    for level in range(depth):
        place = place / f"group{level}"
        place.mkdir(parents=True)
        used, cached = int(rng.integers(10**6, 10**9)), int(rng.integers(0, 10**6))
        limit = int(rng.integers(10**6, 10**10)) if rng.random() < 0.7 else None
        (place / names[0]).write_text("max\n" if limit is None else f"{limit}\n")
        (place / names[1]).write_text(f"{used}\n")
        (place / "memory.stat").write_text(f"anon 5\n{names[2]} {cached}\nfile 7\n")
        if limit is not None:
            left = max(limit - used + cached, 0)
            least = left if least is None else min(least, left)
    return least


def _peak(plan: Plan) -> Result:
    """Matrices of n × n float64 beyond its input that the exact fit takes at most.

    The least of up to three measurements: where the system took pages of the libraries away from
    the waiting process, the fit brings them back, and they are counted.
    """
    from benchmarks.memory import LIMIT, measure

    result = Result("memory: peak of the exact fit", plan.seed)
    for n in (2000,) if plan.quick else (2000, 4000):
        matrices = measure(n)
        for _ in range(2):
            matrices = matrices if matrices <= LIMIT else min(matrices, measure(n))
        result.facts[f"n × n matrices at the peak, n = {n}"] = round(matrices, 2)
        result.check(matrices <= LIMIT, f"n = {n}", f"{matrices:.2f} matrices")
    return result


PARTS: dict[str, Part] = {
    "too many samples": _too_many,
    "too little memory": _too_little,
    "control groups": _control_groups,
    "peak": _peak,
}
