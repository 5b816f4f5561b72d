"""The study of the defaults: its problems, its store, its report, and a tiny run."""

import json
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from benchmarks._store import Store
from benchmarks.label_free import (
    _fingerprint,
    categories,
    counting,
    data,
    defaults,
    descriptors,
    extras,
    peers,
    report,
    shapes,
    structure,
    suite,
    views,
)
from benchmarks.label_free.data import Absent, StudySet

from unispectral.tables import TablePreparer
from unispectral.tables._encode import APART


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
    found = views.compare(lambda: ({"a": tables["view 0"], "b": tables["view 0"] + 1.0}, y))
    assert found["best view"] >= found["chosen view"]
    assert found["left out"] == []
    clear, y = shapes.blurred_views(0, n=100, separations=(3.0, 3.0))
    assert views.gmc(lambda: (clear, y))["accuracy"] > 0.9


def test_one_table_gives_every_view_the_same_variance():
    rng = np.random.default_rng(0)
    tables = {"wide": 5.0 * rng.normal(size=(50, 20)), "narrow": rng.normal(size=(50, 2))}
    joined = views.one_table(tables)
    assert joined[:, :20].var(axis=0).sum() == pytest.approx(1.0)
    assert joined[:, 20:].var(axis=0).sum() == pytest.approx(1.0)
    mixed = views.one_table({"wide": sp.csr_array(tables["wide"]), "narrow": tables["narrow"]})
    np.testing.assert_allclose(mixed.toarray(), joined)


def test_problems_with_noise_have_their_base_and_more_views():
    for name, problem in views.PROBLEMS.items():
        if problem.base:
            assert not views.PROBLEMS[problem.base].base
            assert name.startswith(problem.base)
    tables, y = views.PROBLEMS["wine, 3 parts + 10 noise"].load()
    assert len(tables) == 13
    assert {len(table) for table in tables.values()} == {len(y)}
    assert sum(not problem.seen for problem in views.PROBLEMS.values()) >= 6


def test_descriptors_of_images_that_can_be_computed_by_hand():
    stripes = np.zeros((1, 12, 12))
    stripes[:, :, 6:] = 1.0  # one vertical edge: all gradients point the same way
    found = descriptors.oriented_gradients(stripes, cells=2, bins=4).reshape(2, 2, 4)
    assert (found[..., 1:] == 0).all()
    assert np.linalg.norm(found) == pytest.approx(1.0)
    flat = descriptors.texture(np.ones((2, 12, 12))).reshape(2, 10, 9)
    np.testing.assert_allclose(flat[:, 0], 1.0)  # nothing is brighter than anything
    np.testing.assert_allclose(flat[:, 1:], 0.0)
    noise = np.random.default_rng(0).uniform(size=(3, 12, 12))
    np.testing.assert_allclose(descriptors.texture(noise).reshape(3, 10, 9).sum(axis=1), 1.0)
    moved = np.roll(noise, (2, 3), axis=(1, 2))
    np.testing.assert_allclose(descriptors.spectrum(moved), descriptors.spectrum(noise))
    assert descriptors.projections(noise).sum() == pytest.approx(2 * noise.sum())


@pytest.fixture
def small_suite(tmp_path, monkeypatch):
    """One set of two blobs with noise and two labellings, in the form of the suite."""
    folder = tmp_path / "suite" / "fcps"
    folder.mkdir(parents=True)
    X, y = shapes.separated_blobs(0, [40, 40, 40], gap=12.0)
    np.savetxt(folder / "blobs.data.gz", X)
    np.savetxt(folder / "blobs.labels0.gz", np.where(np.arange(120) % 40 == 0, 0, y + 1), fmt="%d")
    np.savetxt(folder / "blobs.labels1.gz", np.minimum(y, 1) + 1, fmt="%d")
    monkeypatch.setenv("UNISPECTRAL_SUITE", str(tmp_path / "suite"))
    monkeypatch.setenv("UNISPECTRAL_REFERENCE", str(tmp_path))
    return X, y


def test_the_suite_is_scored_by_its_best_reference_without_noise_points(small_suite):
    assert suite.names() == ["fcps/blobs"]
    references = suite.load("fcps/blobs")[1]
    assert [int(y.max()) for y in references] == [3, 2]
    wrong = np.arange(120) % 2
    assert suite.score(references, {3: small_suite[1], 2: wrong}) == {"ari": 1.0, "nca": 1.0}
    assert suite.score(references[1:], {2: wrong})["ari"] < 0.1
    found = suite.compare("fcps/blobs")
    assert found["ari"] == found["peer ari"] == 1.0
    assert found["seconds"] > 0
    found = suite.count("fcps/blobs")
    assert found.pop("seconds") > 0
    assert found == {"ours": 3, "references": [2, 3], "ari": 1.0}


