"""Mixed tables: how each column is read, what is left out, and the same on new rows."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from unispectral.tables import TablePreparer, read_table
from unispectral.tables._columns import parse_number
from unispectral.tables._encode import APART
from unispectral.tables._preparation import Preparation
from unispectral.tables._read import MixedColumnError, read_blocks


@pytest.fixture
def mixed():
    return pd.DataFrame(
        {
            "price": ["$85.40", "$1,200", None, "-$3"] * 6,
            "weight": ["1.234,50", "3,2", "5", "7,1"] * 6,
            "share": ["12 %", "3%", "4.5 %", "?"] * 6,
            "member": ["yes", "No", "YES", None] * 6,
            "city": ["Ulm", "Köln", "Ulm ", None] * 6,
            "note": [f"text {i}" for i in range(24)],
            "day": ["2024-01-02", "2024-01-04"] * 12,
            "unclear": ["1/2/2024", "5/6/2024"] * 12,
            "stamp": pd.date_range("2024-01-01", periods=24, tz="Europe/Berlin"),
            "span": pd.to_timedelta(6 * (np.arange(24) % 5), unit="h"),
            "count": np.arange(24),
            "flag": [True, False] * 12,
            "grade": pd.Categorical([1, 2, 3, 3] * 6),
            "money": ["$5", "€6"] * 12,
            "nullable": pd.array([1, None, 3, 4] * 6, dtype="Int64"),
            "empty": [None] * 24,
        }
    )


@parametrize_with_checks([TablePreparer(), TablePreparer(scale="none", impute=None)])
def test_conformance(estimator, check):
    check(estimator)


def test_columns_that_may_not_be_written_to():
    """As all are from pandas 3 on."""
    old = pd.__version__ < "3"
    with pd.option_context("mode.copy_on_write", True) if old else nullcontext():
        frame = pd.DataFrame({"a": [1.0, np.nan, 3.0]})
        made = TablePreparer(scale="none").fit_transform(frame)
    assert made.ravel().tolist() == [1.0, 2.0, 3.0]
    assert frame["a"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("$85.40", ".", 85.4),
        ("-$3", ".", -3.0),
        ("$ -3", ".", -3.0),
        ("1,234,567.5", ".", 1234567.5),
        ("(1,200)", ".", -1200.0),
        ("12 %", ".", 12.0),
        ("−7", ".", -7.0),
        ("1'000", ".", 1000.0),
        (".5", ".", 0.5),
        ("5.", ".", 5.0),
        ("1e-3", ".", 0.001),
        ("EUR 3", ".", 3.0),
        ("1.234,50 €", ",", 1234.5),
        ("1\u202f234,5", ",", 1234.5),
        ("12,34", ".", np.nan),
        ("1,2345", ".", np.nan),
        ("(5", ".", np.nan),
        ("5)", ".", np.nan),
        ("A 5", ".", np.nan),
        ("5 apples", ".", 5.0),
        (".", ".", np.nan),
        ("e5", ".", np.nan),
        ("1-2", ".", np.nan),
    ],
)
def test_numbers_as_people_write_them(text, decimal, value):
    np.testing.assert_equal(parse_number(text, decimal)[0], value)


def test_every_column_is_accounted_for(mixed):
    kinds = ["city", "grade"]
    preparer = TablePreparer(use=kinds, scale="none").set_output(transform="pandas")
    made = preparer.fit_transform(mixed)
    assert [plan["name"] for plan in preparer.columns_] == list(mixed.columns)
    out = {plan["name"]: plan["why"] for plan in preparer.columns_ if plan["kind"] == "left out"}
    assert out == {
        "note": "is free text, another in every row",
        "day": "holds dates",
        "unclear": "holds dates",
        "stamp": "holds dates",
        "money": "has numbers in several units ($, €)",
        "empty": "has no value",
    }
    names = ["price", "weight", "share", "member", "city=Köln", "city=Ulm", "span"]
    names += ["count", "flag"]
    names += ["grade=1", "grade=2", "grade=3", "nullable"]
    assert list(made.columns) == names == preparer.get_feature_names_out().tolist()
    assert made.iloc[:4].to_numpy().tolist() == [
        [85.4, 1234.5, 12.0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1],
        [1200, 3.2, 3.0, 0, 1, 0, 0.25, 1, 0, 0, 1, 0, 3],
        [85.4, 5.0, 4.5, 1, 0, 1, 0.5, 2, 1, 0, 0, 1, 3],
        [-3.0, 7.1, 4.5, 1, 0, 1, 0.75, 3, 0, 0, 0, 1, 4],
    ]
    filled = {p["name"]: (p["missing"], p["fill"]) for p in preparer.columns_ if p.get("missing")}
    assert filled == {
        "price": (6, 85.4),
        "share": (6, 4.5),
        "member": (6, 1.0),
        "city": (6, "Ulm"),
        "nullable": (6, 3.0),
    }


def test_dates_on_request(mixed):
    preparer = TablePreparer(scale="none", dates="days").set_output(transform="pandas")
    made = preparer.fit_transform(mixed[["day", "unclear", "stamp", "span", "count"]])
    assert list(made.columns) == ["day", "stamp", "span", "count"]
    assert made["day"].diff()[1] == 2.0
    assert made["stamp"].iloc[0] == pytest.approx(19723 - 1 / 24)  # midnight in Berlin
    assert made["span"].iloc[12] == 0.5  # days
    assert "2024-05-31" in preparer.columns_[1]["why"]


def test_new_rows_are_treated_as_those_of_the_fit(mixed):
    preparer = TablePreparer(use=["city"], scale="none").fit(mixed)
    new = pd.DataFrame(preparer.transform(mixed), columns=preparer.get_feature_names_out())
    mixed["more"] = 1
    again = preparer.transform(mixed[mixed.columns[::-1]])
    np.testing.assert_array_equal(again, new)
    row = mixed.iloc[[0]].copy()
    row["city"], row["price"], row["member"] = "Paris", "unheard of", "1"
    made = dict(zip(new.columns, preparer.transform(row)[0], strict=True))
    assert (made["city=Köln"], made["city=Ulm"]) == (0.0, 0.0)
    assert (made["price"], made["member"]) == (85.4, 1.0)
    with pytest.raises(ValueError, match="X lacks the columns 'city', 'count', which the fit had"):
        preparer.transform(mixed.drop(columns=["city", "count"]))


def test_missing_values_stay_without_imputation(mixed):
    made = TablePreparer(scale="none", impute=None).fit_transform(mixed[["city", "count"]])
    assert np.isnan(made[3, :2]).all()
    assert made[0].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(("impute", "fill"), [("median", 3.0), ("mean", 8 / 3), ("zero", 0.0)])
def test_imputations(impute, fill):
    table = pd.DataFrame({"a": [1.0, 3.0, 4.0, None], "b": ["x", "y", "y", None]})
    made = TablePreparer(scale="none", impute=impute).fit_transform(table)
    assert made[3].tolist() == pytest.approx([fill, 0.0, 1.0])


def test_scaling_is_that_of_scikit_learn(mixed):
    numbers = mixed[["price", "weight", "share", "count", "nullable"]]
    plain = TablePreparer(scale="none").fit_transform(numbers)
    expected = StandardScaler().fit_transform(plain)
    np.testing.assert_allclose(TablePreparer().fit_transform(numbers), expected, atol=1e-12)


def test_different_categories_are_equally_far_apart():
    """However many there are, however rare, and whatever answers are written with."""
    city = ["Ulm"] * 40 + ["Köln"] * 9 + ["Bonn"]
    member = ["yes"] * 48 + ["no"] * 2
    table = pd.DataFrame({"city": city, "member": member})
    table["old"] = [0] * 45 + [1] * 5
    table["discount"] = ["5 %"] * 7 + ["10 %"] * 43
    for column in table:
        made = TablePreparer().fit_transform(table[[column]])
        np.testing.assert_allclose(made.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(made[0] - made[49]), APART)
    made = TablePreparer().fit_transform(table)
    again = read_table(
        io.BytesIO(table.to_csv(index=False).encode()), encode=True, scale="standard"
    )
    np.testing.assert_allclose(again.values, made, atol=1e-12)


def test_arrays_of_objects_and_polars_frames(mixed):
    polars = pytest.importorskip("polars")
    some = mixed[["price", "member", "city", "count"]]
    expected = TablePreparer().fit_transform(some)
    values = np.array(some, dtype=object)
    preparer = TablePreparer()
    np.testing.assert_array_equal(preparer.fit_transform(values), expected)
    assert preparer.get_feature_names_out().tolist() == ["x0", "x1", "x2=Köln", "x2=Ulm", "x3"]
    np.testing.assert_array_equal(TablePreparer().fit_transform(polars.DataFrame(some)), expected)


def test_in_a_pipeline_with_a_plain_state(mixed):
    pipeline = make_pipeline(TablePreparer(), KMeans(2, n_init=1, random_state=0))
    labels = pipeline.fit_predict(mixed)
    np.testing.assert_array_equal(pipeline.predict(mixed), labels)
    preparer = pipeline[0]
    again = clone(preparer)
    again.columns_ = json.loads(json.dumps(preparer.columns_))
    again.centre_, again.spread_ = preparer.centre_, preparer.spread_
    np.testing.assert_array_equal(again.transform(mixed), preparer.transform(mixed))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": [np.inf, 1.0]}, r"X has 1 infinite value in 'a' \(1\); replace them."),
        ({"a": [None, None]}, "X has no column that can be used"),
        ({"a": []}, "X has no rows."),
    ],
)
def test_refusals(table, message):
    with pytest.raises(ValueError, match=message):
        TablePreparer().fit(pd.DataFrame(table))


def test_two_columns_of_one_name():
    table = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns named 'a'"):
        TablePreparer().fit(table)


CSV = 'city,price,n\nUlm,$5,1\nKöln,$7,\nUlm,"$1,000",5\n'


def test_read_table_encodes_and_repeats_it():
    table = read_table(io.BytesIO(CSV.encode()), encode=True, scale="none")
    assert table.columns == ["city=Köln", "city=Ulm", "price", "n"]
    np.testing.assert_allclose(table.values[:, 3], [1, 3, 5])
    assert table.describe()[1:] == [
        "Used: 'price' ($), 'n'; as categories 'city' (2).",
        "Filled in missing values: 1 in 'n' with 3.",
    ]
    ready = Preparation.from_dict(json.loads(json.dumps(table.preparation.to_dict())))
    new = "n,price,city\n1,$5,Ulm\n3,,Bonn\n"
    again = read_table(io.BytesIO(new.encode()), preparation=ready)
    np.testing.assert_allclose(again.values[0], table.values[0])
    assert again.values[1, :2].tolist() == [0.0, 0.0]
    assert again.describe()[1:] == [
        "Filled in missing values: 1 in 'price' with 7.",
        "Column 'city': 1 value that the fit did not see; such a row belongs to none of its "
        "categories.",
    ]
    with pytest.raises(ValueError, match="lacks the column 'city', which the model needs"):
        read_table(io.BytesIO(b"n,price\n1,2\n"), preparation=ready)


@pytest.mark.parametrize("entries", [None, 2])
@pytest.mark.parametrize(
    ("content", "values"),
    [
        ("x;n\n1,500 $;1,5\n0,125 $;0\n", [1.5, 0.125]),
        ("x;n\n1,500 $;1\n2,000 $;1,5\n", [1.5, 2.0]),
        ("x;n\n1,500 $;1\n12,5 $;2\n", [1.5, 12.5]),
        ('x,n\n"1,500 $",1.5\n$12.5,1\n', [1500, 12.5]),
        ('x,n\n"1,500 $",1\n"2,500 $",2\n', [1500, 2500]),
    ],
)
def test_new_rows_may_have_another_decimal_sign(content, values, entries):
    table = read_table(io.BytesIO(b"x,n\n$1.25,1\n$3.5,2\n$7,4\n"), encode=True)
    try:
        blocks = list(
            read_blocks(io.BytesIO(content.encode()), [table.preparation], entries=entries)
        )
    except MixedColumnError:  # as the command line does
        blocks = list(read_blocks(io.BytesIO(content.encode()), [table.preparation], entries=None))
    assert [row[0] for (block,), _ in blocks for row in block.values] == values


def test_the_decimal_comma_of_a_file_is_that_of_its_columns():
    content = io.BytesIO("x;y\n1.234 €;0,5\n987 €;1,5\n".encode())
    table = read_table(content, encode=True, scale="none")
    assert table.values.tolist() == [[1234, 0.5], [987, 1.5]]


def test_text_that_cannot_be_read_is_not_called_missing():
    table = read_table(io.BytesIO(b"x,m\n1,yes\n2,no\n4,no\n"), encode=True)
    new = read_table(io.BytesIO(b"x,m\n1,yes\nlots,well\n,no\n"), preparation=table.preparation)
    assert new.describe()[1:] == [
        "Filled in missing values: 2 in 'x' with 2, 1 in 'm' with 0.",
        "Column 'x': 1 value that cannot be read as a number, such as 'lots'; taken as missing.",
        "Column 'm': 1 value that cannot be read as yes or no, such as 'well'; taken as missing.",
    ]


def test_text_without_encoding_names_the_remedy():
    with pytest.raises(ValueError, match=r"no numeric column.*; encode=True makes numbers"):
        read_table(io.BytesIO(b"a,b\nx,y\nz,y\n"))
    with pytest.raises(ValueError, match=r"'city' cannot be clustered.*; encode=True") as told:
        read_table(io.BytesIO(CSV.encode()), columns=["city"])
    assert "--" not in str(told.value)


@pytest.mark.parametrize("change", [{"encoding": "no"}, {"encoding": [{"kind": "number"}]}])
def test_encodings_of_a_damaged_file_are_refused(change):
    table = read_table(io.BytesIO(CSV.encode()), encode=True)
    with pytest.raises(ValueError, match="is not that of a prepared table"):
        Preparation.from_dict(table.preparation.to_dict() | change)


def test_a_frame_without_columns():
    with pytest.raises(ValueError, match=r"^X has no columns\.$"):
        TablePreparer().fit(pd.DataFrame(index=range(5)))
