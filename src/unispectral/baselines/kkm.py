"""Kernel k-means."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from unispectral._compat import fit_context
from unispectral._threads import map_blocks
from unispectral.baselines._base import KernelMethod, Partition
from unispectral.baselines._draws import Draws, as_draws

__all__ = ["KKM", "kkm", "lloyd_from_samples"]


class KKM(KernelMethod):
    """Kernel k-means (Schölkopf, Smola and Müller, Neural Computation 10, 1998, 1299–1319).

    Lloyd's algorithm in the feature space of a kernel: centres are means of the mapped samples,
    each sample goes to its nearest centre. Starts at random samples, keeps the best of ``n_init``.

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
    random_state : int, RandomState, Generator or None, default=None
        The starts.
    recorded : bool, default=False
        Repeat the published record: its random numbers (``random_state=None`` begins the stream
        of the record, a ``RandomState`` continues one), its repair of empty clusters, which may
        empty another one, and the sum of unsquared distances to choose among starts.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    objective_ : float
        Sum of squared distances to the centres (of distances if ``recorded``).
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
        random_state: Any = None,
        recorded: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.normalize = normalize
        self.n_init = n_init
        self.max_iter = max_iter
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
        self._keep(
            kkm(
                K,
                self.n_clusters,
                as_draws(self.random_state, self.recorded),
                n_init=self.n_init,
                max_iter=self.max_iter,
                recorded=self.recorded,
            )
        )
        return self


def kkm(
    K: np.ndarray,
    n_clusters: int,
    draws: Draws,
    *,
    n_init: int = 1,
    max_iter: int = 100,
    recorded: bool = False,
) -> Partition:
    """Kernel k-means on a kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from unispectral.baselines._draws import FreshDraws
    >>> K = np.kron(np.eye(2), np.ones((2, 2)))
    >>> kkm(K, 2, FreshDraws(0), n_init=5).objective
    0.0
    """
    starts = [draws.distinct(K.shape[0], n_clusters) for _ in range(n_init)]
    partition, _ = lloyd_from_samples(
        K, starts, robust=False, recorded=recorded, max_iter=max_iter, tol=0.0
    )
    return partition


def lloyd_from_samples(
    K: np.ndarray,
    starts: list[np.ndarray],
    *,
    robust: bool,
    recorded: bool,
    max_iter: int,
    tol: float,
) -> tuple[Partition, np.ndarray]:
    """The best of several runs that start with samples as centres, and its weights."""
    from unispectral.baselines import _loops

    K = np.ascontiguousarray(K)
    diagonal = np.diagonal(K).astype(np.float64)

    def run(block: slice) -> tuple[Partition, np.ndarray]:
        start = np.ascontiguousarray(starts[block.start], dtype=np.int64)
        labels = np.empty(K.shape[0], dtype=np.int64)
        weights = np.empty(K.shape[0])
        found = _loops.lloyd(
            K, diagonal, start, labels, weights, len(start), robust, recorded, max_iter, tol
        )
        return Partition(labels, *found), weights

    if len(starts) == 1 or K.shape[0] < 500:  # threads cost more than such a run takes
        runs = [run(slice(s, s + 1)) for s in range(len(starts))]
    else:
        runs = map_blocks(run, len(starts), 1)
    return min(runs, key=lambda found: found[0].objective)
