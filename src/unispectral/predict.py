"""New points: their codes over the training points, and what follows from them.

A :class:`Predictor` is all that a fitted model keeps of its samples: it predicts with it, and is
saved as it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._errors import DoubtfulResultWarning, warn
from unispectral._inputs import Layout
from unispectral._run import Run
from unispectral._validation import recentred
from unispectral.graph.neighbours import EXACT_SAMPLES, build_index
from unispectral.kernels import KernelBank
from unispectral.labels import assign, memberships

__all__ = [
    "UNKNOWN_SCORE",
    "GeometryPart",
    "KernelSumPart",
    "Prediction",
    "Predictor",
    "row_blocks",
    "warn_of_unknown",
]

#: The outlier score of a sample that no view with a weight has: nothing of it is explained.
UNKNOWN_SCORE = 1.0

#: Numbers of one array of a block of new points, and those held for a point that asks an index.
_ENTRIES = 2**23
_INDEXED = 128
#: New points whose neighbours' rows are gathered at a time.
_GATHERED = 4_096
#: Optimality of the codes, relative to the kernel's diagonal.
_TOL = 1e-6


class Nearest(NamedTuple):
    """The training points nearest to m new points in one part, nearest first.

    Arrays of shape (m, k): numbers, whether there is a point, squared distances and the kernel;
    of shape (m,): the kernel of each new point with itself, and whether the part can speak of it.
    """

    indices: np.ndarray
    valid: np.ndarray
    distance: np.ndarray
    near: np.ndarray
    own: np.ndarray
    known: np.ndarray


@dataclass
class KernelSumPart:
    """The weighted sum of kernels, in which the paper's models describe new points.

    Up to the squared distance ``close`` a new point is a training point.
    """

    bank: KernelBank
    weights: np.ndarray
    close: float
    weight: float = 1.0
    outlier_weight: float = 1.0
    samples: None = None
    is_joint: bool = True

    @property
    def n_samples(self) -> int:
        """Training points that it has."""
        return self.bank.n_samples

    def knows(self, new: list[Any]) -> np.ndarray:
        """Whether it can speak of each new point."""
        return np.ones(new[0].shape[0], dtype=bool)

    @property
    def width(self) -> int:
        """Numbers that are held for each new point."""
        return self.bank.n_samples

    def nearest(self, new: list[Any], k: int, run: Run) -> Nearest:
        near, own = self.bank.combine_cross(self.weights, new, run)
        distance = own[:, None] + self.bank.combine_diagonal(self.weights)[None, :] - 2.0 * near
        return _nearest_of_all(distance, near, own, np.ones(len(near), dtype=bool), k)

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        """The kernel among the neighbours of each new point."""
        return self.bank.combine_neighbourhoods(self.weights, neighbours[:, 0], neighbours)[1]


@dataclass
class GeometryPart:
    """One geometry of the label-free model, with the kernel exp(rate · d²).

    The weights are its part in the embedding and in the outlier score of new points; without any
    it is asked about points that lack a view of the others. Up to the squared distance ``close``
    a new point is a training point; ``samples`` are the training points that it has, None for all.
    """

    geometry: Any
    rate: float
    weight: float
    outlier_weight: float
    close: float
    samples: np.ndarray | None = None
    _index: Any = field(default=None, repr=False, compare=False)
    _equal: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def is_joint(self) -> bool:
        """Whether it is the sum of several, so that it tells what any of them tells."""
        return len(getattr(self.geometry, "base", self.geometry).parts) > 1

    @property
    def n_samples(self) -> int:
        """Training points that it has."""
        return self.geometry.n_samples

    def knows(self, new: list[Any]) -> np.ndarray:
        """Whether all its views have each new point."""
        return _filled(new, self.geometry)[1]

    def equal_rows(self) -> np.ndarray:
        """The first of the training points that it has whose row is the same, of each."""
        if self._equal is None:
            base = getattr(self.geometry, "base", self.geometry)
            kernel = base.parts[0].kernel
            everyone = np.arange(base.n_samples)
            self._equal = (
                everyone if kernel.matrix is not None else _first_equal(kernel.features.X)
            )
        return self._equal

    @property
    def width(self) -> int:
        """Numbers that are held for each new point."""
        return self.geometry.n_samples if self._table() is None else _INDEXED

    def _table(self) -> np.ndarray | None:
        """The table that an index of many training points is made of, where there is one."""
        if self.geometry.n_samples <= EXACT_SAMPLES:
            return None
        single = len(getattr(self.geometry, "parts", ())) == 1
        table = self.geometry.tables[0] if single else None
        return table if isinstance(table, np.ndarray) else None

    def nearest(self, new: list[Any], k: int, run: Run) -> Nearest:
        tables, known = _filled(new, self.geometry)
        own = np.ones(len(known))
        if self._table() is None:
            distance = self.geometry.cross(tables, run)
            return _nearest_of_all(distance, np.exp(distance * self.rate), own, known, k)
        index, shift = self._indexed(k, run)
        table = tables[self.geometry.parts[0].view]
        if shift is not None:
            table = recentred(table, shift)[0]
        found = index.search(table, k, run=run)
        valid = found.indices >= 0
        scale = 1.0 if shift is None else shift[1] ** -2.0
        distance = np.where(valid, found.distances, 0.0) ** 2 * scale
        indices = np.where(valid, found.indices, found.indices[:, :1])
        return Nearest(indices, valid, distance, np.exp(distance * self.rate), own, known)

    def _indexed(self, k: int, run: Run) -> tuple[Any, Any]:
        """The index of the training points, made when it is first asked, and how it was moved.

        It follows from the points alone: a model that was saved and loaded predicts the same.
        """
        if self._index is None:
            table, shift = recentred(self._table())
            self._index = build_index(table, k, random_state=0, run=run), shift
        return self._index

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        """The kernel among the neighbours of each new point."""
        out = np.empty((*neighbours.shape, neighbours.shape[1]))
        for start in range(0, len(neighbours), _GATHERED):
            some = neighbours[start : start + _GATHERED]
            distances = self.geometry.around(some[:, 0], some)[1]
            np.exp(distances * self.rate, out=out[start : start + _GATHERED])
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None, "_equal": None}


class Prediction(NamedTuple):
    """What a model says of m new points.

    Rows of the embedding and of the membership are points, columns are clusters; memberships sum
    to one. The outlier score is large for points that the training points explain badly.
    """

    labels: np.ndarray
    embedding: np.ndarray
    membership: np.ndarray
    outlier_score: np.ndarray


class _Coded(NamedTuple):
    """New points in one part; ``error`` is what their codes leave unexplained."""

    neighbours: np.ndarray
    shares: np.ndarray
    total: np.ndarray
    error: np.ndarray
    match: np.ndarray
    known: np.ndarray


@dataclass
class Predictor:
    """All that a fitted model keeps of its samples.

    Attributes
    ----------
    layout : Layout
        What new samples are checked against.
    parts : list of GeometryPart or KernelSumPart
    alpha, ridge : float
        Of the codes.
    n_candidates : int
        Training points that the code of a new point may use.
    labels, embedding, rotation, outlier_score : ndarray
        Of the training points.
    typical_degree : float or None
        In the paper's models the outlier score is by degree, relative to this one.
    by_labels : bool
        Whether new points belong to clusters by the labels of the training points in their codes,
        rather than by their embedding: where clusters were merged and split after the read-out,
        the embedding does not know of it.
    """

    layout: Layout
    parts: list[Any]
    alpha: float
    ridge: float
    n_candidates: int
    labels: np.ndarray
    embedding: np.ndarray
    rotation: np.ndarray
    outlier_score: np.ndarray
    typical_degree: float | None = None
    by_labels: bool = False

    def predict(self, new: list[Any], run: Run) -> Prediction:
        """Describe new points, given as one checked table per view or one cross kernel each.

        Each code solves the Z-step's problem over the nearest training points; a new point has no
        embedding yet, so that there is no spectral price. A point that no training point explains
        is put at the nearest one. What is said of a point does not depend on the other points.
        """
        total = new[0].shape[0]
        step = max(1, _ENTRIES // max(part.width for part in self.parts))
        tick = run.progress.ticker("new points", total)
        blocks, unknown = [], 0
        for start in range(0, total, step):
            block = [table[start : min(start + step, total)] for table in new]
            found, known = self._block(block, run)
            blocks.append(found)
            unknown += int((~known).sum())
            tick(block[0].shape[0])
        if unknown:
            warn_of_unknown(unknown, total)
        return Prediction(*(np.concatenate(values) for values in zip(*blocks, strict=True)))

    def _block(self, new: list[Any], run: Run) -> tuple[Prediction, np.ndarray]:
        """What is said of new points, and which of them a part knows."""
        parts = self._asked(new)
        coded = [self._coded(part, new, run) for part in parts]
        weights = [part.weight for part in parts]
        placing, match = _portions(weights, coded), self._match(parts, weights, coded)
        embedding = np.zeros((len(match), self.embedding.shape[1]))
        for portion, one in zip(placing, coded, strict=True):
            mean = np.einsum("mk,mkc->mc", one.shares, self.embedding[one.neighbours])
            embedding += portion[:, None] * mean
        embedding[match >= 0] = self.embedding[match[match >= 0]]
        if self.by_labels:
            membership = self._votes(coded, placing)
            found = membership.argmax(axis=1)
        else:
            membership = memberships(embedding @ self.rotation)
            found = assign(embedding, self.rotation)
        # A training point keeps its label, also where an empty cluster had to be filled.
        labels = np.where(match >= 0, self.labels[match], found).astype(np.int32)
        score = self._outlier_score(parts, coded, placing)
        return Prediction(labels, embedding, membership, score), placing.sum(axis=0) > 0

    def _asked(self, new: list[Any]) -> list[Any]:
        """The parts that have a weight; all of them where these do not know every sample."""
        counting = [part for part in self.parts if part.weight > 0 or part.outlier_weight > 0]
        placing = [part for part in counting if part.weight > 0]
        if self._has_gaps() or not np.any([part.knows(new) for part in placing], axis=0).all():
            return self.parts
        return counting

    def _has_gaps(self) -> bool:
        """Whether some parts lack training points that others have."""
        return len({part.n_samples for part in self.parts}) > 1

    def _votes(self, coded: Sequence[_Coded], placing: np.ndarray) -> np.ndarray:
        """The share of each cluster in the codes of new points."""
        m, c = len(coded[0].known), self.rotation.shape[1]
        votes = np.zeros(m * c)
        for portion, one in zip(placing, coded, strict=True):
            at = np.arange(m)[:, None] * c + self.labels[one.neighbours]
            weights = portion[:, None] * one.shares
            votes += np.bincount(at.ravel(), weights.ravel(), minlength=m * c)
        return np.where((placing.sum(axis=0) > 0)[:, None], votes.reshape(m, c), 1.0 / c)

    def _outlier_score(
        self, parts: Sequence[Any], coded: Sequence[_Coded], placing: np.ndarray
    ) -> np.ndarray:
        """By the parts that judge outliers, or else by those that place the point."""
        weights = [part.outlier_weight for part in parts]
        judging, match = _shared(weights, coded), self._match(parts, weights, coded)
        judging = np.where(judging.any(axis=0), judging, placing)
        by_degree = self.typical_degree is not None
        judged = [one.total if by_degree else one.error for one in coded]
        score = np.sum([part * each for part, each in zip(judging, judged, strict=True)], axis=0)
        if self.typical_degree is not None:
            # A new point's code counts both ways, as if those it leans on leant on it.
            score = low_degree_score(2.0 * score, self.typical_degree)
        score[~judging.any(axis=0)] = UNKNOWN_SCORE
        return np.where(match >= 0, self.outlier_score[match], score)

    def _match(
        self, parts: Sequence[Any], weights: Sequence[float], coded: Sequence[_Coded]
    ) -> np.ndarray:
        """The training point that each new point is, by the parts that count; −1 for none.

        It has the same row as the new point in every part that knows this, and none in the others.
        The sum of several tells what each of them tells, where nothing is lacking.
        """
        counting = [
            (part, one)
            for part, weight, one in zip(parts, weights, coded, strict=True)
            if weight > 0
        ]
        first, found = counting[0]
        each = [one for one in zip(parts, coded, strict=True) if not one[0].is_joint]
        if first.is_joint and each and (self._has_gaps() or not found.known.all()):
            match = self._match_of_each(each)
            return match if self._has_gaps() else np.where(found.known, found.match, match)
        if len(counting) == 1 or first.is_joint:
            return found.match
        return self._match_of_each(counting)

    def _match_of_each(self, counting: Sequence[tuple[Any, _Coded]]) -> np.ndarray:
        """The training point that has the same rows, or lacks them, in each of these parts."""
        n, lacking, nobody = len(self.labels), -1, -2
        rows = np.full((len(counting), n + len(counting[0][1].known)), lacking)
        for row, (part, one) in zip(rows, counting, strict=True):
            own = np.arange(n) if part.samples is None else part.samples
            row[own] = own[part.equal_rows()]
            row[n:][one.known] = np.where(one.match >= 0, row[one.match], nobody)[one.known]
        _, first, which = np.unique(rows, axis=1, return_index=True, return_inverse=True)
        match = first[which.ravel()[n:]]
        return np.where(match < n, match, -1)

    def _coded(self, part: Any, new: list[Any], run: Run) -> _Coded:
        from unispectral.graph import _loops

        found = part.nearest(new, self.n_candidates, run)
        own = found.own.astype(np.float64)
        to = found.near.astype(np.float64)
        among = part.among(found.indices).astype(np.float64, copy=False)
        codes = np.zeros(to.shape)
        prices = np.full(to.shape, float(self.alpha))
        _loops.solve_blocks(among, to, own, prices, found.valid, float(self.ridge), codes, _TOL)
        fit = np.matmul(among, codes[:, :, None])[:, :, 0] - 2.0 * to
        error = own + np.einsum("bk,bk->b", codes, fit)
        total = codes.sum(axis=1)
        codes[total <= 0, 0] = 1.0
        codes /= codes.sum(axis=1, keepdims=True)
        neighbours = found.indices if part.samples is None else part.samples[found.indices]
        same = (found.distance[:, 0] <= part.close) & found.known
        match = np.where(same, neighbours[:, 0], -1)
        return _Coded(neighbours, codes, total, error, match, found.known)


def low_degree_score(degrees: np.ndarray, typical: float) -> np.ndarray:
    """Outlier score of the paper's models: little weight beside what is typical of the graph."""
    return 1.0 / (1.0 + degrees / typical)


