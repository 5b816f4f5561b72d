"""A root of one equation by a trust-region Newton method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["dogleg_root"]

_EPS = float(np.finfo(np.float64).eps)


def dogleg_root(
    function: Callable[[float], float],
    start: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 400,
    max_calls: int = 100,
) -> float:
    """Follow the dogleg method of the published code from ``start``; it need not find a root.

    In one dimension the dogleg step is Newton's, cut to the radius: 1 at first, times 2.5 after a
    step that did what was promised, a quarter of the step after one that did not. The derivative
    is a forward difference. Its rules for stopping are followed too, since the record depends on
    where the method gives up.

    Examples
    --------
    >>> round(dogleg_root(lambda x: x * x - 2.0, 1.0), 6)
    1.414214
    """
    x, value, radius, step = start, function(start), 1.0, 0.0
    slope, calls = _slope(function, x, value), 2
    objective = before = 0.5 * value * value
    accepted = True
    for iteration in range(max_iter + 1):
        flat = abs(slope * value) < tol
        still = iteration > 1 and abs(step) / (abs(x) + 1.0) < max(tol**2, _EPS)
        resting = (
            iteration > 1
            and accepted
            and abs(step) < 0.9 * radius
            and abs(before - objective) < max(tol**2, _EPS) * (1.0 + abs(before))
        )
        if flat or still or resting or radius < 2.0 * _EPS or calls >= max_calls:
            break
        step = float(np.clip(-value / slope, -radius, radius))
        trial = function(x + step)
        calls += 1
        reached = 0.5 * trial * trial
        promised = slope * value * step + 0.5 * (slope * step) ** 2
        ratio = (reached - objective) / promised if promised < 0.0 else 0.0
        accepted = bool(ratio > 0.05 and np.isfinite(reached))
        if accepted:
            before, objective = objective, reached
            x, value = x + step, trial
            slope = _slope(function, x, value)
            calls += 1
        if not ratio >= 0.05:
            radius = 0.25 * abs(step)
        elif ratio >= 0.9:
            radius = max(radius, 2.5 * abs(step))
    return x


def _slope(function: Callable[[float], float], x: float, value: float) -> float:
    width = np.sqrt(_EPS) * max(abs(x), 1.0) * (1.0 if x >= 0.0 else -1.0)
    return (function(x + width) - value) / width
