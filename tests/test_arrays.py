"""The small steps that several folders share, against what they are short for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from unispectral import _arrays
from unispectral._arrays import (
    absent_rows,
    locate,
    median_of_positive,
    one_hot,
    orthogonal_factor,
    pick_evenly,
    smallest_in_rows,
)


@pytest.mark.parametrize(("n", "most"), [(1, 5), (5, 5), (1_000, 7), (10, 1)])
def test_evenly_spaced_numbers_are_distinct_and_in_range(n: int, most: int) -> None:
    chosen = pick_evenly(n, most)
    assert len(chosen) == min(n, most)
    assert chosen[0] == 0
    assert chosen[-1] <= n - 1
    if len(chosen) > 2:
        assert np.ptp(np.diff(chosen)) <= 1


def test_one_hot_rows_give_the_labels_back() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 50)
    F = one_hot(labels, 5)
    assert F.shape == (50, 5)
    np.testing.assert_array_equal(F.toarray(), np.eye(5)[labels])


@pytest.mark.parametrize("shape", [(4, 4), (30, 4)])
def test_orthogonal_factor_is_that_of_scipy(shape: tuple[int, int]) -> None:
    M = np.random.default_rng(0).normal(size=shape)
    np.testing.assert_allclose(orthogonal_factor(M), scipy.linalg.polar(M)[0], atol=1e-12)


def test_absent_rows() -> None:
    X = np.array([[1.0, 2.0], [np.nan, np.nan]])
    assert absent_rows(X).tolist() == [False, True]
    assert absent_rows(sp.csr_array(np.eye(2))).tolist() == [False, False]


def test_median_leaves_small_values_out() -> None:
    values = np.array([0.0, 1e-9, 2.0, 4.0])
    assert median_of_positive(values, 1.0, above=1e-6) == 3.0
    assert median_of_positive(np.array([]), 7.0) == 7.0


def test_smallest_in_rows_are_those_of_a_stable_sort() -> None:
    values = np.random.default_rng(0).normal(size=(40, 30))
    found = smallest_in_rows(values, 6)
    np.testing.assert_array_equal(found, np.argsort(values, axis=1, kind="stable")[:, :6])
    assert smallest_in_rows(np.zeros((1, 3)), 3).tolist() == [[0, 1, 2]]


def test_blocks_of_rows_are_located_like_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(5.0, 2.0, size=(100, 3))
    X[7] = np.nan
    monkeypatch.setattr(_arrays, "_ROWS", 9)
    mean, spread = locate(X)
    np.testing.assert_allclose(mean, np.nanmean(X, axis=0))
    assert spread == pytest.approx(np.nanmax(np.abs(X - np.nanmean(X, axis=0))))
    assert locate(np.full((4, 1), 1e308))[1] == np.inf
