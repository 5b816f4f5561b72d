"""The smallest eigenvectors of a graph Laplacian: components first, then a block method."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from unispectral._compat import as_generator
from unispectral._threads import limit_blas, map_blocks

__all__ = ["Eigenpairs", "smallest_eigenvectors"]

#: Up to this many nodes LAPACK finds the eigenvectors of a component as fast as the block method.
DENSE_NODES = 400
#: Above this share of all eigenvectors the block method has no advantage left.
_DENSE_SHARE = 0.15
#: How much one pass of the filter strengthens what is wanted against what is not.
_GAIN = 1e4
_MAX_DEGREE = 1_500
_ROWS = 65_536


class Eigenpairs(NamedTuple):
    """What :func:`smallest_eigenvectors` found.

    Attributes
    ----------
    values : ndarray of shape (n_vectors,)
        Ascending.
    vectors : ndarray of shape (n, n_vectors)
        Orthonormal columns.
    residual : float
        The largest ``‖L v − λ v‖``.
    n_components : int
        Connected components of the graph. Each has its own eigenvalue zero.
    block : ndarray of shape (n, m) or None
        What the block method ended with, a little more than the vectors: the best ``start`` for
        a similar graph. None where something else was used.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    n_components: int
    block: np.ndarray | None = None


def smallest_eigenvectors(
    W: sp.csr_array,
    n_vectors: int,
    *,
    normalized: bool = True,
    tol: float = 2e-4,
    max_iter: int = 60,
    rng: int | np.random.Generator | None = 0,
    start: np.ndarray | None = None,
) -> Eigenpairs:
    """The smallest eigenpairs of the Laplacian of a symmetric non-negative graph.

    The graph is taken apart into connected components. Each contributes the null vector that is
    known in closed form, the largest components first; what is still missing is computed within
    the components, so that no iteration ever has to separate a multiple eigenvalue zero.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        Symmetric, non-negative. The diagonal is ignored.
    n_vectors : int
        How many, from the smallest eigenvalue on.
    normalized : bool
        ``I − D^{-1/2} W D^{-1/2}`` (nodes without edges have an empty row and eigenvalue zero),
        or ``D − W``.
    tol : float
        A pair is found when its residual is below ``tol`` times the first eigenvalue that is not
        wanted. Where the gap before it is of its own size, ``tol`` bounds the angle by which the
        subspace is off, whatever the scale of the graph.
    max_iter : int
        Passes of the filter per component.
    rng : Generator or seed
        The start of the block. The result does not depend on the number of threads.
    start : ndarray of shape (n, m), optional
        A guess, for instance the vectors of a similar graph.

    Returns
    -------
    Eigenpairs

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3))))
    >>> found = smallest_eigenvectors(W, 3)
    >>> found.n_components, found.values.round(6).tolist()
    (2, [0.0, 0.0, 1.5])
    """
    W, degrees = _checked(W, n_vectors)
    n = W.shape[0]
    rng = as_generator(rng)
    n_components, member = connected_components(W, directed=False)
    sizes = np.bincount(member, minlength=n_components)
    by_size = np.argsort(-sizes, kind="stable")
    values = np.zeros(n_vectors)
    vectors = np.zeros((n, n_vectors))
    groups = np.split(np.argsort(member, kind="stable"), np.cumsum(sizes)[:-1])
    for column, component in enumerate(by_size[:n_vectors]):
        nodes = groups[component]
        vectors[nodes, column] = _null_vector(degrees[nodes], normalized)
    if n_components >= n_vectors:
        return Eigenpairs(values, vectors, 0.0, int(n_components))

    missing = n_vectors - n_components
    found: list[tuple[float, int, np.ndarray]] = []
    residual = 0.0
    block = None
    with limit_blas(1):  # the same additions in the same order, whatever the machine
        for component in by_size:
            nodes = groups[component]
            if len(nodes) < 2:
                break
            part = _Part(
                W if n_components == 1 else W[nodes][:, nodes], degrees[nodes], normalized
            )
            guess = None if start is None else start[nodes]
            pairs = _within(part, min(missing, len(nodes) - 1), tol, max_iter, rng, guess)
            residual = max(residual, pairs.residual)
            if pairs.block is not None:
                if block is None:
                    block = np.zeros((n, pairs.block.shape[1]), dtype=np.float32)
                block[nodes, : pairs.block.shape[1]] = pairs.block[:, : block.shape[1]]
            found += [(v, component, pairs.vectors[:, i]) for i, v in enumerate(pairs.values)]
            found = sorted(found, key=lambda item: item[0])[:missing]
    for column, (value, component, vector) in enumerate(found, start=n_components):
        values[column] = value
        vectors[groups[component], column] = vector
    return Eigenpairs(values, vectors, float(residual), int(n_components), block)


