"""Clusters that samples of low density between them would blur."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from unispectral.graph.quality import normalized_cut
from unispectral.kernels import KernelBank
from unispectral.labelfree import Recipe, cluster
from unispectral.labelfree._assignment import _spread, find_core_samples, prefer_core_labels
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.metrics import clustering_accuracy


def _distance(table: np.ndarray) -> KernelDistance:
    return KernelDistance([KernelPart(KernelBank(table, ["linear"], normalize=None)[0], 0)])


def _bars_in_noise(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four bars of unequal length side by side, and noise everywhere; −1 marks the noise."""
    rng = np.random.default_rng(seed)
    lengths, parts, labels = (10.0, 8.0, 3.0, 1.5), [], []
    for at, length in enumerate(lengths):
        n = int(120 * length)
        parts.append(np.column_stack([rng.uniform(0, length, n), at + rng.uniform(0, 0.5, n)]))
        labels += [at] * n
    parts.append(rng.uniform([-1, -1], [11, 5], (250, 2)))
    return np.vstack(parts), np.array(labels + [-1] * 250)


def test_unequal_clusters_in_noise_are_found_without_the_noise() -> None:
    scores = []
    for seed in range(6):
        X, y = _bars_in_noise(seed)
        known = y >= 0
        scores.append([
            clustering_accuracy(
                y[known],
                cluster(X, Recipe(4, core_first=first), random_state=seed).labels[known],
            )
            for first in (True, False)
        ])  # fmt: skip
    with_core, without = np.transpose(scores)
    assert (with_core >= without).all()
    assert with_core.max() > 0.95
    assert with_core.mean() > without.mean() + 0.1


def test_low_density_samples_are_those_of_low_density_beside_their_surroundings() -> None:
    X, y = _bars_in_noise(0)
    core = find_core_samples(_distance(X))
    assert core is not None
    assert core.mean() >= 0.8
    assert core[y >= 0].mean() > 0.85
    alone = (y < 0) & ((X[:, 1] < -0.3) | (X[:, 1] > 4.3))
    assert core[alone].mean() < core[y >= 0].mean() - 0.3


@pytest.mark.parametrize("shape", [(100, 2), (300, 9), (20_001, 2)])
def test_densities_of_few_or_many_samples_or_columns_are_not_looked_at(shape: tuple) -> None:
    table = np.random.default_rng(0).normal(size=shape)
    assert find_core_samples(_distance(table)) is None


def test_clear_clusters_keep_their_labels_without_a_second_look() -> None:
    X, _ = make_moons(400, noise=0.05, random_state=0)
    found = cluster(X, Recipe(2))
    before = cluster(X, Recipe(2, core_first=False))
    assert np.array_equal(found.labels, before.labels)


@pytest.mark.parametrize("better", ["without", "with", "both", "neither"])
def test_both_criteria_must_prefer_the_labels_of_core_samples(better: str) -> None:
    """Two dense groups and others; the first labels or the graphs make one criterion say no."""
    rng = np.random.default_rng(0)
    table = np.vstack([rng.normal(0, 0.1, (150, 2)), rng.normal(3, 0.1, (150, 2))])
    table = np.vstack([table, rng.uniform(-3, 6, (30, 2))])
    distance = _distance(table)
    core = find_core_samples(distance)
    assert core is not None
    truth = (table.sum(axis=1) > 3).astype(int)
    wrong = np.where(np.arange(len(table)) % 5 == 0, 1 - truth, truth)
    W = sp.csr_array((truth[:, None] == truth[None, :]) + 0.05)
    against = sp.csr_array((wrong[:, None] == wrong[None, :]) + 0.05)
    full = W if better in ("with", "both") else against
    inner = W if better in ("without", "both") else against
    inside = sp.csr_array(inner[core][:, core])
    assert normalized_cut(full, wrong) > 2e-3
    got = prefer_core_labels(full, wrong, core, inside, truth[core])
    expected = truth if better == "both" else wrong
    assert np.array_equal(got[core], expected[core])


def test_labels_spread_along_the_graph_or_not_at_all() -> None:
    chain = sp.diags_array([np.ones(4), np.ones(4)], offsets=[-1, 1], shape=(5, 5)).tocsr()
    core = np.array([True, False, False, False, True])
    assert _spread(chain, core, np.array([0, 1])).tolist()[::4] == [0, 1]
    apart = sp.csr_array(np.kron(np.eye(2), np.ones((2, 2))))
    assert _spread(apart, np.array([True, False, False, False]), np.array([0])) is None
