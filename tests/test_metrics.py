"""The scores against brute force, scikit-learn and each other."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from unispectral import metrics
from unispectral.metrics import (
    clustering_accuracy,
    normalized_mutual_info,
    purity,
    scores,
    swapped_purity,
)

pairs = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
    )
)


def brute_accuracy(true, pred):
    # Five names on either side: a map onto one of the permutations of all five loses nothing.
    pred = np.asarray(pred)
    return max(np.mean(np.asarray(p)[pred] == true) for p in permutations(range(5)))


def brute_purity(true, pred):
    groups = {}
    for t, p in zip(true, pred, strict=True):
        groups.setdefault(p, []).append(t)
    return sum(max(map(g.count, set(g))) for g in groups.values()) / len(true)


def brute_nmi(true, pred):
    def entropy(labels):
        shares = np.unique(labels, axis=0, return_counts=True)[1] / len(labels)
        return -(shares * np.log(shares)).sum()

    larger = max(entropy(true), entropy(pred))
    joint = entropy(np.column_stack([true, pred]))
    return (entropy(true) + entropy(pred) - joint) / larger if larger else 1.0


@given(pairs)
def test_against_oracles(pair):
    true, pred = pair
    found = scores(true, pred)
    assert found["accuracy"] == pytest.approx(brute_accuracy(true, pred), abs=1e-12)
    assert found["purity"] == pytest.approx(brute_purity(true, pred), abs=1e-12)
    assert found["swapped_purity"] == pytest.approx(brute_purity(pred, true), abs=1e-12)
    assert found["ari"] == adjusted_rand_score(true, pred)
    assert found["nmi"] == pytest.approx(brute_nmi(true, pred), abs=1e-9)
    assert found == {
        "accuracy": clustering_accuracy(true, pred),
        "nmi": normalized_mutual_info(true, pred),
        "purity": purity(true, pred),
        "swapped_purity": swapped_purity(true, pred),
        "ari": adjusted_rand_score(true, pred),
    }


@given(pairs, st.permutations(range(5)))
def test_names_do_not_matter(pair, renaming):
    true, pred = pair
    renamed = scores([f"class {t}" for t in true], [renaming[p] - 7 for p in pred])
    assert renamed == pytest.approx(scores(true, pred), abs=1e-12)


@given(pairs)
def test_bounds(pair):
    found = scores(*pair)
    assert 0 < found["accuracy"] <= found["purity"] <= 1
    assert found["accuracy"] <= found["swapped_purity"] <= 1
    assert 0 <= found["nmi"] <= 1
    assert clustering_accuracy(*pair) == pytest.approx(clustering_accuracy(*pair[::-1]))


@given(pairs)
def test_sparse_matching_equals_dense(pair):
    counts = metrics._count(*metrics._encode_both(*pair))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_DENSE_CELLS", 0)
        assert metrics._match_clusters(counts) / len(pair[0]) == clustering_accuracy(*pair)


def test_very_many_clusters_on_both_sides():
    rng = np.random.default_rng(0)
    true = rng.integers(20_000, size=30_000)
    assert clustering_accuracy(true, rng.permutation(20_000)[true]) == 1.0
    assert clustering_accuracy(true, np.arange(30_000)) == len(np.unique(true)) / 30_000


def test_one_cluster():
    assert scores([1, 1, 1], ["a", "a", "a"]) == dict.fromkeys(
        ["accuracy", "nmi", "purity", "swapped_purity", "ari"], 1.0
    )
    assert normalized_mutual_info([0, 0, 1], [5, 5, 5]) == 0.0
    assert scores([3], [8])["accuracy"] == 1.0


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1.0, 1.0, 2.0]),
        np.array([True, True, False]),
        np.array(["x", "x", "y"]),
        np.array(["x", "x", "y"], dtype=object),
        np.array([2**70, 2**70, 1], dtype=object),
        np.array([2**64 - 1, 2**64 - 1, 2**64 - 2], dtype=np.uint64),
        np.array([1, 1, 2], dtype=">i4"),
        pd.Series(["x", "x", "y"], dtype="category"),
        pd.Series([1, 1, 2], dtype="Int64"),
        pl.Series([1, 1, 2]),
        [b"x", b"x", b"y"],
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', '')}",
)
def test_kinds_of_labels(labels):
    assert clustering_accuracy([0, 0, 1], labels) == 1.0


@pytest.mark.parametrize(
    ("labels", "error", "sentence"),
    [
        ([0, 1], ValueError, "labels_true has 3 labels and labels_pred has 2"),
        ([], ValueError, "labels_pred is empty"),
        ([0.0, np.nan, np.inf], ValueError, "labels_pred has 2 labels that are NaN or infinite"),
        ([0.5, 1.0, 2.0], ValueError, r"continuous values such as 0\.5"),
        ([[0], [1], [2]], ValueError, r"one-dimensional.*shape \(3, 1\)"),
        (3, ValueError, r"one-dimensional.*shape \(\)"),
        ([0, [1], 2], ValueError, "ragged"),
        ([0, None, 2], ValueError, "missing labels or labels of mixed types"),
        (pd.Series([1, None, 2], dtype="Int64"), ValueError, "missing|NaN"),
        (np.array(["a", 1, "b"], dtype=object), ValueError, "mixed types"),
        (np.ma.masked_array([0, 1, 2], mask=[0, 1, 0]), ValueError, "masked entries"),
        (np.array([1j, 2, 3]), TypeError, "dtype complex128"),
        (np.array([0, 1, 2], dtype="datetime64[D]"), TypeError, "dtype datetime64"),
        (sp.csr_array([[1, 2, 3]]), TypeError, "sparse matrix"),
    ],
)
@pytest.mark.parametrize("function", [scores, clustering_accuracy, purity])
def test_bad_labels(function, labels, error, sentence):
    with pytest.raises(error, match=sentence):
        function([0, 1, 2], labels)
