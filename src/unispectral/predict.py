"""New points: their codes over the training points, and what follows from them.

A :class:`Predictor` is all that a fitted model keeps of its samples: it predicts with it, and is
saved as it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from unispectral._arrays import absent_rows, smallest_in_rows
from unispectral._errors import DoubtfulResultWarning, warn
from unispectral._inputs import Layout
from unispectral._run import Run
from unispectral._validation import recentre
from unispectral.graph._indexes import Neighbours
from unispectral.graph.copies import first_equal
from unispectral.graph.neighbours import EXACT_SAMPLES, build_index
from unispectral.kernels import KernelBank
from unispectral.labels import agree_with, assign, memberships

if TYPE_CHECKING:
    from unispectral.labelfree._geometry import KernelDistance

__all__ = [
    "UNKNOWN_SCORE",
    "Coded",
    "GeometryPart",
    "KernelSumPart",
    "Nearest",
    "Prediction",
    "Predictor",
    "Trained",
    "merge_nearest",
    "portions",
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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class GeometryPart:
    """One geometry of the label-free model, with the kernel exp(rate · d²).

    The weights are its part in the embedding and in the outlier score of new points; without any
    it is asked about points that lack a view of the others. Up to the squared distance ``close``
    a new point is a training point; ``samples`` are the training points that it has, None for all.
    Of many training points the first ``n_indexed``, None for all, have an index; those that came
    after them have one of their own.
    """

    geometry: KernelDistance
    rate: float
    weight: float
    outlier_weight: float
    close: float
    samples: np.ndarray | None = None
    n_indexed: int | None = None
    #: The index of the training points, once it has been asked.
    _index: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_joint(self) -> bool:
        """Whether it is the sum of several, so that it tells what any of them tells."""
        return self.geometry.is_joint

    @property
    def n_samples(self) -> int:
        """Training points that it has."""
        return self.geometry.n_samples

    def knows(self, new: list[Any]) -> np.ndarray:
        """Whether all its views have each new point."""
        return _fill(new, self.geometry)[1]

    @cached_property
    def first_equal(self) -> np.ndarray:
        """The first of its training points whose row is the same, of each."""
        rows = self.geometry.rows
        if rows is None:
            return np.arange(self.n_samples)
        return first_equal([rows])

    @property
    def width(self) -> int:
        """Numbers that are held for each new point."""
        if self._table() is None:
            return self.geometry.n_samples
        return _INDEXED

    def _table(self) -> np.ndarray | None:
        """The table that an index of many training points is made of, where there is one."""
        geometry = self.geometry
        if geometry.n_samples <= EXACT_SAMPLES or geometry.base is not geometry:
            return None
        if geometry.is_joint:
            table = None
        else:
            table = geometry.base.tables[0]
        if isinstance(table, np.ndarray):
            return table
        return None

    def nearest(self, new: list[Any], k: int, run: Run) -> Nearest:
        tables, known = _fill(new, self.geometry)
        own = np.ones(len(known))
        if self._table() is None:
            distance = self.geometry.cross(tables, run)
            return _nearest_of_all(distance, np.exp(distance * self.rate), own, known, k)
        indexes, shift = self._build_indexes(k, run)
        table = tables[self.geometry.base.parts[0].view]
        if shift is not None:
            table = recentre(table, shift)[0]
        found = indexes[0].search(table, k, run=run)
        for later in indexes[1:]:
            found = merge_nearest(found, later.search(table, k, run=run), indexes[0].n_samples)
        valid = found.indices >= 0
        if shift is None:
            scale = 1.0
        else:
            scale = shift[1] ** -2.0
        distance = np.where(valid, found.distances, 0.0) ** 2 * scale
        indices = np.where(valid, found.indices, found.indices[:, :1])
        return Nearest(indices, valid, distance, np.exp(distance * self.rate), own, known)

    def _build_indexes(self, k: int, run: Run) -> tuple[list[Any], Any]:
        """The indexes of the training points, made when first asked, and how these were moved.

        They follow from the points alone: a model that was saved and loaded predicts the same.
        """
        table = self._table()
        assert table is not None
        first = len(table) if self.n_indexed is None else self.n_indexed
        if "index" not in self._index:
            points, shift = recentre(table[:first])
            index = build_index(points, k, random_state=0, run=run)
            self._index.update(index=index, shift=shift)
        index = self._index["index"]
        shift = self._index["shift"]
        if first == len(table):
            return [index], shift
        if "later" not in self._index:
            later = table[first:] if shift is None else recentre(table[first:], shift)[0]
            self._index["later"] = build_index(later, k, random_state=0, run=run)
        return [index, self._index["later"]], shift

    def inherit_index(self, before: GeometryPart) -> None:
        """Take over the index of the same points from a part that has no others."""
        index = before._index.get("index")
        if index is None or self.n_indexed is None or index.n_samples != self.n_indexed:
            return
        table = self._table()
        if before._index["shift"] is None and table is not None:
            # The same rows: those of before need not be kept for it.
            index.points = table[: self.n_indexed]
        self._index.update(index=index, shift=before._index["shift"])

    def among(self, neighbours: np.ndarray) -> np.ndarray:
        """The kernel among the neighbours of each new point."""
        out = np.empty((*neighbours.shape, neighbours.shape[1]))
        for start in range(0, len(neighbours), _GATHERED):
            some = neighbours[start : start + _GATHERED]
            distances = self.geometry.around(some[:, 0], some)[1]
            np.exp(distances * self.rate, out=out[start : start + _GATHERED])
        return out

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_index": {}}
        state.pop("first_equal", None)
        return state


Part: TypeAlias = KernelSumPart | GeometryPart


class Prediction(NamedTuple):
    """What a model says of m new points.

    Rows of the embedding and of the membership are points, columns are clusters; memberships sum
    to one. The outlier score is large for points that the training points explain badly.
    """

    labels: np.ndarray
    embedding: np.ndarray
    membership: np.ndarray
    outlier_score: np.ndarray


class Coded(NamedTuple):
    """New points in one part; ``error`` is what their codes leave unexplained."""

    part: Part
    neighbours: np.ndarray
    shares: np.ndarray
    total: np.ndarray
    error: np.ndarray
    distance: np.ndarray
    known: np.ndarray


class Trained(NamedTuple):
    """What a fit found of the training points.

    With their memberships, those of new points are their means; without, they follow from the
    labels or the embedding alone.
    """

    labels: np.ndarray
    embedding: np.ndarray
    rotation: np.ndarray
    outlier_score: np.ndarray
    membership: np.ndarray | None = None


@dataclass(frozen=True)
class Predictor:
    """All that a fitted model keeps of its samples.

    Attributes
    ----------
    layout : Layout
        What new samples are checked against.
    parts : tuple of GeometryPart or KernelSumPart
    alpha, ridge : float
        Of the codes.
    n_candidates : int
        Training points that the code of a new point may use.
    typical_degree : float or None
        In the paper's models the outlier score is by degree, relative to this one.
    by_labels : bool
        Whether new points belong to clusters by the labels of the training points in their codes,
        rather than by their embedding: where clusters were merged and split afterwards,
        the embedding does not know of it.
    """

    layout: Layout
    parts: tuple[Part, ...]
    alpha: float
    ridge: float
    n_candidates: int
    typical_degree: float | None = None
    by_labels: bool = False

    def predict(self, new: list[Any], trained: Trained, run: Run) -> Prediction:
        """Describe new points, given as one checked table per view or one cross kernel each.

        Each code solves the Z-step's problem over the nearest training points; a new point has no
        embedding yet, so that there is no spectral penalty. A point that no training point
        explains is put at the nearest one. What is said of a point does not depend on the other
        points.
        """
        total = new[0].shape[0]
        step = max(1, _ENTRIES // max(part.width for part in self.parts))
        tick = run.progress.ticker("new points", total)
        blocks = []
        unknown = 0
        for start in range(0, total, step):
            block = [table[start : min(start + step, total)] for table in new]
            found, known = self._block(block, trained, run)
            blocks.append(found)
            unknown += int((~known).sum())
            tick(block[0].shape[0])
        if unknown:
            warn_of_unknown(unknown, total)
        return Prediction(*(np.concatenate(values) for values in zip(*blocks, strict=True)))

    def _block(self, new: list[Any], trained: Trained, run: Run) -> tuple[Prediction, np.ndarray]:
        """What is said of new points, and which of them a part knows."""
        parts = self.choose_parts(new)
        coded = [self.code(part, part.nearest(new, self.n_candidates, run)) for part in parts]
        return self.place(coded, trained)

    def place(self, coded: Sequence[Coded], trained: Trained) -> tuple[Prediction, np.ndarray]:
        """What follows from the codes of new points, and which of them a part knows."""
        placing = portions(coded)
        match = self._recognise(coded, len(trained.labels))
        is_trained = match >= 0
        embedding = _mean_of_nearest(coded, placing, trained.embedding)
        embedding[is_trained] = trained.embedding[match[is_trained]]
        if self.by_labels:
            membership = _count_votes(coded, placing, trained)
            found = membership.argmax(axis=1)
        else:
            membership = memberships(embedding @ trained.rotation)
            found = assign(embedding, trained.rotation)
        # A training point keeps its label, also where an empty cluster had to be filled.
        labels = np.where(is_trained, trained.labels[match], found).astype(np.int32)
        if trained.membership is not None and self.typical_degree is None:
            known = placing.sum(axis=0) > 0
            mean = _mean_of_nearest(coded, placing, trained.membership)
            mean[is_trained] = trained.membership[match[is_trained]]
            mean[~known] = membership[~known]
            membership = agree_with(mean, labels)
        score = self._score(coded, placing)
        score = np.where(is_trained, trained.outlier_score[match], score)
        return Prediction(labels, embedding, membership, score), placing.sum(axis=0) > 0

    def choose_parts(self, new: list[Any]) -> Sequence[Part]:
        """The parts that have a weight; all of them where these do not know every sample."""
        placing = [part for part in self.parts if part.weight > 0]
        if self._has_gaps or not np.any([part.knows(new) for part in placing], axis=0).all():
            return self.parts
        return [part for part in self.parts if part.weight > 0 or part.outlier_weight > 0]

    @property
    def _has_gaps(self) -> bool:
        """Whether some parts lack training points that others have."""
        return len({part.n_samples for part in self.parts}) > 1

    def code(self, part: Part, found: Nearest) -> Coded:
        """The codes of new points over their nearest training points in one part."""
        from unispectral.graph import _loops

        own = found.own.astype(np.float64)
        to = found.near.astype(np.float64)
        among = part.among(found.indices).astype(np.float64, copy=False)
        codes = np.zeros(to.shape)
        penalties = np.full(to.shape, float(self.alpha))
        _loops.solve_blocks(among, to, own, penalties, found.valid, float(self.ridge), codes, _TOL)
        fit = np.matmul(among, codes[:, :, None])[:, :, 0] - 2.0 * to
        error = own + np.einsum("bk,bk->b", codes, fit)
        total = codes.sum(axis=1)
        codes[total <= 0, 0] = 1.0
        codes /= codes.sum(axis=1, keepdims=True)
        if part.samples is None:
            neighbours = found.indices
        else:
            neighbours = part.samples[found.indices]
        return Coded(part, neighbours, codes, total, error, found.distance[:, 0], found.known)

    def _recognise(self, coded: Sequence[Coded], n: int) -> np.ndarray:
        """Which of n training points each new point is; −1 for none.

        It has the same row as the new point in every view that has this, and none in the others.
        Rows are compared by plain distances, those that score outliers; the sum of several tells
        what each of them tells, where nothing is lacking.
        """
        nobody = -1
        lacking = -2
        nearest = [
            np.where((one.distance <= one.part.close) & one.known, one.neighbours[:, 0], nobody)
            for one in coded
        ]
        whole = next(at for at, one in enumerate(coded) if one.part.outlier_weight > 0)
        is_joint = coded[whole].part.is_joint
        each = [at for at, one in enumerate(coded) if not one.part.is_joint]
        if not is_joint:
            each = [at for at in each if coded[at].part.outlier_weight > 0]
        if is_joint:
            is_alone = not each
        else:
            is_alone = len(each) == 1
        tells_all = is_alone or (is_joint and bool(coded[whole].known.all()))
        if tells_all and not self._has_gaps:
            return nearest[whole]
        # Each row by the first training point that has the same, in every view.
        rows = np.full((len(each), n + len(nearest[whole])), lacking)
        for row, at in zip(rows, each, strict=True):
            part = coded[at].part
            assert isinstance(part, GeometryPart), "a sum of kernels is joint"
            if part.samples is None:
                own = np.arange(n)
            else:
                own = part.samples
            row[own] = own[part.first_equal]
            known = coded[at].known
            row[n:][known] = np.where(nearest[at] >= 0, row[nearest[at]], nobody)[known]
        _, first, which = np.unique(rows, axis=1, return_index=True, return_inverse=True)
        match = first[which.ravel()[n:]]
        match = np.where(match < n, match, nobody)
        if is_joint and not self._has_gaps:
            return np.where(coded[whole].known, nearest[whole], match)
        return match

    def _score(self, coded: Sequence[Coded], placing: np.ndarray) -> np.ndarray:
        """Outlier scores, by the parts that score them, or else by those that place the point."""
        scoring = _share_by_weight([one.part.outlier_weight for one in coded], coded)
        scoring = np.where(scoring.any(axis=0), scoring, placing)
        by_degree = self.typical_degree is not None
        measured = [one.total if by_degree else one.error for one in coded]
        score = np.sum([part * each for part, each in zip(scoring, measured, strict=True)], axis=0)
        if self.typical_degree is not None:
            # A new point's code counts both ways, as if those it leans on leant on it.
            score = low_degree_score(2.0 * score, self.typical_degree)
        score[~scoring.any(axis=0)] = UNKNOWN_SCORE
        return score


def _mean_of_nearest(
    coded: Sequence[Coded], placing: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """The mean of what the training points have, by the codes of new points."""
    m = placing.shape[1]
    found = np.zeros((m, values.shape[1]))
    for portion, one in zip(placing, coded, strict=True):
        # The rows of all neighbours of many points would take far more than the means.
        step = max(1, _ENTRIES // max(1, one.shares.shape[1] * values.shape[1]))
        for start in range(0, m, step):
            rows = slice(start, start + step)
            mean = np.einsum("mk,mkc->mc", one.shares[rows], values[one.neighbours[rows]])
            found[rows] += portion[rows, None] * mean
    return found


def _count_votes(coded: Sequence[Coded], placing: np.ndarray, trained: Trained) -> np.ndarray:
    """The share of each cluster in the codes of new points."""
    m = placing.shape[1]
    c = trained.rotation.shape[1]
    votes = np.zeros(m * c)
    for portion, one in zip(placing, coded, strict=True):
        at = np.arange(m)[:, None] * c + trained.labels[one.neighbours]
        weights = portion[:, None] * one.shares
        votes += np.bincount(at.ravel(), weights.ravel(), minlength=m * c)
    return np.where((placing.sum(axis=0) > 0)[:, None], votes.reshape(m, c), 1.0 / c)


def low_degree_score(degrees: np.ndarray, typical: float) -> np.ndarray:
    """Outlier score of the paper's models: little weight beside what is typical of the graph."""
    return 1.0 / (1.0 + degrees / typical)


