"""Pipelines: the transformers before an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from unispectral.persistence._archive import ModelFileError
from unispectral.persistence._estimators import (
    TRANSFORMERS,
    estimator_state,
    restore_estimator,
    restore_output,
)
from unispectral.persistence._values import Reader, Writer

__all__ = ["pipeline_state", "restore_pipeline"]

#: Transformers that make one feature of each.
_KEEPING = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer")
_RESERVED = ("steps", "memory", "verbose", "transform_input")
_PASS = "passthrough"


def pipeline_state(pipeline: Any, writer: Writer) -> dict[str, Any]:
    """What the steps before the last are made of."""
    *steps, (last, _) = pipeline.steps
    return {
        "last": last,
        "verbose": bool(pipeline.verbose),
        "steps": [
            {"name": name, **_step_state(name, step, writer, f"steps.{k}.")}
            for k, (name, step) in enumerate(steps)
        ],
    }


def _step_state(name: str, step: Any, writer: Writer, prefix: str) -> dict[str, Any]:
    if step is None or (isinstance(step, str) and step == _PASS):
        return {"class": _PASS}
    kind = type(step).__name__
    if kind not in TRANSFORMERS:
        raise TypeError(
            f"The step {name!r} is a {kind}, which a saved pipeline cannot hold; save its last "
            f"step alone and transform new samples yourself, or use {', '.join(TRANSFORMERS)}."
        )
    if getattr(step, "indicator_", None) is not None:
        raise TypeError(
            f"The step {name!r} has add_indicator=True, which a saved pipeline cannot hold; fit "
            "it with add_indicator=False."
        )
    try:
        return estimator_state(step, writer, prefix)
    except (TypeError, ModelFileError) as error:
        raise TypeError(f"The step {name!r} cannot be saved: {error}") from None


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
            restore_output(step, one["output"])
    return Pipeline([*steps, (state["last"], estimator)], verbose=state["verbose"])


def _restore_step(state: dict[str, Any], reader: Reader) -> Any:
    if state["class"] == _PASS:
        return _PASS
    return restore_estimator(state, reader, TRANSFORMERS)


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
