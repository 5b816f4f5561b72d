"""How many clusters: read off the spectra of the first graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral.eigen import smallest_eigenvectors

__all__ = ["Evidence", "count_clusters"]

#: Candidates of each code in the graphs from which clusters are counted.
NEIGHBOURS = 10
#: Eigenvalues below this are as good as zero: the clusters they separate are not connected.
FLOOR = 1e-4


class Evidence(NamedTuple):
    """Why this number of clusters.

    Attributes
    ----------
    n_clusters : int
    eigenvalues : ndarray
        The smallest eigenvalues of the normalised Laplacian that spoke most clearly.
    ratios : ndarray
        ``ratios[i]`` is log((λ_{c+1} + ε) / (λ_c + ε)) for c = i + 2 clusters: the drop in
        connection when a further cluster is split off.
    graph : int
        Which of the graphs it was.
    """

    n_clusters: int
    eigenvalues: np.ndarray
    ratios: np.ndarray
    graph: int


def count_clusters(
    graphs: Sequence[sp.csr_array], max_clusters: int, rng: np.random.Generator | None = None
) -> Evidence:
    """The number of clusters after which the next eigenvalue is largest in proportion.

    Parameters
    ----------
    graphs : sequence of CSR arrays
        Affinities of the same samples, one per geometry; the clearest ratio of all decides.
    max_clusters : int
        The most that is considered.
    rng : Generator

    Examples
    --------
    >>> blocks = sp.csr_array(np.kron(np.eye(3), np.ones((6, 6))))
    >>> count_clusters([blocks], 5).n_clusters
    3
    """
    n = graphs[0].shape[0]
    wanted = min(max_clusters + 1, n)
    if wanted < 3:
        raise ValueError(f"n_clusters='auto' needs at least 3 samples, not {n}.")
    found: list[Evidence] = []
    for position, W in enumerate(graphs):
        values = smallest_eigenvectors(W, wanted, rng=rng).values
        ratios = np.log((values[2:] + FLOOR) / (values[1:-1] + FLOOR))
        # As many components as are considered, or more: no eigenvalue tells them apart.
        best = int(np.argmax(ratios)) if values[-1] > FLOOR else len(ratios) - 1
        found.append(Evidence(best + 2, values, ratios, position))
    return max(found, key=lambda evidence: float(evidence.ratios.max()))
