"""Robust kernel k-means."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._run import Run
from unispectral.baselines._base import NON_NEGATIVE, KernelMethod, Partition
from unispectral.baselines.kkm import kernel_kmeans

__all__ = ["RKKM"]


class RKKM(KernelMethod):
    """Robust (ℓ2,1) kernel k-means (Du et al., IJCAI 2015, 3476–3482).

    Kernel k-means with distances in place of squared distances, so that outliers pull less: each
    centre is the geometric median of its cluster, found by reweighting. A sample that lies on its
    centre is treated by Vardi and Zhang's rule, so that the objective never rises.

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
    tol : float, default=1e-5
        A start has converged when no label changes and the objective falls by less than this
        share.
    random_state : int, RandomState, Generator or None, default=0
        The starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    objective_ : float
        Sum of distances to the centres.
    n_iter_ : int
    converged_ : bool
    sample_weights_ : ndarray of shape (n_samples,)
        The share of each sample in the centre of its cluster; small for outliers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = RKKM(2, kernel="rbf", random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints = {
        **KernelMethod._parameter_constraints,
        "tol": NON_NEGATIVE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "gaussian",
        normalize: Any = "cosine",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernel = kernel
        self.normalize = normalize
        self.tol = tol

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        limits = self.n_init, self.max_iter, self.tol
        found = kernel_kmeans(data, self.n_clusters, run, *limits, robust=True)
        self.sample_weights_ = found.sample_weights
        return found
