"""Repeat the runs of the published record, random number by random number.

Every recorded experiment starts MATLAB's default generator anew and draws all its repeats from
that one stream. :func:`replay` does the same, so that the labels of each repeat, and with them the
recorded means, come out again. Where a result hangs on the last digit of an eigenvector, it need
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from unispectral.baselines._base import Kernels
from unispectral.baselines._draws import RecordedDraws
from unispectral.baselines._kmeans import kmeans
from unispectral.baselines._spectral import laplacian_eigenvectors, unit_rows
from unispectral.baselines.aasc import aggregate
from unispectral.baselines.kkm import kkm
from unispectral.baselines.mkkm import mkkm
from unispectral.baselines.rkkm import rkkm
from unispectral.baselines.rmkkm import rmkkm
from unispectral.kernels import KernelBank

__all__ = ["METHODS", "aasc_root", "replay"]

#: The methods that have a record: of one kernel, and of several.
METHODS = ("KKM", "RKKM", "SC", "MKKM", "AASC", "RMKKM")
#: Random starts of the recorded k-means on eigenvectors.
_STARTS = 10


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
    if method not in METHODS:
        raise ValueError(f"method={method!r} has no record; use one of {', '.join(METHODS)}.")
    if isinstance(kernels, KernelBank):
        kernels = Kernels(kernels)
    if method in ("KKM", "RKKM", "SC") and isinstance(kernels, Kernels):
        raise TypeError(f"{method} takes one kernel, not a bank; give bank.matrix(r).")
    if method not in ("KKM", "RKKM", "SC") and not isinstance(kernels, Kernels):
        kernels = Kernels(KernelBank.precomputed(kernels))
    settings = {"gamma": gamma, "root": root, "unit": unit}
    repeats = _REPEATS[method](kernels, n_clusters, RecordedDraws(), settings)
    return np.stack([next(repeats) for _ in range(n_repeats)])


Repeats = Iterator[np.ndarray]
Settings = dict[str, Any]


def _kkm(K: np.ndarray, c: int, draws: RecordedDraws, _: Settings) -> Repeats:
    while True:
        yield kkm(K, c, draws, recorded=True).labels


def _rkkm(K: np.ndarray, c: int, draws: RecordedDraws, _: Settings) -> Repeats:
    while True:
        yield rkkm(K, c, draws, recorded=True)[0].labels


def _sc(K: np.ndarray, c: int, draws: RecordedDraws, settings: Settings) -> Repeats:
    rows = unit_rows(laplacian_eigenvectors(K, c, complete=True)[1])
    return _two_kmeans(rows, rows, c, draws, settings["unit"], last_iterations=100)


def _mkkm(kernels: Kernels, c: int, draws: RecordedDraws, _: Settings) -> Repeats:
    while True:
        yield mkkm(kernels, c, draws, recorded=True).partition.labels


def _rmkkm(kernels: Kernels, c: int, draws: RecordedDraws, settings: Settings) -> Repeats:
    while True:
        found = rmkkm(kernels, c, draws, gamma=settings["gamma"], recorded=True)
        yield found.partition.labels


def _aasc(kernels: Kernels, c: int, draws: RecordedDraws, settings: Settings) -> Repeats:
    vectors = aggregate(kernels, c, root=settings["root"], recorded=True).vectors
    rows = unit_rows(vectors)
    return _two_kmeans(vectors, rows, c, draws, settings["unit"], last_iterations=1000)


def _two_kmeans(
    first: np.ndarray,
    second: np.ndarray,
    c: int,
    draws: RecordedDraws,
    unit: bool,
    last_iterations: int,
) -> Repeats:
    """Both k-means of a repeat, since both draw from the stream."""
    while True:
        plain = kmeans(first, c, draws, n_init=_STARTS, max_iter=1000, recorded=True)
        scaled = kmeans(second, c, draws, n_init=_STARTS, max_iter=last_iterations, recorded=True)
        yield (scaled if unit else plain).labels


_REPEATS: dict[str, Callable[..., Repeats]] = {
    "KKM": _kkm,
    "RKKM": _rkkm,
    "SC": _sc,
    "MKKM": _mkkm,
    "AASC": _aasc,
    "RMKKM": _rmkkm,
}
