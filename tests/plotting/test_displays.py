"""Displays: the data they show are right, and large inputs are thinned."""

from __future__ import annotations

import itertools
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.text import Text
from scipy.spatial import cKDTree
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError

from unispectral import SCSK, UnifiedSpectralClustering
from unispectral._errors import InputError
from unispectral.answers.tree import grow_tree
from unispectral.baselines import SC
from unispectral.plotting import (
    ClusterCountDisplay,
    EmbeddingDisplay,
    GraphMatrixDisplay,
    KernelWeightsDisplay,
    RepresentativesDisplay,
    SpectrumDisplay,
    TreeDisplay,
    overview,
)
from unispectral.plotting._base import Clusters
from unispectral.plotting._layout import cluster_map, middle_places
from unispectral.plotting.charts import distances_in_words

OF_AN_ESTIMATOR = (
    EmbeddingDisplay,
    GraphMatrixDisplay,
    KernelWeightsDisplay,
    SpectrumDisplay,
)


# What all displays have in common


@pytest.mark.parametrize("display", OF_AN_ESTIMATOR)
def test_draws_on_the_axes_given_and_on_its_own(display, model):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    given = display.from_estimator(model, ax=ax)
    assert given.ax_ is ax
    assert given.figure_ is figure
    own = given.plot()
    assert own.ax_ is not ax
    own.figure_.canvas.draw()


@pytest.mark.parametrize("display", OF_AN_ESTIMATOR)
def test_unfitted_and_unfit(display, blobs):
    with pytest.raises(NotFittedError):
        display.from_estimator(SCSK(2))
    with pytest.raises(TypeError, match="KMeans, which has no"):
        display.from_estimator(KMeans(2, n_init=1).fit(blobs))


@pytest.mark.parametrize("display", OF_AN_ESTIMATOR)
def test_draws_many_clusters_without_naming_each(display, made):
    shown = display.from_estimator(made.many)
    shown.figure_.canvas.draw()
    assert shown.ax_.get_legend() is None
    texts = [text for text in shown.ax_.texts if text.get_text()]
    assert len(texts) + len(shown.ax_.get_yticklabels()) < 40


@pytest.mark.parametrize("display", OF_AN_ESTIMATOR)
def test_two_hundred_thousand_samples_take_few_marks(display, made):
    """What takes long to draw, and would be seen by nobody."""
    shown = display.from_estimator(made.large)
    shown.figure_.canvas.draw()
    marks = 0
    for ax in shown.figure_.axes:
        marks += len(ax.patches) + len(ax.texts) + sum(len(line.get_xdata()) for line in ax.lines)
        for one in ax.collections:
            marks += len(one.get_offsets()) + sum(len(path.vertices) for path in one.get_paths())
    assert 0 < marks < 30_000


def test_the_package_needs_no_matplotlib_until_something_is_drawn():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import unispectral.plotting as p\n"
        "d = p.SpectrumDisplay([0.0, 1.0])\n"
        "try: d.plot()\n"
        "except ImportError as error: print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "unispectral[plot]" in ran.stdout


# The graph


def test_matrix_is_the_graph_in_the_order_of_the_clusters(made):
    model = made.small
    display = GraphMatrixDisplay.from_estimator(model)
    order = np.argsort(model.labels_, kind="stable")
    np.testing.assert_allclose(
        display.image, model.affinity_matrix_.toarray()[np.ix_(order, order)]
    )
    assert display.edges.tolist() == [0, *np.cumsum(np.bincount(model.labels_))]
    W = model.affinity_matrix_.toarray()
    same = model.labels_[:, None] == model.labels_
    assert display.within == pytest.approx(W[same].sum() / W.sum())


def test_matrix_bins_keep_the_weight(made):
    model = made.large
    display = GraphMatrixDisplay.from_estimator(model, max_bins=300)
    assert display.image.shape == (300, 300)
    cell = np.arange(200_000) * 300 // 200_000
    heights = np.bincount(cell)
    total = (display.image * np.outer(heights, heights)).sum()
    assert total == pytest.approx(model.affinity_matrix_.sum())


def test_matrix_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"shape \(3, 3\).*4 labels"):
        GraphMatrixDisplay(np.eye(3), [0, 0, 1, 1])


# The samples


