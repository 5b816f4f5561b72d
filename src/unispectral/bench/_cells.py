"""Cells: the smallest piece of a study, one fit, and the name under which the store knows it."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unispectral.bench.method import Method
from unispectral.bench.study import Dataset, Study

__all__ = ["Cell", "canonical", "expand", "fingerprint", "kernel_names"]


def canonical(value: Any) -> str:
    """JSON that is the same for the same content."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Cell:
    """One fit: a data set, an estimator with all its parameters, a kernel, a seed.

    ``key`` is a digest of everything that decides the labels. The name of the method, the limits
    and the columns are not part of it, so that two studies share the cells they have in common.
    """

    dataset: Dataset
    method: Method
    kernel: str | None
    parameters: dict[str, Any]
    seed: int
    repeat: int
    bank: dict[str, Any] | None
    time_limit: float
    memory_limit: float | None
    reason: str | None = None
    key: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(canonical(self.identity()).encode()).hexdigest()
        object.__setattr__(self, "key", digest[:32])

    def identity(self) -> dict[str, Any]:
        """What decides the labels."""
        dataset = self.dataset
        return {
            "dataset": dataset.digest or dataset.name,
            "truth": dataset.truth if dataset.file else None,
            "read": dict(dataset.read),
            "n_clusters": dataset.n_clusters,
            "estimator": self.method.estimator,
            "constructor": self.method.constructor,
            "input": self.method.input,
            "kernel_parameter": self.kernel_parameter,
            "parameters": self.parameters,
            "kernel": self.kernel,
            "bank": self.bank,
            **self._randomness(),
        }

    def _randomness(self) -> dict[str, Any]:
        if self.method.stream is None:
            return {"seed": self.seed}
        return {"stream": {**self.method.stream, "repeat": self.repeat}}

    @property
    def kernel_parameter(self) -> str | None:
        if self.method.input == "features":
            return None
        return self.method.kernel_parameter or self.method.input

    @property
    def setting(self) -> tuple[str | None, str]:
        """What the repeats of a cell have in common: the kernel and the parameters."""
        return self.kernel, canonical(self.parameters)

    def job(self) -> dict[str, Any]:
        """The message a worker gets: with it alone a cell can be done, or done again."""
        return {
            "key": self.key,
            **self.identity(),
            "dataset": {
                "name": self.dataset.name,
                "file": self.dataset.file,
                "truth": self.dataset.truth,
                "read": dict(self.dataset.read),
                "kernels": list(self.dataset.kernels),
                "n_clusters": self.dataset.n_clusters,
                "digest": self.dataset.digest,
            },
            "limits": {"seconds": self.time_limit, "bytes": self.memory_limit},
        }


def fingerprint(dataset: Dataset) -> Dataset:
    """Fill in the digest of a data set that the user brought; the built-in ones have a name."""
    if dataset.digest is not None:
        return dataset
    digest = hashlib.sha256()
    if dataset.data is not None:
        _feed(digest, dataset.data)
        _feed(digest, dataset.target)
        return replace(dataset, digest=digest.hexdigest()[:32])
    named = [dataset.file, *dataset.kernels]
    if dataset.truth is not None and (dataset.kernels or Path(dataset.truth).is_file()):
        named.append(dataset.truth)
    files = [name for name in named if name is not None]
    if not files:
        return dataset
    for name in files:
        try:
            with Path(name).open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError as error:
            raise ValueError(
                f"The data set {dataset.name!r} cannot be read: {name}: {error.strerror}."
            ) from None
    return replace(dataset, digest=digest.hexdigest()[:32])


def _feed(digest: Any, array: Any) -> None:
    if hasattr(array, "tocsr"):
        array = array.tocsr()
        for part in (array.data, array.indices, array.indptr):
            _feed(digest, part)
        digest.update(repr(array.shape).encode())
        return
    array = np.ascontiguousarray(array)
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(array.tobytes() if array.dtype.kind != "O" else repr(array.tolist()).encode())


def kernel_names(study: Study, dataset: Dataset) -> list[str]:
    """The names of the kernel bank on a data set, in order."""
    if dataset.kernels:
        return [Path(name).stem for name in dataset.kernels]
    from unispectral.kernels import as_kernels

    return [kernel.name for kernel in as_kernels(study.kernels)]


def expand(study: Study) -> list[Cell]:
    """All cells of a study: data sets in their order, then methods, kernels, grid, repeats.

    Nothing is shuffled: the first data sets are finished first, so that a study which was stopped
    half-way is a smaller study and not a sieve.
    """
    cells: list[Cell] = []
    for dataset in study.datasets:
        known = fingerprint(dataset)
        for method in study.methods:
            cells.extend(_cells_of(study, known, method))
    return cells


def _cells_of(study: Study, dataset: Dataset, method: Method) -> Iterator[Cell]:
    if method.datasets is not None and dataset.name not in method.datasets:
        return
    local, reduction = method.on(dataset.name)
    if reduction is not None and reduction.skip:
        return
    kernels: list[str | None] = [None]
    bank: dict[str, Any] | None = None
    if local.input != "features":
        names = kernel_names(study, dataset)
        chosen = [name for name in names if local.kernels is None or name in local.kernels]
        unknown = set(local.kernels or ()) - set(names)
        if unknown or not chosen:
            raise ValueError(
                f"kernels of the method {method.name!r}: {sorted(unknown)} not in the bank of "
                f"{dataset.name!r}, which has {', '.join(names)}."
            )
        bank = {"kernels": study.kernels, "normalize": study.normalize}
        bank = json.loads(canonical(bank))
        if local.input == "kernel":
            kernels = list(chosen)
        elif local.kernels is not None:
            bank["only"] = chosen
    names_, values = list(local.grid), list(local.grid.values())
    for kernel, point, repeat in itertools.product(
        kernels, itertools.product(*values), range(local.repeats)
    ):
        yield Cell(
            dataset=dataset,
            method=local,
            kernel=kernel,
            parameters={**local.parameters, **dict(zip(names_, point, strict=True))},
            seed=study.seed + repeat,
            repeat=repeat,
            bank=bank,
            time_limit=local.time_limit or study.time_limit,
            memory_limit=local.memory_limit or study.memory_limit,
            reason=reduction.reason if reduction else None,
        )
