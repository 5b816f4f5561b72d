"""The learned graph as a file that other programs open: GraphML, NumPy, edge list."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import escape

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral._files import atomic_path
from unispectral.tables._write import escape_formula

__all__ = ["GRAPH_FORMATS", "write_graph"]

#: What a graph can be written as; also the endings of the files.
GRAPH_FORMATS = ("graphml", "npz", "csv", "tsv")

_BLOCK = 2**12  # rows
#: Names that are longer, and arrays of names that are larger, are not written to .npz.
_LONG_NAME = 200
_WIDE = 2**28
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
    format: str | None = None,
) -> None:
    """Write a graph, whole or not at all.

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
        Name of each node; None counts from 0. Names that are not unique would merge nodes in an
        edge list, which then counts, too; there, names that a spreadsheet would run as a formula
        get an apostrophe in front.
    format : {"graphml", "npz", "csv", "tsv"}, default=None
        None goes by the ending of the name. ``"graphml"`` opens in Gephi, Cytoscape and networkx,
        ``"npz"`` with ``scipy.sparse.load_npz`` (and holds ``labels`` and ``names``), ``"csv"``
        and ``"tsv"`` are edge lists, in which points without a neighbour do not appear.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "graph.csv"
    >>> write_graph(path, np.array([[0.0, 0.5], [0.5, 0.0]]), names=["a", "b"])
    >>> print(path.read_text(), end="")
    source,target,weight
    a,b,0.5
    """
    if format is None:
        chosen = Path(path).suffix.lower()[1:]
    else:
        chosen = format
    if chosen not in GRAPH_FORMATS:
        problem = f"must be one of {', '.join(GRAPH_FORMATS)} to write {str(path)!r}"
        raise InputError("format", problem, value=chosen)
    matrix = sp.csr_array(graph)
    size = matrix.shape[0]
    if matrix.shape[1] != size:
        raise ValueError(f"graph must be square, but its shape is {matrix.shape}.")
    for argument, values in (("labels", labels), ("names", names)):
        if values is not None and len(values) != size:
            raise ValueError(f"{argument} has {len(values)} entries for {size} nodes.")
    if labels is None:
        clusters = None
    else:
        clusters = np.asarray(labels)
    if names is None:
        called = [str(i) for i in range(size)]
    else:
        called = [str(name) for name in names]
    with atomic_path(path) as temporary:
        if chosen == "npz":
            # As scipy.sparse.save_npz writes it, with labels and names beside; no pickle.
            content = {part: getattr(matrix, part) for part in ("data", "indices", "indptr")}
            content |= {"format": b"csr", "shape": matrix.shape, "_is_array": True}
            content |= {"names": _fixed_width(called)}
            content |= {} if clusters is None else {"labels": clusters}
            with temporary.open("wb") as binary:
                np.savez_compressed(binary, **content)
            return
        gap = abs(matrix - matrix.T)
        directed = gap.nnz > 0 and float(gap.max()) > 1e-12 * float(abs(matrix).max())
        with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            if chosen == "graphml":
                _write_graphml(file, matrix, clusters, called, directed)
            else:
                _write_edges(file, matrix, called, directed, "," if chosen == "csv" else "\t")


def _fixed_width(names: list[str]) -> np.ndarray:
    """Names as an array without pickle, in which every name is as wide as the longest."""
    longest = max(map(len, names), default=0)
    if longest > _LONG_NAME and 4 * longest * len(names) > _WIDE:
        problem = f"holds a name of {longest:,} characters, which makes all {len(names):,} as wide"
        raise InputError("names", problem, "shorten it, or write graphml, csv or tsv")
    return np.array(names, dtype=np.str_)


def _edges(matrix: sp.csr_array, directed: bool) -> Iterator[tuple[int, int, float]]:
    """The edges, a block of rows at a time: a large graph is never there twice."""
    for begin in range(0, matrix.shape[0], _BLOCK):
        block = matrix[begin : begin + _BLOCK].tocoo()
        rows = block.row + begin
        columns = block.col
        keep = (block.data != 0) & (directed | (columns >= rows))
        found = (rows[keep].tolist(), columns[keep].tolist(), block.data[keep].tolist())
        yield from zip(*found, strict=True)


def _write_graphml(
    file: TextIO, matrix: sp.csr_array, clusters: Any, names: list[str], directed: bool
) -> None:
    file.write(_HEAD)
    file.write(f'<graph edgedefault="{"directed" if directed else "undirected"}">\n')
    for i, name in enumerate(names):
        shown = escape(_NOT_XML.sub("\ufffd", name))
        if clusters is None:
            cluster = ""
        else:
            cluster = f'<data key="cluster">{int(clusters[i])}</data>'
        file.write(f'<node id="n{i}"><data key="label">{shown}</data>{cluster}</node>\n')
    for i, j, weight in _edges(matrix, directed):
        ends = f'source="n{i}" target="n{j}"'
        file.write(f'<edge {ends}><data key="weight">{weight!r}</data></edge>\n')
    file.write("</graph>\n</graphml>\n")


def _write_edges(
    file: TextIO, matrix: sp.csr_array, names: list[str], directed: bool, separator: str
) -> None:
    if len(set(names)) < len(names):
        names = [str(i) for i in range(len(names))]
    names = [escape_formula(name) for name in names]
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(["source", "target", "weight"])
    writer.writerows((names[i], names[j], weight) for i, j, weight in _edges(matrix, directed))
