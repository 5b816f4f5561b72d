"""New samples join a fitted model: what is said of them, and the graph and predictor with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._arrays import smallest_in_rows
from unispectral._run import Run
from unispectral.graph.neighbours import EXACT_SAMPLES, nearest
from unispectral.kernels._features import Features
from unispectral.labelfree._geometry import KernelDistance
from unispectral.predict import (
    Coded,
    GeometryPart,
    Nearest,
    Prediction,
    Predictor,
    Trained,
    merge_nearest,
    portions,
)

#: New samples that are described together, and distances that are held at a time.
_ROWS = 4_096
_ENTRIES = 2**22
#: Samples without an index of their own are searched one by one until there are so many for each
#: that has one; then all get one.
_LATER = 0.5


class Growth(NamedTuple):
    """What new samples are, and the predictor with them.

    Row i of ``codes`` is the code of new sample i over all samples, those of before and the new
    ones.
    """

    prediction: Prediction
    predictor: Predictor
    codes: sp.csr_array


def grow(predictor: Predictor, new: list[Any], trained: Trained, run: Run) -> Growth:
    """Describe new samples, given as one checked table per view, and take them in.

    What is said of them is what the predictor says. Their codes are over the new samples, too: a
    group that comes together leans on itself.
    """
    n = len(trained.labels)
    m = new[0].shape[0]
    chosen = list(predictor.choose_parts(new))
    nearest_of: list[list[Nearest]] = [[] for _ in chosen]
    codes_of: list[list[Coded]] = [[] for _ in chosen]
    blocks = []
    for start in range(0, m, _ROWS):
        block = [table[start : start + _ROWS] for table in new]
        near = [part.nearest(block, predictor.n_candidates, run) for part in chosen]
        coded = [predictor.code(part, one) for part, one in zip(chosen, near, strict=True)]
        blocks.append(predictor.place(coded, trained)[0])
        for at in range(len(chosen)):
            nearest_of[at].append(near[at])
            codes_of[at].append(coded[at])
    prediction = Prediction(*(np.concatenate(values) for values in zip(*blocks, strict=True)))
    grown = _grow_parts(predictor, new, n)
    joined = [
        _join_new(predictor, grown.parts[predictor.parts.index(part)], near, codes, run)
        for part, near, codes in zip(chosen, nearest_of, codes_of, strict=True)
    ]
    return Growth(prediction, grown, _put_codes(joined, n + m))


def _grow_parts(predictor: Predictor, new: list[Any], n: int) -> Predictor:
    """The predictor with the new samples behind the n of before."""
    known: dict[int, Features] = {}
    parts = []
    for part in predictor.parts:
        assert isinstance(part, GeometryPart), "the label-free model has geometries"
        present = part.knows(new)
        rows = new if present.all() else [table[present] for table in new]
        # Parts that have other samples share no features with this one.
        shared = known if present.all() else {}
        geometry = part.geometry.grow(rows, shared) if present.any() else part.geometry
        samples = part.samples
        if samples is not None or not present.all():
            before = np.arange(n) if samples is None else samples
            samples = np.concatenate([before, n + np.flatnonzero(present)])
        indexed = _count_indexed(part, geometry.n_samples)
        grown = replace(part, geometry=geometry, samples=samples, n_indexed=indexed, _index={})
        grown.inherit_index(part)
        parts.append(grown)
    return replace(predictor, parts=tuple(parts))


def _count_indexed(part: GeometryPart, n_samples: int) -> int | None:
    """How many samples of a part that grows share the first index."""
    before = part.n_samples if part.n_indexed is None else part.n_indexed
    if before <= EXACT_SAMPLES or n_samples > (1.0 + _LATER) * before:
        return None
    return before


def _join_new(
    predictor: Predictor, grown: Any, found: list[Nearest], told: list[Coded], run: Run
) -> Coded:
    """The codes of new samples in one part, over the samples of before and each other.

    They are coded anew where one of their nearest is new.
    """
    near = Nearest(*(np.concatenate(values) for values in zip(*found, strict=True)))
    fields = list(zip(*told, strict=True))[1:]
    coded = Coded(grown, *(np.concatenate(values) for values in fields))
    n = grown.n_samples - int(near.known.sum())
    own = np.flatnonzero(near.known)
    among = _nearest_among_new(grown.geometry, n, predictor.n_candidates, run)
    distance = np.where(near.valid, near.distance, np.inf)[own]
    before = among._replace(indices=near.indices[own].astype(np.int64), distances=distance)
    both = merge_nearest(before, among, n)
    valid = np.isfinite(both.distances)
    anew = np.flatnonzero((valid & (both.indices >= n)).any(axis=1))
    for start in range(0, len(anew), _ROWS):
        some = anew[start : start + _ROWS]
        rows = own[some]
        squared = np.where(valid[some], both.distances[some], 0.0)
        numbers = np.where(valid[some], both.indices[some], 0)
        kernel = np.exp(squared * grown.rate)
        nearest_now = Nearest(
            numbers, valid[some], squared, kernel, near.own[rows], near.known[rows]
        )
        again = predictor.code(grown, nearest_now)
        coded.neighbours[rows] = again.neighbours
        coded.shares[rows] = again.shares
    return coded


def _nearest_among_new(geometry: KernelDistance, first: int, k: int, run: Run) -> Any:
    """The nearest of the samples from ``first`` on among each other, by squared distances."""
    from unispectral.graph._indexes import Neighbours

    count = geometry.n_samples - first
    wide = min(k, max(count - 1, 0))
    indices = np.full((count, wide), -1, dtype=np.int64)
    distances = np.full((count, wide), np.inf)
    if not wide:
        return Neighbours(indices, distances)
    table = geometry.search_table()
    if count > EXACT_SAMPLES and isinstance(table, np.ndarray):
        indices = nearest(table[first:], wide, random_state=0, run=run).indices.astype(np.int64)
        for start in range(0, count, _ROWS):
            rows = np.arange(start, min(start + _ROWS, count))
            some = np.maximum(indices[rows], 0) + first
            distances[rows] = geometry.around(first + rows, some)[0]
        distances[indices < 0] = np.inf
        return Neighbours(indices, distances)
    everyone = np.arange(first, geometry.n_samples)
    step = max(1, _ENTRIES // count)
    for start in range(0, count, step):
        rows = np.arange(start, min(start + step, count))
        block = geometry.distances(first + rows, everyone)
        block[np.arange(len(rows)), rows] = np.inf
        indices[rows] = smallest_in_rows(block, wide)  # ties to the earlier sample
        distances[rows] = np.take_along_axis(block, indices[rows], axis=1)
    return Neighbours(indices, distances)


def _put_codes(coded: Sequence[Coded], total: int) -> sp.csr_array:
    """The weighted sum of the codes of all parts, as rows over all samples."""
    m = len(coded[0].total)
    weights = [
        portion[:, None] * one.shares for portion, one in zip(portions(coded), coded, strict=True)
    ]
    values = np.hstack(weights)
    columns = np.hstack([one.neighbours for one in coded])
    kept = values > 0
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    found = sp.csr_array((values[kept], columns[kept], starts), shape=(m, total))
    found.sum_duplicates()
    return found


def grow_graph(graph: sp.csr_array, codes: sp.csr_array) -> sp.csr_array:
    """A graph whose column i is the code of sample i, with the codes of new samples.

    Examples
    --------
    >>> graph = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> grow_graph(graph, sp.csr_array([[0.5, 0.5, 0.0]])).toarray().tolist()
    [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    """
    added = _as_last_rows(codes.astype(graph.dtype))
    return _put_behind(graph, added.T.tocsr())


def grow_affinity(W: sp.csr_array, codes: sp.csr_array) -> sp.csr_array:
    """The same for the symmetric part of the graph.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> grow_affinity(W, sp.csr_array([[0.0, 1.0, 0.0]])).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    added = _as_last_rows((codes * 0.5).astype(W.dtype))
    return _put_behind(W, added + added.T.tocsr())


def _put_behind(matrix: sp.csr_array, added: sp.csr_array) -> sp.csr_array:
    """A matrix with what is added to its rows, in columns behind its own, and below them.

    Nothing meets, so that the rows need no sum but stand one behind the other.
    """
    total = added.shape[0]
    more = np.full(total - matrix.shape[0], matrix.indptr[-1], dtype=matrix.indptr.dtype)
    starts = np.concatenate([matrix.indptr, more])
    size = matrix.nnz + added.nnz
    indices = np.empty(size, dtype=np.result_type(matrix.indices, added.indices))
    data = np.empty(size, dtype=matrix.dtype)
    old = np.arange(matrix.nnz) + np.repeat(added.indptr[:-1], np.diff(starts))
    new = np.arange(added.nnz) + np.repeat(starts[1:], np.diff(added.indptr))
    for place, part in ((old, matrix), (new, added)):
        indices[place] = part.indices
        data[place] = part.data
    return sp.csr_array((data, indices, starts + added.indptr), shape=(total, total))


def _as_last_rows(codes: sp.csr_array) -> sp.csr_array:
    """Codes of the last samples as the last rows of a square matrix."""
    m, total = codes.shape
    starts = np.concatenate([np.zeros(total - m, dtype=codes.indptr.dtype), codes.indptr])
    return sp.csr_array((codes.data, codes.indices, starts), shape=(total, total))
