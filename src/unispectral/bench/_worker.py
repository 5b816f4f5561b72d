"""What a worker process does: it prepares the data of a cell, fits, scores, and answers.

Nothing that a study says is evaluated; an estimator is found by its dotted name.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from unispectral._errors import InputError
from unispectral.bench._data import DataCache, DataUnavailable
from unispectral.bench._machine import limit_growth, peak_bytes, reset_peak
from unispectral.bench.study import StudyMethod

__all__ = ["CellWorker", "check_method", "estimator_class"]


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
                started = time.perf_counter()
                estimator.fit(X)
                seconds = time.perf_counter() - started
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
            "seconds": seconds,
            "n_samples": n,
            "facts": {**_facts(estimator), "labels": _fingerprint(labels)},
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


def _fingerprint(labels: np.ndarray) -> str:
    """By which the labels of two runs can be compared; equal labels have equal ones."""
    return hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()[:16]


def _facts(estimator: Any) -> dict[str, Any]:
    """What the columns and the report need of a fit besides its scores."""
    facts: dict[str, Any] = {}
    for name in ("inertia_", "objective_"):
        value = getattr(estimator, name, None)
        if value is not None and np.size(value) and np.isfinite(last := np.ravel(value)[-1]):
            facts["objective"] = float(last)
    weights = np.ravel(getattr(estimator, "kernel_weights_", ()))
    names = getattr(estimator, "kernel_names_", ())
    if np.all(np.isfinite(weights)) and len(weights) == len(names) > 1:
        facts |= {"weights": weights.tolist(), "kernels": [str(name) for name in names]}
    return facts


def estimator_class(dotted: str) -> type:
    """Import an estimator class by its dotted name.

    Examples
    --------
    >>> estimator_class("sklearn.cluster.KMeans").__name__
    'KMeans'
    """
    parts = dotted.split(".") if isinstance(dotted, str) else []
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        remedy = "such as 'sklearn.cluster.KMeans'"
        problem = "must be the dotted name of an importable class"
        raise InputError("estimator", problem, remedy, value=dotted)
    module_name, _, class_name = dotted.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError as error:
        raise InputError("estimator", f"cannot be imported: {error}", value=dotted) from None
    if not (inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "get_params")):
        remedy = "name a clusterer that follows scikit-learn's conventions"
        problem = "is not an estimator class with fit and get_params"
        raise InputError("estimator", problem, remedy, value=dotted)
    return found


def check_method(method: StudyMethod) -> None:
    """Refuse, before anything runs, a method whose estimator does not know its parameters."""
    parameters = inspect.signature(estimator_class(method.estimator)).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # only the call can tell
    wanted = {*method.parameters, *method.grid}
    if method.input != "features":
        wanted.add(method.kernel_parameter or method.input)
    for reduction in method.reduced:
        wanted |= {*reduction.get("grid", ()), *reduction.get("parameters", ())}
    unknown = sorted(wanted - set(parameters))
    if unknown:
        raise ValueError(
            f"The method {method.name!r} sets {', '.join(map(repr, unknown))}, which "
            f"{method.estimator} does not have; it has {', '.join(sorted(parameters))}."
        )


def build(job: dict[str, Any], n_clusters: int) -> Any:
    """The estimator of a cell, with the number of clusters, the seed and the kernel set."""
    cls = estimator_class(job["estimator"])
    accepted = inspect.signature(cls).parameters
    arguments = dict(job["parameters"])
    if job["kernel_parameter"] is not None:
        arguments[job["kernel_parameter"]] = "precomputed"
    if "n_clusters" in accepted:
        arguments.setdefault("n_clusters", n_clusters)
    if "random_state" in accepted:
        arguments.setdefault("random_state", job["seed"])
    return cls(**arguments)
