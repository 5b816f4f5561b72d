"""One kernel bound to one table: raw values of blocks, neighbourhoods and pairs, normalised."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from unispectral._errors import InputError
from unispectral.kernels._features import Features, Products, own_products
from unispectral.kernels._normalize import Normalizer, fit_normalizer
from unispectral.kernels._specs import Abilities, Kernel, Metric

__all__ = [
    "EVERYTHING",
    "BoundKernel",
    "Index",
    "MatrixKernel",
    "MetricKernel",
    "ProductKernel",
    "bind",
    "rows_per_block",
]

Index = slice | np.ndarray
EVERYTHING = slice(None)
#: Entries per row block: small enough for the cache, large enough for the vector units.
_BLOCK_ENTRIES = 2**18


def rows_per_block(n_samples: int) -> int:
    """Rows of a block; the temporary arrays of all blocks are a small part of n × n numbers."""
    entries = min(_BLOCK_ENTRIES, max(2**13, n_samples**2 // 64))
    return max(1, entries // max(n_samples, 1))


class BoundKernel:
    """One kernel on one table: raw values from products or features, then its normalisation."""

    def __init__(self, name: str, n_samples: int, dtype: np.dtype, view: int) -> None:
        self.name = name
        self.view = view
        self.n_samples = n_samples
        self.dtype = dtype
        self.normalizer = Normalizer(())
        self.spec: Kernel | None = None
        self.abilities = Abilities()

    def normalize(self, steps: tuple[str, ...]) -> None:
        step = rows_per_block(self.n_samples)

        def rows() -> Iterator[tuple[slice, np.ndarray]]:
            for start in range(0, self.n_samples, step):
                block = slice(start, min(start + step, self.n_samples))
                yield block, self.raw(block, EVERYTHING, None)

        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence instead
            diagonal = self.raw_diagonal()
        self._refuse_overflow(diagonal)
        self.normalizer = fit_normalizer(steps, rows, diagonal)
        if "center" in steps and self.n_samples:
            own = self.diagonal()
            if own.min() < -1e-6 * np.abs(own).max():
                raise InputError(
                    "X",
                    f"lies so far from the origin that the kernel {self.name!r} has no digits "
                    "left when centred",
                    "subtract the mean from the features",
                )

    def _refuse_overflow(self, diagonal: np.ndarray) -> None:
        """No entry is larger than the diagonal; sums over all of them must be finite too."""
        largest = float(np.abs(diagonal).max(initial=0.0))
        if not largest <= np.finfo(diagonal.dtype).max / max(self.n_samples, 2) ** 2 / 8:
            raise InputError(
                "X",
                f"has values so large that the kernel {self.name!r} overflows {self.dtype} "
                f"(k(x, x) is up to {largest:.3g})",
                "rescale the features or the kernel",
            )

    # Raw values: one of the two families below.
    def raw(self, rows: Index, cols: Index, products: Products | None) -> np.ndarray:
        raise NotImplementedError

    def raw_diagonal(self) -> np.ndarray:
        raise NotImplementedError

    def raw_cross(self, X_new: Any, products: Products | None) -> tuple[np.ndarray, np.ndarray]:
        """Values between new and training samples, and of each new sample with itself."""
        raise NotImplementedError

    def block(self, rows: Index, cols: Index, products: Products | None) -> np.ndarray:
        vectors = self.normalizer.vectors
        return self.normalizer.apply(
            self.raw(rows, cols, products),
            [vector[rows][:, None] for vector in vectors],
            [vector[cols][None, :] for vector in vectors],
        )

    def diagonal(self) -> np.ndarray:
        vectors = self.normalizer.vectors
        return self.normalizer.apply(self.raw_diagonal(), vectors, vectors)

    def cross(self, X_new: Any, products: Products | None) -> tuple[np.ndarray, np.ndarray]:
        """Values between new and training samples, and of each new sample with itself."""
        raw, own = self.raw_cross(X_new, products)
        new = self.normalizer.vectors_of(raw, own)
        between = self.normalizer.apply(
            raw,
            [vector[:, None] for vector in new],
            [vector[None, :] for vector in self.normalizer.vectors],
        )
        return between, self.normalizer.apply(own, new, new)

    def neighbourhoods(
        self,
        rows: np.ndarray,
        neighbours: np.ndarray,
        products: tuple[Products, Products] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Values to neighbours (b, k) and among neighbours (b, k, k)."""
        near, among = self.raw_neighbourhoods(rows, neighbours, products)
        vectors = self.normalizer.vectors
        near = self.normalizer.apply(
            near, [v[rows][:, None] for v in vectors], [v[neighbours] for v in vectors]
        )
        among = self.normalizer.apply(
            among,
            [v[neighbours][:, :, None] for v in vectors],
            [v[neighbours][:, None, :] for v in vectors],
        )
        return near, among

    def raw_neighbourhoods(
        self,
        rows: np.ndarray,
        neighbours: np.ndarray,
        products: tuple[Products, Products] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        near = np.stack(
            [self.raw(rows[i : i + 1], neighbours[i], None)[0] for i in range(len(rows))]
        )
        among = np.stack([self.raw(group, group, None) for group in neighbours])
        return near, among

    def pairs(self, left: np.ndarray, right: np.ndarray, products: Products | None) -> np.ndarray:
        """Values of pairs of samples."""
        vectors = self.normalizer.vectors
        return self.normalizer.apply(
            self.raw_pairs(left, right, products),
            [vector[left] for vector in vectors],
            [vector[right] for vector in vectors],
        )

    def raw_pairs(
        self, left: np.ndarray, right: np.ndarray, products: Products | None
    ) -> np.ndarray:
        bounds = np.flatnonzero(np.diff(left, prepend=-1, append=-1))
        parts = [
            self.raw(left[a : a + 1], right[a:b], None)[0] for a, b in itertools.pairwise(bounds)
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=self.dtype)


class ProductKernel(BoundKernel):
    """A kernel that is a function of dot products and distances."""

    def __init__(
        self, name: str, evaluate: Callable[[Products], np.ndarray], features: Features, view: int
    ) -> None:
        super().__init__(name, features.n_samples, features.dtype, view)
        self.evaluate = evaluate
        self.features = features

    def raw(self, rows: Index, cols: Index, products: Products | None) -> np.ndarray:
        return self.evaluate(products or self.features.block(rows, cols))

    def raw_diagonal(self) -> np.ndarray:
        return self.evaluate(self.features.own())

    def raw_cross(self, X_new: Any, products: Products | None) -> tuple[np.ndarray, np.ndarray]:
        products = products or self.features.cross(X_new)
        return self.evaluate(products), self.evaluate(own_products(products.left[:, 0]))

    def raw_neighbourhoods(
        self,
        rows: np.ndarray,
        neighbours: np.ndarray,
        products: tuple[Products, Products] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        near, among = products or self.features.neighbourhoods(rows, neighbours)
        return self.evaluate(near), self.evaluate(among)

    def raw_pairs(
        self, left: np.ndarray, right: np.ndarray, products: Products | None
    ) -> np.ndarray:
        return self.evaluate(products or self.features.pairs(left, right))


class MetricKernel(BoundKernel):
    """A scikit-learn kernel or a function of two samples, evaluated from the features."""

    def __init__(self, spec: Metric, features: Features, view: int) -> None:
        super().__init__(spec.name, features.n_samples, features.dtype, view)
        self.spec: Metric = spec
        self.features = features

    def _pairs(self, A: Any, B: Any) -> np.ndarray:
        values = pairwise_kernels(A, B, metric=self.spec.metric, **self.spec.params)
        return np.ascontiguousarray(values, dtype=self.dtype)

    def raw(self, rows: Index, cols: Index, products: Products | None) -> np.ndarray:
        X = self.features.X
        return self._pairs(X[rows], X[cols])

    def raw_diagonal(self) -> np.ndarray:
        X = self.features.X
        return np.concatenate(
            [self._pairs(X[i : i + 1], X[i : i + 1])[0] for i in range(X.shape[0])]
        )

    def raw_cross(self, X_new: Any, products: Products | None) -> tuple[np.ndarray, np.ndarray]:
        own = [self._pairs(X_new[i : i + 1], X_new[i : i + 1])[0] for i in range(X_new.shape[0])]
        return self._pairs(X_new, self.features.X), np.concatenate(own)


class MatrixKernel(BoundKernel):
    """A kernel that came as a matrix."""

    def __init__(self, name: str, matrix: np.ndarray, view: int) -> None:
        super().__init__(name, matrix.shape[0], matrix.dtype, view)
        self.matrix = matrix

    def raw(self, rows: Index, cols: Index, products: Products | None) -> np.ndarray:
        if isinstance(rows, slice) or isinstance(cols, slice):
            return self.matrix[rows, cols].copy()
        return self.matrix[np.ix_(rows, cols)]

    def raw_diagonal(self) -> np.ndarray:
        return np.diagonal(self.matrix).copy()

    def raw_cross(self, X_new: Any, products: Products | None) -> tuple[np.ndarray, np.ndarray]:
        # A cross kernel does not say k(x, x) of the new sample: the training mean stands in.
        own = np.full(X_new.shape[0], self.raw_diagonal().mean(), dtype=self.dtype)
        return np.array(X_new, dtype=self.dtype), own

    def raw_neighbourhoods(
        self,
        rows: np.ndarray,
        neighbours: np.ndarray,
        products: tuple[Products, Products] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        near = self.matrix[rows[:, None], neighbours]
        return near, self.matrix[neighbours[:, :, None], neighbours[:, None, :]]

    def raw_pairs(
        self, left: np.ndarray, right: np.ndarray, products: Products | None
    ) -> np.ndarray:
        return self.matrix[left, right]


def bind(spec: Kernel, features: Features, view: int) -> BoundKernel:
    """A kernel on a table, remembering what it was made from."""
    evaluate = spec.bind(features)
    if evaluate is None:
        assert isinstance(spec, Metric)
        return MetricKernel(spec, features, view)
    bound = ProductKernel(spec.name, evaluate, features, view)
    bound.spec = spec
    bound.abilities = getattr(spec, "abilities", bound.abilities)
    return bound
