"""What the page says, against plain computations."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unispectral import UnifiedSpectralClustering
from unispectral.report import report_data, write_report
from unispectral.report._advice import advice
from unispectral.report._clusters import certainty_of, cluster_tree, contrasts, rank_members
from unispectral.report._page import build_page, to_json
from unispectral.report._pictures import graph_picture
from unispectral.tables import TablePreparer, read_table
from unispectral.tables._preparation import Preparation


@pytest.fixture(scope="module")
def iris():
    X = load_iris().data
    return X, UnifiedSpectralClustering(3).fit(X)


class Fitted:
    """An estimator of which only the given attributes are known."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_json_is_safe_in_a_page():
    hostile = {"</script><script>alert(1)</script>": ["<!--", "]]>", "\u2028", "\ud800", "&lt;"]}
    text = to_json(hostile | {"x": np.array([1.5, np.nan, np.inf]), "n": np.int64(3)})
    assert not set("<>&\u2028") & set(text)
    text.encode()
    found = json.loads(text)
    assert found["x"] == [1.5, None, None]
    assert found["n"] == 3
    assert "</script><script>alert(1)</script>" in found


def test_page_refuses_what_would_end_its_script():
    with pytest.raises(ValueError, match="must not hold"):
        build_page("t", {}, script="'</SCRIPT>'")


@pytest.mark.parametrize("kind", ["dense", "sparse", "missing"])
def test_contrasts_against_brute_force(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12)) * 10.0 ** rng.integers(-3, 4, 12) + 5
    labels = rng.integers(0, 4, 60)
    X[labels == 2, 3] += 3 * X[:, 3].std()
    if kind == "sparse":
        X = np.where(rng.random(X.shape) < 0.5, 0, X)
    if kind == "missing":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    found = contrasts(sp.csr_array(X) if kind == "sparse" else X, labels)
    for k in range(4):
        inside, outside = X[labels == k], X[labels != k]
        gap = np.nanmean(inside, axis=0) - np.nanmean(outside, axis=0)
        counts = (~np.isnan(X)).sum(axis=0)
        within = np.nansum((inside - np.nanmean(inside, axis=0)) ** 2, axis=0)
        within += np.nansum((outside - np.nanmean(outside, axis=0)) ** 2, axis=0)
        effect = gap / np.sqrt(within / counts)
        order = np.argsort(-np.abs(effect))
        assert found.top(k, 12).tolist() == order.tolist()
        np.testing.assert_allclose(found.effect[k], effect, rtol=1e-6)
        np.testing.assert_allclose(found.inside[k], np.nanmean(inside, axis=0), rtol=1e-9)
        np.testing.assert_allclose(found.outside[k], np.nanmean(outside, axis=0), rtol=1e-9)
    assert found.top(2)[0] == 3 or kind != "dense"
    total = np.abs(found.effect).sum(axis=0)
    assert found.telling(5).tolist() == np.argsort(-total)[:5].tolist()


def test_contrasts_of_constants_are_finite():
    X = np.column_stack([np.repeat([0.0, 1.0], 5), np.ones(10)])
    found = contrasts(X, np.repeat([0, 1], 5))
    np.testing.assert_allclose(found.effect, [[-99.0, 0.0], [99.0, 0.0]], rtol=1e-9)
    assert [found.top(k).tolist() for k in (0, 1)] == [[0], [0]]


def test_tree_joins_the_nearest_clusters_first():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 10)
    X = np.array([0.0, 1.0, 8.0, 9.5])[labels][:, None] * 1000 + rng.normal(size=(40, 1))
    for table in (X, sp.csr_array(X)):
        tree = cluster_tree(table, labels)
        assert tree["by"] == "features"
        assert [step[:2] for step in tree["steps"]] == [[0, 1], [2, 3], [4, 5]]
        heights = [step[2] for step in tree["steps"]]
        assert heights == sorted(heights)
    W = np.kron(
        np.array([[9, 1, 0, 0], [1, 9, 0, 0], [0, 0, 9, 3], [0, 0, 3, 9]]), np.ones((10, 10))
    )
    ties = cluster_tree(None, labels, W)
    assert ties["by"] == "graph"
    assert [step[:2] for step in ties["steps"]][:2] == [[2, 3], [0, 1]]
    assert cluster_tree(None, labels) is None
    assert cluster_tree(X, np.zeros(40, int)) is None


