"""Graphs that a user brings: checked, made symmetric, and described as rows of a table.

The label-free model expresses each sample by a few others in the space of a kernel. Where there is
a graph and nothing else, the row of a node in it takes the place of the sample: two nodes are
alike as far as the same nodes are joined to them. The edges say which nodes a node may be
expressed by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError, InputTypeError
from unispectral._validation import check_sparse_indices

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GivenGraph",
    "add_graphs",
    "check_affinities",
    "describe_nodes",
    "is_graph_object",
    "name_nodes",
    "read_graph",
    "take_matrices",
]

#: How far a graph may be from symmetric, relative to its largest weight, without being directed.
_ROUNDING = 1e-8


class GivenGraph(NamedTuple):
    """A graph as it is used, and what was done to it in words.

    ``weights`` is symmetric, without negative weights and without self-loops.
    """

    weights: sp.csr_array
    notes: tuple[str, ...]

    @property
    def n_nodes(self) -> int:
        return self.weights.shape[0]

    @property
    def degrees(self) -> np.ndarray:
        """The sum of the weights of each node's edges."""
        return np.asarray(self.weights.sum(axis=1)).ravel()


def is_graph_object(graph: object) -> bool:
    """Whether this is a graph of networkx or igraph.

    Examples
    --------
    >>> is_graph_object([[0, 1], [1, 0]])
    False
    """
    return _is_networkx(graph) or _is_igraph(graph)


def read_graph(
    graph: object, argument: str = "X", *, n_nodes: int | None = None, names: object = None
) -> GivenGraph:
    """A symmetric affinity from whatever holds a graph.

    Parameters
    ----------
    graph : sparse or dense matrix, frame, or graph of networkx or igraph
        Weights of the edges, not negative. A graph whose edges have no weights counts each as 1.
    argument : str
        The name that messages give it.
    n_nodes : int, default=None
        How many nodes it must have.
    names : index, default=None
        What the samples are called, in their order. A graph whose nodes have names is brought
        into it.

    Returns
    -------
    GivenGraph

    Raises
    ------
    InputError
        If it is not square, has negative, missing or infinite weights, no edges, another number
        of nodes, or other names.

    Examples
    --------
    >>> found = read_graph([[0, 1, 0], [0, 0, 2], [0, 2, 0]])
    >>> found.weights.toarray().tolist()
    [[0.0, 0.5, 0.0], [0.5, 0.0, 2.0], [0.0, 2.0, 0.0]]
    >>> found.notes[0]
    'The graph is directed; each edge counts half in either direction.'
    """
    weights = _weights_of(graph, argument)
    called = name_nodes(graph, argument)
    if called is not None and names is not None:
        places = _match_names(called, names, argument)
        weights = sp.csr_array(weights[places][:, places])
    if weights.shape[0] != weights.shape[1]:
        problem = f"is a graph of shape {weights.shape}, which is not square"
        raise InputError(argument, problem, "give one row and one column for each node")
    if n_nodes is not None and weights.shape[0] != n_nodes:
        problem = f"is a graph of {weights.shape[0]} nodes, but there are {n_nodes} samples"
        raise InputError(argument, problem, "give a graph on the same samples")
    if weights.shape[0] < 2:
        raise InputError(argument, "is a graph of fewer than two nodes", "give at least two")
    _check_weights(weights, argument)
    notes = []
    weights, note = _drop_loops(weights)
    notes.append(note)
    weights, note = _make_symmetric(weights)
    notes.append(note)
    if weights.nnz == 0:
        raise InputError(argument, "is a graph without edges", "give at least one weight above 0")
    return GivenGraph(weights, tuple(note for note in notes if note))


