"""Run a method on what was read, and keep everything that can be told about it."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np

from unispectral.cli._input import Input
from unispectral.cli._methods import METHODS

__all__ = ["CommandFit", "fit"]


@dataclass
class CommandFit:
    """A fitted method, its data and its labels."""

    estimator: Any
    data: Input
    method: str
    labels: np.ndarray
    seconds: float
    warnings: list[str] = field(default_factory=list)


def fit(estimator: Any, data: Input, method: str, *, quiet: bool = True) -> CommandFit:
    """Fit, show how far it has got, and keep warnings as sentences."""
    if data.several and not METHODS[method].views:
        able = ", ".join(name for name, known in METHODS.items() if known.views)
        raise click.UsageError(f"The method {method} takes one table; views are for {able}.")
    samples = data.samples()
    begun = time.perf_counter()
    verbose = getattr(estimator, "verbose", None)
    if METHODS[method].ours and not verbose:
        estimator.set_params(verbose=int(not quiet and sys.stderr is not None))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = np.asarray(estimator.fit_predict(samples))
    if METHODS[method].ours:
        estimator.set_params(verbose=verbose)  # how it was shown is no part of the model
    seconds = time.perf_counter() - begun
    # Packages warn about each other; what the fit says is for people.
    others = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, others)]
    sentences = list(dict.fromkeys(" ".join(text.split()) for text in said))
    return CommandFit(estimator, data, method, labels, seconds, sentences)