def test_pca_of_three_clusters_is_true_to_scale():
    draw = np.random.default_rng(0)
    embedding = np.repeat(np.eye(3), 10, axis=0) + 0.01 * draw.normal(size=(30, 3))
    display = EmbeddingDisplay(5.0 * embedding, np.repeat([0, 1, 2], 10))
    assert display.method == "pca"
    unit = embedding / np.linalg.norm(embedding, axis=1, keepdims=True)
    centred = unit - unit.mean(axis=0)
    singular = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(display.points, compute_uv=False), singular[:2])


def test_map_puts_doubtful_samples_between_their_clusters():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 20)
    membership = np.eye(6)[labels]
    membership[0] = [0.5, 0.5, 0, 0, 0, 0]
    display = EmbeddingDisplay(
        membership + 0.01 * draw.normal(size=membership.shape), labels, membership=membership
    )
    assert display.method == "map"
    centres = np.stack([display.points[labels == code][1:].mean(axis=0) for code in range(6)])
    distance = np.linalg.norm(centres - display.points[0], axis=1)
    assert set(np.argsort(distance)[:2]) == {0, 1}
    nearest = np.linalg.norm(display.points[1:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == labels[1:]).all()


def test_embedding_thins_evenly(made):
    display = EmbeddingDisplay.from_estimator(made.large, max_points=2000)
    assert 1900 <= len(display.points) <= 2100
    shares = np.bincount(display.clusters.codes) / len(display.points)
    np.testing.assert_allclose(shares, np.bincount(made.large.labels_) / 200_000, atol=0.002)
    assert "of 200,000" in display.ax_.get_title()


def test_embedding_is_the_same_every_time(made):
    first, second = (EmbeddingDisplay.from_estimator(made.many) for _ in range(2))
    assert np.array_equal(first.points, second.points)


def test_any_transformer_into_the_plane(model):
    unit = model.embedding_ / np.linalg.norm(model.embedding_, axis=1, keepdims=True)
    display = EmbeddingDisplay.from_estimator(model, method=TruncatedSVD(2, random_state=0))
    expected = TruncatedSVD(2, random_state=0).fit_transform(unit)
    np.testing.assert_allclose(display.points, expected)
    assert display.ax_.get_title() == "Embedding by TruncatedSVD"


def test_embedding_refuses_nonsense(model):
    with pytest.raises(InputError, match="method='mds' must be 'auto', 'map', 'pca' or"):
        EmbeddingDisplay.from_estimator(model, method="mds")
    with pytest.raises(InputError, match="one row for each of 3"):
        EmbeddingDisplay(np.eye(2), [0, 1, 1])


def boxes(display):
    """Names of clusters on the map, in pixels."""
    display.figure_.canvas.draw()
    drawer = display.figure_.canvas.get_renderer()
    names = {str(name) for name in display.clusters.names}
    found = [text for text in display.ax_.texts if text.get_text() in names]
    assert len(found) == len(names)
    # Text.get_window_extent is the letters alone; an Annotation's includes its line.
    return {text.get_text(): Text.get_window_extent(text, drawer) for text in found}


def test_names_hide_neither_small_clusters_nor_each_other():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), [300, 200, 100, 50, 20, 10, 6, 4])
    membership = np.full((len(labels), 8), 0.01) + 0.93 * np.eye(8)[labels]
    embedding = membership + 0.01 * draw.normal(size=membership.shape)
    for method in ("map", "pca"):
        display = EmbeddingDisplay(embedding, labels, membership, method=method).plot()
        found = boxes(display)
        shown = display.ax_.transData.transform(display.points)
        for name, box in found.items():
            members = shown[display.clusters.codes == int(name)]
            inside = (box.x0 < members[:, 0]) & (members[:, 0] < box.x1)
            inside &= (box.y0 < members[:, 1]) & (members[:, 1] < box.y1)
            assert inside.mean() < 0.35, (method, name)
            others = [other for key, other in found.items() if key != name]
            assert not any(box.overlaps(other) for other in others), (method, name)


def test_points_of_a_large_map_do_not_overlap():
    labels = np.repeat(np.arange(5), 4000)
    display = EmbeddingDisplay(np.eye(5)[labels], labels, np.eye(5)[labels], method="map").plot()
    display.figure_.canvas.draw()
    assert len(display.points) == 20_000
    shown = display.ax_.transData.transform(display.points) * 72 / display.figure_.dpi
    gaps = cKDTree(shown).query(shown, k=2)[0][:, 1]
    diameter = np.sqrt(display.ax_.collections[0].get_sizes()[0])
    assert (gaps >= 0.9 * diameter).mean() > 0.9


