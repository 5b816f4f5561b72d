"""The nearest rows of a table: which index it gets, and the search."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from unispectral._compat import as_generator
from unispectral._errors import InputError, warn
from unispectral._run import Run
from unispectral.graph._indexes import CellIndex, ExactIndex, Index, Neighbours, TreeIndex

__all__ = [
    "EXACT_SAMPLES",
    "TREE_COLUMNS",
    "announce_all_pairs",
    "announce_kernel",
    "build_index",
    "is_descended",
    "nearest",
]

METRICS = ("euclidean", "cosine")
#: Up to this many samples all pairs are compared, which takes well under a second.
EXACT_SAMPLES = 10_000
#: Above this many samples the comparison of all pairs is announced, as it takes minutes or hours.
ANNOUNCED_SAMPLES = 50_000
#: Up to this many columns a tree finds neighbours sooner than any product of matrices.
TREE_COLUMNS = 8


def build_index(
    table: np.ndarray | sp.csr_array,
    k: int,
    *,
    random_state: int | np.random.Generator | None = 0,
    run: Run | None = None,
) -> Index:
    """An index of the rows of a table.

    Up to 8 columns it is a k-d tree. Up to 10,000 rows, and for sparse tables, all pairs are
    compared; above, cells find about 97 % of the neighbours at a cost that grows little faster
    than n.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n, d)
    k : int
        How many neighbours will be asked for; an approximate index measures its recall for them.
    random_state : int or Generator
    run : Run, optional
        Its threads are used; all cores without one.

    Examples
    --------
    >>> import numpy as np
    >>> index = build_index(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> index.search(np.array([[2.5]]), 1).indices.tolist()
    [[2]]
    """
    if k < 1:
        raise InputError("k", "must be at least 1", value=k)
    if sp.issparse(table):
        announce_all_pairs(
            table.shape[0],
            "A sparse table has no index of neighbours",
            "reduce it to a dense one first, as TruncatedSVD of scikit-learn does",
        )
        return ExactIndex(table)
    if table.shape[1] <= TREE_COLUMNS:
        return TreeIndex(table)
    if table.shape[0] <= EXACT_SAMPLES:
        return ExactIndex(table)
    return CellIndex(table, k, as_generator(random_state), run)


def nearest(
    table: np.ndarray | sp.csr_array,
    k: int,
    *,
    metric: str = "euclidean",
    random_state: int | np.random.Generator | None = 0,
    run: Run | None = None,
) -> Neighbours:
    """The ``k`` nearest other rows of every row, nearest first, ties by row number.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n, d)
    k : int
        At most n − 1 are found; the rest is −1. Among more than 10,000 dense rows of more
        than 8 columns about 97 % of them are.
    metric : {"euclidean", "cosine"}
        For ``"cosine"`` the distance is that of the unit vectors, √(2 − 2 cos).
    random_state, run
        See :func:`build_index`.

    Returns
    -------
    Neighbours

    Examples
    --------
    >>> import numpy as np
    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 2).indices.tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    if metric not in METRICS:
        raise InputError("metric", "is unknown", "use 'euclidean' or 'cosine'", value=metric)
    if metric == "cosine":
        table = normalize(table)
    if is_descended(table):
        from unispectral.graph._descent import descend  # its loops take long to import

        return descend(table, k, as_generator(random_state), run)
    built = build_index(table, k, random_state=random_state, run=run)
    return built.search_own(np.arange(table.shape[0]), k, run)


def is_descended(table: np.ndarray | sp.csr_array) -> bool:
    """Whether the neighbours of all rows are found from each other, without an index."""
    dense = not sp.issparse(table)
    return dense and table.shape[1] > TREE_COLUMNS and table.shape[0] > EXACT_SAMPLES


def announce_all_pairs(n: int, why: str, remedy: str) -> None:
    """Warn before all pairs of many samples are compared."""
    if n > ANNOUNCED_SAMPLES:
        warn(
            f"{why}: all {n * (n - 1) // 2:,} pairs of the {n:,} samples are compared, which "
            f"takes minutes or hours; {remedy}."
        )


def announce_kernel(n: int, name: str) -> None:
    """The same for a kernel."""
    announce_all_pairs(
        n,
        f"The kernel {name!r} has no index of neighbours",
        "use 'linear' or 'gaussian', or fit fewer samples and predict the rest",
    )
