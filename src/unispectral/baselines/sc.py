"""Spectral clustering of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import spectral_clustering

from unispectral._compat import StrOptions
from unispectral._errors import InputError
from unispectral._run import Run
from unispectral.baselines._base import KernelMethod, Partition
from unispectral.baselines._kmeans import kmeans, seed_from
from unispectral.baselines._spectral import laplacian_eigenvectors, unit_rows

__all__ = ["SC"]


class SC(KernelMethod):
    """Spectral clustering (Ng, Jordan and Weiss, NIPS 2001), as the paper's comparison ran it.

    The kernel itself is the affinity. The rows of the smallest eigenvectors of its unnormalised
    Laplacian are scaled to unit length and clustered by k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : str, kernel object, callable or "precomputed", default="gaussian"
        See :func:`unispectral.kernels.as_kernel`. If precomputed, ``fit`` takes the matrix.
    normalize : {"cosine", "center", "trace", "max", "none"} or tuple of them, default="cosine"
        Applied to the kernel.
    laplacian : {"unnormalized", "normalized"}, default="unnormalized"
        ``"normalized"`` hands the kernel to :func:`sklearn.cluster.spectral_clustering`.
    n_init : int, default=10
        Random starts of k-means.
    max_iter : int, default=300
        Iterations of one start of k-means (scikit-learn's own number if normalised).
    random_state : int, RandomState, Generator or None, default=0
        The starts of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the eigenvectors; only of the unnormalised Laplacian.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Only of the unnormalised Laplacian.
    objective_ : float
        Of k-means: the sum of squared distances.
    n_iter_ : int
        Of k-means.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> labels = SC(2, kernel="rbf", random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    _parameter_constraints = {
        **KernelMethod._parameter_constraints,
        "laplacian": [StrOptions({"unnormalized", "normalized"})],
    }
    _definite = False

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "gaussian",
        normalize: Any = "cosine",
        laplacian: str = "unnormalized",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_clusters, n_init, max_iter, random_state)
        self.kernel = kernel
        self.normalize = normalize
        self.laplacian = laplacian

    def _cluster(self, data: np.ndarray, run: Run) -> Partition:
        if self.laplacian == "normalized":
            return self._normalized(data, run)
        self.eigenvalues_, vectors = laplacian_eigenvectors(data, self.n_clusters)
        self.embedding_ = unit_rows(vectors)
        return kmeans(self.embedding_, self.n_clusters, run.rng, self.n_init, self.max_iter)

    def _normalized(self, K: np.ndarray, run: Run) -> Partition:
        if K.min() < 0:
            raise InputError(
                "kernel",
                f"has negative entries (the smallest is {K.min():.3g})",
                "laplacian='normalized' needs similarities of at least 0, for example those of "
                "kernel='gaussian'",
            )
        labels = spectral_clustering(
            K, n_clusters=self.n_clusters, n_init=self.n_init, random_state=seed_from(run.rng)
        )
        return Partition(labels, None, 1, True)
