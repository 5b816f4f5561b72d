"""Statistics over data sets: ranks, tests of their differences, and counts of wins.

As in J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006),
with what has been added to it since: S. García and F. Herrera, JMLR 9 (2008), on the correction of
several comparisons, and A. Benavoli, G. Corani, J. Demšar and M. Zaffalon, "Time for a change",
JMLR 18 (2017), on the Bayesian signed-rank test. Data sets are rows, methods columns, and larger
is better throughout.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unispectral._errors import InputError

__all__ = [
    "Comparison", "Friedman", "Preference", "adjust_holm", "average_ranks", "compare_with",
    "count_wins", "friedman_test", "group_ranks", "nemenyi_difference", "signed_rank_preference",
]  # fmt: skip

#: Draws of the Bayesian signed-rank test.
_DRAWS = 20_000


class Friedman(NamedTuple):
    """Whether the ranks differ at all: Friedman's statistic and that of Iman and Davenport."""

    chi_squared: float
    p_value: float
    f_statistic: float
    f_p_value: float


class Comparison(NamedTuple):
    """One method beside the reference: counts of data sets, and the Wilcoxon test.

    ``wins`` are those on which the method is better than the reference. ``p_holm`` is corrected
    for all comparisons with the reference.
    """

    wins: int
    ties: int
    losses: int
    p_value: float
    p_holm: float


class Preference(NamedTuple):
    """How probable it is that the first method is better, that both are alike, the second."""

    first: float
    alike: float
    second: float


def average_ranks(values: ArrayLike) -> np.ndarray:
    """The average rank of each method, 1 the best; ties share.

    Parameters
    ----------
    values : array of shape (n_datasets, n_methods)
        Scores, all present.

    Returns
    -------
    ndarray of shape (n_methods,)

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.7], [0.6, 0.6, 0.5]]).tolist()
    [1.25, 1.75, 3.0]
    """
    from scipy import stats

    return stats.rankdata(-_table(values), axis=1).mean(axis=0)


def friedman_test(values: ArrayLike) -> Friedman:
    """Test whether all methods are equally good.

    Parameters
    ----------
    values : array of shape (n_datasets, n_methods)
        Scores, all present, of at least two methods.

    Returns
    -------
    Friedman
        The statistic of the average ranks, without a correction for ties, and the less
        conservative one of Iman and Davenport.

    Examples
    --------
    >>> values = [[0.8, 0.7, 0.6], [0.9, 0.7, 0.8], [0.5, 0.4, 0.3], [0.7, 0.6, 0.5]]
    >>> round(friedman_test(values).chi_squared, 2)
    6.5
    """
    from scipy import stats

    table = _table(values)
    n, k = table.shape
    ranks = average_ranks(table)
    chi = 12.0 * n / (k * (k + 1)) * float(np.square(ranks - 0.5 * (k + 1)).sum())
    rest = n * (k - 1) - chi
    if rest > 1e-12 * n:
        f = (n - 1) * chi / rest
    else:
        f = np.inf
    p = float(stats.chi2.sf(chi, k - 1))
    f_p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    return Friedman(chi, p, float(f), f_p)


def nemenyi_difference(n_methods: int, n_datasets: int, level: float = 0.05) -> float:
    """The difference of average ranks from which on two methods differ (Nemenyi).

    Examples
    --------
    >>> round(nemenyi_difference(4, 14), 2)
    1.25
    """
    from scipy import stats

    quantile = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def group_ranks(ranks: ArrayLike, critical: float) -> list[tuple[int, int]]:
    """First and last position of each longest run of sorted ranks closer than ``critical``.

    Examples
    --------
    >>> group_ranks([1.2, 1.9, 3.0, 3.4], 1.0)
    [(0, 1), (2, 3)]
    """
    ranks = np.asarray(ranks, dtype=float)
    groups: list[tuple[int, int]] = []
    for first, last in enumerate(np.searchsorted(ranks, ranks + critical, side="left") - 1):
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, int(last)))
    return groups


