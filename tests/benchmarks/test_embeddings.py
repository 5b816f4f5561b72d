"""The benchmark of embeddings: its tables, the recall it measures, and its page."""

from __future__ import annotations

import numpy as np
from benchmarks import embeddings

from unispectral.graph._indexes import true_neighbours


def test_generated_rows_have_length_one_and_clusters_of_very_different_sizes() -> None:
    X, truth = embeddings.make_rows(30_000)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    sizes = np.bincount(truth[truth >= 0])
    assert len(sizes) == 200
    assert sizes.min() == 19
    assert sizes.max() > 15 * np.median(sizes)
    assert (truth < 0).sum() == 1_500


def test_the_recall_of_a_search() -> None:
    X = np.random.default_rng(0).standard_normal((2_000, 20)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = true_neighbours(X, np.arange(len(X)), 15)
    assert embeddings._measure_recall(X, found) > 0.999
    found[:, :3] = -1
    assert abs(embeddings._measure_recall(X, found) - 0.8) < 0.001


def test_the_page_says_what_was_skipped_and_what_was_met() -> None:
    cells = {
        "search/1000/unispectral": {"recall": 0.97, "seconds": 1.0, "gigabytes": 0.5},
        "search/1000/PyNNDescent": {"recall": 0.96, "seconds": 0.5, "gigabytes": 0.5},
        "cluster/1000/EVōC": {"skipped": "evoc is not installed"},
    }
    page = embeddings.report(cells)
    assert "| 1,000 rows | unispectral | 0.970 | 1.0 | 0.50 |" in page
    assert "| 1,000 rows | EVōC | evoc is not installed |" in page
    verdicts = [target.met for target in embeddings.check_targets(cells)]
    assert verdicts == [True, False]


def test_scores_count_noise_both_ways() -> None:
    truth = np.array([0, 0, 1, 1, -1, -1])
    found = np.array([0, 0, 1, 1, 0, 1])
    scores = embeddings._score(truth, found)
    assert scores["ari"] == 1
    assert scores["all"] < 1
    assert scores["clusters"] == 2


def test_targets_at_a_million_rows() -> None:
    ours = {"ari": 0.99, "all": 0.95, "clusters": 184, "noise": 0.0, "seen": 182}
    told = {**ours, "seconds": 60.0, "gigabytes": 4.1, "clusters": 200}
    untold = {**ours, "seconds": 90.0, "gigabytes": 3.7}
    evoc = {**ours, "ari": 0.8, "seconds": 40.0, "gigabytes": 9.0}
    key = "cluster/1000000/"
    cells = {
        f"{key}unispectral, k given": told,
        f"{key}unispectral, k unknown": untold,
        f"{key}EVōC": evoc,
    }
    targets = embeddings.check_targets(cells)
    assert [target.met for target in targets] == [True, False, True, False, True]
    assert "| 1,000,000 rows | EVōC | 0.800 |" in embeddings.report(cells)
