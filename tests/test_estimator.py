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

from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral.kernels import Gaussian, KernelBank, Linear
from unispectral.metrics import clustering_accuracy
from unispectral.testing import expected_failed_checks

MODELS = [
    UnifiedSpectralClustering(n_clusters=3, n_init=2),
    SCSK(n_clusters=3),
    SCMK(n_clusters=3, kernels=["linear", "gaussian"], solver="exact"),
]
#: The same classes by other solvers.
OTHERS = [
    UnifiedSpectralClustering(n_clusters=3, kernels=["linear", "gaussian"], n_init=2),
    SCSK(n_clusters=3, kernel="gaussian", solver="exact"),
    SCMK(n_clusters=3, kernels=["linear", "gaussian"], solver="local"),
]


# Some checks ask for one cluster, which is fitted, with a warning; few samples limit the solvers.
@pytest.mark.filterwarnings("ignore:n_clusters=1 puts all samples into one cluster:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n_clusters=1 puts all samples into one cluster:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(OTHERS, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_conformance_of_other_solvers(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.dok_matrix])
def test_what_the_failed_checks_are_about(model, kind):
    """What they look at in sparse tables, but for the four classes."""
    X = np.random.default_rng(0).uniform(size=(40, 3))
    X[X < 0.6] = 0
    fitted = clone(model).fit(kind(X))
    assert fitted.predict(kind(X)).shape == (40,)
    assert fitted.predict_proba(kind(X)).shape == (40, 3)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, centers=3, n_features=4, cluster_std=0.7, random_state=0)


ALL = [
    UnifiedSpectralClustering(3),
    UnifiedSpectralClustering(3, kernels=["linear", "gaussian", "polynomial"]),
    SCSK(3, kernel="gaussian"),
    SCMK(3),
    SCSK(3, kernel="gaussian", solver="exact"),
    SCMK(3, solver="exact"),
    SCMK(3, solver="local"),
]


@pytest.mark.parametrize("model", ALL, ids=repr)
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
    for model in (
        UnifiedSpectralClustering(3),
        UnifiedSpectralClustering(3, kernels=["linear", "gaussian"]),
        SCSK(3),
        SCMK(3),
        SCSK(3, solver="exact"),
        SCMK(3, solver="exact"),
    ):
        model.fit(X)
        assert (model.predict(X) == model.labels_).mean() >= 0.99
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
        near = X + 1e-3
        assert (model.predict(near) == model.labels_).mean() >= 0.97


def test_held_out_points_go_where_they_belong():
    X, y = make_moons(400, noise=0.05, random_state=0)
    model = UnifiedSpectralClustering(2).fit(X[::2])
    together = clustering_accuracy(y, UnifiedSpectralClustering(2).fit_predict(X))
    assert clustering_accuracy(y[1::2], model.predict(X[1::2])) >= together - 0.03


def test_frames_keep_their_names_and_sparse_is_dense(blobs):
    X, _ = blobs
    names = ["a", "b", "c", "d"]
    plain = UnifiedSpectralClustering(3).fit(X)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = UnifiedSpectralClustering(3).fit(frame)
        assert list(model.feature_names_in_) == names
        np.testing.assert_array_equal(model.labels_, plain.labels_)
    sparse = UnifiedSpectralClustering(3).fit(sp.csr_matrix(X))
    np.testing.assert_array_equal(sparse.labels_, plain.labels_)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), plain.labels_)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), plain.predict_proba(X))


