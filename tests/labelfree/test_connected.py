"""Graphs that are learned on allowed pairs alone: contiguous clusters, beside scikit-learn's."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering, load_model, save_model
from unispectral.graph.quality import components

SIDE = 16
GRID = sp.csr_array(grid_to_graph(SIDE, SIDE))
row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
#: Four squares, of which those on a diagonal look alike.
TRUTH = 2 * (row >= SIDE // 2) + (column >= SIDE // 2)


def noisy_map(noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([0.0, 1.0, 1.0, 0.0])[TRUTH][:, None] + noise * rng.normal(size=(SIDE**2, 3))


def fit(X, n_clusters=4, y=None, connectivity=GRID, **more):
    parameters = {name: more.pop(name) for name in list(more) if name.endswith("_size")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = UnifiedSpectralClustering(n_clusters, **parameters)
        return model.fit(X, y, connectivity=connectivity, **more)


def count_pieces(labels, graph=GRID):
    edges = sp.coo_array(graph)
    one, other = edges.coords
    same = labels[one] == labels[other]
    own = sp.csr_array((np.ones(same.sum()), (one[same], other[same])), shape=graph.shape)
    return components(own)[0]


@pytest.mark.parametrize("seed", range(3))
def test_clusters_hang_together_and_find_what_columns_alone_cannot(seed):
    X = noisy_map(seed=seed)
    model = fit(X)
    assert count_pieces(model.labels_) == 4
    score = adjusted_rand_score(TRUTH, model.labels_)
    peer = AgglomerativeClustering(4, connectivity=GRID).fit(X)
    assert score > 0.8
    assert score >= adjusted_rand_score(TRUTH, peer.labels_) - 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = UnifiedSpectralClustering(4).fit(X)
    assert adjusted_rand_score(TRUTH, plain.labels_) < 0.5


def test_no_other_pair_gets_an_edge(tmp_path):
    X = noisy_map()
    model = fit(X)
    learned = sp.coo_array(model.affinity_matrix_)
    allowed = GRID.toarray() != 0
    assert allowed[learned.coords].all()
    assert model.knowledge_["connected_pairs"] == 2 * SIDE * (SIDE - 1)
    save_model(model, tmp_path / "m.npz")
    new = X[:20] + 0.01
    found = load_model(tmp_path / "m.npz").predict_proba(new)
    np.testing.assert_array_equal(found, model.predict_proba(new))


def test_graph_objects_and_views():
    X = noisy_map()
    expected = fit(X).labels_
    same = fit(X, connectivity=nx.from_scipy_sparse_array(GRID))
    np.testing.assert_array_equal(same.labels_, expected)
    views = fit({"a": X[:, :2], "b": X[:, 1:]})
    assert adjusted_rand_score(TRUTH, views.labels_) > 0.8


def test_what_is_known_beside_connectivity():
    X = noisy_map()
    limited = fit(X, min_cluster_size=60, max_cluster_size=68)
    sizes = np.bincount(limited.labels_)
    assert sizes.min() >= 60
    assert sizes.max() <= 68
    y = np.full(SIDE**2, -1)
    y[[0, SIDE - 1, -1]] = [0, 1, 3]
    told = fit(X, y=y)
    assert told.labels_[[0, SIDE - 1, -1]].tolist() == [0, 1, 3]
    weights = np.ones(SIDE**2)
    weights[:3] = 0
    assert adjusted_rand_score(TRUTH, fit(X, sample_weight=weights).labels_) > 0.8


def test_more_parts_than_clusters():
    X = np.concatenate([noisy_map(), noisy_map(seed=1) + 9, noisy_map(seed=2) + 9.1])
    parts = np.repeat([0, 1, 2], SIDE**2)
    three = sp.csr_array(sp.block_diag([GRID] * 3))
    with pytest.warns(DoubtfulResultWarning, match="connectivity falls into 3 parts, more than"):
        model = UnifiedSpectralClustering(2).fit(X, connectivity=three)
    assert [len(set(model.labels_[parts == part])) for part in range(3)] == [1, 1, 1]
    assert model.n_clusters_ == 2
    assert fit(X, "auto", connectivity=three).n_clusters_ >= 3


@pytest.mark.parametrize(
    ("connectivity", "words"),
    [
        (GRID[:9, :9], "connectivity is a graph of 9 nodes, but there are 256 samples"),
        (np.zeros((256, 256)), "connectivity is a graph without edges"),
        (-GRID, "connectivity is a graph with negative weights"),
        (GRID[:9], "connectivity is a graph of shape .9, 256., which is not square"),
        ("grid", "connectivity is no matrix of numbers"),
    ],
)
def test_bad_connectivity_gets_a_sentence(connectivity, words):
    model = UnifiedSpectralClustering(4)
    with pytest.raises(ValueError if "no matrix" not in words else TypeError, match=words):
        model.fit(noisy_map(), connectivity=connectivity)
    assert not hasattr(model, "labels_")
    with pytest.raises(ValueError, match="as the given graph does already"):
        UnifiedSpectralClustering(4, kernels="graph").fit(GRID, connectivity=GRID)
