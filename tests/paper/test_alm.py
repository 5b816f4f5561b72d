"""The authors' algorithm against recorded iterations of their program, and its own promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import unispectral.paper as solvers
from unispectral import SCSK
from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.paper import (
    DenseGraph,
    Objective,
    _alm,
    _embedding,
    alm,
    descend,
    search_embedding,
)
from unispectral.paper._alm import _Problem, _rotation
from unispectral.paper._fit import solve_alm
from unispectral.paper._weights import kernel_weights
from unispectral.spectrum import _stiefel


@pytest.fixture(scope="module")
def trace(reference):
    with np.load(reference / "alm_trace_yale66.npz", allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _recorded_run(trace, model):
    alpha, beta, gamma, mu = trace[f"{model}_params"]
    kernels = trace["kernels"][-1] if model == "scsk" else trace["kernels"]
    start = trace["P0"], trace["Q0"]
    return list(
        alm(
            kernels,
            6,
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            mu=mu,
            init=start,
            max_iter=5,
            step="search",
        )
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


PENALTIES = {"alpha": 0.1, "beta": 0.1, "gamma": 0.001}


def test_separates_blobs_and_says_why_it_stopped():
    *_, last = alm(_blobs(), 3, **PENALTIES, random_state=0)
    assert last.stop_reason == "the codes and their thresholded copy agree to 0.001"
    assert len(set(last.labels)) == 3
    assert all(len(set(group)) == 1 for group in last.labels.reshape(3, 12))


def test_every_state_is_feasible():
    for state in alm(_blobs(), 3, **PENALTIES, max_iter=15, random_state=1):
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
    *_, state = alm(kernels, 3, **PENALTIES, max_iter=4, random_state=0)
    Z, P, Q = state.Z, state.P, state.Q
    K = np.tensordot(state.w, kernels, axes=1)
    L = np.diag(Z.sum(axis=1)) - Z
    F = np.eye(3)[state.labels]
    expected = (
        np.trace(K - 2 * K @ Z + Z.T @ K @ Z)
        + PENALTIES["alpha"] * Z.sum()
        + PENALTIES["beta"] * np.trace(P.T @ L @ P)
        + PENALTIES["gamma"] * np.linalg.norm(F - P @ Q) ** 2
    )
    assert state.objective == pytest.approx(expected)


def test_one_kernel_has_weight_one_however_it_is_given():
    K = _blobs()[0]
    runs = [
        list(alm(kernels, 3, **PENALTIES, max_iter=4, random_state=0))[-1]
        for kernels in (K, K[None], [K])
    ]
    for state in runs:
        assert state.w.tolist() == [1.0]
        np.testing.assert_array_equal(state.Z, runs[0].Z)
        assert state.h.shape == (1,)


def test_accepts_a_bank():
    kernels = _blobs()
    *_, from_bank = alm(
        KernelBank.from_matrices(kernels), 3, **PENALTIES, max_iter=4, random_state=0
    )
    *_, from_stack = alm(kernels, 3, **PENALTIES, max_iter=4, random_state=0)
    np.testing.assert_allclose(from_bank.Z, from_stack.Z, atol=1e-8)
    np.testing.assert_allclose(from_bank.w, from_stack.w, atol=1e-8)


def test_the_seed_decides():
    first, second, other = (
        list(alm(_blobs(), 3, **PENALTIES, max_iter=3, random_state=seed))[-1]
        for seed in (0, 0, 1)
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
    w = kernel_weights(np.array([0.0, 2.0, 3.0]))
    assert np.isfinite(w).all()
    assert w[0] == pytest.approx(1.0)


def test_the_public_name_is_the_function():
    assert solvers.alm is alm
    assert callable(solvers.alm)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "'n_clusters' .* a whole number of at least 1. Got 0"),
        ({"n_clusters": 99}, ValueError, "n_clusters=99 is more than the 36 samples"),
        ({"n_clusters": 2.5}, TypeError, "'n_clusters' .* a whole number .* Got 2.5"),
        ({"alpha": -1.0}, ValueError, "'alpha' .* a number of at least 0 .* Got -1.0"),
        ({"alpha": np.inf}, ValueError, "'alpha' .* below inf. Got inf"),
        ({"beta": "x"}, TypeError, "'beta' .* a number .* Got 'x'"),
        ({"gamma": np.nan}, ValueError, "'gamma' .* Got nan"),
        ({"mu": 0.0}, ValueError, "'mu' .* a number above 0 .* Got 0.0"),
        ({"beta": 0.0}, ValueError, "beta=0.0 goes with gamma=0 only, not with gamma=0.001"),
        ({"max_iter": 0}, ValueError, "'max_iter' .* Got 0"),
        ({"step": "cayley"}, TypeError, "'step' .* or a callable. Got 'cayley'"),
        ({"distance": 2}, ValueError, "'distance' .* 'squared' or 'unsquared'. Got 2"),
        ({"growth": 0.9}, ValueError, "'growth' .* a number of at least 1 .* Got 0.9"),
        ({"init": 3}, ValueError, "init is not a pair"),
        ({"init": (np.eye(3), np.eye(3))}, ValueError, "P0 of shape"),
        (
            {"init": (np.ones((36, 3)), np.eye(3))},
            ValueError,
            "P0 whose columns are not orthonormal",
        ),
        ({"kernels": []}, ValueError, "kernels is empty"),
        (
            {"kernels": [np.eye(4), np.eye(5)]},
            ValueError,
            r"kernels\[1\] is a kernel of 5",
        ),
        ({"kernels": np.tri(4)}, ValueError, "kernels is .* not symmetric"),
        ({"kernels": np.full((4, 4), np.nan)}, ValueError, "kernels contains NaN"),
    ],
)
def test_bad_input_is_named_at_once(change, error, message):
    arguments = {"kernels": _blobs(), "n_clusters": 3, **PENALTIES, **change}
    with pytest.raises(error, match=message):
        alm(arguments.pop("kernels"), arguments.pop("n_clusters"), **arguments)


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match="positive semidefinite"):
        next(alm(-np.eye(6), 2, **PENALTIES, random_state=0))


def _kernel(n=30, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 5))
    return X @ X.T / 5


def _halfway(squared=True, step=None, n=30, c=4):
    """A problem, and a state of it from which each step can be tried."""
    rng = np.random.default_rng(1)
    problem = _Problem(None, c, 0.1, 0.2, 0.02, step, squared)
    Y, P = rng.normal(size=(n, n)), np.linalg.qr(rng.normal(size=(n, c)))[0]
    S = np.maximum(rng.normal(size=(n, n)), 0)
    return problem, np.asfortranarray(S), np.asfortranarray(Y), P


@pytest.mark.parametrize("block", [7, 2**16])
def test_the_thresholded_copy_solves_its_problem(block, monkeypatch):
    """min α ΣS + μ/2 ‖S − Z + Y/μ‖² over S ≥ 0, entry by entry."""
    monkeypatch.setattr(_alm, "_BLOCK", block)
    _, Z, Y, _ = _halfway()
    alpha, mu = 0.3, 0.7
    S = _alm._threshold(Z, Y, alpha, mu)
    slope = alpha + mu * (S - Z + Y / mu)
    off = ~np.eye(len(Z), dtype=bool)
    assert np.abs(slope[off & (S > 0)]).max() < 1e-12
    assert slope[off & (S == 0)].min() >= -1e-12
    assert not np.diag(S).any()


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("block", [7, 2**16])
def test_the_codes_solve_their_system(squared, block, monkeypatch):
    monkeypatch.setattr(_alm, "_BLOCK", block)
    problem, S, Y, P = _halfway(squared, step=search_embedding)
    K, mu = _kernel(), 0.5
    Z = _alm._codes(K, S, Y, P, problem, mu)
    apart = np.linalg.norm(P[:, None] - P[None], axis=2) ** (2 if squared else 1)
    right = 2 * K + mu * S + Y - problem.beta / 2 * apart
    expected = np.linalg.solve(2 * K + mu * np.eye(30), right)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(Z, np.maximum(expected, 0), atol=1e-10)
    raised = _alm._multipliers(Y, S, Z, mu)
    np.testing.assert_allclose(raised, Y + mu * (S - Z), atol=1e-12)
    np.testing.assert_allclose(_alm._symmetric(Z), (Z + Z.T) / 2, atol=1e-15)


def test_single_precision_only_where_it_changes_nothing():
    problem, S, Y, P = _halfway()
    K = _kernel()
    bound = 2 * np.abs(K).sum(axis=0).max()
    for mu, dtype in ((1e-3 * bound, np.float64), (0.1 * bound, np.float32)):
        Z = _alm._codes(K, S, Y, P, problem, mu)
        assert Z.dtype == dtype
        exact = _alm._codes(K, S, Y, P, replace(problem, step=search_embedding), mu)
        assert exact.dtype == np.float64
        np.testing.assert_allclose(Z, exact, atol=1e-5 * exact.max())


def test_the_estimator_runs_the_paper_to_the_letter():
    """``step="search"`` is the authors' step, from the estimator down."""
    K = _blobs()[0]
    model = SCSK(3, kernel="precomputed", step="search", random_state=5, **PENALTIES, mu=2.0).fit(
        K
    )
    seed = Run.of(random_state=5).rng
    last = list(alm(K, 3, **PENALTIES, mu=2.0, random_state=seed, step=search_embedding))[-1]
    np.testing.assert_array_equal(model.embedding_, last.P)
    # The estimator numbers clusters in the order of their first samples.
    same = last.labels[:, None] == last.labels[None]
    np.testing.assert_array_equal(model.labels_[:, None] == model.labels_[None], same)
    other = SCSK(3, kernel="precomputed", random_state=5, **PENALTIES, mu=2.0).fit(K)
    assert np.abs(other.embedding_ - model.embedding_).max() > 1e-9