def test_heat_and_colouring_are_the_columns():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 5)) + 3 * labels[:, None] * np.array([1, 0, 2, 0, 0])
    X[3, 0] = np.nan
    data = report_data(Fitted(labels_=labels), X, columns=list("abcde"))
    heat = data["heat"]
    assert heat["names"][:2] == ["c", "a"]
    expected = np.nanquantile(X[labels == 1, 0], [0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(heat["quantiles"][1][1], expected, rtol=1e-3)
    assert {part["name"] for part in data["colouring"]} == set("abcde")
    part = data["colouring"][1]
    levels = np.frombuffer(base64.b64decode(part["levels"]), dtype=np.uint8)
    assert levels[3] == 255
    assert levels[np.nanargmin(X[:, 0])] == 0
    assert levels[np.nanargmax(X[:, 0])] == 254
    np.testing.assert_allclose(part["ends"], [np.nanmin(X[:, 0]), np.nanmax(X[:, 0])], rtol=1e-3)


def test_words_about_distances():
    weights = {"linear": 1.0, "whitened": 0.0, "direction": 0.0}
    data = report_data(Fitted(labels_=np.arange(6) % 2, geometry_weights_=weights))
    assert data["distances"]["words"] == (
        "Distances: plain Euclidean; 2 alternatives were tried, neither was better."
    )


def test_certainty_is_the_lead_of_the_own_cluster():
    membership = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])
    sure = certainty_of(Fitted(membership_=membership), None, np.array([0, 1, 2]))
    np.testing.assert_allclose(sure.value, [0.5, 0.1, 0.7])
    assert sure.second[0] == 1
    assert certainty_of(None, None, np.array([0, 0])).second.tolist() == [-1, -1]


