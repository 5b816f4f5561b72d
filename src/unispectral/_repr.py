"""What a notebook shows of fitted estimators and of solver results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

__all__ = ["FittedSummaryMixin", "solution_html", "summary_html"]

#: More bars than this are not readable in one line.
_MOST_BARS = 120
_MOST_WEIGHTS = 12


class FittedSummaryMixin:
    """Adds a summary of the fit below scikit-learn's diagram.

    Put it before scikit-learn's classes. It only speaks Jupyter's own protocol, so that the
    diagram, pipelines and ``set_config(display="text")`` work as ever.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> class Shown(FittedSummaryMixin, KMeans):
    ...     pass
    >>> "2 clusters" in Shown(2, n_init=1).fit([[0.0], [1.0]])._repr_html_()
    True
    >>> "clusters of" in Shown(2)._repr_html_()
    False
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        diagram = super()._repr_html_  # type: ignore[misc]
        return lambda: diagram() + summary_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += summary_html(self)
        return bundle


def summary_html(estimator: Any) -> str:
    """A few lines of HTML about a fitted estimator; empty if it is not fitted.

    Every text is escaped, and colours are those of the page, light or dark.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> fitted = SimpleNamespace(labels_=[0, 0, 1], stop_reason_="<done>")
    >>> "&lt;done&gt;" in summary_html(fitted)
    True
    """
    labels = getattr(estimator, "labels_", None)
    if labels is None:
        return ""
    names, sizes = np.unique(np.asarray(labels), return_counts=True)
    facts = [
        f"<b>{len(names)} clusters</b> of {sizes.min():,} to {sizes.max():,} samples, "
        f"{sizes.sum():,} in all"
    ]
    facts += _ending(
        getattr(estimator, "n_iter_", None),
        getattr(estimator, "converged_", None),
        getattr(estimator, "stop_reason_", ""),
    )
    parts = [f"<div>{' · '.join(facts)}</div>", _bars(names, sizes)]
    weights = getattr(estimator, "kernel_weights_", None)
    if weights is not None and len(weights) > 1:
        parts.append(_weights(getattr(estimator, "kernel_names_", ()), weights))
    return _framed(parts)


def solution_html(solution: Any) -> str:
    """A few lines of HTML about a solver's result.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from unispectral.paper import Solution
    >>> found = Solution(
    ...     Z=sp.csr_array((2, 2)), P=np.eye(2), Q=np.eye(2), labels=np.array([0, 1]),
    ...     weights=np.ones(1), objective=[2.0, 1.0], n_iter=2, converged=True,
    ...     reason="it was told to", kkt=1e-9, eigenvalues=np.zeros(2),
    ... )
    >>> "it was told to" in solution_html(found)
    True
    """
    names, sizes = np.unique(solution.labels, return_counts=True)
    facts = [f"<b>{type(solution).__name__}</b>: {len(names)} clusters of {sizes.sum():,} samples"]
    facts += _ending(solution.n_iter, solution.converged, solution.reason)
    numbers = [f"{solution.Z.nnz:,} edges", f"optimality residual {solution.kkt:.2g}"]
    if len(solution.objective):
        numbers.insert(0, f"objective {solution.objective[-1]:.6g}")
    parts = [
        f"<div>{' · '.join(facts)}</div>",
        f"<div>{' · '.join(numbers)}</div>",
        _bars(names, sizes),
    ]
    if len(solution.weights) > 1:
        parts.append(_weights((), solution.weights))
    return _framed(parts)


def _ending(n_iter: Any, converged: Any, reason: Any) -> list[str]:
    facts = []
    if n_iter is not None:
        facts.append(f"{int(n_iter)} iterations")
    state = {None: "", True: "converged", False: "<b>not converged</b>"}[
        None if converged is None else bool(converged)
    ]
    told = f"{state}: {escape(str(reason))}" if state and reason else state or escape(str(reason))
    return [*facts, told] if told else facts


def _framed(parts: Sequence[str]) -> str:
    style = (
        "font-family:sans-serif;font-size:13px;line-height:1.5;margin:6px 0 2px 0;"
        "padding:6px 10px;border-left:3px solid #0072B2;max-width:60em"
    )
    return f'<div style="{style}">{"".join(part for part in parts if part)}</div>'


def _bars(names: np.ndarray, sizes: np.ndarray) -> str:
    """Cluster sizes as a line of bars, in the colours of the plots."""
    if len(sizes) > _MOST_BARS:
        return ""
    from unispectral.plotting._colors import hex_colors

    wide = 14 if len(sizes) <= 20 else 4
    heights = np.maximum(np.rint(sizes / sizes.max() * 30), 1).astype(int)
    bars = "".join(
        f'<rect x="{k * wide}" y="{30 - height}" width="{wide - 1}" height="{height}" '
        f'fill="{color}"><title>cluster {escape(str(name))}: {size:,}</title></rect>'
        for k, (name, size, height, color) in enumerate(
            zip(names, sizes, heights, hex_colors(len(sizes)), strict=True)
        )
    )
    return (
        f'<svg width="{len(sizes) * wide}" height="30" role="img" '
        f'aria-label="cluster sizes" style="display:block;margin:4px 0">{bars}</svg>'
    )


def _weights(names: Sequence[str], weights: Any) -> str:
    """Kernel weights as bars, the heaviest first."""
    weights = np.asarray(weights, dtype=float)
    names = (
        list(names) if len(names) == len(weights) else [f"kernel {r}" for r in range(len(weights))]
    )
    heaviest = np.argsort(-weights, kind="stable")[:_MOST_WEIGHTS]
    top = max(float(weights.max()), 1e-300)
    rows = "".join(
        '<tr style="background:none"><td style="text-align:left;padding:0 8px 0 0;border:0">'
        f"{escape(str(names[r]))}</td>"
        '<td style="text-align:left;padding:0;border:0;white-space:nowrap">'
        '<span style="display:inline-block;vertical-align:middle;height:9px;background:#0072B2;'
        f'width:{max(weights[r], 0.0) / top * 140:.0f}px"></span> {weights[r]:.3g}</td></tr>'
        for r in heaviest
    )
    left = len(weights) - len(heaviest)
    more = f"<div>and {left} lighter kernels</div>" if left else ""
    style = "border-collapse:collapse;font-size:12px;margin:2px 0;border:0"
    return f'<table style="{style}">{rows}</table>{more}'
