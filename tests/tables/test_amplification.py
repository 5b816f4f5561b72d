"""Small files whose meaning is large: refused with a sentence, or read without the memory.

Hundreds more, each in a process of its own with limits, are in ``robustness/amplification.py``.
"""

from __future__ import annotations

import gzip
import io
import time
import tracemalloc
import zipfile
import zlib
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unispectral.tables import TableError, read_table
from unispectral.tables._source import unique_names

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.'
    'openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    'relationships"><Relationship Id="a" Type="http://schemas.openxmlformats.org/officeDocument/'
    '2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships"><sheets><sheet name="s" sheetId="1" r:id="b"/></sheets>'
    "</workbook>",
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/'
    'package/2006/relationships"><Relationship Id="b" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
    "</Relationships>",
}


def workbook(rows: str, before: str = "") -> io.BytesIO:
    """A workbook of one sheet, whose rows are given as XML."""
    sheet = f'{before}<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            archive.writestr(name, text)
    content.seek(0)
    return content


def row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def cell(place: str, value: object = 1) -> str:
    return f'<c r="{place}"><v>{value}</v></c>'


def test_a_sheet_written_by_hand_is_read():
    rows = row(1, cell("A1"), cell("B1", 2)) + row(3, cell("A3", 3), cell("B3", 4.5))
    table = read_table(workbook(rows), format="excel", header=False)
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4.5]])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (row(1, cell("A1"), cell("XFD1")) + row(2**20, cell("A1048576")), "1,048,576 rows and"),
        (row(1, cell("A1")) + row(999_999_999, cell("A999999999")), "has row 999,999,999"),
        (row(1, cell("A1")) + row(2, cell("A999999999")), "a cell in row 999,999,999"),
        (row(1, cell("A1"), cell("ZZZ1")), "and column 18,278"),
        ("".join(row(i, f'<c r="XFD{i}"/>') for i in range(1, 5000)) + row(5000, cell("A5000")),
         "cells to be made"),
    ],
    ids=["corners", "row", "cell", "column", "wide rows"],
)  # fmt: skip
def test_sheets_that_reach_far(rows, words):
    tracemalloc.start()
    with pytest.raises(TableError, match=words):
        read_table(workbook(rows), format="excel")
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()


def test_empty_cells_far_away_are_nothing():
    """Programs store the format of cells without a value down to the last row."""
    rows = row(1, cell("A1"), cell("B1", 2)) + row(2, cell("A2", 5), cell("B2", 4))
    table = read_table(workbook(rows + row(2**20, '<c r="C1048576" s="0"/>')), format="excel")
    assert table.values.shape == (2, 2)


def test_entities_of_a_sheet_are_not_expanded():
    define = '<!DOCTYPE worksheet [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>'
    with pytest.raises(TableError, match=r"Excel workbook|entities"):
        read_table(workbook(row(1, cell("A1", "&b;")), define), format="excel")


@pytest.mark.parametrize("encoding", ["dictionary", "plain", "prefixes"])
def test_one_long_text_in_many_rows_of_parquet(encoding, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    count = 500 if encoding == "dictionary" else 10
    codes = arrow.array(np.zeros(count, np.int32))
    text: Any = arrow.DictionaryArray.from_arrays(codes, ["a" * 4_000_000])
    options: dict[str, Any] = {"use_dictionary": True}
    if encoding != "dictionary":
        kind = {"plain": "PLAIN", "prefixes": "DELTA_BYTE_ARRAY"}[encoding]
        options = {"use_dictionary": False, "column_encoding": {"t": kind, "x": "PLAIN"}}
        text = text.dictionary_decode()
    table = arrow.table({"t": text, "x": list(range(count))})
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path, compression="zstd", store_schema=False, **options)
    assert path.stat().st_size < 10_000
    found = read_table(path)
    assert found.columns == ["x"]
    assert found.dropped == [("t", "text, for example 'aaaaaaaaaaaaaaaaaaa…'")]
    named = read_table(path, id="t")
    if encoding == "dictionary":
        assert len({id(name) for name in named.index}) == 1  # one text, of which all rows are


