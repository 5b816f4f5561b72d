"""Labels of many samples: communities of the graph instead of eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering, load_model, save_model
from unispectral.labelfree import Recipe, cluster


@pytest.fixture(scope="module")
def unequal() -> tuple[np.ndarray, np.ndarray]:
    sizes = [6000, 3000, 1000, 400, 100, 40]
    rng = np.random.default_rng(0)
    centers = 12.0 * rng.normal(size=(len(sizes), 3))
    return make_blobs(sizes, 3, centers=centers, cluster_std=1.0, random_state=0)


@pytest.fixture(scope="module")
def model(unequal) -> UnifiedSpectralClustering:
    return UnifiedSpectralClustering(6, n_jobs=1).fit(unequal[0])


def test_unequal_clusters_of_many_samples_are_found(unequal, model) -> None:
    assert adjusted_rand_score(unequal[1], model.labels_) > 0.97
    assert "communities" in model.stop_reason_
    assert model.converged_


def test_the_embedding_is_made_of_the_clusters_of_neighbours(unequal, model) -> None:
    assert model.embedding_.shape == (len(unequal[0]), 6)
    assert np.allclose(np.linalg.norm(model.embedding_, axis=1), 1.0)
    assert len(model.eigenvalues_) == 0
    inside = model.embedding_ @ model.rotation_
    assert (inside.argmax(axis=1) == model.labels_).mean() > 0.99


def test_memberships_and_predictions_belong_to_the_labels(unequal, model, tmp_path) -> None:
    X = unequal[0]
    assert np.allclose(model.membership_.sum(axis=1), 1.0)
    assert (model.membership_.argmax(axis=1) == model.labels_).mean() > 0.99
    assert np.array_equal(model.predict(X[:500]), model.labels_[:500])
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    fresh = X[:200] + 0.01
    assert np.array_equal(again.predict_proba(fresh), model.predict_proba(fresh))


def test_the_number_of_threads_changes_nothing(unequal, model) -> None:
    again = UnifiedSpectralClustering(6, n_jobs=2).fit(unequal[0])
    assert np.array_equal(again.labels_, model.labels_)


def test_a_study_may_ask_for_eigenvectors(unequal) -> None:
    X = unequal[0]
    found = cluster(X, Recipe(n_clusters=6, spectral_samples=len(X)))
    assert len(found.eigenvalues) == 6
