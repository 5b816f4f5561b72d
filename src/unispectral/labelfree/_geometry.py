"""Geometries: the distances in which neighbours are sought and codes are computed.

A kernel says how alike two samples are; its distance is d² = k(x,x) + k(y,y) − 2k(x,y). Which
distance is right depends on the data. On manifolds and among documents the kernel's own distance
is; where the clusters are subspaces (faces under changing light), directions in which *all*
samples vary drown the differences that matter, and the whitened distance is, in which those
directions are shrunk. A geometry is one such distance on one set of samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.linalg

from unispectral._errors import InputError
from unispectral._run import Run, map_blocks
from unispectral._validation import recentred
from unispectral.kernels import KernelBank

__all__ = [
    "Geometry",
    "KernelDistance",
    "KernelPart",
    "TableDistance",
    "WhitenedDistance",
    "expand",
    "median_distance",
    "nearest_in",
]

#: Samples whose pairs give the median distance, and points of the Nyström approximation.
_SAMPLE = 1_000
LANDMARKS = 1_000
#: Up to this many samples every one is a landmark, and the whitening is exact.
EXACT_WHITENING = 1_000


class Geometry(Protocol):
    """Squared distances among samples, and from new samples to them."""

    name: str
    n_samples: int

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        """Squared distances between two groups of samples."""

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances to neighbours (b, k) and among them (b, k, k)."""

    def cross(self, new: list[Any], run: Run | None = None) -> np.ndarray:
        """Squared distances from new samples, one table per view, to all of these."""

    def search_table(self) -> Any:
        """A table whose Euclidean neighbours are those of the geometry, or None."""


class KernelPart(NamedTuple):
    """One kernel of a bank, on one view, and what its squared distances are multiplied by.

    ``view`` is the position of its table among those of new samples; −1 for a kernel that came as
    a matrix.
    """

    bank: KernelBank
    r: int
    view: int
    scale: float = 1.0


class KernelDistance:
    """The distance of one kernel, or the weighted sum of the squared distances of several."""

    def __init__(self, parts: Sequence[KernelPart], name: str | None = None) -> None:
        self.parts = list(parts)
        self.name = name or parts[0].bank.names[parts[0].r]
        self.n_samples = parts[0].bank.n_samples
        self._own = [part.bank.diagonal(part.r).astype(np.float64) for part in self.parts]

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        return self._sum(
            _squared(part.bank.block(part.r, rows, cols), own[rows][:, None], own[cols][None, :])
            for part, own in zip(self.parts, self._own, strict=True)
        )

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = []
        for part, own in zip(self.parts, self._own, strict=True):
            near, among = part.bank.combine_neighbourhoods(_only(part), rows, neighbours)
            there = own[neighbours]
            found.append(
                (
                    _squared(near, own[rows][:, None], there),
                    _squared(among, there[:, :, None], there[:, None, :]),
                )
            )
        return self._sum(near for near, _ in found), self._sum(among for _, among in found)

    def cross(self, new: list[Any], run: Run | None = None) -> np.ndarray:
        found = []
        for part, own in zip(self.parts, self._own, strict=True):
            table = new if part.view < 0 else new[part.view]
            between, self_ = part.bank.combine_cross(_only(part), table, run)
            found.append(_squared(between, self_[:, None].astype(np.float64), own[None, :]))
        return self._sum(iter(found))

    def search_table(self) -> Any:
        if len(self.parts) == 1:
            return self.parts[0].bank.euclidean_table(self.parts[0].r)
        tables = [part.bank.euclidean_table(part.r, exact=True) for part in self.parts]
        if not all(isinstance(table, np.ndarray) for table in tables):
            return None
        scales = np.sqrt([part.scale for part in self.parts])
        return np.hstack([scale * table for scale, table in zip(scales, tables, strict=True)])

    def indexable_table(self) -> np.ndarray | None:
        """The dense table whose squared distances are those of the one kernel, or None."""
        if len(self.parts) > 1 or self.parts[0].view < 0:
            return None
        table = self.parts[0].bank.euclidean_table(self.parts[0].r, exact=True)
        return table if isinstance(table, np.ndarray) else None

    def _sum(self, values: Iterator[np.ndarray]) -> np.ndarray:
        if len(self.parts) == 1 and self.parts[0].scale == 1.0:
            return next(iter(values))
        scaled = (part.scale * one for part, one in zip(self.parts, values, strict=True))
        return np.asarray(sum(scaled))


@dataclass(kw_only=True)
class TableDistance:
    """Euclidean distances among the rows of a table."""

    table: np.ndarray
    name: str = "table"

    def __post_init__(self) -> None:
        self.n_samples = self.table.shape[0]
        self._norms = _norms(self.table)

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        dots = self.table[rows] @ self.table[cols].T
        return _squared(dots, self._norms[rows][:, None], self._norms[cols][None, :])

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gathered = self.table[neighbours]
        near = np.matmul(gathered, self.table[rows][:, :, None])[:, :, 0]
        among = gathered @ gathered.transpose(0, 2, 1)
        own = self._norms[neighbours]
        return (
            _squared(near, self._norms[rows][:, None], own),
            _squared(among, own[:, :, None], own[:, None, :]),
        )

    def search_table(self) -> np.ndarray:
        return self.table


