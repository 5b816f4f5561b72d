"""New points: their codes over the training points, and where that puts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from unispectral.geometry import Geometry
from unispectral.kernels import KernelBank

__all__ = ["GeometrySource", "KernelSource", "Placement", "place", "strangeness"]


class Nearness(NamedTuple):
    """How new points lie to the training points under one kernel.

    ``distance`` (m, n) orders the training points, ``near`` (m, n) is the kernel to them, ``own``
    (m,) of each new point with itself, ``known`` (m,) which new points the source can speak of.
    """

    distance: np.ndarray
    near: np.ndarray
    own: np.ndarray
    known: np.ndarray


class Source(Protocol):
    """A kernel that new points can be described in."""

    weight: float
    judging: float
    alpha: float
    ridge: float
    n_candidates: int

    def nearness(self, new: Any) -> Nearness: ...

    def among(self, neighbours: np.ndarray) -> np.ndarray: ...

    def original(self, neighbours: np.ndarray) -> np.ndarray: ...


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

    def nearness(self, new: Any) -> Nearness:
        near, own = self.bank.combine_cross(self.weights, new)
        distance = own[:, None] + self.bank.combine_diagonal(self.weights)[None, :] - 2.0 * near
        return Nearness(distance, near, own, np.ones(len(near), dtype=bool))

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        return self.bank.combine_neighbourhoods(self.weights, neighbours[:, 0], neighbours)[1]

    def original(self, neighbours: np.ndarray) -> np.ndarray:
        return neighbours


@dataclass
class GeometrySource:
    """One geometry of the label-free model; ``samples`` are the training points it has.

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

    def nearness(self, new: Any) -> Nearness:
        table = new[self.view] if isinstance(new, list) else new
        known = np.ones(table.shape[0], dtype=bool)
        if isinstance(table, np.ndarray) and np.isnan(table[:, 0]).any():
            known = ~np.isnan(table[:, 0])
            table = np.where(known[:, None], table, 0.0)
        distance = self.geometry.cross(table)
        return Nearness(distance, np.exp(distance * self.rate), np.ones(len(distance)), known)

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        return np.exp(self.geometry.around(neighbours[:, 0], neighbours)[1] * self.rate)

    def original(self, neighbours: np.ndarray) -> np.ndarray:
        return neighbours if self.samples is None else self.samples[neighbours]


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

    distance, near, own, known = source.nearness(new)
    m, n = distance.shape
    k = min(source.n_candidates, n)
    part = np.argpartition(distance, k - 1, axis=1)[:, :k]
    part.sort(axis=1)  # ties to the earlier sample
    order = np.argsort(np.take_along_axis(distance, part, axis=1), axis=1, kind="stable")
    local = np.take_along_axis(part, order, axis=1)
    to = np.take_along_axis(near, local, axis=1).astype(np.float64)
    among = source.among(local).astype(np.float64)
    own = own.astype(np.float64)
    codes = np.zeros((m, k))
    prices = np.full((m, k), float(source.alpha))
    valid = np.ones((m, k), dtype=bool)
    _loops.solve_blocks(among, to, own, prices, valid, float(source.ridge), codes, float(tol))
    error = own + np.einsum("bk,bkl,bl->b", codes, among, codes, optimize=True)
    error -= 2.0 * np.einsum("bk,bk->b", codes, to)
    sums = codes.sum(axis=1)
    lonely = sums <= 0
    codes[lonely, 0] = 1.0
    codes /= codes.sum(axis=1, keepdims=True)
    scale = float(np.median(distance)) if distance.size else 1.0
    close = (1e-10 if near.dtype == np.float64 else 1e-6) * max(scale, 1e-300)
    nearest = np.take_along_axis(distance, local[:, :1], axis=1)[:, 0]
    neighbours = source.original(local)
    twin = np.where((nearest <= close) & known, neighbours[:, 0], -1)
    return _Coded(neighbours, codes, sums, error, twin, known)


def in_chunks(
    work: Callable[[Any], np.ndarray], new: Any, n_training: int, entries: int = 2**23
) -> np.ndarray:
    """Apply ``work`` to row blocks of new points so that no array holds more than ``entries``."""
    step = max(1, entries // max(n_training, 1))
    if isinstance(new, list):
        total = new[0].shape[0]
        cut = lambda a, b: [table[a:b] for table in new]  # noqa: E731
    else:
        total = new.shape[0]
        cut = lambda a, b: new[a:b]  # noqa: E731
    parts = [work(cut(start, min(start + step, total))) for start in range(0, total, step)]
    return np.concatenate(parts)