def test_precomputed_kernels(blobs):
    X, y = blobs
    bank = KernelBank(X, ["linear", "gaussian"])
    one, two = bank.matrix(0), bank.matrix(1)
    label_free = UnifiedSpectralClustering(3, kernels="precomputed")
    for model in (
        clone(label_free),
        SCSK(3, kernel="precomputed"),
        SCSK(3, kernel="precomputed", solver="exact"),
    ):
        model.fit(two)
        assert clustering_accuracy(y, model.labels_) > 0.9
        np.testing.assert_array_equal(model.predict(two), model.labels_)
    for model in (
        label_free,
        SCMK(3, kernels="precomputed"),
        SCMK(3, kernels="precomputed", solver="exact"),
    ):
        listed = clone(model).fit([one, two])
        stacked = clone(model).fit(np.stack([one, two]))
        np.testing.assert_array_equal(listed.labels_, stacked.labels_)
        np.testing.assert_array_equal(listed.predict([one, two]), listed.labels_)
    for solver in ("alm", "exact", "local"):
        from_features = SCSK(3, kernel="gaussian", solver=solver).fit(X)
        from_matrix = SCSK(3, kernel="precomputed", solver=solver).fit(two)
        np.testing.assert_array_equal(from_features.labels_, from_matrix.labels_)


def test_single_kernel_is_multiple_kernel_with_one(blobs):
    X, _ = blobs
    for solver in ("alm", "exact", "local"):
        numbers = {"solver": solver, "alpha": 0.01}
        if solver == "alm":
            numbers["mu"] = 1.0
        one = SCSK(3, kernel="linear", **numbers).fit(X)
        many = SCMK(3, kernels=["linear"], **numbers).fit(X)
        np.testing.assert_array_equal(one.labels_, many.labels_)
        np.testing.assert_array_equal(one.graph_.toarray(), many.graph_.toarray())
        assert many.kernel_weights_.tolist() == [1.0]


def test_one_kernel_by_name_object_or_list_is_the_same_model(blobs):
    X, _ = blobs
    named = UnifiedSpectralClustering(3).fit(X)
    assert named.geometry_weights_ == {"linear": 1.0}
    for kernels in ("linear", ["linear"], Linear(), [Linear()], ("linear",)):
        other = UnifiedSpectralClustering(3, kernels=kernels).fit(X)
        assert other.geometry_weights_ == named.geometry_weights_
        np.testing.assert_array_equal(other.labels_, named.labels_)
        np.testing.assert_array_equal(other.graph_.toarray(), named.graph_.toarray())
        np.testing.assert_array_equal(other.embedding_, named.embedding_)
    gaussian = UnifiedSpectralClustering(3, kernels=[Gaussian(0.5, scale="median")]).fit(X)
    named = UnifiedSpectralClustering(3, kernels="gaussian").fit(X)
    np.testing.assert_array_equal(gaussian.embedding_, named.embedding_)


