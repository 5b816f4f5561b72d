"""The curvilinear search against eigenvectors and Procrustes, and what it must never break."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unispectral.paper import _curvilinear
from unispectral.paper._curvilinear import minimise_on_stiefel


def _orthonormal(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(n, k)))[0]


def _quadratic(A: np.ndarray):
    return lambda X: (float(np.vdot(X, A @ X)), 2.0 * A @ X)


@pytest.mark.parametrize(("n", "k"), [(30, 1), (30, 4), (7, 5)])
def test_finds_the_smallest_eigenvectors(n, k):
    rng = np.random.default_rng(0)
    basis = _orthonormal(rng, n, n)
    values = np.concatenate([np.linspace(0.1, 0.5, k), np.linspace(2.0, 5.0, n - k)])
    A = (basis * values) @ basis.T
    result = minimise_on_stiefel(_quadratic(A), _orthonormal(rng, n, k))
    assert result.converged
    assert result.value == pytest.approx(values[:k].sum(), abs=1e-8)
    np.testing.assert_allclose(
        result.point @ result.point.T, basis[:, :k] @ basis[:, :k].T, atol=1e-5
    )


def test_solves_procrustes():
    rng = np.random.default_rng(1)
    B = rng.normal(size=(20, 3))
    U, _, Vt = np.linalg.svd(B, full_matrices=False)
    result = minimise_on_stiefel(
        lambda X: (-float(np.vdot(X, B)), -B), _orthonormal(rng, 20, 3), gtol=1e-8
    )
    np.testing.assert_allclose(result.point, U @ Vt, atol=1e-5)


def test_a_stationary_start_is_returned():
    A = np.diag([1.0, 2.0, 3.0, 4.0])
    start = np.eye(4)[:, :2]
    result = minimise_on_stiefel(_quadratic(A), start)
    assert result.n_iter == 0
    assert result.reason == "the gradient vanished"
    np.testing.assert_array_equal(result.point, start)


def test_says_that_it_ran_out_of_steps():
    rng = np.random.default_rng(2)
    A = np.diag(np.logspace(-4, 4, 40))
    result = minimise_on_stiefel(_quadratic(A), _orthonormal(rng, 40, 3), max_iter=5)
    assert not result.converged
    assert result.n_iter == 5
    assert result.reason == "the limit of 5 steps was reached"


def test_does_not_touch_the_start():
    rng = np.random.default_rng(3)
    start = _orthonormal(rng, 12, 2)
    kept = start.copy()
    minimise_on_stiefel(_quadratic(np.diag(np.arange(12.0))), start)
    np.testing.assert_array_equal(start, kept)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(2, 14),
    data=st.data(),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_stays_orthonormal_and_does_not_end_above_the_start(seed, n, data, scale):
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    A = scale * (A @ A.T)
    B = scale * rng.normal(size=(n, k))
    start = _orthonormal(rng, n, k)

    def value_and_gradient(X):
        AX = A @ X
        return float(np.vdot(X, AX) - 2 * np.vdot(X, B)), 2 * (AX - B)

    result = minimise_on_stiefel(value_and_gradient, start)
    np.testing.assert_allclose(result.point.T @ result.point, np.eye(k), atol=1e-10)
    first = value_and_gradient(start)[0]
    assert result.value <= first + 1e-6 * (1.0 + abs(first))
    assert result.value == pytest.approx(value_and_gradient(result.point)[0], rel=1e-6, abs=1e-9)


def test_search_over_orthonormal_matrices_evaluates_little():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    A = (basis * np.linspace(0.0, 2.0, 60)) @ basis.T
    start = np.linalg.qr(rng.normal(size=(60, 4)))[0]
    result = minimise_on_stiefel(lambda X: (float(np.vdot(X, A @ X)), 2 * A @ X), start)
    assert result.converged
    assert result.n_evaluations <= 1.5 * result.n_iter


def test_the_authors_search_descends_along_its_gradient(monkeypatch):
    """The value that it is given has the gradient that it is given, but for the norm's own."""
    handed = []
    monkeypatch.setattr(
        _curvilinear, "minimise_on_stiefel", lambda f, P: handed.append((f, P)) or _Found(P)
    )
    rng = np.random.default_rng(2)
    Z = np.triu(rng.random((15, 15)) * (rng.random((15, 15)) < 0.2), 1)
    Z = Z + Z.T
    P, Q, F = _orthonormal(rng, 15, 3), _orthonormal(rng, 3, 3), np.eye(3)[rng.integers(0, 3, 15)]
    assert _curvilinear.search_embedding(Z, P, Q, F, 0.0) is P
    _curvilinear.search_embedding(Z, P, Q, F, 0.7)
    X, way = P + 0.1 * rng.normal(size=P.shape), rng.normal(size=P.shape)
    L = np.diag(Z.sum(axis=0)) - Z
    for (f, start), pull in zip(handed, (0.0, 0.7), strict=True):
        assert start is P
        value, gradient = f(X)
        rest = pull * np.linalg.norm(F - X @ Q)
        assert value == pytest.approx(np.trace(X.T @ L @ X) + rest)
        expected = 2 * np.vdot(way, L @ X) - 2 * pull * np.vdot(way, F @ Q.T)
        assert np.vdot(way, gradient) == pytest.approx(expected)


class _Found:
    def __init__(self, point):
        self.point = point
