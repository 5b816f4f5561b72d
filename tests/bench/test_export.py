"""Tables as files, in the layout of the paper."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from unispectral.bench import (
    Column,
    Results,
    Store,
    Study,
    StudyDataset,
    StudyMethod,
    write_tables,
)
from unispectral.bench.export import to_csv, to_latex, to_markdown
from unispectral.bench.report import _page_data


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Two columns with made-up scores, beside the paper's of YALE."""
    methods = [
        StudyMethod("KKM", "sklearn.cluster.KMeans", columns=(Column("KKM", ("paper",)),)),
        StudyMethod(
            "=mine|x_%",
            "sklearn.cluster.KMeans",
            parameters={"n_init": 1},
            columns=(Column("=mine|x_%", ("paper",)),),
        ),
    ]
    study = Study(
        "../odd name", [StudyDataset("iris", title="YALE")], methods, metrics=("accuracy",)
    )
    with Store(tmp_path / "r.jsonl") as store:
        for cell, score in zip(study.cells(), (0.5, 0.4), strict=True):
            store.put(cell, {"status": "done", "scores": {"accuracy": score}, "seconds": 0.5})
        return Results(study, store)


@pytest.fixture
def own(tmp_path: Path) -> Results:
    """A study of somebody's own: three methods on four data sets, two fits each."""
    methods = [
        StudyMethod(name, "sklearn.cluster.KMeans", repeats=2) for name in ("a_1", "b", "c")
    ]
    methods = [
        replace(method, parameters={"n_init": number + 1}) for number, method in enumerate(methods)
    ]
    sets = [StudyDataset(name, title=f"{name} & co") for name in ("w", "x", "y", "z")]
    study = Study("mine", sets, methods, title="Mine", metrics=("ari", "nmi"))
    with Store(tmp_path / "own.jsonl") as store:
        for number, cell in enumerate(study.cells()):
            level = {"a_1": 0.9, "b": 0.7, "c": 0.5}[cell.method.name]
            score = level + 0.01 * cell.repeat + 0.001 * number
            answer = {"status": "done", "scores": {"ari": score, "nmi": score}, "seconds": 0.5}
            store.put(cell, answer)
        return Results(study, store)


def test_markdown_opens_with_the_papers_table_theirs_above_ours(results: Results) -> None:
    text = to_markdown(results)
    first = text.partition("## The paper's tables")[2].partition("\n## ")[0]
    assert "| Data | KKM |" in first
    assert "| YALE | **47.12**<br>**50.00** |" in first
    assert text.index("## The paper's tables") < text.index("## In short")
    assert text.index("## In short") < text.index("## Variants, protocol `paper`")
    variants = text.partition("## Variants")[2]
    assert "| Data | =mine\\|x\\_% |" in variants
    assert "| YALE | **40.00** |" in variants


def test_swapped_purity_is_explained_where_it_first_stands(tmp_path: Path) -> None:
    columns = (Column("SCSK", ("paper",)),)
    method = StudyMethod("SCSK", "sklearn.cluster.KMeans", columns=columns)
    metrics = ("accuracy", "purity", "swapped_purity")
    study = Study("s", [StudyDataset("iris", title="YALE")], [method], metrics=metrics)
    with Store(tmp_path / "r.jsonl") as store:
        scores = {"accuracy": 0.6, "purity": 0.62, "swapped_purity": 0.64}
        store.put(study.cells()[0], {"status": "done", "scores": scores, "seconds": 0.5})
        text = to_markdown(Results(study, store))
    purity = text.partition("### Purity")[2]
    assert purity.index("here called swapped purity") < purity.index("**65.87**<br>**64.00**ˢ")


def test_defaults_do_not_stand_beside_tuned_figures_of_the_paper(tmp_path: Path) -> None:
    study = Study(
        "s",
        [StudyDataset("iris", title="YALE")],
        [StudyMethod("KKM", "sklearn.cluster.KMeans")],
        metrics=("accuracy",),
    )
    with Store(tmp_path / "r.jsonl") as store:
        answer = {"status": "done", "scores": {"accuracy": 0.5}, "seconds": 0.5}
        store.put(study.cells()[0], answer)
        text = to_markdown(Results(study, store))
    assert "47.12" not in text
    assert "paper" not in text


