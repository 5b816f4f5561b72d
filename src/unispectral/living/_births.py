"""Births: samples that fit nowhere, and make a cluster of their own."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral.graph.communities import find_communities
from unispectral.graph.quality import conductances

#: Members that a cluster needs to be born, and the share of the mean cluster of before.
_LEAST, _LEAST_SHARE = 10, 0.1
#: A group is clear if at most this share of its edges leave it, and no larger a share than leaves
#: the least clear of the clusters of before.
_MOST_LEAVE = 0.4
#: Groups are communities at one of these resolutions: the finest at which nearly as many samples,
#: by this share, are in clear groups as at any other. A coarser one joins clusters.
_RESOLUTIONS, _NEARLY = (0.1, 0.2, 0.4), 0.95
#: Of more samples than these a cluster falls into several communities there; these are tried, too.
_MANY, _COARSE = 1_000, (0.01, 0.03)
#: The share of edges that leads out of a part of a cluster falls with the root of its size: groups
#: of more samples than these have to be farther apart.
_SMALL = 30
#: A finer one cuts clusters: the groups must be as far apart as the clusters of before, of whose
#: edges at least this share may lead to others.
_APART = 0.05
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
    settled = np.bincount(labels[~fresh], minlength=int(labels.max()) + 1)
    free = fresh & (settled[labels] > 0)
    least = max(_LEAST, int(_LEAST_SHARE * settled[settled > 0].mean()))
    edges = _Edges.of(W, np.flatnonzero(free)).peel()
    able = edges.samples
    if len(able) < least:
        return []
    start = np.zeros(len(labels))
    start[able] = rejected[able]
    outside = edges.gather(start, keep=True)
    if len(outside) < least:
        return []
    inside = sp.csr_array(edges.rows[np.searchsorted(able, outside)][:, outside])
    resolutions: tuple[float, ...] = _RESOLUTIONS
    many = len(outside) > _MANY
    if many:
        resolutions = (*_COARSE, *_RESOLUTIONS)
    cores_of = [
        [outside[group] for group in _large_groups(find_communities(inside, resolution), least)]
        for resolution in resolutions
    ]
    if not any(cores_of):
        return []
    most = float(np.nanmax(conductances(W, labels)))
    limit = min(_MOST_LEAVE, max(most, _MOST_LEAVE / 2))
    found = [_keep_clear(edges, cores, least, limit) for cores in cores_of]
    return _choose_groups(edges, found, most, many=many)


def _choose_groups(
    edges: _Edges, found: list[list[np.ndarray]], most: float, *, many: bool
) -> list[np.ndarray]:
    """Of the groups at each resolution, coarsest first, the finest that do not cut a cluster."""
    placed = np.array([sum(map(len, groups)) for groups in found])
    if not placed.any():
        return []
    coarsest, *finer = np.flatnonzero(placed >= _NEARLY * placed.max())
    apart = []
    for at in finer:
        share = _APART
        if many:
            share *= np.sqrt(min(1.0, _SMALL / min(map(len, found[at]))))
        if edges.largest_share_between(found[at]) <= max(most, share):
            apart.append(at)
    return found[max(apart, default=coarsest)]


def _large_groups(groups: np.ndarray, least: int) -> list[np.ndarray]:
    """The members of the groups that have so many, the largest first."""
    sizes = np.bincount(groups)
    large = np.flatnonzero(sizes >= least)
    return [np.flatnonzero(groups == group) for group in large[np.argsort(-sizes[large])]]


def _keep_clear(
    edges: _Edges, cores: list[np.ndarray], least: int, limit: float
) -> list[np.ndarray]:
    """The groups around some cores of which at most this share of the edges leave."""
    taken = np.zeros(edges.n_samples, dtype=bool)
    kept: list[np.ndarray] = []
    for core in cores:
        start = np.zeros(edges.n_samples)
        start[core] = 1.0
        start[taken] = 0.0
        members = edges.gather(start, without=taken)
        if len(members) >= least and edges.share_leaving(members) <= limit:
            taken[members] = True
            kept.append(members)
    return kept


class _Edges:
    """The edges of some samples: which of them lean on each other."""

    def __init__(self, rows: sp.csr_array, samples: np.ndarray, degrees: np.ndarray) -> None:
        self.n_samples = rows.shape[1]
        self.samples = samples
        self.rows = rows
        self.degrees = degrees

    @classmethod
    def of(cls, W: sp.csr_array, samples: np.ndarray) -> _Edges:
        """The edges of some of the samples of a graph."""
        rows = sp.csr_array(W[samples])
        return cls(rows, samples, np.maximum(np.asarray(rows.sum(axis=1)).ravel(), 1e-300))

    def peel(self) -> _Edges:
        """Samples that lean mostly on each other: those of any group are among them."""
        inside = np.zeros(self.n_samples)
        left = np.ones(len(self.samples), dtype=bool)
        while left.any():
            inside[self.samples] = left
            still = left & (self.rows @ inside > 0.5 * self.degrees)
            if np.array_equal(still, left):
                break
            left = still
        if left.all():
            return self
        return _Edges(sp.csr_array(self.rows[left]), self.samples[left], self.degrees[left])

    def gather(
        self, start: np.ndarray, *, keep: bool = False, without: np.ndarray | None = None
    ) -> np.ndarray:
        """The samples more than half of whose edges lead to a group, which begins as given.

        With ``keep`` those of the beginning stay in any case.
        """
        inside = start
        for _ in range(_ROUNDS):
            leans = self.rows @ inside > 0.5 * self.degrees
            if without is not None:
                leans &= ~without[self.samples]
            joined = np.zeros(self.n_samples)
            joined[self.samples] = leans
            if keep:
                joined = np.maximum(joined, start)
            if np.array_equal(joined, inside):
                break
            inside = joined
        return np.flatnonzero(inside)

    def share_leaving(self, members: np.ndarray) -> float:
        """The share of the edges of a group that lead out of it."""
        return 1.0 - self._share_leading(members, members)

    def largest_share_between(self, groups: list[np.ndarray]) -> float:
        """The largest share of the edges of a group that leads to the other groups."""
        if len(groups) < 2:
            return 0.0
        everyone = np.concatenate(groups)
        return max(
            self._share_leading(members, everyone) - self._share_leading(members, members)
            for members in groups
        )

    def _share_leading(self, members: np.ndarray, into: np.ndarray) -> float:
        inside = np.zeros(self.n_samples)
        inside[into] = 1.0
        at = np.searchsorted(self.samples, members)
        return float((self.rows @ inside)[at].sum() / self.degrees[at].sum())
