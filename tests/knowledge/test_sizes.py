"""Limits of sizes, met at the least cost; and weights of samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components
from sklearn import config_context
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unispectral import UnifiedSpectralClustering
from unispectral.knowledge._read import Sizes
from unispectral.knowledge._sizes import assign_with_limits
from unispectral.model_selection import stability

pytestmark = pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")


def fit(X, n_clusters=3, **parameters):
    told = {name: parameters.pop(name) for name in ("y", "sample_weight") if name in parameters}
    return UnifiedSpectralClustering(n_clusters, **parameters).fit(X, **told)


@pytest.mark.parametrize("seed", range(20))
def test_least_cost_beside_a_linear_programme(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 25)), int(rng.integers(2, 5))
    costs = rng.normal(size=(n, k)) if seed % 2 else rng.integers(0, 4, (n, k)).astype(float)
    least = int(rng.integers(0, n // k + 1))
    most = int(rng.integers(-(-n // k), n + 1))
    labels = assign_with_limits(costs, Sizes(least, most))
    counts = np.bincount(labels, minlength=k)
    assert counts.min() >= least
    assert counts.max() <= most
    each = np.kron(np.eye(n), np.ones(k))
    inside = np.kron(np.ones(n), np.eye(k))
    limits = np.concatenate([np.full(k, most), np.full(k, -least)])
    exact = linprog(
        costs.ravel(), A_eq=each, b_eq=np.ones(n), A_ub=np.vstack([inside, -inside]), b_ub=limits
    )
    assert costs[np.arange(n), labels].sum() == pytest.approx(exact.fun)


@pytest.mark.parametrize(
    "limits",
    [
        {"min_cluster_size": 50, "max_cluster_size": 50},
        {"min_cluster_size": 45},
        {"max_cluster_size": 52},
    ],
)
def test_limits_are_met(limits):
    X, y = load_iris(return_X_y=True)
    model = fit(X, **limits)
    counts = np.bincount(model.labels_)
    assert counts.min() >= limits.get("min_cluster_size", 0)
    assert counts.max() <= limits.get("max_cluster_size", 150)
    assert adjusted_rand_score(y, model.labels_) >= adjusted_rand_score(y, fit(X).labels_) - 0.01


def test_clusters_of_equal_size_hold_together():
    """Samples are given away at the border: a half of each moon, not single samples."""
    X, _ = make_moons(200, noise=0.05, random_state=0)
    model = fit(X, 4, min_cluster_size=50, max_cluster_size=50)
    assert np.bincount(model.labels_).tolist() == [50] * 4
    for cluster in range(4):
        members = np.flatnonzero(model.labels_ == cluster)
        inside = sp.csr_array(model.affinity_matrix_)[members][:, members]
        assert connected_components(inside)[0] == 1


def test_limits_beside_known_labels():
    X, y = load_iris(return_X_y=True)
    known = np.full(150, -1)
    known[::7] = y[::7]
    model = fit(X, y=known, min_cluster_size=50, max_cluster_size=50)
    assert np.bincount(model.labels_).tolist() == [50, 50, 50]
    np.testing.assert_array_equal(model.labels_[::7], y[::7])
    crowd = np.full(150, -1)
    crowd[:60] = 0
    crowd[60] = 1
    with pytest.raises(ValueError, match="max_cluster_size cannot be met beside the labels"):
        fit(X, y=crowd, max_cluster_size=55)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"min_cluster_size": 60}, "need 180 samples; there are 150 samples; ask for at most 50"),
        ({"max_cluster_size": 40}, "hold 120 samples; there are 150 samples; ask for at least 50"),
        ({"min_cluster_size": 50, "max_cluster_size": 20}, "is more than max_cluster_size=20"),
        ({"max_cluster_size": 0}, "max_cluster_size"),
    ],
)
def test_limits_that_cannot_be_met_get_a_sentence(limits, words):
    with pytest.raises(ValueError, match=words):
        fit(load_iris().data, **limits)


def samples():
    yield "wine", load_wine().data, 3
    yield "blobs", make_blobs(200, centers=5, cluster_std=2, random_state=0)[0], 5


@pytest.mark.parametrize(("name", "X", "n_clusters"), list(samples()), ids=["wine", "blobs"])
def test_a_weight_counts_equal_rows(name, X, n_clusters):
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = fit(X, n_clusters, sample_weight=weights)
    repeated = fit(X[rows], n_clusters)
    assert adjusted_rand_score(weighted.labels_[rows], repeated.labels_) == 1.0
    np.testing.assert_allclose(weighted.outlier_score_[rows], repeated.outlier_score_)
    np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)
    halves = fit(X, n_clusters, sample_weight=weights / 2)
    np.testing.assert_array_equal(halves.labels_, weighted.labels_)
    told = weighted.knowledge_
    assert told["total_weight"] == weights.sum()
    assert told["rows_without_weight"] == (weights == 0).sum()


def test_weights_change_something():
    X, _ = make_blobs(200, centers=5, cluster_std=2, random_state=0)
    weights = np.random.default_rng(0).integers(1, 9, len(X))
    assert adjusted_rand_score(fit(X, 5).labels_, fit(X, 5, sample_weight=weights).labels_) < 1


def test_weights_are_routed():
    X, _ = make_blobs(90, centers=3, random_state=0)
    weights = np.ones(90)
    weights[:10] = 0
    with config_context(enable_metadata_routing=True):
        model = UnifiedSpectralClustering(3).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        pipe.fit(X, sample_weight=weights)
    assert pipe[-1].knowledge_["rows_without_weight"] == 10


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.r_[-1.0, np.ones(149)], "negative weight"),
        (np.zeros(150), "zero for all"),
        (np.ones(3), r"shape \(3,\) for 150"),
        (np.r_[np.nan, np.ones(149)], "NaN"),
        (["a"] * 150, "does not hold numbers"),
        (np.r_[1.0, np.zeros(149)], "1 samples that have a weight"),
    ],
)
def test_bad_weights_get_a_sentence(weights, words):
    with pytest.raises(ValueError, match=words):
        fit(load_iris().data, sample_weight=weights)


def test_weights_say_nothing_of_a_graph():
    W = np.kron(np.eye(2), np.ones((5, 5)) - np.eye(5))
    with pytest.raises(ValueError, match="weigh the edges"):
        UnifiedSpectralClustering(2, kernels="graph").fit(W, sample_weight=np.ones(10))


def test_what_was_told_is_in_the_report():
    X = load_iris().data
    y = np.full(150, -1)
    y[[0, 60]] = [0, 1]
    weights = np.ones(150)
    weights[5] = 3
    model = UnifiedSpectralClustering(3, min_cluster_size=20)
    told = str(model.fit(X, y, cannot_link=[(0, 60)]).summary())
    assert "The fit was told 2 labels of 2 classes; 0 groups that belong together; 1 pairs" in told
    assert "at least 20 samples in each cluster" in told
    told = str(UnifiedSpectralClustering(3).fit(X, sample_weight=weights).summary())
    assert "The fit was told weights that add up to 152." in told
    assert "The fit was told" not in str(UnifiedSpectralClustering(3).fit(X).summary())


@pytest.mark.parametrize(
    ("limits", "count", "words"),
    [
        ({"max_cluster_size": 40}, 4, "max_cluster_size=40 takes 4 clusters, where the samples"),
        ({"min_cluster_size": 100}, 1, "min_cluster_size=100 leaves room for 1 cluster, "),
    ],
)
def test_a_number_left_to_the_data_keeps_to_the_limits(limits, count, words):
    model = fit(load_iris().data, "auto", **limits)
    assert model.n_clusters_ == count
    assert model.cluster_count_.reason.startswith(words)
    sizes = np.bincount(model.labels_)
    assert sizes.max() <= limits.get("max_cluster_size", 150)
    assert sizes.min() >= limits.get("min_cluster_size", 1)


def test_limits_are_refused_before_the_fit(monkeypatch):
    def fail(*_):
        raise AssertionError("the fit has begun")

    monkeypatch.setattr("unispectral.labelfree._known.fit", fail)
    with pytest.raises(ValueError, match="min_cluster_size=60 cannot be met"):
        UnifiedSpectralClustering(3, min_cluster_size=60).fit(load_iris().data)
    with pytest.raises(ValueError, match="which takes 4 clusters where there are 3"):
        UnifiedSpectralClustering(3).fit(load_iris().data, cannot_link=[(0, 1, 2, 3)])


@pytest.mark.parametrize("limits", [(50, 50), (48, None), (None, 51)])
def test_stability_beside_limits(limits):
    """Fits without a tenth of the samples have limits of their own, which they can meet."""
    X = load_iris().data
    model = fit(X, min_cluster_size=limits[0], max_cluster_size=limits[1])
    assert stability(model, X, n_fits=1).shape == (1,)
