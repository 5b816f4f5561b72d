"""Candidates of the Z-step: the nearest points of each sample in every kernel's own geometry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import as_generator
from unispectral._threads import map_blocks, threads
from unispectral.graph._indexes import (
    CellIndex,
    ExactIndex,
    FaissIndex,
    NeighbourIndex,
    Neighbours,
)
from unispectral.kernels import KernelBank

__all__ = ["INDEXES", "build_index", "candidates", "geometries", "nearest", "union"]

INDEXES = ("auto", "exact", "cells", "faiss")
METRICS = ("euclidean", "cosine")
#: Up to this many samples all pairs are compared, which takes well under a second.
EXACT_SAMPLES = 10_000
_BLOCK_ENTRIES = 2**22


def build_index(
    table: np.ndarray | sp.csr_array,
    k: int,
    *,
    index: str = "auto",
    metric: str = "euclidean",
    random_state: int | np.random.Generator | None = 0,
) -> NeighbourIndex:
    """An index of the rows of a table.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n, d)
    k : int
        How many neighbours will be asked for; an approximate index measures its recall for them.
    index : {"auto", "exact", "cells", "faiss"}
        ``"exact"`` compares all pairs; ``"cells"`` finds about 97 % of the neighbours in dense
        tables at a cost that grows little faster than n; ``"faiss"`` uses that library.
        ``"auto"`` is exact up to 10,000 rows and for sparse tables, cells above.
    metric : {"euclidean", "cosine"}
    random_state : int or Generator

    Examples
    --------
    >>> import numpy as np
    >>> index = build_index(np.array([[0.0], [1.0], [3.0]]), 1)
    >>> index.search(np.array([[2.5]]), 1).indices.tolist()
    [[2]]
    """
    if index not in INDEXES:
        raise ValueError(f"index={index!r} is unknown; use one of {', '.join(INDEXES)}.")
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is unknown; use 'euclidean' or 'cosine'.")
    if k < 1:
        raise ValueError(f"k={k} must be at least 1.")
    rng = as_generator(random_state)
    sparse = sp.issparse(table)
    if sparse and index in ("cells", "faiss"):
        raise ValueError(f"index={index!r} needs a dense table; use 'exact' for a sparse one.")
    if index == "auto":
        index = "exact" if sparse or table.shape[0] <= EXACT_SAMPLES else "cells"
    if metric == "cosine":
        return _CosineIndex(build_index(unit_rows(table), k, index=index, random_state=rng))
    if index == "cells":
        return CellIndex(table, k, rng=rng)
    if index == "faiss":
        return FaissIndex(table, k, rng=rng)
    return ExactIndex(table)


class _CosineIndex:
    """Any index of unit vectors, asked with unit vectors."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.n_samples = inner.n_samples

    def search(self, queries: Any, k: int, exclude: np.ndarray | None = None) -> Neighbours:
        return self.inner.search(unit_rows(queries), k, exclude)

    def search_own(self, rows: np.ndarray, k: int) -> Neighbours:
        return self.inner.search_own(rows, k)

    def groups(self, count: int) -> list[np.ndarray]:
        return self.inner.groups(count)


