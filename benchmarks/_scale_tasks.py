"""One measurement of the scale benchmark, in a process of its own.

``python -m benchmarks._scale_tasks '{"task": …}'`` prints seconds, CPU seconds, peak megabytes,
stages and quality as JSON. CPU seconds of all threads are what is compared: they hardly depend
on who else uses the machine.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp


def manifolds(
    n: int, d: int = 64, clusters: int = 10, latent: int = 6, noise: float = 0.3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Curved sheets in d dimensions with noise, in single precision.

    Examples
    --------
    >>> X, y = manifolds(100)
    >>> X.shape, X.dtype.name, len(set(y.tolist()))
    ((100, 64), 'float32', 10)
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, clusters, n)
    X = np.empty((n, d), dtype=np.float32)
    for cluster in range(clusters):
        rows = np.flatnonzero(y == cluster)
        sheet = rng.uniform(-1, 1, (len(rows), latent))
        turn, phase = 1.2 * rng.normal(size=(latent, d)), rng.uniform(0, 2 * np.pi, d)
        centre = 0.25 * rng.normal(size=d)
        X[rows] = np.sin(sheet @ turn + phase) + centre + noise * rng.normal(size=(len(rows), d))
    return X, y


def replicated_digits(times: int, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's digits, each image many times with a little noise."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.repeat(X, times, axis=0) + noise * rng.normal(size=(len(X) * times, X.shape[1]))
    return X.astype(np.float32), np.repeat(y, times)


def _data(name: str) -> tuple[Any, np.ndarray]:
    kind, _, number = name.partition(" ")
    if kind == "manifolds":
        return manifolds(int(number))
    if kind == "digits":
        return replicated_digits(int(number))
    if kind == "shape":
        from benchmarks._shapes import shape

        title, _, count = number.rpartition(" ")
        return shape(title, int(count))
    from unispectral.datasets import fetch

    found = fetch(name)
    return found.data, found.target


class _Stages:
    """CPU seconds spent inside named functions of the fit; inner ones are not counted twice."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[float] = []

    def watch(self, module: Any, name: str, stage: str) -> None:
        inner: Callable[..., Any] = getattr(module, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            begun = time.process_time()
            self._open.append(0.0)
            try:
                return inner(*arguments, **named)
            finally:
                spent = time.process_time() - begun
                own = spent - self._open.pop()
                self.seconds[stage] = self.seconds.get(stage, 0.0) + own
                if self._open:
                    self._open[-1] += spent

        setattr(module, name, timed)


def _ours(data: str, **params: Any) -> dict[str, Any]:
    from unispectral import UnifiedSpectralClustering
    from unispectral.labelfree import _fit, _graph, _neighbourhoods, _views

    X, y = _data(data)
    _warm()
    stages = _Stages()
    stages.watch(_neighbourhoods, "nearest_in", "search")
    stages.watch(_graph, "localize", "kernels")
    stages.watch(_views, "localize", "kernels")
    stages.watch(_neighbourhoods, "compute_codes", "codes")
    stages.watch(_graph, "smallest_eigenvectors", "eigenvectors")
    stages.watch(_fit, "assign_labels", "labels")
    model = UnifiedSpectralClustering(len(np.unique(y)), **params)
    return _measured(lambda: model.fit(X).labels_, y) | {"stages": stages.seconds}


def _sklearn(data: str, eigen_solver: str, assign_labels: str) -> dict[str, Any]:
    from sklearn.cluster import SpectralClustering

    X, y = _data(data)
    model = SpectralClustering(
        len(np.unique(y)),
        affinity="nearest_neighbors",
        eigen_solver=eigen_solver,
        assign_labels=assign_labels,
        random_state=0,
        n_jobs=-1,
    )
    return _measured(lambda: model.fit(sp.csr_matrix(X) if sp.issparse(X) else X).labels_, y)


def _plain_search(data: str, k: int) -> dict[str, Any]:
    from sklearn.neighbors import NearestNeighbors

    X, _ = _data(data)
    model = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=_threads())
    return _measured(lambda: model.fit(X).kneighbors()[1], None)


def _peer(data: str, estimator: str, limit: float, memory: int) -> dict[str, Any]:
    """A peer of scikit-learn, which may take so many CPU seconds and bytes of address space."""
    from sklearn import cluster

    X, y = _data(data)
    model: Any
    if estimator == "HDBSCAN":
        model = cluster.HDBSCAN(min_cluster_size=len(X) // 100, copy=False)
    else:
        model = getattr(cluster, estimator)(int(y.max()) + 1, random_state=0)
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + int(limit), used + int(limit)))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    return _measured(lambda: model.fit(X).labels_ + 1, y)


