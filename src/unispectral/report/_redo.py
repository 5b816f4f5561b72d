"""How to do a clustering again: the command, the lines of Python, the versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from unispectral._version import __version__

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from unispectral._base import LearnedGraphClustering

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
#: What a fit was told by parameters of its estimator.
_PARAMETERS = ("min_cluster_size", "max_cluster_size")


def tell_how_to_redo(
    model: LearnedGraphClustering, command: str | None, reading: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The command, the lines of Python, the versions and all parameters of a clusterer.

    A Pipeline that ends in one is built with all its steps.
    """
    estimator = model
    if hasattr(model, "steps"):
        estimator = model.steps[-1][1]
    known = hasattr(estimator, "get_params")
    given = estimator.get_params(False) if known else {}
    versions = {"unispectral": __version__, "Python": platform.python_version()}
    return {
        "command": command,
        "python": _python(model, reading) if known else None,
        "versions": [*versions.items(), *((name, version(name)) for name in _PACKAGES)],
        "parameters": [[name, repr(value)] for name, value in sorted(given.items())],
    }


def _python(model: object, reading: Sequence[dict[str, Any]]) -> str:
    """Lines that read the tables and build the model anew."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    steps = [step for step in steps if hasattr(step, "get_params")]
    within = [part for step in steps for part in step.get_params().values()]
    classes = [type(part) for part in (*steps, *within) if hasattr(part, "get_params")]
    imported = [f"from {_home(cls)} import {cls.__name__}" for cls in dict.fromkeys(classes)]
    built = ", ".join(map(_construction, steps))
    if len(steps) > 1:
        imported.append("from sklearn.pipeline import make_pipeline")
        built = f"make_pipeline({built})"
    if reading:
        imported.append("from unispectral.tables import read_table")
        lines = [*imported, "", *_reading(reading)]
    else:
        lines = [*imported, "", "# X holds the samples of this fit, in their order."]
    told = dict(getattr(steps[-1], "knowledge_", None) or {})
    told = {name: value for name, value in told.items() if name not in _PARAMETERS}
    if told:
        from unispectral.knowledge._read import put_in_words

        lines.append(f"# {put_in_words(told)} Tell fit_predict the same.")
    return "\n".join([*lines, f"model = {built}", "labels = model.fit_predict(X)"])


def _home(cls: type) -> str:
    """The module where a class is documented."""
    home = cls.__module__
    if not home.startswith(("sklearn.", "unispectral.")):
        return home
    deep = home.startswith(("sklearn.", "unispectral.baselines", "unispectral.tables"))
    return ".".join(home.split(".")[: 2 if deep else 1])


def _construction(estimator: BaseEstimator) -> str:
    """The call that makes an estimator with the same parameters."""
    given = estimator.get_params(False)
    try:
        usual = {name: repr(value) for name, value in type(estimator)().get_params(False).items()}
    except TypeError:  # something must be given
        usual = {}
    changed = {name: repr(v) for name, v in given.items() if usual.get(name) != repr(v)}
    listed = ", ".join(f"{name}={value}" for name, value in changed.items())
    return f"{type(estimator).__name__}({listed})"


#: Lines that match the rows of several tables by their names.
_MATCHING = """import pandas as pd

# A row that a table lacks is NaN there.
names = {view: pd.Index(map(str, table.index)) for view, table in tables.items()}
everyone = list(dict.fromkeys(name for index in names.values() for name in index))
X = {}
for view, table in tables.items():
    rows = names[view].get_indexer(everyone)
    X[view] = table.values[rows]
    if (rows < 0).any():
        X[view][rows < 0] = float("nan")
"""


def _reading(reading: Sequence[dict[str, Any]]) -> list[str]:
    """Lines that read X; a part may say that rows are ``matched`` by their names."""
    matched = any(part.get("matched") for part in reading)
    calls = {}
    for part in reading:
        options = "".join(f", {name}={value!r}" for name, value in part["options"].items())
        call = f"read_table({part['source']!r}{options})"
        calls[part["view"]] = call if matched else f"{call}.values"
    if len(calls) == 1:
        return [f"X = {call}" for call in calls.values()]
    listed = [f"    {view!r}: {call}," for view, call in calls.items()]
    return [f"{'tables' if matched else 'X'} = {{", *listed, "}", *[_MATCHING][:matched]]
