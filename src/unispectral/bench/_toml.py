"""Reading and writing studies: TOML for people, JSON for the store."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from unispectral.bench.method import Column, Method, Reduction
from unispectral.bench.study import Dataset, Study, Surface

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
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?B)\s*", str(value), flags=re.IGNORECASE)
    try:
        size = float(match[1]) * _SIZES[match[2].upper()] if match else 0.0
    except ValueError:
        size = 0.0
    if size <= 0:
        raise ValueError(f"{argument}={value!r} is not a size; write it like '6GB' or '500MB'.")
    return size


def read_study(source: str | Path) -> Study:
    """Read a study from a TOML file, or a built-in one by name."""
    path = Path(source)
    if isinstance(source, str) and source in Study.builtin():
        text = (resources.files("unispectral.bench") / "studies" / f"{source}.toml").read_text(
            encoding="utf-8"
        )
        folder = None
    elif path.is_file():
        text, folder = path.read_text(encoding="utf-8"), path.resolve().parent
    else:
        listed = ", ".join(Study.builtin())
        raise ValueError(
            f"study={str(source)!r} is neither a file nor a built-in study; those are {listed}."
        )
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"The study {str(source)!r} is not valid TOML: {error}.") from None
    try:
        return _study(tables, folder)
    except (TypeError, ValueError) as error:
        raise type(error)(f"In the study {str(source)!r}: {error}") from None


def _fill(cls: type, table: Any, what: str, **made: Any) -> Any:
    """Build a dataclass from a table; an unknown or missing key is a sentence."""
    if not isinstance(table, dict):
        raise TypeError(f"{what} must be a table, not {type(table).__name__}.")
    fields = {
        entry.name: entry
        for entry in dataclasses.fields(cls)
        if entry.name not in ("data", "target")
    }
    for key in table:
        if key not in fields:
            raise ValueError(f"{what} has the unknown key {key!r}; it may have {_list(fields)}.")
    for key, entry in fields.items():
        required = (
            entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING
        )
        if required and key not in table and key not in made:
            raise ValueError(f"{what} lacks the key {key!r}.")
    values = {**table, **made}
    for key in ("memory_limit",):
        if key in values:
            values[key] = parse_size(values[key])
    try:
        return cls(**values)
    except AttributeError as error:
        raise TypeError(f"{what} has a value of the wrong kind: {error}.") from None


def _list(names: Any) -> str:
    return ", ".join(sorted(names))


def _study(tables: dict[str, Any], folder: Path | None) -> Study:
    tables = dict(tables)
    datasets = [_dataset(entry, folder) for entry in tables.pop("dataset", [])]
    methods = [_method(entry) for entry in tables.pop("method", [])]
    surfaces = [_fill(Surface, entry, "[[surface]]") for entry in tables.pop("surface", [])]
    return _fill(
        Study, tables, "The study", datasets=datasets, methods=methods, surfaces=tuple(surfaces)
    )


def _dataset(table: Any, folder: Path | None) -> Dataset:
    if isinstance(table, str):
        return Dataset(table)
    dataset = _fill(Dataset, table, "[[dataset]]")
    if folder is None:
        return dataset
    # Paths are meant from the folder of the study file, wherever the command is run.
    changes: dict[str, Any] = {"kernels": tuple(str(folder / k) for k in dataset.kernels)}
    if dataset.file is not None:
        changes["file"] = str(folder / dataset.file)
    if dataset.truth is not None and (folder / dataset.truth).is_file():
        changes["truth"] = str(folder / dataset.truth)
    return dataclasses.replace(dataset, **changes)


def _method(table: Any) -> Method:
    if not isinstance(table, dict):
        raise TypeError(f"[[method]] must be a table, not {type(table).__name__}.")
    table = dict(table)
    columns = [_fill(Column, c, "[[method.columns]]") for c in table.pop("columns", [])]
    reduced = [_fill(Reduction, r, "[[method.reduced]]") for r in table.pop("reduced", [])]
    return _fill(Method, table, "[[method]]", columns=tuple(columns), reduced=tuple(reduced))


def study_to_json(study: Study) -> str:
    """The study as the store keeps it, without the arrays of in-memory data sets."""

    def plain(value: Any) -> Any:
        if dataclasses.is_dataclass(value):
            return {
                entry.name: plain(getattr(value, entry.name))
                for entry in dataclasses.fields(value)
                if entry.name not in ("data", "target")
            }
        if isinstance(value, (list, tuple)):
            return [plain(entry) for entry in value]
        if hasattr(value, "items"):
            return {key: plain(entry) for key, entry in value.items()}
        return value

    return json.dumps(plain(study), allow_nan=False)  # the order of a grid is that of its cells


def study_from_json(text: str) -> Study:
    """Undo :func:`study_to_json`."""
    tables = json.loads(text)
    datasets = [_fill(Dataset, entry, "dataset") for entry in tables.pop("datasets")]
    methods = [_method(entry) for entry in tables.pop("methods")]
    surfaces = [_fill(Surface, entry, "surface") for entry in tables.pop("surfaces")]
    return _fill(
        Study, tables, "study", datasets=datasets, methods=methods, surfaces=tuple(surfaces)
    )
