"""Which samples fit nowhere: a threshold that the scores give, and none in clean data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from unispectral import UnifiedSpectralClustering, load_model, save_model
from unispectral.answers.outliers import find_thresholds


def clean(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    blobs = {"centers": 5, "random_state": seed}
    return {
        "blobs": make_blobs(300, **blobs)[0],
        "blobs in five columns": make_blobs(300, n_features=5, **blobs)[0],
        "moons": make_moons(300, noise=0.07, random_state=seed)[0],
        "Gaussian": rng.normal(size=(300, 2)),
        "heavy tails": rng.standard_t(3, size=(300, 3)),
        "skewed": rng.lognormal(size=(300, 3)),
        "uniform": rng.uniform(size=(300, 2)),
        "small numbers": rng.integers(0, 8, size=(300, 3)).astype(float),
    }


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
@pytest.mark.parametrize("seed", [0, 1])
def test_clean_samples_have_no_outliers(seed):
    found = {
        name: int(UnifiedSpectralClustering(3, whiten=None).fit(X).outlier_.sum())
        for name, X in clean(seed).items()
    }
    assert set(found.values()) == {0}


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scattered_samples_are_found(seed):
    X, _ = make_blobs(500, centers=5, n_features=8, random_state=seed)
    rng = np.random.default_rng(seed)
    strays = rng.uniform(X.min(axis=0), X.max(axis=0), size=(20, 8))
    model = UnifiedSpectralClustering(5, whiten=None).fit(np.concatenate([X, strays]))
    assert model.outlier_[500:].sum() >= 19
    assert model.outlier_[:500].sum() == 0
    assert model.outlier_threshold_.shape == (5,)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_shops_scattered_around_clusters_in_the_plane_are_found(seed):
    """40 of 600; those that fall into a cluster by chance cannot be told."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10, 10, size=(5, 2))
    shops = centres[rng.integers(5, size=560)] + 0.6 * rng.normal(size=(560, 2))
    strays = rng.uniform(-12, 12, size=(40, 2))
    model = UnifiedSpectralClustering(5).fit(np.concatenate([shops, strays]))
    assert model.outlier_[560:].sum() >= 28
    assert model.outlier_[:560].sum() <= 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_dense_clusters_beside_a_sparse_one_have_no_outliers(seed):
    centres = [[0, 0], [12, 0], [0, 20]]
    X, _ = make_blobs([400, 300, 100], centers=centres, cluster_std=[1, 1, 3], random_state=seed)
    assert not UnifiedSpectralClustering(3).fit(X).outlier_.any()


def test_a_crowd_is_found_where_there_is_no_step():
    """A tail, and a crowd in its far end."""
    rng = np.random.default_rng(0)
    tail = rng.exponential(size=560)
    crowd = rng.normal(5.0, 0.5, size=40)
    scores = np.exp(np.concatenate([tail, crowd]))
    found = scores > find_thresholds(scores, np.zeros(600, dtype=int))
    assert found[560:].sum() >= 35
    assert found[:560].sum() <= 8
    # By the tail alone, which has as high a score, none is found.
    assert np.isinf(find_thresholds(np.exp(tail), np.zeros(560, dtype=int))).all()


def test_a_tail_of_the_model_is_hardly_ever_split():
    """On exponential logarithms of scores, for which the level is exact, and lighter ones."""
    labels = np.zeros(200, dtype=int)
    found = [
        np.isfinite(
            find_thresholds(np.exp(np.random.default_rng(seed).exponential(size=200)), labels)
        )
        for seed in range(300)
    ]
    assert np.mean(found) <= 0.01


def test_the_threshold_does_not_depend_on_units():
    scores = np.random.default_rng(0).lognormal(size=400)
    scores[:7] *= 1e4
    labels = np.arange(400) % 2
    threshold = find_thresholds(scores, labels)
    assert (scores > threshold[labels]).nonzero()[0].tolist() == list(range(7))
    np.testing.assert_allclose(find_thresholds(1e3 * scores, labels), 1e3 * threshold)


def test_a_sparse_cluster_is_a_cluster():
    """All its members have high scores, and none stands apart from the others."""
    centres = [[0, 0], [8, 0], [60, 60]]
    X, _ = make_blobs([400, 300, 40], centers=centres, cluster_std=[1, 1, 6], random_state=0)
    model = UnifiedSpectralClustering(3).fit(X)
    assert np.bincount(model.labels_).tolist() == [400, 300, 40]
    assert not model.outlier_.any()


def test_few_or_equal_scores_tell_nothing():
    assert np.isinf(find_thresholds(np.array([1.0, 1.0, 9.0]), np.zeros(3, dtype=int))).all()
    scores = np.ones(100)
    scores[0] = 50.0
    assert np.isinf(find_thresholds(scores, np.zeros(100, dtype=int))).all()


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
def test_outliers_and_names_survive_a_file(tmp_path):
    X, _ = make_blobs(200, centers=3, n_features=6, random_state=0)
    X[:4] += 60 * np.eye(4, 6)
    model = UnifiedSpectralClustering(3).fit(X).rename({1: "loyal"})
    assert model.outlier_[:4].all()
    save_model(model, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.outlier_, model.outlier_)
    np.testing.assert_array_equal(again.cut(5), model.cut(5))
    assert again.cluster_names_.tolist() == ["0", "loyal", "2"]
    assert list(again.diagnostics_) == list(model.diagnostics_)
    assert again.cluster_names_[again.predict(X[model.labels_ == 1])].tolist()[0] == "loyal"
