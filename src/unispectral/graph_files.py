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

from unispectral._files import atomic_path

__all__ = ["GRAPH_FORMATS", "graph_format", "write_graph"]

#: Endings of file names and the formats they stand for.
GRAPH_FORMATS = {".graphml": "graphml", ".npz": "npz", ".csv": "csv", ".tsv": "tsv"}

_BLOCK = 2**18
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
        edge list, which then counts, too.
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
    chosen = graph_format(path) if format is None else format
    if chosen not in GRAPH_FORMATS.values():
        raise ValueError(f"format must be one of graphml, npz, csv, tsv, but is {format!r}.")
    matrix = sp.csr_array(graph)
    size = matrix.shape[0]
    if matrix.shape[1] != size:
        raise ValueError(f"graph must be square, but its shape is {matrix.shape}.")
    for argument, values in (("labels", labels), ("names", names)):
        if values is not None and len(values) != size:
            raise ValueError(f"{argument} has {len(values)} entries for {size} nodes.")
    clusters = None if labels is None else np.asarray(labels)
    called = [str(i) for i in range(size)] if names is None else [str(name) for name in names]
    with atomic_path(path) as temporary:
        if chosen == "npz":
            _write_npz(temporary, matrix, clusters, called)
            return
        directed = not _is_symmetric(matrix)
        with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            if chosen == "graphml":
                _write_graphml(file, matrix, clusters, called, directed)
            else:
                _write_edges(file, matrix, called, directed, "," if chosen == "csv" else "\t")


def graph_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the ending of a file's name asks for.

    Examples
    --------
    >>> graph_format("learned.graphml")
    'graphml'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in GRAPH_FORMATS:
        raise ValueError(
            f"The graph file {str(path)!r} must end in one of {', '.join(GRAPH_FORMATS)}."
        )
    return GRAPH_FORMATS[suffix]


def _is_symmetric(matrix: sp.csr_array) -> bool:
    gap = abs(matrix - matrix.T)
    return gap.nnz == 0 or float(gap.max()) <= 1e-12 * float(abs(matrix).max())


def _edges(matrix: sp.csr_array, directed: bool) -> Iterator[tuple[int, int, float]]:
    """The edges, a block of rows at a time: a large graph is never there twice."""
    begin = 0
    size = matrix.shape[0]
    while begin < size:
        limit = matrix.indptr[begin] + _BLOCK
        end = max(begin + 1, int(np.searchsorted(matrix.indptr, limit, side="right")) - 1)
        block = matrix[begin : min(end, size)].tocoo()
        rows, columns = block.coords
        rows = rows + begin
        keep = block.data != 0
        if not directed:
            keep &= columns >= rows
        yield from zip(
            rows[keep].tolist(), columns[keep].tolist(), block.data[keep].tolist(), strict=True
        )
        begin = end


def _write_graphml(
    file: TextIO,
    matrix: sp.csr_array,
    clusters: np.ndarray | None,
    names: list[str],
    directed: bool,
) -> None:
    file.write(_HEAD)
    file.write(f'<graph edgedefault="{"directed" if directed else "undirected"}">\n')
    for i, name in enumerate(names):
        shown = escape(_NOT_XML.sub("\ufffd", name))
        cluster = "" if clusters is None else f'<data key="cluster">{int(clusters[i])}</data>'
        file.write(f'<node id="n{i}"><data key="label">{shown}</data>{cluster}</node>\n')
    for i, j, weight in _edges(matrix, directed):
        file.write(
            f'<edge source="n{i}" target="n{j}"><data key="weight">{weight!r}</data></edge>\n'
        )
    file.write("</graph>\n</graphml>\n")


def _write_edges(
    file: TextIO, matrix: sp.csr_array, names: list[str], directed: bool, separator: str
) -> None:
    if len(set(names)) < len(names):
        names = [str(i) for i in range(len(names))]
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(["source", "target", "weight"])
    writer.writerows((names[i], names[j], weight) for i, j, weight in _edges(matrix, directed))


def _write_npz(
    path: Path, matrix: sp.csr_array, clusters: np.ndarray | None, names: list[str]
) -> None:
    """The layout of ``scipy.sparse.save_npz``, with labels and names beside it; no pickle."""
    content: dict[str, Any] = {
        "format": np.array(b"csr"),
        "shape": np.array(matrix.shape),
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "_is_array": np.array(True),
        "names": np.array(names, dtype=np.str_),
    }
    if clusters is not None:
        content["labels"] = clusters
    with path.open("wb") as file:
        np.savez_compressed(file, **content)
