"""Several views or kernels: which are used, their sum, and what it says of new points."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from unispectral import DoubtfulResultWarning, UnifiedSpectralClustering
from unispectral._run import Run
from unispectral.datasets import load_multiview_digits
from unispectral.kernels import Gaussian, KernelBank, Linear
from unispectral.labelfree import Recipe, _fit, cluster
from unispectral.labelfree._geometry import (
    KernelDistance,
    KernelPart,
    nearest_in,
)
from unispectral.labelfree._neighbourhoods import localize
from unispectral.labelfree._views import complete_view, fuse_views
from unispectral.labelfree._weights import (
    LEAST_SHARED,
    are_informative,
    discriminant_weights,
    shared_neighbours,
    view_weights,
)
from unispectral.persistence import load_model, save_model


def _gaussian(points):
    squared = euclidean_distances(points, squared=True)
    return np.exp(-squared / (2.0 * np.median(squared)))


def _views(seed=0, n=240):
    """Two views that show the clusters, more and less clearly, and one that shows nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    views = {}
    for name, gap in (("clear", 4.0), ("blurred", 1.8)):
        views[name] = rng.normal(size=(4, 6))[y] * gap / np.sqrt(6) + rng.normal(
            size=(n, 6)
        ) / np.sqrt(6)
    views["noise"] = rng.normal(size=(n, 3))
    return views, y


def _around(points, k=8):
    bank = KernelBank(points, "linear", normalize="none", gram=False)
    return localize(KernelDistance([KernelPart(bank[0], 0)]), k, Run.of())


def test_shared_neighbours_are_counted_beyond_chance():
    """Against the plain count: pairs in both lists, and how many chance would put there."""
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(80, 2)) for _ in range(2)]
    points.append(points[0] + 0.1 * rng.normal(size=(80, 2)))
    around = [_around(one, 5) for one in points]
    found = shared_neighbours(around)
    np.testing.assert_array_equal(found, found.T)
    assert (np.diagonal(found) == 0).all()
    chance = 80 * 5 * 80 * 5 / (80 * 79)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = sum(
            len(set(a) & set(b))
            for a, b in zip(
                around[i].neighbours.tolist(), around[j].neighbours.tolist(), strict=True
            )
        )
        assert found[i, j] == pytest.approx((both - chance) / np.sqrt(chance), rel=1e-5)
    assert found[0, 2] > LEAST_SHARED > max(found[0, 1], found[1, 2])
    assert are_informative(around).tolist() == [True, False, True]
    assert are_informative(around[:2]).tolist() == [False, False]


@pytest.mark.parametrize("n_features", [2, 10])
def test_noise_beside_good_kernels_gets_no_weight(n_features):
    X, y = make_moons(300, noise=0.05, random_state=2)
    rng = np.random.default_rng(1)
    noise = [_gaussian(rng.normal(size=(300, n_features))) for _ in range(3)]
    kernels = [noise[0], _gaussian(X), *noise[1:], X @ X.T]
    model = UnifiedSpectralClustering(2, kernels="precomputed", n_init=4).fit(kernels)
    assert model.kernel_weights_.tolist() == [0.0, 0.5, 0.0, 0.0, 0.5]
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert (model.kernel_agreement_[[0, 2, 3]] == 0).all()
    assert model.kernel_agreement_[[1, 4]].min() > 0.3


@pytest.mark.parametrize("n_features", [2, 10])
def test_noise_beside_one_good_kernel_gets_no_weight(n_features):
    X, y = make_moons(300, noise=0.05, random_state=2)
    rng = np.random.default_rng(1)
    noise = [_gaussian(rng.normal(size=(300, n_features))) for _ in range(3)]
    kernels = [noise[0], _gaussian(X), *noise[1:]]
    model = UnifiedSpectralClustering(2, kernels="precomputed", n_init=4).fit(kernels)
    assert model.kernel_weights_.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_noisy_moons_are_told_apart(seed):
    X, y = make_moons(300, noise=0.06, random_state=seed)
    assert adjusted_rand_score(y, UnifiedSpectralClustering(2).fit_predict(X)) == 1.0


def test_a_view_of_noise_leaves_no_trace():
    """Whatever its unit: neither in the graph nor in the order in which samples are taken."""
    views, _ = _views()
    noise = 100.0 * views.pop("noise")
    alone = UnifiedSpectralClustering(4).fit(views)
    beside = UnifiedSpectralClustering(4).fit({"noise": noise, **views})
    assert beside.view_weights_ == {"noise": 0.0, **alone.view_weights_}
    assert np.array_equal(beside.labels_, alone.labels_)
    assert (beside.affinity_matrix_ != alone.affinity_matrix_).nnz == 0
    assert np.array_equal(beside.predict({"noise": noise, **views}), alone.labels_)


