"""Clusters that labels and pairs merge and split, beside exceptions that change nothing."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from unispectral.knowledge._correct import correct_by_labels, correct_by_links, price_exceptions
from unispectral.knowledge._follow import count_hits
from unispectral.knowledge._merge import merge_groups
from unispectral.knowledge._read import read_links


@pytest.fixture(scope="module")
def planted():
    """Four blocks, and clusters of which one holds two of them and two are one."""
    chances = np.full((4, 4), 0.01)
    np.fill_diagonal(chances, 0.3)
    graph = nx.stochastic_block_model([50] * 4, chances.tolist(), seed=0)
    W = sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float, weight=None))
    truth = np.repeat(range(4), 50)
    wrong = np.where(truth <= 1, 0, truth - 1)
    wrong[-25:] = 3
    return W, truth, wrong


def test_two_labels_of_each_class_are_enough(planted):
    W, truth, wrong = planted
    labels = np.full(200, -1)
    labels[[0, 10, 60, 70, 110, 120, 160, 199]] = np.repeat(range(4), 2)
    found = correct_by_labels(W, wrong, labels, 4, 4)
    assert adjusted_rand_score(truth, found) > 0.95
    assert (found[labels >= 0] == labels[labels >= 0]).all()


def test_one_label_against_a_clear_cluster_is_an_exception(planted):
    W, truth, _ = planted
    labels = np.full(200, -1)
    labels[[0, 10, 60, 70, 110]] = [0, 0, 1, 1, 0]
    found = correct_by_labels(W, truth, labels, 2, 4)
    others = np.setdiff1d(np.arange(200), [110])
    assert adjusted_rand_score(truth[others], found[others]) == 1.0
    assert found[110] == 0


def test_two_pairs_are_enough(planted):
    W, truth, wrong = planted
    links = read_links([(160, 199)], [(0, 60)], 200)
    found = correct_by_links(W, wrong, links, 4)
    assert adjusted_rand_score(truth, found) > 0.95
    assert len(np.unique(found)) == 4


def test_one_pair_against_clear_clusters_is_an_exception(planted):
    W, truth, _ = planted
    for links in (read_links([(0, 60)], None, 200), read_links(None, [(0, 10)], 200)):
        assert adjusted_rand_score(truth, correct_by_links(W, truth, links, 4)) == 1.0


def test_exceptions_at_a_border_are_cheap(planted):
    W, truth, _ = planted
    outside = np.asarray((W * (truth[:, None] != truth)).sum(axis=1)).ravel()
    share = outside / W.sum(axis=1)
    prices = price_exceptions(W, truth)
    assert np.corrcoef(share, prices)[0, 1] < -0.8
    assert prices.min() >= 0


@pytest.mark.parametrize("seed", range(5))
def test_merges_beside_a_slow_loop(seed):
    """The pair of the most weight beside its volumes, found anew each time."""
    rng = np.random.default_rng(seed)
    between = rng.random((9, 9))
    between += between.T
    apart = rng.random((9, 9)) < 0.2
    apart |= apart.T
    np.fill_diagonal(apart, False)
    groups = [{at} for at in range(9)]
    while len(groups) > 3:
        best = None
        for a in range(len(groups)):
            for b in range(a):
                one, other = sorted(groups[a]), sorted(groups[b])
                if apart[np.ix_(one, other)].any():
                    continue
                weight = between[np.ix_(one, other)].sum()
                gain = weight / between[one].sum() / between[other].sum()
                if best is None or gain > best[0]:
                    best = gain, a, b
        if best is None:
            break
        groups[best[2]] |= groups.pop(best[1])
    expected = np.empty(9, dtype=int)
    for at, group in enumerate(groups):
        expected[sorted(group)] = at
    found = merge_groups(between.copy(), apart, 3)
    assert adjusted_rand_score(expected, found) == 1.0


def test_a_hidden_class_is_found_by_a_cluster_of_its_own():
    shown = np.array([0, 0, 1, -1, -1, -1])
    assert count_hits(np.array([0, 2, 1]), np.array([0, 2, 2]), shown) == 2
    assert count_hits(np.array([3]), np.array([2]), shown) == 1
