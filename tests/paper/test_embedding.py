"""The P-step of the authors' algorithm beside eigenvectors and the authors' search."""

from __future__ import annotations

import numpy as np
import pytest

from unispectral.paper import _embedding, search_embedding


def _graph(n=40, c=3):
    """A random graph and a state of the other variables, for the P-step."""
    rng = np.random.default_rng(2)
    Z = rng.random((n, n)) * (rng.random((n, n)) < 0.2)
    Z = np.asfortranarray(np.triu(Z, 1) + np.triu(Z, 1).T)
    P, Q = np.linalg.qr(rng.normal(size=(n, c)))[0], np.linalg.qr(rng.normal(size=(c, c)))[0]
    return Z, P, Q, np.eye(c)[rng.integers(0, c, n)]


@pytest.mark.parametrize("few", [1000, 10])
@pytest.mark.parametrize("pull", [0.0, 1e-3, 0.1])
def test_the_embedding_is_where_the_gradient_vanishes(few, pull, monkeypatch):
    monkeypatch.setattr(_embedding, "_FEW", few)
    monkeypatch.setattr(_embedding, "_STEPS", 500)
    Z, P, Q, F = _graph()
    found = _embedding.optimal_embedding(Z, P, Q, F, pull)
    L = np.diag(Z.sum(axis=0)) - Z
    gradient = 2 * (L @ found - pull * F @ Q.T)
    inner = found.T @ gradient
    gradient -= found @ (inner + inner.T) / 2
    assert np.linalg.norm(gradient) < 3e-4 * 2 * Z.sum(axis=0).max()
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
    if pull == 0:
        smallest = np.linalg.eigvalsh(L)[:3].sum()
        assert np.vdot(found, L @ found) == pytest.approx(smallest, abs=1e-6)
    if pull <= 1e-3:  # a strong pull has many local optima
        searched = search_embedding(Z, P, Q, F, pull)
        values = [np.vdot(X, L @ X) - 2 * pull * np.vdot(X, F @ Q.T) for X in (found, searched)]
        assert values[0] <= values[1] + 1e-4


@pytest.mark.parametrize("few", [1000, 10])
def test_the_embedding_follows_a_graph_that_falls_apart(few, monkeypatch):
    """The last embedding is a saddle then: no gradient leads to the new eigenvector."""
    monkeypatch.setattr(_embedding, "_FEW", few)
    Z, P, Q, F = _graph(80)
    for cut in (0, 20, 50):
        Z[:cut, cut:] = Z[cut:, :cut] = 0
        P = _embedding.optimal_embedding(Z, P, Q, F, 0.0)
        L = np.diag(Z.sum(axis=0)) - Z
        smallest = np.linalg.eigvalsh(L)[:3].sum()
        assert np.vdot(P, L @ P) == pytest.approx(smallest, abs=1e-6)


def test_the_laplacian_by_its_definition():
    Z, *_ = _graph(9)
    L = np.diag(Z.sum(axis=0)) - Z
    np.testing.assert_array_equal(_embedding._laplacian(Z, Z.sum(axis=0)), L)
    single = _embedding._laplacian(Z, Z.sum(axis=0), np.float32)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, L, rtol=1e-6)


