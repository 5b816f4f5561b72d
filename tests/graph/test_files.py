"""The learned graph as files: read back by networkx and SciPy, hostile names included."""

from __future__ import annotations

import csv

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from unispectral.graph import files
from unispectral.graph.files import write_graph

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


def test_npz_is_read_by_scipy_without_pickle(tmp_path, graph):
    path = tmp_path / "graph.npz"
    write_graph(path, graph, labels=np.arange(5), names=list("vwxyz"))
    np.testing.assert_array_equal(sp.load_npz(path).toarray(), graph.toarray())
    with np.load(path, allow_pickle=False) as content:
        assert content["names"].tolist() == list("vwxyz")
        assert content["labels"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("tsv", "\t")])
def test_edge_list(tmp_path, graph, suffix, separator):
    path = tmp_path / f"graph.{suffix}"
    write_graph(path, graph, names=["a", "b,\n\t", "c", "d", "e"])
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter=separator))
    assert rows[0] == ["source", "target", "weight"]
    assert [(a, b, float(w)) for a, b, w in rows[1:]] == [
        ("a", "b,\n\t", 0.1 + 0.2),
        ("b,\n\t", "c", 1e-12),
        ("d", "d", 2.0),
    ]


def test_edge_list_runs_no_formula(tmp_path, graph):
    path = tmp_path / "graph.csv"
    write_graph(path, graph, names=["=1+2", "@b", "-3", "d", "e"])
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert [row[:2] for row in rows[1:]] == [["'=1+2", "'@b"], ["'@b", "-3"], ["d", "d"]]


def test_names_that_are_not_unique_do_not_merge_nodes(tmp_path, graph):
    path = tmp_path / "graph.csv"
    write_graph(path, graph, names=["same"] * 5)
    assert path.read_text().splitlines()[1].startswith("0,1,")


def test_blocks_give_every_edge_once(tmp_path, monkeypatch):
    dense = np.random.default_rng(0).random((30, 30)).round(2)
    symmetric = sp.csr_array(dense + dense.T)
    monkeypatch.setattr(files, "_BLOCK", 7)
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
    ("name", "arguments", "message"),
    [
        ("graph.png", {}, "format='png' must be one of graphml"),
        ("graph.csv", {"format": "gexf"}, "format='gexf' must be one of"),
        ("graph.csv", {"names": ["a"]}, "names has 1 entries for 5 nodes"),
        ("graph.csv", {"labels": [1, 2]}, "labels has 2 entries for 5 nodes"),
    ],
)
def test_refusals_leave_nothing(tmp_path, graph, name, arguments, message):
    with pytest.raises(ValueError, match=message):
        write_graph(tmp_path / name, graph, **arguments)
    assert list(tmp_path.iterdir()) == []


def test_not_square(tmp_path):
    with pytest.raises(ValueError, match="must be square"):
        write_graph(tmp_path / "graph.csv", np.ones((2, 3)))
