"""The bank: kernels bound to data, evaluated on demand from one matrix of dot products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from unispectral._errors import InputError
from unispectral._run import Run, map_blocks
from unispectral.kernels._bound import (
    EVERYTHING,
    BoundKernel,
    Index,
    as_normalizations,
    bind,
    bind_matrix,
    rows_per_block,
)  # fmt: skip
from unispectral.kernels._features import Features, Products, require_all_pairs
from unispectral.kernels._specs import Abilities, Kernel, as_kernels
from unispectral.kernels._sums import sum_rule


class KernelBank:
    """Several kernels on the same samples, computed from shared dot products on demand.

    Parameters
    ----------
    X : array, CSR array, or list of them
        One table of samples, or several views of the same samples.
    kernels : see :func:`as_kernels`
        The kernels of every view.
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple
        Applied to each kernel, in the order given.
    gram : bool
        Keep the matrix of dot products. Without it each block is computed from the samples, and
        nothing of size n × n is ever held.
    run : Run, optional
        Its threads are used; all cores without one.

    Examples
    --------
    >>> import numpy as np
    >>> bank = KernelBank(np.eye(3), ["linear", "gaussian"])
    >>> len(bank), bank.combine([1.0, 0.0]).tolist()
    (2, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """

    def __init__(
        self,
        X: object,
        kernels: Any = "paper",
        *,
        normalize: str | Sequence[str] | None = "cosine",
        gram: bool = True,
        run: Run | None = None,
    ) -> None:
        if isinstance(X, (list, tuple)):
            tables = list(X)
        else:
            tables = [X]
        specs: tuple[Kernel, ...] = as_kernels(kernels)
        self.features: list[Features | None] = []
        bound: list[BoundKernel] = []
        for view, table in enumerate(tables):
            features = Features(table)
            if gram:
                features.keep_gram(run)
            self.features.append(features)
            bound += [bind(spec, features, view) for spec in specs]
        if len(tables) > 1:
            for kernel in bound:
                kernel.name = f"view{kernel.view}:{kernel.name}"
        self._finish(bound, normalize)

    @classmethod
    def from_matrices(
        cls,
        kernels: np.ndarray | Sequence[np.ndarray],
        *,
        normalize: str | Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ) -> KernelBank:
        """A bank of kernels that exist as matrices: one, a list, or a stack (r, n, n).

        Examples
        --------
        >>> import numpy as np
        >>> KernelBank.from_matrices([np.eye(2), np.ones((2, 2))]).names
        ('kernel_0', 'kernel_1')
        """
        if isinstance(kernels, np.ndarray) and kernels.ndim == 2:
            kernels = [kernels]
        self = cls.__new__(cls)
        self.features = [None]
        names = names or [f"kernel_{r}" for r in range(len(kernels))]
        bound = [bind_matrix(name, K) for name, K in zip(names, kernels, strict=True)]
        self._finish(bound, normalize)
        return self

    def _finish(self, bound: list[BoundKernel], normalize: Any) -> None:
        self._bound = bound
        self.normalize = as_normalizations(normalize)
        for kernel in bound:
            kernel.normalize(self.normalize)
        self.n_samples = bound[0].n_samples
        self.dtype = np.result_type(*(kernel.dtype for kernel in bound))

    def __len__(self) -> int:
        return len(self._bound)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(kernel.name for kernel in self._bound)

    @property
    def views(self) -> np.ndarray:
        """The view to which each kernel belongs."""
        return np.array([kernel.view for kernel in self._bound])

    def release(self) -> None:
        """Forget the dot products: what comes later is computed from the samples."""
        for features in self.features:
            if features is not None:
                features.drop_gram()

    def __getitem__(self, r: int) -> BoundKernel:
        """Kernel ``r`` by itself."""
        return self._bound[r]

    def abilities(self, r: int) -> Abilities:
        """What kernel ``r`` promises of its values."""
        return self._bound[r].abilities

    # Values of one kernel
    def block(self, r: int, rows: Index, cols: Index) -> np.ndarray:
        """Entries of kernel ``r`` between two groups of samples."""
        kernel = self._bound[r]
        return kernel.values(kernel.features.block(rows, cols))

    def matrix(self, r: int, run: Run | None = None) -> np.ndarray:
        """The whole of kernel ``r``."""
        return self.combine(np.eye(len(self))[r], run)

    def diagonal(self, r: int) -> np.ndarray:
        """The diagonal of kernel ``r``."""
        return self._bound[r].diagonal()

    # Weighted sums
    def combine(self, weights: Sequence[float] | np.ndarray, run: Run | None = None) -> np.ndarray:
        """The weighted sum of all kernels, assembled in blocks of rows."""
        weights = self._weights(weights)
        n = self.n_samples
        require_all_pairs(n, self.dtype)
        out = np.empty((n, n), dtype=self.dtype)
        chosen = np.flatnonzero(weights)
        rule = sum_rule([self._bound[r] for r in chosen], weights[chosen])
        if rule is None:

            def work(rows: slice) -> None:
                out[rows] = self.combine_block(weights, rows, EVERYTHING)

            map_blocks(work, n, rows_per_block(n), run)
            return out
        from unispectral.kernels import _loops

        features = self._bound[chosen[0]].features
        gram = features.keep_gram()
        norms = features.squared_norms

        def at_once(rows: slice) -> None:
            _loops.weighted_sum(gram, norms, rows.start, rows.stop, out, *rule)

        map_blocks(at_once, n, rows_per_block(n), run)
        return _loops.mirror(out, run)

    def combine_block(self, weights: object, rows: Index, cols: Index) -> np.ndarray:
        """A block of the weighted sum."""
        return self._sum_kernels(weights, lambda kernel: (kernel.features.block(rows, cols),))[0]

    def combine_diagonal(self, weights: object) -> np.ndarray:
        """The diagonal of the weighted sum."""
        return self._sum_kernels(weights, lambda kernel: (kernel.features.own(),))[0]

    def combine_neighbourhoods(
        self, weights: object, rows: np.ndarray, neighbours: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weighted sum to the neighbours (b, k) and among them (b, k, k)."""
        near, among = self._sum_kernels(
            weights, lambda kernel: kernel.features.neighbourhoods(rows, neighbours)
        )
        return near, among

    def combine_cross(
        self, weights: object, X_new: Any, run: Run | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weighted sum between new samples and those of the bank, and with themselves.

        ``X_new`` is a table, or one per view, or (precomputed) one cross matrix per kernel.
        """
        several = isinstance(X_new, (list, tuple)) or getattr(X_new, "ndim", 2) == 3

        def products(kernel: BoundKernel) -> tuple[Products]:
            if self.features[0] is None:
                place = self._bound.index(kernel)
            else:
                place = kernel.view
            return (kernel.features.cross(X_new[place] if several else X_new, run),)

        between, own = self._sum_kernels(weights, products, new=True)
        return between, own

    def pairs(self, left: np.ndarray, right: np.ndarray) -> Iterator[np.ndarray]:
        """For each kernel in turn its values of pairs of samples."""
        each = self._with_products(range(len(self)), lambda k: (k.features.pairs(left, right),))
        for _, kernel, (products,) in each:
            yield kernel.values(products)

    def _with_products(
        self, chosen: Iterable[int], find: Callable[[BoundKernel], tuple[Products, ...]]
    ) -> Iterator[tuple[int, BoundKernel, tuple[Products, ...]]]:
        """Some kernels with their products, which those of one table in a row share."""
        source: Features | None = None
        products: tuple[Products, ...] = ()
        for r in chosen:
            kernel = self._bound[r]
            if kernel.features is not source:
                source = kernel.features
                products = find(kernel)
            yield r, kernel, products

    def _sum_kernels(
        self,
        weights: object,
        find: Callable[[BoundKernel], tuple[Products, ...]],
        new: bool = False,
    ) -> list[np.ndarray]:
        """Weighted sums of what each kernel makes of its products."""
        weights = self._weights(weights)
        totals: list[np.ndarray] = []
        chosen = np.flatnonzero(weights)
        if not len(chosen):
            chosen = np.zeros(1, dtype=np.intp)  # nothing of one kernel is zero
        for r, kernel, products in self._with_products(chosen, find):
            if new:
                parts = list(kernel.cross_values(*products))
            else:
                parts = [kernel.values(one) for one in products]
            for part in parts:
                if weights[r] != 1:
                    part *= part.dtype.type(weights[r])
            for total, part in zip(totals, parts, strict=False):
                total += part
            totals = totals or parts
        return totals

    def _weights(self, weights: object) -> np.ndarray:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(self),):
            problem = f"has shape {weights.shape}, but the bank has {len(self)} kernels"
            raise InputError("weights", problem)
        return weights
