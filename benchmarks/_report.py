"""Tables for Markdown, made from stored results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unispectral._files import atomic_path

__all__ = ["markdown_table", "number", "write_text"]


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


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