def test_both_steps_agree_where_the_clusters_are_clear():
    for seed in range(3):
        exact, searched = (
            list(alm(_blobs(), 3, **PENALTIES, random_state=seed, step=step))[-1]
            for step in ("optimal", "search")
        )
        assert exact.iteration == searched.iteration
        np.testing.assert_allclose(exact.Z, searched.Z, atol=1e-3)
        np.testing.assert_array_equal(
            exact.labels[:, None] == exact.labels[None],
            searched.labels[:, None] == searched.labels[None],
        )


def test_almost_as_many_clusters_as_samples(monkeypatch):
    """The authors' search needs a thousand steps per iteration here."""
    calls = []
    tangent = _stiefel._tangent
    monkeypatch.setattr(_stiefel, "_tangent", lambda *a: calls.append(1) or tangent(*a))
    *_, last = alm(_kernel(24), 23, alpha=0.1, beta=0.1, gamma=0.1, random_state=0)
    assert last.stop_reason.startswith("the codes")
    assert len(calls) <= 2 * (_embedding._STEPS + 1) * last.iteration


@pytest.mark.parametrize("K", [np.eye(12), np.ones((12, 12)), np.zeros((12, 12))])
@pytest.mark.parametrize("n_clusters", [2, 12])
@pytest.mark.parametrize("alpha", [0.0, 0.1, 1e6])
def test_degenerate_kernels_end_orthonormal(K, n_clusters, alpha):
    *_, state = alm(K, n_clusters, alpha=alpha, beta=0.1, gamma=1e-4, mu=100.0, random_state=0)
    np.testing.assert_allclose(state.P.T @ state.P, np.eye(n_clusters), atol=1e-10)
    assert np.isfinite(state.objective)


