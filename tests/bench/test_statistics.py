"""Statistics against the worked examples of Demšar (JMLR 7, 2006) and against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from unispectral.bench.statistics import (
    adjust_holm,
    average_ranks,
    compare_with,
    count_wins,
    friedman_test,
    group_ranks,
    nemenyi_difference,
    signed_rank_preference,
)

#: Table 6 there: areas under the curve of C4.5 without and with tuning of m, of cf, of both.
AREAS = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # alike to three decimals, but ranked 2 and 3 there
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_ranks_and_friedman_are_those_of_the_worked_example():
    np.testing.assert_allclose(average_ranks(AREAS), [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    found = friedman_test(AREAS)
    assert found.chi_squared == pytest.approx(9.28, abs=0.01)
    assert found.f_statistic == pytest.approx(3.69, abs=0.01)
    assert found.f_p_value < 0.05  # the critical value of F(3, 39) is 2.85


def test_friedman_without_ties_is_that_of_scipy():
    values = np.random.default_rng(0).normal(size=(12, 5))
    expected = stats.friedmanchisquare(*values.T)
    found = friedman_test(values)
    assert found.chi_squared == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_the_printed_quantiles(k, q):
    """Table 5 (a) there."""
    assert nemenyi_difference(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / 84), abs=2e-3)


def test_wilcoxon_is_that_of_the_worked_example():
    """Table 2 there: C4.5 beside C4.5+m; the smaller rank sum is 12, and p is below 5 per cent."""
    difference = AREAS[:, 1] - AREAS[:, 0]
    assert stats.wilcoxon(difference, zero_method="zsplit").statistic == 12.0
    found = compare_with(AREAS[:, :2], 0)
    assert found[0] is None
    assert found[1][:3] == (10, 2, 2)
    assert 0.001 < found[1].p_value < 0.05
    assert found[1].p_holm == found[1].p_value


def test_holm_rejects_what_it_rejects_in_the_worked_example():
    """Section 3.2.2 there: p of 0.016, 0.019 and 0.607; the first two are rejected."""
    adjusted = adjust_holm([0.607, 0.016, 0.019])
    np.testing.assert_allclose(adjusted, [0.607, 0.048, 0.048])
    assert (adjusted < 0.05).tolist() == [False, True, True]


def test_holm_never_passes_one_and_keeps_the_order():
    p = np.random.default_rng(0).uniform(size=9)
    adjusted = adjust_holm(p)
    assert (adjusted >= p).all()
    assert adjusted.max() <= 1.0
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_equal_methods_do_not_differ():
    values = np.tile([[0.5], [0.7], [0.9]], (1, 2))
    assert compare_with(values, 1)[0] == (0, 3, 0, 1.0, 1.0)
    assert count_wins([1, 2], [1, 2]) == (0, 2, 0)


def test_groups_are_the_longest_runs():
    """By brute force over all runs."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        ranks = np.sort(rng.uniform(1, 8, 6))
        critical = rng.uniform(0.2, 4.0)
        runs = [
            (a, b) for a in range(6) for b in range(a + 1, 6) if ranks[b] - ranks[a] < critical
        ]
        longest = [
            (a, b)
            for a, b in runs
            if not any(c <= a and b <= d and (a, b) != (c, d) for c, d in runs)
        ]
        assert group_ranks(ranks, critical) == longest


def test_the_bayesian_test_sees_what_is_there():
    rng = np.random.default_rng(0)
    second = rng.uniform(50, 90, 20)
    alike = signed_rank_preference(second + rng.normal(0, 0.2, 20), second, 1.0)
    assert alike.alike > 0.99
    better = signed_rank_preference(second + 5.0, second, 1.0)
    assert better.first > 0.99
    worse = signed_rank_preference(second, second + 5.0, 1.0)
    np.testing.assert_allclose(worse, better[::-1], atol=0.02)


@pytest.mark.parametrize("values", [[[1.0, 2.0]], [[1.0], [2.0]], [[1.0, np.nan], [2.0, 3.0]]])
def test_what_cannot_be_compared_is_said(values):
    with pytest.raises(ValueError, match="values has"):
        average_ranks(values)
