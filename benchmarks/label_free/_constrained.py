"""A peer for pairs that are known: pairwise constrained k-means.

S. Basu, A. Banerjee, R. Mooney: Active semi-supervision for pairwise constrained clustering. SIAM
International Conference on Data Mining, 2004. Written after the paper; nothing of it is in the
library.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

_ITERATIONS = 50


def pck_means(
    X: np.ndarray, k: int, together: np.ndarray, apart: np.ndarray, seed: int, n_init: int = 5
) -> np.ndarray:
    """Labels of k-means that pays for each pair it breaks, the best of several starts.

    Starts are the means of the largest groups that belong together, and of random samples beside
    them. A broken pair costs the mean squared distance between samples.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> pairs = np.empty((0, 2), int)
    >>> labels = pck_means(X, 2, pairs, pairs, 0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    penalty = 2.0 * float(X.var(axis=0).sum())
    n = len(X)
    linked = sp.coo_array((np.ones(len(together)), together.T), shape=(n, n))
    group = connected_components(linked, directed=False)[1]
    beside: dict[int, list[tuple[int, bool]]] = {}
    for pairs, same in ((together, True), (apart, False)):
        for one, other in pairs.tolist():
            beside.setdefault(one, []).append((other, same))
            beside.setdefault(other, []).append((one, same))
    found = [
        _run(X, k, group, beside, penalty, np.random.default_rng([seed, start]))
        for start in range(n_init)
    ]
    return min(found, key=lambda one: one[1])[0]


def _run(X, k, group, beside, penalty, rng) -> tuple[np.ndarray, float]:
    sizes = np.bincount(group)
    largest = [at for at in np.argsort(-sizes, kind="stable")[:k].tolist() if sizes[at] > 1]
    centres = [X[group == at].mean(axis=0) for at in largest]
    while len(centres) < k:
        gap = np.ones(len(X))
        if centres:
            gap = _squared(X, np.array(centres)).min(axis=1)
        centres.append(X[rng.choice(len(X), p=gap / gap.sum())])
    centres = np.array(centres)
    labels = np.full(len(X), -1)
    for _ in range(_ITERATIONS):
        distance = _squared(X, centres)
        following = distance.argmin(axis=1)
        for row in rng.permutation(list(beside)).tolist():
            cost = distance[row].copy()
            for other, same in beside[row]:
                if same:
                    cost += penalty
                    cost[following[other]] -= penalty
                else:
                    cost[following[other]] += penalty
            following[row] = int(cost.argmin())
        if np.array_equal(following, labels):
            break
        labels = following
        for at in np.unique(labels).tolist():
            centres[at] = X[labels == at].mean(axis=0)
    broken = sum(
        (labels[one] == labels[other]) != same
        for one, links in beside.items()
        for other, same in links
    )
    cost = float(_squared(X, centres)[np.arange(len(X)), labels].sum()) + penalty * broken / 2
    return labels, cost


def _squared(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return np.maximum(
        (X**2).sum(axis=1)[:, None] - 2.0 * X @ centres.T + (centres**2).sum(axis=1), 0.0
    )