def test_views_of_which_none_shows_anything_are_all_used():
    rng = np.random.default_rng(0)
    model = UnifiedSpectralClustering(3, n_init=2).fit([rng.normal(size=(150, 4)) for _ in "ab"])
    np.testing.assert_allclose(model.kernel_weights_, [0.5, 0.5], atol=0.05)


def test_a_view_weighs_more_the_clearer_it_shows_what_others_show():
    views, y = _views()
    model = UnifiedSpectralClustering(4, n_init=4).fit(views)
    weights = model.view_weights_
    assert weights["clear"] > 2 * weights["blurred"] > weights["noise"] == 0.0
    assert sum(weights.values()) == pytest.approx(1.0)
    agreed = model.kernel_agreement_
    assert agreed[0] > agreed[1] > agreed[2] == 0.0
    assert set(model.geometry_weights_) == {"all views", "clear:linear", "blurred:linear"}
    assert model.geometry_weights_["all views"] == 0.75
    assert model.geometry_weights_["clear:linear"] == pytest.approx(0.25 * weights["clear"])
    assert sum(model.geometry_weights_.values()) == pytest.approx(1.0)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert (model.predict(views) == model.labels_).all()
    part = {name: view[:40] + 1e-3 for name, view in views.items()}
    assert (model.predict(part) == model.labels_[:40]).mean() > 0.95
    part["blurred"][:5] = np.nan  # described by the others alone
    assert (model.predict(part)[:5] == model.labels_[:5]).all()


def test_the_share_of_all_views_together_is_a_number_of_the_recipe():
    views, _ = _views()
    graphs = {
        share: cluster(views, Recipe(4, fused_share=share, max_iter=1, repair=False)).Z
        for share in (0.0, 0.5, 1.0)
    }
    mixed = 0.5 * graphs[0.0] + 0.5 * graphs[1.0]
    np.testing.assert_allclose(graphs[0.5].toarray(), mixed.toarray(), atol=1e-9)
    assert abs(graphs[0.0] - graphs[1.0]).max() > 0.1


def test_each_view_is_measured_in_its_own_median():
    rng = np.random.default_rng(0)
    banks = [
        KernelBank(unit * rng.normal(size=(30, d)), (Linear(),), normalize="none")
        for unit, d in ((1e-3, 3), (1e4, 2))
    ]
    distances = [KernelDistance([KernelPart(bank[0], at)]) for at, bank in enumerate(banks)]
    together = fuse_views(distances, np.array([0.25, 0.75]))
    every = np.arange(30)
    shares = [
        part.scale * KernelDistance([part._replace(scale=1.0)]).distances(every, every)
        for part in together.parts
    ]
    for one, weight in zip(shares, (0.25, 0.75), strict=True):
        assert np.median(one[np.triu_indices(30, 1)]) == pytest.approx(weight)
    np.testing.assert_allclose(together.distances(every, every), sum(shares), atol=1e-9)


def test_weights_are_inverse_to_the_distances_between_the_neighbours_of_others():
    """Against loops over the samples, also where views lack some of them."""
    rng = np.random.default_rng(1)
    n = 40
    tables = [rng.normal(size=(n, 2)), rng.normal(size=(n, 3)), rng.normal(size=(n, 1))]
    has = [np.ones(n, bool), np.arange(n) >= 6, np.arange(n) < 35]
    lists, far = [], []
    for table, own in zip(tables, has, strict=True):
        squared = euclidean_distances(table, squared=True)
        squared[:, ~own] = squared[~own] = np.inf
        np.fill_diagonal(squared, np.inf)
        lists.append({i: np.argsort(squared[i])[:4] for i in np.flatnonzero(own)})
    for v, (table, own) in enumerate(zip(tables, has, strict=True)):
        squared = euclidean_distances(table, squared=True)
        means = []
        for u in range(3):
            if u != v:
                pairs = [(i, j) for i, near in lists[u].items() for j in near if own[i] and own[j]]
                means.append(np.mean([squared[pair] for pair in pairs]))
        inside = squared[np.ix_(own, own)]
        far.append(np.mean(means) / np.median(inside[np.triu_indices(len(inside), 1)]))
    expected = (1 / np.array(far)) / np.sum(1 / np.array(far))
    present = [None if own.all() else own for own in has]
    views, around = [], []
    for at, (table, own) in enumerate(zip(tables, present, strict=True)):
        some = table if own is None else table[own]
        bank = KernelBank(some, "linear", normalize="none", gram=False)
        views.append(KernelDistance([KernelPart(bank[0], at)]))
        around.append(localize(views[-1], 4, Run.of(), own))
    np.testing.assert_allclose(view_weights(views, present, around), expected, rtol=1e-9)


