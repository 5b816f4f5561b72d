"""Details of the steps that only a mutant would bring to light."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral.graph.quality import modularity, normalized_cut
from unispectral.labels import _spread_rows, fill_empty, memberships, order_of_appearance


def polar(R):
    U, _, Vt = np.linalg.svd(R)
    return U @ Vt


@pytest.mark.parametrize("first", [0, 1, 2])
def test_spread_rows_are_the_orthogonal_directions(first):
    P = np.vstack([np.diag([2.0, 5.0, 0.1]), np.zeros((2, 3)), np.diag([1.0, 1.0, 3.0])])
    R = _spread_rows(P, first)
    np.testing.assert_allclose(np.abs(R).sum(axis=0), 1.0)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.argmax(R[:, 0]) == first


def test_spread_rows_forget_lengths_but_not_angles():
    P = np.array([[10.0, 0.0], [0.3, 0.4], [3.0, 0.3]])
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    np.testing.assert_allclose(_spread_rows(P, 0), polar(np.column_stack([unit[0], unit[1]])))


def test_spread_rows_add_up_closeness():
    # The third direction must be far from both others, not only from the last.
    P = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.9, 0, 0.1], [0.3, 0.3, 0.9]])
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    expected = polar(np.column_stack([unit[0], unit[1], unit[3]]))
    np.testing.assert_allclose(_spread_rows(P, 0), expected)


def test_a_cluster_gives_no_more_than_it_can_spare():
    scores = np.array([[1.0, 0.0, 0.99, 0.98], [1.0, 0.0, 0.97, 0.96],
                       [0.0, 1.0, 0.10, 0.10], [0.0, 1.0, 0.20, 0.20]])  # fmt: skip
    filled = fill_empty(scores, np.array([0, 0, 1, 1]))
    assert sorted(filled.tolist()) == [0, 1, 2, 3]
    assert filled.tolist() == [2, 0, 1, 3]


def test_full_clusters_are_left_alone():
    scores = np.eye(3)
    labels = np.array([2, 0, 1])
    filled = fill_empty(scores, labels)
    assert filled.tolist() == [2, 0, 1]
    assert filled is not labels


def test_membership_without_any_score_is_even():
    found = memberships(np.array([[0.0, -1.0, 0.0], [0.0, 2.0, 2.0]]))
    np.testing.assert_allclose(found, [[1 / 3] * 3, [0.0, 0.5, 0.5]])
    assert (memberships(np.array([[0.2, -0.5]])) == [[1.0, 0.0]]).all()


def test_order_of_appearance_lists_each_cluster_once():
    assert order_of_appearance(np.array([3, 1, 1, 3, 0])).tolist() == [3, 1, 0]


def graph(seed, n=12):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return W + W.T, rng.integers(0, 3, n)


@pytest.mark.parametrize("seed", range(5))
def test_modularity_and_cut_by_their_definitions(seed):
    W, labels = graph(seed)
    degrees, total = W.sum(axis=1), W.sum()
    same = labels[:, None] == labels[None, :]
    expected = ((W - np.outer(degrees, degrees) / total) * same).sum() / total
    assert modularity(sp.csr_array(W), labels) == pytest.approx(expected)
    cuts = [W[labels == k][:, labels != k].sum() / degrees[labels == k].sum() for k in range(3)]
    assert normalized_cut(sp.csr_array(W), labels) == pytest.approx(np.mean(cuts))


def test_networkx_agrees_on_modularity():
    networkx = pytest.importorskip("networkx")
    W, labels = graph(7)
    groups = [set(np.flatnonzero(labels == k).tolist()) for k in range(3)]
    expected = networkx.community.modularity(networkx.from_numpy_array(W), groups)
    assert modularity(sp.csr_array(W), labels) == pytest.approx(expected)


def test_a_graph_without_edges():
    W = sp.csr_array((4, 4))
    assert modularity(W, np.array([0, 0, 1, 1])) == 0.0
    assert normalized_cut(W, np.array([0, 0, 1, 1])) == 1.0


def test_a_cluster_without_edges_has_no_say():
    W = sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    assert normalized_cut(W, np.array([0, 0, 1])) == 0.0
