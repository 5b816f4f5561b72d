"""How the objective fell."""

from __future__ import annotations

import textwrap
from typing import Any, Self

import numpy as np

from unispectral.plotting._base import axes, fitted, tidy
from unispectral.plotting._colors import palette

__all__ = ["ObjectiveDisplay"]


class ObjectiveDisplay:
    """The objective at each iteration, and why the solver stopped.

    Parameters
    ----------
    values : array of shape (n_iter,)
    reason : str
        Why the solver stopped.
    converged : bool or None
        None if nobody knows.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from unispectral.plotting import ObjectiveDisplay
    >>> display = ObjectiveDisplay([3.0, 2.0, 1.9]).plot()
    >>> display.ax_.lines[0].get_xdata().tolist()
    [1, 2, 3]
    """

    def __init__(self, values: Any, *, reason: str = "", converged: bool | None = None) -> None:
        self.values = np.atleast_1d(np.asarray(values, dtype=np.float64))
        self.reason = reason
        self.converged = converged

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the objective of a fitted estimator.

        Parameters
        ----------
        estimator : fitted, with ``objective_`` (or, if that is one number, ``objective_path_``)
        ax : matplotlib Axes, optional
        **kwargs
            For ``plot``.
        """
        (values,) = fitted(estimator, "objective_")
        values = getattr(estimator, "objective_path_", values)
        return cls(
            values,
            reason=getattr(estimator, "stop_reason_", ""),
            converged=getattr(estimator, "converged_", None),
        ).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on ``ax``, or on new axes; keywords go to ``plot``."""
        self.figure_, self.ax_ = axes(ax, (5.6, 3.6))
        ax, count = self.ax_, len(self.values)
        marker = "o" if count <= 60 else None
        settings = {"color": palette(1)[0], "marker": marker, "markersize": 4} | kwargs
        ax.plot(np.arange(1, count + 1), self.values, **settings)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.ticklabel_format(axis="y", useOffset=False)
        note = textwrap.fill(f"stopped: {self.reason}", 70) if self.reason else ""
        ax.set(xlabel=f"iteration\n{note}".rstrip(), ylabel="objective")
        state = {None: "", True: " (converged)", False: " (not converged)"}[self.converged]
        ax.set_title(f"Objective after {count} iterations{state}", fontsize=11)
        tidy(ax, grid="y")
        return self
