"""Which geometry is taken: the contest, and the second look where its winner shows nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.label_free.shapes import animals

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering, load_model, save_model
from unispectral.labelfree import Recipe, cluster
from unispectral.metrics import clustering_accuracy


@pytest.mark.parametrize("n_columns", [5, 8, 12])
def test_clusters_that_size_hides_are_found(n_columns, tmp_path):
    X, kinds = animals(1, n_features=n_columns)
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "error", message=".*no clearer than", category=DoubtfulResultWarning
        )
        warnings.filterwarnings("ignore", message=".*stand out more clearly")
        model = UnifiedSpectralClustering(3).fit(X)
    assert clustering_accuracy(kinds, model.labels_) > 0.9
    assert model.structure_ < 0.6
    (name,) = model.geometry_weights_
    assert "whitened" in name
    assert np.array_equal(model.predict(X), model.labels_)
    save_model(model, tmp_path / "model.npz")
    fresh = animals(1, n_features=n_columns, each=60)[0]
    assert np.array_equal(load_model(tmp_path / "model.npz").predict(fresh), model.predict(fresh))


@pytest.mark.parametrize("seed", [0, 4])
def test_other_candidates_see_them_where_they_are_seen(seed):
    X, kinds = animals(seed)
    assert clustering_accuracy(kinds, cluster(X, Recipe(3)).labels) > 0.95


def test_plain_distances_see_nothing_there():
    X, kinds = animals(1)
    with pytest.warns(DoubtfulResultWarning, match="no clearer than"):
        labels = cluster(X, Recipe(3, whiten=())).labels
    assert clustering_accuracy(kinds, labels) < 0.6


@pytest.mark.parametrize("n_columns", [4, 12])
def test_samples_without_clusters_stay_without(n_columns):
    X, _ = animals(0, n_kinds=1, n_features=n_columns, each=200)
    with pytest.warns(DoubtfulResultWarning, match="no clearer than"):
        UnifiedSpectralClustering(3).fit(X)
