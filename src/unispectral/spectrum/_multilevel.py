"""Eigenvectors of very large graphs: LOBPCG, preconditioned by coarser and coarser graphs.

A polynomial of degree m sees m edges far, and on a million points of a curve or of a plane the
clusters are thousands of edges across. On the aggregates of the graph, on the aggregates of
these, and so on, they are not: smoothing on every level and an exact solution on the coarsest
make an approximate inverse whose quality does not depend on the size. The same graphs give the
start, from the coarsest to the finest.

The norm of the preconditioned residual tells how far a vector is off, and decides when to stop:
that of the residual itself is ruled by rounding, as the eigenvalues are of the order of 1 / n.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unispectral._run import map_blocks
from unispectral.spectrum._subspace import ROWS, Part, Subspace, Wanted, gram, warn_of_residual

#: A graph of more nodes is solved with the help of coarser ones.
LARGE_NODES = 100_000
#: The coarsest graph has at most so many nodes: it is solved by LAPACK.
_COARSEST_NODES = 500
#: Steps of the smoother before and after a visit to the coarser graph, and the part of the
#: spectrum, relative to its end, above which it works.
_SMOOTHING = 3
_SMOOTH_CUT = 0.1
#: Functions that are constant on aggregates have more energy than smooth ones, so that the coarser
#: graph corrects too little; twice would make some errors grow.
_OVERCORRECTION = 1.5
#: Vectors beyond those wanted, at least: a coarser graph may know their order less well.
_SPARE = 4
#: On the finest graph, where each is dear, fewer are enough if the last eigenvalue is that many
#: times the last one wanted. Rows of whole fours are the fastest.
_APART = 2.0
_LANES = 4
#: Iterations on every graph but the finest.
_COARSE_ITERATIONS = 2
#: Rounding in single precision allows no smaller angle.
_SINGLE_TOL = 1e-3
_STUCK = 4
#: What an iteration leaves of the angle, at least, for all that is known beforehand.
_CONTRACTION = 0.6
#: Images of the vectors are combined like these, and made anew every so many iterations: their
#: rounding would add up.
_RENEWED = 4


def solve_by_levels(part: Part, wanted: Wanted) -> Subspace:
    """The smallest pairs of a normalized Laplacian beyond its null vectors.

    The tolerance is the angle by which a vector may be off, estimated.
    """
    count, tol, max_iter, rng, guess, order = wanted
    inverse = _Inverse(part)
    width = count + max(_SPARE, count // 4)
    if guess is None:
        X = inverse.coarsest_vectors(width, rng)
        for level in range(len(inverse.parts) - 2, 0, -1):
            X = inverse.prolongations[level] @ X
            values, X = _lobpcg(inverse, level, X, width, 0.0, _COARSE_ITERATIONS)[:2]
            if level == 1:
                X = np.ascontiguousarray(X[:, : _enough(values, count)])
        X = inverse.prolongations[0] @ X
    else:
        width = max(count + 1, min(width, guess.shape[1]))
        X = rng.standard_normal((part.n, width), dtype=np.float32)
        used = min(width, guess.shape[1])
        X[:, :used] = guess[order, :used]
    single = max(tol, _SINGLE_TOL)
    found = _lobpcg(inverse, 0, X, count, single, max_iter)
    if tol < single or not found.converged:
        X = found.block.astype(np.float64)
        found = _lobpcg(inverse, 0, X, count, tol, max_iter)
    if not found.converged:
        warn_of_residual(part.n, found.residual, max_iter)
    return found._replace(block=found.block.astype(np.float32, copy=False))


def _enough(values: np.ndarray, count: int) -> int:
    """How many vectors the finest graph needs, by the eigenvalues of the one before it.

    Examples
    --------
    >>> _enough(np.array([1.0, 2.0, 9.0, 9.5, 9.6, 9.7]), 2)
    4
    >>> _enough(np.array([1.0, 2.0, 2.1, 2.2, 9.6, 9.7]), 2)
    6
    """
    fewer = -_LANES * (-(count + 1) // _LANES)
    if fewer < len(values) and values[fewer - 1] >= _APART * values[count - 1]:
        return fewer
    return len(values)


class _Inverse:
    """A graph with its coarser ones, each made of aggregates of the one before it."""

    def __init__(self, part: Part) -> None:
        self.parts = [part]
        self.prolongations: list[sp.csr_array] = []
        while self.parts[-1].n > _COARSEST_NODES:
            T, coarser = self.parts[-1].coarser()
            if coarser.n == self.parts[-1].n:
                break
            self.prolongations.append(T.astype(np.float32))
            self.parts.append(coarser)
        coarsest = self.parts[-1]
        values, vectors = scipy.linalg.eigh(coarsest.dense(), check_finite=False)
        if coarsest.nulls is None:
            n_nulls = 1
        else:
            n_nulls = coarsest.nulls.shape[1]
        self.values = values[n_nulls:]
        self.vectors = vectors[:, n_nulls:]
        scaled = self.vectors / np.maximum(self.values, 1e-12)
        self.coarsest = (scaled @ self.vectors.T).astype(np.float32)

    def coarsest_vectors(self, width: int, rng: np.random.Generator) -> np.ndarray:
        """The first eigenvectors of the coarsest graph; what it lacks is drawn."""
        X = rng.standard_normal((self.parts[-1].n, width), dtype=np.float32)
        used = min(width, self.vectors.shape[1])
        X[:, :used] = self.vectors[:, :used]
        return X

    def apply(self, level: int, R: np.ndarray) -> np.ndarray:
        """An approximate solution X of L X = R on a level: one cycle, with two coarser ones."""
        if level == len(self.parts) - 1:
            return self.coarsest @ R
        rest = R.copy()
        X, step = self._smooth_from_zero(level, rest)
        self._subtract_image(level, step, rest)
        T = self.prolongations[level]
        coarse = T.T @ rest
        below = self.apply(level + 1, coarse)
        if level + 1 < len(self.parts) - 1:
            self._subtract_image(level + 1, below, coarse)
            below += self.apply(level + 1, coarse)
        below *= np.float32(_OVERCORRECTION)
        step = T @ below
        X += step
        self._subtract_image(level, step, rest)
        X += self._smooth_from_zero(level, rest)[0]
        return X

    def _subtract_image(self, level: int, X: np.ndarray, rest: np.ndarray) -> None:
        """``rest −= L X`` in place."""
        self.parts[level].apply(X, rest, rest, scale=-1.0, keep=1.0)

    def _smooth_from_zero(self, level: int, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some steps of Chebyshev's iteration for L X = R from zero, and the last of them.

        ``rest`` is R, and then what is left of it before the last step.
        """
        from unispectral.spectrum._products import smoothing_step

        part = self.parts[level]
        W, diagonal = part.arrays(rest.dtype)
        upper = part.upper
        lower = _SMOOTH_CUT * upper
        centre = (upper + lower) / 2
        half = (upper - lower) / 2
        step = rest * np.float32(1.0 / centre)
        X = step.copy()
        rho = half / centre
        for _ in range(_SMOOTHING - 1):
            following = 1.0 / (2.0 * centre / half - rho)
            momentum = following * rho
            factor = 2.0 * following / half
            step = smoothing_step(W, diagonal, step, rest, X, momentum, factor, part.run)
            rho = following
        return X, step


