"""Coupling: graph and embedding in turn, each pass with the last embedding in its prices.

The pieces are the paper's: sparse non-negative codes in kernel space, an embedding from their
graph, labels from the embedding, prices of edges raised by distances in the embedding, weights
over kernels. What differs, each for a measured reason, is listed in the manual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from unispectral._memory import give_back
from unispectral._result import Solution
from unispectral._run import Run
from unispectral.labelfree._coding import LocalCodes, codes_of, eigenvectors, embed, read_out
from unispectral.labelfree._neighbourhoods import sparse_codes
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._rivals import MANY, Rival
from unispectral.labelfree._weighting import Weighting
from unispectral.labels import procrustes, rotate
from unispectral.spectrum import affinity, laplacian, stiefel_descent

__all__ = ["couple"]

Repair = Callable[[sp.csr_array], sp.csr_array]


def couple(
    weighting: Weighting, recipe: Recipe, run: Run, repair: Repair | None = None
) -> Solution:
    """Learn the graph of the geometries in use, coupled with its own embedding.

    Parameters
    ----------
    weighting : Weighting
        The geometries, their weights and their first codes.
    recipe : Recipe
    run : Run
    repair : callable(graph) or None
        Joins small components of a graph to the rest of it.

    Returns
    -------
    Solution
        Its weights are those of the geometries.
    """
    rivals, weights = weighting.rivals, weighting.weights
    active = np.flatnonzero(weights > 0).tolist()
    codes = {at: weighting.codes[at] for at in active}
    tol = recipe.tolerance(len(rivals[0].neighbourhoods.neighbours))
    reason = f"the {recipe.max_iter} passes asked for were made"
    path: list[float] = []
    W = labels = embedding = guess = None
    for iteration in range(1, recipe.max_iter + 1):
        if embedding is not None:
            codes = {
                at: codes_of(rivals[at].neighbourhoods, recipe, embedding, run) for at in active
            }
        graph = sp.csr_array((0, 0))  # the last one is let go before the next is made
        graph = _blend(rivals, codes, weights)
        if repair is not None:
            graph = repair(graph)
        last, W, embedding = W, affinity(graph), None
        change = np.inf if last is None else _change(W, last)
        del last
        if graph.shape[0] > MANY:
            give_back()
        pairs = eigenvectors(W, recipe, run, guess)
        guess = pairs.vectors if pairs.block is None else pairs.block
        P = pairs.vectors
        if recipe.gamma > 0:
            P, labels = _pulled(P, W, recipe, labels, run)
        embedding = embed(P, recipe)
        path.append(float(sum(weights[at] * codes[at].objective for at in active)))
        run.progress("passes", iteration, recipe.max_iter, f"objective {path[-1]:.6g}")
        if change < tol:
            reason = f"the last pass changed the graph by less than {tol:g} of itself"
            break
    assert W is not None
    assert embedding is not None
    labels = read_out(W, embedding, recipe, run.rng)
    return Solution(
        Z=graph.T.tocsr(),
        P=embedding,
        Q=procrustes(embedding, labels),
        labels=labels,
        weights=weights,
        objective=path,
        n_iter=len(path),
        converged=True,
        reason=reason,
        kkt=max(codes[at].residual for at in active),
        eigenvalues=pairs.values,
        evidence=weighting.evidence,
    )


def _blend(
    rivals: Sequence[Rival], codes: dict[int, LocalCodes], weights: np.ndarray
) -> sp.csr_array:
    """The weighted sum of the graphs of the geometries in use."""
    parts = [
        float(weights[at]) * sparse_codes(rivals[at].neighbourhoods.neighbours, one.values)
        for at, one in codes.items()
    ]
    graph = sp.csr_array(sum(parts[1:], start=parts[0]))
    if any(rival.present is not None for rival in rivals):
        # A sample that some views lack is described by the others alone.
        total = np.asarray(graph.sum(axis=1)).ravel()
        graph = sp.csr_array(sp.diags_array(1.0 / np.where(total > 0, total, 1.0)) @ graph)
    return graph


def _pulled(
    P: np.ndarray, W: sp.csr_array, recipe: Recipe, labels: np.ndarray | None, run: Run
) -> tuple[np.ndarray, np.ndarray]:
    """The P-step with the labels' pull: target γ F̂ Qᵀ with F̂ of unit columns."""
    E = embed(P, recipe)
    labels = rotate(E, rng=run.rng).labels if labels is None else labels
    one_hot = np.zeros_like(P)
    one_hot[np.arange(len(P)), labels] = 1.0
    one_hot /= np.sqrt(np.maximum(one_hot.sum(axis=0), 1.0))
    U, _, Vt = np.linalg.svd(P.T @ one_hot)
    L = laplacian(W, normalized=recipe.laplacian == "normalized")
    P = stiefel_descent(L, recipe.gamma * one_hot @ (U @ Vt).T, P, run=run).P
    return P, rotate(embed(P, recipe), rng=run.rng).labels


def _change(W: sp.csr_array, before: sp.csr_array) -> float:
    gap = (W - before).data
    return float(np.linalg.norm(gap)) / max(float(np.linalg.norm(before.data)), 1e-300)