def test_colour_by_classes_and_by_a_column(made):
    kinds = np.array(["red", "white"])[np.arange(60) % 2]
    pandas = pytest.importorskip("pandas")
    display = EmbeddingDisplay.from_estimator(made.small, color=pandas.Series(kinds, name="wine"))
    legend = display.ax_.get_legend()
    assert legend.get_title().get_text() == "wine"
    assert [text.get_text() for text in legend.get_texts()] == ["red", "white"]
    seen = {tuple(color) for color in display.ax_.collections[0].get_facecolors()}
    assert len(seen) == 2
    amounts = np.linspace(5, 9, 60)
    alcohol = pandas.Series(amounts, name="alcohol")
    display = EmbeddingDisplay.from_estimator(made.small, color=alcohol)
    drawn = display.ax_.collections[0]
    assert sorted(drawn.get_array()) == amounts.tolist()
    assert drawn.get_clim() == (5, 9)
    assert display.figure_.axes[1].get_ylabel() == "alcohol"
    with pytest.raises(ValueError, match=r"color has shape \(3,\).*60"):
        EmbeddingDisplay.from_estimator(made.small, color=[1, 2, 3])


def test_new_points_are_what_the_legend_says(model, blobs):
    display = EmbeddingDisplay.from_estimator(model, new=blobs[:7] + 0.01)
    old, new = display.ax_.collections[:2]
    assert (len(old.get_offsets()), len(new.get_offsets())) == (80, 7)
    said = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert {"0", "1", "2", "3", "fitted (pale)", "new (outlined)"} == said
    colours = display.clusters.colors[model.predict(blobs[:7] + 0.01)]
    assert {tuple(c[:3]) for c in new.get_facecolors()} == {tuple(c) for c in colours}
    assert (new.get_linewidths()[0], old.get_linewidths()[0]) == (0.4, 0)


def test_thin_clusters_have_names_apart_from_each_other():
    labels = np.repeat(np.arange(9), [2000, *[2] * 8])
    W = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)),) * 2))
    display = GraphMatrixDisplay(W, labels).plot()
    display.figure_.canvas.draw()
    drawer = display.figure_.canvas.get_renderer()
    found = [text.get_window_extent(drawer) for text in display.ax_.get_yticklabels()]
    assert len(found) == 9
    assert not any(a.overlaps(b) for i, a in enumerate(found) for b in found[:i])


# Bars and lines


def test_noise_is_grey():
    clusters = Clusters.of([-1, 0, 0, 1])
    assert clusters.names.tolist() == [-1, 0, 1]
    assert np.ptp(clusters.colors[0]) == 0
    assert np.ptp(clusters.colors[1]) > 0


def test_weights_of_kernels_and_views():
    names = ["left:linear", "left:gaussian_1", "right:linear"]
    display = KernelWeightsDisplay(names, [0.1, 0.2, 0.7]).plot()
    bars = display.ax_.patches
    assert [bar.get_width() for bar in bars] == [0.1, 0.2, 0.7]
    assert bars[0].get_facecolor() == bars[1].get_facecolor() != bars[2].get_facecolor()


def test_weights_that_are_nothing_are_written_so():
    display = KernelWeightsDisplay(["a", "b"], [1e-11, 0.25]).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["0", "0.25"]


def test_many_kernels_share_a_bar():
    weights = np.arange(100.0)
    bars = KernelWeightsDisplay([f"k{r}" for r in range(100)], weights).bars()
    assert [name for name, _ in bars[:-1]] == [f"k{r}" for r in range(71, 100)]
    assert bars[-1] == ("71 others together", pytest.approx(weights[:71].sum()))


def test_weights_of_geometries(made):
    model = clone(made.small).fit()
    model.kernel_names_, model.kernel_weights_ = ("linear",), np.ones(1)
    assert KernelWeightsDisplay.from_estimator(model).names == ["linear"]
    model.geometry_weights_ = {"linear": 0.25, "whitened": 0.75, "direction": 0.0}
    display = KernelWeightsDisplay.from_estimator(model)
    assert dict(zip(display.names, display.weights, strict=True)) == model.geometry_weights_
    assert "2 kinds combined, mostly whitened" in display.ax_.get_title().replace("\n", " ")


def test_distances_in_words():
    one = {"linear": 1.0} | {f"other {i}": 0.0 for i in range(6)}
    said = distances_in_words(one)
    assert said == "Distances: plain Euclidean; 6 alternatives were tried, none was better"
    assert distances_in_words({"a": 0.2, "b": 0.6, "c": 0.0}) == (
        "Distances: 2 kinds combined, mostly b (75%); 1 more not used"
    )
    assert distances_in_words({"a": 1.0, "b": 0.0, "c": 0.0}).endswith(
        "2 alternatives were tried, neither was better"
    )
    assert distances_in_words({"a": 1.0, "b": 0.0}).endswith(
        "1 alternative was tried, it was not better"
    )


