"""Affinities of a graph, and its Laplacians."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

__all__ = ["affinity", "laplacian"]


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
    W.data, W.indices = W.data.copy(), W.indices.copy()
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
