"""Neighbour indexes: built once, asked often, small enough to be shipped to other processes."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from unispectral._run import Run, map_blocks

#: Entries of one block of products.
_BLOCK_ENTRIES = 2**22
#: Neighbours kept beyond those asked for, so that rounding in single precision loses none.
_SPARE = 4
#: The share of true neighbours that an approximate index finds.
_RECALL = 0.97
#: Rounds of Lloyd that find the cells.
_ROUNDS = 5
#: Rows of a table that are moved to its mean at a time.
_ROWS = 16_384

Points: TypeAlias = np.ndarray | sp.csr_array


class Neighbours(NamedTuple):
    """The nearest points of each query, nearest first, ties by number, in arrays (m, k)."""

    #: int32; −1 where there are fewer than k points.
    indices: np.ndarray
    #: Euclidean; infinite where there is no point.
    distances: np.ndarray


class Index:
    """What all indexes have: they answer for their own points, which any groups of them share."""

    n_samples: int
    points: Any

    def search(
        self, queries: object, k: int, exclude: np.ndarray | None = None, run: Run | None = None
    ) -> Neighbours:
        """The ``k`` nearest points of each query, leaving out one point for each."""
        raise NotImplementedError

    def search_own(self, rows: np.ndarray, k: int, run: Run | None = None) -> Neighbours:
        """The ``k`` nearest other points of some of the points themselves."""
        return self.search(self.points[rows], k, rows, run)

    def groups(self, count: int) -> list[np.ndarray]:
        """All points in groups that are cheapest to search together."""
        return [rows for rows in np.array_split(np.arange(self.n_samples), count) if len(rows)]


class ExactIndex(Index):
    """All pairs, as blocks of products; dense tables in single precision, then re-ranked.

    Examples
    --------
    >>> import numpy as np
    >>> index = ExactIndex(np.array([[0.0], [1.0], [3.0]]))
    >>> index.search(np.array([[0.9]]), 2).indices.tolist()
    [[1, 0]]
    """

    def __init__(self, points: Any) -> None:
        self.n_samples = points.shape[0]
        self.points = points
        if sp.issparse(points):
            self.origin = np.zeros(0)
            self.transposed = points.T.tocsr()
            self.norms = np.asarray(points.multiply(points).sum(axis=1)).ravel()
        else:
            self.origin = points.mean(axis=0, dtype=np.float64)
            self.centred = (points - self.origin).astype(np.float32)
            self.norms = np.einsum("ij,ij->i", self.centred, self.centred)
        self.ids = np.arange(self.n_samples, dtype=np.int32)

    def search(
        self, queries: Points, k: int, exclude: np.ndarray | None = None, run: Run | None = None
    ) -> Neighbours:
        m = queries.shape[0]
        skip = _skip(exclude, m)
        out = _empty(m, k)

        def work(rows: slice) -> None:
            products = self._products(queries, rows)
            norms = self.norms.astype(products.dtype)
            _put_nearest(out, rows, products, norms, self.ids, skip, queries, self.points)

        map_blocks(work, m, max(1, _BLOCK_ENTRIES // max(self.n_samples, 1)), run)
        return out

    def _products(self, queries: Any, rows: slice) -> np.ndarray:
        if not sp.issparse(self.points):
            return (queries[rows] - self.origin).astype(np.float32) @ self.centred.T
        from unispectral.kernels import _loops

        part = queries[rows]
        t = self.transposed
        out = np.zeros((part.shape[0], self.n_samples), dtype=part.dtype)
        _loops._accumulate(
            part.indptr, part.indices, part.data, t.indptr, t.indices, t.data, out,
            0, part.shape[0], False,
        )  # fmt: skip
        return out


class TreeIndex(Index):
    """A k-d tree, for points with few coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> TreeIndex(np.array([[0.0], [1.0], [3.0]])).search(np.array([[0.9]]), 2).indices.tolist()
    [[1, 0]]
    """

    def __init__(self, points: np.ndarray) -> None:
        self.n_samples = len(points)
        self.points = points
        self.tree = cKDTree(points)

    def search(
        self, queries: Points, k: int, exclude: np.ndarray | None = None, run: Run | None = None
    ) -> Neighbours:
        return self._search(queries, np.arange(len(queries)), k, exclude, run)

    def search_own(self, rows: np.ndarray, k: int, run: Run | None = None) -> Neighbours:
        # In the order of the leaves most of what a query needs is in the cache already.
        place = np.empty(self.n_samples, dtype=np.int32)
        place[self.tree.indices] = np.arange(self.n_samples, dtype=np.int32)
        order = np.argsort(place[rows]).astype(np.int32, copy=False)
        del place
        return self._search(self.points, order, k, rows, run, rows)

    def _search(
        self,
        queries: Points,
        order: np.ndarray,
        k: int,
        exclude: np.ndarray | None,
        run: Run | None,
        rows: np.ndarray | None = None,
    ) -> Neighbours:
        """Answer the queries, or those of some ``rows`` of them, in a given order."""
        wide = min(k + _SPARE, self.n_samples)
        out = _empty(len(order), k)

        def work(part: slice) -> None:
            here = order[part]
            own = here if rows is None else rows[here]
            distances, found = self.tree.query(queries[own], wide)
            found = found.reshape(len(here), wide).astype(np.int32)
            distances = np.square(distances.reshape(len(here), wide))
            tied = (distances[:, 1:] == distances[:, :-1]).any(axis=1)
            if exclude is not None:
                same = found == exclude[here][:, None]
                found[same], distances[same] = -1, np.inf
            best = np.argsort(distances, axis=1, kind="stable")
            best[tied] = np.lexsort((found[tied], distances[tied]), axis=1)
            best = best[:, :k]
            have = best.shape[1]
            out.indices[here, :have] = np.take_along_axis(found, best, axis=1)
            out.distances[here, :have] = np.sqrt(np.take_along_axis(distances, best, axis=1))

        map_blocks(work, len(order), _ROWS, run)
        return out


class CellIndex(Index):
    """Points in the cells of a coarse k-means; all queries of a cell share their products.

    The queries of one cell are compared with the points of the nearest cells by one matrix
    product, which is several times faster than looking each query up by itself. How many cells
    are looked at is measured on a sample, so that the wanted share of true neighbours is found.
    Measured for ``k`` neighbours, that share is ``recall_``.
    """

    def __init__(
        self,
        points: np.ndarray,
        k: int,
        rng: np.random.Generator,
        run: Run | None = None,
    ) -> None:
        n = len(points)
        self.n_samples = n
        self.points = points
        self.origin = points.mean(axis=0, dtype=np.float64)
        cells = max(1, int(3 * np.sqrt(n)))
        self.centres = _coarse_kmeans(points, self.origin, cells, rng, run)
        self._arrange(_nearest_centre(points, self.origin, self.centres, run, "cells"))
        self.order_of_cells, self.recall_ = self._calibrate(k, rng, run)

    def _arrange(self, cell: np.ndarray) -> None:
        """Sort the points by cell; a cell far above the mean is cut, which bounds the work."""
        n_cells = len(self.centres)
        order = np.argsort(cell, kind="stable").astype(np.int32)
        sizes = np.bincount(cell, minlength=n_cells)
        cap = max(64, 4 * -(-self.n_samples // n_cells))
        pieces = -(-sizes // cap)
        pieces[sizes == 0] = 0
        ends = np.cumsum(sizes)
        cuts = [
            np.linspace(end - size, end, count + 1).astype(np.int64)[1:]
            for end, size, count in zip(ends, sizes, pieces, strict=True)
            if count
        ]
        self.offsets = np.concatenate([[0], *cuts])
        self.centres = np.repeat(self.centres, pieces, axis=0)
        self.order = order
        # A centred copy, cell by cell, only where products with the points would lose digits.
        copied = self.points.dtype != np.float32 or not _near_zero(self.points, self.origin)
        self.sorted = np.empty(self.points.shape, dtype=np.float32) if copied else None
        self.norms = np.empty(len(order), dtype=np.float32)
        for start in range(0, len(order), _ROWS):
            rows = slice(start, start + _ROWS)
            some = _subtract(self.points[order[rows]], self.origin)
            self.norms[rows] = np.einsum("ij,ij->i", some, some)
            if self.sorted is not None:
                self.sorted[rows] = some

    def _products(self, queries: np.ndarray, spans: list[slice], ids: np.ndarray) -> np.ndarray:
        """Products of queries with the points of some cells, in single precision.

        Points that are not centred add the same to all products of a query: ranks are the same.
        """
        if self.sorted is None:
            points = self.points.take(ids, axis=0)
        else:
            points = np.concatenate([self.sorted[span] for span in spans])
        return _subtract(queries, self.origin) @ points.T

    def _calibrate(
        self, k: int, rng: np.random.Generator, run: Run | None
    ) -> tuple[np.ndarray, float]:
        """The nearest cells of every cell, as many as find enough of a sample's neighbours."""
        cells = np.repeat(np.arange(len(self.centres)), np.diff(self.offsets))
        sample = rng.choice(self.n_samples, min(200, self.n_samples), replace=False)
        place = np.empty(self.n_samples, dtype=np.int32)
        place[self.order] = np.arange(self.n_samples, dtype=np.int32)
        nearest = true_neighbours(self.points, self.order[sample], min(k, self.n_samples - 1), run)
        true = place[nearest]
        near = _centre_keys(self.centres, self.centres)
        # A cell comes first among its own, also where a cut cell shares its centre with others.
        near[np.arange(len(near)), np.arange(len(near))] = -np.inf
        order = np.argsort(near, axis=1, kind="stable")
        own = order[cells[sample]]
        rank = np.argsort(own, axis=1)
        ranks = np.take_along_axis(rank, cells[true], axis=1)
        found = np.cumsum(np.bincount(ranks.ravel(), minlength=len(near))) / ranks.size
        probes = int(np.searchsorted(found, _RECALL)) + 1
        probes = min(probes, len(near))
        return np.ascontiguousarray(order[:, :probes]).astype(np.int32), float(found[probes - 1])

    def search(
        self, queries: Points, k: int, exclude: np.ndarray | None = None, run: Run | None = None
    ) -> Neighbours:
        cell = _nearest_centre(queries, self.origin, self.centres, run)
        return self._search(queries, cell, k, exclude, run)

    def search_own(self, rows: np.ndarray, k: int, run: Run | None = None) -> Neighbours:
        cell = np.empty(self.n_samples, dtype=np.int32)
        cell[self.order] = np.repeat(np.arange(len(self.centres)), np.diff(self.offsets))
        everyone = len(rows) == self.n_samples and bool((np.diff(rows) == 1).all())
        queries = self.points if everyone else self.points[rows]
        return self._search(queries, cell[rows], k, rows, run)

    def groups(self, count: int) -> list[np.ndarray]:
        ends = np.linspace(0, len(self.centres), count + 1).astype(int)
        spans = zip(self.offsets[ends[:-1]], self.offsets[ends[1:]], strict=True)
        # Sorted, so that the queries of a cell stand as in a search of all.
        return [np.sort(self.order[start:stop]) for start, stop in spans if stop > start]

    def _search(
        self,
        queries: Points,
        cell: np.ndarray,
        k: int,
        exclude: np.ndarray | None,
        run: Run | None,
    ) -> Neighbours:
        m = queries.shape[0]
        skip = _skip(exclude, m)
        out = _empty(m, k)
        by_cell = np.argsort(cell, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=len(self.centres)))])

        tick = None if run is None else run.progress.ticker("candidates", m)

        def work(group: slice) -> None:
            for c in range(group.start, group.stop):
                rows = by_cell[bounds[c] : bounds[c + 1]]
                for start in range(0, len(rows), 1024):
                    self._search_cell(c, queries, rows[start : start + 1024], skip, out)
            if tick is not None:
                tick(int(bounds[group.stop] - bounds[group.start]))

        map_blocks(work, len(self.centres), 8, run)
        return out

    def _search_cell(
        self, c: int, queries: Points, rows: np.ndarray, skip: np.ndarray, out: Neighbours
    ) -> None:
        spans = [slice(self.offsets[p], self.offsets[p + 1]) for p in self.order_of_cells[c]]
        norms = np.concatenate([self.norms[span] for span in spans])
        ids = np.concatenate([self.order[span] for span in spans])
        products = self._products(queries[rows], spans, ids)
        _put_nearest(out, rows, products, norms, ids, skip, queries, self.points)


