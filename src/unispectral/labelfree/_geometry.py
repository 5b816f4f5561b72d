"""Geometries: the distances in which neighbours are sought and codes are computed.

A kernel says how alike two samples are; its distance is d² = k(x,x) + k(y,y) − 2k(x,y). Which
distance is right depends on the data. On manifolds and among documents the kernel's own distance
is; where the clusters are subspaces (faces under changing light), directions in which *all*
samples vary drown the differences that matter, and the whitened distance is, in which those
directions are shrunk. A geometry is one such distance on one set of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import squareform

from unispectral._arrays import median_of_positive, pick_evenly
from unispectral._errors import InputError
from unispectral._run import Run, map_blocks
from unispectral._validation import recentre
from unispectral.graph._indexes import true_neighbours
from unispectral.graph.neighbours import (
    TREE_COLUMNS,
    announce_kernel,
    build_index,
    is_descended,
    nearest,
)
from unispectral.kernels import Linear
from unispectral.kernels._bound import BoundKernel, bind_table
from unispectral.kernels._features import Features

if TYPE_CHECKING:
    from unispectral.kernels._bound import Index

#: Samples whose pairs give the median distance, and landmarks of the Gaussian map.
_MEDIAN_SAMPLES = 400
_LANDMARKS = 300
#: A landmark is left out if the others leave less than this of its squared length unexplained.
_UNEXPLAINED = 1e-8
#: Up to this many samples neighbours are sought among all pairs. Their inner products are held,
#: unless rows of at most this many columns make it cheaper to compute those of neighbours again
#: than to fill so much memory.
_HELD_SAMPLES = 4_000
_SHORT_ROWS = 128
_BLOCK_ENTRIES = 2**20
#: So few samples are compared with all others, however many these are.
_FEW_QUERIES = 1_000


class KernelPart(NamedTuple):
    """One kernel on its samples, and what its squared distances are multiplied by.

    ``view`` is the position of its table, or of its cross kernel, among those of new samples.
    """

    kernel: BoundKernel
    view: int
    scale: float = 1.0


class KernelDistance:
    """The distance of one kernel, or the weighted sum of the squared distances of several.

    It is computed from inner products when it is asked for; those of all pairs may be given,
    where they are held already.

    Attributes
    ----------
    parts : tuple of KernelPart
    name : str
    n_samples : int
    n_columns : int or None
        Columns of all tables together; None where a kernel is not of a table.
    own : ndarray of shape (n_samples,)
        The inner product of each sample with itself.
    tables : list
        Those whose squared distances are those of the kernels; None where there is none.
    """

    def __init__(self, parts: Sequence[KernelPart], name: str | None = None) -> None:
        self.parts = tuple(parts)
        self.name = name or parts[0].kernel.name
        self.n_samples = parts[0].kernel.n_samples
        self.tables = [part.kernel.euclidean_table(exact=True) for part in parts]
        widths = [table.shape[1] for table in self.tables if table is not None]
        self.n_columns = sum(widths) if len(widths) == len(parts) else None
        self.own = self._sum(BoundKernel.diagonal).astype(np.float64)

    @classmethod
    def linear(cls, table: object) -> KernelDistance:
        """The Euclidean distance of a table."""
        return cls([KernelPart(bind_table(table, [Linear()])[0], 0)])

    @property
    def base(self) -> KernelDistance:
        """The distance of the kernels from which this one was made, or which it is."""
        return self

    @property
    def is_joint(self) -> bool:
        """Whether it is the sum of several kernels' distances."""
        return len(self.base.parts) > 1

    @property
    def rows(self) -> Any:
        """The table of its first kernel; None for one that came as a matrix."""
        source = self.base.parts[0].kernel.source
        return None if source is None else source.X

    def distances(self, rows: Index, cols: Index) -> np.ndarray:
        """Squared distances between two groups of samples."""
        products = self._sum(BoundKernel.block, rows, cols)
        return _square(products, self.own[rows][:, None], self.own[cols][None, :])

    def around(
        self, rows: np.ndarray, neighbours: np.ndarray, held: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances to neighbours (b, k) and among them (b, k, k)."""
        if held is None:
            near, among = self._sum_pairs(BoundKernel.around, rows, neighbours)
        else:
            near = held[rows[:, None], neighbours]
            among = held[neighbours[:, :, None], neighbours[:, None, :]]
        there = self.own[neighbours]
        return (
            _square(near, self.own[rows][:, None], there),
            _square(among, there[:, :, None], there[:, None, :]),
        )

    def compare_all(
        self,
        k: int,
        run: Run | None,
        rows: np.ndarray | None = None,
        among: np.ndarray | None = None,
        held: np.ndarray | None = None,
    ) -> np.ndarray:
        """The k nearest other samples of all or some, among all or some: every pair is compared.

        Nearest first, ties by number.
        """
        from unispectral.graph import _select

        everyone = np.arange(self.n_samples, dtype=np.int32)
        columns = slice(None) if among is None else among
        norms = self.own[columns]
        if held is not None:
            norms = norms.astype(held.dtype)
        ids = everyone[columns]
        skip = everyone if rows is None else everyone[rows]
        found = np.empty((len(skip), k), dtype=np.int32)

        def work(part: slice) -> None:
            some = part if rows is None else rows[part]
            if held is None:
                products = self._sum(BoundKernel.block, some, columns)
            else:
                products = held[some][:, columns]
            keys = np.empty((len(products), k), dtype=norms.dtype)
            _select.select_smallest(
                np.ascontiguousarray(products), norms, ids, skip[part], k, keys, found[part]
            )

        map_blocks(work, len(skip), max(1, _BLOCK_ENTRIES // len(ids)), run)
        return found

    def all_products(self, run: Run | None) -> np.ndarray:
        """The inner products of all pairs."""
        if len(self.parts) > 1 and not any(part.kernel.normalizer.steps for part in self.parts):
            table = self.features()
            if table is not None:  # one product is faster than a sum of many
                return table @ table.T
        return self._sum(BoundKernel.all_values, run)

    def cross(self, new: list[Any], run: Run | None = None) -> np.ndarray:
        """Squared distances from new samples, one table per view, to all of these."""
        between, own = self.cross_products(new, run)
        return _square(between, own[:, None].astype(np.float64), self.own[None, :])

    def cross_products(
        self, new: list[Any], run: Run | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inner products of new samples with these, and of each with itself."""
        between: Any = 0.0
        own: Any = 0.0
        for part in self.parts:
            values, diagonal = part.kernel.cross(new[part.view], run)
            between = between + part.scale * values
            own = own + part.scale * diagonal
        return between, own

    def search_table(self) -> Any:
        """A table whose Euclidean neighbours are those of this distance, or None."""
        if len(self.parts) == 1:
            return self.parts[0].kernel.euclidean_table()
        return self.features()

    def narrow_table(self) -> np.ndarray | None:
        """A dense table of few columns whose squared distances these are."""
        table = self.features() if len(self.parts) == 1 else None
        return table if table is not None and table.shape[1] <= TREE_COLUMNS else None

    def features(self, new: list[Any] | None = None) -> np.ndarray | None:
        """The dense table whose squared distances these are, of these or of new samples."""
        tables = self.tables
        if [table for table in tables if not isinstance(table, np.ndarray)]:
            return None
        if new is not None:
            tables = [new[part.view] for part in self.parts]
        if len(tables) == 1 and self.parts[0].scale == 1.0:
            return tables[0]
        scales = np.sqrt([part.scale for part in self.parts])
        return np.hstack([scale * table for scale, table in zip(scales, tables, strict=True)])

    def subset(self, rows: np.ndarray) -> KernelDistance:
        """The same distance on some of the samples."""
        parts = [part._replace(kernel=part.kernel.take(rows)) for part in self.parts]
        return KernelDistance(parts, self.name)

    def grow(self, new: list[Any], known: dict[int, Features]) -> KernelDistance:
        """The same distance with further samples, one table per view, behind these.

        ``known`` has features that were made to grow already, by their identity: kernels that
        share a table go on doing so.
        """
        return KernelDistance([_grow_part(part, new, known) for part in self.parts], self.name)

    def _sum_pairs(
        self, evaluate: Callable[..., tuple[np.ndarray, np.ndarray]], *arguments: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same of kernels that give two arrays."""
        first, *others = self.parts
        one, two = evaluate(first.kernel, *arguments)
        if first.scale != 1.0:
            one = first.scale * one
            two = first.scale * two
        for part in others:
            left, right = evaluate(part.kernel, *arguments)
            one = one + part.scale * left
            two = two + part.scale * right
        return one, two

    def _sum(self, evaluate: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        """The weighted sum of what the kernels give; one after the other, since each is large."""
        first, *others = self.parts
        total = evaluate(first.kernel, *arguments)
        if first.scale != 1.0:
            total = first.scale * total
        for part in others:
            total = total + part.scale * evaluate(part.kernel, *arguments)
        return total


class Whitening(NamedTuple):
    """How a geometry is whitened."""

    #: How much is shrunk: λ in units of the mean squared length of the centred features.
    strength: float
    #: Whether the features are those of the Gaussian kernel of median width, over evenly spaced
    #: landmarks, rather than the samples' own.
    gaussian: bool = False
    #: Whether rows are scaled to length one.
    unit: bool = True


class WhitenedDistance(KernelDistance):
    """Euclidean distances after the directions that all samples share have been shrunk.

    With the centred features C of a base geometry and λ = strength · trace(CᵀC) / n, the rows are
    those of C (CᵀC + λI)^-½, scaled to length one or all by √n. Their inner products are
    K (K + λI)⁻¹ with K = CCᵀ, the closed form of self-expression with a ridge: codes over *all*
    samples.

    Attributes
    ----------
    rate, landmarks : float and int array, or None
        With the Gaussian map, its kernel is exp(rate · d²), and landmarks stand for all (Nyström).
    root : ndarray or None
        With a kernel, features are root⁻¹ k(·, x), with the Cholesky factor of the kernel of the
        landmarks or of all samples; None where they are the columns of the tables.
    mean : ndarray
        Of the features.
    shrink_root : ndarray
        The Cholesky factor of CᵀC + λI.
    unit : bool
        Whether rows have length one.
    table : ndarray
        The rows.
    n_fitted : int
        The samples of the fit, the first of those here; the others came later.
    """

    def __init__(
        self,
        base: KernelDistance,
        rate: float | None,
        landmarks: np.ndarray | None,
        root: np.ndarray | None,
        mean: np.ndarray,
        shrink_root: np.ndarray,
        unit: bool,
        table: np.ndarray,
        name: str,
        n_fitted: int | None = None,
    ) -> None:
        super().__init__([KernelPart(bind_table(table, [Linear()])[0], 0)], name)
        self._base = base
        self.rate = rate
        self.landmarks = landmarks
        self.root = root
        self.mean = mean
        self.shrink_root = shrink_root
        self.unit = unit
        self.table = table
        self.n_fitted = len(table) if n_fitted is None else n_fitted

    @property
    def base(self) -> KernelDistance:
        return self._base

    def all_products(self, run: Run | None) -> np.ndarray:
        return self.table @ self.table.T

    def cross(self, new: list[Any], run: Run | None = None) -> np.ndarray:
        rows = self.whiten_rows(new, run)
        return _square(rows @ self.table.T, _squared_lengths(rows)[:, None], self.own[None, :])

    def whiten_rows(self, new: list[Any], run: Run | None = None) -> np.ndarray:
        """The rows of new samples, one table per view."""
        features: np.ndarray | None
        if self.root is None:
            features = self.base.features(new)
        elif self.rate is None:
            products = self.base.cross_products(new, run)[0]
            features = _solve(self.root, products[:, : self.n_fitted])
        else:
            distances = self.base.cross(new, run)[:, self.landmarks]
            features = _solve(self.root, np.exp(distances * self.rate))
        assert features is not None
        return _scale_rows(
            _solve(self.shrink_root, features - self.mean), self.unit, self.n_fitted
        )

    def grow(self, new: list[Any], known: dict[int, Features]) -> KernelDistance:
        return WhitenedDistance(
            base=self.base.grow(new, known),
            rate=self.rate,
            landmarks=self.landmarks,
            root=self.root,
            mean=self.mean,
            shrink_root=self.shrink_root,
            unit=self.unit,
            table=np.concatenate([self.table, self.whiten_rows(new)]),
            name=self.name,
            n_fitted=self.n_fitted,
        )


def _grow_part(part: KernelPart, new: list[Any], known: dict[int, Features]) -> KernelPart:
    """A kernel with further samples, on features that it may share with others."""
    source = part.kernel.source
    assert source is not None, "a kernel that came as a matrix knows nothing of further samples"
    if id(source) not in known:
        known[id(source)] = source.grow(new[part.view])
    return part._replace(kernel=part.kernel.on(known[id(source)]))


def whiten(base: KernelDistance, form: Whitening | None, run: Run | None = None) -> KernelDistance:
    """A geometry in some form; None leaves it as it is."""
    if form is None:
        return base
    n = base.n_samples
    columns = base.n_columns
    rate = landmarks = root = None
    features: Any
    if form.gaussian:
        landmarks = pick_evenly(n, _LANDMARKS)
        rate = -0.5 / median_distance(base)
        needed, root = _independent(np.exp(base.distances(landmarks, landmarks) * rate))
        landmarks = landmarks[needed]
        features = _solve(root, np.exp(base.distances(slice(None), landmarks) * rate))
    elif columns is not None and columns <= n and base.features() is not None:
        features = base.features()
    else:
        features = root = _root(base.all_products(run).astype(np.float64))
    mean = features.mean(axis=0)
    centred = features - mean
    gram = centred.T @ centred
    gram.flat[:: len(gram) + 1] += max(form.strength * float(np.trace(gram)) / n, 1e-300)
    shrink_root = scipy.linalg.cholesky(gram, lower=True, check_finite=False)
    table = _scale_rows(_solve(shrink_root, centred), form.unit, n)
    done = "mapped and whitened" if form.gaussian else "whitened"
    name = f"{base.name} {done} {form.strength:g}"
    return WhitenedDistance(base, rate, landmarks, root, mean, shrink_root, form.unit, table, name)


def sampled_distances(geometry: KernelDistance) -> np.ndarray:
    """The squared distances of all pairs of an evenly spaced sample."""
    chosen = pick_evenly(geometry.n_samples, _MEDIAN_SAMPLES)
    return squareform(geometry.distances(chosen, chosen), checks=False)


def median_distance(geometry: KernelDistance) -> float:
    """The median squared distance between distinct samples, over an evenly spaced sample."""
    block = sampled_distances(geometry)
    least = 1e-12 * max(float(block.max(initial=0.0)), 1e-300)
    return median_of_positive(block, 1.0, least)


def hold_products(geometry: KernelDistance, run: Run) -> np.ndarray | None:
    """The inner products of all pairs, where neighbours are sought among all and rows are long."""
    table = geometry.search_table()
    is_short = isinstance(table, np.ndarray) and table.shape[1] <= _SHORT_ROWS
    if is_short or geometry.n_samples > _HELD_SAMPLES:
        return None
    return geometry.all_products(run)


def nearest_in(
    geometry: KernelDistance, k: int, run: Run, held: np.ndarray | None = None
) -> np.ndarray:
    """The k nearest other samples of each, nearest first; −1 where there are fewer.

    ``held`` are the inner products of all pairs, where they are known.
    """
    table = geometry.search_table()
    is_low = isinstance(table, np.ndarray) and table.shape[1] <= TREE_COLUMNS
    if not is_low and geometry.n_samples <= _HELD_SAMPLES:
        return geometry.compare_all(k, run, held=held)
    if table is not None:
        # Indexes work in single precision, which holds no square of 1e20.
        return nearest(recentre(table)[0], k, random_state=run.rng, run=run).indices
    announce_kernel(geometry.n_samples, geometry.name)
    return geometry.compare_all(k, run)


def nearest_among(
    geometry: KernelDistance,
    rows: np.ndarray,
    among: np.ndarray,
    k: int,
    seed: int = 0,
    run: Run | None = None,
) -> np.ndarray:
    """The k nearest of some samples among some others, itself excluded."""
    table = geometry.search_table()
    if table is None:
        return geometry.compare_all(k, run, rows, among)
    table, _ = recentre(table)
    if len(rows) <= _FEW_QUERIES and is_descended(table):
        # An index of many rows takes longer, and more memory, than a few queries among all.
        return true_neighbours(table, rows, k, run, among)
    index = build_index(table[among], k, random_state=seed, run=run)
    found = index.search(table[rows], k, np.searchsorted(among, rows), run).indices
    return np.where(found >= 0, among[found], -1)


def _squared_lengths(table: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", table, table).astype(np.float64)


def _square(products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    squared = products.astype(np.float64) * -2.0
    squared += left
    squared += right
    return np.maximum(squared, 0.0, out=squared)


def _solve(root: np.ndarray, values: np.ndarray) -> np.ndarray:
    """values · root⁻ᵀ for a lower triangular root."""
    return scipy.linalg.solve_triangular(root, values.T, lower=True, check_finite=False).T


def _scale_rows(table: np.ndarray, unit: bool, n_samples: int) -> np.ndarray:
    """Rows of length one, or columns of about unit variance."""
    if not unit:
        return np.ascontiguousarray(table * np.sqrt(n_samples))
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    return np.ascontiguousarray(table / np.where(norms > 0, norms, 1))


def _root(kernel: np.ndarray) -> np.ndarray:
    """The Cholesky factor of a kernel, with as little added to its diagonal as will do.

    Repeated samples, and fewer features than samples, make a kernel singular; samples that differ
    in their last digits only make it indefinite, since their distances are rounding errors.
    """
    unit = max(float(np.trace(kernel)) / len(kernel), 1e-300)
    added = 0.0
    for jitter in (1e-8, 1e-6, 1e-4, 1e-2, 1.0, float(len(kernel))):
        kernel.flat[:: len(kernel) + 1] += (jitter - added) * unit
        added = jitter
        try:
            return scipy.linalg.cholesky(kernel, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise InputError("X", "has samples whose distances cannot be told apart", "rescale it")


def _independent(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples whose features span those of all, and the Cholesky factor of their kernel.

    The kernel has ones on its diagonal. In few dimensions most samples add nothing to the others:
    each time the one is taken that those before leave unexplained the most, until nothing is left.
    """
    factor, order, rank, _ = dpstrf(kernel, tol=_UNEXPLAINED, lower=1)
    return order[:rank] - 1, np.tril(factor[:rank, :rank])