@pytest.mark.parametrize(
    "model",
    [UnifiedSpectralClustering(4), SCMK(4), SCMK(4, solver="exact"), SCMK(4, solver="local")],
    ids=repr,
)
def test_threads_and_seeds(model, blobs):
    X, _ = blobs
    one = clone(model).set_params(n_jobs=1, random_state=3).fit(X)
    two = clone(model).set_params(n_jobs=2, random_state=3).fit(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


def test_the_count_asked_for_is_the_count_returned():
    rng = np.random.default_rng(0)
    duplicates = np.repeat(rng.normal(size=(2, 3)), 10, axis=0)
    far = np.vstack([rng.normal(size=(20, 2)), [[1e3, 1e3]], [[-1e3, 0]]])
    for X in (duplicates, far, np.ones((8, 2)), np.zeros((8, 2))):
        for model in (
            UnifiedSpectralClustering(5),
            SCSK(5),
            SCSK(5, solver="exact"),
            SCMK(5, kernels=["linear", "gaussian"], solver="exact"),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of convergence, and of digits that are lost
                labels = clone(model).fit_predict(X)
            assert set(labels) == set(range(5))


def test_the_unit_of_the_features_does_not_matter(blobs):
    X, _ = blobs
    paper = {"kernels": ["linear", "gaussian", "gaussian_0.1"]}
    for model in (
        UnifiedSpectralClustering(3),
        UnifiedSpectralClustering(3, **paper),
        SCMK(3, **paper),
        SCMK(3, solver="exact", **paper),
    ):
        labels = clone(model).fit_predict(X)
        for unit in (1e-6, 1e5):
            np.testing.assert_array_equal(clone(model).fit_predict(unit * X), labels)


def test_pipeline_pickle_and_clone(blobs):
    X, y = blobs
    pipe = make_pipeline(StandardScaler(), UnifiedSpectralClustering(3)).fit(X)
    assert clustering_accuracy(y, pipe[-1].labels_) > 0.9
    again = pickle.loads(pickle.dumps(pipe))
    np.testing.assert_array_equal(again.predict(X), pipe.predict(X))


def test_views_by_list_mapping_and_columns(blobs):
    X, y = blobs
    model = UnifiedSpectralClustering(3)
    listed = clone(model).fit([X[:, :2], X[:, 2:]])
    mapped = clone(model).fit({"left": X[:, :2], "right": X[:, 2:]})
    grouped = clone(model).set_params(views={"left": [0, 1], "right": [2, 3]}).fit(X)
    np.testing.assert_array_equal(listed.labels_, mapped.labels_)
    np.testing.assert_array_equal(listed.labels_, grouped.labels_)
    assert set(mapped.view_weights_) == {"left", "right"}
    assert sum(mapped.view_weights_.values()) == pytest.approx(1.0)
    assert mapped.kernel_names_[0].startswith("left:")
    np.testing.assert_array_equal(
        mapped.predict({"right": X[:, 2:], "left": X[:, :2]}), mapped.labels_
    )
    assert clustering_accuracy(y, listed.labels_) > 0.9
    paper = SCMK(3, kernels=["gaussian"], solver="exact").fit({"l": X[:, :2], "r": X[:, 2:]})
    assert paper.kernel_names_ == ("l:gaussian_0.5_median", "r:gaussian_0.5_median")
    assert clustering_accuracy(y, paper.labels_) > 0.9


@pytest.mark.parametrize("kernels", ["linear", ["linear", "gaussian"]])
@pytest.mark.parametrize("also", [[], [20, 21]], ids=["as many", "more"])
def test_a_sample_may_be_absent_from_a_view(kernels, also, blobs):
    X, y = blobs
    left, right = X[:, :2].copy(), X[:, 2:].copy()
    left[5] = np.nan
    right[[7, *also]] = np.nan
    model = UnifiedSpectralClustering(3, kernels=kernels).fit([left, right])
    assert clustering_accuracy(y, model.labels_) > 0.85
    assert (model.predict([left, right]) == model.labels_).mean() >= 0.95


@pytest.mark.parametrize("solver", ["alm", "exact", "local"])
def test_the_papers_models_want_all_samples_in_all_views(solver, blobs):
    X, _ = blobs
    left = np.where(np.arange(len(X))[:, None] == 5, np.nan, X[:, :2])
    with pytest.raises(ValueError, match=r"'l' lacks 1 samples.*UnifiedSpectralClustering"):
        SCMK(3, solver=solver).fit({"l": left, "r": X[:, 2:]})


def test_limits_are_reported():
    X = load_iris().data
    with pytest.warns(ConvergenceWarning, match=r"limit of 1 iterations.*residual"):
        SCSK(3, solver="exact", max_iter=1, tol=0).fit(X)
    for solver in ("alm", "exact", "local"):
        with pytest.warns(ConvergenceWarning, match="time limit"):
            model = SCSK(3, solver=solver, max_time=1e-6).fit(X)
        assert not model.converged_
        assert model.n_iter_ == 1
        assert len(model.labels_) == len(X)
    passes = UnifiedSpectralClustering(3, max_iter=3, tol=0).fit(X)
    assert passes.n_iter_ == 3
    assert "max_iter=3" in passes.stop_reason_


def test_progress_is_silent_unless_asked_for(capsys, blobs):
    UnifiedSpectralClustering(3).fit(blobs[0])
    SCSK(3).fit(blobs[0])
    assert capsys.readouterr() == ("", "")
    UnifiedSpectralClustering(3, verbose=1).fit(blobs[0])
    assert "iterations" in capsys.readouterr().err
    for solver, stage in (("alm", "iterations"), ("exact", "descent"), ("local", "descent")):
        seen = []
        SCSK(3, solver=solver, verbose=lambda *told, seen=seen: seen.append(told)).fit(blobs[0])
        steps = [done for name, done, _, _ in seen if name == stage]
        assert steps == list(range(1, len(steps) + 1))
        assert steps
    assert capsys.readouterr() == ("", "")


def test_every_number_has_an_effect(blobs):
    X, _ = blobs
    X = X + np.random.default_rng(0).normal(scale=2.0, size=X.shape)
    plain = {"whiten": None, "n_init": 2, "committee": False}
    base = UnifiedSpectralClustering(3, **plain).fit(X)
    similar = base.embedding_ @ base.embedding_.T
    for change in ({"alpha": 0.5}, {"beta": 0.0}, {"ridge": 0.1}, {"max_iter": 1}):
        other = UnifiedSpectralClustering(3, **plain, **change).fit(X)
        assert abs(other.embedding_ @ other.embedding_.T - similar).max() > 1e-6
    wide = UnifiedSpectralClustering(3, **plain, n_neighbors=20).fit(X)
    assert wide.graph_.nnz > base.graph_.nnz
    many = np.hstack([X, X[:, ::-1] ** 2, np.abs(X)])  # few columns are never whitened
    alone = UnifiedSpectralClustering(3, **plain).fit(many)
    whitened = UnifiedSpectralClustering(3, whiten=3.0, n_init=2, committee=False).fit(many)
    assert set(alone.geometry_weights_) == {"linear"}
    if whitened.geometry_weights_ == {"linear whitened 3": 1.0}:
        assert abs(whitened.graph_ - alone.graph_).max() > 1e-6
    paper = {"kernel": "gaussian", "beta": 0.1, "gamma": 0.01}
    for solver, changes in (
        ("exact", ({"alpha": 0.5}, {"beta": 1.0}, {"ridge": 0.5})),
        ("alm", ({"alpha": 0.5}, {"beta": 1.0}, {"mu": 0.1})),
    ):
        first = SCSK(3, solver=solver, **paper).fit(X)
        for change in changes:
            other = SCSK(3, solver=solver, **{**paper, **change}).fit(X)
            assert abs(first.graph_ - other.graph_).max() > 1e-6, (solver, change)
        pulled = SCSK(3, solver=solver, **{**paper, "gamma": 1.0}).fit(X)
        assert abs(pulled.embedding_ - first.embedding_).max() > 1e-6


GOOD = np.random.default_rng(0).normal(size=(12, 3))
BAD_TABLES = {
    "NaN": (np.where(np.arange(36).reshape(12, 3) == 4, np.nan, GOOD), "NaN"),
    "infinity": (np.where(np.arange(36).reshape(12, 3) == 4, np.inf, GOOD), "infinity"),
    "fewer samples than clusters": (GOOD[:2], "n_clusters=3 is more than n_samples=2"),
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
@pytest.mark.parametrize(
    "estimator", [UnifiedSpectralClustering(3), SCSK(3), SCMK(3, solver="exact")], ids=repr
)
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
    for one in (
        UnifiedSpectralClustering(3, kernels="precomputed"),
        SCSK(3, kernel="precomputed"),
    ):
        with pytest.raises(ValueError, match=message):
            one.fit(bad)
    for many in (UnifiedSpectralClustering, SCMK):
        with pytest.raises(
            ValueError, match=rf"X\[1\].*{message}|X\[1\] contains NaN|X\[1\].*NaN"
        ):
            many(3, kernels="precomputed").fit([K, bad])


U = UnifiedSpectralClustering
BAD_SETTINGS = [
    (U(0), "n_clusters"),
    (U("many"), "n_clusters"),
    (SCSK("auto"), "n_clusters"),
    (U(3, alpha=-1), "alpha"),
    (SCSK(3, alpha=-1), "alpha"),
    (SCSK(3, mu=0), "mu"),
    (U(3, max_clusters=1), "max_clusters"),
    (U(3, kernels="gausian"), "kernels='gausian' is not a known kernel"),
    (SCSK(3, kernel="gausian"), "kernel='gausian' is not a known kernel"),
    (SCMK(3, kernels=["linear", "nope"]), "kernels='nope'"),
    (SCMK(3, kernels=[]), "kernels is empty"),
    (SCSK(3, solver="adaptive"), "solver"),
    (U(3, whiten=[1.0]), "whiten"),
    (U(3, whiten=0), "whiten"),
    (U(3, scaling="robust"), "scaling"),
    (SCSK(3, normalize="unit"), "normalize='unit' is unknown"),
    (U(3, views={"a": [7]}), "column number 7"),
    (U(3, views={"a": [-4]}), "column number -4"),
    (U(3, views={"a": ["x"]}), "names the column 'x'"),
    (U(3, views={"a": []}), "is empty"),
    (U(3, views={}), "views is empty"),
    (U(3, views=["a"]), "views"),
]


@pytest.mark.parametrize(("estimator", "message"), BAD_SETTINGS, ids=repr)
def test_bad_settings(estimator, message):
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(GOOD)


@pytest.mark.parametrize("estimator", [U(1), SCSK(1), SCMK(1, solver="exact")], ids=repr)
def test_one_cluster_is_fitted_with_a_warning(estimator):
    with pytest.warns(UserWarning, match="n_clusters=1 puts all samples into one cluster") as told:
        estimator.fit(GOOD)
    assert told[0].filename == __file__
    assert estimator.labels_.tolist() == [0] * 12
    assert estimator.predict(GOOD + 0.1).tolist() == [0] * 12
    np.testing.assert_array_equal(estimator.membership_, np.ones((12, 1)))


def test_bad_views_and_new_points():
    for views in (UnifiedSpectralClustering(3), SCMK(3)):
        with pytest.raises(ValueError, match="different numbers of samples"):
            views.fit([GOOD, GOOD[:-1]])
        with pytest.raises(ValueError, match="all kernels must be on the same samples"):
            clone(views).set_params(kernels="precomputed").fit([K, K[:-1, :-1]])
    with pytest.raises(ValueError, match="views names columns of one table"):
        UnifiedSpectralClustering(3, views={"a": [0]}).fit([GOOD, GOOD])
    partly = GOOD.copy()
    partly[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN in part of 1 rows"):
        UnifiedSpectralClustering(3).fit([GOOD, partly])
    nowhere = GOOD.copy()
    nowhere[0] = np.nan
    with pytest.raises(ValueError, match="absent from every view"):
        UnifiedSpectralClustering(3).fit([nowhere, nowhere])
    for few, words in enumerate(("no sample", "only 1 of 12 samples", "only 2 of 12 samples")):
        rare = np.where(np.arange(len(GOOD))[:, None] < few, GOOD, np.nan)
        with pytest.raises(ValueError, match=rf"^view 'rare' has {words} \(.* NaN\); leave"):
            UnifiedSpectralClustering(3).fit({"all": GOOD, "rare": rare})
    with pytest.raises(ValueError, match="SCSK takes one square matrix"):
        SCSK(3, kernel="precomputed").fit(np.stack([K, K]))
    model = UnifiedSpectralClustering(3).fit([GOOD, GOOD])
    with pytest.raises(ValueError, match="one table per view"):
        model.predict(GOOD)
    with pytest.raises(ValueError, match="fitted on 3"):
        model.predict([GOOD[:, :2], GOOD])
    with pytest.raises(ValueError, match="lacks the view 'right'"):
        UnifiedSpectralClustering(3).fit({"left": GOOD, "right": GOOD}).predict({"left": GOOD})
    for precomputed in (
        UnifiedSpectralClustering(3, kernels="precomputed").fit(K),
        SCSK(3, kernel="precomputed").fit(K),
    ):
        with pytest.raises(ValueError, match="one column for each of the 12 training samples"):
            precomputed.predict(K[:, :4])


def test_constant_features_zero_rows_and_duplicates_are_fine(blobs):
    X, y = blobs
    constant = np.column_stack([X, np.ones(len(X))])
    assert clustering_accuracy(y, UnifiedSpectralClustering(3).fit_predict(constant)) > 0.9
    zero = np.vstack([X, np.zeros((2, 4))])
    for solver in ("alm", "exact"):
        assert len(SCSK(3, solver=solver).fit_predict(zero)) == len(zero)
    twice = np.vstack([X, X])
    labels = UnifiedSpectralClustering(3).fit_predict(twice)
    assert clustering_accuracy(np.tile(y, 2), labels) > 0.9


@pytest.mark.parametrize("levels", [1, 3])
@pytest.mark.parametrize(
    ("cause", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (ValueError(), SystemError)]
)
def test_an_interrupt_of_compiled_code_stays_an_interrupt(monkeypatch, levels, cause, expected):
    """What the interpreter says when a signal arrives as a compiled function returns."""

    def broken(*args, **kwargs):
        said = cause
        for _ in range(levels):
            above = SystemError("returned a result with an exception set")
            above.__cause__ = said
            said = above
        raise said

    monkeypatch.setattr("unispectral.labelfree._fit.fit", broken)
    monkeypatch.setattr("unispectral.paper._fit.fit", broken)
    for estimator in (UnifiedSpectralClustering(2), SCSK(2)):
        with pytest.raises(expected):
            estimator.fit(np.eye(6))


@pytest.mark.parametrize("make", [UnifiedSpectralClustering, SCSK, SCMK])
@pytest.mark.parametrize("value", [True, np.True_])
def test_a_truth_value_is_no_number_of_clusters(make, value):
    with pytest.raises(ValueError, match=r"n_clusters.*whole number of at least 1"):
        make(n_clusters=value).fit(load_iris().data)


def test_the_structure_of_samples_without_clusters_is_at_most_one():
    """Samples that lie more evenly than those of the null model, whose graph is harder to cut."""
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), axis=-1).reshape(-1, 3)
    X = grid + 0.1 * np.random.default_rng(0).normal(size=grid.shape)
    model = UnifiedSpectralClustering("auto").fit(X)
    assert model.n_clusters_ == 1
    assert model.structure_ == model.cluster_count_.structure == 1.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", [SCSK, SCMK])
@pytest.mark.parametrize(
    ("solver", "unused"),
    [
        ("alm", {"ridge": 0.5, "n_init": 3}),
        ("exact", {"mu": 2.0, "step": "search"}),
        ("local", {"mu": 2.0}),
    ],
)
def test_parameters_without_effect_are_said(cls, solver, unused, blobs):
    X, _ = blobs
    plain = cls(3, solver=solver).fit(X)  # without a warning
    for name, value in unused.items():
        with pytest.warns(UserWarning, match=f"{name}=.* has no effect with solver='{solver}'"):
            model = cls(3, solver=solver, **{name: value}).fit(X)
        np.testing.assert_array_equal(model.embedding_, plain.embedding_)


def test_every_other_parameter_has_an_effect_somewhere():
    """Those that are said to have none are used by another solver."""
    from unispectral.paper._estimators import _UNUSED

    for name in {name for names in _UNUSED.values() for name in names}:
        assert any(name not in names for names in _UNUSED.values())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", [SCMK, UnifiedSpectralClustering])
def test_names_of_kernels_are_not_parsed(cls, blobs):
    class Named(Gaussian):
        @property
        def name(self):
            return "my:kernel"

    X, _ = blobs
    views = {"a": X[:, :2], "b:c": X[:, 2:]}
    model = cls(3, kernels=[Named(), Linear()]).fit(views)
    assert model.kernel_names_ == ("a:my:kernel", "a:linear", "b:c:my:kernel", "b:c:linear")
    assert cls(3, kernels=[Named()]).fit(X).kernel_names_ == ("my:kernel",)
