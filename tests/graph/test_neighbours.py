"""Neighbour searches against brute force."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.graph import neighbours as module
from unispectral.graph._indexes import CellIndex, ExactIndex, TreeIndex
from unispectral.graph.neighbours import build_index, nearest
from unispectral.labelfree import _geometry


def brute(X: np.ndarray, k: int, queries: np.ndarray | None = None) -> np.ndarray:
    """All distances in float64 by differences, ties by number."""
    Q = X if queries is None else queries
    squared = ((Q[:, None, :].astype(float) - X[None, :, :].astype(float)) ** 2).sum(axis=2)
    if queries is None:
        np.fill_diagonal(squared, np.inf)
    return np.argsort(squared, axis=1, kind="stable")[:, :k]


def built(kind: str, X: np.ndarray, k: int):
    """An index of a kind, whatever the table would be given."""
    if kind == "cells":
        return CellIndex(X, k, np.random.default_rng(0))
    return {"exact": ExactIndex, "tree": TreeIndex}[kind](X)


def manifold(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turn = rng.uniform(-1, 1, (n, 4)) @ rng.normal(size=(4, 16))
    return (np.sin(turn) + 0.05 * rng.normal(size=(n, 16))).astype(np.float32)


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 40),
    d=st.integers(1, 5),
    k=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    whole=st.booleans(),
)
def test_exact_search_equals_brute_force(n, d, k, seed, whole) -> None:
    X = np.random.default_rng(seed).normal(size=(n, d)) * 3
    X = np.round(X) if whole else X  # whole numbers: ties and duplicates
    k = min(k, n - 1)
    found = nearest(X, k)
    exact = np.sort(((X[:, None] - X[None]) ** 2).sum(axis=2) + np.diag([np.inf] * n), axis=1)
    np.testing.assert_allclose(found.distances**2, exact[:, :k], atol=1e-9)
    assert (found.indices != np.arange(n)[:, None]).all()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    same = np.diff(found.distances, axis=1) == 0
    assert (np.diff(found.indices, axis=1)[same] > 0).all()
    if not whole:
        np.testing.assert_array_equal(found.indices, brute(X, k))


def test_far_from_the_origin_nothing_cancels() -> None:
    X = manifold(300).astype(float) + 1e5
    np.testing.assert_array_equal(nearest(X, 8).indices, brute(X, 8))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_equals_dense(metric: str) -> None:
    X = sp.random_array(
        (200, 500), density=0.05, random_state=np.random.default_rng(0), format="csr"
    )
    X = sp.csr_array(X)
    sparse = nearest(X, 7, metric=metric)
    dense = nearest(X.toarray(), 7, metric=metric)
    np.testing.assert_allclose(sparse.distances, dense.distances, atol=1e-7)
    assert (sparse.indices == dense.indices).mean() > 0.999


def test_cosine_ignores_length() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    scaled = X * rng.uniform(0.01, 100, (100, 1))
    a, b = nearest(X, 5, metric="cosine"), nearest(scaled, 5, metric="cosine")
    np.testing.assert_array_equal(a.indices, b.indices)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_array_equal(a.indices, brute(unit, 5))


def test_approximate_search_finds_most() -> None:
    X = manifold(4_000)
    found, true = (
        built(kind, X, 10).search_own(np.arange(4_000), 10) for kind in ("cells", "exact")
    )
    hits = [np.isin(a, b).mean() for a, b in zip(found.indices, true.indices, strict=True)]
    assert np.mean(hits) > 0.94
    assert (found.indices != np.arange(4_000)[:, None]).all()


@pytest.mark.parametrize("index", ["exact", "cells"])
def test_threads_do_not_change_neighbours(index: str) -> None:
    X = manifold(3_000)
    rows = np.arange(len(X))
    found = [built(index, X, 6).search_own(rows, 6, Run.of(jobs)) for jobs in (1, 2)]
    np.testing.assert_array_equal(found[0].indices, found[1].indices)
    np.testing.assert_array_equal(found[0].distances, found[1].distances)


@pytest.mark.parametrize("index", ["exact", "cells"])
def test_an_index_travels_and_answers_for_new_points(index: str) -> None:
    X, new = manifold(2_000), manifold(200, seed=1)
    here = built(index, X, 5)
    again = pickle.loads(pickle.dumps(here))
    a, b = here.search(new, 5), again.search(new, 5)
    np.testing.assert_array_equal(a.indices, b.indices)
    reference = ExactIndex(X).search(new, 5)
    assert np.isin(a.indices, reference.indices).mean() > 0.9
    if index == "exact":
        np.testing.assert_array_equal(a.indices, brute(X, 5, new))


@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_keep_the_table_or_a_centred_copy(offset, dtype) -> None:
    """A copy only where products with the points themselves would lose digits."""
    near = np.random.default_rng(0).normal(size=(2000, 12)).astype(np.float32)
    X = (near + np.float32(offset)).astype(dtype)
    cells = built("cells", X, 7)
    assert (cells.sorted is None) == (dtype == np.float32 and offset == 0.0)
    found, true = (one.search_own(np.arange(2000), 7) for one in (cells, ExactIndex(X)))
    same = [np.isin(a, b).mean() for a, b in zip(found.indices, true.indices, strict=True)]
    assert np.mean(same) == pytest.approx(cells.recall_, abs=0.02)


def test_the_measured_recall_is_the_recall() -> None:
    X = manifold(5_000)
    cells = built("cells", X, 10)
    found = cells.search(X, 10, exclude=np.arange(5_000))
    true = ExactIndex(X).search_own(np.arange(5_000), 10)
    hits = [np.isin(a, b).mean() for a, b in zip(found.indices, true.indices, strict=True)]
    assert abs(np.mean(hits) - cells.recall_) < 0.03


def test_cells_of_one_repeated_point_stay_small() -> None:
    X = np.vstack([np.zeros((3_000, 4)), manifold(1_000)[:, :4]])
    cells = built("cells", X, 5)
    assert np.diff(cells.offsets).max() <= 4 * (4_000 // 150)
    found = cells.search(X, 5, exclude=np.arange(4_000))
    assert (found.distances[:3_000] == 0).all()
    assert (found.indices[:3_000] < 3_000).all()


def test_fewer_points_than_neighbours_is_padded() -> None:
    found = nearest(np.array([[0.0], [1.0]]), 3)
    assert found.indices.tolist() == [[1, -1, -1], [0, -1, -1]]
    assert found.distances.tolist() == [[1, np.inf, np.inf]] * 2


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="k=0"):
        build_index(np.eye(3), 0)
    with pytest.raises(ValueError, match="metric='manhattan'"):
        nearest(np.eye(3), 1, metric="manhattan")


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((20, 9), ExactIndex), ((30, 9), CellIndex), ((30, 8), TreeIndex)],
)
def test_the_table_decides_on_the_index(shape, kind, monkeypatch) -> None:
    monkeypatch.setattr(module, "EXACT_SAMPLES", 20)
    X = np.random.default_rng(0).normal(size=shape)
    assert type(build_index(X, 2)) is kind
    assert type(build_index(sp.csr_array(X), 2)) is ExactIndex


@pytest.mark.parametrize("kernels", ["polynomial", "laplacian", "linear", "gaussian"])
def test_comparing_all_pairs_of_many_samples_is_announced(monkeypatch, kernels) -> None:
    X = manifold(120).astype(float)
    model = UnifiedSpectralClustering(3, kernels=kernels, whiten=None)
    monkeypatch.setattr(_geometry, "_HELD_SAMPLES", 0)  # as with many samples
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DoubtfulResultWarning)
        model.fit(X)
    monkeypatch.setattr(module, "ANNOUNCED_SAMPLES", 100)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DoubtfulResultWarning)
        model.fit(X)
    text = [str(one.message) for one in told]
    if kernels in ("linear", "gaussian"):
        assert not text
    else:
        assert [line for line in text if "all 7,140 pairs of the 120 samples are compared" in line]
        assert {one.filename for one in told} == {__file__}


def test_comparing_all_rows_of_a_large_sparse_table_is_announced(monkeypatch) -> None:
    table = sp.csr_array(manifold(120))
    monkeypatch.setattr(module, "ANNOUNCED_SAMPLES", 100)
    with pytest.warns(UserWarning, match="sparse table has no index .* TruncatedSVD"):
        nearest(table, 3, metric="cosine")


def test_every_long_stage_of_a_large_fit_tells_its_progress(monkeypatch) -> None:
    from unispectral import _run
    from unispectral.labelfree import _geometry, _graph
    from unispectral.spectrum import _subspace

    for where, name in (
        (module, "EXACT_SAMPLES"),
        (_geometry, "_HELD_SAMPLES"),
        (_run, "_SHORT"),
        (_graph, "_LARGE_SAMPLES"),
        (_subspace, "_TOLD"),
    ):
        monkeypatch.setattr(where, name, 500)
    X = np.random.default_rng(0).normal(size=(16_000, 10))
    seen: dict[str, list[tuple[int, int | None]]] = {}
    UnifiedSpectralClustering(
        3,
        verbose=lambda stage, done, total, note: seen.setdefault(stage, []).append((done, total)),
    ).fit(X)
    stages = ["candidates", "kernels", "codes", "graph"]
    assert [stage for stage in seen if stage in stages] == stages
    for stage in ("candidates", "kernels"):
        steps = np.array([done for done, _ in seen[stage]])
        total = seen[stage][-1][1]
        # A search with more candidates begins anew where the last one ended.
        falls = np.flatnonzero(np.diff(steps) < 0)
        assert (steps[falls] == total).all()
        assert steps[-1] == total
    assert "labels" in seen


def test_the_search_of_a_large_fit_says_how_far_it_is(monkeypatch) -> None:
    from unispectral import UnifiedSpectralClustering
    from unispectral.labelfree import _geometry

    monkeypatch.setattr(module, "EXACT_SAMPLES", 500)
    monkeypatch.setattr(_geometry, "_HELD_SAMPLES", 500)
    X = np.random.default_rng(0).normal(size=(3_000, 30))
    seen: list[tuple[int, int | None]] = []

    def note(stage: str, done: int, total: int | None, _: str) -> None:
        if stage == "candidates":
            seen.append((done, total))

    UnifiedSpectralClustering(3, whiten=None, committee=False, verbose=note).fit(X)
    done, total = seen[-1]
    assert done == total
    assert len(seen) > 5
    assert seen == sorted(seen)


@pytest.mark.parametrize("index", ["exact", "cells"])
def test_groups_are_searched_as_the_whole(index) -> None:
    X = np.random.default_rng(0).normal(size=(2_000, 6)).astype(np.float32)
    here = built(index, X, 5)
    whole = here.search_own(np.arange(len(X)), 5).indices
    groups = here.groups(7)
    assert sorted(np.concatenate(groups).tolist()) == list(range(len(X)))
    for rows in groups:
        np.testing.assert_array_equal(here.search_own(rows, 5).indices, whole[rows])


@pytest.mark.parametrize("index", ["tree", "exact", "cells"])
def test_new_points_are_searched_among_all(index) -> None:
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(80, 3)), rng.normal(size=(9, 3))
    found = built(index, X, 5).search(queries, 5)
    own = built(index, X, 5).search(X[:9], 1)
    np.testing.assert_array_equal(own.indices.ravel(), np.arange(9))
    if index != "cells":
        np.testing.assert_array_equal(found.indices, brute(X, 5, queries))