def test_hostile_kernel_names_are_drawn_as_they_are():
    display = KernelWeightsDisplay(["$\\frac{", "a_$b$", "x" * 200], [1.0, 2.0, 3.0]).plot()
    display.figure_.canvas.draw()


def test_names_and_weights_must_fit():
    with pytest.raises(InputError, match="2 names"):
        KernelWeightsDisplay(["a", "b"], [1.0])


def test_nothing_is_written_across_the_curve():
    display = SpectrumDisplay([0, 0.01, 0.02, 0.17, 0.172, 0.2, 0.4, 0.41], 3).plot()
    assert not display.ax_.texts
    title = display.ax_.get_title()
    assert "no gap after 3" in title
    assert "the largest gap (dotted) after 6: 0.2" in title
    display = SpectrumDisplay(display.eigenvalues, 6).plot()
    assert "gap after 6: 0.2" in display.ax_.get_title()


def test_spectrum_of_separate_parts_is_zero_then_gap(made):
    parts = clone(made.small).fit()
    parts.affinity_matrix_ = sp.csr_array(np.kron(np.eye(4), np.ones((6, 6))))
    parts.n_clusters_, parts.eigenvalues_ = 4, np.zeros(0)
    display = SpectrumDisplay.from_estimator(parts)
    np.testing.assert_allclose(display.eigenvalues[:4], 0, atol=1e-12)
    np.testing.assert_allclose(display.eigenvalues[4:], 1.2)  # 6 / 5 without the diagonal
    assert display.largest_gap == 4
    assert display.gaps[3] == pytest.approx(1.2)


def test_spectrum_computes_what_it_lacks(model):
    from unispectral.spectrum import laplacian

    display = SpectrumDisplay.from_estimator(model)
    assert len(model.eigenvalues_) < len(display.eigenvalues) == 12
    L = laplacian(model.affinity_matrix_, normalized=True)
    expected = np.linalg.eigvalsh(L.toarray())[:12]
    np.testing.assert_allclose(display.eigenvalues, expected, atol=1e-6)


def test_spectrum_uses_what_the_estimator_kept(made):
    display = SpectrumDisplay.from_estimator(made.large)
    assert np.array_equal(display.eigenvalues, made.large.eigenvalues_)


def test_evidence_for_the_number_of_clusters(blobs):
    model = UnifiedSpectralClustering("auto", max_clusters=8).fit(blobs)
    display = ClusterCountDisplay.from_estimator(model)
    assert display.n_clusters == model.n_clusters_ == 4
    assert display.counts.tolist() == list(range(2, 9))
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert heights == model.cluster_count_.scores.tolist()
    assert display.counts[int(np.argmax(heights))] == 4


def test_evidence_for_one_cluster_says_so():
    display = ClusterCountDisplay([0.2, np.nan, 0.4], 1, "a cloud would show as many").plot()
    assert display.ax_.get_title() == "No evidence for more than one cluster"
    assert "a cloud would show as many" in display.ax_.get_xlabel()
    assert display.runner_up == 4  # 3 was not looked at
    assert not any(text.get_text() for text in display.ax_.texts)


def test_a_number_that_was_given_has_no_evidence(blobs):
    with pytest.raises(ValueError, match="n_clusters='auto'"):
        ClusterCountDisplay.from_estimator(UnifiedSpectralClustering(4).fit(blobs))


