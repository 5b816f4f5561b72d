"""Evidence of clusters, and the weights that kernels earn by it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from unispectral import SCMK
from unispectral.kernels import Gaussian, KernelBank, Linear
from unispectral.labelfree import _null_model as _evidence
from unispectral.labelfree._coding import Recipe
from unispectral.labelfree._fusion import FusedGeometry
from unispectral.labelfree._geometry import KernelGeometry, TableGeometry, localize
from unispectral.labelfree._null_model import Chance, evidence, local_dimension
from unispectral.persistence import load_model, save_model


def _around(points, k=8):
    rng = np.random.default_rng(0)
    return localize(TableGeometry("points", points, None), k, rng)


def _gaussian(points):
    squared = euclidean_distances(points, squared=True)
    return np.exp(-squared / (2.0 * np.median(squared)))


def test_local_dimension_rises_with_the_dimension_and_ignores_scale_and_duplicates():
    rng = np.random.default_rng(0)
    found = []
    for d in (1, 2, 5, 20):
        points = rng.normal(size=(300, d))
        found.append(local_dimension(_around(points)))
        assert local_dimension(_around(1e3 * points)) == pytest.approx(found[-1], rel=1e-6)
    assert found == sorted(found)
    assert found[1] > 1.5 * found[0]
    flat = np.hstack([points[:, :2], np.zeros((300, 30))])
    assert local_dimension(_around(flat)) < found[2]
    twice = np.vstack([flat, flat])  # every sample has an exact copy
    assert local_dimension(_around(twice)) < 2.0 * local_dimension(_around(flat))


def test_chance_falls_with_the_dimension_and_is_drawn_once():
    chance = Chance(200, 8, Recipe(4), 2, seed=3)
    low, high = chance.expected(5.0), chance.expected(30.0)
    assert 0.75 > low > high > 0.0
    assert chance.expected(5.0) == low
    assert Chance(200, 8, Recipe(4), 2, seed=3).expected(5.0) == low


def test_chance_of_many_samples_is_scaled_from_fewer(monkeypatch):
    monkeypatch.setattr(_evidence, "DRAWS", 2)
    whole = Chance(1600, 8, Recipe(4), 2, seed=0)._level(2)
    monkeypatch.setattr(_evidence, "CLOUD_SAMPLES", 400)
    few = Chance(1600, 8, Recipe(4), 2, seed=0)._level(2)
    assert few == pytest.approx(whole, abs=0.02)


def test_evidence_is_adjusted_for_chance():
    assert evidence(0.6, 0.6, 5) == 0.0
    assert evidence(0.8, 0.6, 5) == pytest.approx(1.0)
    assert evidence(0.5, 0.6, 5) < 0.0
    assert evidence(0.5, 0.5, 2) == 0.0  # a line cut in two: chance leaves no room above it


@pytest.mark.parametrize("n_features", [2, 10])
def test_noise_beside_one_good_kernel_gets_no_weight(n_features):
    X, y = make_moons(300, noise=0.06, random_state=0)
    rng = np.random.default_rng(1)
    noise = [_gaussian(rng.normal(size=(300, n_features))) for _ in range(3)]
    model = SCMK(2, kernels="precomputed", n_init=4).fit([noise[0], _gaussian(X), *noise[1:]])
    assert model.kernel_weights_.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.kernel_evidence_[1] > 0.9
    assert np.delete(model.kernel_evidence_, 1).max() < 0.6


def _views(seed=0, n=240):
    """Two views that show the clusters, more and less clearly, and one that shows nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    views = {}
    for name, gap in (("clear", 4.0), ("blurred", 1.8)):
        views[name] = rng.normal(size=(4, 6))[y] * gap / np.sqrt(6) + rng.normal(
            size=(n, 6)
        ) / np.sqrt(6)
    views["noise"] = rng.normal(size=(n, 3))
    return views, y


