"""New samples join a fitted model: what is said of them, and the graph and predictor with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

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

__all__ = ["Growth", "grow", "grow_affinity", "grow_graph"]

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
    found: list[list[Nearest]] = [[] for _ in chosen]
    blocks = []
    for start in range(0, m, _ROWS):
        block = [table[start : start + _ROWS] for table in new]
        near = [part.nearest(block, predictor.n_candidates, run) for part in chosen]
        coded = [predictor.code(part, one) for part, one in zip(chosen, near, strict=True)]
        blocks.append(predictor.place(coded, trained)[0])
        for kept, one in zip(found, near, strict=True):
            kept.append(one)
    prediction = Prediction(*(np.concatenate(values) for values in zip(*blocks, strict=True)))
    grown = _grow_parts(predictor, new, n)
    places = [predictor.parts.index(part) for part in chosen]
    joined = [
        _join_new(predictor, grown.parts[at], chosen[here], found[here], run)
        for here, at in enumerate(places)
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
    predictor: Predictor, grown: Any, before: Any, found: Sequence[Nearest], run: Run
) -> Coded:
    """The codes of new samples in one part, over the samples of before and each other."""
    near = Nearest(*(np.concatenate(values) for values in zip(*found, strict=True)))
    n = before.n_samples
    m = len(near.known)
    k = predictor.n_candidates
    own = np.flatnonzero(near.known)
    among = _nearest_among_new(grown.geometry, n, k, run)
    indices = near.indices.astype(np.int64)
    distance = np.where(near.valid, near.distance, np.inf)
    later = np.full((m, k), -1, dtype=np.int64)
    later_distance = np.full((m, k), np.inf)
    width = among.indices.shape[1]
    later[own, :width] = among.indices
    later_distance[own, :width] = among.distances
    one = among._replace(indices=indices, distances=distance)
    other = among._replace(indices=later, distances=later_distance)
    both = merge_nearest(one, other, n)
    valid = np.isfinite(both.distances)
    squared = np.where(valid, both.distances, 0.0)
    # A sample that the part lacks has no neighbours in it, and no share of it.
    numbers = np.where(valid, both.indices, 0)
    merged = Nearest(numbers, valid, squared, np.exp(squared * grown.rate), near.own, near.known)
    parts = [
        predictor.code(grown, Nearest(*(values[start : start + _ROWS] for values in merged)))
        for start in range(0, m, _ROWS)
    ]
    return Coded(grown, *(np.concatenate(values) for values in list(zip(*parts, strict=True))[1:]))


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
        part = np.argpartition(block, wide - 1, axis=1)[:, :wide]
        part.sort(axis=1)  # ties to the earlier sample
        near = np.take_along_axis(block, part, axis=1)
        order = np.argsort(near, axis=1, kind="stable")
        indices[rows] = np.take_along_axis(part, order, axis=1)
        distances[rows] = np.take_along_axis(near, order, axis=1)
    return Neighbours(indices, distances)


def _put_codes(coded: Sequence[Coded], total: int) -> sp.csr_array:
    """The weighted sum of the codes of all parts, as rows over all samples."""
    m = len(coded[0].total)
    rows = np.repeat(np.arange(m), coded[0].shares.shape[1])
    found = sp.csr_array((m, total))
    for portion, one in zip(portions(coded), coded, strict=True):
        weights = (portion[:, None] * one.shares).ravel()
        kept = weights > 0
        places = (rows[kept], one.neighbours.ravel()[kept])
        found = sp.csr_array(found + sp.csr_array((weights[kept], places), shape=(m, total)))
    return found


def grow_graph(graph: sp.csr_array, codes: sp.csr_array) -> sp.csr_array:
    """A graph whose column i is the code of sample i, with the codes of new samples.

    Examples
    --------
    >>> graph = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> grow_graph(graph, sp.csr_array([[0.5, 0.5, 0.0]])).toarray().tolist()
    [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    """
    return sp.csr_array(_pad(graph, codes.shape[1]) + _as_columns(codes).astype(graph.dtype))


def grow_affinity(W: sp.csr_array, codes: sp.csr_array) -> sp.csr_array:
    """The same for the symmetric part of the graph.

    Examples
    --------
    >>> W = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> grow_affinity(W, sp.csr_array([[0.0, 1.0, 0.0]])).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    added = _as_columns(codes)
    half = ((added + added.T) * 0.5).astype(W.dtype)
    return sp.csr_array(_pad(W, codes.shape[1]) + half)


def _pad(matrix: sp.csr_array, total: int) -> sp.csr_array:
    """The same matrix with empty rows and columns behind its own."""
    more = np.full(total - matrix.shape[0], matrix.indptr[-1], dtype=matrix.indptr.dtype)
    starts = np.concatenate([matrix.indptr, more])
    return sp.csr_array((matrix.data, matrix.indices, starts), shape=(total, total))


def _as_columns(codes: sp.csr_array) -> sp.csr_array:
    """Codes of the last samples as the last columns of a square matrix."""
    m, total = codes.shape
    columns = sp.csc_array((codes.data, codes.indices, codes.indptr), shape=(total, m))
    starts = np.concatenate([np.zeros(total - m, dtype=columns.indptr.dtype), columns.indptr])
    square = sp.csc_array((columns.data, columns.indices, starts), shape=(total, total))
    return square.tocsr()
