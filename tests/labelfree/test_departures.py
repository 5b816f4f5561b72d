"""Every departure of the label-free model from the paper's objective is a switch that acts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral.labelfree import Recipe, cluster
from unispectral.labelfree._assignment import assign_labels, quality, refine_labels
from unispectral.labels import rotate
from unispectral.spectrum import affinity, laplacian


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=3, n_features=4, cluster_std=1.5, random_state=0)[0]


def _plain(X, **parameters):
    return cluster(X, Recipe(**{"n_clusters": 3, "whiten": (), "n_init": 3, **parameters}))


def test_the_estimator_uses_the_documented_recipe(blobs):
    assert UnifiedSpectralClustering(3)._recipe() == Recipe(3)
    assert UnifiedSpectralClustering("auto", whiten=None)._recipe() == Recipe(0, whiten=())
    numbers = {"alpha": 0.02, "beta": 0.5, "ridge": 0.3, "max_clusters": 7, "max_iter": 2}
    numbers |= {"tol": 0.01, "n_init": 4, "n_neighbors": 6}
    assert UnifiedSpectralClustering(4, **numbers)._recipe() == Recipe(4, **numbers)
    model = UnifiedSpectralClustering(3, whiten=None, n_init=3).fit(blobs)
    found = _plain(blobs)
    assert (model.graph_ != found.Z).nnz == 0
    np.testing.assert_array_equal(model.embedding_, found.P)


@pytest.mark.parametrize("make", [UnifiedSpectralClustering, SCSK, SCMK])
@pytest.mark.parametrize(
    "name", ["scale_codes", "laplacian", "unit_rows", "repair", "refine", "fused_share"]
)
def test_switches_of_a_study_are_no_parameters(make, name):
    assert name not in make().get_params()
    assert hasattr(Recipe(), name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale_codes", "yes"),
        ("laplacian", "random walk"),
        ("unit_rows", 0.5),
        ("repair", "no"),
        ("refine", None),
    ],
)
def test_other_values_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} is unknown; use one of"):
        Recipe(3, **{name: value})


def test_scaled_codes_sum_to_one(blobs):
    scaled = np.asarray(_plain(blobs, repair=False).Z.sum(axis=0)).ravel()
    np.testing.assert_allclose(scaled, 1.0)
    raw = np.asarray(_plain(blobs, repair=False, scale_codes=False).Z.sum(axis=0)).ravel()
    assert raw.max() < 1.0
    assert raw.std() > 1e-3


@pytest.mark.parametrize("kind", ["normalized", "unnormalized"])
def test_the_embedding_is_that_of_the_laplacian(blobs, kind):
    found = _plain(blobs, laplacian=kind, unit_rows=False)
    L = laplacian(affinity(found.Z), normalized=kind == "normalized").toarray()
    values, vectors = np.linalg.eigh(L)
    np.testing.assert_allclose(found.eigenvalues, values[:3], atol=1e-3 * values[3])
    own = np.linalg.qr(found.P)[0]
    assert np.linalg.svd(own.T @ vectors[:, :3])[1].min() > 0.999


def test_rows_of_the_embedding(blobs):
    norms = np.linalg.norm(_plain(blobs).P, axis=1)
    np.testing.assert_allclose(norms, 1.0)
    E = _plain(blobs, unit_rows=False).P
    # Orthogonal columns, of which a typical row has length one whatever the number of samples.
    np.testing.assert_allclose(E.T @ E, np.eye(3) * len(E) / 3, atol=1e-6 * len(E))
    assert np.linalg.norm(E, axis=1).std() > 0.01


def test_repair_joins_what_fell_off():
    X, _ = make_blobs(120, centers=3, n_features=4, cluster_std=0.5, random_state=0)
    far = np.full((3, 4), 60.0) + 0.01 * np.random.default_rng(0).normal(size=(3, 4))
    both = np.vstack([X, far])
    left = _plain(both, repair=False, join=False, n_neighbors=2)
    assert 3 in np.bincount(connected_components(affinity(left.Z))[1])
    joined = _plain(both, n_neighbors=2)
    assert np.bincount(connected_components(affinity(joined.Z))[1]).min() > 3


@pytest.mark.parametrize("seed", range(3))
def test_the_better_read_out_is_kept(blobs, seed):
    found = _plain(blobs, n_clusters=5, max_iter=1)
    W, recipe = affinity(found.Z), Recipe(5, n_init=3)
    best = assign_labels(W, found.P, recipe, np.random.default_rng(seed))
    drawn = np.random.default_rng(seed)
    others = [
        KMeans(5, n_init=1, random_state=one).fit_predict(found.P)
        for one in drawn.integers(2**31 - 1, size=3).tolist()
    ]
    others.append(rotate(found.P, n_init=1, rng=drawn).labels)
    assert quality(W, best) == pytest.approx(max(quality(W, one) for one in others))


def test_refinement_gets_out_of_a_local_optimum():
    W = sp.csr_array(np.kron(np.eye(4), np.ones((8, 8))) + 0.01)
    wrong = np.repeat([0, 0, 1, 2], 8)
    wrong[24:28] = 3
    np.testing.assert_array_equal(
        np.unique(refine_labels(W, wrong, 4).reshape(4, 8), axis=1).shape, (4, 1)
    )
    right = np.repeat(np.arange(4), 8)
    np.testing.assert_array_equal(refine_labels(W, right, 4), right)


def test_refinement_never_lowers_the_quality(blobs):
    first = _plain(blobs, n_clusters=6, max_iter=1, refine=False)
    last = _plain(blobs, n_clusters=6, max_iter=1)
    W = affinity(first.Z)
    assert quality(W, last.labels) >= quality(W, first.labels)


def test_no_more_candidates_than_a_cluster_has_others():
    assert Recipe(10).candidates(1000) == 8
    assert Recipe(10).candidates(60) == 5
    assert Recipe(10).candidates(20) == 3
    assert Recipe(10, n_neighbors=12).candidates(20) == 12
    X = np.random.default_rng(0).normal(size=(60, 3))
    found = _plain(X, n_clusters=10, repair=False, join=False, n_init=2)
    assert np.diff(found.Z.T.tocsr().indptr).max() == 5


def test_new_points_have_memberships_and_scores(blobs):
    for model in (UnifiedSpectralClustering(3, n_init=3), SCSK(3), SCSK(3, solver="exact")):
        model.fit(blobs[:100])
        np.testing.assert_allclose(model.predict_proba(blobs[:100]), model.membership_, atol=1e-9)
        np.testing.assert_allclose(model.score_samples(blobs[:100]), -model.outlier_score_)
        new = model.predict_proba(blobs[100:])
        np.testing.assert_allclose(new.sum(axis=1), 1.0)
        assert (new.argmax(axis=1) == model.predict(blobs[100:])).all()
        assert model.score_samples(blobs[100:]).shape == (20,)
        everything = model.predict_all(blobs[100:])
        np.testing.assert_array_equal(everything.labels, model.predict(blobs[100:]))
        np.testing.assert_array_equal(everything.membership, new)
        np.testing.assert_array_equal(everything.embedding, model.transform(blobs[100:]))
        np.testing.assert_array_equal(everything.outlier_score, -model.score_samples(blobs[100:]))


def test_strange_new_points_score_higher(blobs):
    model = UnifiedSpectralClustering(3, n_init=3).fit(
        {"a": blobs[:100, :2], "b": blobs[:100, 2:]}
    )
    inside = {"a": blobs[100:, :2], "b": blobs[100:, 2:]}
    outside = {"a": inside["a"] + 100.0, "b": inside["b"] - 100.0}
    near, far = model.score_samples(inside), model.score_samples(outside)
    assert near.min() > far.max()
    # One view tells as much of a point that the other lacks.
    inside["b"] = np.full_like(inside["b"], np.nan)
    assert model.score_samples(inside).min() > far.max()
