"""Tables as people have them: what was wrongly taken at its word, and what becomes of it."""

from __future__ import annotations

import json

import numpy as np
import openpyxl
import pandas as pd
import pytest

from unispectral.cli._app import run

N = 120
GROUP = np.arange(N) % 3
WORDS = np.array(["never", "rarely", "sometimes", "often", "always"])


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def numbers():
    """Four columns of numbers that show three groups."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0, 9, 0], [9, 0, 0, 5], [0, 9, 0, 9]], dtype=float)
    values = (centres[GROUP] + rng.normal(0, 1, (N, 4))).round(3)
    return pd.DataFrame(values, columns=["a", "b", "c", "d"])


def cluster(capsys, frame, *options, name="t.csv", k=3):
    """Cluster a table whose groups are in a column; the summary and what was said before."""
    if frame is not None:
        frame.to_csv(name, index=False)
    assert run(["cluster", name, "-k", str(k), "--json", *options]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


def ari(summary):
    return summary["scores"]["ari"]


def test_ids_are_left_out_and_that_is_said(capsys, numbers):
    numbers.insert(0, "respondent", range(1, N + 1))
    summary, err = cluster(capsys, numbers.assign(g=GROUP), "--truth", "g", "-o", "o.csv")
    assert ari(summary) == 1.0
    assert "Names of the rows: 'respondent' (numbers the rows, 1 to 120)." in err
    assert pd.read_csv("o.csv")["id"].tolist() == list(range(1, N + 1))


def test_a_table_of_ids_is_not_clustered(capsys):
    pd.DataFrame({"ID": range(30), "one": [1] * 30}).to_csv("t.csv", index=False)
    assert run(["cluster", "t.csv", "-k", "2"]) == 1
    err = capsys.readouterr().err
    assert "has no column to cluster by ('ID' numbers the rows, 0 to 29; 'one' has the same" in err


def test_an_id_that_is_a_measurement_is_used(capsys, numbers):
    frame = numbers.assign(**{"atomic number": range(1, N + 1), "g": GROUP})
    summary, err = cluster(capsys, frame, "--truth", "g")
    assert summary["n_features"] == 5
    assert "Used, but doubtful: 'atomic number' (numbers the rows in order" in err


def test_years_do_not_cut_clusters(capsys, numbers):
    frame = numbers.assign(year=2007 + np.arange(N) // 40, g=GROUP)
    summary, err = cluster(capsys, frame, "--truth", "g")
    assert ari(summary) == 1.0
    assert "shown beside the clusters: 'year' (says when, not what: 3 years)." in err
    summary, _ = cluster(capsys, frame, "--truth", "g", "--use", "year")
    assert summary["n_features"] == 5


def test_clusters_that_one_column_makes_are_doubtful(capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": GROUP * 50.0, "x": rng.normal(size=N).round(3)})
    summary, _ = cluster(capsys, frame.assign(y=rng.normal(size=N).round(3)))
    told = [text for text in summary["warnings"] if "'kind'" in text]
    assert len(told) == 1
    assert "--leave-out kind" in told[0]


def test_codes_skew_and_copies(capsys):
    rng = np.random.default_rng(0)
    spent = np.exp(np.array([3.0, 5.0, 7.0])[GROUP] + rng.normal(0, 0.4, N)).round(2)
    orders = np.ceil(np.exp(np.array([0.5, 2.0, 3.2])[GROUP] + rng.normal(0, 0.3, N)))
    frame = pd.DataFrame({"postcode": rng.integers(1000, 99999, N), "spent": spent})
    frame = frame.assign(orders=orders, g=GROUP)
    frame = pd.concat([frame, frame.head(12)])
    summary, err = cluster(capsys, frame, "--truth", "g")
    assert ari(summary) > 0.9
    assert "'postcode' (holds codes, not amounts" in err
    assert "as logarithms 'spent'." in err
    assert "12 rows repeat an earlier one in every column." in err
    _, err = cluster(capsys, frame, "--truth", "g", "--scale", "rank")
    assert "Used: as ranks 'spent', 'orders'." in err


def test_gaps_are_filled_in_one_line(capsys, numbers):
    numbers.loc[[3, 5], "a"] = np.nan
    numbers.loc[7, ["a", "b", "c"]] = np.nan
    summary, err = cluster(capsys, numbers.assign(g=GROUP), "--truth", "g")
    assert ari(summary) > 0.95
    filled = [line for line in err.splitlines() if "Filled in missing values" in line]
    assert len(filled) == 1
    assert filled[0].strip().startswith("Filled in missing values: 3 in 'a' with")
    assert "1 row is mostly empty, the first at 7." in err


@pytest.fixture
def stores(numbers):
    """A sheet with a title, names in two merged lines, a total and a remark."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Stores 2024"])
    sheet.append([])
    sheet.append(["Store", "Sales", None, "Costs", None])
    sheet.append([None, "2023", "2024", "2023", "2024"])
    for at, row in enumerate(numbers.to_numpy().tolist()):
        sheet.append([f"S{at}", *row])
    sheet.append(["TOTAL", *numbers.sum().tolist()])
    sheet.append(["Source: accounting"])
    for merged in ("A1:E1", "B3:C3", "D3:E3"):
        sheet.merge_cells(merged)
    book.create_sheet("empty")
    book.save("stores.xlsx")


