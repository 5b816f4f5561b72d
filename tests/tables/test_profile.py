"""What columns are: small tables with the truth written beside each column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from unispectral.tables import profile

N = 30
RNG = np.random.default_rng(0)
ONES = np.arange(1, N + 1)
SHUFFLED = RNG.permutation(ONES)
LENGTHS = RNG.normal(170, 8, N).round(1)
LETTERS = ["a", "b", "c"] * 10
NAMES = [f"thing {i}" for i in range(N)]


def repeat(*values):
    """Values over and over, in 30 rows."""
    return [values[i % len(values)] for i in range(N)]


USE = "use"
SHOW = "supplementary"
OUT = "leave out"
ID = "id"

# Each case: columns, and for each the kind and the role; "?" where a doubt must be told.
CASES = {
    # Names of rows, and measurements that look like them
    "respondent": {"respondent": (ONES, "id", ID), "height": (LENGTHS, "measurement", USE)},
    "id from 0": {"id": (ONES - 1, "id", ID)},
    "id out of order": {"ID": (SHUFFLED, "id", ID)},
    "PassengerId": {"PassengerId": (ONES + 891, "id", ID)},
    "customer_id, large": {"customer_id": (10_000 + 37 * SHUFFLED, "id", ID)},
    "Case No.": {"Case No.": (ONES, "id", ID)},
    "Kundennummer": {"Kundennummer": (70_000 + SHUFFLED, "id", ID)},
    "index written by pandas": {"Unnamed: 0": (ONES - 1, "id", ID)},
    "names in text": {"city": (NAMES, "id", ID), "model": (NAMES[::-1], "id", OUT)},
    "e-mail": {"email": ([f"u{i}@example.org" for i in range(N)], "id", ID)},
    "atomic number": {"atomic number": (ONES, "count", "use?")},
    "AtomicNumber and Z": {"AtomicNumber": (ONES, "count", "use?"), "x": (LENGTHS, None, USE)},
    "score without ties": {"score": (SHUFFLED, "count", "use?")},
    "rank of a list": {"rank": (ONES, "count", "use?")},
    "inner diameter": {"id": ((LENGTHS / 10).round(2), "measurement", USE)},
    "id of a group": {"prof_id": (np.repeat(np.arange(10), 3), "code", SHOW)},
    "subject, three times each": {"subject": (np.repeat(ONES[:15], 2), "count", "use?")},
    "number of things": {"number": (repeat(0, 3, 1, 7, 2), "count", USE)},
    "students, yes or no": {"student": (repeat(0, 1, 1), "yes/no", USE)},
    "customers, a count": {"customers": (repeat(120, 85, 300, 44, 12), "measurement", USE)},
    "whole prices without ties": {"price": (SHUFFLED * 131 + 7, "measurement", USE)},
    "account numbers": {"acct": (10_000 + SHUFFLED * 17, "id", ID)},
    # Numbers with units, and numbers that name things
    "kilograms": {"weight": (repeat("71.5 kg", "80 kg", "65 kg"), "measurement", USE)},
    "per cent with a space": {"share": (repeat("42 %", "7 %", "65 %"), "measurement", USE)},
    "years, one and many": {"stay": (repeat("1 year", "3 years", "12 years"), "measurement", USE)},
    "Tage": {"Dauer": (repeat("1 Tag", "14 Tage", "3 Tage"), "measurement", USE)},
    "several units": {"size": (repeat("3 kg", "5 lb", "2 kg"), "category", USE)},
    "some with a unit": {"size": (repeat("3 kg", "5", "2"), "category", USE)},
    "addresses": {"address": ([f"{i} {w}" for i, w in enumerate(NAMES)], "id", ID)},
    "two doors": {"doors": (repeat("2 door", "4 door"), "category", USE)},
    # Numbers that stand for a missing value
    "minus 999": {"x": (np.r_[LENGTHS[:27], [-999.0] * 3], "measurement", "use?")},
    "9999 among counts": {"n": (repeat(*range(1, 14), 9999, 3), "count", "use?")},
    "99 among others": {"x": (repeat(*range(90, 105)), "measurement", USE)},
    "a value far away": {"x": (np.r_[LENGTHS[:29], -900.0], "measurement", USE)},
    # Years
    "year of a row": {"year": (repeat(2007, 2008, 2009), "year", SHOW)},
    "two years": {"year": (repeat(1999, 2008), "year", SHOW)},
    "année": {"année": (repeat(1952, 1957, 1962), "year", SHOW)},
    "Jahr": {"Jahr": (repeat(1952, 1957, 1962), "year", SHOW)},
    "year built": {"year_built": (1900 + SHUFFLED * 3, "year", "use?")},
    "Baujahr": {"Baujahr": (1950 + SHUFFLED, "year", "use?")},
    "model year of two digits": {"model year": (70 + ONES % 13, "year", "use?")},
    "year sold, few": {"YrSold": (repeat(2006, 2007, 2008), "year", SHOW)},
    "years without a name": {"when": (repeat(1990, 1995, 2003, 2010), None, "use?")},
    "years of experience": {"years": (repeat(1, 4, 12, 7, 30), "count", USE)},
    "yearly income": {"yearly_income": (SHUFFLED * 1000 + 20_000, "measurement", USE)},
    "calories": {"calories": (SHUFFLED * 20 + 1800, "measurement", USE)},
    # Codes
    "postcode": {"postcode": (10_115 + SHUFFLED * 311, "code", SHOW)},
    "PLZ": {"PLZ": (repeat(1067, 10115, 20095, 80331, 50667, 4109, 90402), "code", SHOW)},
    "zip code as text": {"zip": (repeat("01067", "10115", "20095", "04109"), "code", SHOW)},
    "few codes": {"region_code": (repeat(1, 2, 3), "code", "use?")},
    "sex code": {"sex_code": (repeat(1, 2), "yes/no", USE)},
    "film speed": {"iso": (repeat(100, 200, 400, 800, 1600), "measurement", USE)},
    # Numbers
    "counts": {"siblings": (repeat(0, 1, 0, 2, 0, 4), "count", USE)},
    "levels": {"q1": (repeat(1, 2, 3, 4, 5), "ordinal", USE)},
    "cylinders": {"cyl": (repeat(4, 6, 8), "count", USE)},
    "temperature": {"t": (repeat(-3, 0, 5, 12, -8, 20), "measurement", USE)},
    "0 and 1": {"smoker": (repeat(0, 1, 0), "yes/no", USE)},
    "money": {"price": (repeat("$5.10", "$1,200", "$650", "$7"), "measurement", USE)},
    "months": {"Month": (repeat(8, 9, 10, 11), "count", "use?")},
    "a place": {
        "lat": (RNG.normal(52, 1, N).round(3), "latitude", "use?"),
        "lon": (RNG.normal(13, 1, N).round(3), "longitude", "use?"),
    },
    "longitudinal study": {"long": (RNG.normal(900, 9, N), "measurement", USE)},
    # Copies and constants
    "two units": {"cm": (LENGTHS, "measurement", USE), "inch": (LENGTHS / 2.54, "copy", OUT)},
    "in other words": {
        "pclass": (repeat(1, 2, 3), "ordinal", USE),
        "cabin": (repeat("upper deck", "mid deck", "lower deck"), "copy", OUT),
    },
    "alike but not the same": {
        "a": (LENGTHS, "measurement", USE),
        "b": (LENGTHS + RNG.normal(0, 0.1, N), "measurement", USE),
    },
    "constant": {"one": (repeat(1), "constant", OUT), "x": (LENGTHS, "measurement", USE)},
    "empty": {"none": (repeat(None), "empty", OUT), "x": (LENGTHS, "measurement", USE)},
    "same text": {"country": (repeat("DE"), "constant", OUT)},
    # Text
    "categories": {"letter": (LETTERS, "category", USE)},
    "yes and no": {"member": (repeat("yes", "No", None), "yes/no", "use?")},
    "ja und nein": {"Mitglied": (repeat("ja", "nein"), "yes/no", USE)},
    "never to always": {"reads": (repeat("never", "Often", "always"), "ordinal", USE)},
    "nie bis immer": {"liest": (repeat("nie", "selten", "manchmal", "immer"), "ordinal", USE)},
    "agreement": {
        "q": (repeat("strongly disagree", "agree", "neutral", "don't know"), "ordinal", USE)
    },
    "Zustimmung": {
        "q": (repeat("stimme nicht zu", "stimme eher zu", "stimme voll zu"), "ordinal", USE)
    },
    "sizes": {"size": (repeat("S", "M", "L", "XL"), "ordinal", USE)},
    "marital status": {"status": (repeat("M", "S", "D"), "category", USE)},
    "ages": {"age": (repeat("18-24", "25-34", "35-49", "65+"), "ordinal", USE)},
    "numbered answers": {"a": (repeat("1 - no", "2 - so so", "3 - yes"), "ordinal", USE)},
    "port": {"embarked": (repeat("S", "C", "Q"), "category", USE)},
    "two words of a scale": {"kind": (repeat("low", "high"), "category", USE)},
    "ordered categories": {
        "g": (pd.Categorical(LETTERS, categories=["c", "a", "b"], ordered=True), "ordinal", USE)
    },
    "many texts": {"model": (NAMES[:25] + NAMES[:5], "category", SHOW)},
    "comments": {"comment": (["great", "too slow", *repeat(None)[2:]], "text", OUT)},
    "free text": {
        "why": ([f"because of the {i} reasons given" for i in range(N)], "text", OUT),
        "x": (LENGTHS, "measurement", USE),
    },
    "class": {"class": (LETTERS, "category", "use?")},
    "class, as numbers": {"target": (repeat(0, 1, 2), "count", "use?")},
    # Dates
    "ISO dates": {"day": (repeat("2024-01-02", "2024-02-03"), "date", SHOW)},
    "German dates": {"Datum": (repeat("31.12.2023", "01.02.2024"), "date", SHOW)},
    "dates with times": {
        "at": (repeat("31/12/2023 10:15:00", "01/02/2024 23:59:59"), "date", SHOW)
    },
    "dates in words": {
        "on": (repeat("Jan 5, 2024", "March 17, 2024", "2 May 2024"), "date", SHOW)
    },
    "eight digits": {"date": (repeat(20240101, 20240229, 20231231), "date", SHOW)},
    "eight digits that are none": {"n": (repeat(20240101, 20249999, 20231231), None, USE)},
    "seconds since 1970": {"timestamp": (1_600_000_000 + SHUFFLED * 9_999, "date", SHOW)},
    "thousandths of them": {"created_at": (1_600_000_000_000 + SHUFFLED * 99_999, "date", SHOW)},
    "months of years": {"month": (repeat("2024-01", "2024-12", "2023-07"), "date", SHOW)},
    "names of months": {"Monat": (repeat("Januar", "März", "Mai"), "category", "use?")},
    "amounts of India": {"salary": (repeat("1,23,456", "12,34,567", "98,765"), None, USE)},
    "ja und nein in letters": {"Raucher": (repeat("j", "n"), "yes/no", USE)},
    "a scale with words at its ends": {
        "q": (repeat("1 = sehr gut", "2", "3", "4", "5 = schlecht"), "ordinal", USE)
    },
    "choices of a form": {"sport": (repeat("x", None, None), "yes/no", USE)},
    "large amounts": {"revenue": (1_600_000_000 + SHUFFLED * 9_999, "measurement", USE)},
    "time on a page": {"time": (SHUFFLED * 1.7, "measurement", USE)},
    "time stamps": {"t": (pd.date_range("2024-01-01", periods=N), "date", SHOW)},
    "times of day": {"at": (repeat("10:15", "23:59", "9:05"), "date", SHOW)},
    "versions": {"version": (repeat("1.5", "2.10", "3.0", "2.0"), "measurement", USE)},
    # Gaps
    "mostly missing": {"cabin": ([1.5, 2.5, 3.5, *repeat(None)[3:]], "measurement", SHOW)},
    "some missing": {"x": ([*LENGTHS[:25], *repeat(None)[:5]], "measurement", USE)},
    "half missing": {"x": ([*LENGTHS[:15], *repeat(None)[:15]], "measurement", "use?")},
    # Whole tables, made up like some that are published
    "cars of two years": {
        "rownames": (ONES, "id", ID),
        "model": (NAMES[:25] + NAMES[:5], "category", SHOW),
        "year": (repeat(1999, 2008), "year", SHOW),
        "cyl": (repeat(4, 6, 8, 5), "count", USE),
    },
    "passengers": {
        "pclass": (repeat("1st", "2nd", "3rd"), "ordinal", USE),
        "sibsp": (repeat(0, 1, 0, 2, 0, 8), "count", USE),
        "age": ((LENGTHS / 6).round(4), "measurement", USE),
    },
    "makes of cars": {
        "rownames": ([f"Mazda RX{i}" for i in range(N)], "id", ID),
        "gear": (repeat(3, 4, 5), "count", USE),
        "am": (repeat(0, 1, 1), "yes/no", USE),
    },
    "caught birds": {
        "rownames": (ONES, "id", ID),
        "BandNumber": ([f"877-{76317 + i}" for i in range(N)], "id", OUT),
        "Month": (repeat(8, 9, 10, 11), "count", SHOW),
        "Year": (repeat(1992, 1993, 1994), "year", SHOW),
        "CaptureTime": (repeat("13:30", "10:30", "12:45", "9:05"), "date", SHOW),
        "Tarsus": ([55.1, 61.2, 70.4, *repeat(None)[3:]], "measurement", SHOW),
        "Weight": (LENGTHS, "measurement", USE),
    },
    "pupils": {
        "rownames": (ONES, "id", ID),
        "id": (SHUFFLED + 70, "id", OUT),
        "ses": (repeat("low", "middle", "high"), "ordinal", USE),
        "read": (repeat(57, 68, 44, 63, 47), None, USE),
    },
    "animals": {
        "rownames": (ONES, "id", ID),
        "name": (NAMES, "id", OUT),
        "vore": (repeat("carni", "omni", "herbi", None), "category", SHOW),
        "sleep": (LENGTHS / 10, "measurement", USE),
        "awake": (24 - LENGTHS[::-1] / 20, "measurement", USE),
        "brain": (LENGTHS**2, "measurement", USE),
        "body": (LENGTHS[::-1] ** 3, "measurement", USE),
    },
    "earthquakes": {
        "lat": (RNG.uniform(-38, -10, N).round(2), "latitude", "use?"),
        "long": (RNG.uniform(165, 188, N).round(2), "longitude", "use?"),
    },
    "breaks of yarn": {
        "breaks": (repeat(26, 30, 54, 25, 70, 52), "count", USE),
        "wool": (repeat("A", "B"), "category", USE),
        "tension": (repeat("L", "M", "H"), "ordinal", USE),
    },
    "days of a summer": {
        "Ozone": ([*LENGTHS[:25], *repeat(None)[:5]], "measurement", USE),
        "Month": (repeat(5, 6, 7, 8, 9), "count", "use?"),
        "Day": (ONES, "count", "use?"),
    },
}


def check(frame: pd.DataFrame, truth: dict[str, tuple[str | None, str]]) -> None:
    found = profile(frame)
    for name, (kind, role) in truth.items():
        column = found[name]
        assert column.role + "?" * bool(column.doubt and column.role == "use") == role, column
        assert kind is None or column.kind == kind, column
        assert column.reason


@pytest.mark.parametrize("case", CASES)
def test_kinds_and_roles(case):
    columns = CASES[case]
    frame = pd.DataFrame({name: values for name, (values, *_) in columns.items()})
    check(frame, {name: (kind, role) for name, (_, kind, role) in columns.items()})


def test_there_are_enough_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("load", [load_iris, load_wine, load_diabetes, load_breast_cancer])
def test_measurements_of_scikit_learn_are_all_used(load):
    data = load(as_frame=True)
    found = profile(data.data)
    assert found.names("use") == list(data.data.columns)
    assert found.doubtful == []


def test_penguins_as_published():
    penguins = pytest.importorskip("palmerpenguins").load_penguins()
    check(
        penguins,
        {
            "species": ("category", SHOW),
            "island": ("category", SHOW),
            "bill_length_mm": ("measurement", USE),
            "body_mass_g": ("measurement", USE),
            "sex": ("category", SHOW),
            "year": ("year", SHOW),
        },
    )
    found = profile(penguins)
    assert len(found.rows.nearly_empty) == 2
    assert [column.name for column in found if column.log is not None] == []


def test_the_record_of_a_column():
    values = [1.0, 2.0, 4.0, 5.0, np.nan]
    column = profile(pd.DataFrame({"x": values, "y": list("aabbc")}))["x"]
    assert column.missing == pytest.approx(0.2)
    assert column.distinct == 4
    assert column.spread == pytest.approx(np.nanstd(values))
    assert column.skew == pytest.approx(0.0)
    assert column.example == "1.0"
    assert column.sentence == "Used: 'x' is a whole number."


@pytest.mark.parametrize(
    ("values", "logged"),
    [
        (np.exp(np.random.default_rng(0).normal(4, 1.2, 200)), True),
        (np.random.default_rng(0).exponential(50, 200), False),  # its logarithms are skewed, too
        (np.exp(np.random.default_rng(0).normal(4, 0.3, 200)), False),  # nearly symmetric
        (np.random.default_rng(0).normal(50, 5, 200), False),
        (np.r_[np.random.default_rng(0).normal(50, 5, 199), 9000.0], False),  # one bad value
        (np.r_[np.full(140, 1.0), np.full(60, 10.0)] + np.linspace(0, 0.4, 200), False),  # groups
        (-np.exp(np.random.default_rng(0).normal(4, 1.2, 200)), False),
        (np.random.default_rng(0).poisson(0.3, 200), False),
        (np.exp(np.random.default_rng(0).normal(4, 1.2, 15)), False),  # too few to tell
    ],
)
def test_logarithms_are_proposed_where_rows_differ_by_factors(values, logged):
    assert (profile(pd.DataFrame({"x": values}))["x"].log is not None) == logged


def test_zeros_have_a_logarithm_that_keeps_units():
    values = np.r_[np.zeros(10), np.exp(np.random.default_rng(0).normal(4, 1.2, 190))]
    offset = profile(pd.DataFrame({"x": values}))["x"].log
    assert profile(pd.DataFrame({"x": 1000 * values}))["x"].log == pytest.approx(1000 * offset)


def test_rows_that_repeat_are_counted_without_their_names():
    frame = pd.DataFrame({"id": ONES, "x": repeat(1.5, 2.5, 3.5), "y": repeat(1.5, 7.5)})
    assert profile(frame).rows.duplicates == N - 6
    assert profile(frame.head(6)).rows.duplicates == 0


def test_nearly_empty_rows():
    frame = pd.DataFrame({name: RNG.normal(size=N) for name in "abcd"})
    frame.loc[3, ["a", "b", "c"]] = np.nan
    frame.loc[4, ["a", "b"]] = np.nan
    assert profile(frame).rows.nearly_empty == (3,)


@pytest.mark.parametrize(
    ("word", "numbers", "totals", "perhaps"),
    [
        ("TOTAL", "sum", (4,), ()),
        ("Gesamt", "sum", (4,), ()),
        ("Average", "mean", (4,), ()),
        ("Total Wine & Co", [1.0, 2.0], (), ()),
        ("Total", [1.0, 2.0], (), (4,)),
        ("Torino", "sum", (), ()),
    ],
)
def test_totals_are_called_so_and_are_so(word, numbers, totals, perhaps):
    frame = pd.DataFrame({"a": [10.0, 20.5, 33.0, 4.5], "b": [1.0, 7.0, 3.0, 9.0]})
    frame.insert(0, "store", ["Ulm", "Bonn", "Köln", "Jena"])
    last = frame[["a", "b"]].agg(numbers).tolist() if isinstance(numbers, str) else numbers
    frame.loc[4] = [word, *last]
    rows = profile(frame).rows
    assert (rows.totals, rows.perhaps_totals) == (totals, perhaps)


def test_a_total_named_beside_the_table_is_found():
    frame = pd.DataFrame({"a": [10.0, 20.5, 30.5]}, ["Ulm", "Bonn", "Total"])
    assert profile(frame).rows.totals == (2,)


def test_an_example_is_one_that_can_be_read():
    frame = pd.DataFrame({"x": ["#DIV/0!", *map(str, range(20))]})
    assert profile(frame)["x"].example == "0"


def test_an_order_of_the_user():
    medals = ["bronze", "silver", "gold"]
    frame = pd.DataFrame({"g": repeat(*medals), "h": repeat("gold", "bronze", "silver", "gold")})
    assert profile(frame)["g"].kind == "category"
    assert [c.kind for c in profile(frame, order=[medals])] == ["ordinal", "ordinal"]
    assert [c.kind for c in profile(frame, order={"g": medals})] == ["ordinal", "category"]


def test_two_words_of_a_scale_that_other_columns_show():
    frame = pd.DataFrame({"p": repeat("never", "often"), "q": repeat("never", "often", "always")})
    assert [column.kind for column in profile(frame)] == ["ordinal", "ordinal"]
    assert profile(frame[["p"]])["p"].kind == "category"


def test_other_frames_and_no_frames():
    polars = pytest.importorskip("polars")
    assert profile(polars.DataFrame({"id": ONES, "x": LENGTHS})).names("id") == ["id"]
    with pytest.raises(TypeError, match="frame must be a data frame"):
        profile(np.ones((3, 2)))
    with pytest.raises(ValueError, match="frame has no rows"):
        profile(pd.DataFrame({"a": []}))


@pytest.mark.parametrize(("numbers", "kinds", "role"), [(2, 1, USE), (3, 1, SHOW), (3, 3, USE)])
def test_categories_step_aside_where_numbers_are_enough(numbers, kinds, role):
    frame = pd.DataFrame({f"x{i}": RNG.normal(size=N) for i in range(numbers)})
    for i in range(kinds):
        frame[f"kind {i}"] = RNG.choice(["a", "b", "c"], N)
    found = profile(frame)
    assert {column.role for column in found if column.kind == "category"} == {role}
    assert len(found.names("use")) == numbers + kinds * (role == USE)


def test_nothing_is_changed():
    frame = pd.DataFrame({"id": ONES, "x": repeat("1,5", "2,5", None), "d": repeat("a", "b")})
    before = frame.copy(deep=True)
    profile(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_many_columns_of_one_kind_are_left_as_they_are():
    pixels = pd.DataFrame(np.random.default_rng(0).lognormal(0, 2, (50, 64)))
    assert all(column.log is None for column in profile(pixels))
