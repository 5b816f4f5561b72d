"""Plans from a file: those that `decide` makes are taken, all others are not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from unispectral.tables import TablePreparer
from unispectral.tables._plans import are_plans

N = 40
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def plans():
    """One plan of each kind."""
    frame = pd.DataFrame(
        {
            "id": range(N),
            "spent": np.exp(RNG.normal(4, 1.2, N)).round(2),
            "member": ["yes", "no"] * (N // 2),
            "reads": ["never", "often", "always", "rarely"] * (N // 4),
            "kind": list("abcd") * (N // 4),
            "day": pd.date_range("2024-01-01", periods=N),
            "lat": RNG.normal(50, 2, N),
            "lon": RNG.normal(10, 2, N),
        }
    )
    preparer = TablePreparer(use=["day", "kind"], geo=["lat", "lon"]).fit(frame)
    return json.loads(json.dumps(preparer.columns_))


def test_those_of_a_fit_are_plans(plans):
    kinds = ["left out", "number", "yes/no", "ordinal", "category", "date", "place", "left out"]
    assert [plan["kind"] for plan in plans] == kinds
    assert "log" in plans[1]
    assert are_plans(plans)


@pytest.mark.parametrize(
    ("at", "change"),
    [
        (0, {"why": 3}),
        (0, {"role": "king"}),
        (1, {"least": 0.0}),
        (1, {"least": None}),
        (1, {"log": -1.0}),
        (1, {"log": float("nan")}),
        (1, {"fill": "x"}),
        (1, {"decimal": "'"}),
        (1, {"ranks": [0.0, 1.0]}),
        (1, {"surprise": 1}),
        (2, {"fill": True}),
        (3, {"levels": {}}),
        (3, {"levels": {"never": "0"}}),
        (3, {"levels": ["never"]}),
        (4, {"categories": ["a", "a"]}),
        (4, {"fill": "z"}),
        (5, {"order": "unclear"}),
        (6, {"fill": [1.0]}),
        (6, {"longitude": 4}),
        (6, {"kind": ["place"]}),
        (7, {"name": "lat"}),
    ],
)
def test_others_are_not(plans, at, change):
    damaged = [dict(plan) for plan in plans]
    damaged[at] |= change
    assert not are_plans(damaged)


def test_ranks_and_the_way_back():
    values = np.exp(RNG.normal(0, 2, (200, 1)))
    frame = pd.DataFrame(values, columns=["x"])
    preparer = TablePreparer(scale="rank").fit(frame)
    plan = preparer.columns_[0]
    assert are_plans(json.loads(json.dumps(preparer.columns_)))
    made = preparer.transform(frame).ravel()
    np.testing.assert_array_equal(np.argsort(made), np.argsort(values.ravel()))
    assert np.ptp(np.diff(np.sort(made))) < 1e-9  # evenly spaced
    assert len(plan["ranks"]) == 200
    far = preparer.transform(pd.DataFrame({"x": [-1.0, 1e9]})).ravel()
    assert far.tolist() == [made.min(), made.max()]


def test_robust_scaling_is_by_quartiles():
    values = np.r_[RNG.normal(5, 2, 199), 1e6]
    made = TablePreparer(scale="robust").fit_transform(pd.DataFrame({"x": values}))
    low, middle, high = np.quantile(made, [0.25, 0.5, 0.75])
    assert middle == pytest.approx(0.0, abs=1e-9)
    assert high - low == pytest.approx(2 * 0.6744897501960817)


def test_logarithms_of_all_numbers_and_new_rows():
    frame = pd.DataFrame({"x": np.arange(0.0, 30.0), "y": np.arange(-10.0, 20.0)})
    preparer = TablePreparer(scale="log").fit(frame)
    assert ["log" in plan for plan in preparer.columns_] == [True, False]
    low = preparer.transform(pd.DataFrame({"x": [-5.0, 0.0], "y": [0.0, 0.0]}))[:, 0]
    assert low[0] == low[1]  # what has no logarithm is the least value
