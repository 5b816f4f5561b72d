"""Graphs as input: beside peers on the same graph, prediction, files, and parts without edges."""

from __future__ import annotations

import random
import warnings

import igraph
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from unispectral import (
    SCSK,
    DoubtfulResultWarning,
    UnifiedSpectralClustering,
    load_model,
    save_model,
)
from unispectral.graph.quality import modularity
from unispectral.labelfree._given import count_communities, select_edges
from unispectral.model_selection import stability


def planted(sizes=(60, 60, 60), inside=0.25, between=0.02, seed=0):
    """Blocks of nodes, joined more among themselves."""
    chances = np.full((len(sizes), len(sizes)), between)
    np.fill_diagonal(chances, inside)
    graph = nx.stochastic_block_model(sizes, chances.tolist(), seed=seed)
    weights = nx.to_scipy_sparse_array(graph, dtype=float, weight=None)
    return sp.csr_array(weights), np.repeat(np.arange(len(sizes)), sizes)


def fit(graph, n_clusters=3, **parameters):
    model = UnifiedSpectralClustering(n_clusters, kernels="graph", **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(graph)


def leiden(graph, k):
    """Leiden's communities at the resolution that gives k of them."""
    upper = sp.coo_array(sp.triu(graph, 1))
    edges = igraph.Graph(n=graph.shape[0], edges=np.transpose(upper.coords).tolist())
    low, high = 1e-3, 8.0
    random.seed(0)
    for _ in range(20):
        middle = np.sqrt(low * high)
        found = edges.community_leiden(
            "modularity", weights=upper.data.tolist(), resolution=middle, n_iterations=5
        )
        count = len(set(found.membership))
        if count == k:
            break
        low, high = (middle, high) if count < k else (low, middle)
    return np.array(found.membership)


def test_blocks_are_found_from_every_container():
    graph, truth = planted()
    expected = fit(graph).labels_
    assert adjusted_rand_score(truth, expected) == 1.0
    undirected = nx.from_scipy_sparse_array(graph)
    for other in (graph.toarray(), sp.coo_matrix(graph), undirected, 7.5 * graph):
        np.testing.assert_array_equal(fit(other).labels_, expected)


def test_beside_peers_on_the_same_graph():
    """A neighbour graph of digits: no worse than spectral clustering and Leiden."""
    X, y = load_digits(return_X_y=True)
    near = kneighbors_graph(X[:900], 10)
    graph = sp.csr_array((near + near.T) / 2)
    graph.indices = graph.indices.astype(np.int32)
    graph.indptr = graph.indptr.astype(np.int32)
    ours = adjusted_rand_score(y[:900], fit(graph, 10).labels_)
    spectral = SpectralClustering(10, affinity="precomputed", random_state=0).fit(graph)
    assert ours >= adjusted_rand_score(y[:900], spectral.labels_) - 0.01
    assert ours >= adjusted_rand_score(y[:900], leiden(graph, 10)) - 0.05


def test_fitted_attributes():
    graph, truth = planted()
    model = fit(graph)
    n = len(truth)
    assert model.graph_.shape == (n, n)
    assert model.embedding_.shape == (n, 3)
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)
    assert model.kernel_names_ == ("graph",)
    assert model.n_features_in_ == n
    learned = model.graph_.T.tocsr()
    assert (learned.multiply(graph > 0) - learned).nnz == 0, "weights stand on given edges alone"
    assert modularity(graph, model.labels_) > 0.4


def test_new_nodes_are_placed_by_their_edges(tmp_path):
    graph, truth = planted()
    held = np.arange(0, len(truth), 9)
    kept = np.setdiff1d(np.arange(len(truth)), held)
    model = fit(sp.csr_array(graph[kept][:, kept]))
    rows = graph[held][:, kept]
    found = model.predict(rows)
    together = np.concatenate([model.labels_, found])
    assert adjusted_rand_score(np.concatenate([truth[kept], truth[held]]), together) == 1.0
    np.testing.assert_array_equal(model.predict(rows.toarray()), found)
    save_model(model, tmp_path / "m.unispectral")
    loaded = load_model(tmp_path / "m.unispectral")
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))
    with pytest.raises(ValueError, match="has 180 columns, but the model was fitted on 160 nodes"):
        model.predict(graph[held])


def test_several_graphs_on_the_same_nodes(tmp_path):
    """Each tells two of three blocks apart; together they tell all."""
    left, truth = planted((60, 60, 60), 0.25, 0.02, seed=1)
    blocks = [np.array([0, 0, 1]), np.array([0, 1, 1])]
    graphs = {}
    for name, joined in zip("ab", blocks, strict=True):
        two, _ = planted(np.bincount(joined) * 60, 0.2, 0.01, seed=2)
        order = np.argsort(joined[truth], kind="stable")
        weights = np.zeros((180, 180))
        weights[np.ix_(order, order)] = two.toarray()
        graphs[name] = weights
    model = fit(graphs)
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    for weights in graphs.values():
        assert adjusted_rand_score(truth, fit(weights).labels_) < 0.8
    assert model.view_weights_ == {"a": 0.5, "b": 0.5}
    new = {name: weights[:5] for name, weights in graphs.items()}
    assert adjusted_rand_score(model.predict(new), model.labels_[:5]) == 1.0
    save_model(model, tmp_path / "m.unispectral")
    found = load_model(tmp_path / "m.unispectral").predict(list(new.values()))
    np.testing.assert_array_equal(found, model.predict(new))
    with pytest.raises(ValueError, match="holds 1 graphs, but the model was fitted on 2"):
        model.predict(new["a"])
    with pytest.raises(ValueError, match="graph 'b' is a graph of 180 nodes, but there are 170"):
        UnifiedSpectralClustering(3, kernels="graph").fit({"a": left[:170, :170], "b": left})


