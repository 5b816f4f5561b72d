"""Reading the tables that people have: every decision said, every fault a sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral.tables import Table, TableError, read_table
from unispectral.tables._preparation import Preparation

MIXED = """name,day,x,y,colour,empty
A,2020-01-02,1,2.5,red,
B,2020-02-03,2,,blue,
C,2020-03-01,4,1.5,red,
"""


def text(content, encoding="utf-8"):
    return io.BytesIO(content.encode(encoding))


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "x": [1, 2, 4],
            "half": np.array([1.5, 2.5, 0.5], dtype=np.float32),
            "when": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01"]),
            "kind": pd.Categorical(["u", "v", "u"]),
            "money": [Decimal("1.5"), Decimal(2), None],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "yes": [True, False, True],
        }
    )


def test_mixed_columns():
    table = read_table(text(MIXED), id="name", truth="colour", impute="mean")
    assert table.columns == ["x", "y"]
    np.testing.assert_allclose(table.values, [[1, 2.5], [2, 2], [4, 1.5]])
    assert table.index.tolist() == ["A", "B", "C"]
    assert table.truth.tolist() == ["red", "blue", "red"]
    assert table.dropped == [
        ("day", "text, for example '2020-01-02'"),
        ("empty", "no value present"),
    ]
    assert table.describe()[:2] == [
        "3 rows, 2 columns.",
        "Left out: 'day' (text, for example '2020-01-02'), 'empty' (no value present).",
    ]


def test_missing_values_offer_impute():
    sentence = r"impute must be given: 1 missing value in 'y' \(1\); choose 'mean', 'median' or "
    with pytest.raises(TableError, match=sentence + ".* numbers of text, too: 'name', 'day'"):
        read_table(text(MIXED))
    with pytest.raises(TableError, match=sentence + "'zero', or leave these columns out.$"):
        read_table(text(MIXED), columns=["x", "y"])


@pytest.mark.parametrize(("impute", "value"), [("mean", 2.0), ("median", 2.0), ("zero", 0.0)])
def test_impute(impute, value):
    assert read_table(text(MIXED), impute=impute).values[1, 1] == value


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a;b\n1,5;2\n3,5;4\n", [[1.5, 2], [3.5, 4]]),
        ("a\tb\n1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        ("a|b\r\n1|2\r\n3|4\r\n", [[1, 2], [3, 4]]),
        ("1 2\n3 4\n", [[1, 2], [3, 4]]),
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("x\n1\n2\n", [[1], [2]]),
        ('a,"b\nc"\n1,2\n3,4\n', [[1, 2], [3, 4]]),
        (",a,b\n0,1,2\n1,3,4\n", [[1, 2], [3, 4]]),
        ("a,b\nr1,1,2\nr2,3,4\n", [[1, 2], [3, 4]]),
        ("0,1\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("a,b,\n1,2,\n3,4,\n", [[1, 2], [3, 4]]),
        ("\n\na,b\n1,2\n\n3,4\n", [[1, 2], [3, 4]]),
        ("0,1;1,2\n0,2;1,1\n", [[0.1, 1.2], [0.2, 1.1]]),
        ("red;1,5\nblue;2,5\n", [[1.5], [2.5]]),
        ("x y\n0,1 1,2\n0,2 1,1\n", [[0.1, 1.2], [0.2, 1.1]]),
        ("v\n1,5\n2,5\n3,75\n", [[1.5], [2.5], [3.75]]),
        ('"v"\n"1",5\n"2",7\n', [[5], [7]]),
        ("a;b\n1,234;2\n3,456;4\n", [[1.234, 2], [3.456, 4]]),
        ("a;b\n1.234;0.5\n3.456;4\n", [[1.234, 0.5], [3.456, 4]]),
        ("a;b\n1.234;0,5\n950;0,7\n1.234.567,5;6\n", [[1234, 0.5], [950, 0.7], [1234567.5, 6]]),
        ("a;b\n1.234;0,5\n12.5;0,7\n", [[1.234, 0.5], [12.5, 0.7]]),
        ("a|b\n1,5|2\n3,5|4\n", [[1.5, 2], [3.5, 4]]),
        ("a,b\n1,2,\n3,4,\n", [[1, 2], [3, 4]]),
        ("a,b\n1,2\n  \n3,4\n", [[1, 2], [3, 4]]),
        ('t,a,b\n"' + "line\n" * 60 + '",1,2\nx,3,4\n', [[1, 2], [3, 4]]),
    ],
)
def test_kinds_of_text(content, values):
    np.testing.assert_array_equal(read_table(text(content)).values, values)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding):
    table = read_table(text("größe,b\n1,2\n3,5\n", encoding))
    assert table.columns == ["größe", "b"]
    assert any("Latin-1" in note for note in table.notes) == (encoding == "latin-1")


@pytest.mark.parametrize(
    "names",
    [
        ["007", "008", "012"],
        ["18446744073709551001", "18446744073709551002", "18446744073709551003"],
        ["NA", "null", "x"],
        ["1E00", "1.50", "True"],
        ["1", "", "3"],
        ["-0", "0", "1_0"],
    ],
)
@pytest.mark.parametrize("head", ["id", ""])
def test_names_of_rows_are_kept_as_they_are_written(names, head):
    rows = "".join(f"{name},{i},{i * i}\n" for i, name in enumerate(names))
    table = read_table(text(f"{head},x,y\n{rows}"), id=head or None)
    assert table.index.tolist() == names
    assert table.columns == ["x", "y"]


def test_whole_numbers_as_names_and_classes():
    table = read_table(text("id,x,y\n3,1,-2\n10,2,4\n"), id="id", truth="y")
    assert (table.index.tolist(), table.truth.tolist()) == ([3, 10], [-2, 4])


def test_classes_named_as_missing_values():
    content = "x,y\n1,None\n2,NA\n3,?\n"
    assert read_table(text(content), truth="y").truth.tolist() == ["None", "NA", "?"]
    with pytest.raises(TableError, match="truth='y' has 1 missing value"):
        read_table(text(content), truth="y", missing=["?"])


def test_large_and_missing_names_in_parquet(tmp_path):
    big = 2**64 - 615
    frame = pd.DataFrame({"a": np.array([big, 1], np.uint64), "b": [7.0, None], "c": [1e300, 1.0]})
    frame.assign(x=[1, 2]).to_parquet(tmp_path / "t.parquet")
    names = {name: read_table(tmp_path / "t.parquet", id=name, columns=["x"]) for name in "abc"}
    assert names["a"].index.tolist() == [big, 1]
    assert names["b"].index.tolist() == ["7", ""]
    assert names["c"].index.tolist() == ["1e+300", "1"]


def test_header_choice_and_notes():
    years = "2001,2002\n1,2\n3,4\n"
    assert read_table(text(years)).columns == ["2001", "2002"]
    assert "(--no-header)" in read_table(text(years)).notes[0]
    assert read_table(text(years), header=False).values.shape == (3, 2)
    numbers = "201,202\n1,2\n3,4\n"
    assert read_table(text(numbers)).values.shape == (3, 2)
    assert read_table(text(numbers), header=True).columns == ["201", "202"]
    assert "no header" in read_table(text(numbers)).notes[0]
    assert read_table(text("2001,2002\n1950,1980\n")).values.shape == (2, 2)
    german = "a;b\n1.234;0,5\n950;0,7\n"
    commas = ["Numbers are written with a decimal comma.", "Points mark thousands in 'a'."]
    assert read_table(text(german)).notes == commas
    assert "only numbers the rows" in read_table(text("n,x\n1,5\n2,5\n3,4\n")).notes[0]


@pytest.mark.parametrize(
    ("lines", "header", "note"),
    [
        (["5.1,3.5,a", "5.2,3.4,a", "1.1,9.5,b"], False, "header=True (--header)"),
        (["39,State,77516", "50,Self,83311"], False, "header=True (--header)"),
        (["5.1,?,a", "5.2,3.4,a"], False, "header=True (--header)"),
        (["a,2019", "b,2020", "c,2020"], False, "header=True (--header)"),
        (["a,1,2", "b,2,3", "c,7,9"], False, "header=True (--header)"),
        (["name,2019,2020", "a,1.5,2", "b,2,3"], True, "header=False (--no-header)"),
        (["name,10,20,30", "a,1,2,5", "b,2,3,9"], True, "header=False (--no-header)"),
        (["x,2019,colour", "1,5,red", "2,3,blue"], True, ""),
        ([",0", "0,5.5", "1,3"], True, ""),
        (["x,1", "a,b", "c,3d"], True, ""),
    ],
)
def test_a_first_line_with_numbers(lines, header, note):
    table = read_table(text("\n".join(lines)), encode=True)
    assert len(table.values) == len(lines) - header
    assert any(note in said for said in table.notes) or not note
    assert any("first line" in said for said in table.notes) == bool(note)


@pytest.mark.parametrize(
    ("name", "column", "note"),
    [
        (
            "n",
            np.arange(5),
            "only numbers the rows; if it is their name, give it as the id (--id).",
        ),
        ("n", (np.arange(12) * 5) % 12, "only numbers the rows"),
        ("n", (np.arange(21) * 977) % 9973, "may only name the rows"),
        ("ID", [1, 1, 2, 2], "may only name the rows"),
        ("Class", [1, 1, 2, 2], "if it holds known classes, give it as the truth (--truth)"),
        ("n", [4, 7, 1, 2], ""),
        ("n", np.arange(21) * 0.5, ""),
    ],
)
def test_columns_that_are_no_features(name, column, note):
    frame = pd.DataFrame({name: column, "x": np.arange(len(column)) % 2})
    content = frame.to_csv(index=False)
    assert note in " ".join(read_table(text(content)).notes)
    assert bool(read_table(text(content)).notes) == bool(note)
    assert read_table(text(content), columns=[name]).notes == []
    many = pd.concat([frame.add_suffix(f"_{i}") for i in range(11)], axis=1).to_csv(index=False)
    assert not any("stands for" in note for note in read_table(text(many)).notes)


def test_classes_made_of_text_are_noticed_too():
    content = text("class,x\na,1.5\nb,2.5\na,5\n")
    told = read_table(content, encode=True).describe()
    assert "Used, but doubtful: 'class' (may hold known classes)." in told


def test_duplicate_names():
    table = read_table(text("a,a,b,a_2\n1,2,3,4\n"))
    assert table.columns == ["a", "a_3", "b", "a_2"]
    assert "Another column is named 'a'" in table.notes[0]


def test_lines_longer_than_the_sample():
    names = ",".join(f"gene_{i}" for i in range(20_000))
    row = ",".join(["1.25"] * 20_000)
    assert read_table(text(f"{names}\n{row}\n{row}\n")).values.shape == (2, 20_000)


def test_numbers_are_exact():
    values = np.random.default_rng(0).normal(size=(200, 3)) * 10.0 ** np.arange(-3, 6, 3)
    content = pd.DataFrame(values, columns=list("abc")).to_csv(index=False)
    np.testing.assert_array_equal(read_table(text(content)).values, values)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("  \n \n", "is empty"),
        ("a,b\n", "has a header but no rows"),
        ("a,b\n1,2\n3,4,5\n", "uneven: row 2 has 3 values for 2 columns"),
        ("a,b\n1,2\n3\n", "uneven: row 2 has 1 value for 2 columns"),
        ("a,b\n" + "1,2\n" * 999 + "3\n", "uneven: line 1001 has 1 value for"),
        ("a,b\n" + "1,2\n" * 999 + "3,4,5\n", "uneven: line 1001 has 3 values"),
        ("a,b\n" + "1,2\n" * 99 + '"3,4\n', "quote|uneven"),
        ("a,b\nx,y\nz,w\n", r"no numeric column \('a': text, for example 'x'"),
        ("a,b\n1,inf\n2,3\n", "has 1 infinite value in 'b' .1.; replace"),
        ("a,b\n1,\x00\n", "format of the open file is not known"),
        ('a,b\n1,"' + "x" * 200_000 + '"\n', "a cell of more than 131,072 characters"),
    ],
)
def test_faulty_text(content, sentence):
    with pytest.raises(TableError, match=sentence):
        read_table(text(content))


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"id": "nme"}, TableError, "id='nme' is not in the open file; perhaps 'name' is meant"),
        ({"truth": "zzz"}, TableError, "truth='zzz' is not in .*; it has 'name', 'day'"),
        ({"truth": "y"}, TableError, "truth='y' has 1 missing value"),
        ({"columns": ["colour"]}, TableError, "columns='colour' cannot be clustered: text"),
        ({"columns": ["q*"]}, TableError, r"columns='q\*' is not in"),
        ({"columns": "x"}, TypeError, "columns='x' must be a list of names"),
        ({"scale": "wide"}, ValueError, "scale='wide' must be one of 'auto', 'none', 'standard'"),
        ({"scale": "log"}, ValueError, "scale='log' is for encode=True; give both"),
        ({"leave_out": ["x"]}, ValueError, "leave_out is for encode=True; give both"),
        ({"impute": "knn"}, ValueError, "impute='knn' must be one of None, 'mean'"),
        ({"id": "x", "truth": "x"}, TableError, "truth='x' is already the id; name another"),
        ({"id": "x", "columns": ["x", "y"]}, TableError, "columns='x' is already the id; leave"),
        ({"truth": "x", "columns": ["x"]}, TableError, "columns='x' is already the truth"),
        ({"separator": ",,"}, TableError, "separator=',,' must be one character, such as ';'"),
        ({"key": "x"}, TableError, "key is not for csv, which the open file is; leave it out"),
        ({"format": "xml"}, ValueError, "format='xml' must be one of csv, tsv, .* hdf5"),
        ({"encoding": "klingon"}, TableError, "encoding='klingon' is not the encoding of"),
        ({"preparation": Preparation(("x",)), "scale": "unit"}, ValueError, "give only one"),
    ],
)
def test_faulty_options(options, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        read_table(text(MIXED), **options)
    assert isinstance(caught.value, InputError)
    assert caught.value.argument in options


def test_sources(tmp_path):
    with pytest.raises(TableError, match=r"The file '.*nope\.csv' cannot be read: no such file"):
        read_table(tmp_path / "nope.csv")
    with pytest.raises(TableError, match="cannot be read: is a directory"):
        read_table(tmp_path)
    with pytest.raises(TypeError, match="source=3 must be a path"):
        read_table(3)
    with pytest.raises(TypeError, match="binary mode"):
        read_table(io.StringIO("a,b"))
    with pytest.raises(TableError, match="cannot be read: embedded null"):
        read_table("a\x00b")


def test_standard_input():
    code = "from unispectral.tables import read_table as r; t = r('-'); print(t.values.tolist())"
    run = subprocess.run(
        [sys.executable, "-c", code], input=b"a,b\n1,2\n", capture_output=True, check=True
    )
    assert run.stdout.split() == b"[[1.0, 2.0]]".split()


@pytest.mark.parametrize("separator", ["\t", "\\t", "tab"])
def test_tabs_as_people_type_them(separator):
    table = read_table(text("a,c\tb\n1\t2\n3\t4\n"), separator=separator)
    assert table.columns == ["a,c", "b"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_its_mark(encoding, tmp_path):
    (tmp_path / "t.csv").write_text("größe,b\n1,2\n3,5\n", encoding)
    with pytest.raises(TableError, match=f"encoding must be given: .* UTF-16 .* try '{encoding}'"):
        read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv", encoding=encoding).columns == ["größe", "b"]


@pytest.mark.parametrize("ending", ["json", "jsonl", "mtx", "html", "ods"])
def test_kinds_that_are_not_read(ending, tmp_path):
    (tmp_path / f"t.{ending}").write_text('[{"a": 1}]')
    with pytest.raises(
        TableError, match=rf"kind that is not read \({ending}\); save it as one of csv"
    ):
        read_table(tmp_path / f"t.{ending}")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("parquet", {"separator": ";", "encoding": "latin-1", "header": False, "key": "a"}),
        ("excel", {"separator": ";", "encoding": "latin-1"}),
        ("npy", {"header": True, "missing": ["?"], "key": "a"}),
        ("npz", {"header": True, "missing": ["?"]}),
    ],
)
def test_options_that_a_format_cannot_use(kind, options):
    for name, value in options.items():
        with pytest.raises(
            TableError, match=rf"^{name} is not for {kind}, which the open file is"
        ):
            read_table(text("a"), format=kind, **{name: value})


def test_wrong_words_and_patterns():
    content = "p1,p2,b\n1,1,1\n?,2,5\n3,3,2\n"
    assert read_table(text(content)).dropped == [
        ("p1", "1 of 3 values are not numbers, such as '?'")
    ]
    table = read_table(text(content), missing=["?"], impute="median", columns=["p*"])
    np.testing.assert_array_equal(table.values, [[1, 1], [2, 2], [3, 3]])


def test_parquet(frame, tmp_path):
    frame["nested"] = [[1], [2], [3]]
    frame["lasts"] = pd.to_timedelta([1, 2, 3], unit="s")
    frame.set_index("id").to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", impute="zero")
    assert table.index.tolist() == ["a", "b", "c"]
    assert table.columns == ["x", "half", "money", "count", "yes"]
    np.testing.assert_array_equal(table.values[1], [2, 2.5, 2, 0, 0])
    why = dict(table.dropped)
    assert why.keys() == {"when", "kind", "nested", "lasts"}
    assert re.fullmatch(r"datetime64\[\w+\], for example '2020-01-01.*'", why["when"])
    assert why["kind"] == "category, for example 'u'"
    assert why["nested"].startswith("text, for example 'list<")
    assert why["lasts"].startswith("timedelta64")


def test_words_for_missing_values_in_other_formats(tmp_path):
    frame = pd.DataFrame({"x": ["1", "?", "3"], "y": [1, -999, 5], "id": ["?", "b", "c"]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.assign(x=[1, "?", 3]).to_excel(tmp_path / "t.xlsx", index=False)
    for name in ("t.parquet", "t.xlsx"):
        table = read_table(tmp_path / name, id="id", missing=("?", "-999"), impute="zero")
        np.testing.assert_array_equal(table.values, [[1, 1], [0, 0], [3, 5]])
        assert table.index.tolist() == ["?", "b", "c"]


def test_an_index_with_a_name(tmp_path):
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="name"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", id="name").index.tolist() == ["a", "b"]


def test_parquet_keeps_single_precision_and_renames(tmp_path):
    arrays = [pa.array([1, 2], pa.float32()), pa.array([3, 5], pa.float32())]
    pq.write_table(pa.Table.from_arrays(arrays, names=["a", "a"]), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.columns == ["a", "a_2"]
    assert table.values.dtype == np.float32


def test_excel(frame, tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as writer:
        frame.to_excel(writer, sheet_name="one", index=False)
        pd.DataFrame({"z": [1.0, 5.0]}).to_excel(writer, sheet_name="two")
    table = read_table(path, id="id", impute="mean")
    assert table.columns == ["x", "half", "money", "count", "yes"]
    assert [name for name, _ in table.dropped] == ["when", "kind"]
    assert table.dropped[1][1] == "text, for example 'u'"
    told = "Of 2 sheets the first, 'one', is read; the key (--sheet) names another: 'two'."
    assert told in table.notes
    second = read_table(path, key="two")
    assert second.values.ravel().tolist() == [1.0, 5.0]
    assert second.index.tolist() == [0, 1]
    with pytest.raises(
        TableError, match=r"key='three' is not a sheet of .*, which has 'one', 'two'"
    ):
        read_table(path, key="three")


def test_sheets_without_names(tmp_path):
    path = tmp_path / "t.xlsx"
    pd.DataFrame([[5.1, "a"], [1.5, "b"]]).to_excel(path, index=False, header=False)
    assert read_table(path).values.ravel().tolist() == [5.1, 1.5]
    assert "taken as a row" in read_table(path).notes[0]
    assert read_table(path, header=True).columns == ["5.1"]
    pd.DataFrame([["x", "y"], [1, 2]]).to_excel(path, index=False, header=False)
    assert read_table(path).columns == ["x", "y"]
    assert len(read_table(path, header=False, encode=True).values) == 2


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2),
        np.asfortranarray(np.arange(6, dtype=">f4").reshape(3, 2)),
        np.arange(6, dtype=np.uint8).reshape(3, 2),
        np.arange(6, dtype=np.float16).reshape(3, 2),
        np.array([[True, False], [False, True], [True, True]]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_npy(array, tmp_path):
    np.save(tmp_path / "t.npy", array)
    values = read_table(tmp_path / "t.npy").values
    np.testing.assert_array_equal(values, array.astype(float))
    narrow = array.dtype.kind == "f" and array.dtype.itemsize < 8
    assert values.dtype == (np.float32 if narrow else np.float64)
    assert values.flags.c_contiguous
    assert values.dtype.isnative


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros((2, 2, 2)), "has 3 dimensions; a table has two"),
        (np.float64(3), "has 0 dimensions"),
        (np.array(["a"]), "type <U1, not numbers"),
        (np.zeros((2, 2), complex), "type complex128, not numbers"),
        (np.zeros((0, 3)), "has no rows"),
        (np.zeros((3, 0)), "no numeric column"),
    ],
)
def test_npy_that_is_no_table(array, sentence, tmp_path):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(TableError, match=sentence):
        read_table(tmp_path / "t.npy")


def test_npz(tmp_path):
    names = np.array(["p", "q", "r"])
    np.savez_compressed(tmp_path / "t.npz", X=np.eye(3), y=np.array([1, 1, 2]), names=names)
    table = read_table(tmp_path / "t.npz", truth="y", id="names")
    np.testing.assert_array_equal(table.values, np.eye(3))
    assert table.truth.tolist() == [1, 1, 2]
    assert table.index.tolist() == ["p", "q", "r"]
    np.savez(tmp_path / "two.npz", P=np.eye(3), Q=2 * np.eye(3))
    with pytest.raises(TableError, match=r"several variables \('P' \(3, 3\), 'Q' \(3, 3\)\)"):
        read_table(tmp_path / "two.npz")
    assert read_table(tmp_path / "two.npz", key="Q").values[0, 0] == 2
    with pytest.raises(TableError, match="key='R' is not a variable of the file"):
        read_table(tmp_path / "two.npz", key="R")
    with pytest.raises(TableError, match=r"truth='Q' has the shape \(3, 3\)"):
        read_table(tmp_path / "two.npz", truth="Q")


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_sparse_npz(layout, tmp_path):
    matrix = sp.random_array(
        (6, 5), density=0.4, format=layout, random_state=np.random.default_rng(0)
    )
    sp.save_npz(tmp_path / "t.npz", matrix)
    table = read_table(tmp_path / "t.npz", scale="unit")
    assert sp.issparse(table.values)
    assert table.values.format == "csr"
    lengths = np.linalg.norm(matrix.toarray(), axis=1, keepdims=True)
    expected = matrix.toarray() / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(table.values.toarray(), expected)
    with pytest.raises(TableError, match="would fill the zeros of a sparse table"):
        read_table(tmp_path / "t.npz", scale="standard")


def test_sparse_missing_values(tmp_path):
    matrix = sp.csr_array(np.array([[1.0, 0.0], [np.nan, 2.0]]))
    sp.save_npz(tmp_path / "t.npz", matrix)
    with pytest.raises(TableError, match=r"1 missing value in 'column_1' \(1\)"):
        read_table(tmp_path / "t.npz")
    with pytest.raises(
        TableError, match=r"impute='mean' would .* all zeros of a sparse table; use 'zero'"
    ):
        read_table(tmp_path / "t.npz", impute="mean")
    filled = read_table(tmp_path / "t.npz", impute="zero").values
    np.testing.assert_array_equal(filled.toarray(), [[1, 0], [0, 2]])


def test_mat(tmp_path):
    scipy.io.savemat(tmp_path / "t.mat", {"X": np.eye(3), "y": [1, 2, 2], "about": {"a": 1}})
    table = read_table(tmp_path / "t.mat", truth="y")
    np.testing.assert_array_equal(table.values, np.eye(3))
    assert table.truth.tolist() == [1, 2, 2]


def test_hdf5_and_anndata(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["group/X"] = np.eye(4)
        file["y"] = np.arange(4)
    table = read_table(tmp_path / "t.h5", truth="y")
    assert table.values.shape == (4, 4)
    assert table.truth.tolist() == [0, 1, 2, 3]
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(
        X=sp.random(6, 5, 0.5, format="csr", random_state=1, dtype=np.float32),
        obs=pd.DataFrame(
            {"type": pd.Categorical(list("aabbcc"))}, index=[f"cell{i}" for i in range(6)]
        ),
        var=pd.DataFrame(index=[f"gene{i}" for i in range(5)]),
    )
    cells.write_h5ad(tmp_path / "t.h5ad")
    table = read_table(tmp_path / "t.h5ad", truth="type")
    np.testing.assert_array_equal(table.values.toarray(), cells.X.toarray())
    assert table.values.dtype == np.float32
    assert table.columns == [f"gene{i}" for i in range(5)]
    assert table.index[0] == "cell0"
    assert table.truth.tolist() == list("aabbcc")
    cells.obsm["X_pca"] = np.arange(12.0).reshape(6, 2)
    cells.layers["counts"] = 2 * cells.X
    cells.write_h5ad(tmp_path / "t.h5ad")
    for key in ("X_pca", "obsm/X_pca"):
        table = read_table(tmp_path / "t.h5ad", truth="type", key=key)
        np.testing.assert_array_equal(table.values, cells.obsm["X_pca"])
        assert table.columns == ["PC1", "PC2"]
        assert table.index[0] == "cell0"
    table = read_table(tmp_path / "t.h5ad", key="layers/counts")
    np.testing.assert_array_equal(table.values.toarray(), 2 * cells.X.toarray())
    assert read_table(tmp_path / "t.h5ad", key="X").columns == table.columns
    with pytest.raises(TableError, match=r"key='no' is not a matrix of .*'X', 'obsm/X_pca', 'lay"):
        read_table(tmp_path / "t.h5ad", key="no")


@pytest.mark.parametrize("sparse", [False, True])
def test_components_are_read_where_scanpy_takes_them(tmp_path, sparse):
    anndata = pytest.importorskip("anndata")
    for variables in (60, 50):
        X = np.arange(9.0 * variables).reshape(9, variables)
        cells = anndata.AnnData(sp.csr_matrix(X) if sparse else X)
        cells.obsm["X_pca"] = np.arange(18.0).reshape(9, 2)
        cells.write_h5ad(tmp_path / "t.h5ad")
        table = read_table(tmp_path / "t.h5ad")
        assert read_table(tmp_path / "t.h5ad", key="X").values.shape == (9, variables)
        if variables > 50:
            np.testing.assert_array_equal(table.values, cells.obsm["X_pca"])
            assert list(table.columns) == ["PC1", "PC2"]
            assert any("X_pca are read, not the 60 variables" in note for note in table.notes)
        else:
            assert table.values.shape == (9, 50)


def test_format_by_content(tmp_path):
    (tmp_path / "t.unknown").write_text("a,b\n1,2\n3,5\n")
    assert read_table(tmp_path / "t.unknown").values.shape == (2, 2)
    np.save(tmp_path / "x.npy", np.eye(2))
    content = (tmp_path / "x.npy").read_bytes()
    assert read_table(io.BytesIO(content)).values.shape == (2, 2)
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(
        TableError, match=r"format must be given: .* looks like npy, not csv; .* say 'npy'"
    ):
        read_table(tmp_path / "x.csv")
    (tmp_path / "x.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(100))
    with pytest.raises(TableError, match=r"save it as \.xlsx"):
        read_table(tmp_path / "x.xls")


@pytest.mark.parametrize("scale", ["standard", "unit"])
def test_scales_against_scikit_learn(scale):
    from sklearn import preprocessing as pre

    oracle = {
        "standard": pre.StandardScaler(),
        "unit": pre.Normalizer(),
    }[scale]
    values = np.random.default_rng(1).normal(size=(40, 4)) * [1, 1e-6, 1e6, 0] + [0, 1, 5, 3]
    names = list("abcd")
    new = np.random.default_rng(2).normal(size=(5, 4))
    ready = Preparation.fit(values, names, impute=None, scale=scale)
    before = values.copy()
    np.testing.assert_allclose(ready.apply(values), oracle.fit_transform(values), atol=1e-9)
    np.testing.assert_allclose(ready.apply(new), oracle.transform(new), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(values, before)


def test_scaling_near_the_ends_of_floating_point():
    huge = np.array([[1e308], [-1e308], [0.5e308]])
    with pytest.raises(TableError, match="spans more than floating point holds"):
        Preparation.fit(huge, ["a"], impute=None, scale="standard")
    with pytest.raises(TableError, match="has no value to impute from"):
        Preparation.fit(np.full((2, 1), np.nan), ["a"], impute="mean", scale="none")


def test_preparation_is_repeated_on_new_rows():
    first = read_table(text(MIXED), impute="mean", scale="standard")
    again = Preparation.from_dict(first.preparation.to_dict())
    new = read_table(text("y,x,extra\n2.5,1,9\n,2,9\n"), preparation=again)
    assert new.columns == ["x", "y"]
    np.testing.assert_allclose(new.values, first.values[:2])
    with pytest.raises(
        TableError, match="The open file lacks the column 'y', which the model needs"
    ):
        read_table(text("x,z\n1,2\n"), preparation=again)
    whole = read_table(text("x,y\n1,2\n2,4\n"), scale="standard").preparation
    with pytest.raises(
        TableError, match=r"The table has 1 missing value in 'y' \(1\), and no imputation"
    ):
        read_table(text("x,y\n1,\n"), preparation=whole)
    for wrong in ({}, {"columns": ["a"], "scale": "none", "centre": [1, 2], "spread": None}):
        with pytest.raises(TableError, match="preparation is not that of a prepared table"):
            Preparation.from_dict(wrong)


def test_describe_counts_what_it_does_not_show():
    dropped = [(f"c{i}", "dates") for i in range(12)]
    assert "and 2 more" in Table(np.zeros((1, 1)), ["x"], dropped=dropped).describe()[1]


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'unispectral\[io\]'"):
        read_table(text("a,b\n1,2\n"))


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
PACKERS["zst"] = lambda content: pa.compress(content, "zstd", asbytes=True)


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_tables(ending, tmp_path):
    pack = PACKERS[ending]
    path = tmp_path / f"t.tsv.{ending}"
    path.write_bytes(pack(b"a\tb\n1\t2\n3\t5\n"))
    np.testing.assert_array_equal(read_table(path).values, [[1, 2], [3, 5]])
    with path.open("rb") as file:
        np.testing.assert_array_equal(read_table(file).values, [[1, 2], [3, 5]])
    np.save(tmp_path / "x.npy", np.eye(2))
    path.write_bytes(pack((tmp_path / "x.npy").read_bytes()))
    with pytest.raises(TableError, match="looks like npy, not tsv"):
        read_table(path)
    path.write_bytes(pack(bytes(2**25)))
    with pytest.raises(TableError, match=r"declares|compressed|not known|not text"):
        read_table(path)
    path.write_bytes(pack(np.random.default_rng(0).bytes(4000))[:2000])
    with pytest.raises(TableError, match=r"cut short or damaged|not known"):
        read_table(path)


@pytest.mark.parametrize("ending", ["bz2", "xz", "zst"])
def test_bombs_are_not_unpacked(ending, tmp_path, monkeypatch):
    path = tmp_path / f"bomb.csv.{ending}"
    path.write_bytes(PACKERS[ending](b"1,2\n" * 2**23))
    with pytest.raises(TableError, match="which cannot be true; the file is damaged or hostile"):
        read_table(path)
    monkeypatch.setattr("unispectral._memory.available_memory", lambda: 10**6)
    path.write_bytes(PACKERS[ending](np.random.default_rng(0).bytes(2**21)))
    with pytest.raises(TableError, match="GiB of memory are free"):
        read_table(path)


@pytest.mark.parametrize(
    "title",
    ["Report\n", "Report of 2024\n\n", "# a, b\n# 2024\n", "Report,,\n,,\n", '"A title"\n'],
)
def test_a_title_above_the_names_is_skipped(title):
    table = read_table(io.BytesIO(f"{title}x,y,z\n1,2,a\n3,5,b\n".encode()))
    assert table.columns == ["x", "y"]
    assert table.values.tolist() == [[1, 2], [3, 5]]
    line = title.count("\n") + 1
    assert f"The names are in line {line}; what is above is a title." in table.notes


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("x\n1\n2\n", ["x"]),  # one column
        ("x\na,1\nb,2\n", ["x"]),  # names of rows without a name above them
        ("#,x\n1,2\n2,5\n", ["#", "x"]),
        (",x\na,1\nb,2\n", ["x"]),
        ("x,\n1,\n2,\n", ["x"]),
    ],
)
def test_what_is_no_title(text, columns):
    assert read_table(io.BytesIO(text.encode())).columns == columns


def test_empty_lines_at_the_end_are_no_rows():
    text = "id,x,y\na,1,2\nb,,\nc,3,5\nd,,\n,,\n,,\n"
    table = read_table(io.BytesIO(text.encode()), encode=True, id="id")
    assert table.index.tolist() == list("abcd")
    assert table.rows.tolist() == [0, 1, 2, 3]
    assert "Left out 2 rows at the end: nothing is in them." in table.notes
    again = read_table(io.BytesIO(text.encode()), preparation=table.preparation)
    np.testing.assert_array_equal(again.values, table.values)


def test_a_unit_is_read_again():
    made = b"w,x\n" + b"".join(b"%d kg,%d\n" % (50 + i, i * i) for i in range(20))
    table = read_table(io.BytesIO(made), encode=True, scale="none")
    assert table.values[:2].tolist() == [[50, 0], [51, 1]]
    new = read_table(io.BytesIO(b"w,x\n9 kg,1\n8,2\n7 lb,3\n"), preparation=table.preparation)
    assert new.values[:, 0].tolist() == [9, 8, 59.5]
    assert any("cannot be read as a number, such as '7 lb'" in note for note in new.notes)
