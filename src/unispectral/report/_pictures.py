"""What the page draws, made small: points of the plane, the graph in cells, thumbnails."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["graph_picture", "plane", "thumbnails"]

_BINS = 220
_SIDE = 48
_PIXELS = 3_000_000


def plane(estimator: Any, X: Any, labels: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, str]:
    """Points of the plane for the samples shown, and how they were found."""
    from unispectral.plotting._base import Clusters
    from unispectral.plotting.embedding import _map

    embedding = getattr(estimator, "embedding_", None)
    if embedding is None or len(embedding) != len(labels):
        if X is None:
            return np.zeros((len(shown), 2)), "none"
        return _principal_of_table(X, shown), "features"
    rows = np.asarray(embedding, dtype=np.float64)[shown]
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    clusters = Clusters.of(labels[shown])
    membership = getattr(estimator, "membership_", None)
    return _unit_box(
        _map(rows, clusters, None if membership is None else membership[shown])
    ), "map"


def _principal_of_table(X: Any, shown: np.ndarray) -> np.ndarray:
    from sklearn.decomposition import TruncatedSVD

    rows = X[shown]
    if not sp.issparse(rows):
        rows = np.nan_to_num(rows - np.nanmean(rows, axis=0))
    if rows.shape[1] < 3:
        rows = rows.toarray() if sp.issparse(rows) else rows
        points = np.zeros((len(shown), 2))
        points[:, : rows.shape[1]] = rows[:, :2]
        return _unit_box(points)
    return _unit_box(TruncatedSVD(2, random_state=0).fit_transform(rows))


def _unit_box(points: np.ndarray) -> np.ndarray:
    """The same picture within −1 … 1, which three decimals then resolve."""
    points = np.nan_to_num(points - (points.max(axis=0) + points.min(axis=0)) / 2)
    return points / max(float(np.abs(points).max()), 1e-300)


def graph_picture(affinity: Any, labels: np.ndarray, bins: int = _BINS) -> dict[str, Any]:
    """The graph with samples ordered by cluster, in at most ``bins`` × ``bins`` cells.

    Examples
    --------
    >>> W = np.kron(np.eye(2), np.ones((2, 2)))
    >>> picture = graph_picture(W, np.array([0, 0, 1, 1]))
    >>> picture["within"], picture["edges"]
    (1.0, [0, 2, 4])
    """
    coo = sp.coo_array(affinity)
    n = len(labels)
    bins = min(n, bins)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(labels, kind="stable")] = np.arange(n)
    cell = rank * bins // n
    weight = np.abs(coo.data).astype(np.float64)
    image: Any = np.bincount(
        cell[coo.row] * bins + cell[coo.col], weights=weight, minlength=bins * bins
    ).reshape(bins, bins)
    heights = np.bincount(cell, minlength=bins)
    image /= np.outer(heights, heights)
    there = image[image > 0]
    # Weights span decades: a root, and a ceiling that few cells reach.
    top = float(np.quantile(there, 0.97)) if there.size else 1.0
    shade = np.clip(np.sqrt(image / max(top, 1e-300)), 0, 1)
    shade = np.where(image > 0, np.maximum(shade, 0.06), 0.0)
    total = weight.sum()
    inside = weight[labels[coo.row] == labels[coo.col]].sum()
    degrees = np.bincount(coo.row, minlength=n)
    return {
        "bins": bins,
        "cells": _bytes(np.rint(shade * 255)),
        "edges": [0, *np.cumsum(np.bincount(labels)).tolist()],
        "within": round(float(inside / total), 4) if total > 0 else 0.0,
        "links": int(coo.nnz) // 2,
        "median_degree": float(np.median(degrees)),
    }


def thumbnails(
    X: np.ndarray,
    labels: np.ndarray,
    shape: tuple[int, int] | tuple[int, int, str],
    shown: np.ndarray,
    picked: list[int],
) -> dict[str, Any] | None:
    """Small grey pictures of the samples: of all shown if they are few, else of those named."""
    height, width = shape[:2]
    if height * width != X.shape[1]:
        raise ValueError(
            f"image_shape={shape} needs {height * width} columns, but there are {X.shape[1]}."
        )
    if len(shape) == 3 and shape[2] == "F":
        X = X.reshape(-1, width, height).swapaxes(1, 2).reshape(len(X), -1)
    step = max(1, -(-max(height, width) // _SIDE))
    small = -(-height // step), -(-width // step)
    # Each cluster's mean, and where it is brighter or darker than the rest, in deviations.
    faces = _mean_pictures(X, labels, (height, width), step)
    everyone = len(shown) * small[0] * small[1] <= _PIXELS
    chosen = shown if everyone else np.asarray(picked, dtype=np.int64)
    pixels = np.nan_to_num(X[chosen]).reshape(-1, height, width)[:, ::step, ::step]
    flat = pixels.reshape(len(chosen), -1)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    grey = np.rint(255 * (flat - low) / np.maximum(high - low, 1e-300))
    place = {int(i): k for k, i in enumerate(shown)}
    return {
        "height": int(small[0]),
        "width": int(small[1]),
        "of": [place[int(i)] for i in chosen],
        "pixels": _bytes(grey),
        **faces,
    }


def _mean_pictures(
    X: np.ndarray, labels: np.ndarray, shape: tuple[int, int], step: int
) -> dict[str, str]:
    """The mean picture of each cluster, and its standardised difference from the rest."""
    filled = np.nan_to_num(X)
    spread = np.maximum(filled.std(axis=0), 1e-12 * max(float(np.abs(filled).max()), 1e-300))
    total, n = filled.sum(axis=0), len(filled)
    means, gaps = [], []
    for cluster in range(int(labels.max()) + 1):
        inside = filled[labels == cluster]
        mean = inside.mean(axis=0) if len(inside) else np.zeros(X.shape[1])
        rest = (total - mean * len(inside)) / max(n - len(inside), 1)
        gap = np.where(spread > 1e-9 * spread.max(), (mean - rest) / spread, 0.0)
        means.append(255 * (mean - mean.min()) / max(float(np.ptp(mean)), 1e-300))
        gaps.append(128 + 127 * np.clip(gap / 2.0, -1, 1))

    def small(pictures: list[np.ndarray]) -> str:
        return _bytes(np.rint(np.array(pictures).reshape(-1, *shape)[:, ::step, ::step]))

    return {"means": small(means), "gaps": small(gaps)}


def _bytes(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode()
