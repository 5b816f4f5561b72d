"""Eigenvectors of Laplacians against dense LAPACK, on graphs that are easy to get wrong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

from unispectral._run import Run
from unispectral.spectrum import _eigen as eigen
from unispectral.spectrum import _subspace
from unispectral.spectrum._eigen import smallest_eigenvectors


def dense_laplacian(W: sp.csr_array, normalized: bool) -> np.ndarray:
    A = W.toarray().astype(float)
    np.fill_diagonal(A, 0)
    degrees = A.sum(axis=1)
    L = np.diag(degrees) - A
    if normalized:
        scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
        L = scale[:, None] * L * scale
    return L


def knn(X: np.ndarray, k: int = 10) -> sp.csr_array:
    W = kneighbors_graph(X, k)
    return sp.csr_array((W + W.T) / 2)


def random_graph(n: int, density: float, seed: int) -> sp.csr_array:
    W = sp.random_array(
        (n, n), density=density, random_state=np.random.default_rng(seed), format="csr"
    )
    W = sp.csr_array(W + W.T)
    W.setdiag(0)
    W.eliminate_zeros()
    return W


def check(W: sp.csr_array, count: int, normalized: bool, accuracy: float = 1e-6) -> None:
    found = smallest_eigenvectors(W, count, normalized=normalized)
    L = dense_laplacian(W, normalized)
    expected = scipy.linalg.eigvalsh(L)[:count]
    scale = max(1.0, expected[-1])
    np.testing.assert_allclose(found.values, expected, atol=accuracy * scale)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-5)
    actual = np.linalg.norm(L @ found.vectors - found.vectors * found.values, axis=0).max()
    assert actual <= max(2 * found.residual, 1e-5 * scale)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("count", [1, 10, 30])
def test_connected_graph_equals_lapack(normalized: bool, count: int) -> None:
    check(knn(load_digits().data), count, normalized)


@pytest.mark.parametrize("normalized", [True, False])
def test_eleven_components_have_eleven_null_vectors(normalized: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = [*range(60, 260, 20), 700]
    blobs = [rng.normal(size=(m, 4)) + 100 * i for i, m in enumerate(sizes)]
    W = knn(np.vstack(blobs))
    found = smallest_eigenvectors(W, 14, normalized=normalized)
    assert found.n_components == 11
    assert (found.values[:11] == 0).all()
    assert found.values[11] > 1e-4
    assert np.abs(dense_laplacian(W, normalized) @ found.vectors[:, :11]).max() < 1e-12
    check(W, 14, normalized)


def test_more_components_than_vectors_takes_the_largest() -> None:
    sizes = [3, 9, 5, 7]
    W = sp.csr_array(sp.block_diag([np.ones((m, m)) for m in sizes]))
    found = smallest_eigenvectors(W, 2)
    assert found.n_components == 4
    support = [np.flatnonzero(column).tolist() for column in found.vectors.T]
    assert support == [list(range(3, 12)), list(range(17, 24))]


def test_isolated_nodes_are_components_of_their_own() -> None:
    W = sp.block_diag([knn(np.random.default_rng(0).normal(size=(500, 3))), sp.csr_array((5, 5))])
    W = sp.csr_array(W)
    found = smallest_eigenvectors(W, 10)
    assert found.n_components == 6
    assert (found.values[:6] == 0).all()
    check(W, 10, True)
    check(W, 10, False)


def test_a_graph_without_edges() -> None:
    found = smallest_eigenvectors(sp.csr_array((4, 4)), 3)
    assert found.n_components == 4
    assert found.values.tolist() == [0, 0, 0]
    assert np.linalg.matrix_rank(found.vectors) == 3


@pytest.mark.parametrize("normalized", [True, False])
def test_multiple_eigenvalues_are_all_found(normalized: bool) -> None:
    # A cycle has every eigenvalue twice; the star has one eigenvalue n − 2 times.
    n = 900
    around = np.arange(n)
    cycle = sp.csr_array((np.ones(n), (around, (around + 1) % n)), shape=(n, n))
    check(sp.csr_array(cycle + cycle.T), 7, normalized, accuracy=1e-8)
    star = sp.lil_array((600, 600))
    star[0, 1:] = 1
    check(sp.csr_array(star + star.T), 5, normalized)


def test_long_thin_clusters() -> None:
    X, _ = make_moons(3_000, noise=0.02, random_state=0)
    check(knn(X), 6, True, accuracy=1e-7)


def test_the_subspace_is_right_and_not_only_the_values() -> None:
    W = knn(load_digits().data)
    _, exact = scipy.linalg.eigh(dense_laplacian(W, True), subset_by_index=(0, 9))
    found = smallest_eigenvectors(W, 10)
    sines = 1 - np.linalg.svd(exact.T @ found.vectors, compute_uv=False) ** 2
    assert sines.max() < 1e-6


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(0)
    W = knn(rng.normal(size=(9_000, 3)), 6)
    found = [smallest_eigenvectors(W, 5, rng=3, run=Run.of(jobs)) for jobs in (1, 2)]
    assert (found[0].vectors == found[1].vectors).all()


def test_a_good_start_gives_the_same_space() -> None:
    W = knn(load_digits().data)
    cold = smallest_eigenvectors(W, 10)
    warm = smallest_eigenvectors(W, 10, start=cold.vectors)
    overlap = np.linalg.svd(cold.vectors.T @ warm.vectors, compute_uv=False)
    assert overlap.min() > 1 - 1e-4


def test_the_block_starts_a_similar_graph_with_less_work(monkeypatch) -> None:
    from unispectral.spectrum import _products as _spmm

    steps = []
    step = _spmm.laplacian_step
    monkeypatch.setattr(_spmm, "laplacian_step", lambda *a, **k: steps.append(1) or step(*a, **k))
    rng = np.random.default_rng(0)
    W = knn(rng.normal(size=(3_500, 8)))
    cold = smallest_eigenvectors(W, 6)
    work = len(steps)
    similar = sp.csr_array(W.multiply(1 + 0.05 * rng.random(W.shape[0])[:, None]))
    similar = sp.csr_array((similar + similar.T) / 2)
    warm = smallest_eigenvectors(similar, 6, start=cold.block)
    assert len(steps) - work < 0.7 * work
    exact = scipy.linalg.eigvalsh(dense_laplacian(similar, True), subset_by_index=(0, 5))
    np.testing.assert_allclose(warm.values, exact, atol=1e-6)


def test_scale_of_the_weights_does_not_matter() -> None:
    W = knn(load_digits().data)
    small = smallest_eigenvectors(sp.csr_array(W * 1e-7), 6, normalized=False)
    large = smallest_eigenvectors(sp.csr_array(W * 1e9), 6, normalized=False)
    np.testing.assert_allclose(small.values * 1e16, large.values, rtol=1e-4, atol=1e4)


def test_too_few_passes_warn_with_the_residual() -> None:
    W = knn(load_digits().data)
    with pytest.warns(ConvergenceWarning, match="residual"):
        found = smallest_eigenvectors(W, 10, max_iter=1, tol=1e-12)
    assert found.residual > 1e-12


def test_explicit_zeros_and_the_diagonal_do_not_connect() -> None:
    A = np.kron(np.eye(2), np.ones((3, 3)))
    W = sp.coo_array(A)
    extra = sp.coo_array(([0.0, 0.0], ([0, 3], [3, 0])), shape=A.shape)
    joined = sp.csr_array(
        (
            np.r_[W.data, extra.data],
            (np.r_[W.row, extra.row], np.r_[W.col, extra.col]),
        ),
        shape=A.shape,
    )
    before = joined.copy()
    assert smallest_eigenvectors(joined, 2).n_components == 2
    assert joined.nnz == before.nnz
    assert (joined.data == before.data).all()


@pytest.mark.parametrize(
    ("W", "count", "match"),
    [
        (sp.csr_array((2, 3)), 1, "square"),
        (sp.csr_array((3, 3)), 4, "n_vectors=4"),
        (sp.csr_array(-np.ones((3, 3))), 1, "negative"),
        (sp.csr_array(np.full((3, 3), np.nan)), 1, "non-finite"),
    ],
)
def test_bad_graphs_are_refused(W: sp.csr_array, count: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        smallest_eigenvectors(W, count)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 40),
    density=st.floats(0.0, 0.5),
    seed=st.integers(0, 10**6),
    normalized=st.booleans(),
    data=st.data(),
)
def test_any_small_graph(n, density, seed, normalized, data) -> None:
    check(random_graph(n, density, seed), data.draw(st.integers(1, n)), normalized)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), density=st.floats(0.005, 0.05), normalized=st.booleans())
def test_the_block_method_on_random_graphs(seed, density, normalized) -> None:
    W = random_graph(eigen.DENSE_NODES + 100, density, seed)
    check(W, 6, normalized, accuracy=1e-5)


@pytest.mark.parametrize("normalized", [True, False])
def test_large_graphs_start_from_their_guess(normalized: bool, monkeypatch) -> None:
    monkeypatch.setattr(_subspace, "_LARGE", 100)
    rng = np.random.default_rng(0)
    blobs = [rng.normal(size=(m, 3)) + 100 * i for i, m in enumerate((700, 500, 90))]
    W = sp.csr_array(sp.block_diag([knn(np.vstack(blobs)), sp.csr_array((2, 2))]))
    mixed = rng.permutation(W.shape[0])
    W = sp.csr_array(W[mixed][:, mixed])
    check(W, 9, normalized, accuracy=1e-5)
    found = smallest_eigenvectors(W, 9, normalized=normalized)
    assert found.n_components == 5
    again = smallest_eigenvectors(W, 9, normalized=normalized, start=found.block)
    np.testing.assert_allclose(again.values, found.values, atol=1e-6)


def test_a_good_start_needs_no_filter_in_a_large_graph(monkeypatch) -> None:
    monkeypatch.setattr(_subspace, "_LARGE", 100)
    W = knn(load_digits().data)
    found = smallest_eigenvectors(W, 8)

    def refuse(*_: object) -> None:
        raise AssertionError("the start was good enough")

    monkeypatch.setattr(_subspace, "_filter", refuse)
    again = smallest_eigenvectors(W, 8, start=found.block, tol=1e-3)
    np.testing.assert_allclose(again.values, found.values, atol=1e-6)


def test_whole_numbers_are_weights_too() -> None:
    W = sp.csr_array((random_graph(20, 0.3, 0) > 0).astype(np.int64))
    whole, real = smallest_eigenvectors(W, 3), smallest_eigenvectors(W.astype(float), 3)
    np.testing.assert_array_equal(whole.vectors, real.vectors)


def test_single_precision_weights_in_double_precision() -> None:
    """Beyond the rounding of single precision the iteration goes on in double."""
    W = random_graph(700, 0.02, 0).astype(np.float32)
    found = smallest_eigenvectors(W, 4, tol=1e-8)
    exact = np.linalg.eigvalsh(dense_laplacian(W, True))[:4]
    np.testing.assert_allclose(found.values, exact, atol=1e-7)


def test_a_start_that_says_nothing_is_drawn_anew() -> None:
    W = random_graph(700, 0.02, 1)
    found = smallest_eigenvectors(W, 4, start=np.ones((700, 12)))
    exact = np.linalg.eigvalsh(dense_laplacian(W, True))[:4]
    np.testing.assert_allclose(found.values, exact, atol=1e-3)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-5)
