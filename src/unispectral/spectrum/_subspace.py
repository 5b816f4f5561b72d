"""Chebyshev-filtered subspace iteration on a graph Laplacian (Zhou, Saad, Tiago et al. 2006).

A polynomial of the Laplacian, large on the wanted end of the spectrum and small on the rest, is
applied to a block; Rayleigh–Ritz then gives the pairs and the next cut. Single precision until
its rounding is what is left.

ARPACK is faster on small graphs and slower on large ones; it takes no guess from a similar graph,
and neither it nor LOBPCG, which is several times slower, shares a large graph among threads
(``python -m benchmarks.routines``).
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from unispectral._run import Run, map_blocks

#: How much one pass of the filter strengthens what is wanted against what is not.
_GAIN = 1e4
_MAX_DEGREE = 1_500
#: Rows that are added up together, and fit the cache.
ROWS = 16_384
#: Iterations on components of more nodes are reported.
_TOLD = 50_000
#: A component of more nodes is given only the gain that its residuals still ask for.
_LARGE = 3_000


class Wanted(NamedTuple):
    """How many pairs beyond the null vectors, how precise, and where to start.

    ``order`` are the rows of ``guess`` in the order of the nodes of the part.
    """

    n_pairs: int
    tol: float
    max_iter: int
    rng: np.random.Generator
    guess: np.ndarray | None = None
    order: np.ndarray | slice = slice(None)


class Subspace(NamedTuple):
    """Eigenvalues, vectors, the largest residual, and the whole block of the iteration.

    The vectors are part of the block where that is in single precision. ``converged`` tells
    whether they reached the tolerance.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    block: Any  # an array, or None where there was no iteration
    converged: bool = True


def null_vector(degrees: np.ndarray, normalized: bool) -> np.ndarray:
    """The eigenvector of eigenvalue zero of a connected graph."""
    if normalized and degrees.any():
        vector = np.sqrt(degrees)
    else:
        vector = np.ones(len(degrees))
    return vector / np.linalg.norm(vector)


class Part:
    """The Laplacian of one component with its null vector, as ``diag − W``."""

    def __init__(
        self,
        W: sp.csr_array,
        degrees: np.ndarray,
        normalized: bool,
        run: Run | None = None,
    ) -> None:
        self.n = W.shape[0]
        self.run = run
        self.null = null_vector(degrees, normalized)
        if normalized:
            scale = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
            scale = scale.astype(W.dtype, copy=False)
            data = W.data * np.repeat(scale, np.diff(W.indptr))
            data *= scale.take(W.indices)
            self.W = sp.csr_array((data, W.indices, W.indptr), shape=W.shape)
            self.diagonal = np.ones(len(scale))
            self.upper = 2.0
        else:
            self.W = W.astype(np.float64)
            self.diagonal = degrees
            # Gershgorin by edges: no eigenvalue of D − W exceeds the largest dᵢ + dⱼ.
            ends = np.repeat(degrees, np.diff(W.indptr)) + degrees[W.indices]
            self.upper = float(ends.max())
        self._single: tuple[sp.csr_array, np.ndarray] | None = None

    def tell(self, iteration: int) -> None:
        """Report an iteration to those who wait for it, if it is a long one."""
        if self.run is not None and self.n > _TOLD:
            self.run.progress("eigenvectors", iteration)

    def arrays(self, dtype: np.dtype) -> tuple[sp.csr_array, np.ndarray]:
        if dtype == self.W.dtype:
            return self.W, self.diagonal.astype(dtype, copy=False)
        if dtype == np.float64:
            self.W = self.W.astype(np.float64)
            return self.W, self.diagonal
        if self._single is None:
            self._single = (self.W.astype(np.float32), self.diagonal.astype(np.float32))
        return self._single

    def apply(
        self,
        X: np.ndarray,
        previous: np.ndarray,
        out: np.ndarray,
        *,
        scale: float = 1.0,
        shift: float = 0.0,
        keep: float = 0.0,
    ) -> np.ndarray:
        """``out = scale L X + shift X + keep · previous``, in the precision of X."""
        from unispectral.spectrum._products import laplacian_step

        W, diagonal = self.arrays(X.dtype)
        return laplacian_step(
            W, diagonal, X, previous, out, scale=scale, shift=shift, keep=keep, run=self.run
        )

    def off_null(self, X: np.ndarray) -> np.ndarray:
        """X without its share of the null vector, in place."""
        share = gram(self.null[:, None], X, self.run)
        for start in range(0, len(X), ROWS):
            rows = slice(start, start + ROWS)
            X[rows] -= (self.null[rows, None] * share).astype(X.dtype)
        return X


