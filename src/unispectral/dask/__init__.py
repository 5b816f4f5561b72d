"""The label-free model on a Dask cluster: large stages on its workers, the same labels.

Examples
--------
>>> from unispectral.dask import UnifiedSpectralClustering  # doctest: +SKIP
>>> from distributed import Client, LocalCluster  # doctest: +SKIP
>>> client = Client(LocalCluster(n_workers=2, threads_per_worker=1))  # doctest: +SKIP
>>> labels = UnifiedSpectralClustering(10).fit(X).labels_  # a Dask array  # doctest: +SKIP
"""

from unispectral.dask._estimators import UnifiedSpectralClustering

__all__ = ["UnifiedSpectralClustering"]
