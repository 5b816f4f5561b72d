"""What there is to say about each cluster: who is typical, who is doubtful, what sets it apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = ["Certainty", "Contrast", "certainty_of", "contrasts", "rank_members"]

#: A mean difference of so many deviations is as clear as any; it keeps constants finite.
_CLEAREST = 99.0
#: Who is as sure as this is not called doubtful, though others are surer.
_SURE = 0.99


class Certainty(NamedTuple):
    """How surely each sample belongs to its cluster (1 surely, 0 not at all), and to which else.

    Attributes
    ----------
    value : ndarray of shape (n,)
    second : ndarray of shape (n,)
        The next best cluster, −1 if there is none.
    """

    value: np.ndarray
    second: np.ndarray


def certainty_of(estimator: Any, X: Any, labels: np.ndarray) -> Certainty:
    """Distance between the strongest and the second membership, or between centres.

    A method without memberships is judged by its centres: (b − a) / max(a, b) with the distances
    a to the own and b to the nearest other centre.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> certainty_of(None, X, np.array([0, 0, 1, 1])).value.round(2).tolist()
    [0.95, 0.94, 0.94, 0.95]
    """
    n, count = len(labels), int(labels.max()) + 1
    everyone = np.arange(n)
    membership = getattr(estimator, "membership_", None)
    if membership is not None and membership.shape == (n, count) and count > 1:
        strength = np.array(membership, dtype=np.float64)
        own = strength[everyone, labels].copy()
        strength[everyone, labels] = -1.0
        second = strength.argmax(axis=1)
        return Certainty(np.clip(own - strength[everyone, second], 0.0, 1.0), second)
    if X is None or count < 2:
        return Certainty(np.ones(n), np.full(n, -1))
    distance = _centre_distances(X, labels, count)
    own = distance[everyone, labels].copy()
    distance[everyone, labels] = np.inf
    second = distance.argmin(axis=1)
    other = distance[everyone, second]
    larger = np.maximum(np.maximum(own, other), 1e-300)
    return Certainty(np.clip((other - own) / larger, 0.0, 1.0), second)


def _centre_distances(X: Any, labels: np.ndarray, count: int) -> np.ndarray:
    filled: Any = X if sp.issparse(X) else np.nan_to_num(np.asarray(X, dtype=np.float64))
    member = _indicator(labels, count)
    sizes = np.maximum(np.bincount(labels, minlength=count), 1)
    centres = member.T @ filled
    centres = (centres.toarray() if sp.issparse(centres) else centres) / sizes[:, None]
    squares = filled.multiply(filled) if sp.issparse(filled) else filled**2
    norms = np.asarray(squares.sum(axis=1)).ravel()
    products = np.asarray(filled @ centres.T)
    squared = norms[:, None] - 2 * products + (centres**2).sum(axis=1)[None, :]
    return np.sqrt(np.maximum(squared, 0.0))


def rank_members(
    labels: np.ndarray,
    certainty: np.ndarray,
    affinity: Any = None,
    outlier: np.ndarray | None = None,
    shown: int = 6,
) -> list[tuple[list[int], list[int]]]:
    """For each cluster its most typical and its most doubtful members, best first.

    Typical are the surest, and among equals those with most ties to their own cluster; doubtful
    the least sure, and among equals the oddest. Nobody is both.

    Examples
    --------
    >>> rank_members(np.array([0, 0, 1]), np.array([0.9, 0.1, 1.0]), shown=1)
    [([0], [1]), ([2], [])]
    """
    n = len(labels)
    ties: Any = np.zeros(n)
    if affinity is not None:
        coo = sp.coo_array(affinity)
        inside = labels[coo.row] == labels[coo.col]
        ties = np.bincount(coo.row[inside], weights=coo.data[inside], minlength=n)
    odd = np.zeros(n) if outlier is None else np.asarray(outlier, dtype=np.float64)
    rough = np.round(certainty, 2)
    ranked = []
    for cluster in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == cluster)
        sure = members[np.lexsort((members, odd[members], -ties[members], -rough[members]))]
        unsure = members[np.lexsort((members, -odd[members], ties[members], certainty[members]))]
        typical = sure[: min(shown, max(1, len(members) - 1))].tolist()
        taken = set(typical)
        doubtful = [
            i for i in unsure[: 2 * shown].tolist() if i not in taken and certainty[i] < _SURE
        ][:shown]
        ranked.append((typical, doubtful))
    return ranked


class Contrast(NamedTuple):
    """A feature that sets a cluster apart.

    Attributes
    ----------
    column : int
    effect : float
        Mean difference in deviations.
    inside, outside : float
        Means in the cluster and in the rest.
    """

    column: int
    effect: float
    inside: float
    outside: float


def contrasts(X: Any, labels: np.ndarray, shown: int = 8) -> list[list[Contrast]]:
    """Find the features in which each cluster differs most from the rest.

    The difference of the means inside and outside is divided by the deviation within the two
    groups. A missing value counts for neither.

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [9.0, 5.0], [10.0, 5.0]])
    >>> best = contrasts(X, np.array([0, 0, 1, 1]))[0]
    >>> [(row.column, round(row.effect, 1)) for row in best]
    [(0, -18.0)]
    """
    count = int(labels.max()) + 1
    member = _indicator(labels, count)
    if sp.issparse(X):
        filled, present = X, None
    else:
        known = ~np.isnan(X)
        present = None if known.all() else known.astype(np.float64)
        filled = np.asarray(X, dtype=np.float64) if present is None else np.nan_to_num(X)
    centre = _means(filled, present)
    if not sp.issparse(filled):  # squares about the mean keep their digits
        filled = (filled - centre) * (1.0 if present is None else present)
        centre = np.asarray(centre)
    sums = _dense(member.T @ filled)
    squares = _dense(member.T @ (filled.multiply(filled) if sp.issparse(filled) else filled**2))
    sizes = np.bincount(labels, minlength=count).astype(np.float64)
    counts = (
        np.repeat(sizes[:, None], sums.shape[1], axis=1)
        if present is None
        else _dense(member.T @ present)
    )
    shift = 0.0 if sp.issparse(filled) else centre
    others = np.maximum(counts.sum(axis=0) - counts, 0.0)
    inside = sums / np.maximum(counts, 1.0)
    outside = (sums.sum(axis=0) - sums) / np.maximum(others, 1.0)
    spread = squares.sum(axis=0) - counts * inside**2 - others * outside**2
    pooled = np.sqrt(np.maximum(spread, 0.0) / np.maximum(counts + others, 1.0))
    gap = inside - outside
    scale = np.sqrt(squares.sum(axis=0) / np.maximum(counts.sum(axis=0), 1.0))
    floor = np.maximum(np.abs(gap) / _CLEAREST, 1e-12 * np.maximum(scale, 1e-300))
    effect = np.where((counts > 0) & (others > 0), gap / np.maximum(pooled, floor), 0.0)
    return [
        [
            Contrast(int(j), float(effect[k, j]), float(inside[k, j] + _at(shift, j)),
                     float(outside[k, j] + _at(shift, j)))
            for j in np.argsort(-np.abs(effect[k]), kind="stable")[:shown]
            if abs(effect[k, j]) > 1e-9
        ]
        for k in range(count)
    ]  # fmt: skip


def _means(filled: Any, present: np.ndarray | None) -> Any:
    if sp.issparse(filled):
        return 0.0
    counts = len(filled) if present is None else np.maximum(present.sum(axis=0), 1.0)
    return filled.sum(axis=0) / counts


def _at(shift: Any, column: int) -> float:
    return float(shift[column]) if isinstance(shift, np.ndarray) else float(shift)


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def _indicator(labels: np.ndarray, count: int) -> sp.csr_array:
    n = len(labels)
    return sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, count))
