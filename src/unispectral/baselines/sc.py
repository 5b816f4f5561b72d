"""Spectral clustering of a kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.cluster import spectral_clustering

from unispectral._compat import StrOptions, fit_context
from unispectral.baselines._base import KernelMethod
from unispectral.baselines._draws import as_draws
from unispectral.baselines._kmeans import kmeans
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
        The kernel, see :func:`unispectral.kernels.as_kernel`. With ``"precomputed"``, ``fit``
        takes the kernel matrix.
    normalize : {"cosine", "center", "trace", "none"} or tuple of them, default="cosine"
        Applied to the kernel.
    laplacian : {"unnormalized", "normalized"}, default="unnormalized"
        ``"normalized"`` hands the kernel to :func:`sklearn.cluster.spectral_clustering`.
    n_init : int, default=10
        Random starts of k-means.
    max_iter : int, default=300
        Iterations of one start of k-means (scikit-learn's own number if normalised).
    random_state : int, RandomState, Generator or None, default=None
        The starts of k-means.
    recorded : bool, default=False
        Use the k-means and the random numbers of the published record (``random_state=None``
        begins its stream, a ``RandomState`` continues one).

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Unit rows of the eigenvectors; only of the unnormalised Laplacian.
    eigenvalues_ : ndarray of shape (n_clusters,)
        Only of the unnormalised Laplacian.
    objective_ : float
        Of k-means: the sum of squared distances (of distances if ``recorded``).
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
        random_state: Any = None,
        recorded: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.normalize = normalize
        self.laplacian = laplacian
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
        if self.laplacian == "normalized" and self.recorded:
            raise ValueError(
                "recorded=True repeats runs of the unnormalised Laplacian; "
                "use laplacian='unnormalized' with it."
            )
        K = self._kernel_matrix(X)
        draws = as_draws(self.random_state, self.recorded)
        if self.laplacian == "normalized":
            self._fit_normalized(K, draws.seed())
            return self
        self.eigenvalues_, vectors = laplacian_eigenvectors(
            K, self.n_clusters, complete=self.recorded
        )
        self.embedding_ = unit_rows(vectors)
        partition = kmeans(
            self.embedding_,
            self.n_clusters,
            draws,
            n_init=self.n_init,
            max_iter=self.max_iter,
            recorded=self.recorded,
        )
        self._keep(partition)
        return self

    def _fit_normalized(self, K: np.ndarray, seed: int) -> None:
        if K.min() < 0:
            raise ValueError(
                f"The kernel has negative entries (the smallest is {K.min():.3g}); "
                "laplacian='normalized' needs similarities of at least 0, for example of "
                "kernel='gaussian'."
            )
        labels = spectral_clustering(
            K, n_clusters=self.n_clusters, n_init=self.n_init, random_state=seed
        )
        self.labels_ = labels.astype(np.int32)
        self.n_iter_ = 1
