"""The data of the field, in groups, with the rule which of them took part in design."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets

from benchmarks.label_free import suite
from benchmarks.label_free.data import Absent
from unispectral.datasets import dataset_info, fetch, list_datasets
from unispectral.datasets._fetch import read_views

__all__ = ["GROUPS", "Group", "Problem", "problems"]

_HERE = Path(__file__).resolve().parents[2]
#: Tables of measurements among the shapes: their columns have different units.
_MEASURED = ("dermatology", "heart-statlog", "thy", "vowel", "zoo")


@dataclass(frozen=True)
class Group:
    """A column of the leaderboard: its heading, and whether the model was designed on it."""

    title: str
    design: bool
    views: bool = False


GROUPS = {
    "suite-design": Group("suite: fcps, graves, other", True),
    "suite-validation": Group("suite: sipu, uci, wut", False),
    "shapes": Group("shapes", True),
    "tables": Group("tables: the paper's and scikit-learn's", True),
    "views": Group("several views", True, views=True),
}


@dataclass(frozen=True)
class Problem:
    """Samples with known classes; a class of −1 is noise and is left out of the score."""

    group: str
    name: str
    load: Callable[[], tuple[Any, np.ndarray]]


def problems(group: str) -> list[Problem]:
    """All problems of a group that are here; none where their folder is not."""
    try:
        return list(_FIND[group]())
    except Absent:
        return []


def _suite(half: str) -> Iterator[Problem]:
    for name in suite.names():
        if name.split("/")[0] in suite.HALVES[half]:
            yield Problem(f"suite-{half}", name, partial(_load_suite, name))


def _load_suite(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, references = suite.load(name)
    return X, references[0] - 1


def _folder(variable: str, name: str) -> Path:
    path = Path(os.environ.get(variable) or _HERE.parent / "shared" / name)
    if not path.is_dir():
        raise Absent(f"no folder of {name}; set {variable}")
    return path


def _shapes() -> Iterator[Problem]:
    for path in sorted(_folder("UNISPECTRAL_SHAPES", "shapes").glob("*.arff")):
        yield Problem("shapes", path.stem, partial(_load_arff, path))


def _load_arff(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes; rows with a question mark are left out."""
    names, rows = [], []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        words = line.split(None, 2)
        if words and words[0].lower() == "@attribute":
            names.append(words[1].strip("'\"").lower())
        elif line.strip() and line.lstrip()[0] not in "@%":
            rows.append([cell.strip() for cell in line.split(",")])
    at = names.index("class") if "class" in names else len(names) - 1
    kept = [row for row in rows if "?" not in row and len(row) == len(names)]
    numeric = [j for j in range(len(names)) if j != at and _is_number(kept[0][j])]
    X = np.array([[float(row[j]) for j in numeric] for row in kept])
    classes = np.array([row[at] for row in kept])
    y = np.unique(classes, return_inverse=True)[1]
    y = np.where(np.char.lower(classes) == "noise", -1, y)
    if path.stem in _MEASURED:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, y


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _tables() -> Iterator[Problem]:
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield Problem("tables", name, partial(_load_bundled, name))
    for name in list_datasets():
        row = dataset_info(name)
        if not row.views and row.shape[0] < 2_000:
            yield Problem("tables", name, partial(_load_fetched, name))


def _load_bundled(name: str) -> tuple[np.ndarray, np.ndarray]:
    found = getattr(sklearn.datasets, f"load_{name}")()
    X = found.data
    if name in ("wine", "breast_cancer"):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, found.target


def _load_fetched(name: str) -> tuple[Any, np.ndarray]:
    try:
        found = fetch(name)
    except OSError as error:
        raise Absent(str(error)) from error
    return found.data, found.target


def _views() -> Iterator[Problem]:
    for path in sorted(_folder("UNISPECTRAL_VIEWS", "views").glob("*.mat")):
        yield Problem("views", path.stem, partial(_load_views, path))


def _load_views(path: Path) -> tuple[dict[str, np.ndarray], np.ndarray]:
    tables, y = read_views(path)
    return {f"view {number}": table for number, table in enumerate(tables, 1)}, y


_FIND: dict[str, Callable[[], Iterator[Problem]]] = {
    "suite-design": partial(_suite, "design"),
    "suite-validation": partial(_suite, "validation"),
    "shapes": _shapes,
    "tables": _tables,
    "views": _views,
}
