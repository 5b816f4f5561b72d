"""What a study is: data sets, methods, metrics, and the cells they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from unispectral._errors import InputError
from unispectral.bench.method import (
    StudyMethod,
    assign,
    check_choice,
    check_count,
    check_name,
)

__all__ = ["METRICS", "Study", "StudyDataset", "Surface"]

#: The scores of every cell, with their titles.
METRICS = {
    "accuracy": "Accuracy",
    "nmi": "NMI",
    "purity": "Purity",
    "swapped_purity": "Swapped purity",
    "ari": "Adjusted Rand",
}
#: What a study may tell the reader of tables; the true classes have an entry of their own.
_READ = ("format", "id", "columns", "impute", "scale", "key", "separator", "header", "encoding")
#: More cells than anybody could run; a mistyped or hostile study must not exhaust the memory.
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class StudyDataset:
    """A data set of a study.

    Parameters
    ----------
    name : str
        A built-in data set (``"yale"``, ``"digits"`` …), or any name when `file` says where the
        samples are.
    title : str
        What tables print; the name by default.
    file : str
        A table to read: CSV, Parquet, ``.npy``, ``.npz``, ``.mat``.
    truth : str
        The column or array that holds the true classes, or a second file of one column.
    read : mapping
        Arguments of :func:`unispectral.tables.read_table`, such as ``scale`` or ``separator``.
    n_clusters : int
        The number of clusters asked for; the number of true classes by default.
    """

    name: str
    title: str = ""
    file: str | None = None
    truth: str | None = None
    read: Mapping[str, Any] = field(default_factory=dict)
    n_clusters: int | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "dataset.name")
        assign(self, title=self.title or self.name)
        where = f"of the data set {self.name!r}"
        if self.n_clusters is not None:
            check_count(self.n_clusters, f"n_clusters {where}")
        for key in self.read:
            check_choice(key, _READ, f"read {where}")


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

    def __post_init__(self) -> None:
        check_name(self.name, "study.name")
        datasets = (StudyDataset(d) if isinstance(d, str) else d for d in self.datasets)
        assign(self, datasets=tuple(datasets), methods=tuple(self.methods))
        assign(self, metrics=tuple(self.metrics), surfaces=tuple(self.surfaces))
        assign(self, title=self.title or self.name)
        for key in ("kernels", "normalize"):
            if not isinstance(value := getattr(self, key), str):
                assign(self, **{key: tuple(value)})
        self._check()

    def _check(self) -> None:
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
        for metric in self.metrics:
            check_choice(metric, METRICS, "metric")
        for surface in self.surfaces:
            check_choice(surface.method, [m.name for m in self.methods], "surface.method")
        if not self.time_limit > 0:
            raise InputError("time_limit", "must be above 0 seconds", value=self.time_limit)

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
                    listed = ", ".join(entry.name for entry in present.values())
                    problem = f"the study {self.name!r} has no {name!r}; it has {listed}"
                    raise InputError(f"{key}:", problem)
            chosen = {name.lower() for name in wanted}
            changes[key] = tuple(e for n, e in present.items() if n in chosen)
        names = {method.name for method in changes.get("methods", self.methods)}
        changes["surfaces"] = tuple(s for s in self.surfaces if s.method in names)
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
        ['paper', 'parameters', 'peers', 'small']
        """
        folder = resources.files("unispectral.bench") / "studies"
        return sorted(Path(entry.name).stem for entry in folder.iterdir())
