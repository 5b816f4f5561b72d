"""Clusters of AnnData and MuData objects, in the manner of scanpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral._version import __version__

__all__ = ["cluster"]

#: From this many columns on, principal components are taken if they are there, as in scanpy.
_MANY = 50


def cluster(
    data: Any,
    n_clusters: int | Literal["auto"] = "auto",
    *,
    use_rep: str | Mapping[str, str | None] | None = None,
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
    use_rep : str, mapping or None, default=None
        ``"X"`` or a key of ``obsm``; None takes ``X_pca`` if it is there and there are more than
        50 variables, else ``X``. For MuData also a mapping from modality to one of these, which
        names the modalities to use.
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
        ``.obsm["X_" + key_added]`` : ndarray of shape (n_obs, n_clusters)
            The embedding.
        ``.obsp[key_added + "_connectivities"]`` : CSR matrix of shape (n_obs, n_obs)
            The learned graph, symmetric.
        ``.uns[key_added]`` : dict
            Parameters, key of the graph, and weights of the modalities.

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
    pandas = optional("pandas", extra="scverse")
    X, used = _samples(data, use_rep)
    data = data.copy() if copy else data
    model = UnifiedSpectralClustering(n_clusters, random_state=random_state, **parameters).fit(X)
    names = [str(k) for k in range(model.n_clusters_)]
    labels = pandas.Categorical.from_codes(model.labels_, names)
    data.obs[key_added] = pandas.Series(labels, index=data.obs_names)
    data.obsm[f"X_{key_added}"] = np.asarray(model.embedding_)
    graph = f"{key_added}_connectivities"
    data.obsp[graph] = sp.csr_matrix(model.affinity_matrix_)
    given = model.get_params() | {"use_rep": used, "version": __version__}
    data.uns[key_added] = {
        "connectivities_key": graph,
        "params": {name: _plain(value) for name, value in given.items() if value is not None},
    }
    if isinstance(X, dict):
        weights = {view: float(weight) for view, weight in model.view_weights_.items()}
        data.uns[key_added]["view_weights"] = weights
    return data if copy else None


def _samples(data: Any, use_rep: Any) -> tuple[Any, Any]:
    """What to fit, and which representation that is."""
    if not hasattr(data, "obs_names"):
        problem = f"must be an AnnData or MuData object, not {type(data).__name__}"
        raise InputTypeError("data", problem)
    if not hasattr(data, "mod"):
        if use_rep is not None and not isinstance(use_rep, str):
            raise InputTypeError("use_rep", "must be a str for AnnData", value=use_rep)
        return _representation(data, use_rep, "data")
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
        values, used[name] = _representation(part, wanted, f"modality {name!r}")
        views[name] = _rows_of(values, part.obs_names.get_indexer(data.obs_names), name)
    return views, used


def _representation(adata: Any, use_rep: str | None, what: str) -> tuple[Any, str]:
    if getattr(adata, "isbacked", False):
        raise InputError("data", "is backed by a file", "load it first: data.to_memory()")
    if use_rep is None:
        use_rep = "X_pca" if "X_pca" in adata.obsm and adata.n_vars > _MANY else "X"
    if use_rep != "X" and use_rep not in adata.obsm:
        there = ", ".join(["X", *adata.obsm])
        raise InputError("use_rep", f"is not in {what}, which has {there}", value=use_rep)
    values = adata.X if use_rep == "X" else adata.obsm[use_rep]
    if values is None:
        there = ", ".join(adata.obsm) or "none"
        raise InputError("use_rep", f"must be a key of obsm ({there}), as {what} has no X")
    return values if sp.issparse(values) else np.asarray(values), use_rep


def _rows_of(values: Any, rows: np.ndarray, name: str) -> Any:
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


def _plain(value: Any) -> Any:
    """What a file of either kind can hold."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, bool, int, float)) else repr(value)
