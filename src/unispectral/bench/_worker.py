"""What a worker process does: it prepares the data of a cell, fits, scores, and answers."""

from __future__ import annotations

import base64
import contextlib
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from unispectral.bench._data import DataCache, DataUnavailable
from unispectral.bench._estimators import build
from unispectral.bench._machine import limit_growth, peak_bytes, reset_peak

__all__ = ["CellWorker", "decode_labels", "encode_labels"]

#: Labels of more samples are neither stored nor read: a small file could ask for all the memory.
MOST_SAMPLES = 2**26


def encode_labels(labels: Any) -> str:
    """Labels as text, in four bytes each where that is enough for them."""
    if labels.size > MOST_SAMPLES:
        raise ValueError(f"labels_ has {labels.size} entries; at most {MOST_SAMPLES} are stored.")
    if labels.size and labels.max() > np.iinfo(np.int64).max:
        raise ValueError(f"labels_ has the label {labels.max()}, which is no 64-bit number.")
    small = not labels.size or (labels.min() >= -(2**31) and labels.max() < 2**31)
    content = labels.astype("<i4" if small else "<i8").tobytes()
    return base64.b64encode(zlib.compress(content)).decode()


def decode_labels(blob: bytes, samples: int) -> Any:
    """Undo :func:`encode_labels`; never takes more memory than that many samples need."""
    if not 0 <= samples <= MOST_SAMPLES:
        raise ValueError(f"n_samples={samples!r} is not between 0 and {MOST_SAMPLES}.")
    reader = zlib.decompressobj()
    content = reader.decompress(blob, 8 * samples + 1)
    if len(content) not in (4 * samples, 8 * samples):
        raise ValueError(f"The stored labels are not those of {samples} samples.")
    return np.frombuffer(content, dtype="<i4" if len(content) == 4 * samples else "<i8")


class CellWorker:
    """Runs jobs one after the other and keeps what they share."""

    def __init__(self) -> None:
        self.data = DataCache()
        self.compiled: set[tuple[Any, ...]] = set()

    def __call__(
        self, job: dict[str, Any], begin: Callable[[], Any] = lambda: None
    ) -> dict[str, Any]:
        """The answer to a job: its results, or the reason why there are none."""
        answer: dict[str, Any]
        try:
            answer = self._fit(job, begin)
        except DataUnavailable as error:
            answer = {"status": "data", "reason": str(error)}
        except MemoryError as error:
            reason = f"The fit ran out of memory: {error}" if str(error) else "Out of memory."
            answer = {"status": "memory", "reason": reason}
        except Exception as error:
            answer = {
                "status": "error",
                "reason": f"{type(error).__name__}: {error}",
                "facts": {"traceback": traceback.format_exc(limit=-6)[-2000:]},
            }
        return {**answer, "peak_bytes": peak_bytes()}

    def _fit(self, job: dict[str, Any], begin: Callable[[], Any]) -> dict[str, Any]:
        from unispectral._run import limit_blas
        from unispectral.metrics import scores

        started = time.perf_counter()
        with limit_blas(1):
            reset_peak()
            X = self.data.prepare(job)
            n = self.data.n_samples
            estimator = build(job, self.data.n_clusters(job))
            self._compile(job)
            begin()
            with (
                limit_growth(job["limits"]["bytes"]),
                warnings.catch_warnings(record=True) as said,
            ):
                warnings.simplefilter("always")
                reset_peak()
                wall, cpu = time.perf_counter(), time.process_time()
                estimator.fit(X)
                seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        labels = np.asarray(estimator.labels_)
        if labels.shape != (n,) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels_ has shape {labels.shape} and dtype {labels.dtype}; expected ({n},) "
                "whole numbers."
            )
        return {
            "status": "done",
            "reason": None,
            "scores": {k: float(v) for k, v in scores(self.data.target, labels).items()},
            "labels": encode_labels(labels),
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "prepare_seconds": wall - started,
            "n_samples": n,
            "facts": {**_facts(estimator), "clusters": int(np.unique(labels).size)},
            "warnings": sorted({f"{w.category.__name__}: {w.message}"[:400] for w in said})[:5],
        }

    def _compile(self, job: dict[str, Any]) -> None:
        """Fit once to next to nothing, so that the time of a cell is not that of a compiler."""
        from unispectral.kernels import KernelBank

        code = (job["estimator"], job["input"])
        if code in self.compiled or not job["estimator"].startswith("unispectral."):
            return
        self.compiled.add(code)
        X = np.random.default_rng(0).normal(size=(40, 5)) + np.repeat([[0.0], [4.0]], 20, axis=0)
        bank = KernelBank(X, ["linear", "gaussian"])
        given = {"features": X, "kernels": bank, "kernel": bank.matrix(1)}[job["input"]]
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            build(job, 2).fit(given)


def _facts(estimator: Any) -> dict[str, Any]:
    """What the report shows of a fit besides its scores."""
    facts: dict[str, Any] = {}
    for name in ("inertia_", "objective_"):
        value = getattr(estimator, name, None)
        if value is not None and np.size(value) and np.isfinite(last := np.ravel(value)[-1]):
            facts["objective"] = float(last)
    for name, key, kinds, convert in (
        ("n_iter_", "iterations", (int, np.integer), int),
        ("converged_", "converged", (bool, np.bool_), bool),
        ("stop_reason_", "stopped", str, lambda text: text[:200]),
    ):
        if isinstance(value := getattr(estimator, name, None), kinds):  # type: ignore[arg-type]
            facts[key] = convert(value)
    weights = getattr(estimator, "kernel_weights_", None)
    if weights is not None and np.all(np.isfinite(weights)) and np.size(weights) > 1:
        facts["weights"] = [float(w) for w in np.ravel(weights)]
        names = getattr(estimator, "kernel_names_", None)
        if names is not None:
            facts["kernels"] = [str(name) for name in names]
    return facts