def test_markdown_begins_with_one_line_per_method(results: Results) -> None:
    text = to_markdown(results).partition("## In short")[2].partition("## ")[0]
    assert "(1 under `paper`)" in text
    assert "| KKM | **50.00** | 47.12 |" in text
    assert "| =mine\\|x\\_% | 40.00 | – |" in text


def test_own_studies_do_not_speak_of_the_paper(own: Results) -> None:
    for text in (to_markdown(own), to_latex(own), json.dumps(_page_data(own, "")["paper"])):
        assert "the paper" not in text.lower()


def test_markdown_has_deviations_ranks_and_tests(own: Results) -> None:
    text = to_markdown(own)
    assert "| w & co | **90.55** ± 0.78 |" in text
    assert "| *Average rank* | 1.00 | 2.00 | 3.00 |" in text
    assert "| *Win/tie/loss* | – | 0/0/4 | 0/0/4 |" in text
    assert "| *p (Holm)* | – | .250 | .250 |" in text
    against_c = to_markdown(own, reference="c")
    assert "| *Win/tie/loss* | 4/0/0 | 4/0/0 | – |" in against_c


def test_latex_marks_best_second_and_deviation(own: Results) -> None:
    text = to_latex(own, ("ari",))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    assert r"Data & a\_1$^\star$ & b & c \\" in text
    best = r"\textbf{90.55}\,{\scriptsize$\pm$0.78}"
    second = r"\underline{70.75}\,{\scriptsize$\pm$0.78}"
    assert rf"w \& co & {best} & {second} & 50.95" in text
    assert r"Win/tie/loss & -- & 0/0/4 & 0/0/4 \\" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert rule in text
    assert "Adjusted Rand index in per cent" in text


def test_latex_marks_what_differs_significantly(tmp_path: Path) -> None:
    methods = [
        StudyMethod("good", "sklearn.cluster.KMeans"),
        StudyMethod("bad", "sklearn.cluster.KMeans", parameters={"n_init": 2}),
    ]
    sets = [StudyDataset(f"d{number}") for number in range(8)]
    study = Study("s", sets, methods, metrics=("ari",))
    with Store(tmp_path / "r.jsonl") as store:
        for cell in study.cells():
            score = 0.9 if cell.method.name == "good" else 0.5
            store.put(cell, {"status": "done", "scores": {"ari": score}, "seconds": 0.5})
        text = to_latex(Results(study, store))
    assert r"good$^\star$ & bad$^\dagger$" in text  # p = 2 / 2⁸


def test_hostile_names_stay_text_in_latex(tmp_path: Path) -> None:
    name = r"\input{/etc/passwd} 100% #1 ^_~ $x$ & <b>"
    study = Study("s", [StudyDataset("iris", title=name)], [StudyMethod("m", "a.B")])
    with Store(tmp_path / "r.jsonl") as store:
        text = to_latex(Results(study, store), ("accuracy",))
    assert r"\input" not in text
    assert r"\textbackslash{}input\{/etc/passwd\} 100\% \#1" in text


def test_csv_has_a_line_for_each_figure(own: Results) -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv(own, ("nmi",)))))
    assert len(lines) == 12
    assert lines[0]["method"] == "a_1"
    assert float(lines[0]["mean"]) == pytest.approx(90.55)
    assert float(lines[0]["sd"]) == pytest.approx(0.7778, abs=1e-4)
    assert lines[0]["paper"] == ""
    assert json.loads(lines[0]["parameters"]) == {"n_init": 1}


