"""Clusterings of embeddings: time, memory and agreement beside those of other programs.

``python -m benchmarks.embeddings`` (``make bench-embeddings``) writes
``docs/results/embeddings.json`` and ``embeddings.md``. Rows on the sphere are generated: unit
vectors of 384 columns in single precision, 200 clusters in eight directions of their own each,
whose sizes are quantiles of a log-normal distribution (19 to 19,105 of 100,000 rows, half of them
below 71), and 5 % noise. MNIST are its 70,000 raw images. The first ARI is that of the rows that
belong to a cluster, the second that of all rows, noise being one more class; rows that a program
calls noise are one cluster of theirs. Each cell is a process of its own with one thread: CPU
seconds are those of the call, without compilation where a call on a few rows pays for it, and
memory is the highest resident set of the process, interpreter and data included. Recall is the
share of the true 15 neighbours of 500 rows. The three views are 60,000 rows of 20, 30 and 40
columns around ten centres each. Cells that are there are not run again. HDBSCAN on UMAP is not
run on a million rows, nor is the index of FAISS: they would take hours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks._report import Target, target_table
from benchmarks._store import Store

RESULT = Path(__file__).parent.parent / "docs" / "results" / "embeddings.json"
#: Columns, clusters, inner dimensions and the least rows of a cluster of the generated tables.
_COLUMNS, _CLUSTERS, _INNER, _LEAST = 384, 200, 8, 19
_NOISE = 0.05
#: Lengths of the parts of a row inside and outside the directions of its cluster.
_INSIDE, _OUTSIDE = 1.0, 0.5
#: The spread of the logarithms of sizes.
_UNEQUAL = 2.0
_ROWS = 20_000
#: Rows that pay for compilation, and neighbours of a search.
_FEW, _NEIGHBORS = 12_000, 15
#: Rows and columns of the views of the same samples, and how they are given.
_VIEWED, _WIDTHS = 60_000, (20, 30, 40)
_TOGETHER, _APART = "three views", "one table of all columns"
#: Tables by the words of their keys, and the smallest cluster that ought to be found.
_MNIST, _MILLION, _SEEN = "MNIST", "1000000", 50


def make_rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors and their clusters, −1 for noise."""
    rng = np.random.default_rng(seed)
    loud = round(_NOISE * n)
    places = (np.arange(_CLUSTERS) + 0.5) / _CLUSTERS
    shares = np.exp(_UNEQUAL * norm.ppf(places))
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


def load(table: str) -> tuple[np.ndarray, np.ndarray]:
    """A table by its word: MNIST, or how many rows on the sphere."""
    if table == _MNIST:
        from unispectral.datasets import fetch

        images = fetch("mnist")
        return images.data.astype(np.float32), images.target
    return make_rows(int(table))


def _cluster_told(X: Any, k: int) -> np.ndarray:
    from unispectral import UnifiedSpectralClustering

    return UnifiedSpectralClustering(k, n_jobs=1, random_state=0).fit(X).labels_


def _cluster_untold(X: np.ndarray, k: int) -> np.ndarray:
    from unispectral import UnifiedSpectralClustering

    return UnifiedSpectralClustering("auto", n_jobs=1, random_state=0).fit(X).labels_


def _cluster_by_evoc(X: np.ndarray, k: int) -> np.ndarray:
    from evoc import EVoC

    return EVoC(random_state=0).fit_predict(X)


def _cluster_by_means(X: np.ndarray, k: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, random_state=0).fit_predict(X)


def _cluster_by_umap(X: np.ndarray, k: int) -> np.ndarray:
    from hdbscan import HDBSCAN
    from umap import UMAP

    few = UMAP(n_components=5, n_neighbors=15, min_dist=0.0, random_state=0).fit_transform(X)
    return HDBSCAN(min_cluster_size=15).fit_predict(few)


def _search_ours(X: np.ndarray) -> np.ndarray:
    from unispectral._run import Run
    from unispectral.graph.neighbours import nearest

    with Run.of(1).limit_threads() as run:
        return nearest(X, _NEIGHBORS, run=run).indices


def _search_by_pynndescent(X: np.ndarray) -> np.ndarray:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=_NEIGHBORS + 1, random_state=0, n_jobs=1)
    return index.neighbor_graph[0][:, 1:]


def _search_by_evoc(X: np.ndarray) -> np.ndarray:
    from evoc.knn_graph import knn_graph
    from sklearn.utils import check_random_state

    return knn_graph(X, _NEIGHBORS + 1, random_state=check_random_state(0))[0][:, 1:]


def _search_by_hnsw(X: np.ndarray) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efSearch = 64
    index.add(X)
    return index.search(X, _NEIGHBORS + 1)[1][:, 1:]


