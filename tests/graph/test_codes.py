"""The Z-step against independent convex solvers, and its optimality over all samples."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from unispectral._run import Run
from unispectral.graph import _loops, codes


def random_kernel(n, rank, seed, nonnegative=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rank))
    X = np.abs(X) if nonnegative else X
    return X @ X.T + 0.01 * np.eye(n)


def oracle(K, i, penalty):
    """The same problem by SciPy: with K = RᵀR it is ‖R z − t‖², Rᵀt = K_i − penalty/2."""
    keep = np.delete(np.arange(len(K)), i)
    R = np.linalg.cholesky(K[np.ix_(keep, keep)]).T
    target = np.linalg.solve(R.T, K[keep, i] - penalty[keep] / 2)
    z = np.zeros(len(K))
    z[keep] = nnls(R, target, maxiter=10_000)[0]
    return z


def value(K, i, penalty, z):
    return z @ K @ z - 2 * K[i] @ z + penalty @ z


@settings(max_examples=40, deadline=None)
@given(
    st.integers(3, 40),
    st.integers(1, 10),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.sampled_from([0.0, 0.5]),
)
def test_codes_are_the_optimum_of_an_independent_solver(n, rank, seed, nonnegative, alpha, beta):
    K = random_kernel(n, rank, seed, nonnegative)
    P = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, 2)))[0]
    found = codes(K, alpha, beta=beta, embedding=P, tol=1e-8)
    Z = found.matrix.toarray()
    assert (Z >= 0).all()
    assert (np.diagonal(Z) == 0).all()
    # The paper's equation 10, in so many words.
    penalties = alpha + 0.5 * beta * ((P[:, None] - P[None]) ** 2).sum(axis=2)
    for i in range(n):
        best = oracle(K, i, penalties[i])
        assert value(K, i, penalties[i], Z[i]) <= value(K, i, penalties[i], best) + 1e-6 * K[i, i]
    assert found.residual <= 1e-6


def test_optimality_holds_over_all_samples():
    K = random_kernel(120, 6, 3)
    found = codes(K, 0.05)
    Z = found.matrix.toarray()
    gradient = Z @ K - K + 0.025
    np.fill_diagonal(gradient, 0.0)
    scale = np.diagonal(K)[:, None]
    assert (gradient / scale >= -1.01e-6).all()
    assert np.abs((gradient / scale)[Z > 0]).max() <= 1.01e-6


def test_ridge_is_added_to_the_diagonal_of_the_quadratic_term():
    K = random_kernel(30, 5, 1)
    shifted = K + 0.5 * np.diag(np.diagonal(K))
    Z = codes(K, 0.1, ridge=0.5, tol=1e-9).matrix.toarray()
    for i in range(30):
        keep = np.delete(np.arange(30), i)
        gradient = shifted[np.ix_(keep, keep)] @ Z[i, keep] - K[i, keep] + 0.05
        assert gradient.min() >= -1e-6 * K[i, i]


def test_a_warm_start_changes_nothing_but_the_work():
    K = random_kernel(80, 5, 2)
    cold = codes(K, 0.02, tol=1e-9)
    warm = codes(K, 0.02, start=cold.matrix, tol=1e-9)
    assert warm.passes <= cold.passes
    np.testing.assert_allclose(warm.matrix.toarray(), cold.matrix.toarray(), atol=1e-6)


def test_duplicates_and_nearly_constant_kernels_are_solved_to_tolerance():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 4, axis=0)
    squared = ((X[:, None] - X[None]) ** 2).sum(-1)
    for width in (1.0, 1e4):
        found = codes(np.exp(-squared / width), 0.01)
        assert found.residual <= 1e-6


def test_each_sample_may_have_its_own_price():
    K = random_kernel(25, 4, 5)
    alpha = np.linspace(0.0, 1.0, 25)
    Z = codes(K, alpha, tol=1e-9).matrix.toarray()
    one = codes(K, float(alpha[7]), tol=1e-9).matrix.toarray()
    np.testing.assert_allclose(Z[7], one[7], atol=1e-8)


def test_thread_count_and_precision():
    K = random_kernel(150, 6, 4)
    one = codes(K, 0.05, run=Run.of(1)).matrix
    two = codes(K, 0.05, run=Run.of(2)).matrix
    assert (one != two).nnz == 0
    single = codes(K.astype(np.float32), 0.05).matrix
    assert abs(single - one).max() < 1e-2


def test_blocks_with_all_candidates_are_the_exact_codes():
    K = random_kernel(40, 5, 6)
    n = len(K)
    neighbours = np.array([np.delete(np.arange(n), i) for i in range(n)])
    near = K[np.arange(n)[:, None], neighbours]
    among = K[neighbours[:, :, None], neighbours[:, None, :]]
    z = np.zeros_like(near)
    valid = np.ones(near.shape, dtype=bool)
    penalties = np.full_like(near, 0.1)
    residual = _loops.solve_blocks(
        among, near, np.diagonal(K).copy(), penalties, valid, 0.0, z, 1e-9
    )
    exact = codes(K, 0.1, tol=1e-9).matrix.toarray()
    assert residual <= 1e-8
    np.testing.assert_allclose(z, exact[np.arange(n)[:, None], neighbours], atol=1e-7)


@pytest.mark.parametrize("k", [3, 8, 40, 41])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_blocks_are_solved_as_by_nonnegative_least_squares(k, ridge):
    """41 candidates are more than pivoting takes: both ways of :func:`solve_blocks` are met."""
    rng = np.random.default_rng(k)
    roots = rng.normal(size=(20, k + 4, k))
    among = np.matmul(roots.transpose(0, 2, 1), roots)
    near, penalties = rng.normal(size=(2, 20, k)) * [[[3.0]], [[1.0]]]
    z = np.full((20, k), np.nan)
    own = np.full(20, 5.0)
    valid = np.ones((20, k), dtype=bool)
    residual = _loops.solve_blocks(among, near, own, penalties, valid, ridge, z, 1e-9)
    assert residual <= 1e-9
    for H, linear, code in zip(among, near - 0.5 * penalties, z, strict=True):
        H = H + ridge * np.diag(np.diagonal(H))
        root = np.linalg.cholesky(H).T
        expected = nnls(root, np.linalg.solve(root.T, linear))[0]
        np.testing.assert_allclose(code, expected, atol=1e-7)


def test_blocks_of_repeated_samples_are_optimal():
    """Their kernels are singular, and many codes are as good as each other."""
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(30, 2, 3)), 4, axis=1)
    among = np.matmul(points, points.transpose(0, 2, 1))
    near = np.einsum("bkd,bd->bk", points, rng.normal(size=(30, 3)))
    own, z = np.einsum("bkd,bkd->bk", points, points).max(axis=1), np.empty(near.shape)
    valid = np.ones(near.shape, dtype=bool)
    residual = _loops.solve_blocks(among, near, own, np.full_like(near, 0.01), valid, 0.0, z, 1e-6)
    gradient = np.einsum("bij,bj->bi", among, z) - near + 0.005
    assert residual <= 1e-6
    assert (z >= 0).all()
    assert (np.minimum(gradient, 0) >= -2e-6 * own[:, None]).all()
    assert (np.abs(gradient) * (z > 0) <= 2e-6 * own[:, None]).all()


def test_blocks_that_are_not_positive_semidefinite_get_finite_codes():
    among = np.array([[[1.0, 2.0], [2.0, 1.0]]])
    z, ones = np.full((1, 2), np.nan), np.ones((1, 2))
    _loops.solve_blocks(among, ones, np.ones(1), 0.1 * ones, ones > 0, 0.0, z, 1e-6)
    assert np.isfinite(z).all()
    assert (z >= 0).all()


def test_padding_is_never_used():
    K = random_kernel(10, 3, 0)
    near = K[:1, 1:5].copy()
    among = K[None, 1:5, 1:5].copy()
    valid = np.array([[True, False, True, False]])
    z = np.full((1, 4), 0.5)
    _loops.solve_blocks(among, near, K[:1, 0].copy(), np.zeros((1, 4)), valid, 0.0, z, 1e-9)
    assert z[0, 1] == z[0, 3] == 0.0


def test_zero_kernel_gives_an_empty_graph():
    assert codes(np.zeros((6, 6)), 0.1).matrix.nnz == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_the_codes_leave_is_the_trace(dtype):
    K = random_kernel(30, 5, 1).astype(dtype)
    found = codes(K, 0.05, ridge=0.2)
    Z = found.matrix.toarray().T
    exact = np.diag(K) - 2 * np.sum(K * Z, axis=0) + np.sum(Z * (K @ Z), axis=0)
    np.testing.assert_allclose(found.left, exact, atol=1e-5 if dtype == np.float32 else 1e-10)


def test_small_problem_oracle():
    rng = np.random.default_rng(0)
    for _ in range(20):
        m = int(rng.integers(1, 12))
        A = rng.normal(size=(m + 2, m))
        t = rng.normal(size=m + 2)
        z = np.zeros(m)
        failure = _loops.solve_small(A.T @ A, A.T @ t, z, 1e-10)
        assert failure <= 1e-10
        np.testing.assert_allclose(z, nnls(A, t)[0], atol=1e-7)


def test_long_codes_of_nearly_parallel_samples():
    """Hundreds of non-zeros on a block of condition 1e8, where coordinate descent alone creeps."""
    rng = np.random.default_rng(0)
    mixing = np.abs(rng.normal(size=(120, 120))) * np.logspace(0, -4, 120)
    A = 1.0 + mixing @ rng.normal(size=(120, 120))
    target = A @ np.abs(rng.normal(size=120))
    H, g = A.T @ A, A.T @ target
    scale = H[0, 0]
    z = np.zeros(120)
    failure = _loops.solve_small(H / scale, g / scale, z, 1e-8)
    assert failure <= 1e-8
    assert np.count_nonzero(z) > 40
    exact = nnls(A, target)[0]
    error = np.linalg.norm(A @ (z - exact)) / np.linalg.norm(target)
    assert error < 1e-5


def test_without_an_embedding_there_is_no_spectral_price():
    K = random_kernel(12, 4, 8)
    plain, priced = codes(K, 0.2), codes(K, 0.2, beta=1.0)
    assert sp.issparse(plain.matrix)
    assert (plain.matrix != priced.matrix).nnz == 0
    with pytest.raises(ValueError, match="broadcast"):
        codes(np.eye(3), np.ones(2))


def test_a_value_that_rounds_to_zero_does_not_enter_twice():
    """It once was appended beyond the end of the support, which corrupted memory."""
    H, g, z = np.diag([1.0, 1e30]), np.array([1.0, 1e10]), np.ones(2)
    assert _loops.solve_small(H, g, z, 1e-6) <= 1e-6
    np.testing.assert_allclose(z, [1.0, 1e-20])
    append = getattr(_loops._append, "py_func", _loops._append)
    assert not append(np.eye(2), 1, np.array([0, 1]), 2, np.eye(2))


def test_the_factor_follows_coordinates_in_and_out():
    """Cholesky's factor of what is left, after any one coordinate has gone."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 9))
    H = root @ root.T
    append = getattr(_loops._append, "py_func", _loops._append)
    remove = getattr(_loops._remove, "py_func", _loops._remove)
    for place in range(6):
        support, factor = np.empty(6, dtype=np.int64), np.zeros((6, 6))
        for size, j in enumerate(rng.permutation(6)):
            assert append(H, j, support, size, factor)
        remove(place, support, 6, factor, np.empty(6), np.empty(6))
        left = support[:5]
        lower = np.tril(factor[:5, :5])
        np.testing.assert_allclose(lower @ lower.T, H[np.ix_(left, left)], rtol=1e-9)