def test_csv_has_no_formulas(results: Results) -> None:
    assert "'=mine|x_%" in to_csv(results)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "word"}, "format='word' is unknown"),
        ({"metrics": ["purity"]}, "metric='purity' is unknown"),
        ({"reference": "d"}, "reference='d' is no column; those are a_1, b, c"),
    ],
)
def test_what_cannot_be_written_is_said(own: Results, tmp_path: Path, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        write_tables(own, tmp_path / "t", **options)


def test_the_papers_mean_is_that_of_the_sets_under_paper(tmp_path: Path) -> None:
    """Two sets without labels, of which another method lacks one under `paper`."""
    both = (Column("KKM", ("label-free",)), Column("KKM", ("paper",)))
    methods = [
        StudyMethod("KKM", "sklearn.cluster.KMeans", columns=both),
        StudyMethod(
            "other",
            "sklearn.cluster.KMeans",
            parameters={"n_init": 1},
            columns=(Column("other", ("paper",)),),
        ),
    ]
    sets = [StudyDataset("iris", title="YALE"), StudyDataset("wine", title="JAFFE")]
    study = Study("two", sets, methods, metrics=("accuracy",))
    with Store(tmp_path / "r.jsonl") as store:
        for cell in study.cells():
            if cell.method.name == "other" and cell.dataset.name == "wine":
                continue
            store.put(cell, {"status": "done", "scores": {"accuracy": 0.5}, "seconds": 0.5})
        text = to_markdown(Results(study, store)).partition("## In short")[2]
    assert "(1 under `paper`, 2 under `label-free`)" in text
    assert "| KKM | **50.00** | **50.00** | 47.12 |" in text


def test_markdown_says_where_the_paper_contradicts_itself(results: Results) -> None:
    assert "## What does not fit together" in to_markdown(results)
    other = replace(results.study, datasets=(StudyDataset("iris"),))
    results.study = other
    assert "## What does not fit together" not in to_markdown(results)


def test_tables_are_a_file(results: Results, tmp_path: Path) -> None:
    path = write_tables(results, tmp_path / "tables.md")
    assert path.read_text(encoding="utf-8") == to_markdown(results)


def test_failures_and_reductions_are_told(tmp_path: Path) -> None:
    method = StudyMethod(
        "KKM",
        "sklearn.cluster.KMeans",
        repeats=3,
        reduced=({"datasets": ["iris"], "reason": "it is slow", "repeats": 1},),
    )
    study = Study("s", ["iris"], [method], metrics=("accuracy",))
    with Store(tmp_path / "r.jsonl") as store:
        cell = study.cells()[0]
        store.put(cell, {"status": "timeout", "reason": "stopped <b>", "seconds": 1.0})
        text = to_markdown(Results(replace(study), store))
    assert "- KKM on iris. 1 of 3 repeats: it is slow" in text
    assert "stopped &lt;b&gt;" in text
    assert "–†‡" in text


def test_a_single_column_has_no_best(tmp_path: Path) -> None:
    study = Study("s", [StudyDataset("d")], [StudyMethod("m", "a.B")], metrics=("nmi",))
    with Store(tmp_path / "r.jsonl") as store:
        answer = {"status": "done", "scores": {"nmi": 0.5}, "seconds": 0.5}
        store.put(study.cells()[0], answer)
        text = to_latex(Results(study, store))
    assert r"d & 50.00 \\" in text
    assert "NMI in per cent" in text


def test_more_methods_than_a_page_is_wide_stand_in_rows(tmp_path: Path) -> None:
    methods = [StudyMethod(f"m{number}", "a.B", parameters={"p": number}) for number in range(9)]
    sets = [StudyDataset("first"), StudyDataset("second"), StudyDataset("third")]
    study = Study("s", sets, methods, metrics=("nmi",))
    with Store(tmp_path / "r.jsonl") as store:
        for number, cell in enumerate(study.cells()):
            answer = {"status": "done", "scores": {"nmi": number / 100}, "seconds": 0.5}
            store.put(cell, answer)
        text = to_latex(Results(study, store))
    head = r"Method & first & second & third & Average rank & Win/tie/loss & $p$ (Holm) \\"
    assert head in text
    best = r"\textbf{8.00} & \textbf{17.00} & \textbf{26.00} & 1.00 & -- & -- \\"
    assert rf"m8$^\star$ & {best}" in text
    assert text.count(r"\midrule") == 1
