"""Fitted estimators to draw, and axes that are closed afterwards."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from unispectral import SCMK

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="session")
def blobs() -> np.ndarray:
    draw = np.random.default_rng(0)
    return np.concatenate([draw.normal(centre, 0.4, (20, 3)) for centre in (0.0, 4.0, 8.0, 12.0)])


@pytest.fixture(scope="session")
def model(blobs) -> SCMK:
    kernels = ["gaussian_0.1", "linear", "polynomial_2"]
    return SCMK(4, kernels=kernels, solver="exact", alpha=0.1, beta=0.1, gamma=0.1).fit(blobs)


class Made(BaseEstimator):
    """A fitted estimator made by hand: n samples in c clusters joined by rings."""

    def __init__(self, n: int = 0, c: int = 0) -> None:
        self.n = n
        self.c = c

    def fit(self, X=None, y=None):
        n, c = self.n, self.c
        draw = np.random.default_rng(1)
        self.labels_ = np.sort(draw.integers(c, size=n))
        draw.shuffle(self.labels_)
        order = np.argsort(self.labels_, kind="stable")
        rows = np.concatenate([order] * 4)
        cols = np.concatenate([np.roll(order, -step) for step in (1, 2, 3, 4)])
        weights = draw.uniform(0.1, 1.0, len(rows))
        weights[self.labels_[rows] != self.labels_[cols]] *= 0.01
        W = sp.csr_array((weights, (rows, cols)), shape=(n, n))
        self.affinity_matrix_ = sp.csr_array((W + W.T) / 2)
        scores = np.eye(c)[self.labels_] + draw.uniform(0, 0.5 / c, (n, c))
        self.membership_ = scores / scores.sum(axis=1, keepdims=True)
        self.embedding_ = self.membership_ + 0.01 * draw.normal(size=(n, c))
        self.n_clusters_ = c
        self.eigenvalues_ = np.concatenate([np.zeros(c), [0.4, 0.5]])
        self.kernel_names_ = tuple(f"kernel_{r}" for r in range(12))
        self.kernel_weights_ = np.full(12, 1 / 12)
        return self


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    return SimpleNamespace(
        small=Made(60, 5).fit(), many=Made(1200, 120).fit(), large=Made(200_000, 10).fit()
    )
