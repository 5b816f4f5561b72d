"""Estimators, transformers and pipelines, of a fixed list, to files and back."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unispectral._compat import check_parameters, output_setting
from unispectral._version import __version__
from unispectral.persistence._archive import ModelFileError, read_archive, write_archive
from unispectral.persistence._life import restore_life
from unispectral.persistence._predictor import predictor_state, restore_predictor
from unispectral.persistence._values import Field, Reader, Writer, check_fields, require
from unispectral.tables._encode import column_names
from unispectral.tables._plans import are_plans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sklearn.pipeline import Pipeline

    from unispectral._base import LearnedGraphClustering

#: What values of the wrong kind or size lead to while a model is put together.
_WRONG = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError,
    RecursionError, AssertionError,
)  # fmt: skip
#: What a manifest may hold.
_KEYS = {
    "format", "version", "library", "class", "params", "fitted", "output", "predictor", "pipeline",
    "life",
}  # fmt: skip
#: Transformers that make one feature of each.
_KEEPING = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")
_RESERVED = ("steps", "memory", "verbose", "transform_input")
_PASS = "passthrough"


class _Class(NamedTuple):
    """Where a class lives, and its fitted attributes with what is known of them."""

    home: str
    fitted: dict[str, Field | None]


#: Those that index each other have shapes that belong together; n_clusters_ is c.
_OURS: dict[str, Field | None] = {
    "n_clusters_": Field("k", ("c",)),
    "n_features_in_": Field("k", ("f",)),
    "n_iter_": Field("k", ("",)),
    "labels_": Field("iu", ("n",)),
    "graph_": Field("sf", ("nn",)),
    "affinity_matrix_": Field("sf", ("nn",)),
    "membership_": Field("f", ("nc",)),
    "outlier_score_": Field("f", ("n",)),
    "embedding_": Field("f", ("nc",)),
    "rotation_": Field("f", ("cc",)),
    "kernel_weights_": Field("f", ("r",)),
    "kernel_names_": Field("t", ("r",)),
    **dict.fromkeys(("view_weights_", "geometry_weights_", "objective_", "converged_")),
    **dict.fromkeys(("stop_reason_", "kkt_residual_", "eigenvalues_")),
}
_LABEL_FREE = dict.fromkeys(
    ("agreement_", "kernel_agreement_", "scaling_", "structure_", "cluster_count_")
)
#: The estimators that a file may name; they may have further attributes.
CLASSES = {
    "UnifiedSpectralClustering": _Class("unispectral.estimator", {**_OURS, **_LABEL_FREE}),
    "SCSK": _Class("unispectral.paper", _OURS),
    "SCMK": _Class("unispectral.paper", _OURS),
}


def _transformer(home: str, **fitted: Field | None) -> _Class:
    return _Class(home, {"n_features_in_": Field("k", ("f",)), **fitted})


_EACH = Field("fiu", ("f",))
_PERHAPS = Field("fiu", ("f", None))
_NUMBER = Field("fiu", ("",))
_SEEN = Field("fiu", ("", "f"))
_MADE = Field("f", ("o",))
_PERHAPS_MADE = Field("f", ("o", None))
_SPECTRUM: dict[str, Field | None] = {
    "components_": Field("f", ("of",)),
    **dict.fromkeys(("explained_variance_", "explained_variance_ratio_"), _MADE),
    "singular_values_": _MADE,
}
_RANGE = dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), _EACH)
_SIZES = dict.fromkeys(("noise_variance_", "n_components_", "n_samples_"), _NUMBER)
_PREPARED = {"columns_": None, "centre_": _PERHAPS_MADE, "spread_": _PERHAPS_MADE}
_IMPUTED = {"statistics_": _EACH, "indicator_": Field("", (None,))}
_SCALERS = "sklearn.preprocessing"
_PROJECTIONS = "sklearn.decomposition"
#: The transformers that a file may name; f features come in, o features are made of them.
TRANSFORMERS = {
    "StandardScaler": _transformer(
        _SCALERS, mean_=_PERHAPS, var_=_PERHAPS, scale_=_PERHAPS, n_samples_seen_=_SEEN
    ),
    "MinMaxScaler": _transformer(_SCALERS, **_RANGE, n_samples_seen_=_SEEN),
    "MaxAbsScaler": _transformer(_SCALERS, max_abs_=_EACH, scale_=_EACH, n_samples_seen_=_SEEN),
    "RobustScaler": _transformer(_SCALERS, center_=_PERHAPS, scale_=_PERHAPS),
    "Normalizer": _transformer(_SCALERS),
    "PCA": _transformer(_PROJECTIONS, **_SPECTRUM, **_SIZES, mean_=_EACH),
    "TruncatedSVD": _transformer(_PROJECTIONS, **_SPECTRUM),
    "SimpleImputer": _transformer("sklearn.impute", **_IMPUTED),
    "TablePreparer": _transformer("unispectral.tables", **_PREPARED),
}
_KNOWN = {**CLASSES, **TRANSFORMERS}
_FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")
#: What scikit-learn keeps of types, for SimpleImputer.
_DTYPES = ("_fit_dtype", "_fill_dtype")


def save_model(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator or pipeline to a file that anybody can open without trusting it.

    The file holds parameters, fitted attributes and what prediction needs of the training
    samples, as numbers and text; the format is described in :mod:`unispectral.persistence`.
    The file is there whole or not at all.

    Parameters
    ----------
    estimator : UnifiedSpectralClustering, SCSK or SCMK
        Fitted; also a scikit-learn pipeline that ends in one, whose other steps are
        ``TablePreparer``, ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``,
        ``RobustScaler``, ``Normalizer``, ``SimpleImputer``, ``PCA`` or ``TruncatedSVD``.
    path : str or path-like
        Where to write; customarily ends in ``.npz``.

    Raises
    ------
    TypeError
        If a parameter or a step cannot be written without pickle: a function as kernel, a random
        generator, another transformer.

    See Also
    --------
    load_model

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from unispectral import UnifiedSpectralClustering
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = UnifiedSpectralClustering(2).fit(X)
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_model(model, path)
    >>> bool((load_model(path).labels_ == model.labels_).all())
    True
    """
    from sklearn.pipeline import Pipeline

    writer = Writer()
    manifest: dict[str, Any] = {"library": __version__}
    if type(estimator) is Pipeline:
        *steps, (last, estimator) = estimator.steps
        states = [_step_state(k, *step, writer=writer) for k, step in enumerate(steps)]
        manifest["pipeline"] = {"last": last, "steps": states}
    name = type(estimator).__name__
    if name not in CLASSES:
        known = f"{', '.join(sorted(CLASSES))}, or a Pipeline that ends in one"
        raise TypeError(f"estimator is a {name}, which cannot be saved here; save one of {known}.")
    manifest |= _estimator_state(estimator, writer)
    write_archive(path, manifest, writer.arrays)


