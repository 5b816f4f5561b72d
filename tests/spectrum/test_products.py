"""The compiled step on a Laplacian, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.spectrum._products import laplacian_step, smoothing_step


def random_graph(n: int, density: float, seed: int) -> sp.csr_array:
    W = sp.random_array(
        (n, n), density=density, random_state=np.random.default_rng(seed), format="csr"
    )
    return sp.csr_array(W + W.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [4, 5])
def test_one_step_equals_numpy(dtype: type, width: int) -> None:
    rng = np.random.default_rng(0)
    W = random_graph(2_000, 2e-3, 0).astype(dtype)
    X, Y = rng.normal(size=(2, 2_000, width)).astype(dtype)
    diagonal = rng.random(2_000).astype(dtype)
    expected = 2 * (diagonal[:, None] * X - W @ X) + 0.5 * X - 3 * Y
    out = laplacian_step(W, diagonal, X, Y, np.empty_like(X), scale=2, shift=0.5, keep=-3)
    np.testing.assert_allclose(out, expected, atol=1e-4 if dtype is np.float32 else 1e-12)
    laplacian_step(W, diagonal, X, Y, Y, scale=2, shift=0.5, keep=-3)
    np.testing.assert_array_equal(Y, out)


def test_a_step_in_pieces_is_the_same_step(monkeypatch) -> None:
    W, X = random_graph(50, 0.2, 2), np.random.default_rng(0).normal(size=(50, 3))
    whole = laplacian_step(W, np.ones(50), X, X, np.empty_like(X), scale=0.5, keep=2.0)
    monkeypatch.setattr("unispectral.spectrum._products._MANY", 0)
    monkeypatch.setattr("unispectral.spectrum._products._ROWS", 7)
    pieces = laplacian_step(
        W, np.ones(50), X, X, np.empty_like(X), scale=0.5, keep=2.0, run=Run.of(2)
    )
    np.testing.assert_array_equal(pieces, whole)


@pytest.mark.parametrize("width", [3, 4])
def test_a_smoothing_step_equals_numpy(width: int) -> None:
    rng = np.random.default_rng(1)
    W, diagonal = random_graph(50, 0.2, 3), rng.random(50)
    step, rest, X = rng.normal(size=(3, 50, width))
    left = rest - (diagonal[:, None] * step - W @ step)
    following = 0.3 * step + 0.7 * left
    total = X + following
    found = smoothing_step(W, diagonal, step, rest, X, 0.3, 0.7)
    np.testing.assert_allclose(found, following, atol=1e-12)
    np.testing.assert_allclose(rest, left, atol=1e-12)
    np.testing.assert_allclose(X, total, atol=1e-12)


def test_rows_of_four_have_the_bits_of_longer_ones() -> None:
    """They have loops of their own, with the same sums in the same order."""
    rng = np.random.default_rng(4)
    W, diagonal = random_graph(300, 0.05, 5).astype(np.float32), rng.random(300, np.float32)
    step, rest, X = rng.standard_normal((3, 300, 5), dtype=np.float32)
    few = [np.ascontiguousarray(one[:, :4]) for one in (step, rest, X)]
    named = {"scale": 0.7, "shift": 0.2, "keep": 0.1}
    expected = laplacian_step(W, diagonal, step, rest, np.empty_like(X), **named)
    found = laplacian_step(W, diagonal, *few[:2], np.empty_like(few[2]), **named)
    np.testing.assert_array_equal(found, expected[:, :4])
    expected = smoothing_step(W, diagonal, step, rest, X, 0.3, 0.7)
    found = smoothing_step(W, diagonal, *few, 0.3, 0.7)
    for one, other in zip((found, *few[1:]), (expected, rest, X), strict=True):
        np.testing.assert_array_equal(one, other[:, :4])
