"""Choosing without labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unispectral import UnifiedSpectralClustering
from unispectral.graph.quality import modularity, normalized_cut
from unispectral.model_selection import internal_scores, stability


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(80, centers=4, cluster_std=0.4, random_state=1)


def test_modularity_and_cut_against_their_definitions():
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((9, 9)), 1)
    W = W + W.T
    labels = rng.integers(3, size=9)
    degrees, total = W.sum(axis=1), W.sum()
    same = labels[:, None] == labels[None, :]
    expected = ((W - np.outer(degrees, degrees) / total) * same).sum() / total
    assert modularity(sp.csr_array(W), labels) == pytest.approx(expected)
    cuts = [W[labels == c][:, labels != c].sum() / degrees[labels == c].sum() for c in range(3)]
    assert normalized_cut(sp.csr_array(W), labels) == pytest.approx(np.mean(cuts))


def test_true_clusters_score_better_than_shuffled_ones(blobs):
    X, y = blobs
    shuffled = np.random.default_rng(0).permutation(y)
    good, bad = internal_scores(X, y), internal_scores(X, shuffled)
    assert all(good[name] > bad[name] for name in good)
    sparse = internal_scores(sp.csr_array(X), y)
    assert sparse["silhouette"] == pytest.approx(good["silhouette"])


def test_bad_input(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="labels has 5 entries"):
        internal_scores(X, y[:5])
    with pytest.raises(ValueError, match="labels has 1 clusters"):
        internal_scores(X, np.zeros(80))


def test_clusters_that_are_there_stay_without_some_samples(blobs):
    X, _ = blobs
    assert stability(UnifiedSpectralClustering(4).fit(X), X, n_fits=3).tolist() == [1.0, 1.0, 1.0]
    assert stability(AgglomerativeClustering(4).fit(X), X).tolist() == [1.0] * 5  # without a seed


def test_clusters_of_noise_do_not():
    X = np.random.default_rng(0).normal(size=(150, 5))
    found = stability(KMeans(6, n_init=1, init="random", random_state=0).fit(X), X)
    assert found.shape == (5,)
    assert (found < 0.9).all()


class Rows(ClusterMixin, BaseEstimator):
    """Notes which samples it is given; they are all one cluster."""

    seen: list = []

    def fit(self, X, y=None):
        self.seen.append(X[:, 0].tolist())
        self.labels_ = np.zeros(len(X), dtype=int)
        return self


def test_each_fit_leaves_out_another_tenth():
    X = np.arange(40.0)[:, None]
    model = Rows().fit(X)
    stability(model, X, n_fits=2)
    _, first, second = Rows.seen
    assert len(set(first)) == len(set(second)) == 36
    assert set(first) != set(second)
    assert sorted(first) != first
    stability(model, X, n_fits=2)
    assert Rows.seen[3:] == [first, second]


def test_samples_are_left_out_whatever_they_are(blobs):
    X, _ = blobs
    K, frame = X @ X.T, pd.DataFrame(X, index=[f"s{i}" for i in range(len(X))])
    twice = pd.DataFrame(X, index=np.arange(len(X)) // 2)
    model = UnifiedSpectralClustering(4)
    for fitted, given in (
        (clone(model).fit({"a": frame, "b": frame[::-1]}), {"a": frame, "b": frame[::-1]}),
        (clone(model).fit([X, X]), [X, X]),
        (clone(model).fit([twice, twice]), [twice, twice]),
        (clone(model).set_params(kernels="precomputed").fit(K), K),
        (make_pipeline(StandardScaler(), model).fit(X), X),
    ):
        assert stability(fitted, given, n_fits=1).tolist() == [1.0]


def test_other_samples_than_those_of_the_fit_are_refused(blobs):
    X, _ = blobs
    model = UnifiedSpectralClustering(4).fit(X)
    for other in (X[:-1], [X, X[1:]]):
        with pytest.raises(ValueError, match=f"samples where the fit had {len(X)}; give"):
            stability(model, other)


class FirstSamples(ClusterMixin, BaseEstimator):
    """One cluster of the first samples, another of the rest."""

    def __init__(self, random_state=0):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.labels_ = (np.arange(len(X)) >= len(X) // 2).astype(int)
        return self


def test_clusters_that_hang_on_the_order_do_not_agree(blobs):
    assert stability(FirstSamples().fit(blobs[0]), blobs[0]).max() < 0.5


def test_a_cluster_of_one_among_many_has_a_silhouette():
    X = np.random.default_rng(0).normal(size=(2_100, 2))
    labels = np.zeros(len(X), dtype=int)
    X[7], labels[7] = 50.0, 1
    assert internal_scores(X, labels)["silhouette"] > 0.9
    with pytest.raises(ValueError, match="labels holds NaN"):
        internal_scores(X, np.where(labels, np.nan, labels))
