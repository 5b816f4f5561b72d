"""Geometries: the distances in which neighbours are sought and codes are computed.

A kernel says how alike two samples are; its distance is d² = k(x,x) + k(y,y) − 2k(x,y). Which
distance is right depends on the data. On manifolds and among documents the kernel's own distance
is; where the clusters are subspaces (faces under changing light), directions in which *all*
samples vary drown the differences that matter, and the whitened distance is, in which those
directions are shrunk. A geometry is one such distance on one set of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unispectral import _checkpoint as checkpoint
from unispectral._memory import require_memory
from unispectral._threads import map_blocks
from unispectral._validation import well_placed
from unispectral.kernels import KernelBank

__all__ = [
    "Geometry",
    "KernelGeometry",
    "Neighbourhoods",
    "TableGeometry",
    "Whitening",
    "all_pairs_nearest",
    "localize",
    "median_distance",
]

#: Samples whose pairs give the median distance, and points of the Nyström approximation.
_SAMPLE = 1_000
LANDMARKS = 1_000
#: Above this many samples neighbourhoods are kept in single precision: half the memory.
SINGLE_SAMPLES = 50_000
#: Up to this many samples every one is a landmark, and the whitening is exact.
EXACT_WHITENING = 1_000
_BLOCK = 256
#: Samples whose codes one thread computes at a time.
_ROWS = 512

T = TypeVar("T")


class Geometry(Protocol):
    """Squared distances among samples, and from new samples to them."""

    name: str
    n_samples: int

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        """Squared distances between two groups of samples."""

    def nearest(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """The k nearest other samples of each, nearest first; −1 where there are fewer."""

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances to neighbours (b, k) and among them (b, k, k)."""

    def cross(self, new: Any) -> np.ndarray:
        """Squared distances from new samples to all of these."""


class KernelGeometry:
    """The distance of one kernel of a bank."""

    def __init__(self, bank: KernelBank, r: int) -> None:
        self.bank = bank
        self.r = r
        self.name = bank.names[r]
        self.n_samples = bank.n_samples
        self._own = bank.diagonal(r).astype(np.float64)

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        values = self.bank.block(self.r, rows, cols)
        return _squared(values, self._own[rows][:, None], self._own[cols][None, :])

    def nearest(self, k: int, rng: np.random.Generator) -> np.ndarray:
        from unispectral.graph.candidates import nearest

        table = self.bank.euclidean_table(self.r)
        if table is not None:
            # Indexes work in single precision, which holds no square of 1e20.
            return nearest(well_placed(table)[0], k, random_state=rng).indices
        return all_pairs_nearest(self, k)

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        only = np.zeros(len(self.bank))
        only[self.r] = 1.0
        near, among = self.bank.combine_neighbourhoods(only, rows, neighbours)
        own = self._own[neighbours]
        return (
            _squared(near, self._own[rows][:, None], own),
            _squared(among, own[:, :, None], own[:, None, :]),
        )

    def cross(self, new: Any) -> np.ndarray:
        only = np.zeros(len(self.bank))
        only[self.r] = 1.0
        between, own = self.bank.combine_cross(only, new)
        return _squared(between, own[:, None].astype(np.float64), self._own[None, :])


class TableGeometry:
    """Euclidean distances among the rows of a table that a map makes of any sample."""

    def __init__(self, name: str, table: np.ndarray, transform: Any) -> None:
        self.name = name
        self.table = table
        self.n_samples = table.shape[0]
        self.transform = transform
        self._norms = np.einsum("ij,ij->i", table, table).astype(np.float64)

    def distances(self, rows: Any, cols: Any) -> np.ndarray:
        dots = self.table[rows] @ self.table[cols].T
        return _squared(dots, self._norms[rows][:, None], self._norms[cols][None, :])

    def nearest(self, k: int, rng: np.random.Generator) -> np.ndarray:
        from unispectral.graph.candidates import nearest

        return nearest(self.table, k, random_state=rng).indices

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gathered = self.table[neighbours]
        near = np.matmul(gathered, self.table[rows][:, :, None])[:, :, 0]
        among = gathered @ gathered.transpose(0, 2, 1)
        own = self._norms[neighbours]
        return (
            _squared(near, self._norms[rows][:, None], own),
            _squared(among, own[:, :, None], own[:, None, :]),
        )

    def cross(self, new: Any) -> np.ndarray:
        rows = self.transform(new)
        norms = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
        return _squared(rows @ self.table.T, norms[:, None], self._norms[None, :])


