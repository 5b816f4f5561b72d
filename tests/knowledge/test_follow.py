"""Known labels that merge and split clusters, beside what labels alone could do."""

from __future__ import annotations

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from unispectral.knowledge._follow import Follower
from unispectral.knowledge._merge import cut_pieces, merge_pieces, split_pieces
from unispectral.knowledge._spread import PRIORS


def planted(sizes=(50, 50, 50, 50), inside=0.3, between=0.01, seed=0):
    chances = np.full((len(sizes), len(sizes)), between)
    np.fill_diagonal(chances, inside)
    graph = nx.stochastic_block_model(list(sizes), chances.tolist(), seed=seed)
    W = sp.csr_array(nx.to_scipy_sparse_array(graph, dtype=float, weight=None))
    return W, np.repeat(np.arange(len(sizes)), sizes)


def test_one_cluster_too_many_and_one_too_few_are_mended():
    """The clusters join the first two blocks and cut the last one in two."""
    W, truth = planted()
    wrong = np.where(truth <= 1, 0, truth - 1)
    wrong[-25:] = 3
    labels = np.full(200, -1)
    labels[[0, 10, 20, 60, 70, 80, 110, 120, 130, 151, 160, 199]] = np.repeat(range(4), 3)
    found = Follower(W, wrong, 4, 4, 1.0).complete(labels)
    assert adjusted_rand_score(truth, found) > 0.95
    assert (found[labels >= 0] == labels[labels >= 0]).all()
    borders = Follower(W, wrong, 4, 4, 1.0)._spread(PRIORS[0], labels)
    assert adjusted_rand_score(truth, found) > adjusted_rand_score(truth, borders)


def test_few_labels_leave_clear_clusters_as_they_are():
    W, truth = planted()
    labels = np.full(200, -1)
    labels[[0, 60]] = [1, 0]
    found = Follower(W, truth, 2, 4, 1.0).complete(labels)
    assert adjusted_rand_score(truth, found) == 1.0
    assert found[[0, 60]].tolist() == [1, 0]


def test_pieces_are_parts_of_clusters():
    W, truth = planted()
    pieces = cut_pieces(W, truth, 4)
    assert len(np.unique(pieces)) > 4
    for piece in np.unique(pieces):
        assert len(np.unique(truth[pieces == piece])) == 1


def test_no_piece_holds_two_classes():
    W, truth = planted()
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(200) < 0.1, truth, -1)
    pieces = split_pieces(W, np.zeros(200, dtype=int), labels)
    for piece in np.unique(pieces):
        inside = labels[pieces == piece]
        assert len(np.unique(inside[inside >= 0])) <= 1


def test_classes_are_never_merged_and_numbers_are_theirs():
    W, truth = planted((30, 30, 30, 30, 30))
    labels = np.full(150, -1)
    labels[[0, 31, 62]] = [2, 0, 1]
    found = merge_pieces(W, cut_pieces(W, truth, 5), labels, 3, 5)
    assert found[[0, 31, 62]].tolist() == [2, 0, 1]
    assert sorted(np.unique(found).tolist()) == [0, 1, 2, 3, 4]
    assert adjusted_rand_score(truth, found) == 1.0
    # A class without a known sample leaves its number to a cluster that is new.
    labels[62] = -1
    assert len(np.unique(merge_pieces(W, cut_pieces(W, truth, 5), labels, 3, 5))) == 5
