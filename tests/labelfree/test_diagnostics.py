"""What a fit says against its own clusters: true where it speaks, silent where all is well."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine, make_blobs

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering
from unispectral.labelfree._diagnostics import diagnose


def said(X: np.ndarray, n_clusters: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        UnifiedSpectralClustering(n_clusters, n_jobs=1).fit(X)
    return [str(w.message) for w in caught if issubclass(w.category, DoubtfulResultWarning)]


def blobs(sizes: list[int], seed: int = 0, far: float = 12.0) -> np.ndarray:
    centres = far * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[: len(sizes)]
    return make_blobs(sizes, centers=centres, random_state=seed)[0]


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_said_of_clear_clusters(seed: int) -> None:
    assert said(blobs([120, 100, 80], seed), 3) == []


def test_nothing_is_said_of_the_wines() -> None:
    assert said(load_wine().data, 3) == []


def test_of_the_digits_a_part_of_a_cluster_is_said() -> None:
    """27 samples of one digit are written unlike the others, and are beside another digit."""
    assert all("falls into two parts" in one for one in said(load_digits().data, 10))


@pytest.mark.parametrize("seed", range(3))
def test_two_in_one_are_found(seed: int) -> None:
    (found,) = said(blobs([100, 100, 100], seed), 2)
    assert "falls into two parts, of 100 and 100 samples" in found


@pytest.mark.parametrize("seed", range(3))
def test_too_many_clusters_are_noticed(seed: int) -> None:
    found = said(blobs([100, 100, 100], seed), 5)
    assert any(text.startswith("3 clusters stand out more clearly than 5") for text in found)


def test_tiny_clusters_are_named_with_their_sizes() -> None:
    W = sp.csr_array(np.ones((102, 102)))
    labels = np.repeat([0, 1, 2, 3], [50, 49, 2, 1])
    found = diagnose(W, labels, np.full(4, 0.1))
    assert found[0].startswith("Clusters 2 and 3 have only 2 and 1 of 102 samples")
    found = diagnose(W, np.repeat([0, 1, 2], [50, 50, 2]), np.full(3, 0.1))
    assert found[0].startswith("Cluster 2 has only 2 of 102 samples")


@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_numbered_as_the_labels_are(seed: int) -> None:
    X = blobs([60, 120, 120], seed)
    X = X[np.random.default_rng(seed).permutation(len(X))]
    with pytest.warns(DoubtfulResultWarning, match="falls into two parts") as caught:
        labels = UnifiedSpectralClustering(2, n_jobs=1).fit_predict(X)
    (text,) = [str(w.message) for w in caught if "two parts" in str(w.message)]
    cluster, one, other = map(int, re.findall(r"\d+", text)[:3])
    assert (labels == cluster).sum() == one + other


def test_of_few_samples_and_one_cluster_nothing_is_said() -> None:
    assert diagnose(sp.csr_array(np.eye(4)), np.arange(4), np.zeros(4)) == []
    assert diagnose(sp.csr_array(np.ones((30, 30))), np.zeros(30, dtype=int), np.zeros(1)) == []


def test_one_isolated_cluster_is_no_reason_for_two() -> None:
    """A rise that is small beside what follows says nothing about the number."""
    W = sp.csr_array(np.ones((40, 40)))
    labels = np.arange(40) % 5
    assert diagnose(W, labels, np.array([0, 0, 0.002, 0.03, 0.1])) == []
    assert len(diagnose(W, labels, np.array([0, 0, 0.05, 0.06, 0.1]))) == 1
