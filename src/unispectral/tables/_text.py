"""CSV, TSV and their kin: encoding, separator and header are found, and said."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._compat import optional
from unispectral._errors import plural
from unispectral.tables._cells import (
    ENOUGH,
    THOUSANDS,
    decimal_sign,
    find_header,
    is_number,
    unclear_points,
)
from unispectral.tables._source import (
    SAMPLE,
    SHOWN,
    Source,
    TableError,
    block_rows,
    unique_names,
)

if TYPE_CHECKING:
    import pandas as pd

_CHUNK = 1 << 16  # bytes or characters
#: Columns from which on the names are skipped and not parsed.
_WIDE = 2_000
_SEPARATORS = (",", ";", "\t", "|")
_SPACES = r"\s+"
_TABS = {"tab": "\t", r"\t": "\t"}  # as people type it
_BOMS = {codecs.BOM_UTF8: "utf-8-sig"}
_BOMS |= dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16")
#: Bytes that mean nothing in Windows-1252, which has the signs of Latin-1 and others, as the euro.
_NOT_IN_WINDOWS = b"\x81\x8d\x8f\x90\x9d"
#: Lines that a title may have.
_TITLE = 30
_NO_TABLE = "cannot be read as a text table"


def looks_like_text(head: bytes) -> bool:
    """Tell text from binary by its first bytes."""
    return head.startswith(tuple(_BOMS)) or b"\x00" not in head


def cut_lines(source: Source, header_row: int | None, skip_footer: int | None) -> Source:
    """The table without the lines above its names, and without some at its end."""
    if header_row in (None, 1) and not skip_footer:
        return source
    content = source.head(source.size)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16").encode()
    lines = content.splitlines(keepends=True)
    while skip_footer and lines and not lines[-1].strip():
        lines.pop()
    kept = lines[(header_row or 1) - 1 : len(lines) - (skip_footer or 0)]
    if lines and not kept:
        raise cut_too_much(source, len(lines), header_row)
    return replace(source, path=None, content=b"".join(kept))


def cut_too_much(source: Source, count: int, header_row: int | None) -> TableError:
    """The error of a header or footer that leaves nothing."""
    beyond = header_row is not None and header_row > count
    problem = f"leaves nothing of {source.lower}, which has {plural(count, 'line')}"
    if beyond:
        return TableError("header_row", problem, value=header_row)
    return TableError("skip_footer", problem)


def count_title_lines(source: Source, separator: str | None) -> int:
    """How many lines with a title, or with remarks, stand above the names.

    They have one cell, where names and rows have several, or begin with ``#``. The line of names
    has no number, and the next line has one; where that is not so, nothing is a title.
    """
    content = source.head(_CHUNK)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16", errors="ignore").encode()
    lines = [line.decode("latin-1") for line in content.splitlines()[:SAMPLE]]
    if not any(line.startswith("#") or _count_cells(line) < 2 for line in lines[:1]):
        return 0
    marks = [separator] if separator in _SEPARATORS else list(_SEPARATORS)
    for mark in marks:
        rows = [line.split(mark) for line in lines]
        widths = Counter(len(row) for row in rows)
        width = max(widths, key=lambda found: (found > 1, widths[found]))
        above = 0
        while above < len(rows) and _is_title(lines[above], rows[above], width):
            above += 1
        names, first = rows[above : above + 1], rows[above + 1 : above + 2]
        if not (0 < above <= _TITLE and names and first and len(names[0]) == width):
            continue
        if not any(map(is_number, names[0])) and any(map(is_number, first[0])):
            return above
    return 0


def _count_cells(line: str) -> int:
    """Cells with something in them, whichever separator is the right one."""
    return max(sum(bool(cell.strip()) for cell in line.split(mark)) for mark in _SEPARATORS)


def _is_title(line: str, row: list[str], width: int) -> bool:
    filled = sum(bool(cell.strip(' "')) for cell in row)
    return filled < 2 <= width or line.startswith("#")


def text_blocks(
    source: Source,
    beside: Sequence[str | None] = (None, None),
    *,
    entries: int | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    as_written: bool = False,
) -> Iterator[tuple[Any, list[str], str | None]]:
    """Blocks of rows with about so many values, or all rows, with the notes and the decimal sign.

    The index of a frame holds row names if the file has them. These, and the columns `beside` with
    names and known classes, are kept as they are written, and so is all with `as_written`.
    """
    if entries is None:
        source.check_memory(2 * source.size)
    notes: list[str] = []
    encoding = encoding or _find_encoding(source, notes)
    separator = _TABS.get(separator or "", separator) or _find_separator(source, encoding)
    if separator != _SPACES and (len(separator) > 1 or separator in '"\r\n'):
        problem = "must be one character, such as ';', or 'tab'"
        raise TableError("separator", problem, value=separator)
    try:
        rows = _records(source, encoding, separator)
    except csv.Error as error:
        if "field limit" in str(error):
            problem = f"has a cell of more than {csv.field_size_limit():,} characters"
            raise source.error(problem, "check the quotes, or shorten it") from error
        raise source.error(f"{_NO_TABLE}: {error}") from error
    if not rows:
        raise source.error("is empty")
    if header is None:
        header, told = find_header(rows, missing)
        notes += told
    names, rest = _names(rows, header), rows[int(header) :]
    if not rest:
        raise source.error("has a header but no rows")
    for number, row in enumerate(rest, start=1):
        if len(row) != len(names):
            raise _uneven(source, f"row {number}", len(row), len(names))
    row_names = header and len(names) > 1 and not names[0].strip()
    decimal = decimal_sign(rest, separator)
    if decimal is None and separator == ";" and (either := unclear_points(rest)):
        doubt = f"Numbers such as {either} are taken as decimals"
        notes.append(f"{doubt}; if points mark thousands, all are a thousand times as large.")
    comma = decimal == "," and separator != ","
    if comma:
        notes.append("Numbers are written with a decimal comma.")
    unique, changed = unique_names(names)
    if row_names:
        changed.append("The first column has no name; it is taken as the rows' names.")
    notes += changed
    kept = _converters(unique, row_names, beside, missing)
    dialect: Any = {"sep": separator, "encoding": encoding, "header": 0 if header else None}
    many = None if entries is None else block_rows(entries, len(names))
    if as_written:
        dialect |= {"dtype": str, "keep_default_na": False}
        for frame in _parse(source, unique, (), many, **dialect):
            yield frame, notes, decimal
        return
    checked = separator == _SPACES
    reading = {"decimal": "," if comma else ".", "converters": kept}
    for frame in _parse(source, unique, missing, many, **reading, **dialect):
        last = frame.iloc[:, -1]
        if not checked and (last.isna() | last.eq("")).any():
            _check_lengths(source, len(names), **dialect)  # pandas fills up rows too short
            checked = True
        for name in kept:
            frame[name] = _whole_numbers(frame[name])
        if comma and (joined := _join_thousands(frame, kept)):
            more = " and more" * (len(joined) > SHOWN)
            notes.append(f"Points mark thousands in {', '.join(joined[:SHOWN])}{more}.")
        yield frame.set_index(frame.columns[0]) if row_names else frame, notes, decimal


def _find_encoding(source: Source, notes: list[str]) -> str:
    head = source.head(_CHUNK)
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        raise _no_text(source, head)
    try:
        with io.TextIOWrapper(source.open(), "utf-8") as text:
            while chunk := text.read(_CHUNK):
                if "\0" in chunk:
                    raise _no_text(source, head)
    except UnicodeDecodeError:
        if _has_bytes(source, _NOT_IN_WINDOWS):
            told = "The text is neither UTF-8 nor Windows-1252, so its words are not readable"
            notes.append(f"{told}; give the encoding, such as shift_jis, gb18030 or mac_roman.")
            return "latin-1"
        told = "The text is not UTF-8; it is read as Windows-1252 (Latin-1), so check names"
        notes.append(f"{told} with accents or give the encoding.")
        return "cp1252"
    return "utf-8"


def _has_bytes(source: Source, wanted: bytes) -> bool:
    with source.open() as file:
        while chunk := file.read(_CHUNK):
            if len(chunk.translate(None, wanted)) < len(chunk):
                return True
    return False


def _no_text(source: Source, head: bytes) -> TableError:
    for encoding, zeros in {"utf-16-le": head[1::2], "utf-16-be": head[::2]}.items():
        if head.count(0) == zeros.count(0) > len(zeros) / 2:
            problem = f"must be given: {source.lower} looks like UTF-16 without its mark"
            return TableError("encoding", problem, f"try {encoding!r}")
    return source.error("is not text", "name its format")


def _records(source: Source, encoding: str, separator: str) -> list[list[str]]:
    """The first lines with something in them; quoted cells may go on over several."""
    try:
        with io.TextIOWrapper(source.open(), encoding, newline="") as text:
            rows: Iterable[list[str]] = (line.split() for line in text)
            if separator != _SPACES:
                rows = csv.reader(text, delimiter=separator)
            return list(islice(_skip_empty(rows), SAMPLE))
    except (UnicodeError, LookupError) as error:
        problem = f"is not the encoding of {source.lower}, or not known"
        raise TableError("encoding", problem, value=encoding) from error


def _skip_empty(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Rows that the parser does not skip."""
    return (row for row in rows if len(row) > 1 or (row and row[0].strip()))


