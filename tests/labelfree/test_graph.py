"""What a fit says where its eigenvectors are not as precise as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from unispectral import UnifiedSpectralClustering
from unispectral.labelfree import _graph
from unispectral.spectrum import _direct, smallest_eigenvectors


def test_a_fit_whose_eigenvectors_did_not_converge_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(size=(4_000, 2))
    model = UnifiedSpectralClustering(3, committee=False, random_state=0)
    model.fit(X)
    assert model.converged_
    assert "tolerance" not in model.stop_reason_
    monkeypatch.setattr(_direct, "_MAX_NODES", 1_000)
    monkeypatch.setattr(
        _graph,
        "smallest_eigenvectors",
        lambda *args, **named: smallest_eigenvectors(*args, **named, max_iter=1),
    )
    with (
        pytest.warns(ConvergenceWarning, match="may cut it in the wrong place"),
        pytest.warns(ConvergenceWarning, match="Compare the clusters with those of another"),
    ):
        model.fit(X)
    assert not model.converged_
    assert "but the eigenvectors did not reach their tolerance" in model.stop_reason_


def test_codes_of_single_precision_are_those_of_double():
    from unispectral.labelfree import Recipe
    from unispectral.labelfree._neighbourhoods import LocalNeighbourhoods, solve_block

    rng = np.random.default_rng(0)
    points = rng.normal(size=(50, 7, 3))
    among = np.exp(-0.5 * ((points[:, 1:, None] - points[:, None, 1:]) ** 2).sum(axis=-1))
    near = np.exp(-0.5 * ((points[:, 1:] - points[:, :1]) ** 2).sum(axis=-1))
    neighbours = np.where(rng.random(near.shape) < 0.1, -1, 0)
    gap = rng.normal(size=(*near.shape, 2))
    single = LocalNeighbourhoods(neighbours, near.astype("f4"), among.astype("f4"), -0.5)
    double = single._replace(near=single.near.astype("f8"), among=single.among.astype("f8"))
    recipe = Recipe(n_clusters=2)
    for raised in (None, gap):
        found, _, residual = solve_block(single, recipe, raised)
        exact = solve_block(double, recipe, raised)[0]
        assert residual <= 1e-6
        assert (exact == 0.0).any()
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)  # that of the solver


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("reach", [1e-3, 0.1, 2.0])
def test_no_embedding_changes_the_codes_by_more_than_the_bound(scaled: bool, reach: float) -> None:
    from unispectral.labelfree import Recipe
    from unispectral.labelfree._graph import change_bound
    from unispectral.labelfree._neighbourhoods import LocalNeighbourhoods, build_graph

    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(size=(80, 3)), [[50.0, 0, 0]]])  # one that nothing explains
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    neighbours = np.argsort(squared + np.diag(np.full(81, np.inf)), axis=1)[:, :6]
    kernel = np.exp(-0.5 * squared)
    around = LocalNeighbourhoods(
        neighbours,
        np.take_along_axis(kernel, neighbours, axis=1),
        kernel[neighbours[:, :, None], neighbours[:, None, :]],
        -0.5,
    )
    recipe = Recipe(n_clusters=2, scale_codes=scaled)
    before, codes = build_graph(around, recipe)
    graph = before.T.tocsr()
    for _ in range(5):
        embedding = reach * rng.normal(size=(81, 2))
        after, _ = build_graph(around, recipe, embedding)
        most = change_bound(graph, embedding, [around], [1.0], [codes.error], recipe)
        assert 0.0 < np.linalg.norm((after - before).toarray()) <= most
    there = around._replace(present=np.ones(81, dtype=bool))
    assert change_bound(graph, embedding, [there], [1.0], [codes.error], recipe) == np.inf


def test_an_iteration_that_changes_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 2))
    X[::2, 0] += 7.0
    found = UnifiedSpectralClustering(2, tol=0.2).fit(X)
    monkeypatch.setattr(_graph, "_LARGE_SAMPLES", 1_000)
    fewer = UnifiedSpectralClustering(2, tol=0.2).fit(X)
    assert (found.n_iter_, fewer.n_iter_) == (2, 1)
    assert fewer.stop_reason_.startswith("another iteration would change the graph by less than")
    assert np.array_equal(found.labels_, fewer.labels_)
    assert np.array_equal(found.embedding_, fewer.embedding_)
