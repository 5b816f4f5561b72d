"""Every public function that takes several tables, or a table beside labels: right or refused.

The functions are found by their signatures, so that a new one cannot be forgotten.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

from unispectral import SCMK, UnifiedSpectralClustering, describe, load_model, save_model
from unispectral.model_selection import internal_scores, stability, stability_by_count
from unispectral.plotting import EmbeddingDisplay, RepresentativesDisplay
from unispectral.report import Summary, report_data, write_report

from .project.test_public_names import documented, imported

ROOT = Path(__file__).parents[1]
#: Parameters that hold samples.
SAMPLES = {"X", "data", "new", "table", "tables"}
#: What takes one table or arrays alone, and why nothing of it can be out of order.
ALONE = {
    "unispectral.tables.TablePreparer.fit": "one table, column by column",
    "unispectral.tables.TablePreparer.transform": "one table, row by row",
    "unispectral.tables.TablePreparer.fit_transform": "one table, row by row",
    "unispectral.bench.Study.from_table": "a table of a study, not of samples",
    "unispectral.bench.StudyDataset.from_table": "a table of a study, not of samples",
    "unispectral.bench.StudyMethod.from_table": "a table of a study, not of samples",
    "unispectral.bench.Column.from_table": "a table of a study, not of samples",
    "unispectral.bench.Surface.from_table": "a table of a study, not of samples",
    "unispectral.graph.neighbours.nearest": "one table",
    "unispectral.graph.neighbours.build_index": "one table",
    "unispectral.kernels.KernelBank.__init__": "arrays alone; a frame is refused",
    "unispectral.predict.Predictor.choose_parts": "arrays, as the one below",
    "unispectral.predict.Predictor.predict": "arrays, after read_new has brought them in order",
    "unispectral.plotting.GraphMatrixDisplay.from_estimator": "no samples: the model alone",
    "unispectral.plotting.KernelWeightsDisplay.from_estimator": "no samples: the model alone",
    "unispectral.plotting.SpectrumDisplay.from_estimator": "no samples: the model alone",
    "unispectral.plotting.ClusterCountDisplay.from_estimator": "no samples: the model alone",
    "unispectral.plotting.TreeDisplay.from_estimator": "no samples: the model alone",
    "unispectral.plotting.EmbeddingDisplay.__init__": "arrays; from_estimator knows the samples",
    "unispectral.plotting.RepresentativesDisplay.__init__": "arrays, as the one above",
}
#: What is tried elsewhere, because it needs a cluster or an optional package.
ELSEWHERE = {
    "unispectral.dask.UnifiedSpectralClustering.fit": "tests/dask/test_estimators.py",
    "unispectral.dask.UnifiedSpectralClustering.fit_predict": "tests/dask/test_estimators.py",
    "unispectral.dask.UnifiedSpectralClustering.predict": "tests/dask/test_estimators.py",
    "unispectral.dask.UnifiedSpectralClustering.update": "tests/dask/test_estimators.py",
    "unispectral.scverse.cluster": "tests/scverse/test_cluster.py",
    "unispectral.scverse.transfer": "tests/scverse/test_transfer.py",
}
FITS = ("fit", "fit_predict", "fit_transform")
#: Of new samples, and of those of the fit.
PREDICTIONS = (
    "summary",
    "score",
    "predict",
    "predict_all",
    "predict_proba",
    "score_samples",
    "transform",
)


def found() -> dict[str, Any]:
    """Documented functions, and methods of documented classes, that take samples."""
    things = {}
    for module, name in documented():
        thing, called = imported(module, name), f"{module}.{name}"
        if any(part.startswith("_") for part in called.split(".")):
            continue
        if not inspect.isclass(thing):
            things[called] = thing
            continue
        for member, method in inspect.getmembers(thing, callable):
            if member == "__init__" or not member.startswith("_"):
                things[f"{called}.{member}"] = method
    taking = {}
    for called, thing in things.items():
        try:
            parameters = inspect.signature(thing).parameters
        except (ValueError, TypeError):
            continue
        if SAMPLES & set(parameters):
            taking[called] = thing
    return taking


rng = np.random.default_rng(0)
TRUTH = np.repeat([0, 1], 15)
NAMES = [f"s{i}" for i in rng.permutation(30)]
A = pd.DataFrame(rng.normal(size=(30, 2)) + 8.0 * TRUTH[:, None], NAMES, ["a", "b"])
B = pd.DataFrame(rng.normal(size=(30, 3)) - 5.0 * TRUTH[:, None], NAMES, ["c", "d", "e"])
SHUFFLED = B.sample(frac=1.0, random_state=1)
VIEWS = {"A": A, "B": B}


def changed() -> dict[str, dict[str, pd.DataFrame]]:
    """The views with the rows of one of them out of place."""
    twice = [*SHUFFLED.index[:-1], SHUFFLED.index[0]]
    counted = B.reset_index(drop=True)
    return {
        "shuffled": {"A": A, "B": SHUFFLED},
        "shuffled and counted": {"A": A, "B": counted.sample(frac=1.0, random_state=1)},
        "missing": {"A": A, "B": SHUFFLED[:-1]},
        "missing from the first": {"A": A[1:], "B": SHUFFLED},
        "another in its place": {"A": A, "B": SHUFFLED.rename(index={SHUFFLED.index[3]: "x"})},
        "duplicated": {"A": A, "B": SHUFFLED.set_axis(twice)},
        "renamed": {"A": A, "B": SHUFFLED.rename(index=lambda name: f"{name}!")},
        "renamed and shuffled": {"A": A, "B": SHUFFLED.rename(index=str.upper)},
    }


def kernels(views: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """A kernel of each view, between the rows that it has."""
    made = {}
    for name, view in views.items():
        centred = view - view.mean()
        made[name] = pd.DataFrame(centred @ centred.T)
    return made


def crossed(views: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Kernels between five of the rows of each view and all of them."""
    return {name: K.iloc[:5] for name, K in kernels(views).items()}


