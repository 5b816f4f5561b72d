"""Eigenvectors of planar graphs by a factorisation, against LAPACK and against the filter."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from unispectral._run import Run
from unispectral.spectrum import _direct, _eigen, laplacian
from unispectral.spectrum._direct import factorises_well, shift_invert
from unispectral.spectrum._eigen import smallest_eigenvectors
from unispectral.spectrum._subspace import Part, Wanted


def knn(X: np.ndarray, k: int = 8) -> sp.csr_array:
    W = kneighbors_graph(X, k)
    return sp.csr_array((W + W.T) / 2)


def plane(n: int, parts: int = 1, seed: int = 0) -> sp.csr_array:
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return knn(X + 100.0 * (np.arange(n) % parts)[:, None])


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("n", "parts"), [(900, 1), (3_500, 1), (3_500, 3)])
def test_planar_graphs_equal_lapack(
    n: int, parts: int, normalized: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    W = plane(n, parts)
    assert factorises_well(W)
    monkeypatch.setattr(_eigen, "filter_subspace", None)  # the factorisation must do it alone
    found = smallest_eigenvectors(W, 7, normalized=normalized)
    L = laplacian(W, normalized=normalized).toarray()
    values, vectors = scipy.linalg.eigh(L, subset_by_index=(0, 6))
    np.testing.assert_allclose(found.values, values, atol=1e-8)
    assert np.linalg.svd(vectors.T @ found.vectors, compute_uv=False).min() > 1 - 1e-6
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(7), atol=1e-8)
    actual = np.linalg.norm(L @ found.vectors - found.vectors * found.values, axis=0).max()
    assert actual <= 2 * found.residual + 1e-10


def test_the_profile_tells_a_plane_from_many_dimensions() -> None:
    rng = np.random.default_rng(0)
    assert factorises_well(plane(2_000))
    assert factorises_well(plane(20_000))
    assert not factorises_well(knn(load_digits().data))
    assert not factorises_well(knn(rng.normal(size=(5_000, 6))))
    assert not factorises_well(sp.csr_array((500, 500)))


def test_very_large_graphs_are_left_to_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    W = plane(600)
    monkeypatch.setattr(_direct, "_MAX_NODES", 599)
    assert not factorises_well(W)


def test_nodes_without_edges_do_not_disturb_the_profile() -> None:
    W = sp.block_diag([plane(500), sp.csr_array((3, 3))], format="csr")
    assert factorises_well(sp.csr_array(W))


def test_parts_that_hardly_hang_together() -> None:
    """Ten parts joined by edges of 1e-9: nine eigenvalues are far below the shift."""
    W = plane(1_000, 10).tolil()
    for part in range(9):
        W[part, part + 1] = W[part + 1, part] = 1e-9
    W = sp.csr_array(W)
    exact = scipy.linalg.eigvalsh(laplacian(W, normalized=True).toarray(), subset_by_index=(0, 11))
    np.testing.assert_allclose(smallest_eigenvectors(W, 12).values, exact, atol=1e-9)


def test_pairs_that_are_not_good_enough_are_refused() -> None:
    W = plane(900)
    part = Part(W, np.asarray(W.sum(axis=1)).ravel(), True)
    assert shift_invert(part, Wanted(5, 2e-4, 60, np.random.default_rng(0))) is not None
    assert shift_invert(part, Wanted(5, 1e-18, 60, np.random.default_rng(0))) is None


@pytest.mark.parametrize("side", [30, 40])
@pytest.mark.parametrize("seed", [0, 1])
def test_equal_eigenvalues_that_lanczos_misses_are_found(side: int, seed: int) -> None:
    """A torus has each eigenvalue four times, of which one vector may show three."""
    number = np.arange(side**2).reshape(side, side)
    right, below = np.roll(number, 1, axis=1), np.roll(number, 1, axis=0)
    ends = np.r_[right.ravel(), below.ravel()]
    W = sp.csr_array((np.ones(2 * side**2), (np.tile(number.ravel(), 2), ends)))
    W = sp.csr_array(W + W.T)
    assert factorises_well(W)
    exact = scipy.linalg.eigvalsh(laplacian(W, normalized=True).toarray(), subset_by_index=(0, 8))
    found = smallest_eigenvectors(W, 9, rng=seed)
    np.testing.assert_allclose(found.values, exact, atol=1e-6)


def test_lanczos_that_does_not_end_is_left_to_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    W = plane(900)
    expected = smallest_eigenvectors(W, 6).values
    monkeypatch.setattr(_direct, "_RESTARTS", 1)
    monkeypatch.setattr(_direct, "_TOL", 1e-15)
    np.testing.assert_allclose(smallest_eigenvectors(W, 6).values, expected, atol=1e-6)


def test_threads_do_not_change_a_bit() -> None:
    W = plane(5_000)
    found = [smallest_eigenvectors(W, 5, rng=3, run=Run.of(jobs)) for jobs in (1, 2)]
    assert (found[0].vectors == found[1].vectors).all()
