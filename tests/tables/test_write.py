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
HOSTILE += [
    " =1",
    "a,  =1",
    "a; +cmd()",
    "a;=cmd()",
    "a\t+x",
    "a|@b",
    "a,-b",
    "a\n=1",
    "x;'=1",
    "-1,5+cmd()",
    "=a;=b",
]
HARMLESS = ["x;-2", "a;b", "-1.5", "+7", "1e-3", "Ulm", "'s-Hertogenbosch", "a=b", "", "é"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_no_spreadsheet_runs_what_is_written(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    ids = HOSTILE + HARMLESS
    write_table(path, {"=id": ids, "cluster": np.arange(len(ids)) - 1})
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file, delimiter=",\t"[ending == "tsv"]))
    assert head[0] == "'=id"
    found = [row[0] for row in rows]
    assert [cell for cell in found if cell in ids] == HARMLESS
    assert rows[0][1] == "-1"  # a number is no formula
    # As the head of the module says it is undone.
    begins = "(^ *)'(?='*[=+\\-@\t\r\n＝＋－＠])|([,;\t|\r\n] *)'(?='*[=+\\-@＝＋－＠])"
    assert [re.sub(begins, r"\1\2", cell) for cell in found] == ids


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_no_separator_makes_a_cell_run(ending, separator, tmp_path):
    """An id that is harmless as a whole is cut where the reader has another separator."""
    path = tmp_path / f"t.{ending}"
    ids = [f"a{mark}{text}" for mark in ",;\t|\r\n" for text in ("=cmd()", "-1,5+cmd()", "''@x")]
    write_table(path, {"cluster": np.zeros(len(ids), int), "id": [*ids]})
    text = path.read_bytes().decode()
    cells = [cell for row in csv.reader(text.splitlines(), delimiter=separator) for cell in row]
    assert not [cell for cell in cells if re.match("[=+\\-@]", cell)]
    # Nor for a program that knows no quotes.
    assert not [cell for cell in re.split(f"[\r\n{separator}]", text) if re.match("[=+@-]", cell)]


def test_json_and_parquet_keep_text_as_it_is(tmp_path):
    write_table(tmp_path / "t.json", {"id": HOSTILE})
    assert [row["id"] for row in json.loads((tmp_path / "t.json").read_text("utf-8"))] == HOSTILE
    write_table(tmp_path / "t.parquet", {"id": HOSTILE})
    assert pd.read_parquet(tmp_path / "t.parquet")["id"].tolist() == HOSTILE
