"""Small steps on arrays that several folders take: each is written here once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

#: Rows of a table that are looked at together, so that a large one is not copied.
_ROWS = 16_384
#: A table whose mean is so many times its spread is moved to the origin before distances are
#: taken: dot products of large numbers have no digits left for small differences.
_FAR = 1e3
#: Samples that are so many times as far from the mean as the median one are far from all others.
_FAR_AWAY = 30.0
#: Numbers that are looked at together.
_ENTRIES = 2**20


def pick_evenly(n: int, most: int) -> np.ndarray:
    """Pick at most ``most`` of ``n`` numbers at even distances: no seed changes them.

    Examples
    --------
    >>> pick_evenly(9, 3).tolist(), pick_evenly(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def find_near(squared: np.ndarray) -> np.ndarray:
    """The samples that are not far from all others, by their squared distances to the mean.

    Far are those that are 30 times as far as the median one.

    Examples
    --------
    >>> find_near(np.array([1.0, 4.0, 2.0, 1e6])).tolist()
    [0, 1, 2]
    """
    near = np.flatnonzero(squared <= _FAR_AWAY**2 * np.median(squared))
    return near if len(near) else np.arange(len(squared))


def one_hot(labels: np.ndarray, n_clusters: int, dtype: DTypeLike = np.float64) -> sp.csr_array:
    """The matrix (n, n_clusters) with a one where a sample belongs to a cluster.

    Examples
    --------
    >>> one_hot(np.array([1, 0]), 3).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    n = len(labels)
    return sp.csr_array((np.ones(n, dtype), labels, np.arange(n + 1)), shape=(n, n_clusters))


def orthogonal_factor(M: np.ndarray) -> np.ndarray:
    """U Vᵀ of M = U S Vᵀ, the nearest matrix with orthonormal columns.

    Examples
    --------
    >>> orthogonal_factor(np.diag([3.0, 0.5])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(M, full_matrices=False)
    return U @ Vt


def absent_rows(table: np.ndarray | sp.csr_array) -> np.ndarray:
    """Which rows are NaN: those of samples that a view lacks. A sparse table lacks none."""
    if sp.issparse(table):
        return np.zeros(table.shape[0], bool)
    return np.isnan(table[:, 0])


def median_of_positive(values: np.ndarray, default: float, above: float = 0.0) -> float:
    """The median of the values above a number, so that copies of a sample do not count.

    Examples
    --------
    >>> median_of_positive(np.array([0.0, 0.0, 3.0]), 1.0), median_of_positive(np.zeros(2), 1.0)
    (3.0, 1.0)
    """
    positive = values[values > above]
    if not positive.size:
        return default
    return float(np.median(positive, overwrite_input=True))


def smallest_in_rows(values: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k smallest values of each row, ascending, ties in their order.

    Examples
    --------
    >>> smallest_in_rows(np.array([[3.0, 1.0, 2.0, 1.0]]), 3).tolist()
    [[1, 3, 2]]
    """
    part = np.argpartition(values, k - 1, axis=1)[:, :k]
    part.sort(axis=1)
    order = np.argsort(np.take_along_axis(values, part, axis=1), axis=1, kind="stable")
    return np.take_along_axis(part, order, axis=1)


def locate(table: np.ndarray) -> tuple[np.ndarray, float]:
    """The mean of the rows, and how far a value lies from it at most; NaN are left out.

    The second is infinite where the mean of huge numbers is.

    Examples
    --------
    >>> mean, spread = locate(np.array([[1.0, 8.0], [3.0, 8.0]]))
    >>> mean.tolist(), spread
    ([2.0, 8.0], 1.0)
    """
    blocks = [table[start : start + _ROWS] for start in range(0, len(table), _ROWS)]
    with np.errstate(over="ignore", invalid="ignore"):
        total = sum(np.nansum(one, axis=0, dtype=np.float64) for one in blocks)
        mean = total / sum((~np.isnan(one)).sum(axis=0) for one in blocks)
    if not np.isfinite(mean).all():
        return mean, np.inf
    # Differences are of double precision: fewer rows at a time.
    few = max(1, _ENTRIES // max(1, table.shape[1]))
    parts = (table[start : start + few] for start in range(0, len(table), few))
    return mean, max(float(np.nanmax(np.abs(one - mean), initial=0.0)) for one in parts)


def is_far(mean: np.ndarray, spread: float) -> bool:
    """Whether a table of this mean and spread lies too far from the origin for its distances.

    Examples
    --------
    >>> is_far(np.array([0.0, 1e6]), 1.0), is_far(np.array([0.0, 1e6]), 1e4)
    (True, False)
    """
    return float(np.abs(mean).max()) > _FAR * spread