def test_reasons_stay_below_their_own_axes():
    """Three beside each other: the words of one do not reach under the next."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for ax in axes:
        reason = "the largest gap between eigenvalues of the graph is after 4"
        ClusterCountDisplay([0.2, 0.1, 0.4], 4, reason).plot(ax=ax)
    figure.canvas.draw()
    boxes = [ax.xaxis.label.get_window_extent() for ax in axes]
    assert all(one.x1 < next_one.x0 for one, next_one in itertools.pairwise(boxes))


def test_clusters_of_low_memberships_run_into_each_other():
    """Where nothing is sure, as in large noisy data, the map does not show neat islands."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 6
    membership = rng.uniform(0.1, 0.2, size=(600, 6))
    membership[np.arange(600), labels] += 0.2
    membership /= membership.sum(axis=1, keepdims=True)
    clusters = Clusters.of(labels)
    points = cluster_map(np.eye(6)[labels], clusters, membership)
    beside = cKDTree(points).query(points, k=4)[1][:, 1:]
    assert 0.3 < (labels[beside] == labels[:, None]).mean() < 0.95
    wide = np.linalg.norm(points[labels == 0] - points[labels == 0].mean(axis=0), axis=1).max()
    sure = np.where(np.eye(6)[labels] > 0, 1.0, 0.0)
    sure[0] = [0.5, 0.5, 0, 0, 0, 0]
    points = cluster_map(np.eye(6)[labels], clusters, sure)
    middles = [points[labels == k][1:].mean(axis=0) for k in (0, 1)]
    reach = np.linalg.norm(points[labels == 0][1:] - middles[0], axis=1).max()
    away = np.linalg.norm(points[0] - np.mean(middles, axis=0))
    assert away <= 1.1 * reach  # halfway between its two clusters
    assert wide > 1.5 * reach
    points = cluster_map(np.eye(6)[labels], clusters, sure, doubt=0.8)
    middle = points[labels == 0][1:].mean(axis=0)
    doubted = np.linalg.norm(points[labels == 0][1:] - middle, axis=1).max()
    assert doubted == pytest.approx(2.2 * reach, rel=0.1)


# The tree


def test_long_names_stand_in_the_middle_of_their_clusters_or_in_the_legend_alone():
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [0.3, 0.3]])
    labels = np.repeat([0, 1, 2, 3], [40, 30, 30, 10])
    points = centres[labels] + np.random.default_rng(0).normal(scale=0.1, size=(110, 2))
    places = middle_places(points, labels, (3.0, 1.0))
    assert np.allclose(places[:3], centres[:3], atol=0.1)
    assert not np.isfinite(places[3]).any()
    names = ["regular customers", "young", "rare", "others"]
    options = {"method": "map", "names": names}
    drawn = EmbeddingDisplay(np.eye(4)[labels], labels, np.eye(4)[labels], **options).plot()
    for text in drawn.ax_.texts:
        name = text.get_text().rstrip("…")
        code = next(i for i, whole in enumerate(names) if whole.startswith(name))
        assert np.allclose(text.xyann, np.median(drawn.points[labels == code], axis=0))
    legend = {text.get_text() for text in drawn.ax_.get_legend().get_texts()}
    assert set(names) <= legend


def test_samples_that_fit_nowhere_lie_around_their_cluster():
    labels = np.repeat([0, 1, 2, 3], 50)
    membership = np.full((200, 4), 0.01)
    membership[np.arange(200), labels] = 0.97
    outlier = np.arange(200) < 5
    drawn = EmbeddingDisplay(np.eye(4)[labels], labels, membership, outlier=outlier, method="map")
    own = drawn.points[labels == 0]
    far = np.linalg.norm(own - own[5:].mean(axis=0), axis=1)
    assert far[:5].min() > far[5:].max()
    drawn.plot()
    assert "fits nowhere" in {text.get_text() for text in drawn.ax_.get_legend().get_texts()}


def test_the_tree_is_drawn_without_crossings_in_the_colours_of_a_level():
    X, _ = make_blobs(120, centers=[[0, 0], [9, 9], [0, 9]], random_state=0)
    model = UnifiedSpectralClustering(3).fit(X).rename({1: "far $x$"})
    display = TreeDisplay.from_estimator(model)
    branches = 2 * len(model.tree_.linkage)
    assert len(display.ax_.lines) == branches
    assert display.sizes.sum() == 120
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert sum("far" in name for name in names) == 1
    # Leaves of one cluster stand together at every level.
    first = np.unique(model.tree_.leaves, return_index=True)[1][display._order]
    for count in range(1, model.tree_.max_clusters + 1):
        assert (np.diff(model.cut(count)[first]) != 0).sum() == count - 1
    assert TreeDisplay.from_estimator(model, n_clusters=2).count == 2
    with pytest.raises(ValueError, match="one cluster only"):
        TreeDisplay(grow_tree(sp.csr_array((3, 3)), np.zeros(3, dtype=int)))


# Representatives


def test_typical_members_by_membership_then_degree(made):
    model = clone(made.small).fit()
    model.labels_ = np.array([0, 0, 0, 1])
    model.membership_ = np.array([[0.9, 0.1], [1.0, 0.0], [1.0, 0.0], [0.2, 0.8]])
    model.affinity_matrix_ = sp.csr_array(np.diag([9.0, 1.0, 5.0, 1.0]))
    display = RepresentativesDisplay.from_estimator(
        model, np.eye(4), image_shape=(2, 2), n_members=2
    )
    assert [group.tolist() for group in display.members] == [[2, 1], [3]]


