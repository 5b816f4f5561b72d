"""Samples that come in ten batches, taken in by ``update``, beside a fit on everything.

``python -m benchmarks.stream`` (``make bench-stream``) writes ``docs/results/stream.md``; figures
that are in ``stream.json`` are not measured again. The model is fitted to the first batch, with
the number of clusters unknown, and takes in the other nine. In the order *late* three tenths of
the classes are absent from the first batch and begin one after the other; *reversed* are the same
batches with the last eight of them in reverse order. Known classes are for the scores alone.

MNIST are the first 5,000 images of its test half, raw. The generated data are 3,000 samples of 12
Gaussian clusters of very different sizes and spreads in ten columns, which overlap, and 2 per cent
noise.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._report import Target, markdown_table, target_table
from benchmarks._store import Store
from unispectral import UnifiedSpectralClustering, load_model, save_model

__all__ = ["ORDERS", "cut", "draw", "main", "page"]

RESULT = Path(__file__).parent.parent / "docs" / "results" / "stream.md"
DATA = ("digits", "MNIST", "generated")
ORDERS = ("shuffled", "shuffled, reversed", "late", "late, reversed")
#: The order in which the model is also saved and loaded before each batch.
SAVED = "late"
N_BATCHES = 10
#: Points of ARI by which a stream may end below a fit on everything, and times what predicting a
#: batch takes that taking it in may take, clustering anew apart.
MOST_LOST, MOST_TIMES = 3.0, 2.0


class Samples(NamedTuple):
    """A table and its known classes."""

    X: np.ndarray
    y: np.ndarray


def load(name: str) -> Samples:
    """One of the data sets."""
    if name == "digits":
        from sklearn.datasets import load_digits

        return Samples(*load_digits(return_X_y=True))
    if name == "MNIST":
        from unispectral.datasets import fetch

        images = fetch("mnist")
        return Samples(images.data[60_000:65_000], images.target[60_000:65_000])
    return draw(3_000)


def draw(n_samples: int, seed: int = 0) -> Samples:
    """The generated data.

    Examples
    --------
    >>> X, y = draw(1000)
    >>> X.shape, len(np.unique(y))
    ((1000, 10), 13)
    """
    rng = np.random.default_rng(seed)
    shares = rng.uniform(1.0, 8.0, 12)
    y = rng.choice(12, n_samples, p=shares / shares.sum())
    centres = rng.normal(scale=3.0, size=(12, 10))
    spreads = rng.uniform(0.5, 1.5, (12, 10))
    X = centres[y] + spreads[y] * rng.normal(size=(n_samples, 10))
    noise = rng.choice(n_samples, n_samples // 50, replace=False)
    X[noise] = rng.uniform(X.min(axis=0), X.max(axis=0), (len(noise), 10))
    y[noise] = 12
    return Samples(X, y)


def cut(y: np.ndarray, order: str, seed: int = 0) -> list[np.ndarray]:
    """The batches, as numbers of samples.

    Examples
    --------
    >>> y = np.arange(1000) % 10
    >>> batches = cut(y, "late")
    >>> len(batches), sum(map(len, batches)), len(np.unique(y[batches[0]]))
    (10, 1000, 7)
    """
    rng = np.random.default_rng(seed)
    when = rng.uniform(size=len(y))
    if order.startswith("late"):
        classes = np.unique(y)
        late = classes[-(3 * len(classes) // 10) :]
        for start, kind in zip(np.linspace(0.3, 0.7, len(late)), late, strict=True):
            chosen = y == kind
            when[chosen] = start + (1.0 - start) * when[chosen]
    batches = np.array_split(np.argsort(when, kind="stable"), N_BATCHES)
    if order.endswith("reversed"):
        batches = [*batches[:2], *batches[:1:-1]]
    return batches


class Timed(UnifiedSpectralClustering):
    """The model, with the CPU seconds that clustering anew has taken."""

    anew = 0.0

    def _cluster_anew(self, run: Any) -> Any:
        begun = time.process_time()
        found = super()._cluster_anew(run)
        self.anew += time.process_time() - begun
        return found


def run_stream(data: Samples, order: str, refit: Any) -> dict[str, Any]:
    """What a stream ends with, and what its batches cost."""
    batches = cut(data.y, order)
    model = Timed(n_jobs=1).fit(data.X[batches[0]])
    predicting = 0.0
    taking = 0.0
    so_far = []
    for count, batch in enumerate(batches[1:], start=2):
        begun = time.process_time()
        model.predict_all(data.X[batch])
        predicting += time.process_time() - begun
        model._predictor_ = forget_indexes(model._predictor_)
        begun = time.process_time()
        model.update(data.X[batch], refit=refit)
        taking += time.process_time() - begun
        known = data.y[np.concatenate(batches[:count])]
        so_far.append(100 * adjusted_rand_score(known, model.labels_))
    counts = model.changes_["change"].value_counts()
    return {
        "ARI": so_far[-1],
        "least": min(so_far[N_BATCHES // 2 :]),
        "k": int(model.n_clusters_),
        "refits": int(counts.get("refitted", 0)),
        "born": int(counts.get("born", 0)),
        "predicting": predicting,
        "taking": taking - model.anew,
        "anew": model.anew,
        "digest": digest(model),
    }


def forget_indexes(predictor: Any) -> Any:
    """The predictor without what predicting has prepared: updating has to do it, too."""
    for part in predictor.parts:
        part._index.clear()
    return predictor


def fit_whole(data: Samples) -> dict[str, float]:
    """A fit on everything."""
    begun = time.process_time()
    model = UnifiedSpectralClustering(n_jobs=1).fit(data.X)
    return {
        "ARI": 100 * adjusted_rand_score(data.y, model.labels_),
        "k": int(model.n_clusters_),
        "CPU s": time.process_time() - begun,
    }


def save_between(data: Samples, order: str) -> str:
    """What a model ends as that is saved and loaded before each batch."""
    batches = cut(data.y, order)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.unispectral"
        save_model(UnifiedSpectralClustering(n_jobs=1).fit(data.X[batches[0]]), path)
        for batch in batches[1:]:
            save_model(load_model(path).update(data.X[batch]), path)
        return digest(load_model(path))


def digest(model: Any) -> str:
    """Labels, lasting numbers, memberships, outlier scores and changes of a model, as one word."""
    found = hashlib.sha256()
    for values in (
        model.labels_,
        model.cluster_ids_,
        model.membership_,
        model.outlier_score_,
        model._record_.events,
    ):
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:16]


def page(cells: dict[str, Any]) -> str:
    """The page: what was aimed at, and every stream."""
    rows = []
    absent: list[str] = []
    lost: list[float] = []
    times: list[float] = []
    same: list[bool] = []
    for name in DATA:
        whole = cells.get(f"{name}/whole")
        for order in ORDERS:
            auto = cells.get(f"{name}/{order}/auto")
            never = cells.get(f"{name}/{order}/never")
            if whole is None or auto is None or never is None:
                absent.append(f"{name} ({order})")
                continue
            ratio = max(one["taking"] / one["predicting"] for one in (auto, never))
            lost.append(whole["ARI"] - auto["ARI"])
            times.append(ratio)
            row = [name, order, f"{whole['ARI']:.1f} ({whole['k']})"]
            row += [f"{one['ARI']:.1f} ({one['k']})" for one in (auto, never)]
            row += [
                f"{auto['least']:.1f}",
                auto["refits"],
                never["born"],
                f"{ratio:.2f}",
                f"{auto['anew']:.1f}",
            ]
            saved = cells.get(f"{name}/{order}/saved")
            if saved is not None:
                same.append(saved == auto["digest"])
            row.append("" if saved is None else ("yes" if same[-1] else "**no**"))
            rows.append(row)
    targets = [
        Target("ARI below a fit on everything, at most", f"≤ {MOST_LOST:g} points",
               f"{max(lost):.1f}", max(lost) <= MOST_LOST),
        Target("taking in a batch, as times of predicting it", f"≤ {MOST_TIMES:g}",
               f"{max(times):.2f}", max(times) <= MOST_TIMES),
        Target("saved and loaded before each batch: the same", "all",
               f"{sum(same)} of {len(same)}", all(same)),
    ]  # fmt: skip
    header = [
        "data", "order", "fit on everything", "stream", "never clustered anew", "least",
        "times anew", "born", "× predicting", "anew, CPU s", "saved: same",
    ]  # fmt: skip
    text = [
        "# Batches, one after the other",
        "",
        *(__doc__ or "").splitlines()[2:],
        "",
        "ARI in points, with the number of clusters found. *Never clustered anew* is the stream "
        "with `refit=False`: labels as predicted, and births alone. The last batch makes the "
        "model cluster everything anew, in the units of the first batch and without columns that "
        "did not vary in it; *least* is its lowest ARI, over the samples so far, after any of the "
        "last four batches. "
        "*× predicting* is the CPU time of taking in nine batches, clustering anew apart, over "
        "that of predicting them.",
        "",
        target_table(targets),
        "",
        markdown_table(header, rows),
    ]
    if absent:
        text += ["", f"Not measured: {', '.join(absent)}."]
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stream", description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--data", nargs="*", choices=DATA, default=DATA)
    given = parser.parse_args()
    store = Store(RESULT.with_suffix(".json"), fresh=given.fresh)
    warnings.simplefilter("ignore")  # first batches are small, and say so
    small = draw(500).X  # loads what was compiled
    UnifiedSpectralClustering(3, n_jobs=1).fit(small[:400]).update(small[400:], refit=False)
    for name in given.data:
        data = load(name)
        store.cell(f"{name}/whole", lambda data=data: fit_whole(data))
        for order in ORDERS:
            for word, refit in (("auto", "auto"), ("never", False)):
                found = store.cell(
                    f"{name}/{order}/{word}",
                    lambda data=data, order=order, refit=refit: run_stream(data, order, refit),
                )
                print(name, order, word, found, flush=True)
        order = SAVED
        store.cell(
            f"{name}/{order}/saved", lambda data=data, order=order: save_between(data, order)
        )
        RESULT.write_text(page(store.cells), encoding="utf-8")
        print(f"wrote {RESULT.name}")


if __name__ == "__main__":
    main()
