"""Pipelines: the transformers before an estimator, of a fixed list, as plain values and back."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from unispectral.persistence._archive import ModelFileError
from unispectral.persistence._values import Reader, Writer

__all__ = ["TRANSFORMERS", "pipeline_state", "restore_pipeline"]


class _Transformer(NamedTuple):
    """Where a transformer lives, and the shapes that its fitted attributes may have.

    A shape is a letter for each axis, f for the features that come in and o for those made of
    them; "" is a number, None is None.
    """

    home: str
    fitted: dict[str, tuple[str | None, ...]]


def _scaler(*names: str, **others: tuple[str | None, ...]) -> _Transformer:
    return _Transformer("sklearn.preprocessing", {**dict.fromkeys(names, ("f",)), **others})


_SPECTRUM: dict[str, tuple[str | None, ...]] = {
    "components_": ("of",),
    "explained_variance_": ("o",),
    "explained_variance_ratio_": ("o",),
    "singular_values_": ("o",),
}
_COUNT: tuple[str | None, ...] = ("", "f")
#: The transformers that a file may name.
TRANSFORMERS = {
    "StandardScaler": _scaler(
        mean_=("f", None), var_=("f", None), scale_=("f", None), n_samples_seen_=_COUNT
    ),
    "MinMaxScaler": _scaler(
        "min_", "scale_", "data_min_", "data_max_", "data_range_", n_samples_seen_=_COUNT
    ),
    "MaxAbsScaler": _scaler("max_abs_", "scale_", n_samples_seen_=_COUNT),
    "RobustScaler": _scaler(center_=("f", None), scale_=("f", None)),
    "Normalizer": _scaler(),
    "PCA": _Transformer(
        "sklearn.decomposition",
        {
            **_SPECTRUM,
            "mean_": ("f",),
            "noise_variance_": ("",),
            "n_components_": ("",),
            "n_samples_": ("",),
        },
    ),
    "TruncatedSVD": _Transformer("sklearn.decomposition", _SPECTRUM),
    "SimpleImputer": _Transformer(
        "sklearn.impute", {"statistics_": ("f",), "indicator_": (None,)}
    ),
    # Its ``columns_`` are checked by _check_columns.
    "TablePreparer": _Transformer(
        "unispectral.tables", {"centre_": ("o", None), "spread_": ("o", None)}
    ),
}
#: Transformers that make one feature of each.
_KEEPING = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")
#: What scikit-learn keeps of types, for SimpleImputer.
_DTYPES = ("_fit_dtype", "_fill_dtype")
_COLUMN_KINDS = ("number", "yes/no", "category", "date", "left out")
_RESERVED = ("steps", "memory", "verbose", "transform_input")
_PASS = "passthrough"


def pipeline_state(pipeline: Any, writer: Writer) -> dict[str, Any]:
    """What the steps before the last are made of."""
    *steps, (last, _) = pipeline.steps
    return {
        "last": last,
        "verbose": bool(pipeline.verbose),
        "steps": [
            {"name": name, **_step_state(name, step, writer, f"steps.{k}")}
            for k, (name, step) in enumerate(steps)
        ],
    }


def _step_state(name: str, step: Any, writer: Writer, prefix: str) -> dict[str, Any]:
    if step is None or (isinstance(step, str) and step == _PASS):
        return {"class": _PASS}
    kind = type(step).__name__
    if kind not in TRANSFORMERS or type(step) is not _class(kind):
        raise TypeError(
            f"The step {name!r} is a {kind}, which a saved pipeline cannot hold; save its last "
            f"step alone and transform new samples yourself, or use {', '.join(TRANSFORMERS)}."
        )
    if getattr(step, "indicator_", None) is not None:
        raise TypeError(
            f"The step {name!r} has add_indicator=True, which a saved pipeline cannot hold; fit "
            "it with add_indicator=False."
        )
    params = step.get_params(deep=False)
    fitted = {key: value for key, value in vars(step).items() if _is_kept(kind, key)}
    try:
        _check_fitted(kind, fitted)
        state: dict[str, Any] = {
            "class": kind,
            "params": {
                key: writer.encode(params[key], f"{prefix}.params.{key}") for key in params
            },
            "fitted": {
                key: writer.encode(fitted[key], f"{prefix}.fitted.{key}") for key in fitted
            },
            "output": output_of(step),
        }
    except (TypeError, ModelFileError) as error:
        raise TypeError(f"The step {name!r} cannot be saved: {error}") from None
    if kind == "SimpleImputer":
        state["dtypes"] = [getattr(step, key).str for key in _DTYPES]
    return state


def _is_kept(kind: str, key: str) -> bool:
    own = key in TRANSFORMERS[kind].fitted or (kind == "TablePreparer" and key == "columns_")
    return own or key in ("n_features_in_", "feature_names_in_")


def restore_pipeline(state: Any, estimator: Any, reader: Reader) -> Any:
    """The pipeline before an estimator that has been restored and checked."""
    from sklearn.pipeline import Pipeline

    steps = [(one["name"], _restore_step(one, reader)) for one in state["steps"]]
    names = [*(name for name, _ in steps), state["last"]]
    for name in names:
        if not isinstance(name, str) or "__" in name or name in _RESERVED:
            raise ModelFileError(f"it has a step called {name!r:.80}.")
    if len(set(names)) < len(names) or not isinstance(state["verbose"], bool):
        raise ModelFileError("the names of its steps cannot be right.")
    _check_widths([step for _, step in steps if step != _PASS], estimator)
    for (_, step), one in zip(steps, state["steps"], strict=True):
        if step != _PASS:
            set_output_of(step, one["output"])
    return Pipeline([*steps, (state["last"], estimator)], verbose=state["verbose"])


def _restore_step(state: Any, reader: Reader) -> Any:
    kind = state["class"]
    if kind == _PASS:
        return _PASS
    if not isinstance(kind, str) or kind not in TRANSFORMERS:
        raise ModelFileError(f"it names the unknown transformer {kind!r:.80}.")
    cls = _class(kind)
    params = {key: reader.decode(value) for key, value in state["params"].items()}
    if unknown := sorted(set(params) - set(cls._get_param_names())):
        raise ModelFileError(f"{kind} has no parameter {unknown[0]!r:.80}.")
    step = cls(**params)
    step._validate_params()
    fitted = {key: reader.decode(value) for key, value in state["fitted"].items()}
    _check_fitted(kind, fitted)
    for key, value in fitted.items():
        setattr(step, key, value)
    if kind == "SimpleImputer":
        for key, text in zip(_DTYPES, state["dtypes"], strict=True):
            dtype = np.dtype(str(text))
            if dtype.kind not in "biuf":
                raise ModelFileError(f"{kind} is of type {dtype}.")
            setattr(step, key, dtype)
    return step


def _check_fitted(kind: str, fitted: dict[str, Any]) -> None:
    """Every attribute is there, and no other, of shapes that fit together."""
    shapes = TRANSFORMERS[kind].fitted
    features = fitted.get("n_features_in_")
    if not isinstance(features, (int, np.integer)) or isinstance(features, bool) or features < 1:
        raise ModelFileError(f"n_features_in_ of {kind} is {features!r:.40}.")
    needed = {*shapes, "n_features_in_", *(["columns_"] if kind == "TablePreparer" else [])}
    if odd := sorted((set(fitted) - {"feature_names_in_"}) ^ needed):
        raise ModelFileError(f"the attribute {odd[0]!r:.80} of {kind} is missing or unknown.")
    names = fitted.get("feature_names_in_")
    if names is not None and not _is_array(names, (int(features),), "OU"):
        raise ModelFileError(f"feature_names_in_ of {kind} cannot be right.")
    features = int(features)
    sizes = {"f": features}
    if kind == "TablePreparer":
        sizes["o"] = _check_columns(fitted["columns_"], features)
    for key, allowed in shapes.items():
        if not any(_has_shape(fitted[key], shape, sizes) for shape in allowed):
            raise ModelFileError(f"{key} of {kind} is not of the shape of its features.")


def _has_shape(value: Any, shape: str | None, sizes: dict[str, int]) -> bool:
    if shape is None:
        return value is None
    if shape == "":
        return isinstance(value, (Real, np.number)) and not isinstance(value, bool)
    if not isinstance(value, np.ndarray) or value.ndim != len(shape):
        return False
    wanted = tuple(
        sizes.setdefault(letter, n) for letter, n in zip(shape, value.shape, strict=True)
    )
    return _is_array(value, wanted, "fiu")


def _is_array(value: Any, shape: tuple[int, ...], kinds: str) -> bool:
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype.kind in kinds


def _check_columns(columns: Any, features: int) -> int:
    """How TablePreparer treats each column; returns the number of columns that it makes."""
    made = 0
    if not isinstance(columns, list) or len(columns) != features:
        raise ModelFileError("the columns of TablePreparer cannot be right.")
    for plan in columns:
        kind, fill, kinds = plan["kind"], plan.get("fill"), plan.get("categories", [])
        fits = isinstance(plan["name"], str) and kind in _COLUMN_KINDS
        fits = fits and plan.get("decimal", ".") in (".", ",")
        if kind == "category":
            fits = fits and isinstance(kinds, list) and len(set(kinds)) == len(kinds) > 0
            fits = fits and all(isinstance(one, str) for one in kinds)
            fits = fits and "fill" in plan and (fill is None or fill in kinds)
        elif kind == "left out":
            fits = fits and isinstance(plan["why"], str)
        else:
            fits = fits and "fill" in plan and "categories" not in plan
            fits = fits and (fill is None or _has_shape(fill, "", {}))
            fits = fits and (kind != "number" or "decimal" in plan)
        if not fits:
            raise ModelFileError("the columns of TablePreparer cannot be right.")
        made += 0 if kind == "left out" else max(1, len(kinds))
    names = [plan["name"] for plan in columns]
    if len(set(names)) < len(names):
        raise ModelFileError("the columns of TablePreparer cannot be right.")
    return made


def _check_widths(steps: Sequence[Any], estimator: Any) -> None:
    """Each step takes what the one before makes of a row, which is tried."""
    widths = [int(one.n_features_in_) for one in (*steps, estimator)]
    for step, width, wanted in zip(steps, widths, widths[1:], strict=False):
        keeps = type(step).__name__ in _KEEPING
        if (keeps and width != wanted) or not _made(step, width) == wanted:
            raise ModelFileError("the features of its steps do not fit together.")


def _made(step: Any, width: int) -> int:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return step.transform(np.zeros((1, width))).shape[1]


def _class(name: str) -> Any:
    return getattr(importlib.import_module(TRANSFORMERS[name].home), name)


def output_of(estimator: Any) -> str | None:
    """The container that ``set_output`` asked for."""
    return getattr(estimator, "_sklearn_output_config", {}).get("transform")


def set_output_of(estimator: Any, container: Any) -> None:
    if container is not None:
        if container not in ("default", "pandas", "polars"):
            raise ModelFileError(f"it asks for the output {container!r:.40}.")
        estimator.set_output(transform=container)
