"""Known labels: kept, never leaked, spread along the graph; fewer, equal or more clusters."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering, load_model, save_model
from unispectral.knowledge._read import read_labels
from unispectral.knowledge._spread import match_classes, spread

pytestmark = pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    known = np.full(150, -1)
    rows = np.random.default_rng(0).choice(150, 15, replace=False)
    known[rows] = y[rows]
    return X, y, known, rows


def fit(X, y=None, n_clusters=3, **options):
    parameters = {name: options.pop(name) for name in ("trust",) if name in options}
    return UnifiedSpectralClustering(n_clusters, **parameters).fit(X, y, **options)


def test_known_labels_are_kept_as_numbers_and_as_text(iris):
    X, y, known, rows = iris
    model = fit(X, known)
    np.testing.assert_array_equal(model.labels_[rows], y[rows])
    np.testing.assert_array_equal(model.membership_[rows], np.eye(3)[y[rows]])
    assert model.knowledge_ == {"known_labels": 15, "known_classes": 3, "trust": 1.0}
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)
    words = np.full(150, None, dtype=object)
    words[rows] = names[y[rows]]
    same = fit(X, words)
    np.testing.assert_array_equal(same.labels_, model.labels_)
    assert same.cluster_names_.tolist() == names.tolist()
    np.testing.assert_array_equal(same.predict(X), same.labels_)


@pytest.mark.parametrize("kind", ["none", "nan", "na", "series"])
def test_every_way_to_write_unknown(iris, kind):
    X, _, known, _ = iris
    written = {
        "none": np.array([None if one < 0 else one for one in known], dtype=object),
        "nan": np.where(known < 0, np.nan, known),
        "na": pd.array([pd.NA if one < 0 else one for one in known], dtype="Int64"),
        "series": pd.Series(known),
    }[kind]
    np.testing.assert_array_equal(fit(X, written).labels_, fit(X, known).labels_)


def test_a_complete_y_is_ignored_as_scikit_learn_has_it(iris):
    X, y, *_ = iris
    alone = fit(X).labels_
    np.testing.assert_array_equal(fit(X, y).labels_, alone)
    np.testing.assert_array_equal(UnifiedSpectralClustering(3).fit_predict(X, y), alone)
    assert fit(X, y).knowledge_ == {}
    pipe = make_pipeline(StandardScaler(), UnifiedSpectralClustering(3))
    np.testing.assert_array_equal(
        clone(pipe).fit(X, y)[-1].labels_, clone(pipe).fit(X)[-1].labels_
    )
    search = {"n_neighbors": [5, 8]}
    with_truth = GridSearchCV(UnifiedSpectralClustering(3), search, cv=2).fit(X, y)
    without = GridSearchCV(UnifiedSpectralClustering(3), search, cv=2).fit(X)
    found = [one.cv_results_["mean_test_score"] for one in (with_truth, without)]
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(
        with_truth.best_estimator_.labels_, without.best_estimator_.labels_
    )


def test_two_classes_written_as_minus_one_and_one_do_not_leak():
    X, y = make_blobs(60, centers=2, random_state=0)
    truth = 2 * y - 1
    with pytest.warns(UserWarning, match="−1 and 1 alone"):
        model = fit(X, truth, 2)
    assert model.knowledge_ == {}


def test_labels_help_where_the_clusters_are_wrong():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    known = np.where(np.random.default_rng(1).random(600) < 0.1, y, -1)
    hidden = known < 0
    before = adjusted_rand_score(y[hidden], fit(X, None, 10).labels_[hidden])
    model = fit(X, known, 10)
    assert (model.labels_[hidden] == y[hidden]).mean() > 0.9
    assert adjusted_rand_score(y[hidden], model.labels_[hidden]) > before - 0.01


def test_more_clusters_than_known_classes(iris):
    X, y, known, _ = iris
    some = np.where(known == 1, 1, -1)
    some[0] = 0
    model = fit(X, some, 3)
    np.testing.assert_array_equal(model.labels_[some == 1], 1)
    assert len(np.unique(model.labels_)) == 3
    assert adjusted_rand_score(y, model.labels_) > 0.7
    assert model.cluster_names_.tolist() == ["0", "1", "2"]


def test_fewer_clusters_than_known_classes(iris):
    X, _, known, rows = iris
    with pytest.warns(DoubtfulResultWarning, match="1 and 2 share a cluster"):
        model = fit(X, known, 2)
    assert model.n_clusters_ == 2
    assert model.cluster_names_.tolist() == ["0", "1 + 2"]
    together = np.where(known[rows] > 0, 1, 0)
    np.testing.assert_array_equal(model.labels_[rows], together)


def test_the_number_left_to_the_data_is_at_least_that_of_the_classes(iris):
    X, _, known, _ = iris
    model = fit(X, known, "auto")
    assert model.n_clusters_ == 3
    assert "y knows 3 classes" in model.cluster_count_.reason


def test_trust_lets_the_graph_overrule_a_wrong_label():
    X, y = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=1)
    known = np.full(150, -1)
    known[::10] = y[::10]
    wrong = int(np.flatnonzero(known >= 0)[0])
    known[wrong] = (y[wrong] + 1) % 3
    assert fit(X, known).labels_[wrong] == known[wrong]
    soft = fit(X, known, trust=0.2)
    assert soft.labels_[wrong] == y[wrong]
    assert (soft.labels_ == y).all()


def test_the_graph_has_no_edge_between_known_classes(iris):
    X, _, known, _ = iris
    model = fit(X, known)
    one, other = sp.coo_array(model.affinity_matrix_).coords
    both = (known[one] >= 0) & (known[other] >= 0)
    assert (known[one[both]] == known[other[both]]).all()
    np.testing.assert_allclose(
        model.affinity_matrix_.toarray(), (model.graph_ + model.graph_.T).toarray() / 2
    )


def test_series_are_matched_by_their_index(iris):
    X, _, known, _ = iris
    frame = pd.DataFrame(X, index=[f"row {at}" for at in range(150)])
    frame.columns = list("abcd")
    shuffled = pd.Series(known, index=frame.index).sample(frac=1.0, random_state=0)
    np.testing.assert_array_equal(fit(frame, shuffled).labels_, fit(X, known).labels_)


def test_saved_and_loaded(iris, tmp_path):
    X, _, known, _ = iris
    model = fit(X, known)
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert again.knowledge_ == model.knowledge_
    np.testing.assert_array_equal(again.predict(X), model.labels_)


def test_views_and_graphs_take_labels(iris):
    X, y, known, rows = iris
    views = fit([X[:, :2], X[:, 2:]], known)
    np.testing.assert_array_equal(views.labels_[rows], y[rows])
    near = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(near, 0.0)
    near[near < 0.3] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = UnifiedSpectralClustering(3, kernels="graph").fit(near, known)
    np.testing.assert_array_equal(graph.labels_[rows], y[rows])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, -1], "has 2 labels for 150 samples"),
        ([0.5] + [np.nan] * 149, "continuous values"),
        ([0, "a"] + [None] * 148, "mixes numbers and text"),
    ],
)
def test_bad_labels_get_a_sentence(iris, y, words):
    X, *_ = iris
    model = UnifiedSpectralClustering(3)
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)
    assert not hasattr(model, "labels_")


def test_reading_labels():
    assert read_labels([2, -1, 0], 3)[1] == (0, 2)
    assert read_labels(["a", "b"], 2)[1] == ()
    assert read_labels([-1, -1], 2)[1] == ()


def test_spread_solves_its_equation():
    rng = np.random.default_rng(0)
    W = rng.random((12, 12))
    W = sp.csr_array(W + W.T)
    Y = rng.random((12, 3))
    root = 1 / np.sqrt(W.toarray().sum(axis=1))
    S = root[:, None] * W.toarray() * root
    exact = np.linalg.solve(np.eye(12) - 0.95 * S, 0.05 * Y)
    np.testing.assert_allclose(spread(W, Y), exact, rtol=0.03)


def test_a_class_whose_cluster_is_taken_gets_the_nearest_other():
    W = sp.csr_array(np.kron(np.eye(3), np.ones((4, 4))))
    W = sp.lil_array(W)
    W[3, 8] = W[8, 3] = 0.5
    W = sp.csr_array(W)
    clusters = np.repeat([0, 1, 2], 4)
    labels = np.full(12, -1)
    labels[[0, 1]] = 0
    labels[3] = 1
    assert match_classes(W, clusters, labels, 2, 3).tolist() == [0] * 4 + [2] * 4 + [1] * 4