def warn_of_unknown(count: int, total: int) -> None:
    """Warn of samples that only views without a weight have."""
    what = f"{count} of {total} samples {'is' if count == 1 else 'are'}"
    of = "its label says" if count == 1 else "their labels say"
    warn(
        f"{what} in no view that has a weight (view_weights_): {of} nothing, and the outlier "
        f"score is {UNKNOWN_SCORE:g}.",
        DoubtfulResultWarning,
    )


def _portions(weights: Sequence[float], coded: Sequence[_Coded]) -> np.ndarray:
    """The share of each part in each new point: those that know it share it by weight.

    Where these have no weight they share it equally.
    """
    portion = _shared(weights, coded)
    return np.where(portion.any(axis=0), portion, _shared(np.ones(len(coded)), coded))


def _shared(weights: Sequence[float] | np.ndarray, coded: Sequence[_Coded]) -> np.ndarray:
    """The same by weight alone; nothing where no part with a weight knows the point."""
    portion = np.asarray(weights)[:, None] * np.stack([one.known for one in coded])
    total = portion.sum(axis=0)
    return portion / np.where(total > 0, total, 1.0)


def _first_equal(table: Any) -> np.ndarray:
    """The first of the rows that are the same, of each row of a table.

    Examples
    --------
    >>> _first_equal(np.array([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])).tolist()
    [0, 1, 0]
    """
    if sp.issparse(table):
        parts = zip(table.indptr[:-1], table.indptr[1:], strict=True)
        rows = (table.indices[a:b].tobytes() + table.data[a:b].tobytes() for a, b in parts)
    else:
        rows = ((row + 0.0).tobytes() for row in table)  # zero has no sign
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row, at) for at, row in enumerate(rows)])


