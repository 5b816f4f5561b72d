"""The compiled Gaussian kernels of neighbourhoods, against distances in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from unispectral.kernels import KernelBank
from unispectral.kernels._loops import gaussian_neighbourhoods
from unispectral.labelfree import _neighbourhoods
from unispectral.labelfree._geometry import KernelDistance, KernelPart


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    return X, rng.integers(0, 300, size=(40, 6)), np.arange(100, 140)


def empty(neighbours):
    b, k = neighbours.shape
    return np.empty((b, k)), np.empty((b, k, k))


def oracle(X, rate, rows, neighbours):
    there = X.astype(np.float64)[neighbours]
    near = ((there - X.astype(np.float64)[rows][:, None, :]) ** 2).sum(axis=-1)
    among = ((there[:, :, None, :] - there[:, None, :, :]) ** 2).sum(axis=-1)
    return np.exp(rate * near), np.exp(rate * among)


def test_it_is_the_gaussian_kernel(problem):
    X, neighbours, rows = problem
    found = empty(neighbours)
    gaussian_neighbourhoods(X, -0.3, rows, neighbours, *found)
    for one, other in zip(found, oracle(X, -0.3, rows, neighbours), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_far_from_the_origin_no_digit_is_lost(problem):
    """Differences of single precision are exact where inner products have no digits left."""
    X, neighbours, rows = problem
    X = (np.round(X, 2) * 256).astype(np.float32) + np.float32(1e5)
    near, among = empty(neighbours)
    gaussian_neighbourhoods(X, -1e-6, rows, neighbours, near, among)
    expected = oracle(X, -1e-6, rows, neighbours)
    np.testing.assert_allclose(near, expected[0], rtol=1e-12)
    np.testing.assert_allclose(among, expected[1], rtol=1e-12)


@pytest.mark.parametrize("columns", [3, 9])
def test_large_tables_use_it_where_they_are_narrow(monkeypatch, columns):
    rng = np.random.default_rng(1)
    X, neighbours = rng.normal(size=(200, columns)), rng.integers(-1, 200, size=(30, 5))
    geometry = KernelDistance([KernelPart(KernelBank(X, ["linear"], normalize=())[0], 0)])
    usual, found = empty(neighbours), empty(neighbours)
    _neighbourhoods.block_kernels(geometry, -0.2, np.arange(30), neighbours, *usual)
    monkeypatch.setattr(_neighbourhoods, "SINGLE_SAMPLES", 100)
    assert (geometry.narrow_table() is None) == (columns > 8)
    _neighbourhoods.block_kernels(geometry, -0.2, np.arange(30), neighbours, *found)
    for one, other in zip(found, usual, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
