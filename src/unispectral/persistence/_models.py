"""Estimators to files and back."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unispectral import baselines
from unispectral._version import __version__
from unispectral.persistence._archive import ModelFileError, read_archive, write_archive
from unispectral.persistence._pipelines import (
    output_of,
    pipeline_state,
    restore_pipeline,
    set_output_of,
)
from unispectral.persistence._predictor import predictor_state, restore_predictor
from unispectral.persistence._values import Reader, Writer
from unispectral.predict import Predictor

__all__ = ["load_model", "save_model"]

#: The classes a file may name, and where they live.
CLASSES = {
    "UnifiedSpectralClustering": "unispectral.estimator",
    "SCSK": "unispectral.paper",
    "SCMK": "unispectral.paper",
    **dict.fromkeys(baselines.__all__, "unispectral.baselines"),
}
#: What values of the wrong kind or size lead to while a model is put together.
_WRONG = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError,
    RecursionError, AssertionError,
)  # fmt: skip
#: What a manifest may hold.
_KEYS = {
    "format", "version", "library", "class", "params", "fitted", "output", "predictor", "pipeline",
    "arrays",
}  # fmt: skip
_FITTED = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*_")
#: What every model with a predictor has.
_REQUIRED = (
    "n_features_in_", "labels_", "n_clusters_", "graph_", "affinity_matrix_", "embedding_",
    "rotation_", "membership_", "outlier_score_", "kernel_weights_", "kernel_names_",
    "view_weights_", "geometry_weights_", "objective_", "n_iter_", "converged_", "stop_reason_",
    "kkt_residual_", "eigenvalues_",
)  # fmt: skip
#: What the label-free model has besides.
_LABEL_FREE = ("kernel_agreement_", "scaling_", "structure_", "cluster_count_")
#: Shapes that belong together: n samples, c clusters, r kernels.
_SHAPES = {
    "labels_": "n",
    "graph_": "nn",
    "affinity_matrix_": "nn",
    "membership_": "nc",
    "outlier_score_": "n",
    "embedding_": "nc",
    "rotation_": "cc",
    "kernel_weights_": "r",
    "kernel_names_": "r",
}


def save_model(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator or pipeline to a file that anybody can open without trusting it.

    The file holds parameters, fitted attributes and what prediction needs of the training
    samples, as numbers and text; the format is described in :mod:`unispectral.persistence`.
    The file is there whole or not at all.

    Parameters
    ----------
    estimator : UnifiedSpectralClustering, SCSK, SCMK or one of unispectral.baselines
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
        manifest["pipeline"] = pipeline_state(estimator, writer)
        estimator = estimator.steps[-1][1]
    name = type(estimator).__name__
    if name not in CLASSES or type(estimator) is not _class(name):
        raise TypeError(
            f"estimator is a {name}, which cannot be saved here; "
            f"save one of {', '.join(sorted(CLASSES))}, or a Pipeline that ends in one."
        )
    check_is_fitted(estimator)
    params = estimator.get_params(deep=False)
    if callable(params.get("verbose")):
        params["verbose"] = 0  # whoever listens to this fit will not listen to the next
    # What scikit-learn notes of an estimator, such as its callbacks, has no underscore at its end.
    fitted = {key: value for key, value in vars(estimator).items() if _FITTED.fullmatch(key)}
    predictor = fitted.pop("_predictor_", None)
    manifest |= {
        "class": name,
        "params": {key: writer.encode(params[key], f"params.{key}") for key in params},
        "fitted": {key: writer.encode(fitted[key], f"fitted.{key}") for key in fitted},
        "output": output_of(estimator),
    }
    if isinstance(predictor, Predictor):
        manifest["predictor"] = writer.encode(predictor_state(predictor), "predictor")
    write_archive(path, manifest, writer.arrays)


def load_model(path: str | os.PathLike[str]) -> Any:
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
    ...     print("no saved model" in str(error))
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
    estimator = _rebuild_estimator(manifest, reader)
    set_output_of(estimator, manifest.get("output"))
    if "pipeline" in manifest:
        return restore_pipeline(manifest["pipeline"], estimator, reader)
    return estimator


def _rebuild_estimator(manifest: dict[str, Any], reader: Reader) -> Any:
    name = manifest.get("class")
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(f"it names the unknown class {name!r:.80}.")
    cls = _class(name)
    params = {key: reader.decode(value) for key, value in manifest["params"].items()}
    unknown = sorted(set(params) - set(cls._get_param_names()))
    if unknown:
        raise ModelFileError(
            f"{name} of this version ({__version__}) has no parameter {unknown[0]!r:.80}, which "
            f"the file of version {manifest.get('library')!s:.40} has."
        )
    estimator = cls(**params)
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"a parameter is wrong ({error}).") from error
    for key, value in manifest["fitted"].items():
        # A fitted attribute is a number or an array; no file may replace a method.
        known = hasattr(cls, key) or key == "_predictor_"
        if not _FITTED.fullmatch(key) or key.startswith("__") or known:
            raise ModelFileError(f"it names the attribute {key!r:.80}, which {name} cannot have.")
        setattr(estimator, key, reader.decode(value))
    _check_shapes(estimator)
    if hasattr(cls, "predict_all"):
        required = _REQUIRED + (_LABEL_FREE if name == "UnifiedSpectralClustering" else ())
        lacking = [key for key in required if key not in vars(estimator)]
        if lacking:
            raise ModelFileError(f"{lacking[0]!r} is missing.")
        if "predictor" not in manifest:
            raise ModelFileError("what it predicts with is missing.")
        _check_kinds(estimator)
        state = reader.decode(manifest["predictor"])
        estimator._predictor_ = restore_predictor(state, estimator)
    return estimator


def _check_kinds(estimator: Any) -> None:
    """Numbers must be numbers and arrays arrays, or a prediction would fail later."""
    for key in ("n_features_in_", "n_clusters_", "n_iter_"):
        value = getattr(estimator, key)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ModelFileError(f"{key} is {value!r:.40}.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and np.shape(names) != (estimator.n_features_in_,):
        raise ModelFileError("feature_names_in_ and n_features_in_ do not fit.")
    for key in ("embedding_", "rotation_", "membership_", "outlier_score_", "kernel_weights_"):
        value = getattr(estimator, key)
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            raise ModelFileError(f"{key} is not an array of numbers.")
    for key in ("graph_", "affinity_matrix_"):
        if not sp.issparse(getattr(estimator, key)):
            raise ModelFileError(f"{key} is not a sparse array.")


def _class(name: str) -> Any:
    return getattr(importlib.import_module(CLASSES[name]), name)


def _check_shapes(estimator: Any) -> None:
    """Attributes that index each other must fit, or a prediction would be wrong in silence."""
    labels = getattr(estimator, "labels_", None)
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise ModelFileError("labels_ is not a list of integers.")
    sizes = {"n": len(labels), "c": getattr(estimator, "n_clusters_", None)}
    if (
        sizes["c"] is not None
        and len(labels)
        and not 0 <= labels.min() <= labels.max() < sizes["c"]
    ):
        raise ModelFileError("labels_ and n_clusters_ do not fit.")
    for name, letters in _SHAPES.items():
        value = getattr(estimator, name, None)
        if value is None:
            continue
        shape = value.shape if hasattr(value, "shape") else (len(value),)
        wanted = tuple(
            sizes.setdefault(letter, size) for letter, size in zip(letters, shape, strict=False)
        )
        if len(shape) != len(letters) or any(
            size is not None and size != found for size, found in zip(wanted, shape, strict=True)
        ):
            raise ModelFileError(f"{name} has shape {shape}, which does not fit the labels.")
