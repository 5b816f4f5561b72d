"""What a study is: data sets, methods, metrics, and the columns that are made of the cells."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from unispectral._errors import InputError
from unispectral.bench._fields import Checked, check_choice

__all__ = ["METRICS", "PROTOCOLS", "Column", "Study", "StudyDataset", "StudyMethod", "Surface"]

#: The scores of every cell, with their titles.
METRICS = {
    "accuracy": "Accuracy",
    "nmi": "NMI",
    "purity": "Purity",
    "swapped_purity": "Swapped purity",
    "ari": "Adjusted Rand index",
}
#: What each protocol means, what a user gets before what is tuned with the true labels; the
#: report prints these sentences beside the figures.
PROTOCOLS = {
    "label-free": "Defaults only, no label seen before the score: what a user gets. "
    "The mean of the repeats.",
    "tuned": "The best point of a declared grid, and the best kernel, chosen with the true "
    "labels: what a method could reach at most.",
    "paper": "Tuned with the true labels over a declared grid, the best kernel, and of the "
    "repeats the one with the best objective, as the paper's text says; '-m' is the mean over "
    "the kernels.",
}
#: What a study may tell the reader of tables; the true classes have an entry of their own.
_READ = ("format", "id", "columns", "impute", "scale", "key", "separator", "header", "encoding")
#: What a method may do otherwise on some data sets.
_REDUCIBLE = ("repeats", "kernels", "banks", "grid", "parameters", "time_limit", "memory_limit")
#: More cells than anybody could run; a mistyped or hostile study must not exhaust the memory.
MOST_CELLS = 100_000


@dataclass(frozen=True)
class Column(Checked):
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

    _kind = "column"
    _choices = {
        "protocols": PROTOCOLS,
        "repeats": ("mean", "best", "objective"),
        "kernels": ("best", "mean"),
    }


@dataclass(frozen=True)
class StudyMethod(Checked):
    """A clustering method of a study.

    Parameters
    ----------
    name : str
        How the study calls it.
    estimator : str
        A dotted name such as ``"sklearn.cluster.KMeans"``.
    input : {"features", "kernel", "kernels"}
        The samples; one precomputed kernel after the other; all kernels of the bank at once.
    title : str
        For the report; the name by default.
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
    reduced : sequence of mapping
        Less work on some data sets: ``datasets``, the ``reason``, which the report prints, and
        what replaces the method's repeats, kernels, banks, grid or limits there, or is added to
        its parameters; with ``skip``, it is not run there at all.
    time_limit, memory_limit : float
        Seconds, and bytes of memory, of one fit and of the processes that it starts.
    digest : str
        Of the module of an estimator that lies beside a study file: a method that was changed is
        run again. :meth:`Study.load` fills it in.
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
    reduced: tuple[Mapping[str, Any], ...] = ()
    time_limit: float | None = None
    memory_limit: float | None = None
    digest: str | None = None

    _kind = "method"
    _choices = {"input": ("features", "kernel", "kernels")}

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", self.columns or (Column(self.name),))
        super().__post_init__()
        where = f"the method {self.name!r}"
        for key, values in self.grid.items():
            if not values:
                problem = "must be a list of at least one value"
                raise InputError(f"{where}: grid[{key!r}]", problem, value=values)
        reduced = tuple({k: v for k, v in r.items() if v is not None} for r in self.reduced)
        object.__setattr__(self, "reduced", reduced)
        where += ": reduced"
        for reduction in reduced:
            for key in reduction:
                check_choice(key, ("datasets", "reason", "skip", *_REDUCIBLE), where)
            if not isinstance(reduction.get("datasets"), (list, tuple)):
                raise InputError(where, "lacks 'datasets', the list of those where less is run")
            if not str(reduction.get("reason", "")).strip():
                raise InputError(where, "lacks the 'reason' why less is run")
            self.reduce(reduction)

    @property
    def grid_size(self) -> int:
        """The number of its points."""
        return math.prod(map(len, self.grid.values()))

    def reduce(self, reduction: Mapping[str, Any]) -> StudyMethod:
        """The method as a reduction leaves it."""
        changes = {key: reduction[key] for key in _REDUCIBLE if key in reduction}
        if "parameters" in changes:
            changes["parameters"] = {**self.parameters, **changes["parameters"]}
        return replace(self, reduced=(), **changes)

    def on(self, dataset: str) -> tuple[StudyMethod, Mapping[str, Any] | None]:
        """The method as it is run on a data set, and the reduction that made it so."""
        for reduction in self.reduced:
            if dataset in reduction["datasets"]:
                return self.reduce(reduction), reduction
        return self, None


