"""Clusterings of embeddings: time, memory and agreement beside those of other programs.

``python -m benchmarks.embeddings`` (``make bench-embeddings``) writes
``docs/results/embeddings.json`` and ``embeddings.md``. The rows are generated: unit vectors in
single precision, 200 clusters of very different sizes in eight directions of their own each, and
5 % noise. The ARI is that of the rows that belong to a cluster; rows that a program calls noise
are one cluster of theirs. Each cell is a process of its own with one thread: CPU seconds are those
of the call, without compilation where a call on a few rows pays for it, and memory is the highest
resident set of the process, interpreter and data included. Cells that are there are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

RESULT = Path(__file__).parent.parent / "docs" / "results" / "embeddings.json"
#: Columns, clusters, inner dimensions and the least rows of a cluster of the generated tables.
_COLUMNS, _CLUSTERS, _INNER, _LEAST = 384, 200, 8, 19
_NOISE = 0.05
#: Lengths of the parts of a row inside and outside the directions of its cluster.
_INSIDE, _OUTSIDE = 1.0, 0.5
#: The spread of the logarithms of sizes.
_UNEQUAL = 1.5
_ROWS = 20_000
#: Rows that pay for compilation, and neighbours of a search.
_FEW, _NEIGHBORS = 12_000, 15


def make_rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors and their clusters, −1 for noise."""
    rng = np.random.default_rng(seed)
    loud = round(_NOISE * n)
    shares = np.exp(_UNEQUAL * rng.standard_normal(_CLUSTERS))
    sizes = np.maximum(_LEAST, shares / shares.sum() * (n - loud)).astype(int)
    sizes[sizes.argmax()] += n - loud - sizes.sum()
    X = np.empty((n, _COLUMNS), dtype=np.float32)
    at = 0
    for size in sizes:
        centre = rng.standard_normal(_COLUMNS)
        centre /= np.linalg.norm(centre)
        plane = np.linalg.qr(rng.standard_normal((_COLUMNS, _INNER)))[0].T
        for start in range(0, size, _ROWS):
            count = min(_ROWS, size - start)
            inside = rng.standard_normal((count, _INNER)) @ plane
            outside = rng.standard_normal((count, _COLUMNS))
            X[at : at + count] = (
                centre
                + (_INSIDE / np.sqrt(_INNER)) * inside
                + (_OUTSIDE / np.sqrt(_COLUMNS)) * outside
            )
            at += count
    X[at:] = rng.standard_normal((loud, _COLUMNS))
    for start in range(0, n, _ROWS):
        some = X[start : start + _ROWS]
        some /= np.linalg.norm(some, axis=1, keepdims=True)
    labels = np.concatenate([np.repeat(np.arange(_CLUSTERS), sizes), np.full(loud, -1)])
    order = rng.permutation(n)
    return X[order], labels[order]


def _ours(n_clusters: int | str) -> Callable[[np.ndarray], np.ndarray]:
    def cluster(X: np.ndarray) -> np.ndarray:
        from unispectral import UnifiedSpectralClustering

        model = UnifiedSpectralClustering(n_clusters, n_jobs=1, random_state=0)
        return model.fit(X).labels_

    return cluster


def _cluster_by_evoc(X: np.ndarray) -> np.ndarray:
    import evoc

    return evoc.EVoC(random_state=0).fit_predict(X)


def _cluster_by_means(X: np.ndarray) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(_CLUSTERS, random_state=0).fit_predict(X)


def _cluster_by_umap(X: np.ndarray) -> np.ndarray:
    import hdbscan
    import umap

    few = umap.UMAP(n_components=5, n_neighbors=15, min_dist=0.0, random_state=0).fit_transform(X)
    return hdbscan.HDBSCAN(min_cluster_size=15).fit_predict(few)


def _search_ours(X: np.ndarray) -> np.ndarray:
    from unispectral._run import Run
    from unispectral.graph.neighbours import nearest

    with Run.of(1).limit_threads() as run:
        return nearest(X, _NEIGHBORS, run=run).indices


def _search_by_pynndescent(X: np.ndarray) -> np.ndarray:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=_NEIGHBORS + 1, random_state=0, n_jobs=1)
    return index.neighbor_graph[0][:, 1:]


def _search_by_hnsw(X: np.ndarray) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efSearch = 32
    index.add(X)
    return index.search(X, _NEIGHBORS + 1)[1][:, 1:]


