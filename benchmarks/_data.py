"""The inputs of the measurements, with the true labels that only the scores see."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits


class Input(NamedTuple):
    """Samples, true labels and their number."""

    X: Any
    y: np.ndarray
    n_clusters: int


def load(name: str, *, dtype: str | None = None) -> Input:
    """A data set of the paper by name, scikit-learn's digits, or ``subspaces-<n>``.

    ``digits-<n>`` is its first n samples, which need no download.

    Examples
    --------
    >>> load("digits-60").X.shape
    (60, 64)
    """
    kind, _, size = name.partition("-")
    if kind == "subspaces":
        X, y = subspaces(int(size))
    elif kind == "digits":
        X, y = load_digits(return_X_y=True)
        X, y = (X[: int(size)], y[: int(size)]) if size else (X, y)
    else:
        from unispectral.datasets import fetch

        bunch = fetch(name)
        X, y = bunch.data, bunch.target
    if dtype is not None:
        X = X.astype(dtype)
    return Input(X, y, len(np.unique(y)))


def subspaces(n: int, *, n_clusters: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors near ten five-dimensional subspaces of 64 dimensions: the growth study's input.

    The number of clusters and their shape stay as n grows, so that only n matters.

    Examples
    --------
    >>> subspaces(20)[0].shape
    (20, 64)
    """
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(64, 5)))[0] for _ in range(n_clusters)]
    y = np.sort(np.arange(n) % n_clusters)
    X = np.stack([bases[label] @ rng.normal(size=5) for label in y])
    X += 0.1 * rng.normal(size=X.shape)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    order = rng.permutation(n)
    return X[order], y[order]
