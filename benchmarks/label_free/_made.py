"""Problems made for single parts of the model: failures that the collected sets do not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.label_free import shapes

__all__ = ["DRAWS", "MADE"]

#: Draws of each problem.
DRAWS = 3


def _groups_of_clusters(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Four groups of three clusters each, where four are asked for."""
    groups = np.repeat(rng.normal(scale=40, size=(4, 3)), 3, axis=0)
    centres = groups + rng.normal(scale=6, size=(12, 3))
    X = np.repeat(centres, 40, axis=0) + rng.normal(scale=0.5, size=(480, 3))
    return X, np.repeat(np.arange(4), 120)


def _answers(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Two groups of people, and their answers to four questions: few rows, each of them often."""
    y = np.repeat([0, 1], 300)
    chance = np.where(y[:, None] == 0, 0.15, 0.85)
    return rng.binomial(2, chance, (600, 4)).astype(float), y


def _another_unit(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Three clusters in six columns, and one of noise in numbers a thousand times as large."""
    y = np.repeat(np.arange(3), 60)
    X = 3 * np.eye(3, 6)[y] + rng.normal(size=(180, 6))
    return np.hstack([X, 1000 * rng.normal(size=(180, 1))]), y


def _animals(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Three kinds of animals by five measurements that all grow with the animal."""
    return shapes.animals(int(rng.integers(1000)))


def _noise_views(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """One view of three clusters, and ten of noise."""
    y = np.repeat(np.arange(3), 60)
    views = {"clusters": 4 * np.eye(3, 5)[y] + rng.normal(size=(180, 5))}
    for number in range(10):
        views[f"noise {number}"] = rng.normal(size=(180, 10))
    return views, y


#: The part that is switched off, what the problem is, and the samples with their classes.
MADE: dict[str, tuple[str, Callable[[np.random.Generator], tuple[Any, np.ndarray]]]] = {
    "copies": ("answers to four questions: few rows, each of them often", _answers),
    "standardising": ("a column of noise in another unit", _another_unit),
    "second look": ("three kinds of animals, which differ less than their sizes", _animals),
    "joining": ("four groups of three clusters each; four are asked for", _groups_of_clusters),
    "view selection": ("one view of clusters, ten of noise", _noise_views),
}
