"""Run a method on what was read, and keep everything that can be told about it."""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np

from unispectral.cli._input import Input
from unispectral.cli._methods import METHODS
from unispectral.cli._outputs import say
from unispectral.model_selection import seed_agreement

__all__ = ["CommandFit", "fit"]

#: Up to this many samples another seed is tried; labels that agree by less are other clusters.
_FITTED_TWICE, _SAME = 5_000, 0.9


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
        if not _is_compiled():
            say("The first run compiles its loops, which takes some seconds.", quiet=quiet)
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
    if METHODS[method].ours:
        sentences += _another_seed(estimator, samples, len(labels))
    return CommandFit(estimator, data, method, labels, seconds, sentences)


def _another_seed(estimator: Any, samples: Any, n_samples: int) -> list[str]:
    """A sentence where the next seed gives other clusters; large data are not fitted twice."""
    seed = getattr(estimator, "random_state", None)
    if n_samples > _FITTED_TWICE or not isinstance(seed, int):
        return []
    agreement = seed_agreement(estimator, samples, seeds=[seed + 1])[0]
    if agreement >= _SAME:
        return []
    told = f"The seed {seed + 1} gives other clusters: the two agree by {agreement:.2f} on the"
    index = "adjusted Rand index, which is 1 for the same"
    return [f"{told} {index}; a larger n_init or another number of clusters may settle it."]


def _is_compiled() -> bool:
    """Whether an earlier run has left compiled loops on the disk."""
    from unispectral.graph import _loops

    stats = getattr(_loops.solve_small, "stats", None)  # None with NUMBA_DISABLE_JIT
    place = stats and stats.cache_path  # None where nothing can be kept
    return stats is None or (place is not None and any(Path(place).glob("_loops.*.nbi")))
