"""Count the clusters: how many there are, and whether there are any.

A graph of near neighbours has small eigenvalues and a large modularity whatever the data, the more
so the fewer dimensions the data have. So both are compared with those of Gaussian samples of the
same covariance, which have the same size, shape and dimension, and no clusters. In few dimensions
a number of clusters is the better, the more the eigenvalues rise after it, and the more prominent
so many modes of the density are beside the next; in many dimensions, where the density says
nothing, the more its modularity exceeds that of the reference.

A mode of the density is a sample that is denser than its neighbours; its prominence is the
difference in log density to the highest pass over which a denser mode can be reached (persistence:
Chazal, Guibas, Oudot and Skraba, Journal of the ACM 60, 2013, article 41). Unlike a cut it does
not mind of what size or shape a cluster is, or how many samples of low density lie in between; in
many dimensions it sees little.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from unispectral._errors import InputError
from unispectral._run import Run, one_thread
from unispectral.labelfree._geometry import KernelDistance, Whitening, evenly_spaced
from unispectral.labelfree._graph import embed
from unispectral.labelfree._recipe import NEIGHBORS, Recipe
from unispectral.labelfree._selection import (
    LEAST_COLUMNS,
    STRUCTURELESS,
    TESTED,
    build_whitened_graph,
    compare_spectra,
    draw_null_samples,
    estimate_dimension,
    least_ratio,
    nearest_squared,
)
from unispectral.spectrum import smallest_eigenvectors

__all__ = [
    "ClusterCount",
    "count_clusters",
    "find_prominences",
    "merge_clusters",
    "mode_prominences",
]

#: Samples whose spectrum is looked at, and null samples drawn.
_COUNTED = 1_200
_DRAWS = 2
#: Added to the eigenvalues' share of the reference: below it clusters are separate.
_FLOOR = 0.02
#: Candidates of each code in the graphs that are looked at; the clearest of them decides.
_NEIGHBORS = (8, 10, 12)
#: The same where modularity decides: many, or few for numbers of clusters whose mean size is no
#: larger than that. Clusters are merged from at least so many.
_MANY, _FEW = 12, 4
_MERGED = 60
#: Scores that are lower than the highest by no more than this share are as high.
_PLATEAU = 0.005
#: An eigenvalue that is so many times the one before it, in logs, tells the number alone.
_CLEAR = np.log(10.0)
#: To find these, eigenvectors need not be exact.
_ROUGH = 1e-2
#: Prominences of modes beyond which they mean no less and no more, and what the log of their ratio
#: weighs beside that of the eigenvalues.
_PROMINENCES, _MODES = (1.5, 4.0), 1.5
#: Where clusters are counted, a spectrum between these shares of the reference leaves it to the
#: density whether there are any: to the prominence of its second mode.
_DOUBTFUL, _SECOND_MODE = (0.45, 0.7), 3.0
#: Members that a cluster has at least on average.
_MEMBERS = 3
#: In more dimensions than this, neighbours are too far away to tell the density.
_MOST_DIMENSIONS = 5.0


class ClusterCount(NamedTuple):
    """Why this number of clusters.

    Attributes
    ----------
    n_clusters : int
    scores : ndarray
        ``scores[i]`` speaks for c = i + 2 clusters. In few dimensions it is the log ratio of the
        eigenvalues after and at c, as shares of the reference: how much more the next cluster
        would cost to cut off; one and a half times that of the prominences of mode c and the next
        is added. Otherwise it is the modularity of c clusters less that of the reference. The
        smallest number counts whose score is within half a per cent of the highest.
    structure : float
        The smallest sum of the first eigenvalues, for a few numbers of clusters, as a share of
        the reference, in the geometry in which it is smallest; above 0.6 nothing but one cluster
        is seen. In few dimensions the limit is 0.7 if the density has a second clear mode, and
        0.45 if it has none.
    reason : str
    """

    n_clusters: int
    scores: np.ndarray
    structure: float
    reason: str

    def table(self, shown: int = 5) -> list[tuple[int, float]]:
        """The numbers of clusters with most evidence, and that evidence, best first."""
        order = np.argsort(-np.asarray(self.scores), kind="stable")[:shown]
        return [(int(at) + 2, float(self.scores[at])) for at in order]

    def __repr__(self) -> str:
        lines = [f"{self.n_clusters} cluster{'s' * (self.n_clusters != 1)}: {self.reason}."]
        if len(self.scores):
            lines += ["clusters  evidence"]
            lines += [f"{count:8d}  {score:8.2f}" for count, score in self.table()]
        return "\n".join(lines)


def count_clusters(distance: KernelDistance, recipe: Recipe, run: Run) -> ClusterCount:
    """The number of clusters that stands out most beside samples without clusters.

    At most ``max_clusters`` of the recipe are considered.
    """
    n = distance.n_samples
    if n < 3:
        raise InputError("n_clusters", f"needs at least 3 samples, not {n}", value="auto")
    few = distance.subset(evenly_spaced(n, _COUNTED))
    most = max(2, min(recipe.max_clusters, few.n_samples // _MEMBERS))
    forms = _forms(few, recipe)
    tested = distance.subset(evenly_spaced(n, TESTED))
    ratios = [least_ratio(tested, form, recipe, run) for form in forms]
    structure = min(1.0, *ratios)  # chance alone may give a little more
    low = distance.n_columns is None or distance.n_columns < LEAST_COLUMNS
    modes = mode_prominences(few) if low else None
    limit = STRUCTURELESS
    if modes is None:
        scores, evidence = _excess_modularity(few, forms, most, recipe, run)
    else:
        gaps = _eigenvalue_gaps(few, forms, most, recipe, run)
        scores = gaps + _MODES * _mode_gaps(modes, len(gaps))
        evidence = "eigenvalues"
        limit = _DOUBTFUL[int(len(modes) > 1 and modes[1] > _SECOND_MODE)]
    if structure > limit or not len(scores):
        reason = "the samples show no more clusters than Gaussian samples of the same covariance"
        return ClusterCount(1, scores, structure, reason)
    highest = float(scores.max())
    found = int(np.argmax(scores >= highest - _PLATEAU * abs(highest))) + 2
    density = "" if modes is None else " and the modes of the density"
    reason = f"{found} clusters stand out most, by the {evidence} of the graph{density}"
    return ClusterCount(found, scores, structure, reason)


def _eigenvalue_gaps(
    few: KernelDistance, forms: list[Whitening | None], most: int, recipe: Recipe, run: Run
) -> np.ndarray:
    """The log ratio of the eigenvalues after and at c = 2, 3, … clusters, where it is clearest."""
    looks = []
    for form in forms:
        # Whitening costs more than it varies.
        tried = _NEIGHBORS if form is None else (NEIGHBORS,)
        for k in (recipe.n_neighbors,) if recipe.n_neighbors else tried:
            wanted = min(most + 1, few.n_samples)
            values, reference = compare_spectra(few, form, wanted, k, recipe, run, _DRAWS)
            looks.append(_gaps(values, reference))
    return max(looks, key=lambda gaps: gaps.max(initial=-np.inf))


def _excess_modularity(
    few: KernelDistance, forms: list[Whitening | None], most: int, recipe: Recipe, run: Run
) -> tuple[np.ndarray, str]:
    """The modularity of c = 2, 3, … clusters less that of the reference, where it is largest.

    A graph shows no clusters that have fewer members than its nodes have neighbours, so that large
    numbers of clusters are judged with fewer candidates. Where clusters are separate, the
    eigenvalues tell, and their log ratios are returned instead.
    """
    n = few.n_samples
    excess, clearest = np.zeros(most - 1), np.zeros(most - 1)
    references = list(draw_null_samples(few, _DRAWS, run))
    if not references:  # all samples are equal
        return excess, "modularity"
    large = n // np.arange(2, most + 1) > _MANY
    for k, judged in ((_MANY, large), (_FEW, ~large)):
        if not judged.any():
            continue
        k, looks = recipe.n_neighbors or k, []
        for form in forms:
            (own, values), *drawn = (
                merge_clusters(build_whitened_graph(one, form, k, recipe, run), most, run)
                for one in (few, *references)
            )
            looks.append((own - np.mean([one[0] for one in drawn], axis=0))[judged])
            gaps = np.where(judged, _gaps(values, np.mean([one[1] for one in drawn], axis=0)), 0)
            clearest = max(clearest, gaps, key=np.max)
        excess[judged] = max(looks, key=np.max)
    return (clearest, "eigenvalues") if clearest.max() > _CLEAR else (excess, "modularity")


def _gaps(values: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The log ratio of eigenvalues after and at c = 2, 3, …, as shares of the reference."""
    shares = values / np.maximum(reference, 1e-12) + _FLOOR
    return np.log(shares[2:] / shares[1:-1])


