"""One kernel bound to one table: raw values of blocks, neighbourhoods and pairs, normalised."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from unispectral._errors import InputError
from unispectral._run import Run
from unispectral.kernels._features import Features, Products, crossed, own_products
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

    def values(self, products: Products) -> np.ndarray:
        """Normalised values, given the products of two groups of training samples."""
        vectors = self.normalizer.vectors
        left, right = map(products.pick_left, vectors), map(products.pick_right, vectors)
        return self.normalizer.apply(self.evaluate(products), list(left), list(right))

    def block(self, rows: Index, cols: Index) -> np.ndarray:
        """Values between two groups of samples."""
        return self.values(self.features.block(rows, cols))

    def diagonal(self) -> np.ndarray:
        return self.values(self.features.own())

    def cross(self, products: Products) -> tuple[np.ndarray, np.ndarray]:
        """Values between new and training samples, and of each new sample with itself."""
        assert products.new is not None
        raw, own = self.evaluate(products), self.evaluate(own_products(products.new))
        new = self.normalizer.vectors_of(raw, own)
        left, right = [v[:, None] for v in new], [v[None, :] for v in self.normalizer.vectors]
        return self.normalizer.apply(raw, left, right), self.normalizer.apply(own, new, new)


class _MetricValues(Features):
    """The values of one metric in the place of dot products, evaluated from the samples."""

    squared_norms = np.empty(0)  # of which nobody asks for distances

    def __init__(self, spec: Metric, features: Features) -> None:
        self.X = features.X
        self.n_samples, self.dtype = features.n_samples, features.dtype
        self.spec = spec

    def _metric(self, A: Any, B: Any) -> np.ndarray:
        values = pairwise_kernels(A, B, metric=self.spec.metric, **self.spec.params)
        return np.ascontiguousarray(values, dtype=self.dtype)

    def _each(self, X: Any) -> np.ndarray:
        each = (X[i : i + 1] for i in range(X.shape[0]))
        return np.concatenate([self._metric(one, one)[0] for one in each])

    def _between(self, rows: Index, cols: Index) -> np.ndarray:
        return self._metric(self.X[rows], self.X[cols])

    def _around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X = self.X
        near = [self._metric(X[[i]], X[n])[0] for i, n in zip(rows, neighbours, strict=True)]
        return np.stack(near), np.stack([self._metric(X[n], X[n]) for n in neighbours])

    def _of_pairs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        runs = itertools.pairwise(np.flatnonzero(np.diff(left, prepend=-1, append=-1)))
        parts = [self._metric(self.X[left[[a]]], self.X[right[a:b]])[0] for a, b in runs]
        return np.concatenate(parts) if parts else np.empty(0, dtype=self.dtype)

    def own(self) -> Products:
        return own_products(self._each(self.X))

    def cross(self, X_new: Any, run: Run | None = None) -> Products:
        return crossed(self._metric(X_new, self.X), self.squared_norms, self._each(X_new), None)


class _MatrixValues(Features):
    """A kernel matrix in the place of all dot products."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._gram = matrix
        self.n_samples, self.dtype = matrix.shape[0], matrix.dtype
        self.squared_norms = np.diagonal(matrix)

    def cross(self, X_new: Any, run: Run | None = None) -> Products:
        # A cross kernel does not say k(x, x) of the new sample: the training mean stands in.
        new = np.full(X_new.shape[0], self.squared_norms.mean(), dtype=self.dtype)
        return crossed(np.asarray(X_new, dtype=self.dtype), self.squared_norms, new, None)


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
