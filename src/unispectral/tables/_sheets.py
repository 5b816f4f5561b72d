"""Sheets as people keep them: a title above the names, names in two lines, remarks below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from unispectral._compat import optional
from unispectral.tables._cells import is_number

#: Lines in which the names are sought.
_TOP = 30
_YEAR = re.compile(r"(?:19|20)\d\d")


def find_names(cells: Any) -> tuple[int, list[Any]] | None:
    """How many lines of a sheet stand above the rows, and the names that they give.

    None where the first line is as good as any: it is full, or there are no numbers. Names are in
    the last line of text before the numbers. A line above it that is filled in part names groups
    of columns, as merged cells do, and goes in front of the names.
    """
    pandas = optional("pandas", extra="io")
    rows = [
        ["" if pandas.isna(cell) else str(cell).strip() for cell in row]
        for row in cells.iloc[:_TOP].itertuples(index=False)
    ]
    width = cells.shape[1]
    counts = [_count_cells(row) for row in rows]
    if not rows or counts[0] == width or width < 2:
        return None
    first = next((at for at, row in enumerate(rows) if _has_numbers(row, rows[at + 1 :])), None)
    if first is None or first < 2:
        return None
    names = rows[first - 1]
    if 2 * _count_cells(names) < width or any(map(is_number, _texts(names))):
        return None
    above = rows[first - 2]
    groups = 1 < _count_cells(above) < width or (
        _count_cells(above) == 1 and not above[0] and _twice(names)
    )
    joined = _join_groups(above, names) if groups else names
    return first, [name or None for name in joined]


def without_remarks(cells: Any) -> tuple[Any, int]:
    """The sheet without lines of one cell of text at its end, and how many they were."""
    if cells.shape[1] < 3:
        return cells, 0
    lost = 0
    while len(cells) - lost > 2:
        row = cells.iloc[len(cells) - lost - 1]
        there = row.dropna()
        if len(there) != 1 or is_number(str(there.iloc[0])):
            break
        lost += 1
    return (cells.iloc[: len(cells) - lost], lost) if lost else (cells, 0)


def _texts(row: Sequence[str]) -> list[str]:
    return [cell for cell in row if cell and not _YEAR.fullmatch(cell)]


def _count_cells(row: Sequence[str]) -> int:
    return sum(map(bool, row))


def _twice(names: Sequence[str]) -> bool:
    known = [name for name in names if name]
    return len(set(known)) < len(known)


def _has_numbers(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a line is one of rows: numbers where most lines below it have some."""
    here = {at for at, cell in enumerate(row) if cell and is_number(cell)}
    if not here or all(_YEAR.fullmatch(row[at]) for at in here):
        return False
    if not below:
        return True
    alike = sum(any(other[at] and is_number(other[at]) for at in here) for other in below)
    return 2 * alike >= len(below)


def _join_groups(groups: Sequence[str], names: Sequence[str]) -> list[str]:
    """Names with those of their groups, which reach to the next group, in front."""
    joined = []
    group = ""
    for head, name in zip(groups, names, strict=True):
        group = head or group
        joined.append(f"{group} {name}".strip() if name else group)
    return joined
