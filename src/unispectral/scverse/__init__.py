"""Clusters of AnnData and MuData objects, in the manner of scanpy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral.scverse._fields import edge_distances, group_names, write_fields
from unispectral.scverse._samples import Chosen, choose_samples, restrict_cells
from unispectral.scverse._transfer import transfer

if TYPE_CHECKING:
    from anndata import AnnData

    from unispectral._base import LearnedGraphClustering

__all__ = ["cluster", "transfer"]


def cluster(
    data: AnnData,
    n_clusters: int | Literal["auto"] = "auto",
    *,
    use_rep: str | Sequence[str] | Mapping[str, str | None] | None = None,
    neighbors_key: str | None = None,
    obsp: str | None = None,
    adjacency: Any = None,
    restrict_to: tuple[str, Sequence[str]] | None = None,
    key_added: str = "unispectral",
    random_state: int | None = 0,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Cluster the cells of an AnnData object, or those of the modalities of a MuData object.

    Parameters
    ----------
    data : AnnData or MuData
        The modalities of a MuData object are views of the same cells; a modality may lack some.
    n_clusters : int or "auto", default="auto"
        The number of clusters, or leave it to the data.
    use_rep : str, list, mapping or None, default=None
        ``"X"`` or a key of ``obsm``; None takes ``X_pca`` if it is there and there are more than
        50 variables, else ``X``. A list of them are views of the same cells. For MuData also a
        mapping from modality to one of these, which names the modalities to use.
    neighbors_key : str or None, default=None
        Cluster the graph of ``sc.pp.neighbors`` that is stored in ``uns[neighbors_key]``, such as
        ``"neighbors"``, instead of a representation.
    obsp : str or None, default=None
        Cluster the graph ``obsp[obsp]``.
    adjacency : matrix or None, default=None
        Cluster this graph.
    restrict_to : tuple of str and list of str, or None, default=None
        A column of ``obs`` and some of its groups: only their cells are clustered, and the others
        keep their group.
    key_added : str, default="unispectral"
        Under which name the results are stored.
    random_state : int or None, default=0
    copy : bool, default=False
        Return a changed copy rather than change ``data``.
    **parameters
        Of :class:`unispectral.UnifiedSpectralClustering`.

    Returns
    -------
    AnnData, MuData or None
        None unless ``copy``. Sets these fields:

        ``.obs[key_added]`` : categorical of str
            Cluster of each cell.
        ``.obs[key_added + "_membership"]``, ``.obs[key_added + "_outlier_score"]`` : float
            How much a cell belongs to its cluster, and how badly its neighbours explain it.
        ``.obsm["X_" + key_added]`` : ndarray of shape (n_obs, n_clusters)
            The embedding.
        ``.obsp[key_added + "_connectivities"]`` : CSR matrix of shape (n_obs, n_obs)
            The learned graph, symmetric.
        ``.obsp[key_added + "_distances"]`` : CSR matrix of shape (n_obs, n_obs)
            The distance of each cell to those that it is expressed by.
        ``.uns[key_added]`` : dict
            Parameters, keys of the graph, and weights of the views. ``sc.tl.umap``,
            ``sc.tl.paga`` and ``sc.tl.leiden`` take it with ``neighbors_key=key_added``.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> from unispectral import scverse
    >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 9 * np.repeat([0, 1], 30)[:, None]
    >>> adata = anndata.AnnData(X)
    >>> scverse.cluster(adata, n_clusters=2)
    >>> adata.obs["unispectral"].value_counts().tolist()
    [30, 30]
    >>> adata.obsm["X_unispectral"].shape
    (60, 2)
    """
    from unispectral.estimator import UnifiedSpectralClustering

    optional("anndata", extra="scverse")
    _check_names(parameters, UnifiedSpectralClustering)
    chosen = choose_samples(data, use_rep, neighbors_key, obsp, adjacency)
    cells = np.arange(data.n_obs)
    if restrict_to is not None:
        cells = np.flatnonzero(restrict_cells(data, restrict_to))
        chosen = _take(chosen, cells)
    if chosen.is_graph:
        parameters["kernels"] = "graph"
    model = UnifiedSpectralClustering(n_clusters, random_state=random_state, **parameters)
    model.fit(chosen.X)
    data = data.copy() if copy else data
    given = {
        "use_rep": chosen.representation,
        "neighbors_key": neighbors_key,
        "obsp": obsp,
        "restrict_to": _in_words(restrict_to),
    }
    write_fields(
        data,
        key_added,
        model,
        cells,
        group_names(data, model.labels_, cells, restrict_to),
        _distances(data, chosen, model, cells),
        given,
    )
    if isinstance(chosen.X, dict):
        weights = {view: float(weight) for view, weight in model.view_weights_.items()}
        data.uns[key_added]["view_weights"] = weights
    return data if copy else None


def _check_names(parameters: Mapping[str, Any], estimator: type) -> None:
    """Refuse what neither this function nor the estimator knows, with the nearest name."""
    own = ["use_rep", "neighbors_key", "obsp", "adjacency", "restrict_to", "key_added", "copy"]
    known = own + list(estimator().get_params())
    for name in parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            problem = "is no argument of scverse.cluster"
            raise InputTypeError(name, problem, remedy.rstrip("?"))
    if isinstance(parameters.get("kernels"), str) and parameters["kernels"] == "graph":
        problem = "takes its graph from neighbors_key, obsp or adjacency here"
        raise InputError("kernels", problem, "give one of them instead", value="graph")


def _take(chosen: Chosen, cells: np.ndarray) -> Chosen:
    """The same of some of the cells."""
    if chosen.is_graph:
        graph = chosen.X if sp.issparse(chosen.X) else np.asarray(chosen.X)
        if sp.issparse(graph):
            graph = sp.csr_array(graph)
        return chosen._replace(X=graph[cells][:, cells])
    if isinstance(chosen.X, dict):
        return chosen._replace(X={name: table[cells] for name, table in chosen.X.items()})
    return chosen._replace(X=chosen.X[cells])


def _distances(
    data: AnnData, chosen: Chosen, model: LearnedGraphClustering, cells: np.ndarray
) -> sp.csr_matrix:
    """Those that came with the graph, or else along the edges that were learned."""
    if chosen.distances_key is not None:
        return sp.csr_matrix(sp.csr_array(data.obsp[chosen.distances_key])[cells][:, cells])
    return edge_distances(model.graph_, None if chosen.is_graph else chosen.X)


def _in_words(restrict_to: Any) -> str | None:
    if restrict_to is None:
        return None
    key, groups = restrict_to
    return f"{key}: {', '.join(map(str, groups))}"