def _lobpcg(
    inverse: _Inverse,
    level: int,
    X: np.ndarray,
    count: int,
    tol: float,
    max_iter: int,
) -> Subspace:
    """Iterations on one of the graphs, until the preconditioned residuals are below ``tol``.

    The columns of ``basis`` are the vectors, the last steps and the preconditioned residuals.
    Where these are expected below ``tol`` after one more iteration, that is the last.
    """
    part = inverse.parts[level]
    width = X.shape[1]
    X = part.off_null(X)
    basis, images = (np.zeros((part.n, 3 * width), dtype=X.dtype) for _ in range(2))
    basis[:, :width] = X
    images[:, :width] = _image(part, X)
    angle = least = expected = np.inf
    stuck = 0
    for iteration in range(max_iter + 1):
        part.tell(iteration)
        values, rest = _ritz(part, basis, images)
        if expected <= tol or iteration == max_iter:
            break
        if iteration % _RENEWED == _RENEWED - 1:
            images[:, :width] = _image(part, np.ascontiguousarray(basis[:, :width]))
        new = inverse.apply(level, rest.astype(np.float32, copy=False))
        new = part.off_null(new.astype(X.dtype, copy=False))
        lengths = _orthogonal(part, new, basis[:, :width])
        before = angle
        angle = float(lengths[:count].max())
        if angle < 0.7 * least:
            stuck = 0
        else:
            stuck += 1
        least = min(least, angle)
        expected = angle
        if angle <= tol or stuck >= _STUCK:
            break
        expected *= max(_CONTRACTION, angle / before)
        basis[:, 2 * width :] = new
        images[:, 2 * width :] = _image(part, new)
    residual = float(np.linalg.norm(rest[:, :count], axis=0).max())
    X = np.ascontiguousarray(basis[:, :width])
    return Subspace(np.maximum(values[:count], 0), X[:, :count], residual, X, expected <= tol)


