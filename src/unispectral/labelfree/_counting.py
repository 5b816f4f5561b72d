"""How many clusters: read off the spectra and the modularity of the first graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import InputError
from unispectral._run import Run
from unispectral.labelfree._coding import first_graph
from unispectral.labelfree._neighbourhoods import Neighbourhoods
from unispectral.labelfree._null_model import NullModel, local_dimension, modularities
from unispectral.labelfree._recipe import Recipe
from unispectral.spectrum import smallest_eigenvectors

__all__ = ["Evidence", "count_clusters", "count_in_geometries", "excess"]

#: Eigenvalues below this are as good as zero: the clusters they separate are not connected.
FLOOR = 1e-4
#: From this log ratio of eigenvalues on the gap speaks for itself.
CLEAR = 4.3
#: Candidates of each code where modularity is compared with chance: few, so that small clusters
#: have room for all of them.
FEW_NEIGHBOURS = 5
#: Less modularity beyond chance than this says nothing about the number of clusters.
LEAST_EXCESS = 0.28
#: Geometries whose modularity is followed over all numbers of clusters.
FOLLOWED = 4
#: Members that a cluster has at least on average.
_MEMBERS = 3
#: The most points of a reference sample; one sample per dimension, one start per read-out:
#: errors of single read-outs are small beside the differences that decide.
_MAX_POINTS = 800


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
    excess : ndarray or None
        ``excess[i]`` is the modularity beyond chance of c = i + 2 clusters, the largest of all
        graphs; NaN where it was not looked at, None where the ratios were clear enough.
    decided_by : {"ratios", "excess"}
        Which of the two the number maximises.
    """

    n_clusters: int
    eigenvalues: np.ndarray
    ratios: np.ndarray
    graph: int
    excess: np.ndarray | None = None
    decided_by: str = "ratios"


def count_clusters(
    graphs: Sequence[sp.csr_array], max_clusters: int, run: Run | None = None
) -> Evidence:
    """The number of clusters after which the next eigenvalue is largest in proportion.

    Parameters
    ----------
    graphs : sequence of CSR arrays
        Affinities of the same samples, one per geometry; the clearest ratio of all decides.
    max_clusters : int
        The most that is considered.
    run : Run or None

    Examples
    --------
    >>> blocks = sp.csr_array(np.kron(np.eye(3), np.ones((6, 6))))
    >>> count_clusters([blocks], 5).n_clusters
    3
    """
    n = graphs[0].shape[0]
    wanted = min(max_clusters + 1, n)
    if wanted < 3:
        raise InputError("n_clusters", f"needs at least 3 samples, not {n}", value="auto")
    found: list[Evidence] = []
    for position, W in enumerate(graphs):
        rng = None if run is None else run.rng
        values = smallest_eigenvectors(W, wanted, rng=rng, run=run).values
        ratios = np.log((values[2:] + FLOOR) / (values[1:-1] + FLOOR))
        # As many components as are considered, or more: no eigenvalue tells them apart.
        best = int(np.argmax(ratios)) if values[-1] > FLOOR else len(ratios) - 1
        found.append(Evidence(best + 2, values, ratios, position))
    return max(found, key=lambda evidence: float(evidence.ratios.max()))


def count_in_geometries(
    around: Sequence[Neighbourhoods], recipe: Recipe, run: Run, *, grown: int = 1
) -> Evidence:
    """The number of clusters by the gap where it is clear, by modularity beyond chance elsewhere.

    On connected data the first split of the graph has the largest ratio of eigenvalues whatever
    the number of clusters. There the number counts whose clusters exceed most what the
    null model would show; if none exceeds it enough, the largest ratio is all there is.

    Parameters
    ----------
    around : sequence of Neighbourhoods
        One per geometry, of all samples, with at least 10 candidates where possible.
    recipe : Recipe
        Its number of clusters does not matter.
    run : Run
    grown : int
        How many times more candidates there are than usual, because near-duplicates take places.
    """
    graphs = [first_graph(one, recipe, run) for one in around]
    evidence = count_clusters(graphs, recipe.max_clusters, run)
    counts = _counts(min(recipe.max_clusters, len(around[0].neighbours) // _MEMBERS))
    whole = [one for one in around if one.present is None]
    if evidence.ratios.max() >= CLEAR or not counts or not whole:
        return evidence
    few = [one.nearest(grown * FEW_NEIGHBOURS) for one in whole]
    best = _followed(few, recipe, counts, int(run.rng.integers(2**31 - 1)), run)
    spread = np.full(len(evidence.ratios), np.nan)
    spread[np.array(counts) - 2] = best
    evidence = evidence._replace(excess=spread)
    if best.max() < LEAST_EXCESS:
        return evidence
    return evidence._replace(n_clusters=counts[int(np.argmax(best))], decided_by="excess")


def _counts(most: int) -> list[int]:
    """All small numbers from two on, then steps of an eighth.

    Examples
    --------
    >>> _counts(40)[8:]
    [10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40]
    """
    found, count = [], 2
    while count <= most:
        found.append(count)
        count = max(count + 1, round(1.125 * count))
    return found


def _followed(
    around: Sequence[Neighbourhoods],
    recipe: Recipe,
    counts: Sequence[int],
    seed: int,
    run: Run,
) -> np.ndarray:
    """The largest excess of all geometries, for each number of clusters."""
    n, k = around[0].neighbours.shape
    recipe = replace(recipe, gamma=0.0, assign_labels="kmeans", n_init=1)
    dimensions = [local_dimension(one, run) for one in around]

    def curves(chosen: Sequence[int], counts: Sequence[int]) -> list[np.ndarray]:
        null = NullModel(n, k, recipe, seed, run, counts=counts, draws=1, max_points=_MAX_POINTS)
        own = run.replace(rng=np.random.default_rng(seed))
        return [
            excess(
                modularities(around[at], recipe, counts, own),
                null.curve(dimensions[at]),
                np.array(counts),
            )
            for at in chosen
        ]

    chosen: Sequence[int] = range(len(around))
    if len(around) > FOLLOWED:
        middle = [float(one[0]) for one in curves(chosen, [counts[len(counts) // 2]])]
        chosen = np.argsort(middle)[::-1][:FOLLOWED].tolist()
    return np.max(curves(chosen, counts), axis=0)


def excess(reached: np.ndarray, expected: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Modularity beyond chance: the geometric mean of what is gained and its share of the most.

    What is gained over chance alone would favour many clusters, its share of what could be gained
    few of them.

    Parameters
    ----------
    reached, expected : ndarray of shape (m,)
        The modularity of the samples and of the null model.
    counts : ndarray of shape (m,)
        The numbers of clusters c; the modularity of c clusters is at most 1 − 1/c.

    Examples
    --------
    >>> excess(np.array([0.75]), np.array([0.5]), np.array([4])).round(3)
    array([0.5])
    """
    room = np.maximum(1.0 - 1.0 / counts - expected, 1e-3)
    return (reached - expected) / np.sqrt(room)
