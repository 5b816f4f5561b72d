"""Pairs of samples that belong together or apart: the graph, and labels that obey them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import median_of_positive
from unispectral._errors import InputError
from unispectral.knowledge._read import Knowledge, Links, name_rows

#: Steps of the search for labels that keep all pairs apart, in one group of pairs that hang
#: together.
_STEPS = 20_000
#: Above this many groups the order in which they choose is made once.
_MOST_RANKED = 1_000


def add_links(W: sp.csr_array, links: Links) -> sp.csr_array:
    """The graph with edges along the groups, as heavy as a node's edges, and without others.

    A sample of a group is joined to the next one; edges between groups that are kept apart are
    taken out.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> links = Links(np.array([0, 0, 1]), np.array([[0, 2]]))
    >>> add_links(W, links).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n = W.shape[0]
    edges = sp.coo_array(W)
    one, other = edges.coords
    data = edges.data
    if len(links.apart):
        count = int(links.unit.max()) + 1
        units = np.sort(links.unit[links.apart], axis=1)
        forbidden = np.unique(units[:, 0] * count + units[:, 1])
        ends = np.sort(np.stack([links.unit[one], links.unit[other]]), axis=0)
        kept = ~np.isin(ends[0] * count + ends[1], forbidden)
        one, other, data = one[kept], other[kept], data[kept]
    order = np.argsort(links.unit, kind="stable")
    same = links.unit[order[:-1]] == links.unit[order[1:]]
    left = order[:-1][same]
    right = order[1:][same]
    if len(left):
        degrees = np.bincount(one, data, n)
        usual = median_of_positive(degrees, 1.0)
        weight = np.full(len(left), usual)
        one = np.concatenate([one, left, right])
        other = np.concatenate([other, right, left])
        data = np.concatenate([data, weight, weight])
    return sp.csr_array(sp.coo_array((data, (one, other)), shape=(n, n)))


def refuse_cliques(known: Knowledge, count: int) -> None:
    """Refuse pairs that are apart from each other in more clusters than there are."""
    beside = _neighbours_of(known.links)
    for unit in sorted(beside, key=lambda one: -len(beside[one])):
        clique = [unit]
        candidates = set(beside[unit])
        while candidates:
            best = max(candidates, key=lambda one: (len(beside[one] & candidates), -one))
            clique.append(best)
            candidates &= beside[best]
        if len(clique) > count:
            first = np.unique(known.links.unit, return_index=True)[1]
            rows = name_rows(sorted(first[clique].tolist()), known)
            problem = f"keeps the rows {rows} apart from each other, which takes {len(clique)}"
            remedy = f"ask for n_clusters={len(clique)}, or take out a pair"
            raise InputError("cannot_link", f"{problem} clusters where there are {count}", remedy)


def _neighbours_of(links: Links) -> dict[int, set[int]]:
    """The groups that each group is kept apart from."""
    beside: dict[int, set[int]] = {}
    for one, other in links.unit[links.apart].tolist():
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    return beside


def assign_units(
    scores: np.ndarray, links: Links, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The labels of the largest scores that obey the links, and the pairs that could not be.

    Parameters
    ----------
    scores : ndarray of shape (n, k)
        How well each cluster suits each sample; of a group they are added up.
    links : Links
    fixed : int array of shape (n,)
        Labels that stay as they are, −1 for the others.

    Returns
    -------
    labels : int array of shape (n,)
    unmet : int array of shape (m, 2)
        Pairs of samples that are together though they should be apart.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])
    >>> links = Links(np.array([0, 1, 2]), np.array([[0, 1]]))
    >>> assign_units(scores, links, np.full(3, -1))[0].tolist()
    [0, 1, 0]
    """
    count = scores.shape[1]
    units = int(links.unit.max()) + 1
    summed = np.zeros((units, count))
    np.add.at(summed, links.unit, scores)
    given = np.full(units, -1)
    rows = np.flatnonzero(fixed >= 0)
    given[links.unit[rows]] = fixed[rows]
    chosen = np.where(given >= 0, given, summed.argmax(axis=1))
    beside = _neighbours_of(links)
    for members in _components(beside):
        found = _colour(members, beside, summed, given)
        for unit, cluster in found.items():
            chosen[unit] = cluster
    labels = chosen[links.unit]
    apart = links.apart
    unmet = apart[labels[apart[:, 0]] == labels[apart[:, 1]]]
    return labels, unmet


def _components(beside: dict[int, set[int]]) -> list[list[int]]:
    """Groups that hang together by pairs that are kept apart."""
    seen: set[int] = set()
    found = []
    for start in beside:
        if start in seen:
            continue
        queue = [start]
        seen.add(start)
        for unit in queue:
            for other in sorted(beside[unit] - seen):
                seen.add(other)
                queue.append(other)
        found.append(queue)
    return found


def _colour(
    members: list[int], beside: dict[int, set[int]], scores: np.ndarray, given: np.ndarray
) -> dict[int, int]:
    """Clusters for groups of which some are apart: the most constrained first, then back.

    Where the steps run out, each group takes the best cluster that is left, or else the best.
    """
    count = scores.shape[1]
    chosen = {unit: int(given[unit]) for unit in members if given[unit] >= 0}
    open_ = [unit for unit in members if unit not in chosen]
    # Those that lose most by another cluster choose first, after those with most neighbours.
    sorted_scores = np.sort(scores[open_], axis=1) if open_ else np.empty((0, count))
    margin = dict.fromkeys(open_, 0.0)
    if count > 1:
        gaps = (sorted_scores[:, -1] - sorted_scores[:, -2]).tolist()
        margin = dict(zip(open_, gaps, strict=True))

    def free(unit: int) -> list[int]:
        taken = {chosen[other] for other in beside[unit] if other in chosen}
        order = np.argsort(-scores[unit], kind="stable").tolist()
        return [cluster for cluster in order if cluster not in taken]

    def is_next(unit: int) -> tuple[int, float, int]:
        taken = {chosen[other] for other in beside[unit] if other in chosen}
        return -len(taken), -margin[unit], unit

    open_.sort(key=lambda unit: (-len(beside[unit]), -margin[unit], unit))

    def pick() -> int:
        rest = (unit for unit in open_ if unit not in chosen)
        return next(rest) if len(open_) > _MOST_RANKED else min(rest, key=is_next)

    stack: list[tuple[int, list[int]]] = []
    steps = 0
    while len(chosen) < len(members) and steps < _STEPS:
        unit = pick()
        stack.append((unit, free(unit)))
        while stack:
            steps += 1
            unit, choices = stack[-1]
            chosen.pop(unit, None)
            if choices:
                chosen[unit] = choices.pop(0)
                break
            stack.pop()
        if not stack:
            break
    for unit in open_:
        if unit not in chosen:
            left = free(unit)
            chosen[unit] = left[0] if left else int(scores[unit].argmax())
    return chosen
