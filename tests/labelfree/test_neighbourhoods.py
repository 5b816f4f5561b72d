"""One protocol for neighbourhoods: the same suite for those here and those on a cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics.pairwise import euclidean_distances

from unispectral._run import Run
from unispectral.kernels import KernelBank
from unispectral.labelfree import Recipe
from unispectral.labelfree._geometry import KernelDistance, KernelPart
from unispectral.labelfree._neighbourhoods import (
    CODE_ROWS,
    LocalNeighbourhoods,
    Neighbourhoods,
    compute_codes,
    localize,
    near_duplicate_share,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.xdist_group("dask"),
]

N, K = 3 * CODE_ROWS + 64, 6
X = np.random.default_rng(0).normal(size=(N, 4))
#: Lacks a whole block of codes, and every fifth sample.
PRESENT = (np.arange(N) % 5 > 0) & ~((np.arange(N) >= CODE_ROWS) & (np.arange(N) < 2 * CODE_ROWS))

Find = Callable[..., Neighbourhoods]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["local", "dask"])
def find(request) -> Find:
    """Neighbourhoods of the samples for which ``present`` is true, here or on a cluster."""
    executor = None
    if request.param == "dask":
        from unispectral.dask._neighbourhoods import DaskExecutor, RemoteNeighbourhoods

        executor = DaskExecutor(request.getfixturevalue("cluster"))

    def found(present: np.ndarray | None = None) -> Neighbourhoods:
        table = X if present is None else X[present]
        bank = KernelBank(table, "linear", normalize="none", gram=False)
        geometry = KernelDistance([KernelPart(bank[0], 0)])
        around = localize(geometry, K, Run.of(1, executor=executor), present)
        assert type(around) is (LocalNeighbourhoods if executor is None else RemoteNeighbourhoods)
        return around

    return found


def _rows(rows: slice, block: LocalNeighbourhoods, *arguments) -> tuple:
    return rows, block.neighbours, block.near, block.among, arguments


def _expected(present: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours and squared distances by brute force; −1 and infinity for absent samples."""
    squared = euclidean_distances(X, squared=True)
    np.fill_diagonal(squared, np.inf)
    here = np.ones(N, dtype=bool) if present is None else present
    squared[~here] = squared[:, ~here] = np.inf
    neighbours = np.argsort(squared, axis=1, kind="stable")[:, :K]
    neighbours[~here] = -1
    return neighbours, squared


@pytest.mark.parametrize("present", [None, PRESENT], ids=["all", "some"])
def test_candidates_are_the_nearest_of_those_that_are_there(find: Find, present) -> None:
    around = find(present)
    neighbours, _ = _expected(present)
    np.testing.assert_array_equal(around.neighbours, neighbours)
    assert around.rate < 0
    if present is None:
        assert around.present is None
    else:
        np.testing.assert_array_equal(around.present, present)


@pytest.mark.parametrize("present", [None, PRESENT], ids=["all", "some"])
@pytest.mark.parametrize("k", [K, 3])
def test_every_row_is_worked_on_once_and_in_order(find: Find, present, k) -> None:
    around = find(present)
    around = around.nearest(k) if k < K else around
    shared = np.arange(4.0)
    parts = around.map_rows(_rows, shared, "word", run=Run.of(1))
    assert [part[0].start for part in parts] == list(range(0, N, CODE_ROWS))
    assert parts[-1][0].stop == N
    for *_, (array, word) in parts:
        np.testing.assert_array_equal(array, shared)
        assert word == "word"
    neighbours, near, among = (np.concatenate([part[at] for part in parts]) for at in (1, 2, 3))
    np.testing.assert_array_equal(neighbours, around.neighbours)
    assert neighbours.shape == (N, k)
    expected, squared = _expected(present)
    here = np.ones(N, dtype=bool) if present is None else present
    expected = expected[here][:, :k]
    kernel = np.exp(np.where(np.isinf(squared), 0.0, squared) * around.rate)
    rows = np.flatnonzero(here)[:, None]
    np.testing.assert_allclose(near[here], kernel[rows, expected], atol=1e-10)
    inner = kernel[expected[:, :, None], expected[:, None, :]]
    np.testing.assert_allclose(among[here], inner, atol=1e-10)


@pytest.mark.parametrize("present", [None, PRESENT], ids=["all", "some"])
def test_what_is_made_of_them_is_the_same_everywhere(find: Find, present) -> None:
    """To the last digit: sums are added up in the same order."""
    around, recipe, run = find(present), Recipe(3), Run.of(1)
    table = X if present is None else X[present]
    bank = KernelBank(table, "linear", normalize="none", gram=False)
    here = localize(KernelDistance([KernelPart(bank[0], 0)]), K, run, present)
    embedding = np.random.default_rng(1).normal(size=(N, 2))
    for penalties in (None, embedding):
        mine, theirs = (compute_codes(one, recipe, penalties, run) for one in (around, here))
        np.testing.assert_array_equal(mine.values, theirs.values)
        np.testing.assert_array_equal(mine.error, theirs.error)
        assert mine.objective == theirs.objective
        assert mine.residual == theirs.residual
    assert near_duplicate_share(around, run) == near_duplicate_share(here, run)