def _checked(W: sp.csr_array, n_vectors: int) -> tuple[sp.csr_array, np.ndarray]:
    W = sp.csr_array(W)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"W has shape {W.shape}; a graph needs a square matrix.")
    if not 1 <= n_vectors <= W.shape[0]:
        raise ValueError(
            f"n_vectors={n_vectors} must be at least 1 and at most the {W.shape[0]} nodes."
        )
    if W.dtype not in (np.float32, np.float64):
        W = W.astype(np.float64)
    if W.nnz and not (np.isfinite(W.data).all() and W.data.min() >= 0):
        raise ValueError("W has negative or non-finite entries; an affinity needs numbers ≥ 0.")
    if W.diagonal().any():
        W = W.copy()
        W.setdiag(0)
    if W.nnz and not W.data.all():
        W = W.copy()
        W.eliminate_zeros()  # an explicit zero must not connect two components
    return W, np.asarray(W.sum(axis=1, dtype=np.float64)).ravel()


def _null_vector(degrees: np.ndarray, normalized: bool) -> np.ndarray:
    vector = np.sqrt(degrees) if normalized and degrees.any() else np.ones(len(degrees))
    return vector / np.linalg.norm(vector)


@dataclass
class _Part:
    """The Laplacian of one component, as ``diag − weights``."""

    W: sp.csr_array
    degrees: np.ndarray
    normalized: bool

    def __post_init__(self) -> None:
        self.null = _null_vector(self.degrees, self.normalized)
        if self.normalized:
            scale = 1.0 / np.sqrt(self.degrees)
            data = self.W.data * np.repeat(scale, np.diff(self.W.indptr))
            data *= scale[self.W.indices]
            self.W = sp.csr_array((data, self.W.indices, self.W.indptr), shape=self.W.shape)
            self.diagonal = np.ones(len(scale))
            self.upper = 2.0
        else:
            self.W = self.W.astype(np.float64)
            self.diagonal = self.degrees
            # Gershgorin by edges: no eigenvalue of D − W exceeds the largest dᵢ + dⱼ.
            ends = np.repeat(self.degrees, np.diff(self.W.indptr)) + self.degrees[self.W.indices]
            self.upper = float(ends.max())
        self._single: tuple[sp.csr_array, np.ndarray] | None = None

    @property
    def n(self) -> int:
        return self.W.shape[0]

    def arrays(self, dtype: np.dtype) -> tuple[sp.csr_array, np.ndarray]:
        if dtype == np.float64:
            return self.W, self.diagonal
        if self._single is None:
            self._single = (self.W.astype(np.float32), self.diagonal.astype(np.float32))
        return self._single

    def dense(self) -> np.ndarray:
        return np.diag(self.diagonal) - self.W.toarray()


def _within(
    part: _Part,
    count: int,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    guess: np.ndarray | None,
) -> Eigenpairs:
    """The ``count`` smallest pairs of one component beyond its null vector."""
    if part.n <= DENSE_NODES or count + 8 > _DENSE_SHARE * part.n:
        values, vectors = scipy.linalg.eigh(
            part.dense(), subset_by_index=(0, count), driver="evr", check_finite=False
        )
        values, vectors = values[1:], vectors[:, 1:]
        # LAPACK returns some basis of a cluster of eigenvalues; the null vector must stay outside.
        vectors -= np.outer(part.null, part.null @ vectors)
        vectors /= np.linalg.norm(vectors, axis=0)
        rest = part.diagonal[:, None] * vectors - part.W @ vectors - vectors * values
        worst = float(np.linalg.norm(rest, axis=0).max())
        return Eigenpairs(np.maximum(values, 0), vectors, worst, 1)
    return _filtered(part, count, tol, max_iter, rng, guess)


