"""Parquet columns of lists: vectors become columns, anything else stays as it is."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as arrow
from pyarrow import parquet

from unispectral.tables import TableError, read_table
from unispectral.tables._texts import read_texts

ROWS = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)


def written(**columns: Any) -> io.BytesIO:
    made = io.BytesIO()
    parquet.write_table(arrow.table(columns), made, row_group_size=70, compression="zstd")
    made.seek(0)
    return made


@pytest.mark.parametrize("kind", ["list", "large_list", "fixed", "half", "bytes"])
def test_vectors_of_every_kind_are_the_numbers_that_were_written(kind) -> None:
    expected = ROWS.copy()
    if kind == "list":
        column = arrow.array(list(ROWS), arrow.list_(arrow.float32()))
    elif kind == "large_list":
        column = arrow.array(list(ROWS), arrow.large_list(arrow.float32()))
    elif kind == "fixed":
        column = arrow.array(list(ROWS), arrow.list_(arrow.float32(), ROWS.shape[1]))
    elif kind == "half":
        expected = ROWS.astype(np.float16)
        column = arrow.array(list(expected), arrow.list_(arrow.float16()))
    else:
        expected = np.rint(20 * ROWS).astype(np.int8)
        column = arrow.array(list(expected), arrow.list_(arrow.int8()))
    for encode in (False, True):
        table = read_table(written(e=column), encode=encode)
        assert table.columns == [f"e_{place}" for place in range(20)]
        assert np.array_equal(table.values, expected.astype(table.values.dtype))


def test_vectors_lie_beside_other_columns_and_names_stay_apart() -> None:
    values = list(ROWS)
    table = read_table(written(v=values, e=list(2 * ROWS), v_3=np.arange(300.0)))
    assert table.columns[0] == "v_3"
    assert len(set(table.columns)) == 41
    assert np.array_equal(table.values[:, 1:21], ROWS)
    assert np.array_equal(table.values[:, 21:], 2 * ROWS)


def test_a_row_without_a_vector_is_a_gap() -> None:
    values: list[Any] = list(ROWS)
    values[7] = None
    values[9] = np.array([np.nan, *ROWS[9, 1:]], dtype=np.float32)
    with pytest.raises(TableError, match="missing value"):
        read_table(written(e=values), impute="refuse")
    table = read_table(written(e=values), impute="median")
    rest = np.delete(ROWS, 7, axis=0)
    assert np.allclose(table.values[7, 1:], np.median(rest[:, 1:], axis=0))
    assert np.array_equal(table.values[8], ROWS[8])


def test_lists_of_unlike_lengths_are_no_vectors() -> None:
    values: list[Any] = [[1.0] * (1 + row % 3) for row in range(300)]
    table = read_table(written(e=values, x=np.arange(300.0), t=[["a"]] * 300))
    assert table.columns == ["x"]
    assert [name for name, _ in table.dropped] == ["e", "t"]


def test_a_few_bytes_that_are_many_vectors_are_not_believed() -> None:
    count = 2_000_000
    values = arrow.array(np.zeros(16 * count, dtype=np.float32))
    column = arrow.FixedSizeListArray.from_arrays(values, 16)
    made = io.BytesIO()
    parquet.write_table(arrow.table({"e": column}), made, compression="zstd")
    assert made.tell() < 100_000
    made.seek(0)
    with pytest.raises(TableError, match="cannot be true"):
        read_table(made)


def test_texts_come_from_lines_or_from_the_longest_column(tmp_path) -> None:
    (tmp_path / "t.txt").write_text("\ufeffone text\r\n\nlast", encoding="utf-8")
    assert read_texts(str(tmp_path / "t.txt"))[0].tolist() == ["one text", "", "last"]
    (tmp_path / "t.csv").write_text("id,word,body\n1,a,long text\n2,b,\n", encoding="utf-8")
    found, where = read_texts(str(tmp_path / "t.csv"))
    assert found.tolist() == ["long text", ""]
    assert where == "column 'body' of 't.csv'"
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match="UTF-8"):
        read_texts(str(tmp_path / "bad.txt"))


def test_a_table_without_texts_is_told_what_to_give(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"has no column of texts; give a \.txt file"):
        read_texts(str(path))
