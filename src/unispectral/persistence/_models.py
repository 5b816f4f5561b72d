"""Estimators to files and back."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unispectral._version import __version__
from unispectral.persistence._archive import ModelFileError, read_archive, write_archive
from unispectral.persistence._values import Reader, Writer

__all__ = ["load_model", "save_model"]

_BASELINES = ("AASC", "KKM", "MKKM", "RKKM", "RMKKM", "SC", "SSR", "TSEP", "ClustRF")
#: The classes a file may name, and where they live.
CLASSES = {
    "SCSK": "unispectral.cluster",
    "SCMK": "unispectral.cluster",
    **dict.fromkeys(_BASELINES, "unispectral.baselines"),
}
_FITTED = re.compile(r"_?[A-Za-z][A-Za-z0-9_]*_")
#: Shapes that belong together: n samples, c clusters, r kernels.
_SHAPES = {
    "labels_": "n",
    "graph_": "nn",
    "affinity_matrix_": "nn",
    "membership_": "nc",
    "outlier_score_": "n",
    "kernel_weights_": "r",
    "kernel_names_": "r",
}


def save_model(estimator: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file that anybody can open without trusting it.

    The file holds parameters, fitted attributes and what prediction needs of the training
    samples, as numbers and text; the format is described in :mod:`unispectral.persistence`.
    The file is there whole or not at all.

    Parameters
    ----------
    estimator : SCSK, SCMK or one of unispectral.baselines
        Fitted.
    path : str or path-like
        Where to write; customarily ends in ``.npz``.

    Raises
    ------
    TypeError
        If a parameter cannot be written without pickle: a function as kernel, a random generator.

    See Also
    --------
    load_model

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from pathlib import Path
    >>> from unispectral import SCSK
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> model = SCSK(2, kernel="gaussian").fit(X)
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_model(model, path)
    >>> bool((load_model(path).labels_ == model.labels_).all())
    True
    """
    name = type(estimator).__name__
    if name not in CLASSES or type(estimator) is not _class(name):
        raise TypeError(
            f"estimator is a {name}, which cannot be saved here; "
            f"save one of {', '.join(sorted(CLASSES))}."
        )
    check_is_fitted(estimator)
    writer = Writer()
    params = estimator.get_params(deep=False)
    fitted = {key: value for key, value in vars(estimator).items() if key not in params}
    manifest = {
        "library": __version__,
        "class": name,
        "params": {key: writer.encode(params[key], f"params.{key}") for key in params},
        "fitted": {key: writer.encode(fitted[key], f"fitted.{key}") for key in fitted},
    }
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
        Fitted; its predictions are those of the estimator that was saved, bit for bit.

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
        raise ModelFileError(
            f"{os.fspath(path)!r} has been changed or damaged: {error}"
        ) from error


def _rebuild(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    name = manifest.get("class")
    if not isinstance(name, str) or name not in CLASSES:
        raise ModelFileError(f"it names the unknown class {name!r:.80}.")
    cls = _class(name)
    reader = Reader(arrays)
    params = {key: reader.decode(value) for key, value in manifest["params"].items()}
    known = set(cls._get_param_names())
    if set(params) != known:
        odd = sorted(set(params) ^ known)[0]
        raise ModelFileError(
            f"{name} of this version ({__version__}) and of the file "
            f"({manifest.get('library')!s:.40}) differ in the parameter {odd!r}."
        )
    estimator = cls(**params)
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"a parameter is wrong ({error}).") from error
    for key, value in manifest["fitted"].items():
        # A fitted attribute is a number or an array; no file may replace a method.
        if not _FITTED.fullmatch(key) or key.startswith("__") or hasattr(cls, key):
            raise ModelFileError(f"it names the attribute {key!r:.80}, which {name} cannot have.")
        setattr(estimator, key, reader.decode(value))
    _check_shapes(estimator)
    return estimator


def _class(name: str) -> Any:
    try:
        return getattr(importlib.import_module(CLASSES[name]), name)
    except (ImportError, AttributeError) as error:
        raise ModelFileError(f"{name} is not part of this installation.") from error


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
    embedding = getattr(estimator, "embedding_", None)
    if embedding is not None and (embedding.ndim != 2 or embedding.shape[0] != sizes["n"]):
        raise ModelFileError(f"embedding_ has shape {embedding.shape}.")
    rotation = getattr(estimator, "rotation_", None)
    if rotation is not None and (embedding is None or rotation.shape[:1] != embedding.shape[1:]):
        raise ModelFileError(f"rotation_ has shape {rotation.shape}, which does not fit.")
    _check_sources(estimator, len(labels))


def _check_sources(estimator: Any, n: int) -> None:
    """What new points are compared with must be the samples that have the labels."""
    samples = getattr(estimator, "_samples_", None)
    if samples is not None and samples.n_samples != n:
        raise ModelFileError("the samples do not fit the labels.")
    for source in getattr(estimator, "_sources_", ()):
        own = getattr(source, "samples", None)
        held = source.geometry.n_samples if hasattr(source, "geometry") else source.bank.n_samples
        fits = held == n if own is None else len(own) == held and 0 <= own.min() <= own.max() < n
        if not fits:
            raise ModelFileError("the kernels do not fit the labels.")
