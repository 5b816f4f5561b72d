"""Tables as files, in the layout of the paper."""

from __future__ import annotations

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
from unispectral.bench.export import to_markdown


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Two columns with made-up scores, beside the paper's of YALE."""
    methods = [
        StudyMethod("KKM", "sklearn.cluster.KMeans", columns=(Column("KKM"),)),
        StudyMethod(
            "=mine|x_%",
            "sklearn.cluster.KMeans",
            parameters={"n_init": 1},
            columns=(Column("=mine|x_%"),),
        ),
    ]
    study = Study(
        "../odd name", [StudyDataset("iris", title="YALE")], methods, metrics=("accuracy",)
    )
    with Store(tmp_path / "r.jsonl") as store:
        for cell, score in zip(study.cells(), (0.5, 0.4), strict=True):
            store.put(cell, {"status": "done", "scores": {"accuracy": score}, "seconds": 0.5})
        return Results(study, store)


def test_markdown_has_our_figure_the_papers_and_the_difference(results: Results) -> None:
    text = to_markdown(results)
    assert "| Data | KKM | =mine\\|x\\_% |" in text
    assert "| YALE | **50.00** (47.12, +2.88) | 40.00 |" in text
    assert "protocol `label-free`" in text


def test_markdown_begins_with_one_line_per_method(results: Results) -> None:
    text = to_markdown(results).partition("## In short")[2].partition("## ")[0]
    assert "(1 under `label-free`)" in text
    assert "| KKM | **50.00** | 47.12 |" in text
    assert "| =mine\\|x\\_% | 40.00 | – |" in text


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
    assert "(2 under `label-free`, 1 under `paper`)" in text
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
