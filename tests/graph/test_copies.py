"""Samples that came more than once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral.graph import copies as _copies
from unispectral.graph.copies import first_equal


def _plain(tables):
    """The same by comparing every pair."""
    rows = [
        np.hstack([np.atleast_1d(table[i]) for table in tables]) for i in range(len(tables[0]))
    ]
    same = [[np.array_equal(one, other, equal_nan=True) for other in rows] for one in rows]
    return [row.index(True) for row in same]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_first_equal_rows(dtype, monkeypatch):
    monkeypatch.setattr(_copies, "_ENTRIES", 8)  # several blocks
    rng = np.random.default_rng(0)
    left = rng.integers(-1, 2, size=(60, 3)).astype(dtype)
    left[left == 0] *= -1.0  # zeros of both signs
    left[5] = left[17] = np.nan
    right = rng.integers(2, size=(60, 1)).astype(dtype)
    for tables in ([left], [left, right]):
        found = first_equal(tables).tolist()
        assert found == _plain(tables)
        assert len(set(found)) < 60
    tables = [np.nan_to_num(left), right]
    found = first_equal([sp.csr_array(table) for table in tables])
    np.testing.assert_array_equal(found, first_equal(tables))


def test_rows_with_the_same_key_are_compared(monkeypatch):
    monkeypatch.setattr(_copies, "_row_keys", lambda table, factors: np.zeros(len(table), "u8"))
    X = np.array([[1.0], [2.0], [1.0], [2.0]])
    assert first_equal([X]).tolist() == [0, 1, 0, 3]


def test_every_sample_twice_changes_nothing():
    X, _ = make_blobs(120, centers=4, cluster_std=1.5, random_state=3)
    rows = np.random.default_rng(0).permutation(np.tile(np.arange(120), 2))
    once = UnifiedSpectralClustering(4).fit(X)
    twice = UnifiedSpectralClustering(4).fit(X[rows])
    assert adjusted_rand_score(once.labels_[rows], twice.labels_) == 1.0
    np.testing.assert_allclose(twice.outlier_score_, once.outlier_score_[rows])
    sums = np.asarray(twice.graph_.sum(axis=0)).ravel()
    np.testing.assert_allclose(sums, 1.0)
    half = 0.5 * (twice.graph_ + twice.graph_.T)
    assert abs(half - twice.affinity_matrix_).max() < 1e-15
    np.testing.assert_array_equal(twice.predict(X[rows]), twice.labels_)


def test_answers_that_many_gave_count_for_more():
    """Two types of answers to six questions: all that tells them is how often each was given."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=800)
    chance = rng.choice([0.15, 0.85], size=(2, 6))
    X = (rng.random((800, 6)) < chance[y]).astype(float)
    assert len(np.unique(X, axis=0)) < 64
    known = np.argmax(X @ np.log(chance.T) + (1.0 - X) @ np.log(1.0 - chance.T), axis=1)
    labels = UnifiedSpectralClustering(2).fit_predict(X)
    assert adjusted_rand_score(y, labels) > adjusted_rand_score(y, known) - 0.05


def test_few_distinct_samples_are_taken_with_their_copies():
    X = np.tile(np.arange(5.0)[:, None], (8, 2))
    assert len(np.unique(UnifiedSpectralClustering(5).fit(X).labels_)) == 5
    assert UnifiedSpectralClustering("auto").fit(np.ones((20, 3))).n_clusters_ == 1