def _filled(new: list[Any], geometry: Any) -> tuple[list[Any], np.ndarray]:
    """Tables without NaN, and the samples that all views of a geometry know."""
    base = getattr(geometry, "base", geometry)
    known = np.ones(new[0].shape[0], dtype=bool)
    tables = list(new)
    for view in {part.view for part in base.parts}:
        table = tables[view]
        if isinstance(table, np.ndarray) and np.isnan(table[:, 0]).any():
            here = ~np.isnan(table[:, 0])
            tables[view] = np.where(here[:, None], table, 0.0)
            known &= here
    return tables, known


def _nearest_of_all(
    distance: np.ndarray, near: np.ndarray, own: np.ndarray, known: np.ndarray, k: int
) -> Nearest:
    """The nearest, given the distances (m, n) to all training points."""
    k = min(k, distance.shape[1])
    part = np.argpartition(distance, k - 1, axis=1)[:, :k]
    part.sort(axis=1)  # ties to the earlier sample
    order = np.argsort(np.take_along_axis(distance, part, axis=1), axis=1, kind="stable")
    indices = np.take_along_axis(part, order, axis=1)
    distance, near = (np.take_along_axis(of, indices, axis=1) for of in (distance, near))
    return Nearest(indices, np.ones(indices.shape, dtype=bool), distance, near, own, known)


def row_blocks(X: Any, size: int = 65_536) -> Iterator[Any]:
    """A memory map in blocks, so that it is never in memory as a whole; others as they are."""
    if isinstance(X, np.memmap) and X.ndim == 2 and len(X) > size:
        yield from (X[start : start + size] for start in range(0, len(X), size))
    else:
        yield X
