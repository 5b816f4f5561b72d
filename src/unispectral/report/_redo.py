"""How to do a clustering again: the command, the lines of Python, the versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from unispectral._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def tell_how_to_redo(
    estimator: Any, command: str | None, reading: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The command, the lines of Python, the versions and all parameters."""
    known = hasattr(estimator, "get_params")
    given = estimator.get_params(False) if known else {}
    versions = {"unispectral": __version__, "Python": platform.python_version()}
    return {
        "command": command,
        "python": _python(type(estimator), given, reading) if known else None,
        "versions": [*versions.items(), *((name, version(name)) for name in _PACKAGES)],
        "parameters": [[name, repr(value)] for name, value in sorted(given.items())],
    }


def _python(cls: type, given: dict[str, Any], reading: Sequence[dict[str, Any]]) -> str:
    """Lines that read the tables and build the estimator anew."""
    home = cls.__module__
    if home.startswith(("sklearn.", "unispectral.")):  # where they are documented
        deep = home.startswith(("sklearn.", "unispectral.baselines"))
        home = ".".join(home.split(".")[: 2 if deep else 1])
    usual = {name: repr(value) for name, value in cls().get_params(False).items()}  # type: ignore[attr-defined]
    changed = {name: repr(v) for name, v in given.items() if usual.get(name) != repr(v)}
    listed = ", ".join(f"{name}={value}" for name, value in changed.items())
    lines = [f"from {home} import {cls.__name__}"]
    if reading:
        lines += ["from unispectral.tables import read_table", "", *_reading(reading)]
    lines += [f"model = {cls.__name__}({listed})", "labels = model.fit_predict(X)"]
    return "\n".join(lines)


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
