"""What a fit found, in numbers for machines and in lines for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._version import __version__

__all__ = [
    "plain_parameters",
    "score_line",
    "size_lines",
    "summarise",
    "summary_lines",
    "weights_of",
]

_SHOWN = 40
_WIDTH = 24
_LIGHT = 0.0005  # what three digits show as nothing


def summarise(
    estimator: Any,
    labels: np.ndarray,
    *,
    method: str,
    seconds: float,
    truth: np.ndarray | None = None,
    warnings: list[str] | None = None,
) -> dict[str, Any]:
    """Return what is worth telling about a fit, as JSON knows it."""
    sizes = np.bincount(labels[labels >= 0])
    summary: dict[str, Any] = {
        "method": method,
        "n_samples": len(labels),
        "n_clusters": len(sizes),
        "sizes": sizes.tolist(),
        "seconds": round(seconds, 3),
    }
    for name in ("converged_", "stop_reason_", "n_iter_"):
        if hasattr(estimator, name):
            value = getattr(estimator, name)
            summary[name.rstrip("_")] = value.item() if hasattr(value, "item") else value
    objective = np.atleast_1d(getattr(estimator, "objective_", ()))
    if len(objective):
        summary["objective"] = float(objective[-1])
    geometries = getattr(estimator, "geometry_weights_", None)
    if isinstance(geometries, dict) and len(geometries) > 1:
        ordered = sorted(geometries.items(), key=lambda item: -item[1])
        summary["geometry_weights"] = {str(name): float(value) for name, value in ordered}
    weights = weights_of(estimator)
    if weights:
        summary["kernel_weights"] = weights
    if hasattr(estimator, "affinity_matrix_"):
        degrees = np.asarray(estimator.affinity_matrix_.sum(axis=1)).ravel()
        summary["points_without_neighbour"] = int((degrees <= 0).sum())
    if truth is not None:
        from unispectral.metrics import scores

        summary["scores"] = {name: float(v) for name, v in scores(truth, labels).items()}
    summary["warnings"] = list(warnings or [])
    summary["parameters"] = plain_parameters(estimator)
    summary["version"] = __version__
    return summary


def weights_of(estimator: Any) -> dict[str, float]:
    """Kernel weights by name, largest first; empty for a method of one kernel."""
    weights = getattr(estimator, "kernel_weights_", None)
    names = getattr(estimator, "kernel_names_", None)
    if weights is None or names is None or len(weights) < 2:
        return {}
    order = np.argsort(-np.asarray(weights), kind="stable")
    return {str(names[r]): float(weights[r]) for r in order}


def plain_parameters(estimator: Any) -> dict[str, Any]:
    """Parameters of an estimator; what JSON has no word for is shown as text."""
    plain = (str, int, float, bool, type(None))
    return {
        name: value
        if isinstance(value, plain)
        or (isinstance(value, (list, tuple)) and all(isinstance(v, plain) for v in value))
        else repr(value)
        for name, value in sorted(estimator.get_params(deep=False).items())
    }


def summary_lines(summary: dict[str, Any]) -> list[str]:
    """Return the summary as lines of text."""
    how = f"{summary['seconds']:.1f} s"
    if summary.get("n_iter"):
        state = "" if summary.get("converged", True) else "; it did not converge"
        how += f", {summary['n_iter']} iterations{state}"
    lines = [f"{summary['method']} found {summary['n_clusters']} clusters ({how}).", ""]
    lines += size_lines(summary["sizes"])
    if "scores" in summary:
        lines += ["", score_line(summary["scores"])]
    for kind in ("kernel", "geometry"):
        weights = summary.get(f"{kind}_weights")
        if weights:
            heavy = [f"{name} {v:.3f}" for name, v in weights.items() if v >= _LIGHT]
            top, rest = heavy[:5], len(weights) - min(5, len(heavy))
            more = f" and {rest} {'more' if len(heavy) > 5 else 'without'}" if rest else ""
            lines += ["", f"{kind.capitalize()} weights: {', '.join(top)}{more}"]
    lonely = summary.get("points_without_neighbour", 0)
    if lonely:
        lines += ["", f"{_points(lonely)} no neighbour in the learned graph."]
    return lines


def score_line(scores: dict[str, float]) -> str:
    """Return the scores against known classes as one line."""
    shown = "  ".join(f"{_words(name)} {value:.3f}" for name, value in scores.items())
    return f"Against the known classes: {shown}"


def size_lines(sizes: list[int]) -> list[str]:
    """Return the sizes of the clusters with a bar for each."""
    total, largest = sum(sizes), max(sizes)
    lines = ["cluster     size    share"]
    for cluster, size in list(enumerate(sizes))[:_SHOWN]:
        bar = "█" * max(1, round(_WIDTH * size / largest)) if size else ""
        lines.append(f"{cluster:7d} {size:8,d}  {100 * size / total:5.1f} %  {bar}")
    if len(sizes) > _SHOWN:
        lines.append(f"… and {len(sizes) - _SHOWN} more clusters")
    return lines


def _words(name: str) -> str:
    return {"nmi": "NMI", "ari": "ARI"}.get(name, name.replace("_", " "))


def _points(count: int) -> str:
    return "1 point has" if count == 1 else f"{count:,} points have"
