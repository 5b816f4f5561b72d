"""Rows that are the same: samples that came more than once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["first_equal"]

#: Numbers whose bits are looked at together.
_ENTRIES = 2**20
#: An odd number of 64 bits: the fractional part of the golden ratio.
_MIXER = np.uint64(0x9E3779B97F4A7C15)


def first_equal(tables: Sequence[Any]) -> np.ndarray:
    """The first of the samples that have the same rows in all tables, of each sample.

    Examples
    --------
    >>> first_equal([np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])]).tolist()
    [0, 1, 0]
    """
    n = tables[0].shape[0]
    keys = np.zeros(n, dtype=np.uint64)
    rng = np.random.default_rng(0)
    for table in tables:
        # Sums of whole numbers are exact: the same row has the same key wherever it stands.
        factors = rng.integers(2**63, size=table.shape[1], dtype=np.uint64) | np.uint64(1)
        keys = keys * np.uint64(3) + _row_keys(table, factors)
    _, where, which = np.unique(keys, return_index=True, return_inverse=True)
    first = where[which]
    copies = np.flatnonzero(first != np.arange(n))
    for table in tables:
        # Rows that differ have the same key next to never; then they stand for themselves.
        differ = ~_are_equal(table, copies, first[copies])
        first[copies[differ]] = copies[differ]
        copies = copies[~differ]
    return first


def _row_keys(table: Any, factors: np.ndarray) -> np.ndarray:
    """Numbers of 64 bits that are the same for equal rows."""
    if sp.issparse(table):
        sums = np.zeros(len(table.data) + 1, dtype=np.uint64)
        np.cumsum(_bits(table.data) * factors[table.indices], out=sums[1:])
        return sums[table.indptr[1:]] - sums[table.indptr[:-1]]
    n, columns = table.shape
    keys = np.empty(n, dtype=np.uint64)
    step = max(1, _ENTRIES // max(columns, 1))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        keys[rows] = np.einsum("ij,j->i", _bits(table[rows]), factors)
    return keys


def _bits(values: np.ndarray) -> np.ndarray:
    """The bits of numbers, mixed, so that sums of others are others; zero has no sign."""
    values = np.ascontiguousarray(values) + 0.0
    bits = values.view(f"u{values.itemsize}").astype(np.uint64, copy=False)
    bits *= _MIXER
    bits ^= bits >> np.uint64(32)
    return bits


def _are_equal(
    table: np.ndarray | sp.csr_array, ones: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Whether pairs of rows are the same; NaN is the same as NaN."""
    if sp.issparse(table):
        return np.asarray(abs(table[ones] - table[others]).sum(axis=1)).ravel() == 0
    same = np.empty(len(ones), dtype=bool)
    step = max(1, _ENTRIES // max(table.shape[1], 1))
    for start in range(0, len(ones), step):
        pairs = slice(start, start + step)
        one = table[ones[pairs]]
        other = table[others[pairs]]
        same[pairs] = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    return same