#: What each program is called, the package that it needs, and whether it is given k.
CLUSTERERS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, bool]] = {
    "unispectral, k given": (_ours(_CLUSTERS), "unispectral", True),
    "unispectral, k unknown": (_ours("auto"), "unispectral", False),
    "EVōC": (_cluster_by_evoc, "evoc", False),
    "MiniBatchKMeans": (_cluster_by_means, "sklearn", True),
    "HDBSCAN on UMAP": (_cluster_by_umap, "umap", False),
}
SEARCHES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "unispectral": (_search_ours, "unispectral"),
    "PyNNDescent": (_search_by_pynndescent, "pynndescent"),
    "FAISS HNSW": (_search_by_hnsw, "faiss"),
}


def measure(kind: str, name: str, n: int) -> dict[str, Any]:
    """One cell, in this process."""
    import resource

    from sklearn.metrics import adjusted_rand_score

    work, package = (CLUSTERERS[name] if kind == "cluster" else SEARCHES[name])[:2]
    if find_spec(package) is None:
        return {"skipped": f"{package} is not installed"}
    X, truth = make_rows(n)
    work(X[:_FEW])
    begun = time.process_time()
    found = work(X)
    cell: dict[str, Any] = {"seconds": time.process_time() - begun}
    cell["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    if kind == "cluster":
        placed = truth >= 0
        cell["ari"] = float(adjusted_rand_score(truth[placed], found[placed]))
        cell["clusters"] = len(np.unique(found[found >= 0]))
        cell["noise"] = float(np.mean(found < 0))
    else:
        cell["recall"] = _measure_recall(X, found)
    return cell


def _measure_recall(X: np.ndarray, found: np.ndarray) -> float:
    """The share of the true neighbours of some rows that was found."""
    sample = np.random.default_rng(1).choice(len(X), 500, replace=False)
    products = X[sample] @ X.T
    products[np.arange(len(sample)), sample] = -np.inf
    true = np.argpartition(-products, _NEIGHBORS, axis=1)[:, :_NEIGHBORS]
    return float((found[sample][:, :, None] == true[:, None, :]).any(axis=2).mean())


def report(cells: dict[str, dict[str, Any]]) -> str:
    """The tables of all cells."""
    lines = ["# Embeddings", "", *(__doc__ or "").splitlines()[2:], ""]
    lines += ["## Clusterings", ""]
    lines += ["| rows | program | ARI | clusters | called noise | CPU s | GB |", "|---" * 7 + "|"]
    lines += [
        _line(key, cell, ("ari", "clusters", "noise", "seconds", "gigabytes"))
        for key, cell in cells.items()
        if key.startswith("cluster")
    ]
    lines += ["", f"## Searches of {_NEIGHBORS} neighbours", ""]
    lines += ["| rows | program | recall | CPU s | GB |", "|---" * 5 + "|"]
    lines += [
        _line(key, cell, ("recall", "seconds", "gigabytes"))
        for key, cell in cells.items()
        if key.startswith("search")
    ]
    return "\n".join(lines) + "\n"


def _line(key: str, cell: dict[str, Any], fields: tuple[str, ...]) -> str:
    _, n, name = key.split("/")
    if "skipped" in cell:
        values = [cell["skipped"]] + [""] * (len(fields) - 1)
    else:
        forms = {"clusters": "d", "seconds": ".1f", "gigabytes": ".2f", "noise": ".1%"}
        values = [format(cell[field], forms.get(field, ".3f")) for field in fields]
    return f"| {int(n):,} | {name} | " + " | ".join(values) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embeddings", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--one", help="only this cell, in this process, as JSON")
    given = parser.parse_args()
    if given.one is not None:
        kind, n, name = given.one.split("/")
        print(json.dumps(measure(kind, name, int(n))))
        return
    cells = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    wanted = [f"search/{given.rows}/{name}" for name in SEARCHES]
    wanted += [f"cluster/{given.rows}/{name}" for name in CLUSTERERS]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for key in wanted:
        if key in cells or given.only not in key:
            continue
        command = [sys.executable, "-m", "benchmarks.embeddings", "--one", key]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env={**os.environ, **threads}
        )
        cells[key] = json.loads(done.stdout.splitlines()[-1])
        print(key, cells[key], flush=True)
        RESULT.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    RESULT.with_suffix(".md").write_text(report(cells), encoding="utf-8")
    print("wrote embeddings.md")


if __name__ == "__main__":
    main()
