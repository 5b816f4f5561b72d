"""The study of the defaults: its problems, its store, its report, and a tiny run."""

import time

import numpy as np
import pytest
from benchmarks._store import Store
from benchmarks.label_free import (
    _fingerprint,
    counting,
    data,
    defaults,
    extras,
    peers,
    report,
    shapes,
    views,
)
from benchmarks.label_free.data import Absent, StudySet


@pytest.mark.parametrize(
    ("made", "n_clusters"),
    [
        (shapes.moons(0), 2),
        (shapes.spirals(0, arms=3), 3),
        (shapes.separated_blobs(0, [40, 10, 20]), 3),
        (shapes.subspaces(0, n_clusters=4, each=10), 4),
        (shapes.mixture(0, n_clusters=3), 3),
        (shapes.illumination(0, n_people=5, n_pixels=50), 5),
        (shapes.topics(0, n_clusters=3, n=60, n_words=200, repeated=0.2), 3),
    ],
)
def test_synthetic_problems_have_the_classes_they_promise(made, n_clusters):
    X, y = made
    assert X.shape[0] == len(y)
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(np.unique(y), np.arange(n_clusters))


def test_blobs_are_as_far_apart_as_asked():
    X, y = shapes.separated_blobs(3, [200, 200, 200], gap=8.0)
    centres = np.array([X[y == label].mean(axis=0) for label in range(3)])
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)[np.triu_indices(3, 1)]
    assert apart.min() > 7.0


def test_store_measures_once_and_again_when_settings_change(tmp_path):
    path = tmp_path / "results.json"
    calls = []

    def measure():
        calls.append(1)
        return {"value": len(calls)}

    assert Store(path).cell("part/a/0", measure, condition="old") == {"value": 1}
    assert Store(path).cell("part/a/0", measure, condition="old") == {"value": 1}
    assert Store(path).cell("part/a/0", measure, condition="new") == {"value": 2}
    assert Store(path).results("part") == {("a", "0"): {"value": 2}}
    store = Store(path)
    store.forget("part/a/0")
    assert Store(path).results("part") == {}


def test_figures_of_ours_depend_on_behaviour_and_those_of_peers_do_not(monkeypatch):
    study = defaults.Study(Store(None), ["iris"], [], quick=True)
    known = {method.name: method for method in peers.METHODS}
    before = study.condition(known["unispectral"]), study.depends("outliers")
    assert study.condition(known["unispectral"]) == before[0]
    assert study.condition(known["k-means"]) == "peer"
    answers = {**_fingerprint._ANSWERS, "labels": lambda: [[1.0, 2.0]]}
    monkeypatch.setattr(_fingerprint, "_ANSWERS", answers)
    _fingerprint.behaviour.cache_clear()
    assert study.condition(known["unispectral"]) != before[0]
    assert study.depends("outliers") == before[1]
    _fingerprint.behaviour.cache_clear()


def test_views_as_drawn():
    tables, y = shapes.blurred_views(0, n=60, separations=(2.0, 0.0), other=True)
    assert list(tables) == ["view 0", "view 1", "other"]
    assert {len(table) for table in tables.values()} == {60}
    np.testing.assert_array_equal(np.unique(y), np.arange(4))
    found = views.against_rivals({"a": tables["view 0"], "b": tables["view 0"] + 1.0}, y, 0)
    assert found["best alone"] >= found["mean alone"]


def _filled(ours: float, peer: float) -> Store:
    store = Store(None)
    for name in ("wine", "iris"):
        for method in peers.METHODS:
            value = ours if method.ours else peer
            store.cell(
                f"main/{name}/{method.name}/0",
                lambda value=value: {"accuracy": value, "nmi": value, "ari": value},
                condition="",
            )
    return store


@pytest.mark.parametrize(("ours", "met"), [(0.9, "yes"), (0.81, "**no**")])
def test_report_says_whether_the_target_is_met(ours, met):
    text = report.write(_filled(ours, 0.8), None)
    row = next(line for line in text.splitlines() if "Validation sets: mean accuracy" in line)
    assert row.endswith(f"| {met} |")
    assert f"{100 * ours:.1f}" in row


def test_sets_that_lack_a_method_take_no_part_in_means_and_ranks():
    store = _filled(0.9, 0.8)
    del store.cells["main/wine/TSEP/0"]
    figures = report.Figures(store, data.VALIDATION)
    assert figures.complete() == ["iris"]
    assert figures.ranks("accuracy")["unispectral"] == 1.0
    assert figures.averages("accuracy")["TSEP"] == pytest.approx(80.0)


def test_a_method_that_fails_is_scored_as_one_cluster(monkeypatch):
    def broken(X, n_clusters, seed, y):
        raise MemoryError("too large")

    method = peers.Method("TSEP", broken)
    store = Store(None)
    study = defaults.Study(store, ["iris"], ["TSEP"], quick=True)
    study._measure(data.SETS["iris"], method, 0)
    result = store.results("main")["iris", "TSEP", "0"]
    assert result["accuracy"] == pytest.approx(1 / 3, abs=1e-6)
    assert "iris, TSEP: MemoryError: too large" in report.write(store, None)


def test_time_limit_rings_only_when_time_is_up():
    with defaults._time_limit(60):
        pass
    with pytest.raises(TimeoutError, match="no answer in 1 s"), defaults._time_limit(1):
        _work_for(20)


def _work_for(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_only_the_tuned_peer_sees_the_classes():
    X, y = shapes.separated_blobs(0, [30, 30])
    wrong = np.zeros_like(y)
    for method in peers.METHODS:
        if not method.tuned:
            labels = method.fit(X, 2, 0, wrong)
            assert len(np.unique(labels)) == 2, method.name
    assert [method.name for method in peers.METHODS if method.tuned] == ["HDBSCAN best"]


def test_quick_run_reports_and_writes_nothing(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(defaults, "RESULTS", tmp_path)
    gone = StudySet("gone", "fresh", "table", _not_here)
    monkeypatch.setitem(data.SETS, "gone", gone)
    defaults.main(
        ["--quick", "--sets", "iris,gone", "--parts", "main", "--methods", "k-means,unispectral"]
    )
    text = capsys.readouterr().out
    assert "| iris |" in text
    assert "gone: no such package" in text
    assert not list(tmp_path.iterdir())


def _not_here():
    raise Absent("no such package")


def test_unknown_names_are_refused():
    with pytest.raises(SystemExit, match="'nothing' is not one of"):
        defaults.main(["--sets", "nothing"])


def test_parts_give_figures_that_can_be_wrong():
    X, y = shapes.separated_blobs(1, [40, 40, 40])
    assert counting.count(X, y, max_clusters=10, seed=0) == {"true": 3, "ours": 3, "eigengap": 3}
    found = extras.held_out(X, y, seed=0)
    assert found["held_out"] == found["at_once"] == 1.0
    assert extras.outliers(X, y, seed=0)["auc"] > 0.9
    noisy = extras.noise_kernels(X, y, n_noise=1, n_good=2, n_features=10, seed=0)
    assert noisy["accuracy"] == 1.0
    assert noisy["noise_weight"] < 0.1
    tables = {"first": X, "second": X[:, ::-1] + 1.0}
    assert views.cluster_digits("all views", tables, y, 0)["accuracy"] == 1.0
    assert views.cluster_digits("concatenation", tables, y, 0)["accuracy"] == 1.0
