"""Estimators that declare each parameter on one line: name, type, constraint and default.

A class states what it adds to its base, or changes in it, as fields and in its docstring. The
constructor, the table of constraints and the whole docstring are made from that.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar, dataclass_transform

from unispectral._compat import Interval

_SECTION = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
_INHERITED = ("Parameters", "Attributes")


def parameter(*constraints: Any, default: object, kw_only: bool = True) -> Any:
    """A parameter; one without constraints is checked where it is used."""
    if default is None:
        allowed = [*constraints, None]
    else:
        allowed = list(constraints)
    metadata = {"constraints": allowed if constraints else "no_validation"}
    return field(default=default, kw_only=kw_only, metadata=metadata)


def count(*others: Any, default: int | str, kw_only: bool = True) -> Any:
    """A whole number of at least one, or one of the others."""
    whole = Interval(Integral, 1, None, closed="left")
    return parameter(whole, *others, default=default, kw_only=kw_only)


def positive(*, default: float | None) -> Any:
    """A number above zero, or None where that is the default."""
    return parameter(Interval(Real, 0, None, closed="neither"), default=default)


def non_negative(*, default: float) -> Any:
    """A number of at least zero."""
    return parameter(Interval(Real, 0, None, closed="left"), default=default)


@dataclass_transform(
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(parameter, count, positive, non_negative),
)
class Declared:
    """Base of estimators whose parameters are fields.

    A docstring inherits the parameters and attributes that the base describes; one that describes
    a parameter which only some of its subclasses have describes it for these. Defaults are added.
    """

    _parameter_constraints: ClassVar[dict[str, Any]]
    _described: ClassVar[dict[str, dict[str, str]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(eq=False, repr=False)(cls)
        declared = fields(cls)  # type: ignore[arg-type]
        cls._parameter_constraints = {one.name: one.metadata["constraints"] for one in declared}
        head, *rest = _SECTION.split(inspect.cleandoc(cls.__doc__ or ""))
        sections = dict(zip(rest[::2], rest[1::2], strict=True))
        cls._described = {title: _entries(sections.pop(title, "")) for title in _INHERITED}
        known, attributes = (_merge_sections(cls, title) for title in _INHERITED)
        parameters = [
            re.sub("$", f", default={one.default!r}", known[one.name], count=1, flags=re.MULTILINE)
            for one in declared
            if one.name in known  # Python without docstrings knows none
        ]
        made = zip(_INHERITED, (parameters, attributes.values()), strict=True)
        sections = {title: "\n".join(entries) for title, entries in made} | sections
        titled = [f"{t}\n{'-' * len(t)}\n{body}" for t, body in sections.items() if body]
        cls.__doc__ = "\n\n".join(part.strip() for part in (head, *titled))


def _merge_sections(cls: type, title: str) -> dict[str, str]:
    """What a class and its bases say in a section; the class has the last word."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("_described", {}).get(title, {})
    return found


def _entries(section: str) -> dict[str, str]:
    """The entries of a section of a numpydoc docstring, by name."""
    if section:
        blocks = re.split(r"\n(?=\S)", section.strip())
    else:
        blocks = []
    return {block.partition(" :")[0]: block.rstrip() for block in blocks}
