"""The number of clusters, read off the graph."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons

from unispectral import SCMK, SCSK
from unispectral.labelfree._coding import Recipe
from unispectral.labelfree._counting import LEAST_EXCESS, count_in_geometries, excess
from unispectral.labelfree._geometry import TableGeometry, localize
from unispectral.labelfree._null_model import Chance, local_dimension, modularities
from unispectral.persistence import load_model, save_model


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
        name: SCSK("auto", max_clusters=25, n_init=1, max_iter=1).fit(X).n_clusters_
        for name, (X, _) in PROBLEMS.items()
    }
    right = [name for name, (_, count) in PROBLEMS.items() if found[name] == count]
    assert len(right) >= 8, found


def test_the_evidence_is_kept():
    X, count = PROBLEMS["five blobs"]
    model = SCSK("auto", max_clusters=9, n_init=1).fit(X)
    evidence = model.cluster_evidence_
    assert evidence.n_clusters == model.n_clusters_ == count
    assert len(evidence.eigenvalues) == 10
    assert np.argmax(evidence.ratios) + 2 == count
    assert SCSK(5, n_init=1).fit(X).cluster_evidence_ is None


@pytest.mark.parametrize(
    "model", [SCMK("auto"), SCSK.paper("auto", kernel="gaussian_0.1", alpha=0.01)]
)
def test_every_model_can_count(model):
    X, count = PROBLEMS["five blobs"]
    assert model.set_params(n_init=1).fit(X).n_clusters_ == count


def test_too_few_samples():
    with pytest.raises(ValueError, match="needs at least 3 samples"):
        SCSK("auto").fit(np.eye(2))


def _around(points, k=10):
    return localize(TableGeometry("points", points, None), k, np.random.default_rng(0))


def touching(count=8, each=30, dimension=20, seed=0):
    """Clusters of which none is separate: the graph is connected, and no gap is clear."""
    rng = np.random.default_rng(seed)
    centres = 0.9 * rng.normal(size=(count, dimension))
    return np.vstack([centre + rng.normal(size=(each, dimension)) for centre in centres])


def test_touching_clusters_are_counted_by_their_modularity():
    model = SCSK("auto", max_clusters=16, whiten=None, n_init=1, max_iter=1).fit(touching())
    found = model.cluster_evidence_
    assert found.ratios.max() < 1.0  # no gap to go by
    assert found.decided_by == "excess"
    assert abs(model.n_clusters_ - 8) <= 1
    assert np.nanargmax(found.excess) + 2 == model.n_clusters_
    assert len(found.excess) == len(found.ratios) == 15
    assert np.isnan(found.excess[13 - 2])  # between the steps


def test_the_gap_decides_where_modularity_says_little():
    X, _ = PROBLEMS["moons"]
    found = SCSK("auto", n_init=1, max_iter=1).fit(X).cluster_evidence_
    assert np.nanmax(found.excess) < LEAST_EXCESS
    assert (found.n_clusters, found.decided_by) == (2, "ratios")
    clear = SCSK("auto", n_init=1, max_iter=1).fit(PROBLEMS["five blobs"][0]).cluster_evidence_
    assert clear.excess is None
    assert clear.decided_by == "ratios"


def test_a_cloud_has_no_excess_and_separate_clusters_have_all_of_it():
    counts = np.array([2, 5, 9])
    cloud = np.random.default_rng(5).normal(size=(300, 6))
    recipe = Recipe(2, assign_labels="kmeans")
    chance = Chance(300, 5, recipe, 1, seed=0, counts=counts.tolist(), draws=2)
    rng = np.random.default_rng(0)
    reached = modularities(_around(cloud, 5), recipe, counts.tolist(), 1, rng)
    expected = chance.curve(local_dimension(_around(cloud, 5)))
    assert np.abs(excess(reached, expected, counts)).max() < 0.15
    # The most that so many clusters can reach, by hand.
    perfect = excess(1.0 - 1.0 / counts, expected, counts)
    np.testing.assert_allclose(perfect, np.sqrt(1.0 - 1.0 / counts - expected))


@pytest.mark.parametrize("count", [2, 4, 6])
def test_modularity_of_separate_clusters_of_equal_size(count):
    X = separated(count, 3, [30] * count, 1)
    recipe = Recipe(2, assign_labels="kmeans")
    found = modularities(_around(X, 5), recipe, [count], 3, np.random.default_rng(0))
    np.testing.assert_allclose(found, [1.0 - 1.0 / count], atol=0.01)


def test_chance_of_several_numbers_is_that_of_each():
    both = Chance(150, 5, Recipe(2), 3, seed=1, counts=[3, 6], draws=2).curve(6.0)
    each = [Chance(150, 5, Recipe(c), 3, seed=1, draws=2).expected(6.0) for c in (3, 6)]
    np.testing.assert_allclose(both, each, atol=0.02)


def test_of_many_geometries_the_promising_are_followed():
    X = touching()
    noise = [np.random.default_rng(s).normal(size=(len(X), 20)) for s in range(5)]
    around = [_around(one) for one in [*noise, X]]
    found = count_in_geometries(around, Recipe(0), 16, np.random.default_rng(0))
    assert found.decided_by == "excess"
    assert abs(found.n_clusters - 8) <= 1


def test_the_excess_is_saved(tmp_path):
    model = SCSK("auto", max_clusters=16, whiten=None, n_init=1, max_iter=1).fit(touching())
    path = tmp_path / "model.zip"
    save_model(model, path)
    again = load_model(path).cluster_evidence_
    np.testing.assert_array_equal(again.excess, model.cluster_evidence_.excess)
    assert again.decided_by == "excess"


def test_copies_are_not_counted_as_clusters() -> None:
    """Near-duplicates that fill the candidates hide the clusters; wider lists show them."""
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(3, 8))
    X = centres[rng.integers(0, 3, 450)] + rng.normal(size=(450, 8))
    X = np.repeat(X, 8, axis=0) + 0.05 * rng.normal(size=(3_600, 8))
    model = SCSK("auto").fit(X)
    assert model.n_clusters_ == 3
    assert model._sources_[0].n_candidates == SCSK(3).fit(X)._sources_[0].n_candidates
