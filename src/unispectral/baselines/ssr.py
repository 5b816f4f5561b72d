"""Simplex sparse representation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from unispectral._compat import Interval
from unispectral._run import Run
from unispectral.baselines._base import ClusteringMethod, Partition
from unispectral.baselines._kmeans import kmeans
from unispectral.baselines._spectral import graph_embedding
from unispectral.kernels._features import Features
from unispectral.spectrum import affinity

__all__ = ["SSR", "simplex_codes"]

#: Samples per block: enough work for a thread, few enough for an interrupt.
_BLOCK = 32


class SSR(ClusteringMethod):
    """Simplex sparse representation (Huang, Nie and Huang, IJCAI 2015, 3569–3575).

    Each sample is approximated by a convex combination of the others, ``min ‖x_i − Xᵀa‖²`` with
    a ≥ 0, Σ a = 1 and a_i = 0. There is no parameter to tune and the solution is sparse. The
    coefficients, made symmetric, are the graph of a spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    tol : float, default=1e-8
        Each code is optimal to ``tol`` times the mean squared distance to the other samples: for
        y = Σ a_j (x_j − x_i), no y·(x_j − x_i) is smaller than ‖y‖² by more.
    n_init : int, default=10
        Random starts of k-means.
    max_iter : int, default=300
        Iterations of one start of k-means.
    n_jobs : int or None, default=None
        Threads, as in :class:`unispectral.UnifiedSpectralClustering`.
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    graph_ : CSR array of shape (n_samples, n_samples)
        Row i is the code of sample i.
    affinity_matrix_ : CSR array of shape (n_samples, n_samples)
        The symmetric part of the graph.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the smallest eigenvectors of the unnormalised Laplacian.
    kkt_gap_ : float
        The largest violation of the conditions of optimality, in the unit of ``tol``.
    objective_ : float
        Of k-means.
    n_iter_ : int
        Of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> labels = SSR(2, random_state=0).fit_predict(X)
    >>> bool(len(set(labels[:3])) == 1 and len(set(labels[3:])) == 1)
    True
    """

    _parameter_constraints = {
        **ClusteringMethod._parameter_constraints,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        tol: float = 1e-8,
        n_init: int = 10,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.tol = tol
        self.n_jobs = n_jobs

    def _cluster(self, data: Any, run: Run) -> Partition:
        self.graph_, self.kkt_gap_ = simplex_codes(data, run, tol=self.tol)
        self.affinity_matrix_ = affinity(self.graph_)
        self.embedding_ = graph_embedding(self.affinity_matrix_, self.n_clusters, run)
        return kmeans(self.embedding_, self.n_clusters, run.rng, self.n_init, self.max_iter)


def simplex_codes(X: Any, run: Run, *, tol: float = 1e-8) -> tuple[sp.csr_array, float]:
    """The convex combination of the other samples that is nearest to each sample.

    Returns the codes, row i that of sample i, and their largest relative gap.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        Its matrix of dot products is formed once; nothing larger than n × n is.
    run : Run
    tol : float
        See :class:`SSR`.

    Examples
    --------
    >>> import numpy as np
    >>> simplex_codes(np.array([[0.0], [1.0], [4.0]]), Run.of())[0].toarray()[1].round(3).tolist()
    [0.75, 0.0, 0.25]
    """
    from unispectral.baselines import _simplex

    if not sp.issparse(X):
        # Only differences matter: about the mean, dot products lose fewer digits.
        X = np.asarray(X, dtype=np.float64)
        X = X - X.mean(axis=0)
    G = np.ascontiguousarray(Features(X.astype(np.float64)).keep_gram(run))

    def work(rows: slice) -> list[tuple[np.ndarray, np.ndarray, float]]:
        return [_simplex.simplex_code(G, i, float(tol)) for i in range(rows.start, rows.stop)]

    found = [code for part in run.map_blocks(work, G.shape[0], _BLOCK) for code in part]
    support, values, gaps = zip(*found, strict=True)
    indptr = np.cumsum([0, *map(len, support)])
    data = np.concatenate(values), np.concatenate(support), indptr
    matrix = sp.csr_array(data, shape=G.shape)
    matrix.sort_indices()
    return matrix, float(max(gaps))
