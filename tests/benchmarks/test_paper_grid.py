"""The paper's algorithm from several starts at once, beside the same from each."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import paper_grid
from benchmarks._data import load
from benchmarks._lockstep import Kernels, _embedding, follow

from unispectral.bench import Store, Study
from unispectral.kernels import KernelBank
from unispectral.paper import alm
from unispectral.paper._embedding import optimal_embedding


@pytest.mark.parametrize("mu", [0.1, 10.0])
def test_the_codes_are_those_of_each_start_by_itself(mu):
    X, _, c = load("digits-60")
    bank = KernelBank(X, "paper")
    penalties = {"alpha": 0.01, "beta": 1e-4, "gamma": 1e-7, "mu": mu}
    starts = [
        np.linalg.qr(np.random.RandomState(seed).normal(size=(len(X), c)))[0] for seed in range(3)
    ]
    path = follow(Kernels(bank), c, starts, **penalties)
    for start, labels in zip(starts, path.labels, strict=True):
        *_, alone = alm(bank, c, init=(start, np.eye(c)), **penalties)
        assert path.n_iter == alone.iteration
        np.testing.assert_allclose(path.weights, alone.w, atol=1e-3)
        np.testing.assert_allclose(path.codes, alone.Z, atol=5e-3 * alone.Z.max())
        # The rotation may end in another optimum; the embeddings span the same space.
        assert labels.shape == alone.labels.shape
        assert len(np.unique(labels)) > c // 2


def test_the_embedding_is_as_good_as_that_of_the_library():
    rng = np.random.default_rng(0)
    Z = rng.uniform(size=(60, 60)) * (rng.uniform(size=(60, 60)) < 0.2)
    Z = Z + Z.T
    degrees = Z.sum(axis=0)
    L = np.diag(degrees) - Z
    F = np.eye(3)[rng.integers(0, 3, 60)]
    P = np.linalg.qr(rng.normal(size=(60, 3)))[0]
    values, V = np.linalg.eigh(L)
    for pull in (1e-6, 1e-3, 0.1):
        theirs = optimal_embedding(Z, P, np.eye(3), F, pull)
        ours = _embedding(V[:, :6], values[:6], P, pull * F, float(degrees.max()))
        costs = [float(np.vdot(X, L @ X) - 2.0 * pull * np.vdot(X, F)) for X in (ours, theirs)]
        assert costs[0] <= costs[1] + 1e-3 * degrees.max()
        np.testing.assert_allclose(ours.T @ ours, np.eye(3), atol=1e-8)


def test_codes_that_are_all_zero_have_labels_all_the_same():
    kernels = Kernels(KernelBank.from_matrices(np.eye(12) * 0.1))
    start = np.linalg.qr(np.random.RandomState(0).normal(size=(12, 2)))[0]
    path = follow(kernels, 2, [start], alpha=5.0, beta=1e-4, gamma=1e-7, mu=1.0)
    assert not path.codes.any()
    assert set(path.labels[0]) <= {0, 1}


def test_the_grid_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    data = load("digits-60")
    monkeypatch.setattr(paper_grid, "load", lambda name: data)
    study = Study.load("paper")
    cells = next(iter(paper_grid.points(study, "yale")))
    assert [cell.seed for cell in cells] == [0, 1, 2]
    assert len(list(paper_grid.points(study, "yale"))) == 96  # 48 points of two banks
    monkeypatch.setattr(paper_grid, "points", lambda *args: iter([cells]))
    with Store(tmp_path / "paper.jsonl") as store:
        assert paper_grid.run(study, "yale", store, 0.0) == 1  # no time
        assert paper_grid.run(study, "yale", store, 60.0) == 0
        found = [store.records()[cell.key] for cell in cells]
        assert all(record.status == "done" for record in found)
        assert all(record.facts["starts_at_once"] == 3 for record in found)
        capsys.readouterr()
        assert paper_grid.run(study, "yale", store, 60.0) == 0
        assert capsys.readouterr().out == ""
