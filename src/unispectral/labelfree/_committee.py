"""Let candidates vote: clusterings of different kinds, of which the most agreed upon is taken.

A graph, a mixture of Gaussians and a spanning tree fail on different data. Where most of them find
the same clusters, these are seldom wrong; so the candidate is taken that agrees most with the
others, and how much it does says how far the clusters can be trusted.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.mixture import GaussianMixture

from unispectral._arrays import find_near
from unispectral._run import one_thread
from unispectral.graph.spanning_tree import chop_limbs, merge_evenly, span

#: Candidates of the codes in the graph that votes beside the first: of few columns, and of many.
_FINER = 5
_WIDER = 20
#: More columns than this show no density to trees; a mixture is fitted to so many components.
_FEW_COLUMNS = 12
_COMPONENTS = 10
#: Larger matrices have their first eigenvectors faster by Lanczos' method than by LAPACK.
_DENSE = 300
#: Clusters that agree more than this are the same, but for a few samples.
_SAME = 0.9
#: Smaller clusters than this are strays.
_LEAST_MEMBERS = 3
#: Neighbours that smooth the distances of a spanning tree.
_SMOOTHING = 5
#: Iterations of the mixture, and what is added to variances, as a share.
_ITERATIONS = 200
_RIDGE = 1e-6


class Vote(NamedTuple):
    """Which candidate was taken, and the mean agreement of each with the others."""

    chosen: int
    agreement: np.ndarray


def take_vote(candidates: Sequence[np.ndarray]) -> Vote:
    """The candidate whose mean adjusted Rand index with the others is the largest.

    Of equal ones the first is taken. A candidate with fewer clusters than the first, or with
    clusters of one or two samples where the first has none, cannot be chosen, but it has a voice.

    Examples
    --------
    >>> vote = take_vote([np.array(one) for one in ([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0])])
    >>> vote.chosen, vote.agreement.round(2).tolist()
    (0, [0.25, -0.5, 0.25])
    """
    candidates = [np.unique(labels, return_inverse=True)[1] for labels in candidates]
    count = len(candidates)
    index = np.zeros((count, count))
    for one in range(count):
        for other in range(one):
            index[one, other] = rand_index(candidates[one], candidates[other])
    agreement = (index + index.T).sum(axis=1) / max(count - 1, 1)
    sizes = [np.bincount(labels) for labels in candidates]
    least = min(int(sizes[0].min()), _LEAST_MEMBERS)
    eligible = [len(own) >= len(sizes[0]) and own.min() >= least for own in sizes]
    # Rounded, so that the order of sums does not choose between equal ones.
    chosen = int(np.argmax(np.where(eligible, agreement.round(9), -np.inf)))
    return Vote(chosen, agreement)


def rand_index(one: np.ndarray, other: np.ndarray) -> float:
    """The adjusted Rand index of two labellings by small numbers.

    Examples
    --------
    >>> round(rand_index(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])), 3)
    0.571
    """
    rows = int(one.max()) + 1
    columns = int(other.max()) + 1
    at = one.astype(np.int64) * columns + other
    shared = np.bincount(at, minlength=rows * columns).reshape(rows, columns).astype(np.float64)
    together = _count_pairs(shared)
    in_one = _count_pairs(shared.sum(axis=1))
    in_other = _count_pairs(shared.sum(axis=0))
    expected = in_one * in_other / max(_count_pairs(np.array([float(len(one))])), 1.0)
    most = 0.5 * (in_one + in_other)
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def _count_pairs(sizes: np.ndarray) -> float:
    """How many pairs groups of these sizes have."""
    return float((sizes * (sizes - 1.0)).sum() / 2.0)


def is_disputed(candidates: Sequence[np.ndarray]) -> bool:
    """Whether most other candidates differ from the first, or there are none.

    Examples
    --------
    >>> one, other = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> is_disputed([one, other, one, one]), is_disputed([one, other]), is_disputed([one])
    (False, True, True)
    """
    first, *others = [np.unique(labels, return_inverse=True)[1] for labels in candidates]
    return not others or float(np.median([rand_index(first, one) for one in others])) < _SAME


def choose_neighbors(n_columns: int | None) -> int:
    """Candidates of the codes in the graph that votes beside the first.

    Few columns have a finer graph; many, or samples that are no table, a wider one.
    """
    return _FINER if has_few(n_columns) else _WIDER


def has_few(n_columns: int | None) -> bool:
    """Whether so many columns, None where there is no table, show densities."""
    return n_columns is not None and n_columns <= _FEW_COLUMNS


def cluster_table(table: np.ndarray, k: int, members: Sequence[str]) -> list[np.ndarray]:
    """Candidates that no graph is made for: a mixture and, of few columns, two from a tree.

    Samples far from all others would be clusters of their own there: they take no part, and follow
    the nearest that do.
    """
    centred = table - table.mean(axis=0, dtype=np.float64)
    near = find_near(np.einsum("ij,ij->i", centred, centred))
    columns = principal_columns(table[near])
    found = []
    mixture = fit_mixture(columns, k) if "mixture" in members else None
    if mixture is not None:
        found.append(mixture)
    if "trees" in members and has_few(table.shape[1]):
        found.extend(cluster_by_trees(columns, k))
    if len(near) == len(table):
        return found
    far = np.setdiff1d(np.arange(len(table)), near)
    nearest = pairwise_distances_argmin(table[far], table[near])
    numbers = np.empty(len(table), dtype=np.intp)
    numbers[near] = np.arange(len(near))
    numbers[far] = nearest
    return [labels[numbers] for labels in found]


def fit_mixture(X: np.ndarray, k: int) -> np.ndarray | None:
    """Labels of a mixture of k Gaussians of any shape; None where there is none.

    Its start is k-means with a fixed seed.
    """
    spread = float(X.std())
    if spread <= 0:
        return None
    model = GaussianMixture(k, max_iter=_ITERATIONS, reg_covar=_RIDGE, random_state=0)
    # Its start by k-means is refused where arrays of any kind are dispatched on.
    plain = config_context(assume_finite=True, array_api_dispatch=False)
    with one_thread(), plain, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return model.fit_predict((X - X.mean(axis=0)) / spread)
        except ValueError:  # fewer samples than clusters, or all in one place
            return None


def principal_columns(X: np.ndarray) -> np.ndarray:
    """A table of few columns as it is, one of more by its first principal components."""
    if X.shape[1] <= _FEW_COLUMNS:
        return np.asarray(X, dtype=np.float64)
    centred = np.asarray(X, dtype=np.float64) - X.mean(axis=0, dtype=np.float64)
    wide = centred.shape[1] > len(centred)
    products = centred @ centred.T if wide else centred.T @ centred
    values, vectors = _find_largest(products)
    return vectors * np.sqrt(np.maximum(values, 0.0)) if wide else centred @ vectors


def _find_largest(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenpairs of the components, ascending."""
    n = len(products)
    if n <= _DENSE:
        kept = [max(n - _COMPONENTS, 0), n - 1]
        return scipy.linalg.eigh(products, subset_by_index=kept, check_finite=False)
    start = np.random.default_rng(0).normal(size=n)
    return scipy.sparse.linalg.eigsh(products, _COMPONENTS, v0=start)


def cluster_by_trees(X: np.ndarray, k: int) -> list[np.ndarray]:
    """Labels by a spanning tree: merged under a threshold of evenness, and cut into limbs."""
    tree = span(X, _SMOOTHING)
    return [merge_evenly(tree, k), chop_limbs(tree, k)]
