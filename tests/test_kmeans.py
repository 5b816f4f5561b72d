"""k-means from many starts against scikit-learn's, start by start."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_digits, make_blobs

from unispectral._kmeans import _lloyd, _plusplus, kmeans


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 40])
def test_labels_are_scikit_learns(n_clusters):
    X = load_digits().data[:400]
    ours = list(kmeans(X, n_clusters, range(5)))
    for seed, labels in enumerate(ours):
        theirs = KMeans(n_clusters, n_init=1, random_state=seed).fit(X).labels_
        np.testing.assert_array_equal(labels, theirs)


def test_starts_are_scikit_learns():
    X, _ = make_blobs(200, 5, centers=8, random_state=0)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    for seed in range(5):
        ours = _plusplus(squared, 8, np.random.RandomState(seed))
        np.testing.assert_array_equal(ours, kmeans_plusplus(X, 8, random_state=seed)[1])


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_cluster_that_runs_empty_is_left_to_scikit_learn():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], 5, axis=0)
    assert _lloyd(X, X[[0, 1, 5]], 0.0) is None
    [labels] = kmeans(X, 3, [0])
    assert len(np.unique(labels)) == 2