def _find_separator(source: Source, encoding: str) -> str:
    """Take the separator that cuts most lines into the same number of parts, two or more.

    Where several do, it is the one that leaves fewest of the others in cells that are no numbers:
    ``0,1;2,5`` is two numbers, not three cells.
    """
    found: dict[str, list[list[str]]] = {}
    shares: dict[str, float] = {}
    for separator in (*_SEPARATORS, _SPACES):
        with contextlib.suppress(csv.Error):  # the wrong one leaves a long line in one piece
            found[separator] = rows = _records(source, encoding, separator)
            widths = [len(row) for row in rows]
            common = max(set(widths), key=widths.count, default=0)
            if common > 1 and (separator != _SPACES or _share(rows, is_number) == 1):
                shares[separator] = widths.count(common) / len(widths)
    best = [separator for separator in shares if shares[separator] == max(shares.values())]
    if len(best) > 1:
        best.sort(key=lambda separator: -_share(found[separator], _is_one_cell))
    lines = found[_SPACES]
    decimals = all(len(line) == 1 and re.fullmatch(r"[+-]?\d+,\d+", line[0]) for line in lines[1:])
    if best == [","] and decimals and lines[1:] and len(found[","][0]) == 1:
        return ";"  # one column of numbers
    return best[0] if best else ","


