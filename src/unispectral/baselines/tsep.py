"""Graph, embedding and labels in three separate steps."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from unispectral._run import Run
from unispectral.baselines._base import NON_NEGATIVE, KernelMethod, Partition
from unispectral.baselines._kmeans import kmeans
from unispectral.baselines._spectral import graph_embedding
from unispectral.graph import codes
from unispectral.spectrum import affinity

__all__ = ["TSEP"]


class TSEP(KernelMethod):
    """Three separate steps (Kang, Peng, Cheng and Xu, AAAI 2018): graph, eigenvectors, k-means.

    The paper's own model without its coupling: the graph is learned as non-negative sparse codes
    in kernel space, then its smallest eigenvectors are found, then k-means gives the labels, and
    nothing is fed back.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : str, kernel object, callable or "precomputed", default="gaussian"
        See :func:`unispectral.kernels.as_kernel`. If precomputed, ``fit`` takes the matrix.
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple of them, default="cosine"
        Applied to the kernel.
    alpha : float, default=0.1
        The price of a coefficient: the larger, the sparser the graph.
    n_init : int, default=20
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
    objective_ : float
        Of k-means.
    n_iter_ : int
        Of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = TSEP(2, kernel="rbf", random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints = {
        **KernelMethod._parameter_constraints,
        "alpha": NON_NEGATIVE,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "gaussian",
        normalize: Any = "cosine",
        alpha: float = 0.1,
        n_init: int = 20,
        max_iter: int = 300,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernel = kernel
        self.normalize = normalize
        self.alpha = alpha
        self.n_jobs = n_jobs

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        self.graph_ = codes(data, float(self.alpha), run=run).matrix
        self.affinity_matrix_ = affinity(self.graph_)
        self.embedding_ = graph_embedding(self.affinity_matrix_, self.n_clusters, run)
        return kmeans(self.embedding_, self.n_clusters, run.rng, self.n_init, self.max_iter)
