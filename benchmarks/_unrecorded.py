"""The methods without a record, measured over seeds on one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks import recorded_baselines
from benchmarks._data import Input
from unispectral.baselines import SSR, TSEP, ClustRF
from unispectral.baselines._base import Partition, kmeans
from unispectral.kernels import KernelBank
from unispectral.metrics import scores

MEASURES = ("accuracy", "nmi", "purity", "swapped_purity")
#: The paper does not say which alpha its column has.
TSEP_ALPHAS = (1e-5, 1e-3, 0.1)
K_MEANS_RUNS = 20
FORESTS = 5


def _table(y: np.ndarray, runs: Iterable[np.ndarray]) -> np.ndarray:
    """Scores in per cent, one row per run."""
    rows = []
    for labels in runs:
        found = scores(y, labels)
        rows.append([100 * found[measure] for measure in MEASURES])
    return np.array(rows)


def _summary(rows: np.ndarray, best: np.ndarray | None = None) -> dict[str, Any]:
    """Mean and standard deviation over runs, and the run of best objective if there is one."""
    summary = {"mean": rows.mean(axis=0).tolist(), "spread": rows.std(axis=0, ddof=1).tolist()}
    if best is not None:
        summary["best"] = best.tolist()
    return summary


def _k_means_runs(embedding: np.ndarray, n_clusters: int) -> list[Partition]:
    """Independent k-means, one random start each."""
    return [
        kmeans(embedding, n_clusters, np.random.default_rng(seed), n_init=1, max_iter=300)
        for seed in range(K_MEANS_RUNS)
    ]


def ssr(data: Input) -> dict[str, Any]:
    """SSR: the codes are unique, so that only k-means is random."""
    model = SSR(data.n_clusters, n_init=1, random_state=0).fit(data.X)
    runs = _k_means_runs(model.embedding_, data.n_clusters)
    rows = _table(data.y, [run.labels for run in runs])
    best = rows[int(np.argmin([run.objective for run in runs]))]
    return {**_summary(rows, best), "kkt_gap": model.kkt_gap_}


def ssr_from_samples(data: Input) -> dict[str, Any]:
    """SSR with the k-means of the record: random rows as first centres."""
    model = SSR(data.n_clusters, n_init=1, random_state=0).fit(data.X)
    runs = [
        recorded_baselines.kmeans(
            model.embedding_,
            data.n_clusters,
            recorded_baselines.RecordedStream(seed),
            n_init=1,
            max_iter=100,
        )
        for seed in range(K_MEANS_RUNS)
    ]
    rows = _table(data.y, [run.labels for run in runs])
    return _summary(rows, rows[int(np.argmin([run.objective for run in runs]))])


def forest(data: Input, weights: str) -> dict[str, Any]:
    """ClustRF: forests, synthetic rows and k-means are random."""
    runs = [
        ClustRF(data.n_clusters, weights=weights, random_state=seed).fit_predict(data.X)
        for seed in range(FORESTS)
    ]
    return _summary(_table(data.y, runs))


def tsep(data: Input) -> dict[str, Any]:
    """TSEP: for each alpha, the best kernel and the mean over the kernels."""
    bank = KernelBank(data.X, "paper")
    found = {}
    for alpha in TSEP_ALPHAS:
        means, bests, spreads = [], [], []
        for r in range(len(bank)):
            model = TSEP(
                data.n_clusters, kernel="precomputed", alpha=alpha, n_init=1, random_state=0
            ).fit(bank.matrix(r))
            runs = _k_means_runs(model.embedding_, data.n_clusters)
            rows = _table(data.y, [run.labels for run in runs])
            means.append(rows.mean(axis=0))
            spreads.append(rows.std(axis=0, ddof=1))
            bests.append(rows[int(np.argmin([run.objective for run in runs]))])
        top = np.argmax(means, axis=0)
        columns = np.arange(len(MEASURES))
        found[f"{alpha:g}"] = {
            "mean": np.max(means, axis=0).tolist(),
            "spread": np.array(spreads)[top, columns].tolist(),
            "best": np.max(bests, axis=0).tolist(),
            "kernels_mean": np.mean(means, axis=0).tolist(),
            "kernels_spread": np.std(means, axis=0, ddof=1).tolist(),
            "kernels_best": np.mean(bests, axis=0).tolist(),
        }
    return found


UNRECORDED: dict[str, Callable[[Input], dict[str, Any]]] = {
    "SSR": ssr,
    "SSR, random starts": ssr_from_samples,
    "ClustRF-u": lambda data: forest(data, "uniform"),
    "ClustRF-a": lambda data: forest(data, "adaptive"),
    "TSEP": tsep,
}