def test_sheets_with_titles_and_totals(capsys, stores, numbers):
    summary, err = cluster(capsys, None, "-o", "o.csv", name="stores.xlsx")
    assert summary["n_samples"] == N
    assert "Used: 'Sales 2023', 'Sales 2024', 'Costs 2023', 'Costs 2024'." in err
    assert "Left out 1 row at the end: the total." in err
    assert pd.read_csv("o.csv")["id"].tolist() == [f"S{at}" for at in range(N)]
    told = ["--sheet", "Sheet", "--header-row", "4", "--skip-footer", "2"]
    again, err = cluster(capsys, None, *told, name="stores.xlsx")
    assert again["sizes"] == summary["sizes"]
    assert "Used: '2023', '2024', '2023_2', '2024_2'." in err
    assert run(["cluster", "stores.xlsx", "-k", "3", "--sheet", "Shet"]) == 1
    assert "which has 'Sheet', 'empty'" in capsys.readouterr().err


def test_lines_around_a_text_table(capsys, numbers):
    body = numbers.to_csv(index=False)
    with open("t.csv", "w") as file:
        file.write(f"Report of the year\n\n{body}end of file\n")
    summary, _ = cluster(capsys, None, "--header-row", "3", "--skip-footer", "1")
    assert summary["n_samples"] == N
    assert summary["n_features"] == 4


@pytest.fixture
def survey():
    rng = np.random.default_rng(0)
    usual = rng.integers(0, 5, (3, 12))
    answers = np.clip(usual[GROUP] + rng.integers(-1, 2, (N, 12)), 0, 4)
    return pd.DataFrame(WORDS[answers], columns=[f"q{j}" for j in range(12)])


def test_answers_in_words_are_levels(capsys, survey):
    summary, err = cluster(capsys, survey.assign(g=GROUP), "--truth", "g")
    assert (summary["n_features"], ari(summary)) == (12, 1.0)
    assert "Used: as levels in order 'q0', 'q1'" in err


def test_an_order_that_nobody_knows_is_given(capsys, survey):
    other = dict(zip(WORDS, ["ka", "ki", "ku", "ke", "ko"], strict=True))
    frame = survey.replace(other).assign(g=GROUP)
    summary, _ = cluster(capsys, frame, "--truth", "g", "--order", "ka,ki,ku,ke,ko")
    assert (summary["n_features"], ari(summary)) == (12, 1.0)
    summary, _ = cluster(capsys, frame, "--truth", "g", "--order", "q0=ka,ki,ku,ke,ko")
    assert summary["n_features"] > 12


def test_free_text_is_left_out(capsys, numbers):
    numbers["comment"] = ["great", "too slow", *[None] * (N - 2)]
    _, err = cluster(capsys, numbers)
    assert "Left out: 'comment' (is free text)." in err
    assert "Filled" not in err


