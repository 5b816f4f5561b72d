"""The study of known labels: its draws, its peer for pairs, its file and its page."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.label_free import known
from benchmarks.label_free._constrained import pck_means
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score


def test_without_pairs_the_peer_is_k_means():
    X, _ = make_blobs(90, centers=3, random_state=1)
    none = np.empty((0, 2), int)
    expected = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    assert adjusted_rand_score(expected, pck_means(X, 3, none, none, 0)) == 1.0


def test_the_peer_keeps_pairs_apart():
    X, y = make_blobs(80, centers=[[0, 0], [1.5, 0]], random_state=0)
    together, apart = known.draw_pairs(y, 0.5, 0)
    assert (y[together[:, 0]] == y[together[:, 1]]).all()
    assert (y[apart[:, 0]] != y[apart[:, 1]]).all()
    told = pck_means(X, 2, together, apart, 0)
    none = np.empty((0, 2), int)
    assert adjusted_rand_score(y, told) >= adjusted_rand_score(y, pck_means(X, 2, none, none, 0))
    assert (told[apart[:, 0]] != told[apart[:, 1]]).mean() > 0.8


def test_a_run_is_resumed_and_written(tmp_path, monkeypatch, capsys):
    iris = load_iris()
    monkeypatch.setattr(known, "problems", lambda: {"digits": lambda: (iris.data, iris.target)})
    monkeypatch.setattr(known, "DRAWS", 1)
    store = tmp_path / "known.json"
    arguments = ["--sets", "digits", "--store", str(store)]
    known.main(arguments)
    first = capsys.readouterr().out
    assert "| digits | 10 % (15) |" in first
    assert "PCK-means" in store.with_suffix(".md").read_text(encoding="utf-8")
    assert "## Questions" in first
    known.main(arguments)
    assert "measuring" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="--sets 'iris' is not one of"):
        known.main(["--sets", "iris"])


def test_what_is_measured_is_what_fit_does():
    """The study applies what is known to one fit; ``fit(X, y)`` gives the same labels."""
    from unispectral import UnifiedSpectralClustering

    iris = load_iris()
    one = known.prepare(iris.data, iris.target)
    told = known.draw_labels(iris.target, 0.1, 0)
    expected = UnifiedSpectralClustering(3).fit(iris.data, told).labels_
    assert adjusted_rand_score(expected, known.METHODS["told"](one, told)) == 1.0
