"""Neighbours of neighbours: exact distances, enough of the true ones, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from unispectral import UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.graph import _descent_loops, neighbours
from unispectral.graph._descent import descend
from unispectral.graph._indexes import ExactIndex, true_neighbours
from unispectral.labelfree import _geometry


def mixture(n: int, d: int, clusters: int = 12, noise: float = 0.05) -> np.ndarray:
    """Rows of length one around a few centres, each in four directions of its own, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    for rows in np.array_split(np.arange(int(n * (1 - noise))), clusters):
        plane = rng.normal(size=(4, d)) / np.sqrt(d)
        X[rows] = rng.normal(size=d) / np.sqrt(d) + rng.normal(size=(len(rows), 4)) @ plane
        X[rows] += 0.02 * rng.normal(size=(len(rows), d))
    return rng.permutation(X / np.linalg.norm(X, axis=1, keepdims=True))


@pytest.mark.parametrize("d", [9, 40, 300])
def test_enough_of_the_true_neighbours_are_found(d) -> None:
    X = mixture(4_000, d)
    found = descend(X, 8, np.random.default_rng(0))
    true = ExactIndex(X).search_own(np.arange(len(X)), 8)
    hits = (found.indices[:, :, None] == true.indices[:, None, :]).any(axis=2)
    assert hits.mean() >= 0.95


def test_distances_are_those_of_what_is_found() -> None:
    X = mixture(2_000, 30).astype(np.float32)
    found = descend(X, 6, np.random.default_rng(1))
    wanted = np.linalg.norm(X[:, None].astype(float) - X[found.indices], axis=2)
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-10)
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert (found.indices != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == 6 for row in found.indices.tolist())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_finds_the_same(dtype) -> None:
    X = mixture(3_000, 20).astype(dtype)
    runs = [descend(X, 8, np.random.default_rng(2), Run.of(jobs)) for jobs in (1, 2, 3)]
    for other in runs[1:]:
        np.testing.assert_array_equal(other.indices, runs[0].indices)
        np.testing.assert_array_equal(other.distances, runs[0].distances)


def test_copies_and_rows_far_from_the_origin_do_no_harm() -> None:
    X = np.repeat(mixture(500, 12), 4, axis=0) + 100.0
    found = descend(X, 3, np.random.default_rng(0))
    assert (found.distances == 0).all(axis=1).mean() > 0.9
    alike = descend(np.ones((600, 12)), 5, np.random.default_rng(0))
    assert (alike.distances == 0).all()
    assert (alike.indices >= 0).all()


def test_few_rows_have_fewer_neighbours() -> None:
    found = descend(mixture(4, 10), 8, np.random.default_rng(0))
    assert np.sort(found.indices[0]).tolist() == [1, 2, 3]


def test_the_true_neighbours_of_a_sample() -> None:
    X = mixture(1_500, 25)
    rows = np.array([3, 78, 1_401])
    exact = ExactIndex(X).search_own(rows, 5).indices
    assert np.array_equal(true_neighbours(X, rows, 5), exact)
    among = np.arange(3, 1_500, 3)
    inside = ExactIndex(X[among]).search(X[rows], 5, np.searchsorted(among, rows))
    assert np.array_equal(true_neighbours(X, rows, 5, None, among), among[inside.indices])


def test_the_leaves_of_a_tree_have_every_row_once() -> None:
    shadow = np.random.default_rng(0).normal(size=(1_000, 5)).astype(np.float32)
    order = np.arange(1_000, dtype=np.int32)
    starts = np.empty(1_001, dtype=np.int32)
    leaves = _descent_loops.grow_tree(shadow, np.uint64(7), 30, order, starts)
    assert np.sort(order).tolist() == list(range(1_000))
    sizes = np.diff(starts[: leaves + 1])
    assert sizes.sum() == 1_000
    assert 0 < sizes.min() <= sizes.max() <= 30


@pytest.mark.parametrize(("first", "count"), [(1, 1), (2, 5), (5, 5), (7, 12), (8, 8)])
def test_the_products_of_a_few_rows(first, count) -> None:
    rows = np.random.default_rng(0).normal(size=(count + 3, 37)).astype(np.float32)
    products = np.full((first + 1, count + 3), np.nan, dtype=np.float32)
    _descent_loops._multiply_pairs(rows, first, count, products)
    for a in range(first):
        needed = [*range(a), *range(first, count)]
        np.testing.assert_allclose(products[a, needed], rows[needed] @ rows[a], atol=1e-4)


def test_a_large_fit_is_the_same_on_any_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_SAMPLES", 500)
    monkeypatch.setattr(_geometry, "_HELD_SAMPLES", 500)
    X = mixture(3_000, 24)
    fits = [UnifiedSpectralClustering(12, whiten=None, n_jobs=jobs).fit(X) for jobs in (1, 2)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    np.testing.assert_array_equal(fits[0].affinity_matrix_.data, fits[1].affinity_matrix_.data)