def test_the_stopping_rule_is_asked_from_the_second_iteration_on():
    states = list(alm(_blobs(), 3, **PENALTIES, tol=1e9, random_state=0))
    assert [state.iteration for state in states] == [1, 2]


def test_a_constant_penalty_settles_and_its_codes_are_not_the_optimum():
    """Z is solved for without its constraints and clipped afterwards, which moves the end."""
    K = _kernel() + np.eye(30)
    bank = KernelBank.from_matrices([K])
    exact = descend(DenseGraph(bank, 1e-8), Objective(3, 0.1, 0.0, 0.0)).Z.toarray()
    free = {"alpha": 0.1, "beta": 0.0, "gamma": 0.0, "mu": 1.0, "random_state": 0}
    *_, last = alm(K, 3, **free, growth=1.0, symmetrise=False, tol=1e-4)
    assert last.stop_reason.startswith("the codes")
    assert last.mu == 1.0

    def value(Z):
        return np.trace(K - 2 * K @ Z + Z.T @ K @ Z) + 0.1 * Z.sum()

    assert value(last.S) > 1.2 * value(exact)
    np.testing.assert_array_equal(last.Z, last.Z.T)
    *_, other = alm(K, 3, **free, growth=1.0, tol=1e-4)
    assert np.abs(other.S - last.S).max() > 1e-3  # what the symmetrisation does


