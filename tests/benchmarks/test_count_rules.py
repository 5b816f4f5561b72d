"""The rules of others for the number of clusters, beside their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.label_free.count_rules import normalized_maximum_eigengap, relative_eigengap
from sklearn.datasets import make_blobs


@pytest.mark.parametrize("count", [2, 4, 6])
def test_the_eigengap_rules_find_separate_clusters(count):
    X, _ = make_blobs(30 * count, centers=20.0 * np.eye(6)[:count], random_state=count)
    chosen = normalized_maximum_eigengap(X, metric="euclidean")
    assert chosen.n_clusters == count
    assert chosen.counts.tolist() == list(range(1, 11))
    assert chosen.n_neighbors == chosen.tried_neighbors[np.argmin(chosen.ratios)]
    W = np.exp(-np.square(X[:, None] - X).sum(axis=2) / 10.0)
    for affinity in (W, sp.csr_array(np.where(W > 1e-3, W, 0.0))):
        found = relative_eigengap(affinity)
        assert found.n_clusters == count
        assert found.counts.tolist() == list(range(2, 11))
        assert found.counts[np.argmax(found.gaps)] == count


def test_the_eigengap_rules_against_their_formulas():
    X = np.random.default_rng(0).normal(size=(24, 3))
    W = np.exp(-np.square(X[:, None] - X).sum(axis=2))
    roots = W.sum(axis=1) ** -0.5
    values = np.linalg.eigvalsh(np.eye(24) - roots[:, None] * W * roots)
    wanted = [(values[k] - values[:k].mean()) / (values[:k].mean() + 1e-6) for k in range(2, 6)]
    np.testing.assert_allclose(relative_eigengap(W, max_clusters=5).gaps, wanted, rtol=1e-6)

    chosen = normalized_maximum_eigengap(X, max_clusters=5, n_neighbors=[3, 6])
    cosine = X @ X.T / np.outer(*[np.linalg.norm(X, axis=1)] * 2) - 2.0 * np.eye(24)
    for p, ratio in zip((3, 6), chosen.ratios, strict=True):
        A = (np.argsort(np.argsort(-cosine, axis=1), axis=1) < p).astype(float)
        A = (A + A.T) / 2
        values = np.linalg.eigvalsh(np.diag(A.sum(axis=1)) - A)
        gap = np.diff(values)[:5].max()
        assert ratio == pytest.approx(p * values[-1] / gap)


def test_the_eigengap_rules_refuse_what_they_cannot_read():
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(ValueError, match=r"affinity of shape.*not square, symmetric and non-neg"):
        relative_eigengap(X)
    with pytest.raises(ValueError, match="affinity of shape"):
        relative_eigengap(-np.ones((4, 4)))
    with pytest.raises(ValueError, match="max_clusters=1 is too small"):
        relative_eigengap(np.ones((4, 4)), max_clusters=1)
    with pytest.raises(ValueError, match=r"n_neighbors=\[12\].*between 1 and 11"):
        normalized_maximum_eigengap(X, n_neighbors=[12])
    # Two samples that nobody knows are two clusters more.
    W = np.zeros((12, 12))
    W[:5, :5] = W[5:10, 5:10] = 1.0
    assert relative_eigengap(W, max_clusters=6).n_clusters == 4
