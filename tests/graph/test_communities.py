"""Communities: against all partitions of small graphs, planted ones, and single moves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from unispectral.graph.communities import (
    best_communities,
    find_communities,
    k_communities,
    merge_communities,
    merge_gradually,
    settle_nodes,
    split_communities,
)
from unispectral.graph.quality import modularity, normalized_cut


def random_graph(n: int, seed: int, share: float = 0.4) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n)) * (rng.random((n, n)) < share)
    np.fill_diagonal(weights, 0.0)
    return sp.csr_array(weights + weights.T)


def planted(sizes: list[int], seed: int, inside: float = 0.5, between: float = 0.01):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(truth[:, None] == truth, inside, between)
    upper = np.triu(rng.random(chance.shape) < chance, 1).astype(float)
    order = rng.permutation(len(truth))
    return sp.csr_array((upper + upper.T)[order][:, order]), truth[order]


def best_modularity(W: sp.csr_array) -> float:
    """The largest of all partitions of a small graph."""
    n = W.shape[0]
    return max(modularity(W, np.array(labels)) for labels in product(range(3), repeat=n))


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 30), seed=st.integers(0, 10_000))
def test_no_single_node_gains_by_moving(n: int, seed: int) -> None:
    W = random_graph(n, seed)
    labels = find_communities(W)
    reached = modularity(W, labels)
    for i in range(n):
        for other in range(labels.max() + 1):
            trial = labels.copy()
            trial[i] = other
            assert modularity(W, trial) <= reached + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_small_graphs_are_near_the_best_partition(seed: int) -> None:
    W = random_graph(8, seed)
    assert modularity(W, find_communities(W)) >= best_modularity(W) - 0.03


def test_planted_communities_of_unequal_size_are_found() -> None:
    W, truth = planted([200, 60, 40, 20, 15], seed=0)
    assert adjusted_rand_score(truth, find_communities(W)) > 0.98
    assert adjusted_rand_score(truth, k_communities(W, 5)) > 0.98


def test_communities_hardly_denser_than_the_rest_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(20), 200)
    one = rng.integers(4_000, size=24_000)
    other = np.where(np.arange(24_000) < 16_000, 200 * truth[one], 0)
    other = other + rng.integers(np.where(np.arange(24_000) < 16_000, 200, 4_000))
    W = sp.csr_array(sp.coo_array((np.ones(24_000), (one, other)), shape=(4_000, 4_000)))
    W = sp.csr_array(W + W.T)
    assert adjusted_rand_score(truth, find_communities(W)) < 0.9
    assert adjusted_rand_score(truth, best_communities(W)) > 0.97


@pytest.mark.parametrize("k", [2, 3, 4, 6, 9])
def test_there_are_as_many_as_are_wanted(k: int) -> None:
    W, _ = planted([60, 50, 40, 30], seed=1)
    labels = k_communities(W, k)
    assert len(np.unique(labels)) == k
    assert labels.max() == k - 1


def test_a_small_community_inside_a_large_one_is_split_off_whole() -> None:
    W, truth = planted([400, 12, 12, 12], seed=2, between=0.002)
    together = np.minimum(truth, 1)
    labels = split_communities(W, together, 4)
    assert adjusted_rand_score(truth, labels) == 1.0


def test_the_pair_of_the_largest_ratio_is_merged() -> None:
    W = random_graph(40, 3, share=0.2)
    labels = np.arange(40) % 7
    merged = merge_communities(W, labels, 6)
    members = [labels == c for c in range(7)]
    dense = W.toarray()
    ratio = {
        (a, b): dense[members[a]][:, members[b]].sum()
        / (dense[members[a]].sum() * dense[members[b]].sum())
        for a in range(7)
        for b in range(a)
    }
    a, b = max(ratio, key=ratio.get)
    expected = np.where(labels == a, b, labels)
    assert adjusted_rand_score(expected, merged) == 1.0


def test_halves_of_a_large_cluster_are_merged_before_two_small_ones() -> None:
    """A long chain falls into many communities; two cliques hang on its ends by weak edges."""
    chain = sp.diags_array([np.ones(1999), np.ones(1998)], offsets=[1, 2], shape=(2000, 2000))
    parts = [sp.csr_array(chain + chain.T), np.ones((12, 12)), np.ones((8, 8))]
    W = sp.lil_array(sp.block_diag(parts))
    truth = np.repeat([0, 1, 2], [2000, 12, 8])
    for one, other in ((0, 2000), (2011, 2012)):
        W[one, other] = W[other, one] = 0.01
    labels = k_communities(sp.csr_array(W), 3)
    assert adjusted_rand_score(truth, labels) == 1.0


def test_components_without_an_edge_between_them_can_be_merged() -> None:
    W = sp.csr_array(sp.block_diag([np.ones((n, n)) - np.eye(n) for n in (8, 4, 5, 6)]))
    labels = k_communities(W, 3)
    assert np.bincount(labels).tolist() == [8, 9, 6]


def test_edges_of_single_precision_give_the_same() -> None:
    W, _ = planted([30, 20, 25], seed=4)
    assert np.array_equal(k_communities(W, 3), k_communities(W.astype(np.float32), 3))


def test_a_graph_without_edges_has_only_single_nodes() -> None:
    labels = find_communities(sp.csr_array((4, 4)))
    assert labels.tolist() == [0, 1, 2, 3]
    assert len(np.unique(k_communities(sp.csr_array((4, 4)), 2))) == 2


def test_a_higher_resolution_gives_more_communities() -> None:
    W, _ = planted([60, 50, 40, 30], seed=5, between=0.05)
    counts = [find_communities(W, resolution).max() + 1 for resolution in (0.2, 1.0, 4.0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    assert normalized_cut(W, find_communities(W, 0.2)) < normalized_cut(W, find_communities(W, 4))


def likelihood(W, labels):
    """What the labels tell of where the edges are: brute force over pairs of communities."""
    dense = W.toarray()
    total = dense.sum()
    inside = expected = 0.0
    for label in np.unique(labels):
        members = labels == label
        inside += dense[members][:, members].sum() / total
        expected += (dense[members].sum() / total) ** 2
    outside = (1 - inside) * np.log((1 - inside) / (1 - expected)) if inside < 1 else 0.0
    return inside * np.log(inside / expected) + outside


def test_nodes_settle_where_no_single_move_is_more_likely() -> None:
    W, truth = planted([40, 25, 35], seed=6, between=0.06)
    start = truth.copy()
    astray = np.random.default_rng(0).choice(100, 25, replace=False)
    start[astray] = (start[astray] + 1) % 3
    found = settle_nodes(W, start)
    assert adjusted_rand_score(truth, found) > adjusted_rand_score(truth, start) + 0.2
    reached = likelihood(W, found)
    assert reached > likelihood(W, start)
    for node in range(0, 100, 7):
        for label in range(3):
            other = found.copy()
            other[node] = label
            assert likelihood(W, other) <= reached + 1e-3


def test_labels_that_would_lose_a_community_stay() -> None:
    W = sp.csr_array(np.ones((6, 6)) - np.eye(6))
    labels = np.array([0, 0, 0, 0, 0, 1])
    assert settle_nodes(W, labels).tolist() == labels.tolist()
    apart = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3))))
    assert settle_nodes(apart, np.repeat([0, 1], 3)).tolist() == [0, 0, 0, 1, 1, 1]


def test_gradual_merging_tells_what_each_number_of_communities_reaches() -> None:
    W, truth = planted([20, 15, 25, 30], seed=7, between=0.04)
    reached = merge_gradually(W, truth)
    for count in range(2, 5):
        labels = merge_communities(W, truth, count)
        assert np.isclose(reached.modularity[count - 1], modularity(W, labels))
        assert np.isclose(reached.likelihood[count - 1], likelihood(W, labels))
