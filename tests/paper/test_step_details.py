"""Details of the steps that only a mutant would bring to light."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from unispectral import labels, spectrum
from unispectral.graph.quality import modularity, normalized_cut
from unispectral.kernels import KernelBank
from unispectral.labels import (
    _spread_rows,
    fill_empty,
    label_shares,
    memberships,
    order_of_appearance,
    rotate,
)
from unispectral.paper import _weights as weights
from unispectral.spectrum import _stiefel


def polar(R):
    U, _, Vt = np.linalg.svd(R)
    return U @ Vt


@pytest.mark.parametrize("first", [0, 1, 2])
def test_spread_rows_are_the_orthogonal_directions(first):
    P = np.vstack([np.diag([2.0, 5.0, 0.1]), np.zeros((2, 3)), np.diag([1.0, 1.0, 3.0])])
    R = _spread_rows(P, first)
    np.testing.assert_allclose(np.abs(R).sum(axis=0), 1.0)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.argmax(R[:, 0]) == first


def test_spread_rows_forget_lengths_but_not_angles():
    P = np.array([[10.0, 0.0], [0.3, 0.4], [3.0, 0.3]])
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    np.testing.assert_allclose(_spread_rows(P, 0), polar(np.column_stack([unit[0], unit[1]])))


def test_spread_rows_add_up_closeness():
    # The third direction must be far from both others, not only from the last.
    P = np.array([[1.0, 0, 0], [0, 1.0, 0], [0.9, 0, 0.1], [0.3, 0.3, 0.9]])
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    expected = polar(np.column_stack([unit[0], unit[1], unit[3]]))
    np.testing.assert_allclose(_spread_rows(P, 0), expected)


def test_a_cluster_gives_no_more_than_it_can_spare():
    scores = np.array([[1.0, 0.0, 0.99, 0.98], [1.0, 0.0, 0.97, 0.96],
                       [0.0, 1.0, 0.10, 0.10], [0.0, 1.0, 0.20, 0.20]])  # fmt: skip
    filled = fill_empty(scores, np.array([0, 0, 1, 1]))
    assert sorted(filled.tolist()) == [0, 1, 2, 3]
    assert filled.tolist() == [2, 0, 1, 3]


def test_a_cluster_just_filled_is_not_emptied_again():
    scores = np.array([[1.0, 0.9, 0.95], [1, 0, 0], [1, 0, 0.1], [1, 0, 0]])
    assert fill_empty(scores, np.zeros(4, dtype=int)).tolist() == [1, 0, 2, 0]


def test_full_clusters_are_left_alone():
    scores = np.eye(3)
    given = np.array([2, 0, 1])
    filled = fill_empty(scores, given)
    assert filled.tolist() == [2, 0, 1]
    assert filled is not given


def test_membership_without_any_score_is_even():
    found = memberships(np.array([[0.0, -1.0, 0.0], [0.0, 2.0, 2.0]]))
    np.testing.assert_allclose(found, [[1 / 3] * 3, [0.0, 0.5, 0.5]])
    assert (memberships(np.array([[0.2, -0.5]])) == [[1.0, 0.0]]).all()


def test_order_of_appearance_lists_each_cluster_once():
    assert order_of_appearance(np.array([3, 1, 1, 3, 0])).tolist() == [3, 1, 0]


def graph(seed, n=12):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    return W + W.T, rng.integers(0, 3, n)


@pytest.mark.parametrize("seed", range(5))
def test_modularity_and_cut_by_their_definitions(seed):
    W, labels = graph(seed)
    degrees, total = W.sum(axis=1), W.sum()
    same = labels[:, None] == labels[None, :]
    expected = ((W - np.outer(degrees, degrees) / total) * same).sum() / total
    assert modularity(sp.csr_array(W), labels) == pytest.approx(expected)
    cuts = [W[labels == k][:, labels != k].sum() / degrees[labels == k].sum() for k in range(3)]
    assert normalized_cut(sp.csr_array(W), labels) == pytest.approx(np.mean(cuts))


def test_networkx_agrees_on_modularity():
    networkx = pytest.importorskip("networkx")
    W, labels = graph(7)
    groups = [set(np.flatnonzero(labels == k).tolist()) for k in range(3)]
    expected = networkx.community.modularity(networkx.from_numpy_array(W), groups)
    assert modularity(sp.csr_array(W), labels) == pytest.approx(expected)


def test_a_graph_without_edges():
    W = sp.csr_array((4, 4))
    assert modularity(W, np.array([0, 0, 1, 1])) == 0.0
    assert normalized_cut(W, np.array([0, 0, 1, 1])) == 1.0


def test_a_cluster_without_edges_has_no_say():
    W = sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    assert normalized_cut(W, np.array([0, 0, 1])) == 0.0


def test_zero_rows_are_no_directions():
    P = np.array([[0.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    np.testing.assert_allclose(_spread_rows(P, 1), polar(np.column_stack([P[1], P[2]])))


def test_a_rotation_uses_the_generator_it_is_given():
    P = np.linalg.qr(np.random.default_rng(3).normal(size=(12, 3)))[0]
    rng = np.random.default_rng(0)
    found = rotate(P, n_init=2, rng=rng)
    np.testing.assert_array_equal(rotate(P, n_init=2).Q, found.Q)
    drawn = np.random.default_rng(0)
    drawn.choice(12, size=2, replace=False)
    assert rng.random() == drawn.random()
    assert rotate(P, n_init=50).value >= found.value  # at most as many starts as samples
    assert len(rotate(np.zeros((4, 2))).labels) == 4


def test_no_start_at_a_zero_row(monkeypatch):
    P = np.vstack([np.zeros((9, 2)), np.eye(2), np.zeros((9, 2))])
    seen = []

    def spread(P, first):
        seen.append(first)
        return _spread_rows(P, first)

    monkeypatch.setattr(labels, "_spread_rows", spread)
    rotate(P)
    assert sorted(seen) == [9, 10]


@pytest.mark.parametrize(
    ("h", "roots"),
    [
        ([0.0, 0.0], [0.5, 0.5]),
        ([0.0, 1.0], [1.0, 0.0]),
        ([1e-320, 1e-320], [0.5, 0.5]),
        ([1e300, 3e300], [0.75, 0.25]),
        ([2.0, 1.0, 2.0], [0.25, 0.5, 0.25]),
    ],
)
def test_weights_of_kernels_that_explain_everything(h, roots):
    np.testing.assert_allclose(np.sqrt(weights.kernel_weights(np.array(h))), roots, atol=1e-14)


def test_pairs_of_codes_are_the_upper_triangle():
    Z = np.array([[0, 1.5, 2.5], [0, 0, 0], [3.5, 0, 0]]).T
    codes = sp.csr_array(Z.T)
    left, right, factors = weights._pairs(codes, codes.T.tocsr(), slice(0, 2))
    whole = Z @ Z.T - Z - Z.T
    expected = np.triu(whole + np.triu(whole, 1))[:2]
    found = np.zeros((2, 3))
    found[left, right] = factors
    np.testing.assert_allclose(found, expected)
    assert (np.diff(left) >= 0).all()


def test_batches_hold_what_fits():
    entries = weights._BATCH_ENTRIES
    assert weights._batches(np.array([1, 2, 3])) == [slice(0, 3)]
    assert weights._batches(np.full(4, entries // 2)) == [slice(0, 1), slice(1, 3), slice(3, 4)]
    assert weights._batches(np.array([1, 5 * entries, 1])) == [slice(0, 1), slice(1, 3)]


@pytest.mark.parametrize("n", [5, 90])
def test_residuals_over_several_batches(n, monkeypatch):
    monkeypatch.setattr(weights, "_BATCH_ENTRIES", 50)
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    K = A @ A.T
    Z = np.where(rng.random((n, n)) < 0.1, rng.random((n, n)), 0.0)
    Z[0] = 0.0
    expected = np.trace(K - 2 * K @ Z.T + Z @ K @ Z.T)
    found = weights.residuals(KernelBank.from_matrices(K), sp.csr_array(Z))
    np.testing.assert_allclose(found, [max(expected, 0.0)])


def test_a_sample_without_neighbours_has_a_zero_row():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 4.0
    W[1, 2] = W[2, 1] = 5.0
    L = spectrum.laplacian(sp.csr_array(W), normalized=True).toarray()
    assert L[3].tolist() == [0.0] * 4
    np.testing.assert_allclose(np.diagonal(L), [1, 1, 1, 0])
    np.testing.assert_allclose([L[0, 1], L[1, 2]], [-4 / 6, -5 / np.sqrt(45)])


@pytest.mark.parametrize("smallest", [1e-2, 1e-3, 1e-4, 1e-5, 1e-8])
def test_polar_factors_are_orthonormal_to_the_last_digits(smallest):
    """The Gram matrix of nearly dependent columns has lost half of them."""
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(6, 5)))[0], np.linalg.qr(rng.normal(size=(5, 5)))[0]
    found = spectrum.polar((U * np.array([1.0, 1.0, 1.0, 1.0, smallest])) @ V.T)
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(found, U @ V.T, atol=1e-6)


def test_polar_factors_of_matrices_that_lack_a_rank():
    Y = np.outer(np.arange(1.0, 6.0), [1.0, 1.0])
    for found in (spectrum.polar(Y), _stiefel._orthonormal(Y)):
        np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-12)
    Y = np.random.default_rng(0).normal(size=(6, 2)) @ np.diag([1.0, 1e-4])
    U, _, Vt = np.linalg.svd(Y, full_matrices=False)
    np.testing.assert_allclose(spectrum.polar(Y), U @ Vt, atol=1e-8)


def problem(seed, n=14, c=3):
    W, _ = graph(seed, n)
    rng = np.random.default_rng(seed)
    P = np.linalg.qr(rng.normal(size=(n, c)))[0]
    return spectrum.laplacian(sp.csr_array(W)), 0.3 * rng.normal(size=(n, c)), P


@pytest.mark.parametrize("seed", range(4))
def test_the_p_step_ends_where_the_gradient_vanishes(seed):
    L, target, P = problem(seed)
    found = spectrum.stiefel_descent(L, target, P, max_steps=2000, tol=1e-6)
    assert 0 < found.n_steps < 300
    euclidean = 2 * (L @ found.P - target)
    inner = found.P.T @ euclidean
    gradient = euclidean - found.P @ (inner + inner.T) / 2
    assert found.gradient_norm == pytest.approx(np.linalg.norm(gradient), abs=1e-9)
    scale = abs(L).sum(axis=1).max() + np.linalg.norm(target)
    assert found.gradient_norm <= 1e-6 * scale
    value = np.trace(found.P.T @ (L @ found.P)) - 2 * np.vdot(found.P, target)
    assert found.value == pytest.approx(value)


def test_the_p_step_makes_no_more_steps_than_asked():
    L, target, P = problem(0)
    none = spectrum.stiefel_descent(L, target, P, max_steps=0)
    assert none.n_steps == 0
    assert none.P is P
    paths = [spectrum.stiefel_descent(L, target, P, max_steps=k, tol=0) for k in (1, 2, 5)]
    assert [found.n_steps for found in paths] == [1, 2, 5]
    assert paths[0].value > paths[1].value > paths[2].value
    still = spectrum.stiefel_descent(sp.csr_array((14, 14)), np.zeros((14, 3)), P)
    assert still.n_steps == 0


def test_products_with_a_large_laplacian(monkeypatch):
    monkeypatch.setattr(_stiefel, "_LEAST_SPARSE", 14)
    L, target, P = problem(1)
    np.testing.assert_allclose(_stiefel._times(L, P, None), L @ P, atol=1e-12)
    found = spectrum.stiefel_descent(L, target, P)
    monkeypatch.setattr(_stiefel, "_LEAST_SPARSE", 15)
    assert found.value == pytest.approx(spectrum.stiefel_descent(L, target, P).value)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_scale_of_a_graph_does_not_matter(scale):
    """To the normalised Laplacian, the modularity and the normalised cut."""
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < 0.5), 1)
    W = sp.csr_array(W + W.T)
    found = np.arange(12) % 3
    scaled = sp.csr_array(scale * W)
    np.testing.assert_allclose(
        spectrum.laplacian(scaled, normalized=True).toarray(),
        spectrum.laplacian(W, normalized=True).toarray(),
        atol=1e-12,
    )
    assert modularity(scaled, found) == pytest.approx(modularity(W, found))
    assert normalized_cut(scaled, found) == pytest.approx(normalized_cut(W, found))


def test_shares_of_the_neighbours_labels():
    W = np.array([[0.0, 3.0, 1.0, 0.0], [3.0, 0.0, 0.25, 0.0], [1.0, 0.25, 0.0, 0.0], [0.0] * 4])
    found = label_shares(sp.csr_array(0.1 * W), np.array([0, 0, 1, 2]), 3)
    third = 1 / 3  # nothing is known of what has no edges
    expected = [[0.75, 0.25, 0], [3 / 3.25, 0.25 / 3.25, 0], [1, 0, 0], [third, third, third]]
    np.testing.assert_allclose(found, expected, atol=1e-15)
