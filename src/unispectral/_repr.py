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
    attributes = ("n_iter_", "converged_", "stop_reason_", "kernel_weights_", "kernel_names_")
    return _html("", labels, *(getattr(estimator, name, None) for name in attributes))


def solution_html(solution: Any) -> str:
    """A few lines of HTML about a solver's result."""
    objective = f"objective {solution.objective[-1]:.6g}, " if len(solution.objective) else ""
    title = f"{objective}{solution.Z.nnz:,} edges, optimality residual {solution.kkt:.2g}"
    how = solution.n_iter, solution.converged, solution.reason, solution.weights
    return _html(f"<b>{type(solution).__name__}</b>: {title}", solution.labels, *how)


def _html(
    title: str,
    labels: Any,
    n_iter: Any,
    converged: Any,
    reason: Any,
    weights: Any,
    kernels: Sequence[str] | None = None,
) -> str:
    names, sizes = np.unique(np.asarray(labels), return_counts=True)
    facts = f"<b>{len(names)} clusters</b> of {sizes.min():,} to {sizes.max():,} samples, "
    facts += f"{sizes.sum():,} in all"
    if n_iter is not None:
        facts += f" · {int(n_iter)} iteration{'s' * (n_iter != 1)}"
    if converged is not None and not converged:
        facts += " · <b>not converged</b>"
    if reason:
        facts += f" · {escape(str(reason))}"
    lines = [title, facts, _bars(names, sizes)]
    if weights is not None and len(weights) > 1:
        lines.append(_weights(np.asarray(weights, dtype=float), kernels))
    style = "font:13px/1.5 sans-serif;margin:6px 0 2px;padding:6px 10px;max-width:60em"
    inside = "".join(f"<div>{line}</div>" for line in lines if line)
    return f'<div style="{style};border-left:3px solid #0072B2">{inside}</div>'


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
    size = f'width="{len(sizes) * wide}" height="30"'
    return f'<svg {size} role="img" aria-label="cluster sizes">{bars}</svg>'


def _weights(weights: np.ndarray, kernels: Sequence[str] | None) -> str:
    """Kernel weights, the heaviest first."""
    if kernels is None or len(kernels) != len(weights):
        kernels = [f"kernel {r}" for r in range(len(weights))]
    heaviest = np.argsort(-weights, kind="stable")[:_MOST_WEIGHTS]
    shown = ", ".join(f"{escape(str(kernels[r]))} {weights[r]:.3g}" for r in heaviest)
    left = len(weights) - len(heaviest)
    return f"kernel weights: {shown}{f' and {left} lighter kernels' if left else ''}"
