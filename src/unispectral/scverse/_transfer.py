"""Labels of one annotated object for the cells of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import optional
from unispectral._errors import InputError, InputTypeError
from unispectral._inputs import Layout
from unispectral._run import Run
from unispectral.labelfree import Recipe
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._neighbourhoods import MEDIAN, compute_codes, localize
from unispectral.predict import GeometryPart, Predictor, Trained
from unispectral.scverse._samples import find_representation

if TYPE_CHECKING:
    from anndata import AnnData


def transfer(
    data: AnnData,
    reference: AnnData,
    key: str = "unispectral",
    *,
    use_rep: str | None = None,
    key_added: str | None = None,
    copy: bool = False,
) -> Any:
    """Give the cells of one AnnData object the labels of another.

    Each cell is expressed by a few cells of the reference, as :meth:`predict
    <unispectral.UnifiedSpectralClustering.predict>` does it, and gets the label of most of them.

    Parameters
    ----------
    data : AnnData
        The cells to label.
    reference : AnnData
        Cells with labels; those without one take no part.
    key : str, default="unispectral"
        The column of ``reference.obs`` with the labels, of whatever origin.
    use_rep : str or None, default=None
        ``"X"`` or a key of ``obsm``, in both objects; None chooses as :func:`cluster` does for the
        reference. Variables are matched by name. Where ``data`` has no ``X_pca``, its cells are
        put into that of the reference, if its loadings are there.
    key_added : str or None, default=None
        The column to write; that of the reference by default.
    copy : bool, default=False
        Return a changed copy rather than change ``data``.

    Returns
    -------
    AnnData or None
        None unless ``copy``. Sets ``.obs[key_added]``, a categorical with the categories of the
        reference, and ``.obs[key_added + "_membership"]`` and ``"_outlier_score"``: how sure that
        is, and how badly the reference explains the cell.

    Examples
    --------
    >>> import anndata
    >>> from unispectral import scverse
    >>> X = np.random.default_rng(0).normal(size=(80, 4)) + 9 * np.repeat([0, 1], 40)[:, None]
    >>> adata = anndata.AnnData(X)
    >>> known, new = adata[::2].copy(), adata[1::2].copy()
    >>> scverse.cluster(known, n_clusters=2)
    >>> scverse.transfer(new, known)
    >>> new.obs["unispectral"].value_counts().tolist()
    [20, 20]
    """
    optional("anndata", extra="scverse")
    pandas = optional("pandas", extra="scverse")
    for name, one in (("data", data), ("reference", reference)):
        if not hasattr(one, "obs_names") or hasattr(one, "mod"):
            raise InputTypeError(name, f"must be an AnnData object, not {type(one).__name__}")
    if key not in reference.obs:
        there = ", ".join(map(repr, reference.obs)) or "nothing"
        raise InputError("key", f"is not in reference.obs, which holds {there}", value=key)
    labels = pandas.Categorical(reference.obs[key])
    kept = np.flatnonzero(labels.codes >= 0)
    if len(kept) < 2:
        raise InputError("key", "labels fewer than two cells", value=key)
    rows, used = find_representation(reference, use_rep, "reference")
    new = _match(data, reference, used)
    rows, new = _centre(rows[kept], new)
    predictor, trained = _train(rows, labels.codes[kept])
    run = Run.of(None, 0, 0)
    with run.limit_threads() as run:
        found = predictor.predict([new], trained, run)
    data = data.copy() if copy else data
    key_added = key if key_added is None else key_added
    names = [str(name) for name in labels.categories]
    data.obs[key_added] = pandas.Categorical.from_codes(found.labels, names)
    data.obs[f"{key_added}_membership"] = np.minimum(found.membership.max(axis=1), 1.0)
    data.obs[f"{key_added}_outlier_score"] = found.outlier_score
    return data if copy else None


def _train(rows: np.ndarray, labels: np.ndarray) -> tuple[Predictor, Trained]:
    """A predictor of cells with labels, by their plain distances."""
    run = Run.of(None, 0, 0)
    count = int(labels.max()) + 1
    recipe = Recipe(count)
    geometry = KernelDistance.linear(rows)
    with run.limit_threads() as run:
        around = localize(geometry, recipe.candidates(len(labels)), run)
        score = compute_codes(around, recipe, None, run).error
    part = GeometryPart(geometry, around.rate, 1.0, 1.0, 1e-10 * -0.5 / around.rate)
    layout = Layout("table", ("X",), (rows.shape[1],), sparse=(sp.issparse(rows),))
    alpha = recipe.alpha * MEDIAN
    candidates = around.neighbours.shape[1]
    predictor = Predictor(layout, (part,), alpha, recipe.ridge, candidates, by_labels=True)
    return predictor, Trained(labels, np.eye(count)[labels], np.eye(count), score)


def _match(data: AnnData, reference: AnnData, used: str) -> Any:
    """The representation of the cells that has the columns of that of the reference."""
    if used == "X":
        return _by_names(data, reference)
    if used not in data.obsm:
        if used == "X_pca" and "PCs" in reference.varm:
            return _project(data, reference)
        there = ", ".join(["X", *data.obsm])
        raise InputError("use_rep", f"is not in data, which has {there}", value=used)
    values = data.obsm[used]
    width = reference.obsm[used].shape[1]
    if values.shape[1] != width:
        problem = f"has {values.shape[1]} columns in data, and {width} in reference"
        raise InputError("use_rep", problem, "compute both in the same way", value=used)
    return values if sp.issparse(values) else np.asarray(values)


def _by_names(data: AnnData, reference: AnnData) -> Any:
    """The variables of the reference, in their order there."""
    places = data.var_names.get_indexer(reference.var_names)
    missing = reference.var_names[places < 0]
    if len(missing):
        problem = f"lacks {len(missing)} of the {len(places)} variables of reference, such as "
        raise InputError("data", f"{problem}{missing[0]!r}", "give both the same variables")
    values = data.X[:, places]
    return values if sp.issparse(values) else np.asarray(values)


def _project(data: AnnData, reference: AnnData) -> np.ndarray:
    """The cells in the principal components of the reference, by its loadings."""
    values = _by_names(data, reference)
    loadings = np.asarray(reference.varm["PCs"], dtype=np.float64)
    if not np.isfinite(loadings).all():
        problem = "has loadings with missing values in varm['PCs']"
        raise InputError("reference", problem, "compute X_pca of both, or call sc.pp.pca again")
    centre = np.asarray(reference.X.mean(axis=0), dtype=np.float64).ravel()
    return np.asarray(values @ loadings) - centre @ loadings


def _centre(rows: object, new: object) -> tuple[Any, Any]:
    """Both about the mean of the first, in double precision."""
    if sp.issparse(rows) or sp.issparse(new):
        return sp.csr_array(rows).astype(np.float64), sp.csr_array(new).astype(np.float64)
    rows = np.asarray(rows, dtype=np.float64)
    mean = rows.mean(axis=0)
    return rows - mean, np.asarray(new, dtype=np.float64) - mean
