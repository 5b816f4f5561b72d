"""Graph-based multi-view clustering: its steps against their problems, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from unispectral.baselines import GMC
from unispectral.baselines.neighbours import nearest_codes, on_simplex, standardize_samples

seeds = st.integers(0, 2**32 - 1)


def three_views(seed: int = 0, n: int = 120) -> tuple[list[np.ndarray], np.ndarray]:
    """Each view shows two of three clusters as one; together they tell all of them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    views = []
    for merged in range(3):
        centres = 8.0 * np.eye(3)
        centres[merged] = centres[(merged + 1) % 3] + 1.5
        views.append(centres[y] + rng.normal(size=(n, 3)))
    return views, y


def test_the_components_of_three_views_are_the_clusters():
    X, y = make_blobs(150, 5, centers=3, random_state=1)
    rng = np.random.default_rng(0)
    views = [X, X @ rng.normal(size=(5, 8)), np.tanh(X / 5.0)]
    model = GMC(3).fit(views)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.converged_
    assert model.n_components_ == 3
    count, parts = connected_components(model.affinity_matrix_, directed=False)
    assert count == 3
    assert adjusted_rand_score(parts, model.labels_) == 1.0
    W = model.affinity_matrix_
    assert abs(W - W.T).max() == 0.0
    assert W.sum() == pytest.approx(150.0)
    np.testing.assert_allclose(model.view_weights_.sum(), 1.0)


def test_views_that_each_merge_two_clusters_tell_all_of_them_together():
    views, y = three_views()
    assert adjusted_rand_score(y, GMC(3, standardize=False).fit_predict(views)) > 0.95


def test_samples_are_standardised_over_their_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, (6, 5))
    X[2] = 7.1  # a constant sample says nothing
    found = standardize_samples(X)
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.delete(found, 2, axis=0).std(axis=1, ddof=1), 1.0)
    assert (found[2] == 0.0).all()
    np.testing.assert_allclose(standardize_samples(sp.csr_array(X)), found)
    np.testing.assert_array_equal(standardize_samples(X[:, :2]), X[:, :2])


def test_standardised_samples_have_no_length():
    """The same directions at very different lengths, as texts of different length have."""
    rng = np.random.default_rng(1)
    y = np.arange(90) % 3
    centres = rng.normal(size=(3, 20))
    lengths = rng.uniform(0.1, 10.0, (90, 1))
    views = [(centres[y] + 0.3 * rng.normal(size=(90, 20))) * lengths for _ in range(2)]
    assert adjusted_rand_score(y, GMC(3).fit_predict(views)) == 1.0
    assert adjusted_rand_score(y, GMC(3, standardize=False).fit_predict(views)) < 1.0


def plain_gmc(views, n_clusters, k=15, rounds=20):
    """The published rules with full matrices, one sample after the other."""
    squared = [pairwise_distances(view) ** 2 for view in views]
    n, m = len(views[0]), len(views)
    near = [np.argsort(d + np.diag(np.full(n, -1.0)), axis=1)[:, 1 : k + 2] for d in squared]

    def graph(d, ids, U, w):
        S = np.zeros((n, n))
        for i, own in enumerate(ids):
            cost = d[i, own] - 2.0 * w * U[i, own]
            S[i, own] = np.maximum((cost[k] - cost) / (k * cost[k] - cost[:k].sum()), 0.0)
        return S

    def spectrum(U):
        W = (U + U.T) / 2.0
        values, vectors = np.linalg.eigh(np.diag(W.sum(axis=0)) - W)
        return values[: n_clusters + 1], vectors[:, :n_clusters]

    empty = np.zeros((n, n))
    U = np.mean([graph(d, ids, empty, 0.0) for d, ids in zip(squared, near, strict=True)], axis=0)
    F, w, penalty = spectrum(U)[1], np.full(m, 1.0 / m), 1.0
    for _ in range(rounds):
        S = [graph(squared[v], near[v], U, w[v]) for v in range(m)]
        w = np.array([0.5 / np.linalg.norm(U - graph) for graph in S])
        apart = pairwise_distances(F) ** 2
        target = np.mean([S[v] - 0.5 * penalty / (m * w[v]) * apart for v in range(m)], axis=0)
        U = np.zeros((n, n))
        for i in range(n):
            some = np.flatnonzero(sum(graph[i] for graph in S))
            U[i, some] = on_simplex(target[i, some][None])[0]
        values, vectors = spectrum(U)
        if values[:n_clusters].sum() > 1e-10:
            penalty, F = 2.0 * penalty, vectors
        elif values.sum() < 1e-10:
            penalty = penalty / 2.0
        else:
            break
    return connected_components(U + U.T, directed=False)[1]


