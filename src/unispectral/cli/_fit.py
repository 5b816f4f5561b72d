"""Run a method on what was read."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from unispectral.cli._input import Input
from unispectral.cli._methods import METHODS
from unispectral.cli._progress import progress
from unispectral.cli._summary import summarise

__all__ = ["Told", "fit"]


@dataclass
class Told:
    """A fit and everything that can be told about it."""

    estimator: Any
    data: Input
    labels: np.ndarray
    summary: dict[str, Any]
    command: str
    title: str

    @classmethod
    def of(
        cls,
        estimator: Any,
        data: Input,
        labels: np.ndarray,
        method: str,
        seconds: float,
        warned: list[str],
        *,
        command: str,
        title: str,
    ) -> Told:
        """Sum up a fit."""
        summary = summarise(
            estimator, labels, method=method, seconds=seconds, truth=data.truth, warnings=warned
        )
        summary["n_features"] = data.n_features
        summary["tables"] = [table.name for table in data.tables.values()]
        summary["dropped"] = {
            column: why for table in data.tables.values() for column, why in table.dropped
        }
        return cls(estimator, data, labels, summary, command, title)


def fit(
    estimator: Any, data: Input, method: str, *, quiet: bool = True
) -> tuple[np.ndarray, list[str]]:
    """Fit, and return the labels and the warnings as sentences."""
    samples = _samples(data, method)
    with warnings.catch_warnings(record=True) as caught, progress(method, quiet=quiet):
        warnings.simplefilter("always")
        labels = estimator.fit_predict(samples)
    told = [" ".join(str(warning.message).split()) for warning in caught if _for_people(warning)]
    return np.asarray(labels), list(dict.fromkeys(told))


def _samples(data: Input, method: str) -> Any:
    if data.several and not METHODS[method].views:
        able = ", ".join(name for name, known in METHODS.items() if known.views)
        raise click.UsageError(f"The method {method} takes one table; views are for {able}.")
    return data.samples()


def _for_people(warning: warnings.WarningMessage) -> bool:
    """Warnings of the fit, not of packages about each other."""
    return not issubclass(
        warning.category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    )
