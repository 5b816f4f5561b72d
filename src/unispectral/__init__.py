"""Clustering with a learned graph: unified spectral clustering, exact, fast and label-free."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from unispectral._version import __version__


def _in_sub_interpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        with suppress(ImportError, AttributeError):
            known = importlib.import_module(name)
            return known.get_current() != known.get_main()
    return False


if _in_sub_interpreter():  # the import of scikit-learn would never return
    raise ImportError(
        "unispectral cannot be used in a sub-interpreter, because NumPy and scikit-learn do not "
        "support them; use threads or processes."
    )

if TYPE_CHECKING:
    from unispectral._errors import DoubtfulResultWarning
    from unispectral.estimator import UnifiedSpectralClustering
    from unispectral.knowledge import uncertain_pairs
    from unispectral.paper import SCMK, SCSK
    from unispectral.persistence import load_model, save_model
    from unispectral.report import describe

__all__ = [
    "SCMK",
    "SCSK",
    "DoubtfulResultWarning",
    "UnifiedSpectralClustering",
    "__version__",
    "describe",
    "load_model",
    "save_model",
    "uncertain_pairs",
]

_HOMES = {
    "DoubtfulResultWarning": "_errors",
    "UnifiedSpectralClustering": "estimator",
    "SCSK": "paper",
    "SCMK": "paper",
    "describe": "report",
    "save_model": "persistence",
    "load_model": "persistence",
    "uncertain_pairs": "knowledge",
}
_ROOMS = (
    "baselines", "bench", "dask", "datasets", "graph", "kernels", "knowledge", "labelfree",
    "labels", "metrics", "model_selection", "paper", "persistence", "plotting", "predict",
    "report", "scverse", "spectrum", "tables", "testing",
)  # fmt: skip


if not TYPE_CHECKING:  # or a type checker would believe that every name is there

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first asked for, so that the package loads at once."""
        if name in _HOMES:
            return getattr(importlib.import_module(f"unispectral.{_HOMES[name]}"), name)
        if name in _ROOMS:
            return importlib.import_module(f"unispectral.{name}")
        raise AttributeError(f"module 'unispectral' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
