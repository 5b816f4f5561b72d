"""The learned graph as GraphML, which other programs open."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral._files import atomic_path

__all__ = ["write_graph"]

_BLOCK = 2**12  # rows
# What XML 1.0 has no way to write, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="cluster" for="node" attr.name="cluster" attr.type="int"/>
<key id="weight" for="edge" attr.name="weight" attr.type="double"/>
"""


def write_graph(
    path: str | os.PathLike[str],
    graph: Any,
    *,
    labels: Any = None,
    names: Sequence[Any] | np.ndarray | None = None,
) -> None:
    """Write a graph as GraphML, whole or not at all, for Gephi, Cytoscape, igraph or networkx.

    A symmetric matrix becomes an undirected graph with each edge written once; any other matrix
    becomes a directed one, with an edge from i to j for each entry (i, j).

    Parameters
    ----------
    path : path-like
        Where to.
    graph : sparse matrix or array of shape (n, n)
        Weights of the edges, such as ``affinity_matrix_`` or ``graph_``.
    labels : array-like of shape (n,), default=None
        Cluster of each node.
    names : sequence of length n, default=None
        Name of each node; None counts from 0.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "graph.graphml"
    >>> write_graph(path, np.array([[0.0, 0.5], [0.5, 0.0]]), names=["a", "b"])
    >>> path.read_text().count("<edge ")
    1
    """
    matrix = sp.csr_array(graph)
    size = matrix.shape[0]
    if matrix.shape[1] != size:
        raise InputError("graph", f"must be square, but its shape is {matrix.shape}")
    for argument, values in (("labels", labels), ("names", names)):
        if values is not None and len(values) != size:
            raise InputError(argument, f"has {len(values)} entries for {size} nodes")
    gap = abs(matrix - matrix.T)
    directed = gap.nnz > 0 and float(gap.max()) > 1e-12 * float(abs(matrix).max())
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as file,
    ):
        file.write(_HEAD)
        file.write(f'<graph edgedefault="{"directed" if directed else "undirected"}">\n')
        clusters = None if labels is None else np.asarray(labels)
        for i, name in enumerate(range(size) if names is None else names):
            shown = escape(_NOT_XML.sub("\ufffd", str(name)))
            cluster = "" if clusters is None else f'<data key="cluster">{int(clusters[i])}</data>'
            file.write(f'<node id="n{i}"><data key="label">{shown}</data>{cluster}</node>\n')
        for begin in range(0, size, _BLOCK):  # a large graph is never there twice
            block = matrix[begin : begin + _BLOCK].tocoo()
            rows, columns = block.row + begin, block.col
            keep = (block.data != 0) & (directed | (columns >= rows))
            edges = (rows[keep].tolist(), columns[keep].tolist(), block.data[keep].tolist())
            for i, j, weight in zip(*edges, strict=True):
                ends = f'source="n{i}" target="n{j}"'
                file.write(f'<edge {ends}><data key="weight">{weight!r}</data></edge>\n')
        file.write("</graph>\n</graphml>\n")