def test_a_larger_mu_freezes_earlier():
    K = _blobs()[0]
    runs = [list(alm(K, 3, **PENALTIES, mu=mu, random_state=0))[-1] for mu in (0.1, 10.0)]
    assert runs[1].iteration < runs[0].iteration
    assert np.sum(runs[1].Z ** 2) < np.sum(runs[0].Z ** 2)  # as a ridge does


def test_the_solution_is_the_last_state():
    bank = KernelBank.from_matrices(list(_blobs()))
    found = solve_alm(bank, Objective(3, **PENALTIES, mu=2.0), Run.of(random_state=5))
    *_, state = alm(bank, 3, **PENALTIES, mu=2.0, random_state=Run.of(random_state=5).rng)
    np.testing.assert_array_equal(found.labels, state.labels)
    np.testing.assert_array_equal(found.Z.toarray(), state.Z)
    assert found.objective[-1] == state.objective
    assert found.n_iter == state.iteration
    assert found.converged


@pytest.mark.parametrize("step", ["optimal", "search"])
def test_unsquared_distances_weigh_otherwise(step):
    options = {**PENALTIES, "mu": 2.0, "random_state": 5, "step": step}
    ends = [
        list(alm(_blobs(), 3, **options, distance=distance))[-1].Z
        for distance in ("squared", "unsquared")
    ]
    assert np.abs(ends[0] - ends[1]).max() > 1e-6


def test_doubled_codes_are_twice_the_solution_and_grow():
    options = {**PENALTIES, "mu": 2.0, "random_state": 5, "step": "search"}
    once = next(alm(_blobs(), 3, **options))
    states = list(alm(_blobs(), 3, **options, doubled=True, max_iter=30))
    np.testing.assert_allclose(states[0].Z, 2.0 * once.Z)
    growth = np.linalg.norm(states[-1].Z) / np.linalg.norm(states[-6].Z)
    assert growth > 1.5**5
    assert len(states) == 30  # it does not settle


def test_mu_does_what_a_ridge_does(data_home):
    """TR11, linear kernel: the printed objective fails, a ridge or the penalty mends it."""
    from unispectral.datasets import fetch
    from unispectral.metrics import scores

    data = fetch("tr11")
    bank = KernelBank.from_matrices([KernelBank(data.data, ["linear"]).matrix(0)])

    def accuracy(labels):
        return scores(data.target, labels)["accuracy"]

    for ridge, reached in ((0.0, (0.0, 0.4)), (10.0, (0.75, 1.0))):
        penalties = Objective(9, 1e-4, 1e-4, 1e-7, ridge)
        found = accuracy(descend(DenseGraph(bank, 1e-6), penalties).labels)
        assert reached[0] < found < reached[1]
    penalties = Objective(9, 1e-2, 1e-4, 1e-7, mu=100.0)
    runs = (solve_alm(bank, penalties, Run.of(random_state=seed)) for seed in range(3))
    assert max(accuracy(run.labels) for run in runs) > 0.75


def test_the_time_limit_ends_the_algorithm_with_the_state_it_has():
    bank = KernelBank(np.random.default_rng(0).normal(size=(20, 3)), "gaussian")
    found = solve_alm(bank, Objective(3, 0.01, 0.1, 0.1), Run.of(), max_time=1e-9, tol=1e-12)
    assert found.reason == "the time limit of 1e-09 s was reached"
    assert (found.n_iter, len(found.objective), found.converged) == (1, 1, False)


def test_what_the_papers_models_say_of_their_input(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3)) + 4.0 * (np.arange(24) % 2)[:, None]
    with pytest.raises(ValueError, match=r"holds 2 kernels, but SCSK takes one.*use SCMK"):
        SCSK(2, kernel="precomputed").fit([X @ X.T, X @ X.T + np.eye(24)])
    with pytest.warns(UserWarning, match="subtract the mean"):
        SCSK(2, kernel="linear", solver="exact").fit(X + 1e9)
    monkeypatch.setattr("unispectral.paper._fit._SLOW_ALM", 10)
    with pytest.warns(UserWarning, match="factorises a matrix of all pairs of 24 samples"):
        SCSK(2).fit(X)
