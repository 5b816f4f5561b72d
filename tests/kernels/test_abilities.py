"""Kernels say what they can do; nobody asks their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.graph import neighbours as module
from unispectral.kernels import Gaussian, Kernel, KernelBank, Linear, Metric, Polynomial
from unispectral.labelfree import _geometry
from unispectral.labelfree._geometry import KernelDistance, KernelPart, nearest_in
from unispectral.paper._candidates import candidates, searches


def _cosine(products):
    scale = np.sqrt(np.maximum(products.left * products.right, 1e-300))
    return (1.0 + products.dots / scale) ** 2


@dataclass(frozen=True)
class Direction:
    """A kernel of angles alone, whose neighbours are not those of the table."""

    name: str = "direction"

    def bind(self, features):
        return _cosine


@dataclass(frozen=True)
class Table:
    """The dot product under any name, with or without the promises that go with it."""

    name: str
    promise: bool = False

    def bind(self, features):
        return Linear().bind(features)

    def __getattr__(self, name):
        if name == "abilities" and self.__dict__["promise"]:
            return Linear().abilities
        raise AttributeError(name)


NAMES = ["gaussian_direction", "linear", "gaussian", "polynomial_2", "view0:linear", "kernel_0"]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    table, _ = make_blobs(150, centers=4, n_features=5, cluster_std=2.0, random_state=0)
    return table * rng.uniform(0.05, 20.0, (150, 1))  # lengths that say nothing


@pytest.mark.parametrize("name", NAMES)
def test_renaming_a_kernel_changes_nothing(X, name):
    assert isinstance(Direction(), Kernel)
    for make in (
        lambda kernel: UnifiedSpectralClustering(4, kernels=kernel, n_init=2),
        lambda kernel: UnifiedSpectralClustering(4, kernels=[kernel, "linear"], n_init=2),
        lambda kernel: SCSK(4, kernel=kernel, solver="local", alpha=0.1),
        lambda kernel: SCMK(4, kernels=[kernel, "gaussian"], solver="exact", alpha=0.1),
    ):
        plain, renamed = make(Direction()).fit(X), make(Direction(name)).fit(X)
        assert name in renamed.kernel_names_
        np.testing.assert_array_equal(renamed.labels_, plain.labels_)
        np.testing.assert_array_equal(renamed.graph_.toarray(), plain.graph_.toarray())
        np.testing.assert_array_equal(renamed.predict(X[:20] + 0.1), plain.predict(X[:20] + 0.1))
        np.testing.assert_array_equal(renamed.kernel_weights_, plain.kernel_weights_)


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_that_promises_nothing_is_searched_over_all_pairs(X, name, monkeypatch):
    bank = KernelBank(X, [Direction(name)], normalize="none")
    assert bank.abilities(0).search is bank.abilities(0).distances is None
    assert [search.metric for search in searches(bank)] == [None]
    assert bank[0].euclidean_table() is None
    geometry = KernelDistance([KernelPart(bank[0], 0)])
    assert geometry.search_table() is None

    def refuse(*_, **__):
        raise AssertionError("an index was asked")

    monkeypatch.setattr(module, "build_index", refuse)
    squared = geometry.distances(slice(None), slice(None))
    np.fill_diagonal(squared, np.inf)
    expected = np.sort(squared, axis=1)[:, :5]
    found = nearest_in(geometry, 5, Run.of())
    np.testing.assert_allclose(np.take_along_axis(squared, found, axis=1), expected, atol=1e-12)
    K = bank.matrix(0) / np.sqrt(bank.diagonal(0))
    np.fill_diagonal(K, -np.inf)
    best = np.take_along_axis(K, candidates(bank, 5).astype(int), axis=1)
    np.testing.assert_allclose(best, -np.sort(-K, axis=1)[:, :5], rtol=1e-9)


def test_a_promise_is_what_an_index_rests_on(X, monkeypatch):
    """With the promise of a dot product any name is searched by an index, without it by none."""
    monkeypatch.setattr(_geometry, "_HELD_SAMPLES", 0)  # as with many samples
    asked = []
    usual = _geometry.KernelDistance.compare_all
    monkeypatch.setattr(
        _geometry.KernelDistance,
        "compare_all",
        lambda *given, **named: asked.append(1) or usual(*given, **named),
    )
    labels = UnifiedSpectralClustering(4, whiten=None, n_init=2, committee=False).fit_predict(X)
    assert not asked
    promising = UnifiedSpectralClustering(
        4, kernels=Table("odd", True), whiten=None, n_init=2, committee=False
    )
    np.testing.assert_array_equal(promising.fit_predict(X), labels)
    assert not asked
    silent = UnifiedSpectralClustering(
        4, kernels=Table("linear"), whiten=None, n_init=2, committee=False
    )
    np.testing.assert_array_equal(silent.fit_predict(X), labels)
    assert asked


@pytest.mark.parametrize(
    "kernel", [Linear(), Gaussian(0.3), Gaussian(1.0, scale=2.0), Polynomial(2, offset=1.0)]
)
def test_what_the_kernels_of_the_library_promise_is_true(X, kernel):
    able = kernel.abilities
    table = np.abs(X)
    bank = KernelBank(table, [kernel], normalize="none")
    K = bank.matrix(0)
    own = np.diagonal(K)
    squared = ((table[:, None] - table[None]) ** 2).sum(axis=2)
    distances = own[:, None] + own[None] - 2 * K
    if able.distances == "table":
        np.testing.assert_allclose(distances, squared, atol=1e-8 * squared.max())
    elif able.distances == "monotone":
        order = np.argsort(squared, axis=None)
        assert (np.diff(distances.ravel()[order]) >= -1e-9).all()
    if able.movable:
        moved = KernelBank(table * 4.0 + 7.0, [kernel], normalize="none").matrix(0)
        np.testing.assert_allclose(moved, K, atol=1e-9)
    assert not hasattr(Metric("laplacian"), "abilities")
