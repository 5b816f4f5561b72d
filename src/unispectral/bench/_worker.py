"""What a worker process does: it prepares the data of a cell, fits, scores, and answers.

Nothing that a study says is evaluated; an estimator is found by its dotted name. Between cells a
worker keeps one data set, its true classes and its kernels.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib
import inspect
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from unispectral._errors import InputError
from unispectral._memory import give_back
from unispectral.bench._machine import limit_growth, peak_bytes, reset_peak
from unispectral.bench.study import StudyMethod

#: Bundled with scikit-learn, so that a study runs where nothing can be downloaded.
_BUNDLED = ("breast_cancer", "digits", "iris", "wine")
#: Bytes of kernel matrices that a worker keeps: all twelve of a small set, two of a large one.
_MATRIX_BYTES = 1.6e9


class CellWorker:
    """Runs jobs one after the other and keeps what they share."""

    def __init__(self) -> None:
        self.data: DataCache | None = None
        self.compiled: set[tuple[Any, ...]] = set()

    def __call__(
        self, job: dict[str, Any], begin: Callable[[], Any] = lambda: None
    ) -> dict[str, Any]:
        """The answer to a job: its results, or the reason why there are none."""
        reset_peak()
        try:
            data = self._data(job["dataset"])
        except Exception as error:  # no cell of this data set can run, and none has failed
            return {"status": "data", "reason": f"{type(error).__name__}: {error}"}
        try:
            answer = self._fit(job, data, begin)
        except MemoryError as error:
            if str(error):
                reason = f"The fit ran out of memory: {error}"
            else:
                reason = "Out of memory."
            answer = {"status": "memory", "reason": reason}
        except Exception as error:
            answer = {
                "status": "error",
                "reason": f"{type(error).__name__}: {error}",
                "facts": {"traceback": traceback.format_exc(limit=-6)[-2000:]},
            }
        return {**answer, "peak_bytes": peak_bytes()}

    def _data(self, spec: dict[str, Any]) -> DataCache:
        if self.data is None or self.data.spec != spec:
            self.data = None
            gc.collect()
            give_back()  # or the next cell's peak would include it
            self.data = DataCache(spec)
        return self.data

    def _fit(
        self, job: dict[str, Any], data: DataCache, begin: Callable[[], Any]
    ) -> dict[str, Any]:
        from unispectral._run import limit_blas
        from unispectral.metrics import scores

        with limit_blas(1):
            X = data.take_input(job)
            n = len(data.target)
            estimator = build(job, len(np.unique(data.target)))
            self._compile(job)
            begin()
            limited = limit_growth(job["limits"]["bytes"])
            with limited, warnings.catch_warnings(record=True, action="always") as said:
                reset_peak()
                started = time.perf_counter()
                estimator.fit(X)
                seconds = time.perf_counter() - started
        labels = np.asarray(estimator.labels_)
        if labels.shape != (n,) or labels.dtype.kind not in "iu":
            found = f"labels_ has shape {labels.shape} and dtype {labels.dtype}"
            raise ValueError(f"{found}; expected ({n},) whole numbers.")
        # By which the labels of two runs can be compared; equal labels have equal ones.
        digest = hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()[:16]
        return {
            "status": "done",
            "scores": scores(data.target, labels),
            "seconds": seconds,
            "n_samples": n,
            "facts": {**_facts(estimator), "labels": digest},
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
        with warnings.catch_warnings(action="ignore"), contextlib.suppress(Exception):
            build(job, 2).fit(given)


def _facts(estimator: object) -> dict[str, Any]:
    """What the columns need of a fit besides its scores."""
    for name in ("objective_", "inertia_"):
        value = getattr(estimator, name, None)
        if value is not None and np.size(value) and np.isfinite(last := np.ravel(value)[-1]):
            return {"objective": float(last)}
    return {}


def estimator_class(dotted: str) -> type:
    """Import an estimator class by its dotted name."""
    if isinstance(dotted, str):
        parts = dotted.split(".")
    else:
        parts = []
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


def _call_loader(dotted: str) -> tuple[Any, Any]:
    """The samples and classes that a function of the user returns."""
    module_name, _, name = dotted.rpartition(".")
    try:
        if module_name:
            load = getattr(importlib.import_module(module_name), name, None)
        else:
            load = None
    except ImportError as error:
        raise InputError("loader", f"cannot be imported: {error}", value=dotted) from None
    if not callable(load):
        problem = "must be the dotted name of an importable function"
        raise InputError("loader", problem, "give one such as 'my_data.load'", value=dotted)
    try:
        data, target = load()
    except (TypeError, ValueError) as error:
        problem = f"must return the samples and the true classes: {error}"
        raise InputError("loader", problem, value=dotted) from None
    return data, target


def check_method(method: StudyMethod) -> None:
    """Refuse, before anything runs, a method whose estimator does not know its parameters."""
    parameters = inspect.signature(estimator_class(method.estimator)).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # only the call can tell
    if method.input != "features":
        wanted = {method.kernel_parameter or method.input}
    else:
        wanted = set()
    for local in (method, *map(method.reduce, method.reduced)):
        wanted |= {*local.parameters, *local.grid}
    if unknown := sorted(wanted - set(parameters)):
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


class DataCache:
    """A data set, and each kernel that its cells have asked for, as far as there is room."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.samples, self.target = _load(spec)
        self._bank_spec: Any = None
        self._bank: Any = None
        self._matrices: dict[str, np.ndarray] = {}

    def take_input(self, job: dict[str, Any]) -> Any:
        """What the estimator of a job is fitted to: the samples, a kernel matrix, or the bank."""
        from unispectral.kernels import KernelBank

        bank = job["bank"]
        if bank is None:
            return self.samples
        if bank != self._bank_spec:
            self._matrices.clear()
            self._bank = KernelBank(self.samples, bank["kernels"], normalize=bank["normalize"])
            self._bank_spec = bank
        if job["input"] == "kernel":
            return self._matrix(job["kernel"])
        names = bank.get("only") or list(self._bank.names)
        if "only" not in bank and len(names) * len(self.target) ** 2 * 8 > _MATRIX_BYTES:
            return self._bank
        # A fit ends by releasing what its bank keeps, so that the next one would have to compute
        # every kernel anew in every iteration; the matrices stay here instead.
        return KernelBank.from_matrices([self._matrix(name) for name in names], names=names)

    def _matrix(self, name: str) -> np.ndarray:
        matrix = self._matrices.pop(name, None)
        if matrix is None:
            matrix = self._bank.matrix(list(self._bank.names).index(name))
            # An estimator that writes into its input would spoil every later cell in silence.
            matrix.setflags(write=False)
        self._matrices[name] = matrix  # the last one is the one used last
        while len(self._matrices) > 1 and len(self._matrices) * matrix.nbytes > _MATRIX_BYTES:
            del self._matrices[next(iter(self._matrices))]
        return matrix


def _load(spec: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """The samples, and the true classes as numbers from 0."""
    name = spec["name"]
    file = spec["file"]
    truth = spec["truth"]
    if file is not None:
        from unispectral.tables import read_table

        separate = truth is not None and Path(truth).is_file()
        table = read_table(file, truth=None if separate else truth, **spec["read"])
        data = table.values
        target = table.truth
        if separate and Path(truth).suffix == ".npy":
            target = np.ravel(np.load(truth, allow_pickle=False))
        elif separate:
            target = np.ravel(np.asarray(read_table(truth).values))
    elif spec.get("loader") is not None:
        data, target = _call_loader(spec["loader"])
    else:
        import sklearn.datasets

        from unispectral.datasets import fetch

        bundled = name in _BUNDLED
        if bundled:
            found = getattr(sklearn.datasets, f"load_{name}")()
        else:
            found = fetch(name)
        if "views" in found:
            data = found.views
        else:
            data = found.data
        target = found.target
    if target is None or np.ndim(target) != 1:
        problem = f"{name!r} has no vector of true classes"
        raise InputError("The data set", problem, "name its column, array or file with truth")
    return data, np.unique(np.asarray(target), return_inverse=True)[1].astype(np.int32)
