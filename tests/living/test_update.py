"""Further samples for a fitted model: labels, graph, births, and numbers that last."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from unispectral import UnifiedSpectralClustering, load_model, save_model
from unispectral.living import _births
from unispectral.living._births import find_births
from unispectral.living.report import describe_changes
from unispectral.predict import row_blocks


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(600, centers=5, n_features=6, cluster_std=1.0, random_state=3)


def fitted(X, k=5, **params):
    return UnifiedSpectralClustering(k, committee=False, **params).fit(X)


def same_model(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.cluster_ids_, other.cluster_ids_)
    np.testing.assert_array_equal(one.membership_, other.membership_)
    np.testing.assert_array_equal(one.outlier_score_, other.outlier_score_)
    assert abs(one.affinity_matrix_ - other.affinity_matrix_).max() == 0
    assert one.changes_.equals(other.changes_)


def test_new_samples_get_what_predict_says_and_join_the_graph(blobs):
    X, _ = blobs
    model = fitted(X[:400])
    told = model.predict_all(X[400:450])
    old = model.affinity_matrix_.toarray()
    model.update(X[400:450], refit=False)
    np.testing.assert_array_equal(model.labels_[400:], told.labels)
    np.testing.assert_array_equal(model.membership_[400:], told.membership)
    np.testing.assert_array_equal(model.outlier_score_[400:], told.outlier_score)
    Z = model.graph_.toarray()
    assert Z.shape == (450, 450)
    # Codes of new samples sum to one and lean on no sample itself; old codes do not change.
    np.testing.assert_allclose(Z[:, 400:].sum(axis=0), 1.0)
    assert (np.diagonal(Z) == 0).all()
    assert not Z[400:, :400].any()
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), (Z + Z.T) / 2, atol=1e-12)
    added = Z.copy()
    added[:, :400] = 0
    np.testing.assert_allclose(
        model.affinity_matrix_.toarray()[:400, :400], old + (added + added.T)[:400, :400] / 2
    )


def test_codes_are_over_the_true_neighbours_among_old_and_new(blobs):
    X, _ = blobs
    model = fitted(X[:400], whiten=None)
    model.update(X[400:], refit=False)
    Z = model.graph_.toarray()
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    k = model._predictor_.n_candidates
    for i in range(400, 600):
        nearest = set(np.argsort(squared[i])[:k])
        assert set(np.flatnonzero(Z[:, i])) <= nearest


def test_the_model_predicts_with_the_samples_it_took_in(blobs):
    X, _ = blobs
    model = fitted(X[:400]).update(X[400:], refit=False)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_cluster_is_born_of_samples_that_fit_nowhere(blobs):
    X, y = blobs
    old = np.flatnonzero(y < 4)
    late = np.flatnonzero(y == 4)
    model = fitted(X[old], 4)
    before = model.labels_.copy()
    model.update(X[late[:5]], refit=False)
    assert model.n_clusters_ == 4  # too few
    model.update(X[late[5:60]], refit=False)
    assert model.n_clusters_ == 5
    np.testing.assert_array_equal(model.labels_[: len(old)], before)
    assert (model.labels_[len(old) :] == 4).all()
    assert model.cluster_ids_.tolist() == [0, 1, 2, 3, 4]
    born = model.changes_.query("change == 'born'")
    assert born[["update", "cluster", "rows", "samples"]].values.tolist() == [
        [2, 4, 60, len(old) + 60]
    ]
    assert (model.predict(X[late[60:]]) == 4).all()
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)
    assert model.membership_.shape[1] == model.rotation_.shape[0] == 5


@pytest.mark.parametrize("seed", range(4))
def test_one_cluster_is_born_as_one_and_two_as_two(seed):
    X, y = make_blobs(330, centers=5, n_features=4, random_state=seed + 20)
    old = X[y < 3]
    for late in ([3], [3, 4]):
        model = fitted(old, 3).update(X[np.isin(y, late)], refit=False)
        born = model.changes_.query("change == 'born'")
        assert sorted(born["rows"]) == sorted(np.bincount(y)[late])


def test_no_cluster_is_born_of_samples_like_those_of_before():
    rng = np.random.default_rng(0)
    model = fitted(rng.normal(size=(300, 5)), 3)
    for _ in range(4):
        model.update(rng.normal(size=(100, 5)), refit=False)
    assert not model.changes_["change"].isin(["born", "drifted"]).any()


def test_drift_is_reported_with_its_amount(blobs):
    X, y = blobs
    model = fitted(X[:400])
    moved = X[400:][y[400:] == y[0]] + 0.8
    assert len(moved) > 10
    model.update(moved, refit=False)
    drifted = model.changes_.query("change == 'drifted'")
    assert drifted["cluster"].tolist() == [int(model.labels_[0])]
    members = X[:400][model.labels_[:400] == model.labels_[0]]
    spread = np.sqrt(((members - members.mean(axis=0)) ** 2).sum(axis=1).mean())
    shift = np.linalg.norm(moved.mean(axis=0) - members.mean(axis=0))
    np.testing.assert_allclose(drifted["amount"], shift / spread, rtol=1e-6)


def test_refit_is_the_fit_on_everything_with_the_old_numbers(blobs):
    X, _ = blobs
    model = fitted(X[:300])
    before = model.labels_.copy()
    model.rename({0: "first"})
    model.update(X[300:], refit=True)
    whole = fitted(X)
    assert adjusted_rand_score(model.labels_, whole.labels_) == 1.0
    np.testing.assert_array_equal(model.labels_[:300], before)
    assert model.cluster_names_[0] == "first"
    assert model.changes_["change"].tolist().count("refitted") == 1


def test_numbers_of_merged_clusters_are_not_used_again(blobs):
    X, y = blobs
    model = fitted(X[y < 4][:200], 4)
    model.set_params(n_clusters=3)
    model.update(X[y < 4][200:300], refit=True)
    merged = model.changes_.query("change == 'merged'")
    assert len(merged) == 1
    gone = int(merged["cluster"].iloc[0])
    assert gone not in model.cluster_ids_
    assert int(merged["other"].iloc[0]) in model.cluster_ids_
    model.set_params(n_clusters=4)
    model.update(X[y < 4][300:], refit=True)
    assert model.changes_.query("change == 'split'")["cluster"].tolist() == [4]
    assert sorted(model.cluster_ids_) == sorted({*range(5)} - {gone})


def test_auto_refits_when_a_fifth_has_come(blobs):
    X, _ = blobs
    model = fitted(X[:400])
    model.update(X[400:450])
    assert "refitted" not in set(model.changes_["change"])
    model.update(X[450:480])
    assert model.changes_["change"].tolist().count("refitted") == 1
    model.update(X[480:530])
    assert model.changes_["change"].tolist().count("refitted") == 1


@pytest.mark.parametrize("refit", [False, True])
def test_saved_and_loaded_in_between_gives_the_same(blobs, tmp_path, refit):
    X, y = blobs
    order = np.argsort(y == 4, kind="stable")
    parts = np.array_split(X[order], 4)
    stays = fitted(parts[0], 4)
    goes = fitted(parts[0], 4)
    for part in parts[1:]:
        stays.update(part, refit=refit)
        save_model(goes, tmp_path / "m")
        goes = load_model(tmp_path / "m").update(part, refit=refit)
    save_model(goes, tmp_path / "m")
    same_model(stays, load_model(tmp_path / "m"))
    np.testing.assert_array_equal(stays.predict(X), load_model(tmp_path / "m").predict(X))


@pytest.mark.parametrize("whiten", [3.0, "auto"])
@pytest.mark.parametrize("kernels", ["linear", "gaussian", ["gaussian", "polynomial"]])
def test_kernels_and_whitened_geometries_grow(blobs, kernels, whiten, tmp_path):
    X, _ = blobs
    model = fitted(X[:300], kernels=kernels, whiten=whiten)
    told = model.predict(X[300:330])
    model.update(X[300:330], refit=False)
    np.testing.assert_array_equal(model.labels_[300:], told)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X[330:]), model.predict(X[330:]))
    model.update(X[330:400], refit=True)
    assert len(model.labels_) == 400


def test_views_grow_and_rows_that_lack_one_are_placed_as_predicted(blobs):
    X, _ = blobs
    views = {"left": X[:, :3], "right": X[:, 3:]}

    def rows(part):
        return {name: table[part] for name, table in views.items()}

    model = fitted(rows(slice(0, 300)))
    batch = rows(slice(300, 340))
    batch["left"] = batch["left"].copy()
    batch["left"][::4] = np.nan
    told = model.predict_all(batch)
    model.update(batch, refit=False)
    np.testing.assert_array_equal(model.labels_[300:], told.labels)
    np.testing.assert_allclose(model.graph_.toarray()[:, 300:].sum(axis=0), 1.0)
    model.update(rows(slice(340, 400)), refit=True)
    assert adjusted_rand_score(model.labels_, fitted(rows(slice(0, 400))).labels_) > 0.95


def test_a_view_without_weight_has_none_after_a_refit(blobs):
    X, _ = blobs
    noise = np.random.default_rng(0).normal(size=(600, 4))
    views = {"noise": noise, "data": X, "more": X[:, :4]}

    def rows(part):
        return {name: table[part] for name, table in views.items()}

    model = fitted(rows(slice(0, 400)))
    assert model.view_weights_["noise"] == 0
    model.update(rows(slice(400, 500)), refit=True)
    assert list(model.view_weights_) == ["noise", "data", "more"]
    assert model.view_weights_["noise"] == 0
    assert len(model.predict(rows(slice(500, 600)))) == 100


def test_sparse_tables_grow(blobs):
    X, _ = blobs
    sparse = sp.csr_array(np.where(X > 0, X, 0.0))
    model = fitted(sparse[:400])
    told = model.predict(sparse[400:450])
    model.update(sparse[400:450], refit=False)
    np.testing.assert_array_equal(model.labels_[400:], told)
    model.update(sparse[450:], refit=True)
    assert len(model.labels_) == 600


def test_frames_keep_their_index(blobs):
    X, _ = blobs
    frame = pd.DataFrame(X, columns=list("abcdef"), index=[f"row {i}" for i in range(600)])
    model = fitted(frame[:400]).update(frame[400:450], refit=False)
    assert list(model._sample_index_) == list(frame.index[:450])
    with pytest.raises(ValueError, match="other columns than the fit"):
        model.update(frame[450:][list("fedcba")])


@pytest.mark.parametrize(
    "bad",
    [
        lambda X: X[:, :4],
        lambda X: X[:0],
        lambda X: np.where(X > 3, np.nan, X),
        lambda X: X.astype(str) + "x",
        lambda X: X[0],
    ],
    ids=["columns", "no rows", "gaps", "text", "one row"],
)
def test_a_bad_batch_is_refused_as_predict_refuses_it(blobs, bad):
    X, _ = blobs
    model = fitted(X[:400])
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError)) as of_predict:
        model.predict(bad(X[400:450]))
    with pytest.raises(type(of_predict.value)) as of_update:
        model.update(bad(X[400:450]))
    assert str(of_update.value) == str(of_predict.value)
    assert vars(model).keys() == before.keys()
    assert all(value is before[key] for key, value in vars(model).items())


def test_duplicates_and_other_dtypes_are_taken_as_predict_takes_them(blobs):
    X, _ = blobs
    X = X.round().astype(np.float64)
    model = fitted(X[:400])
    twice = np.concatenate([X[:30], X[:30]]).astype(np.int16)
    told = model.predict(twice)
    np.testing.assert_array_equal(told[:30], model.labels_[:30])
    model.update(twice, refit=False)
    np.testing.assert_array_equal(model.labels_[400:], told)
    np.testing.assert_array_equal(model.predict(X[:30]), model.labels_[:30])


def test_samples_that_came_several_times_are_all_there_at_a_refit(blobs):
    X, _ = blobs
    twice = np.concatenate([X[:300], X[:100]])
    model = fitted(twice).update(X[300:400], refit=True)
    whole = fitted(np.concatenate([twice, X[300:400]]))
    assert adjusted_rand_score(model.labels_, whole.labels_) == 1.0
    np.testing.assert_array_equal(model.labels_[300:400], model.labels_[:100])


def test_an_interrupt_leaves_the_old_model(blobs, monkeypatch):
    X, _ = blobs
    model = fitted(X[:400])
    before = dict(vars(model))

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("unispectral.living.find_births", stop)
    with pytest.raises(KeyboardInterrupt):
        model.update(X[400:])
    assert all(value is before[key] for key, value in vars(model).items())


def test_models_that_cannot_grow_say_so(blobs):
    X, _ = blobs
    kernel = X[:100] @ X[:100].T
    model = fitted(kernel, kernels="precomputed")
    with pytest.raises(ValueError, match="fit the model to all samples"):
        model.update(kernel[:5])
    with pytest.raises(ValueError, match="no edges between new nodes"):
        fitted(
            np.exp(kernel / 99) - np.diag(np.exp(np.diag(kernel) / 99)), kernels="graph"
        ).update(np.ones((5, 100)))
    with pytest.raises(ValueError, match="must be True, False or 'auto'"):
        fitted(X).update(X, refit="never")
    with pytest.raises(NotFittedError):
        UnifiedSpectralClustering().update(X)


def test_a_fit_forgets_what_was_before(blobs):
    X, _ = blobs
    model = fitted(X[:400]).update(X[400:450], refit=False)
    assert len(model.changes_)
    assert not len(model.fit(X).changes_)
    assert model.cluster_ids_.tolist() == list(range(5))


def test_a_hundred_updates_hold_no_more_than_tables_and_graph(blobs):
    X, _ = blobs
    model = fitted(X[:100])
    for start in range(100, 600, 5):
        model.update(X[start : start + 5], refit=False)
    assert model._record_.n_updates == 100
    assert len(model.labels_) == 600
    tables = {
        id(one.kernel.source.X): one.kernel.source.X
        for part in model._predictor_.parts
        for one in part.geometry.base.parts
    }
    (table,) = tables.values()  # shared by all parts
    assert table.base is None  # nobody holds those of before
    assert table.shape == (600, 6)
    assert model.graph_.nnz <= 600 * model._predictor_.n_candidates + 100 * 20
    assert len(model._record_.events) <= 100 * 2 * model.n_clusters_


@pytest.mark.parametrize("late", [False, True])
def test_digits_as_a_stream_end_as_a_fit_on_everything(late):
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:420], y[:420]
    rng = np.random.default_rng(0)
    when = rng.uniform(size=len(y))
    if late:
        when = np.where(y >= 3, rng.uniform(0.4, 1, len(y)), when)
    order = np.argsort(when, kind="stable")
    batches = np.array_split(order, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first batch is small
        model = UnifiedSpectralClustering("auto", committee=False).fit(X[batches[0]])
        for batch in batches[1:]:
            model.update(X[batch])
        whole = UnifiedSpectralClustering("auto", committee=False).fit(X)
    found = adjusted_rand_score(y[order], model.labels_)
    assert found >= adjusted_rand_score(y, whole.labels_) - 0.03


def test_many_samples_are_found_by_an_index_and_those_that_came_later(monkeypatch, tmp_path):
    monkeypatch.setattr("unispectral.predict.EXACT_SAMPLES", 300)
    monkeypatch.setattr("unispectral.living._growth.EXACT_SAMPLES", 300)
    X, _ = make_blobs(700, centers=4, n_features=12, random_state=0)
    model = fitted(X[:500], 4)
    exact = fitted(X[:500], 4)
    model.predict(X[:5])  # makes the index
    for part in (X[500:540], X[540:600]):
        model.update(part, refit=False)
        monkeypatch.setattr("unispectral.predict.EXACT_SAMPLES", 10_000)
        exact.update(part, refit=False)
        monkeypatch.setattr("unispectral.predict.EXACT_SAMPLES", 300)
    part = model._predictor_.parts[0]
    assert part.n_indexed == 500
    assert part._index["index"].points.base is part._table()
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    told = model.predict_all(X[600:])
    np.testing.assert_array_equal(told.labels, exact.predict(X[600:]))
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m").predict_all(X[600:])
    np.testing.assert_array_equal(again.membership, told.membership)
    model.update(np.tile(X[600:], (4, 1)), refit=False)
    assert model._predictor_.parts[0].n_indexed is None  # all get one index
    assert len(list(row_blocks(X))) == 1


def test_a_drift_that_no_single_batch_shows_is_seen_over_several(blobs):
    X, y = blobs
    model = fitted(X[:400])
    moved = X[400:][y[400:] == y[0]][:24] + 1.0
    for start in range(0, 24, 6):  # fewer than are needed to speak of drift
        model.update(moved[start : start + 6], refit=False)
    drifted = model.changes_.query("change == 'drifted'")
    assert set(drifted["cluster"]) == {int(model.labels_[0])}
    assert drifted["rows"].tolist() == (6 * drifted["update"]).tolist()


def test_a_model_keeps_to_what_fit_was_told(blobs):
    X, y = blobs
    told = np.where(np.arange(400) < 40, y[:400], -1)
    model = UnifiedSpectralClustering(5, committee=False).fit(X[:400], told)
    model.update(X[400:])  # half as many more: others would be clustered anew
    assert "refitted" not in set(model.changes_["change"])
    with pytest.raises(ValueError, match="refit=True would forget what fit was told"):
        model.update(X[:5], refit=True)
    weights = np.where(np.arange(400) < 20, 0, 1)
    model = UnifiedSpectralClustering(5, committee=False).fit(X[:400], sample_weight=weights)
    model.update(X[400:])
    assert len(model.labels_) == 600
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_limits_of_size_hold_when_all_are_clustered_anew(blobs):
    X, _ = blobs
    model = fitted(X[:300], min_cluster_size=50, max_cluster_size=70)
    model.update(X[300:500], refit=False)
    model.set_params(min_cluster_size=95, max_cluster_size=105)
    model.update(X[500:510], refit=True)
    sizes = np.bincount(model.labels_)
    assert sizes.min() >= 95
    assert sizes.max() <= 105


def test_the_summary_says_what_was_born_since(blobs):
    X, y = blobs
    for count, why in ((4, "Why 5: 4 were asked for"), ("auto", "stand out most")):
        model = fitted(X[y < 4], count).update(X[y == 4], refit=False)
        told = str(model.summary(refit=False))
        assert why in told
        assert "since then 1 more was born" in told
    assert "since then" not in str(model.update(X[:5], refit=True).summary(refit=False))


def test_changes_are_told_with_names_as_they_were_given(blobs):
    X, y = blobs
    model = fitted(X[y < 4][:200], 4).rename({0: "VIPs", 1: "Others"})
    model.set_params(n_clusters=2)
    model.update(X[y < 4][200:300], refit=True)
    told = describe_changes(model)
    assert "All 300 rows were clustered anew." in told
    assert any(line.startswith("Cluster ") and " merged into cluster " in line for line in told)
    assert not any("vips" in line or "others)" in line for line in told)


@pytest.mark.parametrize("count", [1, 2])
def test_a_large_cluster_is_born_as_one(count, monkeypatch):
    """Of many samples the communities of one cluster are several."""
    rng = np.random.default_rng(0)
    old = rng.normal(size=(4000, 2)) + np.repeat([[0.0, 0.0], [12.0, 0.0]], 2000, axis=0)
    where = np.array([[0.0, 30.0], [60.0, 30.0]])[:count]
    new = rng.normal(size=(1200 * count, 2)) + np.repeat(where, 1200, axis=0)
    W = sp.csr_array(kneighbors_graph(np.vstack([old, new]), 8))
    W = sp.csr_array(W + W.T)
    labels = np.zeros(len(old) + len(new), dtype=int)
    labels[2000:4000] = 1
    fresh = np.arange(len(labels)) >= len(old)
    found = find_births(W, labels, fresh, fresh)
    assert sorted(len(members) for members in found) == [1200] * count
    monkeypatch.setattr(_births, "_MANY", len(labels))
    assert len(find_births(W, labels, fresh, fresh)) != count


def test_many_samples_keep_the_precision_of_their_memberships(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=51_000)
    X = rng.normal(size=(51_000, 2)) + 12.0 * kind[:, None]
    model = UnifiedSpectralClustering(2, random_state=0).fit(X)
    save_model(model, tmp_path / "m")
    later = load_model(tmp_path / "m").update(X[:30] + 0.01, refit=False)
    for one in (model, later):
        assert one.embedding_.dtype == one.membership_.dtype == np.float32
    np.testing.assert_array_equal(later.labels_[-30:], model.labels_[:30])
