"""What a study is: data sets, methods with their grids, and the columns made of their results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

__all__ = ["METRICS", "PROTOCOLS", "Column", "Dataset", "Method", "Reduction", "Study", "Surface"]

#: What each protocol means; the report prints these sentences beside the figures.
PROTOCOLS = {
    "paper": "Tuned with the true labels over a declared grid, the best kernel, and of the "
    "repeats the one with the best objective, as the paper's text says.",
    "record": "The mean of the repeats, as the public record of the paper's figures shows; the "
    "best kernel and any parameters are chosen with the true labels, '-m' is the mean over "
    "the kernels.",
    "label-free": "Defaults only, no label seen before the score: what a user gets. "
    "The mean of the repeats.",
}
#: The scores of every cell, with their titles.
METRICS = {
    "accuracy": "Accuracy",
    "nmi": "NMI",
    "purity": "Purity",
    "swapped_purity": "Swapped purity",
    "ari": "Adjusted Rand",
}
INPUTS = ("features", "kernel", "kernels")
REPEAT_RULES = ("mean", "objective", "first")
KERNEL_RULES = ("best", "mean")
GRID_RULES = ("best", "mean")
#: What a study may tell the reader of tables; the true classes have an entry of their own.
_READ = ("format", "id", "columns", "impute", "scale", "key", "separator", "header", "encoding")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,80}")


def _check_name(name: Any, argument: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"{argument}={name!r} must be a text of 1 to 80 characters without control characters."
        )


def _check_choice(value: Any, choices: Iterable[str], argument: str) -> None:
    if value not in (choices := tuple(choices)):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{argument}={value!r} is unknown; use one of {listed}.")


def _check_json(value: Any, argument: str) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise TypeError(
            f"{argument}={value!r} must be made of texts, finite numbers, booleans, lists and "
            "tables, so that a cell can be stored and done again."
        ) from None


@dataclass(frozen=True)
class Dataset:
    """A data set of a study.

    Parameters
    ----------
    name : str
        A built-in data set (``"yale"``, ``"digits"`` …), or any name when `file`, `kernels` or
        `data` says where the samples are.
    title : str
        What tables print; the name by default.
    file : str
        A table to read: CSV, Parquet, ``.npy``, ``.npz``, ``.mat``.
    truth : str
        The column or array that holds the true classes, or a second file of one column.
    read : mapping
        Arguments of :func:`unispectral.tables.read_table`, such as ``scale`` or ``separator``.
    kernels : sequence of str
        Files of precomputed kernel matrices, which then are the kernel bank.
    n_clusters : int
        The number of clusters asked for; the number of true classes by default.
    samples : int
        A hint of the size, from which the time remaining is estimated before the first fit.
    data, target : array
        The samples and true classes themselves; they are written beside the store.
    """

    name: str
    title: str = ""
    file: str | None = None
    truth: str | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    n_clusters: int | None = None
    samples: int | None = None
    data: Any = field(default=None, repr=False, compare=False)
    target: Any = field(default=None, repr=False, compare=False)
    digest: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "dataset.name")
        object.__setattr__(self, "title", self.title or self.name)
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if self.n_clusters is not None and (
            not isinstance(self.n_clusters, int) or self.n_clusters < 1
        ):
            raise ValueError(
                f"n_clusters={self.n_clusters!r} of the data set {self.name!r} must be a whole "
                "number of at least 1."
            )
        for key in self.read:
            _check_choice(key, _READ, f"read of the data set {self.name!r}")
        if (self.data is None) != (self.target is None):
            raise ValueError(
                f"The data set {self.name!r} needs both data and target, or neither of them."
            )


@dataclass(frozen=True)
class Column:
    """One column of the result table: how cells become a figure.

    Parameters
    ----------
    name : str
        The heading.
    protocols : sequence of str
        Under which protocols the column is shown, see :data:`PROTOCOLS`.
    repeats : {"mean", "objective", "first"}
        The mean over the repeats, the repeat of the best objective, or the first repeat.
    kernels : {"best", "mean"}
        The best kernel, for each metric by itself, or the mean over the kernels.
    grid : {"best", "mean"}
        The best point of the grid within each kernel, for each metric by itself, or the mean.
    fix : mapping
        Use only the cells with these parameters.
    fix_for : mapping
        Data set → parameters that replace `fix` there.
    paper : str
        The column of the paper's table to compare with; the name by default.
    """

    name: str
    protocols: tuple[str, ...] = ("record",)
    repeats: str = "mean"
    kernels: str = "best"
    grid: str = "best"
    fix: Mapping[str, Any] = field(default_factory=dict)
    fix_for: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    paper: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "column.name")
        protocols = (self.protocols,) if isinstance(self.protocols, str) else self.protocols
        object.__setattr__(self, "protocols", tuple(protocols))
        for protocol in self.protocols:
            _check_choice(protocol, PROTOCOLS, f"protocol of the column {self.name!r}")
        _check_choice(self.repeats, REPEAT_RULES, f"repeats of the column {self.name!r}")
        _check_choice(self.kernels, KERNEL_RULES, f"kernels of the column {self.name!r}")
        _check_choice(self.grid, GRID_RULES, f"grid of the column {self.name!r}")

    def fixed(self, dataset: str) -> Mapping[str, Any]:
        """The parameters to which the column is restricted on a data set."""
        return self.fix_for.get(dataset, self.fix)


@dataclass(frozen=True)
class Reduction:
    """Less work for a method on some data sets, with the reason, which the report prints.

    Parameters
    ----------
    datasets : sequence of str
        Where it applies.
    reason : str
        Why; never empty.
    repeats, kernels, grid, parameters, time_limit, memory_limit
        What replaces the method's own setting there.
    skip : bool
        Do not run the method there at all.
    """

    datasets: tuple[str, ...]
    reason: str
    repeats: int | None = None
    kernels: tuple[str, ...] | None = None
    grid: Mapping[str, Sequence[Any]] | None = None
    parameters: Mapping[str, Any] | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    skip: bool = False

    def __post_init__(self) -> None:
        datasets = (self.datasets,) if isinstance(self.datasets, str) else self.datasets
        object.__setattr__(self, "datasets", tuple(datasets))
        if self.kernels is not None:
            object.__setattr__(self, "kernels", tuple(self.kernels))
        if not self.reason.strip():
            raise ValueError("reason of a reduction is empty; say why less is run there.")


@dataclass(frozen=True)
class Method:
    """A clustering method of a study.

    Parameters
    ----------
    name : str
        How the study calls it.
    estimator : str, class or instance
        A dotted name such as ``"sklearn.cluster.KMeans"``, an importable class, or an instance,
        whose parameters are then taken over.
    input : {"features", "kernel", "kernels"}
        The samples; one precomputed kernel after the other; all kernels of the bank at once.
    constructor : str
        A class method that builds the estimator, such as ``"paper"``.
    kernel_parameter : str
        The parameter that is set to ``"precomputed"``.
    parameters, grid : mapping
        Fixed parameters, and lists of values of which all combinations are run.
    kernels : sequence of str
        Restrict the bank to these names.
    repeats : int
        Fits with different seeds.
    stream : mapping
        Instead of seeds, the places of the repeats in the one stream of random numbers of the
        published record: ``draws`` ("distinct" or "labels"), how many ``each`` repeat takes, and
        how many of them come ``before`` those of the estimator.
    columns : sequence of Column
        What is made of the cells; by default one column for the protocol ``label-free``.
    reduced : sequence of Reduction
        Exceptions for some data sets.
    datasets : sequence of str
        Run only on these.
    time_limit, memory_limit : float
        Seconds, and bytes of resident memory, of one fit.
    """

    name: str
    estimator: Any
    input: str = "features"
    title: str = ""
    constructor: str | None = None
    kernel_parameter: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    kernels: tuple[str, ...] | None = None
    repeats: int = 1
    stream: Mapping[str, Any] | None = None
    columns: tuple[Column, ...] = ()
    reduced: tuple[Reduction, ...] = ()
    datasets: tuple[str, ...] | None = None
    time_limit: float | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "method.name")
        self._take_over_estimator()
        _check_choice(self.input, INPUTS, f"input of the method {self.name!r}")
        if not isinstance(self.repeats, int) or self.repeats < 1:
            raise ValueError(
                f"repeats={self.repeats!r} of the method {self.name!r} must be at least 1."
            )
        _check_json(dict(self.parameters), f"parameters of the method {self.name!r}")
        for key, values in self.grid.items():
            if not isinstance(values, (list, tuple)) or not values:
                raise ValueError(
                    f"grid[{key!r}]={values!r} of the method {self.name!r} must be a list of at "
                    "least one value."
                )
            _check_json(list(values), f"grid[{key!r}] of the method {self.name!r}")
        if self.stream is not None and (
            self.stream.get("draws") not in ("distinct", "labels")
            or set(self.stream) - {"draws", "each", "before"}
        ):
            raise ValueError(
                f"stream={self.stream!r} of the method {self.name!r} must have draws = 'distinct' "
                "or 'labels', and may have the numbers each and before."
            )
        object.__setattr__(self, "title", self.title or self.name)
        for key in ("kernels", "datasets"):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, tuple(getattr(self, key)))
        object.__setattr__(self, "reduced", tuple(self.reduced))
        columns = tuple(self.columns) or (Column(self.name, ("label-free",)),)
        object.__setattr__(self, "columns", columns)

    def _take_over_estimator(self) -> None:
        estimator = self.estimator
        if isinstance(estimator, str):
            return
        if not isinstance(estimator, type):
            own = {
                key: value
                for key, value in estimator.get_params(deep=False).items()
                if key not in ("n_clusters", "random_state")
            }
            object.__setattr__(self, "parameters", {**own, **self.parameters})
            estimator = type(estimator)
        dotted = f"{estimator.__module__}.{estimator.__qualname__}"
        object.__setattr__(self, "estimator", dotted)

    def on(self, dataset: str) -> tuple[Method, Reduction | None]:
        """The method as it is run on a data set, and the reduction that made it so."""
        for reduction in self.reduced:
            if dataset in reduction.datasets:
                changes: dict[str, Any] = {
                    key: getattr(reduction, key)
                    for key in ("repeats", "kernels", "grid", "time_limit", "memory_limit")
                    if getattr(reduction, key) is not None
                }
                if reduction.parameters is not None:
                    changes["parameters"] = {**self.parameters, **reduction.parameters}
                return replace(self, **changes), reduction
        return self, None


@dataclass(frozen=True)
class Surface:
    """A picture of one method's score over two parameters, one panel per value of a third."""

    method: str
    x: str
    y: str
    panel: str | None = None
    title: str = ""