def _predict(train: int, new: int) -> dict[str, Any]:
    """New points from a file in the clusters of a model, and a plain query of their neighbours."""
    import tempfile

    from unispectral import UnifiedSpectralClustering
    from unispectral._run import Run
    from unispectral.graph.neighbours import build_index
    from unispectral.predict import row_blocks

    X, y = manifolds(train + new)
    model = UnifiedSpectralClustering(10, whiten=None, n_jobs=1).fit(X[:train])
    few = model.predict(X[:100])  # loads what is compiled, and builds the index
    assert np.array_equal(few, model.labels_[:100])
    run = Run.of(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.npy"
        np.save(path, X[train:])
        table, truth = X[:train].copy(), y[train:]
        del X
        rows = np.load(path, mmap_mode="r")
        with run.limit_threads():
            index = build_index(table, 8, random_state=0, run=run)
            begun = time.process_time()
            for block in row_blocks(rows):
                index.search(np.asarray(block), 8, run=run)
            query = time.process_time() - begun
        found = _measured(lambda: model.predict(rows), truth)
    return found | {"query": query, "train": train, "new": new}


def _memory(data: str, who: str, warm: bool) -> dict[str, Any]:
    """The peak of a process that fits once, or once more after a small fit."""
    X, y = _data(data)
    model: Any
    if who == "ours":
        from unispectral import UnifiedSpectralClustering

        model = UnifiedSpectralClustering(len(np.unique(y)))
    else:
        from sklearn.cluster import SpectralClustering

        model = SpectralClustering(
            len(np.unique(y)),
            affinity="nearest_neighbors",
            eigen_solver="amg",
            assign_labels="cluster_qr",
            random_state=0,
            n_jobs=-1,
        )
    if warm:
        model.fit(X[:1000])
    return _measured(lambda: model.fit(X).labels_, y)


def _parquet(n: int, limit: int, workers: int, landmarks: int) -> dict[str, Any]:
    """Points in Parquet files that take more memory than all workers are given together."""
    import tempfile

    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster

    from unispectral.dask import UnifiedSpectralClustering

    with tempfile.TemporaryDirectory() as folder:
        X, y = manifolds(n, d=128)
        for part, rows in enumerate(np.array_split(np.arange(n), 100)):
            block = X[rows].astype(np.float64)
            frame = pd.DataFrame(block, columns=[f"x{i}" for i in range(X.shape[1])])
            frame.to_parquet(Path(folder) / f"{part:03d}.parquet")
        size = 8 * X.size
        del X, block, frame
        with (
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=limit,
                dashboard_address=None,
            ) as cluster,
            Client(cluster, direct_to_workers=True) as client,
        ):
            begun, cpu = time.perf_counter(), time.process_time()
            before = client.run(_cpu)
            model = UnifiedSpectralClustering(10, landmarks=landmarks, client=client)
            labels = model.fit(dd.read_parquet(folder)).labels_.compute()
            after = client.run(_cpu)
            peaks = client.run(_peak)
            same = set(after) == set(before)
            used = sum(after[one] - before.get(one, 0.0) for one in after)
            cpu = time.process_time() - cpu + used
            seconds = time.perf_counter() - begun
    return _quality(y, labels) | {
        "seconds": seconds,
        "cpu": cpu,
        "data": size / 2**20,
        "limits": workers * limit / 2**20,
        "peak": max(peaks.values()),
        "same workers": same,
    }