class Whitening:
    """Feature maps in which the directions that all samples share are shrunk.

    With Kc the centred Gaussian kernel of a geometry, at ``width`` times its median distance, and
    λ = shrink · trace(Kc) / n, the map has the inner products H = Kc (Kc + λI)⁻¹, scaled to unit
    diagonal. H is the closed form of self-expression with a ridge, so that its entries are codes
    over *all* samples. Above ``EXACT_WHITENING`` samples, landmarks stand for all (Nyström).

    Parameters
    ----------
    base : Geometry
    width : float
    rng : Generator
        Draws the landmarks.
    """

    def __init__(self, base: Geometry, *, width: float = 2.0, rng: np.random.Generator) -> None:
        self.base = base
        self.width = width
        n = base.n_samples
        self.landmarks = (
            np.arange(n)
            if n <= EXACT_WHITENING
            else np.sort(rng.choice(n, size=min(n, LANDMARKS), replace=False))
        )
        self.rate = -0.5 / (width**2 * median_distance(base))
        values = np.exp(base.distances(slice(None), self.landmarks) * self.rate)
        inner = values[self.landmarks]
        self.root = _root(inner)
        self.features = self._expand(values)
        self.mean = self.features.mean(axis=0)
        self.features -= self.mean
        self.gram = self.features.T @ self.features

    def _expand(self, values: np.ndarray) -> np.ndarray:
        """Rows whose dot products are the kernel: values · root⁻ᵀ."""
        return scipy.linalg.solve_triangular(
            self.root, values.T, lower=True, check_finite=False
        ).T.copy()

    def forget(self) -> None:
        """Free what only further geometries would need; new samples do without."""
        del self.features, self.gram

    def geometry(self, shrink: float) -> TableGeometry:
        """The geometry of one strength of shrinking."""
        gram = self.gram.copy()
        trace = float(np.trace(gram))
        gram.flat[:: len(gram) + 1] += max(shrink * trace / self.base.n_samples, 1e-300)
        root = scipy.linalg.cholesky(gram, lower=True, check_finite=False)
        name = f"{self.base.name} whitened {self.width:g}/{shrink:g}"
        return TableGeometry(name, _shrunk(root, self.features), _WhitenedMap(self, root))


@dataclass
class _WhitenedMap:
    """Takes new samples into the table of a whitened geometry."""

    whitening: Whitening
    root: np.ndarray

    def __call__(self, new: Any) -> np.ndarray:
        whitening = self.whitening
        values = np.exp(whitening.base.cross(new)[:, whitening.landmarks] * whitening.rate)
        return _shrunk(self.root, whitening._expand(values) - whitening.mean)


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
    raise ValueError("X has samples whose distances cannot be told apart; rescale the features.")


def _shrunk(root: np.ndarray, features: np.ndarray) -> np.ndarray:
    rows = scipy.linalg.solve_triangular(root, features.T, lower=True, check_finite=False).T
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1))


class Neighbourhoods(NamedTuple):
    """A geometry boiled down to what codes need: each sample's candidates and small kernels.

    The kernel is the Gaussian of the geometry's median distance, so that its own diagonal is one
    and its median over pairs e^{-1/2} whatever the data.
    """

    name: str
    neighbours: np.ndarray
    near: np.ndarray
    among: np.ndarray
    rate: float
    present: np.ndarray | None = None

    @property
    def valid(self) -> np.ndarray:
        return self.neighbours >= 0

    def rows(self, rows: slice) -> Neighbourhoods:
        """The neighbourhoods of consecutive samples."""
        return self._replace(
            neighbours=self.neighbours[rows], near=self.near[rows], among=self.among[rows]
        )

    def map_rows(self, work: Callable[..., T], *arguments: Any) -> list[T]:
        """``work(rows, their neighbourhoods, *arguments)`` for consecutive blocks of samples.

        A distributed fit has neighbourhoods that do this where the blocks are.
        """
        return map_blocks(
            lambda rows: work(rows, self.rows(rows), *arguments), len(self.neighbours), _ROWS
        )

    def nearest(self, k: int) -> Neighbourhoods:
        """The same with only the k nearest candidates of each sample."""
        return self._replace(
            neighbours=self.neighbours[:, :k],
            near=np.ascontiguousarray(self.near[:, :k]),
            among=np.ascontiguousarray(self.among[:, :k, :k]),
        )

    def within(self, present: np.ndarray) -> Neighbourhoods:
        """The same, where these samples are only those of all for which ``present`` is true."""
        n, k = len(present), self.neighbours.shape[1]
        own = np.flatnonzero(present)
        neighbours = np.full((n, k), -1, dtype=np.int64)
        neighbours[own] = np.where(self.valid, own[self.neighbours], -1)
        near, among = np.zeros((n, k)), np.zeros((n, k, k))
        near[own], among[own] = self.near, self.among
        return Neighbourhoods(self.name, neighbours, near, among, self.rate, present)

    def graph(self, codes: np.ndarray) -> sp.csr_array:
        """Codes (n, k) as a CSR array whose row i is the code of sample i."""
        n = len(codes)
        keep = self.valid & (codes > 0)
        starts = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
        if starts[-1] <= np.iinfo(self.neighbours.dtype).max:
            # Else SciPy would make all numbers as long as these.
            starts = starts.astype(self.neighbours.dtype)
        matrix = sp.csr_array((codes[keep], self.neighbours[keep], starts), shape=(n, n))
        matrix.sort_indices()
        return matrix


