"""One text for the terminal, the page and Python; names, levels and ways out of a warning."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering
from unispectral.cli._app import run
from unispectral.report import report_data, summarise, write_report
from unispectral.report._clusters import contrasts
from unispectral.report._columns import Columns
from unispectral.report._names import draw_portraits, name_by_words
from unispectral.report._summary import Summary
from unispectral.report._sureness import Sureness, find_way_out, share_clear

CENTRES = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 9.0], [0.0, 9.0, 0.0]])


def tables() -> dict[str, tuple[pd.DataFrame, int | str]]:
    """Samples without clusters, with clear ones, and some of which more were asked for."""
    rng = np.random.default_rng(0)
    names = ["width", "height", "depth"]
    clear = make_blobs(120, centers=CENTRES, random_state=0)[0]
    noise = rng.normal(size=(150, 3))
    return {
        "noise": (pd.DataFrame(noise, columns=names).round(4), "auto"),
        "clear": (pd.DataFrame(clear, columns=names).round(4), "auto"),
        "doubtful": (pd.DataFrame(noise[:, ::-1], columns=names).round(4), 5),
    }


def page_of(path) -> dict:
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">([^<]*)</script>', text)
    return json.loads(found[1])


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
@pytest.mark.parametrize("kind", ["noise", "clear", "doubtful"])
def test_terminal_page_and_python_say_the_same(kind, tmp_path, capsys):
    table, count = tables()[kind]
    table.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "page.html"
    asked = ["cluster", str(tmp_path / "t.csv"), "-k", str(count), "--report", str(page), "-q"]
    assert run(asked) == 0
    shown = capsys.readouterr().out
    told = page_of(page)["summary"]
    sentences = [told["answer"], told["why"], told["sure"], told["outliers"]]
    sentences += [*told["columns"], *told["diagnostics"]]
    for text in filter(None, sentences):
        assert text in shown
    many = len(told["clusters"]) > 1
    for one in told["clusters"] if many else ():
        assert f"{one['proposal']}" in shown
        assert one["text"] in shown
    model = UnifiedSpectralClustering(count, random_state=0).fit(table)
    summary = model.summary(table)
    write_report(tmp_path / "own.html", model, table)
    own = page_of(tmp_path / "own.html")["summary"]
    assert json.loads(json.dumps(summary.to_dict()))["diagnostics"] == own["diagnostics"]
    for part in ("answer", "why", "sure", "outliers", "columns", "diagnostics"):
        assert own[part] == summary.to_dict()[part]
        assert str(own[part] or "") in str(summary) or isinstance(own[part], list)
    # In the shell options have the names of the command; all else is the same.
    assert own["answer"] == told["answer"]
    assert own["sure"] == told["sure"]
    assert len(own["diagnostics"]) == len(told["diagnostics"])
    expected = {"noise": "No clusters", "clear": "3 clusters of 120", "doubtful": "5 clusters"}
    assert own["answer"].startswith(expected[kind])
    assert ("What speaks against it" in shown) == (kind == "doubtful")


def test_why_names_the_runner_up():
    table, _ = tables()["clear"]
    model = UnifiedSpectralClustering("auto").fit(table)
    scores = model.cluster_count_.scores
    second = 2 + int(np.argsort(-scores, kind="stable")[1])
    why = model.summary(table, refit=False).why
    assert f"next best is {second} (evidence {np.sort(scores)[-2]:.2f}" in why


def test_why_says_where_more_evidence_was_passed_over():
    model = UnifiedSpectralClustering("auto").fit(tables()["clear"][0])
    own = model.cluster_count_.scores[1]
    model.cluster_count_ = model.cluster_count_._replace(scores=np.array([0.1, own, own + 1e-3]))
    why = model.summary().why
    assert "4 has hardly more evidence" in why
    assert "the smallest number is taken" in why


def test_all_are_clear_only_where_all_are():
    for clear, told in {1000: "100 %", 999: "99.9 %", 990: "99 %", 0: "0 %"}.items():
        assert share_clear((np.arange(1000) < clear).astype(float)) == told
    assert share_clear((np.arange(10_000) > 0).astype(float)) == "99.9 %"


def test_the_way_out_names_a_number():
    told = find_way_out(Sureness(0.4, "fits", {2: 0.6, 4: 0.88, 6: 0.3}), 5)
    assert told[0].endswith("more stable are 4 (0.88) or 2 (0.60) clusters; try n_clusters=4.")
    told = find_way_out(Sureness(0.4, "fits", {2: 0.41, 3: 0.2}), 5)
    assert "no other number from 2 to 3 is stable, either" in told[0]
    told = find_way_out(Sureness(0.2, "fits", {9: 0.41, 3: 0.2}), 5)
    assert "try" not in told[0]
    told = find_way_out(Sureness(0.6, "fits", {9: 0.62, 3: 0.2}), 5)
    assert "no other number from 3 to 9 is clearly more stable" in told[0]
    assert find_way_out(Sureness(0.8, "fits", {4: 1.0}), 5) == []
    assert find_way_out(Sureness(None, "", {}), 5) == []


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
def test_a_number_that_is_more_stable_is_found_without_fitting_it():
    X, _ = make_blobs(150, centers=np.pad(CENTRES, ((0, 0), (0, 3))), random_state=1)
    summary = UnifiedSpectralClustering(6).fit(X).summary(X)
    assert summary.stability < 0.75
    assert summary.others[3] > 0.95
    assert any("more stable are" in said and " 3 (" in said for said in summary.diagnostics)


def test_agreement_of_candidates_comes_before_stability():
    table, _ = tables()["clear"]
    model = UnifiedSpectralClustering("auto").fit(table)
    model.agreement_ = 0.83
    summary = model.summary(table, refit=False)
    assert summary.stability == 0.83
    assert "the ways to cluster that were tried agree by 0.83" in summary.sure


def test_levels_and_shares_make_names():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50)
    income = np.where(labels == 0, 90_000, 30_000) + rng.normal(size=150) * 1000
    age = np.where(labels == 2, 70, 30) + rng.normal(size=150)
    member = (labels == 1).astype(float)
    table = Columns(np.column_stack([income, age, member]), ["income", "age", "kind=club"])
    one, two, three = draw_portraits(table, contrasts(table.X, labels), labels)
    assert one.name.startswith("high income")
    assert two.name.startswith("mostly club")
    assert "kind club 100 % (others 0 %)" in two.text
    assert three.name.startswith("high age")
    assert "age 70 (others 30)" in three.text
    assert "income 90," in one.text


def test_a_few_large_values_do_not_set_a_cluster_apart():
    labels = np.repeat([0, 1], 100)
    usual = np.where(labels == 0, 10.0, 0.0) + np.linspace(-1, 1, 200)
    rare = np.where(np.arange(200) < 30, 30.0, 0.0) + np.linspace(-1, 1, 200) ** 2
    table = Columns(np.column_stack([rare, usual]), ["rare", "usual"])
    found = contrasts(table.X, labels)
    assert found.effect[0, 0] > 0.5
    assert draw_portraits(table, found, labels)[0].text.startswith("usual 9.5")
    assert "rare" not in draw_portraits(table, found, labels)[0].text


def test_a_median_is_an_answer_that_somebody_gave():
    plans = [{"levels": {"rarely": 0.0, "often": 1.0, "very often": 1.5, "always": 2.0}}]
    table = Columns(np.array([[0.0], [1.0], [2.0], [np.nan]]), ["flies"], plans=plans)
    assert table.word(0, 1.5) == "often"
    assert table.word(0, 2.0) == "always"


def test_a_number_alone_is_no_name_of_a_column():
    X = np.random.default_rng(0).normal(size=(60, 41))
    labels = np.arange(60) % 2
    X[:, :3] += 9 * labels[:, None]
    X[:, 40] -= 3 * labels
    table = Columns(X, [*(f"pixel {j}" for j in range(40)), "price"])
    found = draw_portraits(table, contrasts(X, labels), labels)
    assert [one.name for one in found] == ["high price", "low price"]
    assert "pixel" in found[0].text


def test_words_that_all_texts_have_name_no_cluster():
    texts = [
        "this old tree",
        "this oak tree",
        "this fast car",
        "a slow car",
        "this car",
        "this ox",
    ]
    assert name_by_words(texts, np.array([0, 0, 1, 1, 1, 1]))[0].name.startswith("tree")


def test_texts_beside_an_embedding_describe_its_clusters(tmp_path, capsys):
    X, labels = make_blobs(60, 20, centers=2, random_state=0)
    words = np.array(["a fox runs quickly through woods", "the old dog sleeps all day long"])
    table = pd.DataFrame(X).add_prefix("e").round(3)
    table["text"] = [f"{words[c]} {'once more ' * 8}number {i}" for i, c in enumerate(labels)]
    table.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "page.html"
    assert run(["cluster", str(tmp_path / "t.csv"), "-k", "2", "-q", "--report", str(page)]) == 0
    assert "“fox” in 100 % (others 0 %)" in capsys.readouterr().out
    assert page_of(page)["by_words"]


def test_columns_of_an_embedding_have_no_names_to_propose():
    X = np.random.default_rng(0).normal(size=(60, 40))
    labels = np.arange(60) % 2
    X[:, 0] += 9 * labels
    table = Columns(X, [f"column {j}" for j in range(40)], named=False)
    assert {one.name for one in draw_portraits(table, contrasts(X, labels), labels)} == {""}
    texts = np.where(labels == 0, "the quick fox", "the lazy dog")
    assert [one.name for one in name_by_words(texts, labels)] == ["fox, quick", "dog, lazy"]
    summary = summarise(KMeans(2, n_init=1, random_state=0).fit(X), X, texts=texts)
    assert sorted(one.proposal for one in summary.clusters) == ["dog, lazy", "fox, quick"]


def test_units_of_a_pipeline_and_of_other_columns():
    table, _ = tables()["clear"]
    pipeline = make_pipeline(StandardScaler(), UnifiedSpectralClustering(3)).fit(table)
    summary = summarise(pipeline, table)
    assert summary.stability == 1.0
    # A column that the fit did not have describes the clusters, and is not clustered.
    model = UnifiedSpectralClustering(3).fit(table)
    more = table.assign(sales=1000.0 * (model.labels_ == 2) + np.arange(120))
    summary = model.summary(more)
    assert summary.stability == 1.0
    assert "sales" in summary.clusters[2].text
    # Samples that are not those of the fit are not fitted.
    assert model.summary(2 * table).stability is None


def test_names_are_given_checked_and_shown():
    table, _ = tables()["clear"]
    model = UnifiedSpectralClustering(3).fit(table)
    assert model.cluster_names_.tolist() == ["0", "1", "2"]
    assert model.rename({0: "loyal", 2: "new"}) is model
    summary = model.summary(table, refit=False)
    assert [one.name for one in summary.clusters] == ["loyal", "", "new"]
    assert "loyal" in str(summary)
    assert model.cluster_names_[model.predict(table)].tolist()[0] == "loyal"
    data = report_data(model, table, refit=False)
    assert data["summary"]["clusters"][0]["name"] == "loyal"
    for wrong in ({3: "x"}, {True: "x"}, ["a", "b"], "abc", {0: "new"}):
        with pytest.raises(ValueError, match="names"):
            model.rename(wrong)
    assert model.rename(["a", "b", "c"]).cluster_names_.tolist() == ["a", "b", "c"]
    assert model.fit(table).cluster_names_.tolist() == ["0", "1", "2"]


def test_rows_that_fit_nowhere_are_listed():
    X, _ = make_blobs(200, centers=4, n_features=6, random_state=0)
    X[:3] += 60 * np.eye(3, 6)
    with pytest.warns(DoubtfulResultWarning):
        model = UnifiedSpectralClustering(4).fit(X)
    named = [f"shop {i}" for i in range(200)]
    summary = model.summary(X, names=named, refit=False)
    assert summary.outliers.startswith("Fit nowhere: 3 of 200 samples, the oddest first: shop ")
    assert {int(n) for n in re.findall(r"shop (\d+)", summary.outliers)} == {0, 1, 2}
    data = report_data(model, X, refit=False)
    assert data["nowhere"] == 3
    assert np.flatnonzero(data["members"]["nowhere"]).tolist() == [0, 1, 2]


def test_a_summary_is_frozen_and_prints_itself():
    summary = Summary("2 clusters of 4 samples.", diagnostics=("One.",))
    assert repr(summary) == str(summary)
    assert summary.in_words(str.upper).diagnostics == ("ONE.",)
    with pytest.raises(AttributeError):
        summary.answer = ""


def test_large_and_small_numbers_of_a_column_are_written_alike():
    X = np.r_[np.linspace(1e7, 2e7, 20), np.linspace(9e9, 9.1e9, 20)][:, None]
    model = UnifiedSpectralClustering(2).fit(X)
    texts = [one.text for one in summarise(model, X, columns=["sales_2"]).clusters]
    assert texts == [
        "sales_2 1.5e+07 (others 9.05e+09)",
        "sales_2 9.05e+09 (others 1.5e+07)",
    ]
