"""Guards against slow changes that do not look at the clock: counts of work, bytes, imports.

The limits are what the present code needs plus a margin of a quarter or so; a change that crosses
one does more work for the same answer and should say why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import linalg

from unispectral import SCMK, SCSK
from unispectral.graph import codes
from unispectral.kernels import KernelBank
from unispectral.paper import DenseGraph, Objective, alm, descend


def _subspaces(n: int, *, n_clusters: int = 6, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(32, 3)))[0] for _ in range(n_clusters)]
    X = np.stack([bases[i % n_clusters] @ rng.normal(size=3) for i in range(n)])
    X += 0.05 * rng.normal(size=X.shape)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("statement", ["import unispectral", "from unispectral import SCSK"])
def test_importing_loads_nothing_heavy(statement):
    """Nothing beyond what scikit-learn loads by itself, which includes pandas where installed."""
    code = (
        "import json, sys, sklearn.base; before = set(sys.modules)\n"
        f"{statement}\n"
        "heavy = ('numba', 'matplotlib', 'pandas', 'dask', 'plotly', 'faiss', 'click')\n"
        "print(json.dumps([name for name in heavy if name in set(sys.modules) - before]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_package_itself_is_imported_without_scikit_learn():
    code = "import sys, unispectral; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_codes_check_all_samples_few_times():
    K = _subspaces(400) @ _subspaces(400).T
    cold = codes(K, 0.1)
    assert cold.residual <= 1e-6
    assert cold.passes <= 5 * len(K)
    warm = codes(K, 0.1, start=cold.matrix)
    assert warm.passes <= 1.05 * len(K)  # one look at each sample tells that nothing is to do


def test_checks_per_sample_hardly_grow_with_their_number():
    per_sample = []
    for n in (200, 800):
        X = _subspaces(n)
        per_sample.append(codes(X @ X.T, 0.1).passes / n)
    assert per_sample[1] <= 1.6 * per_sample[0]


def test_descent_checks_and_iterations():
    X = _subspaces(300)
    graph = DenseGraph(KernelBank.from_matrices(X @ X.T), 1e-6)
    solution = descend(graph, Objective(6, 0.1, 0.1, 0.1))
    assert solution.converged
    assert solution.n_iter <= 5
    assert solution.work["passes"] <= 4 * 300 * (solution.n_iter + 1)


def test_weighted_kernels_are_assembled_once_per_iteration(monkeypatch):
    calls = []
    combine = KernelBank.combine

    def counted(self, weights, run=None):
        calls.append(weights)
        return combine(self, weights, run)

    monkeypatch.setattr(KernelBank, "combine", counted)
    model = SCMK(6, solver="exact").fit(_subspaces(120))
    assert len(calls) <= model.n_iter_ + 2


@pytest.mark.parametrize(
    ("model", "limit"),
    [(SCSK(6, kernel="linear", solver="exact"), 10.0), (SCMK(6, solver="exact"), 10.0)],
    ids=["one kernel", "twelve kernels"],
)
def test_memory_is_a_few_matrices(model, limit):
    """Twelve kernels need no more than one: they are never all there at once."""
    n = 500
    X = _subspaces(n)
    model.fit(X[:100])  # compiled code and caches are not what is measured
    tracemalloc.start()
    try:
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limit * 8 * n**2


def test_the_graph_is_stored_sparse():
    model = SCSK(6, kernel="linear", solver="exact").fit(_subspaces(300))
    stored = model.graph_.data.nbytes + model.graph_.indices.nbytes
    assert stored <= 0.25 * 8 * 300**2


def test_alm_factorises_once_per_iteration(monkeypatch):
    calls = []
    factorise = linalg.cho_factor

    def counted(*args, **kwargs):
        calls.append(1)
        return factorise(*args, **kwargs)

    monkeypatch.setattr(linalg, "cho_factor", counted)
    X = _subspaces(60)
    states = list(alm(X @ X.T, 6, alpha=0.1, beta=0.1, gamma=0.01, max_iter=4, random_state=0))
    assert len(calls) == len(states) == 4


def test_a_first_fit_compiles_every_loop_once(tmp_path):
    """A counter that starts as a literal, or arrays of two layouts, would compile loops twice."""
    code = (
        "import collections, json\n"
        "from numba.core import event\n"
        "from sklearn.datasets import load_digits\n"
        "from unispectral import SCSK\n"
        "with event.install_recorder('numba:compile') as found:\n"
        "    SCSK(10, kernel='linear', solver='exact').fit(load_digits().data[:100])\n"
        "names = [one.data['dispatcher'].py_func for _, one in found.buffer if one.is_start]\n"
        "own = [f.__qualname__ for f in names if f.__module__.startswith('unispectral')]\n"
        "print(json.dumps([len(names), collections.Counter(own).most_common()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    everything, own = json.loads(done.stdout.splitlines()[-1])
    assert own
    assert all(count == 1 for _, count in own)
    assert everything <= 45  # with the parts of NumPy that the loops call