def test_the_smallest_eigenpairs_by_all_of_them():
    Z, *_ = _graph(30)
    values, V = _embedding._smallest(Z, Z.sum(axis=0), 5)
    L = np.diag(Z.sum(axis=0)) - Z
    np.testing.assert_allclose(values, np.linalg.eigvalsh(L)[:5], atol=1e-8)
    np.testing.assert_allclose(V.T @ V, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(L @ V, V * values, atol=1e-4)


def _value(values, target, P):
    return np.vdot(P, values[:, None] * P) - 2 * np.vdot(P, target)


@pytest.mark.parametrize("pull", [0.0, 0.05])
def test_a_saddle_is_left_for_the_smallest_values(pull):
    values, start = np.arange(6.0), np.eye(6)[:, [4, 5]]
    target = pull * start
    found = _embedding._descent(values, target, start, 1e-6, 10.0)
    assert _value(values, target, found) == pytest.approx(1.0, abs=0.02)


def test_a_minimum_that_the_target_holds_is_kept():
    """Among the smallest values alone it would be higher: the pull is worth more."""
    values, start = np.arange(6.0), np.eye(6)[:, [4, 5]]
    target = 20.0 * start
    found = _embedding._descent(values, target, start, 1e-6, 50.0)
    np.testing.assert_allclose(found, start, atol=1e-6)


def test_the_limit_of_steps_holds_unless_it_would_cost_much(monkeypatch):
    monkeypatch.setattr(_embedding, "_STEPS", 1)
    rng = np.random.default_rng(0)
    values, target = np.sort(rng.random(40)), 0.1 * rng.normal(size=(40, 2))
    start = np.linalg.qr(rng.normal(size=(40, 2)))[0]
    reached = {}
    for left in (1e-3, 1e3):
        monkeypatch.setattr(_embedding, "_LEFT", left)
        found = _embedding._descent(values, target, start, 1e-8, 1.0)
        slope = 2 * (values[:, None] * found - target)
        inner = found.T @ slope
        slope -= found @ (inner + inner.T) / 2
        reached[left] = _value(values, target, found), np.linalg.norm(slope)
    assert reached[1e-3][1] < 1e-6
    assert reached[1e3][1] > 1e-2
    assert reached[1e-3][0] < reached[1e3][0] - 1e-3
    assert reached[1e3][0] < _value(values, target, start)


def test_a_saddle_among_the_rotations_of_the_embedding_is_left():
    """Turned by π the columns point along the target, and no gradient leads there."""
    values, start = np.repeat([0.0, 1.0], [2, 3]), np.eye(5, 2)
    found = _embedding._descent(values, -0.01 * start, start, 1e-8, 2.0)
    np.testing.assert_allclose(found, -start, atol=1e-12)
    # What could be gained must be worth it: the embedding stays near the last one otherwise.
    stays = _embedding._descent(values, -1e-4 * start, start, 1e-8, 2.0)
    np.testing.assert_array_equal(stays, start)


def test_where_the_smallest_eigenvectors_are_not_lower_there_is_one_descent(monkeypatch):
    """The target holds the embedding back; on its other side alone it would be lower."""
    calls = []
    descent = _embedding.diagonal_descent
    monkeypatch.setattr(
        _embedding, "diagonal_descent", lambda *a, **k: calls.append(1) or descent(*a, **k)
    )
    target = np.array([[-0.1], [0.05], [0.0]])
    _embedding._descent(np.array([0.0, 1.0, 1.0]), target, np.eye(3, 1), 1e-8, 1e3)
    assert len(calls) == 1


def test_many_samples_take_the_smallest_eigenvectors_alone_where_they_suffice(monkeypatch):
    """As many as there are: the rest of the graph is not looked at."""
    monkeypatch.setattr(_embedding, "_FEW", 10)
    asked = []
    smallest = _embedding._smallest
    monkeypatch.setattr(_embedding, "stiefel_descent", None)
    monkeypatch.setattr(_embedding, "_smallest", lambda *a: asked.append(a[2]) or smallest(*a))
    Z, P, Q, F = _graph()
    found = _embedding.optimal_embedding(Z, P, Q, F, 0.0)
    L = np.diag(Z.sum(axis=0)) - Z
    assert asked == [6]
    assert np.vdot(found, L @ found) == pytest.approx(np.linalg.eigvalsh(L)[:3].sum(), abs=1e-6)


@pytest.mark.parametrize(("n", "c"), [(12, 6), (12, 5), (11, 6), (4, 1), (12, 12)])
def test_nearly_as_many_clusters_as_samples(n, c, monkeypatch):
    monkeypatch.setattr(_embedding, "_FEW", 3)
    Z, P, Q, F = _graph(n, c)
    found = _embedding.optimal_embedding(Z, P, Q, F, 0.0)
    L = np.diag(Z.sum(axis=0)) - Z
    np.testing.assert_allclose(found.T @ found, np.eye(c), atol=1e-10)
    assert np.vdot(found, L @ found) == pytest.approx(np.linalg.eigvalsh(L)[:c].sum(), abs=1e-5)
