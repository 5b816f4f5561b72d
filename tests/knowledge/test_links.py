"""Pairs that belong together or apart: obeyed, or named; and which to ask about next."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from unispectral import SCSK, UnifiedSpectralClustering, uncertain_pairs
from unispectral.knowledge._links import assign_units
from unispectral.knowledge._read import read_links

pytestmark = pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def fit(X, n_clusters=3, **links):
    return UnifiedSpectralClustering(n_clusters).fit(X, **links)


def test_links_are_obeyed_and_edges_follow(iris):
    X, _ = iris
    together = [(0, 50), (1, 2, 3)]
    apart = [(100, 101), (102, 103, 104), (0, 149)]
    model = fit(X, must_link=together, cannot_link=apart)
    labels = model.labels_
    assert labels[0] == labels[50] != labels[149]
    assert labels[1] == labels[2] == labels[3]
    assert labels[100] != labels[101]
    assert len({*labels[[102, 103, 104]].tolist()}) == 3
    W = sp.csr_array(model.affinity_matrix_)
    assert W[0, 50] > 0
    assert W[100, 101] == 0
    assert W[50, 149] == 0  # its group is apart
    assert model.knowledge_["pairs_apart"] == 5
    np.testing.assert_array_equal(model.predict(X), labels)


def test_pairs_of_the_truth_help():
    X, y = make_blobs(
        [60, 60, 60], cluster_std=1.6, centers=[[0, 0], [4, 0], [2, 3.5]], random_state=0
    )
    rng = np.random.default_rng(0)
    pairs = rng.choice(180, (200, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    model = fit(X, must_link=pairs[same], cannot_link=pairs[~same])
    labels = model.labels_
    assert (labels[pairs[same, 0]] == labels[pairs[same, 1]]).all()
    assert (labels[pairs[~same, 0]] != labels[pairs[~same, 1]]).all()
    assert adjusted_rand_score(y, labels) > adjusted_rand_score(y, fit(X).labels_)


def test_rows_are_named_as_the_index_names_them(iris):
    X, _ = iris
    frame = pd.DataFrame(X, index=[f"flower {at}" for at in range(150)], columns=list("abcd"))
    model = fit(frame, must_link=[("flower 0", "flower 50")])
    np.testing.assert_array_equal(model.labels_, fit(X, must_link=[(0, 50)]).labels_)
    with pytest.raises(ValueError, match="'flower 500', which is not in the index"):
        fit(frame, must_link=[("flower 500", "flower 0")])


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}, r"\(0, 2\) .* by 0 – 1 – 2"),
        ({"cannot_link": [(0, 1, 2, 3)]}, "0, 1, 2, 3 apart from each other, which takes 4"),
        ({"must_link": [(0, 400)]}, "row 400, but there are 150"),
        ({"must_link": [(0, -1)]}, "row -1, but there are 150"),
        ({"must_link": [(0, 1.5)]}, "row 1.5"),
        ({"must_link": [(0, 0)]}, "twice"),
        ({"must_link": [(0,)]}, "of one row"),
        ({"must_link": [0, 1]}, "no group of rows"),
        ({"cannot_link": "ab"}, "is a str"),
        ({"cannot_link": 3}, "is a int"),
    ],
)
def test_bad_links_get_a_sentence(iris, links, words):
    model = UnifiedSpectralClustering(3)
    with pytest.raises(ValueError, match=words):
        model.fit(iris[0], **links)
    assert not hasattr(model, "labels_")


def test_labels_and_links_that_contradict_are_named(iris):
    X, _ = iris
    y = np.full(150, -1)
    y[[0, 1]] = 0
    y[2] = 1
    with pytest.raises(ValueError, match=r"cannot_link keeps the pair \(0, 1\) apart, but y"):
        UnifiedSpectralClustering(3).fit(X, y, cannot_link=[(0, 1)])
    with pytest.raises(ValueError, match="must_link joins 0 – 7 – 2, of which y says 0 and 1"):
        UnifiedSpectralClustering(3).fit(X, y, must_link=[(0, 7), (7, 2)])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_pairs_are_kept_apart_wherever_they_can_be(seed):
    """Against all assignments of a few samples."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    count = int(rng.integers(2, 4))
    pairs = [(a, b) for a in range(n) for b in range(a)]
    chosen = [pair for pair in pairs if rng.random() < 0.5]
    links = read_links(None, chosen, n)
    labels, unmet = assign_units(rng.random((n, count)), links, np.full(n, -1))
    possible = any(
        all(trial[a] != trial[b] for a, b in chosen) for trial in product(range(count), repeat=n)
    )
    assert possible == (len(unmet) == 0)
    if possible:
        assert all(labels[a] != labels[b] for a, b in chosen)


