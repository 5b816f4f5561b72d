"""Plans from a file, which nobody has to trust: whether `decide` could have made them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

_ROLES = ("use", "leave out", "supplementary", "id")
_ORDERS = ("iso", "dmy", "mdy", "words", "ymd", "ym", "clock")
_KEYS = {
    "left out": {"why"},
    "number": {"decimal", "unit", "log", "least", "ranks"},
    "yes/no": {"decimal"},
    "ordinal": {"levels"},
    "category": {"categories"},
    "date": {"order"},
    "place": {"longitude"},
}
_COMMON = {"name", "kind", "what", "role", "missing", "fill"}


def are_plans(value: object) -> bool:
    """Whether what a file holds could have been made by `decide`."""
    if not isinstance(value, list) or not all(isinstance(plan, dict) for plan in value):
        return False
    names = [plan.get("name") for plan in value]
    unique = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return unique and all(map(_is_plan, value))


def _is_plan(plan: dict[str, Any]) -> bool:
    kind = plan.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS or set(plan) - _COMMON - _KEYS[kind]:
        return False
    if plan.get("role", "use") not in _ROLES or not isinstance(plan.get("what", ""), str):
        return False
    if kind == "left out":
        return isinstance(plan.get("why"), str)
    if "fill" not in plan or plan.get("decimal", ".") not in (".", ","):
        return False
    return _PARTS[kind](plan)


def _is_number(value: Any) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known and math.isfinite(value)


def _is_filled(plan: dict[str, Any]) -> bool:
    return plan["fill"] is None or _is_number(plan["fill"])


def _is_category(plan: dict[str, Any]) -> bool:
    kinds = plan.get("categories")
    if not isinstance(kinds, list) or not all(isinstance(one, str) for one in kinds):
        return False
    return len(set(kinds)) == len(kinds) > 0 and (plan["fill"] is None or plan["fill"] in kinds)


def _is_ordinal(plan: dict[str, Any]) -> bool:
    levels: Any = plan.get("levels")
    known = isinstance(levels, dict) and len(levels) > 0
    return known and all(map(_is_number, levels.values())) and _is_filled(plan)


def _is_numeric(plan: dict[str, Any]) -> bool:
    if "decimal" not in plan or not isinstance(plan.get("unit", ""), str):
        return False
    if ("log" in plan) != ("least" in plan) or ("log" in plan and "ranks" in plan):
        return False
    if "log" in plan and not (_is_number(plan["log"]) and _is_number(plan["least"])):
        return False
    if "log" in plan and (plan["log"] < 0 or plan["least"] <= 0):
        return False
    ranks = plan.get("ranks", [0.0, 1.0])
    if not isinstance(ranks, list) or len(ranks) < 2 or not all(map(_is_number, ranks)):
        return False
    return all(a <= b for a, b in pairwise(ranks)) and _is_filled(plan)


def _is_place(plan: dict[str, Any]) -> bool:
    fill = plan["fill"]
    if not isinstance(plan.get("longitude"), str):
        return False
    whole = isinstance(fill, list) and len(fill) == 2 and all(map(_is_number, fill))
    return fill is None or whole


_PARTS: dict[str, Any] = {
    "number": _is_numeric,
    "yes/no": _is_filled,
    "ordinal": _is_ordinal,
    "category": _is_category,
    "date": lambda plan: plan.get("order", "iso") in _ORDERS and _is_filled(plan),
    "place": _is_place,
}
