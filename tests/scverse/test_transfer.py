"""Labels of one annotated object for the cells of another, with the real packages."""

from __future__ import annotations

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

from unispectral import scverse


@pytest.fixture(scope="module")
def halves():
    """Blood cells that come with scanpy: two in three with labels, the others without."""
    scanpy = pytest.importorskip("scanpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blood = scanpy.datasets.pbmc68k_reduced()
    held = np.arange(blood.n_obs) % 3 == 0
    return blood[~held].copy(), blood[held].copy()


def test_labels_are_those_of_near_cells(halves):
    known, new = halves
    truth = new.obs["louvain"].astype(str).to_numpy()
    found = scverse.transfer(new, known, "louvain", key_added="found", copy=True)
    assert "found" not in new.obs
    assert (
        found.obs["found"].cat.categories.tolist() == known.obs["louvain"].cat.categories.tolist()
    )
    right = (found.obs["found"].astype(str) == truth).mean()
    peer = KNeighborsClassifier(8).fit(known.obsm["X_pca"], known.obs["louvain"])
    assert right >= peer.score(new.obsm["X_pca"], truth) - 0.02
    assert found.obs["found_membership"].between(0, 1).all()
    assert found.obs["found_outlier_score"].notna().all()


def test_cells_without_components_are_projected(halves):
    known, new = halves
    bare = anndata.AnnData(new.X, obs=new.obs[[]], var=new.var)
    with pytest.raises(ValueError, match="has loadings with missing values"):
        scverse.transfer(bare, known, "louvain")
    known = known.copy()
    scanpy = pytest.importorskip("scanpy")
    scanpy.pp.pca(known, n_comps=20)
    turned = bare[:, ::-1].copy()
    for data in (bare, turned):
        scverse.transfer(data, known, "louvain")
    assert bare.obs["louvain"].tolist() == turned.obs["louvain"].tolist()
    same = anndata.AnnData(known.X, obs=known.obs[[]], var=known.var)
    scverse.transfer(same, known, "louvain")
    assert (same.obs["louvain"].astype(str) == known.obs["louvain"].astype(str)).mean() > 0.99
    truth = new.obs["louvain"].astype(str).to_numpy()
    assert (bare.obs["louvain"].astype(str) == truth).mean() > 0.8


def test_the_reference_gets_its_own_labels(halves):
    known, _ = halves
    scverse.cluster(known, 4, key_added="ours")
    known.obs["part"] = known.obs["ours"].where(np.arange(known.n_obs) % 7 > 0)
    again = scverse.transfer(known, known, "part", key_added="again", copy=True).obs["again"]
    inside = known.obs["part"].notna()
    assert (again[inside].astype(str) == known.obs["ours"][inside].astype(str)).all()
    assert (again.astype(str) == known.obs["ours"].astype(str)).mean() > 0.95


def test_rows_that_do_not_match_are_put_right(halves):
    """Cells go by their names, whatever their order is in either object."""
    known, new = halves

    def transfer(data, reference):
        return scverse.transfer(data, reference, "louvain", copy=True).obs["louvain"].astype(str)

    right = transfer(new, known)
    assert transfer(new[::-1].copy(), known)[right.index].equals(right)
    assert (transfer(new, known[::-1].copy()) == right).mean() > 0.99


def test_refusals(halves):
    known, new = halves
    for arguments, message in (
        ({"key": "kind"}, "key='kind' is not in reference.obs, which holds"),
        ({"key": "louvain", "use_rep": "X_other"}, "is not in reference, which has X"),
    ):
        with pytest.raises(ValueError, match=message):
            scverse.transfer(new, known, **arguments)
    with pytest.raises(ValueError, match="data lacks 5 of the 765 variables of reference"):
        scverse.transfer(new[:, 5:].copy(), known, "louvain", use_rep="X")
    short = new.copy()
    short.obsm["X_pca"] = short.obsm["X_pca"][:, :9]
    with pytest.raises(ValueError, match="has 9 columns in data, and 50 in reference"):
        scverse.transfer(short, known, "louvain")
    with pytest.raises(TypeError, match="data must be an AnnData object, not DataFrame"):
        scverse.transfer(pd.DataFrame(), known, "louvain")
