"""The compiled loops of the kernels, beside the plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral.kernels._features import Features
from unispectral.kernels._loops import (
    mirror,
    sparse_dots,
    sparse_pairs,
    weighted_sum,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _sparse(rng, n, d):
    return sp.csr_array(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4))


def test_dot_products_of_sparse_tables(rng):
    A, B = _sparse(rng, 9, 7), _sparse(rng, 12, 7)
    np.testing.assert_allclose(sparse_dots(A, B), A.toarray() @ B.toarray().T, atol=1e-14)
    np.testing.assert_allclose(sparse_dots(A, A), A.toarray() @ A.toarray().T, atol=1e-14)


def test_the_lower_triangle_of_many_tiles_is_mirrored(rng):
    out = rng.normal(size=(140, 140))
    expected = np.tril(out) + np.tril(out, -1).T
    np.testing.assert_array_equal(mirror(out), expected)


def test_the_upper_triangle_is_not_computed_twice(rng):
    """Of a table with itself the loop fills the lower triangle; the rest is a copy of it."""
    from unispectral.kernels import _loops

    A = _sparse(rng, 8, 5)
    T, out = A.T.tocsr(), np.zeros((8, 8))
    _loops._accumulate(
        A.indptr, A.indices, A.data, T.indptr, T.indices, T.data, out, 2, 6, True
    )  # fmt: skip
    expected = np.zeros((8, 8))
    expected[2:6] = np.tril(A.toarray() @ A.toarray().T)[2:6]
    np.testing.assert_allclose(out, expected, atol=1e-14)


def test_neighbourhoods_of_sparse_samples(rng):
    A = _sparse(rng, 10, 6)
    K = A.toarray() @ A.toarray().T
    rows, neighbours = np.array([3, 0, 9]), np.array([[1, 4, 7], [0, 2, 5], [8, 6, 9]])
    near, among = Features(A).neighbourhoods(rows, neighbours)
    np.testing.assert_allclose(near.dots, K[rows[:, None], neighbours], atol=1e-14)
    expected = K[neighbours[:, :, None], neighbours[:, None, :]]
    np.testing.assert_allclose(among.dots, expected, atol=1e-14)


def test_pairs_of_sparse_samples(rng):
    A = _sparse(rng, 6, 5)
    left, right = np.array([0, 0, 3, 1, 1, 0, 5, 2]), np.array([2, 4, 3, 5, 0, 0, 1, 5])
    for first in (0, 2, 3, 4):  # whichever sample comes first
        expected = (A.toarray() @ A.toarray().T)[left[first:], right[first:]]
        dots = sparse_pairs(A.indptr, A.indices, A.data, 5, left[first:], right[first:])
        np.testing.assert_allclose(dots, expected, atol=1e-14)


def _recipe(kind, n, rng):
    """The arguments of a weighted sum after the rows: only some of its terms, or all."""
    none = np.empty(0)
    wide = np.array([0.3, -0.2, 0.7, 0.1]) if kind in ("wide", "all") else none
    if kind == "constant":
        wide = np.array([0.3])
    rates, powers, shares = none, np.empty(0, int), none
    if kind in ("rates", "all"):
        rates = np.array([-0.9, 0.0, 0.0, -0.4, 0.0, 0.0, -0.2, 0.0])
        powers = np.array([0, 2, 3, 0, 5, 4, 0, 7])
        shares = np.array([0.5, 0.2, 0.4, 0.3, 0.25, 0.15, 0.35, 0.45])
    offsets, slopes, roots = none, none, np.empty((0, n))
    coefficients = np.empty((0, 3))
    if kind in ("polynomials", "all"):
        offsets, slopes = np.array([0.2, 1.0]), np.array([1.5, 0.5])
        roots = rng.uniform(0.5, 1.5, size=(2, n))
        coefficients = rng.normal(size=(2, 3))
    return 0.8, wide, rates, powers, shares, offsets, slopes, roots, coefficients


def _formula(X, recipe):
    """The same sum, term by term over whole matrices."""
    unit, wide, rates, powers, shares, offsets, slopes, roots, coefficients = recipe
    dots = X @ X.T
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    total = np.polyval(wide, unit * distance - 1.0) if len(wide) else np.zeros_like(dots)
    value = None
    for rate, power, share in zip(rates, powers, shares, strict=True):
        value = np.exp(rate * distance) if power == 0 else value**power
        total = total + share * value
    for offset, slope, root, factors in zip(offsets, slopes, roots, coefficients, strict=True):
        total = total + np.polyval(factors, (offset + slope * dots) * np.outer(root, root))
    return total


@pytest.mark.parametrize("kind", ["wide", "constant", "rates", "polynomials", "all", "nothing"])
@pytest.mark.parametrize("rows", [(0, 5), (510, 514)])
def test_a_weighted_sum_is_the_sum_of_its_terms(kind, rows, rng):
    start, stop = rows
    X = rng.uniform(-0.7, 0.7, size=(stop + 1, 2))
    recipe = _recipe(kind, len(X), rng)
    out = np.full((len(X), len(X)), np.nan)
    weighted_sum(X @ X.T, (X**2).sum(axis=1), start, stop, out, *recipe)
    lower = np.tril(np.ones(out.shape, bool))
    lower[:start] = lower[stop:] = False
    np.testing.assert_allclose(out[lower], _formula(X, recipe)[lower], rtol=1e-9, atol=1e-12)
    assert np.isnan(out[~lower]).all()


def test_a_sample_is_at_no_distance_from_itself():
    """Whatever rounding makes of its norm; and no distance is below zero."""
    dots, norms, out = np.full((2, 2), 1.0), np.array([1.5, 1.0]), np.zeros((2, 2))
    none, exponential = np.empty(0), (np.array([-1.0]), np.array([0]), np.array([1.0]))
    rest = none, none, np.empty((0, 2)), np.empty((0, 1))
    weighted_sum(dots, norms, 0, 2, out, 1.0, none, *exponential, *rest)
    np.testing.assert_allclose(out, [[1.0, 0.0], [np.exp(-0.5), 1.0]])
    weighted_sum(dots, norms - 0.4, 0, 2, out, 1.0, none, *exponential, *rest)
    assert out[1, 0] == 1.0
