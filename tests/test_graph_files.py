"""The learned graph as a file: read back by networkx, hostile names included."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from unispectral import graph_files
from unispectral.graph_files import write_graph

NAMES = ["a", "b & <c>", '"]]>&quot;', "ü\x00\x1b\ud800", "e"]


@pytest.fixture
def graph():
    dense = np.zeros((5, 5))
    dense[0, 1] = dense[1, 0] = 0.1 + 0.2  # a number whose digits must survive
    dense[1, 2] = dense[2, 1] = 1e-12
    dense[3, 3] = 2.0
    return sp.csr_array(dense)


def as_matrix(found, weight="weight"):
    return nx.to_numpy_array(found, nodelist=[f"n{i}" for i in range(5)], weight=weight)


def test_graphml_is_read_by_networkx(tmp_path, graph):
    path = tmp_path / "graph.graphml"
    write_graph(path, graph, labels=[0, 0, 1, 1, 2], names=NAMES)
    found = nx.read_graphml(path)
    assert not found.is_directed()
    assert found.number_of_nodes() == 5
    np.testing.assert_array_equal(as_matrix(found), graph.toarray())
    assert [found.nodes[f"n{i}"]["cluster"] for i in range(5)] == [0, 0, 1, 1, 2]
    assert found.nodes["n1"]["label"] == "b & <c>"
    assert found.nodes["n2"]["label"] == '"]]>&quot;'
    assert found.nodes["n3"]["label"].startswith("ü")


def test_asymmetric_graph_is_directed(tmp_path, graph):
    one_way = sp.csr_array(np.triu(graph.toarray()))
    path = tmp_path / "graph.graphml"
    write_graph(path, one_way)
    found = nx.read_graphml(path)
    assert found.is_directed()
    np.testing.assert_array_equal(as_matrix(found), one_way.toarray())


def test_blocks_give_every_edge_once(tmp_path, monkeypatch):
    dense = np.random.default_rng(0).random((30, 30)).round(2)
    symmetric = sp.csr_array(dense + dense.T)
    monkeypatch.setattr(graph_files, "_BLOCK", 7)
    path = tmp_path / "graph.graphml"
    write_graph(path, symmetric)
    found = nx.read_graphml(path)
    matrix = nx.to_numpy_array(found, nodelist=[f"n{i}" for i in range(30)])
    np.testing.assert_array_equal(matrix, symmetric.toarray())


def test_empty_graph(tmp_path):
    path = tmp_path / "graph.graphml"
    write_graph(path, sp.csr_array((3, 3)))
    assert nx.read_graphml(path).number_of_nodes() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": ["a"]}, "names has 1 entries for 5 nodes"),
        ({"labels": [1, 2]}, "labels has 2 entries for 5 nodes"),
    ],
)
def test_refusals_leave_nothing(tmp_path, graph, arguments, message):
    with pytest.raises(ValueError, match=message):
        write_graph(tmp_path / "graph.graphml", graph, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_not_square(tmp_path):
    with pytest.raises(ValueError, match="must be square"):
        write_graph(tmp_path / "graph.graphml", np.ones((2, 3)))
