"""The table of what sets each cluster apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, KMeans
from sklearn.pipeline import make_pipeline

import unispectral
from unispectral.report import _clusters, report_data, write_report
from unispectral.report._clusters import contrasts
from unispectral.tables import TablePreparer


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    return pd.DataFrame(
        {
            "size": rng.normal(size=60) + 5.0 * kind,
            "price": [f"${v:,.2f}" for v in rng.normal(size=60) + 4000.0],
            "city": np.array(["Ulm", "Bonn", "Bonn"])[kind],
        }
    )


def test_against_pandas(mixed):
    labels = np.arange(60) % 3
    found = unispectral.describe(labels, mixed)
    assert list(found.columns) == [
        "cluster", "size", "feature", "mean", "mean_elsewhere", "difference"
    ]  # fmt: skip
    assert set(found["feature"]) == {"size", "price", "city=Bonn", "city=Ulm"}
    for row in found[found["feature"] == "size"].itertuples():
        inside = mixed["size"][labels == row.cluster]
        outside = mixed["size"][labels != row.cluster]
        assert row.mean == pytest.approx(inside.mean())
        assert row.mean_elsewhere == pytest.approx(outside.mean())
        within = ((inside - inside.mean()) ** 2).sum() + ((outside - outside.mean()) ** 2).sum()
        assert row.difference == pytest.approx(
            (row.mean - row.mean_elsewhere) / np.sqrt(within / 60)
        )
    share = found[(found["cluster"] == 0) & (found["feature"] == "city=Ulm")]
    assert share["mean"].item() == pytest.approx(1.0)
    for _, part in found.groupby("cluster"):
        assert part["difference"].abs().is_monotonic_decreasing
    assert len(unispectral.describe(labels, mixed, n_features=2)) == 6


def test_is_what_the_page_shows(mixed):
    numbers = mixed[["size"]].assign(noise=np.random.default_rng(1).random(60))
    model = KMeans(3, n_init=1, random_state=0).fit(numbers)
    shown = report_data(model, numbers)["clusters"]
    table = unispectral.describe(model, numbers)
    for k, part in table.groupby("cluster"):
        names, effects, *_ = zip(*shown[k]["features"], strict=True)
        assert list(names) == part["feature"].tolist()
        np.testing.assert_allclose(effects, part["difference"], atol=0.01)


def test_pipelines_pages_and_labels_of_any_kind(mixed, tmp_path):
    pipeline = make_pipeline(TablePreparer(), KMeans(3, n_init=1, random_state=0)).fit(mixed)
    found = unispectral.describe(pipeline, mixed)
    assert found["size"].groupby(found["cluster"]).first().sum() == 60
    write_report(tmp_path / "page.html", pipeline[-1], mixed)
    assert "city=Bonn" in (tmp_path / "page.html").read_text(encoding="utf-8")
    noise = DBSCAN(eps=0.1).fit(mixed[["size"]])
    assert unispectral.describe(noise, mixed)["cluster"].iloc[0] == -1
    assert unispectral.describe(["a", "b"] * 30, mixed)["cluster"].unique().tolist() == ["a", "b"]


def test_views_and_sparse_tables():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [9.0, 5.0], [10.0, np.nan]])
    labels = [0, 0, 1, 1]
    found = unispectral.describe(labels, {"one": X, "two": X[:, :1]})
    assert set(found["feature"]) == {"one: column 0", "one: column 1", "two: column 0"}
    dense = unispectral.describe(labels, X[:, :1])
    pd.testing.assert_frame_equal(unispectral.describe(labels, sp.csr_array(X[:, :1])), dense)


@pytest.mark.parametrize(
    ("model", "rows", "message"),
    [
        (KMeans(), 3, "model has no labels_; fit it first"),
        ([0, 1], 3, r"X has the shape \(3, 1\), but there are labels for 2 samples"),
    ],
)
def test_refusals(model, rows, message):
    with pytest.raises(ValueError, match=message):
        unispectral.describe(model, np.ones((rows, 1)))


def test_the_mean_of_an_absent_category_is_zero():
    """Not the 1e-16 that rounding leaves of it."""
    X = (np.arange(201)[:, None] % 3 == np.arange(3)).astype(float)
    table = unispectral.describe(np.arange(201) % 3, X)
    assert set(table["mean"].round(9)) == {0.0, 1.0}
    assert (table[["mean", "mean_elsewhere"]].abs() > 0.1).to_numpy().sum() == 9
    assert (table[["mean", "mean_elsewhere"]] == 0.0).to_numpy().sum() == 9


def test_a_large_table_of_single_precision_is_described_as_a_small_one(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=200)
    X = (rng.normal(size=(3, 9))[labels] + rng.normal(size=(200, 9))).astype(np.float32)
    X[4, 2] = np.nan
    whole = contrasts(X.astype(np.float64), labels)
    monkeypatch.setattr(_clusters, "_ENTRIES", 500)
    for found, expected in zip(contrasts(X, labels), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
