"""The P-, Q-, F- and w-steps: optimality against brute force and closed forms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import ortho_group

from unispectral.graph import codes
from unispectral.kernels import KernelBank
from unispectral.labels import assign, fill_empty, memberships, procrustes, rotate
from unispectral.paper._weights import initial_weights, kernel_weights, residuals
from unispectral.spectrum import affinity, laplacian, stiefel_descent


def random_graph(n, seed):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return sp.csr_array(W + W.T)


def test_procrustes_beats_every_other_rotation():
    rng = np.random.default_rng(0)
    P = np.linalg.qr(rng.normal(size=(20, 3)))[0]
    labels = rng.integers(3, size=20)
    F = np.eye(3)[labels]
    best = np.linalg.norm(F - P @ procrustes(P, labels))
    for Q in ortho_group.rvs(3, size=200, random_state=0):
        assert best <= np.linalg.norm(F - P @ Q) + 1e-12


def test_assign_is_the_best_one_hot_matrix():
    rng = np.random.default_rng(1)
    P = np.linalg.qr(rng.normal(size=(5, 2)))[0]
    Q = ortho_group.rvs(2, random_state=1)
    found = np.linalg.norm(np.eye(2)[assign(P, Q)] - P @ Q)
    best = min(np.linalg.norm(np.eye(2)[list(F)] - P @ Q) for F in product(range(2), repeat=5))
    assert found == pytest.approx(best)


def test_rotation_finds_indicator_vectors_whatever_the_basis():
    labels = np.repeat(np.arange(4), [3, 5, 7, 9])
    F = np.eye(4)[labels]
    P = (F / np.sqrt(F.sum(axis=0))) @ ortho_group.rvs(4, random_state=2)
    found = rotate(P, rng=np.random.default_rng(0)).labels
    assert len({(a, b) for a, b in zip(labels, found, strict=True)}) == 4


@settings(max_examples=30, deadline=None)
@given(st.integers(4, 30), st.integers(2, 4), st.integers(0, 10**6))
def test_rotation_never_falls_below_its_start(n, c, seed):
    rng = np.random.default_rng(seed)
    P = np.linalg.qr(rng.normal(size=(max(n, c), c)))[0]
    Q = np.linalg.qr(rng.normal(size=(c, c)))[0]
    before = (P @ Q).max(axis=1).sum()
    after = rotate(P, start=Q)
    assert after.value >= before - 1e-10
    np.testing.assert_allclose(after.Q @ after.Q.T, np.eye(c), atol=1e-10)


def test_no_cluster_stays_empty():
    scores = np.random.default_rng(0).normal(size=(6, 5))
    labels = fill_empty(scores, np.zeros(6, dtype=int))
    assert set(labels) == set(range(5))


def test_memberships_sum_to_one():
    scores = np.random.default_rng(0).normal(size=(8, 3))
    np.testing.assert_allclose(memberships(scores).sum(axis=1), 1.0)


def test_laplacian_is_the_sum_over_edges():
    W = random_graph(12, 0)
    P = np.random.default_rng(0).normal(size=(12, 2))
    dense = W.toarray()
    edges = sum(
        0.5 * dense[i, j] * np.sum((P[i] - P[j]) ** 2) for i in range(12) for j in range(12)
    )
    assert np.vdot(P, laplacian(W) @ P) == pytest.approx(edges)


def test_normalised_laplacian_has_spectrum_in_zero_two():
    values = np.linalg.eigvalsh(laplacian(random_graph(30, 1), normalized=True).toarray())
    assert values[0] == pytest.approx(0.0, abs=1e-10)
    assert values[-1] <= 2.0 + 1e-10


def test_without_target_the_p_step_finds_eigenvectors():
    L = laplacian(random_graph(25, 2))
    P = np.linalg.qr(np.random.default_rng(0).normal(size=(25, 3)))[0]
    found = stiefel_descent(L, np.zeros((25, 3)), P, max_steps=5000, tol=1e-9)
    assert found.value == pytest.approx(np.linalg.eigvalsh(L.toarray())[:3].sum(), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 25), st.integers(1, 4), st.integers(0, 10**6), st.floats(0, 10))
def test_the_p_step_descends_and_stays_orthonormal(n, c, seed, ratio):
    rng = np.random.default_rng(seed)
    L = laplacian(random_graph(n, seed))
    P = np.linalg.qr(rng.normal(size=(n, c)))[0]
    target = ratio * rng.normal(size=(n, c))
    before = np.vdot(P, L @ P) - 2 * np.vdot(P, target)
    found = stiefel_descent(L, target, P)
    assert found.value <= before + 1e-9 * max(1.0, abs(before))
    np.testing.assert_allclose(found.P.T @ found.P, np.eye(c), atol=1e-8)


def test_weights_solve_their_problem():
    h = np.array([1.0, 2.0, 5.0])
    weights = kernel_weights(h)
    assert np.sqrt(weights).sum() == pytest.approx(1.0)
    other = minimize(
        lambda v: (v**2) @ h,
        np.full(3, 1 / 3),
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
    )
    assert weights @ h == pytest.approx(other.fun, rel=1e-5)
    assert kernel_weights(np.array([3.0]))[0] == 1.0
    assert initial_weights(5).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n", [7, 60])
def test_residuals_from_supports_are_the_dense_traces(n):
    rng = np.random.default_rng(n)
    bank = KernelBank(rng.normal(size=(n, 4)), "paper")
    found = codes(bank.combine(np.full(12, 1 / 12)), 0.01).matrix
    Z = found.toarray().T
    dense = [np.trace(K - 2 * K @ Z + Z.T @ K @ Z) for K in map(bank.matrix, range(12))]
    np.testing.assert_allclose(residuals(bank, found), dense, rtol=1e-8, atol=1e-8)


def test_affinity_is_the_symmetric_part():
    Z = sp.random_array((6, 6), density=0.5, random_state=np.random.default_rng(0), format="csr")
    np.testing.assert_allclose(affinity(Z).toarray(), (Z.toarray() + Z.toarray().T) / 2)
