"""What a worker keeps between cells: one data set, its true classes and its kernels."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np

from unispectral._errors import InputError
from unispectral._memory import give_back

__all__ = ["DataCache", "DataUnavailable"]

#: Bundled with scikit-learn, so that a study runs where nothing can be downloaded.
_BUNDLED = ("breast_cancer", "digits", "iris", "wine")
#: Bytes of kernel matrices that a worker keeps: all twelve of a small set, two of a large one.
_MATRIX_BYTES = 1.6e9


class DataUnavailable(Exception):
    """The data set cannot be loaded: no cell of it can run, and none of them has failed."""


class DataCache:
    """Loads a data set once and computes each of its kernels once, as long as cells ask for it."""

    def __init__(self) -> None:
        self._spec: dict[str, Any] | None = None
        self._bank_spec: dict[str, Any] | None = None
        self._bank: Any = None
        self._matrices: dict[str, np.ndarray] = {}
        self.data: Any = None
        self.target: np.ndarray = np.empty(0)

    @property
    def n_samples(self) -> int:
        return len(self.target)

    def prepare(self, job: dict[str, Any]) -> Any:
        """What the estimator of a job is fitted to: samples, a kernel matrix, or the bank."""
        from unispectral.kernels import KernelBank

        if job["dataset"] != self._spec:
            self._forget()
            try:
                self.data, self.target = _load(job["dataset"])
            except Exception as error:
                raise DataUnavailable(f"{type(error).__name__}: {error}") from error
            self._spec = job["dataset"]
        bank = job["bank"]
        if bank is None:
            return self.data
        if bank != self._bank_spec:
            self._matrices.clear()
            self._bank = KernelBank(self.data, bank["kernels"], normalize=bank["normalize"])
            self._bank_spec = bank
        if job["input"] == "kernel":
            return self._matrix(job["kernel"])
        names = bank.get("only") or list(self._bank.names)
        if "only" not in bank and len(names) * self.n_samples**2 * 8 > _MATRIX_BYTES:
            return self._bank
        # A fit ends by releasing what its bank keeps, so that the next one would have to compute
        # every kernel anew in every iteration; the matrices stay here instead.
        return KernelBank.precomputed([self._matrix(name) for name in names], names=names)

    def n_clusters(self, job: dict[str, Any]) -> int:
        asked = job["dataset"]["n_clusters"]
        return int(asked) if asked is not None else int(np.unique(self.target).size)

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

    def _forget(self) -> None:
        self._spec = self._bank_spec = self._bank = self.data = None
        self._matrices.clear()
        gc.collect()
        give_back()  # or the next cell's peak would include it


def _load(spec: dict[str, Any]) -> tuple[Any, np.ndarray]:
    """The samples, and the true classes as numbers from 0."""
    name, file, truth = spec["name"], spec["file"], spec["truth"]
    if file is not None:
        from unispectral.tables import read_table

        separate = truth is not None and Path(truth).is_file()
        table = read_table(file, truth=None if separate else truth, **spec["read"])
        data, target = table.values, _vector(truth) if separate else table.truth
    elif name in _BUNDLED:
        import sklearn.datasets

        data, target = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    else:
        from unispectral.datasets import fetch

        bunch = fetch(name)
        data, target = bunch.data, bunch.target
    if target is None or np.ndim(target) != 1:
        problem = f"{name!r} has no vector of true classes"
        raise InputError("The data set", problem, "name its column, array or file with truth")
    return data, np.unique(np.asarray(target), return_inverse=True)[1].astype(np.int32)


def _vector(path: str) -> np.ndarray:
    """A vector from .npy, or from any table that the library reads."""
    if Path(path).suffix == ".npy":
        return np.ravel(np.load(path, allow_pickle=False))
    from unispectral.tables import read_table

    return np.ravel(np.asarray(read_table(path).values))