def localize(geometry: Geometry, k: int, rng: np.random.Generator) -> Neighbourhoods:
    """Find each sample's k nearest and evaluate the Gaussian kernel around it.

    Parameters
    ----------
    geometry : Geometry
    k : int
    rng : Generator
        For approximate searches in large data.
    """
    n = geometry.n_samples
    k = min(k, n - 1)
    rate = -0.5 / median_distance(geometry)
    elsewhere = localizer.get()
    if elsewhere is not None:
        return elsewhere(geometry, k, rate, rng)
    kept = checkpoint.current()
    if kept is None:
        neighbours = geometry.nearest(k, rng)
    else:
        neighbours = kept.search(rng, lambda: geometry.nearest(k, rng))
    dtype = np.float32 if n > SINGLE_SAMPLES else np.float64
    require_memory(
        float(n) * k * (k + 1) * np.dtype(dtype).itemsize,
        f"The neighbourhoods of {n} samples",
        f"use a smaller n_neighbors than {k}, fewer kernels or fewer samples",
    )
    near = np.empty((n, k), dtype=dtype)
    among = np.empty((n, k, k), dtype=dtype)

    def work(rows: slice) -> None:
        near[rows], among[rows] = block_kernels(
            geometry, rate, np.arange(rows.start, rows.stop), neighbours[rows]
        )

    map_blocks(work, n, _BLOCK)
    return Neighbourhoods(geometry.name, neighbours, near, among, rate)


#: Set by a distributed fit to find neighbourhoods on its workers.
localizer: ContextVar[Callable[..., Any] | None] = ContextVar("localizer", default=None)


def block_kernels(
    geometry: Geometry, rate: float, rows: np.ndarray, neighbours: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The Gaussian kernel of some samples to their candidates, and among these."""
    to, between = geometry.around(rows, np.maximum(neighbours, 0))
    return np.exp(to * rate), np.exp(between * rate)


def median_distance(geometry: Geometry) -> float:
    """The median squared distance between distinct samples, over an evenly spaced sample."""
    n = geometry.n_samples
    chosen = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.intp))
    block = geometry.distances(chosen, chosen)[np.triu_indices(len(chosen), 1)]
    positive = block[block > 1e-12 * max(float(block.max(initial=0.0)), 1e-300)]
    return float(np.median(positive)) if positive.size else 1.0


def expand(
    base: Geometry, whiten: Sequence[tuple[float, float]], rng: np.random.Generator
) -> Iterator[Geometry]:
    """A geometry and its whitened forms, given by (width, strength)."""
    yield base
    for width in dict.fromkeys(width for width, _ in whiten):
        whitening = Whitening(base, width=width, rng=rng)
        for strength in [strength for other, strength in whiten if other == width]:
            yield whitening.geometry(strength)
        whitening.forget()


def _squared(products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    squared = products.astype(np.float64) * -2.0
    squared += left
    squared += right
    return np.maximum(squared, 0.0, out=squared)


def all_pairs_nearest(geometry: Geometry, k: int) -> np.ndarray:
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

    map_blocks(work, n, max(1, 2**20 // n))
    return out
