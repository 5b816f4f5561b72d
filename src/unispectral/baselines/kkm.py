"""Kernel k-means."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from unispectral._run import Run
from unispectral.baselines._base import KernelMethod, Partition

__all__ = ["KKM", "kernel_kmeans", "lloyd"]


class KKM(KernelMethod):
    """Kernel k-means (Schölkopf, Smola and Müller, Neural Computation 10, 1998, 1299–1319).

    Lloyd's algorithm in the feature space of a kernel: centres are means of the mapped samples,
    each sample goes to its nearest centre. Starts at random samples, keeps the best of ``n_init``.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : str, kernel object, callable or "precomputed", default="gaussian"
        See :func:`unispectral.kernels.as_kernel`. If precomputed, ``fit`` takes the matrix.
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple of them, default="cosine"
        Applied to the kernel.
    n_init : int, default=10
        Random starts.
    max_iter : int, default=100
        Iterations of one start.
    random_state : int, RandomState, Generator or None, default=0
        The starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    objective_ : float
        Sum of squared distances to the centres.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = KKM(2, kernel="rbf", random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "gaussian",
        normalize: Any = "cosine",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernel = kernel
        self.normalize = normalize

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        return kernel_kmeans(data, self.n_clusters, run, self.n_init, self.max_iter)


def kernel_kmeans(
    K: np.ndarray,
    n_clusters: int,
    run: Run,
    n_init: int,
    max_iter: int = 100,
    tol: float = 0.0,
    *,
    robust: bool = False,
) -> Partition:
    """The best of several runs of kernel k-means that start with random samples as centres."""
    K = np.ascontiguousarray(K)
    starts = [run.rng.choice(K.shape[0], n_clusters, replace=False) for _ in range(n_init)]
    options: dict[str, Any] = {"robust": robust, "max_iter": max_iter, "tol": tol}

    def best(block: slice) -> Partition:
        runs = [lloyd(K, n_clusters, start, **options) for start in starts[block]]
        return min(runs, key=attrgetter("objective"))

    # Threads cost more than runs on few samples take.
    found = run.map_blocks(best, n_init, n_init if K.shape[0] < 500 else 1)
    return min(found, key=attrgetter("objective"))


def lloyd(
    K: np.ndarray,
    n_clusters: int,
    start: np.ndarray | Partition,
    *,
    robust: bool,
    max_iter: int,
    tol: float,
) -> Partition:
    """Iterate from samples as centres, or from the labels and sample weights of a partition.

    The objective is the sum of squared distances, or of distances where ``robust``.
    """
    from unispectral.baselines import _loops

    K = np.ascontiguousarray(K)
    if isinstance(start, Partition):
        assert start.sample_weights is not None
        samples = np.empty(0, dtype=np.int64)
        labels, weights = start.labels.copy(), start.sample_weights.copy()
    else:
        samples = np.ascontiguousarray(start, dtype=np.int64)
        labels, weights = np.empty(K.shape[0], dtype=np.int64), np.empty(K.shape[0])
    diagonal = np.diagonal(K).astype(np.float64)
    found = _loops.lloyd(K, diagonal, samples, labels, weights, n_clusters, robust, max_iter, tol)
    return Partition(labels, *found)._replace(sample_weights=weights)
