"""Reading and writing studies: TOML for people, JSON for the store."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from unispectral._errors import InputError, InputTypeError
from unispectral.bench.method import Column, Reduction, StudyMethod
from unispectral.bench.study import Study, StudyDataset, Surface

__all__ = ["parse_size", "read_study", "study_from_json", "study_to_json"]

_SIZES = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def parse_size(value: Any, argument: str = "memory_limit") -> float | None:
    """Turn ``"6GB"`` or a number of bytes into bytes.

    Examples
    --------
    >>> parse_size("1.5GB") / 2**30
    1.5
    """
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return float(value)
    number = r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?B)\s*"
    match = re.fullmatch(number, str(value), flags=re.IGNORECASE | re.ASCII)
    size = float(match[1]) * _SIZES[match[2].upper()] if match else 0.0
    if size <= 0:
        raise InputError(argument, "is not a size", "write it like '6GB' or '500MB'", value=value)
    return size


def read_study(source: str | Path) -> Study:
    """Read a study from a TOML file, or a built-in one by name."""
    path = Path(source)
    if isinstance(source, str) and source in Study.builtin():
        builtin = resources.files("unispectral.bench") / "studies" / f"{source}.toml"
        text, folder = builtin.read_text(encoding="utf-8"), None
    elif path.is_file():
        text, folder = path.read_text(encoding="utf-8"), path.resolve().parent
    else:
        problem = "is neither a file nor a built-in study"
        remedy = f"those are {', '.join(Study.builtin())}"
        raise InputError("study", problem, remedy, value=str(source))
    try:
        return _study(tomllib.loads(text), folder)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"The study {str(source)!r} is not valid TOML: {error}.") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"In the study {str(source)!r}: {error}") from None


def _fill(cls: type, table: Any, what: str, **made: Any) -> Any:
    """Build a dataclass from a table; an unknown or missing key is a sentence."""
    if not isinstance(table, dict):
        raise InputTypeError(what, f"must be a table, not {type(table).__name__}")
    fields = {entry.name: entry for entry in dataclasses.fields(cls)}
    table = {key: value for key, value in table.items() if value is not None}  # not given
    for key in table:
        if key not in fields:
            remedy = f"it may have {', '.join(sorted(fields))}"
            raise InputError(what, f"has the unknown key {key!r}", remedy)
    for key, entry in fields.items():
        optional = {entry.default, entry.default_factory} != {dataclasses.MISSING}
        if not optional and key not in table and key not in made:
            raise InputError(what, f"lacks the key {key!r}")
    values = {**table, **made}
    if "memory_limit" in values:
        values["memory_limit"] = parse_size(values["memory_limit"])
    try:
        return cls(**values)
    except AttributeError as error:
        raise InputTypeError(what, f"has a value of the wrong kind: {error}") from None


def _study(tables: dict[str, Any], folder: Path | None) -> Study:
    tables = dict(tables)
    return _fill(
        Study,
        tables,
        "The study",
        datasets=[_dataset(entry, folder) for entry in tables.pop("dataset", [])],
        methods=[_method(entry) for entry in tables.pop("method", [])],
        surfaces=tuple(_fill(Surface, s, "[[surface]]") for s in tables.pop("surface", [])),
    )


def _dataset(table: Any, folder: Path | None) -> StudyDataset:
    dataset = _fill(
        StudyDataset, {"name": table} if isinstance(table, str) else table, "[[dataset]]"
    )
    if folder is None:
        return dataset
    # Paths are meant from the folder of the study file, wherever the command is run.
    changes: dict[str, Any] = {"kernels": tuple(str(folder / k) for k in dataset.kernels)}
    if dataset.file is not None:
        changes["file"] = str(folder / dataset.file)
    if dataset.truth is not None and (folder / dataset.truth).is_file():
        changes["truth"] = str(folder / dataset.truth)
    return dataclasses.replace(dataset, **changes)


def _method(table: Any) -> StudyMethod:
    table = dict(table) if isinstance(table, dict) else table
    parts: dict[str, Any] = {}
    for key, cls in (("columns", Column), ("reduced", Reduction)):
        listed = table.pop(key, []) if isinstance(table, dict) else []
        parts[key] = tuple(_fill(cls, entry, f"[[method.{key}]]") for entry in listed)
    return _fill(StudyMethod, table, "[[method]]", **parts)


def study_to_json(study: Study) -> str:
    """The study as the store keeps it; the order of a grid is that of its cells."""
    return json.dumps(dataclasses.asdict(study), allow_nan=False)


def study_from_json(text: str) -> Study:
    """Undo :func:`study_to_json`."""
    tables = json.loads(text)
    for key in ("dataset", "method", "surface"):
        tables[key] = tables.pop(f"{key}s")
    return _study(tables, None)
