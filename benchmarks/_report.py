"""Tables for Markdown, made from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


def number(value: float | dict[str, float] | None, digits: int = 3) -> str:
    """A number to a few significant digits; a spread as ``median [low–high]``.

    Examples
    --------
    >>> number(1234.56), number({"median": 0.01234, "low": 0.01, "high": 0.02}), number(None)
    ('1235', '0.0123 [0.01–0.02]', '')
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        return (
            f"{number(value['median'], digits)} "
            f"[{number(value['low'], digits)}–{number(value['high'], digits)}]"
        )
    if value and (abs(value) < 1e-3 or abs(value) >= 1e7):
        return f"{value:.{max(digits - 1, 0)}e}"
    return f"{value:.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table whose cells are escaped.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [[1, "x"]]))
    | a | b |
    |---|---|
    | 1 | x |
    """
    lines = [header, ["---"] * len(header), *rows]
    cells = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    text = [("|" + "|".join(line) + "|") if line[0] == "---" else _row(line) for line in cells]
    return "\n".join(text)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


class Target(NamedTuple):
    """What was aimed at, what was reached, and whether that is enough."""

    what: str
    target: str
    reached: str
    met: bool


def target_table(targets: Sequence[Target]) -> str:
    """The targets as a table; those that were missed stand out."""
    rows = [[*one[:3], "yes" if one.met else "**no**"] for one in targets]
    return markdown_table(["what", "target", "reached", "met"], rows)
