"""Samples in another order, or with another seed, have the same clusters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons

from unispectral import UnifiedSpectralClustering
from unispectral.labelfree._order import renumber, spatial_order


def documents() -> sp.csr_array:
    """Most share no word with most others, so that many distances are equal."""
    rng = np.random.default_rng(0)
    topics = rng.integers(4, size=200)
    words = [rng.choice(np.arange(60) + 60 * topic, 12) for topic in topics]
    rows = np.repeat(np.arange(200), 12)
    return sp.csr_array((rng.random(2_400) + 0.5, (rows, np.concatenate(words))), shape=(200, 240))


TABLES = {
    "moons": (lambda: make_moons(300, noise=0.05, random_state=0)[0], 2),
    "wine": (lambda: load_wine().data, 3),
    "breast cancer": (lambda: load_breast_cancer().data, 2),
    "digits": (lambda: load_digits().data[:700], 10),
    "documents": (documents, 4),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("count", ["given", "auto"])
def test_the_order_of_the_samples_changes_nothing(name: str, count: str) -> None:
    load, k = TABLES[name]
    X = load()
    p = np.random.default_rng(1).permutation(X.shape[0])
    given = k if count == "given" else "auto"
    one, other = (UnifiedSpectralClustering(given).fit(table) for table in (X, X[p]))
    assert one.n_clusters_ == other.n_clusters_
    pairs = set(zip(one.labels_[p].tolist(), other.labels_.tolist(), strict=True))
    assert len(pairs) == one.n_clusters_
    assert one.outlier_score_[p] == pytest.approx(other.outlier_score_, abs=1e-9)
    difference = one.affinity_matrix_[p][:, p] - other.affinity_matrix_
    assert abs(difference).max() < 1e-9


@pytest.mark.parametrize("name", TABLES)
def test_the_seed_changes_nothing(name: str) -> None:
    load, k = TABLES[name]
    X = load()
    one, *others = (
        UnifiedSpectralClustering(k + 2, n_init=1, random_state=seed).fit(X)
        for seed in (0, 5, None)
    )
    for other in others:
        np.testing.assert_array_equal(other.labels_, one.labels_)
        np.testing.assert_array_equal(other.embedding_, one.embedding_)


def test_the_order_of_views_with_absent_rows_changes_nothing() -> None:
    X = load_wine().data
    views = {"a": X[:, :6].copy(), "b": X[:, 6:].copy()}
    views["a"][::9] = np.nan
    views["b"][4::9] = np.nan
    p = np.random.default_rng(1).permutation(len(X))
    one = UnifiedSpectralClustering(3).fit(views)
    other = UnifiedSpectralClustering(3).fit({name: view[p] for name, view in views.items()})
    assert len(set(zip(one.labels_[p].tolist(), other.labels_.tolist(), strict=True))) == 3
    assert np.array_equal(one.predict(views), one.labels_)


def test_what_belongs_to_a_sample_stays_with_it() -> None:
    """Labels, embedding, graph and prediction are all in the order of the table."""
    X = load_digits().data[:500]
    model = UnifiedSpectralClustering(10).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.transform(X) == pytest.approx(model.embedding_, abs=1e-6)
    near = np.argsort(((X[:, None] - X[None]) ** 2).sum(axis=2), axis=1, kind="stable")[:, :31]
    rows, columns = model.graph_.nonzero()
    # Column i is the code of sample i.
    assert np.mean([row in near[column] for row, column in zip(rows, columns, strict=True)]) > 0.99


def test_copies_alone_keep_their_order() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 3, axis=0)
    order = spatial_order([X])
    assert sorted(order.tolist()) == list(range(60))
    assert (np.diff(order.reshape(20, 3), axis=1) == 1).all()


def test_numbers_too_large_to_square_have_some_order() -> None:
    X = np.full((5, 2), 1e300) * np.arange(5)[:, None]
    assert sorted(spatial_order([X]).tolist()) == list(range(5))


@pytest.mark.parametrize("n", [6, 9])
def test_a_graph_is_renumbered(n: int) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((6, 6)) < 0.5, rng.random((6, 6)), 0.0)
    numbers = rng.permutation(n)[:6]
    expected = np.zeros((n, n))
    expected[np.ix_(numbers, numbers)] = dense
    found = renumber(sp.csr_array(dense), numbers, n)
    assert np.array_equal(found.toarray(), expected)
    assert found.has_sorted_indices


def test_a_large_table_is_not_copied(monkeypatch) -> None:
    from unispectral.labelfree import _order

    monkeypatch.setattr(_order, "_MOST_BYTES", 0)
    monkeypatch.setattr(_order, "_ROW_BYTES", 8)
    X = load_digits().data[:300]
    model = UnifiedSpectralClustering(10).fit(X)
    assert model._predictor_.parts[0].samples is None
    assert np.array_equal(model.predict(X), model.labels_)


def test_samples_of_a_symmetric_shape_have_an_order_of_their_own() -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    X = np.round(
        np.vstack([r * np.column_stack([np.cos(angles), np.sin(angles)]) for r in (1, 2)]), 9
    )
    other = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(X[spatial_order([X])], X[other][spatial_order([X[other]])])
