"""scikit-learn's conventions, over every estimator: seeds, threads, frames, callbacks, types."""

from __future__ import annotations

import datetime
import inspect
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unispectral
from unispectral import SCMK, SCSK, DoubtfulResultWarning, UnifiedSpectralClustering, baselines
from unispectral._run import thread_count

X = make_blobs(40, centers=3, n_features=4, cluster_std=1.5, random_state=0)[0]
NAMES = list("abcd")
FRAME = pd.DataFrame(X, columns=NAMES, index=[f"sample {i}" for i in range(40)])
BASELINES = [getattr(baselines, name) for name in baselines.__all__]
BASELINES = [method for method in BASELINES if hasattr(method, "fit")]
MODELS = [UnifiedSpectralClustering, SCSK, SCMK]
ESTIMATORS = [*MODELS, *BASELINES]


def make(cls, **settings):
    """An estimator whose fit takes little time."""
    known = inspect.signature(cls).parameters
    quick = {"n_init": 2, "n_estimators": 10, "kernels": ["gaussian", "linear"]}
    quick = {name: value for name, value in quick.items() if name in known}
    if cls in (SCSK, SCMK):
        del quick["n_init"]  # not for their default solver
    return cls(3, **{**quick, **settings})


@pytest.fixture(autouse=True)
def _few_iterations():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def test_every_baseline_is_here():
    assert len(BASELINES) >= 10
    assert {cls.__name__ for cls in ESTIMATORS} - {cls.__name__ for cls in DRAWING} == {
        "SelfTuning"
    }


DRAWING = [cls for cls in ESTIMATORS if "random_state" in inspect.signature(cls).parameters]


@pytest.mark.parametrize("cls", DRAWING)
def test_one_convention_for_random_state(cls):
    assert cls().random_state == 0
    first = make(cls).fit(X).labels_
    np.testing.assert_array_equal(make(cls, random_state=np.int64(0)).fit(X).labels_, first)
    for kind in (np.random.RandomState, np.random.default_rng):
        one, two = (make(cls, random_state=kind(7)).fit(X).labels_ for _ in range(2))
        np.testing.assert_array_equal(one, two)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert len(make(cls, random_state=None).fit(X).labels_) == 40
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    for wrong in ("seed", -1, 1.5):
        with pytest.raises(ValueError, match=r"random_state|seed"):
            make(cls, random_state=wrong).fit(X)


def test_one_convention_for_n_jobs(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("unispectral._run.cpu_count", lambda: 8)
    assert (thread_count(), thread_count(-1), thread_count(-2), thread_count(3)) == (8, 8, 7, 3)
    with parallel_config(n_jobs=2):
        assert (thread_count(), thread_count(5)) == (2, 5)
    with parallel_config(n_jobs=-1):
        assert thread_count() == 8
    assert Parallel(2, backend="threading")(delayed(thread_count)() for _ in range(2)) == [1, 1]
    assert Parallel(1)(delayed(thread_count)() for _ in range(1)) == [8]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert (thread_count(), thread_count(-1)) == (3, 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")  # a number for each level of nested threads
    assert thread_count() == 4
    for cls in ESTIMATORS:
        assert getattr(cls(), "n_jobs", None) is None


@pytest.mark.parametrize("cls", MODELS)
def test_frames_come_out_with_their_index(cls):
    model = make(cls).set_output(transform="pandas")
    fitted = model.fit_transform(FRAME)
    found = model.transform(FRAME[::-1])
    names = [f"{cls.__name__.lower()}{k}" for k in range(3)]
    assert list(model.get_feature_names_out()) == list(found.columns) == names
    assert list(fitted.index) == list(FRAME.index)
    pd.testing.assert_frame_equal(found, fitted[::-1], atol=1e-6)
    piped = make_pipeline(StandardScaler(), make(cls)).set_output(transform="pandas")
    assert list(piped.fit(FRAME).transform(FRAME[3:9]).index) == list(FRAME.index[3:9])
    polars = model.set_output(transform="polars").transform(FRAME)
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(clone(model).set_output(transform="default").fit_transform(X), np.ndarray)


def test_frames_of_several_views_come_out_with_their_index():
    views = {"one": FRAME[["a", "b"]], "other": FRAME[["c", "d"]][::-1]}
    model = UnifiedSpectralClustering(3, n_init=2).set_output(transform="pandas")
    fitted = model.fit_transform(views)
    assert list(fitted.index) == list(FRAME.index)
    part = model.transform([view.loc[FRAME.index[5:2:-1]] for view in views.values()])
    pd.testing.assert_frame_equal(part, fitted.iloc[5:2:-1], atol=1e-6)
    arrays = [view.to_numpy() for view in views.values()]
    with pytest.warns(UserWarning, match="does not have valid feature names"):  # as one table
        assert list(model.transform(arrays).index) == list(range(40))


@pytest.mark.parametrize("cls", MODELS)
def test_probabilities_and_scores_by_their_scikit_learn_names(cls):
    model = make(cls).fit(X)
    everything = model.predict_all(X[:5] + 0.1)
    np.testing.assert_array_equal(model.predict_proba(X[:5] + 0.1), everything.membership)
    np.testing.assert_array_equal(model.score_samples(X[:5] + 0.1), -everything.outlier_score)
    np.testing.assert_allclose(everything.membership.sum(axis=1), 1.0)
    if cls is UnifiedSpectralClustering:
        assert model.score_samples(X).min() > model.score_samples(X + 1e3).max()
    pipeline = make_pipeline(StandardScaler(), make(cls)).fit(X)
    assert pipeline.predict_proba(X).shape == (40, 3)
    assert pipeline.score_samples(X).shape == (40,)


class Listener:
    """A callback that keeps what it is told."""

    max_propagation_depth = None

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append(("setup", type(estimator).__name__))

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.told.append(("end", context.task_name))

    def teardown(self, estimator, context):
        self.told.append(("teardown", type(estimator).__name__))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_callbacks(cls):
    pytest.importorskip("sklearn.callback")
    listener = Listener()
    model = make(cls).set_callbacks(listener).fit(X)
    told = listener.told
    assert (told[0], told[-1]) == (("setup", cls.__name__), ("teardown", cls.__name__))
    assert (told[1], told[-2]) == (("begin", "fit"), ("end", "fit"))
    names = [name for _, name in told[1:-1]]
    for name in set(names):
        assert told.count(("begin", name)) == told.count(("end", name))
    if cls in MODELS:
        assert "iterations" in names
        assert told.count(("end", "step")) == model.n_iter_
    listener.told.clear()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X > 5, np.nan, X))
    assert listener.told[-1] == ("teardown", cls.__name__)


