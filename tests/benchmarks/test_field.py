"""The field: its peers on small problems, its record, its page."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks._store import Store
from benchmarks.field import data, methods, run
from benchmarks.field.data import GROUPS, Problem
from benchmarks.field.methods import METHODS, VIEW_METHODS, Method
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score


def clear_views():
    X, y = make_blobs(90, 6, centers=3, cluster_std=0.5, random_state=0)
    rng = np.random.default_rng(0)
    return {"a": X, "b": X @ rng.normal(size=(6, 8))}, y


pytestmark = pytest.mark.filterwarnings("ignore:Graph is not fully connected")


@pytest.mark.parametrize("method", VIEW_METHODS, ids=lambda method: method.name)
def test_clear_views_are_found(method):
    views, y = clear_views()
    assert adjusted_rand_score(y, method.fit(views, 3)) == 1.0


#: Peers that compile for a minute when they are first used.
_COMPILED = {"fast HDBSCAN", "EVōC"}


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.name in _COMPILED else [])
        for one in METHODS
    ],
)
def test_clear_clusters_are_found(method):
    assert methods.installed(method), f"the group 'peers' lacks {method.package}"
    X, y = make_blobs(300, 8, centers=3, cluster_std=0.4, random_state=1)
    finer = method.name in ("Jaccard and Leiden", "EVōC")  # they look for smaller ones
    least = 0.1 if finer else 0.9
    assert adjusted_rand_score(y, method.fit(X, 3)) > least


def test_arff_is_read_without_rows_that_lack_something(tmp_path):
    path = tmp_path / "small.arff"
    path.write_text(
        "% words\n@relation small\n@attribute x real\n@attribute y real\n"
        "@attribute class {a,b,noise}\n@data\n1,2,a\n3,?,b\n5,6,b\n7,8,noise\n"
    )
    X, y = data._load_arff(path)
    np.testing.assert_array_equal(X, [[1, 2], [5, 6], [7, 8]])
    np.testing.assert_array_equal(y, [0, 1, -1])


def test_the_record_is_resumed_and_the_page_ranks(tmp_path, monkeypatch):
    """Two made-up methods on three problems; a third fails and is told."""
    calls = []

    def perfect(X, k):
        calls.append(k)
        return (X[:, 0] > 0).astype(int)

    def poor(X, k):
        return np.arange(len(X)) % 2

    def broken(X, k):
        raise ValueError("no labels here")

    def load():
        X = np.r_[np.full((6, 1), -1.0), np.full((6, 1), 1.0), np.zeros((2, 1))]
        return X, np.r_[np.zeros(6, int), np.ones(6, int), [-1, -1]]

    made = (Method("unispectral", perfect), Method("poor", poor), Method("broken", broken))
    monkeypatch.setattr(run, "METHODS", made)
    monkeypatch.setattr(
        run, "problems", lambda group: [Problem(group, f"p{i}", load) for i in "abc"]
    )
    monkeypatch.setattr(run, "_warmed", {(method.name, False) for method in made})
    store = Store(tmp_path / "field.json")
    run.run(store, ["shapes"])
    assert calls == [2, 2, 2]
    run.run(Store(tmp_path / "field.json"), ["shapes"])
    assert calls == [2, 2, 2]
    run._forget(store, ["views"], ["unispectral"])
    run._forget(store, ["shapes"], ["poor"])
    run.run(store, ["shapes"])
    assert calls == [2, 2, 2]
    run._forget(store, ["shapes"], ["unispectral"])
    run.run(store, ["shapes"])
    assert calls == [2] * 6
    text = run.report(store)
    assert f"**{GROUPS['shapes'].title}**, 3 of 3 sets, design" in text
    assert "| unispectral | 100.0 | 100.0 | 1.00 |" in text
    assert "| 0/0/3 |" in text
    assert "- broken on 3 sets, first on pa: ValueError: no labels here" in text


def test_small_probabilities_are_no_zeros():
    assert [run._probability(p) for p in (0.0004, 0.0567, 1.0)] == ["< .001", ".057", "1.000"]


def test_tuning_takes_the_setting_that_fits_the_classes_best(monkeypatch):
    y = np.repeat([0, 1], 4)
    problem = Problem("views", "p", lambda: ({"a": y[:, None]}, y))
    right = Method("right", lambda X, k: np.arange(8) % 2, others=(lambda X, k: y,))
    monkeypatch.setattr(run, "_warmed", {("right", True)})
    assert run._fit(problem, right)["ari"] == 1.0
