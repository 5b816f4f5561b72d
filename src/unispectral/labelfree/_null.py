"""Draw samples without clusters that are otherwise like those at hand: the null models.

Gaussian samples of the same covariance have the same size, shape and dimension. Where columns are
skewed or have heavy tails, these differ from them without any cluster: the samples in the tails
are far apart, and those in the middle close together. So there is a second null model. Its columns
have the same correlations of ranks, and each has the distribution nearest to its own that has one
mode: the nearest that rises up to the mode and falls after it (Grenander 1956). A column
with two modes loses the valley between them; a skewed one stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtri
from scipy.stats import rankdata

from unispectral.labelfree._geometry import KernelDistance

#: More columns than this, or than a quarter of the samples, have no distribution worth keeping:
#: sums over so many are nearly Gaussian.
_MOST_COLUMNS = 60
#: Fewer distinct values than this are steps, whose distances say nothing of modes.
_LEAST_VALUES = 5


def draw_with_one_mode(distance: KernelDistance, draws: int) -> Iterator[KernelDistance]:
    """Samples whose columns have one mode each, and the ranks' correlations of those at hand.

    None where the distance is not that of few columns.
    """
    columns = distance.n_columns
    if columns is None or columns > _MOST_COLUMNS:
        return
    table = distance.features()
    if table is None:
        return
    table = np.asarray(table, dtype=np.float64)
    table = orient_columns(table[:, np.ptp(table, axis=0) > 0])
    n, columns = table.shape
    if not columns:
        return
    scores = ndtri((rankdata(table, axis=0) - 0.5) / n)
    scores -= scores.mean(axis=0)
    values, vectors = np.linalg.eigh(scores.T @ scores)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    probabilities = (np.arange(n) + 0.5) / n
    quantiles = [one_mode_quantiles(column, probabilities) for column in table.T]
    for draw in range(draws):
        normal = np.random.default_rng(draw).normal(size=(n, columns)) @ root.T
        ranks = normal.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
        drawn = [own[rank] for own, rank in zip(quantiles, ranks.T, strict=True)]
        yield KernelDistance.linear(np.column_stack(drawn))


def orient_columns(table: np.ndarray) -> np.ndarray:
    """The columns with their longer tails above, in the order of their spreads.

    So the samples that are drawn depend neither on the order of the columns nor on their signs.

    Examples
    --------
    >>> orient_columns(np.array([[0.0, 1.0], [0.0, -2.0], [9.0, 1.0]])).T.tolist()
    [[-1.0, 2.0, -1.0], [0.0, 0.0, 9.0]]
    """
    centred = table - table.mean(axis=0)
    spreads = (centred**2).sum(axis=0)
    tails = (centred**3).sum(axis=0)
    order = np.lexsort((np.abs(tails), spreads))
    return (table * np.where(tails < 0, -1.0, 1.0))[:, order]


def one_mode_quantiles(values: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Quantiles of the distribution with one mode that is nearest to that of the values.

    Examples
    --------
    The valley between two modes is filled, and no value is further out:

    >>> valley = np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])
    >>> quantiles = one_mode_quantiles(valley, np.linspace(0, 1, 11))
    >>> bool((quantiles[1:-1] > 1).any()), quantiles[[0, -1]].tolist()
    (True, [0.0, 10.0])
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < _LEAST_VALUES:
        return np.quantile(values, probabilities)
    gaps = np.diff(distinct)
    # Half of what a value counts is to its left, half to its right.
    mass = 0.5 * (counts[1:] + counts[:-1])
    density = mass / gaps
    at = int(np.clip(np.searchsorted(distinct, find_mode(values)), 1, len(gaps) - 1))
    rise = isotonic_regression(density[:at], weights=gaps[:at]).x
    fall = isotonic_regression(density[at:], weights=gaps[at:], increasing=False).x
    below = np.concatenate([[0.0], np.cumsum(np.concatenate([rise, fall]) * gaps)])
    return np.interp(probabilities, below / below[-1], distinct)


def find_mode(values: np.ndarray) -> float:
    """The half-sample mode: the middle of the densest half of the densest half, and so on.

    Examples
    --------
    >>> find_mode(np.array([0.0, 1.0, 2.0, 2.1, 2.2, 7.0]))
    2.1
    """
    ordered = np.sort(values)
    while len(ordered) > 3:
        half = (len(ordered) + 1) // 2
        widths = ordered[half - 1 :] - ordered[: len(ordered) - half + 1]
        first = int(np.argmin(widths))
        ordered = ordered[first : first + half]
    return float(np.median(ordered))
