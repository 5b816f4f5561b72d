"""Supplementary columns: words for each cluster, colours for each point."""

from __future__ import annotations

import base64

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from unispectral.report import report_data
from unispectral.report._beside import columns_beside
from unispectral.report._columns import Columns
from unispectral.tables._preparation import Preparation
from unispectral.tables._read import read_table

LABELS = np.repeat([0, 1], 20)
FRAME = pd.DataFrame(
    {
        "year": [2007] * 15 + [2008] * 25,
        "day": ["01/02/2024", "13/02/2024"] * 20,
        "price": np.arange(40) * 10 + 10_000,
        "kind": ["<b>", "b"] * 20,
        "gap": [None, "x"] * 20,
    }
)


def test_each_cluster_is_described():
    found = {part["name"]: part for part in columns_beside(FRAME, LABELS, np.arange(40))}
    assert found["year"]["words"] == ["2007 75 %, 2008 25 %", "2008 100 %"]
    assert found["kind"]["words"][0] == "<b> 50 %, b 50 %"
    assert found["gap"]["words"][0] == "missing 50 %, x 50 %"
    assert found["day"]["words"][0].startswith("2024-02-07 (half from 2024-02-01 to 2024-02-13")
    quartiles = np.quantile(FRAME["price"][:20], [0.25, 0.5, 0.75])
    low, middle, high = np.floor(quartiles + 0.5)
    told = f"{middle:,.0f} (half from {low:,.0f} to {high:,.0f})"
    assert found["price"]["words"][0] == told


def test_codes_are_no_amounts():
    codes = pd.DataFrame({"postcode": [10_115] * 18 + list(range(20_000, 20_022))})
    (found,) = columns_beside(codes, LABELS, np.arange(40))
    assert found["words"] == ["10115 90 %, 20000 5 %, 20001 5 %", "20 different"]
    assert found["values"][:18] == ["10115"] * 18
    assert "levels" not in found


def test_points_are_coloured_by_what_is_shown():
    shown = np.array([0, 14, 15, 39])
    found = {part["name"]: part for part in columns_beside(FRAME, LABELS, shown)}
    assert found["year"]["values"] == ["2007", "2007", "2008", "2008"]
    assert len(found["year"]["colours"]) == len(found["year"]["names"]) == 2
    levels = list(base64.b64decode(found["price"]["levels"]))
    assert levels == [0, 91, 98, 254]
    assert found["price"]["ends"] == [10_000, 10_390]


def test_they_reach_the_page_and_not_the_distances():
    X = np.column_stack([LABELS * 9.0, np.arange(40) % 7])
    model = KMeans(2, n_init=1, random_state=0).fit(X)
    data = report_data(model, X, supplementary=FRAME, refit=False)
    assert [part["name"] for part in data["beside"]] == list(FRAME.columns)
    assert data["columns"] == 2
    with pytest.raises(ValueError, match="supplementary has 39 entries"):
        report_data(model, X, supplementary=FRAME[1:], refit=False)


def test_logarithms_are_shown_in_their_units(tmp_path):
    values = np.exp(np.random.default_rng(0).normal(4, 1.2, 60)).round(2)
    pd.DataFrame({"v": values, "w": np.arange(60) / 7}).to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv", encode=True)
    assert "log" in table.preparation.encoding[0]
    shown = Columns(table.values, table.columns, [table.preparation.to_dict()])
    np.testing.assert_allclose(shown.values(0), values)
    np.testing.assert_allclose(shown.values(1), np.arange(60) / 7, atol=1e-9)
    mean = shown.in_units(0, float(table.values[:, 0].mean()))
    assert mean == pytest.approx(np.exp(np.log(values).mean()))
    again = Preparation.from_dict(table.preparation.to_dict())
    np.testing.assert_allclose(again.restore(table.values)[:, 0], values)
