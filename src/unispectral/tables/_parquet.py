"""Parquet files: text is kept as it is stored, each different text once.

A file may say in a few bytes that a text of megabytes is repeated a thousand times, and Arrow
makes all of them. Columns of text are therefore read as dictionaries, whose entries the rows
share; where a file's encoding allows none, in blocks whose size is bounded. Lists of as many
numbers in every row are vectors, such as embeddings, and become a column for each place; other
lists and records, which nobody can cluster, are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._compat import optional
from unispectral.tables._parquet_headers import Chunk, Pages, read_footer, walk_pages
from unispectral.tables._source import Source, block_rows, unique_names

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

#: Bytes that a small file may come to, however little it stores, and those of its texts.
_FREE, _FREE_TEXT = 2**28, 2**26
#: Bytes that a value takes on its way to a number: of objects, of decimals, and of all others.
_OBJECT, _DECIMAL, _NUMBER = 64, 128, 16
#: Encodings that can be read as dictionaries, and the one whose texts share their beginnings.
_SHARED = {"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"}
_PREFIXED = "DELTA_BYTE_ARRAY"
#: Columns of one name; the time that Arrow takes for them grows with their square.
_EQUAL_NAMES = 10_000


def parquet_blocks(source: Source, entries: int | None) -> Iterator[tuple[Any, list[str], int]]:
    """Frames of about so many values, or of all; what was noticed; the rows of the file."""
    parquet = optional("pyarrow.parquet", extra="parquet")
    optional("pandas", extra="parquet")
    with source.open() as handle, source.reading("is not a Parquet file, or is damaged"):
        footer = read_footer(handle, source.size)
        if not footer.n_rows:
            raise source.error("has no rows")
        handle.seek(0)
        columns = _Columns(parquet.ParquetFile(handle).schema_arrow, footer.n_rows)
        for chunk, pages in walk_pages(handle, source.size, footer):
            columns.add(chunk, pages)
        columns.check(source, whole=entries is None)
        handle.seek(0)
        file = parquet.ParquetFile(handle, read_dictionary=columns.find_shared())
        names, notes = unique_names(file.schema_arrow.names)
        rows = max(1, columns.total) if entries is None else block_rows(entries, len(names))
        rows = max(1, min(rows, columns.find_rows_at_once()))
        for batch in _batches(file, rows, source, whole=entries is None):
            yield columns.frame(batch, names), notes, columns.total


def _batches(file: pq.ParquetFile, rows: int, source: Source, *, whole: bool) -> Iterator[Any]:
    """Tables of Arrow: one of the whole file, or blocks of its rows."""
    arrow = optional("pyarrow", extra="parquet")
    wanted = None
    if any(_is_nested(field.type) for field in file.schema_arrow):
        wanted = [field.name for field in file.schema_arrow if _is_read(field, file.schema_arrow)]
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


def _is_nested(kind: object) -> bool:
    return optional("pyarrow", extra="parquet").types.is_nested(kind)


def _is_read(field: pa.Field, schema: pa.Schema) -> bool:
    """Whether a column is read: values, or lists of numbers whose name no other column has."""
    if not _is_nested(field.type):
        return True
    return _holds_vectors(field.type) and len(schema.get_all_field_indices(field.name)) == 1


def _holds_vectors(kind: pa.DataType) -> bool:
    """Whether a column is of lists of numbers."""
    types = optional("pyarrow", extra="parquet").types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return False
    return types.is_floating(kind.value_type) or types.is_integer(kind.value_type)


def _read_vectors(column: pd.Series) -> np.ndarray | None:
    """Lists of several numbers as rows of a table; None where some are longer than others.

    A row without a list, and a place without a number, are NaN.
    """
    compute = optional("pyarrow.compute", extra="parquet")
    widths = compute.unique(compute.list_value_length(column)).drop_null().to_pylist()
    if len(widths) != 1 or widths[0] < 2:
        return None
    width = widths[0]
    parts = []
    for chunk in column.chunks:
        # Of a null a list of fixed size may hold anything.
        values = chunk.drop_null().flatten().to_numpy(zero_copy_only=False)
        rows = values.reshape(-1, width)
        if chunk.null_count:
            whole = np.full((len(chunk), width), np.nan, dtype=np.result_type(rows, np.float32))
            whole[chunk.is_valid().to_numpy(zero_copy_only=False)] = rows
            rows = whole
        parts.append(rows)
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _is_dictionary(kind: object) -> bool:
    return optional("pyarrow", extra="parquet").types.is_dictionary(kind)


def _bytes_of_value(kind: object) -> int:
    """What a value of a column takes at most while it becomes a number or an object."""
    types = optional("pyarrow", extra="parquet").types
    if types.is_decimal(kind):
        return _DECIMAL
    if types.is_boolean(kind) or types.is_date(kind) or types.is_time(kind):
        return _OBJECT
    return _NUMBER


class _Columns:
    """What the file says of its columns: which are text, and what they may come to."""

    def __init__(self, schema: pa.Schema, n_rows: int) -> None:
        self.schema = schema
        self.total = n_rows
        self.needed = _NUMBER * n_rows
        self.unpacked = self.text = 0
        self.longest = 0
        self.encodings: dict[int, set[str]] = {}
        self.wide = sum(
            field.type.byte_width * n_rows
            for field in schema
            if str(field.type).startswith("fixed_size_binary")
        )

    def add(self, chunk: Chunk, pages: Pages) -> None:
        """Take in what a column chunk and its pages say of themselves."""
        field = self.schema.field(chunk.column)
        kind = field.type
        if not _is_read(field, self.schema):
            return
        self.needed += _bytes_of_value(kind) * chunk.n_values
        self.unpacked += pages.unpacked
        if not chunk.is_text:
            return
        self.encodings.setdefault(chunk.column, set()).update(pages.encodings)
        self.text += pages.unpacked
        if _PREFIXED in pages.encodings:
            self.longest = max(self.longest, pages.unpacked)

    def find_rows_at_once(self) -> int:
        """Rows of a block, where texts share their beginnings.

        No text of a chunk is longer than all that the chunk stores.
        """
        return max(1, _FREE // self.longest) if self.longest else max(1, self.total)

    def find_shared(self) -> list[str]:
        """The columns of text that can be read as dictionaries."""
        good: dict[str, bool] = {}
        for column, known in self.encodings.items():
            field = self.schema.field(column)
            can_be = known <= _SHARED and not _is_dictionary(field.type)
            good[field.name] = good.get(field.name, True) and can_be
        return [name for name, is_good in good.items() if is_good]

    def check(self, source: Source, *, whole: bool) -> None:
        """Refuse what memory cannot hold, or what so few bytes cannot mean."""
        for name, count in Counter(self.schema.names).most_common(1):
            if count > _EQUAL_NAMES:
                raise source.error(f"has {count:,} columns named {name!r:.60}", "name them apart")
        if whole:
            source.check_memory(self.needed + self.text + self.wide)
        source.check_inflation(self.needed + self.wide, source.size, _FREE)
        source.check_inflation(self.unpacked, source.size, _FREE)
        source.check_inflation(self.text, source.size, _FREE_TEXT)

    def frame(self, table: pa.Table, names: list[str]) -> Any:
        """A table of Arrow as a frame, text as objects that the rows share.

        A column that is not read holds the name of its type; the numbers of vectors come last.
        """
        arrow = optional("pyarrow", extra="parquet")
        vectors: dict[str, np.ndarray] = {}
        for position, field in enumerate(self.schema):
            if not _is_nested(field.type):
                continue
            what = arrow.array([str(field.type)[:60]] * table.num_rows, arrow.string())
            if not _is_read(field, self.schema):
                table = table.add_column(position, field.name, what)
                continue
            rows = _read_vectors(table.column(position))
            table = table.set_column(position, field.name, what)
            if rows is not None:
                vectors[names[position]] = rows
        if names != table.column_names:
            table = table.rename_columns(names)
        frame = table.to_pandas()
        called = dict(zip(self.schema.names, names, strict=True))
        for name in (called[name] for name in self.find_shared()):
            if name in frame.columns:
                frame[name] = frame[name].astype(object)
            elif name == frame.index.name:
                frame.index = frame.index.astype(object)
        return _spread_vectors(frame, vectors) if vectors else frame


def _spread_vectors(frame: pd.DataFrame, vectors: dict[str, np.ndarray]) -> Any:
    """A frame in which vectors have a column for each place, numbered from 0."""
    pandas = optional("pandas", extra="parquet")
    parts = [frame.drop(columns=list(vectors))]
    for name, rows in vectors.items():
        columns = [f"{name}_{place}" for place in range(rows.shape[1])]
        parts.append(pandas.DataFrame(rows, index=frame.index, columns=columns, copy=False))
    whole = pandas.concat(parts, axis=1)
    return whole.set_axis(unique_names(whole.columns)[0], axis=1)
