"""How many clusters, and whether there are any.

A graph of near neighbours has small eigenvalues and a large modularity whatever the data, the more
so the fewer dimensions the data have. So both are compared with those of Gaussian samples of the
same covariance, which have the same size, shape and dimension, and no clusters. In few dimensions
a number of clusters is the better, the more the eigenvalues rise after it, and the more prominent
so many modes of the density are beside the next; in many dimensions, where the density says
nothing, the more its modularity exceeds that of the reference.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from unispectral._errors import InputError
from unispectral._run import Run, one_thread
from unispectral.kernels import KernelBank
from unispectral.labelfree._coding import eigenvectors, embed
from unispectral.labelfree._contest import (
    LEAST_COLUMNS,
    SEPARATE,
    Choice,
    eigenvalue_sum,
    first_affinity,
    unseeded,
)
from unispectral.labelfree._geometry import (
    KernelDistance,
    KernelPart,
    Whitening,
    evenly_spaced,
    whitened,
)
from unispectral.labelfree._modes import local_dimension, mode_prominences, nearest_squared
from unispectral.labelfree._recipe import NEIGHBORS, Recipe
from unispectral.spectrum import smallest_eigenvectors

__all__ = ["ClusterCount", "count_clusters", "merged_modularity", "structure_ratio"]

#: Samples whose spectrum is looked at, and reference samples drawn, to count clusters.
_COUNTED, _DRAWS = 1_200, 2
#: The same to find out whether there are any, and the numbers of clusters that are tried; for a
#: given number one draw is enough unless the ratio lies in between.
_TESTED, _TEST_DRAWS, _ADVICE_DRAWS = 400, 6, 3
_TRIED = (2, 3, 4, 6, 10)
_UNDECIDED = (0.5, 0.75)
#: A spectrum that is no smaller than this share of the reference shows no clusters.
STRUCTURELESS = 0.6
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
    tested = distance.subset(evenly_spaced(n, _TESTED))
    structure = min(_least_share(tested, form, recipe, run) for form in forms)
    low = distance.n_columns is None or distance.n_columns < LEAST_COLUMNS
    modes, limit = mode_prominences(few) if low else None, STRUCTURELESS
    if modes is None:
        scores, witness = _excess_modularity(few, forms, most, recipe, run)
    else:
        gaps = _eigenvalue_gaps(few, forms, most, recipe, run)
        scores, witness = gaps + _MODES * _mode_gaps(modes, len(gaps)), "eigenvalues"
        limit = _DOUBTFUL[int(len(modes) > 1 and modes[1] > _SECOND_MODE)]
    if structure > limit or not len(scores):
        reason = "the samples show no more clusters than Gaussian samples of the same covariance"
        return ClusterCount(1, scores, structure, reason)
    highest = float(scores.max())
    found = int(np.argmax(scores >= highest - _PLATEAU * abs(highest))) + 2
    density = "" if modes is None else " and the modes of the density"
    reason = f"{found} clusters stand out most, by the {witness} of the graph{density}"
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
            values, reference = _spectra(few, form, wanted, k, recipe, run, _DRAWS)
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
    references = list(_references(few, _DRAWS, run))
    if not references:  # all samples are equal
        return excess, "modularity"
    large = n // np.arange(2, most + 1) > _MANY
    for k, judged in ((_MANY, large), (_FEW, ~large)):
        if not judged.any():
            continue
        k, looks = recipe.n_neighbors or k, []
        for form in forms:
            (own, values), *drawn = (
                merged_modularity(_graph(_formed(one, form), k, recipe, run), most, run)
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


def merged_modularity(W: sp.csr_array, most: int, run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The modularity of 2, 3, … clusters, found by merging more of them one pair at a time.

    k-means in the embedding finds at least 60, if there are three samples for each; then the pair
    is merged whose merging raises modularity most, or lowers it least.

    With the ``most`` + 1 smallest eigenvalues of the normalised Laplacian.

    Examples
    --------
    Three cliques:

    >>> W = sp.csr_array(np.kron(np.eye(3), np.ones((4, 4))))
    >>> merged_modularity(W, 4, Run.of(random_state=0))[0].round(3).tolist()
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


def structure_ratio(
    distance: KernelDistance,
    n_clusters: int | None,
    recipe: Recipe,
    run: Run,
    choice: Choice | None = None,
) -> float:
    """How far the sum of the first c eigenvalues is from that of samples without clusters.

    It is 0 for separate clusters and about 1 for none. Without a number c the smallest ratio of a
    few numbers is taken. ``choice`` is the geometry of both, and what is known of it already; the
    plain distance by default.
    """
    sample = evenly_spaced(distance.n_samples, _TESTED) if choice is None else choice.sample
    few, form = distance.subset(sample), None if choice is None else choice.form
    if n_clusters is not None:
        recipe = recipe.with_clusters(min(max(2, n_clusters), few.n_samples - 1))
        return _clarity(few, recipe, run, form, None if choice is None else choice.eigenvalue_sum)
    return _least_share(few, form, recipe, run)


def _least_share(few: KernelDistance, form: Whitening | None, recipe: Recipe, run: Run) -> float:
    """The smallest ratio of sums of first eigenvalues, for a few numbers of clusters."""
    tried = [c for c in _TRIED if c <= few.n_samples // 4] or [2]
    k = recipe.n_neighbors or NEIGHBORS
    values, reference = _spectra(few, form, max(tried), k, recipe, run, _TEST_DRAWS)
    sums, references = np.cumsum(values), np.cumsum(reference)
    at = np.array(tried) - 1
    return float(np.min(sums[at] / np.maximum(references[at], 1e-12)))


def _clarity(
    few: KernelDistance, recipe: Recipe, run: Run, form: Whitening | None, own: float | None
) -> float:
    """The ratio for one number of clusters: reference samples are drawn until it is decided."""
    alone = unseeded(run)
    if own is None:
        own = eigenvalue_sum(_formed(few, form), recipe, alone)
    if own < SEPARATE:
        return 0.0
    ratio, sums = 1.0, []  # that of samples that are all equal
    for reference in _references(few, _ADVICE_DRAWS, run):
        sums.append(eigenvalue_sum(_formed(reference, form), recipe, alone))
        ratio = own / max(float(np.mean(sums)), 1e-12)
        if not _UNDECIDED[0] < ratio < _UNDECIDED[1]:
            break
    return ratio


def _spectra(
    distance: KernelDistance,
    form: Whitening | None,
    count: int,
    k: int,
    recipe: Recipe,
    run: Run,
    draws: int,
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of the first graph, and the mean of those of reference samples."""
    references = list(_references(distance, draws, run))
    if not references:  # all samples are equal
        return np.ones(count), np.ones(count)
    wide, found = recipe.with_clusters(max(2, min(10, count))), []
    for one in (distance, *references):
        W = _graph(_formed(one, form), k, wide, run)
        found.append(eigenvectors(W, recipe.with_clusters(count), unseeded(run)).values)
    return found[0], np.mean(found[1:], axis=0)


