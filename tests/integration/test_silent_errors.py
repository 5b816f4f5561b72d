"""What once was wrong without a word: batches, offsets, shuffled frames, masks."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from unispectral import SCMK, SCSK, DoubtfulResultWarning, UnifiedSpectralClustering
from unispectral.kernels import Gaussian, KernelBank
from unispectral.persistence import load_model, save_model

X, Y = make_blobs(120, centers=3, n_features=4, cluster_std=0.8, random_state=0)
NEW = make_blobs(60, centers=3, n_features=4, cluster_std=1.5, random_state=0)[0]
U = UnifiedSpectralClustering
MODELS = [
    U(3, n_init=2),
    U(3, kernels=["linear", "gaussian"], n_init=2),
    U(3, views={"a": [0, 1], "b": [2, 3]}, n_init=2),
    SCSK(3, kernel="linear", normalize="none", solver="exact", alpha=0.1),
    SCSK(3),
    SCMK(3, kernels=["gaussian", "linear"], solver="local", alpha=0.1),
]


# Predictions do not depend on the batch


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("far", [1e2, 1e5])
def test_rows_far_away_change_nothing_for_the_others(model, far):
    """Sixty of a hundred rows are far away; among the rest are training points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(model).fit(X)
    near = np.concatenate([NEW, X[:20], X[20:40] + 1e-3, X[40:60] + 1e-7])
    away = far * np.random.default_rng(1).normal(size=(3 * len(near) // 2, 4))
    alone, together = model.predict_all(near), model.predict_all(np.concatenate([near, away]))
    single = [model.predict_all(near[i : i + 1]) for i in range(0, len(near), 7)]
    for name, values in alone._asdict().items():
        batch = getattr(together, name)[: len(near)]
        np.testing.assert_allclose(batch, values, rtol=1e-7, atol=1e-9, err_msg=name)
        for at, one in zip(range(0, len(near), 7), single, strict=True):
            np.testing.assert_allclose(getattr(one, name)[0], values[at], rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(alone.labels[60:80], model.labels_[:20])
    np.testing.assert_allclose(alone.outlier_score[60:80], model.outlier_score_[:20])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_sparse_and_dense_rows_are_the_same_rows(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense, sparse = clone(model).fit(X), clone(model).fit(sp.csr_array(X))
    for fitted in (dense, sparse):
        expected = fitted.predict_all(NEW if fitted is dense else sp.csr_array(NEW))
        found = fitted.predict_all(sp.csr_array(NEW) if fitted is dense else NEW)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_allclose(found.embedding, expected.embedding, atol=1e-9)


# Training samples are recognised by all views that have them


def _lacking(sparse=False):
    """A view of few distinct rows, one of numbers and one of more distinct rows, with holes."""
    rng = np.random.default_rng(0)
    group, kind = np.eye(3)[Y], np.eye(4)[rng.integers(4, size=len(X))]
    num = X + 2.0 * rng.normal(size=X.shape)
    num[5], num[7], kind[7:9] = np.nan, np.nan, np.nan
    return {"group": sp.csr_array(group) if sparse else group, "num": num, "kind": kind}


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
@pytest.mark.parametrize("names", [("group", "num"), ("group", "kind"), ("kind", "num", "group")])
@pytest.mark.parametrize("form", ["dense", "sparse", "indexed", "several kernels"])
def test_training_samples_are_recognised_where_views_lack_some(names, form, monkeypatch):
    given = _lacking(sparse=form == "sparse")
    views = {name: given[name] for name in names}
    if form == "indexed":
        monkeypatch.setattr("unispectral.predict.EXACT_SAMPLES", 50)
    kernels = ["linear", "gaussian"] if form == "several kernels" else "linear"
    model = U(8, n_init=2, kernels=kernels).fit(views)
    found = model.predict_all(views)
    rows = np.hstack([_lacking()[name] for name in names])
    equal = np.isclose(rows[:, None], rows[None], equal_nan=True).all(axis=2)
    twin = equal.argmax(axis=1)  # the first of several samples that nothing tells apart
    np.testing.assert_array_equal(found.labels, model.labels_[twin])
    np.testing.assert_array_equal(found.embedding, model.embedding_[twin])
    np.testing.assert_allclose(found.outlier_score, model.outlier_score_[twin])


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
def test_a_sample_that_is_known_in_one_view_only_is_none_that_is_known_in_all():
    views = {name: _lacking()[name] for name in ("group", "num")}
    model = U(8, n_init=2).fit(views)
    near = {"group": views["group"][:20], "num": views["num"][:20] + 1e-3}
    far = {"group": views["group"][:20], "num": views["num"][:20] + 100.0}
    score = model.predict_all(far).outlier_score
    known = ~np.isnan(far["num"][:, 0])
    assert score[known].min() > model.predict_all(near).outlier_score[known].max()
    assert score[known].min() > 0.4
    # Without its numbers a sample is described by its group, and is not the training sample.
    bare = {"group": views["group"][:20], "num": np.full((20, 4), np.nan)}
    found = model.predict_all(bare)
    same = (found.embedding == model.embedding_[:20]).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(same), [5, 7])


# Far from the origin


def _far(offset):
    table, y = make_blobs(90, centers=3, n_features=3, center_box=(-6, 6), random_state=3)
    return np.round(table * 1024) / 1024 + offset, y  # the offset itself loses nothing


@pytest.mark.parametrize("offset", [1e5, 1e9])
def test_gaussians_keep_their_digits_beside_other_kernels(offset):
    near, far = _far(0.0)[0], _far(offset)[0]
    kernels = ["gaussian", Gaussian(0.1), "linear", "polynomial_2"]
    one, other = KernelBank(near, kernels), KernelBank(far, kernels)
    lazy = KernelBank(far, kernels, gram=False)
    rows = np.array([0, 7, 20])
    neighbours = np.array([[1, 2], [3, 0], [5, 80]])
    for r in (0, 1):
        np.testing.assert_allclose(other.matrix(r), one.matrix(r), atol=1e-12)
        np.testing.assert_allclose(lazy.matrix(r), one.matrix(r), atol=1e-12)
        cross = other.combine_cross(np.eye(len(other))[r], far[:9])[0]
        np.testing.assert_allclose(cross, one.matrix(r)[:9], atol=1e-12)
        only = np.eye(4)[r]
        for mine, theirs in zip(
            other.combine_neighbourhoods(only, rows, neighbours),
            one.combine_neighbourhoods(only, rows, neighbours),
            strict=True,
        ):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)
    pairs = list(zip(other.pairs(rows, rows[::-1]), one.pairs(rows, rows[::-1]), strict=True))
    np.testing.assert_allclose(*pairs[0], atol=1e-12)
    both = np.array([0.3, 0.7, 0.0, 0.0])
    np.testing.assert_allclose(other.combine(both), one.combine(both), atol=1e-12)


@pytest.mark.parametrize("solver", ["alm", "exact", "local"])
@pytest.mark.parametrize("kernels", ["paper", ["linear", "gaussian"]])
def test_lost_digits_are_said_and_never_called_convergence(solver, kernels):
    far, _ = _far(1e9)
    model = SCMK(3, kernels=kernels, solver=solver)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(far)
    told = [str(one.message) for one in caught if "no digits left" in str(one.message)]
    assert len(told) == 1
    assert "times its spread from the origin" in told[0]
    assert "'linear'" in told[0]
    assert "subtract the mean of each column" in told[0]
    path = model.objective_
    if solver != "alm":  # whose objective may rise by design
        assert (np.diff(path) <= 1e-7 * np.abs(path[:-1])).all()
    if "rose" in model.stop_reason_:
        assert not model.converged_
        assert any(issubclass(one.category, ConvergenceWarning) for one in caught)


def test_lost_digits_of_a_view_are_said_of_that_view():
    far, _ = _far(1e9)
    near, _ = _far(0.0)
    with pytest.warns(UserWarning, match=r"^The view 'b' of X lies \S+ times its spread"):
        SCMK(3, kernels=["linear"]).fit({"a": near, "b": far})


@pytest.mark.parametrize("solver", ["exact", "local"])
def test_gaussians_alone_are_the_same_far_away_without_a_word(solver):
    near, y = _far(0.0)
    kernels = ["gaussian", "gaussian_1"]
    numbers = {"kernels": kernels, "solver": solver, "alpha": 0.1, "beta": 0.1, "gamma": 1e-3}
    model = SCMK(3, **numbers).fit(near)
    again = SCMK(3, **numbers).fit(_far(1e9)[0])  # warnings are errors here
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_a_rising_objective_ends_the_descent_before_it(monkeypatch):
    """Rounding is imitated by adding to the third value of the objective."""
    from unispectral.paper import _descent

    usual, seen = _descent._value, []

    def rising(*given):
        seen.append(usual(*given) + (1.0 if len(seen) == 2 else 0.0))
        return seen[-1]

    monkeypatch.setattr(_descent, "_value", rising)
    model = SCSK(3, kernel="gaussian", solver="exact", alpha=0.1, beta=0.1, gamma=1e-3, tol=0)
    with pytest.warns(ConvergenceWarning, match=r"the objective rose from .* to .*too few digits"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert model.objective_.tolist() == seen[:2]
    monkeypatch.undo()
    with pytest.warns(ConvergenceWarning, match="limit of 2 iterations"):
        stopped = clone(model).set_params(max_iter=2).fit(X)
    np.testing.assert_array_equal(model.labels_, stopped.labels_)
    np.testing.assert_array_equal(model.graph_.toarray(), stopped.graph_.toarray())


# Views given as frames


def _frames(seed=0):
    index = pd.Index([f"sample {i}" for i in range(len(X))], name="id")
    left = pd.DataFrame(X[:, :2], index=index, columns=["a", "b"])
    right = pd.DataFrame(X[:, 2:], index=index, columns=["c", "d"])
    return left, right, right.sample(frac=1.0, random_state=seed)


@pytest.mark.parametrize("model", [U(3, n_init=2), SCMK(3, kernels=["gaussian"])], ids=repr)
def test_frames_are_matched_by_their_index(model):
    left, right, shuffled = _frames()
    plain = clone(model).fit([left, right])
    for views in ([left, shuffled], {"l": left, "r": shuffled}):
        other = clone(model).fit(views)
        np.testing.assert_array_equal(other.labels_, plain.labels_)
        np.testing.assert_array_equal(other.predict(views), plain.predict([left, right]))
        new = [left[:30], shuffled.loc[left.index[:30]].sample(frac=1.0, random_state=2)]
        np.testing.assert_array_equal(plain.predict(new), plain.predict([left[:30], right[:30]]))
    # Labels are in the order of the first frame.
    first = clone(model).fit([shuffled, left])
    order = left.index.get_indexer(shuffled.index)
    np.testing.assert_array_equal(first.predict([shuffled, left]), first.labels_)
    assert adjusted_rand_score(first.labels_, plain.labels_[order]) == 1.0
    # Arrays and frames without an index have nothing to be matched by but their order.
    bare = clone(model).fit([left, right.to_numpy()])
    np.testing.assert_array_equal(bare.labels_, plain.labels_)
    polars = clone(model).fit([pl.DataFrame(left), pl.DataFrame(right)])
    np.testing.assert_array_equal(polars.labels_, plain.labels_)


def test_frames_of_different_rows_are_refused():
    left, right, shuffled = _frames()
    cases = {
        "different rows": right.rename(index=lambda name: f"{name}!"),
        "whose indexes have different rows": right[:-1],
        "hold values more than once": shuffled.set_axis([0] * len(X)),
    }
    for words, other in cases.items():
        for model in (U(3), SCMK(3)):
            with pytest.raises(ValueError, match=words) as told:
                model.fit({"left": left, "right": other})
            assert "'left' and 'right'" in str(told.value)
            assert "to_numpy()" in str(told.value)
    fitted = U(3, n_init=2).fit([left, right])
    with pytest.raises(ValueError, match="different rows"):
        fitted.predict([left[:10], right[5:15]])


# Names of views, of kernels and of their columns


def _kernels():
    return {"rbf": np.exp(-0.01 * euclidean_distances(X, squared=True)), "lin": X @ X.T}


@pytest.mark.parametrize("model", [U(3, n_init=2), SCMK(3)], ids=repr)
def test_kernels_are_matched_by_their_names(model, tmp_path):
    kernels = _kernels()
    model = clone(model).set_params(kernels="precomputed").fit(kernels)
    assert model.kernel_names_ == ("rbf", "lin")
    save_model(model, tmp_path / "model.npz")
    for one in (model, load_model(tmp_path / "model.npz")):
        turned = dict(reversed(kernels.items()))
        np.testing.assert_array_equal(one.predict(turned), model.labels_)
        np.testing.assert_array_equal(one.predict([*kernels.values()]), model.labels_)
        with pytest.raises(ValueError, match="X lacks the kernel 'lin' on which the"):
            one.predict({"rbf": kernels["rbf"], "linear": kernels["lin"]})
    listed = clone(model).fit([*kernels.values()])
    assert listed.kernel_names_ == ("kernel_0", "kernel_1")


@pytest.mark.parametrize("precomputed", [False, True], ids=["tables", "kernels"])
def test_what_the_model_was_not_fitted_on_is_refused(precomputed):
    views = _kernels() if precomputed else {"a": X[:, :2], "b": X[:, 2:]}
    model = U(3, n_init=2, kernels="precomputed" if precomputed else "linear").fit(views)
    with pytest.raises(ValueError, match="'c', on which the model was not fitted; leave it out"):
        model.predict({**views, "c": next(iter(views.values()))})


@pytest.mark.parametrize("model", [U(3, n_init=2), SCMK(3, kernels=["gaussian"])], ids=repr)
def test_columns_of_views_are_compared_with_those_of_the_fit(model, tmp_path):
    left, right, _ = _frames()
    model = clone(model).fit({"l": left, "r": right})
    save_model(model, tmp_path / "model.npz")
    for one in (model, load_model(tmp_path / "model.npz")):
        np.testing.assert_array_equal(one.predict([left, right]), model.labels_)
        for frame in (right[["d", "c"]], right.rename(columns={"d": "e"}), right.assign(e=1.0)):
            with pytest.raises(ValueError, match=r"^view 'r' has other columns than the fit: The"):
                one.predict({"l": left, "r": frame})
        with pytest.raises(ValueError, match="view 'l' has other columns than the fit"):
            one.predict([right, left])
        with pytest.warns(UserWarning, match="does not have valid feature names, but"):
            one.predict([left, right.to_numpy()])
    with pytest.warns(UserWarning, match="fitted without feature names"):
        clone(model).fit([left.to_numpy(), right]).predict([left, right])
    with pytest.raises(TypeError, match=r"view 'r' .*string names"):
        clone(model).fit({"l": left, "r": right.rename(columns={"d": 1})})


def test_a_refit_forgets_the_names_of_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    for model, given in ((U(3, n_init=2), [X[:, :2], X[:, 2:]]), (SCSK(3), X @ X.T)):
        assert model.fit(frame).feature_names_in_.tolist() == list("abcd")
        if isinstance(model, SCSK):
            model.set_params(kernel="precomputed")
        assert not hasattr(model.fit(given), "feature_names_in_")


# A stack of images is no list of views


@pytest.mark.parametrize("model", [U(3), U(3, views={"a": [0]}), SCMK(3), SCSK(3)], ids=repr)
def test_a_stack_is_no_table_and_no_list_of_views(model):
    images = X.reshape(-1, 2, 2)
    words = r"X is an array of shape \(120, 2, 2\).*reshape\(120, -1\).* list of tables"
    with pytest.raises(ValueError, match=words):
        model.fit(images)
    fitted = U(3, n_init=2).fit([X[:, :2], X[:, 2:]])
    with pytest.raises(ValueError, match="list of tables"):
        fitted.predict(np.stack([X[:9, :2], X[:9, 2:]]))


# views=


@pytest.mark.parametrize(
    "views",
    [
        {"left": [True, True, False, False], "right": [False, False, True, True]},
        {"left": np.arange(4) < 2, "right": ~(np.arange(4) < 2)},
        {"left": pd.Series([True, True, False, False]), "right": slice(2, None)},
        {"left": slice(None, 2), "right": slice(-2, None)},
        {"left": range(2), "right": (2, -1)},
        {"left": np.array([0, 1], dtype=np.uint8), "right": np.array([2, 3])},
    ],
    ids=repr,
)
def test_masks_slices_and_numbers_name_the_same_columns(views):
    plain = U(3, n_init=2, views={"left": [0, 1], "right": [2, 3]}).fit(X)
    model = U(3, n_init=2, views=views).fit(X)
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = U(3, n_init=2, views={"left": ["a", "b"], "right": frame.columns[2:]}).fit(frame)
    np.testing.assert_array_equal(named.embedding_, plain.embedding_)


@pytest.mark.parametrize(
    ("views", "words"),
    [
        ({"a": [True, False]}, r"views\['a'\] is a mask of 2 entries for 4 columns"),
        ({"a": [True, False, True, 2]}, r"views\['a'\] is a mask of 4 entries"),
        ({"a": np.zeros(4, dtype=bool)}, r"views\['a'\] is empty"),
        ({"a": slice(4, None)}, r"views\['a'\] is empty"),
        ({"a": slice("a", "c")}, r"views\['a'\].* slice of names"),
        ({"a": [0, 0]}, r"views\['a'\] names a column more than once"),
        ({"a": [0, -4]}, r"views\['a'\] names a column more than once"),
        ({"a": [0.5]}, r"views\['a'\] holds 0.5"),
        ({0: [0, 1], "0": [2, 3]}, "two views called '0'"),
    ],
    ids=repr,
)
def test_what_names_no_columns_is_refused(views, words):
    with pytest.raises((ValueError, TypeError), match=words):
        U(3, views=views).fit(X)


def test_two_views_of_one_name_are_refused():
    for model in (U(3), SCMK(3)):
        with pytest.raises(ValueError, match="two views called '0'"):
            model.fit({0: X[:, :2], "0": X[:, 2:]})


def test_a_graph_without_edges_is_doubtful():
    model = SCSK(3, kernel="precomputed", solver="exact")
    with pytest.warns(DoubtfulResultWarning, match="The graph has no edges, because alpha="):
        model.fit(1e-9 * (X @ X.T + np.eye(len(X))))


def test_one_kernel_is_one_kernel():
    with pytest.raises(ValueError, match="kernel holds 2 kernels, but SCSK takes one kernel"):
        SCSK(3, kernel=["linear", "gaussian"]).fit(X)