def is_precomputed(cls: type) -> str | None:
    """The parameter by which an estimator is told that kernels are given."""
    known = inspect.signature(cls).parameters
    return next((name for name in ("kernels", "kernel") if name in known), None)


def plain(answer: Any) -> Any:
    """What a method returned, as numbers that can be compared."""
    if isinstance(answer, BaseEstimator):
        answer = answer.labels_
    if isinstance(answer, Summary):
        return np.frombuffer(str(answer).encode(), np.uint8).astype(float)
    if isinstance(answer, tuple):
        return np.column_stack([np.asarray(part, float) for part in answer])
    return np.asarray(answer, float)


@cache
def cases() -> dict[str, Callable[[dict[str, pd.DataFrame]], Any]]:
    """For every function what it says of views; those of estimators go by their names."""
    made: dict[str, Callable[[dict[str, pd.DataFrame]], Any]] = dict(FUNCTIONS)
    for called in found():
        home, _, method = called.rpartition(".")
        if called in {*made, *ALONE, *ELSEWHERE} or method not in (*FITS, *PREDICTIONS):
            continue
        module, _, name = home.rpartition(".")
        made |= estimator_cases(called, imported(module, name), method)
    return made


def estimator_cases(called: str, cls: Any, method: str) -> dict[str, Any]:
    own = {} if hasattr(cls, "mu") else {"n_init": 2}
    own = {name: value for name, value in own.items() if name in inspect.signature(cls).parameters}
    made = {called: on_views(cls(2, **own), method)}
    argument = is_precomputed(cls)
    if argument is not None:
        given = cls(2, **own, **{argument: "precomputed"})
        made[f"{called} of kernels"] = on_kernels(given, method)
    return made


def on_views(model: Any, method: str) -> Callable[[dict[str, pd.DataFrame]], Any]:
    if method in FITS:
        return lambda views: plain(getattr(clone(model), method)(views))
    fit = cache(partial(clone(model).fit, VIEWS))
    return lambda views: plain(getattr(fit(), method)(views))


