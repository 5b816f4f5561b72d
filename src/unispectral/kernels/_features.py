"""One table of samples, and the dot products and distances that all its kernels share."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from unispectral._arrays import is_far, locate, median_of_positive, pick_evenly
from unispectral._errors import InputError
from unispectral._memory import require_memory
from unispectral._run import Run, map_blocks

#: A dense array or a CSR array; the type checker does not know that they share what is used here.
Table: TypeAlias = Any

#: Up to this many samples the largest and the median distance are taken over all pairs;
#: above it, over all pairs between an evenly spaced sample and everything.
ALL_PAIRS = 20_000
_SAMPLE = 1_000
#: From this many samples on, room for a matrix of all pairs is asked for before it is taken.
_LARGE = 1_000
#: From this many samples on, their dot products are shared among the threads, so many rows a task.
_LEAST_SHARED = 1_000
_BLOCK_ROWS = 128


#: Picks, of one number for each sample, those of the samples on one side of some products.
Pick: TypeAlias = Callable[[np.ndarray], np.ndarray]


@dataclass
class Products:
    """Dot products of two groups of samples, and their squared distances once somebody asks.

    ``norms`` are the squared norms of all samples, ``new`` those of the left side where it is not
    among them; ``left`` and ``right`` are those of the two sides. ``nearby`` gives the same of the
    samples moved to the origin, where they lie far from it.
    """

    dots: np.ndarray
    pick_left: Pick
    pick_right: Pick
    norms: np.ndarray
    nearby: Callable[[], Products] | None = None
    new: np.ndarray | None = None

    @property
    def left(self) -> np.ndarray:
        if self.new is None:
            return self.pick_left(self.norms)
        return self.new[:, None]

    @property
    def right(self) -> np.ndarray:
        return self.pick_right(self.norms)

    @cached_property
    def distances(self) -> np.ndarray:
        """Squared Euclidean distances, exactly zero where the two samples are one and the same."""
        if self.nearby is not None:
            return self.nearby().distances
        squared = self.dots * self.dots.dtype.type(-2)
        squared += self.left + self.right
        np.maximum(squared, 0, out=squared)
        if self.new is None:
            numbers = np.arange(len(self.norms))
            squared[self.pick_left(numbers) == self.pick_right(numbers)] = 0
        return squared


class Features:
    """A table of samples whose dot products are computed once, or block by block.

    It is float32 or float64, dense or CSR; a sparse table is never made dense.
    """

    _gram: np.ndarray | None = None
    #: The same samples at the origin, where distances keep their digits; None if they do here.
    nearby: Features | None = None

    def __init__(self, X: Table) -> None:
        self.X = X
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        self.squared_norms = _squared_norms(X)
        self._scales: dict[str, float] = {}
        self._offset = _far_mean(X)
        if self._offset is not None:
            self.nearby = Features(self._move(X))

    def grow(self, X_new: Table) -> Features:
        """The same with further samples; what was measured on these stays as it is."""
        stack = sp.vstack if sp.issparse(self.X) else np.concatenate
        X_new = X_new.astype(self.dtype, copy=False)
        X = stack([self.X, X_new])
        if self._offset is not None:
            other = Features(X)
        else:
            # With those that are near the origin no further ones make a table that is far from it.
            other = copy(self)
            other.X = sp.csr_array(X) if sp.issparse(X) else X
            other.n_samples = X.shape[0]
            other.squared_norms = np.concatenate([self.squared_norms, _squared_norms(X_new)])
            other._gram = None
        other._scales = dict(self._scales)
        return other

    def _move(self, X: np.ndarray) -> np.ndarray:
        return (X - self._offset).astype(X.dtype, copy=False)

    @property
    def has_gram(self) -> bool:
        """Whether all dot products are held."""
        return self._gram is not None

    def keep_gram(self, run: Run | None = None) -> np.ndarray:
        """Compute all dot products now; every later block is then a look-up."""
        if self._gram is None:
            self._gram = self.all_dots(run)
        return self._gram

    def all_dots(self, run: Run | None = None) -> np.ndarray:
        """All dot products, to be read only."""
        if self._gram is not None:
            return self._gram
        require_all_pairs(self.n_samples, self.dtype)
        return _dots(self.X, self.X, run)

    def drop_gram(self) -> None:
        """Forget the dot products; blocks are computed from the samples again."""
        self._gram = None

    def dots_between(self, rows: slice | np.ndarray, cols: slice | np.ndarray) -> np.ndarray:
        """Dot products of two groups of samples, or the values that stand in their place."""
        if self._gram is None:
            return _dots(self.X[rows], self.X[cols])
        if isinstance(rows, slice) or isinstance(cols, slice):
            return self._gram[rows, cols]
        return self._gram[np.ix_(rows, cols)]

    def dots_around(
        self, rows: np.ndarray, neighbours: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same of samples with their k neighbours (b, k), and among these (b, k, k)."""
        if self._gram is not None:
            among = self._gram[neighbours[:, :, None], neighbours[:, None, :]]
            return self._gram[rows[:, None], neighbours], among
        if sp.issparse(self.X):
            b, k = neighbours.shape
            one, other = np.tril_indices(k)
            dots = self._of_pairs(neighbours[:, one].ravel(), neighbours[:, other].ravel())
            among = np.empty((b, k, k), dtype=self.dtype)
            among[:, one, other] = among[:, other, one] = dots.reshape(b, -1)
            return self._of_pairs(np.repeat(rows, k), neighbours.ravel()).reshape(b, k), among
        gathered = self.X[neighbours]
        among = gathered @ gathered.transpose(0, 2, 1)
        return np.matmul(gathered, self.X[rows][:, :, None])[:, :, 0], among

    def _of_pairs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        if self._gram is not None:
            return self._gram[left, right]
        X = self.X
        if sp.issparse(X):
            from unispectral.kernels import _loops

            ends = left.astype(np.int64, copy=False), right.astype(np.int64, copy=False)
            return _loops.sparse_pairs(X.indptr, X.indices, X.data, self.n_features, *ends)
        return np.einsum("ij,ij->i", X[left], X[right])

    def _products(
        self, dots: np.ndarray, left: Pick, right: Pick, of: Callable[[Features], Products]
    ) -> Products:
        """``of`` gives the same of the samples at the origin, where that is somewhere else."""
        if self.nearby is None:
            nearby = None
        else:
            nearby = partial(of, self.nearby)
        return Products(dots, left, right, self.squared_norms, nearby)

    def block(self, rows: slice | np.ndarray, cols: slice | np.ndarray) -> Products:
        """Products between two groups of samples given by slices or index arrays."""
        return self._products(
            self.dots_between(rows, cols),
            lambda v: v[rows][:, None],
            lambda v: v[cols][None, :],
            lambda nearby: nearby.block(rows, cols),
        )

    def neighbourhoods(
        self, rows: np.ndarray, neighbours: np.ndarray
    ) -> tuple[Products, Products]:
        """Products of samples with their k neighbours (b, k), and among these (b, k, k)."""
        to, among = self.dots_around(rows, neighbours)
        return (
            self._products(
                to, lambda v: v[rows][:, None], lambda v: v[neighbours],
                lambda nearby: nearby.neighbourhoods(rows, neighbours)[0],
            ),
            self._products(
                among, lambda v: v[neighbours, None], lambda v: v[neighbours[:, None]],
                lambda nearby: nearby.neighbourhoods(rows, neighbours)[1],
            ),
        )  # fmt: skip

    def pairs(self, left: np.ndarray, right: np.ndarray) -> Products:
        """Products of pairs of samples; quickest where equal numbers follow each other in left."""
        dots = self._of_pairs(left, right)
        of = lambda nearby: nearby.pairs(left, right)  # noqa: E731
        return self._products(dots, lambda v: v[left], lambda v: v[right], of)

    def own(self) -> Products:
        """The product of each sample with itself."""
        return own_products(self.squared_norms)

    def cross(self, X_new: Table, run: Run | None = None) -> Products:
        """Products between new samples and all of these."""
        if X_new.shape[1] != self.n_features:  # compiled code would follow it out of the table
            problem = f"has {X_new.shape[1]} features where {self.n_features} are expected"
            raise InputError("X", problem)
        nearby = None
        if self.nearby is not None:
            nearby = partial(self.nearby.cross, self._move(X_new), run)
        dots = _dots(X_new, self.X, run)
        new = _squared_norms(X_new)
        return cross_products(dots, self.squared_norms, new, nearby)

    def mean_squared_norm(self) -> float:
        return float(np.mean(self.squared_norms, dtype=np.float64))

    def squared_scale(self, kind: str) -> float:
        """The square of the largest or of the median distance between two samples."""
        if kind not in self._scales:
            distances = self._sampled_distances(kind)
            if kind == "max":
                self._scales[kind] = float(distances.max())
            else:
                self._scales[kind] = median_of_positive(distances, 0.0)
        return self._scales[kind]

    def _sampled_distances(self, kind: str) -> np.ndarray:
        n = self.n_samples
        if kind == "max" and n <= ALL_PAIRS:
            blocks = gen_batches(n, max(1, min(2**22, max(2**13, n * n // 64)) // max(n, 1)))
            return np.array([self.block(rows, slice(None)).distances.max() for rows in blocks])
        # Evenly spaced samples: the same for everyone, whatever the seed or the thread count.
        chosen = pick_evenly(n, _SAMPLE)
        if kind == "max":
            # The farthest sample from the farthest sample: within a factor of two of the largest
            # distance in theory, and next to it in practice.
            first = self.block(chosen, slice(None)).distances
            far = np.unique(first.argmax(axis=1))
            return self.block(far, slice(None)).distances.max(axis=1)
        return self.block(chosen, chosen).distances[np.triu_indices(len(chosen), 1)]


def _far_mean(X: Table) -> np.ndarray | None:
    """The mean of a table that lies far from the origin; None for others, and for sparse ones."""
    if sp.issparse(X) or not X.size:
        return None
    mean, spread = locate(X)
    if spread > 0 and is_far(mean, spread):
        return mean
    return None


def require_all_pairs(n_samples: int, dtype: np.dtype) -> None:
    """Say so, before it is tried, if a matrix of all pairs has no room."""
    if n_samples >= _LARGE:
        require_memory(
            float(n_samples) ** 2 * np.dtype(dtype).itemsize,
            f"A matrix of all pairs of {n_samples} samples",
            "use UnifiedSpectralClustering with its default kernel, which needs none, or fewer "
            "samples",
        )


def own_products(norms: np.ndarray) -> Products:
    """The product of each sample with itself: distance zero, dot product its squared norm."""
    return Products(norms, _all, _all, norms)


def cross_products(
    dots: np.ndarray, norms: np.ndarray, new: np.ndarray, nearby: Callable[[], Products] | None
) -> Products:
    """Products between new samples and all samples."""
    return Products(dots, _all, lambda v: v[None, :], norms, nearby, new)


def _all(values: np.ndarray) -> np.ndarray:
    return values


def _squared_norms(X: Table) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(X.dtype, copy=False)
    return np.einsum("ij,ij->i", X, X)


def _dots(A: Table, B: Table, run: Run | None = None) -> np.ndarray:
    if not sp.issparse(A):
        if A is B and len(A) > _LEAST_SHARED:
            return _own_dots(A, run)
        return A @ B.T
    from unispectral.kernels import _loops

    return _loops.sparse_dots(A, B, run)


def _own_dots(A: np.ndarray, run: Run | None) -> np.ndarray:
    """``A Aᵀ`` on all threads: the lower triangle in blocks of rows, then its mirror image."""
    from unispectral.kernels._loops import mirror

    out = np.empty((len(A), len(A)), dtype=A.dtype)

    def work(rows: slice) -> None:
        out[rows, : rows.stop] = A[rows] @ A[: rows.stop].T

    map_blocks(work, len(A), _BLOCK_ROWS, run)
    return mirror(out, run)
