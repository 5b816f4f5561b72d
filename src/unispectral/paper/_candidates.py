"""Candidates of the Z-step: the nearest points of each sample in every kernel's own geometry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._compat import as_generator
from unispectral._run import Run, map_blocks
from unispectral.graph.neighbours import announce_kernel, nearest
from unispectral.kernels import KernelBank

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

#: Entries of a kernel that are evaluated at once.
_BLOCK_ENTRIES = 2**22


def union(lists: Sequence[np.ndarray], width: int | None = None) -> np.ndarray:
    """Merge several lists of candidates by rank: first of each, second of each, and so on.

    Each list has one row per sample, in which −1 marks nothing; so has the result, of at most
    ``width`` columns, with no candidate twice in a row.

    Examples
    --------
    >>> union([np.array([[1, 2]]), np.array([[2, 3]])]).tolist()
    [[1, 2, 3]]
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
    merged = np.take_along_axis(merged, last, axis=1)[:, :width]
    used = int((merged >= 0).any(axis=0).sum())
    return np.ascontiguousarray(merged[:, : max(used, 1)])


class Search(NamedTuple):
    """One neighbour search that serves several kernels of a bank.

    ``metric`` is None where the kernel has to be evaluated for all pairs; ``constant`` is the
    feature that is added before the cosine is taken.
    """

    view: int
    metric: str | None
    constant: float
    kernels: list[int]


def searches(bank: KernelBank) -> list[Search]:
    """The searches that a bank needs, each with the kernels that share it.

    A sample is worth coding with where ``K_ij / √K_jj`` is large. Kernels say by which metric
    these samples are the nearest; one that does not say has to be evaluated.

    Examples
    --------
    >>> bank = KernelBank(np.diag([1.0, 2.0]), ["linear", "gaussian", "polynomial_2"])
    >>> [(search.metric, search.kernels) for search in searches(bank)]
    [('cosine', [0, 2]), ('euclidean', [1])]
    """
    shared: dict[tuple[int, str | None, float, int], list[int]] = {}
    for r, view in enumerate(bank.views.tolist()):
        able = bank.abilities(r)
        features = bank.features[view]
        metric = able.search
        constant = 0.0
        alone = -1
        if features is None or metric is None:
            metric = None
            alone = r
        elif metric == "cosine":
            if able.offset:
                if able.offset_unit == "mean":
                    unit = features.mean_squared_norm()
                else:
                    unit = 1.0
                constant = float(np.sqrt(able.offset * (unit if unit > 0 else 1.0)))
            if _same_norms(features.squared_norms):
                metric = "euclidean"  # on a sphere the neighbours are the same
                constant = 0.0
        shared.setdefault((view, metric, constant, alone), []).append(r)
    return [
        Search(view, metric, constant, kernels)
        for (view, metric, constant, _), kernels in shared.items()
    ]


def candidates(
    bank: KernelBank,
    k: int,
    *,
    random_state: int | np.random.Generator | None = 0,
    run: Run | None = None,
) -> np.ndarray:
    """Candidates of every sample: its ``k`` nearest in each geometry of the bank, merged by rank.

    With one geometry there are ``k`` columns, with several at most ``2 k``; −1 where nothing is.

    Examples
    --------
    >>> bank = KernelBank(np.array([[0.0], [1.0], [3.0]]), "gaussian")
    >>> candidates(bank, 1).tolist()
    [[1], [0], [1]]
    """
    rng = as_generator(random_state)
    k = min(k, bank.n_samples - 1)
    lists = [_search(bank, search, k, rng, run) for search in searches(bank)]
    if len(lists) == 1:
        return lists[0]
    return union(lists, 2 * k)


def _search(
    bank: KernelBank, search: Search, k: int, rng: np.random.Generator, run: Run | None
) -> np.ndarray:
    features = bank.features[search.view]
    if search.metric is None or features is None:
        return kernel_nearest(bank, search.kernels[0], k, run)
    table = features.X
    if search.constant:
        table = _with_constant(table, search.constant)
    return nearest(table, k, metric=search.metric, random_state=rng, run=run).indices


def kernel_nearest(bank: KernelBank, r: int, k: int, run: Run | None = None) -> np.ndarray:
    """The ``k`` largest ``K_ij / √K_jj`` of every row of a kernel, evaluated in blocks."""
    from unispectral.graph import _select

    n = bank.n_samples
    announce_kernel(n, bank.names[r])
    scale = bank.diagonal(r).astype(np.float64)
    scale = 1 / np.sqrt(np.where(scale > 0, scale, 1))
    found = np.empty((n, k), dtype=np.int32)
    ids = np.arange(n, dtype=np.int32)
    zero = np.zeros(n)

    def work(rows: slice) -> None:
        values = bank.block(r, rows, slice(None)) * scale
        keys = np.empty((len(values), k))
        _select.select_smallest(values, zero, ids, ids[rows], k, keys, found[rows])

    map_blocks(work, n, max(1, _BLOCK_ENTRIES // n), run)
    return found


def _same_norms(squared: np.ndarray) -> bool:
    return bool(np.ptp(squared) <= 1e-5 * max(float(squared.max()), 1e-300))


def _with_constant(table: Table, value: float) -> Any:
    column = np.full((table.shape[0], 1), value, dtype=table.dtype)
    if sp.issparse(table):
        return sp.csr_array(sp.hstack([table, sp.csr_array(column)], format="csr"))
    return np.hstack([table, column])
