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
