"""On a cluster of two workers: the labels of the local fit, also when a worker is killed."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import check_estimator

import unispectral
from unispectral._run import Run
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.labelfree._neighbourhoods import localize

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from unispectral.dask import UnifiedSpectralClustering  # noqa: E402
from unispectral.dask._neighbourhoods import DaskExecutor  # noqa: E402
from unispectral.testing import expected_failed_checks  # noqa: E402


@pytest.fixture(scope="module")
def client():
    # What counts lines sees only this process (robustness.cover).
    here = "UNISPECTRAL_ONE_PROCESS" in os.environ
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=not here,
        dashboard_address=":0",
        silence_logs=50,
    )
    client = distributed.Client(cluster)
    yield client
    client.close()
    cluster.close()


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    return load_digits().data[:900]


def test_labels_are_those_of_the_local_fit(client, X) -> None:
    local = unispectral.UnifiedSpectralClustering(10, random_state=3).fit(X)
    model = UnifiedSpectralClustering(10, random_state=3, client=client).fit(
        da.from_array(X, chunks=(250, 20))
    )
    assert model.labels_.chunks == ((250, 250, 250, 150),)
    np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
    np.testing.assert_allclose(model.embedding_, local.embedding_, atol=1e-8)
    assert model.n_clusters_ == 10


def test_a_table_that_is_here_will_do(client, X) -> None:
    local = unispectral.UnifiedSpectralClustering(10, whiten=None).fit(X)
    labels = UnifiedSpectralClustering(10, whiten=None, client=client).fit_predict(X)
    np.testing.assert_array_equal(np.asarray(labels), local.labels_)


def test_blocks_of_whole_numbers_and_of_fractions_are_one_table(client, X) -> None:
    """Only frames have such blocks; those with other columns are refused."""
    table = _table_of(client, [X[:10].astype(int), X[10:30] / 3])
    np.testing.assert_array_equal(table, np.concatenate([X[:10].astype(int), X[10:30] / 3]))
    with pytest.raises(ValueError, match="X has blocks of 64 and of 1 columns; give blocks"):
        _table_of(client, [X[:10], X[:10, :1]])


def _table_of(client, parts: list[np.ndarray]) -> Any:
    from dask import delayed

    from unispectral.dask._blocks import Blocks

    return Blocks([delayed(part) for part in parts], [len(part) for part in parts]).gather(
        client, None
    )


def test_this_process_uses_the_threads_of_workers_that_wait(client, monkeypatch) -> None:
    """A LocalCluster leaves the limit of its workers, one, in the environment of this process."""
    from unispectral import _run
    from unispectral.dask._estimators import _own_jobs

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(_run, "cpu_count", lambda: 8)
    assert _own_jobs(None, client) == 2
    assert _own_jobs(5, client) == 5
    with distributed.Client(client.scheduler.address) as elsewhere:
        assert _own_jobs(None, elsewhere) is None


def test_an_approximate_index_gives_the_same_candidates(client, X, monkeypatch) -> None:
    from unispectral.graph import neighbours
    from unispectral.kernels import KernelBank
    from unispectral.labelfree import _geometry

    monkeypatch.setattr(neighbours, "EXACT_SAMPLES", 100)
    monkeypatch.setattr(_geometry, "_HELD_SAMPLES", 100)
    bank = KernelBank(X, "linear", normalize="none", gram=False)
    geometry = KernelDistance([KernelPart(bank[0], 0)])
    here = localize(geometry, 8, Run.of())
    there = localize(geometry, 8, Run.of(executor=DaskExecutor(client)))
    assert there.rate == here.rate
    np.testing.assert_array_equal(here.neighbours, there.neighbours)
    blocks = there.map_rows(_near, run=None)
    np.testing.assert_allclose(np.concatenate(blocks), here.near)


def test_what_every_worker_has_lost_is_shipped_again(client, X) -> None:
    """Copies of the table are on all workers; without any it is shipped from here."""
    from unispectral.kernels import KernelBank

    bank = KernelBank(X, "linear", normalize="none", gram=False)
    geometry = KernelDistance([KernelPart(bank[0], 0)])
    around = localize(geometry, 8, Run.of(executor=DaskExecutor(client)))
    before = np.concatenate(around.map_rows(_near, run=None))
    client.cancel([around.geometry.future], force=True)
    np.testing.assert_array_equal(np.concatenate(around.map_rows(_near, run=None)), before)


def test_work_begins_again_where_no_worker_with_the_table_is_left(client, X, monkeypatch) -> None:
    """Tasks for workers that are gone would wait for ever."""
    from unispectral.dask import _neighbourhoods, _waiting
    from unispectral.kernels import KernelBank

    monkeypatch.setattr(_waiting, "_PATIENCE", 0.2)
    bank = KernelBank(X, "linear", normalize="none", gram=False)
    geometry = KernelDistance([KernelPart(bank[0], 0)])
    around = localize(geometry, 8, Run.of(executor=DaskExecutor(client)))
    before = np.concatenate(around.map_rows(_near, run=None))
    asked = []

    def gone_at_first(client, among=None):
        asked.append(among)
        return ["tcp://127.0.0.1:1"] if len(asked) == 1 else able_workers(client, among)

    able_workers = _neighbourhoods.able_workers
    monkeypatch.setattr(_neighbourhoods, "able_workers", gone_at_first)
    np.testing.assert_array_equal(np.concatenate(around.map_rows(_near, run=None)), before)
    assert len(around.geometry.holders) == 2


def test_kernels_with_candidates_alone_are_the_same(client, X) -> None:
    from unispectral.kernels import KernelBank

    bank = KernelBank(X, "linear", normalize="none", gram=False)
    geometry = KernelDistance([KernelPart(bank[0], 0)])
    around = localize(geometry, 8, Run.of(executor=DaskExecutor(client)))
    whole = np.concatenate(around.map_rows(_near, run=None))
    alone = np.concatenate(around.map_rows(_near, run=None, among=False))
    np.testing.assert_allclose(alone, whole, rtol=1e-12)


def test_what_arrives_is_aligned() -> None:
    from unispectral.dask._neighbourhoods import Aligned

    def arrived(what: Any) -> Any:
        """As from a message in which arrays begin at odd addresses."""
        buffers: list[Any] = []
        pickled = pickle.dumps(what, protocol=5, buffer_callback=buffers.append)
        moved = [memoryview(b"." + one.raw().tobytes())[1:] for one in buffers]
        return pickle.loads(pickled, buffers=moved)

    X, Y = np.random.default_rng(0).normal(size=(2, 30, 3))
    Y = np.asfortranarray(Y)
    assert not arrived(X).flags.aligned
    here, there = arrived(arrived(Aligned([X, Y]))).what
    for one, other in ((here, X), (there, Y)):
        assert one.flags.aligned
        assert one.flags.writeable
        np.testing.assert_array_equal(one, other)


def test_a_fit_leaves_nothing_on_the_scheduler(client, X) -> None:
    before = client.run_on_scheduler(_tasks_left)
    UnifiedSpectralClustering(3, whiten=None, client=client).fit(X[:200])
    gc.collect()
    while client.run_on_scheduler(_tasks_left) - before:  # to the limit of all tests
        time.sleep(0.05)


def _tasks_left(dask_scheduler) -> set[str]:
    return set(map(str, dask_scheduler.tasks))


def _near(rows, block):
    assert len(block.near) == rows.stop - rows.start
    return block.near


def test_frames_and_views(client, X) -> None:
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"pixel{i}" for i in range(64)])
    labels = UnifiedSpectralClustering(10, whiten=None, client=client).fit_predict(
        dd.from_pandas(frame, npartitions=3)
    )
    np.testing.assert_array_equal(
        np.asarray(labels), unispectral.UnifiedSpectralClustering(10, whiten=None).fit(X).labels_
    )
    views = [X[:, :32], X[:, 32:]]
    local = unispectral.UnifiedSpectralClustering(10, whiten=None).fit(views)
    remote = UnifiedSpectralClustering(10, whiten=None, client=client).fit(
        [da.from_array(view, chunks=(300, 32)) for view in views]
    )
    np.testing.assert_array_equal(np.asarray(remote.labels_), local.labels_)
    np.testing.assert_allclose(remote.kernel_weights_, local.kernel_weights_)


def test_columns_are_compared_with_those_of_the_fit(client, X) -> None:
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:200, 20:44], columns=[f"pixel{i}" for i in range(24)])
    turned = frame[frame.columns[::-1]]
    blocks = [dd.from_pandas(one, npartitions=2) for one in (frame, turned)]
    model = UnifiedSpectralClustering(5, whiten=None, landmarks=150, client=client).fit(blocks[0])
    assert model.feature_names_in_.tolist() == [*frame.columns]
    assert (model.predict(blocks[0]).compute() == np.asarray(model.labels_)).all()
    assert (model.predict(frame) == np.asarray(model.labels_)).all()
    with pytest.raises(ValueError, match="X has other columns than the fit"):
        model.predict(blocks[1]).compute()
    halves = [
        dd.from_pandas(frame.iloc[:, part], npartitions=2) for part in np.split(np.r_[:24], 2)
    ]
    several = UnifiedSpectralClustering(5, whiten=None, client=client).fit(halves)
    assert (several.predict(halves).compute() == np.asarray(several.labels_)).all()
    with pytest.raises(ValueError, match="view 'view0' has other columns than the fit"):
        several.predict(halves[::-1]).compute()


@pytest.mark.parametrize("kernels", ["linear", ["linear", "gaussian"]])
def test_a_view_may_lack_samples(client, X, kernels) -> None:
    """Both views lack some, one more than a whole block of codes."""
    left, right = X[:, :32].copy(), X[:, 32:].copy()
    left[::7] = np.nan
    right[1:560] = np.where(np.arange(559)[:, None] % 7 == 6, right[1:560], np.nan)
    local = unispectral.UnifiedSpectralClustering(10, kernels=kernels, whiten=None).fit(
        [left, right]
    )
    views = [da.from_array(view, chunks=(300, 32)) for view in (left, right)]
    remote = UnifiedSpectralClustering(10, kernels=kernels, whiten=None, client=client).fit(views)
    np.testing.assert_array_equal(np.asarray(remote.labels_), local.labels_)
    np.testing.assert_allclose(remote.embedding_, local.embedding_, atol=1e-8)
    assert remote.view_weights_ == pytest.approx(local.view_weights_)
    np.testing.assert_array_equal(remote.predict(views).compute(), local.predict([left, right]))


def test_views_in_unlike_blocks_are_refused(client, X) -> None:
    views = [da.from_array(X[:200, :32], chunks=(100, 32)), da.from_array(X[:200, 32:], chunks=50)]
    alike = [view.rechunk((100, 32)) for view in views]
    model = UnifiedSpectralClustering(10, whiten=None, client=client).fit(alike)
    with pytest.raises(ValueError, match=r"X\[1\] is cut into other blocks .* rechunk the views"):
        model.predict(views)


def test_new_points_and_the_local_model(client, X) -> None:
    model = UnifiedSpectralClustering(10, whiten=None, client=client).fit(X[:600])
    new = model.predict(da.from_array(X[600:], chunks=(100, 64)))
    local = model.to_local()
    assert type(local) is unispectral.UnifiedSpectralClustering
    np.testing.assert_array_equal(new.compute(), local.predict(X[600:]))
    np.testing.assert_array_equal(model.predict(X[600:]), local.predict(X[600:]))


@pytest.mark.parametrize("refit", [False, True])
def test_updates_are_those_of_the_local_model(client, X, refit) -> None:
    given = {"whiten": None, "committee": False}
    local = unispectral.UnifiedSpectralClustering(10, **given).fit(X[:600])
    local.update(X[600:], refit=refit)
    model = UnifiedSpectralClustering(10, client=client, **given)
    model.fit(da.from_array(X[:600], chunks=(300, 64)))
    assert model.update(da.from_array(X[600:], chunks=(150, 64)), refit=refit) is model
    assert model.labels_.chunks == ((300, 300, 150, 150),)
    np.testing.assert_array_equal(model.labels_.compute(), local.labels_)
    assert model.changes_.equals(local.changes_)
    with pytest.raises(ValueError, match=r"landmarks=200 were drawn, .* to_local\(\)"):
        UnifiedSpectralClustering(10, client=client, landmarks=200, **given).fit(X).update(X[:5])


def test_views_may_have_names(client, X) -> None:
    given = {"whiten": None, "committee": False}
    views = {"upper": X[:, :32], "lower": X[:, 32:]}
    remote = {name: da.from_array(view, chunks=(300, 32)) for name, view in views.items()}
    local = unispectral.UnifiedSpectralClustering(10, **given).fit(views)
    model = UnifiedSpectralClustering(10, client=client, **given).fit(remote)
    np.testing.assert_array_equal(model.labels_.compute(), local.labels_)
    assert model.view_weights_ == local.view_weights_
    swapped = {name: remote[name] for name in ("lower", "upper")}
    np.testing.assert_array_equal(model.predict(swapped).compute(), local.predict(views))
    model.update({name: view[:100] for name, view in remote.items()}, refit=False)
    np.testing.assert_array_equal(model.labels_[900:].compute(), local.labels_[:100])
    remote["lower"] = remote["lower"].rechunk((450, 32))
    with pytest.raises(ValueError, match=r"X\['lower'\] is cut into other blocks .* X\['upper'\]"):
        model.predict(remote)


def test_landmarks_bound_what_is_fitted(client, X) -> None:
    model = UnifiedSpectralClustering(10, whiten=None, landmarks=500, client=client)
    model.fit(da.from_array(X, chunks=(300, 64)))
    assert model.embedding_.shape == (500, 10)
    labels = np.asarray(model.labels_)
    assert labels.shape == (900,)
    full = unispectral.UnifiedSpectralClustering(10, whiten=None).fit(X).labels_
    from sklearn.metrics import normalized_mutual_info_score

    assert normalized_mutual_info_score(full, labels) > 0.7


def test_parameters_and_sentences(X) -> None:
    model = UnifiedSpectralClustering(4, landmarks=7, beta=0.5)
    assert model.get_params()["beta"] == 0.5
    assert set(model.get_params()) == {
        *unispectral.UnifiedSpectralClustering().get_params(),
        "client",
        "landmarks",
    }
    again = clone(model).set_params(n_clusters=5, landmarks=9)
    assert (again.n_clusters, again.landmarks, again.beta) == (5, 9, 0.5)
    with pytest.raises(AttributeError, match="not fitted"):
        model.to_local()
    with pytest.raises(AttributeError, match="no attribute 'labels_'"):
        _ = model.labels_
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(checkpoint="fit.npz")
    with pytest.raises(TypeError, match="checkpoint"):
        UnifiedSpectralClustering(4, checkpoint="fit.npz")


@pytest.mark.parametrize("landmarks", ["x", 1, 0, -3, 2.5, [4]])
def test_landmarks_that_are_no_number_are_refused(client, X, landmarks) -> None:
    with pytest.raises(
        ValueError, match=r"landmarks=.* must be a whole number of at least 2"
    ) as told:
        UnifiedSpectralClustering(4, landmarks=landmarks, client=client).fit(X[:60])
    assert told.value.argument == "landmarks"
    assert told.value.value == landmarks


def test_a_clone_uses_the_same_client(client, X) -> None:
    model = UnifiedSpectralClustering(3, whiten=None, kernels=["gaussian"], client=client)
    again = clone(model)
    assert again is not model
    assert again.client is client
    assert repr(again.get_params()) == repr(model.get_params())
    labels = again.fit_predict(X[:200])
    np.testing.assert_array_equal(model.fit_predict(X[:200]), labels)
    assert not hasattr(clone(again), "local_")


@pytest.mark.parametrize("bad", [None, 3.5, [], {}, np.array(1.0), [None], [[1.0], [2.0, 3.0]]])
def test_what_is_no_table_is_refused(client, bad) -> None:
    with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
        UnifiedSpectralClustering(2, client=client).fit(bad)


@pytest.mark.parametrize("as_table", [np.ndarray.tolist, sp.bsr_array, sp.coo_array])
def test_rows_as_lists_and_sparse_tables_that_cannot_be_cut(client, X, as_table) -> None:
    model = UnifiedSpectralClustering(3, landmarks=40, client=client).fit(as_table(X[:60]))
    assert np.asarray(model.labels_).shape == (60,)


def test_no_client_and_no_rows_are_a_sentence_each(client, X, monkeypatch) -> None:
    with pytest.raises(ValueError, match=r"X has 1 dimensions.*one row per sample"):
        UnifiedSpectralClustering(2, client=client).fit(da.from_array(X[:, 0], chunks=100))

    def nobody():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", lambda: client)
    fitted = UnifiedSpectralClustering(3, whiten=None, landmarks=200).fit(X[:60])
    assert len(fitted.embedding_) == 60  # no more landmarks than samples
    monkeypatch.setattr(distributed, "default_client", nobody)
    with pytest.raises(ValueError, match="client=None needs a current Dask client"):
        UnifiedSpectralClustering(2).fit(X[:20])
    with pytest.raises(TypeError, match=r"client='tcp://.*' is no Dask client; give distributed"):
        UnifiedSpectralClustering(2, client="tcp://127.0.0.1:1").fit(X[:50])


def test_a_killed_worker_changes_nothing() -> None:
    """A worker that has the table dies between two passes."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 20)) * 4
    X = (centres[rng.integers(0, 5, 9_000)] + rng.normal(size=(9_000, 20))).astype(np.float32)
    local = unispectral.UnifiedSpectralClustering(5, whiten=None).fit(X)
    killed: list[str] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def kill_once(stage: str, *told: object) -> None:
            if stage == "iterations" and not killed:
                workers = cluster.workers.values()
                address = next(iter(workers)).worker_address
                os.kill(
                    next(w.pid for w in workers if w.worker_address == address), signal.SIGKILL
                )
                killed.append(address)

        model = UnifiedSpectralClustering(5, whiten=None, client=client, verbose=kill_once).fit(
            da.from_array(X, chunks=(3_000, 20))
        )
        np.testing.assert_array_equal(np.asarray(model.labels_), local.labels_)
        # The one in its place was spared: it did not even have to load the package.
        assert sum(client.run(lambda: "unispectral" in sys.modules).values()) == 1
    assert killed