def nearest(
    table: np.ndarray | sp.csr_array,
    k: int,
    *,
    index: str = "auto",
    metric: str = "euclidean",
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
) -> Neighbours:
    """The ``k`` nearest other rows of every row, nearest first, ties by row number.

    Parameters
    ----------
    table : ndarray or CSR array of shape (n, d)
    k : int
        At most n − 1 are found; the rest is −1.
    index, metric, random_state
        See :func:`build_index`. For ``"cosine"`` the distance is that of the unit vectors,
        √(2 − 2 cos).
    n_jobs : int or None

    Returns
    -------
    Neighbours

    Examples
    --------
    >>> import numpy as np
    >>> nearest(np.array([[0.0], [1.0], [3.0]]), 2).indices.tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    with threads(n_jobs):
        built = build_index(table, k, index=index, metric=metric, random_state=random_state)
        return built.search_own(np.arange(table.shape[0]), k)


def unit_rows(table: Any) -> Any:
    """Rows divided by their norms; a row of zeros stays one."""
    if sp.issparse(table):
        norms = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
        safe = np.where(norms > 0, norms, 1)
        return sp.csr_array(
            (table.data / np.repeat(safe, np.diff(table.indptr)), table.indices, table.indptr),
            shape=table.shape,
        )
    norms = np.linalg.norm(table, axis=1)
    return table / np.where(norms > 0, norms, 1)[:, None].astype(table.dtype)


def union(lists: Sequence[np.ndarray], width: int | None = None) -> np.ndarray:
    """Merge several lists of candidates by rank: first of each, second of each, and so on.

    Parameters
    ----------
    lists : sequence of int arrays of shape (n, k_i)
        −1 marks nothing.
    width : int or None
        Columns of the result; all distinct candidates where ``None``.

    Returns
    -------
    int32 array of shape (n, width)
        No candidate twice, −1 at the end where there are fewer.

    Examples
    --------
    >>> union([np.array([[1, 2]]), np.array([[2, 3]])], 4).tolist()
    [[1, 2, 3, -1]]
    """
    n = len(lists[0])
    deepest = max(part.shape[1] for part in lists)
    level = np.full((n, deepest, len(lists)), -1, dtype=np.int32)
    for position, part in enumerate(lists):
        level[:, : part.shape[1], position] = part
    merged = level.reshape(n, -1)
    order = np.argsort(merged, axis=1, kind="stable")
    ordered = np.take_along_axis(merged, order, axis=1)
    again = np.zeros(merged.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    repeated = np.empty_like(again)
    np.put_along_axis(repeated, order, again, axis=1)
    merged = np.where(repeated, -1, merged)
    last = np.argsort(merged < 0, axis=1, kind="stable")
    merged = np.take_along_axis(merged, last, axis=1)
    if width is None:
        width = int((merged >= 0).sum(axis=1).max(initial=1))
    out = np.full((n, width), -1, dtype=np.int32)
    kept = min(width, merged.shape[1])
    out[:, :kept] = merged[:, :kept]
    return out


def geometries(bank: KernelBank) -> list[tuple[int, str, list[int]]]:
    """The searches a bank needs: (view, geometry, kernels that share it).

    A sample is worth coding with where ``K_ij / √K_jj`` is large. For a Gaussian these are the
    Euclidean neighbours, for the linear kernel and ``(x·y)^d`` the neighbours by cosine, and for
    ``(1 + x·y)^d`` those by cosine after a constant feature has been added. Kernels of any other
    kind have to be evaluated.

    Examples
    --------
    >>> bank = KernelBank(np.diag([1.0, 2.0]), ["linear", "gaussian", "polynomial_2"])
    >>> geometries(bank)
    [(0, 'cosine', [0, 2]), (0, 'euclidean', [1])]
    """
    searches: dict[tuple[int, str], list[int]] = {}
    for r, kernel in enumerate(bank._bound):
        stem = kernel.name.rpartition(":")[2].partition("_")[0]
        features = bank.features[kernel.view]
        kind = {"gaussian": "euclidean", "linear": "cosine", "polynomial": "cosine"}.get(stem)
        if stem == "polyplus":
            kind = "cosine+mean" if kernel.name.endswith("_mean") else "cosine+"
        if features is None or not hasattr(kernel, "evaluate") or kind is None:
            kind = f"kernel {r}"
        elif kind != "euclidean" and _same_norms(features.squared_norms):
            kind = "euclidean"  # on a sphere all of these give the same neighbours
        searches.setdefault((kernel.view, kind), []).append(r)
    return [(view, kind, kernels) for (view, kind), kernels in searches.items()]


def candidates(
    bank: KernelBank,
    k: int,
    *,
    index: str = "auto",
    random_state: int | np.random.Generator | None = 0,
) -> np.ndarray:
    """Candidates of every sample: its ``k`` nearest in each geometry of the bank, merged by rank.

    Returns
    -------
    int32 array of shape (n, w)
        With one geometry ``w`` is ``k``, with several at most ``2 k``; −1 where nothing is.

    Examples
    --------
    >>> bank = KernelBank(np.array([[0.0], [1.0], [3.0]]), "gaussian")
    >>> candidates(bank, 1).tolist()
    [[1], [0], [1]]
    """
    rng = as_generator(random_state)
    k = min(k, bank.n_samples - 1)
    lists = [
        _search(bank, view, kind, kernels, k, index, rng)
        for view, kind, kernels in geometries(bank)
    ]
    return lists[0] if len(lists) == 1 else _trimmed(union(lists, 2 * k))


def _search(
    bank: KernelBank,
    view: int,
    kind: str,
    kernels: Iterable[int],
    k: int,
    index: str,
    rng: np.random.Generator,
) -> np.ndarray:
    features = bank.features[view]
    if kind.startswith("kernel") or features is None:
        return kernel_nearest(bank, next(iter(kernels)), k)
    table = features.X
    if kind.startswith("cosine+"):
        scale = features.mean_squared_norm() if kind.endswith("mean") else 1.0
        table = _with_constant(table, np.sqrt(scale) if scale > 0 else 1.0)
    metric = "euclidean" if kind == "euclidean" else "cosine"
    present = bank.present[view]
    if present is None:
        return nearest(table, k, index=index, metric=metric, random_state=rng).indices
    chosen = np.flatnonzero(present)
    found = nearest(table[chosen], k, index=index, metric=metric, random_state=rng).indices
    out = np.full((bank.n_samples, k), -1, dtype=np.int32)
    out[chosen] = np.where(found >= 0, chosen[found], -1)
    return out


def kernel_nearest(bank: KernelBank, r: int, k: int) -> np.ndarray:
    """The ``k`` largest ``K_ij / √K_jj`` of every row of a kernel, evaluated in blocks."""
    from unispectral.graph import _select

    n = bank.n_samples
    scale = bank.diagonal(r).astype(np.float64)
    scale = 1 / np.sqrt(np.where(scale > 0, scale, 1))
    found = np.empty((n, k), dtype=np.int32)
    ids = np.arange(n, dtype=np.int32)
    zero = np.zeros(n)

    def work(rows: slice) -> None:
        values = bank.block(r, rows, slice(None)) * scale
        keys = np.empty((len(values), k))
        _select.select_smallest(values, zero, ids, ids[rows], k, keys, found[rows])

    map_blocks(work, n, max(1, _BLOCK_ENTRIES // n))
    return found


def _same_norms(squared: np.ndarray) -> bool:
    return bool(np.ptp(squared) <= 1e-5 * max(float(squared.max()), 1e-300))


def _with_constant(table: Any, value: float) -> Any:
    column = np.full((table.shape[0], 1), value, dtype=table.dtype)
    if sp.issparse(table):
        return sp.csr_array(sp.hstack([table, sp.csr_array(column)], format="csr"))
    return np.hstack([table, column])


def _trimmed(merged: np.ndarray) -> np.ndarray:
    used = int((merged >= 0).any(axis=0).sum())
    return np.ascontiguousarray(merged[:, : max(used, 1)])
