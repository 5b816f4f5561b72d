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

from unispectral.spectrum._subspace import Part, Subspace, Wanted, gram, turned, warn_of_residual

__all__ = ["LARGE_NODES", "multilevel"]

#: A graph of more nodes is solved with the help of coarser ones.
LARGE_NODES = 100_000
#: The coarsest graph has at most so many nodes: it is solved by LAPACK.
_COARSEST_NODES = 500
#: Steps of the smoother before and after a visit to the coarser graph, and the part of the
#: spectrum, relative to its end, above which it works.
_SMOOTHING, _SMOOTH_CUT = 3, 0.1
#: Functions that are constant on aggregates have more energy than smooth ones, so that the coarser
#: graph corrects too little; twice would make some errors grow.
_OVERCORRECTION = 1.5
#: Vectors beyond those wanted, at least: a coarser graph may know their order less well.
_SPARE = 4
#: Iterations on every graph but the finest.
_COARSE_ITERATIONS = 2
#: Rounding in single precision allows no smaller angle.
_SINGLE_TOL = 1e-3
_STUCK = 4


def multilevel(part: Part, wanted: Wanted) -> Subspace:
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
            X = _lobpcg(inverse, level, X, count, 0.0, _COARSE_ITERATIONS, rng).block
        X = inverse.prolongations[0] @ X
    else:
        X = rng.standard_normal((part.n, width), dtype=np.float32)
        used = min(width, guess.shape[1])
        X[:, :used] = guess[order, :used]
    single = max(tol, _SINGLE_TOL)
    found = _lobpcg(inverse, 0, X, count, single, max_iter, rng)
    if tol < single or not found.converged:
        X = found.block.astype(np.float64)
        found = _lobpcg(inverse, 0, X, count, tol, max_iter, rng)
    if not found.converged:
        warn_of_residual(part.n, found.residual, max_iter)
    return found._replace(block=found.block.astype(np.float32, copy=False))


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
        self.values, self.vectors = scipy.linalg.eigh(coarsest.dense(), check_finite=False)
        n_nulls = 1 if coarsest.nulls is None else coarsest.nulls.shape[1]
        self.values, self.vectors = self.values[n_nulls:], self.vectors[:, n_nulls:]
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
        X, step = self._smoothed(level, rest)
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
        X += self._smoothed(level, rest)[0]
        return X

    def _subtract_image(self, level: int, X: np.ndarray, rest: np.ndarray) -> None:
        """``rest −= L X`` in place."""
        self.parts[level].apply(X, rest, rest, scale=-1.0, keep=1.0)

    def _smoothed(self, level: int, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Some steps of Chebyshev's iteration for L X = R from zero, and the last of them.

        ``rest`` is R, and then what is left of it before the last step.
        """
        from unispectral.spectrum._products import smoothing_step

        part = self.parts[level]
        W, diagonal = part.arrays(rest.dtype)
        upper = part.upper
        lower = _SMOOTH_CUT * upper
        centre, half = (upper + lower) / 2, (upper - lower) / 2
        step = rest * np.float32(1.0 / centre)
        X = step.copy()
        rho = half / centre
        for _ in range(_SMOOTHING - 1):
            following = 1.0 / (2.0 * centre / half - rho)
            momentum, factor = following * rho, 2.0 * following / half
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
    rng: np.random.Generator,
) -> Subspace:
    """Iterations on one of the graphs, until the preconditioned residuals are below ``tol``.

    The columns of ``basis`` are the vectors, the preconditioned residuals and the last steps.
    """
    part, width = inverse.parts[level], X.shape[1]
    basis = np.zeros((part.n, 3 * width), dtype=X.dtype)
    basis[:, :width] = X
    part.off_null(basis[:, :width])
    images = np.zeros(basis.shape, dtype=X.dtype)
    least, stuck = np.inf, 0
    for _ in range(max_iter + 1):
        # Those of the vectors are made anew as well: their rounding would add up.
        added = np.ascontiguousarray(basis[:, : 2 * width])
        images[:, : 2 * width] = part.apply(added, added, np.empty_like(added))
        values = _ritz(part, basis, images, width)
        rest = images[:, :width] - basis[:, :width] * values.astype(X.dtype)
        residual = _longest(rest[:, :count])
        steps = inverse.apply(level, rest.astype(np.float32, copy=False))
        steps = part.off_null(steps.astype(X.dtype, copy=False))
        steps -= basis[:, :width] @ gram(basis[:, :width], steps, part.run).astype(X.dtype)
        basis[:, width : 2 * width] = steps
        angle = _longest(steps[:, :count])
        stuck = 0 if angle < 0.7 * least else stuck + 1
        least = min(least, angle)
        if angle <= tol or stuck >= _STUCK:
            break
    X = np.ascontiguousarray(basis[:, :width])
    return Subspace(np.maximum(values[:count], 0), X[:, :count], residual, X, angle <= tol)


def _ritz(part: Part, basis: np.ndarray, images: np.ndarray, width: int) -> np.ndarray:
    """Ritz values; vectors and last steps in place of what the basis had, and their images."""
    G, H = gram(basis, basis, part.run), gram(basis, images, part.run)
    # Vectors and last steps are orthonormal but for rounding, and stay whole; of the new
    # directions those that hardly leave the span of these would be mostly rounding.
    old = np.r_[:width, 2 * width : 3 * width]
    white = _whitened(G, np.eye(3 * width)[:, old], 0.1)
    new = np.eye(3 * width)[:, width : 2 * width]
    new = new / np.sqrt(np.maximum(np.diag(G)[width : 2 * width], np.finfo(float).tiny))
    new -= white @ (white.T @ (G @ new))
    white = np.hstack([white, _whitened(G, new, np.sqrt(np.finfo(basis.dtype).eps))])
    values, vectors = scipy.linalg.eigh(white.T @ ((H + H.T) / 2) @ white, check_finite=False)
    vectors = white @ vectors[:, :width]
    steps = vectors.copy()
    steps[:width] = 0.0
    steps -= vectors @ (vectors.T @ (G @ steps))
    steps = _whitened(G, steps, 0.0)
    mix = np.zeros((3 * width, 3 * width))
    mix[:, : vectors.shape[1]] = vectors
    mix[:, 2 * width : 2 * width + steps.shape[1]] = steps
    turned(basis, mix, part.run)
    turned(images, mix, part.run)
    return np.concatenate([values, np.full(width, values[-1])])[:width]


def _whitened(G: np.ndarray, columns: np.ndarray, limit: float) -> np.ndarray:
    """Orthonormal combinations, in the metric G, of some columns; short ones are left out."""
    sizes, turn = scipy.linalg.eigh(columns.T @ G @ columns, check_finite=False)
    kept = sizes > max(limit, np.finfo(float).eps * len(G) * max(sizes[-1], 0.0))
    return columns @ (turn[:, kept] / np.sqrt(sizes[kept]))


def _longest(X: np.ndarray) -> float:
    """The norm of the longest column."""
    return float(np.sqrt(np.square(X).sum(axis=0, dtype=np.float64).max()))