def adjust_holm(p_values: ArrayLike) -> np.ndarray:
    """Correct p-values for their number by Holm's step-down method.

    Examples
    --------
    >>> adjust_holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    factors = len(p) - np.arange(len(p))
    stepped = np.maximum.accumulate(p[order] * factors)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def count_wins(values: ArrayLike, reference: ArrayLike) -> tuple[int, int, int]:
    """Data sets on which a method is better than the reference, as good, worse.

    Examples
    --------
    >>> count_wins([0.9, 0.5, 0.4], [0.8, 0.5, 0.6])
    (1, 1, 1)
    """
    difference = np.asarray(values, dtype=float) - np.asarray(reference, dtype=float)
    return int((difference > 0).sum()), int((difference == 0).sum()), int((difference < 0).sum())


def compare_with(values: ArrayLike, reference: int) -> list[Comparison | None]:
    """Compare every method with one of them by Wilcoxon's signed-rank test, Holm-corrected.

    Parameters
    ----------
    values : array of shape (n_datasets, n_methods)
        Scores, all present.
    reference : int
        The column that the others are compared with.

    Returns
    -------
    list of Comparison or None
        One for each method; None for the reference. The p-values are two-sided; data sets on
        which both are equal count half for each, and where all are equal p is 1.

    Examples
    --------
    >>> values = [[0.7, 0.5], [0.8, 0.6], [0.9, 0.6], [0.6, 0.5], [0.5, 0.1]]
    >>> compare_with(values, 0)[1]
    Comparison(wins=0, ties=0, losses=5, p_value=0.0625, p_holm=0.0625)
    """
    from scipy import stats

    table = _table(values)
    own = table[:, reference]
    others = [j for j in range(table.shape[1]) if j != reference]
    found = []
    for j in others:
        difference = table[:, j] - own
        p = 1.0
        if difference.any():
            p = float(stats.wilcoxon(difference, zero_method="zsplit").pvalue)
        found.append(p)
    adjusted = dict(zip(others, zip(found, adjust_holm(found), strict=True), strict=True))
    return [
        None if j == reference else _comparison(table[:, j], own, *adjusted[j])
        for j in range(table.shape[1])
    ]


def _comparison(values: np.ndarray, reference: np.ndarray, p: float, holm: float) -> Comparison:
    return Comparison(*count_wins(values, reference), p, float(holm))


def signed_rank_preference(
    first: ArrayLike, second: ArrayLike, rope: float, random_state: int | np.random.Generator = 0
) -> Preference:
    """How probable it is that one method is better than another by more than ``rope``.

    The Bayesian signed-rank test of Benavoli and others: over weights of the data sets that are
    drawn from a Dirichlet distribution, with one more set on which both are equal.

    Parameters
    ----------
    first, second : array of shape (n_datasets,)
        Scores.
    rope : float
        Differences up to this count as none.
    random_state : int or Generator
        Draws the weights.

    Examples
    --------
    >>> first, second = [80, 75, 91, 60, 83], [70, 71, 82, 55, 77]
    >>> signed_rank_preference(first, second, 1.0).first > 0.95
    True
    """
    difference = np.append(0.0, np.asarray(first, dtype=float) - np.asarray(second, dtype=float))
    pairs = 0.5 * (difference[:, None] + difference)
    weights = np.random.default_rng(random_state).dirichlet(np.ones(len(difference)), _DRAWS)
    above = np.einsum("di,ij,dj->d", weights, (pairs > rope).astype(float), weights)
    below = np.einsum("di,ij,dj->d", weights, (pairs < -rope).astype(float), weights)
    likeliest = np.argmax(np.stack([above, 1.0 - above - below, below]), axis=0)
    shares = np.bincount(likeliest, minlength=3) / _DRAWS
    return Preference(*map(float, shares))


def _table(values: ArrayLike) -> np.ndarray:
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        problem = f"has shape {table.shape}, and two data sets and two methods are the least"
        raise InputError("values", problem, "give one row for each data set")
    if not np.isfinite(table).all():
        problem = "has data sets on which a method has no score"
        raise InputError("values", problem, "leave those data sets or methods out")
    return table
