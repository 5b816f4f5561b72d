"""An order of the samples that does not depend on the order in which they came.

A fit looks at evenly spaced samples here and there, and starts iterations at random vectors: with
the rows in this order it gives the same clusters for the same samples, however they were sorted.
Many samples are put such that those that are near each other stand near each other: evenly spaced
ones then cover the data evenly, and neighbours lie close in memory, which makes the steps on a
large graph faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from unispectral._arrays import absent_rows
from unispectral._compat import njit

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

#: Tables of more bytes than this are not copied for the sake of their order, unless a row has
#: fewer than that: as many as the neighbourhood of a sample takes.
_MOST_BYTES = 64 * 2**20
_ROW_BYTES = 256
#: Bits of each of three distances, which together fill an integer of 64.
_BITS = 21
#: Samples that are farthest to within this share are as far as each other; those that are so many
#: times as far as the median one are far from all others.
_AS_FAR = 1e-4
_FAR = 8.0
#: Squared distances from the centre that differ by less than this share of their median are equal.
_AS_CENTRAL = 1e-9
#: Above this many samples, not all of which are looked at everywhere, neighbours stand near each
#: other, so that evenly spaced ones cover the data evenly.
_LARGE_SAMPLES = 1_200


def has_order(tables: Sequence[Any]) -> bool:
    """Whether the samples of these tables are put into an order of their own.

    Examples
    --------
    >>> has_order([np.zeros((10_000_000, 2), dtype=np.float32)])
    True
    >>> has_order([np.zeros((70_000, 784), dtype=np.float32)])
    False
    """
    size = sum(
        table.data.nbytes + table.indices.nbytes if sp.issparse(table) else table.nbytes
        for table in tables
    )
    return size <= max(_MOST_BYTES, _ROW_BYTES * tables[0].shape[0])


def spatial_order(tables: Sequence[Any]) -> np.ndarray:
    """The numbers of the samples from the centre outwards, or along a curve if they are many.

    Of samples that are equally far from another the one with the lower number is its neighbour,
    which had better be the more central one. Above 1,200 samples it is a Z-shaped curve through
    the space of three distances, so that neighbours stand near each other: those from the mean,
    from the sample that is farthest from it, and from the one that is farthest from that, each in
    units of its median; so stand samples that are as far from the centre as each other.

    Neither a factor nor a shift of a table changes the order, and samples far from all others
    count neither for the mean nor as the farthest. Samples at the same distances stay in the order
    in which they came, copies among them.

    Examples
    --------
    >>> X = np.array([[0.0], [5.0], [1.0], [6.0], [5.5]])
    >>> X[spatial_order([X])].ravel().tolist()
    [5.0, 5.5, 6.0, 1.0, 0.0]
    """
    tables = [_whole(table) for table in tables]
    with np.errstate(over="ignore", invalid="ignore"):  # of huge numbers: any order will do
        lengths: Any = sum(row_norms(table, squared=True) for table in tables)
        central = _squared_distances(tables, lengths, [_mean(table) for table in tables])
        near = central <= _FAR**2 * np.median(central)
        if near.any() and not near.all():
            rows = [_mean(table[near]) for table in tables]
            central = _squared_distances(tables, lengths, rows)
        key = _cells(central)
        far = central
        for shift in (1, 2):
            pivot = _farthest(far, central, tables)
            far = _squared_distances(tables, lengths, [table[[pivot]] for table in tables])
            key |= _cells(far) << np.uint64(shift)
        if len(central) > _LARGE_SAMPLES:
            return np.lexsort((central, key))
        # Where most samples are the same, or rounded to it, any unit will do.
        unit = max(_AS_CENTRAL * float(np.median(central)), np.finfo(np.float64).tiny)
        shells = np.rint(central / unit)
    return np.lexsort((*_leading_columns(tables), key, shells))


def renumber(matrix: sp.csr_array, numbers: np.ndarray, n: int) -> sp.csr_array:
    """The n × n matrix in which row and column i of this one have the number ``numbers[i]``.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 2.0], [3.0, 0.0]])
    >>> renumber(W, np.array([2, 0]), 3).toarray().tolist()
    [[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    """
    counts = np.zeros(n + 1, dtype=matrix.indptr.dtype)
    counts[1 + numbers] = np.diff(matrix.indptr)
    starts = np.cumsum(counts, dtype=counts.dtype)
    indices = np.empty_like(matrix.indices)
    data = np.empty_like(matrix.data)
    numbers = numbers.astype(indices.dtype)
    _move(matrix.indptr, matrix.indices, matrix.data, numbers, starts, indices, data)
    moved = sp.csr_array((data, indices, starts), shape=(n, n))
    moved.sort_indices()
    return moved


@njit(cache=True, nogil=True)
def _move(indptr, indices, data, numbers, starts, new_indices, new_data):
    """Rows to where they start now, in one pass: a copy of them in between takes as long again."""
    for i in range(len(numbers)):
        to = starts[numbers[i]]
        for p in range(indptr[i], indptr[i + 1]):
            new_indices[to], new_data[to] = numbers[indices[p]], data[p]
            to += 1


def _whole(table: Table) -> Any:
    """A table with zeros for samples that are absent."""
    if absent_rows(table).any():
        return np.nan_to_num(table, nan=0.0)
    return table


def _squared_distances(tables: Sequence[Any], lengths: np.ndarray, rows: list[Any]) -> np.ndarray:
    """Those of all samples from one, of which ``rows`` are the rows in the tables."""
    total = lengths.copy()
    for table, row in zip(tables, rows, strict=True):
        row = (row.toarray() if sp.issparse(row) else row).ravel()
        total += float(row @ row) - 2.0 * np.asarray(table @ row).ravel()
    return np.maximum(total, 0.0)


def _mean(table: Table) -> np.ndarray:
    return np.asarray(table.mean(axis=0))


def _farthest(far: np.ndarray, central: np.ndarray, tables: Sequence[Any]) -> int:
    """The sample that is farthest, of those that are not far from all others.

    Of several the one that is least central, or has the largest first values: in shapes that are
    symmetric no distance tells them apart.
    """
    near = np.where(far <= _FAR**2 * np.median(far), far, -np.inf)
    as_far = near >= (1.0 - _AS_FAR) * near.max()
    outer = np.where(as_far, central, -np.inf)
    tied = np.flatnonzero(outer >= (1.0 - _AS_CENTRAL) * outer.max())
    columns = _leading_columns(tables) if len(tied) > 1 else []
    if not columns:
        return int(np.argmax(outer))
    return int(tied[np.lexsort([column[tied] for column in columns])[-1]])


def _leading_columns(tables: Sequence[Any]) -> list[np.ndarray]:
    """A few columns of dense tables, that tell samples apart at the same distances."""
    columns = [column for table in tables if not sp.issparse(table) for column in table[:, :8].T]
    return columns[:8]


def _cells(squared: np.ndarray) -> np.ndarray:
    """Distances in units of a part of their median, with two zeros between any two bits."""
    distances = np.sqrt(squared)
    unit = float(np.median(distances)) * _FAR / 2**_BITS
    if not 0 < unit < np.inf:
        return np.zeros(len(squared), dtype=np.uint64)
    cells = np.minimum(distances / unit, 2**_BITS - 1)
    return _spread_bits(cells.astype(np.uint64))


def _spread_bits(numbers: np.ndarray) -> np.ndarray:
    """Two zeros between any two bits of numbers of 21 bits."""
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        numbers = (numbers | (numbers << np.uint64(shift))) & np.uint64(mask)
    return numbers
