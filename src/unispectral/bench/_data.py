"""What a worker keeps between cells: one data set, its true classes and its kernels."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DataUnavailable", "Keeper"]

#: Bundled with scikit-learn, so that a study runs where nothing can be downloaded.
_BUNDLED = ("breast_cancer", "digits", "iris", "wine")
#: Bytes of kernel matrices that a worker keeps: all twelve of a small set, two of a large one.
_MATRIX_BYTES = 1.6e9


class DataUnavailable(Exception):
    """The data set cannot be loaded: no cell of it can run, and none of them has failed."""


class Keeper:
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
        name = spec["digest"] or spec["name"]
        if name != self._name:
            self._forget()
            try:
                self.data, self.target = _load(spec)
            except Exception as error:
                raise DataUnavailable(f"{type(error).__name__}: {error}") from error
            self._name = name
        if job["input"] == "features":
            if self.data is None:
                raise ValueError(
                    f"The data set {spec['name']!r} has precomputed kernels only; the method "
                    "needs samples."
                )
            return self.data
        bank = self._bank_of(job["bank"], spec["kernels"])
        if job["input"] == "kernel":
            return self._matrix(bank, job["kernel"])
        only = job["bank"].get("only")
        if only is None:
            return bank
        from unispectral.kernels import KernelBank

        return KernelBank.precomputed([self._matrix(bank, name) for name in only], names=only)

    def n_clusters(self, job: dict[str, Any]) -> int:
        asked = job["dataset"]["n_clusters"]
        return int(asked) if asked is not None else int(np.unique(self.target).size)

    def _bank_of(self, bank: dict[str, Any], files: list[str]) -> Any:
        key = repr(sorted(bank.items()))
        if key != self._bank_key:
            from unispectral.kernels import KernelBank

            self._matrices.clear()
            if files:
                self._bank = KernelBank.precomputed(
                    [_kernel_file(name) for name in files],
                    names=[Path(name).stem for name in files],
                )
            else:
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
        if sys.platform == "linux":
            # Give freed memory back, or the next cell's peak would include it.
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL("libc.so.6").malloc_trim(0)


def _load(spec: dict[str, Any]) -> tuple[Any, np.ndarray]:
    if spec["kernels"]:
        if spec["truth"] is None:
            raise ValueError(
                f"The data set {spec['name']!r} has no true classes; name a file with truth."
            )
        truth = np.ravel(np.asarray(_plain(spec["truth"])))
        return None, _classes(truth, spec["name"])
    if spec["file"] is not None:
        return _load_file(spec)
    if spec["name"] in _BUNDLED:
        import sklearn.datasets

        data, target = getattr(sklearn.datasets, f"load_{spec['name']}")(return_X_y=True)
        return data, _classes(target, spec["name"])
    from unispectral.datasets import fetch

    bunch = fetch(spec["name"])
    return bunch.data, _classes(bunch.target, spec["name"])


def _load_file(spec: dict[str, Any]) -> tuple[Any, np.ndarray]:
    path, truth = Path(spec["file"]), spec["truth"]
    if spec["digest"] is not None and path.suffix == ".npz" and path.stem == spec["digest"]:
        return _load_kept(path)
    from unispectral.tables import read_table

    target: Any
    if truth is not None and Path(truth).is_file():
        table = read_table(path, **spec["read"])
        target = np.ravel(np.asarray(_plain(truth)))
    else:
        table = read_table(path, truth=truth, **spec["read"])
        target = table.truth
    if target is None:
        raise ValueError(
            f"The data set {spec['name']!r} has no true classes; name its column with truth."
        )
    return table.values, _classes(target, spec["name"])


def _load_kept(path: Path) -> tuple[Any, np.ndarray]:
    """Arrays that the runner wrote for an in-memory data set."""
    import scipy.sparse as sp

    with np.load(path, allow_pickle=False) as kept:
        target = kept["target"]
        if "data" in kept:
            return kept["data"], target
        parts = (kept["values"], kept["indices"], kept["indptr"])
        return sp.csr_array(parts, shape=tuple(kept["shape"])), target


def _plain(path: str) -> Any:
    """A vector or matrix from .npy, or from any table that the library reads."""
    if Path(path).suffix == ".npy":
        return np.load(path, allow_pickle=False)
    from unispectral.tables import read_table

    return read_table(path).values


def _kernel_file(path: str) -> np.ndarray:
    matrix = np.asarray(_plain(path), dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"The kernel {path} has shape {matrix.shape}; it must be square.")
    return matrix


def _classes(target: Any, name: str) -> np.ndarray:
    """True classes as numbers from 0."""
    values = np.asarray(target)
    if values.ndim != 1:
        raise ValueError(f"The true classes of {name!r} have shape {values.shape}, not (n,).")
    return np.unique(values, return_inverse=True)[1].astype(np.int32)
