"""From a dotted name to an estimator, without evaluating anything a study says."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unispectral._errors import InputError
from unispectral._memory import available_memory

__all__ = ["build", "check_method", "check_redo", "estimator_class"]

#: The estimators that a stored cell may name when it is run again, and where they are imported
#: from. A study is trusted and may name any estimator; a store may have been written by anybody.
_REDO = {
    **dict.fromkeys(
        ("AffinityPropagation", "AgglomerativeClustering", "Birch", "BisectingKMeans", "DBSCAN",
         "HDBSCAN", "KMeans", "MeanShift", "MiniBatchKMeans", "OPTICS", "SpectralClustering"),
        "sklearn.cluster",
    ),
    **dict.fromkeys(("SCMK", "SCSK", "UnifiedSpectralClustering"), "unispectral"),
    **dict.fromkeys(
        ("AASC", "GMC", "KKM", "MKKM", "RKKM", "RMKKM", "SC", "SSR", "TSEP", "ClustRF"),
        "unispectral.baselines",
    ),
}  # fmt: skip
#: The parameters that it may set: none of them is a file, a folder, an address or a function.
_REDO_PARAMETERS = {
    "affinity", "algorithm", "alpha", "assign_labels", "batch_size", "beta",
    "bisecting_strategy", "branching_factor", "compute_full_tree", "copy", "damping",
    "degree", "eigen_solver", "eigen_tol", "eps", "gamma", "init", "kernel", "kernels",
    "leaf_size", "linkage", "max_clusters", "max_eps", "max_iter", "max_time", "method",
    "metric", "min_cluster_size", "min_samples", "mu", "n_clusters", "n_components",
    "n_estimators", "n_init", "n_neighbors", "normalize", "p", "preference", "random_state",
    "ridge", "root", "scaling", "solver", "threshold", "tol", "weights", "whiten",
    "xi",
}  # fmt: skip
_PLAIN_TEXT = re.compile(r"[\w+. -]{1,80}")


def estimator_class(dotted: str) -> type:
    """Import an estimator class by its dotted name.

    Examples
    --------
    >>> estimator_class("sklearn.cluster.KMeans").__name__
    'KMeans'
    """
    parts = dotted.split(".") if isinstance(dotted, str) else []
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        problem = (
            "must be the dotted name of an importable class, such as 'sklearn.cluster.KMeans'"
        )
        raise InputError("estimator", problem, value=dotted)
    module_name, _, class_name = dotted.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError as error:
        raise InputError("estimator", f"cannot be imported: {error}", value=dotted) from None
    if not (inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "get_params")):
        raise InputError(
            "estimator",
            "is not an estimator class with fit and get_params",
            "name a clusterer that follows scikit-learn's conventions",
            value=dotted,
        )
    return found


def check_method(method: Any) -> None:
    """Refuse, before anything runs, a method whose estimator does not know its parameters."""
    parameters = inspect.signature(estimator_class(method.estimator)).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # only the call can tell
    wanted = {*method.parameters, *method.grid}
    if method.input != "features":
        wanted.add(method.kernel_parameter or method.input)
    for reduction in method.reduced:
        wanted |= {*(reduction.grid or {}), *(reduction.parameters or {})}
    unknown = sorted(wanted - set(parameters))
    if unknown:
        raise ValueError(
            f"The method {method.name!r} sets {', '.join(map(repr, unknown))}, which "
            f"{method.estimator} does not have; it has {', '.join(sorted(parameters))}."
        )


def check_redo(job: Mapping[str, Any]) -> dict[str, Any]:
    """A stored job as it may be run again, or InputError if anything in it is not plain.

    Nothing is imported before the estimator is found in the list of those that are allowed, and
    it is imported from where that list says.

    Examples
    --------
    >>> check_redo({"estimator": "os.system", "parameters": {}})
    Traceback (most recent call last):
    ...
    unispectral._errors.InputError: estimator='os.system' is not one that redo runs; ...
    """
    from unispectral.bench.study import StudyDataset

    dotted = str(job["estimator"])
    package, name = dotted.partition(".")[0], dotted.rpartition(".")[2]
    home = _REDO.get(name, "")
    if home.partition(".")[0] != package:
        remedy = f"it runs {', '.join(sorted(_REDO))}; run the study itself instead"
        raise InputError("estimator", "is not one that redo runs", remedy, value=dotted)
    for key in {*job["parameters"], job.get("kernel_parameter") or "kernel"} - _REDO_PARAMETERS:
        if key != "n_jobs":
            remedy = "run the study itself instead"
            raise InputError("parameters", f"has {key!r}, which redo does not set", remedy)
    for part in (job["parameters"], job.get("bank"), job.get("kernel"), job.get("seed")):
        _check_plain(part)
    given = {key: job["dataset"][key] for key in ("name", "file", "truth", "read", "n_clusters")}
    kernels = job["dataset"]["kernels"]
    dataset = StudyDataset(**given, kernels=kernels, digest=job["dataset"]["digest"])
    for path in filter(None, (dataset.file, *dataset.kernels)):
        if not Path(path).is_file():
            raise InputError("dataset", f"names {path!r}, which is no file")
    limits = {**job["limits"], "bytes": job["limits"]["bytes"] or available_memory()}
    parameters = {key: value for key, value in job["parameters"].items() if key != "n_jobs"}
    return {**job, "estimator": f"{home}.{name}", "parameters": parameters, "limits": limits}


def _check_plain(value: Any) -> None:
    """Numbers, short words without a path in them, and lists or tables of these."""
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple)) and len(value) <= 1000:
        for entry in value:
            _check_plain(entry)
    elif isinstance(value, str) and not _PLAIN_TEXT.fullmatch(value):
        raise InputError("parameters", f"has the text {value[:80]!r}, which is not a plain word")
    elif not isinstance(value, (str, int, float, type(None))):
        raise InputError(
            "parameters", f"has a {type(value).__name__} that is too long or no value"
        )


def build(job: dict[str, Any], n_clusters: int) -> Any:
    """The estimator of a cell, with the number of clusters, the seed and the kernel set."""
    cls = estimator_class(job["estimator"])
    accepted = inspect.signature(cls).parameters
    arguments = dict(job["parameters"])
    if job["kernel_parameter"] is not None:
        arguments[job["kernel_parameter"]] = "precomputed"
    if "n_clusters" in accepted:
        arguments.setdefault("n_clusters", n_clusters)
    if "random_state" in accepted:
        arguments.setdefault("random_state", job["seed"])
    return cls(**arguments)
