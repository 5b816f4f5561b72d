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


def _far_groups(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Four clusters, and a dozen nearly equal samples in each of five places far from them."""
    y = np.repeat(np.arange(4), 250)
    X = 3.5 * np.eye(4, 5)[y] + rng.normal(size=(1000, 5))
    far = np.repeat(60 * rng.normal(size=(5, 5)), 12, axis=0)
    X = np.vstack([X, far + 0.01 * rng.normal(size=far.shape)])
    return X, np.append(y, np.full(60, -1))


def _bars_in_noise(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Four bars of unequal length side by side, and noise everywhere."""
    parts = [rng.uniform([-1, -1], [11, 5], (250, 2))]
    y = [-1] * 250
    for at, length in enumerate((10.0, 8.0, 3.0, 1.5)):
        n = int(120 * length)
        parts.append(rng.uniform([0, at], [length, at + 0.5], (n, 2)))
        y += [at] * n
    return np.vstack(parts), np.array(y)


def _lacking_views(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Three views, each of which tells one pair of six clusters apart and lacks a tenth."""
    y = rng.integers(6, size=400)
    lacking = rng.random((400, 3)) < 0.1
    lacking[lacking.all(axis=1), 0] = False
    views = {}
    for pair in range(3):
        shown = np.where(y // 2 == pair, y, 10 + (y // 2 == (pair + 1) % 3))
        lumps, at = np.unique(shown, return_inverse=True)
        table = 2.0 * rng.normal(size=(len(lumps), 10))[at] + rng.normal(size=(400, 10))
        table[lacking[:, pair]] = np.nan
        views[f"view {pair}"] = table
    return views, y


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
    "repair": ("four clusters, and five small groups of near-copies far away", _far_groups),
    "joining": ("four groups of three clusters each; four are asked for", _groups_of_clusters),
    "core samples": ("four bars of unequal length, in noise", _bars_in_noise),
    "view selection": ("one view of clusters, ten of noise", _noise_views),
    "completion": ("views that each show a pair of clusters, and lack a tenth", _lacking_views),
}