def test_what_holds_no_numbers_is_refused_as_by_the_local_fit(client, X) -> None:
    import dask.dataframe as dd
    import pandas as pd

    model = UnifiedSpectralClustering(3, client=client)
    holes = np.where(X > 15, np.nan, X)
    with pytest.raises(ValueError, match=r"X contains NaN, a missing value, in columns .*Table"):
        model.fit(da.from_array(holes, chunks=(300, 64)))
    frame = pd.DataFrame(X[:60, :2], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"X holds text, not numbers, in column 'city', .*'Ulm'"):
        model.fit(dd.from_pandas(frame.assign(city="Ulm"), npartitions=2))
    days = pd.date_range("2024-03-01", periods=60)
    with pytest.raises(ValueError, match="X holds dates or times"):
        model.fit(dd.from_pandas(frame.assign(day=days), npartitions=2))
    with pytest.raises(ValueError, match="X holds dates or times"):
        model.fit(dd.from_pandas(pd.DataFrame({"day": days, "then": days}), npartitions=2))


def test_what_a_reader_of_files_keeps_is_given_back(monkeypatch) -> None:
    """Arrow keeps for itself what it needed to read a block, as much as the block takes."""
    from unispectral.dask import _blocks

    given: list[str] = []

    class Arrow:
        def default_memory_pool(self) -> Any:
            return self

        def release_unused(self) -> None:
            given.append("given")

    class Model:
        def set_params(self, **params: Any) -> Any:
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            given.append("used")
            return X[:, 0]

    monkeypatch.setitem(sys.modules, "pyarrow", Arrow())
    found = _blocks._labels(Model(), [np.ones((3, 2))], [None], _blocks.Form(False))
    np.testing.assert_array_equal(found, np.ones(3, dtype=np.int32))
    assert given == ["given", "used", "given"]


