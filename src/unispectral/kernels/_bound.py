"""One kernel bound to one table: raw values of blocks, neighbourhoods and pairs, normalised."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import gen_batches

from unispectral._errors import InputError
from unispectral._run import Run, map_blocks
from unispectral.kernels._features import (
    Features,
    Products,
    cross_products,
    own_products,
    require_all_pairs,
)
from unispectral.kernels._specs import Abilities, Evaluate, Kernel, Metric, dot

Index = slice | np.ndarray
EVERYTHING = slice(None)
#: Entries per row block: small enough for the cache, large enough for the vector units.
_BLOCK_ENTRIES = 2**18
#: What ``normalize=`` accepts: the unit diagonal of the paper's kernel files, centring in feature
#: space, trace n, and the largest value 1 of the paper's text.
NORMALIZATIONS = ("cosine", "center", "trace", "max")
#: Samples on which a user's function is tried.
_TRIED = 8
#: Entries of a row of a matrix are the same if they differ by so many units of rounding.
_SAME = 64.0


def rows_per_block(n_samples: int) -> int:
    """Rows of a block; the temporary arrays of all blocks are a small part of n × n numbers."""
    entries = min(_BLOCK_ENTRIES, max(2**13, n_samples**2 // 64))
    return max(1, entries // max(n_samples, 1))


def as_normalizations(normalize: str | Iterable[str] | None) -> tuple[str, ...]:
    """Turn ``normalize=`` into the names of the steps, in order."""
    if normalize is None or normalize == "none":
        return ()
    if isinstance(normalize, str):
        normalize = (normalize,)
    names = tuple(normalize)
    for name in names:
        if name not in NORMALIZATIONS:
            remedy = "use 'cosine', 'center', 'trace', 'max', 'none', or several in a tuple"
            raise InputError("normalize", "is unknown", remedy, value=name)
    return names


@dataclass
class Normalizer:
    """Steps applied to kernel entries; ``vectors`` holds each step's number per training sample.

    ``cosine`` divides by √(k(x,x) k(y,y)); ``center`` subtracts both row means and adds the grand
    mean; ``trace`` multiplies by n / trace; ``max`` divides by the largest value, which a positive
    semidefinite kernel has on its diagonal.
    """

    steps: tuple[str, ...] = ()
    vectors: list[np.ndarray] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)

    def apply(
        self, values: np.ndarray, left: list[np.ndarray], right: list[np.ndarray]
    ) -> np.ndarray:
        """Normalise entries in place, given each side's vectors shaped to broadcast."""
        for step, a, b, constant in zip(self.steps, left, right, self.constants, strict=True):
            _apply(step, values, a, b, constant)
        return values

    def vectors_of(self, raw: np.ndarray, own: np.ndarray) -> list[np.ndarray]:
        """Each step's number for m new samples, from their raw kernel (m, n) and diagonal (m,)."""
        values = raw.copy()
        diagonal = own.copy()
        found: list[np.ndarray] = []
        for step, known, constant in zip(self.steps, self.vectors, self.constants, strict=True):
            if step == "center":
                means = values.mean(axis=1, dtype=np.float64)
            else:
                means = None
            found.append(vector := _vector(step, means, diagonal))
            _apply(step, values, vector[:, None], known[None, :], constant)
            _apply(step, diagonal, vector, vector, constant)
        return found

    def add(self, step: str, means: np.ndarray | None, diagonal: np.ndarray) -> None:
        """One more step, found from means of rows and diagonal so far; the latter is updated."""
        vector = _vector(step, means, diagonal)
        constant = _constant(step, vector, diagonal)
        _apply(step, diagonal, vector, vector, constant)
        self.steps += (step,)
        self.vectors.append(vector)
        self.constants.append(constant)


def _apply(step: str, values: np.ndarray, a: np.ndarray, b: np.ndarray, constant: float) -> None:
    if step == "cosine":
        values *= a
        values *= b
    elif step == "center":
        values -= a
        values -= b
        values += values.dtype.type(constant)
    else:
        values *= values.dtype.type(constant)