def _references(distance: KernelDistance, draws: int, run: Run) -> Iterator[KernelDistance]:
    """Gaussian samples of the same number and covariance; none where all samples are equal."""
    deviations = _deviations(distance, run)
    for draw in range(draws if len(deviations) else 0):
        drawn = np.random.default_rng(draw).normal(size=(distance.n_samples, len(deviations)))
        bank = KernelBank(drawn * deviations, ["linear"], normalize=None, gram=False)
        yield KernelDistance([KernelPart(bank, 0, 0)])


def _formed(distance: KernelDistance, form: Whitening | None) -> Any:
    return distance if form is None else whitened(distance, form)


def _deviations(distance: KernelDistance, run: Run) -> np.ndarray:
    """The standard deviations of the samples along their principal directions.

    Of a kernel that is not of a table they say nothing, since a kernel bends its samples into
    many directions: then as many equal ones as the samples have dimensions locally.
    """
    n, columns = distance.n_samples, distance.n_columns
    if columns is None:
        return np.ones(round(local_dimension(nearest_squared(distance)[1])))
    features = distance.features() if columns <= n else None
    if features is None:
        products = distance.all_products(run).astype(np.float64)
        products -= products.mean(axis=0)
        products -= products.mean(axis=1)[:, None]
    else:
        centred = features - features.mean(axis=0, dtype=np.float64)
        products = centred.T @ centred
    values = np.linalg.eigvalsh(products)
    values = values[values > 1e-10 * max(float(values[-1]), 1e-300)]
    return np.sqrt(values / max(n - 1, 1)) if len(values) and values[-1] > 1e-300 else np.zeros(0)


def _graph(distance: Any, k: int, recipe: Recipe, run: Run) -> sp.csr_array:
    """The first graph of a geometry, with k candidates."""
    recipe = recipe.with_clusters(recipe.n_clusters or 10)
    return first_affinity(distance, min(k, distance.n_samples - 1), recipe, unseeded(run))
