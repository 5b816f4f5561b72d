"""``views=``: what names columns of a table in NumPy and pandas names the same columns here."""

from __future__ import annotations

import numpy as np
import pytest
from robustness import _estimators

from unispectral import UnifiedSpectralClustering

rng = np.random.default_rng(0)
X = rng.normal(size=(45, 5)) + 4.0 * (np.arange(45) % 3)[:, None] * np.array([1, 1, 0, 0, 1])
#: The same two views, by column numbers.
PLAIN = {"left": [0, 1], "right": [2, 3, 4]}


def _fit(views, table=X):
    return _estimators.make(_estimators.DEFAULT, 3).set_params(views=views).fit(table)


def _same(views, table=X) -> None:
    expected, found = _fit(PLAIN), _fit(views, table)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-12)
    assert found.view_weights_ == pytest.approx(expected.view_weights_)
    np.testing.assert_array_equal(found.predict(table), expected.predict(X))


@pytest.mark.parametrize(
    "views",
    [
        {"left": (0, 1), "right": range(2, 5)},
        {"left": np.array([0, 1]), "right": np.array([2, 3, 4], dtype=np.uint8)},
        {"left": [np.int64(0), 1], "right": [2, -2, -1]},
        {"left": [True, True, False, False, False], "right": [False, False, True, True, True]},
        {"left": np.arange(5) < 2, "right": np.arange(5) >= 2},
        {"left": slice(0, 2), "right": slice(2, None)},
    ],
    ids=["tuple and range", "arrays", "mixed integers", "masks", "mask arrays", "slices"],
)
def test_the_same_columns_in_other_words(views):
    _same(views)


def test_labels_of_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    _same({"left": ["a", "b"], "right": ["c", "d", "e"]}, frame)
    _same({"left": frame.columns[:2], "right": frame.columns[2:]}, frame)
    _same(PLAIN, frame)


@pytest.mark.parametrize(
    ("views", "words"),
    [
        ({"left": [0, 1], "right": []}, "is empty"),
        ({"left": [0, 5]}, "column number 5"),
        ({"left": [0, -6]}, "column number -6"),
        ({"left": ["a"]}, "column 'a'"),
        ({"left": [0, 0, 1], "right": [2]}, "more than once"),
        ({"left": [0, -5], "right": [2]}, "more than once"),
        ({"left": [True, False], "right": [2]}, "mask"),
        ({"left": [True, 0, 1, 2, 3], "right": [2]}, "mask"),
        ({"left": np.zeros(5, dtype=bool), "right": [2]}, "is empty"),
        ({"left": [0.5], "right": [2]}, "0.5"),
        ({0: [0, 1], "0": [2, 3]}, "0"),
    ],
    ids=["empty", "too large", "too small", "no such label", "duplicate", "duplicate from the end",
         "short mask", "mask and numbers", "empty mask", "fraction", "one name twice"],
)  # fmt: skip
def test_what_names_no_columns_is_refused(views, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        _fit(views)
    assert "view" in str(caught.value)
    assert words in str(caught.value)


def test_one_column_in_two_views_is_no_mistake():
    assert _fit({"left": [0, 1, 2], "right": [2, 3, 4]}).labels_.shape == (45,)


@pytest.mark.parametrize("kernels", ["precomputed", "graph"])
def test_a_list_of_ragged_lists_is_refused_by_name(kernels):
    ragged = [[[1.0, 2.0], [3.0]], np.eye(2)]
    with pytest.raises((ValueError, TypeError), match=r"X is (not a table|no matrix) of numbers"):
        UnifiedSpectralClustering(2, kernels=kernels).fit(ragged)