def test_the_suite_in_a_report_beside_published_methods(small_suite, tmp_path):
    published = {"methods": {"Genie_G0.3": {"fcps/blobs": [0.5, 0.6]}}}
    (tmp_path / "suite_published.json").write_text(json.dumps(published))
    store = Store(None)
    defaults.Study(store, [], [], quick=True).run(["suite"])
    text = report.write(store, None)
    assert "| Genie .3 | 1 | 0.500 (0.600) |  |  | 0.500 (0.600) |" in text
    assert "| **unispectral** | 1 | 1.000 (1.000) |  |  | 1.000 (1.000) |" in text
    assert "finds the number of a reference on 1 of 1 sets" in text


def test_an_absent_suite_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("UNISPECTRAL_SUITE", str(tmp_path / "nothing"))
    store = Store(None)
    defaults.Study(store, [], [], quick=True).run(["suite"])
    assert "set UNISPECTRAL_SUITE" in report.write(store, None)


def test_samples_without_clusters_are_drawn_anew():
    for number, (_, columns, n) in enumerate(structure.KINDS):
        first, again, other = (structure.structureless(number, draw) for draw in (0, 0, 1))
        assert first.shape == (n, columns)
        np.testing.assert_array_equal(first, again)
        assert (first == other).all() == (number == len(structure.KINDS) - 1)
    found = structure.look(structure.structureless(1, 0))
    assert found["ours"] == 1
    assert len(found["structure"]) == len(structure.ASKED)
    assert structure.advice(*shapes.separated_blobs(0, [40, 40]))["structure"] < structure.ALARM


def test_figures_of_different_states_are_told():
    store = _filled(0.9, 0.8)
    assert "except in" not in report.write(store, None)
    store.cells["main/iris/unispectral/0"]["condition"] = "another"
    assert "except in: main" in report.write(store, None)


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


def test_ours_are_measured_again_and_peers_are_kept(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(defaults, "RESULTS", tmp_path)
    run = ["--sets", "iris", "--parts", "main", "--methods", "k-means,unispectral"]
    defaults.main(run)
    capsys.readouterr()
    defaults.main([*run, "--ours"])
    measured = [line for line in capsys.readouterr().out.splitlines() if "measuring" in line]
    assert measured
    assert all("/unispectral/" in line for line in measured)


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
    assert views.compare(lambda: (tables, y))["together"] == 1.0


def mixed_table(n=60):
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    return pd.DataFrame(
        {
            "size": kind + rng.normal(scale=0.1, size=n),
            "colour": np.array(["red", "green", "blue"])[(kind + (rng.random(n) < 0.1)) % 3],
            "member": np.where(rng.random(n) < 0.8, "yes", "no"),
            "flag": (rng.random(n) < 0.3).astype(int),
            "kind": np.array(["a", "b", "c"])[kind],
        }
    )


def test_categories_of_the_study_are_those_of_the_preparer():
    frame = mixed_table().drop(columns="kind")
    np.testing.assert_allclose(
        categories.scaled(frame, APART), TablePreparer().fit_transform(frame), atol=1e-12
    )
    assert str(APART) in categories.SCALINGS
    for name, scaling in categories.SCALINGS.items():
        assert np.isfinite(categories.scaled(frame, scaling)).all(), name
    assert not set(categories.DESIGN) & set(categories.VALIDATION)


def test_categories_are_compared_and_printed(monkeypatch, capsys):
    table = categories.MixedTable("package", "toys", "kind")
    monkeypatch.setattr(
        categories.MixedTable, "frame", lambda self: mixed_table().assign(rownames=range(60))
    )
    monkeypatch.setattr(categories, "DESIGN", (table,))
    monkeypatch.setattr(categories, "SCALINGS", {"0": 0.0, "0.5": 0.5})
    categories.main(["--half", "design", "--seeds", "1"])
    said = capsys.readouterr().out.splitlines()
    assert said[1] == "| design | rows | classes | 0 | 0.5 |"
    assert said[3].startswith("| toys | 60 | 3 | ")
    assert said[-1].startswith("| mean rank | | | ")
