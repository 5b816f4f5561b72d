"""New points: those that are training points, and that no point depends on the others."""

from __future__ import annotations

import gc
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from robustness import _estimators
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from unispectral import SCSK, UnifiedSpectralClustering
from unispectral.testing import same_alone

METHODS = ("predict", "predict_proba", "score_samples", "transform")
FORMS = [
    name for name in _estimators.ON_TABLES if hasattr(type(_estimators.make(name, 3)), "predict")
]


@pytest.fixture(scope="module", autouse=True)
def _no_cluster_is_left():
    """What a cluster leaves behind would be found, and warned of, in some later test."""
    yield
    _estimators.close_client()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def _points() -> tuple[np.ndarray, np.ndarray]:
    """Training samples, and new ones of which some are training samples or very near to one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 3.0 * (np.arange(60) % 3)[:, None]
    new = rng.normal(size=(24, 4)) + 3.0 * (np.arange(24) % 3)[:, None]
    return X, np.concatenate([new, X[:6], X[6:12] + 1e-3])


@cache
def _fitted(form: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _estimators.make(form, 3).fit(_points()[0])


def _all(model, new) -> dict[str, np.ndarray]:
    return {name: getattr(model, name)(new) for name in METHODS if hasattr(model, name)}


def _same(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], rows) -> None:
    assert set(found) == set(wanted)
    for name, values in found.items():
        if values.dtype.kind in "iu":
            np.testing.assert_array_equal(values, wanted[name][rows], err_msg=name)
        else:
            np.testing.assert_allclose(
                values, wanted[name][rows], rtol=1e-7, atol=1e-9, err_msg=name
            )


@pytest.mark.parametrize("form", FORMS)
def test_one_by_one_in_halves_in_another_order_and_twice(form):
    same_alone(_fitted(form), _points()[1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("far", [1e2, 1e5])
def test_beside_rows_that_are_far_away(form, far):
    model, new = _fitted(form), _points()[1]
    away = far * np.random.default_rng(2).normal(size=(2 * len(new), new.shape[1]))
    together = _all(model, np.concatenate([new, away]))
    _same({name: values[: len(new)] for name, values in together.items()}, _all(model, new), ...)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_rows_of_a_dense_model(form):
    """Sparse rows are the same rows; a form that cannot take them says so."""
    model, new = _fitted(form), _points()[1]
    try:
        found = _all(model, sp.csr_array(new))
    except ValueError as error:
        assert "X" in str(error)  # noqa: PT017
    else:
        _same(found, _all(model, new), slice(None))


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::UserWarning:distributed")
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("form", _estimators.ON_DASK)
def test_on_dask_in_blocks_of_any_size(form):
    pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    X, new = _points()
    made = _estimators.make(form, 3)
    made.fit(X)
    alone = np.concatenate([made.predict_blocks(new[i : i + 1]) for i in range(len(new))])
    for size in (1, 5, len(new)):
        blocks = da.from_array(new, chunks=(size, new.shape[1]))
        np.testing.assert_array_equal(np.asarray(made.predict_blocks(blocks)), alone)
    order = np.random.default_rng(1).permutation(len(new))
    shuffled = da.from_array(new[order], chunks=(7, new.shape[1]))
    np.testing.assert_array_equal(np.asarray(made.predict_blocks(shuffled)), alone[order])


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("make", ["label-free", "SCSK"])
def test_rows_of_a_training_kernel_are_those_samples(power, make):
    """Also where the diagonal is not constant, of which a cross kernel says nothing."""
    X = load_iris().data
    K = (X @ X.T) ** power
    model = (
        UnifiedSpectralClustering(3, kernels="precomputed")
        if make == "label-free"
        else SCSK(3, kernel="precomputed", solver="exact", alpha=0.5)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K)
    found = model.predict_all(K)
    np.testing.assert_array_equal(found.labels, model.labels_)
    np.testing.assert_allclose(found.outlier_score, model.outlier_score_, atol=1e-6)
    if make == "label-free":  # nor is a squared distance negative of rows that are nearly these
        assert (model.predict(K * (1.0 + 1e-6)) == model.labels_).mean() > 0.98


def test_whitened_training_samples_are_recognised_by_their_plain_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 200)) + 3.0 * (np.arange(80) % 4)[:, None]
    model = UnifiedSpectralClustering(4, whiten=0.3).fit(X)
    assert "whitened" in next(iter(model.geometry_weights_))
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