def test_discriminant_weights_are_those_of_fisher():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=90)
    tables = [rng.normal(size=(3, d))[y] * 2 + rng.normal(size=(90, d)) for d in (2, 12)]
    banks = [KernelBank(table, Linear(), normalize="none", gram=False) for table in tables]
    views = [KernelDistance([KernelPart(bank[0], at)]) for at, bank in enumerate(banks)]
    around = [localize(view, 5, Run.of(1)) for view in views]
    squared = [euclidean_distances(table, squared=True) for table in tables]
    expected = []
    for own, other in ((0, 1), (1, 0)):
        pairs = squared[own][np.triu_indices(90, 1)]
        near = squared[own][np.arange(90)[:, None], around[other].neighbours].mean()
        # In raw units the discriminant; the sum of distances takes it in those of the median.
        expected.append((pairs.mean() - near) / pairs.var() * np.median(pairs))
    weights = discriminant_weights(views, around)
    np.testing.assert_allclose(weights, np.array(expected) / np.sum(expected), rtol=1e-9)


def test_discriminant_weights_of_constant_views_are_equal():
    bank = KernelBank(np.zeros((9, 2)), Linear(), normalize="none", gram=False)
    views = [KernelDistance([KernelPart(bank[0], at)]) for at in range(2)]
    around = [localize(view, 3, Run.of(1)) for view in views]
    assert discriminant_weights(views, around).tolist() == [0.5, 0.5]


def test_weights_compete_and_the_clearer_clusters_are_kept(monkeypatch, tmp_path):
    digits = load_multiview_digits()
    views = digits.views
    model = UnifiedSpectralClustering(10).fit(views)
    monkeypatch.setattr(_fit, "reweigh_views", lambda chosen: None)
    first = UnifiedSpectralClustering(10).fit(views)
    assert model.geometry_weights_ == {"all views": 1.0}
    assert len(first.geometry_weights_) == 1 + len(views)
    assert model.kernel_agreement_.max() > first.kernel_agreement_.max()
    expected, found = (adjusted_rand_score(digits.target, one.labels_) for one in (first, model))
    assert found > expected + 0.05
    assert (model.predict(views) == model.labels_).all()
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(views), model.labels_)
    lacking = {name: np.where(np.arange(1797)[:, None] % 9, 1.0, np.nan) * views[name]
               if name == "pixels" else views[name] for name in views}  # fmt: skip
    found = model.predict(lacking)
    assert (found == model.labels_)[::9].mean() > 0.95  # by the other views
    assert (found == model.labels_)[np.arange(1797) % 9 > 0].all()
    np.testing.assert_array_equal(loaded.predict(lacking), found)


@pytest.mark.parametrize(
    ("second", "taken"), [((0.34, 0.77), False), ((0.60, 0.77), True), ((0.68, 0.72), False)]
)
def test_weights_that_follow_one_view_and_ignore_another_are_refused(
    monkeypatch, second: tuple[float, float], taken: bool
) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    views = [rng.normal(size=(90, 3)) + 4.0 * rng.normal(size=(3, 3))[y] for _ in range(2)]
    told = iter([np.array([0.68, 0.73]), np.array(second)])
    monkeypatch.setattr(_fit, "modularity_per_view", lambda graphs, labels: next(told))
    model = UnifiedSpectralClustering(3, n_jobs=1).fit(views)
    expected = second if taken else (0.68, 0.73)
    assert model.kernel_agreement_.tolist() == list(expected)


def _absent(views, share, seed=0):
    """The views without some of their rows, each sample being left in one of them at least."""
    rng = np.random.default_rng(seed)
    n = len(next(iter(views.values())))
    lost = rng.random((len(views), n)) < share
    lost[rng.integers(len(views), size=n), np.arange(n)] = False
    return {
        name: np.where(gone[:, None], np.nan, table)
        for (name, table), gone in zip(views.items(), lost, strict=True)
    }


