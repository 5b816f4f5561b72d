"""Graphs from outside: every container gives the same affinity, every fault one sentence."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from unispectral._errors import InputError
from unispectral.graph.given import check_affinities, describe_nodes, is_graph_object, read_graph


def weighted(n=12, seed=0):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    A[0, 1] = 1.0
    return A + A.T


def test_every_container_holds_the_same_graph():
    A = weighted()
    expected = sp.csr_array(A)
    edges = nx.from_numpy_array(A)
    other = igraph.Graph.Weighted_Adjacency(A, mode="undirected")
    given_as = [
        A,
        A.tolist(),
        pd.DataFrame(A),
        sp.csr_matrix(A),
        sp.coo_array(A),
        sp.lil_array(A),
        edges,
        other,
    ]
    for graph in given_as:
        found = read_graph(graph)
        assert abs(found.weights - expected).max() == 0
        assert found.weights.indices.dtype == np.int32
        assert found.notes == ()
    assert is_graph_object(edges)
    assert is_graph_object(other)
    assert not is_graph_object(A)


def test_graphs_without_weights_count_edges():
    for graph in (nx.path_graph(3), igraph.Graph(n=3, edges=[(0, 1), (1, 2)])):
        expected = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
        assert read_graph(graph).weights.toarray().tolist() == expected


def test_what_is_done_is_said():
    directed = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    found = read_graph(directed)
    np.testing.assert_array_equal(found.weights.toarray(), (directed + directed.T) / 2)
    assert found.notes == ("The graph is directed; each edge counts half in either direction.",)
    looped = np.array([[5.0, 1.0], [1.0, 0.0]])
    assert read_graph(looped).weights.diagonal().tolist() == [0, 0]
    assert read_graph(looped).notes == ("One node has an edge to itself, which is left out.",)


def test_rounding_is_no_direction():
    A = weighted()
    A[0, 1] *= 1 + 1e-12
    assert read_graph(A).notes == ()
    assert abs(read_graph(A).weights - read_graph(A).weights.T).max() == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((2, 3)), r"X is a graph of shape \(2, 3\), which is not square; give one row"),
        (-np.ones((2, 2)), "negative weights .the least is -1.; give similarities of at least 0"),
        ([[0, np.nan], [1, 0]], "missing or infinite weights; remove these edges"),
        ([[0, np.inf], [1, 0]], "missing or infinite weights"),
        (np.zeros((3, 3)), "is a graph without edges; give at least one weight"),
        (np.eye(3), "is a graph without edges"),
        (nx.Graph(), "is a graph without nodes"),
        ({"a": 1}, "is a dict, not a graph; give a square matrix"),
        ([["a", "b"], ["c", "d"]], "is no matrix of numbers"),
        (np.ones((2, 2)) * 1j, "has complex weights; give real ones"),
        (sp.csr_array(np.ones((2, 2)) * 1j), "has complex weights"),
        ([[0, 1], [1]], "is no matrix of numbers"),
        (np.array([[0, "a"], [1, 0]], dtype=object), "is no matrix of numbers"),
        (np.ones(3), "has 1 dimensions, where a graph has two"),
        (np.ones((2, 2)) * 1e300, "with weights up to 1e.300; divide it by its largest weight"),
    ],
)
def test_refusals(graph, message):
    with pytest.raises(InputError, match=message):
        read_graph(graph)


def test_another_number_of_nodes():
    with pytest.raises(InputError, match="connectivity is a graph of 12 nodes, but there are 9"):
        read_graph(weighted(), "connectivity", n_nodes=9)
    with pytest.raises(InputError, match="has 3 columns, but the model was fitted on 2 nodes"):
        check_affinities(np.ones((1, 3)), "X", 2)
    with pytest.raises(InputError, match="negative weights"):
        check_affinities(-np.ones((1, 2)), "X", 2)


def test_broken_indices_are_not_followed():
    broken = sp.csr_array(weighted())
    broken.indices = broken.indices.copy()
    broken.indices[0] = 10_000
    with pytest.raises(InputError, match="indices point outside"):
        read_graph(broken)


@settings(max_examples=30)
@given(st.integers(2, 15), st.integers(0, 1000), st.floats(1e-6, 1e6))
def test_nodes_are_described_without_units(n, seed, factor):
    A = read_graph(weighted(n, seed)).weights
    rows = describe_nodes(A)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    np.testing.assert_allclose(lengths, 1.0)
    np.testing.assert_allclose(describe_nodes(A * factor).toarray(), rows.toarray(), rtol=1e-9)


def test_alike_are_nodes_with_the_same_neighbours():
    """Against the closed form: cosines of the rows of A with a self-loop on each node."""
    A = read_graph(weighted()).weights
    dense = A.toarray()
    dense[np.diag_indices(12)] = dense.max(axis=1)
    unit = dense / np.linalg.norm(dense, axis=1, keepdims=True)
    rows = describe_nodes(A)
    np.testing.assert_allclose((rows @ rows.T).toarray(), unit @ unit.T, atol=1e-12)
    new = describe_nodes(check_affinities(A[:3], "X", 12), loops=False)
    plain = A[:3].toarray()
    plain /= np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(new.toarray(), plain)
