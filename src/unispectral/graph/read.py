"""Graphs from files: lists of edges, Matrix Market, and square matrices."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import plural

if TYPE_CHECKING:
    from unispectral.tables._source import Source

__all__ = ["GraphFile", "read_graph_file"]

#: Columns of a list of edges by their usual names; the first pair that is there is taken.
_ENDS = (("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"))
_WEIGHTS = ("weight", "value", "similarity")
#: Bytes that an entry of a Matrix Market file takes at least, and nodes without an entry.
_ENTRY = 4
_FEW_NODES = 2**20


class GraphFile(NamedTuple):
    """The weights of a graph, what its nodes are called, and what was read."""

    weights: sp.csr_array
    names: np.ndarray | None
    notes: list[str]


def read_graph_file(
    source: str | os.PathLike[str] | Source,
    *,
    format: str | None = None,
    key: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> GraphFile:
    """Read a graph.

    Parameters
    ----------
    source : path
        A text table with an edge in each line (two columns, and perhaps a third one with weights),
        a Matrix Market file (``.mtx``), or any table that is a square matrix of weights, such as
        an ``.npz`` file of SciPy's.
    format, key, separator, header, encoding
        As :func:`unispectral.tables.read_table` has them.

    Returns
    -------
    GraphFile
        An edge counts once, whether it is written in one direction or in both; weights of lines
        that are written several times are added.

    Examples
    --------
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "ties.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("source,target,weight\\nAnn,Bob,2\\nBob,Cid,1\\n")
    >>> found = read_graph_file(path)
    >>> found.names.tolist(), found.weights.toarray().tolist()
    (['Ann', 'Bob', 'Cid'], [[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    """
    from unispectral.tables._formats import load
    from unispectral.tables._source import as_source

    file = as_source(source)
    if file.suffix == ".mtx" and format is None:
        return _read_matrix_market(file)
    text: dict[str, Any] = {"separator": separator, "header": header, "encoding": encoding}
    loaded = next(load(file, format, key, (None, None), text | {"missing": ()}))
    if loaded.frame is not None:
        return _read_frame(file, loaded.frame, list(loaded.notes))
    assert loaded.matrix is not None
    return _square(file, sp.csr_array(loaded.matrix), None, list(loaded.notes))


def _read_matrix_market(file: Source) -> GraphFile:
    from scipy.io import mminfo, mmread

    if file.path is None:
        raise file.error("is not a file on disk", "give its path")
    with file.reading("is not a Matrix Market file, or is damaged"):
        rows, columns, entries, layout, _, _ = mminfo(file.path)
    stored = entries if layout == "coordinate" else rows * columns
    if _ENTRY // 2 * stored > file.size or max(rows, columns) > _FEW_NODES + 8 * file.size:
        problem = f"says that it has {stored:,} entries, more than it can hold"
        raise file.error(problem, "write the file again")
    file.check_memory(32 * stored + 24 * (rows + columns))
    with file.reading("is not a Matrix Market file, or is damaged"):
        matrix = sp.csr_array(mmread(file.path))
    return _square(file, matrix, None, [])


def _read_frame(file: Source, frame: Any, notes: list[str]) -> GraphFile:
    """A list of edges, or a square matrix with or without names."""
    ends = next((pair for pair in _ENDS if {*pair} <= {*frame.columns}), None)
    width = frame.shape[1]
    if ends is None and width in (2, 3) and len(frame) != width:
        ends = (str(frame.columns[0]), str(frame.columns[1]))
    if ends is None:
        return _read_square_frame(file, frame, notes)
    rest = [name for name in frame.columns if name not in ends]
    weights = next((name for name in _WEIGHTS if name in rest), None)
    if weights is None and len(rest) == 1:
        weights = rest[0]
    values = np.ones(len(frame))
    told = "each of weight 1"
    if weights is not None:
        values = _as_numbers(file, frame[weights], weights)
        told = f"weighed by {weights!r}"
    if frame[[*ends]].isna().to_numpy().any():
        at = int(np.argmax(frame[[*ends]].isna().to_numpy().any(axis=1)))
        raise file.error(f"has an edge with one end only (edge {at + 1})", "fill or remove it")
    nodes, index = _number_nodes(frame[ends[0]], frame[ends[1]])
    n = len(nodes)
    one, other = np.split(index, 2)
    directed = sp.csr_array(sp.coo_array((values, (one, other)), shape=(n, n)))
    notes.append(f"{len(frame):,} edges from {ends[0]!r} to {ends[1]!r}, {told}.")
    # A loop is its own way back.
    return GraphFile(sp.csr_array(directed.maximum(directed.T)), nodes, notes)


def _number_nodes(one: Any, other: Any) -> tuple[np.ndarray, np.ndarray]:
    """The nodes by their names, numbers in order, and the places of both ends among them."""
    both = np.concatenate([one.to_numpy(dtype=object), other.to_numpy(dtype=object)])
    numbers = all(isinstance(name, (int, np.integer)) for name in both)
    if not numbers:
        both = np.array([str(name) for name in both], dtype=object)
    names, first, index = np.unique(both, return_index=True, return_inverse=True)
    if numbers:
        return names, index
    # Names stand in the order in which they come.
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return names[order], place[index]


def _read_square_frame(file: Source, frame: Any, notes: list[str]) -> GraphFile:
    names = None
    if frame.shape[1] == len(frame) + 1 and frame.columns[0] not in frame.columns[1:]:
        frame = frame.set_index(frame.columns[0])  # the first column names the rows
    if frame.shape[0] != frame.shape[1]:
        size = f"{plural(frame.shape[1], 'column')} and {plural(len(frame), 'row')}"
        problem = f"holds {size}: that is neither a list"
        remedy = "give columns called source and target, and perhaps weight"
        raise file.error(f"{problem} of edges nor a square matrix", remedy)
    counted = str(frame.columns[0]) in ("0", "1", "column_1")
    if not counted:
        names = np.array([str(name) for name in frame.columns], dtype=object)
    columns = [_as_numbers(file, frame[name], name) for name in frame.columns]
    return _square(file, sp.csr_array(np.column_stack(columns)), names, notes)


def _as_numbers(file: Source, column: Any, name: object) -> np.ndarray:
    try:
        return column.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        problem = f"has weights that are no numbers in the column {str(name)!r:.60}"
        raise file.error(problem, "give numbers of at least 0") from None


def _square(
    file: Source, matrix: sp.csr_array, names: np.ndarray | None, notes: list[str]
) -> GraphFile:
    if matrix.shape[0] != matrix.shape[1]:
        problem = f"holds a matrix of shape {matrix.shape}, which is no graph"
        raise file.error(problem, "give a square matrix of weights, or a list of edges")
    notes.append(f"A graph of {matrix.shape[0]:,} nodes.")
    return GraphFile(matrix, names, notes)