def updated(views: dict[str, pd.DataFrame]) -> np.ndarray:
    """The labels that further samples get, and all samples once they are there."""
    model = UnifiedSpectralClustering(2, n_init=2).fit(VIEWS)
    later = {name: view.rename(index=lambda row: f"later {row}") for name, view in views.items()}
    model.update(later, refit=False)
    return np.r_[model.labels_, model.predict(later)].astype(float)


def on_kernels(model: Any, method: str) -> Callable[[dict[str, pd.DataFrame]], Any]:
    if method in FITS:
        return lambda views: plain(getattr(clone(model), method)(kernels(views)))
    fit = cache(partial(clone(model).fit, kernels(VIEWS)))
    given = kernels if method == "summary" else crossed
    return lambda views: plain(getattr(fit(), method)(given(views)))


@cache
def fitted() -> Any:
    return UnifiedSpectralClustering(2, n_init=2).fit(VIEWS)


def means(model: Any, views: Any) -> np.ndarray:
    told = describe(model, views).sort_values(["feature", "cluster"])
    return told[["mean", "mean_elsewhere", "difference"]].to_numpy()


def page(views: Any, **options: Any) -> np.ndarray:
    data = report_data(fitted(), views, **options)
    features = [feature for cluster in data["clusters"] for feature in cluster["features"]]
    return np.array([row[1:] for row in sorted(features)], float)


def written(views: Any) -> np.ndarray:
    """The page that is written is made of report_data, whose numbers are compared."""
    assert "report_data(estimator, X, **options)" in inspect.getsource(write_report)
    return page(views)


def typical(views: Any) -> np.ndarray:
    display = RepresentativesDisplay.from_estimator(fitted(), views["B"], image_shape=(1, 3))
    return np.concatenate(display._rows)


def coloured(views: Any) -> np.ndarray:
    display = EmbeddingDisplay.from_estimator(fitted(), color=views["B"]["c"])
    return np.asarray(display.color)


def of_the_functional_core(views: Any) -> np.ndarray:
    from unispectral.labelfree import Recipe, cluster

    return plain(cluster(views, Recipe(n_clusters=2)).labels)


FUNCTIONS = {
    "unispectral.describe": lambda views: means(fitted(), views),
    "unispectral.report.write_report": written,
    "unispectral.model_selection.stability": lambda views: stability(fitted(), views, n_fits=1),
    "unispectral.model_selection.stability_by_count": lambda views: list(
        stability_by_count(fitted(), views, n_fits=1).values()
    ),
    "unispectral.model_selection.internal_scores": lambda views: list(
        internal_scores(views["B"], pd.Series(TRUTH, NAMES)).values()
    ),
    "unispectral.plotting.RepresentativesDisplay.from_estimator": typical,
    "unispectral.plotting.EmbeddingDisplay.from_estimator": coloured,
    "unispectral.UnifiedSpectralClustering.update": updated,
    "unispectral.labelfree.cluster": of_the_functional_core,
}


def test_every_function_that_takes_samples_has_a_case():
    known = {name.removesuffix(" of kernels") for name in cases()}
    assert set(found()) <= {*known, *ALONE, *ELSEWHERE}, "new functions: say how they match rows"
    assert {*ALONE, *ELSEWHERE} <= set(found())
    for file in set(ELSEWHERE.values()):
        assert "def test_rows_that_do_not_match" in (ROOT / file).read_text()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::unispectral.DoubtfulResultWarning")
@pytest.mark.parametrize("called", cases())
def test_rows_that_do_not_match_are_put_right_or_refused(called):
    answer = cases()[called]
    try:
        right = answer(VIEWS)
    except (ValueError, TypeError):
        right = None  # it takes one table only
    for what, views in changed().items():
        try:
            got = answer(views)
        except (ValueError, TypeError):
            continue
        assert right is not None, what
        np.testing.assert_allclose(got, right, atol=1e-8, err_msg=f"{called}, {what}")