def _image(part: Part, X: np.ndarray) -> np.ndarray:
    """``L X``."""
    return part.apply(X, X, np.empty_like(X))


def _orthogonal(part: Part, new: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Make new columns orthogonal to orthonormal ones, in place; their lengths."""
    share = gram(X, new, part.run).astype(X.dtype)

    def work(rows: slice) -> np.ndarray:
        new[rows] -= X[rows] @ share
        return np.square(new[rows]).sum(axis=0, dtype=np.float64)

    return np.sqrt(np.sum(map_blocks(work, part.n, ROWS, part.run), axis=0))


def _ritz(part: Part, basis: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ritz values and residuals; vectors and last steps, and their images, in place."""
    width = basis.shape[1] // 3

    def products(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        here = basis[rows].astype(np.float64)
        there = images[rows].astype(np.float64)
        return here.T @ here, here.T @ there

    found = map_blocks(products, part.n, ROWS, part.run)
    G, H = (np.sum(parts, axis=0) for parts in zip(*found, strict=True))
    values, mix = _combinations(G, H, width, np.sqrt(np.finfo(basis.dtype).eps))
    mix = mix.astype(basis.dtype)
    factors = values.astype(basis.dtype)
    rest = np.empty((part.n, width), dtype=basis.dtype)

    def work(rows: slice) -> None:
        here = basis[rows] @ mix
        there = images[rows] @ mix
        basis[rows, : 2 * width] = here
        images[rows, : 2 * width] = there
        rest[rows] = there[:, :width] - here[:, :width] * factors

    map_blocks(work, part.n, ROWS, part.run)
    return values, rest


def _combinations(
    G: np.ndarray, H: np.ndarray, width: int, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Ritz values, and what to make vectors and last steps of, by the products of a basis.

    ``G`` are those of the basis with itself, ``H`` with its images.
    """
    # Vectors and last steps are orthonormal but for rounding, and stay whole; of the new
    # directions those that hardly leave the span of these would be mostly rounding.
    old, new = np.split(np.eye(3 * width), [2 * width], axis=1)
    white = _whiten(G, old, 0.1)
    new = new / np.sqrt(np.maximum(np.diag(G)[2 * width :], np.finfo(float).tiny))
    new -= white @ (white.T @ (G @ new))
    white = np.hstack([white, _whiten(G, new, rounding)])
    values, vectors = scipy.linalg.eigh(white.T @ ((H + H.T) / 2) @ white, check_finite=False)
    vectors = white @ vectors[:, :width]
    steps = vectors.copy()
    steps[:width] = 0.0
    steps -= vectors @ (vectors.T @ (G @ steps))
    steps = _whiten(G, steps, 0.0)
    mix = np.zeros((3 * width, 2 * width))
    mix[:, : vectors.shape[1]] = vectors
    mix[:, width : width + steps.shape[1]] = steps
    return np.concatenate([values, np.full(width, values[-1])])[:width], mix


def _whiten(G: np.ndarray, columns: np.ndarray, limit: float) -> np.ndarray:
    """Orthonormal combinations, in the metric G, of some columns; short ones are left out."""
    sizes, turn = scipy.linalg.eigh(columns.T @ G @ columns, check_finite=False)
    kept = sizes > max(limit, np.finfo(float).eps * len(G) * max(sizes[-1], 0.0))
    return columns @ (turn[:, kept] / np.sqrt(sizes[kept]))
