"""What a fit says where its eigenvectors are not as precise as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from unispectral import UnifiedSpectralClustering
from unispectral.labelfree import _coding
from unispectral.spectrum import _direct, _eigen, smallest_eigenvectors


def test_a_fit_whose_eigenvectors_did_not_converge_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(0).normal(size=(4_000, 2))
    model = UnifiedSpectralClustering(3, random_state=0)
    model.fit(X)
    assert model.converged_
    assert "tolerance" not in model.stop_reason_
    monkeypatch.setattr(_eigen, "LARGE_NODES", 1_000)
    monkeypatch.setattr(_direct, "_MAX_NODES", 1_000)
    monkeypatch.setattr(
        _coding,
        "smallest_eigenvectors",
        lambda *args, **named: smallest_eigenvectors(*args, **named, max_iter=0),
    )
    with (
        pytest.warns(ConvergenceWarning, match="may cut it in the wrong place"),
        pytest.warns(ConvergenceWarning, match="Compare the clusters with those of another"),
    ):
        model.fit(X)
    assert not model.converged_
    assert model.stop_reason_.endswith("but the eigenvectors did not reach their tolerance")


def test_codes_of_single_precision_are_those_of_double():
    from unispectral.labelfree import Recipe
    from unispectral.labelfree._coding import solve_block
    from unispectral.labelfree._neighbourhoods import LocalNeighbourhoods

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
