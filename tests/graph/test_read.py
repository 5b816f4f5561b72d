"""Graphs from files: what is written is read again, and what is no graph gets a sentence."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from unispectral.graph.files import write_graph
from unispectral.graph.read import read_graph_file

NAMES = [f"person {at}" for at in range(12)]


@pytest.fixture(scope="module")
def graph():
    """Weighted, every node with an edge, the first edges from node to node in order."""
    rng = np.random.default_rng(0)
    weights = np.triu(rng.integers(1, 9, (12, 12)) * (rng.random((12, 12)) < 0.4), 1).astype(float)
    weights[np.arange(11), np.arange(1, 12)] = 2.0
    return sp.csr_array(weights + weights.T)


def test_what_is_written_is_read_again(graph, tmp_path):
    for name in ("ties.csv", "ties.tsv", "ties.npz"):
        write_graph(tmp_path / name, graph, names=NAMES)
        found = read_graph_file(tmp_path / name)
        places = np.arange(12)
        if found.names is not None:
            assert {*found.names} == {*NAMES}
            places = np.array([NAMES.index(one) for one in found.names])
        np.testing.assert_array_equal(
            found.weights.toarray(), graph.toarray()[np.ix_(places, places)]
        )


def test_matrices_of_every_kind(graph, tmp_path):
    scipy.io.mmwrite(tmp_path / "g.mtx", graph)
    np.save(tmp_path / "g.npy", graph.toarray())
    frame = pd.DataFrame(graph.toarray(), index=NAMES, columns=NAMES)
    frame.to_csv(tmp_path / "g.csv")
    for name in ("g.mtx", "g.npy", "g.csv"):
        found = read_graph_file(tmp_path / name)
        np.testing.assert_array_equal(found.weights.toarray(), graph.toarray())
    assert found.names.tolist() == NAMES


def test_edges_count_once_in_either_direction(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("from,to,value,when\n5,3,2,a\n3,5,2,b\n3,9,1,c\n3,9,1,d\n", encoding="utf-8")
    found = read_graph_file(path)
    assert found.names.tolist() == [3, 5, 9]
    assert found.weights.toarray().tolist() == [[0, 2, 2], [2, 0, 0], [2, 0, 0]]
    assert found.notes[-1] == "4 edges from 'from' to 'to', weighed by 'value'."


def test_edges_of_networkx(tmp_path):
    club = nx.karate_club_graph()
    nx.write_weighted_edgelist(club, tmp_path / "club.tsv", delimiter="\t")
    found = read_graph_file(tmp_path / "club.tsv")
    expected = nx.to_numpy_array(club, nodelist=found.names.tolist())
    np.testing.assert_array_equal(found.weights.toarray(), expected)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "a,b,c,d\n1,2,3,4\n5,6,7,8\n", "neither a list of edges nor a square matrix"),
        ("b.csv", "source,target,weight\nx,y,heavy\nx,z,light\n", "weights that are no numbers"),
        ("c.csv", "source,target\nx,y\nx,\n", "has an edge with one end only"),
        ("d.mtx", "no matrix", "is not a Matrix Market file"),
        (
            "e.mtx",
            "%%MatrixMarket matrix coordinate real general\n900000000 900000000 1\n1 1 1\n",
            "more than it can hold",
        ),
        (
            "f.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 2 900000000\n1 1 1\n",
            "more than it can hold",
        ),
        (
            "g.mtx",
            "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 1\n",
            "a matrix of shape .2, 3., which is no graph",
        ),
    ],
)
def test_what_is_no_graph_gets_a_sentence(tmp_path, name, text, words):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_graph_file(tmp_path / name)


def test_one_row_is_told_as_one(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("a,b,c,d\n1,2,3,4\n")
    with pytest.raises(ValueError, match="holds 4 columns and 1 row: that is neither"):
        read_graph_file(path)
