"""Methods of a study: an estimator, its grid, the columns made of its cells, and exceptions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unispectral._errors import InputError, InputTypeError

__all__ = ["PROTOCOLS", "Column", "Reduction", "StudyMethod"]

#: What each protocol means, what a user gets before what is tuned with the true labels; the
#: report prints these sentences beside the figures.
PROTOCOLS = {
    "label-free": "Defaults only, no label seen before the score: what a user gets. "
    "The mean of the repeats.",
    "paper": "Tuned with the true labels over a declared grid, the best kernel, and of the "
    "repeats the one with the best objective, as the paper's text says; '-m' is the mean over "
    "the kernels.",
}
_NAME = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,80}")


def check_name(name: Any, argument: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = "must be a text of 1 to 80 characters without control characters"
        raise InputError(argument, problem, value=name)


def check_choice(value: Any, choices: Iterable[str], argument: str) -> None:
    if value not in (choices := tuple(choices)):
        listed = ", ".join(repr(choice) for choice in choices)
        raise InputError(argument, "is unknown", f"use one of {listed}", value=value)


def check_count(value: Any, argument: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(argument, "must be a whole number of at least 1", value=value)


def check_json(value: Any, argument: str) -> None:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        problem = "must be made of texts, finite numbers, booleans, lists and tables"
        remedy = "otherwise a cell could not be stored and done again"
        raise InputTypeError(argument, problem, remedy, value=value) from None


def as_tuple(values: Any) -> Any:
    """A tuple of the values, of one text, or None."""
    return (values,) if isinstance(values, str) else values and tuple(values)


def assign(frozen: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is being made."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


@dataclass(frozen=True)
class Column:
    """One column of the result table: how cells become a figure.

    Parameters
    ----------
    name : str
        The heading.
    protocols : sequence of str
        Under which protocols the column is shown, see :data:`PROTOCOLS`.
    repeats : {"mean", "best", "objective"}
        The mean over the repeats, the best of them for each metric by itself, or the repeat of the
        best objective.
    kernels : {"best", "mean"}
        The best kernel, for each metric by itself, or the mean over the kernels; with each, the
        best point of the grid.
    bank : str
        Use only the cells of this kernel bank, where the method has several.
    paper : str
        The column of the paper's table to compare with; the name by default.
    """

    name: str
    protocols: tuple[str, ...] = ("label-free",)
    repeats: str = "mean"
    kernels: str = "best"
    bank: str | None = None
    paper: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "column.name")
        assign(self, protocols=as_tuple(self.protocols))
        where = f"of the column {self.name!r}"
        for protocol in self.protocols:
            check_choice(protocol, PROTOCOLS, f"protocol {where}")
        check_choice(self.repeats, ("mean", "best", "objective"), f"repeats {where}")
        check_choice(self.kernels, ("best", "mean"), f"kernels {where}")


@dataclass(frozen=True)
class Reduction:
    """Less work for a method on some data sets, with the reason, which the report prints.

    Parameters
    ----------
    datasets : sequence of str
        Where it applies.
    reason : str
        Why; never empty.
    repeats, kernels, banks, grid, parameters, time_limit, memory_limit
        What replaces the method's own setting there.
    skip : bool
        Do not run the method there at all.
    """

    datasets: tuple[str, ...]
    reason: str
    repeats: int | None = None
    kernels: tuple[str, ...] | None = None
    banks: Mapping[str, Any] | None = None
    grid: Mapping[str, Sequence[Any]] | None = None
    parameters: Mapping[str, Any] | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    skip: bool = False

    def __post_init__(self) -> None:
        assign(self, datasets=as_tuple(self.datasets), kernels=as_tuple(self.kernels))
        if not self.reason.strip():
            raise InputError("reason", "of a reduction is empty", "say why less is run there")


@dataclass(frozen=True)
class StudyMethod:
    """A clustering method of a study.

    Parameters
    ----------
    name : str
        How the study calls it.
    estimator : str
        A dotted name such as ``"sklearn.cluster.KMeans"``.
    input : {"features", "kernel", "kernels"}
        The samples; one precomputed kernel after the other; all kernels of the bank at once.
    kernel_parameter : str
        The parameter that is set to ``"precomputed"``.
    parameters, grid : mapping
        Fixed parameters, and lists of values of which all combinations are run.
    kernels : sequence of str
        Restrict the bank to these names.
    banks : mapping
        Kernel banks to run instead of the study's, each with its normalisation, such as
        ``{"paper": "cosine", "paper-text": "max"}``.
    repeats : int
        Fits with different seeds.
    columns : sequence of Column
        What is made of the cells; by default one column for the protocol ``label-free``.
    reduced : sequence of Reduction
        Exceptions for some data sets.
    time_limit, memory_limit : float
        Seconds, and bytes of memory, of one fit and of the processes that it starts.
    """

    name: str
    estimator: str
    input: str = "features"
    title: str = ""
    kernel_parameter: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    kernels: tuple[str, ...] | None = None
    banks: Mapping[str, Any] | None = None
    repeats: int = 1
    columns: tuple[Column, ...] = ()
    reduced: tuple[Reduction, ...] = ()
    time_limit: float | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "method.name")
        check_name(self.estimator, "estimator")
        where = f"of the method {self.name!r}"
        check_choice(self.input, ("features", "kernel", "kernels"), f"input {where}")
        check_count(self.repeats, f"{where[3:]}: repeats")
        check_json(dict(self.parameters), f"parameters {where}")
        for key, values in self.grid.items():
            if not isinstance(values, (list, tuple)) or not values:
                problem = "must be a list of at least one value"
                raise InputError(f"grid[{key!r}] {where}", problem, value=values)
            check_json(list(values), f"grid[{key!r}] {where}")
        assign(
            self,
            title=self.title or self.name,
            kernels=as_tuple(self.kernels),
            reduced=tuple(self.reduced),
            columns=tuple(self.columns) or (Column(self.name),),
        )

    def on(self, dataset: str) -> tuple[StudyMethod, Reduction | None]:
        """The method as it is run on a data set, and the reduction that made it so."""
        for reduction in self.reduced:
            if dataset in reduction.datasets:
                keys = ("repeats", "kernels", "banks", "grid", "time_limit", "memory_limit")
                changes = {key: getattr(reduction, key) for key in keys}
                if reduction.parameters is not None:
                    changes["parameters"] = {**self.parameters, **reduction.parameters}
                given = {key: value for key, value in changes.items() if value is not None}
                return replace(self, **given), reduction
        return self, None
