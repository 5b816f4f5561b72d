"""Every departure of the label-free model from the paper's objective is a parameter that acts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs

from unispectral import SCMK, SCSK
from unispectral._defaults import ADAPTIVE, PAPER, neighbours_for, resolve
from unispectral.graph.quality import modularity
from unispectral.spectrum import laplacian

SWITCHES = {
    "scale_codes": False,
    "laplacian": "unnormalized",
    "unit_rows": False,
    "mend": False,
    "assign_labels": "rotation",
}


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=3, n_features=4, cluster_std=1.5, random_state=0)[0]


def _plain(**parameters):
    return SCSK(3, whiten=None, n_init=3, **parameters)


def test_auto_is_the_documented_value():
    for name, other in SWITCHES.items():
        assert getattr(resolve(SCSK()), name) == getattr(ADAPTIVE, name) != other
        assert getattr(resolve(SCSK.paper()), name) == getattr(PAPER, name)


@pytest.mark.parametrize("make", [SCSK, SCMK])
@pytest.mark.parametrize("name", SWITCHES)
def test_the_paper_has_no_place_for_them(blobs, make, name):
    value = getattr(ADAPTIVE, name)
    with pytest.raises(ValueError, match=f"{name}=.*not part of the paper's objective"):
        make.paper(3, **{name: value}).fit(blobs)
    # What the paper does anyway may be said.
    assert getattr(resolve(make.paper(3, **{name: SWITCHES[name]})), name) == SWITCHES[name]


@pytest.mark.parametrize(
    ("name", "value"), [("sharpness", 0.7), ("min_evidence", 0.7), ("fuse", True)]
)
def test_the_paper_weighs_kernels_its_own_way(blobs, name, value):
    with pytest.raises(ValueError, match=f"{name}={value} is not part"):
        SCMK.paper(3, **{name: value}).fit(blobs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale_codes", "yes"),
        ("laplacian", "random walk"),
        ("unit_rows", 0.5),
        ("mend", "no"),
        ("assign_labels", "discretize"),
    ],
)
def test_other_values_are_refused(blobs, name, value):
    with pytest.raises(ValueError, match=name):
        SCSK(3, **{name: value}).fit(blobs)


def test_scaled_codes_sum_to_one(blobs):
    scaled = np.asarray(_plain(mend=False).fit(blobs).graph_.sum(axis=0)).ravel()
    np.testing.assert_allclose(scaled, 1.0)
    raw = np.asarray(_plain(mend=False, scale_codes=False).fit(blobs).graph_.sum(axis=0)).ravel()
    assert raw.max() < 1.0
    assert raw.std() > 1e-3


@pytest.mark.parametrize("kind", ["normalized", "unnormalized"])
def test_the_embedding_is_that_of_the_laplacian(blobs, kind):
    model = _plain(laplacian=kind, unit_rows=False).fit(blobs)
    L = laplacian(model.affinity_matrix_, normalized=kind == "normalized").toarray()
    values, vectors = np.linalg.eigh(L)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], atol=1e-3 * values[3])
    own = np.linalg.qr(model.embedding_)[0]
    assert np.linalg.svd(own.T @ vectors[:, :3])[1].min() > 0.999


def test_rows_of_the_embedding(blobs):
    norms = np.linalg.norm(_plain().fit(blobs).embedding_, axis=1)
    np.testing.assert_allclose(norms, 1.0)
    E = _plain(unit_rows=False).fit(blobs).embedding_
    # Orthogonal columns, of which a typical row has length one whatever the number of samples.
    np.testing.assert_allclose(E.T @ E, np.eye(3) * len(E) / 3, atol=1e-6 * len(E))
    assert np.linalg.norm(E, axis=1).std() > 0.01


def test_mending_joins_what_fell_off():
    X, _ = make_blobs(120, centers=3, n_features=4, cluster_std=0.5, random_state=0)
    far = np.full((3, 4), 60.0) + 0.01 * np.random.default_rng(0).normal(size=(3, 4))
    both = np.vstack([X, far])
    left = _plain(mend=False, n_neighbors=2).fit(both)
    assert 3 in np.bincount(connected_components(left.affinity_matrix_)[1])
    joined = _plain(n_neighbors=2).fit(both)
    assert np.bincount(connected_components(joined.affinity_matrix_)[1]).min() > 3


def test_the_better_read_out_is_kept(blobs):
    found = {how: _plain(assign_labels=how).fit(blobs) for how in ("best", "kmeans", "rotation")}
    reached = {
        how: modularity(model.affinity_matrix_, model.labels_) for how, model in found.items()
    }
    assert reached["best"] == max(reached.values())


def test_no_more_candidates_than_a_cluster_has_others():
    assert neighbours_for(ADAPTIVE, "auto", 1000, 10) == 8
    assert neighbours_for(ADAPTIVE, "auto", 60, 10) == 5
    assert neighbours_for(ADAPTIVE, "auto", 20, 10) == 3
    settings = resolve(SCSK(n_neighbors=12))
    assert neighbours_for(settings, 12, 20, 10) == 12
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = SCSK(10, whiten=None, mend=False, n_init=2).fit(X)
    assert np.diff(model.graph_.T.tocsr().indptr).max() == 5


def test_new_points_have_memberships_and_scores(blobs):
    for model in (SCSK(3, n_init=3), SCSK.paper(3)):
        model.fit(blobs[:100])
        np.testing.assert_allclose(
            model.predict_membership(blobs[:100]), model.membership_, atol=1e-9
        )
        np.testing.assert_allclose(model.predict_outlier_score(blobs[:100]), model.outlier_score_)
        new = model.predict_membership(blobs[100:])
        np.testing.assert_allclose(new.sum(axis=1), 1.0)
        assert (new.argmax(axis=1) == model.predict(blobs[100:])).all()
        assert model.predict_outlier_score(blobs[100:]).shape == (20,)


def test_strange_new_points_score_higher(blobs):
    model = SCMK(3, n_init=3).fit({"a": blobs[:100, :2], "b": blobs[:100, 2:]})
    inside = {"a": blobs[100:, :2], "b": blobs[100:, 2:]}
    outside = {"a": inside["a"] + 100.0, "b": inside["b"] - 100.0}
    near, far = model.predict_outlier_score(inside), model.predict_outlier_score(outside)
    assert near.max() < far.min()
    # One view tells as much of a point that the other lacks.
    inside["b"] = np.full_like(inside["b"], np.nan)
    assert model.predict_outlier_score(inside).max() < far.min()