@pytest.mark.parametrize("sparse", [False, True])
def test_typical_members_by_distance(sparse):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(30, 4))
    labels = np.repeat([0, 1, 2], 10)
    X_given = sp.csr_array(X) if sparse else X
    display = RepresentativesDisplay(labels, X_given, (2, 2), n_members=3)
    for code, group in enumerate(display.members):
        members = np.flatnonzero(labels == code)
        gaps = np.linalg.norm(X[members] - X[members].mean(axis=0), axis=1)
        assert group.tolist() == members[np.argsort(gaps)[:3]].tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_thumbnails_are_the_pictures(order):
    draw = np.random.default_rng(0)
    pictures = draw.uniform(size=(12, 5, 4))
    X = np.stack([picture.ravel(order=order) for picture in pictures])
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    display = RepresentativesDisplay.from_estimator(
        model, X, n_members=2, image_shape=(5, 4), image_order=order
    )
    mosaic, corners = display.mosaic()
    for code in range(3):
        y, x = corners[code]
        first = pictures[display.members[code][0]]
        low, high = first.min(), first.max()
        np.testing.assert_allclose(mosaic[y : y + 5, x : x + 4], (first - low) / (high - low))


def test_mosaic_of_many_clusters_is_about_square(made):
    X = np.random.default_rng(0).uniform(size=(1200, 64))
    display = RepresentativesDisplay.from_estimator(made.many, X, image_shape=(8, 8))
    height, width = display.ax_.images[0].get_array().shape
    assert 0.6 < width / height < 3.0
    assert len(display.ax_.texts) == 120


def test_colour_pictures(made):
    X = np.random.default_rng(0).uniform(size=(60, 48))
    display = RepresentativesDisplay.from_estimator(made.small, X, image_shape=(4, 4, 3))
    assert display.ax_.images[0].get_array().shape[2] == 3


def test_representatives_refuse_what_does_not_fit(made):
    with pytest.raises(InputError, match=r"59 rows.*60 labels"):
        RepresentativesDisplay.from_estimator(made.small, np.ones((59, 2)), image_shape=(1, 2))
    with pytest.raises(InputError, match="holds 9 numbers, but a row of X has 4"):
        RepresentativesDisplay.from_estimator(made.small, np.ones((60, 4)), image_shape=(3, 3))


# The overview


def test_overview_of_the_model_and_of_a_stranger(model, blobs):
    titles = [ax.get_title() for ax in overview(model).axes if ax.get_title()]
    assert len(titles) == 4
    assert "Kernel weights" in titles
    lone = [ax.get_title() for ax in overview(SC(3).fit(blobs)).axes]
    assert lone == ["Embedding, two main directions"]
    with pytest.raises(TypeError, match="KMeans, which has no embedding_ to draw"):
        overview(KMeans(3, n_init=1).fit(blobs))


@pytest.mark.parametrize("method", ["map", "pca"])
def test_names_that_were_given_are_in_every_picture(method):
    X, _ = make_blobs(60, centers=3, n_features=4, random_state=0)
    model = UnifiedSpectralClustering(3).fit(X).rename(["loyal", "new", "costs $5"])
    wanted = {"loyal", "new", r"costs \$5"}
    graph = GraphMatrixDisplay.from_estimator(model)
    assert {label.get_text() for label in graph.ax_.get_yticklabels()} == wanted
    drawn = EmbeddingDisplay.from_estimator(model, method=method)
    assert {text.get_text() for text in drawn.ax_.get_legend().get_texts()} == wanted
    assert {text.get_text() for text in drawn.ax_.texts} == wanted
    fresh = EmbeddingDisplay.from_estimator(model, new=X[:5], method=method)
    assert wanted <= {text.get_text() for text in fresh.ax_.get_legend().get_texts()}
    pictures = RepresentativesDisplay.from_estimator(model, X, image_shape=(2, 2))
    assert {text.get_text() for text in pictures.ax_.texts} == wanted
    # Names of one's own come before those of the model, and must be enough.
    own = GraphMatrixDisplay.from_estimator(model, names=["a", "b", "c"])
    assert [label.get_text() for label in own.ax_.get_yticklabels()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="names has 2 entries, but there is a cluster 2"):
        GraphMatrixDisplay.from_estimator(model, names=["a", "b"])
