"""Two published rules for the number of clusters, tried beside ``n_clusters="auto"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_array

from unispectral._errors import InputError

__all__ = ["EigengapChoice", "normalized_maximum_eigengap", "relative_eigengap"]

#: Numbers of neighbours that are tried unless they are given.
_TRIED = 20


class EigengapChoice(NamedTuple):
    """A number of clusters, and what decided it.

    Attributes
    ----------
    n_clusters : int
    counts : ndarray of shape (m,)
        The numbers that were compared.
    gaps : ndarray of shape (m,)
        The gap of each; the largest decides.
    n_neighbors : int or None
        The neighbours of the graph that was taken, where that was a choice.
    tried_neighbors, ratios : ndarray of shape (t,) or None
        The numbers of neighbours that were compared, and the ratio of each; the smallest decides.
    """

    n_clusters: int
    counts: np.ndarray
    gaps: np.ndarray
    n_neighbors: int | None = None
    tried_neighbors: np.ndarray | None = None
    ratios: np.ndarray | None = None


def relative_eigengap(affinity: Any, *, max_clusters: int = 10) -> EigengapChoice:
    """The number of clusters by the relative eigengap of AutoSC.

    With λ the ascending eigenvalues of the normalised Laplacian and m the mean of the first k, the
    gap of k is (λ_(k+1) − m) / (m + 1e-6). The authors (Fan et al., A simple approach to automated
    spectral clustering, NeurIPS 2022) choose graphs for a given k by it, and so can you: the
    larger the gap, the better the graph.

    Parameters
    ----------
    affinity : array or sparse matrix of shape (n_samples, n_samples)
        Symmetric and non-negative, such as ``affinity_matrix_`` of a fitted model.
    max_clusters : int
        From 2 up to this many are compared.

    Returns
    -------
    EigengapChoice

    Examples
    --------
    >>> import numpy as np
    >>> blocks = np.kron(np.eye(3), np.ones((4, 4))) + 0.01
    >>> relative_eigengap(blocks, max_clusters=6).n_clusters
    3
    """
    W = check_array(affinity, accept_sparse=True, input_name="affinity")
    W = W.toarray() if sp.issparse(W) else np.asarray(W, dtype=np.float64)
    n = W.shape[0]
    if W.shape[1] != n or W.min() < 0.0 or not np.allclose(W, W.T, atol=1e-8 * W.max()):
        problem = f"of shape {W.shape} is not square, symmetric and non-negative"
        raise InputError("affinity", problem, "give affinity_matrix_ of a fitted model")
    counts = _counts(max_clusters, n)
    degrees = W.sum(axis=1)
    roots = 1.0 / np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    L = np.eye(n) - roots[:, None] * W * roots
    # A sample without neighbours is a component of its own.
    L[degrees == 0.0, degrees == 0.0] = 0.0
    values = scipy.linalg.eigh(L, eigvals_only=True, subset_by_index=(0, int(counts[-1])))
    means = np.cumsum(np.maximum(values, 0.0))[counts - 1] / counts
    gaps = (values[counts] - means) / (means + 1e-6)
    return EigengapChoice(int(counts[np.argmax(gaps)]), counts, gaps)


def normalized_maximum_eigengap(
    X: Any,
    *,
    max_clusters: int = 10,
    n_neighbors: Sequence[int] | None = None,
    metric: str = "cosine",
) -> EigengapChoice:
    """The number of clusters, and of neighbours, by the normalised maximum eigengap (NME).

    For each number p of neighbours the graph has edges of weight one. g is the largest gap between
    consecutive eigenvalues of its unnormalised Laplacian, divided by the largest eigenvalue; p / g
    is smallest where few neighbours show a large gap, and the position of that gap is the number
    of clusters (Park, Han, Kumar and Narayanan, IEEE Signal Processing Letters 27, 2020, 381–385).

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Each number of neighbours costs the eigenvalues of a dense matrix: give a random part of
        more than a few thousand samples.
    max_clusters : int
        Up to this many are compared. One is among them.
    n_neighbors : sequence of int or None
        The numbers to try; None is up to 20 of them, from 2 to a quarter of the samples.
    metric : str
        As in :class:`sklearn.neighbors.NearestNeighbors`; the authors use the cosine.

    Returns
    -------
    EigengapChoice

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(90, centers=[[9, 0], [0, 9], [-9, -9]], random_state=0)
    >>> normalized_maximum_eigengap(X, metric="euclidean").n_clusters
    3
    """
    X = check_array(X, accept_sparse="csr", ensure_min_samples=4)
    n = X.shape[0]
    counts = np.arange(1, int(_counts(max_clusters, n)[-1]) + 1)
    if n_neighbors is None:
        tried = np.unique(np.linspace(2, max(n // 4, 2), _TRIED).astype(int))
    else:
        tried = np.unique(np.asarray(n_neighbors, dtype=int))
    if tried.size == 0 or tried[0] < 1 or tried[-1] >= n:
        remedy = f"give numbers between 1 and {n - 1}"
        raise InputError("n_neighbors", "is empty or out of range", remedy, value=n_neighbors)
    index = NearestNeighbors(n_neighbors=int(tried[-1]), metric=metric).fit(X)
    nearest = index.kneighbors(return_distance=False)
    ratios, gaps = np.empty(len(tried)), np.empty((len(tried), len(counts)))
    for t, p in enumerate(tried):
        values = _binary_spectrum(nearest[:, :p])
        gaps[t] = np.diff(values)[: len(counts)]
        ratios[t] = p * (values[-1] + 1e-10) / max(float(gaps[t].max()), 1e-10)
    best = int(np.argmin(ratios))
    chosen = int(counts[np.argmax(gaps[best])])
    return EigengapChoice(chosen, counts, gaps[best], int(tried[best]), tried, ratios)


def _binary_spectrum(nearest: np.ndarray) -> np.ndarray:
    """The eigenvalues of L = D − (A + Aᵀ)/2, A the graph of these neighbours."""
    n = len(nearest)
    A = np.zeros((n, n))
    np.put_along_axis(A, nearest, 1.0, axis=1)
    A = 0.5 * (A + A.T)
    return np.maximum(np.linalg.eigvalsh(np.diag(A.sum(axis=1)) - A), 0.0)


def _counts(max_clusters: int, n: int) -> np.ndarray:
    """The numbers of clusters from 2 on that are looked at."""
    if max_clusters < 2 or n < 3:
        remedy = "compare at least 2 clusters, of at least 3 samples"
        raise InputError(
            "max_clusters", f"is too small for {n} samples", remedy, value=max_clusters
        )
    return np.arange(2, min(max_clusters, n - 1) + 1)
