"""New points: their codes over the training points, and where that puts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from unispectral._validation import well_placed
from unispectral.graph.candidates import EXACT_SAMPLES, build_index
from unispectral.kernels import KernelBank
from unispectral.labelfree._geometry import Geometry, KernelGeometry

__all__ = ["GeometrySource", "KernelSource", "Placement", "place", "strangeness"]


class Nearest(NamedTuple):
    """The training points nearest to new points under one kernel, nearest first.

    Attributes
    ----------
    indices : int array of shape (m, k)
    valid : bool array of shape (m, k)
        Where there is a point.
    distance, near : ndarray of shape (m, k)
        Squared distances, and the kernel.
    own : ndarray of shape (m,)
        The kernel of each new point with itself.
    known : bool array of shape (m,)
        Which new points the source can speak of.
    close : float
        Up to this squared distance two points are one.
    """

    indices: np.ndarray
    valid: np.ndarray
    distance: np.ndarray
    near: np.ndarray
    own: np.ndarray
    known: np.ndarray
    close: float


class Source(Protocol):
    """A kernel that new points can be described in."""

    weight: float
    judging: float
    alpha: float
    ridge: float
    n_candidates: int

    def nearest(self, new: Any) -> Nearest: ...

    def among(self, neighbours: np.ndarray) -> np.ndarray: ...

    def original(self, neighbours: np.ndarray) -> np.ndarray: ...

    @property
    def width(self) -> int:
        """Numbers that are held for each new point."""


@dataclass
class KernelSource:
    """The weighted kernel of the paper's model."""

    bank: KernelBank
    weights: np.ndarray
    alpha: float
    ridge: float
    weight: float = 1.0
    n_candidates: int = 64
    judging: float = 1.0

    @property
    def width(self) -> int:
        return self.bank.n_samples

    def nearest(self, new: Any) -> Nearest:
        near, own = self.bank.combine_cross(self.weights, new)
        distance = own[:, None] + self.bank.combine_diagonal(self.weights)[None, :] - 2.0 * near
        return _of_all(distance, near, own, np.ones(len(near), dtype=bool), self.n_candidates)

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        return self.bank.combine_neighbourhoods(self.weights, neighbours[:, 0], neighbours)[1]

    def original(self, neighbours: np.ndarray) -> np.ndarray:
        return neighbours


@dataclass
class GeometrySource:
    """One geometry of the label-free model; ``samples`` are the training points it has.

    ``view`` is the table that it is of; −1 if it takes all that is given.

    ``weight`` is its part in where new points are put, ``judging`` its part in how strange they
    are found.
    """

    geometry: Geometry
    rate: float
    view: int
    weight: float
    alpha: float
    ridge: float
    n_candidates: int
    samples: np.ndarray | None = None
    judging: float = 0.0

    @property
    def width(self) -> int:
        return _INDEXED if has_index(self.geometry) else self.geometry.n_samples

    def nearest(self, new: Any) -> Nearest:
        table, known = _filled(new[self.view] if isinstance(new, list) and self.view >= 0 else new)
        own = np.ones(len(known))
        if not has_index(self.geometry):
            distance = self.geometry.cross(table)
            near = np.exp(distance * self.rate)
            return _of_all(distance, near, own, known, self.n_candidates)
        index, shift = index_of(self.geometry, self.n_candidates)
        if shift is not None:
            table = well_placed(table, shift)[0]
        found = index.search(table, self.n_candidates)
        valid = found.indices >= 0
        scale = 1.0 if shift is None else shift[1] ** -2.0
        distance = np.where(valid, found.distances, 0.0) ** 2 * scale
        indices = np.where(valid, found.indices, found.indices[:, :1])
        close = 1e-6 * -0.5 / self.rate
        return Nearest(indices, valid, distance, np.exp(distance * self.rate), own, known, close)

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        return np.exp(self.geometry.around(neighbours[:, 0], neighbours)[1] * self.rate)

    def original(self, neighbours: np.ndarray) -> np.ndarray:
        return neighbours if self.samples is None else self.samples[neighbours]


