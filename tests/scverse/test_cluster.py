"""AnnData and MuData in, labels, embedding and graph out, with the real packages."""

from __future__ import annotations

import warnings

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering, scverse


@pytest.fixture
def cells():
    X, y = make_blobs(90, n_features=60, centers=3, cluster_std=2.0, random_state=0)
    obs = pd.DataFrame({"kind": y.astype(str)}, index=[f"cell {i}" for i in range(90)])
    return anndata.AnnData(X.astype(np.float32), obs=obs)


@pytest.fixture
def multi(cells):
    """Two modalities in other orders; the second one lacks ten cells."""
    kind = cells.obs["kind"].to_numpy().astype(int)
    other = np.eye(3)[kind] * 9 + np.random.default_rng(0).normal(size=(90, 3))
    order = np.random.default_rng(1).permutation(90)[:80]
    atac = anndata.AnnData(other[order], obs=pd.DataFrame(index=cells.obs_names[order]))
    atac.var_names = ["a", "b", "c"]
    with mudata.set_options(pull_on_update=False):  # without it MuData warns of its own plans
        yield mudata.MuData({"rna": cells.copy(), "atac": atac})


def test_fields_of_anndata(cells):
    assert scverse.cluster(cells, n_clusters=3) is None
    model = UnifiedSpectralClustering(3, random_state=0).fit(cells.X)
    found = cells.obs["unispectral"]
    assert found.dtype == pd.CategoricalDtype(["0", "1", "2"])
    assert found.astype(int).tolist() == model.labels_.tolist()
    np.testing.assert_array_equal(cells.obsm["X_unispectral"], model.embedding_)
    graph = cells.obsp["unispectral_connectivities"]
    assert abs(graph - model.affinity_matrix_).max() == 0
    stored = cells.uns["unispectral"]
    assert stored["connectivities_key"] == "unispectral_connectivities"
    assert stored["params"]["n_clusters"] == 3
    assert stored["params"]["use_rep"] == "X"
    assert adjusted_rand_score(cells.obs["kind"], found) == 1.0


def test_representations(cells):
    cells.obsm["X_pca"] = np.asarray(cells.X[:, :5])
    cells.obsm["X_other"] = np.asarray(cells.X[:, 5:9])
    for wanted, taken in ((None, "X_pca"), ("X", "X"), ("X_other", "X_other")):
        scverse.cluster(cells, 3, use_rep=wanted, key_added="found")
        assert cells.uns["found"]["params"]["use_rep"] == taken
        X = cells.X if taken == "X" else cells.obsm[taken]
        labels = UnifiedSpectralClustering(3, random_state=0).fit(X).labels_
        assert cells.obs["found"].astype(int).tolist() == labels.tolist()
    few = cells[:, :10].copy()
    scverse.cluster(few, 3)
    assert few.uns["unispectral"]["params"]["use_rep"] == "X"


def test_copies_leave_the_original_alone(cells):
    cells.X = sp.csr_matrix(np.maximum(cells.X, 0))
    changed = scverse.cluster(cells, 3, key_added="k", copy=True, n_neighbors=5)
    assert "k" in changed.obs
    assert changed.uns["k"]["params"]["n_neighbors"] == 5
    assert not {"k", "X_k"} & ({*cells.obs} | {*cells.obsm} | {*cells.uns})


def test_results_survive_a_file(cells, tmp_path):
    scverse.cluster(cells, n_clusters="auto")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_series_equal(again.obs["unispectral"], cells.obs["unispectral"])
    assert again.uns["unispectral"]["params"]["n_clusters"] == "auto"


def test_modalities_are_views_and_may_lack_cells(multi, tmp_path):
    scverse.cluster(multi, n_clusters=3)
    rna, atac = multi.mod["rna"], multi.mod["atac"]
    frames = {
        "rna": pd.DataFrame(rna.X, index=rna.obs_names).reindex(multi.obs_names).to_numpy(),
        "atac": pd.DataFrame(atac.X, index=atac.obs_names).reindex(multi.obs_names).to_numpy(),
    }
    assert np.isnan(frames["atac"]).any(axis=1).sum() == 10
    model = UnifiedSpectralClustering(3, random_state=0).fit(frames)
    found = multi.obs["unispectral"]
    assert found.astype(int).tolist() == model.labels_.tolist()
    kind = rna.obs["kind"].reindex(multi.obs_names)
    assert adjusted_rand_score(kind, found) == 1.0
    assert multi.obsm["X_unispectral"].shape == (90, 3)
    assert multi.obsp["unispectral_connectivities"].shape == (90, 90)
    stored = multi.uns["unispectral"]
    assert stored["view_weights"] == model.view_weights_
    assert stored["params"]["use_rep"] == {"rna": "X", "atac": "X"}
    multi.write(tmp_path / "cells.h5mu")
    again = mudata.read_h5mu(tmp_path / "cells.h5mu")
    assert again.obs["unispectral"].tolist() == found.tolist()