@pytest.mark.parametrize(
    ("H", "g", "start", "best"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0]),  # one without curvature
        ([[1.0]], [-1.0], [1.0], [0.0]),  # all that the start brings has to go
        ([[1.0, 0.5], [0.5, 1.0]], [-1.0, -2.0], [3.0, 1.0], [0.0, 0.0]),
        ([[2.0, 1.0], [1.0, 2.0]], [1.0, 1.0], [5.0, 0.0], [1 / 3, 1 / 3]),
    ],
)
def test_small_problems_at_their_edges(H, g, start, best):
    z = np.array(start)
    assert _loops.solve_small(np.array(H), np.array(g), z, 1e-10) <= 1e-10
    np.testing.assert_allclose(z, best, atol=1e-9)


@pytest.mark.parametrize("start", [[0.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
def test_an_indefinite_block_leaves_a_feasible_point_that_is_no_worse(start):
    """K need not be a kernel: the objective has no minimum then, and the loop still ends."""
    H, g, z = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([1.0, 1.0]), np.array(start)

    def value(z):
        return 0.5 * z @ H @ z - g @ z

    failure = _loops.solve_small(H, g, z, 1e-10)
    assert np.isfinite(failure)
    assert (z >= 0).all()
    assert value(z) <= value(np.array(start))


def test_a_tolerance_that_cannot_be_met_ends_at_the_optimum():
    rng = np.random.default_rng(5)
    A, t, z = rng.normal(size=(9, 6)), rng.normal(size=9), np.zeros(6)
    failure = _loops.solve_small(A.T @ A, A.T @ t, z, -1.0)
    assert 0.0 <= failure < 1e-9
    np.testing.assert_allclose(z, nnls(A, t)[0], atol=1e-7)


def test_a_start_may_use_what_is_screened_out():
    K = random_kernel(15, 3, 2)
    cold = codes(K, 0.8, tol=1e-9)
    everything = sp.csr_array(np.full((15, 15), 0.1) - 0.1 * np.eye(15))
    assert ((K - 0.4 <= 0) & ~np.eye(15, dtype=bool)).any()
    warm = codes(K, 0.8, start=everything, tol=1e-9)
    assert abs(warm.matrix - cold.matrix).max() < 1e-6


def test_codes_of_all_samples_find_room():
    """More non-zeros than the space that is set aside for them at first."""
    n = 80
    K = 0.5 + 0.5 * np.eye(n)
    found = codes(K, 0.0, ridge=10.0, tol=1e-9).matrix
    assert found.nnz == n * (n - 1)
    H = K[1:, 1:] + 10.0 * np.eye(n - 1)
    np.testing.assert_allclose(found.toarray()[0, 1:], np.linalg.solve(H, K[0, 1:]), rtol=1e-6)


@pytest.mark.parametrize("rounds", [1, 50])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_the_residual_tells_what_too_few_rounds_leave(rounds, scale, monkeypatch):
    """Compiled code has its own number of rounds; what is said of the codes holds anyway."""
    monkeypatch.setattr(_loops, "_ROUNDS", rounds)
    K = scale * random_kernel(60, 30, 4)
    found = codes(K, 0.01 * scale, tol=1e-9)
    Z = found.matrix.toarray()
    gradient = Z @ K - K + 0.5 * 0.01 * scale
    failure = np.where(Z > 0, np.abs(gradient), -gradient)
    np.fill_diagonal(failure, 0.0)
    worst = float((failure.max(axis=1) / np.diag(K)).max())
    assert found.residual == pytest.approx(worst, rel=1e-3, abs=1e-8)


def test_missing_neighbours_are_far_away_and_last():
    from unispectral.graph import _select

    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    keys, found = np.empty((2, 4)), np.empty((2, 4), dtype=np.int32)
    norms, ids = (X**2).sum(axis=1), np.arange(3, dtype=np.int32)
    _select.select_smallest(X[:2] @ X.T, norms, ids, np.array([0, -1], np.int32), 4, keys, found)
    assert np.isinf(keys[found < 0]).all()
    assert sorted(found[0].tolist()) == [-1, -1, 1, 2]
    distances = np.empty((2, 4))
    _select.exact_dense(X[:2], X, found, distances)
    sparse, again = sp.csr_array(X), np.empty((2, 4))
    _select.exact_sparse(
        sparse.indptr, sparse.indices, sparse.data, 0,
        sparse.indptr, sparse.indices, sparse.data, 2, found, again,
    )  # fmt: skip
    np.testing.assert_allclose(again, distances)
    _select.sort_rows(distances, found)
    assert found.tolist() == [[2, 1, -1, -1], [1, 2, 0, -1]]
    np.testing.assert_allclose(distances[1], [0.0, 18.0, 25.0, np.inf])