def warn_of_unknown(count: int, total: int) -> None:
    """Warn of samples that only views without a weight have."""
    what = f"{count} of {total} samples {'is' if count == 1 else 'are'}"
    if count == 1:
        of = "its label says"
    else:
        of = "their labels say"
    warn(
        f"{what} in no view that has a weight (view_weights_): {of} nothing, and the outlier "
        f"score is {UNKNOWN_SCORE:g}.",
        DoubtfulResultWarning,
    )


def portions(coded: Sequence[Coded]) -> np.ndarray:
    """The share of each part in each new point: those that know it share it by weight.

    Where these have no weight they share it equally.
    """
    portion = _share_by_weight([one.part.weight for one in coded], coded)
    return np.where(portion.any(axis=0), portion, _share_by_weight(np.ones(len(coded)), coded))


def _share_by_weight(weights: Sequence[float] | np.ndarray, coded: Sequence[Coded]) -> np.ndarray:
    """The same by weight alone; nothing where no part with a weight knows the point."""
    portion = np.asarray(weights)[:, None] * np.stack([one.known for one in coded])
    total = portion.sum(axis=0)
    return portion / np.where(total > 0, total, 1.0)


def _fill(new: list[Any], geometry: KernelDistance) -> tuple[list[Any], np.ndarray]:
    """Tables without NaN, and the samples that all views of a geometry know."""
    known = np.ones(new[0].shape[0], dtype=bool)
    tables = list(new)
    for view in {part.view for part in geometry.base.parts}:
        table = tables[view]
        here = ~absent_rows(table)
        if not here.all():
            tables[view] = np.where(here[:, None], table, 0.0)
            known &= here
    return tables, known