def test_descriptions_of_shuffled_views_are_right():
    model = UnifiedSpectralClustering(2).fit({"A": A, "B": SHUFFLED})
    right = means(model, VIEWS)
    np.testing.assert_allclose(means(model, {"A": A, "B": SHUFFLED}), right)
    np.testing.assert_allclose(means(model, {"B": SHUFFLED, "A": A}), right)
    np.testing.assert_allclose(page({"A": A, "B": SHUFFLED}), page(VIEWS))
    # The fit tells the order where its first view is not there.
    only = describe(model, {"B": SHUFFLED}).set_index(["feature", "cluster"])["mean"]
    inside = B["c"].to_numpy()[model.labels_ == 0].mean()
    assert only["B: c", 0] == pytest.approx(inside)
    assert stability(model, {"B": SHUFFLED, "A": A}, n_fits=1).tolist() == [1.0]


def test_a_model_from_a_file_goes_by_its_first_view(tmp_path):
    model = UnifiedSpectralClustering(2).fit({"A": A, "B": SHUFFLED})
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    np.testing.assert_allclose(means(loaded, {"B": SHUFFLED, "A": A}), means(model, VIEWS))


def test_one_frame_in_another_order_is_right():
    model = UnifiedSpectralClustering(2).fit(B)
    np.testing.assert_allclose(means(model, SHUFFLED), means(model, B))
    labels = pd.Series(model.labels_, NAMES)
    np.testing.assert_allclose(means(labels, SHUFFLED), means(model, B))
    for given in ({"truth": pd.Series(TRUTH, NAMES)}, {"names": pd.Series(NAMES, NAMES)}):
        shuffled = {key: column[SHUFFLED.index] for key, column in given.items()}
        right, got = (report_data(model, B, **given), report_data(model, B, **shuffled))
        assert got["scores"] == right["scores"]
        for key in ("name", "truth"):
            assert got["members"][key] == right["members"][key]


def test_a_frame_that_counts_its_rows_is_matched_by_position_or_refused():
    counted = B.reset_index(drop=True)
    model = UnifiedSpectralClustering(2).fit(B)
    np.testing.assert_allclose(means(model, counted), means(model, B))
    # Were the rows named before they were shuffled, or counted after?
    mixed = counted.sample(frac=1.0, random_state=3)
    with pytest.raises(ValueError, match="only counts the rows"):
        describe(UnifiedSpectralClustering(2).fit(counted), mixed)


def test_views_of_a_fit_are_described_although_one_counts_its_rows():
    first = A.reset_index(drop=True)
    mixed = B.reset_index(drop=True).sample(frac=1.0, random_state=3)
    model = UnifiedSpectralClustering(2).fit({"A": first, "B": mixed})
    right = means(UnifiedSpectralClustering(2).fit(VIEWS), VIEWS)
    np.testing.assert_allclose(means(model, {"A": first, "B": mixed}), right)
    np.testing.assert_allclose(means(model, {"B": mixed, "A": first}), right)
    with pytest.raises(ValueError, match="only counts the rows"):
        describe(model, {"B": mixed})


def test_predictions_have_the_order_of_the_first_frame_given():
    model = UnifiedSpectralClustering(2).fit(VIEWS).set_output(transform="pandas")
    right = model.transform(VIEWS)
    assert right.index.tolist() == NAMES
    turned = model.transform({"B": SHUFFLED, "A": A})
    assert turned.index.tolist() == SHUFFLED.index.tolist()
    np.testing.assert_allclose(turned.loc[NAMES], right)
    labels = model.predict({"B": SHUFFLED, "A": A})
    assert labels.tolist() == model.labels_[A.index.get_indexer(SHUFFLED.index)].tolist()


def test_kernels_of_frames_are_matched_both_ways():
    shuffled = kernels({"A": A, "B": SHUFFLED})
    model = SCMK(2, kernels="precomputed").fit(shuffled)
    right = SCMK(2, kernels="precomputed").fit(kernels(VIEWS))
    np.testing.assert_allclose(model.graph_.toarray(), right.graph_.toarray(), atol=1e-8)
    turned = {name: K[SHUFFLED.index] for name, K in crossed(VIEWS).items()}
    np.testing.assert_allclose(
        right.predict_proba(turned), right.predict_proba(crossed(VIEWS)), atol=1e-12
    )
