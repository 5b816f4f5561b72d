"""Aggregates of a graph, and eigenvectors that start from them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from unispectral.spectrum import _direct as direct
from unispectral.spectrum import _subspace as subspace
from unispectral.spectrum import smallest_eigenvectors
from unispectral.spectrum._coarse import aggregated


def strip(n: int) -> tuple[sp.csr_array, np.ndarray]:
    """The neighbours of points in two long strips that touch at one end."""
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(0, 60, n), rng.uniform(0, 1, n)])
    points[n // 2 :, 1] += 1.8
    points[(points[:, 0] < 0.5) & (points[:, 1] > 1), 1] -= 0.8
    W = sp.csr_array(kneighbors_graph(points, 8))
    return sp.csr_array((W + W.T) / 2), np.arange(n) >= n // 2


def test_a_galerkin_product_that_keeps_the_null_vector() -> None:
    W, _ = strip(600)
    null = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    null /= np.linalg.norm(null)
    T, small = aggregated(W, null)
    assert T.shape[1] < 150
    np.testing.assert_allclose((T.T @ T).toarray(), np.eye(T.shape[1]), atol=1e-12)
    np.testing.assert_allclose(T @ (T.T @ null), null, atol=1e-12)
    np.testing.assert_allclose(small.toarray(), (T.T @ W @ T).toarray(), atol=1e-12)


@pytest.mark.parametrize("factorised", [0, 3_000])
def test_vectors_from_a_coarser_graph_separate_the_strips(monkeypatch, factorised) -> None:
    """The coarser graph is solved by its own coarser graphs, or by a factorisation."""
    W, strips = strip(6_000)
    exact = smallest_eigenvectors(W, 2, tol=2e-4)
    monkeypatch.setattr(direct, "_MAX_NODES", factorised)
    monkeypatch.setattr(subspace, "COARSE_NODES", 1_000)
    monkeypatch.setattr(subspace, "_MOST_STEPS", 0)
    coarse = smallest_eigenvectors(W, 2, tol=2e-3)
    assert coarse.values[1] == pytest.approx(exact.values[1], rel=0.2)
    side = coarse.vectors[:, 1] > 0
    assert max(np.mean(side == strips), np.mean(side != strips)) > 0.97
    assert abs(coarse.vectors[:, 1] @ exact.vectors[:, 1]) > 0.98
