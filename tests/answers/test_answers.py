"""What a fitted model answers beside its labels, in notebooks and searches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from unispectral import UnifiedSpectralClustering
from unispectral.graph.quality import modularity
from unispectral.model_selection import _neighbour_graph


@pytest.fixture(scope="module")
def blobs():
    centres = [[0, 0], [9, 0], [0, 9], [9, 9]]
    return make_blobs(240, centers=centres, random_state=0)


def test_nothing_has_to_be_set(blobs):
    X, y = blobs
    model = UnifiedSpectralClustering().fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) == 1.0
    told = repr(model.cluster_count_).splitlines()
    assert told[0].startswith("4 clusters: 4 clusters stand out most")
    assert told[2].split()[0] == "4"


def test_the_score_is_the_modularity_of_predicted_clusters(blobs):
    X, _ = blobs
    model = UnifiedSpectralClustering(4, scaling="none").fit(X[:200])
    new = X[200:]
    expected = modularity(_neighbour_graph(new), model.predict(new).astype(int))
    assert model.score(new) == pytest.approx(expected)
    assert model.score([X[:200], X[:200]][0]) == pytest.approx(model.score(X[:200]))
    views = UnifiedSpectralClustering(4).fit({"a": X, "b": X**3})
    assert 0.5 < views.score({"a": X, "b": X**3}) < 1.0
    assert UnifiedSpectralClustering(2).fit(X[:9] * 0 + np.arange(9)[:, None]).score(X[:1]) == 0.0
    kernel = UnifiedSpectralClustering(4, kernels="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="kernels"):
        kernel.score(X @ X.T)


@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
def test_a_search_takes_the_score(blobs):
    X, _ = blobs
    search = GridSearchCV(UnifiedSpectralClustering(), {"n_clusters": [2, 4, 12]}, cv=3).fit(X)
    assert search.best_params_ == {"n_clusters": 4}


def test_a_notebook_shows_what_was_found(blobs):
    X, _ = blobs
    model = UnifiedSpectralClustering(4)
    before = model._repr_mimebundle_()["text/html"]
    assert "4 clusters of" not in before
    assert "4 clusters of 240 samples." in model.fit(X)._repr_mimebundle_()["text/html"]