def _filled(table: Any) -> tuple[Any, np.ndarray]:
    """A table without NaN, and which samples it knows; several tables must all know them."""
    if isinstance(table, list):
        found = [_filled(one) for one in table]
        return [one for one, _ in found], np.logical_and.reduce([known for _, known in found])
    known = np.ones(table.shape[0], dtype=bool)
    if isinstance(table, np.ndarray) and np.isnan(table[:, 0]).any():
        known = ~np.isnan(table[:, 0])
        table = np.where(known[:, None], table, 0.0)
    return table, known


class Placement(NamedTuple):
    """Where new points are.

    Attributes
    ----------
    neighbours, shares : ndarray of shape (m, k)
        Training points that each new point is made of, and how much of each; rows sum to one.
    twin : ndarray of shape (m,)
        The training point that coincides with it, or −1.
    explained : ndarray of shape (m,)
        The sum of the code before it was scaled: small for points unlike any training point.
    """

    neighbours: np.ndarray
    shares: np.ndarray
    twin: np.ndarray
    explained: np.ndarray

    def average(self, values: np.ndarray) -> np.ndarray:
        """The mean of a training quantity over each new point's code; a twin's own value."""
        mean = np.einsum("mk,mkc->mc", self.shares, values[self.neighbours])
        known = self.twin >= 0
        mean[known] = values[self.twin[known]]
        return mean


class _Coded(NamedTuple):
    """New points in one source; ``error`` is what their codes leave unexplained."""

    neighbours: np.ndarray
    shares: np.ndarray
    explained: np.ndarray
    error: np.ndarray
    twin: np.ndarray
    known: np.ndarray


def place(sources: Sequence[Source], new: Any, tol: float = 1e-6) -> Placement:
    """Describe new points by their codes in every source, weighted as the sources are.

    Each code solves the Z-step's problem over the nearest training points; a new point has no
    embedding yet, so that there is no spectral price. A point that no training point explains is
    put at the nearest one.
    """
    sources = [source for source in sources if source.weight > 0]
    found = [_coded(source, new, tol) for source in sources]
    portions = _portions([source.weight for source in sources], found)
    shares = [part[:, None] * one.shares for part, one in zip(portions, found, strict=True)]
    explained = sum(part * one.explained for part, one in zip(portions, found, strict=True))
    return Placement(
        np.concatenate([one.neighbours for one in found], axis=1),
        np.concatenate(shares, axis=1),
        found[0].twin,
        np.asarray(explained),
    )


def strangeness(sources: Sequence[Source], new: Any, tol: float = 1e-6) -> np.ndarray:
    """What the codes of new points leave unexplained, over the sources that judge, and twins.

    Returns
    -------
    ndarray of shape (m, 3)
        The error, the sum of the code, and the training point that coincides or −1.
    """
    sources = [source for source in sources if source.judging > 0]
    found = [_coded(source, new, tol) for source in sources]
    portions = _portions([source.judging for source in sources], found)
    error = sum(part * one.error for part, one in zip(portions, found, strict=True))
    explained = sum(part * one.explained for part, one in zip(portions, found, strict=True))
    return np.column_stack([np.asarray(error), np.asarray(explained), found[0].twin])


def _portions(weights: Sequence[float], found: Sequence[_Coded]) -> np.ndarray:
    """The part of each source in each new point: those that know it share it by weight."""
    portion = np.asarray(weights)[:, None] * np.stack([one.known for one in found])
    total = portion.sum(axis=0)
    return portion / np.where(total > 0, total, 1.0)