def test_uncertain_pairs_lie_between_clusters():
    X, _ = make_blobs([60, 60], centers=[[0, 0], [6, 0]], cluster_std=1.3, random_state=0)
    model = fit(X, 2)
    pairs = uncertain_pairs(model, n=9)
    assert pairs.shape == (9, 2)
    # One question about both clusters, one about the parts of each; then single samples.
    clusters = model.labels_[pairs]
    assert sorted((clusters[:3, 0] != clusters[:3, 1]).tolist()) == [False, False, True]
    borders = pairs[3:, 0]
    assert len(set(borders.tolist())) == 6
    centre = np.abs(X[:, 0] - 3.0)
    assert np.median(centre[borders]) < np.median(centre) / 2
    for sample, speaker in pairs:
        assert sample != speaker
    again = uncertain_pairs(model, n=9, asked=pairs)
    assert not {*map(frozenset, again.tolist())} & {*map(frozenset, pairs.tolist())}
    assert len(uncertain_pairs(UnifiedSpectralClustering(1).fit(X))) == 0
    with pytest.raises(ValueError, match="n=0 must be a whole number"):
        uncertain_pairs(model, n=0)
    with pytest.raises(ValueError, match="asked names a row that is not among 0 to 119"):
        uncertain_pairs(model, asked=[(0, 120)])
    with pytest.raises(ValueError, match="asked must hold pairs of numbers of rows"):
        uncertain_pairs(model, asked=[0, 1])


@pytest.mark.parametrize(
    ("load", "rows"), [(load_iris, 150), (load_wine, 178), (load_digits, 600)]
)
def test_answers_to_the_questions_do_not_lower_the_score(load, rows):
    """An oracle answers ten questions, ten more, and twenty more, asked about each new fit."""
    X, y = (part[:rows] for part in load(return_X_y=True))
    count = len(np.unique(y))
    model = fit(X, count)
    before = adjusted_rand_score(y, model.labels_)
    asked = np.empty((0, 2), dtype=int)
    for questions in (10, 10, 20):
        asked = np.vstack([asked, uncertain_pairs(model, n=questions, asked=asked)])
        same = y[asked[:, 0]] == y[asked[:, 1]]
        model = fit(X, count, must_link=asked[same], cannot_link=asked[~same])
        assert adjusted_rand_score(y, model.labels_) >= before


def test_ten_answers_tell_more_than_ten_random_pairs():
    X, y = (part[:600] for part in load_digits(return_X_y=True))
    model = fit(X, 10)

    def tell(pairs):
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        labels = fit(X, 10, must_link=pairs[same], cannot_link=pairs[~same]).labels_
        return adjusted_rand_score(y, labels)

    random = np.random.default_rng(0).permutation(600)[:20].reshape(-1, 2)
    assert tell(uncertain_pairs(model, n=10)) > tell(random) + 0.01


def test_samples_without_links_keep_their_clusters(iris):
    X, _ = iris
    plain = fit(X).labels_
    told = fit(X, must_link=[(60, 110)], cannot_link=[(0, 1)]).labels_
    others = np.setdiff1d(np.arange(150), [0, 1, 60, 110])
    assert adjusted_rand_score(plain[others], told[others]) == 1.0
    assert adjusted_rand_score(plain, told) < 1.0


def test_the_papers_model_is_asked_alike(iris):
    model = SCSK(3, solver="exact").fit(iris[0])
    assert len(uncertain_pairs(model, 4)) == 4