@pytest.mark.parametrize("seed", range(3))
def test_the_rounds_are_those_of_the_published_program(seed):
    rng = np.random.default_rng(seed)
    y = np.arange(100) % 4
    views = [
        spread * rng.normal(size=(4, 6))[y] + rng.normal(size=(100, 6)) for spread in (2.0, 1.5)
    ]
    model = GMC(4, n_neighbors=10).fit(views)
    assert model.converged_
    expected = plain_gmc([standardize_samples(view) for view in views], 4, k=10)
    assert adjusted_rand_score(expected, model.labels_) == 1.0


@settings(max_examples=25)
@given(seeds, st.integers(2, 6))
def test_codes_solve_their_problem(seed, k):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.0, 3.0, (4, 9))
    codes = nearest_codes(costs, k)
    np.testing.assert_allclose(codes.sum(axis=1), 1.0)
    assert ((codes > 0).sum(axis=1) == k).all()
    for row, code in zip(costs, codes, strict=True):
        ranked = np.sort(row)
        alpha = (k * ranked[k] - ranked[:k].sum()) / 2.0
        others = rng.dirichlet(np.ones(9), 300)
        own = row @ code + alpha * code @ code
        assert (others @ row + alpha * (others**2).sum(axis=1) >= own - 1e-9).all()


def test_candidates_that_cost_the_same_share_equally():
    codes = nearest_codes(np.array([[1.0, 1.0, 1.0, np.inf], [0.0, 2.0, np.inf, np.inf]]), 2)
    np.testing.assert_allclose(codes, [[0.5, 0.5, 0, 0], [1, 0, 0, 0]])


@settings(max_examples=25)
@given(seeds)
def test_projection_onto_the_simplex(seed):
    point = np.random.default_rng(seed).normal(size=5)
    found = on_simplex(np.append(point, -np.inf)[None])[0]
    assert found[-1] == 0.0
    best = minimize(
        lambda u: np.square(u - point).sum(),
        np.full(5, 0.2),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda u: u.sum() - 1.0},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found[:5], best.x, atol=1e-4)


def test_order_form_and_names_of_views_do_not_matter():
    views, _ = three_views(3)
    first = GMC(3, standardize=False).fit(views)
    for other in (views[::-1], {"b": views[1], "a": views[0], "c": sp.csr_array(views[2])}):
        labels = GMC(3, standardize=False).fit_predict(other)
        assert adjusted_rand_score(first.labels_, labels) == 1.0
    assert first.n_features_in_ == 9


def test_a_graph_in_too_many_parts_is_told_and_clustered_nevertheless():
    X, _ = make_blobs(100, centers=5, cluster_std=0.1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="GMC stopped because the limit of max_iter=20"):
        model = GMC(3, random_state=0).fit(X)
    assert model.n_components_ == 5
    assert not model.converged_
    assert len(np.unique(model.labels_)) == 3


def test_the_offset_of_a_view_does_not_matter():
    views, _ = three_views(5)
    moved = [view + 7.0 for view in views]
    one, other = (GMC(3, standardize=False).fit(tables) for tables in (views, moved))
    np.testing.assert_allclose(
        one.affinity_matrix_.toarray(), other.affinity_matrix_.toarray(), atol=1e-9
    )