def _coded(source: Source, new: Any, tol: float) -> _Coded:
    from unispectral.graph import _loops

    found = source.nearest(new)
    own = found.own.astype(np.float64)
    to = found.near.astype(np.float64)
    among = source.among(found.indices).astype(np.float64)
    codes = np.zeros(to.shape)
    prices = np.full(to.shape, float(source.alpha))
    ridge = float(source.ridge)
    _loops.solve_blocks(among, to, own, prices, found.valid, ridge, codes, float(tol))
    error = own + np.einsum("bk,bkl,bl->b", codes, among, codes, optimize=True)
    error -= 2.0 * np.einsum("bk,bk->b", codes, to)
    sums = codes.sum(axis=1)
    lonely = sums <= 0
    codes[lonely, 0] = 1.0
    codes /= codes.sum(axis=1, keepdims=True)
    neighbours = source.original(found.indices)
    twin = np.where((found.distance[:, 0] <= found.close) & found.known, neighbours[:, 0], -1)
    return _Coded(neighbours, codes, sums, error, twin, found.known)


def _of_all(
    distance: np.ndarray, near: np.ndarray, own: np.ndarray, known: np.ndarray, k: int
) -> Nearest:
    """The nearest, given the distances (m, n) to all training points."""
    k = min(k, distance.shape[1])
    part = np.argpartition(distance, k - 1, axis=1)[:, :k]
    part.sort(axis=1)  # ties to the earlier sample
    order = np.argsort(np.take_along_axis(distance, part, axis=1), axis=1, kind="stable")
    indices = np.take_along_axis(part, order, axis=1)
    scale = float(np.median(distance)) if distance.size else 1.0
    return Nearest(
        indices,
        np.ones(indices.shape, dtype=bool),
        np.take_along_axis(distance, indices, axis=1),
        np.take_along_axis(near, indices, axis=1),
        own,
        known,
        (1e-10 if near.dtype == np.float64 else 1e-6) * max(scale, 1e-300),
    )


#: Indexes of training points, made when new points are first compared with many of them. They
#: follow from the points alone, so that a model that was saved and loaded predicts the same.
_indexes: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()
_building = Lock()
#: Numbers held for each new point where an index is asked.
_INDEXED = 512


def has_index(geometry: Geometry) -> bool:
    """Whether new points are compared with a few cells of the training points only.

    That takes many points in a dense table, and distances that are those of the table.
    """
    if not isinstance(geometry, KernelGeometry) or geometry.n_samples <= EXACT_SAMPLES:
        return False
    bank, r = geometry.bank, geometry.r
    plain = bank.names[r].rpartition(":")[2] == "linear" and "trace" not in bank.normalize
    return plain and isinstance(bank.euclidean_table(r), np.ndarray)


def index_of(geometry: Any, k: int) -> tuple[Any, Any]:
    """The index of a geometry's training points, and how they were moved for it."""
    with _building:
        if geometry not in _indexes:
            table, shift = well_placed(geometry.bank.euclidean_table(geometry.r))
            _indexes[geometry] = build_index(table, k, random_state=0), shift
        return _indexes[geometry]


def row_blocks(X: Any, size: int = 65_536) -> Iterator[Any]:
    """Rows from a file in blocks, so that it is never in memory as a whole; others as they are.

    Examples
    --------
    >>> [len(block) for block in row_blocks(np.zeros((5, 2)))]
    [5]
    """
    if hasattr(X, "iter_blocks") and len(X) > size:
        yield from X.iter_blocks(size)
    elif isinstance(X, np.memmap) and X.ndim == 2 and len(X) > size:
        for start in range(0, len(X), size):
            yield X[start : start + size]
    else:
        yield X


def in_chunks(
    work: Callable[[Any], np.ndarray], new: Any, sources: Sequence[Source], entries: int = 2**23
) -> np.ndarray:
    """Apply ``work`` to row blocks of new points so that no array holds more than ``entries``."""
    step = max(1, entries // max(source.width for source in sources))
    if isinstance(new, list):
        total = new[0].shape[0]
        cut = lambda a, b: [table[a:b] for table in new]  # noqa: E731
    else:
        total = new.shape[0]
        cut = lambda a, b: new[a:b]  # noqa: E731
    parts = [work(cut(start, min(start + step, total))) for start in range(0, total, step)]
    return np.concatenate(parts)
