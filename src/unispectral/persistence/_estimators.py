"""Estimators and transformers, of a fixed list, as plain values and back."""

from __future__ import annotations

import importlib
import re
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unispectral import baselines
from unispectral._version import __version__
from unispectral.persistence._archive import ModelFileError
from unispectral.persistence._fields import Field, check_fields, require
from unispectral.persistence._predictor import predictor_state, restore_predictor
from unispectral.persistence._values import Reader, Writer
from unispectral.predict import Predictor
from unispectral.tables._encode import are_plans, column_names

__all__ = ["CLASSES", "TRANSFORMERS", "estimator_state", "restore_estimator", "restore_output"]


class _Class(NamedTuple):
    """Where a class lives, and its fitted attributes with what is known of them."""

    home: str
    fitted: dict[str, Field | None]


#: Where they are present, these have shapes that belong together.
_SHARED: dict[str, Field | None] = {
    "labels_": Field("iu", ("n",)),
    "graph_": Field("sf", ("nn",)),
    "affinity_matrix_": Field("sf", ("nn",)),
    "membership_": Field("f", ("nc",)),
    "outlier_score_": Field("f", ("n",)),
    "embedding_": Field("f", ("nc",)),
    "rotation_": Field("f", ("cc",)),
    "kernel_weights_": Field("f", ("r",)),
    "kernel_names_": Field("t", ("r",)),
}
_COUNT = Field("k", ("",))
_OURS: dict[str, Field | None] = {
    **_SHARED,
    **dict.fromkeys(("n_features_in_", "n_clusters_", "n_iter_"), _COUNT),
    **dict.fromkeys(("view_weights_", "geometry_weights_", "objective_", "converged_")),
    **dict.fromkeys(("stop_reason_", "kkt_residual_", "eigenvalues_")),
}
_LABELLED = {"labels_": _SHARED["labels_"]}
_LABEL_FREE = dict.fromkeys(("kernel_agreement_", "scaling_", "structure_", "cluster_count_"))
#: The estimators that a file may name; they may have further attributes.
CLASSES = {
    "UnifiedSpectralClustering": _Class("unispectral.estimator", {**_OURS, **_LABEL_FREE}),
    "SCSK": _Class("unispectral.paper", _OURS),
    "SCMK": _Class("unispectral.paper", _OURS),
    **dict.fromkeys(baselines.__all__, _Class("unispectral.baselines", _LABELLED)),
}


def _transformer(home: str, **fitted: Field | None) -> _Class:
    return _Class(home, {"n_features_in_": _COUNT, **fitted})


_EACH, _PERHAPS = Field("fiu", ("f",)), Field("fiu", ("f", None))
_NUMBER, _SEEN = Field("fiu", ("",)), Field("fiu", ("", "f"))
_MADE, _PERHAPS_MADE = Field("f", ("o",)), Field("f", ("o", None))
_SPECTRUM: dict[str, Field | None] = {
    "components_": Field("f", ("of",)),
    **dict.fromkeys(("explained_variance_", "explained_variance_ratio_"), _MADE),
    "singular_values_": _MADE,
}
_RANGE = dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), _EACH)
_SIZES = dict.fromkeys(("noise_variance_", "n_components_", "n_samples_"), _NUMBER)
_PREPARED = {"columns_": None, "centre_": _PERHAPS_MADE, "spread_": _PERHAPS_MADE}
_IMPUTED = {"statistics_": _EACH, "indicator_": Field("", (None,))}
_SCALERS, _PROJECTIONS = "sklearn.preprocessing", "sklearn.decomposition"
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
_FITTED = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*_")
#: What scikit-learn keeps of types, for SimpleImputer.
_DTYPES = ("_fit_dtype", "_fill_dtype")


def _class(name: Any) -> Any:
    """The class that a file may name; None if it may not."""
    known = {**CLASSES, **TRANSFORMERS}.get(name) if isinstance(name, str) else None
    return None if known is None else getattr(importlib.import_module(known.home), name)