@dataclass(frozen=True)
class StudyDataset(Checked):
    """A data set of a study.

    Parameters
    ----------
    name : str
        A built-in data set (``"yale"``, ``"digits"`` …), or any name when `file` or `loader` says
        where the samples are.
    title : str
        What tables print; the name by default.
    file : str
        A table to read: CSV, Parquet, ``.npy``, ``.npz``, ``.mat``.
    truth : str
        The column or array that holds the true classes, or a second file of one column.
    read : mapping
        Arguments of :func:`unispectral.tables.read_table`, such as ``scale`` or ``separator``.
    loader : str
        The dotted name of a function without arguments that returns the samples, one table or a
        list or mapping of views, and the true classes.
    digest : str
        Of the file, or of the module with the loader; filled in by itself.
    """

    name: str
    title: str = ""
    file: str | None = None
    truth: str | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    loader: str | None = None
    digest: str | None = None

    _kind = "data set"
    _choices = {"read": _READ}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.file and self.loader:
            problem = "has both a file and a loader"
            raise InputError(self._label(self.name), problem, "give one of them")

    def within(self, folder: Path) -> StudyDataset:
        """With paths as they are meant by a study file in a folder."""
        file = self.file and str(folder / self.file)
        truth = self.truth
        if truth is not None and (folder / truth).is_file():  # else a column
            truth = str(folder / truth)
        return replace(self, file=file, truth=truth)


@dataclass(frozen=True)
class Surface(Checked):
    """A picture of one method's score over two parameters, one panel per value of a third."""

    method: str
    x: str
    y: str
    panel: str | None = None
    title: str = ""

    _kind = "surface"


