"""CSV, TSV and their kin: encoding, separator and header are found, and said."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from unispectral._compat import optional
from unispectral.tables._frames import unique_names
from unispectral.tables._limits import TableError, check_memory, plural
from unispectral.tables._source import Source

__all__ = ["looks_like_text", "read_text"]

_CHUNK = 1 << 20
_SAMPLE = 1 << 16
_LINES = 50
_SEPARATORS = (",", ";", "\t", "|")
_SPACES = r"\s+"
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass
class Dialect:
    """What was found out about a text table before parsing it."""

    encoding: str
    separator: str
    decimal: str
    header: bool
    names: list[str]
    row_names: bool
    notes: list[str] = field(default_factory=list)


def looks_like_text(head: bytes) -> bool:
    """Tell text from binary by its first bytes.

    Examples
    --------
    >>> looks_like_text(b"a,b"), looks_like_text(b"PAR1" + bytes(4))
    (True, False)
    """
    return head.startswith(tuple(_BOMS)) or b"\x00" not in head


def read_text(
    source: Source,
    *,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> tuple[Any, list[str]]:
    """Read a text table into a frame; the frame's index holds row names if the file has them.

    Examples
    --------
    >>> frame, notes = read_text(Source("standard input", None, b"a;b\\n1,5;2\\n3,5;4\\n"))
    >>> frame["a"].tolist(), notes
    ([1.5, 3.5], ['Numbers are written with a decimal comma.'])
    """
    check_memory(2 * source.size, source.name)
    dialect = _find_dialect(source, separator, header, encoding)
    frame = _parse(source, dialect, missing)
    if dialect.separator != _SPACES and frame.iloc[:, -1].isna().any():
        _check_lengths(source, dialect)  # the parser fills up rows that are too short
    if dialect.row_names:
        frame = frame.set_index(frame.columns[0])
        dialect.notes.append("The first column has no name; it is taken as the rows' names.")
    return frame, dialect.notes


def _find_dialect(
    source: Source, separator: str | None, header: bool | None, encoding: str | None
) -> Dialect:
    notes: list[str] = []
    encoding = encoding or _find_encoding(source, notes)
    lines = _sample_lines(source, encoding)
    separator = separator or _find_separator(lines)
    try:
        rows = [row for row in _split(lines, separator) if row]
    except csv.Error as error:
        raise TableError(f"{source.name} cannot be read as a text table: {error}.") from error
    if not rows:
        raise TableError(f"{source.name} is empty.")
    first, rest = rows[0], rows[1:]
    if header is None:
        header = _is_header(first, notes)
    if header and not rest:
        raise TableError(f"{source.name} has a header but no rows.")
    named = [*first] if header else [None] * len(first)
    short = header and all(len(row) == len(first) + 1 for row in rest)
    if short:  # as R writes row names: without a name above them
        named = ["", *first]
    _check_sample(rows[1:] if header else rows, len(named), source.name)
    names, changed = unique_names(named)
    decimal = "," if separator == ";" and _has_decimal_comma(rest) else "."
    if decimal == ",":
        notes.append("Numbers are written with a decimal comma.")
    row_names = header and len(named) > 1 and not (named[0] or "").strip()
    return Dialect(encoding, separator, decimal, header, names, row_names, [*notes, *changed])


def _find_encoding(source: Source, notes: list[str]) -> str:
    head = source.head(4)
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    decoder = codecs.getincrementaldecoder("utf-8")()
    with source.open() as file:
        try:
            while chunk := file.read(_CHUNK):
                if b"\x00" in chunk:
                    raise TableError(f"{source.name} is not text; name its format.")
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            notes.append(
                "The text is not UTF-8; it is read as Latin-1, so check names with accents or "
                "give the encoding."
            )
            return "latin-1"
    return "utf-8"


def _sample_lines(source: Source, encoding: str) -> list[str]:
    """Return the first lines that are whole: at least three, however long, if there are three."""
    size = _SAMPLE
    while True:
        head = source.head(size)
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(head)
        except (UnicodeDecodeError, LookupError) as error:
            raise TableError(f"{source.name} is not text in the encoding {encoding!r}.") from error
        lines = io.StringIO(text, newline=None).readlines()
        if len(head) < size:
            return lines[:_LINES]
        if len(lines) > 3:
            return lines[:-1][:_LINES]  # the last one may be cut off
        size *= 4


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
        if not widths:
            continue
        common = max(set(widths), key=widths.count)
        if common > 1 and widths.count(common) / len(widths) > most:
            best, most = separator, widths.count(common) / len(widths)
    if not most:
        rows = [row for row in _split(lines, _SPACES) if row]
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            numeric = all(_is_number(cell) for row in rows[1:] or rows for cell in row)
            return _SPACES if numeric else best
    return best


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


def _check_sample(rows: list[list[str]], width: int, name: str) -> None:
    for number, row in enumerate(rows, start=1):
        if len(row) != width:
            raise TableError(_uneven(name, f"row {number}", len(row), width))


def _uneven(name: str, where: str, found: int, width: int) -> str:
    return (
        f"{name} is uneven: {where} has {plural(found, 'value')}, but there are {width} columns; "
        "check separators and quotes there."
    )


def _parse(source: Source, dialect: Dialect, missing: Sequence[str]) -> Any:
    pandas = optional("pandas", extra="io")
    with source.open() as file, warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            return pandas.read_csv(
                file,
                sep=dialect.separator,
                decimal=dialect.decimal,
                encoding=dialect.encoding,
                header=0 if dialect.header else None,
                names=dialect.names,
                index_col=False,
                na_values=list(missing),
                float_precision="round_trip",
                low_memory=False,
            )
        except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
            raise TableError(_explain(str(error), source.name, len(dialect.names))) from error
        except (UnicodeDecodeError, pandas.errors.EmptyDataError, ValueError) as error:
            raise TableError(f"{source.name} cannot be read as a text table.") from error


def _explain(message: str, name: str, width: int) -> str:
    found = re.search(r"Expected \d+ fields in line (\d+), saw (\d+)", message)
    if found:
        return _uneven(name, f"line {found[1]}", int(found[2]), width)
    if "EOF inside string" in message:
        return f"{name} has a quote that is never closed."
    return f"{name} cannot be read as a text table."


def _check_lengths(source: Source, dialect: Dialect) -> None:
    for line, row in _rows_with_lines(source, dialect):
        if row and len(row) != len(dialect.names):
            where = f"line {line}"
            raise TableError(_uneven(source.name, where, len(row), len(dialect.names)))


def _rows_with_lines(source: Source, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    with source.open() as file:
        text = io.TextIOWrapper(file, encoding=dialect.encoding, newline="")
        reader = csv.reader(text, delimiter=dialect.separator)
        try:
            if dialect.header:
                next(reader)
            for row in reader:
                yield reader.line_num, row
        except csv.Error:
            return  # the parser took it; only its lengths remain unknown
