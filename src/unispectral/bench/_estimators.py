"""From a dotted name to an estimator, without evaluating anything a study says."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

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
        raise ValueError(
            f"estimator={dotted!r} must be the dotted name of an importable class, "
            "such as 'sklearn.cluster.KMeans'."
        )
    module_name, _, class_name = dotted.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError as error:
        raise ValueError(f"estimator={dotted!r} cannot be imported: {error}.") from None
    if not (inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "get_params")):
        raise ValueError(
            f"estimator={dotted!r} is not an estimator class with fit and get_params; "
            "name a clusterer that follows scikit-learn's conventions."
        )
    return found


def _maker(cls: type, constructor: str | None) -> Any:
    if constructor is None:
        return cls
    maker = getattr(cls, constructor, None) if constructor.isidentifier() else None
    is_classmethod = inspect.ismethod(maker) and maker.__self__ is cls
    if constructor.startswith("_") or not is_classmethod:
        raise ValueError(
            f"constructor={constructor!r} is not a public class method of {cls.__name__}."
        )
    return maker


def check_method(method: Any) -> None:
    """Refuse, before anything runs, a method whose estimator does not know its parameters."""
    cls = estimator_class(method.estimator)
    maker = _maker(cls, method.constructor)
    signature = inspect.signature(maker)
    accepted = {
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    if len(accepted) != len(signature.parameters):
        return  # it takes **keywords: only the call can tell
    wanted = {*method.parameters, *method.grid}
    if method.input != "features":
        wanted.add(method.kernel_parameter or method.input)
    for reduction in method.reduced:
        wanted |= {*(reduction.grid or {}), *(reduction.parameters or {})}
    unknown = sorted(wanted - accepted)
    if unknown:
        raise ValueError(
            f"The method {method.name!r} sets {', '.join(map(repr, unknown))}, which "
            f"{method.estimator} does not have; it has {', '.join(sorted(accepted))}."
        )


def build(job: dict[str, Any], n_clusters: int, n_samples: int = 0) -> Any:
    """The estimator of a cell, with the number of clusters, the seed and the kernel set."""
    cls = estimator_class(job["estimator"])
    maker = _maker(cls, job["constructor"])
    accepted = inspect.signature(maker).parameters
    arguments = dict(job["parameters"])
    if job["kernel_parameter"] is not None:
        arguments[job["kernel_parameter"]] = "precomputed"
    if "n_clusters" in accepted:
        arguments.setdefault("n_clusters", n_clusters)
    if "random_state" in accepted:
        arguments.setdefault("random_state", _random_state(job, n_clusters, n_samples))
    estimator = maker(**arguments)
    if "random_state" not in accepted and "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=_random_state(job, n_clusters, n_samples))
    return estimator


def _random_state(job: dict[str, Any], n_clusters: int, n_samples: int) -> Any:
    """The seed of a cell, or the stream of the published record at the repeat's place in it."""
    stream = job.get("stream")
    if stream is None:
        return job["seed"]
    from unispectral.bench.recorded_baselines import RecordedStream

    draws = RecordedStream()
    draw = draws.labels if stream["draws"] == "labels" else draws.distinct
    if n_samples:
        for _ in range(stream["repeat"] * stream.get("each", 1) + stream.get("before", 0)):
            draw(n_samples, n_clusters)
    return draws.state
