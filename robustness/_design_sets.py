"""The sets on which relations are tried: those that may be looked at while a model is designed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
#: The parts of the public suite on which models are designed.
_SUITE = ("fcps", "graves", "other")
#: The sets of the paper.
_PAPER = ("yale", "jaffe", "orl", "ar", "coil20", "binary_alphadigits", "tr11", "tr41", "tr45")
#: Measurements in units of their own among the shapes.
_MEASUREMENTS = ("dermatology", "heart-statlog", "thy", "vowel", "zoo")
#: What the table and the classes are called in a file of views.
_TABLES, _CLASSES = ("X", "data"), ("Y", "truth", "truelabel")


@dataclass(frozen=True)
class DesignSet:
    """A data set with its classes: ``load`` gives the samples and one or several labellings.

    A label of −1 is a sample that belongs to no class.
    """

    name: str
    load: Callable[[], tuple[Any, list[np.ndarray]]]


def design_sets() -> list[DesignSet]:
    """All sets that are on this machine.

    The folders are those that UNISPECTRAL_SUITE, UNISPECTRAL_SHAPES, UNISPECTRAL_VIEWS and
    UNISPECTRAL_DATA name, or those of the folder ``shared`` beside the repository.
    """
    sets = []
    for part in _SUITE:
        for path in sorted((_folder("SUITE") / part).glob("*.data.gz")):
            name = path.name.removesuffix(".data.gz")
            sets.append(DesignSet(f"{part}/{name}", partial(_suite, path.parent, name)))
    shapes = sorted(_folder("SHAPES").glob("*.arff"))
    sets += [DesignSet(f"shapes/{path.stem}", partial(_shape, path)) for path in shapes]
    if _folder("DATA").is_dir():
        sets += [DesignSet(f"paper/{name}", partial(_paper, name)) for name in _PAPER]
    views = sorted(_folder("VIEWS").glob("*.mat"))
    sets += [DesignSet(f"views/{path.stem}", partial(_views, path)) for path in views]
    return sets


def _folder(name: str) -> Path:
    given = os.environ.get(f"UNISPECTRAL_{name}")
    return Path(given) if given else _BESIDE / name.lower()


def _suite(folder: Path, name: str) -> tuple[np.ndarray, list[np.ndarray]]:
    X = np.loadtxt(folder / f"{name}.data.gz", ndmin=2)
    paths = sorted(folder.glob(f"{name}.labels*.gz"))
    return X, [np.loadtxt(path, dtype=int) - 1 for path in paths]


def _shape(path: Path) -> tuple[np.ndarray, list[np.ndarray]]:
    """The numeric columns of an ARFF file, without rows that lack a value, and its classes."""
    names: list[str] = []
    rows: list[list[str]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        line = line.strip()
        if line.lower().startswith("@attribute"):
            names.append(line.split(None, 2)[1].strip("'\"").lower())
        elif line and line[0] not in "@%" and "?" not in line:
            rows.append([cell.strip() for cell in line.split(",")])
    at = names.index("class") if "class" in names else len(names) - 1
    columns = [
        number for number in range(len(names)) if number != at and _is_number(rows[0][number])
    ]
    X = np.array([[float(row[number]) for number in columns] for row in rows])
    if path.stem in _MEASUREMENTS:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    text = np.array([row[at] for row in rows])
    y = np.unique(text, return_inverse=True)[1]
    return X, [np.where(text == "noise", -1, y)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _paper(name: str) -> tuple[Any, list[np.ndarray]]:
    from unispectral.datasets import fetch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fetch(name)
    X = found.data
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    return X, [np.unique(found.target, return_inverse=True)[1]]


def _views(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    stored = scipy.io.loadmat(path)
    cells = next(stored[name] for name in _TABLES if name in stored).ravel()
    classes = next(stored[name] for name in _CLASSES if name in stored)
    if classes.dtype == object:
        classes = classes.ravel()[0]
    y = np.unique(classes.ravel(), return_inverse=True)[1]
    views = {}
    for number, table in enumerate(cells):
        if table.shape[0] != len(y):
            table = table.T
        views[f"view{number}"] = (
            sp.csr_array(table, dtype=np.float64)
            if sp.issparse(table)
            else np.ascontiguousarray(table, dtype=np.float64)
        )
    return views, [y]