def _filtered(
    part: _Part,
    count: int,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    guess: np.ndarray | None,
) -> Eigenpairs:
    """Chebyshev-filtered subspace iteration (Zhou, Saad, Tiago and Chelikowsky 2006).

    A polynomial of the Laplacian, large on the wanted end of the spectrum and small on the rest,
    is applied to a block; Rayleigh–Ritz then gives the pairs and the next cut. Single precision
    until its rounding is what is left.
    """
    width = -4 * (-(count + max(4, count // 2)) // 4)
    X = rng.standard_normal((part.n, width)).astype(np.float32)
    if guess is not None:
        used = min(width, guess.shape[1])
        X[:, :used] = guess[:, :used]
    cut, floor = 0.2 * part.upper, 0.0
    if guess is not None and guess.shape[1] >= width:
        values, X, _ = _rayleigh_ritz(part, X, rng)
        cut = float(np.clip(values[-1], 1e-9 * part.upper, 0.9 * part.upper))
    best, stuck = np.inf, 0
    for _ in range(max_iter):
        X = _filter(part, X, cut, floor)
        values, X, residuals = _rayleigh_ritz(part, X, rng)
        # A Ritz value is never below the eigenvalue it stands for: what is wanted stays below.
        cut = float(np.clip(values[-1], 1e-9 * part.upper, 0.9 * part.upper))
        floor = float(np.clip(values[0], 0.0, 0.5 * cut))
        worst = float(residuals[:count].max())
        if worst < 0.5 * best:
            best, stuck = worst, 0
        else:
            stuck += 1
        if worst <= tol * float(values[count]):
            break
        if X.dtype == np.float32 and (worst < 1e-6 * part.upper or stuck >= 3):
            X, stuck = X.astype(np.float64), 0
    else:
        warnings.warn(
            f"The eigenvectors of a component of {part.n} nodes have residual {worst:.1e} after "
            f"{max_iter} passes, above the wanted {tol * float(values[count]):.1e}; "
            "raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    vectors = X[:, :count].astype(np.float64)
    return Eigenpairs(
        np.maximum(values[:count], 0), vectors, worst, 1, X.astype(np.float32, copy=False)
    )


def _filter(part: _Part, X: np.ndarray, cut: float, floor: float) -> np.ndarray:
    """The scaled Chebyshev polynomial that damps ``[cut, upper]``, with one pass per degree."""
    from unispectral._spmm import laplacian_step

    W, diagonal = part.arrays(X.dtype)
    half, centre = (part.upper - cut) / 2, (part.upper + cut) / 2
    rate = np.arccosh(max((centre - floor) / half, 1 + 1e-12))
    degree = int(np.clip(np.ceil(np.log(2 * _GAIN) / rate), 4, _MAX_DEGREE))
    sigma = first = half / (floor - centre)
    new = laplacian_step(
        W, diagonal, X, X, np.empty_like(X), scale=sigma / half, shift=-centre * sigma / half
    )
    for _ in range(degree - 1):
        following = 1.0 / (2.0 / first - sigma)
        factor = 2.0 * following / half
        laplacian_step(
            W,
            diagonal,
            new,
            X,
            X,
            scale=factor,
            shift=-centre * factor,
            keep=-sigma * following,
        )
        X, new, sigma = new, X, following
    return new


def _rayleigh_ritz(
    part: _Part, X: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ritz values, vectors and residuals in the span of a block, off the null vector."""
    from unispectral._spmm import laplacian_step

    W, diagonal = part.arrays(X.dtype)
    X = _whiten(_off_null(part, X), rng)
    X = _whiten(_off_null(part, X), rng)
    image = laplacian_step(W, diagonal, X, X, np.empty_like(X))
    H = _gram(X, image)
    values, turn = scipy.linalg.eigh((H + H.T) / 2, check_finite=False)
    X, image = _turned(X, turn), _turned(image, turn)
    squares = map_blocks(
        lambda rows: np.square(image[rows] - X[rows] * values.astype(X.dtype)).sum(
            axis=0, dtype=np.float64
        ),
        part.n,
        _ROWS,
    )
    return values, X, np.sqrt(np.sum(squares, axis=0))


def _off_null(part: _Part, X: np.ndarray) -> np.ndarray:
    X -= np.outer(part.null, _gram(part.null[:, None], X)[0]).astype(X.dtype)
    return X


def _whiten(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An orthonormal basis of the columns; directions that were lost are drawn anew."""
    S = _gram(X, X)
    norms = np.sqrt(np.diag(S))
    norms[norms == 0] = 1
    values, turn = scipy.linalg.eigh(S / np.outer(norms, norms), check_finite=False)
    limit = values[-1] * len(norms) * np.finfo(X.dtype).eps * 10
    lost = values < limit
    X = _turned(X, turn / norms[:, None] / np.sqrt(np.where(lost, 1, values)))
    if lost.any():
        fresh = rng.standard_normal((len(X), int(lost.sum()))).astype(X.dtype)
        X[:, lost] = fresh / np.sqrt(len(X))
    return X


def _gram(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``AᵀB`` in double precision, added up in a fixed order."""
    parts = map_blocks(
        lambda rows: A[rows].T.astype(np.float64) @ B[rows].astype(np.float64), len(A), _ROWS
    )
    return np.sum(parts, axis=0)


def _turned(X: np.ndarray, turn: np.ndarray) -> np.ndarray:
    out = np.empty((len(X), turn.shape[1]), dtype=X.dtype)
    turn = turn.astype(X.dtype)

    def work(rows: slice) -> None:
        out[rows] = X[rows] @ turn

    map_blocks(work, len(X), _ROWS)
    return out
