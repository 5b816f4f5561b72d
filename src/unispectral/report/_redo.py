"""How to do the same again: the command, the lines of Python, the versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from unispectral._version import __version__

__all__ = ["redo"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def redo(
    estimator: Any,
    command: str | None,
    reading: Sequence[dict[str, Any]] | None,
) -> dict[str, Any]:
    """Return what the last section of the page shows."""
    return {
        "command": command,
        "python": _python(estimator, reading),
        "versions": [
            ["unispectral", __version__],
            ["Python", platform.python_version()],
            *([name, version(name)] for name in _PACKAGES),
        ],
        "parameters": _parameters(estimator),
    }


def _parameters(estimator: Any) -> list[list[str]]:
    if not hasattr(estimator, "get_params"):
        return []
    return [[name, repr(value)] for name, value in sorted(estimator.get_params(False).items())]


def _python(estimator: Any, reading: Sequence[dict[str, Any]] | None) -> str | None:
    """Lines that read the tables and build the estimator anew."""
    if not hasattr(estimator, "get_params"):
        return None
    cls = type(estimator)
    home = cls.__module__
    if home.startswith("unispectral.baselines"):
        home = "unispectral.baselines"
    elif home.startswith("unispectral."):
        home = "unispectral"
    elif home.startswith("sklearn."):
        home = ".".join(home.split(".")[:2])
    defaults = cls().get_params(False)
    given = {
        name: value
        for name, value in estimator.get_params(False).items()
        if name not in defaults or repr(value) != repr(defaults[name])
    }
    listed = ", ".join(f"{name}={value!r}" for name, value in given.items())
    lines = [f"from {home} import {cls.__name__}"]
    if reading:
        lines += ["from unispectral.tables import read_table", "", *_reading(reading)]
    return "\n".join(
        [*lines, f"model = {cls.__name__}({listed})", "labels = model.fit_predict(X)"]
    )


def _reading(reading: Sequence[dict[str, Any]]) -> list[str]:
    def call(part: dict[str, Any]) -> str:
        options = "".join(f", {name}={value!r}" for name, value in part["options"].items())
        return f"read_table({part['source']!r}{options}).values"

    if len(reading) == 1:
        return [f"X = {call(reading[0])}"]
    return ["X = {", *(f"    {part['view']!r}: {call(part)}," for part in reading), "}"]
