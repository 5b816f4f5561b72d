"""The estimators: scikit-learn's conformance suite, what they return, and what they refuse."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from unispectral import SCMK, SCSK
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy

ONE_CLUSTER = "the check asks for one cluster, which is refused: there is nothing to cluster"
DECLARED = dict.fromkeys(
    (
        "check_dont_overwrite_parameters",
        "check_methods_subset_invariance",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
    ),
    ONE_CLUSTER,
)
MODELS = [
    SCSK(n_clusters=3, n_init=2),
    SCMK(n_clusters=3, n_init=2),
    SCSK.paper(n_clusters=3),
    SCMK.paper(n_clusters=3, kernels=["linear", "gaussian"]),
]


@parametrize_with_checks(MODELS, expected_failed_checks=lambda estimator: DECLARED)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, centers=3, n_features=4, cluster_std=0.7, random_state=0)


ALL = [
    SCSK(3),
    SCMK(3),
    SCSK.paper(3, kernel="gaussian"),
    SCMK.paper(3),
    SCSK.paper(3, kernel="gaussian", solver="alm"),
]


@pytest.mark.parametrize("model", ALL, ids=lambda m: f"{type(m).__name__}-{m.model}-{m.solver}")
def test_what_a_fit_gives(model, blobs):
    X, y = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(model).fit(X)
    n, c = len(X), 3
    assert clustering_accuracy(y, model.labels_) > 0.9
    assert set(model.labels_) == {0, 1, 2}
    assert model.n_clusters_ == c
    assert model.graph_.shape == (n, n)
    assert model.graph_.data.min() >= 0
    assert model.graph_.diagonal().max() == 0
    np.testing.assert_allclose(
        model.affinity_matrix_.toarray(), (model.graph_ + model.graph_.T).toarray() / 2
    )
    assert model.embedding_.shape == (n, c)
    np.testing.assert_allclose(model.rotation_ @ model.rotation_.T, np.eye(c), atol=1e-8)
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)
    assert model.outlier_score_.shape == (n,)
    assert len(model.kernel_weights_) == len(model.kernel_names_)
    assert len(model.objective_) == model.n_iter_
    assert isinstance(model.stop_reason_, str)
    assert model.n_features_in_ == 4


def test_predict_returns_the_labels_of_training_points(blobs):
    X, _ = blobs
    for model in (SCSK(3), SCMK(3), SCSK.paper(3), SCMK.paper(3)):
        model.fit(X)
        assert (model.predict(X) == model.labels_).mean() >= 0.99
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
        near = X + 1e-3
        assert (model.predict(near) == model.labels_).mean() >= 0.97


def test_held_out_points_go_where_they_belong():
    X, y = make_moons(400, noise=0.05, random_state=0)
    model = SCSK(2).fit(X[::2])
    together = clustering_accuracy(y, SCSK(2).fit_predict(X))
    assert clustering_accuracy(y[1::2], model.predict(X[1::2])) >= together - 0.03


def test_frames_keep_their_names_and_sparse_is_dense(blobs):
    X, _ = blobs
    names = ["a", "b", "c", "d"]
    plain = SCSK(3).fit(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = SCSK(3).fit(frame)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(model.labels_, plain.labels_)
    sparse = SCSK(3).fit(sp.csr_matrix(X))
    np.testing.assert_array_equal(sparse.labels_, plain.labels_)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), plain.labels_)


def test_precomputed_kernels(blobs):
    X, y = blobs
    bank = KernelBank(X, ["linear", "gaussian"])
    one, two = bank.matrix(0), bank.matrix(1)
    for model in (SCSK(3, kernel="precomputed"), SCSK.paper(3, kernel="precomputed")):
        model.fit(two)
        assert clustering_accuracy(y, model.labels_) > 0.9
        np.testing.assert_array_equal(model.predict(two), model.labels_)
    for model in (SCMK(3, kernels="precomputed"), SCMK.paper(3, kernels="precomputed")):
        listed = clone(model).fit([one, two])
        stacked = clone(model).fit(np.stack([one, two]))
        np.testing.assert_array_equal(listed.labels_, stacked.labels_)
        np.testing.assert_array_equal(listed.predict([one, two]), listed.labels_)
    from_features = SCSK.paper(3, kernel="gaussian").fit(X)
    from_matrix = SCSK.paper(3, kernel="precomputed").fit(two)
    np.testing.assert_array_equal(from_features.labels_, from_matrix.labels_)


def test_single_kernel_is_multiple_kernel_with_one(blobs):
    X, _ = blobs
    for model in ("adaptive", "paper"):
        one = SCSK(3, kernel="linear", model=model).fit(X)
        many = SCMK(3, kernels=["linear"], model=model).fit(X)
        np.testing.assert_array_equal(one.labels_, many.labels_)
        assert many.kernel_weights_.tolist() == [1.0]


@pytest.mark.parametrize("model", [SCSK(4), SCMK.paper(4)])
def test_threads_and_seeds(model, blobs):
    X, _ = blobs
    one = clone(model).set_params(n_jobs=1, random_state=3).fit(X)
    two = clone(model).set_params(n_jobs=2, random_state=3).fit(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_the_count_asked_for_is_the_count_returned():
    rng = np.random.default_rng(0)
    duplicates = np.repeat(rng.normal(size=(2, 3)), 10, axis=0)
    far = np.vstack([rng.normal(size=(20, 2)), [[1e3, 1e3]], [[-1e3, 0]]])
    for X in (duplicates, far, np.ones((8, 2)), np.zeros((8, 2))):
        for model in (SCSK(5), SCSK.paper(5), SCMK.paper(5, kernels=["linear", "gaussian"])):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                labels = clone(model).fit_predict(X)
            assert set(labels) == set(range(5))


def test_the_unit_of_the_features_does_not_matter(blobs):
    X, _ = blobs
    for model in (SCSK(3), SCMK(3), SCMK.paper(3, kernels=["linear", "gaussian", "gaussian_0.1"])):
        labels = clone(model).fit_predict(X)
        for unit in (1e-6, 1e5):
            np.testing.assert_array_equal(clone(model).fit_predict(unit * X), labels)


def test_pipeline_pickle_and_clone(blobs):
    X, y = blobs
    pipe = make_pipeline(StandardScaler(), SCSK(3)).fit(X)
    assert clustering_accuracy(y, pipe[-1].labels_) > 0.9
    again = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(again.predict(X), pipe.predict(X))


def test_views_by_list_mapping_and_columns(blobs):
    X, y = blobs
    listed = SCMK(3).fit([X[:, :2], X[:, 2:]])
    mapped = SCMK(3).fit({"left": X[:, :2], "right": X[:, 2:]})
    grouped = SCMK(3, views={"left": [0, 1], "right": [2, 3]}).fit(X)
    np.testing.assert_array_equal(listed.labels_, mapped.labels_)
    np.testing.assert_array_equal(listed.labels_, grouped.labels_)
    assert set(mapped.view_weights_) == {"left", "right"}
    assert sum(mapped.view_weights_.values()) == pytest.approx(1.0)
    assert mapped.kernel_names_[0].startswith("left:")
    np.testing.assert_array_equal(
        mapped.predict({"right": X[:, 2:], "left": X[:, :2]}), mapped.labels_
    )
    assert clustering_accuracy(y, listed.labels_) > 0.9


@pytest.mark.parametrize("model", [SCMK(3), SCMK.paper(3, kernels=["gaussian", "linear"])])
def test_a_sample_may_be_absent_from_a_view(model, blobs):
    X, y = blobs
    left, right = X[:, :2].copy(), X[:, 2:].copy()
    left[5] = np.nan
    right[7] = np.nan
    model = clone(model).fit([left, right])
    assert clustering_accuracy(y, model.labels_) > 0.85
    assert (model.predict([left, right]) == model.labels_).mean() >= 0.95


def test_limits_are_reported():
    X = load_iris().data
    with pytest.warns(ConvergenceWarning, match=r"limit of 1 iterations.*residual"):
        SCSK.paper(3, max_iter=1, tol=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = SCSK(3, max_time=1e-6).fit(X)
    assert not model.converged_
    assert len(model.labels_) == len(X)


def test_progress_is_silent_unless_asked_for(capsys, blobs):
    SCSK(3).fit(blobs[0])
    assert capsys.readouterr() == ("", "")
    SCSK(3, verbose=1).fit(blobs[0])
    assert "passes" in capsys.readouterr().err


def test_departures_from_the_paper_have_an_effect(blobs):
    X, _ = blobs
    X = X + np.random.default_rng(0).normal(scale=2.0, size=X.shape)
    base = SCSK(3, whiten=None, n_init=2).fit(X)
    for change in ({"alpha": 0.5}, {"beta": 0.0}, {"gamma": 0.5}, {"ridge": 0.1}):
        other = SCSK(3, whiten=None, n_init=2, **change).fit(X)
        assert (
            abs(other.embedding_ @ other.embedding_.T - base.embedding_ @ base.embedding_.T).max()
            > 1e-6
        )
    wide = SCSK(3, whiten=None, n_init=2, n_neighbors=20).fit(X)
    assert wide.graph_.nnz > base.graph_.nnz
    assert len(SCSK(3, whiten=[(2.0, 1.0)], n_init=2).fit(X).geometry_weights_) == 2
    paper = SCSK.paper(3, kernel="gaussian").fit(X)
    ridged = SCSK.paper(3, kernel="gaussian", ridge=0.5).fit(X)
    assert abs(paper.graph_ - ridged.graph_).max() > 1e-6


GOOD = np.random.default_rng(0).normal(size=(12, 3))
BAD_TABLES = {
    "NaN": (np.where(np.arange(36).reshape(12, 3) == 4, np.nan, GOOD), "NaN"),
    "infinity": (np.where(np.arange(36).reshape(12, 3) == 4, np.inf, GOOD), "infinity"),
    "fewer samples than clusters": (GOOD[:2], "n_samples=2 is less than n_clusters=3"),
    "one sample": (GOOD[:1], "minimum of 2 is required"),
    "empty frame": (pd.DataFrame(), "0 sample|0 feature|at least one"),
    "strings": (np.array([["a", "b"]] * 12), "not numbers"),
    "text in lists": ([["a", "b"]] * 12, "text, not numbers"),
    "frame of text": (pd.DataFrame({"a": ["x"] * 12}), "could not convert|not numbers"),
    "one dimension": (GOOD[:, 0], "Expected 2D array"),
    "complex": (GOOD.astype(complex), "Complex data not supported"),
    "too large": (GOOD * 1e200, "too large for squared distances"),
    "too small": (GOOD * 1e-200, "too small for squared distances"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("estimator", [SCSK(3), SCMK(3), SCSK.paper(3)])
def test_bad_tables(estimator, case):
    X, message = BAD_TABLES[case]
    with pytest.raises((ValueError, TypeError), match=message):
        clone(estimator).fit(X)


K = GOOD @ GOOD.T
BAD_KERNELS = {
    "not square": (K[:, :5], "shape .* not square"),
    "not symmetric": (K + np.triu(np.ones_like(K), 1), "not symmetric"),
    "negative eigenvalue": (K - 50 * np.eye(12), "negative eigenvalue"),
    "NaN": (np.where(np.eye(12) > 0, np.nan, K), "NaN"),
}


@pytest.mark.parametrize("case", BAD_KERNELS)
def test_bad_kernels(case):
    bad, message = BAD_KERNELS[case]
    with pytest.raises(ValueError, match=message):
        SCSK(3, kernel="precomputed").fit(bad)
    with pytest.raises(ValueError, match=rf"X\[1\].*{message}|{message}"):
        SCMK(3, kernels="precomputed").fit([K, bad])


def test_bad_settings():
    cases = [
        (SCSK(1), "n_clusters=1 must be at least 2"),
        (SCSK(3, alpha=-1), "alpha"),
        (SCSK(3, kernel="gausian"), "kernel='gausian' is not a known kernel"),
        (SCMK(3, kernels=["linear", "nope"]), "kernels='nope'"),
        (SCMK(3, kernels=[]), "kernels is empty"),
        (SCSK(3, solver="exact"), "model='paper'"),
        (SCSK.paper(3, whiten=[(2.0, 1.0)]), "not part of the paper's objective"),
        (SCSK(3, whiten=[1.0]), "pairs"),
        (SCSK(3, whiten=[(0, 1)]), "not above 0"),
        (SCSK(3, normalize="unit"), "normalize='unit' is unknown"),
        (SCMK(3, views={"a": [7]}), "column number 7"),
        (SCMK(3, views={"a": ["x"]}), "names the column 'x'"),
        (SCMK(3, views={"a": []}), "is empty"),
    ]
    for estimator, message in cases:
        with pytest.raises((ValueError, TypeError), match=message):
            estimator.fit(GOOD)


def test_bad_views_and_new_points():
    with pytest.raises(ValueError, match="different numbers of samples"):
        SCMK(3).fit([GOOD, GOOD[:-1]])
    with pytest.raises(ValueError, match="all kernels must be on the same samples"):
        SCMK(3, kernels="precomputed").fit([K, K[:-1, :-1]])
    partly = GOOD.copy()
    partly[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN in part of 1 rows"):
        SCMK(3).fit([GOOD, partly])
    nowhere = GOOD.copy()
    nowhere[0] = np.nan
    with pytest.raises(ValueError, match="absent from every view"):
        SCMK(3).fit([nowhere, nowhere])
    with pytest.raises(ValueError, match="SCSK takes one square matrix"):
        SCSK(3, kernel="precomputed").fit(np.stack([K, K]))
    model = SCMK(3).fit([GOOD, GOOD])
    with pytest.raises(ValueError, match="one table per view"):
        model.predict(GOOD)
    with pytest.raises(ValueError, match="fitted on 3"):
        model.predict([GOOD[:, :2], GOOD])
    precomputed = SCSK(3, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match="one column for each of the 12 training samples"):
        precomputed.predict(K[:, :4])


def test_constant_features_zero_rows_and_duplicates_are_fine(blobs):
    X, y = blobs
    constant = np.column_stack([X, np.ones(len(X))])
    assert clustering_accuracy(y, SCSK(3).fit_predict(constant)) > 0.9
    zero = np.vstack([X, np.zeros((2, 4))])
    assert len(SCSK.paper(3).fit_predict(zero)) == len(zero)
    twice = np.vstack([X, X])
    assert clustering_accuracy(np.tile(y, 2), SCSK(3).fit_predict(twice)) > 0.9


@pytest.mark.parametrize(
    ("cause", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (ValueError(), SystemError)]
)
def test_an_interrupt_of_compiled_code_stays_an_interrupt(monkeypatch, cause, expected):
    """What the interpreter says when a signal arrives as a compiled function returns."""

    def broken(*args, **kwargs):
        raise SystemError("returned a result with an exception set") from cause

    monkeypatch.setattr("unispectral._fitting.fit", broken)
    with pytest.raises(expected):
        SCSK(2).fit(np.eye(6))
