"""Are memberships right as often as they say? ``python -m benchmarks.label_free.calibration``.

Gaussians of equal shape, of which the nearest are 1.5 to 4 standard deviations apart, in several
dimensions, sizes, numbers and seeds. The membership of a sample in its cluster is what the model
says; whether the cluster is the Gaussian that the sample came from (by the best match of the two)
is what happens. The expected calibration error is the mean difference of both in ten bins.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from benchmarks._report import markdown_table
from unispectral import UnifiedSpectralClustering

__all__ = ["calibration_error", "draw_mixture", "main"]

SEPARATIONS = (1.5, 2.0, 2.5, 3.0, 4.0)
#: (dimensions, clusters, samples)
SHAPES = (
    (2, 2, 300), (5, 2, 1_000), (10, 2, 300),
    (2, 3, 300), (5, 3, 1_000), (2, 5, 300), (10, 5, 1_000),
)  # fmt: skip
_BINS = 10


def draw_mixture(
    dimensions: int, clusters: int, n: int, separation: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of Gaussians on a simplex, or on a circle where there is no room for one."""
    rng = np.random.default_rng([dimensions, clusters, n, int(10 * separation), seed])
    centres = np.zeros((clusters, dimensions))
    if dimensions >= clusters:
        centres[:, :clusters] = np.eye(clusters) * separation / np.sqrt(2.0)
    else:
        angle = 2.0 * np.pi * np.arange(clusters) / clusters
        radius = separation / (2.0 * np.sin(np.pi / clusters))
        centres[:, :2] = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    y = rng.integers(clusters, size=n)
    return centres[y] + rng.normal(size=(n, dimensions)), y


def calibration_error(said: np.ndarray, right: np.ndarray) -> float:
    """The mean difference between what is said and what happens, in ten bins.

    Examples
    --------
    >>> calibration_error(np.full(10, 0.75), np.arange(10) < 5)
    0.25
    """
    which = np.minimum((said * _BINS).astype(int), _BINS - 1)
    error = 0.0
    for one in np.unique(which):
        here = which == one
        error += here.mean() * abs(float(said[here].mean()) - float(right[here].mean()))
    return error


def measure(
    shape: tuple[int, int, int], separation: float, seed: int, **parameters: Any
) -> tuple[np.ndarray, ...]:
    """What is said of samples and of new ones, and whether it is right."""
    dimensions, clusters, n = shape
    X, y = draw_mixture(dimensions, clusters, 2 * n, separation, seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = UnifiedSpectralClustering(clusters, n_jobs=1, **parameters).fit(X[:n])
        told = model.predict_proba(X[n:])
    table = np.zeros((clusters, clusters))
    np.add.at(table, (model.labels_, y[:n]), 1.0)
    match = linear_sum_assignment(-table)[1]
    new = told.argmax(axis=1)
    return (
        model.membership_.max(axis=1), match[model.labels_] == y[:n],
        told.max(axis=1), match[new] == y[n:],
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_free.calibration")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--graph", action="store_true", help="committee=False: the graph alone")
    given = parser.parse_args(arguments)
    parameters = {"committee": False} if given.graph else {}
    everything = []
    rows = []
    for separation in SEPARATIONS:
        found = [
            measure(shape, separation, seed, **parameters)
            for shape in SHAPES
            for seed in range(given.seeds)
        ]
        everything += found
        rows.append([f"{separation:g}", *_describe(found)])
        print(*rows[-1], flush=True)
    rows.append(["all", *_describe(everything)])
    head = ["standard deviations apart", "said", "right", "error", "error of new samples"]
    print(markdown_table(head, rows))


def _describe(found: Sequence[tuple[np.ndarray, ...]]) -> list[str]:
    said, right, told, new = (np.concatenate(one) for one in zip(*found, strict=True))
    errors = calibration_error(said, right), calibration_error(told, new)
    return [f"{value:.3f}" for value in (said.mean(), right.mean(), *errors)]


if __name__ == "__main__":
    main()