@dataclass(frozen=True)
class Study(Checked):
    """Data sets × methods → cells → columns.

    Parameters
    ----------
    name : str
        The name under which the store keeps it.
    datasets : sequence of StudyDataset or str
        In the order in which they are run: put the small ones first.
    methods : sequence of StudyMethod
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
    declared : mapping
        Of a selection: the names of all ``datasets`` and ``methods`` of the study it is made of.

    Examples
    --------
    >>> from unispectral.bench import Study, StudyMethod
    >>> kmeans = StudyMethod("k-means", "sklearn.cluster.KMeans", repeats=3)
    >>> len(Study("mine", ["iris"], [kmeans]).cells())
    3
    """

    name: str
    datasets: tuple[StudyDataset, ...]
    methods: tuple[StudyMethod, ...]
    title: str = ""
    about: str = ""
    kernels: str | tuple[str, ...] = "paper"
    normalize: str | tuple[str, ...] = "cosine"
    metrics: tuple[str, ...] = ("accuracy", "nmi", "purity")
    seed: int = 0
    time_limit: float = 600.0
    memory_limit: float | None = None
    surfaces: tuple[Surface, ...] = ()
    declared: Mapping[str, Sequence[str]] = field(default_factory=dict)

    _kind = "study"
    _choices = {"metrics": METRICS}

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"of the study {self.name!r}"
        for what in ("datasets", "methods", "metrics"):
            if not getattr(self, what):
                raise InputError(what, f"{where} is empty", "give at least one")
        if len(self.datasets) * len(self.methods) > MOST_CELLS:
            raise InputError("methods", f"{where} make more than {MOST_CELLS} cells")
        shown = [(p, c.name) for m in self.methods for c in m.columns for p in c.protocols]
        for what, names in (
            ("data set", [dataset.name for dataset in self.datasets]),
            ("method", [method.name for method in self.methods]),
            ("pair of protocol and column", shown),
        ):
            name, count = Counter(names).most_common(1)[0]
            if count > 1:
                raise InputError(what, f"{name!r} occurs twice in the study {self.name!r}")
        for surface in self.surfaces:
            check_choice(surface.method, [m.name for m in self.methods], "surface.method")

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
            chosen = {name.lower(): name for name in wanted}
            for name in chosen.keys() - present.keys():
                listed = ", ".join(entry.name for entry in present.values())
                problem = f"the study {self.name!r} has no {chosen[name]!r}; it has {listed}"
                raise InputError(f"{key}:", problem)
            changes[key] = tuple(e for n, e in present.items() if n in chosen)
        names = {method.name for method in changes.get("methods", self.methods)}
        changes["surfaces"] = tuple(s for s in self.surfaces if s.method in names)
        every = {key: [e.name for e in getattr(self, key)] for key in ("datasets", "methods")}
        return replace(self, declared=self.declared or every, **changes)

    def join(self, earlier: Study) -> Study:
        """With what an earlier selection of the same study has besides.

        What both have is as it is here, and what is declared no more is left out.

        Examples
        --------
        >>> small = Study.load("small")
        >>> jaffe, yale = small.select(["jaffe"]), small.select(["yale"])
        >>> [dataset.title for dataset in jaffe.join(yale).datasets]
        ['YALE', 'JAFFE']
        """
        changes: dict[str, Any] = {}
        for key in ("datasets", "methods"):
            own = {entry.name: entry for entry in getattr(self, key)}
            found = {**{entry.name: entry for entry in getattr(earlier, key)}, **own}
            order = dict.fromkeys([*self.declared.get(key, ()), *own])
            changes[key] = tuple(found[name] for name in order if name in found)
        added = {method.name for method in changes["methods"]} - {m.name for m in self.methods}
        surfaces = [surface for surface in earlier.surfaces if surface.method in added]
        try:
            joined = replace(self, surfaces=(*surfaces, *self.surfaces), **changes)
            joined.cells()
        except InputError:  # two methods share a column, say, because the study has changed
            return self
        return joined

    @classmethod
    def load(cls, source: str | Path) -> Study:
        """Read a study from a TOML file, or one of ours by its name.

        Examples
        --------
        >>> Study.load("small").name
        'small'
        """
        path = Path(source)
        builtin = str(source) in cls.builtin()
        if not builtin and not path.is_file():
            problem = "is neither a file nor a built-in study"
            listed = ", ".join(cls.builtin())
            raise InputError("study", problem, f"those are {listed}", value=str(source))
        if builtin:
            file = _FOLDER / f"{source}.toml"
        else:
            file = path
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
            for one in ("dataset", "method", "surface"):
                if f"{one}s" in tables:
                    problem = f"has the table {one + 's'!r}"
                    raise InputError("the study", problem, f"head each {one} with [[{one}]]")
                if one in tables:
                    tables[f"{one}s"] = tables.pop(one)
            study = cls.from_table(tables)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"The study {str(source)!r} is not valid TOML: {error}.") from None
        except (TypeError, ValueError) as error:
            said = f"In the study {str(source)!r}: {error}"
            if isinstance(error, TypeError):
                raise TypeError(said) from None
            raise ValueError(said) from None
        if builtin:
            return study
        folder = path.resolve().parent
        datasets = [dataset.within(folder) for dataset in study.datasets]
        return replace(
            study,
            datasets=tuple(replace(d, digest=_local_digest(d.loader, folder)) for d in datasets),
            methods=tuple(
                replace(m, digest=_local_digest(m.estimator, folder)) for m in study.methods
            ),
        )

    @staticmethod
    def builtin() -> list[str]:
        """The names of the studies that come with the library.

        Examples
        --------
        >>> Study.builtin()
        ['paper', 'parameters', 'peers', 'small']
        """
        return sorted(Path(entry.name).stem for entry in _FOLDER.iterdir())


_FOLDER = resources.files("unispectral.bench") / "studies"


def _local_digest(dotted: str | None, folder: Path) -> str | None:
    """A digest of a dotted name whose module lies in a folder, with what the module says."""
    if dotted is None:
        return None
    module = folder / f"{dotted.partition('.')[0]}.py"
    if not module.is_file():
        return None
    content = dotted.encode() + b"\n" + module.read_bytes()
    return hashlib.sha256(content).hexdigest()[:32]
