"""Births: samples that fit nowhere, and make a cluster of their own."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral.graph.communities import find_communities
from unispectral.graph.quality import conductances

__all__ = ["find_births"]

#: Members that a cluster needs to be born, and the share of the mean cluster of before.
_LEAST, _LEAST_SHARE = 10, 0.1
#: A group is clear if at most this share of its edges leave it, and no larger a share than leaves
#: the least clear of the clusters of before.
_MOST_LEAVE = 0.4
#: Groups are communities at one of these resolutions: the finest at which nearly as many samples,
#: by this share, are in clear groups as at any other. A finer one cuts clusters, a coarser one
#: joins them.
_RESOLUTIONS, _NEARLY = (0.1, 0.2, 0.4), 0.95
#: Rounds in which samples that lean mostly on the newborn join it.
_ROUNDS = 10


def find_births(
    W: sp.csr_array, labels: np.ndarray, fresh: np.ndarray, rejected: np.ndarray
) -> list[np.ndarray]:
    """The members of each cluster that is born, which are among the fresh samples.

    Parameters
    ----------
    W : CSR array of shape (n, n)
        The affinity of all samples.
    labels : ndarray of shape (n,)
        The clusters of all samples, those of the fresh ones as predicted.
    fresh, rejected : bool arrays of shape (n,)
        The samples that have come since all were clustered, and those of them that fit nowhere.

    Examples
    --------
    Two cliques, of which the second has come since:

    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((12, 12))))
    >>> fresh = np.repeat([False, True], 12)
    >>> found = find_births(W, np.zeros(24, dtype=int), fresh, fresh)
    >>> [members.tolist() for members in found] == [list(range(12, 24))]
    True
    """
    # Those that come after the first of their kind fit to these.
    free = fresh & ~np.isin(labels, np.setdiff1d(labels[fresh], labels[~fresh]))
    outside = _gather(W, free, np.flatnonzero(rejected), keep=True)
    sizes = np.bincount(labels[~fresh])
    least = max(_LEAST, int(_LEAST_SHARE * sizes.mean()))
    if len(outside) < least:
        return []
    usual = conductances(W, labels)
    limit = min(_MOST_LEAVE, max(float(np.nanmax(usual)), _MOST_LEAVE / 2))
    inside = sp.csr_array(W[outside][:, outside])
    found: list[list[np.ndarray]] = []
    for resolution in _RESOLUTIONS:
        groups = find_communities(inside, resolution)
        sizes = np.bincount(groups)
        large = np.flatnonzero(sizes >= least)
        cores = [outside[groups == group] for group in large[np.argsort(-sizes[large])]]
        found.append(_keep_clear(W, labels, free, cores, least, limit))
    placed = np.array([sum(map(len, groups)) for groups in found])
    enough = np.flatnonzero(placed >= _NEARLY * placed.max())
    return found[enough[-1]]


def _keep_clear(
    W: sp.csr_array,
    labels: np.ndarray,
    free: np.ndarray,
    cores: list[np.ndarray],
    least: int,
    limit: float,
) -> list[np.ndarray]:
    """The groups around some cores of which at most this share of the edges leave."""
    labels = labels.copy()
    free = free.copy()
    kept: list[np.ndarray] = []
    for core in cores:
        members = _gather(W, free, core)
        if len(members) < least:
            continue
        number = int(labels.max()) + 1
        trial = labels.copy()
        trial[members] = number
        if conductances(W, trial)[number] <= limit:
            labels = trial
            free[members] = False
            kept.append(members)
    return kept


def _gather(
    W: sp.csr_array, free: np.ndarray, core: np.ndarray, *, keep: bool = False
) -> np.ndarray:
    """The free samples more than half of whose edges lead to a group.

    With ``keep`` the core stays in any case.
    """
    inside = np.zeros(len(free))
    inside[core] = 1.0
    kept = inside if keep else np.zeros(len(free))
    degrees = np.maximum(np.asarray(W.sum(axis=1)).ravel(), 1e-300)
    for _ in range(_ROUNDS):
        share = (W @ inside) / degrees
        joined = np.where(free & (share > 0.5), 1.0, kept)
        if np.array_equal(joined, inside):
            break
        inside = joined
    return np.flatnonzero(inside)
