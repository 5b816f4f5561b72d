"""Candidates of each sample in every kernel's own geometry, against the kernel itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from unispectral.graph import neighbours
from unispectral.graph.neighbours import nearest
from unispectral.kernels import Gaussian, KernelBank, Metric, Polynomial, paper_kernels
from unispectral.paper._candidates import candidates, kernel_nearest, searches, union


def manifold(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turn = rng.uniform(-1, 1, (n, 4)) @ rng.normal(size=(4, 16))
    return (np.sin(turn) + 0.05 * rng.normal(size=(n, 16))).astype(np.float32)


def test_union_merges_by_rank_without_repeats() -> None:
    a = np.array([[1, 2, 3], [5, -1, -1]])
    b = np.array([[3, 4], [5, 6]])
    assert union([a, b]).tolist() == [[1, 3, 2, 4], [5, 6, -1, -1]]
    assert union([a, b], 2).tolist() == [[1, 3], [5, 6]]
    assert union([a], 5).tolist() == [[1, 2, 3], [5, -1, -1]]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_union_keeps_every_candidate_once(n, parts, seed) -> None:
    rng = np.random.default_rng(seed)
    lists = [rng.integers(-1, 6, (n, rng.integers(1, 4))) for _ in range(parts)]
    merged = union(lists)
    for row in range(n):
        expected = set(np.concatenate([part[row] for part in lists])) - {-1}
        kept = merged[row][merged[row] >= 0]
        assert set(kept) == expected
        assert len(kept) == len(expected)
        assert (merged[row][len(kept) :] == -1).all()


KERNELS = [
    Gaussian(0.3),
    *paper_kernels()[7:],
    Polynomial(3, offset=1.0, scale="mean"),
    Metric("laplacian"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_candidates_are_the_largest_kernel_values(kernel) -> None:
    # Positive features: even powers then grow with the cosine as the theory asks.
    X = np.abs(manifold(120).astype(float))
    bank = KernelBank(X, kernel, gram=False)
    found = candidates(bank, 6)
    K = bank.matrix(0) / np.sqrt(bank.diagonal(0))
    np.fill_diagonal(K, -np.inf)
    np.testing.assert_allclose(
        np.take_along_axis(K, found.astype(int), axis=1), -np.sort(-K, axis=1)[:, :6], rtol=1e-7
    )


def test_kernels_share_searches() -> None:
    X = manifold(50).astype(float)
    found = searches(KernelBank(X, "paper"))
    assert [(one.view, one.metric, one.constant) for one in found] == [
        (0, "euclidean", 0.0),
        (0, "cosine", 0.0),
        (0, "cosine", 1.0),
    ]
    assert sorted(r for one in found for r in one.kernels) == list(range(12))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert len(searches(KernelBank(unit, "paper"))) == 1


def test_several_geometries_are_merged() -> None:
    X = manifold(80).astype(float) * np.linspace(0.5, 2, 80)[:, None]
    found = candidates(KernelBank(X, ["gaussian", "linear"]), 5)
    assert 5 < found.shape[1] <= 10
    euclid, cosine = nearest(X, 5).indices, nearest(X, 5, metric="cosine").indices
    for row in range(80):
        assert {euclid[row, 0], cosine[row, 0]} <= set(found[row])
        assert set(found[row]) - {-1} <= set(euclid[row]) | set(cosine[row])


def test_precomputed_kernels_are_evaluated() -> None:
    X = manifold(60).astype(float)
    K = KernelBank(X, "gaussian").matrix(0)
    bank = KernelBank.from_matrices(K)
    np.testing.assert_array_equal(candidates(bank, 4), candidates(KernelBank(X, "gaussian"), 4))
    np.testing.assert_array_equal(candidates(bank, 4), kernel_nearest(bank, 0, 4))


def test_views_are_searched_each_by_itself() -> None:
    first, second = manifold(40).astype(float), manifold(40, seed=1).astype(float)
    bank = KernelBank([first, second], "gaussian")
    assert [search.view for search in searches(bank)] == [0, 1]
    found = candidates(bank, 3)
    lists = [nearest(table, 3).indices for table in (first, second)]
    np.testing.assert_array_equal(found, union(lists, 6)[:, : found.shape[1]])


def test_sparse_tables_have_the_candidates_of_dense_ones_with_an_offset() -> None:
    X = np.random.default_rng(0).normal(size=(40, 4))
    kernel = Polynomial(2, offset=1.0)
    dense, sparse = (KernelBank(table, kernel) for table in (X, sp.csr_array(X)))
    assert [search.constant > 0 for search in searches(dense)] == [True]
    np.testing.assert_array_equal(candidates(sparse, 6), candidates(dense, 6))


def test_evaluating_a_kernel_for_all_pairs_of_many_samples_is_announced(monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "ANNOUNCED_SAMPLES", 100)
    with pytest.warns(UserWarning, match="The kernel 'kernel_0'"):
        kernel_nearest(KernelBank.from_matrices(np.eye(120)), 0, 3)