@dataclass(frozen=True)
class Study:
    """Data sets × methods → cells → columns.

    Parameters
    ----------
    name : str
        The name under which the store keeps it.
    datasets : sequence of Dataset or str
        In the order in which they are run: put the small ones first.
    methods : sequence of Method
        In the order of their columns.
    title, about : str
        For the report.
    kernels : str or sequence of str
        The kernel bank: ``"paper"``, or names that :func:`unispectral.kernels.as_kernel` knows.
    normalize : str or sequence of str
        The normalisation of the kernels.
    metrics : sequence of str
        The scores to show, of :data:`METRICS`.
    seed : int
        Repeat ``i`` has the seed ``seed + i``.
    time_limit, memory_limit : float
        Seconds and bytes for one fit, unless the method says otherwise.
    surfaces : sequence of Surface
        Parameter surfaces to draw.

    Examples
    --------
    >>> from unispectral.bench import Method, Study
    >>> study = Study("mine", ["iris"], [Method("k-means", "sklearn.cluster.KMeans", repeats=3)])
    >>> len(study.cells())
    3
    """

    name: str
    datasets: tuple[Dataset, ...]
    methods: tuple[Method, ...]
    title: str = ""
    about: str = ""
    kernels: str | tuple[str, ...] = "paper"
    normalize: str | tuple[str, ...] = "cosine"
    metrics: tuple[str, ...] = ("accuracy", "nmi", "purity")
    seed: int = 0
    time_limit: float = 600.0
    memory_limit: float | None = None
    surfaces: tuple[Surface, ...] = ()

    def __post_init__(self) -> None:
        _check_name(self.name, "study.name")
        datasets = tuple(
            Dataset(entry) if isinstance(entry, str) else entry for entry in self.datasets
        )
        object.__setattr__(self, "datasets", datasets)
        object.__setattr__(self, "methods", tuple(self.methods))
        object.__setattr__(self, "metrics", tuple(self.metrics))
        object.__setattr__(self, "title", self.title or self.name)
        for key in ("kernels", "normalize"):
            if not isinstance(getattr(self, key), str):
                object.__setattr__(self, key, tuple(getattr(self, key)))
        self._check()

    def _check(self) -> None:
        for what in ("datasets", "methods", "metrics"):
            if not getattr(self, what):
                raise ValueError(f"{what} of the study {self.name!r} is empty; give at least one.")
        for what, names in (
            ("data set", [dataset.name for dataset in self.datasets]),
            ("method", [method.name for method in self.methods]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(
                        f"The {what} {name!r} occurs twice in the study {self.name!r}."
                    )
        shown = [
            (column.name, protocol)
            for method in self.methods
            for column in method.columns
            for protocol in column.protocols
        ]
        for pair in shown:
            if shown.count(pair) > 1:
                raise ValueError(
                    f"The column {pair[0]!r} occurs twice under the protocol {pair[1]!r}."
                )
        for metric in self.metrics:
            _check_choice(metric, METRICS, "metric")
        for surface in self.surfaces:
            _check_choice(
                surface.method, [method.name for method in self.methods], "surface.method"
            )
        if not self.time_limit > 0:
            raise ValueError(f"time_limit={self.time_limit!r} must be above 0 seconds.")

    def cells(self) -> list[Any]:
        """All cells, in the order in which they are run."""
        from unispectral.bench._cells import expand

        return expand(self)

    def select(
        self, datasets: Sequence[str] | None = None, methods: Sequence[str] | None = None
    ) -> Study:
        """The same study on some of its data sets and methods.

        Examples
        --------
        >>> Study.load("small").select(datasets=["yale"]).datasets[0].title
        'YALE'
        """
        changes: dict[str, Any] = {}
        for key, wanted in (("datasets", datasets), ("methods", methods)):
            if wanted is None:
                continue
            present = {entry.name.lower(): entry for entry in getattr(self, key)}
            for name in wanted:
                if name.lower() not in present:
                    listed = ", ".join(entry.name for entry in getattr(self, key))
                    raise ValueError(
                        f"{key}: the study {self.name!r} has no {name!r}; it has {listed}."
                    )
            chosen = {name.lower() for name in wanted}
            changes[key] = tuple(e for n, e in present.items() if n in chosen)
        kept = {method.name for method in changes.get("methods", self.methods)}
        changes["surfaces"] = tuple(s for s in self.surfaces if s.method in kept)
        return replace(self, **changes)

    @classmethod
    def load(cls, source: str | Path) -> Study:
        """Read a study from a TOML file, or one of ours by its name.

        Examples
        --------
        >>> Study.load("small").name
        'small'
        """
        from unispectral.bench._toml import read_study

        return read_study(source)

    @staticmethod
    def builtin() -> list[str]:
        """The names of the studies that come with the library.

        Examples
        --------
        >>> Study.builtin()
        ['paper', 'parameters', 'small']
        """
        folder = resources.files("unispectral.bench") / "studies"
        return sorted(
            entry.name.removesuffix(".toml")
            for entry in folder.iterdir()
            if entry.name.endswith(".toml")
        )
