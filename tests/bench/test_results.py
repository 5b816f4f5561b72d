"""From cells to figures, against figures made by hand; ranks against published tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unispectral.bench import Column, Results, Store, Study, StudyDataset, StudyMethod
from unispectral.bench.report import rank_columns
from unispectral.bench.results import Figure, ResultTable


def fill(store: Store, study: Study, value, objective=None) -> None:  # type: ignore[no-untyped-def]
    """Store made-up outcomes for all cells."""
    for cell in study.cells():
        score = value(cell)
        if score is None:
            store.put(cell, {"status": "timeout", "reason": "too slow", "seconds": 9.0})
            continue
        facts = {} if objective is None else {"objective": objective(cell)}
        scores = {"accuracy": score, "nmi": 1.0 - score}
        store.put(
            cell,
            {"status": "done", "scores": scores, "labels": "", "seconds": 2.0, "facts": facts},
        )


def study_of(**changes: object) -> Study:
    settings: dict = {
        "input": "kernel",
        "kernels": ("linear", "gaussian_1"),
        "kernel_parameter": "affinity",
        "grid": {"n_init": [1, 2]},
        "repeats": 3,
        "columns": (
            Column("X"),
            Column("X-m", kernels="mean"),
            Column("X", ("paper",), repeats="objective"),
        ),
        **changes,
    }
    method = StudyMethod("X", "sklearn.cluster.SpectralClustering", **settings)
    return Study("s", [StudyDataset("iris", title="YALE")], [method], metrics=("accuracy", "nmi"))


def value(cell) -> float:  # type: ignore[no-untyped-def]
    base = {"linear": 0.2, "gaussian_1": 0.4}[cell.kernel]
    return base + 0.1 * cell.parameters["n_init"] + 0.01 * cell.repeat


def figures(results: Results, protocol: str, metric: str = "accuracy") -> dict[str, Figure]:
    table = results.table(protocol, metric)
    return {figure.column: figure for figure in table.rows["iris"]}


def test_repeats_then_grid_then_kernels(tmp_path: Path) -> None:
    study = study_of()
    with Store(tmp_path / "s.jsonl") as store:
        fill(store, study, value, objective=lambda cell: -cell.repeat)
        results = Results(study, store)
    means = figures(results, "label-free")
    assert means["X"].value == pytest.approx(61.0)
    assert means["X"].setting.kernel == "gaussian_1"
    assert means["X"].setting.parameters == {"n_init": 2}
    assert means["X"].spread == pytest.approx(1.0)
    assert means["X-m"].value == pytest.approx((61.0 + 41.0) / 2)
    assert figures(results, "paper")["X"].value == pytest.approx(62.0)
    # The best kernel and grid point are those of each metric by itself.
    assert figures(results, "label-free", "nmi")["X"].setting.kernel == "linear"
    assert figures(results, "label-free", "nmi")["X"].value == pytest.approx(69.0)


def test_the_best_of_the_starts_and_of_one_bank(tmp_path: Path) -> None:
    columns = (
        Column("mean", ("paper",)),
        Column("best", ("paper",), repeats="best"),
        Column("text", ("paper",), bank="paper-text"),
        Column("all", ("label-free",)),
    )
    banks = {"paper": "cosine", "paper-text": "max"}
    study = study_of(kernels=("linear",), banks=banks, columns=columns)

    def by_bank(cell) -> float:  # type: ignore[no-untyped-def]
        return 0.3 + 0.2 * (cell.bank_name == "paper") + 0.01 * cell.repeat

    with Store(tmp_path / "s.jsonl") as store:
        fill(store, study, by_bank)
        results = Results(study, store)
    found = figures(results, "paper")
    assert found["mean"].value == pytest.approx(51.0)
    assert found["best"].value == pytest.approx(52.0)
    assert found["best"].setting.bank == "paper"
    assert found["text"].value == pytest.approx(31.0)
    assert found["text"].setting.bank == "paper-text"
    assert results.protocols() == ["label-free", "paper"]  # what a user gets comes first


def test_swapped_purity_is_shown_where_the_accuracy_is_best(tmp_path: Path) -> None:
    """One giant cluster would win otherwise."""
    study = replace(study_of(), metrics=("accuracy", "swapped_purity"))
    with Store(tmp_path / "s.jsonl") as store:
        for cell in study.cells():
            scores = {"accuracy": value(cell), "swapped_purity": 1.0 - value(cell) / 2}
            store.put(cell, {"status": "done", "scores": scores, "seconds": 1.0})
        results = Results(study, store)
    figure = figures(results, "label-free", "swapped_purity")["X"]
    assert figure.setting.kernel == "gaussian_1"
    assert figure.value == pytest.approx(100 - 61 / 2)


def test_missing_and_failed_cells_are_counted(tmp_path: Path) -> None:
    study = study_of()
    with Store(tmp_path / "s.jsonl") as store:
        fill(store, study, lambda cell: None if cell.kernel == "linear" else value(cell))
        results = Results(study, store)
    figure = figures(results, "label-free")["X-m"]
    assert (figure.done, figure.expected, figure.failed, figure.partial) == (6, 12, 6, True)
    assert figure.value == pytest.approx(61.0)
    assert len(results.failures()) == 6


def test_nothing_yet_is_no_figure(tmp_path: Path) -> None:
    study = study_of()
    with Store(tmp_path / "s.jsonl") as store:
        figure = figures(Results(study, store), "label-free")["X"]
    assert figure.value is None
    assert figure.difference is None


def test_notes_name_reductions_and_missing_objectives(tmp_path: Path) -> None:
    study = study_of(reduced=({"datasets": ["iris"], "reason": "it is slow", "repeats": 2},))
    with Store(tmp_path / "s.jsonl") as store:
        fill(store, study, value)
        results = Results(study, store)
    assert figures(results, "label-free")["X"].note == "2 of 3 repeats: it is slow"
    assert "no objective" in (figures(results, "paper")["X"].note or "")
    assert results.reductions() == [("YALE", "X", "2 of 3 repeats: it is slow")]


def test_paper_figures_stand_beside(tmp_path: Path) -> None:
    study = study_of(
        columns=(
            Column("mine", ("paper",), paper="SCMK"),
            Column("KKM", ("paper",), kernels="mean"),
        )
    )
    with Store(tmp_path / "s.jsonl") as store:
        fill(store, study, value)
        row = figures(Results(study, store), "paper")
    assert row["mine"].paper == 63.25
    assert row["mine"].difference == pytest.approx(61.0 - 63.25)
    assert row["KKM"].paper == 47.12


def table_of(values: np.ndarray) -> ResultTable:
    columns = tuple(f"c{j}" for j in range(values.shape[1]))
    rows = {
        f"d{i}": [Figure(c, None if np.isnan(v) else v) for c, v in zip(columns, row, strict=True)]
        for i, row in enumerate(values.tolist())
    }
    return ResultTable("label-free", "accuracy", columns, rows)


@pytest.mark.parametrize(("columns", "q"), [(2, 1.960), (4, 2.569), (7, 2.949), (10, 3.164)])
def test_critical_difference_is_that_of_the_published_table(columns: int, q: float) -> None:
    """Table 5 of Demšar (2006): critical values of the Nemenyi test at five per cent."""
    values = np.random.default_rng(0).normal(size=(14, columns))
    ranks = rank_columns(table_of(values))
    assert ranks is not None
    expected = q * np.sqrt(columns * (columns + 1) / (6 * 14))
    assert ranks["critical"] == pytest.approx(expected, rel=5e-4)


def test_average_ranks_by_hand() -> None:
    ranks = rank_columns(table_of(np.array([[3.0, 3.0, 1.0], [5.0, 4.0, 6.0]])))
    assert ranks is not None
    assert ranks["columns"] == ["c0", "c2", "c1"]
    assert ranks["ranks"] == pytest.approx([1.75, 2.0, 2.25])


def test_groups_span_less_than_the_critical_difference() -> None:
    values = np.random.default_rng(2).normal(size=(8, 9)) + 2 * np.arange(9)
    ranks = rank_columns(table_of(values))
    assert ranks is not None
    for first, last in ranks["groups"]:
        assert ranks["ranks"][last] - ranks["ranks"][first] < ranks["critical"]
        if last + 1 < len(ranks["ranks"]):
            assert ranks["ranks"][last + 1] - ranks["ranks"][first] >= ranks["critical"]


def test_columns_with_few_figures_are_left_out() -> None:
    values = np.random.default_rng(3).normal(size=(6, 4))
    values[:4, 3] = np.nan
    values[5, 0] = np.nan
    ranks = rank_columns(table_of(values))
    assert ranks is not None
    assert ranks["left_out"] == ["c3"]
    assert ranks["datasets"] == 5
    assert rank_columns(table_of(values[:1])) is None


def test_best_is_decided_as_printed() -> None:
    table = table_of(np.array([[50.001, 50.004, 49.9]]))
    assert table.best("d0") == {"c0", "c1"}
    assert replace(table).means()["c2"] == pytest.approx(49.9)
