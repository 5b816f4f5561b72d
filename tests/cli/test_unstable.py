"""The command line says when a fit of most samples gives other clusters."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral.cli._fit import unstable


def test_other_clusters_are_told() -> None:
    X = np.random.default_rng(0).normal(size=(150, 5))
    model = KMeans(6, n_init=1, init="random", random_state=0).fit(X)
    (sentence,) = unstable(model, X, len(X))
    assert sentence.startswith("The clusters change when a tenth of the samples is left out: they")
    assert unstable(model, X, 10_000) == []


def test_what_every_seed_finds_in_noise_is_not_stable() -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    model, other = (UnifiedSpectralClustering(4, random_state=seed).fit(X) for seed in (0, 1))
    assert adjusted_rand_score(model.labels_, other.labels_) > 0.9
    assert len(unstable(model, X, len(X))) == 1


def test_the_same_clusters_are_not() -> None:
    X, _ = make_blobs(80, centers=4, cluster_std=0.4, random_state=1)
    assert unstable(KMeans(4, n_init=5, random_state=None).fit(X), X, len(X)) == []


def test_few_samples_are_not_fitted_without_some() -> None:
    X = np.random.default_rng(0).normal(size=(24, 2))
    assert unstable(KMeans(2, random_state=0).fit(X[:19]), X[:19], 19) == []
    assert unstable(KMeans(13, random_state=0).fit(X), X, 24) == []