def test_rows_that_do_not_match(client, X) -> None:
    """Frames that are here are put in order, as in the local fit; those of Dask are refused."""
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    left, right = pd.DataFrame(X[:200, :32]), pd.DataFrame(X[:200, 32:])
    shuffled = right.sample(frac=1.0, random_state=0)
    local = unispectral.UnifiedSpectralClustering(4, random_state=0).fit([left, right])
    model = UnifiedSpectralClustering(4, random_state=0, client=client).fit([left, shuffled])
    np.testing.assert_array_equal(model.labels_, local.labels_)
    cut = [dd.from_pandas(view, npartitions=2, sort=False) for view in (left, shuffled)]
    for method in (model.fit, model.predict, model.update):
        with pytest.raises(ValueError, match="is a frame whose index is not"):
            method(cut)
    with pytest.raises(ValueError, match="different rows"):
        model.fit([left, right[1:]])
    same = [dd.from_pandas(view, npartitions=2) for view in (left, right)]
    np.testing.assert_array_equal(model.predict(same).compute(), local.predict([left, right]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # samples without clusters are called doubtful
@pytest.mark.parametrize("given", [False, True], ids=["current client", "client given"])
def test_scikit_learn_conformance(client, given) -> None:
    """All checks but those that copy a client, with a client as parameter or the current one."""
    model = UnifiedSpectralClustering(3, client=client if given else None)
    expected = expected_failed_checks(model)
    assert len(expected) == 2 * given
    told = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    assert [one["check_name"] for one in told if one["status"] == "failed"] == []
    failed = {one["check_name"] for one in told if one["status"] == "xfail"}
    assert failed == set(expected)


def test_what_comes_in_decides_what_labels_are(client, X) -> None:
    model = UnifiedSpectralClustering(3, client=client, landmarks=50)
    few = UnifiedSpectralClustering(3, client=client)
    for one in (model, few):
        labels = one.fit(X[:100]).labels_
        assert isinstance(labels, np.ndarray)
        np.testing.assert_array_equal(
            one.fit(da.from_array(X[:100], chunks=(40, 64))).labels_.compute(), labels
        )
    again = pickle.loads(pickle.dumps(few))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(X[:100]), few.predict(X[:100]))
