"""From a dotted name to an estimator, without evaluating anything a study says."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from unispectral._errors import InputError

__all__ = ["build", "check_method", "estimator_class"]


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