def load_model(
    path: str | os.PathLike[str],
) -> LearnedGraphClustering | Pipeline:
    """Read an estimator that :func:`save_model` wrote.

    No code of the file is run, and nothing in it is believed that can be checked: a damaged,
    foreign or altered file is refused with a sentence.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        Or pipeline. Fitted; its predictions are those of the one that was saved, bit for bit.

    Raises
    ------
    ModelFileError
        A ``ValueError`` that says what is wrong with the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> _ = path.write_text("not a model")
    >>> try:
    ...     load_model(path)
    ... except ModelFileError as error:
    ...     print("not a saved model" in str(error))
    True
    """
    manifest, arrays = read_archive(path)
    try:
        return _rebuild(manifest, arrays)
    except ModelFileError as error:
        reason = str(error)
    except _WRONG as error:  # a value of the file is not what its place asks for
        reason = f"{type(error).__name__}: {error!s:.200}"
    raise ModelFileError(f"{os.fspath(path)!r} has been changed or damaged: {reason}")


def _rebuild(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    reader = Reader(arrays)
    if unknown := sorted(set(manifest) - _KEYS):
        raise ModelFileError(f"it has the unknown entry {unknown[0]!r:.80}.")
    estimator = _restore_estimator(manifest, reader, CLASSES)
    _restore_output(estimator, manifest.get("output"))
    if "pipeline" in manifest:
        return _restore_pipeline(manifest["pipeline"], estimator, reader)
    return estimator


def _step_state(k: int, name: str, step: object, *, writer: Writer) -> dict[str, Any]:
    """What a step before the last is made of."""
    if step is None or (isinstance(step, str) and step == _PASS):
        return {"name": name, "class": _PASS}
    kind = type(step).__name__
    if kind not in TRANSFORMERS:
        raise TypeError(
            f"The step {name!r} is a {kind}, which a saved pipeline cannot hold; save its last "
            f"step alone and transform new samples yourself, or use {', '.join(TRANSFORMERS)}."
        )
    if getattr(step, "indicator_", None) is not None:
        problem = "has add_indicator=True, which a saved pipeline cannot hold"
        raise TypeError(f"The step {name!r} {problem}; fit it with add_indicator=False.")
    try:
        return {"name": name, **_estimator_state(step, writer, f"steps.{k}.")}
    except (TypeError, ModelFileError) as error:
        raise TypeError(f"The step {name!r} cannot be saved: {error}") from None


def _restore_pipeline(state: Mapping[str, Any], estimator: BaseEstimator, reader: Reader) -> Any:
    """The pipeline before an estimator that has been restored and checked."""
    from sklearn.pipeline import Pipeline

    given = state["steps"]
    names = [*(one["name"] for one in given), state["last"]]
    for name in names:
        if not isinstance(name, str) or "__" in name or name in _RESERVED:
            raise ModelFileError(f"it has a step called {name!r:.80}.")
    require(len(set(names)) == len(names), "the names of its steps")
    steps = [
        _PASS if one["class"] == _PASS else _restore_estimator(one, reader, TRANSFORMERS)
        for one in given
    ]
    active = [(step, one) for step, one in zip(steps, given, strict=True) if step is not _PASS]
    _check_widths([step for step, _ in active], estimator)
    for step, one in active:
        _restore_output(step, one["output"])
    return Pipeline([*zip(names, [*steps, estimator], strict=True)])


def _check_widths(steps: Sequence[Any], estimator: BaseEstimator) -> None:
    """Each step takes what the one before makes of a row, which is tried, from the last one on.

    The width of a step that has no arrays is compared first: a row could be made of any length.
    """
    wanted = int(estimator.n_features_in_)
    for step in reversed(steps):
        width = int(step.n_features_in_)
        fits = type(step).__name__ not in _KEEPING or width == wanted
        if fits:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                fits = step.transform(np.zeros((1, width))).shape[1] == wanted
        if not fits:
            raise ModelFileError("the features of its steps do not fit together.")
        wanted = width


def _class(name: Any) -> Any:
    """The class that a file may name; None if it may not."""
    if isinstance(name, str):
        known = _KNOWN.get(name)
    else:
        known = None
    if known is None:
        return None
    return getattr(importlib.import_module(known.home), name)


def _estimator_state(estimator: BaseEstimator, writer: Writer, prefix: str = "") -> dict[str, Any]:
    """What a fitted estimator or transformer is made of; TypeError if it is not of the list."""
    name = type(estimator).__name__
    if type(estimator) is not _class(name):
        raise TypeError(f"a {name} cannot be saved here")
    check_is_fitted(estimator)
    params = estimator.get_params(deep=False)
    if callable(params.get("verbose")):
        params["verbose"] = 0  # whoever listens to this fit will not listen to the next
    # What scikit-learn notes of an estimator, such as its callbacks, has no underscore at its end.
    fitted = {key: value for key, value in vars(estimator).items() if _FITTED.fullmatch(key)}
    if name in TRANSFORMERS:
        kept = {*TRANSFORMERS[name].fitted, "feature_names_in_"}
        fitted = {key: value for key, value in fitted.items() if key in kept}
        _check_fitted(name, fitted)
    state: dict[str, Any] = {
        "class": name,
        "params": {key: writer.encode(params[key], f"{prefix}params.{key}") for key in params},
        "fitted": {key: writer.encode(fitted[key], f"{prefix}fitted.{key}") for key in fitted},
        "output": output_setting(estimator),
    }
    if name in CLASSES:
        state["predictor"] = writer.encode(predictor_state(estimator._predictor_), "predictor")
    if hasattr(estimator, "_record_"):
        state["life"] = writer.encode(estimator._record_._asdict(), "life")
    if name == "SimpleImputer":
        state["dtypes"] = [getattr(estimator, key).str for key in _DTYPES]
    return state


def _restore_estimator(state: dict[str, Any], reader: Reader, known: dict[str, _Class]) -> Any:
    """An estimator, if its class is known and its attributes are those of that class."""
    name = state.get("class")
    if not isinstance(name, str) or name not in known:
        raise ModelFileError(f"it names the unknown class {name!r:.80}.")
    cls = _class(name)
    params = {key: reader.decode(value) for key, value in state["params"].items()}
    if unknown := sorted(set(params) - set(cls._get_param_names())):
        here = f"{name} of this version ({__version__})"
        raise ModelFileError(f"{here} has no parameter {unknown[0]!r:.80}, which the file has.")
    estimator = cls(**params)
    try:
        check_parameters(estimator)
    except (ValueError, TypeError) as error:
        said = " ".join(str(error).split())  # arrays are written in lines
        raise ModelFileError(f"a parameter is wrong ({said:.400}).") from error
    fitted = {key: reader.decode(value) for key, value in state["fitted"].items()}
    _check_fitted(name, fitted)
    for key, value in fitted.items():
        # A fitted attribute is a number or an array; no file may replace a method.
        if not _FITTED.fullmatch(key) or hasattr(cls, key):
            raise ModelFileError(f"it names the attribute {key!r:.80}, which {name} cannot have.")
        setattr(estimator, key, value)
    if name in CLASSES:
        if "predictor" not in state:
            raise ModelFileError("what it predicts with is missing.")
        estimator._predictor_ = restore_predictor(reader.decode(state["predictor"]), estimator)
        estimator._sample_index_ = None  # a file holds no names of samples
    if name == "UnifiedSpectralClustering":
        restore_life(estimator, reader.decode(state.get("life")))
    if name == "SimpleImputer":
        for key, dtype in zip(_DTYPES, map(np.dtype, map(str, state["dtypes"])), strict=True):
            if dtype.kind not in "biuf":
                raise ModelFileError(f"SimpleImputer is of type {dtype}.")
            setattr(estimator, key, dtype)
    return estimator


def _restore_output(estimator: BaseEstimator, container: Any) -> None:
    """Ask for the container that ``set_output`` asked for."""
    if container is not None:
        if container not in ("default", "pandas", "polars"):
            shown = " ".join(f"{container!r:.40}".split())
            raise ModelFileError(f"it asks for the output {shown}.")
        estimator.set_output(transform=container)


def _check_fitted(name: str, fitted: dict[str, Any]) -> None:
    """Attributes that index each other must fit, or a prediction would be wrong in silence."""
    needed = _KNOWN[name].fitted
    optional = {"feature_names_in_": Field("t", ("f",))}
    if name in CLASSES:
        optional |= {
            "cluster_names_": Field("t", ("c",)),
            "diagnostics_": Field("t", ("d",)),
            "cluster_ids_": Field("iu", ("c",)),
        }
    odd = set(needed) - set(fitted)
    if name in TRANSFORMERS:
        odd |= set(fitted) - {*needed, *optional}
    if odd:
        raise ModelFileError(f"the attribute {min(odd)!r:.80} of {name} is missing or unknown.")
    sizes: dict[str, int] = {}
    if name == "TablePreparer":
        columns = fitted["columns_"]
        right = are_plans(columns) and len(columns) == fitted["n_features_in_"]
        require(right, "the columns of TablePreparer")
        sizes["o"] = len(column_names(columns))
    present = {key: field for key, field in (needed | optional).items() if key in fitted}
    check_fields(present, fitted, sizes, name)
    if name in CLASSES:
        labels = fitted["labels_"]
        require(0 <= labels.min() <= labels.max() < sizes["c"], "a label")
