"""Saved pipelines: what comes back, what cannot be saved, and what is refused."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from unispectral import UnifiedSpectralClustering
from unispectral.persistence import ModelFileError, load_model, save_model
from unispectral.tables import TablePreparer

COLUMNS = ["a", "b", "c", "d", "e"]
PIPELINES = [
    (StandardScaler(),),
    (StandardScaler(with_mean=False),),
    (StandardScaler(with_std=False), PCA(3, whiten=True)),
    (MinMaxScaler(clip=True), MaxAbsScaler()),
    (RobustScaler(with_centering=False), Normalizer("l1")),
    (SimpleImputer(strategy="most_frequent"), "passthrough", TruncatedSVD(2)),
    (SimpleImputer(keep_empty_features=True), PCA(0.9)),
]


def piped(steps, **settings):
    """A fitted pipeline, and the table that it was fitted on."""
    X = np.random.default_rng(0).normal(size=(40, 5)) + 4.0 * (np.arange(40) % 3)[:, None]
    X[:, 4] = np.round(X[:, 4])
    if isinstance(steps[0], SimpleImputer):
        X[2, 1] = np.nan
    frame = pd.DataFrame(X, columns=COLUMNS, index=[f"row {i}" for i in range(40)])
    last = UnifiedSpectralClustering(3, n_init=2, **settings)
    return make_pipeline(*(clone(step, safe=False) for step in steps), last).fit(frame), frame


@pytest.mark.parametrize("steps", PIPELINES, ids=repr)
def test_a_pipeline_comes_back(steps, tmp_path):
    pipeline, frame = piped(steps)
    save_model(pipeline, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    assert type(loaded) is Pipeline
    assert str(loaded) == str(pipeline)
    assert list(loaded.feature_names_in_) == COLUMNS
    for new in (frame, frame + 0.1):
        np.testing.assert_array_equal(loaded.predict_proba(new), pipeline.predict_proba(new))
        np.testing.assert_array_equal(loaded.transform(new), pipeline.transform(new))
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"a": "z"}))
    again = clone(loaded).fit(frame)
    np.testing.assert_array_equal(again.predict(frame), pipeline.predict(frame))


def test_a_table_preparer_comes_back(tmp_path):
    table = pd.DataFrame(
        {
            "price": [f"${10 * (i % 3) + i / 40:.2f}" for i in range(40)],
            "member": ["yes", "no"] * 20,
            "city": ["Köln", "Ulm", "Bonn", None] * 10,
            "note": [f"note {i}" for i in range(40)],
        }
    )
    last = UnifiedSpectralClustering(3, n_init=2)
    pipeline = make_pipeline(TablePreparer(), last).fit(table)
    save_model(pipeline, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict_proba(table), pipeline.predict_proba(table))
    assert loaded[0].columns_ == pipeline[0].columns_


def test_what_set_output_asked_for_comes_back_and_callbacks_do_not(tmp_path):
    pipeline, frame = piped((StandardScaler(),))
    pipeline.set_output(transform="pandas").fit(frame)
    pipeline[-1]._skl_callbacks = ["a callback"]
    pipeline[-1].set_params(verbose=print)
    save_model(pipeline, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    pd.testing.assert_frame_equal(loaded.transform(frame), pipeline.transform(frame))
    assert not hasattr(loaded[-1], "_skl_callbacks")
    save_model(pipeline[-1], tmp_path / "m.npz")
    assert isinstance(load_model(tmp_path / "m.npz").transform(frame), pd.DataFrame)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (
            (QuantileTransformer(n_quantiles=5),),
            "'quantiletransformer' is a QuantileTransformer, which .*; save its last step alone",
        ),
        (
            (FeatureUnion([("one", StandardScaler())]),),
            "'featureunion' is a FeatureUnion, which a saved pipeline cannot hold",
        ),
        ((SimpleImputer(add_indicator=True),), "add_indicator=False"),
        (
            (PCA(2, random_state=np.random.RandomState(0)),),
            r"'pca' cannot be saved: random_state is a RandomState.*set_params\(random_state=0\)",
        ),
    ],
    ids=lambda given: type(given[0]).__name__ if isinstance(given, tuple) else None,
)
def test_what_a_saved_pipeline_cannot_hold(steps, message, tmp_path):
    pipeline, _ = piped(steps)
    with pytest.raises(TypeError, match=message):
        save_model(pipeline, tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


def test_a_pipeline_must_end_in_an_estimator_of_ours(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(TypeError, match="estimator is a KMeans, which cannot be saved here"):
        save_model(make_pipeline(StandardScaler(), KMeans(2)).fit(X), tmp_path / "m.npz")


def _step(manifest, number=0):
    return manifest["pipeline"]["steps"][number]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: _step(m).update({"class": "FunctionTransformer"}),
            "unknown class 'FunctionTransformer'",
        ),
        (lambda m: _step(m)["params"].update(copy="x"), "copy"),
        (lambda m: _step(m)["params"].update(with_mean=None), "with_mean"),
        (lambda m: _step(m)["params"].update(func="os.system"), "no parameter 'func'"),
        (lambda m: _step(m)["fitted"].update(transform=1), "'transform' of StandardScaler"),
        (lambda m: _step(m)["fitted"].pop("scale_"), "'scale_' of StandardScaler is missing"),
        (lambda m: _step(m)["fitted"].update(mean_=None), "has been changed or damaged"),
        (lambda m: _step(m)["fitted"].update(n_features_in_=6), "of StandardScaler is not"),
        (lambda m: _step(m)["fitted"].update(n_features_in_=2**40), "of StandardScaler is not"),
        (lambda m: _step(m, 1)["fitted"].update(mean_={"$array": "labels"}), "does not hold"),
        (
            lambda m: _step(m, 1)["fitted"].update(mean_=_step(m, 1)["fitted"]["components_"]),
            "mean_ of PCA is not of the kind or shape",
        ),
        (lambda m: m["pipeline"]["steps"].reverse(), "do not fit together"),
        (lambda m: m["pipeline"]["steps"].pop(), "do not fit together"),
        (lambda m: _step(m).update(name="pca"), "names of its steps"),
        (lambda m: _step(m).update(name="a__b"), "a step called 'a__b'"),
        (lambda m: _step(m).update(output="html"), "output 'html'"),
        (lambda m: m.update(steps=m.pop("pipeline")), "unknown entry 'steps'"),
    ],
)
def test_a_changed_pipeline_is_refused(change, message, tmp_path):
    refused(piped((StandardScaler(), PCA(3)))[0], change, message, tmp_path / "m.npz")


def test_no_row_is_made_of_a_width_that_nothing_confirms(tmp_path, monkeypatch):
    """A Normalizer has no array that its width could be compared with."""
    pipeline, _ = piped((PCA(3), Normalizer()))
    monkeypatch.setattr(Normalizer, "transform", lambda self, X: pytest.fail("it was tried"))
    wide = lambda m: _step(m, 1)["fitted"].update(n_features_in_=2**31)  # noqa: E731
    refused(pipeline, wide, "do not fit together", tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: _step(m).update(dtypes=["<f8", "O"]), "SimpleImputer is of type object"),
        (lambda m: _step(m)["fitted"].update(n_features_in_=True), "n_features_in_ of SimpleI"),
        (lambda m: _step(m)["fitted"].update(n_features_in_=0), "n_features_in_ of SimpleI"),
    ],
)
def test_a_changed_imputer_is_refused(change, message, tmp_path):
    refused(piped((SimpleImputer(),))[0], change, message, tmp_path / "m.npz")


def _columns(manifest):
    return _step(manifest)["fitted"]["columns_"]


def _pair(plan, key):
    return next(pair for pair in plan["$map"] if pair[0] == key)


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns.pop(),
        lambda columns: _pair(columns[0], "kind").__setitem__(1, "colour"),
        lambda columns: _pair(columns[0], "name").__setitem__(1, _pair(columns[1], "name")[1]),
    ],
    ids=["one too few", "an unknown kind", "a name twice"],
)
def test_changed_columns_of_a_table_are_refused(change, tmp_path):
    pipeline, _ = piped((TablePreparer(),))
    message = "the columns of TablePreparer cannot be right"
    refused(pipeline, lambda m: change(_columns(m)), message, tmp_path / "m.npz")


def refused(pipeline, change, message, path):
    """Save, change what the file says, and load it in vain."""
    save_model(pipeline, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["model.json"])
    change(manifest)
    members["model.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)