def _peak() -> float:
    """The peak of this process in MB; ``ru_maxrss`` also holds that of its parent at the fork."""
    status = Path("/proc/self/status").read_text()
    return float(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024.0  # type: ignore[index]


def _threads() -> int:
    from unispectral._run import thread_count

    return thread_count()


def _dask(data: str, kill: bool, **params: Any) -> dict[str, Any]:
    """A fit on two workers; one is killed in the middle where asked for."""
    import tempfile
    import threading

    from distributed import Client, LocalCluster

    from unispectral.dask import UnifiedSpectralClustering

    X, y = _data(data)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        blocks = _in_file(X, Path(folder) / "points.npy")
        started = max(client.run(_cpu).values())
        client.run(_warm)
        _warm()
        warm = client.run(_cpu)
        own, begun = time.process_time(), time.perf_counter()
        lost: dict[str, float] = {}
        thread = threading.Thread(target=_strike, args=(cluster, _watched(cluster), lost))
        if kill:
            thread.start()
        model = UnifiedSpectralClustering(len(np.unique(y)), client=client, **params)
        labels = model.fit(blocks).labels_.compute()
        if kill:
            thread.join()
        seconds, own = time.perf_counter() - begun, time.process_time() - own
        # A worker that was started in place of the lost one is counted with its start.
        spent = client.run(_cpu) | lost
        used = sum(seconds - warm.get(address, 0.0) for address, seconds in spent.items())
    return _quality(y, labels) | {
        "seconds": seconds,
        "cpu": used + own,
        "client": own,
        "lost": sum(spent - warm[address] for address, spent in lost.items()),
        "start": started,
        "labels": _digest(labels),
    }


def _in_file(X: np.ndarray, path: Path) -> Any:
    """A table as a Dask array in eight blocks of rows that the workers read from a file."""
    import dask.array as da
    from dask.delayed import delayed

    np.save(path, X)
    edges = np.linspace(0, len(X), 9).astype(int).tolist()
    read = delayed(_rows_of_file)
    blocks = [
        da.from_delayed(read(str(path), start, stop), (stop - start, X.shape[1]), X.dtype)
        for start, stop in itertools.pairwise(edges)
    ]
    return da.concatenate(blocks)


def _rows_of_file(path: str, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def _strike(cluster: Any, kernels: Any, lost: dict[str, float]) -> None:
    """Kill the worker that makes the first kernels, as soon as they are there.

    What it had used is noted: it is counted, though it is lost. ``kernels`` is a queue of the
    workers that made some.
    """
    import psutil

    address = kernels.get()
    pid = next(one.pid for one in cluster.workers.values() if one.worker_address == address)
    times = psutil.Process(pid).cpu_times()
    lost[address] = times.user + times.system
    os.kill(pid, signal.SIGKILL)


def _watched(cluster: Any) -> Any:
    """A queue into which the scheduler puts the workers that made kernels."""
    import queue

    from distributed import SchedulerPlugin

    kernels: Any = queue.SimpleQueue()

    class Watch(SchedulerPlugin):
        def transition(
            self, key: Any, start: str, finish: str, *args: Any, worker: Any = None, **named: Any
        ) -> None:
            if finish == "memory" and str(key).startswith("_apply-"):
                kernels.put(worker)

    cluster.scheduler.add_plugin(Watch())
    return kernels


def _warm() -> None:
    """Pay for compilation now, in the precision of small and of large data."""
    from unispectral import UnifiedSpectralClustering
    from unispectral.graph import neighbours
    from unispectral.labelfree import _neighbourhoods

    few = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    usual = _neighbourhoods.SINGLE_SAMPLES, neighbours.EXACT_SAMPLES
    UnifiedSpectralClustering(2, n_init=1).fit(few)
    _neighbourhoods.SINGLE_SAMPLES = neighbours.EXACT_SAMPLES = 10
    UnifiedSpectralClustering(2, n_init=1).fit(few)
    _neighbourhoods.SINGLE_SAMPLES, neighbours.EXACT_SAMPLES = usual


def _cpu() -> float:
    return time.process_time()


def _digest(labels: np.ndarray) -> str:
    import hashlib

    return hashlib.sha256(np.ascontiguousarray(labels, dtype=np.int32).tobytes()).hexdigest()[:16]


def _quality(y: np.ndarray | None, labels: Any) -> dict[str, Any]:
    if y is None:
        return {}
    from unispectral.metrics import scores

    found = scores(y, labels)
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    return {"accuracy": found["accuracy"], "nmi": found["nmi"], "smallest": smallest}


def _measured(run: Callable[[], Any], y: np.ndarray | None) -> dict[str, Any]:
    begun, cpu = time.perf_counter(), time.process_time()
    outcome = run()
    measured = {
        "seconds": time.perf_counter() - begun,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
    }
    if y is not None:
        measured |= _quality(y, outcome) | {"labels": _digest(outcome)}
    return measured


def main() -> None:
    # Numba loads it where it finds it: among developers, not among users.
    sys.modules["coverage"] = None  # type: ignore[assignment]
    arguments = json.loads(sys.argv[1])
    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "ours": _ours,
        "sklearn": _sklearn,
        "plain_search": _plain_search,
        "peer": _peer,
        "predict": _predict,
        "memory": _memory,
        "parquet": _parquet,
        "dask": _dask,
    }
    print(json.dumps(tasks[arguments.pop("task")](**arguments)))


if __name__ == "__main__":
    main()
