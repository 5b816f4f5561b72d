"""Laplacians of a graph, and their smallest eigenvectors: components first, then blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from unispectral._compat import as_generator
from unispectral._run import Run, one_blas_thread
from unispectral.spectrum._direct import factorises_well, shift_invert
from unispectral.spectrum._subspace import Part, Subspace, Wanted, filter_subspace, null_vector

#: Up to this many nodes LAPACK finds the eigenvectors of a component as fast as the block method.
DENSE_NODES = 400
#: Above this share of all eigenvectors the block method has no advantage left.
_DENSE_SHARE = 0.15


def affinity(codes: sp.csr_array, transposed: sp.csr_array | None = None) -> sp.csr_array:
    """The symmetric part (Z + Zᵀ)/2 of the graph; ``transposed`` is Zᵀ where it is there already.

    Examples
    --------
    >>> affinity(sp.csr_array([[0.0, 1.0], [0.0, 0.0]])).toarray().tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    W = sp.csr_array(codes + (codes.T if transposed is None else transposed))
    W.data *= 0.5  # in place: a second graph would be the largest array of a large fit
    # SciPy reserves room for twice the edges of the codes, and keeps it.
    W.data = W.data.copy()
    W.indices = W.indices.copy()
    return W


def laplacian(W: sp.csr_array, *, normalized: bool = False) -> sp.csr_array:
    """D − W, or I − D^-½ W D^-½ where a sample without neighbours has a zero row.

    Examples
    --------
    >>> laplacian(sp.csr_array([[0.0, 2.0], [2.0, 0.0]])).toarray().tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    degrees = np.asarray(W.sum(axis=1)).ravel()
    if not normalized:
        return sp.csr_array(sp.diags_array(degrees) - W)
    roots = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    scaled = sp.diags_array(roots) @ W @ sp.diags_array(roots)
    return sp.csr_array(sp.diags_array((degrees > 0).astype(W.dtype)) - scaled)


class Eigenpairs(NamedTuple):
    """What :func:`smallest_eigenvectors` found.

    ``values`` are ascending, ``vectors`` orthonormal columns, ``residual`` is the largest
    ``‖L v − λ v‖``. Each of the ``n_components`` of the graph has its own eigenvalue zero.
    ``block`` is what a block method ended with, a little more than the vectors: the best ``start``
    for a similar graph. Where not all pairs ``converged``, a warning says so.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    n_components: int
    block: np.ndarray | None = None
    converged: bool = True


def smallest_eigenvectors(
    W: sp.csr_array,
    n_vectors: int,
    *,
    normalized: bool = True,
    tol: float = 2e-4,
    max_iter: int = 60,
    rng: int | np.random.Generator | None = 0,
    start: np.ndarray | None = None,
    run: Run | None = None,
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
    run : Run, optional
        Its threads are used; all cores without one.

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
    from unispectral.graph.quality import components

    W, degrees = _check_graph(W, n_vectors)
    n = W.shape[0]
    n_components, member = components(W)
    sizes = np.bincount(member, minlength=n_components)
    groups = np.split(np.argsort(member, kind="stable"), np.cumsum(sizes)[:-1])
    groups = [groups[component] for component in np.argsort(-sizes, kind="stable")]
    null = np.zeros(n)
    for nodes in groups[:n_vectors]:
        null[nodes] = null_vector(degrees[nodes], normalized)
    missing = n_vectors - n_components
    wanted = Wanted(missing, tol, max_iter, as_generator(rng), start)
    with one_blas_thread(run):  # the same additions in the same order, whatever the machine
        if missing <= 0:
            found = Subspace(np.zeros(0), np.zeros((n, 0)), 0.0, None)
        else:
            found = _separately(W, degrees, normalized, groups, wanted, run)
    values = np.zeros(n_vectors)
    vectors = np.zeros((n, n_vectors))
    for column, nodes in enumerate(groups[:n_vectors]):
        vectors[nodes, column] = null[nodes]
    values[n_components:] = found.values
    vectors[:, n_components:] = found.vectors
    return Eigenpairs(
        values, vectors, found.residual, int(n_components), found.block, found.converged
    )


def _check_graph(W: sp.csr_array, n_vectors: int) -> tuple[sp.csr_array, np.ndarray]:
    if not isinstance(W, sp.csr_array):
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
    return W, W @ np.ones(W.shape[0])


def _separately(
    W: sp.csr_array,
    degrees: np.ndarray,
    normalized: bool,
    groups: list[np.ndarray],
    wanted: Wanted,
    run: Run | None,
) -> Subspace:
    """The smallest pairs beyond the null vectors, component by component, the largest first."""
    from unispectral.graph.quality import cut_out

    found: list[tuple[float, np.ndarray, np.ndarray]] = []
    residual = 0.0
    converged = True
    block = None
    for nodes in groups:
        if len(nodes) < 2:
            break
        if len(groups) == 1:
            own = W
        else:
            own = cut_out(W, nodes)
        part = Part(own, degrees[nodes], normalized, run=run)
        count = min(wanted.n_pairs, len(nodes) - 1)
        pairs = _within(part, wanted._replace(n_pairs=count, order=nodes))
        residual = max(residual, pairs.residual)
        converged = converged and pairs.converged
        if pairs.block is not None:
            if block is None:
                block = np.zeros((len(degrees), pairs.block.shape[1]), dtype=np.float32)
            block[nodes, : pairs.block.shape[1]] = pairs.block[:, : block.shape[1]]
        found += [(v, nodes, pairs.vectors[:, i]) for i, v in enumerate(pairs.values)]
        found = sorted(found, key=lambda item: item[0])[: wanted.n_pairs]
    vectors = np.zeros((len(degrees), wanted.n_pairs))
    for column, (_, nodes, vector) in enumerate(found):
        vectors[nodes, column] = vector
    return Subspace(np.array([v for v, *_ in found]), vectors, residual, block, converged)


def _within(part: Part, wanted: Wanted) -> Subspace:
    """The smallest pairs of one component beyond its null vector."""
    count = wanted.n_pairs
    if part.n > DENSE_NODES and count + 8 <= _DENSE_SHARE * part.n:
        return _iterate(part, wanted)
    dense = np.diag(part.diagonal) - part.W.toarray()
    values, vectors = scipy.linalg.eigh(
        dense, subset_by_index=(0, count), driver="evr", check_finite=False
    )
    values = values[1:]
    vectors = vectors[:, 1:]
    # LAPACK returns some basis of a cluster of eigenvalues; the null vector must stay outside.
    vectors -= np.outer(part.null, part.null @ vectors)
    vectors /= np.linalg.norm(vectors, axis=0)
    rest = part.diagonal[:, None] * vectors - part.W @ vectors - vectors * values
    worst = float(np.linalg.norm(rest, axis=0).max())
    return Subspace(np.maximum(values, 0), vectors, worst, None)


def _iterate(part: Part, wanted: Wanted) -> Subspace:
    """The smallest pairs beyond the null vectors, by an iterative method."""
    if factorises_well(part.W):
        found = shift_invert(part, wanted)
        if found is not None:
            return found
    return filter_subspace(part, wanted)
