"""A frame with ids, codes or years is clustered as asked, with a warning that names them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering
from unispectral.tables._suspects import suspicious_columns

N = 40
X = np.r_[np.random.default_rng(0).normal(0, 1, (20, 2)), np.full((20, 2), 9.0)]
X[20:] += np.random.default_rng(1).normal(0, 1, (20, 2))


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("id", np.arange(N), "id"),
        ("respondent", np.arange(1, N + 1), "id"),
        ("year", 2007 + np.arange(N) % 3, "year"),
        ("postcode", 10_000 + np.arange(N) * 37, "code"),
        ("prof_id", np.arange(N) % 7, "code"),
    ],
)
def test_columns_that_are_named(name, values, kind):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(**{name: values})
    assert suspicious_columns(frame) == {name: kind}
    with pytest.warns(DoubtfulResultWarning, match=rf"{name!r} .*TablePreparer") as caught:
        UnifiedSpectralClustering(2).fit(frame)
    assert sum("TablePreparer" in str(one.message) for one in caught) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("atomic_number", np.arange(1, N + 1)),
        ("score", np.arange(1, N + 1)),
        ("id", np.linspace(0, 1, N)),
        ("year_built", 1900 + np.arange(N)),
        ("years", np.arange(N) % 5),
        ("student", np.arange(N) % 2),
    ],
)
def test_measurements_are_not(name, values):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(**{name: values})
    assert suspicious_columns(frame) == {}


def test_arrays_and_prepared_frames_are_left_alone():
    table = np.column_stack([X, np.arange(N)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        UnifiedSpectralClustering(2).fit(table)
    assert suspicious_columns(table) == {}
    assert suspicious_columns(pd.DataFrame({"id": np.arange(N) / 7.5})) == {}


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": list(range(N)), "a": X[:, 0]})
    assert suspicious_columns(frame) == {"id": "id"}
