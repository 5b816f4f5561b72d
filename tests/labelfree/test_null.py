"""Null models: samples without clusters that are otherwise like those at hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, spearmanr

from unispectral import UnifiedSpectralClustering
from unispectral.labelfree._geometry import KernelDistance
from unispectral.labelfree._null import draw_with_one_mode, one_mode_quantiles

PROBABILITIES = np.linspace(0.001, 0.999, 999)


@pytest.mark.parametrize("kind", ["normal", "lognormal", "exponential", "uniform"])
def test_a_column_with_one_mode_keeps_its_distribution(kind):
    column = getattr(np.random.default_rng(0), kind)(size=2_000)
    drawn = one_mode_quantiles(column, PROBABILITIES)
    assert kstest(drawn, column).statistic < 0.03


def test_the_density_has_one_mode():
    """Oracle: the density between quantiles rises, and then falls."""
    rng = np.random.default_rng(1)
    column = np.concatenate([rng.normal(0, 1, 300), rng.normal(9, 2, 200)])
    quantiles = one_mode_quantiles(column, np.linspace(0, 1, 4_001))
    density = np.histogram(quantiles, bins=40)[0]
    mode = int(np.argmax(density))
    slack = 2  # what the borders of the bins cut off
    assert (np.diff(density[: mode + 1]) >= -slack).all()
    assert (np.diff(density[mode:]) <= slack).all()
    valley = (quantiles > 3) & (quantiles < 5)
    assert valley.mean() > 3 * np.mean((column > 3) & (column < 5))


def test_correlations_of_ranks_are_kept():
    rng = np.random.default_rng(2)
    first = rng.normal(size=1_000)
    table = np.exp(np.column_stack([first, first + 0.5 * rng.normal(size=1_000)]))
    (drawn,) = draw_with_one_mode(KernelDistance.linear(table), 1)
    found = spearmanr(drawn.features()).statistic
    assert found == pytest.approx(spearmanr(table).statistic, abs=0.05)


def test_order_and_signs_of_columns_change_nothing_that_is_drawn():
    """The clusters of heart-statlog by "auto" were one or several by the signs of its columns."""
    rng = np.random.default_rng(4)
    table = np.column_stack([rng.exponential(size=200), rng.integers(0, 6, 200) ** 2.0])
    table = np.column_stack([table, rng.normal(size=200)])
    (drawn,) = draw_with_one_mode(KernelDistance.linear(table), 1)
    for other in (-table, table[:, ::-1], table * [1.0, -1.0, 1.0]):
        (again,) = draw_with_one_mode(KernelDistance.linear(other), 1)
        np.testing.assert_array_equal(again.features(), drawn.features())


@pytest.mark.parametrize("kind", ["lognormal", "exponential", "standard_cauchy"])
@pytest.mark.parametrize("columns", [3, 10])
def test_skewed_columns_without_clusters_are_one_cluster(kind, columns):
    X = getattr(np.random.default_rng(3), kind)(size=(400, columns))
    model = UnifiedSpectralClustering(committee=False, n_jobs=1).fit(X)
    assert model.n_clusters_ == 1
