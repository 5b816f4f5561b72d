"""The units of a table: what decides whether columns are standardised, and what cannot."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from unispectral import UnifiedSpectralClustering, load_model, save_model
from unispectral._validation import recentre
from unispectral.labelfree._scaling import _common_step, _describe, scaling_of


def canonical(X):
    """A table in units of its own."""
    shift, _ = scaling_of(X, "none")
    return recentre(X, shift)[0]


def measured(n: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 5)) * [1.0, 2.0, 0.5, 300.0, 4.0] + [0.0, 5.0, 9.0, 1e3, -7.0]


def test_order_statistics_are_those_of_sorted_columns() -> None:
    X = np.random.default_rng(0).normal(size=(101, 3))
    found = _describe(X)
    np.testing.assert_array_equal(found.median, np.median(X, axis=0))
    np.testing.assert_array_equal(found.range, np.ptp(X, axis=0))
    np.testing.assert_allclose(found.width, np.sort(X, axis=0)[75] - np.sort(X, axis=0)[25])
    np.testing.assert_allclose(found.deviation, X.std(axis=0))


def test_far_values_are_no_part_of_the_deviation() -> None:
    X = measured()
    far = np.vstack([X, np.full(5, 1e9)])
    np.testing.assert_allclose(_describe(far).deviation, X.std(axis=0))


@pytest.mark.parametrize("bad", [-999.0, 1e5, 1e12])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_one_bad_row_does_not_switch_standardising_off(load, bad: float) -> None:
    X = load().data
    assert (
        scaling_of(X, "auto")[1] == scaling_of(np.vstack([X, np.full(X.shape[1], bad)]), "auto")[1]
    )


def test_a_copy_of_the_dominant_column_does_not_switch_standardising_off() -> None:
    X = load_wine().data
    copied = np.column_stack([X, X[:, 12]])
    shift, reason = scaling_of(copied, "auto")
    assert reason == scaling_of(X, "auto")[1] + "; 1 that is a copy left out"
    assert shift.columns.tolist() == list(range(13))


def test_pixels_and_columns_of_like_spread_are_left_in_proportion() -> None:
    for X in (load_digits().data, np.random.default_rng(0).normal(size=(50, 4))):
        shift, reason = scaling_of(X, "auto")
        assert reason.startswith("as given")
        assert np.ndim(shift.factor) == 0


def test_counts_with_one_frequent_word_are_left_in_proportion() -> None:
    rng = np.random.default_rng(0)
    X = rng.poisson([30.0, *[0.3] * 40], (200, 41)).astype(float)
    assert "pixels and counts" in scaling_of(X, "auto")[1]


@settings(max_examples=60, deadline=None)
@given(
    factor=st.floats(1e-12, 1e12),
    moved=st.floats(-10.0, 10.0),
    whole=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_table_in_units_of_its_own_does_not_know_the_units(factor, moved, whole, seed) -> None:
    """To the last digit, but for the few values that rounding carries over a step of the grid."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    if whole:
        X = np.rint(3.0 * X)
    one, other = canonical(X), canonical(factor * (X + moved))
    np.testing.assert_allclose(one, other, atol=2.0**-29)
    assert np.mean(one == other) > 0.97
    np.testing.assert_array_equal(canonical(X * 2.0**40), one)


def test_equal_distances_of_whole_numbers_stay_equal_in_any_unit() -> None:
    X = np.random.default_rng(0).integers(0, 9, (60, 6)).astype(float)
    moved = canonical(0.1 * X + 0.7)
    np.testing.assert_array_equal(moved, canonical(X))
    expected = ((X[:, None] - X) ** 2).sum(axis=2)
    found = ((moved[:, None] - moved) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found * (expected[0, 1] / found[0, 1]), expected)


@given(
    values=st.lists(st.integers(1, 400), min_size=1, max_size=30),
    step=st.floats(1e-6, 1e6),
)
def test_the_step_of_multiples_is_their_greatest_common_divisor(values, step) -> None:
    found = _common_step([np.array(values) * step], max(values) * step)
    np.testing.assert_allclose(found, np.gcd.reduce(values) * step, rtol=1e-9)


def test_numbers_of_any_kind_have_no_step() -> None:
    values = np.random.default_rng(0).random(100)
    assert _common_step([values], values.max()) == 0.0


@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_columns_that_do_not_vary_are_left_out(count: int) -> None:
    X = measured()
    constants = np.tile(np.linspace(-5.0, 1e6, count), (len(X), 1))
    more = np.hstack([constants, X])
    shift, reason = scaling_of(more, "auto")
    words = "that does not vary" if count == 1 else "that do not vary"
    assert reason.endswith(f"; {count} {words} left out")
    plain, _ = scaling_of(X, "auto")
    np.testing.assert_array_equal(recentre(more, shift)[0], recentre(X, plain)[0])


def test_columns_of_a_sparse_table_that_do_not_vary_are_left_out() -> None:
    X = np.random.default_rng(0).poisson(0.3, (50, 8)).astype(float)
    X[:, 2] = 0.0
    X[:, 5] = 3.0
    shift, reason = scaling_of(sp.csr_array(X), "auto")
    assert reason == "as given: a sparse table; 2 that do not vary left out"
    assert shift.columns.tolist() == [0, 1, 3, 4, 6, 7]
    moved = recentre(sp.csr_array(X), shift)[0].toarray()
    np.testing.assert_allclose(moved, X[:, shift.columns] * shift.factor)