def test_a_progress_bar_in_a_pipeline(capsys):
    pytest.importorskip("rich")
    callback = pytest.importorskip("sklearn.callback")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns where a step has no callbacks
        warnings.simplefilter("ignore", DoubtfulResultWarning)
        make_pipeline(StandardScaler(), UnifiedSpectralClustering(3, n_init=2)).set_callbacks(
            callback.ProgressBar()
        ).fit(X)
    assert "UnifiedSpectralClustering" in capsys.readouterr().out


TEXT = FRAME.assign(city=["Köln"] * 40, plan=pd.Categorical(["basic"] * 40))
DAYS = pd.date_range("2024-03-01", periods=40)
NAN = np.where(np.arange(160).reshape(40, 4) == 6, np.nan, X)
PREPARE = "unispectral.tables.TablePreparer"
NO_NUMBERS = {
    "NaN": (NAN, r"X contains NaN, a missing value, in column 2 \(counted from 0\); fill"),
    "NaN in a frame": (pd.DataFrame(NAN, columns=NAMES), "NaN, .*in column 'c'; fill"),
    "NaN in a sparse table": (sp.csr_array(NAN), r"NaN, .*in column 2 \(counted"),
    "missing integers": (
        FRAME.assign(a=pd.array([None, 1] * 20, dtype="Int64")),
        "NaN, .*in column 'a'; fill",
    ),
    "null": (pl.DataFrame({"u": [1.0, None] * 20, "v": [0.5] * 40}), "NaN, .*in column 'u'; fill"),
    "infinity": (np.where(np.isnan(NAN), np.inf, X), r"X contains infinity in column 2 \(counted"),
    "text": (TEXT, "X holds text, not numbers, in columns 'city' and 'plan', for example 'Köln';"),
    "text in rows": ([["a", 1.0], ["b", 2.0]] * 20, "X holds text.* in column 0 .*example 'a'; t"),
    "text of digits": (np.array([["1", "2"]] * 40), "X holds text.* in columns 0 and 1 .*'1'; t"),
    "many columns": (pd.DataFrame({f"c{i}": ["x"] * 40 for i in range(9)}), "'c2' and 6 more, fo"),
    "dates": (FRAME.assign(day=DAYS), "dates or times.*in column 'day', for example 2024-03-01;"),
    "only dates": (pd.DataFrame({"day": DAYS, "then": DAYS}), "dates.*columns 'day' and 'then', "),
    "durations": (pd.DataFrame({"took": DAYS - DAYS[0]}), "dates or times.*in column 'took'"),
    "months": (FRAME.assign(month=DAYS.to_period("M")), "dates or times.*in column 'month'"),
    "dates of polars": (
        pl.DataFrame({"u": [0.5] * 40, "day": [datetime.date(2024, 3, 1)] * 40}),
        "dates or times.*in column 'day', for example 2024-03-01;",
    ),
    "array of dates": (np.array([["2024-03-01"]] * 40, dtype="M8[D]"), "dates or times.*column 0"),
    "objects": (
        np.array([[1.0, None, datetime.date(2024, 3, 1)]] * 40, dtype=object),
        r"dates or times.*in column 2 \(counted from 0\), for example datetime",
    ),
}


@pytest.mark.parametrize("case", NO_NUMBERS)
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_what_holds_no_numbers_is_refused_in_one_sentence(cls, case):
    table, message = NO_NUMBERS[case]
    with pytest.raises(ValueError, match=message) as told:
        make(cls).fit(table)
    said = str(told.value)
    assert "\n" not in said
    assert said.startswith("X ")
    assert case == "infinity" or PREPARE in said


