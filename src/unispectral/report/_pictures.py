"""What the page draws, made small: points of the plane, the graph in cells, thumbnails."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from unispectral._errors import InputError
from unispectral.plotting._layout import spacing
from unispectral.plotting.graph import bin_graph
from unispectral.plotting.samples import EmbeddingDisplay
from unispectral.report._clusters import contrasts

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

#: Rows of the picture of the graph: about as many pixels as it has on a phone.
_BINS = 220
#: Pixels along a side of a small image, and of all small images of a page together.
_SIDE = 48
_PIXELS = 3_000_000
#: Letters of a text that are shown.
_LONGEST = 200


def plane(
    estimator: object,
    X: object,
    labels: np.ndarray,
    shown: np.ndarray,
    doubt: float = 0.0,
    outlier: np.ndarray | None = None,
) -> dict[str, Any]:
    """Points of the plane for the samples shown, how they were found, and how near they lie.

    Clusters that are in doubt as a whole are drawn wider. The main directions of the columns are
    added, where there are columns.
    """
    embedding = getattr(estimator, "embedding_", None)
    if embedding is not None and len(embedding) == len(labels):
        membership = getattr(estimator, "membership_", None)
        membership = None if membership is None else np.asarray(membership)[shown]
        given = np.asarray(embedding)[shown], labels[shown], membership
        strays = None if outlier is None else outlier[shown]
        options: dict[str, Any] = {"method": "map", "max_points": len(shown), "doubt": doubt}
        drawn = EmbeddingDisplay(*given, outlier=strays, **options)
        points, how = drawn.points, "map"
    elif X is not None:
        points, how = _principal_of_table(X, shown), "features"
    else:
        points, how = np.zeros((len(shown), 2)), "none"
    x, y, gap = _frame(points)
    found = {"x": x, "y": y, "how": how, "gap": gap, "main": None}
    if how == "map" and X is not None:
        x, y, gap = _frame(_principal_of_table(X, shown))
        found["main"] = {"x": x, "y": y}
    return found


def _frame(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Points within −1 … 1, and how near they lie; three decimals resolve a page."""
    points = np.nan_to_num(points - (points.max(axis=0) + points.min(axis=0)) / 2)
    points = points / max(float(np.abs(points).max()), 1e-300)
    x, y = np.round(points, 3).T
    return x, y, spacing(points)


def _principal_of_table(X: Table, shown: np.ndarray) -> np.ndarray:
    rows = X[shown]
    if not sp.issparse(rows):
        rows = np.nan_to_num(rows - np.nanmean(rows, axis=0))
    if rows.shape[1] < 3:
        rows = rows.toarray() if sp.issparse(rows) else rows
        return np.pad(rows, ((0, 0), (0, 2 - rows.shape[1])))
    return TruncatedSVD(2, random_state=0).fit_transform(rows)


def graph_picture(affinity: object, labels: np.ndarray, bins: int = _BINS) -> dict[str, Any]:
    """The graph with samples ordered by cluster, in at most ``bins`` × ``bins`` cells."""
    found = bin_graph(affinity, labels, bins)
    shade = np.where(found.image > 0, np.maximum(found.shades, 0.06), 0.0)
    coo = sp.coo_array(affinity)
    return {
        "bins": len(shade),
        "cells": as_text(np.rint(shade * 255)),
        "edges": [0, *np.cumsum(np.bincount(labels)).tolist()],
        "within": found.within,
        "links": int(coo.nnz) // 2,
        "median_degree": float(np.median(np.bincount(coo.row, minlength=len(labels)))),
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
        problem = f"needs {height * width} columns, but there are {X.shape[1]}"
        raise InputError("image_shape", problem, value=tuple(shape))
    if len(shape) == 3 and shape[2] == "F":
        X = X.reshape(-1, width, height).swapaxes(1, 2).reshape(len(X), -1)
    step = max(1, -(-max(height, width) // _SIDE))
    small = -(-height // step), -(-width // step)
    everyone = len(shown) * small[0] * small[1] <= _PIXELS
    chosen = shown if everyone else np.asarray(picked, dtype=np.int64)
    filled = np.nan_to_num(X)
    found = contrasts(filled, labels)

    def pack(pictures: np.ndarray) -> str:
        return as_text(np.rint(pictures.reshape(-1, height, width)[:, ::step, ::step]))

    return {
        "height": int(small[0]),
        "width": int(small[1]),
        "of": np.searchsorted(shown, chosen).tolist(),
        "pixels": pack(_stretch(filled[chosen])),
        # Each cluster's mean, and where it is brighter or darker than the rest, in deviations.
        "means": pack(_stretch(found.inside)),
        "gaps": pack(128 + 127 * np.clip(found.effect / 2.0, -1, 1)),
    }


def _stretch(pictures: np.ndarray) -> np.ndarray:
    """From black to white, each picture by itself."""
    low, high = pictures.min(axis=1, keepdims=True), pictures.max(axis=1, keepdims=True)
    return 255 * (pictures - low) / np.maximum(high - low, 1e-300)


def shorten(value: object) -> str:
    """A text of limited length."""
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def as_text(values: np.ndarray) -> str:
    """Bytes 0 … 255 as a text that JavaScript's ``atob`` reads."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=np.uint8).tobytes()).decode()
