"""Neighbours in many columns: a forest of random planes, then neighbours of neighbours.

Rows that fall on the same side of all planes of a tree are compared with each other; then, again
and again, the neighbours that a row has found lately with the others that it has, since they are
likely to be each other's (Dong, Moses and Li 2011). Pairs are compared in small products of
matrices. What a block of rows finds is written down first and taken up afterwards, in the order
of the blocks, and which rows a block has does not depend on the threads: neither do the
neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unispectral._run import Run, map_blocks
from unispectral.graph import _descent_loops
from unispectral.graph._indexes import Neighbours, true_neighbours

#: Trees, rows in a leaf at most, and columns in which planes are drawn.
_TREES = 10
_LEAF = 100
_PLANES = 64
#: Neighbours sought for each row at least, and beyond those asked for; single precision ranks
#: them, and a longer list finds more of its first ones.
_LEAST = 14
_SPARE = 2
#: Neighbours that are compared with each other, of the new ones and of the old ones of a row.
_COMPARED = 20
#: Rounds end where this share of the neighbours of a sample is found, and at the latest after so
#: many, or where so small a share of the neighbours changes.
_RECALL = 0.97
_ROUNDS = 12
_STILL = 0.04
_SAMPLE = 200
#: Rows whose pairs are written down before any of them is taken up, and those of one task.
_BATCH = 16_384
_TASK = 512
#: Rows of a table that are copied at a time.
_ROWS = 4_096


def descend(
    points: np.ndarray, k: int, rng: np.random.Generator, run: Run | None = None
) -> Neighbours:
    """About 97 % of the ``k`` nearest other rows of every row, nearest first, ties by number.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((300, 20))
    >>> found = descend(X, 5, np.random.default_rng(0))
    >>> exact = np.sort(np.linalg.norm(X[7] - X, axis=1))[1:6]
    >>> np.allclose(found.distances[7], exact)
    True
    """
    n = len(points)
    k = min(k, n - 1)
    state = _State(points, min(max(_LEAST, k + _SPARE), n - 1))
    sample = np.sort(rng.choice(n, min(_SAMPLE, n), replace=False))
    true = true_neighbours(points, sample, k, run)
    _plant(state, rng, run)
    steps = _TREES + _ROUNDS
    for done in range(_ROUNDS):
        recall = np.mean(state.near[sample][:, :, None] == true[:, None, :]) * state.near.shape[1]
        if run is not None:
            run.progress("candidates", _TREES + done, steps, f"{recall:.0%} found")
        if recall >= _RECALL:
            break
        changed = _round(state, int(rng.integers(2**31)), run)
        if changed <= _STILL * state.near.size:
            break
    found = _finish(state, k, run)
    if run is not None:
        run.progress("candidates", steps, steps)
    return found


class _State:
    """The neighbours found so far: nearest first, −1 where none is known yet."""

    def __init__(self, points: np.ndarray, width: int) -> None:
        n = len(points)
        self.points = points
        #: In single precision squares keep their digits near the mean.
        self.origin = points.mean(axis=0, dtype=np.float64).astype(np.float32)
        self.norms = np.empty(n, dtype=np.float32)
        for start in range(0, n, _ROWS):
            some = points[start : start + _ROWS].astype(np.float32) - self.origin
            self.norms[start : start + _ROWS] = np.einsum("ij,ij->i", some, some)
        self.near = np.full((n, width), -1, dtype=np.int32)
        self.keys = np.full((n, width), np.inf, dtype=np.float32)
        self.fresh = np.zeros((n, width), dtype=np.bool_)
        #: Rows that are alike one after the other: most of what one needs is in the cache already.
        self.order = np.arange(n, dtype=np.int32)


def _plant(state: _State, rng: np.random.Generator, run: Run | None) -> None:
    """Compare the rows of every leaf of every tree."""
    n, d = state.points.shape
    shadow = np.empty((n, min(d, _PLANES)), dtype=np.float32)
    turn = np.eye(d, dtype=np.float32)
    if d > _PLANES:
        turn = rng.standard_normal((d, _PLANES), dtype=np.float32)

    def project(rows: slice) -> None:
        shadow[rows] = (state.points[rows].astype(np.float32) - state.origin) @ turn

    map_blocks(project, n, _ROWS, run)
    seeds = rng.integers(2**31, size=_TREES)

    def grow(trees: slice) -> tuple[np.ndarray, np.ndarray]:
        order = np.arange(n, dtype=np.int32)
        starts = np.empty(n + 1, dtype=np.int32)
        leaves = _descent_loops.grow_tree(
            shadow, np.uint64(seeds[trees.start]), _LEAF, order, starts
        )
        return order, starts[: leaves + 1].copy()

    trees = map_blocks(grow, _TREES, 1, run)
    shadow = np.empty((0, 0), dtype=np.float32)  # trees are all that is needed of it
    state.order = trees[0][0]
    for done, (order, starts) in enumerate(trees):
        if run is not None:
            run.progress("candidates", done, _TREES + _ROUNDS)

        def join(leaves: slice, order: object = order, starts: object = starts) -> None:
            _descent_loops.join_leaves(
                state.points, state.origin, state.norms, order, starts,
                leaves.start, leaves.stop, state.near, state.keys, state.fresh,
            )  # fmt: skip

        map_blocks(join, len(starts) - 1, _TASK, run)


def _round(state: _State, salt: int, run: Run | None) -> int:
    """Compare neighbours of neighbours; how many neighbours are new."""
    n = len(state.near)
    back, sources, lately = _descent_loops.turn_around(state.near, state.fresh)
    new = np.full((n, _COMPARED), -1, dtype=np.int32)
    old = np.full((n, _COMPARED), -1, dtype=np.int32)

    def choose(rows: slice) -> None:
        _descent_loops.choose_neighbours(
            state.near, state.fresh, back, sources, lately, np.uint64(salt),
            rows.start, rows.stop, new, old,
        )  # fmt: skip

    def settle(rows: slice) -> None:
        _descent_loops.settle(state.near, state.fresh, new, rows.start, rows.stop)

    map_blocks(choose, n, _ROWS, run)
    map_blocks(settle, n, _ROWS, run)
    changed = 0
    threads = 1 if run is None else run.n_threads
    for first in range(0, n, _BATCH):
        last = min(first + _BATCH, n)

        def join(rows: slice, first: int = first) -> Any:
            return _descent_loops.join_neighbours(
                state.points, state.origin, state.norms, state.keys, new, old,
                state.order[first + rows.start : first + rows.stop],
            )  # fmt: skip

        found = map_blocks(join, last - first, _TASK, run)

        def take(rows: slice, found: list[Any] = found) -> int:
            return sum(
                _descent_loops.take_pairs(
                    pairs, keys, rows.start, rows.stop, state.near, state.keys, state.fresh
                )
                for pairs, keys in found
            )

        changed += sum(map_blocks(take, n, -(-n // threads), run))
    return changed


def _finish(state: _State, k: int, run: Run | None) -> Neighbours:
    """Exact distances of the best that were found."""
    from unispectral.graph import _select

    n = len(state.near)
    found = state.near[:, :k].copy()
    short = np.flatnonzero(found[:, k - 1] < 0)
    if len(short):
        found[short] = true_neighbours(state.points, short, k, run)
    distances = np.empty(found.shape)

    def work(part: slice) -> None:
        rows = state.order[part]
        some = found[rows]
        exact = np.empty(some.shape)
        _select.exact_dense(state.points[rows], state.points, some, exact)
        _select.sort_rows(exact, some)
        found[rows] = some
        distances[rows] = exact

    map_blocks(work, n, _ROWS, run)
    return Neighbours(found, np.sqrt(distances))