def test_small_parts_are_told_of_and_counted_to_the_first_cluster():
    graph, truth = planted()
    n = len(truth)
    alone = sp.block_diag([graph, np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros((1, 1))])
    model = UnifiedSpectralClustering(3, kernels="graph")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(sp.csr_array(alone))
    said = [str(one.message) for one in told]
    assert sum("3 nodes are in parts of the graph too small" in one for one in said) == 1
    assert adjusted_rand_score(truth, model.labels_[:n]) == 1.0
    assert model.labels_[n:].tolist() == [0, 0, 0]
    assert model.outlier_score_[n:].tolist() == [1, 1, 1]
    assert model.embedding_.shape == (n + 3, 3)


def test_more_parts_than_clusters_are_doubtful():
    graph = sp.csr_array(np.kron(np.eye(4), np.ones((8, 8)) - np.eye(8)))
    with pytest.warns(DoubtfulResultWarning, match="falls into 4 parts .* n_clusters=4"):
        found = UnifiedSpectralClustering(3, kernels="graph").fit(graph).labels_
    assert len(np.unique(found)) == 3
    assert adjusted_rand_score(np.repeat(range(4), 8), fit(graph, 4).labels_) == 1.0


def test_how_many():
    graph, _ = planted((50, 80, 40, 60), 0.3, 0.01)
    model = fit(graph, "auto")
    assert model.n_clusters_ == 4
    assert "4 communities" in model.cluster_count_.reason
    assert fit(graph, "auto", max_clusters=2).n_clusters_ == 2
    noise = nx.to_scipy_sparse_array(nx.gnp_random_graph(150, 0.1, seed=0), dtype=float)
    found = count_communities(sp.csr_array(noise), 20)
    assert found.n_clusters == 1
    assert "random graphs" in found.reason


def test_sparse_graphs_are_counted_and_no_worse_than_by_spectral_clustering():
    """Modularity alone cuts communities that are hardly joined into several."""
    for seed, (sizes, inside, between) in enumerate(
        [((200, 200), 0.04, 0.01), ((100,) * 4, 0.06, 0.01)]
    ):
        graph, truth = planted(sizes, inside, between, seed)
        k = len(sizes)
        assert count_communities(graph, 20).n_clusters == k
        spectral = SpectralClustering(k, affinity="precomputed", random_state=0)
        theirs = adjusted_rand_score(truth, spectral.fit(graph.toarray()).labels_)
        assert adjusted_rand_score(truth, fit(graph, k).labels_) >= theirs


def test_edges_are_selected_as_by_sorting():
    rng = np.random.default_rng(0)
    graph = sp.random_array((30, 30), density=0.3, rng=rng, format="csr")
    keys = rng.integers(0, 4, graph.nnz).astype(float)
    found = select_edges(graph, keys, 4)
    for i in range(30):
        span = slice(graph.indptr[i], graph.indptr[i + 1])
        pairs = sorted(zip(keys[span], graph.indices[span], strict=True))[:4]
        expected = [j for _, j in pairs]
        assert found[i].tolist() == expected + [-1] * (found.shape[1] - len(expected))


def test_threads_and_seeds_change_nothing():
    graph, _ = planted(between=0.1, seed=4)
    expected = fit(graph).labels_
    for parameters in ({"n_jobs": 2}, {"random_state": 7}):
        np.testing.assert_array_equal(fit(graph, **parameters).labels_, expected)


def test_a_graph_given_as_a_kernel_is_told_the_right_spelling():
    graph, _ = planted()
    with pytest.raises(ValueError, match="kernels='graph'"):
        UnifiedSpectralClustering(3, kernels="precomputed").fit(graph)
    with pytest.raises(ValueError, match="views names columns of a table"):
        UnifiedSpectralClustering(3, kernels="graph", views={"a": [0]}).fit(graph)
    for model in (SCSK(3, kernel="graph"), UnifiedSpectralClustering(3, kernels=["graph"])):
        with pytest.raises(ValueError, match=r"is no kernel.*kernels='graph'"):
            model.fit(graph)
    for model in (SCSK(3), UnifiedSpectralClustering(3)):
        with pytest.raises(TypeError, match=r"X is a graph.*kernels='graph'"):
            model.fit(nx.path_graph(20))


