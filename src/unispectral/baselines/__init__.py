"""The comparison methods of the paper's table, and later ones: each a scikit-learn estimator."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unispectral.baselines.aggregation import AASC, SimpleMKKM
    from unispectral.baselines.clustrf import ClustRF
    from unispectral.baselines.consensus import LGMKSC, SMKL, SPC
    from unispectral.baselines.kernel_kmeans import KKM, MKKM, RKKM, RMKKM
    from unispectral.baselines.neighbours import CAN, GMC
    from unispectral.baselines.spectral import SC, SSR, TSEP, SelfTuning

__all__ = [
    "AASC", "CAN", "GMC", "KKM", "LGMKSC", "MKKM", "RKKM", "RMKKM", "SC", "SMKL", "SPC", "SSR",
    "TSEP", "ClustRF", "SelfTuning", "SimpleMKKM",
]  # fmt: skip

_FAMILIES = {
    "aggregation": ("AASC", "SimpleMKKM"),
    "clustrf": ("ClustRF",),
    "consensus": ("LGMKSC", "SMKL", "SPC"),
    "kernel_kmeans": ("KKM", "MKKM", "RKKM", "RMKKM"),
    "neighbours": ("CAN", "GMC"),
    "spectral": ("SC", "SSR", "TSEP", "SelfTuning"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next(home for home, names in _FAMILIES.items() if name in names)
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