#: What each program is called, and the packages that it needs.
CLUSTERERS: dict[str, tuple[Callable[[np.ndarray, int], np.ndarray], tuple[str, ...]]] = {
    "unispectral, k given": (_cluster_told, ("unispectral",)),
    "unispectral, k unknown": (_cluster_untold, ("unispectral",)),
    "EVōC": (_cluster_by_evoc, ("evoc",)),
    "MiniBatchKMeans, k given": (_cluster_by_means, ("scikit-learn",)),
    "HDBSCAN on UMAP": (_cluster_by_umap, ("umap-learn", "hdbscan")),
}
SEARCHES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[str, ...]]] = {
    "unispectral": (_search_ours, ("unispectral",)),
    "PyNNDescent": (_search_by_pynndescent, ("pynndescent",)),
    "EVōC": (_search_by_evoc, ("evoc",)),
    "FAISS HNSW": (_search_by_hnsw, ("faiss-cpu",)),
}


#: What would take hours on a million rows.
_TOO_LONG = ("cluster/1000000/HDBSCAN on UMAP", "search/1000000/FAISS HNSW")


def measure_views(name: str) -> dict[str, Any]:
    """One cell of several views, in this process."""
    rng = np.random.default_rng(0)
    truth = rng.integers(10, size=_VIEWED)
    views = [
        1.2 * rng.standard_normal((10, width))[truth] + rng.standard_normal((_VIEWED, width))
        for width in _WIDTHS
    ]
    given: Any = [view.astype(np.float32) for view in views]
    if name == _APART:
        given = [np.hstack(given)]
    _cluster_told([view[:_FEW] for view in given], 10)
    begun = time.process_time()
    found = _cluster_told(given, 10)
    seconds = time.process_time() - begun
    return {"seconds": seconds, **_score(truth, found)}