def test_graph_objects_of_both_kinds_in_one_list():
    graph, truth = planted()
    one = nx.from_scipy_sparse_array(graph)
    other = igraph.Graph.from_networkx(one)
    model = UnifiedSpectralClustering(3, kernels="graph").fit([one, other])
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert adjusted_rand_score(truth, model.predict([graph, graph])) > 0.95
    with pytest.raises(TypeError, match="one row for each new node"):
        UnifiedSpectralClustering(3, kernels="graph").fit(one).predict(other)


def test_what_is_known_names_nodes_as_the_graph_does():
    club = nx.karate_club_graph()
    named = nx.relabel_nodes(club, lambda node: f"member {node}")
    model = UnifiedSpectralClustering(2, kernels="graph")
    pairs = {"must_link": [("member 0", "member 33")], "cannot_link": [("member 1", "member 32")]}
    found = model.fit(named, **pairs).labels_
    assert found[0] == found[33]
    assert found[1] != found[32]
    with pytest.raises(ValueError, match="names the row 'member 99', which is not in"):
        model.fit(named, must_link=[("member 0", "member 99")])
    with pytest.raises(ValueError, match="there are 34 samples"):
        model.fit(club, must_link=[(0, 99)])


def beside(seed=0):
    """Ties that are sparse, and columns that overlap: each alone says little of four groups."""
    graph, truth = planted((60,) * 4, 0.08, 0.02, seed)
    rng = np.random.default_rng(seed)
    return graph, 1.5 * rng.normal(size=(4, 6))[truth] + rng.normal(size=(240, 6)), truth


def quietly(model, X, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, **more)


def test_graphs_beside_tables_tell_more_than_either():
    graph, table, truth = beside()
    views = {"ties": graph, "words": table}
    model = UnifiedSpectralClustering(4, kernels={"ties": "graph"})
    both = adjusted_rand_score(truth, quietly(model, views).labels_)
    alone = adjusted_rand_score(truth, quietly(UnifiedSpectralClustering(4), table).labels_)
    assert both > max(alone, adjusted_rand_score(truth, fit(graph, 4).labels_)) + 0.03
    assert set(model.view_weights_) == {"ties", "words"}
    assert model.scaling_["ties"] == "as given: the rows of the graph"


def test_graphs_beside_tables_in_any_container(tmp_path):
    graph, table, _ = beside()
    named = {"ties": graph, "words": table}
    model = quietly(UnifiedSpectralClustering(4, kernels={"ties": "graph"}), named)
    as_object = nx.from_scipy_sparse_array(graph)
    for views, kernels in (
        ([graph, table], {0: "graph"}),
        ([as_object, table], "linear"),
        ({"ties": as_object, "words": table}, "linear"),
    ):
        found = quietly(UnifiedSpectralClustering(4, kernels=kernels), views)
        np.testing.assert_array_equal(found.labels_, model.labels_)
    new = {"ties": graph[:9], "words": table[:9] + 0.01}
    save_model(model, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert adjusted_rand_score(model.predict(new), model.labels_[:9]) == 1.0
    assert quietly(UnifiedSpectralClustering(kernels={0: "graph"}), [graph, table]).n_clusters_ > 1
    with pytest.raises(ValueError, match="the model knows no edges between new nodes"):
        model.update(new)


def test_graphs_beside_frames_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    graph, table, _ = beside()
    names = [f"d{row}" for row in range(240)]
    frame = pandas.DataFrame(table, index=names)
    ties = pandas.DataFrame(graph.toarray(), index=names, columns=names)
    model = UnifiedSpectralClustering(4, kernels={"ties": "graph"})
    expected = quietly(model, {"ties": ties, "words": frame}).labels_
    back = names[::-1]
    found = quietly(model, {"ties": ties.loc[back, back], "words": frame}).labels_
    np.testing.assert_array_equal(found, expected)
    other = ties.rename(index={"d3": "x"}, columns={"d3": "x"})
    with pytest.raises(ValueError, match="graph 'ties' has no node 'd3', which is the name of a"):
        model.fit({"ties": other, "words": frame})
    with pytest.raises(ValueError, match="has the row 'x', which is none of its columns"):
        model.fit({"ties": ties.rename(index={"d3": "x"}), "words": frame})
    with pytest.raises(ValueError, match="has its columns in another order than its rows"):
        model.fit({"ties": ties[back], "words": frame})


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ({"tie": "graph"}, "names the view 'tie', but X holds ties, words"),
        (
            {"ties": "graph", "words": "graph"},
            "graph 'words' has the shape .240, 6., which is",
        ),
        ("graph", "name the views that are graphs: kernels={'ties': 'graph'}"),
    ],
)
def test_views_that_are_no_graphs_get_a_sentence(kernels, words):
    graph, table, _ = beside()
    with pytest.raises(ValueError, match=words):
        UnifiedSpectralClustering(4, kernels=kernels).fit({"ties": graph, "words": table})
    with pytest.raises(ValueError, match="names the kernels of views, but X holds none"):
        UnifiedSpectralClustering(4, kernels={"ties": "graph"}).fit(graph)


def test_stability_of_graph_objects():
    graph, _ = planted()
    model = fit(graph)
    expected = stability(model, graph, n_fits=1)
    np.testing.assert_array_equal(
        expected, stability(model, nx.from_scipy_sparse_array(graph), n_fits=1)
    )
