"""One kernel bound to one table: raw values of blocks, neighbourhoods and pairs, normalised."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from unispectral._errors import InputError
from unispectral._run import Run
from unispectral.kernels._features import Features, Products, own_products
from unispectral.kernels._normalize import Normalizer, fit_normalizer
from unispectral.kernels._specs import Abilities, Evaluate, Kernel, Metric, dot

__all__ = ["EVERYTHING", "BoundKernel", "Index", "MatrixKernel", "bind", "rows_per_block"]

Index = slice | np.ndarray
EVERYTHING = slice(None)
#: Entries per row block: small enough for the cache, large enough for the vector units.
_BLOCK_ENTRIES = 2**18


def rows_per_block(n_samples: int) -> int:
    """Rows of a block; the temporary arrays of all blocks are a small part of n × n numbers."""
    entries = min(_BLOCK_ENTRIES, max(2**13, n_samples**2 // 64))
    return max(1, entries // max(n_samples, 1))


class BoundKernel:
    """One kernel on one source of products: its raw values, then its normalisation."""

    def __init__(
        self, name: str, evaluate: Evaluate, features: Features, view: int, spec: Any = None
    ) -> None:
        self.name = name
        self.evaluate = evaluate
        self.features = features
        self.view = view
        self.spec: Kernel | None = spec
        self.abilities: Abilities = getattr(spec, "abilities", Abilities())
        self.n_samples, self.dtype = features.n_samples, features.dtype
        self.normalizer = Normalizer(())

    def normalize(self, steps: tuple[str, ...]) -> None:
        step = rows_per_block(self.n_samples)

        def rows() -> Iterator[tuple[slice, np.ndarray]]:
            for start in range(0, self.n_samples, step):
                block = slice(start, min(start + step, self.n_samples))
                yield block, self.evaluate(self.features.block(block, EVERYTHING))

        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence instead
            diagonal = self.evaluate(self.features.own())
        self._refuse_overflow(diagonal)
        self.normalizer = fit_normalizer(steps, rows, diagonal)
        if "center" in steps and self.n_samples:
            own = self.diagonal()
            if own.min() < -1e-6 * np.abs(own).max():
                problem = f"the kernel {self.name!r} has no digits left when centred"
                problem = f"lies so far from the origin that {problem}"
                raise InputError("X", problem, "subtract the mean from the features")

    def _refuse_overflow(self, diagonal: np.ndarray) -> None:
        """No entry is larger than the diagonal; sums over all of them must be finite too."""
        largest = float(np.abs(diagonal).max(initial=0.0))
        if not largest <= np.finfo(diagonal.dtype).max / max(self.n_samples, 2) ** 2 / 8:
            problem = f"has values so large that the kernel {self.name!r} overflows {self.dtype}"
            problem += f" (k(x, x) is up to {largest:.3g})"
            raise InputError("X", problem, "rescale the features or the kernel")

    def _values(
        self,
        products: Products,
        left: Callable[[np.ndarray], np.ndarray],
        right: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Normalised values; ``left`` and ``right`` pick the numbers of the samples of a side."""
        vectors = self.normalizer.vectors
        return self.normalizer.apply(
            self.evaluate(products), [left(v) for v in vectors], [right(v) for v in vectors]
        )

    def block(self, rows: Index, cols: Index, products: Products | None = None) -> np.ndarray:
        """Values between two groups of samples."""
        products = products or self.features.block(rows, cols)
        return self._values(products, lambda v: v[rows][:, None], lambda v: v[cols][None, :])

    def diagonal(self) -> np.ndarray:
        return self._values(self.features.own(), lambda v: v, lambda v: v)

    def cross(self, products: Products) -> tuple[np.ndarray, np.ndarray]:
        """Values between new and training samples, and of each new sample with itself."""
        raw, own = self.evaluate(products), self.evaluate(own_products(products.left[:, 0]))
        new = self.normalizer.vectors_of(raw, own)
        left, right = [v[:, None] for v in new], [v[None, :] for v in self.normalizer.vectors]
        return self.normalizer.apply(raw, left, right), self.normalizer.apply(own, new, new)

    def neighbourhoods(
        self, rows: np.ndarray, neighbours: np.ndarray, products: tuple[Products, Products]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values to neighbours (b, k) and among neighbours (b, k, k)."""
        to, among = products
        return (
            self._values(to, lambda v: v[rows][:, None], lambda v: v[neighbours]),
            self._values(among, lambda v: v[neighbours, None], lambda v: v[neighbours[:, None]]),
        )

    def pairs(self, left: np.ndarray, right: np.ndarray, products: Products) -> np.ndarray:
        """Values of pairs of samples."""
        return self._values(products, lambda v: v[left], lambda v: v[right])


class _MetricValues(Features):
    """The values of one metric in the place of dot products, evaluated from the samples."""

    def __init__(self, spec: Metric, features: Features) -> None:
        self.X = features.X
        self.n_samples, self.dtype = features.n_samples, features.dtype
        self.spec = spec

    def _between(self, A: Any, B: Any) -> np.ndarray:
        values = pairwise_kernels(A, B, metric=self.spec.metric, **self.spec.params)
        return np.ascontiguousarray(values, dtype=self.dtype)

    def _own(self, X: Any) -> np.ndarray:
        each = (X[i : i + 1] for i in range(X.shape[0]))
        return np.concatenate([self._between(one, one)[0] for one in each])

    def block(self, rows: Index, cols: Index) -> Products:
        return _entries(self._between(self.X[rows], self.X[cols]))

    def own(self) -> Products:
        return own_products(self._own(self.X))

    def cross(self, X_new: Any, run: Run | None = None) -> Products:
        own = self._own(X_new)[:, None]
        return Products(self._between(X_new, self.X), own, own)

    def neighbourhoods(
        self, rows: np.ndarray, neighbours: np.ndarray
    ) -> tuple[Products, Products]:
        X, numbers = self.X, range(len(rows))
        near = [self._between(X[rows[i : i + 1]], X[neighbours[i]])[0] for i in numbers]
        among = [self._between(X[group], X[group]) for group in neighbours]
        return _entries(np.stack(near)), _entries(np.stack(among))

    def pairs(self, left: np.ndarray, right: np.ndarray) -> Products:
        runs = itertools.pairwise(np.flatnonzero(np.diff(left, prepend=-1, append=-1)))
        parts = [self._between(self.X[left[[a]]], self.X[right[a:b]])[0] for a, b in runs]
        return _entries(np.concatenate(parts) if parts else np.empty(0, dtype=self.dtype))


class _MatrixValues(Features):
    """A kernel matrix in the place of all dot products."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._gram = matrix
        self.n_samples, self.dtype = matrix.shape[0], matrix.dtype
        self.squared_norms = np.diagonal(matrix)

    def cross(self, X_new: Any, run: Run | None = None) -> Products:
        # A cross kernel does not say k(x, x) of the new sample: the training mean stands in.
        own = np.full((X_new.shape[0], 1), self.squared_norms.mean(), dtype=self.dtype)
        return Products(np.asarray(X_new, dtype=self.dtype), own, self.squared_norms)


def _entries(values: np.ndarray) -> Products:
    return Products(values, values, values)


class MatrixKernel(BoundKernel):
    """A kernel that came as a matrix."""

    def __init__(self, name: str, matrix: np.ndarray, view: int) -> None:
        super().__init__(name, dot, _MatrixValues(matrix), view)
        self.matrix = matrix


def bind(spec: Kernel, features: Features, view: int) -> BoundKernel:
    """A kernel on a table, remembering what it was made from."""
    evaluate = spec.bind(features)
    if evaluate is None:
        assert isinstance(spec, Metric)
        return BoundKernel(spec.name, dot, _MetricValues(spec, features), view, spec)
    return BoundKernel(spec.name, evaluate, features, view, spec)
