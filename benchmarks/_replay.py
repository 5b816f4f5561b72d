"""The repeats of the published record, replayed one after the other from one stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.recorded_baselines import (
    RecordedStream,
    aasc_vectors,
    eigenvectors,
    kernel_kmeans,
    kernels_for,
    kmeans,
    mkkm,
    rmkkm,
)
from unispectral.baselines._spectral import unit_rows


def aasc_root(dataset: str) -> float:
    """The start of the search for AASC's multiplier that the record of a data set used.

    Two versions of the published code exist, and YALE was recorded with the later one.

    Examples
    --------
    >>> aasc_root("yale"), aasc_root("tr11")
    (-1.0, 1.0)
    """
    return -1.0 if dataset.lower() == "yale" else 1.0


def replay(
    method: str,
    kernels: Any,
    n_clusters: int,
    n_repeats: int = 20,
    *,
    gamma: float = 0.4,
    root: float = 1.0,
    unit: bool = True,
) -> np.ndarray:
    """The labels of the recorded repeats.

    Where a result hangs on the last digit of an eigenvector, they need not be the recorded ones.

    Parameters
    ----------
    method : {"KKM", "RKKM", "SC", "MKKM", "AASC", "RMKKM"}
    kernels : ndarray of shape (n, n), or KernelBank
        One kernel for the first three methods, a bank for the others.
    n_clusters : int
    n_repeats : int
        The record has 20.
    gamma : float
        RMKKM's exponent; the paper's figures are those of 0.4 (0.3 for BA).
    root : float
        AASC's start, see :func:`aasc_root`.
    unit : bool
        SC and AASC: the k-means on unit rows, which the paper quotes, or the other one, which the
        record runs before it in each repeat.

    Returns
    -------
    ndarray of shape (n_repeats, n)

    Examples
    --------
    >>> import numpy as np
    >>> K = np.kron(np.eye(2), np.ones((3, 3)))
    >>> replay("KKM", K, 2, n_repeats=3).shape
    (3, 6)
    """
    repeats = _repeats(method, kernels_for(method, kernels), n_clusters, gamma, root, unit)
    return np.stack([next(repeats) for _ in range(n_repeats)])


def _repeats(
    method: str, kernels: Any, c: int, gamma: float, root: float, unit: bool
) -> Iterator[np.ndarray]:
    stream = RecordedStream()
    if method in ("KKM", "RKKM"):
        while True:
            yield kernel_kmeans(kernels, c, stream, robust=method == "RKKM").labels
    if method == "MKKM":
        while True:
            yield mkkm(kernels, c, stream).labels
    if method == "RMKKM":
        while True:
            yield rmkkm(kernels, c, stream, gamma).labels
    vectors = eigenvectors(kernels, c) if method == "SC" else aasc_vectors(kernels, c, root)
    rows = unit_rows(vectors)
    while True:  # both k-means of a repeat, since both draw from the stream
        plain = kmeans(rows if method == "SC" else vectors, c, stream)
        scaled = kmeans(rows, c, stream, max_iter=100 if method == "SC" else 1000)
        yield (scaled if unit else plain).labels
