"""The comparison methods of the paper's table, and later ones: each a scikit-learn estimator."""

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