def test_weights_follow_the_evidence():
    views, y = _views()
    model = SCMK(4, n_init=4, fuse=False).fit(views)
    found = model.kernel_evidence_
    assert found[0] > found[1] > 0.2 > found[2]
    expected = np.where(found >= 0.2, found, 0.0) ** 4
    np.testing.assert_allclose(model.kernel_weights_, expected / expected.sum())
    assert model.view_weights_["noise"] == 0.0
    assert "fused" not in model.geometry_weights_
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_the_sum_of_the_kernels_is_one_kernel_more():
    views, y = _views()
    apart = SCMK(4, n_init=4, fuse=False).fit(views)
    model = SCMK(4, n_init=4).fit(views)
    fused = [name for name in model.geometry_weights_ if name.startswith("fused")]
    assert fused[0] == "fused"
    assert sum(model.geometry_weights_[name] for name in fused) > 0.25
    # Its weight goes to the kernels in the proportion in which it holds them.
    np.testing.assert_allclose(model.kernel_weights_, apart.kernel_weights_, atol=0.1)
    assert adjusted_rand_score(y, model.labels_) >= adjusted_rand_score(y, apart.labels_)
    assert (model.predict(views) == model.labels_).all()
    part = {name: view[:40] + 1e-3 for name, view in views.items()}
    assert (model.predict(part) == model.labels_[:40]).mean() > 0.95
    part["blurred"][:5] = np.nan  # described by the others alone
    assert (model.predict(part)[:5] == model.labels_[:5]).all()


def test_a_fused_geometry_is_the_weighted_sum():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(30, 3)), rng.normal(size=(30, 2))]
    parts = [KernelGeometry(KernelBank(one, (Linear(),), normalize="none"), 0) for one in tables]
    fused = FusedGeometry(parts, np.array([2.0, 0.5]), [0, 1])
    stacked = np.hstack([np.sqrt(2.0) * tables[0], np.sqrt(0.5) * tables[1]])
    expected = euclidean_distances(stacked, squared=True)
    every = np.arange(30)
    np.testing.assert_allclose(fused.distances(every, every), expected, atol=1e-9)
    np.testing.assert_allclose(fused.cross(tables), expected, atol=1e-9)
    nearest = np.argsort(expected + 1e9 * np.eye(30), axis=1)[:, :4]
    assert (fused.nearest(4, rng) == nearest).all()
    near, among = fused.around(every, nearest)
    np.testing.assert_allclose(near, np.take_along_axis(expected, nearest, axis=1), atol=1e-9)
    np.testing.assert_allclose(among[3], expected[np.ix_(nearest[3], nearest[3])], atol=1e-9)
    # Without tables all pairs are looked at.
    gaussian = KernelBank(tables[0], (Gaussian(),), normalize="none")
    other = FusedGeometry([KernelGeometry(gaussian, 0), parts[1]], np.array([1.0, 1.0]), [0, 1])
    found = other.distances(every, every) + 1e9 * np.eye(30)
    assert (other.nearest(4, rng) == np.argsort(found, axis=1)[:, :4]).all()


def test_fused_models_of_matrices_predict_and_are_saved(tmp_path):
    views, _ = _views()
    tables = [views["clear"], views["blurred"]]
    kernels = [one @ one.T for one in tables]
    model = SCMK(4, kernels="precomputed", n_init=3).fit(kernels)
    assert "fused" in model.geometry_weights_
    cross = [(one[:50] + 1e-3) @ one.T for one in tables]
    found = model.predict(cross)
    assert (found == model.labels_[:50]).mean() > 0.95
    model = SCMK(4, n_init=3).fit(tables)
    save_model(model, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    new = [one[:50] + 0.1 for one in tables]
    assert (again.predict(new) == model.predict(new)).all()
    np.testing.assert_allclose(again.kernel_evidence_, model.kernel_evidence_)


def test_sharpness_and_least_evidence():
    views, _ = _views()
    even = SCMK(4, n_init=4, sharpness=0.0).fit(views)
    assert even.kernel_weights_.tolist() == [0.5, 0.5, 0.0]
    sharp = SCMK(4, n_init=4, sharpness=200.0, fuse=False).fit(views)
    assert sharp.kernel_weights_[0] > 0.99
    # Nothing is as clear as that: the best stays alone.
    alone = SCMK(4, n_init=4, min_evidence=1.0).fit(views)
    assert alone.kernel_weights_.tolist() == [1.0, 0.0, 0.0]


def test_clear_clusters_of_something_else_are_outvoted():
    rng = np.random.default_rng(7)
    views, y = _views(2)
    other = rng.integers(4, size=len(y))
    views["other"] = 5.0 * np.eye(4)[other] + 0.3 * rng.normal(size=(len(y), 4))
    del views["noise"]
    model = SCMK(4, n_init=4).fit(views)
    assert model.kernel_evidence_[2] > 0.9
    assert model.view_weights_["other"] == 0.0
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_one_kernel_needs_no_evidence():
    X, _ = make_moons(60, random_state=0)
    assert SCMK(2, n_init=2).fit(X).kernel_evidence_ is None
