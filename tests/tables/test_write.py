"""Results as files."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

from unispectral.tables import read_table
from unispectral.tables._write import write_table

COLUMNS = {"row": ["a", 'b"c', "d,é"], "cluster": np.array([0, 1, 1]), "score": [0.5, np.nan, 1.0]}


def test_write_csv_json_parquet(tmp_path, capsys):
    write_table(tmp_path / "t.csv", COLUMNS)
    expected = 'row,cluster,score\na,0,0.5\n"b""c",1,\n"d,é",1,1.0\n'
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == expected
    write_table("-", COLUMNS)
    assert capsys.readouterr().out == expected
    write_table(tmp_path / "t.tsv", COLUMNS)
    expected = 'row\tcluster\tscore\na\t0\t0.5\n"b""c"\t1\t\nd,é\t1\t1.0\n'
    assert (tmp_path / "t.tsv").read_text(encoding="utf-8") == expected
    write_table(tmp_path / "t.json", COLUMNS)
    records = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert records[1] == {"row": 'b"c', "cluster": 1, "score": None}
    write_table(tmp_path / "t.parquet", COLUMNS)
    back = pd.read_parquet(tmp_path / "t.parquet")
    assert back["cluster"].tolist() == [0, 1, 1]
    assert back["row"].tolist() == COLUMNS["row"]
    table = read_table(tmp_path / "t.csv", id="row", impute="zero")
    np.testing.assert_array_equal(table.values, [[0, 0.5], [1, 0], [1, 1]])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv", "t.json", "t.parquet", "t.tsv"]


def test_write_faults(tmp_path):
    with pytest.raises(ValueError, match="longer than argument 1"):
        write_table(tmp_path / "t.csv", {"a": [1], "b": [1, 2]})
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


def test_json_and_parquet_keep_text_as_it_is(tmp_path):
    write_table(tmp_path / "t.json", {"id": HOSTILE})
    assert [row["id"] for row in json.loads((tmp_path / "t.json").read_text("utf-8"))] == HOSTILE
    write_table(tmp_path / "t.parquet", {"id": HOSTILE})
    assert pd.read_parquet(tmp_path / "t.parquet")["id"].tolist() == HOSTILE