def test_a_few_bytes_of_parquet_that_are_a_thousand_million_rows(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    block = arrow.table({"x": arrow.array(np.zeros(10_000_000, np.int8))})
    with parquet.ParquetWriter(tmp_path / "t.parquet", block.schema) as writer:
        for _ in range(10):
            writer.write_table(block, row_group_size=10_000_000)
    with pytest.raises(TableError, match="which cannot be true"):
        read_table(tmp_path / "t.parquet")


def test_one_long_name_of_a_row():
    lines = [f"{i},{i % 7},{i % 3}" for i in range(20_000)]
    lines[5000] = f"{'a' * 200_000},1,2"
    tracemalloc.start()
    table = read_table(io.BytesIO(("id,x,y\n" + "\n".join(lines)).encode()), id="id")
    assert table.index.dtype == object
    assert len(table.index[5000]) == 200_000
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


def test_text_of_fixed_width_beside_numbers():
    content = io.BytesIO()
    names = np.array([b"a" * 1000] + [b"b"] * 999)
    np.savez_compressed(content, X=np.eye(1000)[:, :3], names=names)
    content.seek(0)
    assert read_table(content, id="names", format="npz").index.dtype == object


def vlen_references(n_rows: int, size: int) -> bytes:
    """An AnnData file in which all rows refer to one stored text."""
    h5py = pytest.importorskip("h5py")
    anndata = pytest.importorskip("anndata")
    file = io.BytesIO()
    adata = anndata.AnnData(np.ones((n_rows, 2)))
    adata.obs["note"] = [f"{i}" for i in range(n_rows)]
    path = file
    with h5py.File(path, "w") as h5:
        anndata.io.write_elem(h5, "X", adata.X)
        anndata.io.write_elem(h5, "var", adata.var)
        anndata.io.write_elem(h5, "obs", adata.obs)
        text = h5py.string_dtype()
        one = h5.create_dataset("one", shape=(1,), dtype=text)
        one[0] = "a" * size
        h5.flush()
        at = one.id.get_offset()
        reference = file.getvalue()[at : at + 16]
        attributes = dict(h5["obs/note"].attrs)
        del h5["obs/note"]
        many = h5.create_dataset(
            "obs/note", shape=(n_rows,), dtype=text, chunks=(n_rows,), compression="gzip"
        )
        many.id.write_direct_chunk((0,), zlib.compress(reference * n_rows))
        many.attrs.update(attributes)
    return file.getvalue()


def test_references_to_one_text_of_hdf5(tmp_path):
    path = tmp_path / "t.h5ad.gz"
    path.write_bytes(gzip.compress(vlen_references(1000, 4_000_000)))
    assert path.stat().st_size < 100_000
    with pytest.raises(TableError, match="bytes but needs more than"):
        read_table(path, format="h5ad")
    few = tmp_path / "few.h5ad"
    few.write_bytes(vlen_references(5, 4_000))
    assert read_table(few).values.shape == (5, 2)


def test_many_equal_names_take_linear_time():
    def seconds(count: int) -> float:
        begun = time.process_time()
        names, notes = unique_names(["a"] * count)
        assert len(set(names)) == count
        assert len(notes) == 11
        return time.process_time() - begun

    seconds(1000)
    # Quadratic time would be 400 times as long.
    assert seconds(40_000) < 150 * max(seconds(2000), 0.002)


def test_numbers_that_equal_names_get_are_not_taken():
    assert unique_names(["a", "a_2", "a", "a"])[0] == ["a", "a_2", "a_3", "a_4"]
    assert unique_names(["column", None, "column_2", None])[0][1] not in ("column", "column_2")


def test_frames_of_many_columns_of_one_name():
    content = io.BytesIO((",".join(["a"] * 3000) + "\n" + ",".join(["1"] * 3000)).encode())
    table = read_table(content)
    assert len(set(table.columns)) == 3000
    assert table.notes[-1].startswith("2,989 more columns") or len(table.notes) < 30


def test_long_names_of_a_graph(tmp_path):
    from unispectral.graph.files import write_graph

    names = ["a" * 200_000, *map(str, range(999))]
    with pytest.raises(ValueError, match="a name of 200,000 characters"):
        write_graph(tmp_path / "g.npz", np.eye(1000), names=names)
    write_graph(tmp_path / "g.csv", np.eye(1000), names=names)
    assert len(pd.read_csv(tmp_path / "g.csv")) == 1000
