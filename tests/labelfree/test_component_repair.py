"""Graphs that fall apart: duplicates, outliers and isolated samples join what is near."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from unispectral import UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.graph.neighbours import nearest
from unispectral.kernels import KernelBank
from unispectral.labelfree import Recipe, _graph
from unispectral.labelfree._geometry import KernelDistance, KernelPart, nearest_among
from unispectral.labelfree._graph import join_components, repair_components
from unispectral.labelfree._neighbourhoods import Layer, LocalNeighbourhoods


def knn_codes(X: np.ndarray, k: int) -> sp.csr_array:
    found = nearest(X, k).indices
    rows = np.repeat(np.arange(len(X)), k)
    return sp.csr_array((np.full(rows.size, 1 / k), (rows, found.ravel())), shape=(len(X),) * 2)


def geometry_of(X: np.ndarray, kernel: str = "linear", **settings) -> KernelDistance:
    return KernelDistance([KernelPart(KernelBank(X, kernel, normalize="none", **settings)[0], 0)])


def layer_of(geometry: KernelDistance) -> Layer:
    """With the rate of a kernel, and no neighbourhoods, which repair does not ask for."""
    nobody = np.empty((geometry.n_samples, 0))
    return Layer(geometry, LocalNeighbourhoods(nobody, nobody, nobody, -1e-3))


def mend(X: np.ndarray, codes: sp.csr_array, n_clusters: int, k: int) -> sp.csr_array:
    layer = layer_of(geometry_of(X, gram=False))
    return repair_components(codes, layer, Recipe(n_clusters), k, 0, Run.of())


def test_duplicates_are_joined_as_one_sample_would_be() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(load_digits().data[:200], 10, axis=0)
    X = X + 1e-3 * rng.normal(size=X.shape)
    codes = knn_codes(X, 5)
    assert connected_components(codes, directed=False)[0] == 200
    mended = mend(X, codes, 10, 5)
    assert connected_components(mended, directed=False)[0] <= 10
    np.testing.assert_allclose(mended.sum(axis=1), 1)
    links = sp.coo_array(mended)
    apart = links.row // 10 != links.col // 10
    # Each group speaks with one voice, to several groups.
    partners = [
        len(set(links.col[apart & (links.row // 10 == group)] // 10)) for group in range(200)
    ]
    assert np.median(partners) >= 3


def test_outliers_are_joined_to_the_nearest_cluster() -> None:
    X, y = make_blobs(300, centers=[[0, 0], [50, 0]], random_state=0)
    X = np.vstack([X, [[8.0, 0.0], [8.1, 0.0], [42.0, 0.0]]])
    codes = knn_codes(X[:300], 6)
    codes = sp.csr_array(sp.block_diag([codes, [[0, 1.0], [1.0, 0]], [[0.0]]]))
    mended = mend(X, codes, 2, 6)
    n, member = connected_components(mended, directed=False)
    assert n == 2
    assert member[300] == member[301] == member[np.flatnonzero(y == 0)[0]]
    assert member[302] == member[np.flatnonzero(y == 1)[0]]


def test_large_components_are_left_alone() -> None:
    X, _ = make_blobs(200, centers=[[0, 0], [50, 0]], random_state=0)
    codes = knn_codes(X, 6)
    assert (mend(X, codes, 2, 6) != codes).nnz == 0


def test_no_small_component_means_no_search() -> None:
    codes = sp.csr_array(np.ones((4, 4)) / 4)
    assert repair_components(codes, None, Recipe(1), 2, 0, Run.of()) is codes


def test_a_graph_without_edges_becomes_one() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    mended = mend(X, sp.csr_array((30, 30)), 2, 4)
    assert connected_components(mended, directed=False)[0] <= 10
    np.testing.assert_allclose(mended.sum(axis=1), 1)


@pytest.mark.parametrize("kernel", ["linear", "laplacian"])
def test_nearest_among_some(kernel: str) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    geometry = geometry_of(X, kernel)
    among = np.arange(0, 60, 2)
    rows = among[:5]
    found = nearest_among(geometry, rows, among, 3)
    squared = geometry.distances(rows, among)
    squared[np.arange(5), np.arange(5)] = np.inf
    np.testing.assert_array_equal(found, among[np.argsort(squared, axis=1)[:, :3]])


def test_replicated_digits_are_clustered_as_the_digits_are() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    rng = np.random.default_rng(0)
    many = np.repeat(X, 20, axis=0) + 0.3 * rng.normal(size=(600 * 20, X.shape[1]))
    model = UnifiedSpectralClustering(10).fit(many.astype(np.float32))
    assert np.bincount(model.labels_).min() >= 20 * 8
    alone = UnifiedSpectralClustering(10, whiten=None).fit(X)
    once = normalized_mutual_info_score(y, alone.labels_)
    assert normalized_mutual_info_score(np.repeat(y, 20), model.labels_) > once - 0.1


def test_repair_ends_after_its_rounds(monkeypatch) -> None:
    """Pairs, then pairs of pairs: what one round leaves apart the next ones join."""
    X = np.array([[float(f"{i:b}")] for i in range(16)])  # 0, 1, 10, 11, 100, …
    monkeypatch.setattr(_graph, "SMALL_SHARE", 1.0)

    def join() -> int:
        joined = mend(X, sp.csr_array((16, 16)), 1, 1)
        return connected_components(joined, directed=False)[0]

    assert join() == 1
    monkeypatch.setattr(_graph, "_ROUNDS", 1)
    assert join() == 8
    monkeypatch.setattr(_graph, "_ROUNDS", 0)
    assert join() == 16


def apart(sizes: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray, sp.csr_array]:
    """Samples, their groups, which are far apart, and codes that stay within groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.permutation(np.arange(2 * len(sizes)))[: len(sizes), None] * 30.0
    X = np.hstack([X, rng.uniform(0, 30, size=X.shape)])[group] + rng.normal(size=(len(group), 2))
    turned = rng.permutation(len(group))
    X, group = X[turned], group[turned]
    inside = (group[:, None] == group) & ~np.eye(len(group), dtype=bool)
    return X, group, sp.csr_array(inside / np.maximum(inside.sum(axis=1, keepdims=True), 1))


