"""The library against the NumPy oracle on small problems, and the oracle against itself."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from robustness import paper_oracle as oracle
from robustness.oracle import CHECKS, disagreements, make_problem


@pytest.mark.parametrize("check", list(CHECKS))
def test_the_library_agrees_with_the_oracle(check, thorough):
    problems = range(300 if thorough else 100)
    found = [(seed, wrong) for seed, _, wrong in disagreements(problems, [check]) if wrong]
    assert found == []


@pytest.mark.parametrize(
    ("seed", "check"),
    [
        (4458, "alm, P-step"),  # a saddle among the rotations of the embedding
        (6467, "embedding, warm start"),  # two saddles, and one direction past both
        (8184, "descent"),  # labels that change in the iteration that falls by little
    ],
)
def test_problems_that_once_disagreed(seed, check):
    assert [wrong for *_, wrong in disagreements([seed], [check])] == [[]]


def test_the_oracle_imports_numpy_alone():
    tree = ast.parse(Path(oracle.__file__).read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported == {"collections", "typing", "numpy"}


@pytest.mark.parametrize("seed", range(1, 9))
def test_codes_against_all_supports(seed):
    """The best of all subsets of the other samples, each solved by itself."""
    problem = make_problem(seed)
    K = problem.kernels[0][:6, :6] + 1e-6 * np.eye(min(problem.n, 6))
    n = len(K)
    B = oracle.penalties(problem.orthonormal(problem.rng())[:n], n, problem.alpha, problem.beta)
    Z = oracle.codes(K, B, problem.ridge)
    assert oracle.codes_violation(K, Z, B, problem.ridge) < 1e-9
    A = K + problem.ridge * np.diag(np.diag(K))
    for i in range(n):
        b = K[:, i] - B[:, i] / 2
        best = 0.0
        for support in product([False, True], repeat=n):
            used = np.array(support) & (np.arange(n) != i)
            z = np.zeros(n)
            z[used] = np.linalg.solve(A[np.ix_(used, used)], b[used])
            if (z >= 0).all():
                best = min(best, z @ A @ z - 2 * b @ z)
        assert Z[:, i] @ A @ Z[:, i] - 2 * b @ Z[:, i] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(1, 9))
def test_embedding_against_eigenvectors_and_procrustes(seed):
    problem = make_problem(seed)
    rng = problem.rng()
    n, c = problem.n, problem.n_clusters
    L = oracle.laplacian(rng.random((n, n)))
    start = problem.orthonormal(rng)
    P = oracle.embedding(L, np.zeros((n, c)), start)
    least = np.linalg.eigvalsh(L)[:c].sum()
    assert oracle.embedding_value(L, P, np.zeros((n, c))) == pytest.approx(least, rel=1e-8)
    target = rng.normal(size=(n, c))
    P = oracle.embedding(np.zeros((n, n)), target, start)
    most = np.linalg.svd(target, compute_uv=False).sum()
    assert oracle.embedding_value(np.zeros((n, n)), P, target) == pytest.approx(-2 * most)


@pytest.mark.parametrize("seed", range(1, 9))
def test_every_block_update_of_the_oracle_lowers_the_objective(seed):
    """From any state that obeys the constraints; with a ridge the weights of one kernel only."""
    problem = make_problem(seed)
    rng = problem.rng()
    n, c = problem.n, problem.n_clusters
    kernels = problem.kernels[:1] if problem.ridge else problem.kernels
    numbers = {**problem.penalties, "ridge": problem.ridge}
    Z = rng.random((n, n)) * (1 - np.eye(n)) / n
    roots = rng.dirichlet(np.ones(len(kernels)))
    Q = np.linalg.qr(rng.normal(size=(c, c)))[0]
    state = (roots**2, Z, problem.orthonormal(rng), Q, rng.integers(c, size=n))
    last = oracle.objective(kernels, *state, **numbers)
    for block, better in oracle.descent_sweep(kernels, *state, **numbers):
        now = oracle.objective(kernels, *better, **numbers)
        assert now <= last + 1e-9 * abs(last), block
        last = now


def test_a_wrong_step_is_seen(monkeypatch):
    """A comparison that cannot fail compares nothing."""
    from robustness import oracle as compare

    right = compare._library_codes
    monkeypatch.setattr(compare, "_library_codes", lambda *given: 1.001 * right(*given))
    assert any(wrong for *_, wrong in disagreements(range(5), ["codes"]))
