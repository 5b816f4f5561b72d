"""What a study is: data sets, methods, metrics, and the cells they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from unispectral.bench.method import Method, check_choice, check_name

__all__ = ["METRICS", "Dataset", "Study", "Surface"]

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
        check_name(self.name, "dataset.name")
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
            check_choice(key, _READ, f"read of the data set {self.name!r}")
        if (self.data is None) != (self.target is None):
            raise ValueError(
                f"The data set {self.name!r} needs both data and target, or neither of them."
            )


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
        check_name(self.name, "study.name")
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
            check_choice(metric, METRICS, "metric")
        for surface in self.surfaces:
            check_choice(
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