def estimator_state(estimator: Any, writer: Writer, prefix: str = "") -> dict[str, Any]:
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
    predictor = fitted.pop("_predictor_", None)
    if name in TRANSFORMERS:
        kept = {*TRANSFORMERS[name].fitted, "feature_names_in_"}
        fitted = {key: value for key, value in fitted.items() if key in kept}
        _check_transformer(name, fitted)
    state: dict[str, Any] = {
        "class": name,
        "params": {key: writer.encode(params[key], f"{prefix}params.{key}") for key in params},
        "fitted": {key: writer.encode(fitted[key], f"{prefix}fitted.{key}") for key in fitted},
        "output": getattr(estimator, "_sklearn_output_config", {}).get("transform"),
    }
    if isinstance(predictor, Predictor):
        state["predictor"] = writer.encode(predictor_state(predictor), "predictor")
    if name == "SimpleImputer":
        state["dtypes"] = [getattr(estimator, key).str for key in _DTYPES]
    return state


def restore_estimator(state: dict[str, Any], reader: Reader, known: dict[str, _Class]) -> Any:
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
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        said = " ".join(str(error).split())  # arrays are written in lines
        raise ModelFileError(f"a parameter is wrong ({said:.400}).") from error
    fitted = {key: reader.decode(value) for key, value in state["fitted"].items()}
    (_check_transformer if name in TRANSFORMERS else _check_estimator)(name, fitted)
    for key, value in fitted.items():
        # A fitted attribute is a number or an array; no file may replace a method.
        if not _FITTED.fullmatch(key) or key.startswith("__") or hasattr(cls, key):
            raise ModelFileError(f"it names the attribute {key!r:.80}, which {name} cannot have.")
        setattr(estimator, key, value)
    if hasattr(cls, "predict_all"):
        if "predictor" not in state:
            raise ModelFileError("what it predicts with is missing.")
        estimator._predictor_ = restore_predictor(reader.decode(state["predictor"]), estimator)
    if name == "SimpleImputer":
        for key, dtype in zip(_DTYPES, map(np.dtype, map(str, state["dtypes"])), strict=True):
            if dtype.kind not in "biuf":
                raise ModelFileError(f"SimpleImputer is of type {dtype}.")
            setattr(estimator, key, dtype)
    return estimator


def restore_output(estimator: Any, container: Any) -> None:
    """Ask for the container that ``set_output`` asked for."""
    if container is not None:
        if container not in ("default", "pandas", "polars"):
            raise ModelFileError(f"it asks for the output {container!r:.40}.")
        estimator.set_output(transform=container)


def _check_estimator(name: str, fitted: dict[str, Any]) -> None:
    """Attributes that index each other must fit, or a prediction would be wrong in silence."""
    needed = CLASSES[name].fitted
    if lacking := [key for key in needed if key not in fitted]:
        raise ModelFileError(f"{lacking[0]!r} is missing.")
    if "_predictor_" in fitted:
        raise ModelFileError(f"it names the attribute '_predictor_', which {name} cannot have.")
    sizes: dict[str, int] = {}
    for key, letter in (("n_clusters_", "c"), ("n_features_in_", "f")):
        if isinstance(fitted.get(key), (int, np.integer)):
            sizes[letter] = int(fitted[key])
    described = {"feature_names_in_": Field("t", ("f",)), **_SHARED, **needed}
    present = {key: field for key, field in described.items() if key in fitted}
    check_fields(present, fitted, sizes, name)
    labels = fitted["labels_"]
    most = sizes.get("c")
    if most is not None and len(labels) and not 0 <= labels.min() <= labels.max() < most:
        raise ModelFileError("labels_ and n_clusters_ do not fit.")


def _check_transformer(name: str, fitted: dict[str, Any]) -> None:
    """Every attribute is there, and no other, of shapes that fit together."""
    needed = TRANSFORMERS[name].fitted
    if odd := sorted((set(fitted) - {"feature_names_in_"}) ^ set(needed)):
        raise ModelFileError(f"the attribute {odd[0]!r:.80} of {name} is missing or unknown.")
    check_fields({"n_features_in_": needed["n_features_in_"]}, fitted, {}, name)
    sizes = {"f": int(fitted["n_features_in_"])}
    if name == "TablePreparer":
        columns = fitted["columns_"]
        require(are_plans(columns) and len(columns) == sizes["f"], "the columns of TablePreparer")
        sizes["o"] = len(column_names(columns))
    names = {"feature_names_in_": Field("t", ("f",))} if "feature_names_in_" in fitted else {}
    check_fields({**needed, **names}, fitted, sizes, name)