def add_graphs(graphs: Sequence[GivenGraph]) -> sp.csr_array:
    """One graph, or the mean of several in units of the degrees of their nodes.

    Examples
    --------
    >>> edge = read_graph([[0, 1], [1, 0]])
    >>> heavy = read_graph([[0, 9], [9, 0]])
    >>> add_graphs([edge, heavy]).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if len(graphs) == 1:
        return graphs[0].weights
    total = sp.csr_array(graphs[0].weights.shape)
    for graph in graphs:
        degrees = graph.degrees
        root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
        total = total + sp.diags_array(root) @ graph.weights @ sp.diags_array(root)
    mean = _with_short_indices(sp.csr_array(total / len(graphs)))
    mean.sort_indices()
    return mean


def check_affinities(rows: object, argument: str, n_nodes: int) -> sp.csr_array:
    """The affinities of new nodes to the nodes of a graph, one row for each new node.

    Examples
    --------
    >>> check_affinities([[0.0, 2.0]], "X", 2).toarray().tolist()
    [[0.0, 2.0]]
    """
    if is_graph_object(rows):
        problem = "is a graph, where predict takes the affinities of new nodes to those of the fit"
        raise InputTypeError(argument, problem, "give one row for each new node")
    found = _from_matrix(rows, argument)
    if found.shape[1] != n_nodes:
        problem = f"has {found.shape[1]} columns, but the model was fitted on {n_nodes} nodes"
        remedy = "give the affinities of each new node to all nodes of the fit"
        raise InputError(argument, problem, remedy)
    _check_weights(found, argument)
    return found


def describe_nodes(affinities: sp.csr_array, loops: bool = True) -> sp.csr_array:
    """Rows of length one whose inner products say how alike the surroundings of nodes are.

    A node of the graph counts among its own neighbours, as much as the nearest of them, so that
    two nodes are alike that are joined and have no other neighbour in common; one without edges
    is like no other.

    Parameters
    ----------
    affinities : CSR array of shape (m, n)
        Of m nodes to the n nodes of the graph.
    loops : bool, default=True
        Whether these are the nodes of the graph itself.

    Examples
    --------
    >>> rows = describe_nodes(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> (rows @ rows.T).toarray().round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    rows = affinities.astype(np.float64)
    if loops:
        largest = rows.max(axis=1).toarray().ravel()
        rows = rows + sp.diags_array(np.where(largest > 0, largest, 1.0))
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return _with_short_indices(sp.csr_array(sp.diags_array(scale) @ rows))


def take_matrices(X: Any) -> Any:
    """The same with matrices in place of graph objects, of which rows can be taken.

    Examples
    --------
    >>> import networkx
    >>> take_matrices(networkx.path_graph(2)).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if is_graph_object(X):
        return _weights_of(X, "X")
    if isinstance(X, Mapping) and not sp.issparse(X):
        return {name: take_matrices(one) for name, one in X.items()}
    if isinstance(X, (list, tuple)) and any(is_graph_object(one) for one in X):
        return [take_matrices(one) for one in X]
    return X


def _weights_of(graph: Any, argument: str) -> sp.csr_array:
    if _is_networkx(graph):
        import networkx

        if graph.number_of_nodes() == 0:
            raise InputError(argument, "is a graph without nodes", "give at least two")
        return _from_matrix(networkx.to_scipy_sparse_array(graph, dtype=np.float64), argument)
    if _is_igraph(graph):
        attribute = "weight" if "weight" in graph.es.attributes() else None
        return _from_matrix(graph.get_adjacency_sparse(attribute), argument)
    return _from_matrix(graph, argument)


def name_nodes(graph: Any, argument: str = "X") -> list[Any] | None:
    """What the nodes of a graph are called; None where they are counted.

    Examples
    --------
    >>> import networkx
    >>> name_nodes(networkx.Graph([("a", "b")])), name_nodes(networkx.path_graph(3))
    (['a', 'b'], None)
    """
    if _is_networkx(graph):
        called = list(graph.nodes)
    elif _is_igraph(graph):
        called = list(graph.vs["name"]) if "name" in graph.vs.attributes() else []
    elif hasattr(graph, "iloc"):
        called = _name_frame(graph, argument)
    else:
        return None
    if not called or called == list(range(len(called))):
        return None
    return called


def _name_frame(frame: pd.DataFrame, argument: str) -> list[Any]:
    """What a frame calls its rows, which are its columns in the same order."""
    rows = list(frame.index)
    columns = list(frame.columns)
    counted = list(range(len(rows)))
    if rows == columns or counted in (rows, columns):
        return columns if rows == counted else rows
    odd = next((name for name in rows if name not in set(columns)), None)
    if odd is None:
        problem = "has its columns in another order than its rows"
        raise InputError(argument, problem, "reorder it: frame.loc[names, names]")
    problem = f"has the row {odd!r}, which is none of its columns"
    raise InputError(argument, problem, "give rows and columns the same names")


def _match_names(called: list[Any], names: Any, argument: str) -> np.ndarray:
    """The nodes in the order of the samples of these names."""
    place = {name: at for at, name in enumerate(called)}
    wanted = list(names)
    if wanted == list(range(len(wanted))):
        return np.arange(len(called))  # the samples are counted: the order is all there is
    missing = [name for name in wanted if name not in place]
    if missing:
        problem = f"has no node {missing[0]!r}, which is the name of a sample"
        if len(missing) > 1:
            problem += f" (and lacks {len(missing) - 1} more)"
        raise InputError(argument, problem, "name the nodes as the samples are named")
    if len(place) > len(wanted):
        surplus = next(name for name in called if name not in set(wanted))
        problem = f"has the node {surplus!r}, which is the name of no sample"
        raise InputError(argument, problem, "leave it out")
    return np.array([place[name] for name in wanted], dtype=np.int64)


def _is_networkx(graph: object) -> bool:
    return hasattr(graph, "adjacency") and hasattr(graph, "number_of_nodes")


def _is_igraph(graph: object) -> bool:
    return hasattr(graph, "get_adjacency_sparse") and hasattr(graph, "vcount")


def _from_matrix(graph: Any, argument: str) -> sp.csr_array:
    """A matrix of any kind as a CSR array of double precision."""
    if isinstance(graph, Mapping) or (isinstance(graph, Sequence) and not len(graph)):
        problem = f"is a {type(graph).__name__}, not a graph"
        remedy = "give a square matrix of weights, or a graph of networkx or igraph"
        raise InputTypeError(argument, problem, remedy)
    if sp.issparse(graph):
        check_sparse_indices(graph, argument)
        matrix = graph
    else:
        problem = "is no matrix of numbers"
        remedy = "give a square matrix of weights, or a graph of networkx or igraph"
        try:
            matrix = np.asarray(graph)
        except ValueError:  # it is ragged
            raise InputTypeError(argument, problem, remedy) from None
        if matrix.dtype.kind == "O":
            try:
                matrix = matrix.astype(np.float64)
            except (TypeError, ValueError):
                raise InputTypeError(argument, problem, remedy) from None
        if matrix.dtype.kind not in "biufc":
            raise InputTypeError(argument, problem, remedy)
    if matrix.ndim != 2:
        problem = f"has {matrix.ndim} dimensions, where a graph has two"
        raise InputError(argument, problem, "give a square matrix of weights")
    if matrix.dtype.kind == "c":
        raise InputError(argument, "has complex weights", "give real ones")
    found = sp.csr_array(matrix).astype(np.float64)
    found.sum_duplicates()
    found.eliminate_zeros()
    return _with_short_indices(found)


def _with_short_indices(matrix: sp.csr_array) -> sp.csr_array:
    """The same with 32-bit indices where they suffice, which compiled code asks for."""
    if max(matrix.nnz, *matrix.shape) >= 2**31:
        return matrix
    indices = matrix.indices.astype(np.int32)
    starts = matrix.indptr.astype(np.int32)
    return sp.csr_array((matrix.data, indices, starts), shape=matrix.shape)


def _check_weights(weights: sp.csr_array, argument: str) -> None:
    if not np.isfinite(weights.data).all():
        problem = "is a graph with missing or infinite weights"
        raise InputError(argument, problem, "remove these edges, or give them a weight")
    least = float(weights.data.min(initial=0.0))
    if least < 0:
        problem = f"is a graph with negative weights (the least is {least:.3g})"
        remedy = "give similarities of at least 0, such as abs(A), or A clipped at 0"
        raise InputError(argument, problem, remedy)
    largest = float(weights.data.max(initial=0.0))
    if largest > 1e100 or 0 < largest < 1e-100:
        problem = f"is a graph with weights up to {largest:.3g}"
        raise InputError(argument, problem, "divide it by its largest weight")


def _drop_loops(weights: sp.csr_array) -> tuple[sp.csr_array, str]:
    """The graph without edges from a node to itself, and a sentence where there were some."""
    loops = int((weights.diagonal() > 0).sum())
    if not loops:
        return weights, ""
    kept = sp.csr_array(weights - sp.diags_array(weights.diagonal()))
    kept.eliminate_zeros()
    if loops == 1:
        return kept, "One node has an edge to itself, which is left out."
    return kept, f"{loops} nodes have an edge to themselves; these edges are left out."


def _make_symmetric(weights: sp.csr_array) -> tuple[sp.csr_array, str]:
    """The mean of both directions, and a sentence where they differ by more than rounding."""
    transposed = sp.csr_array(weights.T)
    gap = abs(weights - transposed)
    largest = float(gap.max()) if gap.nnz else 0.0
    if largest == 0.0:
        weights.sort_indices()
        return weights, ""
    mean = _with_short_indices(sp.csr_array((weights + transposed) * 0.5))
    mean.sort_indices()
    if largest <= _ROUNDING * float(weights.data.max(initial=0.0)):
        return mean, ""
    return mean, "The graph is directed; each edge counts half in either direction."
