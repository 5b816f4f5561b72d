"""Parquet files: text is kept as it is stored, each different text once.

A file may say in a few bytes that a text of megabytes is repeated a thousand times, and Arrow
makes all of them. Columns of text are therefore read as dictionaries, whose entries the rows
share; where a file's encoding allows none, in blocks whose size is bounded. Columns of lists and
records, which nobody can cluster, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unispectral._compat import optional
from unispectral.tables._source import Source, block_rows, unique_names

__all__ = ["parquet_blocks"]

#: Bytes that a small file may come to, however little it stores.
_FREE = 2**28
#: Encodings that can be read as dictionaries, and the one whose texts share their beginnings.
_SHARED = {"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"}
_PREFIXED = "DELTA_BYTE_ARRAY"


def parquet_blocks(source: Source, entries: int | None) -> Iterator[tuple[Any, list[str], int]]:
    """Frames of about so many values, or of all; what was noticed; the rows of the file."""
    parquet = optional("pyarrow.parquet", extra="parquet")
    optional("pandas", extra="parquet")
    with source.open() as handle, source.reading("is not a Parquet file, or is damaged"):
        found = parquet.ParquetFile(handle)
        columns = _Columns(found)
        columns.check(source, whole=entries is None)
        handle.seek(0)
        file = parquet.ParquetFile(handle, read_dictionary=columns.shared)
        total = file.metadata.num_rows
        names, notes = unique_names(file.schema_arrow.names)
        rows = max(1, total) if entries is None else block_rows(entries, len(names))
        rows = max(1, min(rows, columns.rows_at_once))
        for batch in _batches(file, rows, source, whole=entries is None):
            yield columns.frame(batch, names), notes, total


def _batches(file: Any, rows: int, source: Source, *, whole: bool) -> Iterator[Any]:
    """Tables of Arrow: one of the whole file, or blocks of its rows."""
    arrow = optional("pyarrow", extra="parquet")
    wanted = None
    if any(_is_nested(field.type) for field in file.schema_arrow):
        wanted = [field.name for field in file.schema_arrow if not _is_nested(field.type)]
    if not file.metadata.num_rows or (whole and rows >= file.metadata.num_rows):
        yield file.read(columns=wanted)
        return
    blocks = []
    size = 0
    for batch in file.iter_batches(rows, columns=wanted):
        block = arrow.Table.from_batches([batch])
        if not whole:
            yield block
            continue
        blocks.append(block)
        size += block.nbytes
        source.check_inflation(size, source.size, _FREE)
    if whole:
        yield arrow.concat_tables(blocks)


def _is_nested(kind: Any) -> bool:
    return optional("pyarrow", extra="parquet").types.is_nested(kind)


def _is_dictionary(kind: Any) -> bool:
    return optional("pyarrow", extra="parquet").types.is_dictionary(kind)


class _Columns:
    """What the metadata say of the columns: which are text, and what they may come to."""

    def __init__(self, file: Any) -> None:
        self.schema = file.schema_arrow
        self.total = file.metadata.num_rows
        self.values = self.text = self.wide = 0
        encodings: dict[str, set[str]] = {}
        largest = 0
        for chunk in _chunks(file.metadata):
            self.values += max(chunk.num_values, 0)
            if chunk.physical_type == "BYTE_ARRAY":
                encodings.setdefault(chunk.path_in_schema, set()).update(chunk.encodings)
                self.text += max(chunk.total_uncompressed_size, 0)
                if _PREFIXED in chunk.encodings:
                    largest = max(largest, chunk.total_uncompressed_size)
        kinds = {field.name: field.type for field in self.schema}
        # No text of a chunk is longer than all that the chunk stores.
        self.rows_at_once = self.total if largest <= 0 else max(1, _FREE // largest)
        self.shared = [
            name
            for name, known in encodings.items()
            if name in kinds and known <= _SHARED and not _is_dictionary(kinds[name])
        ]
        for kind in kinds.values():
            if not _is_nested(kind) and str(kind).startswith("fixed_size_binary"):
                self.wide += kind.byte_width * self.total

    def check(self, source: Source, *, whole: bool) -> None:
        """Refuse what memory cannot hold, or what so few bytes cannot mean."""
        if whole:
            source.check_memory(8 * max(self.values, self.total) + self.text + self.wide)
        source.check_inflation(8 * self.values + self.wide, source.size, _FREE)

    def frame(self, table: Any, names: list[str]) -> Any:
        """A table of Arrow as a frame, text as objects that the rows share.

        A column that is not read holds the name of its type.
        """
        arrow = optional("pyarrow", extra="parquet")
        for position, field in enumerate(self.schema):
            if _is_nested(field.type):
                what = arrow.array([str(field.type)[:60]] * table.num_rows, arrow.string())
                table = table.add_column(position, field.name, what)
        if names != table.column_names:
            table = table.rename_columns(names)
        frame = table.to_pandas()
        called = dict(zip(self.schema.names, names, strict=True))
        for name in (called[name] for name in self.shared):
            if name in frame.columns:
                frame[name] = frame[name].astype(object)
            elif name == frame.index.name:
                frame.index = frame.index.astype(object)
        return frame


def _chunks(metadata: Any) -> Iterator[Any]:
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for column in range(row_group.num_columns):
            yield row_group.column(column)
