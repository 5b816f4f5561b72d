"""Large tables in blocks, and results as files."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from unispectral.tables import TableError, open_rows, read_table, write_table

X = np.random.default_rng(0).normal(size=(1003, 5))


def make(kind, folder, values):
    path = folder / f"x.{kind}"
    if kind == "npy":
        np.save(path, values)
    elif kind == "parquet":
        frame = pd.DataFrame(values, columns=list("abcde"))
        frame.insert(2, "text", "word")
        frame.to_parquet(path, row_group_size=100)
    elif kind == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file.create_dataset("X", data=values, chunks=(64, 5), compression="gzip")
    else:
        zarr = pytest.importorskip("zarr")
        zarr.save(str(path), values)
    return path


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["npy", "parquet", "h5", "zarr"])
def test_blocks(kind, dtype, tmp_path):
    values = X.astype(dtype)
    with open_rows(make(kind, tmp_path, values)) as rows:
        assert rows.shape == (1003, 5)
        assert len(rows) == 1003
        assert rows.dtype == dtype
        blocks = list(rows.iter_blocks(170))
        assert [len(block) for block in blocks] == [170] * 5 + [153]
        np.testing.assert_array_equal(np.concatenate(blocks), values)
        assert all(block.flags.c_contiguous and block.flags.writeable for block in blocks)
        some = np.random.default_rng(1).integers(-1003, 1003, size=50)
        np.testing.assert_array_equal(rows[some], values[some])
        np.testing.assert_array_equal(rows.take(some, block=7), values[some])
        np.testing.assert_array_equal(rows[[]], values[[]])
        for index in (slice(95, 205), slice(None, None, 300), slice(-5, None), slice(9, 3), 7, -1):
            np.testing.assert_array_equal(rows[index], values[index])
        with pytest.raises(IndexError):
            rows[1003]
        with pytest.raises(IndexError):
            rows[[0, 1003]]
        with pytest.raises(TypeError):
            rows[[0.5]]
        with pytest.raises(ValueError, match="size=0 must be at least 1"):
            next(rows.iter_blocks(0))


def test_columns_of_parquet(tmp_path):
    path = make("parquet", tmp_path, X)
    rows = open_rows(path, columns=["e", "a"])
    np.testing.assert_array_equal(rows[:], X[:, [4, 0]])
    rows.close()
    with pytest.raises(TableError, match="columns='text' is not a numeric column of"):
        open_rows(path, columns=["text"])
    pd.DataFrame({"t": ["a"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TableError, match="no numeric column"):
        open_rows(tmp_path / "t.parquet")


def test_integers_and_booleans(tmp_path):
    pd.DataFrame({"i": [1, 2], "b": [True, False]}).to_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(open_rows(tmp_path / "t.parquet")[:], [[1, 1], [2, 0]])
    np.save(tmp_path / "t.npy", np.array([[1], [2]], dtype=">i2"))
    assert open_rows(tmp_path / "t.npy")[:].dtype == np.float64


@pytest.mark.parametrize("kind", ["npy", "parquet", "h5", "zarr"])
def test_missing_value_is_named(kind, tmp_path):
    values = X.copy()
    values[701, 3] = np.nan
    rows = open_rows(make(kind, tmp_path, values))
    column = "d" if kind == "parquet" else "column_4"
    with pytest.raises(TableError, match=f"row 701, column '{column}'"):
        list(rows.iter_blocks(200))
    rows.close()


def test_faults(tmp_path):
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(TableError, match="has 3 dimensions"):
        open_rows(tmp_path / "cube.npy")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    with pytest.raises(TableError, match="not numbers"):
        open_rows(tmp_path / "text.npy")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="is csv, which cannot be read in blocks"):
        open_rows(tmp_path / "x.csv")
    with pytest.raises(ValueError, match="columns can be chosen from Parquet only"):
        open_rows(make("npy", tmp_path, X), columns=["a"])
    with pytest.raises(TableError, match="cannot be read: no such file"):
        open_rows(tmp_path / "nope.npy")
    with pytest.raises(TableError, match="does not exist"):
        open_rows(tmp_path / "nope", format="zarr")
    with pytest.raises(TableError, match="not a Zarr array"):
        open_rows(tmp_path)
    path = make("parquet", tmp_path, X)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(TableError, match="not a Parquet file, or is damaged"):
        open_rows(path)
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    assert list(open_rows(tmp_path / "empty.npy").iter_blocks()) == []


def test_choice_of_data_set(tmp_path):
    h5py = pytest.importorskip("h5py")
    zarr = pytest.importorskip("zarr")
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["a"], file["b"] = np.eye(2), 2 * np.eye(2)
    with pytest.raises(TableError, match=r"has 2 two-dimensional data sets .*'a', 'b'"):
        open_rows(tmp_path / "two.h5")
    with open_rows(tmp_path / "two.h5", key="b") as rows:
        assert rows[0].tolist() == [2.0, 0.0]
    zarr.save(str(tmp_path / "two.zarr"), a=np.eye(2), b=2 * np.eye(2))
    with pytest.raises(TableError, match="has 2 arrays"):
        open_rows(tmp_path / "two.zarr")
    assert open_rows(tmp_path / "two.zarr", key="b")[0].tolist() == [2.0, 0.0]


COLUMNS = {"row": ["a", 'b"c', "d,é"], "cluster": np.array([0, 1, 1]), "score": [0.5, np.nan, 1.0]}


def test_write_csv_json_parquet(tmp_path, capsys):
    write_table(tmp_path / "t.csv", COLUMNS)
    expected = 'row,cluster,score\na,0,0.5\n"b""c",1,\n"d,é",1,1.0\n'
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == expected
    write_table("-", COLUMNS, "tsv")
    assert capsys.readouterr().out == 'row\tcluster\tscore\na\t0\t0.5\n"b""c"\t1\t\nd,é\t1\t1.0\n'
    write_table(tmp_path / "t.json", COLUMNS)
    records = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert records[1] == {"row": 'b"c', "cluster": 1, "score": None}
    write_table(tmp_path / "t.parquet", COLUMNS)
    back = pd.read_parquet(tmp_path / "t.parquet")
    assert back["cluster"].tolist() == [0, 1, 1]
    assert back["row"].tolist() == COLUMNS["row"]
    table = read_table(tmp_path / "t.csv", id="row", impute="zero")
    np.testing.assert_array_equal(table.values, [[0, 0.5], [1, 0], [1, 1]])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv", "t.json", "t.parquet"]


def test_write_faults(tmp_path):
    with pytest.raises(ValueError, match="format=None must be one of csv, tsv, json, parquet"):
        write_table(tmp_path / "t.doc", COLUMNS)
    with pytest.raises(ValueError, match="columns must be lists of one length"):
        write_table(tmp_path / "t.csv", {})
    with pytest.raises(ValueError, match="lists of one length"):
        write_table(tmp_path / "t.csv", {"a": [1], "b": [1, 2]})
    with pytest.raises(ValueError, match="standard output, which Parquet cannot use; name a file"):
        write_table("-", COLUMNS, "parquet")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_table(tmp_path / "none" / "t.csv", COLUMNS)
    assert list(tmp_path.iterdir()) == []


HOSTILE = ["=cmd|' /C calc'!A0", "+1+2", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-x", "＝1"]
HARMLESS = ["-1.5", "+7", "1e-3", "Ulm", "'s-Hertogenbosch", "a=b", "", "é"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_no_spreadsheet_runs_what_is_written(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    ids = HOSTILE + HARMLESS
    write_table(path, {"=id": ids, "cluster": np.arange(len(ids)) - 1})
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file, delimiter=",\t"[ending == "tsv"]))
    assert head[0] == "'=id"
    found = [row[0] for row in rows]
    assert found == [f"'{cell}" for cell in HOSTILE] + HARMLESS
    assert rows[0][1] == "-1"  # a number is no formula
    undone = [cell[1:] if re.match("'+[=+\\-@\t\r\n＝＋－＠]", cell) else cell for cell in found]
    assert undone == ids
    write_table(path, {"id": ids}, escape_formulas=False)
    with path.open(encoding="utf-8", newline="") as file:
        assert [row[0] if row else "" for row in csv.reader(file)][1:][0].startswith("=cmd")


def test_json_and_parquet_keep_text_as_it_is(tmp_path):
    write_table(tmp_path / "t.json", {"id": HOSTILE})
    assert [row["id"] for row in json.loads((tmp_path / "t.json").read_text("utf-8"))] == HOSTILE
    write_table(tmp_path / "t.parquet", {"id": HOSTILE})
    assert pd.read_parquet(tmp_path / "t.parquet")["id"].tolist() == HOSTILE
