"""Merges and splits of clusters, and who may refuse them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral.graph.quality import modularity, normalized_cut
from unispectral.labelfree import _assignment
from unispectral.labelfree._assignment import (
    _best_split,
    _exchange,
    choose_labels,
    quality,
    refine_labels,
    sweep,
)


def _blocks(sizes: list[int], seed: int, between: float = 0.02) -> tuple[sp.csr_array, np.ndarray]:
    """A graph whose groups are densely joined within and sparsely between."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(truth[:, None] == truth, 0.4, between)
    edges = np.triu(rng.random(chance.shape) < chance, 1) * rng.uniform(0.5, 1.5, chance.shape)
    return sp.csr_array(edges + edges.T), truth


@pytest.mark.parametrize("seed", range(8))
def test_the_best_exchange_is_that_of_all_pairs_and_all_splits(seed):
    rng = np.random.default_rng(seed)
    W, truth = _blocks(rng.integers(8, 40, size=5).tolist(), seed)
    labels = np.where(rng.random(len(truth)) < 0.2, rng.integers(5, size=len(truth)), truth)
    labels[truth == 1] = 0  # two in one
    labels[truth == 2] = rng.integers(1, 3, size=int((truth == 2).sum()))  # one in two
    degrees = np.asarray(W.sum(axis=1)).ravel()
    best, expected = modularity(W, labels), None
    for cluster in range(5):
        split = _best_split(W, np.flatnonzero(labels == cluster), degrees, None)
        for one in range(5):
            for other in range(one + 1, 5):
                if split is None or cluster in (one, other):
                    continue
                trial = labels.copy()
                trial[labels == other] = one
                trial[split.part] = other
                if modularity(W, trial) > best + 1e-12:
                    best, expected = modularity(W, trial), trial
    found = _exchange(W, labels, 5, degrees, {}, None)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert modularity(W, found) == pytest.approx(best, abs=1e-12)


def test_no_split_is_looked_at_where_none_could_pay(monkeypatch):
    W, truth = _blocks([20, 20, 20, 20], 0, between=0.01)

    def never(*arguments):
        raise AssertionError("a cluster was split")

    monkeypatch.setattr(_assignment, "_best_split", never)
    np.testing.assert_array_equal(refine_labels(W, truth, 4), truth)


def test_two_in_one_and_one_in_two_are_mended():
    W, truth = _blocks([30, 30, 30, 30], 1)
    wrong = truth.copy()
    wrong[truth == 1] = 0
    wrong[np.flatnonzero(truth == 2)[:15]] = 1
    found = refine_labels(W, wrong, 4)
    assert modularity(W, found) == pytest.approx(modularity(W, truth))
    assert all(len(np.unique(found[truth == group])) == 1 for group in range(4))


def test_conductance_refuses_what_modularity_alone_would_do():
    """Two small groups far from all others stay apart, though equal sizes have more modularity."""
    W, truth = _blocks([150, 8, 8], 2, between=0.001)
    found = refine_labels(W, truth, 3)
    assert normalized_cut(W, found) <= 1.025 * normalized_cut(W, truth)
    np.testing.assert_array_equal(found, truth)


def test_edges_of_vanishing_weight_join_nothing_in_a_sweep():
    inside = np.kron(np.eye(2), np.ones((5, 5)) - np.eye(5))
    inside[2, 7] = inside[7, 2] = 1e-12
    W = sp.csr_array(inside)
    before = W.copy()
    order, cut = sweep(W)
    assert sorted(order[:5].tolist()) in ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])
    assert cut[4] == 0.0
    assert (before != W).nnz == 0


def test_where_all_cuts_are_cheap_the_cheapest_wins():
    """Modularity alone would cut the large cluster and put the two small ones together."""
    volumes = np.array([[9.0, 8e-3, 0, 0], [8e-3, 9.0, 4e-4, 0], [0, 4e-4, 2.0, 1e-4],
                        [0, 0, 1e-4, 1.0]])  # fmt: skip
    W = sp.csr_array(np.kron(volumes, np.ones((5, 5))))
    right, halves = (np.repeat(parts, 5) for parts in ([0, 0, 1, 2], [0, 1, 2, 2]))
    assert quality(W, halves) > quality(W, right)
    assert choose_labels(W, [halves, right]) is right
    blurred = sp.csr_array(W + 0.01 * np.ones(W.shape))
    assert quality(blurred, halves) > quality(blurred, right)
    assert choose_labels(blurred, [halves, right]) is halves
