"""What the cells of a sheet show: numbers, a line of names above them, the decimal sign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise

#: Words for a missing value, in small letters.
ABSENT = {"", "-", "–", "—", "?", ".", "na", "n/a", "nan", "nat", "null", "<na>"}
#: What spreadsheets show in the place of a value, in English and German.
ABSENT |= {"#n/a", "#nv", "#div/0!", "#ref!", "#bezug!", "#value!", "#wert!", "#name?"}
ABSENT |= {"#num!", "#zahl!", "#null!"}
#: Cells to decide by.
ENOUGH = 10_000
#: Points that mark thousands, if the decimal sign is the comma.
THOUSANDS = r"\s*[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?\s*"


def _number(sign: str, group: str) -> str:
    return rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)?{sign}\d+(?:[eE][+-]?\d+)?"


_DECIMAL = {",": _number(",", r"\."), ".": _number(r"\.", ",")}
_WHOLE = r"\d+[.,]?(?:[eE][+-]?\d+)?|[1-9]\d{0,2}(?:(?:\.\d{3})+|(?:,\d{3})+)"
_NUMBER = re.compile(rf"\s*[+-]?(?:{'|'.join(_DECIMAL.values())}|{_WHOLE})\s*")
_SIGNS = {sign: re.compile(rf"\s*[+-]?{number}\s*") for sign, number in _DECIMAL.items()}
_EITHER = re.compile(r"\s*[+-]?[1-9]\d{0,2}[.,]\d{3}\s*")  # thousands, or decimals
_YEARS = range(1800, 2101)
#: So many numbers with three digits behind a point are no accident.
_SEVERAL = 3


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a decimal point or comma.

    >>> [is_number(cell) for cell in ("-1.5", "1.234,5", "2e3", "nan", "1,23,4", "")]
    [True, True, True, False, False, False]
    """
    return _NUMBER.fullmatch(cell) is not None


def decimal_sign(rows: Sequence[Sequence[str]], separator: str) -> str | None:
    """The decimal sign that more cells show; None if none does.

    A number such as 1,234 can be read in two ways. It shows nothing, unless no other number does
    and cells are separated by semicolons, as they are where the comma is the decimal sign. Points
    that stand before three digits only, beside whole numbers of fewer digits, mark thousands.

    >>> decimal_sign([["1.234", "0,5"], ["987", "2,5"]], ";")
    ','
    >>> decimal_sign([["1,234"]], ";"), decimal_sign([["1,234"]], "|")
    (',', None)
    >>> decimal_sign([["1.234"], ["987"], ["12.345"], ["3.210"]], ";")
    ','
    """
    signed = (cell for row in rows for cell in row if "," in cell or "." in cell)
    cells = list(islice(signed, ENOUGH))
    clear = [cell for cell in cells if not _EITHER.fullmatch(cell)]
    comma, point = (sum(map(bool, map(_SIGNS[sign].fullmatch, clear))) for sign in ",.")
    if comma or point:
        return "," if comma > point else "."
    unclear = any("," in cell for cell in cells if _EITHER.fullmatch(cell))
    if unclear and separator == ";":
        return ","
    grouped = separator != "," and any(map(_is_grouped, zip(*rows, strict=False)))
    return "," if grouped else None


def unclear_points(rows: Sequence[Sequence[str]]) -> str:
    """A number of a column in which each has a point before three digits; empty if there is none.

    >>> unclear_points([["12.345"], ["9.870"], ["10.100"]]), unclear_points([["1.5"]])
    ('12.345', '')
    """
    for column in zip(*rows, strict=False):
        filled = [cell.strip() for cell in column if cell.strip()]
        if len(filled) >= _SEVERAL and all(
            "." in cell and _EITHER.fullmatch(cell) for cell in filled
        ):
            return filled[0]
    return ""


def _is_grouped(column: Sequence[str]) -> bool:
    """Whether points in a column of whole numbers mark thousands.

    They stand before three digits each time, and numbers below a thousand have none; or one number
    has two of them.
    """
    filled = [cell.strip() for cell in column[:ENOUGH] if cell.strip()]
    pointed = [cell for cell in filled if "." in cell]
    if not pointed or not all(re.fullmatch(THOUSANDS, cell) for cell in pointed):
        return False
    if any(cell.count(".") > 1 for cell in pointed):
        return True
    below = [cell for cell in filled if re.fullmatch(r"[+-]?[1-9]\d{0,2}", cell)]
    plain = [cell for cell in filled if re.fullmatch(r"[+-]?\d{4,}", cell)]
    return len(pointed) >= _SEVERAL and bool(below) and not plain


def find_header(
    rows: Sequence[Sequence[str]], missing: Sequence[str] = ()
) -> tuple[bool, list[str]]:
    """Whether the first line holds names, and what to say if that is not plain.

    It does if it holds text above numbers, or no number above numbers. Else it does only if its
    numbers look like names and those of no other line do.
    """
    first, rest = rows[0], rows[1:]
    numbers = [is_number(cell) for cell in first]
    if all(numbers):
        if len(first) > 1 and list(first) == [str(i) for i in range(len(first))]:
            return True, ["The first line counts the columns, so it is taken as their names."]
        if len(first) > 1 and _are_years(first) and not any(map(_are_years, rest)):
            told = "The first line holds years, and no other does, so it is taken as names"
            return True, [f"{told}; if it is a row, say header=False (--no-header)."]
        return False, ["The first line holds numbers, so there is no header."]
    if not any(numbers) or any(len(row) != len(first) for row in rest):
        return True, []
    absent = ABSENT | {word.casefold() for word in missing}

    def above_numbers(column: int) -> bool:
        cells = [row[column] for row in rest if row[column].strip().casefold() not in absent]
        return bool(cells) and all(map(is_number, cells))

    text = (
        j for j, c in enumerate(first) if not numbers[j] and c.strip().casefold() not in absent
    )
    unnamed = not first[0].strip() and all(row[0].strip() for row in rest)
    if unnamed or any(map(above_numbers, text)):
        return True, []
    above = [j for j, number in enumerate(numbers) if number and above_numbers(j)]
    if not above:
        return True, []
    alike = [_like_names([row[j] for j in above]) for row in rows]
    if alike[0] and not any(alike[1:]):
        told = "The first line is taken as names, though it holds numbers above numbers"
        return True, [f"{told}; if it is a row, say header=False (--no-header)."]
    told = "The first line holds numbers above numbers, so it is taken as a row"
    return False, [f"{told}; if it holds names, say header=True (--header)."]


def _like_names(cells: Sequence[str]) -> bool:
    """Whether numbers are years, or count up in even steps, as those in the names of columns."""
    if _are_years(cells):
        return True
    if not all(re.fullmatch(r"\s*\d{1,9}\s*", cell) for cell in cells):
        return False
    numbers = list(map(int, cells))
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) > 2 and len(steps) == 1 and min(steps) > 0


def _are_years(cells: Sequence[str]) -> bool:
    """Whether cells are different years."""
    if not all(re.fullmatch(r"\s*\d{4}\s*", cell) for cell in cells):
        return False
    return len(set(cells)) == len(cells) and all(int(cell) in _YEARS for cell in cells)
