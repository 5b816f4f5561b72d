"""Cells: the smallest piece of a study, one fit, and the name under which the store knows it."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unispectral._errors import InputError
from unispectral.bench.study import MOST_CELLS, Study, StudyDataset, StudyMethod


def canonical(value: object) -> str:
    """JSON that is the same for the same content."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Cell:
    """One fit: a data set, an estimator with all its parameters, a kernel, a seed.

    ``key`` is a digest of everything that decides the labels. The name of the method, the limits
    and the columns are not part of it, so that two studies share the cells they have in common.
    """

    dataset: StudyDataset
    method: StudyMethod
    kernel: str | None
    parameters: dict[str, Any]
    seed: int
    repeat: int
    bank: dict[str, Any] | None
    time_limit: float
    memory_limit: float | None
    key: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(canonical(self.identity()).encode()).hexdigest()
        object.__setattr__(self, "key", digest[:32])

    def identity(self) -> dict[str, Any]:
        """What decides the labels."""
        dataset = self.dataset
        method = self.method
        if method.input == "features":
            kernel = None
        else:
            kernel = method.kernel_parameter or method.input
        if method.digest is None:
            local = {}
        else:
            local = {"module": method.digest}
        return {
            "dataset": dataset.digest or dataset.name,
            "truth": dataset.truth if dataset.file else None,
            "read": dict(dataset.read),
            "n_clusters": None,  # says nothing, but is part of the keys of stored cells
            "estimator": method.estimator,
            "input": method.input,
            "kernel_parameter": kernel,
            "parameters": self.parameters,
            "kernel": self.kernel,
            "bank": self.bank,
            "seed": self.seed,
            **local,
        }

    @property
    def setting(self) -> tuple[str, str | None, str]:
        """What the repeats of a cell have in common: bank, kernel and parameters."""
        return canonical(self.bank), self.kernel, canonical(self.parameters)

    @property
    def bank_name(self) -> str | None:
        """The kernel bank, where it has a name."""
        kernels = (self.bank or {}).get("kernels")
        if isinstance(kernels, str):
            return kernels
        return None

    def job(self) -> dict[str, Any]:
        """The message a worker gets: with it alone a cell can be done, or done again."""
        names = ("name", "file", "truth", "digest", "read", "loader")
        dataset = {name: getattr(self.dataset, name) for name in names}
        limits = {"seconds": self.time_limit, "bytes": self.memory_limit}
        return {"key": self.key, **self.identity(), "dataset": dataset, "limits": limits}


def fingerprint(dataset: StudyDataset) -> StudyDataset:
    """Fill in the digest of a data set that the user brought; the built-in ones have a name."""
    if dataset.digest is None and dataset.loader is not None:
        digest = hashlib.sha256(dataset.loader.encode()).hexdigest()[:32]
        return replace(dataset, digest=digest)
    if dataset.digest is not None or dataset.file is None:
        return dataset
    content = hashlib.sha256()
    files = [dataset.file]
    if dataset.truth is not None and Path(dataset.truth).is_file():
        files.append(dataset.truth)
    for name in files:
        try:
            with Path(name).open("rb") as stream:
                content.update(hashlib.file_digest(stream, "sha256").digest())
        except OSError as error:
            problem = f"{dataset.name!r} cannot be read: {name}: {error.strerror}"
            raise InputError("The data set", problem) from None
    return replace(dataset, digest=content.hexdigest()[:32])


def expand(study: Study) -> list[Cell]:
    """All cells of a study: data sets in their order, then methods, kernels, grid, repeats.

    Nothing is shuffled: the first data sets are finished first, so that a study which was stopped
    half-way is a smaller study and not a sieve.
    """
    cells: list[Cell] = []
    for dataset in map(fingerprint, study.datasets):
        for method in study.methods:
            local, reduction = method.on(dataset.name)
            if reduction is None or not reduction.get("skip"):
                cells.extend(_cells_of(study, dataset, local, MOST_CELLS - len(cells)))
    return cells


def _cells_of(
    study: Study, dataset: StudyDataset, method: StudyMethod, most: int
) -> Iterator[Cell]:
    kernels = _kernels_of(study, method)
    if len(kernels) * method.grid_size * method.repeats > most:
        problem = f"has more than {MOST_CELLS} cells with those of the method {method.name!r}"
        raise InputError("study", problem, "ask for fewer repeats or grid points")
    for (kernel, bank), point, repeat in itertools.product(
        kernels, itertools.product(*method.grid.values()), range(method.repeats)
    ):
        yield Cell(
            dataset=dataset,
            method=method,
            kernel=kernel,
            parameters={**method.parameters, **dict(zip(method.grid, point, strict=True))},
            seed=study.seed + repeat,
            repeat=repeat,
            bank=bank,
            time_limit=method.time_limit or study.time_limit,
            memory_limit=method.memory_limit or study.memory_limit,
        )


def _kernels_of(
    study: Study, method: StudyMethod
) -> list[tuple[str | None, dict[str, Any] | None]]:
    """The kernels that a method is given one after the other, each with the bank it is of."""
    from unispectral.kernels import as_kernels

    if method.input == "features":
        return [(None, None)]
    own: dict[Any, Any] = {study.kernels: study.normalize}
    banks: Mapping[Any, Any] = method.banks or own
    names = {kernels: [kernel.name for kernel in as_kernels(kernels)] for kernels in banks}
    every = list(dict.fromkeys(itertools.chain(*names.values())))
    if (unknown := set(method.kernels or ()) - set(every)) or not every:
        problem = f"has {sorted(unknown)}, not in its bank"
        where = f"the method {method.name!r}: kernels"
        raise InputError(where, problem, f"that has {', '.join(every)}")
    given: list[tuple[str | None, dict[str, Any] | None]] = []
    for kernels, listed in names.items():
        bank = json.loads(canonical({"kernels": kernels, "normalize": banks[kernels]}))
        chosen = [name for name in listed if method.kernels is None or name in method.kernels]
        if method.input == "kernel":
            given += [(name, bank) for name in chosen]
        elif chosen:
            given.append((None, bank if method.kernels is None else {**bank, "only": chosen}))
    return given
