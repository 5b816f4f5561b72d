"""Aggregates of a graph, and eigenvectors that are found with their help."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

from unispectral._run import Run
from unispectral.spectrum import _direct, _eigen, _multilevel, laplacian, smallest_eigenvectors
from unispectral.spectrum._coarse import aggregate_nodes


def strip(n: int) -> tuple[sp.csr_array, np.ndarray]:
    """The neighbours of points in two long strips that touch at one end."""
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(0, 60, n), rng.uniform(0, 1, n)])
    points[n // 2 :, 1] += 1.8
    points[(points[:, 0] < 0.5) & (points[:, 1] > 1), 1] -= 0.8
    W = sp.csr_array(kneighbors_graph(points, 8))
    return sp.csr_array((W + W.T) / 2), np.arange(n) >= n // 2


def bridged(n: int, seed: int = 0) -> tuple[sp.csr_array, np.ndarray]:
    """Two rings; the first node, on its own between them, is all that joins them."""
    rng = np.random.default_rng(seed)
    sides = np.arange(n) > n // 2
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = np.where(sides, 3.0, 1.0) + rng.uniform(-0.2, 0.2, n)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    near = np.zeros((n, 8), dtype=int)
    near[1:] = 1 + kneighbors_graph(points[1:], 8).indices.reshape(n - 1, 8)
    for ring, place in enumerate((1.2, 2.8)):
        apart = np.linalg.norm(points[1:] - [place, 0.0], axis=1)
        near[0, 4 * ring : 4 * ring + 4] = 1 + np.argsort(apart)[:4]
    shape = (n, n)
    codes = sp.csr_array((np.full(8 * n, 1 / 8), near.ravel(), np.arange(0, 8 * n + 1, 8)), shape)
    return sp.csr_array((codes + codes.T) / 2), sides


def sines(one: np.ndarray, other: np.ndarray) -> float:
    """The sine of the largest angle between two subspaces."""
    cosines = np.linalg.svd(one.T @ other, compute_uv=False)
    return float(np.sqrt(max(0.0, 1 - cosines.min() ** 2)))


def test_a_galerkin_product_that_keeps_the_null_vector() -> None:
    W, _ = strip(600)
    null = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    null /= np.linalg.norm(null)
    T, small = aggregate_nodes(W, null)
    assert T.shape[1] < 150
    np.testing.assert_allclose((T.T @ T).toarray(), np.eye(T.shape[1]), atol=1e-12)
    np.testing.assert_allclose(T @ (T.T @ null), null, atol=1e-12)
    np.testing.assert_allclose(small.toarray(), (T.T @ W @ T).toarray(), atol=1e-12)


def test_a_sample_between_two_clusters_lies_in_an_aggregate_of_one_of_them() -> None:
    W, sides = bridged(2_000)
    null = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    T, _ = aggregate_nodes(W, null / np.linalg.norm(null))
    member = T.indices
    assert not set(member[1:][sides[1:]]) & set(member[1:][~sides[1:]])
    assert np.sum(member == member[0]) > 1


@pytest.fixture
def coarsened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of a thousand nodes count as very large ones, with several levels below them."""
    monkeypatch.setattr(_eigen, "LARGE_NODES", 1_000)
    monkeypatch.setattr(_direct, "_MAX_NODES", 1_000)
    monkeypatch.setattr(_multilevel, "_COARSEST_NODES", 50)


def test_vectors_through_coarser_graphs_separate_the_strips(coarsened) -> None:
    W, strips = strip(6_000)
    found = smallest_eigenvectors(W, 2, tol=2e-3)
    side = found.vectors[:, 1] > 0
    assert max(np.mean(side == strips), np.mean(side != strips)) > 0.97
    assert found.converged


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_cut_at_a_single_sample_is_found(coarsened, dtype, seed) -> None:
    """Modes along the rings have nearly as small eigenvalues as the cut between them."""
    W, sides = bridged(5_000, seed)
    expected = scipy.sparse.linalg.eigsh(laplacian(W, normalized=True), 2, sigma=-1e-6)[1]
    found = smallest_eigenvectors(sp.csr_array(W.astype(dtype)), 2, tol=2e-3)
    assert found.converged
    assert sines(found.vectors, expected) < 0.03
    same = np.mean((found.vectors[:, 1] > 0) == sides)
    assert max(same, 1 - same) > 0.99


@pytest.mark.parametrize("parts", [1, 3])
def test_precise_vectors_equal_those_of_arpack(coarsened, parts: int) -> None:
    n = 3_600
    points = np.random.default_rng(0).normal(size=(n, 2)) + 100 * (np.arange(n) % parts)[:, None]
    W = sp.csr_array(kneighbors_graph(points, 8))
    W = sp.csr_array((W + W.T) / 2)
    L = laplacian(W, normalized=True)
    values, vectors = scipy.sparse.linalg.eigsh(L, 6, sigma=-1e-6)
    found = smallest_eigenvectors(W, 6, tol=1e-6)
    np.testing.assert_allclose(found.values, values, atol=1e-8)
    assert sines(found.vectors, vectors) < 1e-4
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-6)


def test_a_guess_saves_iterations(coarsened, monkeypatch: pytest.MonkeyPatch) -> None:
    W, _ = strip(6_000)
    found = smallest_eigenvectors(W, 4, tol=2e-3)
    calls = []
    ritz = _multilevel._ritz
    monkeypatch.setattr(_multilevel, "_ritz", lambda *a: (calls.append(len(a[1])), ritz(*a))[1])
    again = smallest_eigenvectors(W, 4, tol=2e-3, start=found.block)
    assert calls == [6_000]
    assert sines(found.vectors, again.vectors) < 1e-2


def test_threads_do_not_change_a_bit_through_coarser_graphs(coarsened) -> None:
    W, _ = bridged(9_000)
    found = [smallest_eigenvectors(W, 3, tol=2e-3, rng=1, run=Run.of(jobs)) for jobs in (1, 2)]
    assert (found[0].vectors == found[1].vectors).all()


def test_vectors_that_are_not_there_yet_are_not_called_so(coarsened) -> None:
    W, _ = bridged(4_000)
    with pytest.warns(ConvergenceWarning, match="may cut it in the wrong place"):
        found = smallest_eigenvectors(W, 2, tol=2e-3, max_iter=0)
    assert not found.converged
