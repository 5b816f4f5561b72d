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
    estimator: Any, command: str | None, reading: Sequence[dict[str, Any]] | None
) -> dict[str, Any]:
    """Return what the last section of the page shows."""
    known = hasattr(estimator, "get_params")
    given = estimator.get_params(False) if known else {}
    return {
        "command": command,
        "python": _python(type(estimator), given, reading or ()) if known else None,
        "versions": [
            ["unispectral", __version__],
            ["Python", platform.python_version()],
            *([name, version(name)] for name in _PACKAGES),
        ],
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


def _reading(reading: Sequence[dict[str, Any]]) -> list[str]:
    def call(part: dict[str, Any]) -> str:
        options = "".join(f", {name}={value!r}" for name, value in part["options"].items())
        return f"read_table({part['source']!r}{options}).values"

    if len(reading) == 1:
        return [f"X = {call(reading[0])}"]
    return ["X = {", *(f"    {part['view']!r}: {call(part)}," for part in reading), "}"]
