"""A geometry reduced to what codes need, candidates and small kernels; and the codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from unispectral._memory import require_memory
from unispectral._run import Run, map_blocks
from unispectral.labelfree._geometry import (
    KernelDistance,
    hold_products,
    median_distance,
    nearest_in,
)
from unispectral.labelfree._recipe import Recipe

#: The median of a Gaussian kernel of median width over pairs: the unit of penalties.
MEDIAN = float(np.exp(-0.5))

#: Above this many samples neighbourhoods are kept in single precision: half the memory.
SINGLE_SAMPLES = 50_000
#: Above this many samples room for neighbourhoods is asked for before it is taken.
_LARGE_SAMPLES = 1_000
#: Samples whose kernels, and samples whose codes, are computed together. Distributed blocks are
#: whole multiples of the latter, so that sums are added up in the same order everywhere.
KERNEL_ROWS = 256
CODE_ROWS = 512

#: A squared distance so many times the one before it is a step out of a mass of near-duplicates.
_STEP = 4.0
#: Squared distances below this share of their median are rounding in single precision.
_ROUNDING = 1e-6

T = TypeVar("T")


class Neighbourhoods(Protocol):
    """Candidates of every sample and the Gaussian kernel around it, here or on other machines.

    The kernel is the Gaussian of the geometry's median distance, so that its own diagonal is one
    and its median over pairs e^{-1/2} whatever the data.

    Attributes
    ----------
    neighbours : int array of shape (n, k)
        −1 where there are fewer candidates, and for samples that the geometry lacks.
    rate : float
        The kernel is exp(rate · d²).
    present : bool array of shape (n,) or None
        The samples that the geometry has; None for all.
    """

    @property
    def neighbours(self) -> np.ndarray: ...

    @property
    def rate(self) -> float: ...

    @property
    def present(self) -> np.ndarray | None: ...

    def nearest(self, k: int) -> Neighbourhoods:
        """The same with only the k nearest candidates of each sample."""

    def without_kernels(self) -> Neighbourhoods:
        """The same once no codes will be asked of it any more: it may let its kernels go."""

    def map_rows(
        self,
        work: Callable[..., T],
        *arguments: Any,
        run: Run | None,
        stage: str = "",
        among: bool = True,
    ) -> list[T]:
        """``work(rows, their local neighbourhoods, *arguments)`` for consecutive blocks.

        Results are in the order of the samples. ``stage`` is what this is called in the progress;
        work that does without the kernels among candidates says so by ``among``.
        """


class LocalNeighbourhoods(NamedTuple):
    """Neighbourhoods in the memory of this process.

    ``near`` (n, k) are the kernels of each sample with its candidates, ``among`` (n, k, k) those
    among the candidates.
    """

    neighbours: np.ndarray
    near: np.ndarray
    among: np.ndarray
    rate: float
    present: np.ndarray | None = None

    @property
    def valid(self) -> np.ndarray:
        """Where there is a candidate."""
        return self.neighbours >= 0

    def rows(self, rows: slice) -> LocalNeighbourhoods:
        """The neighbourhoods of consecutive samples."""
        return self._replace(
            neighbours=self.neighbours[rows], near=self.near[rows], among=self.among[rows]
        )

    def map_rows(
        self,
        work: Callable[..., T],
        *arguments: Any,
        run: Run | None,
        stage: str = "",
        among: bool = True,
    ) -> list[T]:
        n = len(self.neighbours)
        tick = run.ticker(stage, n) if run is not None and stage else None

        def work_and_report(rows: slice) -> T:
            found = work(rows, self.rows(rows), *arguments)
            if tick is not None:
                tick(rows.stop - rows.start)
            return found

        return map_blocks(work_and_report, n, CODE_ROWS, run)

    def nearest(self, k: int) -> LocalNeighbourhoods:
        return self._replace(
            neighbours=self.neighbours[:, :k],
            near=np.ascontiguousarray(self.near[:, :k]),
            among=np.ascontiguousarray(self.among[:, :k, :k]),
        )

    def without_kernels(self) -> LocalNeighbourhoods:
        dtype = self.near.dtype
        return self._replace(near=np.empty((0, 0), dtype), among=np.empty((0, 0, 0), dtype))

    def within(self, present: np.ndarray, numbers: np.ndarray | None = None) -> Any:
        """The same, where these samples are those of all for which ``present`` is true.

        ``numbers`` are the numbers that candidates have among all samples; those of the present
        ones by default.
        """
        n = len(present)
        k = self.neighbours.shape[1]
        own = np.flatnonzero(present)
        numbers = own if numbers is None else numbers
        neighbours = np.full((n, k), -1, dtype=np.int64)
        neighbours[own] = np.where(self.valid, numbers[self.neighbours], -1)
        near = np.zeros((n, k))
        near[own] = self.near
        among = np.zeros((n, *self.among.shape[1:]))
        among[own] = self.among
        return LocalNeighbourhoods(neighbours, near, among, self.rate, present)


class Layer(NamedTuple):
    """A geometry with its neighbourhoods, and the share of its graph in the sum of layers."""

    geometry: KernelDistance
    around: Neighbourhoods
    share: float = 1.0


def localize(
    geometry: KernelDistance,
    k: int,
    run: Run,
    present: np.ndarray | None = None,
    neighbours: np.ndarray | None = None,
) -> Neighbourhoods:
    """Find each sample's k nearest and evaluate the Gaussian kernel around it.

    The executor of the run, if it has one, does this on other machines. ``present`` says which of
    all samples are those of the geometry; ``neighbours`` are taken instead of the nearest, −1
    where a sample has fewer.
    """
    n = geometry.n_samples
    k = min(k, n - 1)
    rate = -0.5 / median_distance(geometry)
    if neighbours is not None:
        k = neighbours.shape[1]
    elif run.executor is not None and geometry.search_table() is not None:
        return run.executor.neighbourhoods(geometry, k, rate, run, present)
    held = None
    if neighbours is None:
        held = hold_products(geometry, run)
        neighbours = nearest_in(geometry, k, run, held)
    dtype = kernel_dtype(n)
    if n > _LARGE_SAMPLES:
        require_memory(
            float(n) * k * (k + 1) * np.dtype(dtype).itemsize,
            f"The neighbourhoods of {n} samples",
            f"use a smaller n_neighbors than {k}, fewer kernels or fewer samples",
        )
    near = np.empty((n, k), dtype=dtype)
    among = np.empty((n, k, k), dtype=dtype)

    tick = run.ticker("kernels", n)

    def work(rows: slice) -> None:
        numbers = np.arange(rows.start, rows.stop)
        block_kernels(geometry, rate, numbers, neighbours[rows], near[rows], among[rows], held)
        tick(len(numbers))

    map_blocks(work, n, KERNEL_ROWS, run)
    found = LocalNeighbourhoods(neighbours, near, among, rate)
    return found if present is None else found.within(present)


def kernel_dtype(n_samples: int) -> Any:
    """The precision in which the kernels of so many samples are kept."""
    return np.float32 if n_samples > SINGLE_SAMPLES else np.float64


def block_kernels(
    geometry: KernelDistance,
    rate: float,
    rows: np.ndarray,
    neighbours: np.ndarray,
    near: np.ndarray,
    among: np.ndarray,
    held: np.ndarray | None = None,
) -> None:
    """The Gaussian kernel of some samples to their candidates, and among these, in place.

    ``held`` are the inner products of all pairs, where they are known.
    """
    neighbours = np.maximum(neighbours, 0)
    if geometry.n_samples > SINGLE_SAMPLES and (table := geometry.narrow_table()) is not None:
        from unispectral.kernels import _loops

        _loops.gaussian_neighbourhoods(table, rate, rows, neighbours, near, among)
        return
    to, between = geometry.around(rows, neighbours, held)
    np.exp(to * rate, out=near, casting="same_kind")
    np.exp(between * rate, out=among, casting="same_kind")


def near_duplicate_share(neighbourhoods: Neighbourhoods, run: Run | None = None) -> float:
    """The share of samples more than half of whose candidates are their near-duplicates.

    The distances of a sample to its candidates grow evenly, unless the first are to copies of it:
    then there is a step. Where it comes late, only few candidates say what the sample is beside,
    and the graph of the groups of copies hangs by threads. A group that fills the list shows no
    step; it is a component of its own, which component repair joins to others.

    Examples
    --------
    >>> far = np.array([[0.01, 0.01, 0.01, 0.9], [0.5, 0.6, 0.7, 0.8]])
    >>> near_duplicate_share(
    ...     LocalNeighbourhoods(np.zeros((2, 4), int), np.exp(-far), np.zeros((2, 4, 4)), -1)
    ... )
    0.5
    """
    counts = neighbourhoods.map_rows(_count, run=run, among=False)
    return float(sum(counts) / max(len(neighbourhoods.neighbours), 1))


def _count(rows: slice, block: LocalNeighbourhoods) -> int:
    """How many samples of a block have mostly near-duplicates."""
    half = block.near.shape[1] // 2
    with np.errstate(divide="ignore"):
        far = np.maximum(-np.log(block.near[:, half:].astype(np.float64)), _ROUNDING)
    steps = (far[:, 1:] >= _STEP * far[:, :-1]) & (block.neighbours[:, half + 1 :] >= 0)
    return int(steps.any(axis=1).sum())


def sparse_codes(neighbours: np.ndarray, codes: np.ndarray) -> sp.csr_array:
    """Codes (n, k) over candidates as a CSR array whose row i is the code of sample i."""
    n = len(codes)
    keep = (neighbours >= 0) & (codes > 0)
    starts = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    if starts[-1] <= np.iinfo(neighbours.dtype).max:
        # Else SciPy would make all numbers as long as these.
        starts = starts.astype(neighbours.dtype)
    matrix = sp.csr_array((codes[keep], neighbours[keep], starts), shape=(n, n))
    matrix.sort_indices()
    return matrix


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


def compute_codes(
    around: Neighbourhoods, recipe: Recipe, embedding: np.ndarray | None, run: Run | None = None
) -> LocalCodes:
    """The codes of all samples, with penalties from the embedding if there is one already."""
    parts = around.map_rows(_block_codes, recipe, embedding, run=run, stage="codes")
    values, objectives, residuals, errors = zip(*parts, strict=True)
    return LocalCodes(
        np.concatenate(values), sum(objectives), max(residuals), np.concatenate(errors)
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
    z, penalties, residual = solve_block(block, recipe, gap)
    fit = np.matmul(block.among, z[:, :, None])[:, :, 0] - 2.0 * block.near
    error = 1.0 + np.einsum("bk,bk->b", z, fit)
    value = error.sum() + np.vdot(z, penalties) + recipe.ridge * np.vdot(z, z)
    if recipe.scale_codes:
        total = z.sum(axis=1, keepdims=True)
        z /= np.where(total > 0, total, 1.0)
        # A sample that nothing explains leans on all candidates alike.
        lonely = total[:, 0] <= 0
        allowed = block.valid[lonely]
        z[lonely] = allowed / np.maximum(allowed.sum(axis=1, keepdims=True), 1)
    # Solved in double precision, kept in that of the kernels.
    return LocalCodes(z.astype(block.near.dtype, copy=False), float(value), residual, error)


def solve_block(
    block: LocalNeighbourhoods, recipe: Recipe, gap: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Codes that are not scaled yet, the penalties of their coefficients, and the residual.

    ``gap`` are the differences to the candidates in the embedding, if there is one already.
    """
    from unispectral.graph import _loops

    z = np.empty(block.near.shape)
    penalties = np.full(z.shape, recipe.alpha * MEDIAN)
    if gap is not None:
        penalties += (0.5 * recipe.beta * MEDIAN) * np.einsum("bkc,bkc->bk", gap, gap)
    residual = _loops.solve_blocks(
        block.among,
        block.near,
        np.ones(len(z)),
        penalties,
        block.valid,
        float(recipe.ridge),
        z,
        1e-6,
    )
    return z, penalties, residual


def build_graph(
    around: Neighbourhoods,
    recipe: Recipe,
    embedding: np.ndarray | None = None,
    run: Run | None = None,
) -> tuple[sp.csr_array, LocalCodes]:
    """The codes of all samples as a CSR array whose row i is the code of sample i, and these."""
    codes = compute_codes(around, recipe, embedding, run)
    return sparse_codes(around.neighbours, codes.values), codes
