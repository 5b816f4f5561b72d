"""Fits and predictions from memory maps are those of the array."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from unispectral import UnifiedSpectralClustering
from unispectral._memory import _glibc


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:400].astype(np.float32)


@pytest.fixture(scope="module")
def model(X) -> UnifiedSpectralClustering:
    return UnifiedSpectralClustering(10, whiten=None).fit(X)


def test_a_memory_map_is_fitted_without_being_changed(X, model, tmp_path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    np.testing.assert_array_equal(
        UnifiedSpectralClustering(10, whiten=None).fit(mapped).labels_, model.labels_
    )
    np.testing.assert_array_equal(np.load(path), X)


def test_many_training_points_are_not_compared_one_by_one(monkeypatch, tmp_path) -> None:
    from unispectral import predict
    from unispectral.labelfree import _geometry as geometry
    from unispectral.persistence import load_model, save_model

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 12)) * 3
    y = rng.integers(0, 6, 14_000)
    X = (centres[y] + rng.normal(size=(14_000, 12))).astype(np.float32)
    fitted = UnifiedSpectralClustering(6, whiten=None).fit(X[:12_000])
    new = X[12_000:]
    with monkeypatch.context() as patch:
        patch.setattr(predict, "EXACT_SAMPLES", 20_000)
        exact = fitted.predict_all(new)

    def refuse(*_: object) -> None:
        raise AssertionError("all pairs were compared")

    monkeypatch.setattr(geometry.KernelDistance, "cross", refuse)
    found = fitted.predict_all(new)
    assert (found.labels == exact.labels).mean() > 0.998
    np.testing.assert_array_equal(fitted.predict(X[:12_000]), fitted.labels_)
    assert np.median(np.abs(found.outlier_score - exact.outlier_score)) < 1e-6
    assert np.median(np.abs(found.embedding - exact.embedding)) < 1e-6
    # One by one, all at once, and after a file: the same.
    np.testing.assert_array_equal(fitted.predict(new[:3]), found.labels[:3])
    save_model(fitted, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(new), found.labels)


def test_prediction_reads_memory_maps_in_blocks(X, model, tmp_path, monkeypatch) -> None:
    from unispectral import _base

    np.save(tmp_path / "x.npy", X)
    usual = _base.row_blocks
    monkeypatch.setattr(_base, "row_blocks", lambda table: usual(table, 150))
    seen: list[int] = []
    read = _base.read_new

    def watched(estimator: object, part: np.ndarray, layout: object) -> list[np.ndarray]:
        seen.append(len(part))
        return read(estimator, part, layout)

    monkeypatch.setattr(_base, "read_new", watched)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    labels = model.predict(mapped)
    assert seen == [150, 150, 100]
    assert model.predict_proba(mapped).shape == (400, 10)
    assert model.score_samples(mapped).shape == (400,)
    np.testing.assert_array_equal(labels, model.labels_)


_FAULTS = """
import resource
import numpy as np
from unispectral._memory import keep_freed

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(2**17)  # 256 pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

without = faults()
keep_freed()
np.ones(2**17)
print(without, faults())
"""


def test_freed_memory_is_used_again() -> None:
    """Under the settings of a Dask worker every array is new to the system, page by page."""
    pytest.importorskip("resource")
    if _glibc() is None:
        pytest.skip("the C library is not glibc")
    env = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", _FAULTS],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    without, within = map(int, done.stdout.split())
    assert within < 2 * 256
    assert without > 40 * 256
