"""CSV, TSV and their kin: encoding, separator and header are found, and said."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from unispectral._compat import optional
from unispectral.tables._source import Source, TableError, block_rows, plural, unique_names

__all__ = ["looks_like_text", "text_blocks"]

_CHUNK = 1 << 16  # characters
_LINES = 50
_SEPARATORS = (",", ";", "\t", "|")
_SPACES = r"\s+"
_BOMS = {codecs.BOM_UTF8: "utf-8-sig"}
_BOMS |= dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16")
_NO_TABLE = "cannot be read as a text table"


def looks_like_text(head: bytes) -> bool:
    """Tell text from binary by its first bytes."""
    return head.startswith(tuple(_BOMS)) or b"\x00" not in head


def text_blocks(
    source: Source,
    beside: Sequence[str | None] = (None, None),
    *,
    entries: int | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> Iterator[tuple[Any, list[str]]]:
    """Blocks of rows with about so many values, or all rows, each with the notes.

    The index of a frame holds row names if the file has them. These, and the columns `beside` with
    names and known classes, are kept as they are written.
    """
    if entries is None:
        source.check_memory(2 * source.size)
    notes: list[str] = []
    encoding = encoding or _find_encoding(source, notes)
    lines = _sample_lines(source, encoding)
    separator = separator or _find_separator(lines)
    try:
        rows = [row for row in _split(lines, separator) if row]
    except csv.Error as error:
        raise source.error(f"{_NO_TABLE}: {error}") from error
    if not rows:
        raise source.error("is empty")
    if header is None:
        header = _is_header(rows[0], notes)
    names, rest = (list(rows[0]), rows[1:]) if header else ([""] * len(rows[0]), rows)
    if not rest:
        raise source.error("has a header but no rows")
    if header and all(len(row) == len(names) + 1 for row in rest):
        names = ["", *names]  # as R writes row names: without a name above them
    for number, row in enumerate(rest, start=1):
        if len(row) != len(names):
            raise _uneven(source, f"row {number}", len(row), len(names))
    row_names = header and len(names) > 1 and not names[0].strip()
    comma = separator == ";" and _has_decimal_comma(rest)
    if comma:
        notes.append("Numbers are written with a decimal comma.")
    unique, changed = unique_names(names)
    if row_names:
        changed.append("The first column has no name; it is taken as the rows' names.")
    notes += changed
    as_written = _converters(unique, row_names, beside, missing)
    dialect: Any = {"sep": separator, "encoding": encoding, "header": 0 if header else None}
    many = None if entries is None else block_rows(entries, len(names))
    checked = separator == _SPACES
    reading = {"decimal": "," if comma else ".", "converters": as_written}
    for frame in _parse(source, unique, missing, many, **reading, **dialect):
        last = frame.iloc[:, -1]
        if not checked and (last.isna() | last.eq("")).any():
            _check_lengths(source, len(names), **dialect)  # pandas fills up rows too short
            checked = True
        for name in as_written:
            frame[name] = _whole_numbers(frame[name])
        yield frame.set_index(frame.columns[0]) if row_names else frame, notes


def _find_encoding(source: Source, notes: list[str]) -> str:
    head = source.head(4)
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    try:
        with io.TextIOWrapper(source.open(), "utf-8") as text:
            while chunk := text.read(_CHUNK):
                if "\0" in chunk:
                    raise source.error("is not text", "name its format")
    except UnicodeDecodeError:
        told = "The text is not UTF-8; it is read as Latin-1, so check names with accents"
        notes.append(f"{told} or give the encoding.")
        return "latin-1"
    return "utf-8"


def _sample_lines(source: Source, encoding: str) -> list[str]:
    try:
        with io.TextIOWrapper(source.open(), encoding) as text:
            return list(islice(text, _LINES))
    except (UnicodeError, LookupError) as error:
        problem = f"is not the encoding of {source.lower}, or not known"
        raise TableError("encoding", problem, value=encoding) from error


def _split(lines: list[str], separator: str) -> list[list[str]]:
    if separator == _SPACES:
        return [line.split() for line in lines]
    rows = list(csv.reader(lines, delimiter=separator))
    if len(lines) == _LINES and len(rows) > 1:
        rows.pop()  # a quoted field may go on behind the sample
    return rows


def _find_separator(lines: list[str]) -> str:
    """Take the separator that cuts most lines into the same number of parts, two or more."""
    best, most = ",", 0.0
    for separator in _SEPARATORS:
        try:
            widths = [len(row) for row in _split(lines, separator) if row]
        except csv.Error:  # the wrong separator leaves a long line in one piece
            continue
        common = max(set(widths), key=widths.count, default=0)
        if common > 1 and widths.count(common) / len(widths) > most:
            best, most = separator, widths.count(common) / len(widths)
    rows = [row for row in _split(lines, _SPACES) if row]
    if most or len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return best
    numeric = all(_is_number(cell) for row in rows[1:] or rows for cell in row)
    return _SPACES if numeric else best


def _is_header(first: list[str], notes: list[str]) -> bool:
    if not all(_is_number(cell) for cell in first):
        return True
    if len(first) > 1 and first == [str(i) for i in range(len(first))]:  # as pandas writes
        notes.append("The first line counts the columns, so it is taken as their names.")
        return True
    notes.append("The first line holds numbers, so there is no header.")
    return False


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ".", 1))
    except ValueError:
        return False
    return cell.strip().lower() not in ("nan", "inf", "-inf", "infinity")


def _has_decimal_comma(rows: list[list[str]]) -> bool:
    cells = [cell.strip() for row in rows for cell in row]
    comma = sum(bool(re.fullmatch(r"[+-]?\d+,\d+", cell)) for cell in cells)
    point = sum(bool(re.fullmatch(r"[+-]?\d+\.\d+", cell)) for cell in cells)
    return comma > point


def _converters(
    names: list[str], row_names: bool, beside: Sequence[str | None], missing: Sequence[str]
) -> dict[str, Callable[[str], str | None]]:
    """For columns that hold names of rows, or classes: a class named NA is not missing."""
    id, truth = beside
    absent = {"", *missing}
    found: dict[str | None, Any] = {truth: lambda cell: None if cell.strip() in absent else cell}
    found |= {id: str, names[0] if row_names else id: str}
    return {name: found[name] for name in names if name in found}


def _whole_numbers(column: Any) -> Any:
    """Names as integers if that is how they are written."""
    try:
        numbers = column.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        return column
    return numbers if (numbers.astype(str) == column).all() else column


def _uneven(source: Source, where: str, found: int, width: int) -> TableError:
    problem = f"is uneven: {where} has {plural(found, 'value')}, but there are {width} columns"
    return source.error(problem, "check separators and quotes there")


def _parse(
    source: Source, names: list[str], missing: Sequence[str], rows: int | None, **dialect: Any
) -> Iterator[Any]:
    """Frames of so many rows, or one of all."""
    pandas = optional("pandas", extra="io")
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):  # later ones always do
        dialect["float_precision"] = "round_trip"
    dialect |= {"names": names, "index_col": False, "na_values": list(missing)}
    reader = None
    with source.open() as file:
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pandas.errors.ParserWarning)
                try:
                    if reader is None:
                        reader = pandas.read_csv(file, low_memory=False, iterator=True, **dialect)
                    frame = reader.read(rows)
                except StopIteration:
                    return
                except (ValueError, pandas.errors.ParserWarning) as error:
                    raise _unparsed(source, error, len(names)) from error
            yield frame


def _unparsed(source: Source, error: Exception, width: int) -> TableError:
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
    if found:
        return _uneven(source, f"line {found[1]}", int(found[2]), width)
    unclosed = "EOF inside string" in str(error)
    return source.error("has a quote that is never closed" if unclosed else _NO_TABLE)


def _check_lengths(source: Source, width: int, *, sep: str, encoding: str, header: Any) -> None:
    with source.open() as file:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        reader = csv.reader(text, delimiter=sep)
        rows = (row for row in reader if row)
        try:
            if header is not None:
                next(rows)
            for row in rows:
                if len(row) != width:
                    raise _uneven(source, f"line {reader.line_num}", len(row), width)
        except csv.Error:
            return  # the parser took it; only its lengths remain unknown
