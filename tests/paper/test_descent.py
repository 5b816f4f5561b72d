"""Block-coordinate descent: the objective is what it says and never rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from unispectral import SCSK
from unispectral._run import Run
from unispectral.datasets import fetch
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy
from unispectral.paper import DenseGraph, Objective, descend


def solved(bank, objective, **settings_):
    return descend(DenseGraph(bank, tol=1e-9), objective, **settings_)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(6, 40),
    st.integers(2, 4),
    st.integers(0, 10**6),
    st.sampled_from([["linear"], ["gaussian", "linear", "polyplus_2"]]),
    st.sampled_from([1e-3, 0.1, 2.0]),
    st.sampled_from([1e-3, 0.1, 2.0]),
    st.sampled_from([0.0, 1e-3, 0.1, 2.0]),
)
def test_the_objective_never_rises(n, c, seed, kernels, alpha, beta, gamma):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    solution = solved(KernelBank(X, kernels), Objective(c, alpha, beta, gamma), tol=0, max_iter=12)
    path = np.array(solution.objective)
    assert (np.diff(path) <= 1e-7 * np.abs(path[:-1])).all()


def test_the_objective_is_the_papers_formula():
    X = np.random.default_rng(0).normal(size=(30, 4))
    bank = KernelBank(X, ["linear", "gaussian"])
    alpha, beta, gamma = 0.1, 0.2, 0.3
    solution = solved(bank, Objective(3, alpha, beta, gamma), max_iter=200, tol=1e-13)
    Z, P, Q = solution.Z.toarray(), solution.P, solution.Q
    K = bank.combine(solution.weights)
    W = (Z + Z.T) / 2
    L = np.diag(W.sum(axis=1)) - W
    F = np.eye(3)[solution.labels]
    J = (
        np.trace(K - 2 * K @ Z + Z.T @ K @ Z)
        + alpha * Z.sum()
        + beta * np.trace(P.T @ L @ P)
        + gamma * np.linalg.norm(F - P @ Q) ** 2
    )
    assert solution.objective[-1] == pytest.approx(J, rel=1e-6)
    assert np.sqrt(solution.weights).sum() == pytest.approx(1.0)


def test_yale_reaches_what_the_prototype_reached(data_home):
    yale = fetch("yale", data_home=data_home)
    model = SCSK(15, kernel="polyplus_4", solver="exact", alpha=0.1, beta=0.1, gamma=0.1).fit(
        yale.data
    )
    assert clustering_accuracy(yale.target, model.labels_) >= 0.60


def test_reasons_for_stopping_are_given():
    X, _ = make_blobs(40, centers=3, random_state=0)
    bank = KernelBank(X, "gaussian")
    few = solved(bank, Objective(3, 0.01, 0.1, 0.1), max_iter=1)
    assert not few.converged
    assert "limit of 1 iterations" in few.reason
    hurried = solved(bank, Objective(3, 0.01, 0.1, 0.1), max_time=1e-9, tol=0, max_iter=50)
    assert "time limit" in hurried.reason
    assert hurried.n_iter == 1


def test_progress_is_told():
    X, _ = make_blobs(40, centers=3, random_state=0)
    seen = []
    solved(
        KernelBank(X, "gaussian"),
        Objective(3, 0.01, 0.1, 0.1),
        run=Run.of(verbose=lambda *told: seen.append(told)),
    )
    assert [done for _, done, _, _ in seen] == list(range(1, len(seen) + 1))
    assert {stage for stage, *_ in seen} == {"descent"}


def test_no_spectral_term_is_allowed():
    X, y = make_blobs(60, centers=3, random_state=0)
    solution = solved(KernelBank(X, "gaussian"), Objective(3, 0.01, 0.0, 0.1))
    assert solution.Z.shape == (60, 60)
    assert len(solution.labels) == len(y)


class _Rising(DenseGraph):
    """A Z-step that goes wrong at one call, as rounding may let it."""

    calls = 0

    def solve(self, objective, embedding, start):
        found = super().solve(objective, embedding, start)
        self.calls += 1
        return found._replace(matrix=3.0 * found.matrix, left=None) if self.calls == 4 else found


def test_a_rising_objective_ends_the_descent_at_the_state_before():
    X, _ = make_blobs(40, centers=3, random_state=0)
    bank, objective = KernelBank(X, "gaussian"), Objective(3, 0.01, 0.1, 0.1)
    calm = solved(bank, objective, tol=0, max_iter=2)
    found = descend(_Rising(bank, tol=1e-9), objective, tol=0, max_iter=50)
    assert not found.converged
    assert found.reason.startswith("the objective rose from")
    assert found.objective == calm.objective
    assert abs(found.Z - calm.Z).max() == 0
    np.testing.assert_array_equal(found.labels, calm.labels)
