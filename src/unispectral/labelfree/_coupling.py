"""Coupling: graph and embedding in turn, each pass with the last embedding in its prices.

The pieces are the paper's: sparse non-negative codes in kernel space, an embedding from their
graph, labels from the embedding, prices of edges raised by distances in the embedding. What
differs, each for a measured reason, is listed in the manual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from unispectral._compat import njit
from unispectral._memory import give_back
from unispectral._run import Run
from unispectral.labelfree._coding import MEDIAN, code_graph, eigenvectors, embed
from unispectral.labelfree._neighbourhoods import Neighbourhoods
from unispectral.labelfree._recipe import Recipe
from unispectral.spectrum import affinity

__all__ = ["Coupled", "change_bound", "couple"]

#: Above this many samples memory that is free is given back between the stages, and an iteration
#: is left out that is known beforehand to change next to nothing.
_MANY = 10_000

Repair = Callable[[sp.csr_array], sp.csr_array]


class Coupled(NamedTuple):
    """Graph and embedding after the last pass."""

    #: Column i is the code of sample i; the affinity is its symmetric part.
    graph: sp.csr_array
    affinity: sp.csr_array
    #: The affinity of the first pass, which no embedding has touched: the judge of labels.
    first: sp.csr_array
    embedding: np.ndarray
    eigenvalues: np.ndarray
    #: One value per pass.
    objective: list[float]
    #: How far the codes are from optimal.
    residual: float
    #: Why the passes ended, and whether the eigenvectors reached their tolerance.
    reason: str
    converged: bool
    #: What the codes of each view left unexplained in the first pass.
    errors: list[np.ndarray]


def couple(
    views: Sequence[Neighbourhoods],
    shares: Sequence[float],
    recipe: Recipe,
    run: Run,
    repair: Repair | None = None,
) -> Coupled:
    """Learn the graph, coupled with its own embedding.

    The graphs of the views are added up by their shares; ``repair`` joins small components of the
    sum to the rest of it.
    """
    tol = recipe.tolerance(len(views[0].neighbours))
    reason = f"all iterations are done (max_iter={recipe.max_iter})"
    path: list[float] = []
    errors: list[np.ndarray] = []
    first: sp.csr_array | None = None
    W: sp.csr_array | None = None
    embedding = guess = None
    for iteration in range(1, recipe.max_iter + 1):
        graph = sp.csr_array((0, 0))  # the last one is let go before the next is made
        codes, value, residual, left = _blend(views, shares, recipe, embedding, run)
        errors = errors or left
        if codes.shape[0] > _MANY:
            run.progress("graph")
        if repair is not None:
            codes = repair(codes)
        graph = codes.T.tocsr()
        before, W = W, affinity(codes, graph)
        del codes
        change = np.inf if before is None else _change(W, before)
        first = W if first is None else first
        path.append(value)
        if change < tol:
            # So do its eigenvectors: those of the pass before will do.
            reason = f"the last iteration changed the graph by less than {tol:g} of its norm"
            run.progress("iterations", iteration, recipe.max_iter)
            break
        embedding = None
        if graph.shape[0] > _MANY:
            give_back()
        pairs = eigenvectors(W, recipe, run, guess)
        guess = pairs.vectors if pairs.block is None else pairs.block
        embedding = embed(pairs.vectors, recipe)
        run.progress("iterations", iteration, recipe.max_iter)
        if recipe.unit_rows and pairs.n_components >= recipe.n_clusters:
            # Within a component all rows are the same: no price of an edge would change.
            reason = "the graph falls into as many components as there are clusters"
            break
        if graph.shape[0] > _MANY and iteration == 1 < recipe.max_iter:
            most = change_bound(graph, embedding, views, shares, errors, recipe)
            if most < tol * float(np.linalg.norm(W.data)):
                reason = (
                    f"another iteration would change the graph by less than {tol:g} of its norm"
                )
                break
    assert first is not None
    assert W is not None
    assert embedding is not None
    if not pairs.converged:
        reason += ", but the eigenvectors did not reach their tolerance"
    return Coupled(
        graph, W, first, embedding, pairs.values, path, residual, reason, pairs.converged, errors
    )


def change_bound(
    graph: sp.csr_array,
    embedding: np.ndarray,
    views: Sequence[Neighbourhoods],
    shares: Sequence[float],
    errors: Sequence[np.ndarray],
    recipe: Recipe,
) -> float:
    """The norm of what an embedding changes at most of codes that were made without one.

    Column i of ``graph`` is the code of sample i. Distances in the embedding raise prices. A code
    minimises a quadratic whose curvature is at least twice the ridge, so that it moves by no more
    than the rise over that; a rise where it is zero does not move it. It is scaled by its sum, of
    which half the explained part of the sample is a lower bound, and two codes that sum to one
    are at most √2 apart. Infinite where nothing is known.
    """
    if recipe.ridge <= 0 or any(view.present is not None for view in views):
        return np.inf
    squares = np.zeros(graph.shape[0])
    _add_fourth_powers(graph.indptr, graph.indices, embedding, squares)
    moved = (0.25 * recipe.beta * MEDIAN / recipe.ridge) * np.sqrt(squares)
    if not recipe.scale_codes:
        return float(np.linalg.norm(moved))
    total = np.zeros(len(moved))
    for view, share, left in zip(views, shares, errors, strict=True):
        least = np.maximum(0.5 * (1.0 - left), 1e-100)
        wide = 1.0 + np.sqrt(view.neighbours.shape[1])
        total += float(share) * np.minimum(wide * moved / least, np.sqrt(2.0))
    return float(np.linalg.norm(total))


@njit(cache=True, nogil=True)
def _add_fourth_powers(indptr, indices, embedding, squares):
    """Add to each column the fourth powers of the lengths of its edges in the embedding."""
    for j in range(len(indptr) - 1):
        for p in range(indptr[j], indptr[j + 1]):
            i, length = indices[p], 0.0
            for c in range(embedding.shape[1]):
                length += (embedding[i, c] - embedding[j, c]) ** 2
            squares[i] += length * length


def _blend(
    views: Sequence[Neighbourhoods],
    shares: Sequence[float],
    recipe: Recipe,
    embedding: np.ndarray | None,
    run: Run,
) -> tuple[sp.csr_array, float, float, list[np.ndarray]]:
    """The weighted sum of the views' graphs, of their objectives, the largest residual, errors."""
    graph, value, residual, errors = None, 0.0, 0.0, []
    for view, share in zip(views, shares, strict=True):
        part, codes = code_graph(view, recipe, embedding, run)
        part *= float(share)
        graph = part if graph is None else sp.csr_array(graph + part)
        value += float(share) * codes.objective
        residual = max(residual, codes.residual)
        errors.append(codes.error)
    assert graph is not None
    if any(view.present is not None for view in views):
        # A sample that some views lack is described by the others alone.
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph = sp.csr_array(sp.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ graph)
    return graph, value, residual, errors


def _change(W: sp.csr_array, before: sp.csr_array) -> float:
    gap = (W - before).data
    return float(np.linalg.norm(gap)) / max(float(np.linalg.norm(before.data)), 1e-300)