def test_a_table_in_which_nothing_varies_is_left_alone() -> None:
    assert scaling_of(np.ones((5, 3)), "auto") == (None, "as given: no column varies")


def test_absent_samples_do_not_count() -> None:
    X = measured()
    lacking = np.vstack([X, np.full((3, 5), np.nan)])
    shift, reason = scaling_of(lacking, "auto")
    expected, same = scaling_of(X, "auto")
    assert reason == same
    np.testing.assert_array_equal(shift.offset, expected.offset)
    assert np.isnan(recentre(lacking, shift)[0][-3:]).all()


def test_a_large_table_is_not_copied_for_its_units(monkeypatch) -> None:
    from unispectral.labelfree import _scaling

    monkeypatch.setattr(_scaling, "_MOST_BYTES", 0)
    monkeypatch.setattr(_scaling, "_ROW_BYTES", 8)
    X = np.random.default_rng(0).normal(size=(50, 6))
    assert scaling_of(X, "auto")[0] is None
    X[:, 1:4] = 1.0
    shift = scaling_of(X, "auto")[0]
    assert shift.columns.tolist() == [0, 4, 5]
    assert not shift.fixed


def written(n: int = 120, words: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Texts of three topics, as counts of words; their lengths differ by a factor of ten."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    topics = rng.dirichlet(np.full(words, 0.05), size=3)
    common = rng.dirichlet(np.full(words, 0.5))
    lengths = rng.integers(8, 80, size=n)
    shares = 0.6 * topics[y] + 0.4 * common
    return np.vstack([rng.multinomial(*one) for one in zip(lengths, shares, strict=True)]), y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_counts_of_words_are_weighted(form, factor: float) -> None:
    counts = written()[0] * factor
    X = form(counts)
    shift, reason = scaling_of(X, "auto")
    assert reason.startswith("weighted as counts: whole numbers, most of them 0 and 1")
    found = recentre(X, shift)[0]
    found = found.toarray() if sp.issparse(found) else found
    used = counts[:, (counts > 0).any(axis=0)] / factor
    weights = TfidfTransformer(norm=None).fit(used).idf_
    expected = np.log1p(used) * weights
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_other_tables_are_not_taken_for_counts() -> None:
    counts = written()[0].astype(float)
    others = {
        "binary": (counts > 0).astype(float),
        "weighted": counts * np.linspace(0.5, 1.7, counts.shape[1]),
        "pixels": load_digits().data,
        "below zero": np.where(counts > 3, -counts, counts),
        "full": counts + 1.0,
        "zeros": np.zeros((5, 3)),
        "large": counts * 40.0 + (counts > 0) * np.arange(counts.shape[1]),
    }
    for name, X in others.items():
        assert not scaling_of(X, "auto")[1].startswith("weighted"), name
    assert scaling_of(counts, "none")[1].startswith("as given: scaling='none'")
    assert scaling_of(counts, "standard")[1].startswith("standardised: scaling='standard'")


def test_counts_are_forced_and_refused() -> None:
    X = load_digits().data
    assert scaling_of(X, "counts")[1].startswith("weighted as counts: scaling='counts'")
    with pytest.raises(ValueError, match="scaling='counts' is for counts, but the table has"):
        scaling_of(-X, "counts")
    shift, _ = scaling_of(np.zeros((5, 3)), "counts")
    np.testing.assert_array_equal(recentre(np.zeros((5, 3)), shift)[0], 0.0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_clusters_of_counts_are_predicted_and_saved(form, tmp_path) -> None:
    counts, y = written()
    X = form(counts.astype(float))
    model = UnifiedSpectralClustering(3, n_jobs=1).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.scaling_["X"].startswith("weighted as counts")
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    more = written(150)[0][120:]
    new = form(more.astype(float))
    save_model(model, tmp_path / "model.zip")
    again = load_model(tmp_path / "model.zip")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    # The clusters are those of single precision, of texts in another order, and twice as long.
    same = UnifiedSpectralClustering(3, n_jobs=1).fit(form(2.0 * counts.astype(np.float32)))
    np.testing.assert_array_equal(same.labels_, model.labels_)


def test_views_of_counts_may_lack_samples() -> None:
    counts, y = written()
    views = [counts[:, ::2].astype(float), counts[:, 1::2].astype(float)]
    views[1][:5] = np.nan
    model = UnifiedSpectralClustering(3, n_jobs=1).fit(views)
    assert {reason[:18] for reason in model.scaling_.values()} == {"weighted as counts"}
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_columns_that_do_not_vary_say_nothing_of_counts(form) -> None:
    X, _ = written()
    rows = np.ones((len(X), 1))
    constants = [0.0, 0.0, 1.0] if form is sp.csr_array else [0.0, -3.5, 1e6]
    more = np.hstack([X, rows * constants])
    plain, said = scaling_of(form(X), "auto")
    beside, told = scaling_of(form(more), "auto")
    assert said.startswith("weighted as counts")
    assert told.startswith("weighted as counts")
    np.testing.assert_array_equal(beside.columns[: len(plain.columns)], plain.columns)
    assert len(beside.columns) == len(plain.columns)
    np.testing.assert_array_equal(beside.factor, plain.factor)


def test_rows_far_from_the_origin_are_not_of_one_length() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20)) * np.append(np.full(19, 1.0), 1e3)
    assert scaling_of(X, "auto")[1].startswith("standardised")
    assert scaling_of(X + 1e5, "auto")[1].startswith("standardised")
    constant = np.hstack([X, np.full((100, 2), 1e6)])
    assert scaling_of(constant, "auto")[1].startswith("standardised")
