"""The steps of the label-free model: codes over candidates, embedding, read-out of the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.cluster import KMeans

from unispectral._run import Run, one_thread
from unispectral.labelfree._geometry import evenly_spaced
from unispectral.labelfree._neighbourhoods import (
    LocalNeighbourhoods,
    Neighbourhoods,
    sparse_codes,
)
from unispectral.labelfree._recipe import Recipe
from unispectral.labelfree._refinement import best
from unispectral.labels import assign, rotate
from unispectral.spectrum import Eigenpairs, smallest_eigenvectors

__all__ = [
    "MEDIAN",
    "LocalCodes",
    "code_graph",
    "codes_of",
    "eigenvectors",
    "embed",
    "read_out",
    "solve_block",
]

#: The median of a Gaussian kernel of median width over pairs: the unit of prices.
MEDIAN = float(np.exp(-0.5))
#: Up to this many samples eigenvectors cost little and are found ten times more precisely than
#: labels need them.
PRECISE_SAMPLES = 3_000
#: Labels are read out of at most this many rows of the embedding.
READ_OUT_SAMPLES = 20_000


class LocalCodes(NamedTuple):
    """Codes over candidates.

    ``values`` has the shape of the candidates; ``objective`` is that before they were scaled, and
    ``residual`` by how much its optimality conditions fail at most; ``error`` is what the code of
    each sample leaves unexplained.
    """

    values: np.ndarray
    objective: float
    residual: float
    error: np.ndarray


def codes_of(
    around: Neighbourhoods, recipe: Recipe, embedding: np.ndarray | None, run: Run | None = None
) -> LocalCodes:
    """The codes of all samples, with prices from the embedding if there is one already."""
    parts = around.map_rows(_block_codes, recipe, embedding, run=run, stage="codes")
    return LocalCodes(
        np.concatenate([part.values for part in parts]),
        sum(part.objective for part in parts),
        max(part.residual for part in parts),
        np.concatenate([part.error for part in parts]),
    )


def _block_codes(
    rows: slice, block: LocalNeighbourhoods, recipe: Recipe, embedding: np.ndarray | None
) -> LocalCodes:
    """The codes of consecutive samples, given their neighbourhoods only."""
    gap = None
    if embedding is not None:
        # Several times faster than an index of arrays where the rows are far apart in memory.
        gap = embedding.take(block.neighbours, axis=0, mode="clip")
        gap -= embedding[rows][:, None, :]
    z, prices, residual = solve_block(block, recipe, gap)
    error = _unexplained(z, block)
    value = error.sum() + np.vdot(z, prices) + recipe.ridge * np.vdot(z, z)
    if recipe.scale_codes:
        _scale(z, block.valid)
    # Solved in double precision, kept in that of the kernels.
    return LocalCodes(z.astype(block.near.dtype, copy=False), float(value), residual, error)


def _scale(z: np.ndarray, valid: np.ndarray) -> None:
    """Scale each row to sum one; a sample that nothing explains leans on all candidates alike."""
    total = z.sum(axis=1, keepdims=True)
    z /= np.where(total > 0, total, 1.0)
    lonely = total[:, 0] <= 0
    allowed = valid[lonely]
    z[lonely] = allowed / np.maximum(allowed.sum(axis=1, keepdims=True), 1)


def solve_block(
    block: LocalNeighbourhoods, recipe: Recipe, gap: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Codes that are not scaled yet, the prices of their coefficients, and the residual.

    ``gap`` are the differences to the candidates in the embedding, if there is one already.
    """
    from unispectral.graph import _loops

    z = np.empty(block.near.shape)
    prices = np.full(z.shape, recipe.alpha * MEDIAN)
    if gap is not None:
        prices += (0.5 * recipe.beta * MEDIAN) * np.einsum("bkc,bkc->bk", gap, gap)
    residual = _loops.solve_blocks(
        block.among, block.near, np.ones(len(z)), prices, block.valid, float(recipe.ridge), z, 1e-6
    )
    return z, prices, residual


def _unexplained(z: np.ndarray, block: LocalNeighbourhoods) -> np.ndarray:
    fit = np.matmul(block.among, z[:, :, None])[:, :, 0] - 2.0 * block.near
    return 1.0 + np.einsum("bk,bk->b", z, fit)


def code_graph(
    around: Neighbourhoods,
    recipe: Recipe,
    embedding: np.ndarray | None = None,
    run: Run | None = None,
) -> tuple[sp.csr_array, LocalCodes]:
    """The codes of all samples as a CSR array whose row i is the code of sample i, and these."""
    codes = codes_of(around, recipe, embedding, run)
    return sparse_codes(around.neighbours, codes.values), codes


def eigenvectors(
    W: sp.csr_array, recipe: Recipe, run: Run, start: np.ndarray | None = None
) -> Eigenpairs:
    """As many of the smallest eigenvectors of the recipe's Laplacian as there are clusters."""
    return smallest_eigenvectors(
        W,
        recipe.n_clusters,
        normalized=recipe.laplacian == "normalized",
        tol=2e-4 if W.shape[0] <= PRECISE_SAMPLES else 2e-3,
        rng=run.rng,
        start=start,
        run=run,
    )


def embed(P: np.ndarray, recipe: Recipe) -> np.ndarray:
    """Eigenvectors as an embedding in which a typical sample has length one.

    With ``unit_rows`` every sample has; a row of zeros stays one. Otherwise all rows are scaled
    by one number, so that prices mean the same for any number of samples.
    """
    if not recipe.unit_rows:
        return P * np.sqrt(len(P) / P.shape[1])
    norms = np.linalg.norm(P, axis=1, keepdims=True)
    return P / np.where(norms > 1e-12, norms, 1.0)


def read_out(
    W: sp.csr_array, embedding: np.ndarray, recipe: Recipe, rng: np.random.Generator
) -> np.ndarray:
    """Labels of the embedding: of those of k-means and a rotation, the :func:`best` on the graph.

    Above ``READ_OUT_SAMPLES`` samples both are found on that many, and then applied to all. Starts
    of k-means that end with the same clusters count once.
    """
    some = embedding[evenly_spaced(len(embedding), READ_OUT_SAMPLES)]
    models: list[KMeans] = []
    # Checks of what is known take as long as k-means on few samples; threads would cost more than
    # they bring, and change the order of sums.
    with config_context(assume_finite=True, skip_parameter_validation=True), one_thread():
        for seed in rng.integers(2**31 - 1, size=recipe.n_init).tolist():
            one = KMeans(recipe.n_clusters, n_init=1, random_state=seed).fit(some)
            if not any(_same_clusters(one.labels_, other.labels_) for other in models):
                models.append(one)
        whole = len(some) == len(embedding)
        found = [one.labels_ if whole else one.predict(embedding) for one in models]
    turn = rotate(some, n_init=max(1, recipe.n_init // 2), rng=rng).Q
    found.append(assign(embedding, turn))
    if all(_same_clusters(found[0], labels) for labels in found[1:]):
        return found[0]
    return best(W, found)


def _same_clusters(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings differ in the names of the clusters only."""
    count = int(max(one.max(), other.max())) + 1
    if count * count > len(one):
        return False  # looking would take longer than what it saves
    together = np.bincount(one.astype(np.intp) * count + other, minlength=count * count)
    shared = together.reshape(count, count) > 0
    return bool((shared.sum(axis=0) <= 1).all() and (shared.sum(axis=1) <= 1).all())
