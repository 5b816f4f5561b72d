"""The authors' algorithm against recorded iterations of their program, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest

import unispectral.paper as solvers
from unispectral.paper import alm
from unispectral.paper._alm import _rotation, _weights


@pytest.fixture(scope="module")
def trace(reference):
    with np.load(reference / "alm_trace_yale66.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _recorded_run(trace, model):
    alpha, beta, gamma, mu = trace[f"{model}_params"]
    kernels = trace["kernels"][-1] if model == "scsk" else trace["kernels"]
    start = trace["P0"], trace["Q0"]
    return list(
        alm(kernels, 6, alpha=alpha, beta=beta, gamma=gamma, mu=mu, init=start, max_iter=5)
    )


@pytest.mark.parametrize("model", ["scsk", "scmk"])
def test_reproduces_the_recorded_iterations(trace, model):
    states = _recorded_run(trace, model)
    assert [state.iteration for state in states] == [1, 2, 3, 4, 5]
    for i, state in enumerate(states):
        np.testing.assert_allclose(state.Z, trace[f"{model}_Z"][i], atol=1e-4)
        np.testing.assert_allclose(state.S, trace[f"{model}_S"][i], atol=1e-4)
        np.testing.assert_allclose(state.Y, trace[f"{model}_Y"][i], atol=1e-4)
        np.testing.assert_array_equal(state.labels, trace[f"{model}_labels"][i])
        assert state.mu == pytest.approx(trace[f"{model}_mu"][i])
        recorded = trace[f"{model}_P"][i]
        # Rounding alone (a start moved by 1e-14) shifts the later embeddings of the single
        # kernel by up to 4e-4, because each search starts from where the last one gave up.
        tolerance = 1e-3 if model == "scsk" and i else 1e-4
        np.testing.assert_allclose(state.P @ state.P.T, recorded @ recorded.T, atol=tolerance)


def test_reproduces_the_recorded_weights(trace):
    for state, w, h in zip(
        _recorded_run(trace, "scmk"), trace["scmk_w"], trace["scmk_h"], strict=True
    ):
        np.testing.assert_allclose(state.w, w, atol=1e-6)
        np.testing.assert_allclose(state.h, h, rtol=1e-5, atol=1e-6)
        assert np.sqrt(state.w).sum() == pytest.approx(1.0)


def _blobs(n_per_cluster=12, n_clusters=3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(np.eye(n_clusters, 6) * 3, n_per_cluster, axis=0)
    X = X + 0.3 * rng.normal(size=X.shape)
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    return np.stack([np.exp(-squares / width) for width in (2.0, 8.0)])


PRICES = {"alpha": 0.1, "beta": 0.1, "gamma": 0.001}


def test_separates_blobs_and_says_why_it_stopped():
    *_, last = alm(_blobs(), 3, **PRICES, random_state=0)
    assert last.stop_reason == "the codes and their thresholded copy agree to 0.001"
    assert len(set(last.labels)) == 3
    assert all(len(set(group)) == 1 for group in last.labels.reshape(3, 12))


def test_every_state_is_feasible():
    for state in alm(_blobs(), 3, **PRICES, max_iter=15, random_state=1):
        assert state.Z.min() >= 0
        assert state.S.min() >= 0
        assert not np.diag(state.Z).any()
        np.testing.assert_array_equal(state.Z, state.Z.T)
        np.testing.assert_allclose(state.P.T @ state.P, np.eye(3), atol=1e-10)
        np.testing.assert_allclose(state.Q.T @ state.Q, np.eye(3), atol=1e-10)
        np.testing.assert_array_equal(state.labels, np.argmax(state.P @ state.Q, axis=1))
    assert state.stop_reason == "the limit of 15 iterations was reached"


def test_objective_is_the_models():
    kernels = _blobs()
    *_, state = alm(kernels, 3, **PRICES, max_iter=4, random_state=0)
    Z, P, Q = state.Z, state.P, state.Q
    K = np.tensordot(state.w, kernels, axes=1)
    L = np.diag(Z.sum(axis=1)) - Z
    F = np.eye(3)[state.labels]
    expected = (
        np.trace(K - 2 * K @ Z + Z.T @ K @ Z)
        + PRICES["alpha"] * Z.sum()
        + PRICES["beta"] * np.trace(P.T @ L @ P)
        + PRICES["gamma"] * np.linalg.norm(F - P @ Q) ** 2
    )
    assert state.objective == pytest.approx(expected)


def test_one_kernel_has_weight_one_however_it_is_given():
    K = _blobs()[0]
    runs = [
        list(alm(kernels, 3, **PRICES, max_iter=4, random_state=0))[-1]
        for kernels in (K, K[None], [K])
    ]
    for state in runs:
        assert state.w.tolist() == [1.0]
        np.testing.assert_array_equal(state.Z, runs[0].Z)
        assert state.h.shape == (1,)


def test_accepts_a_bank():
    kernels = _blobs()

    class Bank:
        def __len__(self):
            return 2

        def matrix(self, index):
            return kernels[index]

        def combine(self, weights):
            return np.tensordot(weights, kernels, axes=1)

    *_, from_bank = alm(Bank(), 3, **PRICES, max_iter=4, random_state=0)
    *_, from_stack = alm(kernels, 3, **PRICES, max_iter=4, random_state=0)
    np.testing.assert_allclose(from_bank.Z, from_stack.Z, atol=1e-8)
    np.testing.assert_allclose(from_bank.w, from_stack.w, atol=1e-8)


def test_the_seed_decides():
    first, second, other = (
        list(alm(_blobs(), 3, **PRICES, max_iter=3, random_state=seed))[-1] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.P, second.P)
    assert not np.array_equal(first.P, other.P)


def test_codes_alone_without_beta_and_gamma():
    *_, state = alm(_blobs(), 3, alpha=0.1, beta=0.0, gamma=0.0, max_iter=5, random_state=0)
    assert np.isfinite(state.objective)


def test_the_column_of_an_empty_cluster_does_not_depend_on_rounding():
    rng = np.random.default_rng(0)
    P = np.linalg.qr(rng.normal(size=(31, 4)))[0]
    F = np.eye(4)[rng.integers(0, 3, size=31)]  # cluster 3 is empty
    Q = _rotation(P, F)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
    assert np.trace(Q.T @ P.T @ F) == pytest.approx(np.linalg.norm(P.T @ F, "nuc"))
    assert np.mean(P @ Q[:, 3] > 0) <= 0.5
    for _ in range(10):
        moved = _rotation(P + 1e-9 * rng.normal(size=P.shape), F)
        np.testing.assert_allclose(moved, Q, atol=1e-6)


def test_a_kernel_without_error_takes_all_the_weight():
    w = _weights(np.array([0.0, 2.0, 3.0]))
    assert np.isfinite(w).all()
    assert w[0] == pytest.approx(1.0)


def test_the_public_name_is_the_function():
    assert solvers.alm is alm
    assert callable(solvers.alm)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_clusters": 1}, ValueError, "n_clusters is 1"),
        ({"n_clusters": 99}, ValueError, "n_clusters is 99"),
        ({"n_clusters": 2.5}, TypeError, "n_clusters is 2.5"),
        ({"alpha": -1.0}, ValueError, "alpha is -1.0"),
        ({"beta": "x"}, TypeError, "beta is 'x'"),
        ({"gamma": np.nan}, ValueError, "gamma is nan"),
        ({"mu": 0.0}, ValueError, "mu is 0"),
        ({"beta": 0.0}, ValueError, "beta is 0 while gamma is 0.001"),
        ({"max_iter": 0}, ValueError, "max_iter is 0"),
        ({"init": 3}, ValueError, "init is not a pair"),
        ({"init": (np.eye(3), np.eye(3))}, ValueError, "P0 has shape"),
        ({"init": (np.ones((36, 3)), np.eye(3))}, ValueError, "P0 are not orthonormal"),
        ({"kernels": []}, ValueError, "kernels is empty"),
        ({"kernels": [np.eye(4), np.eye(5)]}, ValueError, r"kernels\[1\] has shape"),
        ({"kernels": np.full((4, 4), np.nan)}, ValueError, r"kernels\[0\] contains NaN"),
    ],
)
def test_bad_input_is_named_at_once(change, error, message):
    arguments = {"kernels": _blobs(), "n_clusters": 3, **PRICES, **change}
    with pytest.raises(error, match=message):
        alm(arguments.pop("kernels"), arguments.pop("n_clusters"), **arguments)


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match="positive semidefinite"):
        next(alm(-np.eye(6), 2, **PRICES, random_state=0))
