"""Aggregates of small graphs, whose loops can be followed by hand and without the compiler."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral.spectrum._coarse import aggregate_nodes
from unispectral.spectrum._multilevel import _Inverse
from unispectral.spectrum._subspace import Part


def graph(n: int, edges: dict[tuple[int, int], float]) -> sp.csr_array:
    A = np.zeros((n, n))
    for (i, j), weight in edges.items():
        A[i, j] = A[j, i] = weight
    return sp.csr_array(A)


def unit(W: sp.csr_array) -> np.ndarray:
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return np.sqrt(degrees / max(degrees.sum(), 1.0))


def check(W: sp.csr_array) -> np.ndarray:
    """The promises of a prolongation; returns the aggregate of each node."""
    null = unit(W)
    T, small = aggregate_nodes(W, null)
    used = np.asarray(T.power(2).sum(axis=0)).ravel() > 0
    np.testing.assert_allclose((T.T @ T).toarray(), np.diag(used.astype(float)), atol=1e-12)
    np.testing.assert_allclose(T @ (T.T @ null), null, atol=1e-12)
    np.testing.assert_allclose(small.toarray(), (T.T @ W @ T).toarray(), atol=1e-12)
    return T.indices


def test_a_node_begins_with_its_strong_neighbours_and_the_rest_joins_the_strongest() -> None:
    # 0 takes 1; 2 has a strong neighbour that is taken, and joins it; 3 and 4 hang on weakly.
    W = graph(5, {(0, 1): 1.0, (1, 2): 0.9, (2, 3): 0.1, (3, 4): 1.0})
    assert check(W).tolist() == [0, 0, 0, 1, 1]


def test_nobody_joins_through_a_node_that_has_only_just_joined() -> None:
    """A chain is cut into pieces of three, whichever of them comes first."""
    member = check(graph(12, {(i, i + 1): 1.0 for i in range(11)}))
    assert np.bincount(member).max() <= 3
    assert (np.diff(member) >= 0).all()


def test_a_node_of_low_degree_begins_only_where_nobody_else_does() -> None:
    clique = {(i, j): 1.0 for i in range(1, 5) for j in range(1, i)}
    far = {(i + 4, j + 4): 1.0 for i, j in clique}
    bridge = {(0, 4): 0.5, (0, 5): 0.5}  # comes first, between the two cliques
    member = check(graph(9, clique | far | bridge))
    assert len(set(member[1:5])) == 1
    assert len(set(member[5:])) == 1
    assert member[1] != member[5]
    assert member[0] in (member[1], member[5])
    pair = check(graph(3, {(0, 1): 1.0}))  # and one without edges
    assert pair.tolist() == [0, 0, 1]


def test_a_node_may_have_an_edge_to_itself() -> None:
    W = graph(4, {(0, 1): 1.0, (2, 3): 1.0, (0, 0): 7.0, (1, 2): 0.01})
    assert check(W).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((40, 40)) * (rng.random((40, 40)) < 0.1), 1)
    member = check(sp.csr_array(A + A.T))
    assert set(member) == set(range(member.max() + 1))


def test_a_graph_that_cannot_be_made_coarser_is_solved_as_it_is(monkeypatch) -> None:
    monkeypatch.setattr("unispectral.spectrum._multilevel._COARSEST_NODES", 2)
    W = sp.csr_array((5, 5))
    inverse = _Inverse(Part(W, np.zeros(5), True))
    assert [part.n for part in inverse.parts] == [5]
    found = inverse.coarsest_vectors(6, np.random.default_rng(0))
    assert found.shape == (5, 6)
