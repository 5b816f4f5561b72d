"""The comparison methods of the paper's table, and later ones: each a scikit-learn estimator."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unispectral.baselines.aasc import AASC
    from unispectral.baselines.can import CAN
    from unispectral.baselines.clustrf import ClustRF
    from unispectral.baselines.gmc import GMC
    from unispectral.baselines.kkm import KKM
    from unispectral.baselines.lgmksc import LGMKSC
    from unispectral.baselines.mkkm import MKKM
    from unispectral.baselines.rkkm import RKKM
    from unispectral.baselines.rmkkm import RMKKM
    from unispectral.baselines.sc import SC
    from unispectral.baselines.selftuning import SelfTuning
    from unispectral.baselines.simplemkkm import SimpleMKKM
    from unispectral.baselines.smkl import SMKL
    from unispectral.baselines.spc import SPC
    from unispectral.baselines.ssr import SSR
    from unispectral.baselines.tsep import TSEP

__all__ = [
    "AASC",
    "CAN",
    "GMC",
    "KKM",
    "LGMKSC",
    "MKKM",
    "RKKM",
    "RMKKM",
    "SC",
    "SMKL",
    "SPC",
    "SSR",
    "TSEP",
    "ClustRF",
    "SelfTuning",
    "SimpleMKKM",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{name.lower()}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
