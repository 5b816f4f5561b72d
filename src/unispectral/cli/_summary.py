"""What a fit found, in numbers for machines and in lines for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._version import __version__
from unispectral.cli._fit import CommandFit
from unispectral.tables._source import plural

__all__ = [
    "count_clusters",
    "size_lines",
    "summarise",
    "summary_lines",
    "tell_scores",
    "tell_sizes",
]

_SHOWN = 40
_WIDTH = 24
_KERNELS = 5


def count_clusters(
    method: str, labels: np.ndarray, truth: np.ndarray | None, seconds: float
) -> dict[str, Any]:
    """Sizes of the clusters, and scores if the classes are known, as JSON takes them."""
    sizes = np.bincount(labels[labels >= 0])
    return tell_sizes(method, sizes, seconds, len(labels)) | tell_scores(truth, labels)


def tell_sizes(method: str, sizes: np.ndarray, seconds: float, n_samples: int) -> dict[str, Any]:
    """Sizes of the clusters, as JSON takes them."""
    return {
        "method": method,
        "n_samples": n_samples,
        "n_clusters": len(sizes),
        "sizes": sizes.tolist(),
        "seconds": round(seconds, 3),
    }


def tell_scores(truth: np.ndarray | None, labels: np.ndarray) -> dict[str, Any]:
    """Scores if the classes are known, as JSON takes them."""
    if truth is None:
        return {}
    from unispectral.metrics import scores

    return {"scores": {name: float(v) for name, v in scores(truth, labels).items()}}


def summarise(fitted: CommandFit) -> dict[str, Any]:
    """Return what is worth telling about a fit, as JSON takes it."""
    estimator, data = fitted.estimator, fitted.data
    summary = count_clusters(fitted.method, fitted.labels, data.truth, fitted.seconds)
    for name in ("converged_", "stop_reason_", "n_iter_"):
        if hasattr(estimator, name):
            summary[name.rstrip("_")] = getattr(estimator, name)
    objective = np.atleast_1d(getattr(estimator, "objective_", ()))
    if len(objective):
        summary["objective"] = float(objective[-1])
    parts = [getattr(estimator, f"kernel_{name}_", ()) for name in ("names", "weights")]
    kernels = dict(zip(*parts, strict=False))
    geometries = getattr(estimator, "geometry_weights_", None)
    for kind, weights in (("geometry", geometries), ("kernel", kernels)):
        if isinstance(weights, dict) and len(weights) > 1:
            ordered = sorted(weights.items(), key=lambda item: -item[1])
            summary[f"{kind}_weights"] = {str(name): float(value) for name, value in ordered}
    summary["scaling"] = dict(getattr(estimator, "scaling_", {}))
    count = getattr(estimator, "cluster_count_", None)
    if count is not None:
        summary["why_this_number"] = count.reason
    if hasattr(estimator, "affinity_matrix_"):
        degrees = np.asarray(estimator.affinity_matrix_.sum(axis=1)).ravel()
        summary["points_without_neighbour"] = int((degrees <= 0).sum())
    tables = data.tables.values()
    return summary | {
        "n_features": data.n_features,
        "tables": [table.name for table in tables],
        "dropped": {column: why for table in tables for column, why in table.dropped},
        "warnings": fitted.warnings,
        "parameters": estimator.get_params(deep=False),
        "version": __version__,
    }


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """Return the summary as lines of text."""
    how = f"{summary['seconds']:.1f} s"
    if summary.get("n_iter"):
        state = "" if summary.get("converged", True) else "; it did not converge"
        how += f", {plural(summary['n_iter'], 'iteration')}{state}"
    found = plural(summary["n_clusters"], "cluster")
    lines = [f"{summary['method']} found {found} ({how}).", ""]
    lines += size_lines(summary)
    if "why_this_number" in summary:
        lines += ["", f"Why {summary['n_clusters']}: {summary['why_this_number']}."]
    for table, reason in summary.get("scaling", {}).items():
        if reason.startswith("standardised"):
            named = "" if table == "X" else f" of {table}"
            told = f"Columns{named} were {reason}"
            lines += ["", f"{told} (--param scaling=none leaves them as they are)."]
    if weights := summary.get("kernel_weights"):
        from unispectral.plotting.charts import NO_WEIGHT

        heavy = [f"{name} {v:.3f}" for name, v in weights.items() if v >= NO_WEIGHT]
        light, more = len(weights) - len(heavy), len(heavy) - _KERNELS
        none = f"; {light} {'has' if light == 1 else 'have'} none"
        named = ", ".join(heavy[:_KERNELS]) + (f" and {more} more" if more > 0 else "")
        lines += ["", f"Kernel weights: {named}{none if light else ''}."]
    elif weights := summary.get("geometry_weights"):
        from unispectral.plotting.charts import distances_in_words

        lines += ["", f"{distances_in_words(weights)}."]
    lonely = summary.get("points_without_neighbour", 0)
    if lonely:
        have = "has" if lonely == 1 else "have"
        lines += ["", f"{plural(lonely, 'point')} {have} no neighbour in the learned graph."]
    return lines


def size_lines(summary: dict[str, Any]) -> list[str]:
    """Return the sizes of the clusters with a bar for each, and the scores."""
    sizes = summary["sizes"]
    total, largest = sum(sizes), max(sizes)
    lines = ["cluster     size    share"]
    for cluster, size in list(enumerate(sizes))[:_SHOWN]:
        bar = "█" * max(1, round(_WIDTH * size / largest)) if size else ""
        lines.append(f"{cluster:7d} {size:8,d}  {100 * size / total:5.1f} %  {bar}")
    if len(sizes) > _SHOWN:
        lines.append(f"… and {len(sizes) - _SHOWN} more clusters")
    if "scores" in summary:
        words = {"nmi": "NMI", "ari": "ARI"}
        names = {name: words.get(name, name.replace("_", " ")) for name in summary["scores"]}
        shown = [f"{names[name]} {value:.3f}" for name, value in summary["scores"].items()]
        lines += ["", f"Against the known classes: {'  '.join(shown)}"]
    return lines
