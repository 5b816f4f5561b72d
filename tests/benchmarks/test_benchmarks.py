"""The benchmarks run, on tiny inputs, and what they report follows from what they stored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import _targets, solver, speed
from benchmarks._data import load
from benchmarks._elastic_net import ElasticNetSubspaceClustering, elastic_net_codes
from benchmarks._measure import interleaved
from benchmarks._memory import peak_memory
from benchmarks._model import Penalties, codes_residual, objective
from benchmarks._store import Store
from sklearn.linear_model import ElasticNet
from sklearn.preprocessing import normalize

from unispectral import SCMK, SCSK
from unispectral.kernels import KernelBank
from unispectral.metrics import clustering_accuracy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.slow
def test_quick_run_measures_writes_and_resumes(tmp_path, capsys):
    solver.main(["--quick", f"--out={tmp_path}"])
    speed.main(["--quick", f"--out={tmp_path}"])
    first = capsys.readouterr().out
    assert "measuring growth 00500" in first
    assert {path.name for path in tmp_path.iterdir()} == {
        "solver.json",
        "solver.md",
        "speed.json",
        "speed.md",
        "speed.png",
    }
    stored = (tmp_path / "speed.json").read_text()
    solver.main(["--quick", f"--out={tmp_path}"])
    speed.main(["--quick", f"--out={tmp_path}"])
    again = capsys.readouterr().out
    assert "measuring" not in again
    assert (tmp_path / "speed.json").read_text() == stored
    cells = json.loads(stored)["cells"]
    ours = cells["peers digits-60"]["methods"]["SCSK, linear kernel"]
    assert len(ours["seconds"]) == 2
    assert ours["kkt"] <= 1e-6
    assert cells["memory digits-60"]["k-means"]["peak"] > 0
    assert "| SCSK, linear kernel |" in (tmp_path / "speed.md").read_text()


def test_the_objective_of_the_benchmark_is_that_of_the_estimators():
    data = load("digits-60")
    X, penalties = data.X, Penalties(0.1, 0.2, 0.05)
    for model in (
        SCSK(10, kernel="linear", solver="exact", **penalties),
        SCMK(10, kernels=["linear", "gaussian"], solver="exact", **penalties),
    ):
        model.fit(X)
        bank = KernelBank(X, getattr(model, "kernels", None) or [model.kernel])
        K = bank.combine(model.kernel_weights_)
        found = objective(
            K, model.graph_, model.embedding_, model.rotation_, model.labels_, penalties
        )
        # The last embedding and labels come after the last recorded value: not above it.
        assert found <= model.objective_[-1] + 1e-9
        assert found == pytest.approx(model.objective_[-1], rel=1e-3)


def test_residual_of_codes_sees_a_coefficient_that_is_off():
    K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    Z = np.array([[0.0, 0.8, 0.0], [0.8, 0.0, 0.0], [0.0, 0.0, 0.0]])
    penalties = Penalties(0.2, 0.0, 0.0)
    assert codes_residual(K, Z, None, penalties) < 1e-12
    assert codes_residual(K, 0.5 * Z, None, penalties) == pytest.approx(0.4)


@pytest.mark.parametrize("positive", [False, True])
def test_elastic_net_codes_solve_their_problem(positive):
    X = load("digits-60").X[:40]
    codes = elastic_net_codes(X, positive=positive, gamma=20.0, first=5, tol=1e-10).toarray()
    unit = normalize(X)
    for j in (0, 7, 23):
        others = np.delete(np.arange(len(X)), j)
        oracle = ElasticNet(
            alpha=1.0 / (20.0 * X.shape[1]),
            l1_ratio=0.95,
            fit_intercept=False,
            positive=positive,
            tol=1e-10,
            max_iter=100_000,
        ).fit(unit[others].T, unit[j])
        np.testing.assert_allclose(codes[j, others], oracle.coef_, atol=2e-3)
        assert codes[j, j] == 0


def test_elastic_net_subspace_clustering_finds_subspaces():
    data = load("subspaces-200")
    labels = ElasticNetSubspaceClustering(10, random_state=0).fit_predict(data.X)
    assert clustering_accuracy(data.y, labels) > 0.9


def test_a_task_that_fails_says_why_and_a_slow_one_runs_once():
    calls = []
    samples = interleaved(
        {"fails": lambda: [][0], "slow": lambda: calls.append(1)}, 3, patience=0.0
    )
    assert samples["fails"].failure == "IndexError: list index out of range"
    assert len(calls) == 1
    assert len(samples["slow"].seconds) == 1


def test_memory_of_a_failing_task_is_an_error_with_its_reason():
    with pytest.raises(RuntimeError, match="no such method"):
        peak_memory(method="no such method", data="digits-60")


def test_a_store_under_other_conditions_starts_anew(tmp_path):
    path = tmp_path / "cells.json"
    Store(path, {"cores": 1}).cell("a", lambda: 1)
    assert Store(path, {"cores": 1}).cells == {"a": 1}
    assert Store(path, {"cores": 2}).cells == {}
    assert Store(path, {"cores": 1}, fresh=True).cells == {}


def _timed(**seconds):
    return {"n": 10, "methods": {name: {"seconds": value} for name, value in seconds.items()}}


def test_targets_are_judged_by_the_stored_seconds():
    ours, gram, eigen = "SCSK, linear kernel", "Gram matrix", "LAPACK eigenvectors"
    peer = "spectral, neighbours, arpack"

    def judged(seconds):
        cell = _timed(**{ours: seconds, gram: [0.1] * 3, eigen: [0.1] * 3, peer: [0.2] * 3})
        rows = _targets.targets({"peers coil20": cell}, {})
        return [row.met for row in rows]

    assert judged([0.5, 0.5, 0.5]) == [True, True]
    assert judged([0.7, 0.7, 0.7]) == [True, False]
    assert judged([0.9, 0.9, 0.9]) == [False, False]


def test_slope_of_a_quadratic_is_two():
    cells = {
        f"growth {n:05d}": {
            "n": n,
            "methods": {"SCSK, linear kernel": {"seconds": [1e-7 * n**2]}},
        }
        for n in (500, 1000, 2000, 4000)
    }
    slope, _ = _targets.slopes(cells)["SCSK, linear kernel"]
    assert slope == pytest.approx(2.0)
    (row,) = _targets.targets(cells, {})
    assert row.met


def test_a_run_that_never_reaches_the_objective_is_a_lower_bound():
    run = {
        "seconds": 50.0,
        "best": 1.2,
        "seconds_to_close": None,
        "path": [[9.0, 2.0], [40.0, 1.2]],
    }
    exact = {"seconds": [0.5], "objective": 1.0, "paths": [[[0.1, 1.3], [0.2, 1.1], [0.5, 1.0]]]}
    cell = {"exact": exact, "alm": [run]}
    found = solver.summary(cell)
    assert found["never"] == 1
    assert found["to_ours"]["median"] == pytest.approx(100.0)
    assert found["to_theirs"]["median"] == pytest.approx(40.0 / 0.2)
    reached = solver.summary({**cell, "alm": [{**run, "seconds_to_close": 5.0}]})
    assert reached["never"] == 0
    assert reached["to_ours"]["median"] == pytest.approx(10.0)
