"""The P-step against closed forms, exhaustive starts and its own optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral.spectrum import _stiefel, laplacian, stiefel_descent
from unispectral.spectrum._stiefel import _beside, diagonal_descent, polar


def _random_problem(seed):
    """A sparse random graph, a pull from 10⁻³ to 10 towards random labels, and a random start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 200))
    c = int(rng.integers(2, max(3, min(n // 3, 20))))
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < rng.choice([0.05, 0.1, 0.3])), 1)
    L = laplacian(sp.csr_array(W + W.T), normalized=bool(rng.random() < 0.5))
    labels = np.eye(c)[rng.integers(0, c, n)]
    target = 10.0 ** rng.uniform(-3, 1) * labels @ _orthonormal(rng, c, c).T
    return L, target, _orthonormal(rng, n, c)


def _orthonormal(rng, n, c):
    return np.linalg.qr(rng.normal(size=(n, c)))[0]


def _relative_gradient(L, target, P):
    gradient = 2 * (L @ P - target)
    inner = P.T @ gradient
    gradient = gradient - P @ (inner + inner.T) / 2
    return np.linalg.norm(gradient) / (abs(L).sum(axis=1).max() + np.linalg.norm(target))


def test_a_hundred_cold_starts_end_where_the_gradient_vanishes():
    left = [
        _relative_gradient(L, target, stiefel_descent(L, target, P).P)
        for L, target, P in map(_random_problem, range(100))
    ]
    assert max(left) < 1e-3
    assert np.mean(np.array(left) <= 1e-5) >= 0.9


@pytest.mark.parametrize("seed", range(10))
def test_a_warm_start_takes_few_steps(seed):
    L, target, P = _random_problem(seed)
    cold = stiefel_descent(L, target, P, max_steps=500)
    near = polar(cold.P + 1e-4 * np.random.default_rng(seed).normal(size=P.shape))
    warm = stiefel_descent(L, target, near)
    assert warm.n_steps <= max(10, cold.n_steps // 2)
    assert warm.value == pytest.approx(cold.value, rel=1e-4, abs=1e-4)
    assert stiefel_descent(L, target, warm.P, tol=2e-5).n_steps == 0


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_without_target_it_finds_the_smallest_eigenvalues(kind):
    L, target, P = _random_problem(3)
    dense = L.toarray()
    found = stiefel_descent(
        L if kind == "sparse" else dense, 0 * target, P, max_steps=500, tol=1e-9
    )
    expected = np.linalg.eigvalsh(dense)[: P.shape[1]].sum()
    assert found.value == pytest.approx(expected, abs=1e-9)


def _chain(n, *weak):
    """A path of n samples, of which some links are weak."""
    links = np.ones(n - 1)
    links[list(weak)] = 0.01
    return np.diag(links, 1) + np.diag(links, -1)


@pytest.mark.parametrize("pull", [0.0, 1e-3])
def test_a_saddle_is_left_although_the_gradient_vanishes(pull):
    """Two components: P cuts the one that is tight, and the weak link of the other is better.

    The labels are constant in the other component, so that neither its Laplacian nor the target
    has any part in a direction that would cut it.
    """
    W = np.zeros((16, 16))
    W[:8, :8], W[8:, 8:] = _chain(8), _chain(8, 3)
    L = laplacian(sp.csr_array(W))
    tight = np.linalg.eigh(L.toarray()[:8, :8])[1]
    start = np.zeros((16, 3))
    start[:8, :2], start[8:, 2] = tight[:, :2], 8**-0.5
    labels = np.repeat([0, 1, 2], [4, 4, 8])
    U, _, Vt = np.linalg.svd(start.T @ np.eye(3)[labels])
    target = pull * np.eye(3)[labels] @ (U @ Vt).T
    stays = np.vdot(start, L @ start) - 2 * np.vdot(start, target)
    found = stiefel_descent(L, target, start)
    assert found.value < stays - 0.1
    np.testing.assert_allclose(found.P.T @ found.P, np.eye(3), atol=1e-12)
    if not pull:
        assert found.value == pytest.approx(np.linalg.eigvalsh(L.toarray())[:3].sum(), abs=1e-3)
    assert stiefel_descent(L, target, found.P).n_steps == 0


def test_two_saddles_of_equal_eigenvalues_are_left_one_after_the_other():
    """The way past the first takes all that its draw has of the lower eigenspace."""
    values = np.repeat([0.0, 1.0, 2.0], [2, 5, 5])
    found = stiefel_descent(np.diag(values), np.zeros((12, 4)), np.eye(12)[:, [0, 1, 7, 8]])
    assert found.value == pytest.approx(2.0, abs=1e-6)


def test_equal_eigenvalues_divide_by_nothing():
    """The curvature along the rotations of P is zero then, and the spread no measure of it."""
    rng = np.random.default_rng(0)
    target = np.diag([1.0, 1.0, 1.0, 0.0])[:, :3]
    start = np.eye(4)[:, [0, 1, 3]]
    with np.errstate(all="raise"):
        found = diagonal_descent(np.full(4, 2.0), target, start, max_steps=100, tol=1e-9)
        turned = diagonal_descent(
            np.full(4, 2.0), target, _orthonormal(rng, 4, 3), max_steps=100, tol=1e-9
        )
    assert found.gradient_norm <= 1e-9
    assert turned.value == pytest.approx(6.0 - 2.0 * 3.0)


@pytest.mark.parametrize("seed", range(4))
def test_as_many_columns_as_samples_is_procrustes(seed):
    rng = np.random.default_rng(seed)
    L = laplacian(sp.csr_array(np.ones((7, 7)) - np.eye(7)))
    target, start = rng.normal(size=(7, 7)), _orthonormal(rng, 7, 7)
    found = stiefel_descent(L, target, start, max_steps=200, tol=1e-8)
    assert _relative_gradient(L, target, found.P) < 1e-6
    # No step leaves the half of the orthogonal matrices, by determinant, in which it starts.
    U, singular, Vt = np.linalg.svd(target)
    same_half = np.linalg.det(start) * np.linalg.det(U @ Vt) > 0
    singular[-1] *= 1 if same_half else -1
    assert found.value == pytest.approx(L.trace() - 2 * singular.sum())


def test_one_column_is_the_trust_region_problem():
    """On the sphere every local minimum but one is the global one: compare with many starts."""
    rng = np.random.default_rng(1)
    L, _, _ = _random_problem(5)
    n = L.shape[0]
    target = 0.05 * rng.normal(size=(n, 1))
    # Global: p = (L + λI)⁻¹ t with ‖p‖ = 1 and λ > −λ₁, by bisection.
    values, V = np.linalg.eigh(L.toarray())
    t = V.T @ target[:, 0]
    low, high = -values[0], np.linalg.norm(t) - values[0] + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.linalg.norm(t / (values + middle)) > 1 else (low, middle)
    best = V @ (t / (values + high))
    expected = best @ L @ best - 2 * best @ target[:, 0]
    runs = [
        stiefel_descent(L, target, _orthonormal(rng, n, 1), max_steps=200).value for _ in range(10)
    ]
    assert min(runs) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_diagonal_problem_is_solved_to_a_minimum(seed):
    rng = np.random.default_rng(seed)
    m, c = int(rng.integers(4, 40)), int(rng.integers(1, 4))
    values = np.sort(rng.random(m))
    target, P = 10.0 ** rng.uniform(-3, 1) * rng.normal(size=(m, c)), _orthonormal(rng, m, c)
    found = diagonal_descent(values, target, P, max_steps=500, tol=1e-9)
    assert found.gradient_norm <= 1e-9
    np.testing.assert_allclose(found.P.T @ found.P, np.eye(c), atol=1e-12)
    best = np.vdot(found.P, values[:, None] * found.P) - 2 * np.vdot(found.P, target)
    assert found.value == pytest.approx(best)
    for size in (1e-3, 1e-1):  # nothing nearby is lower
        near = np.linalg.qr(found.P + size * rng.normal(size=(m, c)))[0]
        near = near @ np.diag(np.sign(np.diag(near.T @ found.P)))
        assert np.vdot(near, values[:, None] * near) - 2 * np.vdot(near, target) >= best - 1e-9


def test_a_basis_of_what_directions_add():
    rng = np.random.default_rng(0)
    P = _orthonormal(rng, 12, 3)
    fresh = rng.normal(size=(12, 2))
    B = _beside(
        P, np.hstack([fresh, fresh @ rng.normal(size=(2, 2)), P[:, :1], np.zeros((12, 1))])
    )
    assert B.shape == (12, 2)
    np.testing.assert_allclose(np.hstack([P, B]).T @ np.hstack([P, B]), np.eye(5), atol=1e-12)
    np.testing.assert_allclose(B @ (B.T @ fresh) + P @ (P.T @ fresh), fresh, atol=1e-10)
    assert _beside(P, np.zeros((12, 2))).shape == (12, 0)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(("bend", "tie"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.8), (1.0, -0.8)])
def test_past_a_saddle_the_best_point_of_the_arc_is_taken(side, bend, tie):
    """In the plane there is one way beside p, and the target lets go of p for some of it."""
    L, p, v = np.array([[bend, tie], [tie, 3.0]]), np.eye(2)[:, 1:], np.eye(2)[:, :1]
    target = 0.5 * p + 1e-2 * side * v
    found = _stiefel._past_saddle(L, p, L @ p, target, 1e-6, np.random.default_rng(0), None)
    assert np.linalg.norm(found) == pytest.approx(1.0)
    heights = [
        _stiefel._value(x, L @ x, target)
        for angle in np.linspace(-np.pi, np.pi, 721)
        for x in [np.cos(angle) * p + np.sin(angle) * v]
    ]
    reached = _stiefel._value(found, L @ found, target)
    assert reached == pytest.approx(min(heights), abs=0.02)
    if not tie:  # which is stronger than the pull to the side
        assert side * found[0, 0] > 0


def test_a_target_that_holds_the_point_makes_it_a_minimum():
    L, p = np.diag(np.arange(4.0)), np.eye(4)[:, 3:]
    assert (
        _stiefel._past_saddle(L, p, L @ p, 4.0 * p, 1e-6, np.random.default_rng(0), None) is None
    )


def test_a_step_that_is_cut_short_ends_at_the_edge_of_the_trust_region():
    P, gradient = np.eye(7, 1), np.array([[0.0, 1.0, -2.0, 1.5, 3.0, -1.0, 0.5]]).T
    curvature = np.array([[0.0, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0]]).T
    taken = []
    for radius in (0.05, 0.5, 1.0, 2.0, 3.0, 100.0):
        found = _stiefel._newton_step(
            P, gradient, curvature, flat=1e3, radius=radius, tol=1e-10, max_steps=50
        )
        length = np.linalg.norm(found.step)
        assert found.at_edge == (radius < 100)
        assert length == pytest.approx(radius) if found.at_edge else length < radius
        model = np.vdot(gradient, found.step) + 0.5 * np.vdot(found.step, curvature * found.step)
        assert found.promised == pytest.approx(model)
        taken.append(found.n_steps)
    assert taken[0] == 1
    assert 2 <= taken[-2] < taken[-1]


def test_nothing_beside_a_minimum_is_taken_for_lower():
    L, p = np.diag([1.0, 1.5, 3.0]), np.eye(3, 1)
    rng = np.random.default_rng(0)
    assert _stiefel._past_saddle(L, p, L @ p, np.zeros((3, 1)), 1e-6, rng, None) is None


@pytest.mark.parametrize(("scale", "shift"), [(1e8, 0.0), (1e-8, 0.0), (1.0, -1.5), (1.0, 3.0)])
def test_neither_scale_nor_shift_of_the_values_matters(scale, shift):
    """A shift of the diagonal adds a constant to the value, as the columns have length one."""
    rng = np.random.default_rng(4)
    values, target = np.sort(rng.random(12)), 0.3 * rng.normal(size=(12, 3))
    start = np.linalg.qr(rng.normal(size=(12, 3)))[0]
    plain = diagonal_descent(values, target, start, max_steps=200, tol=1e-8)
    other = diagonal_descent(
        scale * (values + shift), scale * target, start, max_steps=200, tol=1e-8 * scale
    )
    np.testing.assert_allclose(other.P, plain.P, atol=1e-6)
    assert other.value / scale == pytest.approx(plain.value + 3 * shift, rel=1e-9)
    assert abs(other.n_steps - plain.n_steps) <= 2
