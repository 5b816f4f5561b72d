"""Components and the tree's own search order agree with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from unispectral.graph import quality
from unispectral.graph._indexes import ExactIndex, TreeIndex
from unispectral.graph.quality import components, cut_out


@pytest.mark.parametrize("seed", range(5))
def test_components_of_many_nodes_are_those_of_scipy(seed, monkeypatch) -> None:
    monkeypatch.setattr(quality, "_MANY_NODES", 0)
    graph = sp.random_array(
        (400, 400), density=2e-3, random_state=np.random.default_rng(seed), format="csr"
    )
    graph.data[::7] = 0.0  # stored, and hence an edge
    count, member = components(graph)
    expected, labels = connected_components(graph, directed=False)
    assert count == expected
    np.testing.assert_array_equal(member, labels)


def test_a_tree_finds_what_comparing_all_pairs_finds() -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40_000, 2)), 2)[:3_000]  # with repeated points and ties
    tree, exact = (kind(X).search_own(np.arange(3_000), 6) for kind in (TreeIndex, ExactIndex))
    np.testing.assert_allclose(tree.distances, exact.distances, atol=1e-12)
    rows = tree.indices
    assert not (rows == np.arange(len(X))[:, None]).any()
    np.testing.assert_allclose(
        np.linalg.norm(X[rows] - X[:, None], axis=2), tree.distances, atol=1e-12
    )


def test_some_nodes_are_cut_out_as_by_indexing() -> None:
    rng = np.random.default_rng(0)
    graph = sp.random_array((60, 60), density=0.2, random_state=rng, format="csr")
    for members in (np.arange(60), np.arange(3, 60, 4), np.array([7]), np.arange(0)):
        found = cut_out(graph, members)
        assert found.has_canonical_format
        assert (found != graph[members][:, members]).nnz == 0
