"""Nothing that cannot matter decides: the same samples in other words have the same clusters.

The relations, and more data, are those of ``python -m robustness metamorphic``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from robustness.metamorphic import RELATIONS, applies, base_fit, try_relation
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons

from unispectral import UnifiedSpectralClustering
from unispectral.metrics import clustering_accuracy


def _blobs():
    return make_blobs(300, centers=6, cluster_std=2.0, random_state=0)


def _clear():
    return make_blobs(150, centers=4, n_features=12, random_state=1)


def _moons():
    return make_moons(200, noise=0.05, random_state=0)


def _words():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 50)
    rates = np.where(np.arange(60) // 20 == y[:, None], 1.0, 0.1)
    return sp.csr_array(rng.poisson(rates).astype(float)), y


def _views():
    X, y = _clear()
    return {"left": X[:, :5], "right": np.rint(X[:, 5:])}, y


DATA: dict[str, Callable] = {
    "blobs": _blobs,
    "clear": _clear,
    "moons": _moons,
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "words": _words,
    "views": _views,
}


#: What these data are, on which it hangs what is promised of them.
CLEAR = {"clear", "moons", "words", "views"}
STANDARDISED = {"wine"}
SPARSE = {"words"}
PROMISED = [
    (name, relation)
    for name in DATA
    for relation, tried in RELATIONS.items()
    if (name in CLEAR or not tried.needs_clear)
    and (name in STANDARDISED or not tried.standardised)
    and (name not in SPARSE or not tried.dense)
]


@cache
def _fitted(name: str, auto: bool, prepare):
    samples, y = DATA[name]()
    if prepare is not None:
        samples = prepare(samples)
    k = "auto" if auto else int(y.max()) + 1
    return samples, k, base_fit(samples, [y], k)


@pytest.mark.parametrize(("name", "relation"), PROMISED)
def test_clusters_are_the_same(name: str, relation: str) -> None:
    tried = RELATIONS[relation]
    samples, k, base = _fitted(name, False, tried.prepare)
    found = try_relation(tried, samples, base.labels, k, 0)
    assert found >= (0.95 if tried.needs_clear else 0.99)


@pytest.mark.parametrize("name", DATA)
def test_what_is_promised_is_what_the_table_of_relations_tries(name: str) -> None:
    for relation, tried in RELATIONS.items():
        samples, _, base = _fitted(name, False, tried.prepare)
        assert applies(tried, samples, base) == ((name, relation) in PROMISED)


@pytest.mark.parametrize("relation", ["times 3", "7 constant columns more", "columns permuted"])
@pytest.mark.parametrize("name", ["moons", "clear"])
def test_their_number_is_the_same(name: str, relation: str) -> None:
    samples, k, base = _fitted(name, True, None)
    assert try_relation(RELATIONS[relation], samples, base.labels, k, 0) == 1.0


def test_one_far_sample_does_not_hide_that_there_are_clusters() -> None:
    X, y = make_moons(200, noise=0.1, random_state=0)
    base = base_fit(X, [y], "auto")
    assert base.clear
    assert try_relation(RELATIONS["one far sample more"], X, base.labels, "auto", 0) >= 0.95


@pytest.mark.parametrize("bad", [-999.0, 1e5])
def test_one_bad_row_among_the_wines(bad: float) -> None:
    X, y = load_wine(return_X_y=True)
    model = UnifiedSpectralClustering(3).fit(np.vstack([X, np.full(13, bad)]))
    assert model.scaling_["X"].startswith("standardised")
    assert clustering_accuracy(y, model.labels_[:-1]) > 0.9


def test_constant_columns_are_left_out_and_accepted_again(tmp_path) -> None:
    from unispectral.persistence import load_model, save_model

    X, _ = _moons()
    more = np.insert(X, [0, 1, 2], 7.0, axis=1)
    model = UnifiedSpectralClustering(2).fit(more)
    assert model.n_features_in_ == 5
    assert model.scaling_ == {
        "X": "as given: fewer than three columns; 3 that do not vary left out"
    }
    save_model(model, tmp_path / "model.usc")
    again = load_model(tmp_path / "model.usc")
    changed = more.copy()
    changed[:, [0, 2, 4]] = -1.0
    for one in (model, again):
        np.testing.assert_array_equal(one.predict(more), model.labels_)
        np.testing.assert_array_equal(one.predict(changed), model.labels_)