@pytest.mark.parametrize(("share", "least"), [(0.02, 0.95), (0.1, 0.9), (0.3, 0.75)])
def test_rows_that_views_lack_are_filled_from_neighbours_in_others(share, least, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=400)
    views = {}
    for pair in range(3):  # tells the clusters of one pair apart, and the rest in two lumps
        shown = np.where(y // 2 == pair, y, 10 + (y // 2 == (pair + 1) % 3))
        lumps, at = np.unique(shown, return_inverse=True)
        centres = 2.0 * rng.normal(size=(len(lumps), 10))
        views[f"view {pair}"] = centres[at] + rng.normal(size=(400, 10))
    given = _absent(views, share)
    model = UnifiedSpectralClustering(6).fit(given)
    assert adjusted_rand_score(y, model.labels_) > least
    assert "all views" in model.geometry_weights_
    np.testing.assert_array_equal(model.predict(given), model.labels_)
    save_model(model, tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(given), model.labels_)


def test_a_completed_view_has_the_mean_rows_of_neighbours():
    rng = np.random.default_rng(2)
    table, present = rng.normal(size=(8, 3)), np.arange(8) % 4 != 1  # lacks 1 and 5
    bank = KernelBank(table[present], Linear(), normalize="none", gram=False)
    view = KernelDistance([KernelPart(bank[0], 0)])
    others = [np.full((8, 2), -1), np.full((8, 1), -1)]
    others[0][1], others[1][1] = [0, 5], [7]  # of which 5 is lacking here, too
    found = complete_view(view, present, others).features()
    expected = table.copy()
    expected[1] = (table[0] + table[7]) / 2
    expected[5] = table[present].mean(axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_kernels_of_one_table_do_not_compete(monkeypatch):
    X, _ = make_blobs(80, random_state=0)
    # which is not called
    monkeypatch.setattr("unispectral.labelfree._views.discriminant_weights", None)
    UnifiedSpectralClustering(3, kernels=["linear", "gaussian"]).fit(X)


def test_weights_of_views_without_common_samples_are_equal():
    half = np.arange(20) < 10
    present = [half, ~half]
    table = np.arange(10.0)[:, None]
    bank = KernelBank(table, "linear", normalize="none", gram=False)
    views = [KernelDistance([KernelPart(bank[0], at)]) for at in range(2)]
    around = [localize(view, 3, Run.of(), own) for view, own in zip(views, present, strict=True)]
    assert view_weights(views, present, around).tolist() == [0.5, 0.5]


def test_copies_of_samples_give_no_view_all_the_weight():
    rng = np.random.default_rng(0)
    once = rng.normal(size=(20, 3))
    tables = [np.repeat(once, 9, axis=0), rng.normal(size=(180, 3))]
    banks = [KernelBank(table, "linear", normalize="none", gram=False) for table in tables]
    views = [KernelDistance([KernelPart(bank[0], at)]) for at, bank in enumerate(banks)]
    copies = localize(views[0], 8, Run.of())
    weights = view_weights(views, [None, None], [copies, copies])
    assert np.isfinite(weights).all()
    assert 0.9 < weights[0] < 1.0


def test_a_fused_geometry_is_the_weighted_sum():
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(30, 3)), rng.normal(size=(30, 2))]
    banks = [KernelBank(one, (Linear(),), normalize="none") for one in tables]
    fused = KernelDistance([KernelPart(banks[0][0], 0, 2.0), KernelPart(banks[1][0], 1, 0.5)])
    stacked = np.hstack([np.sqrt(2.0) * tables[0], np.sqrt(0.5) * tables[1]])
    expected = euclidean_distances(stacked, squared=True)
    every = np.arange(30)
    np.testing.assert_allclose(fused.distances(every, every), expected, atol=1e-9)
    np.testing.assert_allclose(fused.cross(tables), expected, atol=1e-9)
    np.testing.assert_allclose(fused.search_table(), stacked)
    nearest = np.argsort(expected + 1e9 * np.eye(30), axis=1)[:, :4]
    assert (nearest_in(fused, 4, Run.of()) == nearest).all()
    near, among = fused.around(every, nearest)
    np.testing.assert_allclose(near, np.take_along_axis(expected, nearest, axis=1), atol=1e-9)
    np.testing.assert_allclose(among[3], expected[np.ix_(nearest[3], nearest[3])], atol=1e-9)
    # Without tables all pairs are looked at.
    gaussian = KernelBank(tables[0], (Gaussian(),), normalize="none")
    other = KernelDistance([KernelPart(gaussian[0], 0), KernelPart(banks[1][0], 1)])
    assert other.search_table() is None
    found = other.distances(every, every) + 1e9 * np.eye(30)
    assert (nearest_in(other, 4, Run.of()) == np.argsort(found, axis=1)[:, :4]).all()