def test_some_modalities(multi):
    multi.mod["rna"].obsm["X_pca"] = np.asarray(multi.mod["rna"].X[:, :4])
    scverse.cluster(multi, 3, use_rep={"rna": "X_pca"})
    assert multi.uns["unispectral"]["params"]["use_rep"] == {"rna": "X_pca"}
    assert list(multi.uns["unispectral"]["view_weights"]) == ["rna"]


def test_refusals(cells, multi):
    for data, use_rep, message in (
        (cells, "X_umap", "use_rep='X_umap' is not in data, which has X"),
        (cells, {"rna": "X"}, "must be a str, or a list of them, for AnnData"),
        (multi, {"protein": "X"}, "must name modalities among rna, atac"),
        (multi, "X_pca", "is not in modality 'rna', which has X"),
        (cells.X, None, "data must be an AnnData or MuData object, not"),
    ):
        with pytest.raises(ValueError, match=message):
            scverse.cluster(data, 3, use_rep=use_rep)
    multi.mod["atac"].X = sp.csr_matrix(multi.mod["atac"].X)
    with pytest.raises(ValueError, match="'atac' is sparse and lacks 10 of 90 cells"):
        scverse.cluster(multi, 3)
    empty = anndata.AnnData(obs=cells.obs)
    with pytest.raises(ValueError, match="has no X"):
        scverse.cluster(empty, 3)


def test_any_parameter_can_be_written(cells, tmp_path):
    views = {1: slice(0, 2), "rest": slice(2, None)}
    scverse.cluster(cells, np.int64(3), views=views)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    params = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["unispectral"]["params"]
    assert params["n_clusters"] == 3
    assert params["views"] == {"1": "slice(0, 2, None)", "rest": "slice(2, None, None)"}


def test_rows_that_do_not_match(cells):
    """Modalities in another order are matched by the names of the cells, which must differ."""
    kind = cells.obs["kind"].to_numpy().astype(int)
    other = np.eye(3)[kind] * 9 + np.random.default_rng(0).normal(size=(90, 3))
    second = anndata.AnnData(other, obs=pd.DataFrame(index=cells.obs_names))
    second.var_names = ["a", "b", "c"]
    shuffled = second[np.random.default_rng(1).permutation(90)].copy()
    with mudata.set_options(pull_on_update=False):
        right, turned = (mudata.MuData({"rna": cells, "atac": a}) for a in (second, shuffled))
        for data in (right, turned):
            scverse.cluster(data, 3)
        found = [data.obs["unispectral"].loc[cells.obs_names] for data in (right, turned)]
    assert adjusted_rand_score(*found) == 1.0


