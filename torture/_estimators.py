"""Every estimator of the library, in the forms that a hostile table or kernel is thrown at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ON_KERNELS", "ON_TABLES", "make"]


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


_PAPER = {"model": "paper", "max_iter": 5}
_KERNELS = ["linear", "gaussian", "polynomial"]

#: Estimators that take tables. The first of each name is what most people use.
ON_TABLES: dict[str, Callable[[int], Any]] = {
    "SCSK": _ours("SCSK"),
    "SCMK": _ours("SCMK"),
    "SCSK gaussian": _ours("SCSK", kernel="gaussian"),
    "SCSK cosine": _ours("SCSK", kernel="polyplus_4", normalize="cosine"),
    "SCSK laplacian": _ours("SCSK", kernel="laplacian"),
    "SCSK pulled": _ours("SCSK", gamma=0.5),
    "SCMK kernels": _ours("SCMK", kernels=_KERNELS),
    "SCSK paper": _ours("SCSK", kernel="gaussian", **_PAPER),
    "SCSK paper linear": _ours("SCSK", kernel="linear", normalize="none", **_PAPER),
    "SCSK paper local": _ours("SCSK", kernel="gaussian", solver="local", **_PAPER),
    "SCSK paper alm": _ours("SCSK", kernel="gaussian", solver="alm", **_PAPER),
    "SCMK paper": _ours("SCMK", kernels="paper", **_PAPER),
    "SCMK paper centred": _ours("SCMK", kernels=_KERNELS, normalize=("center", "trace"), **_PAPER),
    "SCMK paper alm": _ours("SCMK", kernels=_KERNELS, solver="alm", **_PAPER),
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
    "SCSK on a kernel": _ours("SCSK", kernel="precomputed"),
    "SCMK on kernels": _ours("SCMK", kernels="precomputed"),
    "SCSK paper on a kernel": _ours("SCSK", kernel="precomputed", normalize="cosine", **_PAPER),
    "SCMK paper on kernels": _ours("SCMK", kernels="precomputed", **_PAPER),
    "SCMK alm on kernels": _ours("SCMK", kernels="precomputed", solver="alm", **_PAPER),
    "KKM on a kernel": _baseline("KKM", kernel="precomputed"),
    "RKKM on a kernel": _baseline("RKKM", kernel="precomputed"),
    "SC on a kernel": _baseline("SC", kernel="precomputed"),
    "TSEP on a kernel": _baseline("TSEP", kernel="precomputed"),
    "MKKM on kernels": _baseline("MKKM", kernels="precomputed"),
    "AASC on kernels": _baseline("AASC", kernels="precomputed"),
    "RMKKM on kernels": _baseline("RMKKM", kernels="precomputed"),
}


def make(name: str, n_clusters: int) -> Any:
    """The estimator of this name."""
    return (ON_TABLES.get(name) or ON_KERNELS[name])(n_clusters)
