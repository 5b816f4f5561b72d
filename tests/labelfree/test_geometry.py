"""Whitened distances against their closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from unispectral.kernels import KernelBank
from unispectral.labelfree._geometry import KernelDistance, KernelPart, Whitening, whiten


def plain(X: np.ndarray) -> KernelDistance:
    return KernelDistance([KernelPart(KernelBank(X, ["linear"], normalize=None)[0], 0)])


@pytest.mark.parametrize("n_columns", [1, 2, 5])
@pytest.mark.parametrize("copies", [1, 3])
def test_mapped_samples_are_whitened_as_by_the_closed_form(n_columns, copies):
    X = np.repeat(np.random.default_rng(0).normal(size=(60, n_columns)), copies, axis=0)
    mapped = whiten(plain(X), Whitening(3.0, gaussian=True))
    distances = pdist(X, "sqeuclidean")
    K = np.exp(-0.5 / np.median(distances[distances > 0]) * squareform(distances))
    K -= K.mean(axis=0)
    K -= K.mean(axis=1)[:, None]
    shrunk = K @ np.linalg.inv(K + 3.0 * np.trace(K) / len(K) * np.eye(len(K)))
    lengths = np.sqrt(np.diag(shrunk))
    assert np.allclose(mapped.all_products(None), shrunk / np.outer(lengths, lengths), atol=1e-6)
    assert np.allclose(mapped.cross([X[:5]]), mapped.distances(slice(5), slice(None)), atol=1e-6)


def test_few_landmarks_stand_for_samples_of_the_plane():
    X = np.random.default_rng(0).normal(size=(400, 2))
    mapped = whiten(plain(X), Whitening(3.0, gaussian=True))
    assert mapped.table.shape[1] < 100


def test_samples_that_are_all_equal_can_be_mapped():
    mapped = whiten(plain(np.ones((5, 2))), Whitening(3.0, gaussian=True))
    assert np.array_equal(mapped.table, np.zeros((5, 1)))
