"""Excel workbooks: how far a sheet reaches is measured before it is read.

A sheet names the place of each cell, and readers make all cells in between: two cells in opposite
corners are seventeen thousand million. A pass over the XML with a plain parser, which keeps
nothing, counts what is stored and what would be made of it.
"""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from unispectral._compat import optional
from unispectral.tables._source import Source, TableError, listing

if TYPE_CHECKING:
    from typing import BinaryIO

#: What Excel itself can hold.
_MOST_ROWS, _MOST_COLUMNS = 2**20, 2**14
#: Cells that may be made of few, and of each that is stored.
_FREE_CELLS, _PER_CELL = 2_000_000, 100
#: Bytes that a cell takes while it is read, and a byte of XML that is read as a whole.
_CELL_BYTES, _TREE_BYTES = 100, 50
#: Parts that are read piece by piece.
_STREAMED = ("xl/worksheets/", "xl/sharedStrings")
_CHUNK = 2**16
_PLACE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,9})")


class _Extent:
    """What the XML of a sheet stores, and what a reader would make of it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.cells = self.filled_rows = self.filled_columns = self.made = 0
        self._row = self._column = self._last = 0

    def measure(self, file: BinaryIO) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse_definitions
        while chunk := file.read(_CHUNK):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
        self._check()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if tag == "c":
            self._place_cell(attributes.get("r"))
        elif tag in ("v", "is"):
            self.filled_rows = max(self.filled_rows, self._row)
            self.filled_columns = max(self.filled_columns, self._column)
        elif tag == "row":
            self._row = int(float(attributes.get("r", self._row + 1)))
            self._column = 0
            if self._row > _MOST_ROWS:
                raise self._too_far(f"row {self._row:,}")

    def _place_cell(self, place: str | None) -> None:
        self.cells += 1
        self._column += 1
        if place is not None and (found := _PLACE.fullmatch(place)):
            column = 0
            for letter in found[1].upper():
                column = 26 * column + ord(letter) - 64
            self._column = column
            self._row = int(found[2])
        if self._row > _MOST_ROWS or self._column > _MOST_COLUMNS:
            raise self._too_far(f"a cell in row {self._row:,} and column {self._column:,}")
        if self.cells % _FREE_CELLS == 0:
            self._check()

    def _end(self, name: str) -> None:
        if name.endswith(" row") or name == "row":
            self.made += self._column

    def _check(self) -> None:
        """Compare what would be made with what is stored."""
        area = self.filled_rows * self.filled_columns
        made = max(area, self.made)
        if made > max(_FREE_CELLS, _PER_CELL * self.cells):
            problem = f"stores {self.cells:,} cells that reach over {self.filled_rows:,} rows and "
            problem += f"{self.filled_columns:,} columns ({made:,} cells to be made)"
            raise self.source.error(problem, "delete the cells that lie far from the table")
        self.source.check_memory(_CELL_BYTES * made)

    def _too_far(self, what: str) -> TableError:
        limits = f"{_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns"
        problem = f"has {what}, where a sheet has at most {limits}"
        return self.source.error(problem, "the file is damaged or hostile")

    def _refuse_definitions(self, *_: Any) -> None:
        problem = "defines its own XML entities, which no spreadsheet writes"
        raise self.source.error(problem, "the file is damaged or hostile")


def sheet_cells(source: Source, sheet: str | None) -> tuple[Any, list[str]]:
    """The cells of a sheet as a frame of objects, and what was noticed."""
    pandas = optional("pandas", extra="io")
    optional("openpyxl", extra="io")
    notes: list[str] = []
    with source.reading("is not an Excel workbook, or is damaged"), source.open() as handle:
        with zipfile.ZipFile(handle) as archive:
            _check_parts(archive, source)
        handle.seek(0)
        with pandas.ExcelFile(handle, engine="openpyxl") as book:
            sheets = {page.title: page for page in book.book.worksheets}
            if not sheets:
                raise source.error("has no sheet with cells")
            if sheet is not None and sheet not in sheets:
                known = listing([repr(title) for title in sheets])
                problem = f"is not a sheet of {source.lower}, which has {known}"
                raise TableError("key", problem, value=sheet)
            first = next(iter(sheets))
            if sheet is None and len(sheets) > 1:
                others = listing([repr(title) for title in sheets if title != first])
                told = f"Of {len(sheets)} sheets the first, {first!r}, is read"
                notes.append(f"{told}; the key (--sheet) names another: {others}.")
            chosen = sheet or first
            with book.book._archive.open(sheets[chosen]._worksheet_path) as file:
                _Extent(source).measure(file)
            cells = pandas.read_excel(book, sheet_name=chosen, header=None, dtype=object)
    return cells, notes


def _check_parts(archive: zipfile.ZipFile, source: Source) -> None:
    """Hold what the parts declare against what they store and the memory that there is."""
    needed = 0
    for part in archive.infolist():
        source.check_inflation(part.file_size, part.compress_size)
        streamed = part.filename.startswith(_STREAMED)
        needed += part.file_size * (4 if streamed else _TREE_BYTES)
    source.check_memory(needed)