def filter_subspace(part: Part, wanted: Wanted) -> Subspace:
    """The smallest pairs of a Laplacian beyond its null vectors."""
    count, tol, max_iter, rng, guess, order = wanted
    width = -4 * (-(count + max(4, count // 2)) // 4)
    large = part.n > _LARGE
    if large and guess is not None:
        width = max(width, guess.shape[1])
    if large:
        X = rng.standard_normal((part.n, width), dtype=np.float32)
    else:
        X = rng.standard_normal((part.n, width)).astype(np.float32)
    if guess is not None:
        used = min(width, guess.shape[1])
        X[:, :used] = guess[order, :used]
    cut = 0.2 * part.upper
    floor = 0.0
    gain = _GAIN
    best = np.inf
    stuck = 0
    converged = True
    if guess is not None and (large or guess.shape[1] >= width):
        values, X, residuals = _rayleigh_ritz(part, X, rng)
        cut = float(np.clip(values[-1], 1e-9 * part.upper, 0.9 * part.upper))
        if large:
            best = float(residuals[:count].max())
            gain = _gain_left(best, tol * float(values[count]))
    for iteration in range(max_iter):
        part.tell(iteration)
        if gain <= 0:
            worst = best
            break
        X = _filter(part, X, cut, floor, gain)
        values, X, residuals = _rayleigh_ritz(part, X, rng)
        # A Ritz value is never below the eigenvalue it stands for: what is wanted stays below.
        cut = float(np.clip(values[-1], 1e-9 * part.upper, 0.9 * part.upper))
        floor = float(np.clip(values[0], 0.0, 0.5 * cut))
        worst = float(residuals[:count].max())
        enough = tol * float(values[count])
        if worst < 0.5 * best:
            best = worst
            stuck = 0
        else:
            stuck += 1
        if worst <= enough:
            break
        if large:
            gain = _gain_left(worst, enough)
        if X.dtype == np.float32 and (worst < 1e-6 * part.upper or stuck >= 3):
            X = X.astype(np.float64)
            stuck = 0
    else:
        converged = False
        warn_of_residual(part.n, worst, max_iter)
    return Subspace(
        np.maximum(values[:count], 0),
        X[:, :count],
        worst,
        X.astype(np.float32, copy=False),
        converged,
    )


def warn_of_residual(n: int, residual: float, max_iter: int) -> None:
    """Say that eigenvectors are not as precise as they were asked for."""
    warnings.warn(
        f"The eigenvectors of a graph of {n:,} nodes still have residual {residual:.1e} after at "
        f"most {max_iter} iterations and may cut it in the wrong place.",
        ConvergenceWarning,
        stacklevel=6,
    )


def _gain_left(worst: float, enough: float) -> float:
    """The gain that brings the residual to what is enough, with room; 0 where it is there."""
    if worst <= enough:
        return 0.0
    return float(np.clip(5.0 * worst / enough, 20.0, _GAIN))


def _filter(part: Part, X: np.ndarray, cut: float, floor: float, gain: float) -> np.ndarray:
    """The scaled Chebyshev polynomial that strengthens ``floor`` against ``[cut, upper]``."""
    half = (part.upper - cut) / 2
    centre = (part.upper + cut) / 2
    rate = np.arccosh(max((centre - floor) / half, 1 + 1e-12))
    degree = int(np.clip(np.ceil(np.log(2 * gain) / rate), 4, _MAX_DEGREE))
    sigma = first = half / (floor - centre)
    new = part.apply(X, X, np.empty_like(X), scale=sigma / half, shift=-centre * sigma / half)
    for _ in range(degree - 1):
        following = 1.0 / (2.0 / first - sigma)
        factor = 2.0 * following / half
        part.apply(new, X, X, scale=factor, shift=-centre * factor, keep=-sigma * following)
        X, new, sigma = new, X, following
    return new


def _rayleigh_ritz(
    part: Part, X: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ritz values, vectors (in place of X) and residuals in its span, off the null vector."""
    X = _whiten(part.off_null(X), rng, part.run)
    X = _whiten(part.off_null(X), rng, part.run)
    image = part.apply(X, X, np.empty_like(X))
    H = gram(X, image, part.run)
    values, turn = scipy.linalg.eigh((H + H.T) / 2, check_finite=False)
    X = _turn_in_place(X, turn, part.run)
    image = _turn_in_place(image, turn, part.run)
    squares = map_blocks(
        lambda rows: np.square(image[rows] - X[rows] * values.astype(X.dtype)).sum(
            axis=0, dtype=np.float64
        ),
        part.n,
        ROWS,
        part.run,
    )
    return values, X, np.sqrt(np.sum(squares, axis=0))


def _whiten(X: np.ndarray, rng: np.random.Generator, run: Run | None) -> np.ndarray:
    """An orthonormal basis of the columns, in place; lost directions are drawn anew."""
    S = gram(X, X, run)
    norms = np.sqrt(np.diag(S))
    norms[norms == 0] = 1
    values, turn = scipy.linalg.eigh(S / np.outer(norms, norms), check_finite=False)
    limit = values[-1] * len(norms) * np.finfo(X.dtype).eps * 10
    lost = values < limit
    X = _turn_in_place(X, turn / norms[:, None] / np.sqrt(np.where(lost, 1, values)), run)
    if lost.any():
        fresh = rng.standard_normal((len(X), int(lost.sum()))).astype(X.dtype)
        X[:, lost] = fresh / np.sqrt(len(X))
    return X


def gram(A: np.ndarray, B: np.ndarray, run: Run | None) -> np.ndarray:
    """``AᵀB`` in double precision, added up in a fixed order."""
    parts = map_blocks(
        lambda rows: A[rows].T.astype(np.float64) @ B[rows].astype(np.float64), len(A), ROWS, run
    )
    return np.sum(parts, axis=0)


def _turn_in_place(X: np.ndarray, turn: np.ndarray, run: Run | None) -> np.ndarray:
    """``X @ turn`` for a square turn, in place: a block of a large graph is large."""
    turn = turn.astype(X.dtype)

    def work(rows: slice) -> None:
        X[rows] = X[rows] @ turn

    map_blocks(work, len(X), ROWS, run)
    return X
