"""Plane shapes with known clusters, of any number of points, in single precision.

After the large sets of U-SPEC (Huang et al., IEEE TKDE 2020): two bananas, a smiling face,
concentric circles, circles and Gaussians. Every cluster has noise across its shape; the gaps
between clusters are several times as wide, so that the shapes can be separated, but for the tails
of the Gaussians.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Part = Callable[[np.random.Generator, int], np.ndarray]


def shape(name: str, n: int, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """So many points of a shape in random order, and the part of it that each belongs to.

    Examples
    --------
    >>> X, y = shape("moons", 1_000)
    >>> X.shape, X.dtype.name, np.bincount(y).tolist()
    ((1000, 2), 'float32', [500, 500])
    """
    parts = SHAPES[name]
    rng = np.random.default_rng(seed)
    weights = np.array([weight for weight, _ in parts])
    sizes = np.diff(np.rint(np.concatenate([[0], np.cumsum(weights)]) / weights.sum() * n))
    order = rng.permutation(n)
    X, y = np.empty((n, 2), dtype=np.float32), np.empty(n, dtype=np.int8)
    start = 0
    for label, (size, (_, draw)) in enumerate(zip(sizes.astype(int).tolist(), parts, strict=True)):
        rows = order[start : start + size]
        X[rows], y[rows] = draw(rng, size), label
        start += size
    return X, y


def _arc(
    centre: tuple[float, float],
    radius: float,
    width: float,
    angles: tuple[float, float] = (0.0, 2.0),
) -> Part:
    """Part of a circle, between angles in units of π, with uniform noise across it."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        angle = np.pi * rng.uniform(*angles, n)
        reach = radius + rng.uniform(-width / 2, width / 2, n)
        return np.column_stack([np.cos(angle), np.sin(angle)]) * reach[:, None] + centre

    return draw


def _gaussian(centre: tuple[float, float], spread: float) -> Part:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return spread * rng.standard_normal((n, 2)) + centre

    return draw


#: The weight and the points of every part of a shape.
SHAPES: dict[str, list[tuple[float, Part]]] = {
    "moons": [
        (1, _arc((0.0, 0.0), 1.0, 0.4, (0.0, 1.0))),
        (1, _arc((1.0, 0.5), 1.0, 0.4, (1.0, 2.0))),
    ],
    "circles": [(1, _arc((0.0, 0.0), radius, 0.5)) for radius in (1.0, 2.0, 3.0)],
    "gaussians": [
        (10, _gaussian((0.0, 0.0), 1.0)),
        (5, _gaussian((7.0, 0.0), 0.7)),
        (2, _gaussian((0.0, 6.0), 0.5)),
        (1, _gaussian((5.0, 5.0), 0.3)),
    ],
    "circles and gaussians": [
        (4, _arc((0.0, 0.0), 4.0, 0.5)),
        (3, _arc((0.0, 0.0), 2.8, 0.5)),
        (2, _gaussian((0.0, 0.0), 0.4)),
        (2, _gaussian((6.5, 6.5), 0.5)),
        (1, _gaussian((-6.0, 6.0), 0.3)),
    ],
}
