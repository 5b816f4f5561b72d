"""The bank: kernels bound to data, evaluated on demand from one matrix of dot products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run, map_blocks
from unispectral.kernels._bound import (
    EVERYTHING,
    BoundKernel,
    Index,
    MatrixKernel,
    ProductKernel,
    bind,
    rows_per_block,
)
from unispectral.kernels._features import Features, require_all_pairs
from unispectral.kernels._normalize import as_normalizations
from unispectral.kernels._specs import Abilities, Kernel, as_kernels
from unispectral.kernels._sums import sum_rule

__all__ = ["KernelBank"]


class KernelBank:
    """Several kernels on the same samples, computed from shared dot products on demand.

    Parameters
    ----------
    X : array, CSR array, or list of them
        One table of samples, or several views of the same samples. A view in which a sample is
        absent holds a row of NaN for it.
    kernels : see :func:`as_kernels`
        The kernels of every view.
    normalize : {"cosine", "center", "trace", "none"} or tuple
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
        X: Any,
        kernels: Any = "paper",
        *,
        normalize: str | Sequence[str] | None = "cosine",
        gram: bool = True,
        run: Run | None = None,
    ) -> None:
        tables = list(X) if isinstance(X, (list, tuple)) else [X]
        specs: tuple[Kernel, ...] = as_kernels(kernels)
        self.features: list[Features | None] = []
        self.present: list[np.ndarray | None] = []
        bound: list[BoundKernel] = []
        for view, table in enumerate(tables):
            table, present = _without_absent(table)
            features = Features(table)
            if gram:
                features.keep_gram(run)
            self.features.append(features)
            self.present.append(present)
            bound += [bind(spec, features, view) for spec in specs]
        if len(tables) > 1:
            for kernel in bound:
                kernel.name = f"view{kernel.view}:{kernel.name}"
        self._finish(bound, normalize)

    @classmethod
    def precomputed(
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
        >>> KernelBank.precomputed([np.eye(2), np.ones((2, 2))]).names
        ('kernel_0', 'kernel_1')
        """
        if isinstance(kernels, np.ndarray) and kernels.ndim == 2:
            kernels = [kernels]
        self = cls.__new__(cls)
        self.features, self.present = [None], [None]
        names = names or [f"kernel_{r}" for r in range(len(kernels))]
        bound = [MatrixKernel(name, K, 0) for name, K in zip(names, kernels, strict=True)]
        self._finish(list(bound), normalize)
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

    def take(self, r: int, rows: np.ndarray) -> KernelBank:
        """A bank of kernel ``r`` alone on some of the samples."""
        kernel = self._bound[r]
        if isinstance(kernel, MatrixKernel):
            return KernelBank.precomputed(
                kernel.matrix[np.ix_(rows, rows)], normalize=self.normalize, names=[kernel.name]
            )
        assert kernel.spec is not None
        table = kernel.features.X[rows]  # type: ignore[attr-defined]
        return KernelBank(table, [kernel.spec], normalize=self.normalize, gram=False)

    def abilities(self, r: int) -> Abilities:
        """What kernel ``r`` promises of its values."""
        return self._bound[r].abilities

    def euclidean_table(self, r: int, *, exact: bool = False) -> Any:
        """A table whose Euclidean neighbours are the neighbours under kernel ``r``, or None.

        With ``exact`` the squared distances of the table are those of the kernel, too.
        """
        kernel = self._bound[r]
        if not isinstance(kernel, ProductKernel) or self.present[kernel.view] is not None:
            return None
        steps, distances = set(self.normalize), kernel.abilities.distances
        # Centring a dot product leaves its distances as they are; a kernel that falls with the
        # distance has a constant diagonal, so that the other normalisations leave its order.
        allowed = {"table": {"center", "trace"}, "monotone": {"cosine", "trace"}}.get(distances)
        if exact:
            allowed = {"center"} if distances == "table" else None
        return kernel.features.X if allowed is not None and steps <= allowed else None

    # Values of one kernel
    def block(self, r: int, rows: Index, cols: Index) -> np.ndarray:
        """Entries of kernel ``r`` between two groups of samples."""
        return self._bound[r].block(rows, cols, None)

    def matrix(self, r: int, run: Run | None = None) -> np.ndarray:
        """The whole of kernel ``r``."""
        weights = np.zeros(len(self))
        weights[r] = 1.0
        return self.combine(weights, run)

    def diagonal(self, r: int) -> np.ndarray:
        """The diagonal of kernel ``r``; zero for a sample that its view lacks."""
        present = self.present[self._bound[r].view]
        values = self._bound[r].diagonal()
        return values if present is None else values * present

    def coverage(self, r: int) -> float:
        """The share of the samples that the view of kernel ``r`` has."""
        present = self.present[self._bound[r].view]
        return 1.0 if present is None else float(present.mean())

    def cross(self, r: int, X_new: Any) -> np.ndarray:
        """Kernel ``r`` between new samples and those of the bank.

        ``X_new`` is a table, or the kernel's own cross matrix where the bank is precomputed.
        """
        return self._bound[r].cross(X_new, None)[0]

    # Weighted sums
    def combine(self, weights: Sequence[float] | np.ndarray, run: Run | None = None) -> np.ndarray:
        """The weighted sum of all kernels, assembled in blocks of rows."""
        weights = self._weights(weights)
        n = self.n_samples
        require_all_pairs(n, self.dtype)
        out = np.empty((n, n), dtype=self.dtype)
        if self._combine_at_once(weights, out, run):
            return out

        def work(rows: slice) -> None:
            out[rows] = self.combine_block(weights, rows, EVERYTHING)

        map_blocks(work, n, rows_per_block(n), run)
        return out

    def _combine_at_once(self, weights: np.ndarray, out: np.ndarray, run: Run | None) -> bool:
        """Assemble the sum in one pass over the dot products, where its kernels allow that."""
        views = list(self._by_view(weights))
        if len(views) != 1 or len(views[0][1]) == 1:
            return False
        view, kernels = views[0]
        features = self.features[view]
        if features is None or not features.has_gram or self.present[view] is not None:
            return False
        chosen = [r for r, _ in kernels]
        found = sum_rule([kernel for _, kernel in kernels], weights[chosen])
        if found is None:
            return False
        from unispectral.kernels import _loops

        gram, norms = features.gram, features.squared_norms
        map_blocks(
            lambda rows: _loops.weighted_sum(gram, norms, rows.start, rows.stop, out, *found),
            len(out),
            rows_per_block(len(out)),
            run,
        )
        _loops.mirror(out, run)
        return True

    def combine_block(self, weights: Any, rows: Index, cols: Index) -> np.ndarray:
        """A block of the weighted sum."""
        sum_ = _WeightedSum(self.present, self._weights(weights))
        for view, kernels in self._by_view(weights):
            features = self.features[view]
            products = features.block(rows, cols) if features is not None else None
            for r, kernel in kernels:
                mask = self._mask(view, rows, cols)
                sum_.add(r, kernel.block(rows, cols, products), mask)
        return sum_.result()

    def combine_diagonal(self, weights: Any) -> np.ndarray:
        """The diagonal of the weighted sum."""
        sum_ = _WeightedSum(self.present, self._weights(weights))
        for view, kernels in self._by_view(weights):
            for r, kernel in kernels:
                sum_.add(r, kernel.diagonal(), self.present[view])
        return sum_.result()

    def combine_cross(
        self, weights: Any, X_new: Any, run: Run | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weighted sum between new samples and those of the bank, and with themselves.

        ``X_new`` is a table, or one per view, or (precomputed) one cross matrix per kernel.
        """
        between = _WeightedSum(self.present, self._weights(weights))
        own = _WeightedSum(self.present, self._weights(weights))
        several = isinstance(X_new, (list, tuple)) or getattr(X_new, "ndim", 2) == 3
        for view, kernels in self._by_view(weights):
            features, here = self.features[view], self.present[view]
            products, mask, present, table = None, None, None, X_new
            if features is not None:
                table, present = _without_absent(X_new[view] if several else X_new)
                products = features.cross(table, run)
                if present is not None or here is not None:
                    everyone = np.ones(self.n_samples, dtype=bool) if here is None else here
                    there = np.ones(table.shape[0], dtype=bool) if present is None else present
                    mask = np.outer(there, everyone)
            for r, kernel in kernels:
                given = table[r] if several and features is None else table
                values, alone = kernel.cross(given, products)
                between.add(r, values, mask)
                own.add(r, alone, present)
        return between.result(), own.result()

    def pairs(self, left: np.ndarray, right: np.ndarray) -> Iterator[np.ndarray]:
        """For each kernel in turn its values of pairs of samples; what a view lacks is zero."""
        for view, kernels in self._by_view(np.ones(len(self))):
            features, present = self.features[view], self.present[view]
            products = features.pairs(left, right) if features is not None else None
            for _, kernel in kernels:
                values = kernel.pairs(left, right, products)
                if present is not None:
                    values *= present[left] & present[right]
                yield values

    def neighbourhoods(
        self, rows: np.ndarray, neighbours: np.ndarray, weights: Any = None
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each kernel: its number, values to the neighbours (b, k), among them (b, k, k).

        Kernels of weight zero are passed over; what a view lacks is zero.
        """
        weights = np.ones(len(self)) if weights is None else self._weights(weights)
        for view, kernels in self._by_view(weights):
            features, present = self.features[view], self.present[view]
            products = features.neighbourhoods(rows, neighbours) if features is not None else None
            for r, kernel in kernels:
                near, among = kernel.neighbourhoods(rows, neighbours, products)
                if present is not None:
                    here = present[neighbours]
                    near *= present[rows][:, None] & here
                    among *= here[:, :, None] & here[:, None, :]
                yield r, near, among

    def combine_neighbourhoods(
        self, weights: Any, rows: np.ndarray, neighbours: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The weighted sum to the neighbours (b, k) and among them (b, k, k)."""
        weights = self._weights(weights)
        near_sum = _WeightedSum(self.present, weights)
        among_sum = _WeightedSum(self.present, weights)
        for r, near, among in self.neighbourhoods(rows, neighbours, weights):
            near_mask = among_mask = None
            present = self.present[self._bound[r].view]
            if present is not None:
                here = present[neighbours]
                near_mask = present[rows][:, None] & here
                among_mask = here[:, :, None] & here[:, None, :]
            near_sum.add(r, near, near_mask)
            among_sum.add(r, among, among_mask)
        return near_sum.result(), among_sum.result()

    def _weights(self, weights: Any) -> np.ndarray:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(self),):
            raise ValueError(
                f"weights has shape {weights.shape}; the bank has {len(self)} kernels."
            )
        return weights

    def _by_view(self, weights: Any) -> Iterator[tuple[int, list[tuple[int, BoundKernel]]]]:
        weights = np.asarray(weights)
        for view in range(len(self.features)):
            kernels = [
                (r, kernel)
                for r, kernel in enumerate(self._bound)
                if kernel.view == view and weights[r] != 0
            ]
            if kernels:
                yield view, kernels

    def _mask(self, view: int, rows: Index, cols: Index) -> np.ndarray | None:
        present = self.present[view]
        return None if present is None else np.outer(present[rows], present[cols])


class _WeightedSum:
    """Σ w_r K_r; where a view lacks a sample, the weights of the others are scaled up."""

    def __init__(self, present: list[np.ndarray | None], weights: np.ndarray) -> None:
        self.weights = weights
        self.masked = any(mask is not None for mask in present)
        self.total: np.ndarray | None = None
        self.share: np.ndarray | None = None

    def add(self, r: int, values: np.ndarray, mask: np.ndarray | None) -> None:
        weight = values.dtype.type(self.weights[r])
        if weight != 1:
            values *= weight
        if self.masked:
            share = np.full(values.shape, weight) if mask is None else mask * weight
            if mask is not None:
                values *= mask
            self.share = share if self.share is None else self.share + share
        if self.total is None:
            self.total = values
        else:
            self.total += values

    def result(self) -> np.ndarray:
        assert self.total is not None
        if self.share is not None:
            full = self.weights.sum()
            self.total *= np.divide(
                full, self.share, out=np.zeros_like(self.total), where=self.share > 0
            )
        return self.total


def _without_absent(table: Any) -> tuple[Any, np.ndarray | None]:
    """Replace the rows of absent samples (all NaN) by zeros, and say which are present."""
    if sp.issparse(table):
        return table, None
    absent = np.isnan(table[:, 0]) if table.shape[1] else np.zeros(table.shape[0], bool)
    if not absent.any():
        return table, None
    filled = table.copy()
    filled[absent] = 0
    return filled, ~absent
