"""Results as fields of an annotated object, under the names that scanpy's tools look for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData

    from unispectral._base import LearnedGraphClustering

#: Edges whose lengths are computed at a time.
_EDGES = 65_536


def write_fields(
    data: AnnData,
    key: str,
    model: LearnedGraphClustering,
    cells: np.ndarray,
    groups: Any,
    distances: sp.csr_matrix,
    params: dict[str, Any],
) -> None:
    """Put what a model found for some of the cells into an object that has all of them.

    Fields of cells that were not clustered hold NaN, and no edges.
    """
    pandas = optional("pandas", extra="scverse")
    n = data.n_obs
    data.obs[key] = groups
    for name, values in (
        (f"{key}_membership", model.membership_.max(axis=1)),
        (f"{key}_outlier_score", model.outlier_score_),
    ):
        column = np.full(n, np.nan)
        column[cells] = values
        data.obs[name] = pandas.Series(column, index=data.obs_names)
    embedding = np.full((n, model.embedding_.shape[1]), np.nan)
    embedding[cells] = model.embedding_
    data.obsm[f"X_{key}"] = embedding
    connectivities_key = f"{key}_connectivities"
    distances_key = f"{key}_distances"
    data.obsp[connectivities_key] = _spread_out(model.affinity_matrix_, cells, n)
    data.obsp[distances_key] = _spread_out(distances, cells, n)
    given = model.get_params() | params | {"version": __version__}
    # Scanpy's tools read these three.
    given["method"] = "unispectral"
    given["metric"] = "euclidean"
    if isinstance(given["n_neighbors"], str):
        given["n_neighbors"] = _count_neighbours(distances)
    data.uns[key] = {
        "connectivities_key": connectivities_key,
        "distances_key": distances_key,
        "params": {name: _plain(value) for name, value in given.items() if value is not None},
    }


def group_names(data: Any, labels: np.ndarray, cells: np.ndarray, restrict_to: Any) -> Any:
    """The clusters as a categorical of all cells, named as scanpy names them.

    Cells that were not clustered keep their group; a part of some groups is called after them.
    """
    pandas = optional("pandas", extra="scverse")
    if restrict_to is None:
        names = [str(label) for label in range(int(labels.max()) + 1)]
        found = pandas.Categorical.from_codes(labels, names)
        return pandas.Series(found, index=data.obs_names)
    key, groups = restrict_to
    prefix = "-".join(str(group) for group in groups)
    column = data.obs[key].astype(str).to_numpy(dtype=object)
    column[cells] = [f"{prefix},{label}" for label in labels]
    parts = [f"{prefix},{label}" for label in range(int(labels.max()) + 1)]
    names = []
    for name in _categories(data.obs[key]):
        if name in [str(group) for group in groups]:
            names += [part for part in parts if part not in names]
        else:
            names.append(name)
    return pandas.Series(pandas.Categorical(column, categories=names), index=data.obs_names)


def _categories(column: pd.Series) -> list[str]:
    if hasattr(column, "cat"):
        return [str(name) for name in column.cat.categories]
    return sorted(set(column.astype(str)))


def edge_distances(graph: sp.csr_array, X: object) -> sp.csr_matrix:
    """The Euclidean distances along the edges of a graph, whose column i is the code of node i.

    Row i holds the distances of node i to the nodes that it is expressed by. Without a table, they
    are what the code of a node lacks of one.

    Examples
    --------
    >>> graph = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> edge_distances(graph, np.array([[0.0], [3.0]])).toarray().tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    codes = sp.csr_array(graph.T)
    codes.sort_indices()
    rows = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr))
    if X is None:
        lengths = 1.0 - codes.data / max(float(codes.data.max(initial=0.0)), 1e-300)
    else:
        lengths = np.concatenate(
            [
                _lengths(X, rows[start : start + _EDGES], codes.indices[start : start + _EDGES])
                for start in range(0, max(len(rows), 1), _EDGES)
            ]
        )
    # A stored zero would be dropped by those that count edges by their distances.
    lengths = np.maximum(lengths, np.finfo(np.float32).tiny)
    return sp.csr_matrix((lengths, codes.indices, codes.indptr), shape=codes.shape)


def _lengths(X: object, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    tables: Sequence[Any] = list(X.values()) if isinstance(X, dict) else [X]
    squares = np.zeros(len(rows))
    for table in tables:
        gap = table[rows] - table[columns]
        if sp.issparse(gap):
            squares += np.asarray(gap.multiply(gap).sum(axis=1)).ravel()
        else:
            gap = np.nan_to_num(gap.astype(np.float64, copy=False))  # of cells that it lacks
            squares += np.einsum("ij,ij->i", gap, gap)
    return np.sqrt(squares)


def _spread_out(matrix: object, cells: np.ndarray, n: int) -> sp.csr_matrix:
    """A matrix of some cells as one of all of them."""
    if len(cells) == n:
        return sp.csr_matrix(matrix)
    found = sp.coo_array(matrix)
    row, column = found.coords
    return sp.csr_matrix((found.data, (cells[row], cells[column])), shape=(n, n))


def _count_neighbours(distances: sp.csr_matrix) -> int:
    """The neighbours of a cell as scanpy counts them: with the cell itself."""
    return int(np.diff(distances.indptr).max(initial=0)) + 1


def _plain(value: object) -> Any:
    """What a file of either kind can hold."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        return list(value)
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, bool, int, float)) else repr(value)
