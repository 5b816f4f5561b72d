"""Methods by name: from words on the command line to an estimator."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import dataclass, field
from typing import Any

import click


@dataclass(frozen=True)
class Method:
    """Where an estimator lives, what it is and what it can do."""

    home: str
    name: str
    words: str
    fixed: dict[str, Any] = field(default_factory=dict)
    #: What it can do: take views, choose the number of clusters, learn a graph.
    views: bool = False
    auto: bool = False
    graph: bool = True
    #: Whether it is compared without being asked for.
    compared: bool = True

    @property
    def ours(self) -> bool:
        """Whether it is an estimator of this library, which predicts and tells how far it is."""
        return self.home == _OURS


_OURS = "unispectral"
_PEERS = "unispectral.baselines"
_SKLEARN = "sklearn.cluster"
_UNIFIED = "learned graph, nothing to tune; one table or several views"
_SCMK = "the paper's model of several kernels, or of several views"
_NEIGHBOURS = "scikit-learn's, on nearest neighbours"
_WARD = "scikit-learn's agglomerative, by Ward"
_KMEANS = {"n_init": 10}
_SPECTRAL = {"affinity": "nearest_neighbors", "assign_labels": "cluster_qr"}

DEFAULT = "unified"
#: The kernel that takes what is read for a graph.
GRAPH = "graph"
METHODS = {
    "unified": Method(_OURS, "UnifiedSpectralClustering", _UNIFIED, views=True, auto=True),
    "SCMK": Method(_OURS, "SCMK", _SCMK, views=True, compared=False),
    "SCSK": Method(_OURS, "SCSK", "the paper's model of one kernel", compared=False),
    "KKM": Method(_PEERS, "KKM", "kernel k-means", graph=False),
    "RKKM": Method(_PEERS, "RKKM", "robust kernel k-means", graph=False),
    "SC": Method(_PEERS, "SC", "spectral clustering of a kernel", graph=False),
    "SSR": Method(_PEERS, "SSR", "simplex sparse representation"),
    "ClustRF": Method(_PEERS, "ClustRF", "affinities of a clustering random forest"),
    "TSEP": Method(_PEERS, "TSEP", "two steps: first the graph, then its spectrum"),
    "MKKM": Method(_PEERS, "MKKM", "multiple kernel k-means", graph=False),
    "AASC": Method(_PEERS, "AASC", "affinity aggregation", graph=False),
    "RMKKM": Method(_PEERS, "RMKKM", "robust multiple kernel k-means", graph=False),
    "kmeans": Method(_SKLEARN, "KMeans", "scikit-learn's k-means", _KMEANS, graph=False),
    "spectral": Method(_SKLEARN, "SpectralClustering", _NEIGHBOURS, _SPECTRAL),
    "ward": Method(_SKLEARN, "AgglomerativeClustering", _WARD, graph=False),
}

METHOD_NAME = click.Choice(list(METHODS), case_sensitive=False)


def build_method(
    name: str,
    n_clusters: int | str,
    *,
    parameters: dict[str, Any] | None = None,
    kernels: list[str] | None = None,
    seed: int = 0,
    jobs: int | None = None,
) -> Any:
    """Make the estimator; what it does not know is refused as wrong usage."""
    method = METHODS[name]
    cls = getattr(importlib.import_module(method.home), method.name)
    known = set(cls().get_params())
    settings: dict[str, Any] = dict(method.fixed)
    if n_clusters == "auto" and not method.auto:
        able = " or ".join(other for other, one in METHODS.items() if one.auto)
        problem = f"-k auto is not for the method {name}; give a number, or use {able}."
        raise click.UsageError(problem)
    common = {"random_state": seed, "n_jobs": jobs}
    settings |= {key: v for key, v in common.items() if key in known and v is not None}
    if kernels == [GRAPH]:
        if name != DEFAULT:
            raise click.UsageError(f"--kernel graph is for the method {DEFAULT}, not for {name}.")
        settings["kernels"] = GRAPH
    elif kernels and "kernels" in known:
        if len(kernels) == 1:
            settings["kernels"] = kernels[0]
        else:
            settings["kernels"] = kernels
        _check_kernels(settings["kernels"], several=True)
    elif kernels and "kernel" in known:
        if len(kernels) > 1:
            raise click.UsageError(f"--kernel: the method {name} takes one kernel, not several.")
        settings["kernel"] = kernels[0]
        _check_kernels(kernels[0], several=False)
    elif kernels:
        raise click.UsageError(f"--kernel is not for the method {name}.")
    for key, value in (parameters or {}).items():
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            known_ones = f"it has {', '.join(sorted(known))}."
            if close:
                hint = f"did you mean {close[0]!r}?"
            else:
                hint = known_ones
            raise click.UsageError(f"--param {key}: the method {name} has none; {hint}")
        if key == "n_clusters":
            raise click.UsageError("--param n_clusters: say it with -k.")
        if isinstance(value, list) and key == "normalize":
            settings[key] = tuple(value)
        else:
            settings[key] = value
    return cls(n_clusters=n_clusters, **settings)


def _check_kernels(given: Any, *, several: bool) -> None:
    """Refuse a kernel that nobody knows, and name those that can be typed."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    from unispectral._errors import InputError
    from unispectral.kernels import as_kernel, as_kernels, paper_kernels

    try:
        if given != "precomputed":
            as_kernels(given) if several else as_kernel(given)
    except InputError as error:
        known = ["gaussian", "linear", "polynomial", *["paper", "paper-text"][: 2 * several]]
        known += [kernel.name for kernel in paper_kernels()] + list(PAIRWISE_KERNEL_FUNCTIONS)
        close = difflib.get_close_matches(str(error.value), known, n=1)
        listed = f"use one of {', '.join(dict.fromkeys(known))}."
        if close:
            hint = f"did you mean {close[0]!r}?"
        else:
            hint = listed
        raise click.UsageError(f"--kernel {error.value!r} is not a known kernel; {hint}") from None