def test_dates_are_recognised_and_used_on_request(capsys, numbers):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D")
    numbers["at"] = days.strftime("%d/%m/%Y %H:%M:%S")
    summary, err = cluster(capsys, numbers)
    assert "shown beside the clusters: 'at' (holds dates)." in err
    assert summary["n_features"] == 4
    summary, err = cluster(capsys, numbers, "--use", "at")
    assert summary["n_features"] == 5
    assert "as days 'at'" in err


def test_places_are_compared_on_the_earth(capsys):
    rng = np.random.default_rng(0)
    centres = np.array([[64.0, -179.5], [64.0, 179.5], [-40.0, 10.0]])  # two are neighbours
    places = (centres[GROUP] + rng.normal(0, 0.2, (N, 2))).round(4)
    places[:, 1] = (places[:, 1] + 180) % 360 - 180
    frame = pd.DataFrame(places, columns=["lat", "lon"]).assign(g=np.minimum(GROUP % 3, 2) // 2)
    summary, err = cluster(capsys, frame, "--truth", "g", k=2)
    assert "Used, but doubtful: 'lat' (is half of a place" in err
    assert ari(summary) < 0.9
    options = ["--truth", "g", "--geo", "lat,lon", "--model", "m", "-o", "o.csv"]
    summary, err = cluster(capsys, frame, *options, k=2)
    assert ari(summary) == 1.0
    assert "as a place on the Earth 'lat' and 'lon'" in err
    assert run(["predict", "m", "t.csv", "-o", "again.csv"]) == 0
    assert pd.read_csv("again.csv")["cluster"].equals(pd.read_csv("o.csv")["cluster"])


@pytest.mark.parametrize("output", ["o.csv", "o.xlsx", "o.json", "o.parquet"])
def test_the_table_again_with_clusters_behind(capsys, numbers, output):
    numbers.insert(0, "code", [f"{at:05d}" for at in range(N)])
    numbers["cluster"] = ["=1+1", "mine"] * (N // 2)
    summary, _ = cluster(capsys, numbers, "--append", "-o", output, "--model", "m")
    readers = {"csv": pd.read_csv, "xlsx": pd.read_excel, "json": pd.read_json}
    read = readers.get(output.partition(".")[2], pd.read_parquet)
    found = read(output)
    known = ["cluster_2", "membership", "outlier_score"]
    assert list(found.columns)[: len(numbers.columns) + 3] == [*numbers.columns, *known]
    np.testing.assert_array_equal(np.bincount(found["cluster_2"]), summary["sizes"])
    if output == "o.csv":
        assert found["cluster"][0] == "'=1+1"  # which no spreadsheet runs
        assert pd.read_csv(output, dtype=str)["code"][7] == "00007"
    if output == "o.xlsx":
        sheet = openpyxl.load_workbook(output).active
        assert sheet["F2"].data_type == "s"
        assert sheet["A9"].value == "00007"
    assert run(["predict", "m", "t.csv", "--append", "-o", f"again-{output}"]) == 0
    assert read(f"again-{output}")["cluster_2"].tolist() == found["cluster_2"].tolist()


def test_predict_knows_the_names_of_the_rows(capsys, numbers):
    numbers["who"] = [f"name {at}" for at in range(N)]
    cluster(capsys, numbers, "--model", "m", "-o", "o.csv")
    assert run(["predict", "m", "t.csv", "-o", "again.csv"]) == 0
    first, again = pd.read_csv("o.csv"), pd.read_csv("again.csv")
    assert first[["id", "cluster"]].equals(again[["id", "cluster"]])
    numbers.drop(columns="who").to_csv("nameless.csv", index=False)
    assert run(["predict", "m", "nameless.csv", "-o", "again.csv"]) == 0
    assert pd.read_csv("again.csv")["row"].tolist() == list(range(N))


def test_what_was_decided_is_on_the_page_as_flags(capsys, numbers, monkeypatch):
    numbers = numbers.assign(year=2007 + np.arange(N) % 3, who=[f"n{at}" for at in range(N)])
    monkeypatch.setattr("sys.argv", ["unispectral", "cluster", "t.csv"])
    cluster(capsys, numbers, "--report", "p.html")
    with open("p.html", encoding="utf-8") as file:
        page = file.read()
    assert "unispectral cluster t.csv --id who --supplementary year" in page
    assert '"beside":[{"name":"year"' in page


def test_the_profile_alone(capsys, numbers):
    numbers = numbers.assign(year=2007 + np.arange(N) % 3, who=["<script>"] * N)
    numbers.to_csv("t.csv", index=False)
    assert run(["profile", "t.csv", "--report", "p.html"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("t.csv: 120 rows, 6 columns\n\ncolumn")
    assert "Left out: 'who' (has the same value, '<script>', in every row)." in out
    with open("p.html", encoding="utf-8") as file:
        assert "<script>'" not in file.read()
    assert run(["profile", "t.csv", "--json", "--use", "year"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {c["name"]: c["role"] for c in told["columns"]}["year"] == "use"
    assert run(["profile", "t.csv", "--use", "yaer"]) == 1
    assert "--use 'yaer' is not in the file 't.csv'; perhaps 'year'" in capsys.readouterr().err


def test_rows_at_the_end_that_are_none_are_left_out_by_predict_too(capsys, numbers):
    frame = numbers.copy()
    frame.insert(0, "shop", [f"shop {at}" for at in range(N)])
    frame.loc[N] = ["Total", *numbers.sum().round(3)]
    with open("t.csv", "w") as file:
        file.write(frame.to_csv(index=False) + ",,,,\n" * 3)
    summary, err = cluster(capsys, None, "--model", "m", "-o", "o.csv")
    told = "Left out 3 rows at the end: nothing is in them."
    assert told in err
    assert "Left out 1 row at the end: the total." in err
    assert sum(summary["sizes"]) == N
    assert run(["predict", "m", "t.csv", "-o", "again.csv"]) == 0
    assert told in (said := capsys.readouterr().err)
    assert "Left out 1 row at the end: the total." in said
    first, again = pd.read_csv("o.csv"), pd.read_csv("again.csv")
    pd.testing.assert_frame_equal(first[["id", "cluster"]], again[["id", "cluster"]])
    assert run(["predict", "m", "t.csv", "--append", "-o", "behind.csv"]) == 0
    behind = pd.read_csv("behind.csv")
    assert len(behind) == N + 4
    assert behind["cluster"][N:].isna().all()
    assert behind["cluster"][:N].tolist() == first["cluster"].tolist()


def test_a_total_that_is_none_is_predicted(capsys, numbers):
    frame = numbers.assign(shop=[f"shop {at}" for at in range(N)])
    cluster(capsys, frame, "--model", "m")
    frame.loc[N - 1, "shop"] = "Total"  # a shop of this name, with numbers like the others
    frame.to_csv("t.csv", index=False)
    assert run(["predict", "m", "t.csv", "-o", "again.csv"]) == 0
    assert len(pd.read_csv("again.csv")) == N


@pytest.mark.parametrize(
    "options", [["--scale", "none"], ["--scale", "robust"], ["--use", "kind"]]
)
def test_what_is_scaled_is_not_scaled_again(capsys, numbers, options):
    numbers["a"] *= 1000
    numbers["kind"] = ["x", "y"] * (N // 2)
    summary, _ = cluster(capsys, numbers, *options)
    assert "standardised" not in str(summary["scaling"])
    summary, _ = cluster(capsys, numbers, "--leave-out", "kind")
    assert "standardised" in str(summary["scaling"])
    summary, _ = cluster(capsys, numbers, *options, "--param", "scaling=standard")
    assert "standardised" in str(summary["scaling"])


def test_what_was_asked_for_is_not_doubtful(capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lat": rng.normal(50, 2, 40), "lon": rng.normal(9, 2, 40)})
    frame["score"] = rng.permutation(40) + 1
    _, err = cluster(capsys, frame, "--geo", "lat,lon", "--use", "score", k=2)
    assert "doubtful" not in err


def profiled(capsys, name):
    assert run(["profile", name]) == 0
    return "".join(capsys.readouterr())


def test_money_of_a_german_spreadsheet(capsys, numbers):
    money = [f"{1000 + 97 * i:,}".replace(",", ".") + ",50 €" for i in range(N)]
    numbers.assign(Erlös=money).to_csv("t.csv", sep=";", index=False, encoding="cp1252")
    out = profiled(capsys, "t.csv")
    assert "'Erlös' (€)" in out
    assert "is read as Windows-1252" in out


def test_addresses_are_no_ranges_and_limits_no_numbers(capsys, numbers):
    numbers["host"] = [f"10.0.{i % 7}.1" for i in range(N)]
    numbers["lead"] = [f"<{i}" if i % 10 == 0 else str(i * i % 89) for i in range(N)]
    out = profiled(capsys, numbers.to_csv("t.csv", index=False) or "t.csv")
    assert "'host' (holds" not in out
    assert "host    category" in out
    assert "12 values that cannot be read as a number, such as '<0'; taken as missing" in out


def test_errors_of_a_spreadsheet_are_missing(capsys, numbers):
    rate = [["#DIV/0!", "#NV"][i % 2] if i % 4 == 0 else i * i % 97 for i in range(N)]
    out = profiled(capsys, numbers.assign(rate=rate).to_csv("t.csv", index=False) or "t.csv")
    assert "30 in 'rate' with" in out


def test_a_cluster_in_the_middle_of_a_column_is_told(capsys):
    values = np.array([0.0, 50.0, 100.0])[GROUP] + np.random.default_rng(0).normal(0, 3, N)
    summary, _ = cluster(capsys, pd.DataFrame({"x": values, "same": 1}))
    middle = summary["summary"]["clusters"][1]
    assert middle["proposal"] == "middle x"
    assert middle["text"].startswith("x 4")


def test_of_very_many_columns_the_telling_ones_are_listed(capsys):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 200))).rename(
        columns="g{}".format
    )
    frame.insert(150, "code_of_place", [f"0{i % 9}115" for i in range(20)])
    out = profiled(capsys, frame.to_csv("t.csv", index=False) or "t.csv")
    assert "code_of_place  code" in out
    assert "… and 141 more columns" in out
    assert "g170" not in out


def test_units_below_the_names_are_no_row(capsys, numbers):
    body = numbers.to_csv(index=False, header=False)
    with open("t.csv", "w") as file:
        file.write(f"a,b,c,d\n(kg),cm,°C,km/h\n{body}")
    summary, err = cluster(capsys, None, "--model", "m", "-o", "o.csv")
    assert "Left out the row below the names: it holds no numbers ((kg), cm, °C, km/h)." in err
    assert sum(summary["sizes"]) == N
    assert run(["predict", "m", "t.csv", "-o", "again.csv"]) == 0
    assert "it holds no numbers" in capsys.readouterr().err
    first, again = pd.read_csv("o.csv"), pd.read_csv("again.csv")
    pd.testing.assert_frame_equal(first, again)
    assert first["row"].tolist() == list(range(1, N + 1))


def test_a_word_in_the_first_row_is_no_unit(capsys, numbers):
    frame = numbers.astype(object)
    frame.loc[0, "a"] = "none"
    summary, err = cluster(capsys, frame)
    assert sum(summary["sizes"]) == N
    assert "such as 'none'; taken as missing" in err


def test_years_are_names_of_columns(capsys, numbers):
    numbers.columns = ["2019", "2020", "2021", "2022"]
    summary, err = cluster(capsys, numbers)
    assert sum(summary["sizes"]) == N
    assert "Used: '2019', '2020', '2021', '2022'." in err
    assert "The first line holds years, and no other does, so it is taken as names" in err


def test_points_mark_thousands_beside_smaller_numbers(capsys):
    rng = np.random.default_rng(0)
    people = rng.integers(300, 3000, N) + 9000 * (GROUP > 0)
    with open("t.csv", "w") as file:
        lines = [f"Ort{at};{people[at]:,};{at % 37}".replace(",", ".") for at in range(N)]
        file.write("\n".join(["Ort;Einwohner;Hunde", *lines]))
    summary, err = cluster(capsys, None, k=2)
    assert "Points mark thousands in 'Einwohner'." in err
    assert sorted(summary["sizes"]) == [N // 3, 2 * N // 3]


def test_points_that_may_mark_thousands_are_named(capsys):
    with open("t.csv", "w") as file:
        file.write("x;y\n" + "\n".join(f"{12 + at / 7:.3f};{at % 9}" for at in range(N)))
    out = profiled(capsys, "t.csv")
    assert "Numbers such as 12.000 are taken as decimals; if points mark thousands, all" in out


def test_a_minus_behind_a_number(capsys, numbers):
    behind = [f"{abs(x):.2f}{'-' * (x < 0)}" for x in numbers["a"]]
    summary, _ = cluster(capsys, numbers.assign(a=behind), "--model", "m")
    plain, _ = cluster(capsys, numbers.round(2))
    assert summary["n_features"] == 4
    assert summary["sizes"] == plain["sizes"]
    grades = [f"{at % 4 + 1}{'-' * (at % 2)}" for at in range(N)]  # half a grade less, not minus
    assert "grade   category" in profiled(
        capsys, numbers.assign(grade=grades).to_csv("t.csv", index=False) or "t.csv"
    )


def test_words_of_another_alphabet_ask_for_the_encoding(capsys, numbers):
    numbers.columns = ["名前", "身長", "体重", "年齢"]
    numbers.to_csv("t.csv", index=False, encoding="shift_jis")
    assert "give the encoding, such as shift_jis" in profiled(capsys, "t.csv")
    assert run(["profile", "t.csv", "--encoding", "shift_jis"]) == 0
    assert "'身長'" in capsys.readouterr().out


def test_places_say_how_to_be_compared(capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"lat": rng.uniform(50, 54, N), "lon": rng.uniform(8, 12, N)})
    _, err = cluster(capsys, frame)
    assert "'lat' (is half of a place on the Earth, not a length; --geo takes both as" in err


def test_categories_are_told_by_their_shares(capsys):
    kinds = np.array(["Ulm", "Bonn", "Köln"])[GROUP]
    kinds[::10] = "Ulm"
    frame = pd.DataFrame({"city": kinds, "pet": np.array(["cat", "dog", "fish"])[GROUP]})
    summary, _ = cluster(capsys, frame)
    told = " ".join(one["text"] for one in summary["summary"]["clusters"])
    assert "=" not in told
    assert "city Köln 8" in told


def test_the_page_begins_with_what_was_done_to_the_columns(capsys, numbers):
    _, err = cluster(capsys, numbers.assign(year=2007 + np.arange(N) % 3), "--report", "p.html")
    with open("p.html", encoding="utf-8") as file:
        page = file.read()
    told = page[page.index('"notes":[') :]
    for line in err.splitlines()[1:4]:
        assert line.strip() in told


def test_names_in_two_lines_are_no_row(capsys, numbers):
    with open("t.csv", "w") as file:
        body = numbers.to_csv(index=False, header=False)
        file.write(f"Sales,Sales,Staff,Staff\nQ1,Q2,full,part\n{body}")
    summary, err = cluster(capsys, None)
    assert sum(summary["sizes"]) == N
    assert "it holds no numbers (Q1, Q2, full, part)" in err


def test_marks_of_a_form_are_answers(capsys, numbers):
    chosen = GROUP == 1
    forms = {"x": np.where(chosen, "x", ""), "tick": np.where(chosen, "✓", "")}
    forms["one"] = np.where(chosen, "1", "")
    for values in forms.values():
        frame = numbers.assign(chosen=values)
        _, err = cluster(capsys, frame, "--model", "m", "-o", "o.csv")
        assert "as yes or no 'chosen'" in err
        assert "80 in 'chosen' with 0" in err
        assert run(["predict", "m", "t.csv", "-o", "again.csv"]) == 0
        capsys.readouterr()
        assert pd.read_csv("again.csv").equals(pd.read_csv("o.csv"))
    _, err = cluster(capsys, numbers.assign(chosen=np.where(chosen, "great", "")))
    assert "Left out: 'chosen' (has the same value, 'great', wherever it has one)." in err


def test_a_remark_below_a_table_is_named(capsys, numbers):
    with open("t.csv", "w") as file:
        file.write(numbers.to_csv(index=False) + "Source: office of statistics\n")
    assert run(["cluster", "t.csv"]) == 1
    assert "leave remarks below the table out (--skip-footer)" in capsys.readouterr().err
    summary, _ = cluster(capsys, None, "--skip-footer", "1")
    assert sum(summary["sizes"]) == N


def test_levels_are_told_in_the_words_of_the_table(capsys):
    words = np.array(["trifft nicht zu", "trifft eher nicht zu", "trifft eher zu", "trifft zu"])
    answers = words[GROUP[:, None] + np.random.default_rng(0).integers(0, 2, (N, 2))]
    summary, _ = cluster(capsys, pd.DataFrame(answers, columns=["q1", "q2"]))
    told = " ".join(one["text"] for one in summary["summary"]["clusters"])
    assert "trifft" in told
    assert "stimme" not in told


def test_a_long_name_is_no_longitude(capsys, numbers):
    numbers.columns = ["how long do you wait (min)", "a long name", "c", "d"]
    out = profiled(capsys, numbers.to_csv("t.csv", index=False) or "t.csv")
    assert "Earth" not in out


def test_endless_values_are_named_without_a_warning(capsys, numbers):
    numbers.loc[3, "a"] = np.inf
    numbers.to_csv("t.csv", index=False)
    assert run(["cluster", "t.csv"]) == 1
    err = capsys.readouterr().err
    assert "has 1 infinite value in 'a'" in err
    assert "RuntimeWarning" not in err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--order", "nope=never,always"], "--order 'nope' is not a column of the table."),
        (["--order", "q0=never,always"], "--order 'q0' is not the order of all its answers"),
        (["--order", "a little,very"], "--order 'a little, very' is the order of no column"),
        (["--header-row", "999"], "--header-row 999 leaves nothing of the file 't.csv', which"),
        (["--skip-footer", "999"], "--skip-footer leaves nothing of the file 't.csv', which has"),
    ],
)
def test_options_that_cannot_be_meant(capsys, survey, options, told):
    survey.to_csv("t.csv", index=False)
    assert run(["cluster", "t.csv", *options]) == 1
    assert told in capsys.readouterr().err


def test_lines_beyond_a_sheet(capsys, stores):
    for options in (["--header-row", "999"], ["--skip-footer", "999"]):
        assert run(["cluster", "stores.xlsx", *options]) == 1
        assert "leaves nothing of the file 'stores.xlsx'" in capsys.readouterr().err


def test_columns_are_appended_to_a_file(capsys, numbers):
    numbers.to_csv("t.csv", index=False)
    assert run(["cluster", "t.csv", "--append"]) == 2
    assert "--append says what -o writes; name a file with -o." in capsys.readouterr().err


def test_scores_of_a_column_have_the_same_digits(capsys, numbers):
    numbers.assign(g=GROUP).to_csv("t.csv", index=False)
    methods = ["--methods", "kmeans,ward", "--truth", "g"]
    assert run(["compare", "t.csv", "-k", "3", *methods, "--report", "p.html"]) == 0
    out = capsys.readouterr().out
    lines = [line.split() for line in out.splitlines()]
    place = next(line for line in lines if "C-H" in line).index("C-H")
    scores = [line[1:] for line in lines if line[:1] in (["kmeans"], ["ward"])]
    assert all("." not in score[place] for score in scores)
    assert all(len(score[place + 1].partition(".")[2]) == 3 for score in scores)


def test_all_seeds_of_a_method_count(monkeypatch, numbers):
    from unispectral.cli import _fit, compare
    from unispectral.cli._input import Input
    from unispectral.tables import Table

    labels = {0: GROUP, 1: np.arange(N) // 40, 2: GROUP}

    class Found:
        seconds = 0.1

        def __init__(self, seed):
            self.labels = labels[seed]

    monkeypatch.setattr(compare, "build_method", lambda name, k, seed, **more: seed)
    monkeypatch.setattr(_fit, "fit", lambda seed, data, name: Found(seed))
    data = Input({"t": Table(numbers.to_numpy(), list(numbers))})
    options = {"jobs": None, "seed": 0, "seeds": 3}
    told, _ = compare._run_seeds("kmeans", 3, data, options)
    assert told["seeds"] == 3
    labels[1] = GROUP
    assert compare._run_seeds("kmeans", 3, data, options)[0]["seeds"] == 1
