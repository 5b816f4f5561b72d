"""Modes of the density: where samples crowd, and how far each crowd stands out from the next.

The density at a sample follows from the distances to its neighbours. A mode is a sample that is
denser than its neighbours; its prominence is the difference in log density to the highest pass
over which a denser mode can be reached (persistence: Chazal, Guibas, Oudot and Skraba, Journal of
the ACM 60, 2013, article 41). Unlike a cut it does not mind of what size or shape a cluster is, or
how many thin samples lie in between; in many dimensions it sees little.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral.labelfree._geometry import KernelDistance

__all__ = ["local_dimension", "mode_prominences", "nearest_squared", "prominences"]

#: Neighbours by which density and dimension are judged.
_NEIGHBORS = 12
#: In more dimensions than this, neighbours are too far away to tell the density.
_MOST_DIMENSIONS = 5.0


def nearest_squared(distance: KernelDistance) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other samples of each sample, and their squared distances, ascending."""
    squared = distance.distances(slice(None), slice(None))
    np.fill_diagonal(squared, -1.0)  # a copy of a sample may be as near as itself
    k = min(_NEIGHBORS, distance.n_samples - 1)
    near = np.argsort(squared, axis=1, kind="stable")[:, 1 : k + 1]
    return near, np.maximum(np.take_along_axis(squared, near, axis=1), 0.0)


def local_dimension(squared: np.ndarray) -> float:
    """The dimension in which neighbours lie (Levina and Bickel 2004), at most 50; 0 for none.

    Squared distances ascend in each row.
    """
    apart = squared[squared[:, 0] > 1e-12 * max(float(squared.max(initial=0.0)), 1e-300)]
    if squared.shape[1] < 2 or not len(apart):
        return 0.0
    spread = 0.5 * np.log(apart[:, -1:] / apart[:, :-1]).mean()
    return float(np.clip(1.0 / max(float(spread), 1e-3), 1.0, 50.0))


def mode_prominences(distance: KernelDistance) -> np.ndarray | None:
    """Prominences of the modes, descending, in units of what chance alone brings about.

    None where samples are all equal or have too many dimensions.

    The log density that k neighbours show is uncertain by 1/√k; among n samples chance raises and
    lowers it by a multiple of √(log(n/k)/k), which is the unit.
    """
    near, squared = nearest_squared(distance)
    dimension = local_dimension(squared)
    if not 0.0 < dimension <= _MOST_DIMENSIONS:
        return None
    n, k = near.shape
    least = 1e-12 * float(squared.max())
    density = -0.5 * dimension * np.log(np.maximum(squared, least)).mean(axis=1)
    return prominences(near, density) / np.sqrt(np.log(max(n / k, 2.0)) / k)


def prominences(near: np.ndarray, height: np.ndarray) -> np.ndarray:
    """How far each peak of a graph stands above the pass to a higher one, descending.

    Neighbours (n, k) are linked both ways. The highest peak of each component is infinitely so.

    Examples
    --------
    Two peaks on a path, of heights 3 and 2, with a pass at 1 between them:

    >>> prominences(np.array([[1], [2], [3], [4], [3]]), np.array([0.0, 3.0, 1.0, 2.0, 0.5]))
    array([inf,  1.])
    """
    n, k = near.shape
    order = np.argsort(-height, kind="stable")
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    rows = np.repeat(place, k)
    links = sp.csr_array((np.ones(n * k), (rows, place[near].ravel())), shape=(n, n))
    links = sp.csr_array(links + links.T)
    starts, others = links.indptr.tolist(), links.indices.tolist()
    falling = height[order].tolist()
    above = list(range(n))  # leads from each sample, in falling order, towards its peak

    def peak(i: int) -> int:
        while above[i] != i:
            above[i] = above[above[i]]
            i = above[i]
        return i

    found = []
    for i in range(n):
        peaks = sorted({peak(j) for j in others[starts[i] : starts[i + 1]] if j < i})
        if not peaks:
            continue
        above[i] = peaks[0]
        for lower in peaks[1:]:
            found.append(falling[lower] - falling[i])
            above[lower] = peaks[0]
    highest = sum(above[i] == i for i in range(n))
    return np.concatenate([np.full(highest, np.inf), np.sort(found)[::-1]])
