"""Candidates of different kinds vote."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.label_free.shapes import topics
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering, load_model, save_model
from unispectral.labelfree import Recipe, cluster
from unispectral.labelfree._committee import (
    choose_neighbors,
    cluster_table,
    fit_mixture,
    principal_columns,
    rand_index,
    take_vote,
)
from unispectral.labelfree._recipe import MEMBERS


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40),
    k=st.integers(1, 6),
    m=st.integers(1, 6),
    seed=st.integers(0, 10_000),
)
def test_the_rand_index_is_that_of_scikit_learn(n: int, k: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(k, size=n), rng.integers(m, size=n)
    assert rand_index(one, other) == pytest.approx(adjusted_rand_score(one, other))


def test_the_candidate_that_agrees_most_is_chosen() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 50)
    noisy = [
        np.where(rng.random(150) < share, rng.integers(3, size=150), truth)
        for share in (0.6, 0.3, 0.1)
    ]
    vote = take_vote(noisy)
    assert vote.chosen == 2
    expected = np.mean([adjusted_rand_score(noisy[2], noisy[other]) for other in (0, 1)])
    assert vote.agreement[2] == pytest.approx(expected)


def test_a_candidate_with_fewer_clusters_is_not_chosen() -> None:
    first = np.array([0, 0, 0, 1, 1, 2])
    fewer = np.array([0, 0, 0, 1, 1, 1])
    assert take_vote([first, fewer, fewer, fewer]).chosen == 0


def test_a_candidate_with_a_cluster_of_one_sample_is_not_chosen() -> None:
    first = np.repeat([0, 1], [5, 5])
    stray = np.repeat([0, 1], [9, 1])
    assert take_vote([first, stray, stray]).chosen == 0
    assert take_vote([np.repeat([0, 1], [8, 2]), stray, stray]).chosen == 0
    assert take_vote([np.repeat([0, 1], [1, 9]), stray, stray]).chosen == 1


def test_a_mixture_finds_long_clusters_that_cross() -> None:
    rng = np.random.default_rng(0)
    one = rng.normal(size=(300, 2)) * [5.0, 0.2]
    other = rng.normal(size=(300, 2)) * [0.2, 5.0]
    labels = fit_mixture(np.vstack([one, other]), 2)
    assert adjusted_rand_score(np.repeat([0, 1], 300), labels) > 0.7
    assert fit_mixture(np.ones((20, 2)), 2) is None


@pytest.mark.parametrize("shape", [(200, 30), (40, 90)])
def test_principal_columns_keep_the_largest_variances(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * np.linspace(10, 0.1, shape[1])
    found = principal_columns(X)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:10]
    assert np.sort((found**2).sum(axis=0))[::-1] == pytest.approx(values**2)
    assert principal_columns(X[:, :5]) == pytest.approx(X[:, :5])


def test_few_columns_have_candidates_by_trees_and_a_finer_graph() -> None:
    X = np.random.default_rng(0).normal(size=(60, 20))
    assert len(cluster_table(X[:, :12], 3, MEMBERS)) == 3
    assert len(cluster_table(X, 3, MEMBERS)) == 1
    assert cluster_table(X, 3, ["trees"]) == cluster_table(np.ones((60, 20)), 3, MEMBERS) == []
    assert choose_neighbors(12) < Recipe().candidates(60) < choose_neighbors(13)
    assert choose_neighbors(None) == choose_neighbors(13)


def test_communities_outvote_the_eigenvectors_of_texts() -> None:
    X, y = topics(11, n_clusters=12, n=300, evenness=1.0, repeated=0.15, background=0.6)
    alone = fit(X, 12, committee=False)
    model = fit(X, 12)
    assert "won the vote" in model.stop_reason_
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, alone.labels_)


def fit(X: np.ndarray, k: int, **parameters) -> UnifiedSpectralClustering:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return UnifiedSpectralClustering(k, n_jobs=1, **parameters).fit(X)


def test_the_clusters_that_win_live_in_the_model(tmp_path) -> None:
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(150, 2)) * [6.0, 0.4], rng.normal(size=(150, 2)) * [0.4, 6.0]])
    X = np.vstack([X, rng.normal((0.0, 14.0), size=(100, 2))])
    model = fit(X, 3)
    alone = fit(X, 3, committee=False)
    assert adjusted_rand_score(model.labels_, alone.labels_) < 0.99
    assert "won the vote" in model.stop_reason_
    assert (model.membership_.argmax(axis=1) == model.labels_).mean() > 0.9
    assert np.array_equal(model.predict(X), model.labels_)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.agreement_ == model.agreement_
    assert np.array_equal(again.predict(X + 0.01), model.predict(X + 0.01))


def test_agreement_is_high_for_clear_clusters_and_low_for_none() -> None:
    X, y = make_blobs(300, centers=4, cluster_std=1.6, random_state=3)
    clear = fit(X, 4)
    assert clear.agreement_ > 0.8
    assert adjusted_rand_score(y, clear.labels_) > 0.8
    noise = np.random.default_rng(0).normal(size=(300, 8))
    with pytest.warns(match="different kinds"):
        found = UnifiedSpectralClustering(4, n_jobs=1).fit(noise)
    assert found.agreement_ < 0.4


def test_separate_clusters_and_other_inputs_need_no_vote() -> None:
    moons = make_moons(300, noise=0.02, random_state=0)[0]
    assert fit(moons, 2).agreement_ is None
    iris = load_iris().data
    assert fit(iris, 3, committee=False).agreement_ is None
    assert fit([iris[:, :2], iris[:, 2:]], 3).agreement_ is None


def test_the_recipe_switches_the_vote_off() -> None:
    iris = load_iris().data
    alone = fit(iris, 3, committee=False)
    found = cluster(iris, Recipe(n_clusters=3, committee=False))
    assert adjusted_rand_score(found.labels, alone.labels_) == 1.0


def test_the_number_of_threads_changes_nothing() -> None:
    iris = load_iris().data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = UnifiedSpectralClustering(3, n_jobs=2).fit(iris)
    assert np.array_equal(two.labels_, fit(iris, 3).labels_)


@pytest.mark.parametrize("n_columns", [2, 20])
def test_a_far_sample_changes_no_candidate(n_columns: int) -> None:
    X, _ = make_blobs(300, centers=4, n_features=n_columns, cluster_std=1.5, random_state=1)
    far = np.full((1, n_columns), -1e4)
    alone = cluster_table(X, 4, MEMBERS)
    beside = cluster_table(np.vstack([X, far]), 4, MEMBERS)
    nearest = np.argmin(np.square(X - far).sum(axis=1))
    for one, other in zip(alone, beside, strict=True):
        assert adjusted_rand_score(one, other[:-1]) > 0.999
        assert other[-1] == other[nearest]
