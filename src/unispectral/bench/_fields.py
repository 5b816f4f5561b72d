"""Dataclasses that check their fields, whether they are made in Python or read from a file."""

from __future__ import annotations

import contextlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from types import UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from unispectral._errors import InputError, InputTypeError

_NAME = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,80}")


def check_choice(value: object, choices: Iterable[str], argument: str) -> None:
    if value not in (choices := tuple(choices)):
        listed = ", ".join(map(repr, choices))
        raise InputError(argument, "is unknown", f"use one of {listed}", value=value)


def check_count(value: object, argument: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(argument, "must be a whole number of at least 1", value=value)


def parse_size(value: object, argument: str = "memory_limit") -> float | None:
    """Turn ``"6GB"`` or a number of bytes into bytes."""
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number:
        text = f"{value:f}B"
    else:
        text = str(value)
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?)B\s*", text, re.I | re.A)
    if match:
        size = float(match[1]) * 1024.0 ** "BKMGT".index(match[2].upper() or "B")
    else:
        size = 0.0
    if size <= 0:
        raise InputError(argument, "is not a size", "write it like '6GB' or '500MB'", value=value)
    return size


class Checked:
    """Base of frozen dataclasses whose fields are held against their types when one is made.

    A list is made a tuple, one text stands for several, a table or a name for an entry, and the
    name for a title.
    """

    _kind: ClassVar[str]
    _choices: ClassVar[Mapping[str, Iterable[str]]] = {}

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        name = getattr(self, "name", None)
        for entry in fields(self):  # type: ignore[arg-type]
            key = entry.name
            value = getattr(self, entry.name)
            where = f"{self._label(name)}: {key}"
            try:
                size = key == "memory_limit"
                if size:
                    value = parse_size(value, where)
                else:
                    value = _convert(value, hints[key])
            except _Unfit:
                remedy = f"it must be {entry.type}"
                raise InputTypeError(where, "is of the wrong kind", remedy, value=value) from None
            if key == "title":
                value = value or name or ""
            object.__setattr__(self, key, value)
            self._check(key, value, where)

    def _check(self, key: str, value: Any, where: str) -> None:
        """What the type of a field does not say."""
        if key in ("name", "estimator") and not _NAME.fullmatch(value):
            problem = "must be a text of 1 to 80 characters without control characters"
            raise InputError(where, problem, value=value)
        if key == "time_limit" and value is not None and not value > 0:
            raise InputError(where, "must be above 0 seconds", value=value)
        if key != "seed" and isinstance(value, int) and not isinstance(value, bool):
            check_count(value, where)
        if isinstance(value, Mapping):
            try:
                json.dumps(dict(value), allow_nan=False, ensure_ascii=False).encode()
            except (TypeError, ValueError, RecursionError):
                problem = "must be made of texts, finite numbers, booleans, lists and tables"
                remedy = "otherwise a cell could not be stored and done again"
                raise InputTypeError(where, problem, remedy, value=value) from None
        if key in self._choices:
            for one in (value,) if isinstance(value, str) else value:
                check_choice(one, self._choices[key], where)

    @classmethod
    def _label(cls, name: object) -> str:
        if isinstance(name, str):
            return f"the {cls._kind} {name!r}"
        return f"a {cls._kind}"

    @classmethod
    def from_table(cls, table: object) -> Self:
        """From a table of a file, or from what ``dataclasses.asdict`` made of one."""
        if isinstance(table, cls):
            return table
        if isinstance(table, str):
            table = {"name": table}
        if not isinstance(table, dict):
            raise InputTypeError(f"a {cls._kind}", f"must be a table, not {type(table).__name__}")
        known = {entry.name: entry for entry in fields(cls)}  # type: ignore[arg-type]
        table = {key: value for key, value in table.items() if value is not None}  # not given
        label = cls._label(table.get("name"))
        for key in table:
            if key not in known:
                remedy = f"it may have {', '.join(sorted(known))}"
                raise InputError(label, f"has the unknown key {key!r}", remedy)
        for key, entry in known.items():
            if key not in table and {entry.default, entry.default_factory} == {MISSING}:
                raise InputError(label, f"lacks the key {key!r}")
        return cls(**table)


_hints: Callable[[type], dict[str, Any]] = lru_cache(get_type_hints)


class _Unfit(Exception):
    """A value that does not suit its field."""


def _convert(value: object, hint: Any) -> Any:
    """A value as a field keeps it."""
    kind = get_origin(hint)
    inner = get_args(hint)
    if kind is UnionType:
        for one in inner:
            with contextlib.suppress(_Unfit):
                return _convert(value, one)
    elif kind is tuple:
        if isinstance(values := (value,) if isinstance(value, str) else value, (list, tuple)):
            return tuple(_convert(entry, inner[0]) for entry in values)
    elif kind is Mapping:
        if isinstance(value, Mapping):
            return {key: _convert(entry, inner[1]) for key, entry in value.items()}
    elif kind is Sequence:
        if isinstance(value, (list, tuple)):
            return value
    elif inspect.isclass(hint) and issubclass(hint, Checked):
        return hint.from_table(value)
    elif hint in (int, float):
        if isinstance(value, (int, hint)) and not isinstance(value, bool):
            return value
    elif hint is Any or isinstance(value, hint):
        return value
    raise _Unfit
