"""Workers that Dask has paused: a warning, and the labels, or an error where they stay so."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import unispectral

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from distributed.core import Status  # noqa: E402

from unispectral.dask import UnifiedSpectralClustering, _waiting  # noqa: E402


@pytest.fixture
def client(monkeypatch):
    """Two workers here, without a limit of memory: nobody but the test pauses or wakes them."""
    monkeypatch.setattr(_waiting, "_PATIENCE", 0.1)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            memory_limit=0,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:300]


def _pause(dask_worker: Any) -> None:
    dask_worker.status = Status.paused


def _wake(dask_worker: Any) -> None:
    dask_worker.status = Status.running


def _set(client: Any, change: Any, workers: list[str] | None = None) -> None:
    """Change workers, and go on when the scheduler knows of it."""
    client.run(change, workers=workers)
    wanted = "paused" if change is _pause else "running"
    known = _waiting.workers_of(client)
    while any(known[one]["status"] != wanted for one in workers or known):
        known = _waiting.workers_of(client)


@pytest.mark.parametrize("as_table", [np.asarray, lambda X: da.from_array(X, chunks=(100, 64))])
def test_a_fit_ends_where_all_workers_stay_paused(client, X, monkeypatch, as_table) -> None:
    monkeypatch.setattr(_waiting, "_ENDURANCE", 0.3)
    _set(client, _pause)
    with (
        pytest.warns(UserWarning, match=r"workers .*\(2\) are paused.* larger memory_limit"),
        pytest.raises(MemoryError, match=r"nothing was done for .*fewer rows.*landmarks="),
    ):
        UnifiedSpectralClustering(10, client=client).fit(as_table(X))


@pytest.mark.parametrize(("stage", "landmarks"), [("", None), ("", 200), ("iterations", None)])
def test_a_fit_goes_on_where_workers_wake(client, X, monkeypatch, stage, landmarks) -> None:
    """They are paused when a stage is told of, and wake when the fit says that it waits."""
    blocks = da.from_array(X, chunks=(100, 64))
    paused: list[str] = []
    told: list[str] = []

    def pause_once(name: str, *told: object) -> None:
        if not paused and name.startswith(stage):
            paused.append(name)
            _set(client, _pause)

    def wake(message: str) -> None:
        told.append(message)
        _set(client, _wake)

    model = UnifiedSpectralClustering(10, whiten=None, landmarks=landmarks, client=client)
    expected = model.fit(blocks).labels_.compute()
    if landmarks is None:
        local = unispectral.UnifiedSpectralClustering(10, whiten=None).fit(X)
        np.testing.assert_array_equal(expected, local.labels_)
    monkeypatch.setattr(_waiting, "warn", wake)
    model.set_params(verbose=pause_once).fit(blocks)
    np.testing.assert_array_equal(model.labels_.compute(), expected)
    assert paused
    assert len(told) == 1


@pytest.mark.parametrize("follows", [lambda labels: labels, lambda labels: (labels + 1).sum()])
def test_nobody_waits_for_ever_for_labels(client, X, monkeypatch, follows) -> None:
    monkeypatch.setattr(_waiting, "_ENDURANCE", 0.3)
    blocks = da.from_array(X, chunks=(100, 64))
    model = UnifiedSpectralClustering(10, whiten=None, committee=False, client=client).fit(X)
    with monkeypatch.context() as patch:
        scatter = client.scatter

        def pause_after(*given: Any, **options: Any) -> Any:
            shipped = scatter(*given, **options)
            _set(client, _pause)
            return shipped

        patch.setattr(client, "scatter", pause_after)
        labels = model.predict(blocks)
    with pytest.raises(CancelledError, match=r"workers .*\(2\) are paused.* larger memory_limit"):
        follows(labels).compute()
    _set(client, _wake)
    np.testing.assert_array_equal(model.predict(blocks).compute(), model.labels_)


def test_labels_that_are_there_outlast_workers_that_pause(client, X, monkeypatch) -> None:
    monkeypatch.setattr(_waiting, "_ENDURANCE", 0.3)
    model = UnifiedSpectralClustering(10, whiten=None, committee=False, client=client).fit(X)
    labels = model.predict(da.from_array(X, chunks=(100, 64)))
    distributed.wait(distributed.futures_of(labels))
    _set(client, _pause)
    with pytest.raises(CancelledError, match="are paused"):
        labels.sum().compute()
    _set(client, _wake)
    np.testing.assert_array_equal(labels.compute(), model.labels_)


def test_workers_that_are_not_paused_do_all(client, X) -> None:
    local = unispectral.UnifiedSpectralClustering(10, whiten=None).fit(X)
    _set(client, _pause, list(_waiting.workers_of(client))[:1])
    model = UnifiedSpectralClustering(10, whiten=None, client=client).fit(X)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)


def test_a_paused_worker_may_end_what_it_began(monkeypatch) -> None:
    monkeypatch.setattr(_waiting, "_ENDURANCE", 0.0)
    pause = _waiting._Pause()
    counts = {"executing": 1}
    worker = {"status": "paused", "memory_limit": 2e9, "metrics": {"task_counts": counts}}
    pause.look({"there": worker}, 0)
    counts["executing"] = 0
    with pytest.raises(MemoryError, match=r"memory limit \(2 GB\)"):
        pause.look({"there": worker}, 0)