def test_certainty_without_memberships_is_by_the_distances_to_the_centres():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    sure = certainty_of(None, X, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(sure.value, [9 / 9.5, 8 / 8.5, 8 / 8.5, 9 / 9.5])
    assert sure.second.tolist() == [1, 1, 0, 0]


def test_typical_and_doubtful_members():
    labels = np.zeros(6, dtype=int)
    certainty = np.array([1.0, 1.0, 0.9, 0.2, 0.3, 1.0])
    ties = np.zeros((6, 6))
    ties[5, :] = 1.0
    ((typical, doubtful),) = rank_members(labels, certainty, ties, shown=2)
    assert typical == [5, 0]
    assert doubtful == [3, 4]
    ((typical, doubtful),) = rank_members(labels, np.ones(6), shown=2)
    assert doubtful == []


def test_advice_in_plain_words():
    graph = np.zeros((12, 12))
    graph[:4, :4] = graph[4:6, 4:6] = graph[6:8, 6:8] = 1.0
    labels = np.array([0] * 10 + [1, 1])
    certainty = np.ones(12)
    certainty[0] = 0.01
    stopped = Fitted(
        converged_=False, stop_reason_="max_iter was reached", affinity_matrix_=sp.csr_array(graph)
    )
    told = "\n".join(advice(stopped, labels, certainty, warnings=["Something else."]))
    assert "did not converge: it stopped because max_iter was reached." in told
    assert "4 samples have no neighbour in the learned graph" in told
    assert "falls into 3 separate parts, more than the 2 clusters" in told
    assert "Cluster 1 has 2 members." in told
    assert "Cluster 0 holds 83 % of all samples" in told
    assert "1 sample lies between two clusters" in told
    assert "Something else." in told
    assert advice(None, np.repeat([0, 1], 6), np.ones(12)) == []


def test_graph_picture_keeps_the_weight():
    rng = np.random.default_rng(0)
    W = rng.random((50, 50))
    W = W + W.T
    labels = rng.integers(0, 3, 50)
    picture = graph_picture(W, labels, bins=50)
    order = np.argsort(labels, kind="stable")
    shade = np.frombuffer(base64.b64decode(picture["cells"]), dtype=np.uint8).reshape(50, 50)
    sorted_weights = W[np.ix_(order, order)]
    top = np.quantile(W, 0.97)
    expected = np.rint(255 * np.clip(np.sqrt(sorted_weights / top), 0.06, 1))
    np.testing.assert_allclose(shade, expected, atol=1)
    same = labels[:, None] == labels[None, :]
    assert picture["within"] == pytest.approx(W[same].sum() / W.sum(), abs=1e-4)


def test_page_of_scmk_has_every_part(iris):
    X, model = iris
    columns = ["sepal length", "sepal width", "petal length", "petal width"]
    data = report_data(
        model, X, columns=columns, truth=load_iris().target, command="unispectral cluster x.csv"
    )
    assert sum(data["sizes"]) == 150
    assert data["graph"]["within"] > 0.5
    assert len(data["spectrum"]["values"]) > 3
    assert data["spectrum"]["count"] == 3
    assert len(data["objective"]) == 0  # two values are no curve
    assert 0 < data["scores"]["accuracy"] <= 1
    assert {name for name, *_ in data["clusters"][0]["features"]} == set(columns)
    assert "model = UnifiedSpectralClustering(n_clusters=3)" in data["redo"]["python"]
    found = {}
    exec(  # the lines on the page must do what was done
        data["redo"]["python"], {"X": X}, found
    )
    np.testing.assert_array_equal(found["labels"], model.labels_)


def test_the_python_of_the_page_has_the_preparation():
    rng = np.random.default_rng(0)
    towns = np.array([[52.5, 13.4], [48.1, 11.6], [53.6, 10.0]])[np.arange(60) % 3]
    table = pd.DataFrame(towns + rng.normal(0, 0.1, (60, 2)), columns=["lat", "lon"])
    table.insert(0, "shop_id", np.arange(100, 160))
    preparer = TablePreparer(geo=("lat", "lon"))
    model = make_pipeline(preparer, UnifiedSpectralClustering(3, scaling="none")).fit(table)
    found = {"X": table}
    exec(report_data(model, table, refit=False)["redo"]["python"], found)
    np.testing.assert_array_equal(found["labels"], model[-1].labels_)


def test_places_are_told_as_latitude_and_longitude(tmp_path):
    rng = np.random.default_rng(0)
    towns = np.array([[-17.8, 178.0], [-21.1, -175.2], [-13.8, 178.5]])[np.arange(60) % 3]
    table = pd.DataFrame(towns + rng.normal(0, 0.1, (60, 2)), columns=["north", "east"])
    table.assign(size=rng.normal(size=60)).to_csv(tmp_path / "t.csv", index=False)
    read = read_table(tmp_path / "t.csv", encode=True, geo=["north", "east"])
    ready = [read.preparation.to_dict()]
    model = UnifiedSpectralClustering(3, scaling="none").fit(read.values)
    data = report_data(model, read.values, columns=read.columns, preparation=ready, refit=False)
    assert [column["name"] for column in data["axes"]["columns"][:2]] == ["east", "north"]
    assert data["axes"]["place"] == [0, 1]
    assert data["columns"] == 3
    names = {name for cluster in data["clusters"] for name, *_ in cluster["features"]}
    assert names == {"north", "east", "size"}
    east = data["axes"]["columns"][0]["ends"]
    np.testing.assert_allclose(east, [(table.east % 360).min(), (table.east % 360).max()])


def test_features_are_shown_in_their_units():
    X, labels = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    ready = [{"columns": ["a", "b"], "centre": centre.tolist(), "spread": spread.tolist()}]
    data = report_data(
        Fitted(labels_=labels), (X - centre) / spread, columns=["a", "b"], preparation=ready
    )
    name, _, inside, outside, decimals, *_ = data["clusters"][0]["features"][0]
    column = "ab".index(name)
    assert inside == pytest.approx(np.median(X[labels == 0, column]), rel=1e-3)
    assert outside == pytest.approx(np.median(X[labels == 1, column]), rel=1e-3)
    assert decimals == 0


def test_the_mean_of_an_absent_category_is_zero():
    """In units of the table, too: not what rounding leaves of it."""
    plain = (np.arange(201)[:, None] % 3 == np.arange(3)).astype(float)
    ready = Preparation.fit(plain, list("abc"), impute=None, scale="standard")
    data = report_data(
        Fitted(labels_=np.arange(201) % 3), ready.apply(plain), preparation=[ready.to_dict()]
    )
    written = json.loads(to_json(data["clusters"]))
    shown = {mean for part in written for row in part["features"] for mean in row[2:4]}
    assert shown == {0.0, 0.5, 1.0}


def test_outlier_scores_that_are_all_alike_are_not_shown():
    X, labels = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 1, 1, 1])
    for score, shown in ((0.5 + 1e-5 * X[:, 0], False), (X[:, 0] / 12, True)):
        data = report_data(Fitted(labels_=labels, outlier_score_=score), X)
        assert (data["members"]["outlier"] is not None) is shown


