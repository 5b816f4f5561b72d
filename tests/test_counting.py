"""The number of clusters, read off the graph."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_moons

from unispectral import SCMK, SCSK


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
