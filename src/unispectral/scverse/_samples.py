"""What of an annotated object is clustered: a representation, several, modalities, or a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError, InputTypeError, warn
from unispectral.graph.given import read_graph
from unispectral.tables._formats import MANY_VARIABLES

if TYPE_CHECKING:
    from anndata import AnnData


class Chosen(NamedTuple):
    """What is clustered, and what it is called.

    ``X`` is a table, a mapping of them, or a graph; ``representation`` is the name of the table,
    or of those of several; ``distances_key`` names the distances that come with a graph.
    """

    X: Any
    representation: Any = None
    is_graph: bool = False
    distances_key: str | None = None


def choose_samples(
    data: object, use_rep: object, neighbors_key: str | None, obsp: str | None, adjacency: object
) -> Chosen:
    """The representation or the graph that the arguments ask for."""
    if not hasattr(data, "obs_names"):
        problem = f"must be an AnnData or MuData object, not {type(data).__name__}"
        raise InputTypeError("data", problem)
    given = {"neighbors_key": neighbors_key, "obsp": obsp, "adjacency": adjacency}
    graphs = [name for name, value in given.items() if value is not None]
    if len(graphs) > 1:
        problem = f"and {graphs[1]} both name a graph"
        raise InputError(graphs[0], problem, "give one of them")
    if graphs and use_rep is not None:
        problem = f"and {graphs[0]} were both given"
        remedy = "a graph is clustered without a representation: give one of them"
        raise InputError("use_rep", problem, remedy)
    if graphs:
        return _choose_graph(data, neighbors_key, obsp, adjacency)
    if hasattr(data, "mod"):
        return _choose_modalities(data, use_rep)
    return _choose_representations(data, use_rep)


def _choose_graph(
    data: AnnData, neighbors_key: str | None, obsp: str | None, adjacency: Any
) -> Chosen:
    if adjacency is not None:
        graph = read_graph(adjacency, "adjacency", n_nodes=data.n_obs, names=data.obs_names)
        for note in graph.notes:
            warn(note)
        return Chosen(graph.weights, is_graph=True)
    if obsp is not None:
        return Chosen(_graph_at(data, obsp, "obsp", obsp), is_graph=True)
    assert neighbors_key is not None
    stored = data.uns.get(neighbors_key)
    if not isinstance(stored, Mapping):
        known = _list_neighbours(data)
        problem = f"is not in data.uns, which knows of {known or 'no neighbours'}"
        raise InputError("neighbors_key", problem, "call sc.pp.neighbors", value=neighbors_key)
    # The default place of scanpy is the one that names no keys in old files.
    key = stored.get("connectivities_key", "connectivities")
    graph = _graph_at(data, key, "neighbors_key", neighbors_key)
    distances = stored.get("distances_key", "distances")
    return Chosen(
        graph, is_graph=True, distances_key=distances if distances in data.obsp else None
    )


def _list_neighbours(data: AnnData) -> str:
    found = [
        repr(name)
        for name, value in data.uns.items()
        if isinstance(value, Mapping) and "connectivities_key" in value
    ]
    return ", ".join(found)


def _graph_at(data: AnnData, key: str, argument: str, value: str) -> Any:
    if key not in data.obsp:
        there = ", ".join(map(repr, data.obsp)) or "nothing"
        problem = f"names the graph {key!r}, but data.obsp holds {there}"
        raise InputError(argument, problem, value=value)
    return data.obsp[key]


def _choose_representations(data: object, use_rep: object) -> Chosen:
    if use_rep is None or isinstance(use_rep, str):
        values, used = find_representation(data, use_rep, "data")
        return Chosen(values, used)
    if isinstance(use_rep, Mapping) or not isinstance(use_rep, Sequence):
        problem = "must be a str, or a list of them, for AnnData"
        raise InputTypeError("use_rep", problem, value=use_rep)
    if not use_rep:
        raise InputError("use_rep", "names nothing", "name 'X' or keys of obsm", value=use_rep)
    twice = [name for name in use_rep if list(use_rep).count(name) > 1]
    if twice:
        raise InputError("use_rep", f"names {twice[0]!r} more than once", "name it once")
    views = {str(name): find_representation(data, name, "data")[0] for name in use_rep}
    return Chosen(views, [str(name) for name in use_rep])


def _choose_modalities(data: AnnData, use_rep: Any) -> Chosen:
    if getattr(data, "axis", 0) != 0:
        raise InputError("data", "has modalities that share variables, not cells")
    if isinstance(use_rep, Mapping):
        chosen = dict(use_rep)
        unknown = [name for name in chosen if name not in data.mod]
        if unknown or not chosen:
            known = ", ".join(data.mod)
            raise InputError("use_rep", f"must name modalities among {known}", value=chosen)
    else:
        chosen = dict.fromkeys(data.mod, use_rep)
    if not data.obs_names.is_unique:
        raise InputError("data", "has cells of one name", "call obs_names_make_unique()")
    views: dict[str, Any] = {}
    used: dict[str, str] = {}
    for name, wanted in chosen.items():
        part = data.mod[name]
        values, used[name] = find_representation(part, wanted, f"modality {name!r}")
        views[name] = _take_cells(values, part.obs_names.get_indexer(data.obs_names), name)
    return Chosen(views, used)


def find_representation(adata: AnnData, use_rep: Any, what: str) -> tuple[Any, str]:
    """The table of that name, or the one that scanpy would take, and its name."""
    if getattr(adata, "isbacked", False):
        raise InputError("data", "is backed by a file", "load it first: data.to_memory()")
    if use_rep is None:
        has_components = "X_pca" in adata.obsm and adata.n_vars > MANY_VARIABLES
        use_rep = "X_pca" if has_components else "X"
    if use_rep != "X" and use_rep not in adata.obsm:
        there = ", ".join(["X", *adata.obsm])
        raise InputError("use_rep", f"is not in {what}, which has {there}", value=use_rep)
    values = adata.X if use_rep == "X" else adata.obsm[use_rep]
    if values is None:
        there = ", ".join(adata.obsm) or "none"
        raise InputError("use_rep", f"must be a key of obsm ({there}), as {what} has no X")
    return values if sp.issparse(values) else np.asarray(values), use_rep


def _take_cells(values: np.ndarray, rows: np.ndarray, name: str) -> Any:
    """The rows of a modality in the order of all cells, NaN for those that it lacks."""
    absent = rows < 0
    if not absent.any():
        return values[rows]
    if sp.issparse(values):
        problem = f"of modality {name!r} is sparse and lacks {absent.sum()} of {len(rows)} cells"
        raise InputError("use_rep", problem, "compute principal components and use 'X_pca'")
    whole = np.array(values[rows], dtype=np.result_type(values.dtype, np.float32))
    whole[absent] = np.nan
    return whole


def restrict_cells(data: Any, restrict_to: Any) -> np.ndarray:
    """Which cells belong to some groups of a column of ``obs``."""
    try:
        key, groups = restrict_to
    except (TypeError, ValueError):
        problem = "must be a pair of a column of obs and a list of its groups"
        remedy = "such as ('leiden', ['1', '4'])"
        raise InputTypeError("restrict_to", problem, remedy, value=restrict_to) from None
    if key not in data.obs:
        there = ", ".join(map(repr, data.obs)) or "nothing"
        raise InputError("restrict_to", f"names {key!r}, but data.obs holds {there}")
    if isinstance(groups, str) or not len(groups):
        problem = f"must list the groups of {key!r}"
        raise InputTypeError("restrict_to", problem, "such as ['1', '4']", value=restrict_to)
    column = data.obs[key].astype(str)
    known = set(column)
    for group in groups:
        if str(group) not in known:
            problem = f"names the group {group!r}, which data.obs[{key!r}] does not have"
            raise InputError("restrict_to", problem)
    return column.isin([str(group) for group in groups]).to_numpy()
