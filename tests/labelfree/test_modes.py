"""Modes of the density, and how far they stand out."""

from __future__ import annotations

import numpy as np
import pytest

from unispectral import UnifiedSpectralClustering
from unispectral.kernels import KernelBank
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.labelfree._modes import find_prominences, mode_prominences
from unispectral.labelfree._selection import estimate_dimension, find_nearest_squared


def _distance(points):
    bank = KernelBank(points, ["linear"], normalize=None, gram=False)
    return KernelDistance([KernelPart(bank[0], 0)])


def _plain_prominences(near, height):
    """The same from the definition: flood the graph from above, one level at a time."""
    n = len(near)
    linked = np.zeros((n, n), dtype=bool)
    np.put_along_axis(linked, near, True, axis=1)
    linked |= linked.T
    found = {}
    for peak in range(n):
        inside = {peak}
        for level in sorted(height, reverse=True):
            if level > height[peak]:
                continue
            inside, grown = {peak}, {peak}
            while grown:
                reached = {
                    int(j) for i in grown for j in np.flatnonzero(linked[i] & (height >= level))
                }
                grown = reached - inside
                inside |= reached
            if max(height[list(inside)]) > height[peak]:
                found[peak] = height[peak] - level
                break
        else:
            found[peak] = np.inf
    return np.sort([value for value in found.values() if value > 0])[::-1]


@pytest.mark.parametrize("seed", range(5))
def test_prominences_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    near = np.array([rng.choice(np.delete(np.arange(30), i), 2, replace=False) for i in range(30)])
    height = rng.permutation(30).astype(float)
    np.testing.assert_allclose(find_prominences(near, height), _plain_prominences(near, height))


def test_components_have_infinite_prominence():
    near = np.array([[1], [0], [3], [2]])
    assert find_prominences(near, np.arange(4.0)).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_the_dimension_is_that_of_the_samples(dimension):
    plane = np.random.default_rng(0).uniform(size=(800, dimension))
    turned = plane @ np.linalg.qr(np.random.default_rng(1).normal(size=(9, dimension)))[0].T
    found = estimate_dimension(find_nearest_squared(_distance(turned))[1])
    assert found == pytest.approx(dimension, rel=0.2)


def test_as_many_modes_stand_out_as_there_are_clusters_in_noise():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [4, 0], [0, 4], [4, 4]])
    X = np.vstack([c + 0.5 * rng.normal(size=(100, 2)) for c in centres])
    X = np.vstack([X, rng.uniform(-2, 6, size=(40, 2))])
    found = mode_prominences(_distance(X))
    assert found[3] > 3.0 > 2.5 > found[4]
    assert UnifiedSpectralClustering("auto").fit(X).n_clusters_ == 4
    np.testing.assert_allclose(mode_prominences(_distance(1024 * X)), found, rtol=1e-6)


def test_many_dimensions_and_equal_samples_show_no_density():
    assert mode_prominences(_distance(np.random.default_rng(0).normal(size=(200, 40)))) is None
    assert mode_prominences(_distance(np.ones((20, 3)))) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_uniform_square_is_one_cluster(seed):
    X = np.random.default_rng(seed).uniform(size=(300, 2))
    assert UnifiedSpectralClustering("auto").fit(X).n_clusters_ == 1


def test_subspaces_are_counted_where_only_whitening_shows_them():
    from benchmarks.label_free.shapes import subspaces

    X, _ = subspaces(101, n_clusters=6, dimension=2, noise=0.02)
    plain = UnifiedSpectralClustering("auto", whiten=None, max_clusters=30).fit(X)
    assert plain.n_clusters_ != 6
    assert UnifiedSpectralClustering("auto", max_clusters=30).fit(X).n_clusters_ == 6