def _nearest_of_all(
    distance: np.ndarray, near: np.ndarray, own: np.ndarray, known: np.ndarray, k: int
) -> Nearest:
    """The nearest, given the distances (m, n) to all training points."""
    k = min(k, distance.shape[1])
    indices = smallest_in_rows(distance, k)
    distance, near = (np.take_along_axis(of, indices, axis=1) for of in (distance, near))
    return Nearest(indices, np.ones(indices.shape, dtype=bool), distance, near, own, known)


def merge_nearest(one: Neighbours, other: Neighbours, first: int) -> Neighbours:
    """The nearest among the points of two indexes; those of the second are numbered from first."""
    k = one.indices.shape[1]
    later = np.where(other.indices >= 0, other.indices + first, -1)
    indices = np.hstack([one.indices, later])
    distances = np.hstack([one.distances, other.distances])
    best = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return Neighbours(
        np.take_along_axis(indices, best, axis=1), np.take_along_axis(distances, best, axis=1)
    )


def row_blocks(X: object, size: int = 65_536) -> Iterator[Any]:
    """A memory map in blocks, so that it is never in memory as a whole; others as they are."""
    if isinstance(X, np.memmap) and X.ndim == 2 and len(X) > size:
        yield from (X[start : start + size] for start in range(0, len(X), size))
    else:
        yield X
