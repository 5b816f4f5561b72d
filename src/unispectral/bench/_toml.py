"""Reading studies, from TOML or from a store."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from unispectral._errors import InputError, InputTypeError
from unispectral.bench.study import Study, StudyDataset

__all__ = ["parse_size", "read_study", "study_from_tables"]

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
        study = study_from_tables(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"The study {str(source)!r} is not valid TOML: {error}.") from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"In the study {str(source)!r}: {error}") from None
    if folder is None:
        return study
    datasets = tuple(_from_folder(dataset, folder) for dataset in study.datasets)
    return dataclasses.replace(study, datasets=datasets)


def _from_folder(dataset: StudyDataset, folder: Path) -> StudyDataset:
    """Paths are meant from the folder of the study file, wherever the command is run."""
    changes: dict[str, Any] = {}
    if dataset.file is not None:
        changes["file"] = str(folder / dataset.file)
    if dataset.truth is not None and (folder / dataset.truth).is_file():
        changes["truth"] = str(folder / dataset.truth)
    return dataclasses.replace(dataset, **changes)


def study_from_tables(tables: dict[str, Any]) -> Study:
    """A study from the tables of a TOML file, or from what ``dataclasses.asdict`` made of one."""
    names = {"dataset": "datasets", "method": "methods", "surface": "surfaces"}
    return _fill(Study, {names.get(key, key): value for key, value in tables.items()}, "the study")


def _fill(cls: type, table: Any, what: str) -> Any:
    """Build a dataclass, and those within it, from a table; what does not fit is a sentence."""
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
        if not optional and key not in table:
            raise InputError(what, f"lacks the key {key!r}")
    hints = get_type_hints(cls)
    return cls(**{key: _value(value, hints[key], key, what) for key, value in table.items()})


def _value(value: Any, hint: Any, key: str, what: str) -> Any:
    if key == "memory_limit":
        return parse_size(value)
    inner = get_args(hint)[0] if get_origin(hint) is tuple else None
    if dataclasses.is_dataclass(inner) and isinstance(value, (list, tuple)):
        return [_fill(inner, entry, f"an entry of {key}") for entry in value]  # type: ignore[arg-type]
    if not _fits(value, hint):
        raise InputTypeError(f"In {what}, {key}", "is of the wrong kind", value=value)
    return value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of a file suits a field; one text may stand for several."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return any(_fits(value, one) for one in inner)
    if kind is tuple and isinstance(value, str):
        return inner[0] is str
    if kind in (tuple, Sequence):
        return isinstance(value, (list, tuple)) and all(_fits(entry, inner[0]) for entry in value)
    if kind is Mapping:
        return isinstance(value, dict) and all(_fits(entry, inner[1]) for entry in value.values())
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return hint is Any or isinstance(value, hint)