def measure(kind: str, name: str, table: str) -> dict[str, Any]:
    """One cell, in this process."""
    import resource

    if kind == "cluster":
        packages = CLUSTERERS[name][1]
    else:
        packages = SEARCHES[name][1]
    try:
        versions = [f"{package} {version(package)}" for package in packages]
    except PackageNotFoundError as error:
        return {"skipped": f"{error.name} is not installed"}
    X, truth = load(table)
    few = X[:_FEW]
    count = len(np.unique(truth[truth >= 0]))

    def work(rows: np.ndarray) -> np.ndarray:
        if kind == "cluster":
            return CLUSTERERS[name][0](rows, count)
        return SEARCHES[name][0](rows)

    work(few)
    begun = time.process_time()
    found = work(X)
    cell: dict[str, Any] = {"seconds": time.process_time() - begun, "by": ", ".join(versions)}
    cell["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    if kind == "search":
        return {**cell, "recall": _measure_recall(X, found)}
    return {**cell, **_score(truth, found)}


def _score(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import adjusted_rand_score

    placed = truth >= 0
    return {
        "ari": float(adjusted_rand_score(truth[placed], found[placed])),
        "all": float(adjusted_rand_score(truth, found)),
        "clusters": len(np.unique(found[found >= 0])),
        "noise": float(np.mean(found < 0)),
        "seen": int((np.bincount(truth[placed]) >= _SEEN).sum()),
    }


def _measure_recall(X: np.ndarray, found: np.ndarray) -> float:
    """The share of the true neighbours of some rows that was found."""
    sample = np.random.default_rng(1).choice(len(X), 500, replace=False)
    norms = np.einsum("ij,ij->i", X, X)
    closeness = X[sample] @ X.T - norms / 2
    closeness[np.arange(len(sample)), sample] = -np.inf
    true = np.argpartition(-closeness, _NEIGHBORS, axis=1)[:, :_NEIGHBORS]
    return float((found[sample][:, :, None] == true[:, None, :]).any(axis=2).mean())


def check_targets(cells: dict[str, dict[str, Any]]) -> list[Target]:
    """What was aimed at, of what has been measured."""
    targets = []
    views = [cells.get(f"views/{_VIEWED}/{name}") for name in (_TOGETHER, _APART)]
    if all(views):
        ratio = views[0]["seconds"] / views[1]["seconds"]
        call = f"CPU time of {_TOGETHER}, beside {_APART}"
        targets.append(Target(call, "≤ 4 ×", f"{ratio:.2f}", ratio <= 4))
    tables = {key.split("/")[1] for key in cells if not key.startswith("views")}
    for table in sorted(tables):
        call = _call(table)
        cell = {
            key.replace(f"/{table}/", "/"): one
            for key, one in cells.items()
            if key.split("/")[1] == table and "skipped" not in one
        }
        targets += _compare_searches(call, cell)
        untold = cell.get("cluster/unispectral, k unknown")
        if untold is None:
            continue
        evoc = cell.get("cluster/EVōC")
        if evoc is not None:
            targets.append(
                Target(f"{call}: ARI, k unknown", f"above EVōC's {evoc['ari']:.3f}",
                       f"{untold['ari']:.3f}", untold["ari"] > evoc["ari"])
            )  # fmt: skip
            ratio = untold["seconds"] / evoc["seconds"]
            targets.append(
                Target(f"{call}: CPU time, k unknown", "≤ 2 × EVōC's", f"{ratio:.2f}", ratio <= 2)
            )
        told = cell.get("cluster/unispectral, k given")
        if told is not None:
            ratio = untold["seconds"] / told["seconds"]
            targets.append(
                Target(f"{call}: CPU time, k unknown", "≤ 2 × k given", f"{ratio:.2f}", ratio <= 2)
            )
        if table == _MILLION:
            most = max(one["gigabytes"] for one in (untold, told or untold))
            targets.append(
                Target(f"{call}: memory at its peak", "≤ 4 GB", f"{most:.2f} GB", most <= 4)
            )
        if table != _MNIST:
            seen = untold["seen"]
            off = abs(untold["clusters"] - seen) / seen
            targets.append(
                Target(f"{call}: clusters found", f"within 25 % of the {seen} of {_SEEN} rows",
                       f"{untold['clusters']}", off <= 0.25)
            )  # fmt: skip
    return targets


def _compare_searches(call: str, cell: dict[str, dict[str, Any]]) -> list[Target]:
    ours = cell.get("search/unispectral")
    others = [
        one["seconds"]
        for key, one in cell.items()
        if key.startswith("search/") and one is not ours and one["recall"] >= 0.95
    ]
    if ours is None or not others:
        return []
    ratio = ours["seconds"] / min(others)
    return [
        Target(f"{call}: recall of the search", "≥ 0.95", f"{ours['recall']:.3f}",
               ours["recall"] >= 0.95),
        Target(f"{call}: CPU time of the search", "≤ 1.2 × the best at a recall of 0.95",
               f"{ratio:.2f}", ratio <= 1.2),
    ]  # fmt: skip


def _call(table: str) -> str:
    return table if table == _MNIST else f"{int(table):,} rows"


def report(cells: dict[str, dict[str, Any]]) -> str:
    """The tables of all cells."""
    lines = ["# Embeddings", "", *(__doc__ or "").splitlines()[2:], ""]
    lines += [target_table(check_targets(cells)), "", "## Clusterings", ""]
    lines += ["| table | program | ARI | with noise | clusters | called noise | CPU s | GB |"]
    lines += ["|---" * 8 + "|"]
    lines += [
        _line(key, cell, ("ari", "all", "clusters", "noise", "seconds", "gigabytes"))
        for key, cell in cells.items()
        if key.startswith("cluster")
    ]
    lines += ["", f"## Searches of {_NEIGHBORS} neighbours", ""]
    lines += ["| table | program | recall | CPU s | GB |", "|---" * 5 + "|"]
    lines += [
        _line(key, cell, ("recall", "seconds", "gigabytes"))
        for key, cell in cells.items()
        if key.startswith("search")
    ]
    lines += ["", "## Several views", "", "| rows | what | ARI | CPU s |", "|---" * 4 + "|"]
    lines += [
        _line(key, cell, ("ari", "seconds"))
        for key, cell in cells.items()
        if key.startswith("views")
    ]
    by = sorted({one for cell in cells.values() for one in cell.get("by", "").split(", ") if one})
    return "\n".join([*lines, "", f"Versions: {', '.join(by)}.", ""])


def _line(key: str, cell: dict[str, Any], fields: tuple[str, ...]) -> str:
    _, table, name = key.split("/")
    if "skipped" in cell:
        values = [cell["skipped"]] + [""] * (len(fields) - 1)
    else:
        forms = {"clusters": "d", "seconds": ".1f", "gigabytes": ".2f", "noise": ".1%"}
        values = [format(cell[field], forms.get(field, ".3f")) for field in fields]
    return f"| {_call(table)} | {name} | " + " | ".join(values) + " |"


def _measure_apart(key: str) -> dict[str, Any]:
    """One cell, in a process of its own."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "benchmarks.embeddings", "--one", key]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embeddings", description=__doc__)
    parser.add_argument("--tables", nargs="*", default=["100000", _MNIST, _MILLION])
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--one", help="only this cell, in this process, as JSON")
    given = parser.parse_args()
    if given.one is not None:
        kind, table, name = given.one.split("/")
        found = measure_views(name) if kind == "views" else measure(kind, name, table)
        print(json.dumps(found))
        return
    store = Store(RESULT)
    for table in given.tables:
        wanted = [f"views/{_VIEWED}/{name}" for name in (_TOGETHER, _APART)]
        wanted += [f"search/{table}/{name}" for name in SEARCHES]
        wanted += [f"cluster/{table}/{name}" for name in CLUSTERERS]
        for key in wanted:
            if given.only in key and key not in _TOO_LONG:
                print(key, store.cell(key, lambda key=key: _measure_apart(key)), flush=True)
    RESULT.with_suffix(".md").write_text(report(store.cells), encoding="utf-8")
    print("wrote embeddings.md")


if __name__ == "__main__":
    main()
