"""Spectral clustering of a kernel, and of two sparse graphs: SC, SSR and TSEP."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._run import Run
from unispectral.baselines._base import KernelMethod, Partition, RestartedMethod
from unispectral.baselines._parameters import count, non_negative, parameter
from unispectral.baselines._spectral import laplacian_eigenvectors, unit_rows
from unispectral.graph import codes
from unispectral.kernels._features import Features
from unispectral.spectrum import affinity
from unispectral.spectrum._eigen import smallest_eigenvectors

__all__ = ["SC", "SSR", "TSEP"]

#: Samples per block: enough work for a thread, few enough for an interrupt.
_BLOCK = 32


class SC(KernelMethod):
    """Spectral clustering (Ng, Jordan and Weiss, NIPS 2001), as the paper's comparison ran it.

    The kernel itself is the affinity. The rows of the smallest eigenvectors of its unnormalised
    Laplacian are scaled to unit length and clustered by k-means.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the eigenvectors.
    eigenvalues_ : ndarray of shape (n_clusters,)

    Examples
    --------
    >>> SC(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [0, 0, 1, 1]
    """

    _definite = False

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        values, vectors = laplacian_eigenvectors(data, self.n_clusters)
        return self._kmeans(unit_rows(vectors), run, eigenvalues=values)


class _SparseGraphMethod(RestartedMethod):
    """A method that clusters the smallest eigenvectors of a sparse graph.

    Attributes
    ----------
    graph_ : CSR array of shape (n_samples, n_samples)
        Row i is the code of sample i.
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the smallest eigenvectors of the unnormalised Laplacian.
    """

    n_jobs: int | None = parameter(Integral, default=None)

    def _cut(self, graph: sp.csr_array, run: Run, **attributes: Any) -> Partition:
        W = affinity(graph)
        found = smallest_eigenvectors(W, self.n_clusters, normalized=False, tol=1e-8, run=run)
        attributes |= {"graph": graph, "affinity_matrix": W}
        return self._kmeans(unit_rows(found.vectors), run, **attributes)


class SSR(_SparseGraphMethod):
    """Simplex sparse representation (Huang, Nie and Huang, IJCAI 2015, 3569–3575).

    Each sample is approximated by a convex combination of the others, ``min ‖x_i − Xᵀa‖²`` with
    a ≥ 0, Σ a = 1 and a_i = 0. There is no parameter to tune and the solution is sparse. The
    coefficients, made symmetric, are the graph of a spectral clustering.

    Attributes
    ----------
    kkt_gap_ : float
        The largest violation of the conditions of optimality: for y = Σ a_j (x_j − x_i), by how
        much some y·(x_j − x_i) is below ‖y‖², as a share of the mean squared distance to the
        other samples.

    Examples
    --------
    >>> SSR(2).fit_predict([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def _cluster(self, data: Any, run: Run) -> Partition:
        graph, gap = simplex_codes(data, run)
        return self._cut(graph, run, kkt_gap=gap)


class TSEP(KernelMethod, _SparseGraphMethod):
    """Three separate steps (Kang, Peng, Cheng and Xu, AAAI 2018): graph, eigenvectors, k-means.

    The paper's own model without its coupling: the graph is learned as non-negative sparse codes
    in kernel space, then its smallest eigenvectors are found, then k-means gives the labels, and
    nothing is fed back.

    Parameters
    ----------
    alpha : float
        The price of a coefficient: the larger, the sparser the graph.

    Examples
    --------
    >>> TSEP(2, kernel="rbf").fit_predict([[0.0], [0.1], [5.0], [5.1]]).tolist()
    [0, 0, 1, 1]
    """

    alpha: float = non_negative(default=0.1)
    n_init: int = count(default=20)

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        return self._cut(codes(data, float(self.alpha), run=run).matrix, run)


def simplex_codes(X: Any, run: Run, *, tol: float = 1e-8) -> tuple[sp.csr_array, float]:
    """The convex combination of the other samples that is nearest to each sample.

    Returns the codes, row i that of sample i, and their largest relative gap. The matrix of dot
    products is formed once; nothing larger than n × n is.
    """
    from unispectral.baselines import _simplex

    if not sp.issparse(X):
        # Only differences matter: about the mean, dot products lose fewer digits.
        X = np.asarray(X, dtype=np.float64)
        X = X - X.mean(axis=0)
    G = np.ascontiguousarray(Features(X.astype(np.float64)).keep_gram(run))

    def work(rows: slice) -> list[tuple[np.ndarray, np.ndarray, float]]:
        return [_simplex.simplex_code(G, i, tol) for i in range(rows.start, rows.stop)]

    found = [code for part in run.map_blocks(work, G.shape[0], _BLOCK) for code in part]
    support, values, gaps = zip(*found, strict=True)
    indptr = np.cumsum([0, *map(len, support)])
    matrix = sp.csr_array((np.concatenate(values), np.concatenate(support), indptr), shape=G.shape)
    matrix.sort_indices()
    return matrix, float(max(gaps))