def test_fused_models_of_matrices_predict_and_are_saved(tmp_path):
    views, _ = _views()
    tables = [views["clear"], views["blurred"]]
    kernels = [one @ one.T for one in tables]
    model = UnifiedSpectralClustering(4, kernels="precomputed", n_init=3).fit(kernels)
    assert "all views" in model.geometry_weights_
    cross = [(one[:50] + 1e-3) @ one.T for one in tables]
    found = model.predict(cross)
    assert (found == model.labels_[:50]).mean() > 0.95
    model = UnifiedSpectralClustering(4, n_init=3).fit(tables)
    save_model(model, tmp_path / "m.npz")
    again = load_model(tmp_path / "m.npz")
    new = [one[:50] + 0.1 for one in tables]
    assert (again.predict(new) == model.predict(new)).all()
    np.testing.assert_array_equal(again.kernel_agreement_, model.kernel_agreement_)


def test_one_kernel_has_nothing_to_agree_with():
    X, _ = make_moons(60, random_state=0)
    assert UnifiedSpectralClustering(2, n_init=2).fit(X).kernel_agreement_ is None


@pytest.mark.parametrize("n_features", [2, 10])
def test_noise_beside_one_good_kernel_is_left_out(n_features: int) -> None:
    """No second kernel shares its neighbours, and noise of few columns bends into many."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(5), 60)
    X = rng.normal(size=(5, 20))[y] * 3 + rng.normal(size=(300, 20))
    kernels = [_gaussian(X)]
    kernels += [_gaussian(rng.normal(size=(300, n_features))) for _ in range(3)]
    model = UnifiedSpectralClustering(5, kernels="precomputed").fit(kernels)
    assert model.kernel_weights_.tolist() == [1.0, 0.0, 0.0, 0.0]


def _lost(lost, spread):
    """A view that shows the clusters and lacks some samples, and one of noise that has all."""
    X, _ = make_blobs(200, centers=4, n_features=6, cluster_std=spread, random_state=1)
    views = {"num": X.copy(), "noise": np.random.default_rng(0).normal(size=(200, 5))}
    views["num"][lost] = np.nan
    return views, np.delete(X, lost, axis=0)


@pytest.mark.filterwarnings("ignore:Cluster")
@pytest.mark.parametrize("lost", [range(40), range(100, 180), [7]], ids=["first", "many", "one"])
@pytest.mark.parametrize("spread", [1.0, 3.0], ids=["apart", "overlapping"])
def test_samples_in_no_view_with_a_weight_change_nothing_and_are_called_so(lost, spread):
    """The others are clustered as if these were not there."""
    views, rest = _lost(lost, spread)
    words = rf"^{len(lost)} of 200 samples (is|are) in no view that has a weight"
    with pytest.warns(DoubtfulResultWarning, match=words):
        model = UnifiedSpectralClustering(4).fit(views)
    assert model.view_weights_ == {"num": 1.0, "noise": 0.0}
    alone = UnifiedSpectralClustering(4).fit(rest)
    np.testing.assert_array_equal(np.delete(model.labels_, lost), alone.labels_)
    np.testing.assert_array_equal(np.delete(model.outlier_score_, lost), alone.outlier_score_)
    assert (model.outlier_score_[lost] == 1.0).all()
    assert (model.membership_[lost] == 0.25).all()
    assert (model.graph_[lost].nnz, model.graph_[:, lost].nnz) == (0, 0)
    assert np.delete(model.outlier_score_, lost).max() < 1.0
    with pytest.warns(DoubtfulResultWarning, match=words):
        again = model.predict_all(views)
    np.testing.assert_array_equal(again.labels, model.labels_)
    np.testing.assert_array_equal(again.outlier_score, model.outlier_score_)
    np.testing.assert_array_equal(again.membership[lost], model.membership_[lost])


def test_new_samples_in_no_view_with_a_weight_are_called_so():
    views, _ = _views()
    model = UnifiedSpectralClustering(4, n_init=4).fit(views)
    new = {name: view[:40] + 1e-3 for name, view in views.items()}
    new["blurred"][:5] = np.nan
    new["clear"][4] += 100.0
    part = model.predict_all(new)
    assert part.outlier_score[:4].min() > 0  # judged by the view that has them
    assert part.outlier_score[4] > 0.9
    new["clear"][:2] = np.nan
    with pytest.warns(DoubtfulResultWarning, match="^2 of 40 samples are in no view that has"):
        found = model.predict_all(new)
    assert (found.outlier_score[:2] == 1.0).all()
    assert (found.membership[:2] == 0.25).all()
    for mine, theirs in zip(found, part, strict=True):
        np.testing.assert_array_equal(mine[2:], theirs[2:])
