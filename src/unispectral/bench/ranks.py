"""Average ranks over data sets, and which of their differences are more than chance.

J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unispectral.bench.results import ResultTable

__all__ = ["Ranks", "rank_columns"]


@dataclass(frozen=True)
class Ranks:
    """The average ranks of the columns of a table (1 is best), from the best to the worst.

    Taken over the ``datasets`` on which all of these columns have a figure; ``left_out`` are those
    without one on more than a third of them. Ranks that differ by less than ``critical`` do not
    differ at the level of five per cent (Nemenyi); ``groups`` has the first and last position of
    each longest run of such columns.
    """

    columns: tuple[str, ...]
    ranks: tuple[float, ...]
    datasets: int
    critical: float
    groups: tuple[tuple[int, int], ...]
    left_out: tuple[str, ...]


def rank_columns(table: ResultTable, level: float = 0.05) -> Ranks | None:
    """Rank the columns of a table; None if fewer than two columns or data sets can be compared."""
    from scipy import stats

    rows = [[figure.value for figure in table.row(d.name)] for d in table.datasets]
    values = np.array(rows, dtype=float).round(2)  # as it is printed
    values = values[~np.isnan(values).all(axis=1)]
    if values.size == 0:
        return None
    present = np.isnan(values).mean(axis=0) <= 1 / 3
    complete = values[:, present]
    complete = complete[~np.isnan(complete).any(axis=1)]
    n, k = complete.shape
    if n < 2 or k < 2:
        return None
    ranks = stats.rankdata(-complete, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    columns = [column for column, there in zip(table.columns, present, strict=True) if there]
    quantile = stats.studentized_range.ppf(1 - level, k, np.inf) / np.sqrt(2)
    critical = float(quantile * np.sqrt(k * (k + 1) / 6 / n))
    return Ranks(
        columns=tuple(columns[i] for i in order),
        ranks=tuple(ranks[order].tolist()),
        datasets=n,
        critical=critical,
        groups=_groups(ranks[order], critical),
        left_out=tuple(c for c, there in zip(table.columns, present, strict=True) if not there),
    )


def _groups(ranks: np.ndarray, critical: float) -> tuple[tuple[int, int], ...]:
    """Runs of ranks that span less than the critical difference and are in no longer one."""
    groups: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + critical, side="left")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return tuple(groups)
