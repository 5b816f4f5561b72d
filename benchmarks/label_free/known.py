"""What do known labels and pairs gain? One command, resumable: ``make study-known``.

Of each set a share of the labels is drawn and told; the others are scored by the clustering
accuracy. Peers are told the same: scikit-learn's LabelSpreading and SelfTrainingClassifier, and
for pairs k-means that pays for broken ones. Pairs that ``uncertain_pairs`` asks about, ten at a
time, are compared with random ones. The model is fitted once to each set, and what is
known is applied to it, as ``fit(X, y)`` does. Figures go to docs/results/known.json one by one,
so that a second call goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from threadpoolctl import threadpool_limits

from benchmarks._store import Store
from benchmarks.field import data as folders
from benchmarks.label_free._constrained import pck_means
from benchmarks.label_free._fingerprint import behaviour
from benchmarks.label_free._known_report import write
from benchmarks.label_free.data import SETS, Absent
from unispectral._inputs import read
from unispectral._run import Run
from unispectral.estimator import UnifiedSpectralClustering
from unispectral.kernels import as_kernels
from unispectral.knowledge import read_knowledge, uncertain_pairs
from unispectral.knowledge._apply import apply_knowledge
from unispectral.labelfree import Recipe
from unispectral.labelfree._fit import fit
from unispectral.labelfree._scaling import scaling_of
from unispectral.metrics import clustering_accuracy

__all__ = ["PAIRS", "SHARES", "main", "measure_labels", "measure_pairs"]

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
#: The paper's nine sets, digits, and three of several views.
TABLES = ("YALE", "JAFFE", "ORL", "AR", "COIL20", "BA", "TR11", "TR41", "TR45", "digits")
VIEWS = ("3sources", "MSRC-v5", "WebKB")
#: The shares of labels that are told, and of pairs beside the number of samples.
SHARES = (0.01, 0.02, 0.05, 0.1)
PAIRS = (0.05, 0.2)
#: Questions that were answered, and how many are asked at a time.
QUESTIONS = (10, 20, 40)
_AT_A_TIME = 10
#: Draws of the labels, and columns that the peers are given.
DRAWS = 5
_COLUMNS = 50


class Prepared(NamedTuple):
    """A set, the model fitted to it without labels, and the columns that peers are given."""

    X: Any
    y: np.ndarray
    fitted: Any
    run: Run
    columns: np.ndarray

    @property
    def n_clusters(self) -> int:
        return int(self.y.max()) + 1


def prepare(X: Any, y: np.ndarray) -> Prepared:
    """Fit the model once."""
    scaling = partial(scaling_of, scaling="auto")
    samples = read(UnifiedSpectralClustering(), X, as_kernels("linear"), scaling=scaling)
    run = Run.of(1, 0, 0)
    y = np.unique(y, return_inverse=True)[1]
    with run.limit_threads() as run:
        fitted = fit(samples, Recipe(n_clusters=int(y.max()) + 1), run)
    return Prepared(X, y, fitted, run, _reduce(X))


def _reduce(X: Any) -> np.ndarray:
    """A table, or several of equal weight beside each other, in fifty columns at most."""
    tables = list(X.values()) if isinstance(X, Mapping) else [X]
    parts = []
    for table in tables:
        part = sp.csr_array(table) if sp.issparse(table) else np.asarray(table, dtype=float)
        size = np.sqrt(float((part**2).sum()) / part.shape[0])
        parts.append(part / size if len(tables) > 1 else part)
    if any(sp.issparse(part) for part in parts):
        whole = sp.csr_array(sp.hstack(parts))
    else:
        whole = np.hstack(parts)
        whole = whole - whole.mean(axis=0)
    if whole.shape[1] <= _COLUMNS:
        return whole.toarray() if sp.issparse(whole) else whole
    count = min(_COLUMNS, whole.shape[0] - 1)
    return TruncatedSVD(count, random_state=0).fit_transform(whole)


def draw_labels(y: np.ndarray, share: float, draw: int) -> np.ndarray:
    """The labels of some samples, −1 for the others.

    Examples
    --------
    >>> draw_labels(np.arange(10), 0.2, 0).tolist()
    [-1, -1, 2, -1, 4, -1, -1, -1, -1, -1]
    """
    told = np.full(len(y), -1)
    rows = np.random.default_rng(draw).permutation(len(y))[: max(1, round(share * len(y)))]
    told[rows] = y[rows]
    return told


def _tell(one: Prepared, told: np.ndarray) -> np.ndarray:
    known = read_knowledge(np.empty((len(told), 1)), told)
    if known is None:
        return one.fitted.solution.labels
    return apply_knowledge(one.fitted, known, one.n_clusters, one.run).solution.labels


def _nothing(one: Prepared, told: np.ndarray) -> np.ndarray:
    return one.fitted.solution.labels


def _label_spreading(one: Prepared, told: np.ndarray) -> np.ndarray:
    model = LabelSpreading(kernel="knn", n_neighbors=7, max_iter=100)
    return model.fit(one.columns, told).transduction_


def _self_training(one: Prepared, told: np.ndarray) -> np.ndarray:
    if len(np.unique(told[told >= 0])) < 2:
        return np.full(len(told), told.max())
    inner = LogisticRegression(max_iter=200)
    unit = one.columns / max(float(one.columns.std(axis=0).max()), 1e-300)
    return SelfTrainingClassifier(inner, threshold=0.75).fit(unit, told).predict(unit)


METHODS: dict[str, Callable[[Prepared, np.ndarray], np.ndarray]] = {
    "without": _nothing,
    "told": _tell,
    "LabelSpreading": _label_spreading,
    "SelfTraining": _self_training,
}


def measure_labels(one: Prepared, method: str, share: float) -> dict[str, Any]:
    """The accuracy on the samples whose label was not told, in each draw."""
    scores = []
    for draw in range(DRAWS):
        told = draw_labels(one.y, share, draw)
        labels = METHODS[method](one, told)
        rest = told < 0
        scores.append(round(100 * clustering_accuracy(one.y[rest], labels[rest]), 2))
    return {"accuracy": scores, "samples": len(one.y), "told": int((~rest).sum())}


def draw_pairs(y: np.ndarray, share: float, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs that belong together and pairs that do not, half of each."""
    rng = np.random.default_rng(draw)
    count = max(2, round(share * len(y)))
    found: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
    while min(map(len, found.values())) < count // 2:
        one, other = sorted(rng.choice(len(y), 2, replace=False).tolist())
        same = bool(y[one] == y[other])
        if len(found[same]) < count // 2 and (one, other) not in found[same]:
            found[same].append((one, other))
    return np.array(found[True]), np.array(found[False])


