"""What a worker keeps between cells: one data set, its true classes and its kernels."""

from __future__ import annotations

import gc
from collections import OrderedDict
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
        self._name: str | None = None
        self._bank_key: str | None = None
        self._bank: Any = None
        self._matrices: OrderedDict[str, np.ndarray] = OrderedDict()
        self.data: Any = None
        self.target: np.ndarray = np.empty(0)

    @property
    def n_samples(self) -> int:
        return len(self.target)

    def prepare(self, job: dict[str, Any]) -> Any:
        """What the estimator of a job is fitted to: samples, a kernel matrix, or the bank."""
        spec = job["dataset"]
        name = repr(sorted(spec.items()))  # one file may be read in several ways
        if name != self._name:
            self._forget()
            try:
                self.data, self.target = _load(spec)
            except Exception as error:
                raise DataUnavailable(f"{type(error).__name__}: {error}") from error
            self._name = name
        if job["input"] == "features":
            return self.data
        bank = self._bank_of(job["bank"])
        if job["input"] == "kernel":
            return self._matrix(bank, job["kernel"])
        names = job["bank"].get("only") or list(bank.names)
        if "only" not in job["bank"] and len(names) * self.n_samples**2 * 8 > _MATRIX_BYTES:
            return bank
        # A fit ends by releasing what its bank keeps, so that the next one would have to compute
        # every kernel anew in every iteration; the matrices stay here instead.
        from unispectral.kernels import KernelBank

        return KernelBank.precomputed([self._matrix(bank, name) for name in names], names=names)

    def n_clusters(self, job: dict[str, Any]) -> int:
        asked = job["dataset"]["n_clusters"]
        return int(asked) if asked is not None else int(np.unique(self.target).size)

    def _bank_of(self, bank: dict[str, Any]) -> Any:
        key = repr(sorted(bank.items()))
        if key != self._bank_key:
            from unispectral.kernels import KernelBank

            self._matrices.clear()
            self._bank = KernelBank(self.data, bank["kernels"], normalize=bank["normalize"])
            self._bank_key = key
        return self._bank

    def _matrix(self, bank: Any, name: str) -> np.ndarray:
        if name in self._matrices:
            self._matrices.move_to_end(name)
            return self._matrices[name]
        matrix = bank.matrix(list(bank.names).index(name))
        # An estimator that writes into its input would spoil every later cell in silence.
        matrix.setflags(write=False)
        self._matrices[name] = matrix
        while len(self._matrices) > 1 and len(self._matrices) * matrix.nbytes > _MATRIX_BYTES:
            self._matrices.popitem(last=False)
        return matrix

    def _forget(self) -> None:
        self._name = self._bank_key = self._bank = self.data = None
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
