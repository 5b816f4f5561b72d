"""Robust kernel k-means."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np

from unispectral._compat import Interval, fit_context
from unispectral.baselines._base import KernelMethod, Partition
from unispectral.baselines._draws import Draws, as_draws
from unispectral.baselines.kkm import lloyd_from_samples

__all__ = ["RKKM", "rkkm"]


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
        The kernel, see :func:`unispectral.kernels.as_kernel`. With ``"precomputed"``, ``fit``
        takes the kernel matrix.
    normalize : {"cosine", "center", "trace", "none"} or tuple of them, default="cosine"
        Applied to the kernel.
    n_init : int, default=10
        Random starts.
    max_iter : int, default=100
        Iterations of one start.
    tol : float, default=1e-5
        A start has converged when no label changes and the objective falls by less than this
        share. Not used by the record, which looks at the labels alone.
    random_state : int, RandomState, Generator or None, default=None
        The starts.
    recorded : bool, default=False
        Repeat the published record: its random numbers (``random_state=None`` begins the stream
        of the record, a ``RandomState`` continues one), its repair of empty clusters, the mean
        weight for samples on their centre, and K_ii counted twice after a repair.

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
        "tol": [Interval(Real, 0, None, closed="left")],
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
        random_state: Any = None,
        recorded: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.recorded = recorded

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features), or kernel matrix
        y : ignored

        Returns
        -------
        self
        """
        K = self._kernel_matrix(X)
        partition, self.sample_weights_ = rkkm(
            K,
            self.n_clusters,
            as_draws(self.random_state, self.recorded),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            recorded=self.recorded,
        )
        self._keep(partition)
        return self


def rkkm(
    K: np.ndarray,
    n_clusters: int,
    draws: Draws,
    *,
    n_init: int = 1,
    max_iter: int = 100,
    tol: float = 1e-5,
    recorded: bool = False,
) -> tuple[Partition, np.ndarray]:
    """Robust kernel k-means on a kernel matrix: the partition, and each sample's weight.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.baselines._draws import FreshDraws
    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> rkkm(K, 2, FreshDraws(0), n_init=5)[0].objective
    0.0
    """
    starts = [draws.distinct(K.shape[0], n_clusters) for _ in range(n_init)]
    return lloyd_from_samples(
        K, starts, robust=True, recorded=recorded, max_iter=max_iter, tol=tol
    )
