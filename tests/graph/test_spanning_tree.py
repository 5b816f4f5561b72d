"""Clusterings by a spanning tree, against SciPy's tree and single linkage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from unispectral.graph.spanning_tree import _gini, chop_limbs, merge_evenly, span


def mutual_reachability(X: np.ndarray, k: int) -> np.ndarray:
    apart = squareform(pdist(X))
    reach = np.sort(apart, axis=1)[:, k]
    return np.maximum(apart, np.maximum.outer(reach, reach))


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 60), k=st.integers(0, 6), seed=st.integers(0, 10_000))
def test_the_tree_is_as_short_as_that_of_scipy(n: int, k: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    tree = span(X, k)
    distances = mutual_reachability(X, min(k, n - 1)) if k else squareform(pdist(X))
    assert tree.lengths.sum() == pytest.approx(minimum_spanning_tree(distances).sum())
    assert np.all(np.diff(tree.lengths) >= 0)
    assert tree.lengths == pytest.approx(distances[tuple(tree.ends.T)])


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_without_a_threshold_merging_is_single_linkage(k: int) -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    expected = fcluster(linkage(X, "single"), k, "maxclust")
    assert adjusted_rand_score(expected, merge_evenly(span(X, 0), k, 1.0)) == 1.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=20))
def test_the_gini_index_is_that_of_all_pairs(sizes: list[int]) -> None:
    sizes = np.array(sizes)
    count, n = len(sizes), sizes.sum()
    pairs = np.abs(np.subtract.outer(sizes, sizes)).sum() / 2
    of_size = np.bincount(sizes, minlength=n + 1)
    assert _gini(of_size, sizes.min(), count, n) == pytest.approx(pairs / ((count - 1) * n))


def slow_merge(X: np.ndarray, k: int, most: float) -> np.ndarray:
    """Merging under a threshold, each step looked for anew."""
    tree = span(X, 0)
    labels = np.arange(len(X))
    edges = tree.ends.tolist()
    while len(np.unique(labels)) > k:
        sizes = np.bincount(labels)
        present = sizes[sizes > 0]
        pairs = np.abs(np.subtract.outer(present, present)).sum() / 2
        uneven = pairs / ((len(present) - 1) * len(X)) > most
        taken = 0
        for taken, (a, b) in enumerate(edges):  # noqa: B007
            if not uneven or present.min() in (sizes[labels[a]], sizes[labels[b]]):
                break
        a, b = edges.pop(taken)
        labels[labels == labels[a]] = labels[b]
    return labels


@pytest.mark.parametrize("seed", range(4))
def test_merging_under_a_threshold_is_that_of_a_plain_loop(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(120, 2)) ** 3
    assert adjusted_rand_score(slow_merge(X, 4, 0.3), merge_evenly(span(X, 0), 4, 0.3)) == 1.0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 8))
def test_limbs_are_as_many_as_asked_and_connected(seed: int, k: int) -> None:
    X = np.random.default_rng(seed).normal(size=(80, 2))
    tree = span(X, 5)
    labels = chop_limbs(tree, k)
    assert len(np.unique(labels)) == k
    inside = labels[tree.ends[:, 0]] == labels[tree.ends[:, 1]]
    assert (~inside).sum() == k - 1


def test_an_outlier_is_no_limb() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, (60, 2)), rng.normal(4, 0.3, (60, 2)), [[30.0, 30.0]]])
    labels = chop_limbs(span(X, 5), 2)
    assert sorted(np.bincount(labels)) == [60, 61]
    single = fcluster(linkage(X, "single"), 2, "maxclust")
    assert sorted(np.bincount(single)[1:]) == [1, 120]