@dataclass(kw_only=True)
class WhitenedDistance(TableDistance):
    """Euclidean distances after the directions that all samples share have been shrunk.

    With Kc the centred Gaussian kernel of a base geometry, at ``width`` times its median
    distance, and λ = shrink · trace(Kc) / n, the features have the inner products
    H = Kc (Kc + λI)⁻¹, scaled to unit diagonal. H is the closed form of self-expression with a
    ridge, so that its entries are codes over *all* samples. Above ``EXACT_WHITENING`` samples,
    landmarks stand for all (Nyström).

    Attributes
    ----------
    base : KernelDistance
    name : str
    landmarks : int array of shape (m,)
    rate : float
        The kernel is exp(rate · d²) of the base geometry.
    root, shrink_root : ndarray of shape (m, m)
        Cholesky factors: of the kernel of the landmarks, and of Gram matrix plus λ.
    mean : ndarray of shape (m,)
    table : ndarray of shape (n, m)
        The features of all samples, of length one.
    """

    base: KernelDistance
    landmarks: np.ndarray
    rate: float
    root: np.ndarray
    mean: np.ndarray
    shrink_root: np.ndarray

    def cross(self, new: list[Any], run: Run | None = None) -> np.ndarray:
        values = np.exp(self.base.cross(new, run)[:, self.landmarks] * self.rate)
        rows = _shrunk(self.shrink_root, _solved(self.root, values) - self.mean)
        return _squared(rows @ self.table.T, _norms(rows)[:, None], self._norms[None, :])


def expand(
    base: KernelDistance, whiten: Sequence[tuple[float, float]], rng: np.random.Generator
) -> Iterator[Geometry]:
    """A geometry and its whitened forms, given by (width, strength)."""
    yield base
    for width in dict.fromkeys(width for width, _ in whiten):
        strengths = [strength for other, strength in whiten if other == width]
        yield from _whitened(base, width, strengths, rng)


def _whitened(
    base: KernelDistance, width: float, strengths: Sequence[float], rng: np.random.Generator
) -> Iterator[WhitenedDistance]:
    """The whitened geometries of one width, which share everything but the last step."""
    n = base.n_samples
    landmarks = (
        np.arange(n)
        if n <= EXACT_WHITENING
        else np.sort(rng.choice(n, size=min(n, LANDMARKS), replace=False))
    )
    rate = -0.5 / (width**2 * median_distance(base))
    values = np.exp(base.distances(slice(None), landmarks) * rate)
    root = _root(values[landmarks])
    features = _solved(root, values)
    mean = features.mean(axis=0)
    features -= mean
    gram = features.T @ features
    for strength in strengths:
        raised = gram.copy()
        added = strength * float(np.trace(gram)) / n
        raised.flat[:: len(gram) + 1] += max(added, 1e-300)
        shrink_root = scipy.linalg.cholesky(raised, lower=True, check_finite=False)
        yield WhitenedDistance(
            table=_shrunk(shrink_root, features),
            name=f"{base.name} whitened {width:g}/{strength:g}",
            base=base,
            landmarks=landmarks,
            rate=rate,
            root=root,
            mean=mean,
            shrink_root=shrink_root,
        )


def median_distance(geometry: Any) -> float:
    """The median squared distance between distinct samples, over an evenly spaced sample."""
    n = geometry.n_samples
    chosen = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))
    block = geometry.distances(chosen, chosen)[np.triu_indices(len(chosen), 1)]
    positive = block[block > 1e-12 * max(float(block.max(initial=0.0)), 1e-300)]
    return float(np.median(positive)) if positive.size else 1.0


def nearest_in(geometry: Any, k: int, run: Run) -> np.ndarray:
    """The k nearest other samples of each, nearest first; −1 where there are fewer."""
    from unispectral.graph.candidates import nearest

    table = geometry.search_table()
    if table is not None:
        # Indexes work in single precision, which holds no square of 1e20.
        return nearest(recentred(table)[0], k, random_state=run.rng, run=run).indices
    return _all_pairs_nearest(geometry, k, run)


def _all_pairs_nearest(geometry: Any, k: int, run: Run | None) -> np.ndarray:
    """The k nearest by looking at all pairs, for kernels that no index knows."""
    n = geometry.n_samples
    out = np.empty((n, k), dtype=np.int64)

    def work(rows: slice) -> None:
        block = geometry.distances(rows, slice(None))
        block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = np.inf
        part = np.argpartition(block, k - 1, axis=1)[:, :k]
        part.sort(axis=1)  # ties to the earlier sample
        order = np.argsort(np.take_along_axis(block, part, axis=1), axis=1, kind="stable")
        out[rows] = np.take_along_axis(part, order, axis=1)

    map_blocks(work, n, max(1, 2**20 // n), run)
    return out


def _only(part: KernelPart) -> np.ndarray:
    weights = np.zeros(len(part.bank))
    weights[part.r] = 1.0
    return weights


def _norms(table: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", table, table).astype(np.float64)


def _squared(products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    squared = products.astype(np.float64) * -2.0
    squared += left
    squared += right
    return np.maximum(squared, 0.0, out=squared)


def _solved(root: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Rows whose dot products are the kernel: values · root⁻ᵀ."""
    return scipy.linalg.solve_triangular(root, values.T, lower=True, check_finite=False).T.copy()


def _root(kernel: np.ndarray) -> np.ndarray:
    """The Cholesky factor of a kernel, with as little added to its diagonal as will do.

    Repeated samples make a kernel singular; samples that differ in their last digits only make
    it indefinite, since their distances are rounding errors.
    """
    added = 0.0
    for jitter in (1e-8, 1e-6, 1e-4, 1e-2, 1.0, float(len(kernel))):
        kernel.flat[:: len(kernel) + 1] += jitter - added
        added = jitter
        try:
            return scipy.linalg.cholesky(kernel, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise InputError("X", "has samples whose distances cannot be told apart", "rescale it")


def _shrunk(root: np.ndarray, features: np.ndarray) -> np.ndarray:
    rows = scipy.linalg.solve_triangular(root, features.T, lower=True, check_finite=False).T
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1))