def merge_clusters(W: sp.csr_array, most: int, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The modularity of 2, 3, … clusters, found by merging more of them one pair at a time.

    k-means in the embedding finds at least 60, if there are three samples for each; then the pair
    is merged whose merging raises modularity most, or lowers it least.

    With the ``most`` + 1 smallest eigenvalues of the normalised Laplacian.

    Examples
    --------
    Three cliques:

    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((4, 4))))
    >>> merge_clusters(W, 4, Run.of(random_state=0))[0].round(3).tolist()
    [0.444, 0.667, 0.583]
    """
    n = W.shape[0]
    count = max(min(most + 1, n), min(_MERGED, n // _MEMBERS))
    pairs = smallest_eigenvectors(W, count, tol=_ROUGH, rng=0, run=run.replace(executor=None))
    embedding = embed(pairs.vectors, Recipe())
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copies of a sample may leave some clusters empty
        labels = KMeans(count, n_init=1, random_state=0).fit(embedding).labels_
    members = sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, count))
    between = (members.T @ (W @ members)).toarray()
    between /= between.sum()
    found = np.empty(count - 1)
    for c in range(count, 1, -1):
        volumes = between.sum(axis=1)
        found[c - 2] = np.trace(between) - np.sum(volumes**2)
        gain = between - np.outer(volumes, volumes)
        np.fill_diagonal(gain, -np.inf)
        one, other = np.unravel_index(int(np.argmax(gain)), gain.shape)
        between[one] += between[other]
        between[:, one] += between[:, other]
        between = np.delete(np.delete(between, other, axis=0), other, axis=1)
    return found[: most - 1], pairs.values[: most + 1]


def _forms(distance: KernelDistance, recipe: Recipe) -> list[Whitening | None]:
    """The plain distance, and the whitened ones that may compete with it later."""
    if (distance.n_columns or 0) < LEAST_COLUMNS:
        return [None]
    return [None, *(Whitening(strength) for strength in recipe.whiten)]


def _mode_gaps(modes: np.ndarray, count: int) -> np.ndarray:
    """The log ratio of the prominence of mode c to that of the next, for c = 2, 3, …"""
    heights = np.full(count + 2, _PROMINENCES[0])
    found = np.clip(modes, *_PROMINENCES)[: count + 2]
    heights[: len(found)] = found
    return np.log(heights[1:-1] / heights[2:])


def mode_prominences(distance: KernelDistance) -> np.ndarray | None:
    """Prominences of the modes, descending, in units of what chance alone brings about.

    None where samples are all equal or have too many dimensions.

    The log density that k neighbours show is uncertain by 1/√k; among n samples chance raises and
    lowers it by a multiple of √(log(n/k)/k), which is the unit.
    """
    near, squared = nearest_squared(distance)
    dimension = estimate_dimension(squared)
    if not 0.0 < dimension <= _MOST_DIMENSIONS:
        return None
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
