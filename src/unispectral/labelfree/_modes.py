"""Find the modes of the density, and how far each stands out.

A mode of the density is a sample that is denser than its neighbours; its prominence is the
difference in log density to the highest pass over which a denser mode can be reached (persistence:
Chazal, Guibas, Oudot and Skraba, Journal of the ACM 60, 2013, article 41). Unlike a cut it does
not mind of what size or shape a cluster is, or how many samples of low density lie in between; in
many dimensions it sees little.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial import KDTree

from unispectral._arrays import pick_evenly
from unispectral._compat import njit
from unispectral.graph.spanning_tree import find_root
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._selection import estimate_dimension, find_nearest_squared

#: Samples that the density is looked at in, and its neighbours: at least so many, that share of
#: the square root of the number of samples, at most so many.
_DENSITY_SAMPLES = 10_000
_NEAR = 12
_NEAR_SHARE = 0.8
_MOST_NEAR = 50
#: In more dimensions than this, neighbours are too far away to tell the density.
_MOST_DIMENSIONS = 5.0
#: Samples whose distances are all looked at, where there is no table.
_COUNTED = 1_200


def mode_prominences(distance: KernelDistance) -> np.ndarray | None:
    """Prominences of the modes, descending, in units of what chance alone brings about.

    None where samples are all equal or have too many dimensions.

    The log density that k neighbours show is uncertain by 1/√k; among n samples chance raises and
    lowers it by a multiple of √(log(n/k)/k), which is the unit. Many neighbours show modes more
    surely than few, but not those of clusters that have no more members: of either the larger
    prominence counts, that of few neighbours less one.
    """
    table = distance.features()
    if table is None:
        few = distance.subset(pick_evenly(distance.n_samples, _COUNTED))
        near, squared = find_nearest_squared(few)
    else:
        table = np.asarray(table, dtype=np.float64)
        table = table[pick_evenly(len(table), _DENSITY_SAMPLES)]
        near, squared = _find_nearest(table)
    dimension = estimate_dimension(squared[:, :_NEAR])
    if not 0.0 < dimension <= _MOST_DIMENSIONS:
        return None
    few_near = _prominences(near[:, :_NEAR], squared[:, :_NEAR], dimension)
    if near.shape[1] <= _NEAR:
        return few_near
    found = _prominences(near, squared, dimension)
    both = np.zeros(max(len(found), len(few_near)))
    both[: len(found)] = found
    both[: len(few_near)] = np.maximum(both[: len(few_near)], few_near - 1.0)
    return both


def _find_nearest(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nearest other rows of each row of few columns, and their squared distances."""
    n = len(table)
    k = int(np.clip(_NEAR_SHARE * np.sqrt(n), _NEAR, _MOST_NEAR))
    distances, near = KDTree(table).query(table, min(k + 1, n))
    # Among copies of a row, it may not be the first that is found.
    own = near == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (n, near.shape[1] - 1)
    return near[~own].reshape(shape), np.square(distances[~own].reshape(shape))


def _prominences(near: np.ndarray, squared: np.ndarray, dimension: float) -> np.ndarray:
    """The prominences of the modes that so many neighbours show, in units of chance."""
    n, k = near.shape
    least = 1e-12 * float(squared.max())
    density = -0.5 * dimension * np.log(np.maximum(squared, least)).mean(axis=1)
    return find_prominences(near, density) / np.sqrt(np.log(max(n / k, 2.0)) / k)


def find_prominences(near: np.ndarray, height: np.ndarray) -> np.ndarray:
    """How far each peak of a graph stands above the pass to a higher one, descending.

    Neighbours (n, k) are linked both ways. The highest peak of each component is infinitely so.

    Examples
    --------
    Two peaks on a path, of heights 3 and 2, with a pass at 1 between them:

    >>> find_prominences(np.array([[1], [2], [3], [4], [3]]), np.array([0.0, 3.0, 1.0, 2.0, 0.5]))
    array([inf,  1.])
    """
    n, k = near.shape
    order = np.argsort(-height, kind="stable")
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    rows = np.repeat(place, k)
    links = sp.csr_array((np.ones(n * k), (rows, place[near].ravel())), shape=(n, n))
    links = sp.csr_array(links + links.T)
    found = _find_passes(links.indptr, links.indices, height[order])
    return np.sort(found[~np.isnan(found)])[::-1]


@njit(cache=True, nogil=True)
def _find_passes(indptr, indices, falling):
    """How far each peak stands above the pass to a higher one; NaN for what is no peak.

    Nodes are in the order of falling height, and join the highest of the peaks that they reach.
    """
    n = len(falling)
    above = np.arange(n)  # leads from each node towards its peak
    found = np.full(n, np.nan)
    for i in range(n):
        best = i
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] < i:
                best = min(best, find_root(above, indices[p]))
        if best == i:
            found[i] = np.inf
            continue
        above[i] = best
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] < i:
                lower = find_root(above, indices[p])
                if lower != best:
                    found[lower] = falling[lower] - falling[i]
                    above[lower] = best
    return found