@pytest.mark.parametrize("make", [sp.csr_array, np.asarray])
def test_page_of_any_clusterer(tmp_path, make):
    X, _ = make_blobs(50, n_features=5, random_state=0)
    model = KMeans(3, n_init=1, random_state=0).fit(X)
    write_report(tmp_path / "page.html", model, make(X))
    text = (tmp_path / "page.html").read_text()
    assert "from sklearn.cluster import KMeans" in text
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["graph"] is None
    assert data["plane"]["how"] == "features"


def test_large_data_are_thinned_evenly():
    labels = np.repeat([0, 1, 2], [5000, 900, 100])
    X = np.random.default_rng(0).normal(size=(6000, 3)) + labels[:, None]
    data = report_data(Fitted(labels_=labels), X, max_points=600)
    shown = np.bincount(data["members"]["cluster"])
    assert 580 <= shown.sum() <= 650
    assert shown[2] >= 10
    places = {i for c in data["clusters"] for i in c["typical"] + c["doubtful"]}
    assert max(places) < len(data["members"]["row"])
    assert len(to_json(data)) < 300_000


def test_samples_absent_from_a_view():
    X, labels = make_blobs(40, n_features=4, centers=2, random_state=0)
    X[:5, 2:] = np.nan
    data = report_data(Fitted(labels_=labels), X)
    assert np.isfinite(data["plane"]["x"]).all()
    to_json(data)


def test_pictures(tmp_path):
    X = np.random.default_rng(0).random((20, 12))
    data = report_data(Fitted(labels_=np.arange(20) % 2), X, image_shape=(3, 4))
    images = data["images"]
    assert (images["height"], images["width"], len(images["of"])) == (3, 4, 20)
    assert len(base64.b64decode(images["pixels"])) == 240
    assert len(base64.b64decode(images["means"])) == 24
    by_columns = X.reshape(20, 3, 4).swapaxes(1, 2).reshape(20, 12)
    again = report_data(Fitted(labels_=np.arange(20) % 2), by_columns, image_shape=(3, 4, "F"))
    assert again["images"] == images
    with pytest.raises(ValueError, match="needs 9 columns, but there are 12"):
        report_data(Fitted(labels_=np.arange(20) % 2), X, image_shape=(3, 3))


@pytest.mark.parametrize(
    ("estimator", "X", "message"),
    [
        (Fitted(), None, "no labels_"),
        (Fitted(labels_=np.array([-1, 0])), None, "whole numbers from 0"),
        (Fitted(labels_=np.array([1, 0])), np.ones((3, 2)), "labels for 2 samples"),
    ],
)
def test_refusals(tmp_path, estimator, X, message):
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "page.html", estimator, X)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("path", "words"), [([3.0, 2.0, 2.0], ""), ([3.0, 2.0, 2.5], " Each")])
def test_an_objective_that_rises_is_explained(path, words):
    data = report_data(Fitted(labels_=np.array([0, 1]), objective_=path))
    assert list(data["objective"]) == path
    assert data["objective_words"].startswith(words)
    assert bool(data["objective_words"]) == bool(words)


def test_page_of_a_pipeline_and_of_listed_views(tmp_path):
    X, _ = make_blobs(40, centers=2, random_state=0)
    model = make_pipeline(StandardScaler(), KMeans(2, n_init=1, random_state=0)).fit(X)
    assert report_data(model, X)["sizes"].sum() == 40
    assert report_data(model, [X, X[:, :1]])["columns"] == 3
    assert report_data(model, X, labels=np.where(X[:, 0] > 3, -1, 0) + 1)["n"] == 40


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"truth": [0, 1]}, "truth has 2 entries, but there are labels for 4 samples"),
        ({"names": ["a"]}, "names has 1 entries, but there are labels for 4 samples"),
        ({"columns": ["a"]}, "columns has 1 names, but X 2 columns"),
        ({"labels": [0, 0, 1, -1]}, r"where −1 is noise, give labels=model.labels_ \+ 1"),
    ],
)
def test_what_does_not_fit_the_samples(given, message):
    model = Fitted(labels_=np.array([0, 0, 1, 1]))
    with pytest.raises(ValueError, match=message):
        report_data(model, np.eye(4)[:, :2], **given)
