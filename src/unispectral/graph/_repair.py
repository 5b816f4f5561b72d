"""Graphs that fall apart: small components get edges to what is nearest outside them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

__all__ = ["attach_small"]

#: Each round joins every small component to others, so that their number at least halves.
_ROUNDS = 12


def attach_small(
    codes: sp.csr_array,
    min_size: int,
    k: int,
    search: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
    solve: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> sp.csr_array:
    """Give every component below ``min_size`` samples edges to its surroundings.

    Near-duplicates have only each other among their nearest, isolated samples have nobody; both
    would each take an eigenvector, and end as clusters of two. The best-connected sample of such
    a component spends half its code on the nearest among the samples of large components and the
    best-connected samples of other small ones. A mass of near-duplicates is thereby joined to
    others as one sample would be.

    Rows of ``codes`` sum to one, or are empty. ``search(rows, among, k)`` gives the nearest of
    some samples among others, −1 where there are fewer; ``solve(rows, neighbours)`` the codes of
    some samples over given candidates.
    """
    from unispectral.graph._components import components

    n_components, member = components(codes)
    for _ in range(_ROUNDS):
        sizes = np.bincount(member, minlength=n_components)
        small = sizes < min_size
        if n_components == 1 or not small.any():
            break
        rows = _centres(codes, member, small)
        among = np.union1d(rows, np.flatnonzero(~small[member]))
        outside = search(rows, among, min(k, len(among) - 1))
        codes = _spend_half(codes, rows, outside, solve(rows, outside))
        n_components, member = components(codes)
    return codes


def _centres(codes: sp.csr_array, member: np.ndarray, small: np.ndarray) -> np.ndarray:
    """The sample of each small component that the codes of its component use most."""
    used = np.asarray(codes.sum(axis=0)).ravel()
    nodes = np.flatnonzero(small[member])
    order = nodes[np.lexsort((nodes, -used[nodes], member[nodes]))]
    first = np.concatenate([[True], np.diff(member[order]) != 0])
    return np.sort(order[first])


def _spend_half(
    codes: sp.csr_array, rows: np.ndarray, outside: np.ndarray, values: np.ndarray
) -> sp.csr_array:
    """Halve the codes of some rows and put the other half on the samples outside."""
    n = codes.shape[0]
    values = np.where(outside >= 0, values, 0.0)
    total = values.sum(axis=1)
    values[total <= 0, 0] = 1.0  # nothing outside explains it: the nearest will have to do
    values /= values.sum(axis=1, keepdims=True)
    filled = np.diff(codes.indptr)[rows] > 0
    share = np.where(filled, 0.5, 1.0)
    keep = np.ones(n)
    keep[rows] = 0.5
    used = values > 0
    links = sp.csr_array(
        (
            (values * share[:, None])[used],
            (np.broadcast_to(rows[:, None], outside.shape)[used], outside[used]),
        ),
        shape=(n, n),
    )
    data = codes.data * np.repeat(keep, np.diff(codes.indptr))
    halved = sp.csr_array((data, codes.indices, codes.indptr), shape=codes.shape)
    return sp.csr_array(halved + links)