def _link(one: Prepared, together: np.ndarray, apart: np.ndarray, seed: int) -> np.ndarray:
    known = read_knowledge(np.empty((len(one.y), 1)), must_link=together, cannot_link=apart)
    assert known is not None
    return apply_knowledge(one.fitted, known, one.n_clusters, one.run).solution.labels


def _pck(one: Prepared, together: np.ndarray, apart: np.ndarray, seed: int) -> np.ndarray:
    return pck_means(one.columns, one.n_clusters, together, apart, seed)


def _unlinked(one: Prepared, together: np.ndarray, apart: np.ndarray, seed: int) -> np.ndarray:
    return one.fitted.solution.labels


PAIR_METHODS: dict[str, Callable[..., np.ndarray]] = {
    "without": _unlinked,
    "linked": _link,
    "PCK-means": _pck,
}


def measure_pairs(one: Prepared, method: str, share: float) -> dict[str, Any]:
    """The accuracy on all samples, in each draw of the pairs."""
    scores = []
    for draw in range(DRAWS):
        together, apart = draw_pairs(one.y, share, draw)
        labels = PAIR_METHODS[method](one, together, apart, draw)
        scores.append(round(100 * clustering_accuracy(one.y, labels), 2))
    return {"accuracy": scores, "samples": len(one.y), "pairs": len(together) + len(apart)}