def _vector(step: str, means: np.ndarray | None, diagonal: np.ndarray) -> np.ndarray:
    if step == "cosine":
        # A sample of norm zero is orthogonal to everything: its row stays zero.
        safe = np.where(diagonal > np.finfo(diagonal.dtype).tiny, diagonal, 1)
        return (1.0 / np.sqrt(safe)).astype(diagonal.dtype)
    if means is None:
        return np.ones_like(diagonal)
    return means.astype(diagonal.dtype)


def _constant(step: str, vector: np.ndarray, diagonal: np.ndarray) -> float:
    if step == "center":
        return float(vector.mean(dtype=np.float64))
    if step == "cosine":
        return 0.0
    size = 1.0
    whole = float(diagonal.max())
    if step == "trace":
        size = float(len(diagonal))
        whole = float(diagonal.sum(dtype=np.float64))
    if whole > 0:
        return size / whole
    return 1.0


#: The values as the kernel gives them.
AS_IT_IS = Normalizer()


class BoundKernel:
    """One kernel on one source of products: its raw values, then its normalisation."""

    def __init__(
        self,
        name: str,
        evaluate: Evaluate,
        features: Features,
        view: int,
        spec: Any = None,
        source: Features | None = None,
    ) -> None:
        #: The table that it was bound to, and what it evaluates, which may be something else.
        self.source = source
        self.name = name
        self.evaluate = evaluate
        self.features = features
        self.view = view
        self.spec: Kernel | None = spec
        self.abilities: Abilities = getattr(spec, "abilities", Abilities())
        self.n_samples = features.n_samples
        self.dtype = features.dtype
        self.normalizer = AS_IT_IS
        #: Whether its values are the dot products themselves, which need not be copied.
        self.is_dot = evaluate is dot

    @property
    def matrix(self) -> np.ndarray | None:
        """The kernel itself, where it came as a matrix."""
        if self.spec is None:
            return self.features.keep_gram()
        return None

    def normalize(self, steps: tuple[str, ...]) -> None:
        """Find the numbers of the steps; values that are too large are refused."""
        with np.errstate(over="ignore", invalid="ignore"):  # said in a sentence instead
            diagonal = self.diagonal()
        # No entry is larger than the diagonal; sums over all of them must be finite too.
        largest = float(np.abs(diagonal).max(initial=0.0))
        if not largest <= np.finfo(diagonal.dtype).max / max(self.n_samples, 2) ** 2 / 8:
            problem = f"has values so large that the kernel {self.name!r} overflows {self.dtype}"
            problem += f" (k(x, x) is up to {largest:.3g})"
            raise InputError("X", problem, "rescale the features or the kernel")
        if not steps:
            return
        self.is_dot = False
        self.normalizer = Normalizer()
        diagonal = diagonal.copy()
        for step in steps:
            if step == "center":
                means = self._row_means()
            else:
                means = None
            self.normalizer.add(step, means, diagonal)
        if "center" in steps and self.n_samples:
            own = self.diagonal()
            if own.min() < -1e-6 * np.abs(own).max():
                problem = f"the kernel {self.name!r} has no digits left when centred"
                problem = f"lies so far from the origin that {problem}"
                raise InputError("X", problem, "subtract the mean from the features")

    def _row_means(self) -> np.ndarray:
        means = np.empty(self.n_samples)
        for rows in gen_batches(self.n_samples, rows_per_block(self.n_samples)):
            means[rows] = self.block(rows, EVERYTHING).mean(axis=1, dtype=np.float64)
        return means

    def values(self, products: Products) -> np.ndarray:
        """Normalised values, given the products of two groups of training samples."""
        vectors = self.normalizer.vectors
        left = map(products.pick_left, vectors)
        right = map(products.pick_right, vectors)
        return self.normalizer.apply(self.evaluate(products), list(left), list(right))

    def block(self, rows: Index, cols: Index) -> np.ndarray:
        """Values between two groups of samples, to be read only."""
        if self.is_dot:
            return self.features.dots_between(rows, cols)
        return self.values(self.features.block(rows, cols))

    def around(self, rows: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values with neighbours (b, k) and among them (b, k, k), to be read only."""
        if self.is_dot:
            return self.features.dots_around(rows, neighbours)
        near, among = self.features.neighbourhoods(rows, neighbours)
        return self.values(near), self.values(among)

    def diagonal(self) -> np.ndarray:
        """The value of each sample with itself, to be read only."""
        if self.is_dot:
            return self.features.squared_norms
        return self.values(self.features.own())

    def all_values(self, run: Run | None = None) -> np.ndarray:
        """The whole kernel, assembled in blocks of rows."""
        if self.is_dot:
            return self.features.all_dots(run)
        n = self.n_samples
        require_all_pairs(n, self.dtype)
        out = np.empty((n, n), dtype=self.dtype)

        def work(rows: slice) -> None:
            out[rows] = self.block(rows, EVERYTHING)

        map_blocks(work, n, rows_per_block(n), run)
        return out

    def cross(self, X_new: object, run: Run | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Values of new samples with these, and of each with itself."""
        return self.cross_values(self.features.cross(X_new, run))

    def take(self, rows: np.ndarray) -> BoundKernel:
        """The same kernel on some of the samples."""
        if self.spec is not None:
            return self.on(Features(self.features.X[rows]))
        part = bind_matrix(self.name, self.features.keep_gram()[np.ix_(rows, rows)], self.view)
        part.normalize(self.normalizer.steps)
        return part

    def on(self, features: Features) -> BoundKernel:
        """The same kernel on another table, whose scales may be known already."""
        assert self.spec is not None, "a kernel that came as a matrix is of no table"
        other = bind(self.spec, features, self.view)
        other.normalize(self.normalizer.steps)
        return other

    def euclidean_table(self, *, exact: bool = False) -> Any:
        """A table whose Euclidean neighbours are the neighbours under this kernel, or None.

        With ``exact`` the squared distances of the table are those of the kernel, too.
        """
        promised = self.abilities.distances
        if promised is None or (exact and promised != "table"):
            return None
        # Centring a dot product leaves its distances as they are; a kernel that falls with the
        # distance has a constant diagonal, so that the other normalisations leave its order.
        if promised == "table":
            kept = {"center"}
        else:
            kept = {"cosine"}
        if not exact:
            kept |= {"trace", "max"}
        if set(self.normalizer.steps) <= kept:
            return self.features.X
        return None

    def cross_values(self, products: Products) -> tuple[np.ndarray, np.ndarray]:
        """Values, given the products of new and training samples, and of each new one."""
        assert products.new is not None
        raw = self.evaluate(products)
        own = self.evaluate(own_products(products.new))
        new = self.normalizer.vectors_of(raw, own)
        left = [v[:, None] for v in new]
        right = [v[None, :] for v in self.normalizer.vectors]
        return self.normalizer.apply(raw, left, right), self.normalizer.apply(own, new, new)


class _MetricValues(Features):
    """The values of one metric in the place of dot products, evaluated from the samples."""

    def __init__(self, spec: Metric, features: Features) -> None:
        self.X = features.X
        self.n_samples = features.n_samples
        self.dtype = features.dtype
        self.spec = spec
        if callable(spec.metric):
            self._try(self.X[:_TRIED])

    def _try(self, few: Any) -> None:
        """Refuse a function that is no kernel, by its values on a few samples."""
        name = f"the kernel {self.spec.name!r}"
        try:
            values = self._metric(few, few.copy())  # of one array scikit-learn mirrors a half
        except (ValueError, TypeError) as error:
            problem = "must give a number for two samples, each a row of X"
            raise InputError(name, problem, f"on the first samples it fails: {error}") from error
        if not np.isfinite(values).all():
            raise InputError(name, "gives NaN or infinity on the first samples")
        if not np.allclose(values, values.T, atol=1e-5 * np.abs(values).max(initial=0.0)):
            raise InputError(name, "is not symmetric: k(x, y) differs from k(y, x)")

    def _metric(self, A: object, B: object) -> np.ndarray:
        values = pairwise_kernels(A, B, metric=self.spec.metric, **self.spec.params)
        return np.ascontiguousarray(values, dtype=self.dtype)

    def _each(self, X: Any) -> np.ndarray:
        each = (X[i : i + 1] for i in range(X.shape[0]))
        return np.concatenate([self._metric(one, one)[0] for one in each])

    def dots_between(self, rows: Index, cols: Index) -> np.ndarray:
        return self._metric(self.X[rows], self.X[cols])

    def dots_around(
        self, rows: np.ndarray, neighbours: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        X = self.X
        near = [self._metric(X[[i]], X[n])[0] for i, n in zip(rows, neighbours, strict=True)]
        return np.stack(near), np.stack([self._metric(X[n], X[n]) for n in neighbours])

    def _of_pairs(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        runs = itertools.pairwise(np.flatnonzero(np.diff(left, prepend=-1, append=-1)))
        parts = [self._metric(self.X[left[[a]]], self.X[right[a:b]])[0] for a, b in runs]
        if parts:
            return np.concatenate(parts)
        return np.empty(0, dtype=self.dtype)

    @cached_property
    def squared_norms(self) -> np.ndarray:  # type: ignore[override]
        """The value of each sample with itself: its squared length in the kernel's features."""
        return self._each(self.X)

    def cross(self, X_new: object, run: Run | None = None) -> Products:
        return cross_products(
            self._metric(X_new, self.X), self.squared_norms, self._each(X_new), None
        )


class _MatrixValues(Features):
    """A kernel matrix in the place of all dot products."""

    def __init__(self, matrix: np.ndarray) -> None:
        self._gram = matrix
        self.n_samples = matrix.shape[0]
        self.dtype = matrix.dtype
        self.squared_norms = np.diagonal(matrix)

    def cross(self, X_new: object, run: Run | None = None) -> Products:
        # A cross kernel does not say k(x, x) of the new sample: of one that is a training sample
        # it is known, of others the training mean stands in, or more, where a squared distance
        # would be negative.
        rows = np.asarray(X_new, dtype=self.dtype)
        same = self._find_rows(rows)
        least = (2.0 * rows - self.squared_norms).max(axis=1)
        own = np.maximum(least, self.squared_norms.mean())
        own = np.where(same >= 0, self.squared_norms[same], own)
        return cross_products(rows, self.squared_norms, own.astype(self.dtype), None)

    def _find_rows(self, rows: np.ndarray) -> np.ndarray:
        """The training sample whose row of the matrix each of these rows is; −1 for none.

        Rows that are the same have the same product with any vector: the nearest by such a
        product is the one to compare with.
        """
        matrix = self.keep_gram()
        vector = np.random.default_rng(0).normal(size=len(matrix))
        known = matrix @ vector
        order = np.argsort(known)
        found = rows @ vector
        after = np.clip(np.searchsorted(known[order], found), 1, len(order) - 1)
        before = order[after - 1]
        after = order[after]
        same = np.where(
            np.abs(known[before] - found) < np.abs(known[after] - found), before, after
        )
        tolerance = _SAME * np.finfo(self.dtype).eps * float(np.abs(matrix).max(initial=0.0))
        return np.where(np.abs(rows - matrix[same]).max(axis=1) <= tolerance, same, -1)


def bind_matrix(name: str, matrix: np.ndarray, view: int = 0) -> BoundKernel:
    """A kernel that came as a matrix."""
    return BoundKernel(name, dot, _MatrixValues(matrix), view)


def bind(spec: Kernel, features: Features, view: int) -> BoundKernel:
    """A kernel on a table, remembering what it was made from."""
    evaluate = spec.bind(features)
    if evaluate is None:
        assert isinstance(spec, Metric)
        return BoundKernel(spec.name, dot, _MetricValues(spec, features), view, spec, features)
    return BoundKernel(spec.name, evaluate, features, view, spec, features)


def bind_table(table: object, specs: Sequence[Kernel]) -> list[BoundKernel]:
    """Kernels on one table, whose dot products they share."""
    features = Features(table)
    bound = [bind(spec, features, 0) for spec in specs]
    for kernel in bound:
        kernel.normalize(())
    return bound
