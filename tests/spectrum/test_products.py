"""The compiled step on a Laplacian, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.spectrum._products import laplacian_step


def random_graph(n: int, density: float, seed: int) -> sp.csr_array:
    W = sp.random_array(
        (n, n), density=density, random_state=np.random.default_rng(seed), format="csr"
    )
    return sp.csr_array(W + W.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_step_equals_numpy(dtype: type) -> None:
    rng = np.random.default_rng(0)
    W = random_graph(2_000, 2e-3, 0).astype(dtype)
    X, Y = rng.normal(size=(2, 2_000, 5)).astype(dtype)
    diagonal = rng.random(2_000).astype(dtype)
    expected = 2 * (diagonal[:, None] * X - W @ X) + 0.5 * X - 3 * Y
    out = laplacian_step(W, diagonal, X, Y, np.empty_like(X), scale=2, shift=0.5, keep=-3)
    np.testing.assert_allclose(out, expected, atol=1e-4 if dtype is np.float32 else 1e-12)
    laplacian_step(W, diagonal, X, Y, Y, scale=2, shift=0.5, keep=-3)
    np.testing.assert_array_equal(Y, out)


def test_a_step_in_pieces_is_the_same_step(monkeypatch) -> None:
    W, X = random_graph(50, 0.2, 2), np.random.default_rng(0).normal(size=(50, 3))
    whole = laplacian_step(W, np.ones(50), X, X, np.empty_like(X), scale=0.5, keep=2.0)
    monkeypatch.setattr("unispectral.spectrum._products._LEAST_SHARED", 0)
    monkeypatch.setattr("unispectral.spectrum._products._ROWS", 7)
    pieces = laplacian_step(
        W, np.ones(50), X, X, np.empty_like(X), scale=0.5, keep=2.0, run=Run.of(2)
    )
    np.testing.assert_array_equal(pieces, whole)
