"""The later methods: each step against the problem it solves, and the figures of the authors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from unispectral._run import Run
from unispectral.baselines import CAN, LGMKSC, MKKM, SMKL, SPC, SelfTuning, SimpleMKKM
from unispectral.baselines._base import Kernels
from unispectral.baselines.aggregation import alignment, reduced_direction
from unispectral.baselines.consensus import (
    consensus_kernel,
    nearest_kernel,
    representation_costs,
    ridge_graph,
    root_weights,
    self_weights,
    shrink_columns,
    shrink_singular_values,
    strongest_part,
)
from unispectral.baselines.neighbours import mean_ridge, nearest_codes, on_simplex
from unispectral.baselines.spectral import align, local_scaling, rotation_cost
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=20)


def kernels(seed: int = 0, n: int = 30) -> Kernels:
    X, _ = make_blobs(n, 4, centers=3, random_state=seed % 2**31)
    return Kernels(KernelBank(X, ["gaussian", "linear", "laplacian"]))


def symmetric(seed: int, n: int) -> np.ndarray:
    A = np.random.default_rng(seed).uniform(size=(n, n))
    return (A + A.T) / n


def slope(function, at: np.ndarray) -> np.ndarray:
    """Central differences."""
    found = np.empty_like(at)
    for place in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[place] = 1e-6
        found[place] = (function(at + step) - function(at - step)) / 2e-6
    return found


# Adaptive neighbours


@quick
@given(seeds, st.integers(1, 4))
def test_the_mean_ridge_leaves_k_neighbours(seed, k):
    """For one sample: the minimum of Σ d s + γ s² on the simplex is the closed form."""
    costs = np.sort(np.random.default_rng(seed).uniform(0.1, 2.0, (1, 6)))
    ridge = mean_ridge(costs, k)
    found = on_simplex(-costs / (2.0 * ridge))
    np.testing.assert_allclose(found, nearest_codes(costs, k), atol=1e-9)
    best = minimize(
        lambda s: costs[0] @ s + ridge * s @ s,
        np.full(6, 1 / 6),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1.0},
        options={"ftol": 1e-15},
    )
    np.testing.assert_allclose(found[0], best.x, atol=1e-4)


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_can_finds_shapes_as_components(make):
    arguments = {"factor": 0.4} if make is make_circles else {}
    X, y = make(200, noise=0.04, random_state=0, **arguments)
    model = CAN(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.converged_
    assert connected_components(model.affinity_matrix_, directed=False)[0] == 2
    np.testing.assert_array_equal(CAN(2).fit_predict(1e6 * X), model.labels_)
    np.testing.assert_array_equal(CAN(2).fit_predict(sp.csr_array(X)), model.labels_)


# Consensus kernels


@quick
@given(seeds)
def test_the_consensus_kernel_is_stationary(seed):
    bank, Z = kernels(seed, 6), symmetric(seed, 6)
    K = np.mean([bank.matrix(r) for r in range(3)], axis=0)
    w, beta = self_weights(bank, K), 2.0

    def objective(A: np.ndarray) -> float:
        apart = sum(w[r] * np.square(A - bank.matrix(r)).sum() for r in range(3))
        return float(np.trace(A - 2 * A @ Z + Z.T @ A @ Z) + beta * apart)

    found = consensus_kernel(Z, bank.combine(w), w.sum(), beta)
    np.testing.assert_allclose(slope(objective, found), 0.0, atol=1e-6)


@quick
@given(seeds)
def test_the_nearest_kernel_is_a_projection(seed):
    A = symmetric(seed, 5) - 0.5 * np.eye(5)
    K = nearest_kernel(A)
    assert np.linalg.eigvalsh(K).min() >= -1e-12
    # What is taken off is orthogonal to K and points away from every kernel.
    assert np.sum((A - K) * K) == pytest.approx(0.0, abs=1e-10)
    assert np.linalg.eigvalsh(A - K).max() <= 1e-10
    np.testing.assert_allclose(nearest_kernel(K + np.eye(5)), K + np.eye(5))


def test_self_weights_are_the_slope_of_the_distances():
    bank = kernels(1, 5)
    K = symmetric(1, 5)
    distances = slope(
        lambda A: float(sum(np.linalg.norm(A - bank.matrix(r)) for r in range(3))), K
    )
    w = self_weights(bank, K)
    weighted = sum(2 * w[r] * (K - bank.matrix(r)) for r in range(3))
    np.testing.assert_allclose(weighted, distances, atol=1e-6)
    assert np.isfinite(self_weights(bank, bank.matrix(0))).all()


@quick
@given(seeds)
def test_the_graph_before_clipping_is_the_minimum(seed):
    """Tr(K − 2KZ + ZᵀKZ) + γ ‖Z‖² + (α/2) Σ d z, where the minimum happens to be positive."""
    rng = np.random.default_rng(seed)
    B = rng.uniform(0.5, 1.0, (5, 5))
    K, gamma, alpha = B @ B.T, 20.0, 0.01
    d = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    Z = np.linalg.solve(K + gamma * np.eye(5), K - alpha / 4 * d)

    def objective(A: np.ndarray) -> float:
        rest = np.trace(K - 2 * K @ A + A.T @ K @ A) + gamma * np.square(A).sum()
        return float(rest + alpha / 2 * (d * A).sum())

    np.testing.assert_allclose(slope(objective, Z), 0.0, atol=1e-5)
    np.testing.assert_allclose(
        ridge_graph(K, K - alpha / 4 * d, gamma), (np.maximum(Z, 0) + np.maximum(Z, 0).T) / 2
    )


@quick
@given(seeds, st.integers(1, 5))
def test_weights_with_roots_on_the_simplex_minimise(seed, r):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.1, 3.0, r)
    w = root_weights(costs)
    assert np.sqrt(w).sum() == pytest.approx(1)
    others = rng.dirichlet(np.ones(r), 200)
    assert (others**2 @ costs >= w @ costs - 1e-12).all()


def test_representation_costs_are_traces():
    bank, Z = kernels(2, 8), symmetric(2, 8)
    wanted = [
        0.5 * np.trace(K - 2 * 3.0 * K @ Z + Z.T @ K @ Z) for K in map(bank.matrix, range(3))
    ]
    np.testing.assert_allclose(representation_costs(bank, Z, 3.0), wanted)


@quick
@given(seeds, st.floats(0.05, 2.0))
def test_shrinking_is_a_proximal_step(seed, threshold):
    """The optimality conditions of the two norms: what is cut off lies in the subgradient."""
    M = np.random.default_rng(seed).normal(size=(6, 6))
    J = shrink_singular_values(M, threshold)
    U, s, Vt = np.linalg.svd(M)
    np.testing.assert_allclose(J, (U * np.maximum(s - threshold, 0.0)) @ Vt, atol=1e-9)
    E = shrink_columns(M, threshold)
    for column, given_ in zip(E.T, M.T, strict=True):
        if np.linalg.norm(column) > 0:
            rest = threshold * column / np.linalg.norm(column)
            np.testing.assert_allclose(given_ - column, rest, atol=1e-9)
        else:
            assert np.linalg.norm(given_) <= threshold + 1e-12
    np.testing.assert_array_equal(shrink_columns(np.zeros((3, 2)), 0.5), 0.0)


def test_the_strongest_part_keeps_its_share():
    Z = symmetric(3, 12)
    kept = strongest_part(Z, 0.7)
    np.testing.assert_array_equal(kept, kept.T)
    assert np.diagonal(kept).max() == 0.0
    assert 0 < (kept == 0).sum() - 12 < 12 * 12
    assert not strongest_part(np.zeros((4, 4)), 0.7).any()
    Z = np.array([[9.0, 4.0, 1.0], [4.0, 9.0, 1.0], [1.0, 1.0, 9.0]])
    wanted = [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    assert strongest_part(Z, 0.7).tolist() == wanted


# SimpleMKKM


@quick
@given(seeds)
def test_the_gradient_of_the_alignment(seed):
    bank = kernels(seed, 12)
    w = np.random.default_rng(seed).dirichlet(np.ones(3))
    value, gradient, H = alignment(bank, w, 3)
    np.testing.assert_allclose(
        slope(lambda v: alignment(bank, v, 3)[0], w), gradient, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-9)
    assert np.trace(H.T @ bank.combine(w**2) @ H) == pytest.approx(value)


@quick
@given(seeds)
def test_the_reduced_direction_descends_and_stays_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.ones(5)) * rng.integers(0, 2, 5)
    w = w / w.sum() if w.sum() > 0 else np.full(5, 0.2)
    gradient = rng.normal(size=5)
    direction = reduced_direction(w, gradient)
    assert direction.sum() == pytest.approx(0.0, abs=1e-12)
    assert (direction[w == 0.0] >= 0.0).all()
    assert gradient @ direction <= 1e-12


@settings(max_examples=8)
@given(seeds)
def test_simple_mkkm_reaches_the_minimum_of_a_convex_problem(seed):
    bank = kernels(seed, 15)
    found = SimpleMKKM(3, n_init=1, max_iter=500, tol=1e-7)._cluster(bank, Run.of())
    weights, path = found.attributes["kernel_weights"], found.attributes["objective_path"]
    assert (np.diff(path) <= 0.0).all()
    best = minimize(
        lambda w: alignment(bank, w, 3)[:2],
        np.full(3, 1 / 3),
        jac=True,
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
        options={"ftol": 1e-12},
    )
    assert path[-1] <= best.fun * (1 + 1e-5)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


# Self-tuning


def test_local_scaling_against_the_formula():
    X = np.random.default_rng(0).normal(size=(12, 2))
    W = local_scaling(X, 3)
    d = np.linalg.norm(X[:, None] - X, axis=2)
    scales = np.sort(d, axis=1)[:, 3]
    wanted = np.exp(-(d**2) / np.outer(scales, scales)) * (1 - np.eye(12))
    np.testing.assert_allclose(W, wanted, atol=1e-12)
    np.testing.assert_allclose(local_scaling(1e-9 * X, 3), W, atol=1e-9)
    copies = local_scaling(np.repeat(X, 5, axis=0), 3)
    assert np.isfinite(copies).all()
    assert not local_scaling(np.ones((4, 2)), 3).diagonal().any()


@quick
@given(seeds, st.integers(2, 4))
def test_the_gradient_of_the_rotation_cost(seed, c):
    Z = np.random.default_rng(seed).normal(size=(7, c))
    cost, gradient = rotation_cost(Z)
    assert cost >= 7
    np.testing.assert_allclose(
        slope(lambda A: rotation_cost(A)[0], Z), gradient, rtol=1e-3, atol=1e-3
    )


def test_alignment_finds_a_hidden_rotation():
    rng = np.random.default_rng(0)
    one_hot = np.eye(4)[rng.integers(4, size=40)] * rng.uniform(0.5, 2.0, (40, 1))
    turned = one_hot @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    _, cost, stop = align(turned, 200)
    assert cost == pytest.approx(40.0, abs=1e-6)
    assert stop.converged
    # Two columns: every rotation can be tried.
    rows = rng.normal(size=(20, 2))
    angles = np.linspace(0, np.pi, 2000)
    turns = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
    cost = align(rows, 500)[1]
    assert cost <= align(rows, 1)[1]
    assert cost >= min(rotation_cost(rows @ turn)[0] for turn in turns) - 1e-3


@pytest.mark.parametrize("count", [2, 3, 5])
def test_self_tuning_tells_the_number_of_clusters(count):
    centres = 12.0 * np.eye(5)[:count]
    X, y = make_blobs(40 * count, centers=centres, random_state=count)
    model = SelfTuning(None, max_clusters=8).fit(X)
    assert model.n_clusters_ == count
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.counts_.tolist() == list(range(2, 9))
    assert model.qualities_.max() <= 1.0
    np.testing.assert_array_equal(SelfTuning(count).fit_predict(X), model.labels_)


# The figures of the authors: YALE, the paper's twelve kernels, the parameters of their programs


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        (SMKL(15, kernels="precomputed", beta=15.0), 58.2),
        (SPC(15, kernels="precomputed"), 57.9),
        (LGMKSC(15, kernels="precomputed", beta=20.0, max_iter=30, tol=0.0), 62.8),
    ],
    ids=["SMKL", "SPC", "LGMKSC"],
)
def test_the_authors_figures_on_yale(model, wanted, data_home):
    from unispectral.datasets import fetch

    data = fetch("yale", data_home=data_home, download=False)
    bank = KernelBank(data.data, "paper")
    found = [
        clustering_accuracy(data.target, model.set_params(random_state=seed).fit(bank).labels_)
        for seed in range(5)
    ]
    assert 100 * np.mean(found) == pytest.approx(wanted, abs=1.0)


def test_simple_mkkm_uses_every_kernel():
    """A minimum over weights and labels leaves most of them nothing (MKKM); this one does not."""
    X, _ = make_blobs(60, 4, centers=3, random_state=0)
    model = SimpleMKKM(3, random_state=0).fit(X)
    assert model.kernel_weights_.min() > 0.01
    assert MKKM(3, random_state=0).fit(X).kernel_weights_.min() < 1e-3
    assert (np.diff(model.objective_path_) <= 0.0).all()
