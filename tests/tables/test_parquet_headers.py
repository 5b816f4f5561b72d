"""Footers and page headers of Parquet: read as Arrow reads them, and not believed."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as arrow
from pyarrow import parquet
from robustness._bombs import bomb

from unispectral.tables import TableError, read_table
from unispectral.tables._parquet_headers import read_footer, walk_pages


def written(table: Any, **options: Any) -> io.BytesIO:
    made = io.BytesIO()
    parquet.write_table(table, made, **options)
    made.seek(0)
    return made


def mixed(n: int = 3000) -> Any:
    rng = np.random.default_rng(0)
    return arrow.table(
        {
            "x": rng.normal(size=n),
            "record": [{"a": i, "b": [str(i), "b"]} for i in range(n)],
            "text": [f"a{i % 40}" for i in range(n)],
            "list": [[i, i + 1] for i in range(n)],
            "long": [f"text {i}" * 3 for i in range(n)],
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "none", "row_group_size": 700},
        {"compression": "zstd", "data_page_version": "2.0"},
        {"data_page_size": 500, "write_page_checksum": True, "write_page_index": True},
        {"use_dictionary": False, "store_schema": False},
    ],
)
def test_headers_say_what_arrow_reads_in_the_footer(options):
    """Arrow's own summary of honest files is the reference."""
    file = written(mixed(), **options)
    size = len(file.getvalue())
    known = parquet.ParquetFile(file).metadata
    footer = read_footer(file, size)
    assert footer.n_rows == known.num_rows
    expected = [
        known.row_group(group).column(column)
        for group in range(known.num_row_groups)
        for column in range(known.num_columns)
    ]
    names = [column.partition(".")[0] for column in known.schema.to_arrow_schema().names]
    for (chunk, pages), one in zip(walk_pages(file, size, footer), expected, strict=True):
        assert names[chunk.column] == one.path_in_schema.partition(".")[0]
        assert chunk.is_text == (one.physical_type == "BYTE_ARRAY")
        assert chunk.n_values == one.num_values
        assert pages.encodings <= set(one.encodings)
        # The footer counts the headers, too.
        assert 0 < pages.unpacked < one.total_uncompressed_size


def test_honest_files_are_read_as_before():
    values = mixed()
    found = read_table(written(values), format="parquet")
    assert found.columns == ["x", "list_0", "list_1"]
    np.testing.assert_array_equal(found.values[:, 0], values["x"].to_numpy())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("a page header that lies", "declares 2,147,483,647 bytes but stores"),
        ("a page of more than its values", "declares 400,000,024 bytes but stores"),
        ("a dictionary of more than its summary", "declares 100,000,007 bytes but stores"),
        ("rows that lie", r"declares .* (bytes|GiB)"),
        ("values that lie", "damaged"),
        ("columns without rows", "has no rows"),
    ],
)
def test_sizes_that_only_a_header_claims(kind, words):
    with pytest.raises(TableError, match=words):
        read_table(io.BytesIO(bomb("parquet", kind, 6)), format="parquet")


@pytest.mark.parametrize("kind", ["a footer of empty chunks", "many chunks of one column"])
def test_a_footer_that_would_end_the_process(kind):
    """Arrow's answer to such a footer is to abort, whatever surrounds it."""
    with pytest.raises(TableError, match="is not a Parquet file, or is damaged"):
        read_table(io.BytesIO(bomb("parquet", kind, 1)), format="parquet")


def test_every_cut_of_a_footer_is_noticed():
    content = written(arrow.table({"x": [1, 2, 3]})).getvalue()
    length = int.from_bytes(content[-8:-4], "little")
    start = len(content) - 8 - length
    for end in range(start, len(content) - 8, 7):
        cut = content[:end] + (end - start).to_bytes(4, "little") + b"PAR1"
        with pytest.raises(ValueError, match=r"not end|missing"):
            read_footer(io.BytesIO(cut), len(cut))
