"""The tree of clusters: every number of clusters from one fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral._errors import InputError
from unispectral.answers.tree import grow_tree
from unispectral.graph.quality import modularity


@pytest.fixture(scope="module")
def fitted():
    centres = [[0, 0], [4, 0], [20, 0], [24, 0], [10, 30]]
    X, _ = make_blobs(200, centers=centres, cluster_std=0.6, random_state=0)
    return X, UnifiedSpectralClustering(5).fit(X)


def test_the_level_of_the_fit_has_its_labels(fitted):
    _, model = fitted
    np.testing.assert_array_equal(model.cut(5), model.labels_)
    assert model.tree_.n_clusters == 5
    assert model.tree_.max_clusters > 5


def test_every_level_is_nested_in_the_next(fitted):
    _, model = fitted
    finer = model.tree_.leaves
    for count in range(model.tree_.max_clusters, 0, -1):
        labels = model.cut(count)
        assert len(np.unique(labels)) == count
        # Each finer cluster lies in one cluster of this level.
        assert len({*zip(finer.tolist(), labels.tolist(), strict=True)}) == finer.max() + 1
        first = np.unique(labels, return_index=True)[1]
        assert (np.diff(first) > 0).all()
        finer = labels


def test_the_linkage_is_one_for_scipy(fitted):
    _, model = fitted
    tree = model.tree_
    assert is_valid_linkage(tree.linkage)
    assert (np.diff(tree.linkage[:, 2]) >= 0).all()
    assert tree.linkage[-1, 3] == tree.max_clusters
    assert tree.sizes[-1] == 200
    for count in (2, 3, 5):
        by_scipy = fcluster(tree.linkage, count, "maxclust")[tree.leaves]
        assert adjusted_rand_score(by_scipy, model.cut(count)) == 1.0


def test_separate_clusters_are_merged_by_their_distances(fitted):
    """No edge joins any two of them, and the pairs lie far apart."""
    X, model = fitted
    inside = model.labels_[:, None] == model.labels_[None, :]
    assert model.affinity_matrix_.toarray()[~inside].sum() == 0
    right = np.digitize(X[:, 0], [15])
    right[X[:, 1] > 15] = 2
    assert adjusted_rand_score(model.cut(3), right) == 1.0


def test_merges_join_the_pair_with_most_ties_for_their_size():
    """Against all pairs by brute force, on a graph of random ties."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 5)
    dense = rng.uniform(size=(30, 30)) * np.where(labels[:, None] == labels, 4.0, 1.0)
    W = sp.csr_array(dense + dense.T)
    tree = grow_tree(W, labels, split=False)
    for count in range(6, 1, -1):
        now = tree.cut(count)
        best, nearest = -np.inf, None
        for one in range(count):
            for other in range(one):
                rows, cols = W[now == one], W[now == other]
                share = rows[:, now == other].sum() / np.sqrt(rows.sum() * cols.sum())
                if share > best:
                    best, nearest = share, np.where(now == one, other, now)
        assert adjusted_rand_score(nearest, tree.cut(count - 1)) == 1.0
        assert tree.clarity[count - 1] == pytest.approx(modularity(W, now))


def test_splits_follow_the_cheapest_cut():
    """Two cliques in one cluster come apart before a clique does."""
    W = np.kron(np.eye(4), np.ones((10, 10)))
    W[9, 10] = W[10, 9] = 0.5
    tree = grow_tree(sp.csr_array(W), np.repeat([0, 0, 1, 2], 10))
    assert tree.cut(4)[::10].tolist() == [0, 1, 2, 3]


def test_cut_of_a_pipeline_of_one_cluster_and_of_none(fitted):
    _, model = fitted
    assert model.cut(1).tolist() == [0] * 200
    for wrong in (0, model.tree_.max_clusters + 1, 2.5, True):
        with pytest.raises(InputError, match="n_clusters"):
            model.cut(wrong)


def test_a_new_fit_has_a_new_tree(fitted):
    X, _ = fitted
    model = UnifiedSpectralClustering(3).fit(X)
    before = model.tree_
    assert model.tree_ is before
    assert model.fit(X[:150]).tree_ is not before
    assert len(model.cut(2)) == 150


def test_two_samples_have_a_tree():
    tree = grow_tree(sp.csr_array(np.ones((2, 2))), np.array([0, 1]))
    assert tree.cut(1).tolist() == [0, 0]
    assert grow_tree(sp.csr_array((3, 3)), np.zeros(3, dtype=int)).linkage.shape == (0, 4)