@pytest.mark.parametrize("cls", MODELS)
def test_new_samples_that_are_no_numbers(cls):
    model = make(cls).fit(FRAME)
    with pytest.raises(ValueError, match=r"X contains NaN, .* in column 'c'; fill"):
        model.predict(pd.DataFrame(NAN, columns=NAMES))
    with pytest.raises(ValueError, match=r"X holds text.* in column 'b', for example 'x'"):
        model.score_samples(FRAME.assign(b="x"))
    with pytest.raises(ValueError, match="X has other columns than the fit: The feature names"):
        model.predict(FRAME.rename(columns={"a": "z"}))


def test_views_that_are_no_numbers():
    absent = X.copy()
    absent[4] = np.nan
    endless = pd.DataFrame(np.where(np.isnan(NAN), np.inf, absent), columns=NAMES)
    for bad, message in (
        (pd.DataFrame(NAN, columns=NAMES), "view 'r' contains NaN in part of 1 rows, in column"),
        (endless, "view 'r' contains infinity in column 'c'; replace"),
        (TEXT, "view 'r' holds text, not numbers, in columns 'city' and 'plan'"),
        (sp.csr_array(NAN), "view 'r' contains NaN"),
    ):
        for cls in (UnifiedSpectralClustering, SCMK, baselines.GMC):
            with pytest.raises(ValueError, match=message):
                make(cls).fit({"l": X, "r": bad})


def test_numbers_in_other_clothes_are_fine():
    plain = UnifiedSpectralClustering(3, n_init=2).fit(X).labels_
    for table in (
        FRAME.astype(object),
        FRAME.astype("category"),
        FRAME.astype("Float64"),
        X.tolist(),
    ):
        same = UnifiedSpectralClustering(3, n_init=2).fit(table).labels_
        np.testing.assert_array_equal(same, plain)


def test_distances_for_a_kernel():
    D = np.abs(X[:, None] - X[None]).sum(axis=2)  # of city blocks: in no Euclidean space
    K = np.exp(-D / np.median(D))
    for estimator in (
        UnifiedSpectralClustering(3, kernels="precomputed"),
        SCSK(3, kernel="precomputed"),
        baselines.KKM(3, kernel="precomputed"),
    ):
        with pytest.raises(
            ValueError, match=r"X has a diagonal of zeros, as graphs and dist.*np\.exp\(-"
        ):
            estimator.fit(D)
        assert len(set(estimator.fit(K).labels_)) == 3


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (UnifiedSpectralClustering(0), "must be a whole number of at least 1 or 'auto'. Got 0"),
        (SCSK(2.5), "must be a whole number of at least 1. Got 2.5"),
        (UnifiedSpectralClustering(3, alpha=np.inf), "must be a number of at least 0. Got inf"),
        (
            UnifiedSpectralClustering(3, max_clusters=1),
            "must be a whole number of at least 2 or 'auto'. Got 1",
        ),
        (UnifiedSpectralClustering(3, scaling="x"), "be 'auto', 'counts', 'none' or 'standard'"),
        (SCSK(3, mu=0), "must be a number above 0. Got 0"),
        (baselines.RMKKM(3, gamma=1.0), "must be a number above 0 and below 1. Got 1.0"),
        (baselines.KKM(-1), "must be a whole number of at least 1. Got -1"),
    ],
    ids=repr,
)
def test_what_a_parameter_may_be(estimator, message):
    with pytest.raises(ValueError, match=message) as told:
        estimator.fit(X)
    assert "inf)" not in str(told.value)


SCRIPT = """
import numpy as np
from unispectral import SCSK, UnifiedSpectralClustering, load_model, save_model

model = UnifiedSpectralClustering(n_clusters=3, random_state=np.random.default_rng(0))
reveal_type(model.fit(np.eye(4)))
reveal_type(model.fit(np.eye(4)).labels_)
reveal_type(model.predict_all(np.eye(4)).membership)
UnifiedSpectralClustering(n_cluster=3)
SCSK(3, alpha="small")
save_model(model)
from unispectral import UnifiedClustering
"""


def test_types_that_a_users_checker_sees(tmp_path):
    pytest.importorskip("mypy")
    package = Path(unispectral.__file__).parent
    assert (package / "py.typed").exists()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.strip())
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--follow-imports=silent"]
    command += ["--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), str(script)]
    found = subprocess.run(
        command, capture_output=True, text=True, env={"MYPYPATH": str(package.parent)}, check=False
    )
    said: dict[int, str] = {}
    for line in found.stdout.splitlines():
        number = int(line.split(":")[1])
        said[number] = said.get(number, "") + line
    assert set(said) == {5, 6, 7, 8, 9, 10, 11}, found.stdout + found.stderr
    assert 'Revealed type is "unispectral.estimator.UnifiedSpectralClustering"' in said[5]
    assert "ndarray" in said[6]
    assert "ndarray" in said[7]
    assert 'Unexpected keyword argument "n_cluster"' in said[8]
    assert 'expected "float"' in said[9]
    assert 'Missing positional argument "path"' in said[10]
    assert 'no attribute "UnifiedClustering"' in said[11]
