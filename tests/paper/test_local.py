"""The candidate-limited Z-step: equal to the exact one when nothing is left out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from unispectral import SCSK
from unispectral._run import Run
from unispectral.graph import codes
from unispectral.kernels import KernelBank
from unispectral.paper import DenseGraph, Objective, descend
from unispectral.paper._candidates import candidates
from unispectral.paper._local import LocalGraph, descend_locally


def everyone(n: int) -> np.ndarray:
    return np.array([[j for j in range(n) if j != i] for i in range(n)])


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:150]


@pytest.mark.parametrize("kernel", ["gaussian", "linear", "polyplus_4", "laplacian"])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_with_all_candidates_it_is_the_exact_step(X, kernel, ridge) -> None:
    bank = KernelBank(X, kernel)
    graph = LocalGraph(bank, everyone(len(X)), tol=1e-9)
    graph.set_weights(np.ones(1))
    embedding = np.random.default_rng(0).normal(size=(len(X), 3)) * 0.3
    found = graph.solve(Objective(3, 0.1, 0.2, 0.0, ridge), embedding, None)
    exact = codes(bank.matrix(0), 0.1, beta=0.2, embedding=embedding, ridge=ridge, tol=1e-9)
    assert abs(found.matrix - exact.matrix).max() < 1e-6
    assert found.residual < 1e-8


def test_the_whole_descent_is_the_exact_one(X) -> None:
    bank = KernelBank(X, ["gaussian", "polyplus_4"])
    objective = Objective(10, 0.1, 0.1, 0.1)
    limits = {"max_iter": 4, "tol": 0.0}
    local = descend(LocalGraph(bank, everyone(len(X))), objective, **limits, run=Run.of())
    exact = descend(DenseGraph(bank, tol=1e-6), objective, **limits, run=Run.of())
    np.testing.assert_allclose(local.objective, exact.objective, rtol=1e-6)
    np.testing.assert_allclose(local.weights, exact.weights, rtol=1e-4)
    assert adjusted_rand_score(local.labels, exact.labels) == 1


def test_without_a_gram_matrix_nothing_changes(X) -> None:
    near = candidates(KernelBank(X, "gaussian"), 12)
    found = []
    for gram in (True, False):
        graph = LocalGraph(KernelBank(X, "gaussian", gram=gram), near)
        graph.set_weights(np.ones(1))
        found.append(graph.solve(Objective(3, 0.1, 0.0, 0.0), None, None).matrix)
    assert abs(found[0] - found[1]).max() < 1e-6


def test_sparse_tables_give_the_same_codes(X) -> None:
    near = candidates(KernelBank(X, "linear"), 12)
    found = []
    for table in (X, sp.csr_array(X)):
        graph = LocalGraph(KernelBank(table, "linear", gram=False), near)
        graph.set_weights(np.ones(1))
        found.append(graph.solve(Objective(3, 0.1, 0.0, 0.0, 0.1), None, None).matrix)
    assert abs(found[0] - found[1]).max() < 1e-6


def test_padding_is_never_used(X) -> None:
    near = candidates(KernelBank(X, "gaussian"), 6)
    padded = np.hstack([near, np.full((len(X), 3), -1)])
    padded[0] = -1
    graph = LocalGraph(KernelBank(X, "gaussian"), padded)
    graph.set_weights(np.ones(1))
    matrix = graph.solve(Objective(3, 0.1, 0.0, 0.0), None, None).matrix
    assert matrix[[0]].nnz == 0
    assert (matrix.diagonal() == 0).all()
    graph.neighbours = near
    other = graph.solve(Objective(3, 0.1, 0.0, 0.0), None, None).matrix
    assert abs(matrix[1:] - other[1:]).max() < 1e-12


def test_threads_do_not_change_codes(X) -> None:
    near = candidates(KernelBank(X, "gaussian"), 10)
    found = []
    for jobs in (1, 2):
        graph = LocalGraph(KernelBank(X, "gaussian"), near, run=Run.of(jobs))
        graph.set_weights(np.ones(1))
        found.append(graph.solve(Objective(3, 0.05, 0.0, 0.0, 0.1), None, None).matrix)
    assert (found[0] != found[1]).nnz == 0


def test_the_gap_is_what_the_limit_costs(X) -> None:
    bank = KernelBank(X, "gaussian")
    objective = Objective(3, 0.02, 0.0, 0.0, 0.5)
    K = bank.matrix(0)

    def value(matrix: sp.csr_array) -> float:
        Z = matrix.toarray()
        H = K + 0.5 * np.diag(np.diag(K))
        fit = np.trace(K) - 2 * np.sum(K * Z) + np.sum((Z @ H) * Z)
        return float(fit + 0.02 * Z.sum())

    for k in (3, 20, len(X) - 1):
        graph = LocalGraph(bank, candidates(bank, k))
        graph.set_weights(np.ones(1))
        found = graph.solve(objective, None, None).matrix
        best = value(codes(K, 0.02, ridge=0.5).matrix)
        gap = (value(found) - best) / value(found)
        assert graph.gap(found, objective, np.arange(len(X))) == pytest.approx(gap, abs=2e-3)
    assert graph.gap(found, objective, np.arange(len(X))) == 0


def test_a_check_that_is_cut_short_says_no_more_than_it_found(X, monkeypatch) -> None:
    bank = KernelBank(X, "gaussian")
    objective = Objective(3, 0.02, 0.0, 0.0, 0.5)
    graph = LocalGraph(bank, candidates(bank, 3))
    graph.set_weights(np.ones(1))
    found = graph.solve(objective, None, None).matrix
    gaps = []
    for rounds in (1, 2, 8):
        monkeypatch.setattr("unispectral.paper._local._CHECK_ROUNDS", rounds)
        gaps.append(graph.gap(found, objective, np.arange(20)))
    assert gaps[0] == 0 < gaps[1] < gaps[2]


def test_candidates_grow_where_the_limit_binds(X) -> None:
    bank = KernelBank(X, "gaussian")
    objective = Objective(3, 0.02, 0.1, 0.1, 0.5)
    with pytest.warns(ConvergenceWarning, match="candidates"):
        found = descend_locally(bank, objective, 2, run=Run.of(), max_iter=2, gap=1e-4, growths=2)
    assert found.work["n_neighbors"] == 8
    wide = descend_locally(bank, objective, 2, run=Run.of(), max_iter=2, gap=1e-4, growths=20)
    assert wide.work["n_neighbors"] > 8
    assert wide.work["gap"] <= 1e-4


def test_the_estimator_takes_the_local_solver(X) -> None:
    numbers = {"kernel": "polyplus_4", "alpha": 0.3, "beta": 0.1, "gamma": 0.1}
    model = SCSK(4, solver="local", **numbers).fit(X)
    exact = SCSK(4, solver="exact", **numbers).fit(X)
    assert model.objective_[-1] == pytest.approx(exact.objective_[-1], rel=0.02)