def _as_model(one: Prepared, fitted: Any) -> UnifiedSpectralClustering:
    """What ``uncertain_pairs`` needs of a fitted model."""
    model = UnifiedSpectralClustering(one.n_clusters)
    model.labels_ = fitted.solution.labels
    model.n_clusters_ = one.n_clusters
    model.affinity_matrix_ = fitted.solution.W
    return model


def measure_questions(one: Prepared, method: str, count: int) -> dict[str, Any]:
    """The accuracy on all samples once so many pairs are answered: asked ones, or random ones."""
    scores = []
    for draw in range(1 if method == "asked" else DRAWS):
        rng = np.random.default_rng(draw)
        pairs = np.empty((0, 2), dtype=np.int64)
        fitted = one.fitted
        while len(pairs) < count:
            if method == "asked":
                new = uncertain_pairs(_as_model(one, fitted), _AT_A_TIME, asked=pairs)
            else:
                new = np.array(
                    [rng.choice(len(one.y), 2, replace=False) for _ in range(_AT_A_TIME)]
                )
            if not len(new):
                break
            pairs = np.vstack([pairs, new])
            same = one.y[pairs[:, 0]] == one.y[pairs[:, 1]]
            known = read_knowledge(
                np.empty((len(one.y), 1)), must_link=pairs[same], cannot_link=pairs[~same]
            )
            assert known is not None
            fitted = apply_knowledge(one.fitted, known, one.n_clusters, one.run)
        scores.append(round(100 * clustering_accuracy(one.y, fitted.solution.labels), 2))
    without = round(100 * clustering_accuracy(one.y, one.fitted.solution.labels), 2)
    return {"accuracy": scores, "without": without, "samples": len(one.y), "pairs": len(pairs)}


def problems() -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
    """The sets that are here, by their names."""
    found: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
        name: SETS[name].load for name in TABLES
    }
    for one in folders.problems("views"):
        if one.name in VIEWS:
            found[one.name] = one.load
    return found


def run(store: Store, names: Sequence[str]) -> None:
    """Measure what is missing: set by set, so that each is fitted once."""
    condition = f"{Recipe()}; {behaviour('labels')}; {behaviour('kernels')}; {DRAWS}"
    here = problems()
    for name in names:
        if name not in here:
            print(f"{name} is not here")
            continue
        load = here[name]
        held: list[Prepared] = []

        def get(load: Any = load, held: list[Prepared] = held) -> Prepared:
            if not held:
                held.append(prepare(*load()))
            return held[0]

        def told(method: str, share: float, get: Any = get) -> dict[str, Any]:
            return measure_labels(get(), method, share)

        def linked(method: str, share: float, get: Any = get) -> dict[str, Any]:
            return measure_pairs(get(), method, share)

        def asked(method: str, count: float, get: Any = get) -> dict[str, Any]:
            return measure_questions(get(), method, int(count))

        cells = [("label", method, share, told) for share in SHARES for method in METHODS]
        cells += [("pair", method, share, linked) for share in PAIRS for method in PAIR_METHODS]
        cells += [("ask", way, count, asked) for count in QUESTIONS for way in ("asked", "random")]
        for kind, method, share, work in cells:
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                try:
                    key = f"{kind}/{name}/{share:g}/{method}"
                    store.cell(key, partial(work, method, share), condition=condition)
                except Absent as reason:
                    print(reason)
                    break


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study, or what is missing of it, and write the report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.label_free.known", description=__doc__
    )
    parser.add_argument("--sets", help="names of sets, separated by commas; all otherwise")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--store", type=Path, default=RESULTS / "known.json")
    given = parser.parse_args(arguments)
    store = Store(given.store, fresh=given.fresh)
    names = (*TABLES, *VIEWS) if given.sets is None else given.sets.split(",")
    if unknown := sorted({*names} - {*TABLES, *VIEWS}):
        raise SystemExit(f"--sets {unknown[0]!r} is not one of {', '.join((*TABLES, *VIEWS))}.")
    if not given.report:
        run(store, names)
    print(write(store, given.store.with_suffix(".md")))


if __name__ == "__main__":
    main()
