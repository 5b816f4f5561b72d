"""Estimators and pipelines to files and back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from unispectral._version import __version__
from unispectral.persistence._archive import ModelFileError, read_archive, write_archive
from unispectral.persistence._estimators import (
    CLASSES,
    TRANSFORMERS,
    estimator_state,
    restore_estimator,
    restore_output,
)
from unispectral.persistence._fields import require
from unispectral.persistence._values import Reader, Writer

__all__ = ["load_model", "save_model"]

#: What values of the wrong kind or size lead to while a model is put together.
_WRONG = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError,
    RecursionError, AssertionError,
)  # fmt: skip
#: What a manifest may hold.
_KEYS = {
    "format", "version", "library", "class", "params", "fitted", "output", "predictor", "pipeline",
}  # fmt: skip
#: Transformers that make one feature of each.
_KEEPING = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")
_RESERVED = ("steps", "memory", "verbose", "transform_input")
_PASS = "passthrough"


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
        *steps, (last, estimator) = estimator.steps
        states = [_step_state(k, *step, writer=writer) for k, step in enumerate(steps)]
        manifest["pipeline"] = {"last": last, "steps": states}
    name = type(estimator).__name__
    if name not in CLASSES:
        known = f"{', '.join(sorted(CLASSES))}, or a Pipeline that ends in one"
        raise TypeError(f"estimator is a {name}, which cannot be saved here; save one of {known}.")
    manifest |= estimator_state(estimator, writer)
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
    estimator = restore_estimator(manifest, reader, CLASSES)
    restore_output(estimator, manifest.get("output"))
    if "pipeline" in manifest:
        return _restore_pipeline(manifest["pipeline"], estimator, reader)
    return estimator


def _step_state(k: int, name: str, step: Any, *, writer: Writer) -> dict[str, Any]:
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
        return {"name": name, **estimator_state(step, writer, f"steps.{k}.")}
    except (TypeError, ModelFileError) as error:
        raise TypeError(f"The step {name!r} cannot be saved: {error}") from None


def _restore_pipeline(state: Any, estimator: Any, reader: Reader) -> Any:
    """The pipeline before an estimator that has been restored and checked."""
    from sklearn.pipeline import Pipeline

    given = state["steps"]
    names = [*(one["name"] for one in given), state["last"]]
    for name in names:
        if not isinstance(name, str) or "__" in name or name in _RESERVED:
            raise ModelFileError(f"it has a step called {name!r:.80}.")
    require(len(set(names)) == len(names), "the names of its steps")
    passed = [one["class"] == _PASS for one in given]
    steps = [
        _PASS if idle else restore_estimator(one, reader, TRANSFORMERS)
        for one, idle in zip(given, passed, strict=True)
    ]
    active = [(s, one) for s, one, idle in zip(steps, given, passed, strict=True) if not idle]
    _check_widths([step for step, _ in active], estimator)
    for step, one in active:
        restore_output(step, one["output"])
    return Pipeline([*zip(names, [*steps, estimator], strict=True)])


def _check_widths(steps: Sequence[Any], estimator: Any) -> None:
    """Each step takes what the one before makes of a row, which is tried."""
    widths = [int(one.n_features_in_) for one in (*steps, estimator)]
    for step, width, wanted in zip(steps, widths, widths[1:], strict=False):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = step.transform(np.zeros((1, width))).shape[1]
        if made != wanted or (type(step).__name__ in _KEEPING and width != wanted):
            raise ModelFileError("the features of its steps do not fit together.")
