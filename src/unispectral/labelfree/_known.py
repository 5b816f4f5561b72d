"""The label-free model where something is known of the samples: labels, links, weights, sizes.

The graph is learned as without it. Then its edges and the labels are made to agree with what is
known (:mod:`unispectral.knowledge`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unispectral._errors import InputError, plural
from unispectral._inputs import Samples
from unispectral._result import Fitted
from unispectral._run import Run
from unispectral.knowledge import Knowledge
from unispectral.knowledge._apply import apply_knowledge, refuse_unmet
from unispectral.labelfree._fit import fit
from unispectral.labelfree._order import renumber
from unispectral.labelfree._recipe import Recipe
from unispectral.predict import GeometryPart, Trained

if TYPE_CHECKING:
    from unispectral.kernels._features import Table

#: Weights that are not whole are rounded to so many rows for a sample of mean weight.
_ROWS = 10


def fit_knowing(samples: Samples, recipe: Recipe, known: Knowledge, run: Run) -> Fitted:
    """Fit, and make the clusters agree with what is known.

    Samples without weight take no part: they are described afterwards, as new ones are.
    """
    if known.connectivity is not None and samples.layout.has_graph:
        problem = "says which samples may be joined, as the given graph does already"
        raise InputError("connectivity", problem, "take these edges out of the graph instead")
    if known.weights is not None:
        if samples.graph is not None:
            problem = "says nothing of nodes: which edges three equal nodes have is not known"
            raise InputError("sample_weight", problem, "weigh the edges of the graph")
        if (known.weights == 0).any():
            return _fit_weighted(samples, recipe, known, run)
        _refuse_sizes(known)
        samples = replace(samples, weights=known.weights)
    if recipe.n_clusters:
        # Before the fit: what cannot be met shall not take its time.
        refuse_unmet(known, samples.n_samples, recipe.n_clusters)
    samples = replace(samples, allowed=known.connectivity)
    found = _count_and_fit(samples, recipe, known, run)
    if known.n_known or not known.links.is_empty or known.sizes != (None, None):
        found = apply_knowledge(found, known, recipe.n_clusters, run)
    return found


def _count_and_fit(samples: Samples, recipe: Recipe, known: Knowledge, run: Run) -> Fitted:
    """Fit; a number of clusters that is left to the data keeps to known classes and sizes."""
    found = fit(samples, recipe, run)
    count = found.cluster_count
    if recipe.n_clusters or count is None:
        return found
    wanted, reason = _limit_count(count.n_clusters, known, samples.n_samples)
    if wanted == count.n_clusters:
        return found
    again = fit(samples, recipe.with_clusters(wanted), run)
    return again._replace(cluster_count=count._replace(n_clusters=wanted, reason=reason))


def _limit_count(found: int, known: Knowledge, n: int) -> tuple[int, str]:
    """The number of clusters that is nearest to this one among those that can be met, and why."""
    least, most = known.sizes
    alone = f"the samples alone show {found} clusters"
    if found == 1:
        alone = "the samples alone show no clusters"
    wanted = found
    reason = ""
    if len(known.classes) > wanted:
        wanted = len(known.classes)
        reason = f"y knows {wanted} classes, where {alone}"
    if most is not None and most * wanted < n:
        wanted = -(-n // most)
        reason = f"max_cluster_size={most} takes {wanted} clusters, where {alone}"
    if least is not None and least * wanted > n:
        wanted = max(n // least, 1)
        room = plural(wanted, "cluster")
        reason = f"min_cluster_size={least} leaves room for {room}, where {alone}"
    return wanted, reason


def repeat_rows(table: Table, weights: np.ndarray) -> Any:
    """The rows as often as their weights say: the units of columns are those of these rows.

    Examples
    --------
    >>> repeat_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2.0, 0.0, 1.0])).ravel().tolist()
    [1.0, 1.0, 3.0]
    """
    times = weights
    if not _are_whole(times):  # halves count as the whole numbers in their ratio
        times = weights / weights[weights > 0].min()
    if not _are_whole(times) or times.sum() > _ROWS * len(weights):
        times = np.rint(weights * _ROWS / weights.mean())
    return table[np.repeat(np.arange(len(weights)), times.astype(np.int64))]


def _are_whole(numbers: np.ndarray) -> bool:
    return np.array_equal(np.rint(numbers), numbers)


def _refuse_sizes(known: Knowledge) -> None:
    """Samples of different weights cannot be divided so that limits are met exactly."""
    assert known.weights is not None
    limited = known.sizes != (None, None)
    if limited and not np.all(known.weights == known.weights[0]):
        argument = "min_cluster_size" if known.sizes.least is not None else "max_cluster_size"
        problem = "counts samples, which sample_weight makes different ones"
        raise InputError(argument, problem, "leave out one of the two")


def _fit_weighted(samples: Samples, recipe: Recipe, known: Knowledge, run: Run) -> Fitted:
    """Fit to the samples that have a weight, and place the others by what was found."""
    if samples.bank is not None:
        problem = "is 0 for some samples, which cannot be left out of kernels"
        raise InputError("sample_weight", problem, "leave them out of X yourself")
    assert known.weights is not None
    rows = np.flatnonzero(known.weights > 0)
    if recipe.n_clusters > len(rows):
        problem = f"is more than the {len(rows)} samples that have a weight"
        raise InputError("n_clusters", problem, "ask for fewer", value=recipe.n_clusters)
    found = fit_knowing(samples.take(rows), recipe, known.take(rows), run)
    others = np.flatnonzero(known.weights == 0)
    solution = found.solution
    trained = Trained(solution.labels, solution.P, solution.Q, found.outlier_score)
    described = found.predictor.predict(list(samples.take(others).tables), trained, run)
    n = samples.n_samples
    labels = np.empty(n, dtype=np.int64)
    labels[rows] = solution.labels
    labels[others] = described.labels
    embedding = np.empty((n, solution.P.shape[1]))
    embedding[rows] = solution.P
    embedding[others] = described.embedding
    score = np.empty(n)
    score[rows] = found.outlier_score
    score[others] = described.outlier_score
    placed = solution._replace(
        Z=renumber(solution.Z, rows, n),
        W=renumber(solution.W, rows, n),
        P=embedding,
        labels=labels,
    )
    parts = tuple(_renumber(part, rows) for part in found.predictor.parts)
    predictor = replace(found.predictor, parts=parts)
    return found._replace(
        solution=placed, predictor=predictor, outlier_score=score, membership=None
    )


def _renumber(part: object, rows: np.ndarray) -> GeometryPart:
    """The same part, whose samples have these numbers among all."""
    assert isinstance(part, GeometryPart), "the label-free model has no other parts"
    samples = rows if part.samples is None else rows[part.samples]
    return replace(part, samples=samples)