def _share(rows: list[list[str]], test: Callable[[str], bool]) -> float:
    """How many of the cells below the first line pass a test."""
    cells = list(islice((cell for row in rows[1:] or rows for cell in row), ENOUGH))
    return sum(map(test, cells)) / len(cells)


def _is_one_cell(cell: str) -> bool:
    return is_number(cell) or not any(separator in cell for separator in _SEPARATORS)


def _names(rows: list[list[str]], header: bool) -> list[str]:
    """The names of the columns, empty where there is none."""
    if not header:
        return [""] * len(rows[0])
    names, rest = rows[0], rows[1:]
    if not rest or any(len(row) != len(names) + 1 for row in rest):
        return names
    if any(row[-1].strip() for row in rest):
        return ["", *names]  # as R writes row names: without a name above them
    return [*names, ""]  # lines that end with a separator


def _converters(
    names: list[str], row_names: bool, beside: Sequence[str | None], missing: Sequence[str]
) -> dict[str, Callable[[str], str | None]]:
    """For columns that hold names of rows, or classes: a class named NA is not missing."""
    id, truth = beside
    absent = {"", *missing}
    found: dict[str | None, Any] = {truth: lambda cell: None if cell.strip() in absent else cell}
    found |= {id: str, names[0] if row_names else id: str}
    return {name: found[name] for name in names if name in found}


def _whole_numbers(column: pd.Series) -> Any:
    """Names as integers if that is how they are written."""
    try:
        numbers = column.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        return column
    return numbers if (numbers.astype(str) == column).all() else column


def _join_thousands(frame: pd.DataFrame, others: Iterable[str]) -> list[str]:
    """Read columns in which points mark thousands, and nothing else, as numbers; their names."""
    joined = []
    pandas = optional("pandas", extra="io")
    for name in frame.columns.difference(list(others)):
        if not pandas.api.types.is_numeric_dtype(frame[name]):
            cells = frame[name].dropna().astype(str)
            pointed = cells[cells.str.contains(".", regex=False)]
            plain = cells.str.replace(".", "").str.replace(",", ".")
            numbers = pandas.to_numeric(plain, errors="coerce")
            if len(pointed) and pointed.str.fullmatch(THOUSANDS).all() and numbers.notna().all():
                frame[name] = numbers.reindex(frame.index)
                joined.append(repr(name))
    return joined


def _uneven(source: Source, where: str, found: int, width: int) -> TableError:
    problem = f"is uneven: {where} has {plural(found, 'value')} for {plural(width, 'column')}"
    remedy = "check separators and quotes there"
    if found == 1:
        remedy += ", or leave remarks below the table out (--skip-footer)"
    return source.error(problem, remedy)


def _parse(
    source: Source, names: list[str], missing: Sequence[str], rows: int | None, **dialect: Any
) -> Iterator[Any]:
    """Frames of so many rows, or one of all."""
    pandas = optional("pandas", extra="io")
    if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):  # later ones always do
        dialect["float_precision"] = "round_trip"
    dialect |= {"names": names, "index_col": False, "na_values": list(missing)}
    if dialect["header"] is not None and len(names) > _WIDE and _is_plain(source, dialect):
        # To read names that are then set aside takes pandas quadratic time.
        dialect |= {"header": None, "skiprows": 1}
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
                    raise _explain_parser(source, error, len(names)) from error
            yield frame


def _is_plain(source: Source, dialect: dict[str, Any]) -> bool:
    """Whether the names are the first line of a file, with no quotes that might hold another."""
    with io.TextIOWrapper(source.open(), dialect["encoding"], newline="") as text:
        line = text.readline()
    return bool(line.strip()) and '"' not in line and "\r" not in line.rstrip("\r\n")


def _explain_parser(source: Source, error: Exception, width: int) -> TableError:
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", str(error))
    if found:
        return _uneven(source, f"line {found[1]}", int(found[2]), width)
    unclosed = "EOF inside string" in str(error)
    return source.error("has a quote that is never closed" if unclosed else _NO_TABLE)


def _check_lengths(source: Source, width: int, *, sep: str, encoding: str, header: object) -> None:
    with source.open() as file:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
        reader = csv.reader(text, delimiter=sep)
        rows = _skip_empty(reader)
        try:
            if header is not None:
                next(rows)
            for row in rows:
                if len(row) != width:
                    raise _uneven(source, f"line {reader.line_num}", len(row), width)
        except csv.Error:
            return  # the parser took it; only its lengths remain unknown