def true_neighbours(
    points: np.ndarray,
    rows: np.ndarray,
    k: int,
    run: Run | None = None,
    among: np.ndarray | None = None,
) -> np.ndarray:
    """The nearest other points of a few of the points, among all or some; ranked in single
    precision, and −1 where there are fewer than k.
    """
    from unispectral.graph import _select

    origin = points.mean(axis=0, dtype=np.float64)
    chosen = _subtract(points[rows], origin)
    skip = rows.astype(np.int32)

    def work(part: slice) -> tuple[np.ndarray, np.ndarray]:
        if among is None:
            ids = np.arange(part.start, part.stop, dtype=np.int32)
        else:
            ids = among[part].astype(np.int32)
        some = _subtract(points[ids], origin)
        keys = np.empty((len(rows), k), dtype=np.float32)
        found = np.empty((len(rows), k), dtype=np.int32)
        norms = np.einsum("ij,ij->i", some, some)
        _select.select_smallest(chosen @ some.T, norms, ids, skip, k, keys, found)
        return keys, found

    count = len(points) if among is None else len(among)
    parts = map_blocks(work, count, max(k, _ROWS // 4), run)
    keys = np.concatenate([part[0] for part in parts], axis=1)
    found = np.concatenate([part[1] for part in parts], axis=1)
    return np.take_along_axis(found, np.argsort(keys, axis=1, kind="stable")[:, :k], axis=1)


def _skip(exclude: np.ndarray | None, m: int) -> np.ndarray:
    return np.full(m, -1, dtype=np.int32) if exclude is None else exclude.astype(np.int32)


def _empty(m: int, k: int) -> Neighbours:
    return Neighbours(np.full((m, k), -1, dtype=np.int32), np.full((m, k), np.inf))


def _put_nearest(
    out: Neighbours,
    rows: slice | np.ndarray,
    products: np.ndarray,
    norms: np.ndarray,
    ids: np.ndarray,
    skip: np.ndarray,
    queries: Any,
    points: Any,
) -> None:
    """Write the nearest points of the queries in ``rows`` into ``out``.

    They are preselected by ``products`` (of these queries with all points) and the ``norms`` of
    the points, and ranked by exact distances. ``ids`` are the numbers of the points, ``skip`` has
    the one that is left out for each query.
    """
    from unispectral.graph import _select

    k = out.indices.shape[1]
    shape = len(products), min(k + _SPARE, points.shape[0])
    keys = np.empty(shape, products.dtype)
    found = np.empty(shape, np.int32)
    distances = np.empty(shape)
    _select.select_smallest(products, norms, ids, skip[rows], shape[1], keys, found)
    if sp.issparse(points):
        assert isinstance(rows, slice)
        _select.exact_sparse(
            queries.indptr, queries.indices, queries.data, rows.start,
            points.indptr, points.indices, points.data, points.shape[1], found, distances,
        )  # fmt: skip
    else:
        _select.exact_dense(queries[rows], points, found, distances)
    _select.sort_rows(distances, found)
    kept = min(k, shape[1])
    out.indices[rows, :kept] = found[:, :kept]
    out.distances[rows, :kept] = np.sqrt(distances[:, :kept])


def _subtract(points: np.ndarray, origin: np.ndarray) -> np.ndarray:
    return (points - origin).astype(np.float32)


def _near_zero(points: np.ndarray, mean: np.ndarray) -> bool:
    """Whether the mean of points is no farther from zero than they are from it."""
    blocks = (points[start : start + _ROWS] for start in range(0, len(points), _ROWS))
    total = sum(float(np.einsum("ij,ij->", some, some)) for some in blocks)
    return 2 * len(points) * float(mean @ mean) <= total


def _centre_keys(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    keys = points @ centres.T
    keys *= -2
    keys += np.einsum("ij,ij->i", centres, centres)
    return keys


def _nearest_centre(
    points: np.ndarray, origin: np.ndarray, centres: np.ndarray, run: Run | None, stage: str = ""
) -> np.ndarray:
    """The nearest centre of each point; ``stage`` is what this is called in the progress."""
    out = np.empty(len(points), dtype=np.int32)
    tick = run.ticker(stage, len(points)) if run is not None and stage else None

    def work(rows: slice) -> None:
        centred = _subtract(points[rows], origin)
        out[rows] = _centre_keys(centred, centres).argmin(axis=1)
        if tick is not None:
            tick(len(centred))

    map_blocks(work, len(points), 1024, run)
    return out


def _coarse_kmeans(
    points: np.ndarray,
    origin: np.ndarray,
    n_cells: int,
    rng: np.random.Generator,
    run: Run | None,
) -> np.ndarray:
    """A few rounds of Lloyd on a sample: cells need to be compact, not optimal."""
    n = len(points)
    chosen = np.sort(rng.choice(n, min(n, 40 * n_cells), replace=False))
    sample = _subtract(points[chosen], origin)
    nowhere = np.zeros(points.shape[1], dtype=np.float32)
    centres = sample[rng.choice(len(sample), min(n_cells, len(sample)), replace=False)].copy()
    for done in range(_ROUNDS):
        if run is not None and n > len(sample):
            run.progress("centres of cells", done, _ROUNDS)
        cell = _nearest_centre(sample, nowhere, centres, run)
        sizes = np.bincount(cell, minlength=len(centres))
        used = np.flatnonzero(sizes)
        ones = np.ones(len(cell), dtype=np.float32)
        shape = (len(centres), len(cell))
        sums = sp.csr_array((ones, (cell, np.arange(len(cell)))), shape=shape) @ sample
        centres[used] = sums[used] / sizes[used, None]
        empty = np.flatnonzero(sizes == 0)
        centres[empty] = sample[rng.choice(len(sample), len(empty))]
    return centres
