"""The command line says when the next seed gives other clusters."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from unispectral.cli._fit import another_seed


def test_other_clusters_are_told() -> None:
    X = np.random.default_rng(0).normal(size=(150, 5))
    model = KMeans(6, n_init=1, init="random", random_state=0).fit(X)
    (sentence,) = another_seed(model, X, len(X))
    assert sentence.startswith("The seed 1 gives other clusters: the two agree by 0.")
    assert another_seed(model, X, 10_000) == []
    assert another_seed(model.set_params(random_state=None), X, len(X)) == []


def test_the_same_clusters_are_not() -> None:
    X, _ = make_blobs(80, centers=4, cluster_std=0.4, random_state=1)
    assert another_seed(KMeans(4, n_init=5, random_state=0).fit(X), X, len(X)) == []
