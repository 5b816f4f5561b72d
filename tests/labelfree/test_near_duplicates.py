"""Masses of near-duplicates must not leave a graph that hangs by threads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from unispectral import UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.labelfree._neighbourhoods import localize, near_duplicate_share
from unispectral.metrics import clustering_accuracy


def copies(times: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    X = np.repeat(X, times, axis=0)
    X = X + noise * np.random.default_rng(0).normal(size=X.shape)
    return X.astype(np.float32), np.repeat(y, times)


@pytest.mark.parametrize(
    ("times", "k", "crowded"), [(1, 8, False), (4, 8, False), (8, 8, True), (8, 16, False)]
)
def test_near_duplicates_are_seen_where_they_are(times, k, crowded) -> None:
    X, _ = copies(times, 0.5)
    bank = KernelBank(X[:3_200], "linear", normalize="none", gram=False)
    around = localize(KernelDistance([KernelPart(bank[0], 0)]), k, Run.of())
    assert (near_duplicate_share(around) > 0.5) == crowded


def test_eight_copies_of_each_digit_cluster_like_the_digits() -> None:
    X, y = copies(8, 0.5)
    model = UnifiedSpectralClustering(10).fit(X)
    assert model._predictor_.n_candidates == 16
    assert clustering_accuracy(y, model.labels_) > 0.8