@pytest.fixture(scope="module")
def blood():
    """700 blood cells that come with scanpy."""
    scanpy = pytest.importorskip("scanpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scanpy.datasets.pbmc68k_reduced()


def test_scanpy_reads_what_is_written(blood, tmp_path):
    """Its tools take the learned graph, also after a file."""
    import scanpy

    cells = blood[::3].copy()
    scverse.cluster(cells, 5, key_added="found")
    cells.write_h5ad(tmp_path / "cells.h5ad")
    cells = anndata.read_h5ad(tmp_path / "cells.h5ad")
    n = cells.n_obs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.umap(cells, neighbors_key="found", maxiter=5)
        scanpy.tl.leiden(
            cells,
            neighbors_key="found",
            flavor="igraph",
            n_iterations=2,
            directed=False,
        )
        scanpy.tl.paga(cells, groups="found", neighbors_key="found")
    assert cells.obsm["X_umap"].shape == (n, 2)
    assert np.isfinite(cells.obsm["X_umap"]).all()
    assert cells.uns["paga"]["connectivities"].shape == (5, 5)
    assert len(cells.obs["leiden"].cat.categories) > 1


def test_distances_are_those_of_the_representation(cells):
    scverse.cluster(cells, 3, use_rep="X")
    distances = cells.obsp["unispectral_distances"].tocoo()
    assert distances.nnz > 0
    gaps = cells.X[distances.row].astype(float) - cells.X[distances.col]
    np.testing.assert_allclose(distances.data, np.linalg.norm(gaps, axis=1), rtol=1e-6)
    params = cells.uns["unispectral"]["params"]
    assert params["n_neighbors"] == np.diff(distances.tocsr().indptr).max() + 1


def test_certainty_is_written_beside_the_cluster(cells):
    scverse.cluster(cells, 3)
    model = UnifiedSpectralClustering(3, random_state=0).fit(cells.X)
    np.testing.assert_array_equal(
        cells.obs["unispectral_membership"], model.membership_.max(axis=1)
    )
    np.testing.assert_array_equal(cells.obs["unispectral_outlier_score"], model.outlier_score_)


def test_several_representations_are_views(cells):
    cells.obsm["X_pca"] = np.asarray(cells.X[:, :5])
    scverse.cluster(cells, 3, use_rep=["X", "X_pca"])
    model = UnifiedSpectralClustering(3, random_state=0).fit(
        {"X": np.asarray(cells.X), "X_pca": cells.obsm["X_pca"]}
    )
    assert cells.obs["unispectral"].astype(int).tolist() == model.labels_.tolist()
    assert cells.uns["unispectral"]["view_weights"] == model.view_weights_
    assert cells.uns["unispectral"]["params"]["use_rep"] == ["X", "X_pca"]


def test_some_groups_are_clustered_and_the_others_kept(cells):
    cells.obs["kind"] = cells.obs["kind"].astype("category")
    scverse.cluster(cells, 2, restrict_to=("kind", ["0", "2"]), key_added="part")
    found = cells.obs["part"]
    inside = cells.obs["kind"].isin(["0", "2"])
    assert found[~inside].unique().tolist() == ["1"]
    assert sorted(found[inside].unique()) == ["0-2,0", "0-2,1"]
    assert found.cat.categories.tolist() == ["0-2,0", "0-2,1", "1"]
    alone = UnifiedSpectralClustering(2, random_state=0).fit(cells.X[inside.to_numpy()])
    names = [f"0-2,{label}" for label in alone.labels_]
    assert found[inside].tolist() == names
    assert np.isnan(cells.obs["part_membership"][~inside]).all()
    assert cells.obsp["part_connectivities"][(~inside).to_numpy()].nnz == 0


def test_arguments_that_do_not_fit_are_named(cells):
    cells.obs["kind"] = cells.obs["kind"].astype("category")
    for arguments, message in (
        ({"resolution": 1.0}, "resolution is no argument of scverse.cluster"),
        ({"n_neighbours": 9}, "did you mean n_neighbors"),
        ({"neighbors_key": "neighbors"}, "is not in data.uns, which knows of no neighbours"),
        ({"obsp": "connectivities"}, "names the graph 'connectivities', but data.obsp holds"),
        ({"obsp": "a", "neighbors_key": "b"}, "neighbors_key and obsp both name a graph"),
        ({"obsp": "a", "use_rep": "X"}, "use_rep and obsp were both given"),
        ({"restrict_to": ("kind", ["7"])}, "names the group '7'"),
        ({"restrict_to": ("sort", ["7"])}, "names 'sort', but data.obs holds 'kind'"),
        ({"restrict_to": "kind"}, "must be a pair of a column of obs"),
        ({"restrict_to": ("kind", "0")}, "must list the groups of 'kind'"),
        ({"use_rep": ["X", "X"]}, "names 'X' more than once"),
        ({"use_rep": []}, "names nothing"),
    ):
        with pytest.raises(ValueError, match=message):
            scverse.cluster(cells, 3, **arguments)
    assert "unispectral" not in cells.uns


def test_graphs_of_scanpy_are_clustered(blood):
    """By the key of neighbours, by that of obsp and as a matrix: the same clusters."""
    cells = blood[::2].copy()
    graph = cells.obsp["connectivities"]
    expected = UnifiedSpectralClustering(4, kernels="graph", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = expected.fit(graph).labels_
        for arguments in (
            {"neighbors_key": "neighbors"},
            {"obsp": "connectivities"},
            {"adjacency": graph},
        ):
            scverse.cluster(cells, 4, key_added="found", **arguments)
            assert cells.obs["found"].astype(int).tolist() == labels.tolist()
            assert cells.obsp["found_distances"].nnz > 0
        scverse.cluster(cells, 4, neighbors_key="neighbors", key_added="found")
    distances = cells.obsp["found_distances"]
    assert abs(distances - cells.obsp["distances"]).max() == 0
    with pytest.raises(ValueError, match="is not square"):
        scverse.cluster(cells, 4, adjacency=graph[:, :5])


def test_named_graphs_are_matched_with_the_cells(cells):
    import networkx

    graph = UnifiedSpectralClustering(3).fit(cells.X).affinity_matrix_
    scverse.cluster(cells, 3, adjacency=graph, key_added="matrix")
    frame = pd.DataFrame(graph.toarray(), index=cells.obs_names, columns=cells.obs_names)
    back = cells.obs_names[::-1]
    named = networkx.from_pandas_adjacency(frame.loc[back, back])
    for key, adjacency in (("frame", frame.loc[back, back]), ("object", named)):
        scverse.cluster(cells, 3, adjacency=adjacency, key_added=key)
        assert cells.obs[key].tolist() == cells.obs["matrix"].tolist()
    other = frame.rename(index={"cell 0": "x"}, columns={"cell 0": "x"})
    with pytest.raises(ValueError, match="adjacency has no node 'cell 0', which is the name of a"):
        scverse.cluster(cells, 3, adjacency=other)
    with pytest.raises(ValueError, match="adjacency is a graph of 9 nodes, but there are 90"):
        scverse.cluster(cells, 3, adjacency=graph[:9, :9])