def smallest_first(X: np.ndarray, group: np.ndarray, n_clusters: int) -> np.ndarray:
    """Brute force: the smallest group and the one that is nearest to it become one."""
    group, distances = group.copy(), cdist(X, X)
    while len(names := np.unique(group)) > n_clusters:
        _, first, sizes = np.unique(group, return_index=True, return_counts=True)
        ours = group == names[np.lexsort((first, sizes))[0]]
        between = np.where(ours[:, None] & ~ours, distances, np.inf)
        group[ours] = group[np.unravel_index(np.argmin(between), between.shape)[1]]
    return group


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_clusters", [1, 2, 4, 6])
def test_components_are_joined_from_the_smallest_on(seed: int, n_clusters: int) -> None:
    X, group, codes = apart([9, 4, 17, 6, 30, 5, 12], seed)
    graph = join_components(codes, geometry_of(X), n_clusters)
    n, member = connected_components(graph, directed=False)
    assert n == n_clusters
    assert adjusted_rand_score(member, smallest_first(X, group, n_clusters)) == 1
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    links = sp.coo_array(graph)
    assert (group[links.row] != group[links.col]).sum() == 7 - n_clusters


def test_no_more_components_than_clusters_are_left_alone(monkeypatch) -> None:
    _, _, codes = apart([5, 6, 7])
    assert join_components(codes, None, 3) is codes
    monkeypatch.setattr(_graph, "_MOST_COMPONENTS", 2)
    assert join_components(codes, None, 1) is codes


def test_gaps_between_some_samples_of_each_component(monkeypatch) -> None:
    X, group, codes = apart([40, 3, 50, 60])
    monkeypatch.setattr(_graph, "_GAP_SAMPLES", 10)
    some = _graph._pick_from_each(group)
    assert len(some) <= 14
    assert (np.diff(group[some]) >= 0).all()
    assert set(group[some]) == {0, 1, 2, 3}
    graph = join_components(codes, geometry_of(X), 2)
    assert connected_components(graph, directed=False)[0] == 2


def test_groups_of_groups_are_found() -> None:
    """Nine blobs in three groups: the blobs of a group are clusters only if nine are sought."""
    far, near = np.array([[0.0, 0], [90, 0], [0, 90]]), np.array([[0.0, 0], [14, 0], [0, 14]])
    centres = (far[:, None] + near).reshape(-1, 2)
    X, blob = make_blobs([40] * 9, centers=centres, cluster_std=1.0, random_state=0)
    for n_clusters, truth in ((3, blob // 3), (9, blob)):
        labels = UnifiedSpectralClustering(n_clusters).fit_predict(X)
        assert adjusted_rand_score(labels, truth) == 1
