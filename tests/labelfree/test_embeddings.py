"""Embeddings: rows of one length, small types, and the place of a clusterer in BERTopic."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering
from unispectral._validation import widen
from unispectral.labelfree._scaling import have_one_length, scaling_of


@pytest.fixture(scope="module")
def embeddings() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 60)
    rows = rng.normal(size=(5, 48))[truth] + 0.5 * rng.normal(size=(300, 48))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32), truth


def test_rows_of_one_length_are_told(embeddings) -> None:
    rows, _ = embeddings
    long = rows * np.where(np.arange(48) == 0, 30, 1)  # as it is, one column decides alone
    assert scaling_of(long, "auto")[1].startswith("standardised")
    long /= np.linalg.norm(long, axis=1, keepdims=True)
    for table in (rows, long, rows.astype(np.float16), np.round(127 * rows).astype(np.int8)):
        assert scaling_of(widen(table), "auto")[1].startswith("as given: rows of one length")
    assert not have_one_length(rows * np.linspace(1, 2, len(rows))[:, None])
    assert not have_one_length(np.vstack([rows, np.zeros((1, 48))]))


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8])
def test_small_types_are_taken_in_single_precision(embeddings, dtype) -> None:
    rows, _ = embeddings
    table = np.round(100 * rows - 100 * rows.min()).clip(0, 127).astype(dtype)
    small = UnifiedSpectralClustering(5).fit(table)
    plain = UnifiedSpectralClustering(5).fit(table.astype(np.float32))
    assert small.embedding_.dtype == plain.embedding_.dtype
    np.testing.assert_array_equal(small.labels_, plain.labels_)
    np.testing.assert_array_equal(small.predict(table), small.labels_)


@pytest.mark.parametrize("n_clusters", ["auto", 5])
def test_what_bertopic_asks_of_a_clusterer(embeddings, n_clusters) -> None:
    """Its manual: any object with ``fit`` and ``predict`` that sets ``labels_``."""
    rows, truth = embeddings
    model = clone(UnifiedSpectralClustering(n_clusters))
    assert model.fit(rows, y=None) is model
    assert len(model.labels_) == len(rows)
    assert model.labels_.min() == 0  # every document is placed: −1 is its number for none
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    assert model.outlier_score_.shape == (len(rows),)


def test_bertopic_itself(embeddings) -> None:
    bertopic = pytest.importorskip("bertopic", reason="bertopic is not installed")
    from bertopic.dimensionality import BaseDimensionalityReduction

    rows, truth = embeddings
    rng = np.random.default_rng(1)
    documents = [
        " ".join(f"word{topic}{word}" for word in rng.integers(8, size=6)) for topic in truth
    ]
    topics = bertopic.BERTopic(
        hdbscan_model=UnifiedSpectralClustering("auto"),
        umap_model=BaseDimensionalityReduction(),
        embedding_model=None,
    )
    found, _ = topics.fit_transform(documents, rows)
    assert adjusted_rand_score(truth, found) > 0.95
    assert min(found) == 0
    again, _ = topics.transform(documents[:20], rows[:20])
    assert list(again) == list(found[:20])
    named = topics.get_topic(found[0])
    assert all(word.startswith(f"word{truth[0]}") for word, _ in named if word)
