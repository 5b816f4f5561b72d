"""The checks for other people's clusterers: ours pass them, and broken ones are told why."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from unispectral import SCMK, SCSK, UnifiedSpectralClustering
from unispectral.testing import check_clusterer, same_alone


class Sound(ClusterMixin, BaseEstimator):
    """k-means with one thing after another broken below."""

    def __init__(self, n_clusters=3, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None):
        self.model_ = KMeans(self.n_clusters, n_init=3, random_state=self.random_state).fit(X)
        self.labels_ = self.model_.labels_
        return self

    def predict(self, X):
        return self.model_.predict(X)


class ByPosition(Sound):
    def fit(self, X, y=None):
        super().fit(X)
        self.labels_ = np.arange(len(X)) % self.n_clusters
        return self


class AlwaysTwo(Sound):
    def fit(self, X, y=None):
        super().fit(X)
        self.labels_ = np.minimum(self.labels_, 1)
        return self


class Seedless(Sound):
    def fit(self, X, y=None):
        np.random.seed(0)  # noqa: NPY002
        return super().fit(X)


class Wavering(Sound):
    calls = 0

    def fit(self, X, y=None):
        super().fit(X)
        type(self).calls += 1
        self.labels_ = np.roll(np.arange(self.n_clusters), type(self).calls)[self.labels_]
        return self


class Fixed(Sound):
    """A width that does not know the unit of the features."""

    def fit(self, X, y=None):
        super().fit(X)
        if np.abs(X).max() > 100.0:
            self.labels_ = np.zeros(len(X), dtype=int)
        return self


class Writing(Sound):
    def fit(self, X, y=None):
        super().fit(X)
        X -= X.mean(axis=0)
        return self


class InBatches(Sound):
    def predict(self, X):
        return np.roll(super().predict(X), 1)


class Crashing(Sound):
    def fit(self, X, y=None):
        raise KeyError("width")


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (ByPosition, "- order: in another order the clusters differ"),
        (ByPosition, "- clusters: three clear clusters are not found"),
        (AlwaysTwo, "- count: n_clusters=3 gives 2 clusters"),
        (Seedless, "- seed: NumPy's global generator is used or seeded"),
        (Wavering, "- seed: the same seed gives other labels"),
        (Fixed, "- unit: with 1000 times the numbers the clusters differ"),
        (Writing, "- input: fit writes to the table"),
        (InBatches, "- new points: predict says something else of points alone than of all 35"),
        (Crashing, "- clusters: KeyError: 'width'"),
    ],
)
def test_what_is_broken_is_told(broken, words):
    with pytest.raises(AssertionError, match=rf"{broken.__name__}\(.*\) fails \d+ of 9") as told:
        check_clusterer(broken())
    assert told.match(words)


def test_a_sound_one_passes_every_check():
    made = check_clusterer(Sound())
    assert len(made) == 9  # it takes no sparse table as far as its tags say, and no views
    assert set(made) & {"sparse", "views"} == set()
    assert check_clusterer(Sound(), exclude=["unit", "order"]) == [
        name for name in made if name not in ("unit", "order")
    ]


@pytest.mark.parametrize(
    "model",
    [
        UnifiedSpectralClustering(3, n_init=2),
        UnifiedSpectralClustering(3, kernels=["linear", "gaussian"], n_init=2),
        SCSK(3, kernel="gaussian"),
        SCSK(3, kernel="gaussian", solver="exact"),
        SCMK(3, kernels=["linear", "gaussian"], solver="local"),
    ],
    ids=repr,
)
def test_our_own_pass(model):
    # In the paper's objective a copy is the perfect code: exactly solved, the graph is of pairs.
    pairs = getattr(model, "solver", "") in ("exact", "local")
    made = check_clusterer(
        model, views=not isinstance(model, SCSK), exclude=["copies"] if pairs else []
    )
    assert {"sparse", "threads", "new points"} <= set(made)


def test_what_cannot_be_checked_is_refused():
    with pytest.raises(
        ValueError, match=r"exclude names 'speed'.*the checks are clusters, count,"
    ):
        check_clusterer(Sound(), exclude=["speed"])
    with pytest.raises(ValueError, match="estimator takes a matrix of pairs"):
        check_clusterer(SCSK(3, kernel="precomputed"))


def test_answers_of_every_kind_are_compared():
    class Shares(Sound):
        def predict_proba(self, X):
            return np.full((len(X), 2), 1.0 / len(X))

    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(AssertionError, match="predict_proba says something else"):
        same_alone(Shares().fit(X), X)
