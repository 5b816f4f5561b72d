"""Count the clusters: how many there are, and whether there are any.

A graph of near neighbours has small eigenvalues and a large modularity whatever the data, the more
so the fewer dimensions the data have. So both are compared with those of Gaussian samples of the
same covariance, which have the same size, shape and dimension, and no clusters. In few dimensions
a number of clusters is the better, the more the eigenvalues rise after it, and the more prominent
so many modes of the density are beside the next; in many dimensions, where the density says
nothing, the more its modularity exceeds that of the reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from unispectral._arrays import one_hot, pick_evenly
from unispectral._errors import InputError, plural
from unispectral._run import Run, one_thread
from unispectral.graph.communities import find_communities
from unispectral.labelfree._geometry import KernelDistance, Whitening
from unispectral.labelfree._graph import embed
from unispectral.labelfree._modes import mode_prominences
from unispectral.labelfree._recipe import NEIGHBORS, Recipe
from unispectral.labelfree._selection import (
    LEAST_COLUMNS,
    STRUCTURELESS,
    TESTED,
    build_whitened_graph,
    draw_null_samples,
    find_spectrum,
    least_ratio,
)
from unispectral.spectrum import smallest_eigenvectors

#: Samples whose spectrum is looked at, and null samples drawn.
_COUNTED = 1_200
_DRAWS = 2
#: Added to the eigenvalues' share of the reference: below it clusters are separate.
_FLOOR = 0.02
#: Candidates of each code where modularity decides: many, or few for numbers of clusters whose
#: mean size is no larger than that. Clusters are merged from at least so many.
_MANY_CANDIDATES = 12
_FEW_CANDIDATES = 4
_MERGED = 60
#: Scores that are lower than the highest by no more than this share are as high.
_PLATEAU = 0.005
#: An eigenvalue that is so many times the one before it, in logs, tells the number alone.
_CLEAR = np.log(10.0)
#: To find these, eigenvectors need not be exact.
_ROUGH = 1e-2
#: A mode of this prominence is as likely real as not; the log odds of each are its distance from
#: there in the second unit, no further from 0 than the third. The last is what they weigh beside
#: the eigenvalues.
_EVEN = 2.4
_UNIT = 0.6
_MOST_ODDS = 4.0
_MODES = 0.15
#: Where the density is heard, a spectrum between these shares of the reference leaves it to the
#: prominence of the second mode whether there are clusters.
_DOUBTFUL = (0.65, 0.8)
_SECOND_MODE = 2.5
#: The resolution at which the communities of many samples are sought, and members that each has.
_RESOLUTION = 0.6
_LEAST_COMMUNITY = 10
#: Strays are so many times the distance of the quartiles above the upper one.
_FENCE = 3.0
_NOTHING = "the samples show no more clusters than samples of the same shape without clusters"
#: Members that a cluster has at least on average.
_MEMBERS = 3


class ClusterCount(NamedTuple):
    """Why this number of clusters.

    Attributes
    ----------
    n_clusters : int
    scores : ndarray
        ``scores[i]`` speaks for c = i + 2 clusters. In few dimensions it is the log ratio of the
        eigenvalues after and at c, as shares of the reference: how much more the next cluster
        would cost to cut off; 0.15 of the log odds that so many modes of the density are real are
        added. Otherwise it is the modularity of c clusters less that of the reference. The
        smallest number counts whose score is within half a per cent of the highest.
    structure : float
        The smallest sum of the first eigenvalues, for a few numbers of clusters, as a share of
        the reference, in the geometry in which it is smallest; above 0.6 nothing but one cluster
        is seen. In few dimensions the limit is 0.8 if the density has a second clear mode, and
        0.65 if it has none. The reference are Gaussian samples, or samples whose columns are as
        skewed as those at hand, whichever are more like them.
    reason : str
    """

    n_clusters: int
    scores: np.ndarray
    structure: float
    reason: str

    def replace_guess(self, n_clusters: int) -> ClusterCount:
        """The same where the graph of all samples has another number of clusters."""
        reason = f"the graph of all samples has {n_clusters} clusters; {self.reason} in a sample"
        return self._replace(n_clusters=n_clusters, reason=reason)

    def table(self, shown: int = 5) -> list[tuple[int, float]]:
        """The numbers of clusters with most evidence, and that evidence, best first."""
        order = np.argsort(-np.asarray(self.scores), kind="stable")[:shown]
        return [(int(at) + 2, float(self.scores[at])) for at in order]

    def __repr__(self) -> str:
        lines = [f"{plural(self.n_clusters, 'cluster')}: {self.reason}."]
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
    few = distance.subset(pick_evenly(n, _COUNTED))
    most = max(2, min(recipe.most_clusters(n), few.n_samples // _MEMBERS))
    forms = _forms(few, recipe)
    low = distance.n_columns is None or distance.n_columns < LEAST_COLUMNS
    modes = mode_prominences(distance) if low else None
    limit = STRUCTURELESS
    if modes is not None:
        limit = _DOUBTFUL[int(len(modes) > 1 and modes[1] > _SECOND_MODE)]
    structure = _find_structure(distance.subset(pick_evenly(n, TESTED)), forms, limit, recipe, run)
    if structure > limit:
        return ClusterCount(1, np.zeros(0), structure, _NOTHING)
    if modes is None:
        scores, evidence = _excess_modularity(few, forms, most, recipe, run)
    else:
        gaps = _eigenvalue_gaps(few, most, recipe, run)
        scores = gaps + _MODES * _mode_odds(modes, len(gaps))
        evidence = "eigenvalues"
    if not len(scores):
        return ClusterCount(1, scores, structure, _NOTHING)
    highest = float(scores.max())
    found = int(np.argmax(scores >= highest - _PLATEAU * abs(highest))) + 2
    density = "" if modes is None else " and the modes of the density"
    reason = f"{found} clusters stand out most, by the {evidence} of the graph{density}"
    return ClusterCount(found, scores, structure, reason)


def _find_structure(
    tested: KernelDistance,
    forms: list[Whitening | None],
    limit: float,
    recipe: Recipe,
    run: Run,
) -> float:
    """The structure beside Gaussian samples, and beside those with skewed columns; the larger.

    The second is not asked for where the first already exceeds the limit. It is that of the plain
    distance: a few values of a heavy tail decide how others are whitened.
    """
    structure = min(least_ratio(tested, form, recipe, run, limit=limit) for form in forms)
    if structure <= limit:
        skewed = least_ratio(tested, None, recipe, run, limit=limit, skewed=True)
        structure = max(structure, skewed)
    return min(structure, 1.0)  # chance alone may give a little more


def _eigenvalue_gaps(few: KernelDistance, most: int, recipe: Recipe, run: Run) -> np.ndarray:
    """The log ratio of the eigenvalues after and at c = 2, 3, … clusters."""
    wanted = min(most + 1, few.n_samples)
    k = recipe.n_neighbors or NEIGHBORS
    own = find_spectrum(few, None, wanted, k, recipe, run)
    drawn = [
        find_spectrum(null, None, wanted, k, recipe, run)
        for null in draw_null_samples(few, _DRAWS, run)
    ]
    return _gaps(own, np.mean(drawn or [own], axis=0))


def _excess_modularity(
    few: KernelDistance, forms: list[Whitening | None], most: int, recipe: Recipe, run: Run
) -> tuple[np.ndarray, str]:
    """The modularity of c = 2, 3, … clusters less that of the reference, where it is largest.

    A graph shows no clusters that have fewer members than its nodes have neighbours, so that large
    numbers of clusters are judged with fewer candidates. Where clusters are separate, the
    eigenvalues tell, and their log ratios are returned instead.
    """
    n = few.n_samples
    excess = np.zeros(most - 1)
    clearest = np.zeros(most - 1)
    references = list(draw_null_samples(few, _DRAWS, run))
    if not references:  # all samples are equal
        return excess, "modularity"
    large = n // np.arange(2, most + 1) > _MANY_CANDIDATES
    for k, judged in ((_MANY_CANDIDATES, large), (_FEW_CANDIDATES, ~large)):
        if not judged.any():
            continue
        k = recipe.n_neighbors or k
        looks = []
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


def find_natural_clusters(W: sp.csr_array, errors: Sequence[np.ndarray], most: int) -> np.ndarray:
    """Labels of the communities that a graph of many samples has by itself, at most so many.

    Samples that others explain far worse than most are strays, which would hold clusters together
    that are apart: they are left out, and communities of a few samples are none. These samples
    join the communities of their neighbours.
    """
    n = W.shape[0]
    inner = np.arange(n)
    if errors and all(len(one) == n for one in errors):
        inner = np.flatnonzero(_is_explained(np.mean(errors, axis=0)))
    found = np.zeros(n, dtype=np.intp)
    found[inner] = 1 + find_communities(sp.csr_array(W[inner][:, inner]), _RESOLUTION)
    sizes = np.bincount(found)
    sizes[0] = 0
    large = np.sort(sizes)[::-1][:most]
    least = max(_LEAST_COMMUNITY, int(large[-1]))
    kept = np.flatnonzero(sizes >= least)[:most]
    if len(kept) < 2:
        return np.zeros(n, dtype=np.intp)
    number = np.full(len(sizes), -1)
    number[kept] = np.arange(len(kept))
    return _spread_labels(W, number[found], len(kept))


def _is_explained(errors: np.ndarray) -> np.ndarray:
    """Whether errors are within the outer fence of a box plot (Tukey 1977)."""
    low, high = np.quantile(errors, [0.25, 0.75])
    return errors <= high + _FENCE * (high - low)


def _spread_labels(W: sp.csr_array, labels: np.ndarray, count: int) -> np.ndarray:
    """Labels for samples that have none (−1): those that their neighbours have, step by step."""
    labels = labels.copy()
    while True:
        open_ = np.flatnonzero(labels < 0)
        if not len(open_):
            return labels
        told = labels >= 0
        members = sp.csr_array(
            (np.ones(int(told.sum())), (np.flatnonzero(told), labels[told])),
            shape=(len(labels), count),
        )
        votes = sp.csr_array(W[open_]) @ members
        votes = sp.csr_array(votes)
        reached = np.diff(votes.indptr) > 0
        if not reached.any():
            labels[open_] = 0
            return labels
        labels[open_[reached]] = np.asarray(votes[np.flatnonzero(reached)].argmax(axis=1)).ravel()


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
    members = one_hot(labels, count)
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


def _mode_odds(modes: np.ndarray, count: int) -> np.ndarray:
    """The log odds that c = 2, 3, … modes are real, each by its own prominence."""
    odds = np.full(max(count + 1, len(modes)), -_MOST_ODDS)
    sure = np.minimum((modes - _EVEN) / _UNIT, _MOST_ODDS)
    odds[: len(modes)] = np.maximum(sure, -_MOST_ODDS)
    return np.cumsum(odds[1 : count + 1])
