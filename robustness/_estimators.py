"""Every estimator of the library, in the forms that a hostile table or kernel is thrown at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _ours(name: str, **params: Any) -> Callable[[int], Any]:
    def build(n_clusters: int) -> Any:
        import unispectral

        return getattr(unispectral, name)(n_clusters, n_init=2, n_jobs=1, **params)

    return build


def _baseline(name: str, **params: Any) -> Callable[[int], Any]:
    def build(n_clusters: int) -> Any:
        import unispectral.baselines

        cls = getattr(unispectral.baselines, name)
        own = {"n_init": 2} if "n_init" in cls._get_param_names() else {}
        return cls(n_clusters, random_state=0, **{**own, **params})

    return build


#: What most people use.
DEFAULT = "UnifiedSpectralClustering"
_EXACT = {"solver": "exact", "max_iter": 5}
_KERNELS = ["linear", "gaussian", "polynomial"]

#: Estimators that take tables.
ON_TABLES: dict[str, Callable[[int], Any]] = {
    "UnifiedSpectralClustering": _ours(DEFAULT),
    "USC gaussian": _ours(DEFAULT, kernels="gaussian"),
    "USC laplacian": _ours(DEFAULT, kernels="laplacian"),
    "USC no whitening": _ours(DEFAULT, whiten=None),
    "USC kernels": _ours(DEFAULT, kernels=_KERNELS),
    "SCSK": _ours("SCSK", kernel="gaussian", max_iter=5),
    "SCSK exact": _ours("SCSK", kernel="gaussian", **_EXACT),
    "SCSK exact cosine": _ours("SCSK", kernel="polyplus_4", normalize="cosine", **_EXACT),
    "SCSK exact linear": _ours("SCSK", kernel="linear", normalize="none", **_EXACT),
    "SCSK local": _ours("SCSK", kernel="gaussian", solver="local", max_iter=5),
    "SCMK": _ours("SCMK", kernels=_KERNELS, max_iter=5),
    "SCMK exact": _ours("SCMK", kernels="paper", **_EXACT),
    "SCMK exact centred": _ours("SCMK", kernels=_KERNELS, normalize=("center", "trace"), **_EXACT),
    "KKM": _baseline("KKM"),
    "KKM linear": _baseline("KKM", kernel="linear", normalize="none"),
    "RKKM": _baseline("RKKM"),
    "SC": _baseline("SC"),
    "SSR": _baseline("SSR", n_jobs=1),
    "ClustRF": _baseline("ClustRF", n_estimators=5),
    "TSEP": _baseline("TSEP"),
    "MKKM": _baseline("MKKM"),
    "AASC": _baseline("AASC"),
    "RMKKM": _baseline("RMKKM"),
}

#: Estimators that take kernels.
ON_KERNELS: dict[str, Callable[[int], Any]] = {
    "USC on kernels": _ours(DEFAULT, kernels="precomputed"),
    "SCSK on a kernel": _ours("SCSK", kernel="precomputed", normalize="cosine", **_EXACT),
    "SCMK on kernels": _ours("SCMK", kernels="precomputed", max_iter=5),
    "SCMK exact on kernels": _ours("SCMK", kernels="precomputed", **_EXACT),
    "KKM on a kernel": _baseline("KKM", kernel="precomputed"),
    "RKKM on a kernel": _baseline("RKKM", kernel="precomputed"),
    "SC on a kernel": _baseline("SC", kernel="precomputed"),
    "TSEP on a kernel": _baseline("TSEP", kernel="precomputed"),
    "MKKM on kernels": _baseline("MKKM", kernels="precomputed"),
    "AASC on kernels": _baseline("AASC", kernels="precomputed"),
    "RMKKM on kernels": _baseline("RMKKM", kernels="precomputed"),
}


class _OnDask:
    """An estimator on Dask that is handed whatever can be cut into blocks as blocks."""

    def __init__(self, n_clusters: int, **params: Any) -> None:
        from unispectral.dask import UnifiedSpectralClustering

        self.n_clusters = n_clusters
        self._made = UnifiedSpectralClustering(
            n_clusters, client=_client(), n_init=2, n_jobs=1, **params
        )

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        return self._made.get_params(deep)

    def fit(self, X: Any) -> None:
        import numpy as np

        self._made.fit(_in_blocks(X))
        self.labels_ = np.asarray(self._made.labels_)
        if self._made.landmarks is None:
            for name, value in vars(self._made.local_).items():
                if name.endswith("_") and name != "labels_":
                    setattr(self, name, value)

    def predict_blocks(self, X: Any) -> Any:
        """Labels of new points, given here or in blocks."""
        return self._made.predict(X)


def _in_blocks(X: Any) -> Any:
    import dask.array as da
    import numpy as np
    import pandas as pd
    import scipy.sparse as sp

    if isinstance(X, list) and X and all(isinstance(one, np.ndarray) for one in X):
        return [_in_blocks(one) for one in X]
    if isinstance(X, pd.DataFrame) and X.columns.is_unique and len(X) > 3:
        import dask.dataframe as dd

        return dd.from_pandas(X, npartitions=2)
    if isinstance(X, np.ndarray) and X.ndim and X.size and not np.ma.isMaskedArray(X):
        return da.from_array(X, chunks=(max(1, len(X) // 2 + 1), *X.shape[1:]))
    if sp.issparse(X) and X.format == "csr":
        return da.from_array(X, chunks=X.shape, asarray=False) if X.shape[0] else X
    return X


_CLIENT: list[Any] = []


def _client() -> Any:
    """One client in this process, kept for all cases."""
    if not _CLIENT:
        import distributed

        options = {"processes": False, "dashboard_address": ":0", "silence_logs": 60}
        _CLIENT.append(distributed.Client(n_workers=1, threads_per_worker=2, **options))
    return _CLIENT[0]


def close_client() -> None:
    """End the cluster of this process, if there is one."""
    while _CLIENT:
        client = _CLIENT.pop()
        client.close()
        if client.cluster is not None:
            client.cluster.close()


#: Estimators that take Dask collections.
ON_DASK: dict[str, Callable[[int], Any]] = {
    "USC on Dask": lambda n_clusters: _OnDask(n_clusters),
    "USC on Dask, landmarks": lambda n_clusters: _OnDask(n_clusters, landmarks=9),
}


def make(name: str, n_clusters: int) -> Any:
    """The estimator of this name."""
    return {**ON_TABLES, **ON_KERNELS, **ON_DASK}[name](n_clusters)
