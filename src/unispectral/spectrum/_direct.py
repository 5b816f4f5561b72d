"""Eigenvectors of graphs of low-dimensional samples: Lanczos on a sparse factorisation.

The neighbourhood graph of samples in the plane is nearly planar: put in the right order, its
Laplacian has a sparse Cholesky-like factor, and the inverse shows the smallest eigenvalues, which
are close to each other here, as large ones far apart. Some twenty products with it are enough
where the polynomial filter needs hundreds. In many dimensions the factor fills up and the filter
is faster; the profile of the reordered matrix, which costs next to nothing, tells which is which.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from unispectral.spectrum._subspace import Part, Subspace, Wanted

#: Above this many nodes the factor takes more memory than the blocks of the filter.
_MAX_NODES = 100_000
#: The mean profile of the graph of n samples in the plane is 1.5 to 2.8 times the root of n; in
#: three dimensions and more it is 3 to 8 times.
_PROFILE = 3.0
#: Added to the singular Laplacian, relative to its largest eigenvalue.
_SHIFT = 5e-6
_TOL = 1e-6
_RESTARTS = 30
#: An eigenvalue is clearly larger than another by this share.
_CLEARLY = 1e-3
#: Steps before the first look at the pair of a cut, which needs fewer than the usual 20.
_STEPS = 12


def factorises_well(W: sp.csr_array) -> bool:
    """Whether the factor of a Laplacian stays sparse, judged by the profile of the graph."""
    n = W.shape[0]
    if n > _MAX_NODES or not W.nnz:
        return False
    place = np.empty(n, dtype=np.int64)
    place[reverse_cuthill_mckee(W, symmetric_mode=True)] = np.arange(n)
    filled = np.flatnonzero(np.diff(W.indptr))
    first = np.minimum.reduceat(place[W.indices], W.indptr[filled])
    profile = np.maximum(place[filled] - first, 0).sum() / n
    return bool(profile <= _PROFILE * np.sqrt(n))


def shift_invert(part: Part, wanted: Wanted) -> Subspace | None:
    """The smallest pairs of a Laplacian beyond its null vectors.

    None where residuals stay above the tolerance times the first eigenvalue that is not wanted.
    """
    n = part.n
    count = wanted.n_pairs
    W, diagonal = part.arrays(np.dtype(np.float64))
    shift = _SHIFT * part.upper
    factor = splu(
        sp.csc_array(sp.diags_array(diagonal + shift) - W),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def off_null(x: np.ndarray) -> np.ndarray:
        return x - part.null * (part.null @ x)

    def solve(x: np.ndarray) -> np.ndarray:
        return off_null(factor.solve(x.ravel()))

    start = off_null(wanted.rng.standard_normal(n))
    inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
    settings = {"which": "LA", "maxiter": _RESTARTS}
    if count == 1:
        settings["ncv"] = min(n, _STEPS)
    try:
        _, vectors = eigsh(inverse, count + 1, v0=start, tol=_TOL, **settings)
    except ArpackNoConvergence:
        return None
    vectors = np.ascontiguousarray(vectors[:, ::-1])
    images = diagonal[:, None] * vectors - W @ vectors
    values = np.einsum("ij,ij->j", vectors, images)
    residuals = np.linalg.norm(images - vectors * values, axis=0)
    worst = float(residuals[:count].max())
    if not worst <= wanted.tol * values[count] or np.any(np.diff(values) < -residuals[1:]):
        return None
    if count > 1 and _misses(inverse, vectors, 1.0 / (values[count - 1] + shift)):
        return None
    return Subspace(
        np.maximum(values[:count], 0), vectors[:, :count], worst, vectors.astype(np.float32)
    )


def _misses(inverse: LinearOperator, vectors: np.ndarray, least: float) -> bool:
    """Whether an eigenvector off those found has an eigenvalue clearly above the least wanted.

    Lanczos from one vector may find one of several equal eigenvalues, as those of a torus.
    """
    n = len(vectors)

    def apply_off_found(x: np.ndarray) -> np.ndarray:
        image = inverse @ x
        return image - vectors @ (vectors.T @ image)

    # Drawn by a seed that nobody gives: the first start again would miss the same again.
    start = np.random.default_rng([n, 1]).standard_normal(n)
    start -= vectors @ (vectors.T @ start)
    rest = LinearOperator((n, n), matvec=apply_off_found, dtype=np.float64)
    try:
        (beyond,) = eigsh(
            rest, 1, which="LA", v0=start, ncv=min(n, _STEPS), tol=_CLEARLY, maxiter=_RESTARTS,
            return_eigenvectors=False,
        )  # fmt: skip
    except ArpackNoConvergence:
        return True
    return bool(beyond > (1.0 + 2.0 * _CLEARLY) * least)
