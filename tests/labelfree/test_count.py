"""The number of clusters, read off the graph."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons

from unispectral import UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.graph.quality import modularity
from unispectral.kernels import KernelBank
from unispectral.labelfree import Recipe
from unispectral.labelfree._count import merge_clusters
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.labelfree._neighbourhoods import build_graph, localize
from unispectral.labelfree._selection import STRUCTURELESS, _deviations, structure_ratio
from unispectral.persistence import load_model, save_model
from unispectral.spectrum import affinity, smallest_eigenvectors


def _distance(points, kernel="linear"):
    bank = KernelBank(points, [kernel], normalize=None, gram=False)
    return KernelDistance([KernelPart(bank[0], 0)])


def separated(count, dimension, sizes, seed):
    """Blobs whose centres are at least ten standard deviations apart."""
    rng = np.random.default_rng(seed)
    centres: list[np.ndarray] = []
    while len(centres) < count:
        centre = rng.uniform(-1, 1, dimension) * 10 * count ** (1 / dimension)
        if all(np.linalg.norm(centre - other) > 10 for other in centres):
            centres.append(centre)
    return np.vstack(
        [c + rng.normal(size=(size, dimension)) for c, size in zip(centres, sizes, strict=True)]
    )


PROBLEMS = {
    "two blobs": (make_blobs(200, centers=[[0, 0], [8, 8]], random_state=0)[0], 2),
    "five blobs": (separated(5, 2, [60] * 5, 0), 5),
    "ten blobs": (separated(10, 3, [40] * 10, 1), 10),
    "twenty blobs": (separated(20, 5, [30] * 20, 2), 20),
    "unbalanced": (separated(3, 2, [250, 60, 25], 3), 3),
    "very unbalanced": (separated(6, 4, [150, 100, 60, 40, 30, 25], 4), 6),
    "moons": (make_moons(300, noise=0.05, random_state=0)[0], 2),
    "circles": (make_circles(300, noise=0.04, factor=0.4, random_state=0)[0], 2),
    "twelve in fifty dimensions": (separated(12, 50, [25] * 12, 5), 12),
    "moons and blobs": (
        np.vstack(
            [make_moons(200, noise=0.05, random_state=1)[0], separated(2, 2, [50, 50], 6) / 8 + 6]
        ),
        4,
    ),
}


def test_at_least_eight_of_ten_well_separated_problems_are_right():
    found = {
        name: UnifiedSpectralClustering("auto", max_clusters=25, n_init=1, max_iter=1)
        .fit(X)
        .n_clusters_
        for name, (X, _) in PROBLEMS.items()
    }
    right = [name for name, (_, count) in PROBLEMS.items() if found[name] == count]
    assert len(right) >= 8, found


def test_the_evidence_is_kept(tmp_path):
    X, count = PROBLEMS["five blobs"]
    model = UnifiedSpectralClustering("auto", max_clusters=9, n_init=1).fit(X)
    found = model.cluster_count_
    assert found.n_clusters == model.n_clusters_ == count
    assert len(found.scores) == 8
    assert np.argmax(found.scores) + 2 == count
    assert found.structure < 0.1 < STRUCTURELESS
    assert str(count) in found.reason
    assert UnifiedSpectralClustering(5, n_init=1).fit(X).cluster_count_ is None
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz").cluster_count_
    assert type(again) is type(found)
    for mine, theirs in zip(found, again, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kernels", ["gaussian", ["linear", "gaussian"], "precomputed"])
def test_clusters_are_counted_whatever_the_kernels(kernels):
    X, count = PROBLEMS["five blobs"]
    model = UnifiedSpectralClustering("auto", kernels=kernels, n_init=1)
    assert model.fit(X @ X.T if kernels == "precomputed" else X).n_clusters_ == count


def test_clusters_are_counted_in_views():
    X, count = PROBLEMS["twelve in fifty dimensions"]
    model = UnifiedSpectralClustering("auto", n_init=1).fit([X[:, :25], X[:, 25:]])
    assert model.n_clusters_ == count


def test_too_few_samples():
    with pytest.raises(ValueError, match="needs at least 3 samples"):
        UnifiedSpectralClustering("auto").fit(np.eye(2))


NOTHING = {
    "plane": np.random.default_rng(0).normal(size=(300, 2)),
    "space": np.random.default_rng(1).normal(size=(400, 12)),
    "many dimensions": np.random.default_rng(2).normal(size=(200, 300)),
    "long shape": np.random.default_rng(3).normal(size=(300, 5)) * [30, 5, 1, 1, 1],
}


@pytest.mark.parametrize("name", NOTHING)
def test_samples_without_clusters_are_one_cluster(name):
    model = UnifiedSpectralClustering("auto").fit(NOTHING[name])
    assert model.n_clusters_ == 1
    assert model.cluster_count_.structure > STRUCTURELESS
    assert "no more clusters" in model.cluster_count_.reason


def touching(count=8, each=30, dimension=20, seed=0):
    """Clusters of which none is separate: the graph is connected, and no gap is clear."""
    rng = np.random.default_rng(seed)
    centres = 0.9 * rng.normal(size=(count, dimension))
    return np.vstack([centre + rng.normal(size=(each, dimension)) for centre in centres])


def test_touching_clusters_are_counted():
    found = []
    for seed in range(5):
        model = UnifiedSpectralClustering("auto", max_clusters=16, n_init=1)
        model.fit(touching(seed=seed))
        assert model.cluster_count_.structure < STRUCTURELESS
        found.append(model.n_clusters_)
    assert 4 <= min(found) <= max(found) <= 9
    assert abs(np.median(found) - 8) <= 1


def test_many_small_clusters_are_counted():
    """Of nine members each, fewer than the candidates of the graph that shows larger ones."""
    X = separated(40, 30, [9] * 40, 0) / 3
    model = UnifiedSpectralClustering("auto", max_clusters=80, n_init=1).fit(X)
    assert abs(model.n_clusters_ - 40) <= 4


def test_merging_raises_modularity_most():
    """Every number on the way from many clusters to two, beside an exhaustive choice of pairs."""
    W = first_graph_of(touching(count=4, each=15))
    found, _ = merge_clusters(W, 19, Run.of(random_state=0))
    assert len(found) == 18
    pairs = smallest_eigenvectors(W, 20, tol=1e-2, rng=0)
    rows = pairs.vectors / np.linalg.norm(pairs.vectors, axis=1, keepdims=True)
    labels = KMeans(20, n_init=1, random_state=0).fit(rows).labels_
    for c in range(20, 1, -1):
        if c < 20:
            assert found[c - 2] == pytest.approx(modularity(W, labels), abs=1e-12)
        merged = [
            np.where(labels == other, one, labels)
            for one, other in combinations(np.unique(labels), 2)
        ]
        best = max(merged, key=lambda trial: modularity(W, trial))
        labels = np.unique(best, return_inverse=True)[1]


def first_graph_of(points):
    """The affinity of eight candidates."""
    around = localize(_distance(points), 8, Run.of())
    return affinity(build_graph(around, Recipe(n_clusters=4))[0])


def test_structure_lies_between_separate_clusters_and_none():
    run, recipe = Run.of(), Recipe()
    separate = structure_ratio(_distance(PROBLEMS["five blobs"][0]), 5, recipe, run)
    connected = structure_ratio(_distance(touching()), 8, recipe, run)
    none = structure_ratio(_distance(NOTHING["space"]), 8, recipe, run)
    assert 0 <= separate < 0.05 < connected < none
    assert none == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("shape", [(80, 6), (30, 50)])
def test_reference_samples_have_the_covariance_of_the_data(shape):
    points = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    expected = np.linalg.eigvalsh(np.cov(points.T))
    found = np.sort(_deviations(_distance(points), Run.of()) ** 2)
    np.testing.assert_allclose(found, expected[-len(found) :], rtol=1e-6)
    assert len(found) == min(shape[0] - 1, shape[1])


def test_neither_seed_nor_unit_changes_the_count():
    X = touching()
    found = [
        UnifiedSpectralClustering("auto", random_state=seed, n_init=1).fit(unit * X).cluster_count_
        for seed, unit in ((0, 1.0), (7, 1.0), (0, 1024.0))
    ]
    for other in found[1:]:
        assert other.n_clusters == found[0].n_clusters
        np.testing.assert_allclose(other.scores, found[0].scores, atol=1e-6)


def test_copies_are_not_counted_as_clusters() -> None:
    """Near-duplicates that fill the candidates hide the clusters; a spread sample shows them."""
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(3, 8))
    X = centres[rng.integers(0, 3, 450)] + rng.normal(size=(450, 8))
    X = np.repeat(X, 8, axis=0) + 0.05 * rng.normal(size=(3_600, 8))
    model = UnifiedSpectralClustering("auto").fit(X)
    assert model.n_clusters_ == 3
    known = UnifiedSpectralClustering(3).fit(X)
    assert model._predictor_.n_candidates == known._predictor_.n_candidates


def test_of_a_plateau_the_smallest_number_is_taken(monkeypatch):
    from unispectral.labelfree import _count

    level = np.array([0.2, 0.45, 0.4501, 0.4499, 0.3])
    monkeypatch.setattr(_count, "_excess_modularity", lambda *given: (level, "modularity"))
    monkeypatch.setattr(_count, "least_ratio", lambda *given, **more: 0.1)
    X = np.random.default_rng(0).normal(size=(80, 12))
    assert UnifiedSpectralClustering("auto").fit(X).n_clusters_ == 3
